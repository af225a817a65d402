"""Milliseconds of products, transforms and factorizations, with the peers that are installed.

On a GPU with matrices of 4096 x 4096, on the CPU device of 512 x 512; another side as argument. "Own kernels"
are ours in pycuda.same_bits().
"""

import sys

import numpy as np
from arrays import ON_GPU
from libraries import Ours, compare, installed, milliseconds

import pycuda

# Functions that make operands: each returns a function without arguments, which makes the NumPy arrays.


def numbers(shape, dtype):
    """Random numbers on the host: normal ones, for integers times 3. dtype is NumPy's letter."""
    host = np.random.default_rng(1).standard_normal(shape, np.float32)
    return (host + 1j * host[::-1]).astype(dtype) if dtype in "FD" else (host * 3).astype(dtype)


def square(side, dtype="f", batch=()):
    return lambda: [numbers((*batch, side, side), dtype)]


def pair(first, second, dtype="f"):
    return lambda: [numbers(first, dtype), numbers(second, dtype)]


def definite(side, batch=()):
    """As square(), with one positive definite matrix, repeated over the axes of `batch`."""

    def make():
        a = numbers((side, side), "f")
        matrix = a @ a.T / side + np.eye(side, dtype="f")
        return [np.ascontiguousarray(np.broadcast_to(matrix, (*batch, side, side)))]

    return make


# Calls, which take a library and operands of it.


def product(lib, a, b):
    return a @ b


def along_axis_0(lib, a):
    return lib.functions.fft.fft(a, **{"dim" if lib.name == "torch" else "axis": 0})


def linalg(name):
    return lambda lib, *operands: getattr(lib.functions.linalg, name)(*operands)


def fft(name):
    return lambda lib, a: getattr(lib.functions.fft, name)(a)


def convolve(lib, a, v):
    return lib.functions.convolve(a, v)


def work(n):
    """{name: (what makes the operands, the call)} for matrices with about n rows and columns."""
    small = max(n // 256, 2)  # the side of the matrices of batches
    return {
        **{
            f"product {n}, {name}": (pair((n, n), (n, n), char), product)
            for char, name in zip("fdeFi", ("float", "double", "half", "complex64", "int32"), strict=True)
        },
        **{
            f"product {side}, float": (pair((side, side), (side, side)), product)
            for side in (16, 64, 256, 1024)
        },
        f"{n} products of 64": (pair((n, 64, 64), (n, 64, 64)), product),
        f"matrix {2 * n} times vector": (pair((2 * n, 2 * n), (2 * n,)), product),
        f"vector times matrix {2 * n}": (pair((2 * n,), (2 * n, 2 * n)), product),
        f"convolve {64 * n} with 1000": (pair((64 * n,), (1000,)), convolve),
        f"fft {n * n}": (lambda: [numbers((n * n,), "F")], fft("fft")),
        "fft 1024": (lambda: [numbers((1024,), "F")], fft("fft")),
        f"fft of {4 * n} rows of 1024": (lambda: [numbers((4 * n, 1024), "F")], fft("fft")),
        f"fft along axis 0 of {n} x {n}": (square(n, "F"), along_axis_0),
        f"rfft of {4 * n} rows of 1024": (lambda: [numbers((4 * n, 1024), "f")], fft("rfft")),
        f"fft2 {n}": (square(n, "F"), fft("fft2")),
        f"solve {n}, 16 sides": (pair((n, n), (n, 16)), linalg("solve")),
        f"inv {n}": (square(n), linalg("inv")),
        f"cholesky {n}": (definite(n), linalg("cholesky")),
        f"qr {n // 2}": (square(n // 2), linalg("qr")),
        f"eigh {n // 4}": (definite(n // 4), linalg("eigh")),
        f"svd {n // 4}": (square(n // 4), linalg("svd")),
        f"{2 * n} times solve {small}": (pair((2 * n, small, small), (2 * n, small, 1)), linalg("solve")),
        f"{2 * n} times inv {small}": (square(small, batch=(2 * n,)), linalg("inv")),
        f"{2 * n} times cholesky {small}": (definite(small, (2 * n,)), linalg("cholesky")),
        f"{n // 4} times eigh {small}": (definite(small, (n // 4,)), linalg("eigh")),
        f"{n // 4} times svd {small}": (square(small, batch=(n // 4,)), linalg("svd")),
    }


def by_own_kernels(name, hosts, call):
    """Milliseconds of a product by pycuda's own kernels, without NVIDIA's library; None for other calls."""
    if call is not product:
        return None
    with pycuda.same_bits():
        return milliseconds(Ours(), name, hosts, call)


def main():
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 4096 if ON_GPU else 512
    title = f"Linear algebra and Fourier transforms, matrices of {side} x {side}"
    compare(title, installed(ON_GPU), work(side), "own kernels", by_own_kernels)


if __name__ == "__main__":
    main()
