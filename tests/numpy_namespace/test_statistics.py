"""Sums, means, cumulative sums, differences, any and all, compared with NumPy's."""

import numpy as np
import pytest
from against_numpy import arrays, check, few
from hypothesis import given
from hypothesis import strategies as st

import pycuda.numpy as xp

pytestmark = pytest.mark.usefixtures("primary_context")

axes = st.none() | st.integers(-3, 2) | st.just((0, 1)) | st.just((0, -1)) | st.just(())


@few
@given(arrays(), axes, st.booleans())
def test_sums(a, axis, keepdims):
    for name in ("sum", "prod", "any", "all"):
        check(name, a, axis=axis, keepdims=keepdims)
    check("sum", a, axis=axis, dtype=a.dtype.type if a.dtype.kind in "fc" else np.int64)


@few
@given(arrays(["int8", "float32"]), axes, st.booleans())
def test_extremes(a, axis, keepdims):
    check("max", a, axis=axis, keepdims=keepdims)
    check("min", a, axis=axis, keepdims=keepdims)


@few
@given(arrays(["float32", "complex64"]), axes, st.booleans(), st.sampled_from([0, 1, 0.5]))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_moments(a, axis, keepdims, correction):
    check("mean", a, axis=axis, keepdims=keepdims, rtol=1e-6)
    for name in ("var", "std"):
        check(name, a, axis=axis, keepdims=keepdims, correction=correction, rtol=1e-6)


@few
@given(arrays(), st.none() | st.integers(-3, 2), st.booleans())
def test_cumulative(a, axis, include_initial):
    for name in ("cumulative_sum", "cumulative_prod"):
        check(name, a, axis=axis, include_initial=include_initial)
    check("cumulative_sum", a, axis=axis, dtype=np.complex64 if a.dtype.kind == "c" else np.float64)


@few
@given(arrays(), st.integers(-3, 2), st.integers(0, 3))
def test_differences(a, axis, n):
    check("diff", a, axis=axis, n=n)
    check("diff", a, axis=axis, n=n, prepend=a[:1] if a.ndim else None)
    check("diff", a, axis=-1, append=a)


def test_diff_with_prepend_and_append_of_none():
    a = xp.asarray([1, 4, 9])
    assert xp.diff(a, prepend=None, append=None).get().tolist() == [3, 5]
    assert xp.diff(a, prepend=a[:1], append=None).get().tolist() == [0, 3, 5]


def test_reductions_of_empty_arrays_are_neutral_elements_or_raise():
    nothing = xp.empty(0)
    for name, value in (("sum", 0), ("prod", 1), ("any", False), ("all", True)):
        assert getattr(xp, name)(nothing).item() == value
    for name in ("max", "min", "argmax"):
        with pytest.raises(ValueError):
            getattr(xp, name)(nothing)


def test_reductions_of_a_nan_are_nan_and_a_nan_is_true():
    a = xp.asarray([1.0, float("nan")])
    for name in ("sum", "prod", "max", "min", "mean", "std", "var"):
        assert np.isnan(getattr(xp, name)(a).item())
    assert xp.all(a).item() and xp.any(xp.asarray([float("nan")])).item()
