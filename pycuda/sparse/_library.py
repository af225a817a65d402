"""Products by cuSPARSE, where it is installed and takes less time than our own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._base.same_bits import is_wanted
from pycuda._driver import _is_captured
from pycuda._kernels.plans.caches import is_own_stream
from pycuda._libraries import sparse

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


class Rule(NamedTuple):
    """Products that cuSPARSE computes in less time than our own kernels."""

    algorithm: str  # of VECTOR_ALGORITHMS for a width of 1, else of MATRIX_ALGORITHMS
    widths: range  # columns of the dense operand, 1 for a vector
    min_count: int = 0  # elements of the sparse matrix, at least
    lengths: tuple[float, float] = (0, np.inf)  # elements of a row, on average: (minimum, maximum)


# By dtype.char. Measured on an H100 by benchmarks/sparse_products.py: five elements a row times 128 columns
# take 1.08 (float) and 1.31 (double) times as long by our kernel.
_MANY_COLUMNS = Rule("CSR_ALG2", range(96, 1 << 31), 1 << 20, (2, 6))
_RULES: dict[str, tuple[Rule, ...]] = {"f": (_MANY_COLUMNS,), "d": (_MANY_COLUMNS,)}


def algorithm(dtype: np.dtype[Any], shape: tuple[int, int], count: int, width: int) -> str | None:
    """The library's algorithm for a product with `width` columns of a matrix with `count` elements; None if
    our own kernel is to do it."""
    rules = _RULES.get(dtype.char, ())
    if not rules or not count or not width:
        return None
    length = count / shape[0]
    for rule in rules:
        if width in rule.widths and count >= rule.min_count and rule.lengths[0] <= length <= rule.lengths[1]:
            return rule.algorithm if _is_possible(dtype) else None
    return None


def _is_possible(dtype: np.dtype[Any]) -> bool:
    """Whether the library may be used now. Not if the same bits are wanted on every device, not on a stream
    that pycuda did not make, and not in captures, whose workspaces would have to be kept."""
    stream = _driver.current_stream()
    return not is_wanted() and is_own_stream(stream) and not _is_captured(stream) and sparse.has(dtype)


def multiply_vector(rows: sparse.Rows, x: GPUArray, y: GPUArray) -> bool:
    """Queue y = A x for contiguous vectors and return True; False, with y unchanged, if our own kernel is to
    do it."""
    found = algorithm(y.dtype, rows.shape, int(rows.values.size), 1)
    if found is None:
        return False
    sparse.multiply_vector(rows, x, y, found)
    return True


def multiply_matrix(rows: sparse.Rows, x: GPUArray, y: GPUArray) -> bool:
    """Queue y = A x for dense matrices whose rows are contiguous and do not overlap, and return True; False,
    with y unchanged, if our own kernel is to do it."""
    found = algorithm(y.dtype, rows.shape, int(rows.values.size), int(y.shape[1]))
    if found is None:
        return False
    sparse.multiply_matrix(rows, x, y, found)
    return True
