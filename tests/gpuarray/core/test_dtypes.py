"""Which dtypes operations have, and what is cast to what: as NumPy says."""

import itertools
import warnings

import numpy as np
import pytest

import pycuda.gpuarray as gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

CASTING = ("no", "equiv", "safe", "same_kind", "unsafe")


def outcome(function, *arguments, **keywords):
    """(the result, None) or (None, kind of the error)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments, **keywords)
        except (TypeError, ValueError) as error:
            return None, TypeError if isinstance(error, TypeError) else ValueError
    return (result.get() if isinstance(result, gpuarray.GPUArray) else np.asarray(result)), None


def same(function, host, device, tolerance=0.0, **keywords):
    """The function gives the same for arrays of NumPy and of ours: result, or kind of error."""
    expected, error = outcome(function, *host, **keywords)
    got, ours = outcome(function, *device, **keywords)
    assert ours == error, (keywords, error, ours)
    if error is None:
        assert got.dtype == expected.dtype and got.shape == expected.shape, keywords
        np.testing.assert_allclose(got, expected, rtol=tolerance, err_msg=str(keywords))


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("given", ["i4", "u1", "f4", "f8", "c8", "?"])
def test_spread_in_any_dtype(name, given):
    host = np.array([[1, 5, 9, 3], [4, 4, 0, 8], [7, 2, 2, 6]]).astype(given)
    host = host * np.complex64(1 + 2j) if given == "c8" else host
    device = gpuarray.to_gpu(host)
    for wanted, axis, ddof in itertools.product(
        (None, "i4", "f2", "f4", "f8", "c8", "c16"), (None, 0), (0, 1)
    ):
        if given == "c8" and wanted in ("f2", "f4", "f8"):
            continue  # NumPy takes the mean of the real parts and both parts' distances from it
        tolerance = {"f2": 2e-3, None: 1e-6}.get(wanted, 1e-6)
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
        found, error = outcome(getattr(host, name), axis=1, out=expected)
        ours = outcome(getattr(device, name), axis=1, out=out)[1]
        assert ours == error, wanted
        if error is None:
            np.testing.assert_allclose(out.get(), expected, rtol=1e-6, err_msg=wanted)


def test_sums_are_made_in_numpys_dtype():
    """Not in that of out, where that is narrower."""
    host = np.full(1000, 0.1)
    out = gpuarray.zeros((), np.float32)
    gpuarray.to_gpu(host).sum(out=out)
    assert out.get() == np.float32(host.sum())
    out = gpuarray.zeros((), np.int64)
    np.sum(gpuarray.to_gpu(np.full(10, 0.75)), out=out)
    assert out.get() == 7


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_numbers_of_elements_are_integers(name):
    host = np.array([3.0, 9, 1])
    for wanted in ("i1", "i4", "i8", "u8", "f8", "?"):
        same(
            lambda a, o, name=name: getattr(np, name)(a, out=o), [host, np.zeros((), wanted)],
            [gpuarray.to_gpu(host), gpuarray.zeros((), wanted)],
        )  # fmt: skip


@pytest.mark.parametrize("casting", CASTING)
def test_casting(casting):
    names = ["f4", "f8", "i4"]
    host = {name: np.array([1, 2, 3], name) for name in names}
    device = {name: gpuarray.to_gpu(each) for name, each in host.items()}
    for a, b in itertools.product(names, [*names, 2]):
        other = [b, b] if b == 2 else [host[b], device[b]]
        if b == 2 and casting == "equiv":
            continue  # NumPy casts no Python number by this rule, and does so by "no"
        for dtype in (None, "f4", "f8", "i4"):
            given = {"casting": casting} | ({} if dtype is None else {"dtype": dtype})
            for ufunc in (np.add, np.multiply):
                same(ufunc, [host[a], other[0]], [device[a], other[1]], **given)
        for wanted in names:
            expected, out = np.zeros(3, wanted), gpuarray.zeros(3, wanted)
            error = outcome(np.add, host[a], other[0], out=expected, casting=casting)[1]
            assert outcome(np.add, device[a], other[1], out=out, casting=casting)[1] == error
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
        # And operands, where the operation is one of halves.
        ufunc(gpuarray.to_gpu(single), out=out, dtype=np.float16)
        np.testing.assert_array_equal(out.get(), ufunc(gpuarray.to_gpu(half)).get().astype(np.float32))


def test_comparing_two_numbers():
    out = gpuarray.zeros(3, bool)
    np.less(1, 2, out=out)
    assert out.get().all()


@pytest.mark.parametrize("shape, axis", [((2, 0, 0), 2), ((0, 3), 1), ((0, 0), 1), ((3, 0, 2), 0), ((0,), 0)])
@pytest.mark.parametrize("name", ["max", "sum", "argmin", "any"])
def test_reductions_of_nothing(name, shape, axis):
    host = np.zeros(shape)
    same(lambda a: getattr(a, name)(axis=axis), [host], [gpuarray.to_gpu(host)])
