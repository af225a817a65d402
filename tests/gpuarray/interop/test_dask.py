"""dask's arrays of GPUArrays: results are GPUArrays and equal those of dask's arrays of NumPy's arrays."""

import re
import sys
from pathlib import Path

import dask_calls
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


@pytest.mark.parametrize("options", [{"axis": 0}, {"axis": 1, "ddof": 1}, {"keepdims": True}], ids=str)
def test_moments(options):
    same(lambda d: d.var(**options))
    same(lambda d: d.mean(**{name: options[name] for name in options if name != "ddof"}))
    same(lambda d: d.astype("i4").std(**options))


# Symmetric and positive definite.
SQUARE = (HOST[:10].T @ HOST[:10] + 10 * np.eye(10)).astype(np.float32)


def compute(call, to_chunks):
    """What a call of dask_calls.py returns, as a tuple: to_chunks is called with arrays of NumPy's."""
    d, s = da.from_array(to_chunks(HOST), chunks=(5, 4)), da.from_array(to_chunks(SQUARE), chunks=(5, 5))
    result = call(da, d, s)
    return dask.compute(*(result if isinstance(result, tuple | list) else (result,)))


@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning", "ignore::dask.array.core.PerformanceWarning", "ignore:numpy.fix is deprecated"
)
@pytest.mark.parametrize("name", dask_calls.CALLS)
def test_functions(name):
    """Results are GPUArrays, with the shapes, dtypes and, within a tolerance, values of NumPy's chunks."""
    for call in dask_calls.CALLS[name]:
        with dask.config.set({"array.backend": "pycuda" if name in dask_calls.NEED_BACKEND else "numpy"}):
            on_device = compute(call, gpuarray.to_gpu)
        for got, want in zip(on_device, compute(call, np.asarray), strict=True):
            assert isinstance(got, gpuarray.GPUArray), type(got)
            want = np.asarray(want)
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got.get(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", dask_calls.FAILS)
def test_what_the_page_says_does_not_run(name):
    with pytest.raises((TypeError, ValueError)):
        compute(dask_calls.FAILS[name][0], gpuarray.to_gpu)


@pytest.mark.parametrize("name", sorted(dask_calls.NEED_BACKEND))
def test_what_needs_the_backend(name):
    for call in dask_calls.CALLS[name]:
        try:
            results = compute(call, gpuarray.to_gpu)
        except TypeError:
            continue
        assert all(isinstance(each, np.ndarray) for each in results)


def functions(module):
    """The names of the public functions and classes of a module of dask.array's."""
    return [name for name in dir(module) if name[0] != "_" and callable(getattr(module, name))]


def test_every_function_of_dask_is_in_a_table():
    public = {*functions(da)}
    for name in "fft", "linalg":
        module = getattr(da, name)
        own = [each for each in functions(module) if name == "fft" or each in dir(module)]
        public |= {f"{name}.{each}" for each in own if getattr(module, each).__module__ == module.__name__}
    known = {each.partition("(")[0] for each in (*dask_calls.CALLS, *dask_calls.FAILS)} | dask_calls.OTHERS
    assert public - known == set()


def test_the_page_lists_what_runs_and_what_does_not():
    page = (Path(__file__).parents[3] / "docs" / "dask.md").read_text()
    runs, fails = (
        page.split(f"## {title}\n")[1].split("\n## ")[0] for title in ("What runs", "What does not")
    )
    assert re.findall(r"`([^`]+)`", runs.split("\n\n")[1]) == sorted(
        dask_calls.CALLS.keys() - dask_calls.NEED_BACKEND
    )
    assert re.findall(r"`([^`]+)`", runs.split("\n\n")[3]) == sorted(dask_calls.NEED_BACKEND)
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", fails, re.M))
    assert rows == {name: why for name, (_, why) in dask_calls.FAILS.items()}


def test_store_writes_to_an_array_on_the_device(tmp_path):
    lazy = da.from_array(gpuarray.to_gpu(HOST), chunks=(5, 4))
    target = gpuarray.zeros(HOST.shape, HOST.dtype)
    da.store(lazy + 1, target)
    assert (target.get() == HOST + 1).all()
    da.to_npy_stack(tmp_path, lazy.rechunk((5, 10)))
    assert (da.from_npy_stack(tmp_path).compute() == HOST).all()


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


def test_numel_of_a_gpuarray_is_on_the_device():
    """dask's numel_lookup returns a GPUArray along an axis, and an int for all elements. dask's own function,
    for classes that it does not know, would return an array of NumPy."""
    from dask.array.dispatch import numel_lookup

    assert isinstance(numel_lookup(gpuarray.to_gpu(HOST), axis=0), gpuarray.GPUArray)
    assert numel_lookup(gpuarray.to_gpu(HOST)) == HOST.size
