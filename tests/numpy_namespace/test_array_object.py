"""Attributes, operators and indices of arrays, as the array API standard requires."""

import operator
import warnings

import numpy as np
import pytest
from against_numpy import DTYPES, arrays, few, on_device, same
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import pycuda.numpy as xp

pytestmark = pytest.mark.usefixtures("primary_context")

BINARY = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift eq ne lt le gt ge".split()


def test_attributes_of_the_standard():
    a = xp.zeros((2, 3, 4), dtype=xp.int16)
    assert (a.dtype, a.ndim, a.shape, a.size) == (xp.int16, 3, (2, 3, 4), 24)
    assert a.mT.shape == (2, 4, 3) and a[0].T.shape == (4, 3)
    with pytest.raises(ValueError):
        xp.zeros(3).mT  # noqa: B018


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
def test_operators(name, dtype):
    function = getattr(operator, name)
    host, other = np.array([1, 0, 1, 2], dtype), np.array([1, 1, 2, 1], dtype)
    for right in (other, True if dtype == "bool" else 2):
        try:
            want = function(host, right)
        except TypeError:
            with pytest.raises(TypeError):
                function(on_device(host), on_device(right))
            continue
        same(function(on_device(host), on_device(right)), want, 1e-6)
        with np.errstate(all="ignore"):
            want = function(right, host)
        same(function(on_device(right), on_device(host)), want, 1e-6)


@pytest.mark.parametrize(
    "name", ["iadd", "isub", "imul", "ifloordiv", "imod", "iand", "ior", "ixor", "ilshift"]
)
def test_operators_in_place_keep_the_array(name):
    host = np.array([5, 6, 7], np.int32)
    a = on_device(host)
    assert getattr(operator, name)(a, 2) is a
    same(a, getattr(operator, name)(host, 2))
    for wrong in (xp.zeros((2, 3), dtype=xp.int32), 1.5, xp.ones(3)):
        with pytest.raises((TypeError, ValueError)):
            getattr(operator, name)(a, wrong)


def test_conversions_of_one_element():
    assert int(xp.asarray(3)) == 3 and float(xp.asarray(1.5)) == 1.5 and complex(xp.asarray(2j)) == 2j
    assert complex(xp.asarray(2.0)) == 2 and bool(xp.asarray(True)) and not bool(xp.asarray(0.0))
    assert [10, 20, 30][xp.asarray(1)] == 20
    assert int(xp.asarray(3.7)) == 3 and float(xp.asarray(True)) == 1
    for convert, wrong in [
        (bool, xp.ones(2)), (int, xp.ones(2)), (float, xp.asarray(1j)), (operator.index, xp.asarray(1.0)),
        (operator.index, xp.ones(1, dtype=int)),
    ]:  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            convert(wrong)


@pytest.mark.parametrize("size, words", [(0, "empty array"), (2, "more than one element")])
def test_only_one_element_is_true_or_false(size, words):
    with pytest.raises(ValueError, match=words):
        bool(xp.ones(size))


keys = st.one_of(
    st.integers(-4, 3), st.just(Ellipsis), st.none(),
    st.builds(slice, *[st.none() | st.integers(-5, 5)] * 2, st.sampled_from([None, 1, 2, -1, -3])),
)  # fmt: skip


@few
@given(arrays(DTYPES, min_dims=1), st.lists(keys, max_size=3))
def test_reading_and_assigning_by_drawn_indices(a, key):
    key, ours = tuple(key), on_device(a)
    try:
        want = a[key]
    except IndexError:
        with pytest.raises(IndexError):
            ours[key]
        return
    same(ours[key], want)
    a[key] = 1
    ours[key] = 1
    same(ours, a)


@few
@given(arrays(DTYPES, min_dims=1), st.integers(0, 3))
def test_masks_and_arrays_as_indices(a, seed):
    rng, ours = np.random.default_rng(seed), on_device(a)
    mask = rng.random(a.shape) < 0.5
    same(ours[on_device(mask)], a[mask])
    if len(a):
        places = rng.integers(-len(a), len(a), 3)
        same(ours[on_device(places)], a[places])
        if a.ndim > 1 and a.shape[1]:
            same(ours[on_device(places), -1], a[places, -1])
    a[mask] = 0
    ours[on_device(mask)] = 0
    same(ours, a)


with warnings.catch_warnings():
    warnings.simplefilter("error")  # hypothesis warns of names that a namespace lacks
    xps = make_strategies_namespace(xp)


@few
@given(st.data())
def test_hypothesis_draws_arrays_of_the_namespace(data):
    a = data.draw(xps.arrays(xps.scalar_dtypes(), xps.array_shapes(min_dims=0, max_side=4)))
    assert a.__array_namespace__() is xp
    key = data.draw(xps.indices(a.shape, allow_newaxis=True))
    same(a[key], a.get()[key])
    axes = data.draw(xps.valid_tuple_axes(a.ndim))
    same(xp.any(a, axis=axes), np.any(a.get(), axis=axes))
