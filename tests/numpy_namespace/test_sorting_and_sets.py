"""Sorting, searching, sets, compared with NumPy's."""

import numpy as np
import pytest
from against_numpy import arrays, check, few, same
from hypothesis import given
from hypothesis import strategies as st

import pycuda.numpy as xp

pytestmark = pytest.mark.usefixtures("primary_context")

NUMBERS = ["int8", "float32"]
axes = st.integers(-3, 2)


@few
@given(arrays(), axes)
def test_sort_and_argsort(a, axis):
    check("sort", a, axis=axis)
    check("argsort", a, axis=axis, stable=True)
    if -a.ndim <= axis < a.ndim and a.dtype.kind != "c":
        descending, ours = np.flip(np.sort(a, axis), axis), xp.asarray(a)
        same(xp.sort(ours, axis=axis, descending=True), descending)
        order = xp.argsort(ours, axis=axis, descending=True, stable=True)
        same(xp.take_along_axis(ours, order, axis=axis), descending)
        if a.dtype.kind != "b" and a.size:  # equal elements keep their order
            equal = np.diff(descending, axis=axis) == 0
            assert (np.diff(order.get(), axis=axis)[equal] > 0).all()


@few
@given(arrays(), axes, st.booleans())
def test_argmax_argmin_and_counts(a, axis, keepdims):
    for name in ("argmax", "argmin", "count_nonzero"):
        check(name, a, keepdims=keepdims)
        check(name, a, axis=axis, keepdims=keepdims)


@few
@given(arrays(NUMBERS, max_dims=1, min_dims=1), arrays(NUMBERS), st.sampled_from(["left", "right"]))
def test_searches(a, v, side):
    check("searchsorted", np.sort(a), v, side=side)
    check("searchsorted", a, v, side=side, sorter=np.argsort(a))
    check("searchsorted", np.sort(a), 1, side=side)


@few
@given(arrays(), arrays(), st.booleans())
def test_unique_functions_and_isin(a, b, invert):
    for name in ("unique_counts", "unique_all", "unique_inverse"):
        check(name, a)
    same(xp.unique_values(xp.asarray(a)), np.unique(a))
    check("isin", a, b, invert=invert)
    check("isin", a, 1)
    check("isin", 2, b)


def test_names_of_the_fields():
    a = xp.asarray([1, 1, 2])
    assert xp.unique_all(a)._fields == ("values", "indices", "inverse_indices", "counts")
    assert xp.unique_counts(a)._fields == ("values", "counts")
    assert xp.unique_inverse(a)._fields == ("values", "inverse_indices")


def test_nans_are_different_values():
    nan = float("nan")
    a = xp.asarray([nan, 1.0, nan])
    assert xp.unique_values(a).shape == (3,)
    assert xp.unique_counts(a).counts.get().tolist() == [1, 1, 1]
    assert xp.argsort(a).get().tolist() == [1, 0, 2]


def test_nonzero_of_a_0d_array_is_refused():
    with pytest.raises(ValueError):
        xp.nonzero(xp.asarray(1))
