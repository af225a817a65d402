"""Covariance matrices of normal vectors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.elementwise import apply, users_level
from pycuda._array.linear import decompositions, eigenvalues
from pycuda._array.math.logic import allclose
from pycuda._array.shape.views import matrix_transpose

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def covariance_factor(mean, cov, check_valid: str, tol: float, method: str) -> tuple[GPUArray, GPUArray]:
    """(the mean, f with f^T f = cov)"""
    if check_valid not in ("warn", "raise", "ignore"):
        raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
    if mean.ndim != 1:
        raise ValueError("mean must be 1 dimensional")
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
        raise ValueError("cov must be 2 dimensional and square")
    if mean.shape[0] != cov.shape[0]:
        raise ValueError("mean and cov must have same length")
    cov = cov.astype(np.float64, copy=False)
    if method == "cholesky":
        return mean, matrix_transpose(decompositions.cholesky(cov))
    if method == "eigh":
        values, vectors = eigenvalues.eigh(cov)
        lengths = apply("sqrt", apply("maximum", values, 0.0))
        fits = apply("greater_equal", values, -tol).all()
        factor = apply("multiply", vectors, lengths)
    else:
        left, values, right = decompositions.svd(cov)
        fits = allclose(apply("multiply", matrix_transpose(right), values) @ right, cov, rtol=tol, atol=tol)
        factor = matrix_transpose(apply("multiply", right, apply("sqrt", values)[:, None]))
    if check_valid != "ignore" and not bool(fits):
        text = "covariance is not symmetric positive-semidefinite."
        if check_valid == "raise":
            raise ValueError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=users_level())
    return mean, matrix_transpose(factor)
