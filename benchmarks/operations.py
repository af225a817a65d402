"""Milliseconds of operations on arrays, with the peers that are installed.

On a GPU with 2^26 elements, on the CPU device 2^18; another exponent as argument.
"""

import functools
import sys

import numpy as np
from arrays import ON_GPU
from libraries import compare, installed


@functools.cache
def numbers(count, dtype="f4", maximum=1.0, seed=1):
    """`count` random numbers from 0 to `maximum`. They are cached: rows with the same arguments
    share them.
    """
    random = np.random.default_rng(seed).random(count, "f8" if dtype == "f8" else "f4")
    return (random * maximum).astype(dtype)


def table(shape, *operands):
    """A function that makes the operands of a call: a matrix of this shape, and the given ones after it."""
    return lambda: [numbers(shape[0] * shape[1]).reshape(shape), *operands]


# Calls, or functions that return calls, which take a library and operands of it. torch has other names for
# some functions.


def method(name, *arguments):
    return lambda lib, x: getattr(x, name)(*arguments)


def function(name, *arguments):
    return lambda lib, *operands: getattr(lib.functions, name)(*operands, *arguments)


def norm(lib, x, order=None, axis=1):
    return lib.functions.linalg.norm(x, order, axis)


def partition(lib, x):
    return lib.functions.kthvalue(x, 101) if lib.name == "torch" else lib.functions.partition(x, 100)


def percentile(lib, x):
    return lib.functions.quantile(x, 0.3) if lib.name == "torch" else lib.functions.percentile(x, 30)


def digitize(lib, x, edges):
    return getattr(lib.functions, "bucketize" if lib.name == "torch" else "digitize")(x, edges)


def searchsorted(lib, edges, x):
    return lib.functions.searchsorted(edges, x)


def isin(lib, x, values):
    return lib.functions.isin(x, values)


# ---- elements moved


def rows(lib, x, chosen):
    return x[chosen]


def columns(lib, x, chosen):
    return x[:, chosen]


def assign(lib, x, chosen, values):
    x[chosen] = values


def take_along(lib, x, chosen):
    return lib.functions.gather(x, 1, chosen) if lib.name == "torch" else np.take_along_axis(x, chosen, 1)


def pad(lib, x, mode="constant"):
    if lib.name != "torch":
        return lib.functions.pad(x, 3, mode)
    padded = lib.functions.nn.functional.pad
    if mode == "constant":
        return padded(x, (3, 3, 3, 3))
    return padded(x[None, None], (3, 3, 3, 3), {"edge": "replicate", "wrap": "circular"}.get(mode, mode))


def interp(lib, x, points, values):
    return lib.functions.interp(x, points, values)


def cross(lib, x, y):
    functions = lib.functions.linalg if lib.name == "torch" else lib.functions
    return functions.cross(x, y)


def indices(count, length, seed=3):
    """`count` random indices below `length`, the same at each call; count may be a shape."""
    return np.random.default_rng(seed).integers(0, length, count)


def moved(n, square):
    """Rows of work(): elements that are moved, padded, interpolated or multiplied in pairs."""
    high, wide = square
    quarter = n // 4

    def with_indices(count, length, x=None):
        return lambda: [*(x or table(square))(), indices(count, length)]

    def vector(count):
        return lambda: [numbers(count), indices(count, count)]

    return {
        "half of the rows": (with_indices(high // 2, high), rows),
        "half of the columns": (with_indices(wide // 2, wide), columns),
        "take_along_axis": (with_indices(square, wide), take_along),
        "x[indices], n / 4": (vector(quarter), rows),
        "x[indices] = y, n / 4": (lambda: [*vector(quarter)(), numbers(quarter)], assign),
        "tril": (table(square), function("tril")),
        "pad by 3": (table(square), pad),
        "pad by 3, edge": (table(square), functools.partial(pad, mode="edge")),
        "pad by 3, reflect": (table(square), functools.partial(pad, mode="reflect")),
        "pad by 3, wrap": (table(square), functools.partial(pad, mode="wrap")),
        "interp in 1000": (
            lambda: [numbers(n, "f8"), np.sort(numbers(1000, "f8", seed=2)), numbers(1000, "f8")],
            interp,
        ),
        "cross of n / 64": (table((n // 64, 3), numbers(n // 64 * 3, seed=2).reshape(-1, 3)), cross),
        "outer": (lambda: [numbers(high), numbers(wide)], function("outer")),
    }


def work(n):
    """{name: (what makes the operands, the call)} for n elements, a power of two."""
    side = 1 << (n.bit_length() - 1) // 2
    square, short = (n // side, side), (n // 1024, 1024)

    def flat(dtype="f4", count=n, maximum=1.0):
        return lambda: [numbers(count, dtype, maximum)]

    def with_table(x, values):
        return lambda: [*x(), *values()]

    def edges(count):
        return lambda: [np.sort(numbers(count, seed=2))]

    return {
        "var of all": (flat(), method("var")),
        "std of all": (flat(), method("std")),
        "var along axis 0": (table(square), method("var", 0)),
        "var along axis 1": (table(square), method("var", 1)),
        "var of double": (flat("f8", n // 2), method("var")),
        "nanvar of all": (flat(), function("nanvar")),
        "norm along axis 0": (table(square), functools.partial(norm, axis=0)),
        "norm along axis 1": (table(square), norm),
        "norm 1 along axis 1": (table(square), functools.partial(norm, order=1)),
        "norm inf along axis 1": (table(square), functools.partial(norm, order=float("inf"))),
        "norm of all": (flat(), functools.partial(norm, axis=None)),
        "sort of rows of 1024": (table(short), function("sort")),
        "argsort of rows of 1024": (table(short), function("argsort")),
        "sort of rows of 4096": (table((n // 4096, 4096)), function("sort")),
        "sort of rows of 100": (table((n // 100, 100)), function("sort")),
        "sort of n / 2 double": (flat("f8", n // 2), function("sort")),
        "sort of n / 2 int64": (flat("i8", n // 2, 2.0**62), function("sort")),
        "partition 100": (flat(), partition),
        "percentile": (flat(), percentile),
        "median": (flat(), function("median")),
        "median along axis 1": (table(short), function("median", 1)),
        "isin 1000": (with_table(flat("i4", n, 1e6), flat("i4", 1000, 1e6)), isin),
        "searchsorted in 2^20": (with_table(edges(1 << 20), flat()), searchsorted),
        "searchsorted in 1000": (with_table(edges(1000), flat()), searchsorted),
        "digitize in 1000": (with_table(flat(), edges(1000)), digitize),
        "digitize in 10": (with_table(flat(), edges(10)), digitize),
        **moved(n, square),
    }


def main():
    exponent = int(sys.argv[1]) if len(sys.argv) > 1 else 26 if ON_GPU else 18
    count = 1 << exponent
    compare(f"Operations on 2^{exponent} elements", installed(ON_GPU), work(count))


if __name__ == "__main__":
    main()
