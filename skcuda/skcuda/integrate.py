"""Integrals of sampled functions."""

from __future__ import annotations

import numpy as np

from pycuda import gpuarray

from ._streams import queued_on
from .misc import init, shutdown  # noqa: F401  scikit-cuda has them here, too


def _trapezoid_weights(N: int) -> np.ndarray:
    """The weights of N equidistant points in the trapezoidal rule."""
    weights = np.ones(N)
    weights[[0, -1]] = 0.5
    return weights


def _simpson_weights(N: int, even: str) -> np.ndarray:
    """The weights of N equidistant points in the composite Simpson's rule. Of an even N one interval is left
    over and counts as a trapezoid: the last one if even is "first", the first one if it is "last"; "avg" is
    the mean of both.
    """
    if even not in ("avg", "first", "last"):
        raise ValueError(f"even is {even!r}, must be 'avg', 'first' or 'last'")
    if N < 3:
        return _trapezoid_weights(N)
    if N % 2:
        weights = np.full(N, 2 / 3)
        weights[1::2], weights[[0, -1]] = 4 / 3, 1 / 3
        return weights
    first = np.append(_simpson_weights(N - 1, even), 0)
    first[-2:] += 0.5
    return {"first": first, "last": first[::-1], "avg": (first + first[::-1]) / 2}[even]


def _integral(x_gpu, weights, scale, handle):
    """The sum of x_gpu * weights * scale, as a number, computed on the stream of a cuBLAS handle."""
    if weights.shape != x_gpu.shape:
        raise ValueError(f"the array has {x_gpu.ndim} axes, must have {weights.ndim}")
    with queued_on(getattr(handle, "stream", None)):
        weights = gpuarray.to_gpu((weights * scale).astype(x_gpu.dtype))
        return (x_gpu * weights).sum().get()[()]


def gen_trapz_mult(N, dtype):
    """The weights of N samples for the trapezoidal rule."""
    return gpuarray.to_gpu(_trapezoid_weights(N).astype(dtype))


def trapz(x_gpu, dx=1.0, handle=None):
    """The integral of a vector of samples, `dx` apart, by the trapezoidal rule, as a number."""
    return _integral(x_gpu, _trapezoid_weights(len(x_gpu)), dx, handle)


def gen_simps_mult(N, dtype, even="avg"):
    """The weights of N samples for the composite Simpson's rule; `even` as in simps."""
    return gpuarray.to_gpu(_simpson_weights(N, even).astype(dtype))


def simps(x_gpu, dx=1.0, even="avg", handle=None):
    """The integral of a vector of samples, `dx` apart, by the composite Simpson's rule, as a number.

    Parameters
    ----------
    x_gpu : GPUArray
    dx : float, optional
    even : {"avg", "first", "last"}, optional
        Of an even number of samples: the rule is used for the first or the last N - 2 intervals, and the
        interval that is left is a trapezoid; or the mean of both.
    handle : cuBLAS handle, optional
        The integral is computed on its stream.
    """
    return _integral(x_gpu, _simpson_weights(len(x_gpu), even), dx, handle)


def gen_trapz2d_mult(mat_shape, dtype):
    """The weights of a matrix of samples for the trapezoidal rule."""
    return gpuarray.to_gpu(np.outer(*map(_trapezoid_weights, mat_shape)).astype(dtype))


def trapz2d(x_gpu, dx=1.0, dy=1.0, handle=None):
    """The integral of a matrix of samples, `dx` and `dy` apart, by the trapezoidal rule, as a number."""
    return _integral(x_gpu, np.outer(*map(_trapezoid_weights, x_gpu.shape)), dx * dy, handle)
