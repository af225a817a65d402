"""What tests of kernels with a user's expression share: dtypes, and values for them."""

import numpy as np

DTYPES = [np.dtype(code) for code in "bBhHiIqQefdFD"]


def values(dtype, size, seed=0):
    """`size` random integers from 0 to 2 in a dtype; complex numbers have imaginary parts from -2 to 0."""
    drawn = np.random.default_rng(seed).integers(0, 3, size)
    if dtype.kind == "c":
        return (drawn - 1j * drawn[::-1]).astype(dtype)
    return drawn.astype(dtype)
