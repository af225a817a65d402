"""GB/s of what must be read and written: sums along axes of every shape, slices, other dtypes, gathers.

With CuPy and torch, and plain CUDA for some, all on the same memory; on the CPU device with NumPy.

A GiB for each operand on a GPU (2^28 float32), 4 MiB on the CPU device; another exponent as argument.
"""

import sys

import numpy as np
from arrays import ON_GPU, copy_rate, seconds
from bandwidth import release
from common import processor, table
from libraries import Cuda, installed

import pycuda.driver as drv
from pycuda import curandom, gpuarray

EXPONENT = 28 if ON_GPU else 20


def element(name):
    """The dtype of this name; bfloat16 is that of ml_dtypes."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def operand(nbytes, dtype):
    """A GPUArray of `nbytes` bytes with random numbers."""
    dtype = element(dtype)
    if dtype.kind == "c":
        return curandom.rand(nbytes // (dtype.itemsize // 2), f"f{dtype.itemsize // 2}").view(dtype)
    if dtype.kind == "V" or dtype.name == "bfloat16":
        return curandom.rand(nbytes // 2, np.float32).astype(dtype)
    return curandom.rand(nbytes // dtype.itemsize, dtype)


def places(count):
    """`count` random indices below `count`, as int32."""
    return (curandom.rand(count, np.uint32) % np.uint32(count)).astype(np.int32)


def copied(lib, x):
    return x.clone() if lib.name == "torch" else x.copy()


def backwards(lib, x):
    if lib.name == "torch":
        return lambda: x.flip(0)
    back = x[::-1]
    return lambda: copied(lib, back)


def taken(lib, x, numbers):
    if lib.name == "pycuda":
        return lambda: gpuarray.take(x, numbers)
    return lambda: x[numbers] if lib.name == "torch" else x.take(numbers)


def square(x):
    """The largest square matrix whose side is a power of two, of the first elements of x."""
    side = 1 << (x.shape[0].bit_length() - 1) // 2
    return x[: side * side].reshape(side, side)


def halves(x):
    return x[::2], x[1::2]


def of_squares(work):
    """A function of (library, x, y) for WORK, whose call is `work` of square(x) and square(y)."""

    def make(lib, x, y):
        a, b = square(x), square(y)
        return lambda: work(a, b)

    return make


def sums(rows):
    """Rows of WORK: sums along both axes of a matrix with `rows` rows or, if that is negative,
    -rows columns.
    """

    def along(axis):
        def make(lib, x, y):
            matrix = x.reshape(rows, -1) if rows > 0 else x.reshape(-1, -rows)
            return lambda: matrix.sum(axis)

        return make

    name = f"({rows}, n/{rows})" if rows > 0 else f"(n/{-rows}, {-rows})"
    return {f"sum, axis {axis} of {name}": (4, along(axis)) for axis in (0, 1)}


def middle(lib, x, y):
    """The sum along the middle of three axes."""
    cube = x.reshape(512 if ON_GPU else 32, 1024, -1)
    return lambda: cube.sum(1)


# Name: (bytes read and written for an element of x, a function of (library, x, y) that returns the call).
WORK = {
    **sums(8),
    **sums(1024),
    "sum, axis 0 of a square": (4, of_squares(lambda a, b: a.sum(0))),
    "sum, axis 1 of a square": (4, of_squares(lambda a, b: a.sum(1))),
    **sums(-1024),
    **sums(-8),
    "sum, axis 1 of (512, 1024, n/2^19)": (4, middle),
    "argmax": (4, lambda lib, x, y: lambda: x.argmax()),
    "argmax, axis 1 of a square": (4, of_squares(lambda a, b: a.argmax(1))),
    "cumsum, axis 0 of a square": (8, of_squares(lambda a, b: a.cumsum(0))),
    "cumsum, axis 1 of a square": (8, of_squares(lambda a, b: a.cumsum(1))),
    "x[::2] + x[1::2]": (6, lambda lib, x, y: (lambda a, b: lambda: a + b)(*halves(x))),
    "x[::-1] copied": (8, lambda lib, x, y: backwards(lib, x)),
    "square.T + square": (12, of_squares(lambda a, b: a.T + b)),
    "square + row": (8, of_squares(lambda a, b: a + b[0])),
    "where(x > y, x, y)": (22, lambda lib, x, y: lambda: lib.functions.where(x > y, x, y)),
}
CUDA = {"x[::-1] copied": "backwards"}  # the function of cub.cu that does the same
# What libraries raise for what they do not support.
LACKS = MemoryError, RuntimeError, TypeError, ValueError, AttributeError, BufferError, drv.Error
DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def rate(library, make, arrays, nbytes):
    """GB/s of the call that `make` returns for the library and the arrays; None if it is not supported."""
    try:
        shared = [library.share(array) for array in arrays]
        return nbytes / seconds(make(library, *shared), library.wait) / 1e9
    except LACKS as error:
        print(f"({library.name}: {type(error).__name__}: {str(error)[:80]})")
        return None


def by_cuda(name, n):
    """A function for WORK, whose call is the function of cub.cu with n elements."""
    return lambda library, x, y: library.call(name, x, y, n)


def measured(libraries, exponent):
    """Yields (name, [GB/s of each library]) for each row of the table."""
    n = 1 << exponent

    def row(name, make, arrays, nbytes, plain=None, count=n):
        """A row from a function as in WORK; plain: the function of cub.cu, which gets `count` elements."""
        found = []
        for library in libraries:
            if library.name != "CUDA":
                found.append(rate(library, make, arrays, nbytes))
            else:
                found.append(plain and rate(library, by_cuda(plain, count), arrays, nbytes))
            release(library)
        return name, found

    x, y = operand(4 * n, "float32"), operand(4 * n, "float32")
    for name, (size, make) in WORK.items():
        yield row(name, make, (x, y), size * n, CUDA.get(name))
    few = n // 4
    yield row("take of n/4", taken, (x[:few], places(few)), 12 * few, "take", few)
    del x, y
    yield row("sum of float16", lambda lib, a: lambda: a.sum(), [operand(4 * n, "float16")], 4 * n)
    for dtype in DTYPES:
        a, b = operand(4 * n, dtype), operand(4 * n, dtype)
        yield row(f"copy, {dtype}", lambda lib, a, b: lambda: copied(lib, a), (a, b), 8 * n)
        add = "add" if dtype == "float32" else None
        yield row(f"x + y, {dtype}", lambda lib, a, b: lambda: a + b, (a, b), 12 * n, add)


def main():
    exponent = int(sys.argv[1]) if len(sys.argv) > 1 else EXPONENT
    libraries, rows = installed(ON_GPU, Cuda), []
    copy = copy_rate(1 << exponent)
    for name, found in measured(libraries, exponent):
        peers = [each for library, each in zip(libraries, found, strict=True) if library.name != "CUDA"][1:]
        best = max((each for each in peers if each), default=None)
        ratio = f"{found[0] / best:.2f}" if found[0] and best else ""
        of_copy = f"{found[0] / copy:.2f}" if found[0] else ""
        rows.append([name, *(f"{each:.1f}" if each else "-" for each in found), ratio, of_copy])
    header = ["GB/s", *[library.name for library in libraries], "x best peer", "of copy"]
    where = "" if ON_GPU else " on the CPU device"
    title = f"Axes, slices and dtypes, 2^{exponent} elements of 4 bytes{where}"
    table(title, header, rows, on=None if ON_GPU else processor())


if __name__ == "__main__":
    main()
