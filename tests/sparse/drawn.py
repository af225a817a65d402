"""Strategies for property tests of sparse arrays. They have few dtypes, so that few kernels are compiled."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from matrices import sparse

from pycuda.sparse import coo_array, csc_array, csr_array

few = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
CLASSES = {"csr": csr_array, "csc": csc_array, "coo": coo_array}
FORMATS = st.sampled_from(sorted(CLASSES))
LENGTHS = st.sampled_from([0, 1, 2, 3, 7, 40, 300])


@st.composite
def elements(draw, dtypes=("f8", "i4")):
    """SciPy's COO array of integers, whose sums are exact. Its elements are in random order, with
    duplicates."""
    shape = draw(LENGTHS), draw(LENGTHS)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(0, 3 * min(max(shape), 200))) if min(shape) else 0
    rows, columns = (rng.integers(0, max(length, 1), count) for length in shape)
    if draw(st.booleans()):  # one row has at least half of the elements
        rows[: count // 2] = shape[0] // 2
    values = rng.integers(-9, 10, count).astype(draw(st.sampled_from(dtypes)))
    return sparse.coo_array((values, (rows, columns)), shape=shape)


@st.composite
def pairs(draw, dtypes=("f8", "i4")):
    """(SciPy's array, ours) with the same elements in the same random format. Duplicates are not summed."""
    host = draw(elements(dtypes))
    form = draw(FORMATS)
    given = host if form == "coo" else unsummed(host, form)
    return given, CLASSES[form](given)


def unsummed(host, form):
    """SciPy's array in the format "csr" or "csc" with all elements of a COO array: each row or column has
    them in their previous order, and duplicates are not summed."""
    lines, others = (host.row, host.col) if form == "csr" else (host.col, host.row)
    order = np.argsort(lines, kind="stable")
    count = host.shape[0] if form == "csr" else host.shape[1]
    starts = np.searchsorted(lines[order], np.arange(count + 1))
    made = sparse.csr_array if form == "csr" else sparse.csc_array
    return made((host.data[order], others[order], starts), shape=host.shape)
