"""Writes docs/figures.md and its pictures from the JSON in results/, or in another folder, and keeps the JSON
in recorded/: `make figures`. A test holds the page to it.
"""

import json
import shutil
import sys
import textwrap
from pathlib import Path

from common import HERE, RESULTS
from plots import curves, draw, points, tables

PAGES = HERE.parent / "docs"
SHOWN = PAGES / "pictures" / "figures"
RECORDED = HERE / "recorded"  # the JSON of the run that the page is about
LARGE = 1 << 28  # the elements, at most, for which the page shows GB/s as numbers

HEAD = """# Figures

{machine}

Every table is of one run, in which all that is compared was measured in turn. Rows where pycuda loses are
shown like the others. A dot is the median, the line through it reaches from minimum to maximum; scales are
logarithmic. To repeat it on your machine, in a clone:

```
.venv/bin/pip install cupy-cuda13x torch "cuda-core[cu13]" "numba-cuda[cu13]" scipy    # those that you want
export UPSTREAM_PYTHON=/path/to/python      # an environment that has PyCUDA itself, if you want
make bench                                  # measures, prints tables, writes JSON
make figures                                # draws (installs matplotlib), writes this page
```

What is not installed is left out. `nvcc` on the PATH adds plain CUDA C++ and CUB. `make figures
RESULTS=FOLDER` takes the JSON of another machine. Several GPUs: [Scaling](scaling.md).
"""
BANDWIDTH = """
## Bandwidth against size

GB/s of what must be read and written, by the host's clock over many calls, so that small sizes show what a
call costs. The dotted line is the driver's copy from device to device.{peers}

```{{container}} figures
{pictures}
```

At {size} elements of float32:

"""
PEERS = """ "C, CUDA" is plain CUDA C++ and CUB
(`benchmarks/cub.cu`), CuPy has CUB switched on."""
# The order of the tables, by how titles begin; those with other titles come last.
ORDER = [
    "Host time of one launch", "Host time of an array", "Host time of graphs", "Host time of one allocation",
    "From source", "Import", "The first calls", "Random", "Sorting", "Operations", "Axes", "Sparse", "Linear",
    "Products", "Arrays", "CPU device",
]  # fmt: skip
# A paragraph above a table, by how its title begins.
NOTES = {
    "The first calls": "The first kernel that is compiled waits for NVRTC to start as well.",
    "Axes": "Sums count what is read: along an axis of 8 elements they also write an eighth of that.",
}


def markdown(header, rows):
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    # The name of a call, "f[1, 32](5)", must not become a link.
    text = "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"
    return text.replace("](", "]\\(")


def power(n):
    """A number as text, a power of two as "2^28"."""
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else str(n)


def bandwidth(results):
    """The section about results/bandwidth.data.json: pictures of the curves, a table for one size. Empty
    without that file.
    """
    measured = curves(results)
    if not measured:
        return ""
    work = measured["work"]
    names = list(dict.fromkeys(name for rates in work.values() for name in rates))
    size = min(LARGE, max(int(size) for size in measured["copy"]))
    n, rows = str(size), []
    for name, rates in work.items():
        row = [rates.get(library, {}).get(n) for library in names]
        if any(row):
            rows.append([name, *(f"{rate:.1f}" if rate else "-" for rate in row)])
    rows.append(["the driver's copy", f"{measured['copy'][n]:.1f}", *["-"] * (len(names) - 1)])
    pictures = "".join(picture(f"bandwidth-{name}", f"GB/s of {name} by elements") for name in work)
    head = BANDWIDTH.format(
        peers=PEERS if "CUDA" in names else "", pictures=pictures.strip(), size=power(size)
    )
    return head + markdown(["GB/s", *names], rows)


def picture(name, title):
    """Markdown of a picture of the page; empty if plots.py did not draw it."""
    path = SHOWN / f"{name}.svg"
    return f"![{title}](pictures/figures/{path.name})\n" if path.exists() else ""


def place(table):
    """The table's place in ORDER; len(ORDER) if it has none."""
    found = (i for i, start in enumerate(ORDER) if table["title"].startswith(start))
    return next(found, len(ORDER))


def sections(results):
    """The text of the page for each table in the folder `results`: title, notes, pictures, rows. The table
    "Bandwidth" is in bandwidth().
    """
    found = {name: table for name, table in tables(results).items() if table["title"] != "Bandwidth"}
    for name, table in sorted(found.items(), key=lambda item: place(item[1])):
        notes = [
            table.get("on"),
            *(text for start, text in NOTES.items() if table["title"].startswith(start)),
        ]
        notes = "".join(f"{text}\n\n" for text in notes if text)
        drawn = picture(name, f"The table below as dots,\n{points(table)[0]} by library")
        drawn += "\n" if drawn else ""
        # Products have curves by size in place of the dots.
        if table["title"].startswith("Products") and (measured := curves(results, "products")):
            shown = "".join(
                picture(f"products-{each}", f"GFLOP/s of {each} by side") for each in measured["work"]
            )
            drawn = f"```{{container}} figures\n{shown}```\n\n"
        yield f"\n## {table['title']}\n\n{notes}{drawn}{markdown(table['header'], table['rows'])}"


def page(results):
    """The text of the page about the run whose JSON is in the folder `results`."""
    machine = json.loads((results / "machine.json").read_text())
    summary = ", ".join(f"{name} {value}" for name, value in machine.items()) + "."
    head = HEAD.format(machine="\n".join(textwrap.wrap(summary, 105)))
    return head + bandwidth(results) + "".join(sections(results))


def record(results):
    """Keeps the JSON of the run, in place of that of the one before."""
    shutil.rmtree(RECORDED, ignore_errors=True)
    RECORDED.mkdir()
    for path in sorted(results.glob("*.json")):
        shutil.copy(path, RECORDED)


def main():
    results = Path(sys.argv[1]) if sys.argv[1:] else RESULTS
    if not (results / "machine.json").exists():
        sys.exit("run `make bench` first")
    if results.resolve() != RECORDED:
        record(results)
    draw(RECORDED, SHOWN)
    (PAGES / "figures.md").write_text(page(RECORDED))


if __name__ == "__main__":
    main()
