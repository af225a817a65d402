"""SciPy's sparse matrices. SciPy is imported when a matrix is first copied from it or to it."""

from __future__ import annotations

from typing import Any


def scipy_sparse() -> Any:
    """The module scipy.sparse; an ImportError that says what to install if SciPy is not installed."""
    try:
        import scipy.sparse
    except ImportError as error:
        raise ImportError(
            "pycuda.sparse takes SciPy's matrices, and SciPy is not installed: pip install scipy",
            name="scipy",
        ) from error
    return scipy.sparse


def is_of_scipy(given: Any) -> bool:
    """Whether it is a sparse matrix or array of SciPy."""
    return type(given).__module__.startswith("scipy.sparse") and hasattr(given, "tocoo")
