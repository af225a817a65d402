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


def covariance_factor(mean, cov, check_valid: str, tol: float, method: str) -> GPUArray:
    """f with f^T f = cov, in float64: rows of standard normal numbers, times f, have the covariance `cov`.

    Only the shape of `mean` is used, to check it. check_valid: what is done when `cov` is not positive
    semi-definite within `tol`, "warn", "raise" or "ignore"; the method "cholesky" always raises then.
    """
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
        return matrix_transpose(decompositions.cholesky(cov))
    if method == "eigh":
        values, vectors = eigenvalues.eigh(cov)
        lengths = apply("sqrt", apply("maximum", values, 0.0))
        is_valid = apply("greater_equal", values, -tol).all()
        factor = matrix_transpose(apply("multiply", vectors, lengths))
    else:
        # A positive semi-definite matrix has equal left and right singular vectors.
        _, values, right = decompositions.svd(cov)
        product = apply("multiply", matrix_transpose(right), values) @ right
        is_valid = allclose(product, cov, rtol=tol, atol=tol)
        factor = apply("multiply", right, apply("sqrt", values)[:, None])
    if check_valid != "ignore" and not bool(is_valid):
        text = "covariance is not symmetric positive-semidefinite."
        if check_valid == "raise":
            raise ValueError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=users_level())
    return factor
