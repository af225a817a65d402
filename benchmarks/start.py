"""Milliseconds of the first calls of a new process, with an empty compiler cache and with a filled one:
making the context, then the first call of each kind, which compiles or loads its kernel.
"""

import os
import statistics
import subprocess
import sys
import tempfile

from common import table

PROGRAM = """
import sys, time
import numpy as np
import pycuda.driver as drv
from pycuda import cumath, gpuarray

def lap(start=[time.perf_counter()]):
    now = time.perf_counter()
    print((now - start[0]) * 1e3)
    start[0] = time.perf_counter()

ones = np.ones(1000, np.float32)
lap()
drv.init()
context = drv.Device(0).make_context()
lap()
a = gpuarray.to_gpu(ones)
lap()
for call in lambda: a + a, lambda: cumath.exp(a), lambda: a.sum(), lambda: a.cumsum(), lambda: a + a:
    call()
    drv.Context.synchronize()
    lap()
context.pop()
"""
LAPS = [
    "drv.init(), make_context()", "to_gpu(1000 float32)", "a + a", "cumath.exp(a)", "a.sum()", "a.cumsum()",
    "a + a again",
]  # fmt: skip


def laps(folder):
    """Milliseconds of each step of PROGRAM in a new process, with its cache in this folder."""
    environment = {**os.environ, "PYCUDA_CACHE_DIR": folder}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return [float(line) for line in done.stdout.split()][1:]  # the first is the time since the imports


def main():
    cold, warm = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(laps(folder))
            warm += [laps(folder) for _ in range(2)]
    rows = [
        (name, *(f"{statistics.median(times):.2f}" for times in columns))
        for name, *columns in zip(LAPS, zip(*cold, strict=True), zip(*warm, strict=True), strict=True)
    ]
    table("The first calls of a process", ["ms", "cache empty", "cache filled"], rows)


if __name__ == "__main__":
    main()
