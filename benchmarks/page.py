"""Writes docs/figures.md and its pictures from what the benchmarks left in results/: `make figures`."""

import json
import shutil
import sys
import textwrap

from common import HERE, RESULTS

PICTURES = HERE.parent / "docs" / "pictures"
LARGE = 1 << 28  # the size of which the page shows numbers

HEAD = """# Figures

{machine}

Every table is of one run, in which all that is compared was measured in turn; rows where pycuda loses stand
beside the others. To repeat it on your machine:

```
make bench
make plots
make figures
```

![The ratios of the tables below, each to its own measure](pictures/benchmarks.png)

## Bandwidth against size

![GB/s against the number of elements, of pycuda, CuPy, torch and CUDA](pictures/bandwidth.png)

GB/s of what must be read and written, by the host's clock over many calls, so that small sizes show what a
call costs. "CUDA" is plain CUDA C++ and CUB (`benchmarks/cub.cu`), CuPy has CUB switched on, the dotted
line is the driver's copy from device to device. At 2^28 elements of float32:

"""


def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    # A call of what is in brackets is no link.
    text = "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"
    return text.replace("](", "]\\(")


def bandwidth():
    results = json.loads((RESULTS / "bandwidth.data.json").read_text())
    names = list(dict.fromkeys(name for rates in results["work"].values() for name in rates))
    n = str(min(LARGE, max(int(size) for size in results["copy"])))
    rows = []
    for work, rates in results["work"].items():
        own = [rates.get(name, {}).get(n) for name in names]
        if any(own):
            rows.append([work, *(f"{rate:.0f}" if rate else "-" for rate in own)])
    rows.append(["device to device copy", f"{results['copy'][n]:.0f}", *["-"] * (len(names) - 1)])
    return markdown(["GB/s", *names], rows)


def main():
    if not (RESULTS / "machine.json").exists() or not (RESULTS / "bandwidth.data.json").exists():
        sys.exit("run `make bench` and `make plots` first")
    machine = json.loads((RESULTS / "machine.json").read_text())
    said = ", ".join(f"{name} {value}" for name, value in machine.items()) + "."
    text = HEAD.format(machine="\n".join(textwrap.wrap(said, 105)))
    text += bandwidth()
    for path in sorted(RESULTS.glob("*.json")):
        found = json.loads(path.read_text())
        if "title" in found and found["title"] != "Bandwidth":
            said = f"{found['on']}\n\n" if found.get("on") else ""
            text += f"\n## {found['title']}\n\n{said}{markdown(found['header'], found['rows'])}"
    (HERE.parent / "docs" / "figures.md").write_text(text)
    for name in ("bandwidth.png", "benchmarks.png"):
        if (RESULTS / name).exists():
            shutil.copy(RESULTS / name, PICTURES / name)


if __name__ == "__main__":
    main()
