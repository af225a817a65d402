"""Stacks of matrices in every layout of memory, for comparisons with numpy.linalg and scipy.linalg."""

import numpy as np

from pycuda import gpuarray

DTYPES = "fdFD"
SHAPES = [(1, 1), (3, 3), (40, 40), (2, 5, 5), (2, 3, 4, 4)]
EMPTY = [(0, 0), (0, 3, 3), (2, 0, 0)]
LAYOUTS = "rows", "columns", "strided", "reversed", "broadcast"


def draw(*shape, dtype="d", seed=1):
    """An array of normally distributed numbers, the same for the same arguments."""
    rng = np.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape)
    if dtype in "FD":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def definite(*shape, dtype="d"):
    """A stack of random Hermitian matrices whose eigenvalues are at least 1."""
    a = draw(*shape, dtype=dtype)
    return a @ a.conj().swapaxes(-1, -2) + np.eye(shape[-1], dtype=dtype)


def laid(host, layout):
    """(GPUArray with the host's values in one of LAYOUTS, its values as an array of NumPy). The values are
    `host`, except for "broadcast": two copies of it along a new first axis."""
    if layout == "rows" or host.ndim < 2:
        return gpuarray.to_gpu(host), host
    if layout == "columns":
        return gpuarray.to_gpu(np.ascontiguousarray(host.swapaxes(-1, -2))).swapaxes(-1, -2), host
    if layout == "strided":
        wide = np.zeros((*host.shape[:-1], 2 * host.shape[-1] + 1), host.dtype)
        wide[..., 1::2] = host
        return gpuarray.to_gpu(wide)[..., 1::2], host
    if layout == "reversed":
        return gpuarray.to_gpu(np.ascontiguousarray(host[..., ::-1, ::-1]))[..., ::-1, ::-1], host
    shape = (2, *host.shape)
    return np.broadcast_to(gpuarray.to_gpu(host), shape), np.broadcast_to(host, shape)


def epsilon(dtype):
    """The distance from 1 to the next number of a dtype."""
    return np.finfo(dtype).eps


def condition(a):
    """The largest condition number in a stack."""
    return np.linalg.cond(a).max(initial=1) if a.size else 1


def check_close(got, want, bound, what=""):
    """Asserts that our result is a C-contiguous GPUArray of NumPy's shape and dtype, and that each element's
    distance from NumPy's is at most `bound` times NumPy's largest magnitude; integers and booleans are equal.
    `what` goes into the message."""
    want = np.asarray(want)
    assert isinstance(got, gpuarray.GPUArray), type(got)
    assert (got.shape, got.dtype) == (want.shape, want.dtype), what
    assert got.flags.c_contiguous, what
    found = got.get()
    if want.dtype.kind not in "fc":
        assert (found == want).all(), what
    elif want.size:
        distance = np.abs(found - want).max()
        assert distance <= bound * max(np.abs(want).max(), np.finfo(want.dtype).tiny), (what, distance)
