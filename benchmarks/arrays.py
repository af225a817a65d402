"""GB/s of array operations against the size, with the peers that are installed and the driver's own copy.

On a GPU from 1 K to 1 G elements, on the CPU device 1 M, with NumPy. Bytes are those that must be read
and written.
"""

import math
import sys

import numpy as np
from common import processor, seconds, table
from libraries import installed

import pycuda.driver as drv

ON_GPU = "CPU" not in drv.Context.get_device().name()
LARGEST = 30 if ON_GPU else 20
EXPONENTS = range(10, LARGEST + 1, 4) if ON_GPU else [LARGEST]


def square_side(n):
    """The largest power of two whose square is not above n."""
    return 1 << (int(math.log2(n)) // 2)


def square_view(x):
    """A square matrix of x's first elements: a view with square_side(n) rows and columns."""
    side = square_side(x.shape[0])
    return x[: side * side].reshape(side, side)


def random_indices(library, n):
    """An array of the library: n int32 from 0 to n - 1."""
    return library.array(np.random.default_rng(2).integers(0, n, n, dtype=np.int32))


def on(value, work):
    """A call of work(value), where the value is made once, outside of what is measured."""
    return lambda: work(value)


# Name, bytes for an element, and what makes the call: (library, x, y) to a function without arguments. x and
# y hold n elements of float32 each.
WORK = {
    "x + y": (12, lambda lib, x, y: lambda: x + y),
    "x * 2 + y": (20, lambda lib, x, y: lambda: x * 2.0 + y),
    "sin(x)": (8, lambda lib, x, y: lambda: lib.functions.sin(x)),
    "exp(x)": (8, lambda lib, x, y: lambda: lib.functions.exp(x)),
    "x.sum()": (4, lambda lib, x, y: lambda: x.sum()),
    "x.max()": (4, lambda lib, x, y: lambda: x.max()),
    "x.argmax()": (4, lambda lib, x, y: lambda: x.argmax()),
    "x @ y": (8, lambda lib, x, y: lambda: x @ y),
    "cumsum": (8, lambda lib, x, y: lambda: x.cumsum(0)),
    "where(x > y, x, y)": (22, lambda lib, x, y: lambda: lib.functions.where(x > y, x, y)),
    "x[::2] + x[1::2]": (6, lambda lib, x, y: on((x[::2], x[1::2]), lambda halves: halves[0] + halves[1])),
    "x[::-1] + 0": (8, lambda lib, x, y: on(x[::-1], lambda a: a + 0) if lib.slices_backwards else None),
    "sum, axis 0 of a square": (4, lambda lib, x, y: on(square_view(x), lambda a: a.sum(0))),
    "sum, axis 1 of a square": (4, lambda lib, x, y: on(square_view(x), lambda a: a.sum(1))),
    "cumsum, axis 0 of a square": (8, lambda lib, x, y: on(square_view(x), lambda a: a.cumsum(0))),
    "square.T + square": (12, lambda lib, x, y: on(square_view(x), lambda a: a.T + a)),
    "square + row": (8, lambda lib, x, y: on(square_view(x), lambda a: a + a[0])),
    "x[numbers]": (12, lambda lib, x, y: on(random_indices(lib, x.shape[0]), lambda i: x[i])),
}


def copy_rate(n):
    """GB/s, read and written, of the driver's copy of n float32 within the device."""
    a, b = drv.mem_alloc(4 * n), drv.mem_alloc(4 * n)
    return 8 * n / seconds(lambda: drv.memcpy_dtod(a, b, 4 * n), drv.Context.synchronize) / 1e9


def rates(library, n):
    """{work: GB/s} of a library with n elements, without the work that it does not support."""
    rng = np.random.default_rng(1)
    x, y = (library.array(rng.random(n, dtype=np.float32)) for _ in range(2))
    found = {}
    for name, (size, make) in WORK.items():
        try:
            call = make(library, x, y)
            if call is not None:
                found[name] = size * n / seconds(call, library.wait) / 1e9
        except (MemoryError, RuntimeError, drv.Error) as error:
            print(f"({library.name}, {name}, {n} elements: {type(error).__name__})")
    return found


def main():
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else LARGEST
    sizes = [1 << exponent for exponent in EXPONENTS if exponent <= largest]
    libraries = installed(ON_GPU)
    copies = {n: copy_rate(n) for n in sizes}
    results = {library.name: {n: rates(library, n) for n in sizes} for library in libraries}
    for n in sizes:
        rows = [["(the driver's copy)", *[f"{copies[n]:.2f}"] * len(libraries), "-", "-"]]
        for name in WORK:
            found = [results[library.name][n].get(name) for library in libraries]
            best = max((rate for rate in found[1:] if rate), default=None)
            ratio = f"{found[0] / best:.2f}" if found[0] and best else ""
            of_copy = f"{found[0] / copies[n]:.2f}" if found[0] else ""
            rows.append([name, *[f"{rate:.2f}" if rate else "-" for rate in found], ratio, of_copy])
        header = ["GB/s", *[library.name for library in libraries], "x best peer", "of copy"]
        where = "" if ON_GPU else " on the CPU device"
        table(f"Arrays of {n} float32{where}", header, rows, on=None if ON_GPU else processor())


if __name__ == "__main__":
    main()
