"""Shapes, joins, indexing functions, compared with NumPy's."""

import numpy as np
import pytest
from against_numpy import arrays, check, few, on_device, same
from hypothesis import given
from hypothesis import strategies as st

import pycuda.numpy as xp

pytestmark = pytest.mark.usefixtures("primary_context")

axes = st.integers(-3, 2)


@few
@given(arrays(), axes, st.integers(-3, 3))
def test_views_and_moves(a, axis, shift):
    check("flip", a)
    check("flip", a, axis=axis)
    check("roll", a, shift)
    check("roll", a, shift, axis=axis)
    check("roll", a, (shift, 1), axis=(0, axis))
    check("expand_dims", a, axis=axis)
    check("expand_dims", a, axis=(0, axis))
    check("squeeze", a, axis=axis)
    check("squeeze", a[None], axis=0)
    check("moveaxis", a, axis, 0)
    check("permute_dims", a, tuple(range(a.ndim))[::-1])
    check("matrix_transpose", a)
    check("unstack", a, axis=axis)
    check("broadcast_to", a, (2, *a.shape))
    check("broadcast_to", a, (3, 7))


@few
@given(arrays(), st.sampled_from([(-1,), (2, -1), (0,), (4,), (1, -1, 1), (2, 2)]))
def test_reshape(a, shape):
    check("reshape", a, shape)
    check("reshape", a, shape, copy=True)
    ours = xp.asarray(a)
    assert np.may_share_memory(xp.reshape(ours, a.shape, copy=False), ours) or not a.size
    assert not np.may_share_memory(xp.reshape(ours, a.shape, copy=True), ours)


@few
@given(arrays(), arrays(), axes)
def test_functions_that_join_arrays(a, b, axis):
    check("concat", (a, b), axis=axis)
    check("concat", [a, b], axis=None)
    check("concat", (a, a), axis=axis)
    check("stack", [a, a], axis=axis)
    check("stack", (a, b))
    check("broadcast_arrays", a, b)
    check("meshgrid", a.ravel(), b.ravel(), indexing="ij")


@few
@given(arrays(), st.integers(0, 3), axes)
def test_repeat_and_tile(a, times, axis):
    check("repeat", a, times)
    check("repeat", a, times, axis=axis)
    check("repeat", a, np.arange(4) % 3, axis=axis)
    check("tile", a, (times,))
    check("tile", a, (2, 1, times))
    check("tile", a, ())


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_repeats_may_have_any_integer_dtype(dtype):
    a, times = xp.asarray([[1, 2, 3], [4, 5, 6]]), xp.asarray([0, 2, 1], dtype=getattr(xp, dtype))
    assert xp.repeat(a, times, axis=1).get().tolist() == [[2, 2, 3], [5, 5, 6]]
    assert xp.repeat(a, times[1:2], axis=0).shape == (4, 3)


@few
@given(arrays(), axes, st.lists(st.integers(-5, 4), max_size=4))
def test_taken_elements(a, axis, indices):
    indices = np.array(indices, int)
    check("take", a, indices, axis=axis)
    check("take", a.ravel(), indices)
    check("take_along_axis", a, np.zeros((*a.shape[:-1], 2), int) - 1, axis=-1)
    check("where", a != 0, a, 1)
    check("where", a != 0, a, a.astype(np.float64) if a.dtype.kind != "c" else a)
    check("where", True, a, 2)
    check("nonzero", a)


@few
@given(arrays(), st.integers(-3, 3))
def test_triangles(a, k):
    check("tril", a, k=k)
    check("triu", a, k=k)
    check("linalg.diagonal", a, offset=k)


@few
@given(arrays(["int8", "float32"]), st.none() | st.integers(-3, 3), st.none() | st.integers(-3, 3))
def test_clip(a, low, high):
    check("clip", a, low, high)
    check("clip", a, min=low, max=high)
    check("clip", a, a, 2)
    ours = on_device(a)
    for names in ({"min": low, "max": high}, {"a_min": low, "max": high}, {"min": low, "a_max": high}):
        same(xp.clip(ours, **names), xp.clip(ours, low, high).get())
    same(xp.clip(ours, low), xp.clip(ours, min=low).get())
    same(xp.clip(ours, low, max=high), xp.clip(ours, low, high).get())
    same(xp.clip(ours), a)


def test_bounds_of_clip_are_given_once_and_may_be_lists():
    a = xp.asarray([1, 2, 3])
    for bounds in ({"min": [2, 0, 0], "max": [3, 1, 4]}, {"a_min": [2, 0, 0], "a_max": [3, 1, 4]}):
        same(xp.clip(a, **bounds), [2, 1, 3])
    with pytest.raises(ValueError, match="a_max"):
        xp.clip(a, 0, 2, a_max=2)
    with pytest.raises(TypeError, match=r"^clip\(\)"):
        xp.clip(a, 0, 2, max=2)
