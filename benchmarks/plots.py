"""GB/s against the size, both logarithmic, a picture for each work: draws what bandwidth.py measured."""

import json
import sys

from common import RESULTS

COLUMNS = 3


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    work = results["work"]
    rows = -(-len(work) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(13, 3.2 * rows), squeeze=False, layout="constrained")
    for axis, (name, libraries) in zip(axes.flat, work.items(), strict=False):
        for library, rates in libraries.items():
            if rates:
                axis.loglog(
                    [int(n) for n in rates], list(rates.values()), marker="o", markersize=3, label=library
                )
        copy = results["copy"]
        axis.loglog([int(n) for n in copy], list(copy.values()), color="grey", linestyle=":", label="copy")
        axis.set_title(name)
        axis.grid(alpha=0.3)
    for axis in axes.flat[len(work) :]:
        axis.set_axis_off()
    axes.flat[0].legend()
    figure.suptitle(results["device"])
    figure.supxlabel("elements (float32)")
    figure.supylabel("GB/s")
    figure.savefig(path, dpi=110)
    print(f"picture: {path}")


def main():
    data = RESULTS / "bandwidth.data.json"
    if not data.exists():
        sys.exit("nothing was measured yet: run benchmarks/bandwidth.py")
    try:
        draw(json.loads(data.read_text()), RESULTS / "bandwidth.png")
    except ImportError:
        sys.exit("matplotlib is not installed: pip install matplotlib")


if __name__ == "__main__":
    main()
