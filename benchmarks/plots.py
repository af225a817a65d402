"""Draws the tables in results/, or in another folder: `make plots`.

A table becomes a picture with a row for each thing that was measured and a dot for each library; bandwidth
and products become a picture of curves for each kind of work. They are SVG with a transparent background, in
colors that can be seen on white and on black.
"""

import json
import re
import shutil
import sys
import textwrap
from pathlib import Path

from common import RESULTS

# How results are shown: (pattern of the name in a table, label or None for the name itself, color, marker).
# The first pattern that is found counts.
LIBRARIES = [
    (r"^\(", "for comparison", "#888888", "|"),
    (r"\bSSE4", "pycuda, SSE4", "#8ecae6", "v"),
    (r"\bAVX2", "pycuda, AVX2", "#1f8fe0", "o"),
    (r"\bAVX-512", "pycuda, AVX-512", "#0b5fa5", "^"),
    (r"own kernels", "pycuda, own kernels", "#0b5fa5", "^"),
    (r"PyCUDA \d", "PyCUDA", "#e8590c", "s"),
    (r"(?i)\bcupy", "CuPy", "#2b9348", "D"),
    (r"\btorch", "torch", "#d6336c", "X"),
    (r"cuda\.core", "cuda.core", "#9c36b5", "P"),
    (r"\bnumba", "numba", "#a0662b", "p"),
    (r"(?i)\bnumpy|\bscipy", "NumPy, SciPy", "#b08900", "h"),
    (r"PoCL", "PoCL", "#087f5b", "*"),
    (r"cuSPARSE 1", "cuSPARSE", "#888888", "<"),
    (r"cuSPARSE 2", "cuSPARSE, second algorithm", "#888888", ">"),
    (r"\braw C|\bC -O3|\bCUDA\b|NVRTC alone", "C, CUDA", "#888888", "d"),
    (r"^(uniform|cache empty)$", None, "#1f8fe0", "o"),
    (r"^(normal|cache filled)$", None, "#2b9348", "D"),
    (r"", "pycuda", "#1f8fe0", "o"),
]
# A name that begins with its library: the second group is what was measured.
PREFIX = r"(raw C|pycuda|PyCUDA \d+\.\d|CuPy|cupy|torch|numpy|cuda\.core|numba|CUDA)(?:, | )(.*)$"
UNITS = {"GB/s": "more is better", "ns": "less is better", "us": "less is better", "ms": "less is better"}
INK = "#7d7d7d"


def library(name):
    """(label, color, marker) of the library that a name in a table belongs to, from LIBRARIES."""
    for pattern, label, *look in LIBRARIES:
        if re.search(pattern, name):
            return label or name, *look
    raise AssertionError("the last pattern fits all")


def number(cell):
    """The number in a cell of a table; None if it has other text."""
    try:
        return float(cell)
    except ValueError:
        return None


def by_column(table):
    """The points of a table that has a column for each library: (what, library, value, minimum, maximum)."""
    for what, *cells in table["rows"]:
        for name, cell in zip(table["header"][1:], cells, strict=True):
            value = number(cell)
            if value and not name.startswith(("x ", "of ")):
                yield what, name, value, value, value


def by_row(table):
    """The points of a table that has a row for each library and thing: (what, library, value, minimum,
    maximum). The name of a row is "what: library" or matches PREFIX.
    """
    header, rows = table["header"], table["rows"]
    if header[1] == "unit":  # only rows with the unit of the first can share an axis
        unit = rows[0][1]
        rows = [[row[0], *row[2:]] for row in rows if row[1] == unit]
        header = [header[0], *header[2:]]
    ends = [header.index(name) if name in header else 1 for name in ("min", "max")]
    for row in rows:
        name, value = row[0], number(row[1])
        if value:
            values = [value, *(number(row[i]) or value for i in ends)]
            what, colon, series = name.partition(": ")
            found = re.match(PREFIX, name)
            if colon:
                yield what, series, *values
            else:
                yield found[2] if found else name, name, *values


def points(table):
    """(unit, [(what, library, value, minimum, maximum)]) of a table of either form."""
    header = table["header"]
    if header[0] in UNITS:
        return header[0], list(by_column(table))
    unit = table["rows"][0][1] if header[1] == "unit" else header[1]
    return unit, list(by_row(table))


def style(plt):
    """Sets fonts and colors for all pictures, and makes the SVG reproducible."""
    plt.rcParams.update(
        {
            "font.size": 9,
            "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
            "svg.fonttype": "none",
            "svg.hashsalt": "pycuda",  # the same bytes each time
            **dict.fromkeys(
                ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], INK
            ),
        }
    )


def save(plt, figure, path):
    figure.savefig(path, transparent=True, metadata={"Date": None})
    plt.close(figure)


def measure_axis(axis, values, unit):
    """The axis of what was measured: logarithmic, with plain numbers, and which way is better."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_xscale("log")
    wide = max(values) / min(values) > 300
    axis.xaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5), numticks=12))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel(f"{unit}, {UNITS[unit]}")


def draw_table(plt, path, table):
    """Draws a table as dots; nothing if it has no numbers of a known unit."""
    unit, found = points(table)
    if unit not in UNITS or not found:
        return
    rows = list(dict.fromkeys(what for what, *_ in found))
    lines = [textwrap.fill(row, 26, break_long_words=False) for row in rows]
    # In inches: 0.17 for a line of text, half as much between rows, and the axis with its labels.
    height = 0.17 * sum(line.count("\n") + 1.5 for line in lines) + 1.2
    figure, axis = plt.subplots(figsize=(4.8, height), layout="constrained")
    shown = {}
    for what, series, value, minimum, maximum in found:
        label, color, marker = library(series)
        y = rows.index(what)
        axis.plot([minimum, maximum], [y, y], color=color, linewidth=1, alpha=0.5)
        on_top = 4 if label.startswith("pycuda") else 3
        shown[label] = axis.scatter([value], [y], color=color, marker=marker, s=28, zorder=on_top)
    axis.set_yticks(range(len(rows)), lines)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    measure_axis(axis, [value for point in found for value in point[3:]], unit)
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    if len(shown) > 1:
        labels = sorted(shown, key=lambda label: not label.startswith("pycuda"))
        dots = [shown[label] for label in labels]
        figure.legend(dots, labels, loc="outside upper center", ncols=min(3, len(dots)), frameon=False)
    save(plt, figure, path)


def draw_work(plt, path, name, rates, copy=None):
    """Draws the curves of one kind of work. `rates` is {library: {size: rate}}: with `copy`, the driver's
    copy as {size: GB/s}, rates are GB/s and sizes elements; without it GFLOP/s of products and sides of
    matrices.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator

    figure, axis = plt.subplots(figsize=(3.6, 2.9), layout="constrained")
    for series, by_size in rates.items():
        if by_size:
            label, color, marker = library(series)
            sizes = [int(n) for n in by_size]
            axis.loglog(sizes, list(by_size.values()), color=color, marker=marker, markersize=4, label=label)
    if copy:
        sizes = [int(n) for n in copy]
        axis.loglog(sizes, list(copy.values()), color=INK, linestyle=":", label="the driver's copy")
    axis.xaxis.set_major_locator(LogLocator(base=2, numticks=7))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"$2^{{{round(n).bit_length() - 1}}}$"))
    axis.minorticks_off()
    axis.set_xlabel("elements (float32)" if copy else "rows, columns")
    axis.set_ylabel(f"{'GB/s' if copy else 'GFLOP/s'}, more is better")
    axis.set_title(name, fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7, frameon=False, labelcolor=INK)
    save(plt, figure, path)


def tables(results):
    """{name of the file: table} of the tables in a folder of results."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    return {name: table for name, table in found.items() if "title" in table}


def curves(results, name="bandwidth"):
    """The rates of a benchmark at every size, as its .data.json has them; None if it was not run."""
    path = results / f"{name}.data.json"
    return json.loads(path.read_text()) if path.exists() else None


def draw(results, pictures):
    """Draws the results in one folder into another folder, which is emptied first. Returns how many
    pictures.
    """
    try:
        import matplotlib
    except ImportError:
        sys.exit("matplotlib is not installed: `make plots` installs it")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    style(plt)
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    for name, table in tables(results).items():
        if name != "bandwidth":
            draw_table(plt, pictures / f"{name}.svg", table)
    if measured := curves(results):
        for name, rates in measured["work"].items():
            draw_work(plt, pictures / f"bandwidth-{name}.svg", name, rates, measured["copy"])
    if measured := curves(results, "products"):
        for name, rates in measured["work"].items():
            draw_work(plt, pictures / f"products-{name}.svg", name, rates)
    return len(list(pictures.glob("*.svg")))


def main():
    results = Path(sys.argv[1]) if sys.argv[1:] else RESULTS
    count = draw(results, RESULTS / "pictures")
    if not count:
        sys.exit("nothing was measured yet: `make bench`")
    print(f"{count} pictures in {RESULTS / 'pictures'}")


if __name__ == "__main__":
    main()
