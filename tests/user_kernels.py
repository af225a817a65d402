"""What the tests of kernels around users' expressions share: dtypes, and values for them."""

import numpy as np

DTYPES = [np.dtype(code) for code in "bBhHiIqQefdFD"]


def values(dtype, size, seed=0):
    """Integers from 0 to 2, of complex dtypes with imaginary parts."""
    drawn = np.random.default_rng(seed).integers(0, 3, size)
    if dtype.kind == "c":
        return (drawn - 1j * drawn[::-1]).astype(dtype)
    return drawn.astype(dtype)
