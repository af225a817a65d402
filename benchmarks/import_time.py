"""Time of an import in a fresh process, with NumPy's and the peers'. PyCUDA's where UPSTREAM_PYTHON has it.

Every round imports each module once, so that all see the same machine.
"""

import os
import statistics
import subprocess
import sys

from common import table, upstream_environment, upstream_version

MODULES = [
    "numpy",
    "pycuda.driver",
    "pycuda.gpuarray",
    "pycuda.numpy",
    "cupy",
    "cuda.core",
    "numba.cuda",
    "torch",
]
# find_spec before the clock starts: an editable install checks then whether C must be rebuilt.
PROGRAM = """
import importlib.util, time
importlib.util.find_spec("pycuda")
start = time.perf_counter()
import {}
print(time.perf_counter() - start)
"""
ROUNDS = 15
MAX_SECONDS = 12.0  # of all imports of one module: then it is left out of further rounds


def candidates():
    """{name in the table: (interpreter, module)}"""
    found = {name: (sys.executable, name) for name in MODULES}
    if python := os.environ.get("UPSTREAM_PYTHON"):
        ours = [name for name in MODULES if name.startswith("pycuda")]
        found |= {f"PyCUDA {upstream_version()} {name}": (python, name) for name in ours}
    return found


def seconds(python, module):
    """The time of one import, or None when the module is not installed."""
    environment = None if python == sys.executable else upstream_environment()
    command = [python, "-W", "ignore", "-c", PROGRAM.format(module)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return float(done.stdout) if done.returncode == 0 else None


def main():
    # The first import of all may write bytecode, and reads files from the disk.
    available = {name: what for name, what in candidates().items() if seconds(*what) is not None}
    times = {name: [] for name in available}
    for _ in range(ROUNDS):
        for name, what in available.items():
            if sum(times[name]) < MAX_SECONDS:
                times[name].append(seconds(*what))
    rows = []
    for name, mine in times.items():
        ratios = [time / numpy for time, numpy in zip(mine, times["numpy"], strict=False)]
        cells = [f"{of(mine) * 1e3:.1f}" for of in (statistics.median, min, max)]
        rows.append((name, *cells, f"{statistics.median(ratios):.2f}"))
    table("Import in a fresh process", ["module", "ms", "min", "max", "x numpy"], rows)


if __name__ == "__main__":
    main()
