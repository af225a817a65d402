"""array-api-extra: all of its functions that take any namespace's arrays."""

import numpy as np
import pytest

import pycuda.numpy as xp
from pycuda import gpuarray
from pycuda.gpuarray import GPUArray

xpx = pytest.importorskip("array_api_extra", reason="in the extra `test`")

HOST = {
    "m": np.array([[3, 1, 2], [0.5, 4, -1]], np.float64),
    "v": np.array([3, 1, 2, 5], np.float32),
    "n": np.array([1, np.nan, 3]),
    "i": np.array([3, 0, 3, 1]),
    "z": np.array([1 + 2j, -1j]),
}
CALLS = {
    "angle": lambda a: xpx.angle(a["z"]),
    "apply_where": lambda a: xpx.apply_where(a["m"] > 1, a["m"], lambda x: x + 1, lambda x: x * 0),
    "apply_where_fill": lambda a: xpx.apply_where(a["m"] > 1, a["m"], lambda x: x + 1, fill_value=-1.0),
    "argpartition": lambda a: xpx.argpartition(a["v"], 2)[2],
    "at_set": lambda a: xpx.at(a["m"])[0, :].set(5.0),
    "at_add": lambda a: xpx.at(a["m"], (slice(None), 0)).add(1.0),
    "at_mask": lambda a: xpx.at(a["m"], a["m"] > 2).min(2.0),
    "atleast_nd": lambda a: xpx.atleast_nd(a["v"], ndim=3),
    "cov": lambda a: xpx.cov(a["m"]),
    "create_diagonal": lambda a: xpx.create_diagonal(a["m"], offset=1),
    "deg2rad": lambda a: xpx.deg2rad(a["v"]),
    "expand_dims": lambda a: xpx.expand_dims(a["m"], axis=(0, -1)),
    "isclose": lambda a: xpx.isclose(a["n"], a["n"] + 1e-9, equal_nan=True),
    "isin": lambda a: xpx.isin(a["i"], a["i"][:2]),
    "kron": lambda a: xpx.kron(a["m"], a["m"]),
    "nan_to_num": lambda a: xpx.nan_to_num(a["n"], fill_value=7.0),
    "nanmax": lambda a: xpx.nanmax(a["n"]),
    "nanmean": lambda a: xpx.nanmean(a["n"]),
    "nanmin": lambda a: xpx.nanmin(a["n"]),
    "nansum": lambda a: xpx.nansum(a["n"]),
    "nunique": lambda a: xpx.nunique(a["i"]),
    "one_hot": lambda a: xpx.one_hot(a["i"], 4),
    "pad": lambda a: xpx.pad(a["m"], 1, constant_values=2.0),
    "partition": lambda a: xpx.partition(a["v"], 2)[2],
    "rad2deg": lambda a: xpx.rad2deg(a["v"]),
    "searchsorted": lambda a: xpx.searchsorted(a["i"][1:2], a["i"]),
    "setdiff1d": lambda a: xpx.setdiff1d(a["i"], a["i"][:1]),
    "sinc": lambda a: xpx.sinc(a["v"]),
    "union1d": lambda a: xpx.union1d(a["i"], a["i"] + 1),
    "unravel_index": lambda a: xpx.unravel_index(a["i"], (2, 2))[0],
}


@pytest.mark.usefixtures("primary_context")
@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", CALLS)
def test_function(name):
    got = CALLS[name]({each: gpuarray.to_gpu(array) for each, array in HOST.items()})
    want = CALLS[name]({each: array.copy() for each, array in HOST.items()})
    assert type(got) is GPUArray
    np.testing.assert_allclose(got.get(), want, rtol=1e-6)


@pytest.mark.usefixtures("primary_context")
@pytest.mark.parametrize("name", ["diag_indices", "tril_indices", "triu_indices"])
def test_functions_that_make_indices(name):
    function = getattr(xpx, name, None)
    if function is None:
        pytest.skip(f"array-api-extra {xpx.__version__} has no {name}")
    for got, want in zip(function(3, xp=xp), function(3, xp=np), strict=True):
        np.testing.assert_array_equal(got.get(), want)


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_functions_without_an_array():
    assert xpx.default_dtype(xp) == np.float64
    assert xpx.broadcast_shapes((2, 1), (3,)) == (2, 3)
