"""Sparse matrices of several kinds, and a comparison of products with SciPy's within a bound of rounding."""

import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse")

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def poisson(n):
    """The Laplace operator on a grid of n by n points."""
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return sparse.kronsum(line, line)


def random(rows, columns, density, seed=1):
    """A matrix with normally distributed elements at random indices; density: the share of stored
    elements."""
    rng = np.random.default_rng(seed)
    return sparse.random(rows, columns, density, random_state=rng, data_rvs=rng.standard_normal)


def of_lengths(lengths, columns, seed=2):
    """A CSR matrix whose rows have these numbers of elements, at random columns."""
    rng = np.random.default_rng(seed)
    chosen = [np.sort(rng.choice(columns, n, replace=False)) for n in lengths]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    values = rng.standard_normal(starts[-1])
    indices = np.concatenate([*chosen, np.empty(0, np.int64)])
    return sparse.csr_matrix((values, indices, starts), shape=(len(lengths), columns))


def power_law(rows, columns):
    """A matrix with many short rows, a few long ones, and a full one."""
    lengths = np.random.default_rng(3).pareto(1.2, rows) * 2
    lengths = np.minimum(lengths.astype(int), columns)
    lengths[rows // 3] = columns
    return of_lengths(lengths, columns)


def duplicates():
    """A COO matrix with several elements for one row and column, whose sum counts."""
    row, column, value = [0, 3, 0, 3, 1, 0], [1, 2, 1, 2, 0, 1], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    return sparse.coo_matrix((value, (row, column)), shape=(5, 4))


MATRICES = {
    "Poisson": lambda: poisson(45),
    "random": lambda: random(700, 700, 0.05),
    "wide": lambda: random(40, 3000, 0.1),
    "tall": lambda: random(3000, 40, 0.1),
    "dense": lambda: random(130, 130, 1.0),
    "power law": lambda: power_law(1500, 9000),
    "empty rows": lambda: of_lengths([0] * 5000 + [3, 0, 0, 700, 0] + [0] * 3000, 900),
    "only long rows": lambda: of_lengths([513, 3072, 3073, 6144, 6145, 512, 511, 7000], 7000),
    "one row": lambda: random(1, 5000, 1.0),
    "one column": lambda: random(5000, 1, 0.5),
    "one element": lambda: random(1, 1, 1.0),
    "no elements": lambda: sparse.csr_matrix((7, 9)),
    "no rows": lambda: sparse.csr_matrix((0, 9)),
    "no columns": lambda: sparse.csr_matrix((9, 0)),
    "duplicates": duplicates,
}


def vector(n, dtype, seed=4):
    """An array of NumPy of normally distributed numbers."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    return (x + 1j * rng.standard_normal(n) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def typed(mat, dtype):
    """A CSR matrix with these elements in this dtype, multiplied by random complex numbers if it is
    complex."""
    mat = sparse.csr_matrix(mat).astype(dtype)
    if np.dtype(dtype).kind == "c":
        mat.data *= vector(mat.nnz, dtype, 5)
    return mat


def check(result, mat, x, y=0):
    """Asserts that the result is mat @ x + y up to rounding: the error may be 100 epsilons of the sum of
    magnitudes."""
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    expected = mat.astype(wide) @ x.astype(wide) + y
    size = abs(mat).astype(np.float64) @ abs(x).astype(np.float64) + abs(np.asarray(y))
    assert result.dtype == x.dtype and result.shape == expected.shape
    assert (abs(result - expected) <= 100 * np.finfo(x.dtype).eps * size + 1e-300).all()
