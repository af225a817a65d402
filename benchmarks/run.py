"""Runs all benchmarks, or those named as arguments, each in its own process: `make bench`.

They print tables and write them to results/ as JSON, which plots.py draws and page.py puts into
docs/figures.md.
"""

import os
import subprocess
import sys

from common import HERE, RESULTS, write_machine

ON_CPU = ("arrays", "interpreter", "cpu_device")  # measure the CPU device also on a machine with a GPU


def run(name):
    """Runs a benchmark; returns whether it failed."""
    device = {"PYCUDA_DEVICE": "cpu"} if name in ON_CPU else {}
    command = [sys.executable, "-W", "ignore", HERE / f"{name}.py"]
    return subprocess.run(command, cwd=HERE, env={**os.environ, **device}).returncode != 0


def main():
    if not sys.argv[1:]:
        for path in RESULTS.glob("*.json"):  # of earlier runs, maybe with other sizes or on another machine
            path.unlink()
    write_machine()
    names = sys.argv[1:] or [
        "import_time", "compile_time", "start", "launch", "array_calls", "graphs", "pool", "order",
        "operations", "shapes", "random_numbers", "sparse_products", "special_functions",
        "linear_algebra", "products", "bandwidth",
        *ON_CPU,
    ]  # fmt: skip
    failed = [name for name in names if run(name)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
