"""Set operations, compared with NumPy."""

import numpy as np
import pytest
from against import same
from drawing import arrays, few
from hypothesis import given
from hypothesis import strategies as st

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


DTYPES = ["f4", "i4", "?"]


def rounded(pair):
    """The two arrays with floats rounded to integers, so that they have few different values and some in
    common."""
    return tuple(np.round(each) if each.dtype.kind == "f" else each for each in pair)


SETS = {
    "isin": np.isin,
    "not_in": lambda a, b: np.isin(a, b, invert=True),
    "intersect1d": np.intersect1d,
    "indices": lambda a, b: np.intersect1d(a, b, return_indices=True),
    "union1d": np.union1d,
    "setdiff1d": np.setdiff1d,
    "setxor1d": np.setxor1d,
    "unique": lambda a, b: (np.unique(a), np.unique(b)),
    "unique_all": lambda a, b: tuple(np.unique_all(a)),
    "unique_counts": lambda a, b: tuple(np.unique_counts(a)),
    "unique_inverse": lambda a, b: tuple(np.unique_inverse(a)),
    "unique_values": lambda a, b: np.sort(np.unique_values(a)),
}


@pytest.mark.parametrize("name", SETS)
@few
@given(data=st.data())
def test_sets(data, name):
    dtype = data.draw(st.sampled_from(DTYPES))
    same(SETS[name], *(rounded(data.draw(arrays([dtype], max_ndim=2))) for _ in range(2)))


def test_sets_of_other_dtypes_and_with_nan():
    a, b = np.array([1, 2.5, np.nan, np.nan, 7]), np.array([7, 1, 9], np.int32)
    for name in SETS:
        if name != "unique":
            same(SETS[name], a, b)
    same(lambda a: np.isin(a, 7), b)
    same(lambda a: np.setdiff1d(a, a, assume_unique=True), b)
    with pytest.raises(TypeError, match="to_gpu"):
        np.isin(gpuarray.to_gpu(a), [1, 2])
