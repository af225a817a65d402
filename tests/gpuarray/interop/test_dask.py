"""dask's arrays of GPUArrays: results are GPUArrays and equal those of dask's arrays of NumPy's arrays."""

import pickle
import sys

import numpy as np
import pytest

from pycuda import gpuarray

dask = pytest.importorskip("dask")
sys.modules.setdefault("sparse", None)  # dask would import tests/sparse instead of the package `sparse`
da = pytest.importorskip("dask.array")
if sys.modules["sparse"] is None:
    del sys.modules["sparse"]

pytestmark = [
    pytest.mark.usefixtures("primary_context"),
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
]
# Not a multiple of the chunks' shape: chunks have several sizes, which dask's means must weigh.
HOST = np.random.default_rng(0).normal(size=(13, 10)).astype(np.float32)


@pytest.fixture(autouse=True)
def in_this_thread():
    """dask computes in this thread, which has the context."""
    with dask.config.set(scheduler="synchronous"):
        yield


def same(call, host=HOST, chunks=(5, 4), rtol=2e-5):
    """Asserts that call(a dask array of GPUArrays) computes GPUArrays, with the shapes, dtypes and (within a
    tolerance) values of call(a dask array of NumPy's arrays). call() may return one dask array or several."""
    on_device = call(da.from_array(gpuarray.to_gpu(host), chunks=chunks))
    on_host = call(da.from_array(host, chunks=chunks))
    if isinstance(on_device, tuple | list):
        on_device, on_host = (dask.compute(*each) for each in (on_device, on_host))
    else:
        on_device, on_host = (on_device.compute(),), (on_host.compute(),)
    for got, want in zip(on_device, on_host, strict=True):
        assert isinstance(got, gpuarray.GPUArray), type(got)
        want = np.asarray(want)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got.get(), want, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)], ids=str)
@pytest.mark.parametrize("name", "sum prod max min any all mean std var nansum nanmean nanvar nanmax".split())
def test_reductions(name, axis):
    same(lambda d: getattr(da, name)(d, axis=axis))


@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax"])
def test_argmax_and_argmin(name, axis):
    same(lambda d: getattr(da, name)(d, axis=axis))


@pytest.mark.parametrize("axis", [0, None])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum"])
def test_scans(name, axis):
    same(lambda d: getattr(da, name)(d, axis=axis))


@pytest.mark.parametrize("options", [{"axis": 0}, {"axis": 1, "ddof": 1}, {"keepdims": True}], ids=str)
def test_moments(options):
    same(lambda d: d.var(**options))
    same(lambda d: d.mean(**{name: options[name] for name in options if name != "ddof"}))
    same(lambda d: d.astype("i4").std(**options))


CALLS = {
    "add": lambda d: d + d,
    "sin": lambda d: da.sin(d),
    "number": lambda d: 2 * d - 1,
    "compare": lambda d: d > 0.5,
    "T": lambda d: d.T + 1,
    "matmul": lambda d: d @ d.T,
    "dot": lambda d: d.dot(d.T),
    "dot_vector": lambda d: d.dot(d[0]),
    "tensordot": lambda d: da.tensordot(d, d, axes=([0], [0])),
    "einsum": lambda d: da.einsum("ij,kj->ik", d, d),
    "outer": lambda d: da.outer(d[0], d[1]),
    "vdot": lambda d: da.vdot(d, d),
    "slice": lambda d: d[3:12:2, ::-1],
    "list": lambda d: d[[1, 5, 12]],
    "mask": lambda d: d[d > 0.5],
    "where": lambda d: da.where(d > 0.5, d, 0),
    "concatenate": lambda d: da.concatenate([d, d]),
    "stack": lambda d: da.stack([d, d]),
    "block": lambda d: da.block([[d, d], [d, d]]),
    "reshape": lambda d: d.reshape(-1),
    "rechunk": lambda d: d.rechunk((3, 10)),
    "astype": lambda d: d.astype("f8"),
    "clip": lambda d: da.clip(d, 0.2, 0.4),
    "round": lambda d: da.round(d, 1),
    "roll": lambda d: da.roll(d, 3, axis=0),
    "flip": lambda d: da.flip(d, 0),
    "rot90": lambda d: da.rot90(d),
    "repeat": lambda d: da.repeat(d, 2, axis=0),
    "tile": lambda d: da.tile(d, (2, 1)),
    "take": lambda d: da.take(d, [1, 3], axis=0),
    "topk": lambda d: da.topk(d, 3),
    "diff": lambda d: da.diff(d, axis=0),
    "gradient": lambda d: da.gradient(d, axis=0),
    "pad": lambda d: da.pad(d, 1),
    "pad_edge": lambda d: da.pad(d, ((1, 2), (0, 3)), mode="edge"),
    "pad_reflect": lambda d: da.pad(d, 2, mode="reflect"),
    "map_blocks": lambda d: d.map_blocks(lambda b: b * 2),
    "map_overlap": lambda d: d.map_overlap(lambda b: b * 2, depth=1, boundary="reflect"),
    "median": lambda d: da.median(d, axis=0),
    "nanmedian": lambda d: da.nanmedian(d, axis=1),
    "quantile": lambda d: da.quantile(d, [0.2, 0.7], axis=0),
    "average": lambda d: da.average(d, axis=1),
    "cov": lambda d: da.cov(d),
    "corrcoef": lambda d: da.corrcoef(d),
    "norm": lambda d: da.linalg.norm(d),
    "norm_1": lambda d: da.linalg.norm(d, 1, axis=1),
    "expand_dims": lambda d: da.expand_dims(d, 0),
    "swapaxes": lambda d: da.swapaxes(d, 0, 1),
    "moveaxis": lambda d: da.moveaxis(d, 0, 1),
    "squeeze": lambda d: da.squeeze(d[:, :1], axis=1),
    "ravel": lambda d: da.ravel(d),
    "tril": lambda d: da.tril(d),
    "triu": lambda d: da.triu(d, 1),
    "diag": lambda d: da.diag(d[0]),
    "diagonal": lambda d: da.diagonal(d),
    "trace": lambda d: da.trace(d),
    "ones_like": lambda d: da.ones_like(d),
    "full_like": lambda d: da.full_like(d, 3),
    "allclose": lambda d: da.allclose(d, d),
    "isclose": lambda d: da.isclose(d, d + 1e-9),
    "nan_to_num": lambda d: da.nan_to_num(d),
    "ptp": lambda d: da.ptp(d, axis=0),
    "unique": lambda d: da.unique(da.round(d, 0)),
    "isin": lambda d: da.isin(da.round(d, 0), da.round(d[0], 0)),
    "bincount": lambda d: da.bincount((d * 3 + 20).astype(int).ravel(), minlength=10),
    "digitize": lambda d: da.digitize(d, np.array([-1.0, 0, 1])),
    "searchsorted": lambda d: da.searchsorted(da.cumsum(abs(d[0]) + 1, axis=0), d[1]),
    "histogram": lambda d: da.histogram(d, bins=10, range=(-3, 3))[0],
    "count_nonzero": lambda d: da.count_nonzero(d > 0),
    "choose": lambda d: da.choose((d > 0).astype(int), [d, -d]),
    "select": lambda d: da.select([d > 1, d > 0], [d, -d]),
    "piecewise": lambda d: da.piecewise(d, [d < 0, d >= 0], [-1, 1]),
    "insert": lambda d: da.insert(d, 2, d[0], axis=0),
    "delete": lambda d: da.delete(d, 2, axis=0),
    "append": lambda d: da.append(d, d, axis=0),
    "compress": lambda d: da.compress([True, False] * 6 + [True], d, axis=0),
    "apply_along_axis": lambda d: da.apply_along_axis(lambda x: x.sum(), 1, d),
    "unravel_index": lambda d: da.unravel_index((abs(d[0]) * 10).astype(int), (10, 10)),
    "coarsen": lambda d: da.coarsen(np.sum, d.rechunk((4, 4))[:12, :8], {0: 2, 1: 2}),
    "moment": lambda d: da.reductions.moment(d, 3, axis=0),
    "percentile": lambda d: da.percentile(d[0], [25, 50]),
    "ufunc_outer": lambda d: da.add.outer(d[0], d[1]),
    "real": lambda d: d.real,
    "view": lambda d: d.view("i4"),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    same(CALLS[name])


def test_a_gpuarray_and_a_dask_array_give_a_dask_array():
    host = np.arange(6, dtype=np.float32)
    on_device = gpuarray.to_gpu(host)
    lazy = da.from_array(on_device, chunks=4)
    for result in (on_device + lazy, lazy + on_device, np.add(on_device, lazy), np.add(lazy, on_device)):
        assert isinstance(result, da.Array)
        assert (result.compute().get() == 2 * host).all()
    joined = np.concatenate([on_device, lazy])
    assert isinstance(joined, da.Array)
    assert (joined.compute().get() == np.concatenate([host, host])).all()
    assert ((lazy > on_device).compute().get() == (host > host)).all()


def test_from_array_names_a_gpuarray_without_pickling_it(monkeypatch):
    """dask pickles an object to name it unless a function for its class is registered: here pickling would
    fail."""
    array = gpuarray.to_gpu(HOST)
    monkeypatch.setattr(pickle, "dumps", None)
    first, second = (da.from_array(array, chunks=4) for _ in range(2))
    assert first.name != second.name


def test_numel_of_a_gpuarray_is_on_the_device():
    """dask's numel_lookup returns a GPUArray along an axis, and an int for all elements. dask's own function,
    for classes that it does not know, would return an array of NumPy."""
    from dask.array.dispatch import numel_lookup

    assert isinstance(numel_lookup(gpuarray.to_gpu(HOST), axis=0), gpuarray.GPUArray)
    assert numel_lookup(gpuarray.to_gpu(HOST)) == HOST.size
