"""delete, insert and append, compared with NumPy."""

import numpy as np
import pytest
from against import same
from drawing import arrays, few
from hypothesis import given
from hypothesis import strategies as st

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


DTYPES = ["f4", "i4", "?"]


@few
@given(data=st.data())
def test_delete(data):
    pair = data.draw(arrays(DTYPES, min_ndim=1, max_ndim=3))
    axis = data.draw(st.sampled_from([None, *range(-pair[0].ndim, pair[0].ndim)]))
    length = pair[0].size if axis is None else pair[0].shape[axis]
    places = st.integers(-length - 1, length)
    obj = data.draw(
        st.one_of(places, st.lists(places, max_size=4), st.builds(slice, places, places, st.just(2)))
    )
    same(lambda a: np.delete(a, obj, axis), pair)


@few
@given(data=st.data())
def test_insert(data):
    pair = data.draw(arrays(DTYPES, min_ndim=1, max_ndim=3))
    axis = data.draw(st.sampled_from([None, *range(-pair[0].ndim, pair[0].ndim)]))
    length = pair[0].size if axis is None else pair[0].shape[axis]
    places = st.integers(-length - 1, length + 1)
    obj = data.draw(st.one_of(places, st.lists(places, min_size=2, max_size=4)))
    same(lambda a: np.insert(a, obj, 5, axis), pair)


def test_insert_and_delete_with_arrays():
    host = np.arange(12.0).reshape(3, 4)
    row, numbers, mask = np.arange(4.0), np.array([2, 0]), np.array([True, False, True])
    same(lambda a, v: np.insert(a, 1, v, 0), host, row)
    same(lambda a, v: np.insert(a, [1, 1], v, 0), host, row)
    same(lambda a, v, n: np.insert(a, n, v, 0), host, row, numbers)
    same(lambda a, n: np.delete(a, n, 0), host, numbers)
    same(lambda a, m: np.delete(a, m, 0), host, mask)
    same(lambda a, v: np.insert(a, 1, v[:3], 1), host, row)
    same(lambda a, v: np.insert(a, [1], v[:3, None], 1), host, row)
    same(lambda a, v: np.append(a, v), host, row)
    same(lambda a: np.append(a, 3), host)
    with pytest.raises(TypeError, match="to_gpu"):
        np.append(gpuarray.to_gpu(host), row)
