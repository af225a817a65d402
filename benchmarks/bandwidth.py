"""GB/s of array operations against the size, with the peers that are installed and the driver's copy.

    python benchmarks/bandwidth.py [largest exponent of 2] [seconds]

measures (on a GPU 1 K to 1 G elements within a minute, on the CPU device to 1 M), prints a table and writes
results/bandwidth.data.json, which plots.py draws. Bytes are those that must be read and written.
"""

import gc
import json
import sys
import time

import numpy as np
from arrays import ON_GPU, copy_rate, square_side, square_view
from common import RESULTS, seconds, table
from libraries import Cuda, installed

import pycuda.driver as drv
from pycuda import curandom, gpuarray

LARGEST = 30 if ON_GPU else 20
SECONDS = 50.0  # for all measurements; what is not measured by then, the largest sizes, is left out


# Functions of a library and arrays, which return the call to be measured.


def fill(library, x):
    if library.name == "torch":
        return lambda: x.fill_(2.0)
    return lambda: x.fill(2.0)


def dot(library, x, y):
    return lambda: library.functions.dot(x, y)


def transposed(library, x):
    matrix = square_view(x)
    if library.name == "pycuda":
        return lambda: matrix.T.astype(np.float32, order="C")
    if library.name == "torch":
        return lambda: matrix.T.contiguous()
    return lambda: library.functions.ascontiguousarray(matrix.T)


def uniform(library, x):
    n = x.shape[0]
    if library.name == "pycuda":
        return lambda: curandom.rand(n)
    if library.name == "torch":
        return lambda: x.uniform_()
    generator = library.functions.random.default_rng(1)
    return lambda: generator.random(n, dtype=np.float32)


def normal(library, x):
    n = x.shape[0]
    if library.name == "pycuda":
        generator = curandom.Philox4x32_10RandomNumberGenerator()
        return lambda: generator.fill_normal(x)
    if library.name == "torch":
        return lambda: x.normal_()
    generator = library.functions.random.default_rng(1)
    return lambda: generator.standard_normal(n, dtype=np.float32)


def sort(library, x):
    if library.name == "pycuda":
        return lambda: gpuarray.sort(x)
    return lambda: library.functions.sort(x)


# Name, bytes for an element, and what makes the call from (library, x, y), arrays of float32. Names of CUDA
# say which function of cub.cu does the same.
WORK = {
    "add": (12, lambda lib, x, y: lambda: x + y),
    "sin": (8, lambda lib, x, y: lambda: lib.math.sin(x)),
    "fill": (4, lambda lib, x, y: fill(lib, x)),
    "sum": (4, lambda lib, x, y: lambda: x.sum()),
    "dot": (8, lambda lib, x, y: dot(lib, x, y)),
    "scan": (8, lambda lib, x, y: lambda: x.cumsum(0)),
    "transpose": (8, lambda lib, x, y: transposed(lib, x)),
    "uniform": (4, lambda lib, x, y: uniform(lib, y)),
    "normal": (4, lambda lib, x, y: normal(lib, y)),
    "argmax": (4, lambda lib, x, y: lambda: x.argmax()),
    "sort": (8, lambda lib, x, y: sort(lib, x)),
}
CUDA = {
    "add": "add", "sin": "sine", "fill": "fill", "sum": "sum", "scan": "scan", "transpose": "transpose",
    "uniform": "uniform", "normal": "normal", "sort": "sort",
}  # fmt: skip


def calls(library, x, y):
    """(work, bytes for an element, call) one after another."""
    for name, (size, make) in WORK.items():
        if library.name != "CUDA":
            yield name, size, lambda make=make: make(library, x, y)
        elif name in CUDA:
            n = square_side(x.shape[0]) if name == "transpose" else x.shape[0]
            yield name, size, lambda name=name, n=n: library.call(CUDA[name], x, y, n)


def measure_size(n, library, end, max_seconds, found):
    """Adds the GB/s of a library at n elements to `found`, which is {work: {library's name: {n: GB/s}}}.

    No measurement begins after `end`, of time.perf_counter(); one takes at most `max_seconds`.
    """
    rng = np.random.default_rng(1)
    tile = rng.random(min(n, 1 << 20), dtype=np.float32)  # repeated: random numbers of 1 G would take long
    x, y = (library.array(np.tile(tile, n // tile.size)) for _ in range(2))
    for name, size, make in calls(library, x, y):
        if time.perf_counter() > end:
            return
        try:
            rate = size * n / seconds(make(), library.wait, max_seconds) / 1e9
            found.setdefault(name, {}).setdefault(library.name, {})[n] = rate
        except (MemoryError, RuntimeError, AttributeError, TypeError, drv.Error) as error:
            print(f"({library.name}, {name}, {n} elements: {type(error).__name__}: {str(error)[:80]})")


def release(library):
    """Frees the memory that a library's pool holds for reuse."""
    gc.collect()
    if library.name in ("pycuda", "CUDA"):
        drv.default_memory_pool().free_held()
    elif library.name == "cupy":
        library.functions.get_default_memory_pool().free_all_blocks()
    elif library.name == "torch":
        library.functions.cuda.empty_cache()


def measure(largest, budget):
    """Measures within `budget` seconds: {"device": its name, "copy": {n: GB/s}, "work": {work: {library: {n:
    GB/s}}}}.
    """
    libraries, sizes = installed(ON_GPU, Cuda), [1 << e for e in range(10, largest + 1, 2)]
    end = time.perf_counter() + budget
    # Half of the time is for measurements, the other for making arrays.
    max_seconds = budget / (len(sizes) * len(libraries) * len(WORK)) / 2
    found, copies = {}, {}
    for n in sizes:
        if time.perf_counter() < end:
            copies[n] = copy_rate(n)
        for library in libraries:
            if time.perf_counter() < end:
                measure_size(n, library, end, max_seconds, found)
                release(library)
    return {"device": drv.Context.get_device().name(), "copy": copies, "work": found}


def show(results):
    """Prints and keeps the table: a row for each work and size, a column for each library, ours first."""
    names = sorted(
        {name for rates in results["work"].values() for name in rates}, key=lambda n: n != "pycuda"
    )
    rows = []
    for work, rates in results["work"].items():
        for n in results["copy"]:
            own = [rates.get(name, {}).get(n) for name in names]
            if any(own):
                best = max((rate for rate in own[1:] if rate), default=None)
                ratio = f"{own[0] / best:.2f}" if own[0] and best else ""
                of_copy = f"{own[0] / results['copy'][n]:.2f}" if own[0] else ""
                cells = [f"{rate:.1f}" if rate else "-" for rate in own]
                rows.append([work, n, *cells, ratio, of_copy])
    table("Bandwidth", ["work", "elements", *names, "x best peer", "of copy"], rows)


def main():
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else LARGEST
    budget = float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    results = measure(largest, budget)
    show(results)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "bandwidth.data.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
