"""xarray: GPUArrays as the data of DataArrays."""

import numpy as np
import pytest

import pycuda.numpy as xp
from pycuda import gpuarray
from pycuda.gpuarray import GPUArray

xarray = pytest.importorskip("xarray", reason="not in the extra `test`: it brings pandas")

pytestmark = [
    pytest.mark.usefixtures("primary_context"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def labelled(data):
    """A DataArray with these elements, and coordinates."""
    return xarray.DataArray(data, dims=("x", "y", "z"), coords={"x": [10, 20], "z": [0, 1, 2, 3]})


def ones(like):
    """Weights along z, in the memory (of the device or the host) that the data of a DataArray have."""
    data = np.ones(4, np.float32)
    return xarray.DataArray(gpuarray.to_gpu(data) if isinstance(like.data, GPUArray) else data, dims="z")


GROUPS = xarray.DataArray([0, 0, 1, 1], dims="z", name="group")
CALLS = {
    "arithmetic": lambda d: 2 * d + d / 3,
    "broadcast": lambda d: d + d.isel(x=0),
    "compare": lambda d: d > 3,
    "isel": lambda d: d.isel(x=0, z=slice(1, 3)),
    "isel_list": lambda d: d.isel(z=[0, 2]),
    "sel": lambda d: d.sel(x=20, z=[1, 3]),
    "mean": lambda d: d.mean("x"),
    "sum": lambda d: d.sum(),
    "std": lambda d: d.std("y"),
    "median": lambda d: d.median("z"),
    "quantile": lambda d: d.quantile(0.5, "z"),
    "argmax": lambda d: d.argmax("z"),
    "count": lambda d: d.count("z"),
    "cumsum": lambda d: d.cumsum("z"),
    "diff": lambda d: d.diff("z"),
    "shift": lambda d: d.shift(z=1),
    "roll": lambda d: d.roll(z=1),
    "pad": lambda d: d.pad(z=1),
    "clip": lambda d: d.clip(3, 7),
    "transpose": lambda d: d.transpose("z", "x", "y"),
    "stack": lambda d: d.stack(w=("x", "y")),
    "sortby": lambda d: d.sortby("z", ascending=False),
    "reindex": lambda d: d.reindex(z=[0, 5]),
    "where": lambda d: d.where(d > 3),
    "where_other": lambda d: xarray.where(d > 3, d, -d),
    "fillna": lambda d: d.where(d > 3).fillna(0),
    "concat": lambda d: xarray.concat([d, d], "x"),
    "groupby": lambda d: d.groupby(GROUPS).sum(),
    "coarsen": lambda d: d.coarsen(z=2).mean(),
    "weighted": lambda d: d.weighted(ones(d)).mean("z"),
    "dot": lambda d: xarray.dot(d, d, dim="z"),
    "numpys_function": lambda d: np.sin(d),
    "differentiate": lambda d: d.differentiate("z"),
    "integrate": lambda d: d.integrate("z"),
    "dataset": lambda d: xarray.Dataset({"t": d}).mean().t,
}


@pytest.mark.parametrize("name", CALLS)
def test_operations_on_labelled_arrays(name):
    got, want = CALLS[name](labelled(gpuarray.to_gpu(HOST))), CALLS[name](labelled(HOST))
    assert type(got.data) is GPUArray and got.dims == want.dims and got.dtype == want.dtype
    np.testing.assert_allclose(got.data.get(), want.data, rtol=1e-6)
    for each in want.coords:
        np.testing.assert_array_equal(got.coords[each], want.coords[each])


def test_functions_of_the_namespace():
    got = xarray.apply_ufunc(xp.exp, labelled(gpuarray.to_gpu(HOST)))
    np.testing.assert_allclose(got.data.get(), np.exp(HOST), rtol=1e-6)


def test_assignment_and_one_element():
    d = labelled(gpuarray.to_gpu(HOST))
    d[{"x": 0}] = 5
    assert d.isel(x=0, y=0, z=0).item() == 5
    assert d.isel(x=1, y=0, z=0).item() == 12


@pytest.mark.parametrize("call", [lambda d: d.values, lambda d: float(d.sum()), lambda d: d.interp(z=[0.5])])
def test_operations_on_the_host_are_refused(call):
    """xarray calls np.asarray() for them."""
    with pytest.raises(TypeError, match="Implicit conversion"):
        call(labelled(gpuarray.to_gpu(HOST)))


def test_rolling_windows_are_refused():
    """xarray calls xp.lib.stride_tricks, which the array API standard does not have."""
    with pytest.raises(AttributeError, match="has no attribute 'lib'"):
        labelled(gpuarray.to_gpu(HOST)).rolling(z=2).mean()
