"""Draws a graph of CUDA, as Graph.debug_dot writes it down, as SVG: from left to right, each node after those
that it waits for.

Usage: draw_graph.py GRAPH.dot PICTURE.svg
       draw_graph.py docs     the picture of docs/graphs.md, from the page's own program (needs pycuda)
"""

import re
import sys
import tempfile
from html import escape
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/graphs.md"
PICTURE = PAGE.parent / "pictures/graph.svg"
NODE = re.compile(r'^"(\w+)" \[.*?label="\{(.*)\}"\];$', re.M)
EDGE = re.compile(r'^"(\w+)" -> "(\w+)"( \[style="dashed".*\])?;$', re.M)
# In pixels: of a box, between boxes, around the picture.
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 150, 44, 60, 26, 8
FONT_SIZE, LINE = 12, 16
TIP = 6  # the length of an arrow's tip


def read(text):
    """({node: lines of its label}, [(from, to, dashed)]) of a graph in the DOT language."""
    nodes = {name: label.split("\\n")[1:] for name, label in NODE.findall(text)}
    return nodes, [(first, second, bool(dashed)) for first, second, dashed in EDGE.findall(text)]


def layers(nodes, edges):
    """{node: how many nodes come before it on the longest path}: its column. An edge raises a column at least
    once a pass, so as many passes as nodes are enough.
    """
    depth = dict.fromkeys(nodes, 0)
    for _ in nodes:
        for first, second, _ in edges:
            depth[second] = max(depth[second], depth[first] + 1)
    return depth


def places(nodes, edges):
    """({node: (x, y) of its box}, [width, height] of the picture). Columns are centered vertically."""
    depth = layers(nodes, edges)
    columns = [[node for node in nodes if depth[node] == k] for k in range(max(depth.values()) + 1)]
    rows = max(map(len, columns))
    found = {}
    for k, column in enumerate(columns):
        top = MARGIN + (rows - len(column)) * (HEIGHT + GAP_Y) / 2
        for i, node in enumerate(column):
            found[node] = (MARGIN + k * (WIDTH + GAP_X), top + i * (HEIGHT + GAP_Y))
    size = (len(columns) * (WIDTH + GAP_X) - GAP_X, rows * (HEIGHT + GAP_Y) - GAP_Y)
    return found, [extent + 2 * MARGIN for extent in size]


def box(x, y):
    """SVG of the box whose upper left corner is (x, y)."""
    return f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'


def words(x, y, lines):
    """SVG of the lines of text in the box at (x, y), centered."""
    baseline = y + HEIGHT / 2 + FONT_SIZE / 3 - LINE / 2 * (len(lines) - 1)
    return "".join(
        f'<text x="{x + WIDTH / 2:g}" y="{baseline + LINE * i:g}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )


def arrow(start, end, dashed):
    """SVG of an arrow from the right side of the box at `start` to the left side of that at `end`."""
    x, y = start[0] + WIDTH, start[1] + HEIGHT / 2
    to_x, to_y = end[0] - TIP, end[1] + HEIGHT / 2
    half = (x + to_x) / 2
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    way = f"M{x:g} {y:g}C{half:g} {y:g} {half:g} {to_y:g} {to_x:g} {to_y:g}"
    return f'<path d="{way}" marker-end="url(#tip)"{dashes}/>'


def draw(text):
    """The SVG picture of a graph in the DOT language."""
    nodes, edges = read(text)
    where, (width, height) = places(nodes, edges)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="{FONT_SIZE}" text-anchor="middle">',
        '<defs><marker id="tip" viewBox="0 0 6 6" refX="1" refY="3" markerWidth="6" markerHeight="6" '
        'orient="auto"><path d="M0 0L6 3L0 6z" fill="#888"/></marker></defs>',
        '<g fill="none" stroke="#888" stroke-width="1.5">',
        *(arrow(where[first], where[second], dashed) for first, second, dashed in edges),
        '</g>\n<g fill="#fff" stroke="#567" stroke-width="1.2">',
        *(box(*where[node]) for node in nodes),
        '</g>\n<g fill="#234">',
        *(words(*where[node], lines) for node, lines in nodes.items()),
        "</g>\n</svg>\n",
    ]
    return "\n".join(parts)


def page_graph():
    """The DOT text, by debug_dot, of the graph that a program of the page captures: the one with
    two streams.
    """
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    names = {}
    exec(next(program for program in programs if "join.record" in program), names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.dot")
        names["graph"].debug_dot(path)
        return path.read_text()


def main(arguments):
    if arguments == ["docs"]:
        PICTURE.write_text(draw(page_graph()))
    elif len(arguments) == 2:
        Path(arguments[1]).write_text(draw(Path(arguments[0]).read_text()))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
