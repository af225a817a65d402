"""Time of an import in a fresh process, beside NumPy's and the peers'."""

import statistics
import subprocess
import sys

from common import table

MODULES = ["numpy", "pycuda.driver", "pycuda.gpuarray", "cupy", "cuda.core", "numba.cuda", "torch"]


def seconds(module):
    """Median seconds of the import, or None when the module is not installed."""
    program = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    times = []
    while len(times) < 7 and sum(times) < 4:
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
        if done.returncode:
            return None
        times.append(float(done.stdout))
    return statistics.median(times)


def main():
    measured = [(name, seconds(name)) for name in MODULES]
    base = dict(measured)["numpy"]
    table(
        "Import in a fresh process",
        ["module", "ms", "x numpy"],
        [(name, f"{time * 1e3:.1f}", f"{time / base:.2f}") for name, time in measured if time is not None],
    )


if __name__ == "__main__":
    main()
