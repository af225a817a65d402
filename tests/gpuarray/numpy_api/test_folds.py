"""reduce, accumulate, reduceat and outer of ufuncs: dtypes, values and errors are NumPy's, and integers are
exact, without conversions to floats.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest

import pycuda
from pycuda import gpuarray
from pycuda._array.core.elementwise import ELEMENTWISE
from pycuda._array.numpy_api.ufuncs import _ASSOCIATIVE
from pycuda._kernels.builtin.functions import ufunc_dtypes

pytestmark = pytest.mark.usefixtures("primary_context")


FOLDED = sorted(
    (u for u in ELEMENTWISE if u.nin == 2 and ELEMENTWISE[u] in _ASSOCIATIVE), key=lambda u: u.__name__
)
HOST = {c: np.array([[3, 0, 2], [1, 5, 0]], c) for c in "?hQed"}


def call(ufunc, method, array, *more, **keywords):
    """ufunc.method(array, ...). For a GPUArray __array_ufunc__ is called directly: NumPy 2.4 leaks the
    operands of methods that raise."""
    if not isinstance(array, gpuarray.GPUArray):
        return getattr(ufunc, method)(array, *more, **keywords)
    if "out" in keywords:
        keywords["out"] = (keywords["out"],)
    return array.__array_ufunc__(ufunc, method, array, *more, **keywords)


def outcome(function):
    """The result of a call as an array of NumPy, or TypeError or ValueError if it raised one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function()
        except (TypeError, ValueError) as problem:
            return TypeError if isinstance(problem, TypeError) else ValueError
    return result.get() if isinstance(result, gpuarray.GPUArray) else np.asarray(result)


def check(got, want, what):
    """Asserts that two results of outcome() are the same class of exception, or arrays of the same dtype with
    nearly equal elements. what: for the message."""
    if isinstance(want, type):
        assert got is want, what
        return
    assert not isinstance(got, type), (what, got, want)
    assert got.dtype == want.dtype, what
    np.testing.assert_allclose(got, want, rtol=1e-3, err_msg=str(what))


@pytest.mark.parametrize("ufunc", FOLDED, ids=lambda u: u.__name__)
def test_methods_have_numpys_dtypes_and_values(ufunc):
    for char, host in HOST.items():
        array = gpuarray.to_gpu(host)
        for method, more in (("reduce", ()), ("accumulate", ()), ("reduceat", ([0, 1],)), ("outer", (2,))):
            got = outcome(lambda m=method, a=array, n=more: call(ufunc, m, a, *n))
            want = outcome(lambda m=method, a=host, n=more: call(ufunc, m, a, *n))
            check(got, want, (ufunc.__name__, method, char))


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.hypot, np.logical_xor], ids=lambda u: u.__name__)
@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
def test_dtype_and_out(ufunc, method):
    more = ([0, 1],) if method == "reduceat" else ()
    for char in "?hd":
        host = HOST[char]
        array = gpuarray.to_gpu(host)
        for dtype, out in ((None, "h"), (None, "d"), ("h", None), ("d", None), ("?", "h"), ("d", "h")):
            target = np.zeros((3,) if method == "reduce" else (2, 3), out or "?")

            def fold(a, target, dtype=dtype, out=out):
                return call(ufunc, method, a, *more, dtype=dtype, **({"out": target} if out else {}))

            got = outcome(lambda a=array, t=target, f=fold: f(a, gpuarray.to_gpu(t)))
            check(got, outcome(lambda a=host, t=target, f=fold: f(a, t)), (char, dtype, out))


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("given, wanted", [("i8", "u8"), ("u8", "i8"), ("i4", "u8")])
def test_integers_are_exact(name, given, wanted):
    """int64 and uint64 have the common dtype float64, which cannot represent 2**53 + 1; it must not be
    used."""
    big = 2**31 - 1 if given == "i4" else 2**53 + 1
    host = np.array([big, 1, 3] if given == "u8" else [-big, 1, -3], given)
    integers = np.array([[int(each) for each in host]], object)  # Python's, computed exactly
    exact = np.atleast_1d(getattr(np, name)(integers, axis=1)).ravel()
    exact = np.array([int(each) % 2**64 for each in exact], np.uint64).view(wanted)
    array = gpuarray.to_gpu(host)
    out = gpuarray.zeros((3,) if name.startswith("cum") else (), wanted)
    assert getattr(np, name)(array, out=out) is out
    np.testing.assert_array_equal(np.atleast_1d(out.get()), exact)
    result = getattr(np, name)(array, dtype=wanted).get()
    np.testing.assert_array_equal(np.atleast_1d(result), exact)


@pytest.mark.parametrize("more", [{"initial": 0}, {"where": True}, {"where": np.True_, "initial": 0}])
def test_integers_are_exact_with_a_mask(more):
    out = gpuarray.zeros((), np.uint64)
    more = {k: gpuarray.to_gpu(np.ones(2, bool)) if v is np.True_ else v for k, v in more.items()}
    np.sum(gpuarray.to_gpu(np.array([-(2**53) - 1, -2])), out=out, **more)
    assert int(out.get()) == 2**64 - 2**53 - 3


def test_ufuncs_whose_results_cannot_be_operands_are_refused():
    """np.less of floats returns booleans, for which its loop for floats is not defined."""
    for method in ("reduce", "accumulate"):
        with pytest.raises(TypeError):
            call(np.less, method, gpuarray.to_gpu(HOST["d"]))


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_casting(casting):
    """NumPy's rules for its own numbers and Python's, bool among them."""
    host = np.arange(3, dtype=np.int32)
    array = gpuarray.to_gpu(host)
    for other in (False, 2, 2.5, np.int8(3), np.float64(2), np.bool_(True)):
        for ufunc in (np.fmin, np.add, np.less, np.arctan2):
            what = ufunc.__name__, casting, other
            if casting == "equiv" and type(other) in (int, float):
                continue  # NumPy crashes the process for its own arrays
            got = outcome(lambda u=ufunc, o=other: u(array, o, casting=casting))
            check(got, outcome(lambda u=ufunc, o=other: u(host, o, casting=casting)), what)


def test_resolve_dtypes_is_called_in_one_place():
    """ufunc_dtypes() checks the operands before: with some classes NumPy crashes the process."""
    folder = Path(pycuda.__file__).parent
    callers = [path.name for path in folder.rglob("*.py") if "resolve_dtypes(" in path.read_text()]
    assert callers == ["functions.py"]
    for wrong in (bool, str, None):
        with pytest.raises(TypeError):
            ufunc_dtypes(np.add, (np.dtype("i4"), wrong))
