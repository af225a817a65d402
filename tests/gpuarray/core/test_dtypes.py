"""Which dtypes results have, and which casts are allowed or refused, as in NumPy."""

import itertools
import warnings

import numpy as np
import pytest

import pycuda.gpuarray as gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

CASTING = ("no", "equiv", "safe", "same_kind", "unsafe")


def outcome(function, *arguments, **keywords):
    """(result as an array of NumPy, None), or (None, TypeError or ValueError) if the call raised one."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments, **keywords)
        except (TypeError, ValueError) as error:
            return None, TypeError if isinstance(error, TypeError) else ValueError
    return (result.get() if isinstance(result, gpuarray.GPUArray) else np.asarray(result)), None


def same(function, host, device, tolerance=0.0, **keywords):
    """Asserts that the function has the same result, or raises the same kind of error, for NumPy's arrays
    `host` and for the GPUArrays `device`."""
    expected, error = outcome(function, *host, **keywords)
    got, ours = outcome(function, *device, **keywords)
    assert ours == error, (keywords, error, ours)
    if error is None:
        assert got.dtype == expected.dtype and got.shape == expected.shape, keywords
        np.testing.assert_allclose(got, expected, rtol=tolerance, err_msg=str(keywords))


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("given", ["i4", "u1", "f4", "f8", "c8", "?"])
def test_var_and_std_in_any_dtype(name, given):
    host = np.array([[1, 5, 9, 3], [4, 4, 0, 8], [7, 2, 2, 6]]).astype(given)
    host = host * np.complex64(1 + 2j) if given == "c8" else host
    device = gpuarray.to_gpu(host)
    for wanted, axis, ddof in itertools.product(
        (None, "i4", "f2", "f4", "f8", "c8", "c16"), (None, 0), (0, 1)
    ):
        if given == "c8" and wanted in ("f2", "f4", "f8"):
            continue  # NumPy's result is unusual: complex distances from the mean of the real parts alone
        tolerance = 2e-3 if wanted == "f2" else 1e-6
        same(
            lambda a, **k: getattr(a, name)(**k), [host], [device], tolerance,
            axis=axis, dtype=wanted, ddof=ddof,
        )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "min", "any", "all", "mean", "cumsum", "cumprod", "std"]
)
@pytest.mark.parametrize("given", ["i1", "i4", "f4", "f8"])
def test_results_are_cast_to_the_dtype_of_out(name, given):
    host = np.array([[1.5, 2.5, 100], [3, 1, 2]]).astype(given)
    device = gpuarray.to_gpu(host)
    for wanted in ("i1", "i2", "i8", "f4", "f8", "c16", "?"):
        shape = (2, 3) if name.startswith("cum") else (2,)
        expected, out = np.zeros(shape, wanted), gpuarray.zeros(shape, wanted)
        error = outcome(getattr(host, name), axis=1, out=expected)[1]
        ours = outcome(getattr(device, name), axis=1, out=out)[1]
        assert ours == error, wanted
        if error is None:
            np.testing.assert_allclose(out.get(), expected, rtol=1e-6, err_msg=wanted)


def test_sums_are_computed_in_numpys_dtype_whatever_out_has():
    host = np.full(1000, 0.1)
    out = gpuarray.zeros((), np.float32)
    gpuarray.to_gpu(host).sum(out=out)
    assert out.get() == np.float32(host.sum())
    out = gpuarray.zeros((), np.int64)
    np.sum(gpuarray.to_gpu(np.full(10, 0.75)), out=out)
    assert out.get() == 7


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_argmax_and_argmin_are_cast_to_the_dtype_of_out(name):
    """The indices are integers: an out= of a dtype to which NumPy does not cast integers is refused."""
    host = np.array([3.0, 9, 1])
    for wanted in ("i1", "i4", "i8", "u8", "f8", "?"):
        same(
            lambda a, o, name=name: getattr(np, name)(a, out=o), [host, np.zeros((), wanted)],
            [gpuarray.to_gpu(host), gpuarray.zeros((), wanted)],
        )  # fmt: skip


@pytest.mark.parametrize("casting", CASTING)
def test_casting_rules(casting):
    """casting=, dtype= and out= give NumPy's results and NumPy's errors."""
    names = ["f4", "f8", "i4"]
    host = {name: np.array([1, 2, 3], name) for name in names}
    device = {name: gpuarray.to_gpu(each) for name, each in host.items()}
    for a, b in itertools.product(names, [*names, 2]):
        host_b, device_b = (b, b) if b == 2 else (host[b], device[b])
        if b == 2 and casting == "equiv":
            continue  # NumPy refuses Python numbers with "equiv", although it takes them with "no"
        for dtype in (None, "f4", "f8", "i4"):
            keywords = {"casting": casting} | ({} if dtype is None else {"dtype": dtype})
            for ufunc in (np.add, np.multiply):
                same(ufunc, [host[a], host_b], [device[a], device_b], **keywords)
        for wanted in names:
            expected, out = np.zeros(3, wanted), gpuarray.zeros(3, wanted)
            error = outcome(np.add, host[a], host_b, out=expected, casting=casting)[1]
            assert outcome(np.add, device[a], device_b, out=out, casting=casting)[1] == error
            np.testing.assert_array_equal(out.get(), expected)


def test_an_unknown_casting_is_refused():
    with pytest.raises((TypeError, ValueError), match="casting"):
        np.add(gpuarray.zeros(3, np.float32), 1, casting="somehow")


def test_halves_are_rounded_before_they_are_widened():
    x = np.linspace(0, 3, 100)
    half, single = x.astype(np.float16), x.astype(np.float32)
    for ufunc in (np.exp, np.sqrt, np.square):
        out = gpuarray.zeros(100, np.float32)
        ufunc(gpuarray.to_gpu(half), out=out)
        assert (out.get() == out.get().astype(np.float16)).all()
        # Operands are rounded to halves too, if the operation computes with halves.
        ufunc(gpuarray.to_gpu(single), out=out, dtype=np.float16)
        np.testing.assert_array_equal(out.get(), ufunc(gpuarray.to_gpu(half)).get().astype(np.float32))


def test_a_comparison_of_two_python_numbers_writes_to_out():
    out = gpuarray.zeros(3, bool)
    np.less(1, 2, out=out)
    assert out.get().all()


@pytest.mark.parametrize("shape, axis", [((2, 0, 0), 2), ((0, 3), 1), ((0, 0), 1), ((3, 0, 2), 0), ((0,), 0)])
@pytest.mark.parametrize("name", ["max", "sum", "argmin", "any"])
def test_reductions_of_empty_arrays(name, shape, axis):
    """A reduction of no elements gives its neutral value, or raises NumPy's error if it has none."""
    host = np.zeros(shape)
    same(lambda a: getattr(a, name)(axis=axis), [host], [gpuarray.to_gpu(host)])
