"""Milliseconds of sorting and counting, with the peers that are installed.

On a GPU with 2^28 elements, on the CPU device 2^18; another exponent as argument.
"""

import sys

import numpy as np
from arrays import ON_GPU, seconds
from common import table
from libraries import installed

import pycuda.driver as drv
from pycuda import curandom


def of_torch(lib):
    return lib.name == "torch"


def unique(lib, x):
    return lambda: lib.functions.unique(x)


def histogram(lib, x):
    if of_torch(lib):
        return lambda: lib.functions.histc(x, 256, 0, 1)
    return lambda: lib.functions.histogram(x, 256, (0, 1))


def topk(lib, x):
    if of_torch(lib):
        return lambda: lib.functions.topk(x, 100)
    if lib.name == "pycuda":
        from pycuda.gpuarray import topk

        return lambda: topk(x, 100)
    return lambda: lib.functions.partition(x, x.shape[0] - 100)[-100:]


# Name, the part of the elements (one in so many), their dtype and how many values they have, the call.
WORK = {
    "sort": (1, "i4", 2**31, lambda lib, x: lambda: lib.functions.sort(x)),
    "argsort": (1, "i4", 2**31, lambda lib, x: lambda: lib.functions.argsort(x)),
    "sort of doubles": (8, "f8", 1, lambda lib, x: lambda: lib.functions.sort(x)),
    "sort of rows of 64": (1, "f4", 1, lambda lib, x: lambda: lib.functions.sort(x.reshape(-1, 64))),
    "unique": (8, "i4", 2**31, unique),
    "unique of 1000 values": (8, "i4", 1000, unique),
    "top 100": (1, "f4", 1, topk),
    "bincount, 1000 bins": (8, "i4", 1000, lambda lib, x: lambda: lib.functions.bincount(x)),
    "histogram, 256 bins": (1, "f4", 1, histogram),
    "nonzero, half of them": (1, "i4", 2, lambda lib, x: lambda: lib.functions.nonzero(x)),
}


def numbers(count, dtype, most):
    """Whole numbers below `most`, or floats from 0 to 1."""
    if dtype[0] == "i":
        return (curandom.rand(count, np.uint32) % np.uint32(most)).astype(dtype).get()
    return curandom.rand(count, np.float32).astype(dtype).get()


def main():
    exponent = int(sys.argv[1]) if len(sys.argv) > 1 else 28 if ON_GPU else 18
    libraries, rows = installed(ON_GPU), []
    for name, (part, dtype, most, make) in WORK.items():
        host, found = numbers((1 << exponent) // part, dtype, most), []
        for library in libraries:
            try:
                found.append(seconds(make(library, library.array(host)), library.wait) * 1e3)
            except (MemoryError, RuntimeError, drv.Error) as error:
                print(f"({library.name}, {name}: {type(error).__name__})")
                found.append(None)
        best = min((each for each in found[1:] if each), default=None)
        ratio = f"{best / found[0]:.2f}" if found[0] and best else ""
        label = f"{name}, 1 / {part} of them" if part > 1 else name
        rows.append([label, *[f"{each:.3f}" if each else "-" for each in found], ratio])
    header = ["ms", *[library.name for library in libraries], "x best peer"]
    table(f"Sorting and counting, 2^{exponent} elements", header, rows)


if __name__ == "__main__":
    main()
