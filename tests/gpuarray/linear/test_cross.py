"""np.cross: equal to NumPy's, except for the rounding of complex products."""

import numpy as np
import pytest
from against import same
from drawing import few, numbers, shapes
from hypothesis import given
from hypothesis import strategies as st

DTYPES = ["f4", "f8", "f2", "i4", "u1", "i8", "F", "D"]
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 60000.0]


def drawn(rng, shape, dtype):
    """Random numbers of a dtype; about a tenth of floats and complex numbers are of SPECIAL."""
    host = numbers(rng, shape, dtype)
    if host.dtype.kind in "fc" and host.size:
        host = np.where(rng.random(shape) < 0.1, rng.choice(SPECIAL, shape).astype(dtype), host).astype(dtype)
    return host


@few
@given(
    st.sampled_from(DTYPES), st.sampled_from(DTYPES), shapes(max_ndim=3),
    st.tuples(*[st.sampled_from([2, 3])] * 2), st.data(),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_cross(first, second, shape, lengths, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    other = second if data.draw(st.booleans()) else first
    near = {"rtol": 1e-5, "atol": 1e-5} if {first, other} & set("FD") else {}
    a, b = (drawn(rng, (*shape, n), dtype) for n, dtype in zip(lengths, (first, other), strict=True))
    same(np.cross, a, b, **near)
    if len(shape):
        same(np.cross, a, b[-1:], **near)
        same(lambda a, b: np.cross(a[..., ::-1], b[::-1]), a, b, **near)
        same(lambda a, b: np.cross(np.moveaxis(a, -1, 0), b, 0, -1), a, b, **near)
    if len(shape) and lengths == (3, 3):
        same(lambda a, b: np.cross(a, b, axisc=0), a, b, **near)
        same(lambda a, b: np.cross(a.T, b.T, axis=0), a, b, **near)


def test_strides_of_any_kind():
    host = np.arange(5 * 7 * 9.0).reshape(5, 7, 9)
    same(lambda a: np.cross(a[:, :, 1:9:3], a[:, ::-1, 6:3:-1][..., :3]), host)
    same(lambda a: np.cross(a[:3, :3, 0], a[:3, :3, 1].T), host)
    same(lambda a: np.cross(a[0, 0, :3], a[..., 3:6]), host)


def test_shapes_and_dtypes_that_numpy_refuses():
    booleans = np.array([[True, False, True]])
    same(np.cross, booleans, booleans)
    same(np.cross, np.zeros((2, 4)), np.zeros((2, 4)))
    same(np.cross, np.zeros((2, 3)), np.zeros((4, 3)))
    same(np.cross, np.zeros((0, 3)), np.zeros((0, 3)))  # NumPy accepts empty arrays
    same(lambda a, b: np.cross(a, b, axisc=3), np.zeros((2, 3)), np.zeros((2, 3)))
