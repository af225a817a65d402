"""Runs the benchmarks that make sense on this machine, each in its own process, and draws the results."""

import json
import os
import subprocess
import sys

from common import HERE, RESULTS, machine

ON_CPU = ("arrays", "interpreter", "cpu_device")  # of the CPU device, wherever they run


def run(name):
    """Whether it failed."""
    device = {"PYCUDA_DEVICE": "cpu"} if name in ON_CPU else {}
    command = [sys.executable, "-W", "ignore", HERE / f"{name}.py"]
    return subprocess.run(command, cwd=HERE, env={**os.environ, **device}).returncode != 0


def measured(table, column):
    """The rows that have a number there."""
    return [row for row in table["rows"] if row[column] not in ("", "-")]


def ratio_column(table):
    """The first column of ratios that has numbers, or None."""
    columns = (i for i, name in enumerate(table["header"]) if name.startswith("x "))
    return next((i for i in columns if measured(table, i)), None)


def draw():
    """One picture of every table's ratios, when matplotlib is there."""
    try:
        import matplotlib
    except ImportError:
        print("\n(no matplotlib: no picture)")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    tables = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    tables = [found for found in tables if "title" in found and found["title"] != "Bandwidth"]
    ratios = [(t, i) for t in tables if (i := ratio_column(t)) is not None]
    heights = [2 + len(measured(t, column)) for t, column in ratios]
    figure, axes = plt.subplots(
        len(ratios), 1, figsize=(9, 0.25 * sum(heights)), height_ratios=heights, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis, (t, column) in zip(axes[:, 0], ratios, strict=True):
        rows = measured(t, column)
        axis.barh([row[0] for row in rows], [float(row[column]) for row in rows])
        axis.axvline(1, color="black", linewidth=1)
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.invert_yaxis()
        axis.set_title(f"{t['title']} ({t['header'][column]})")
    figure.savefig(RESULTS / "benchmarks.png", dpi=120)
    print(f"\npicture: {RESULTS / 'benchmarks.png'}")


def main():
    machine()
    names = sys.argv[1:] or [
        "import_time", "compile_time", "start", "launch", "array_calls", "graphs", "pool", "order", "shapes",
        "random_numbers", "sparse",
        *ON_CPU,
    ]  # fmt: skip
    failed = [name for name in names if run(name)]
    draw()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
