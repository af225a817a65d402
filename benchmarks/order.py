"""Milliseconds of sorting and counting, with the peers that are installed.

On a GPU with 2^28 elements, on the CPU device 2^18; another exponent as argument.
"""

import sys

import numpy as np
from arrays import ON_GPU
from libraries import compare, installed

from pycuda import curandom
from pycuda.gpuarray import topk as our_topk


def function(name):
    return lambda lib, x: getattr(lib.functions, name)(x)


def histogram(lib, x):
    if lib.name == "torch":
        return lib.functions.histc(x, 256, 0, 1)
    return lib.functions.histogram(x, 256, (0, 1))


def topk(lib, x):
    if lib.name == "torch":
        return lib.functions.topk(x, 100)
    if lib.name == "pycuda":
        return our_topk(x, 100)
    return lib.functions.partition(x, x.shape[0] - 100)[-100:]


# Name: (divisor of the number of elements, dtype, number of different values or 1 for floats, call).
WORK = {
    "sort": (1, "i4", 2**31, function("sort")),
    "argsort": (1, "i4", 2**31, function("argsort")),
    "sort of doubles": (8, "f8", 1, function("sort")),
    "sort of rows of 64": (1, "f4", 1, lambda lib, x: lib.functions.sort(x.reshape(-1, 64))),
    "unique": (8, "i4", 2**31, function("unique")),
    "unique of 1000 values": (8, "i4", 1000, function("unique")),
    "top 100": (1, "f4", 1, topk),
    "bincount, 1000 bins": (8, "i4", 1000, function("bincount")),
    "histogram, 256 bins": (1, "f4", 1, histogram),
    "nonzero, half of them": (1, "i4", 2, function("nonzero")),
}


def numbers(count, dtype, stop):
    """`count` random numbers on the host: integers below `stop`, or floats from 0 to 1."""
    if dtype[0] == "i":
        return (curandom.rand(count, np.uint32) % np.uint32(stop)).astype(dtype).get()
    return curandom.rand(count, np.float32).astype(dtype).get()


def work(count):
    """(name, (what makes the operands, the call)) of each row of WORK."""
    for name, (divisor, dtype, stop, call) in WORK.items():
        label = f"{name}, 1 / {divisor} of them" if divisor > 1 else name
        yield label, (lambda of=(count // divisor, dtype, stop): [numbers(*of)], call)


def main():
    exponent = int(sys.argv[1]) if len(sys.argv) > 1 else 28 if ON_GPU else 18
    compare(f"Sorting and counting, 2^{exponent} elements", installed(ON_GPU), dict(work(1 << exponent)))


if __name__ == "__main__":
    main()
