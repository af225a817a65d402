"""tril and triu give NumPy's bytes for elements of any size, matrices of any strides and any diagonal."""

import numpy as np
import pytest
from against import same
from drawing import few, layouts, shapes
from hypothesis import given
from hypothesis import strategies as st

DTYPES = ["u1", "f2", "f4", "f8", "F", "D", "V3", "b1"]


@few
@given(st.sampled_from(DTYPES), shapes(min_ndim=1), st.integers(-6, 140), st.data())
def test_tril_and_triu_copy_bits(dtype, shape, k, data):
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    host = rng.integers(0, 2 if dtype.kind == "b" else 256, count, dtype=np.uint8).view(dtype).reshape(shape)
    host, on_device = data.draw(layouts(host))
    for keep in (np.tril, np.triu):
        for diagonal in (k, -k):
            got, want = keep(on_device, diagonal), keep(host, diagonal)
            assert got.shape == want.shape and got.dtype == want.dtype
            assert got.get().tobytes() == want.tobytes()


@pytest.mark.parametrize("keep", [np.tril, np.triu])
def test_rows_that_do_not_allow_vector_loads(keep):
    """Rows that do not begin at a multiple of 16 bytes or end at one, and diagonals outside the matrix."""
    host = np.arange(7 * 64.0, dtype=np.float32).reshape(7, 64)
    same(lambda a: keep(a[:, 1:]), host)
    same(lambda a: keep(a[:, 4:]), host)
    same(lambda a: keep(a[1:, :61], 3), host)
    same(lambda a: keep(a[0, 0]), host)
    same(lambda a: keep(a, 2**40), host)
    same(lambda a: keep(a, -(2**40)), host)
