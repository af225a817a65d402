"""dask's entry points: what creates dask arrays makes GPUArrays, sizes, tokens."""

import subprocess
import sys

import numpy as np
import pytest

from pycuda import gpuarray

dask = pytest.importorskip("dask")
sys.modules.setdefault("sparse", None)  # dask would import tests/sparse instead of the package `sparse`
da = pytest.importorskip("dask.array")
if sys.modules["sparse"] is None:
    del sys.modules["sparse"]

pytestmark = pytest.mark.usefixtures("primary_context")

CREATED = {
    "ones": lambda: da.ones((5, 4), chunks=2),
    "ones_0d": lambda: da.ones(()),
    "zeros": lambda: da.zeros(5, dtype="i2"),
    "empty": lambda: da.empty((3, 3), dtype="i4") * 0,
    "full": lambda: da.full((5, 4), 3, chunks=2),
    "arange": lambda: da.arange(1, 10, 2, chunks=3),
    "arange_like": lambda: da.arange(4, dtype="f4", like=da.ones(3)),
    "tri": lambda: da.tri(4, chunks=2),
    "indices": lambda: da.indices((3, 4), chunks=2),
    "fromfunction": lambda: da.fromfunction(lambda i, j: i + j, shape=(3, 3), chunks=2),
    "tril_indices": lambda: da.tril_indices(4),
    "triu_indices": lambda: da.triu_indices(4, 1),
    "ones_like": lambda: da.ones_like(da.zeros((5, 4), chunks=2)),
    "sum": lambda: (da.full((5, 4), 3, chunks=2) + da.arange(4, chunks=2)).sum(axis=1),
}
DRAWN = {
    "random": lambda random: random.default_rng(1).random((5, 4), chunks=2),
    "normal": lambda random: random.default_rng(1).normal(2, 3, (5, 4), chunks=2),
    "integers": lambda random: random.default_rng(1).integers(0, 9, (5, 4), chunks=2),
    "choice": lambda random: random.default_rng(1).choice(10, size=7, chunks=3),
    "permutation": lambda random: random.default_rng(1).permutation(10),
    "state_random": lambda random: random.RandomState(1).random_sample((5, 4), chunks=2),
    "state_normal": lambda random: random.RandomState(1).normal(size=(5, 4), chunks=2),
    "state_randint": lambda random: random.RandomState(1).randint(0, 9, (5, 4), chunks=2),
    "state_choice": lambda random: random.RandomState(1).choice(3, size=7, chunks=3, p=[0.2, 0.2, 0.6]),
}


@pytest.fixture
def backend():
    with dask.config.set({"array.backend": "pycuda", "scheduler": "synchronous"}):
        yield


def computed(result):
    return dask.compute(*(result if isinstance(result, tuple) else (result,)))


@pytest.mark.parametrize("name", CREATED)
def test_what_creates_arrays(name, backend):
    lazy = CREATED[name]()
    with dask.config.set({"array.backend": "numpy"}):
        expected = computed(CREATED[name]())
    for each in lazy if isinstance(lazy, tuple) else (lazy,):
        assert isinstance(each._meta, gpuarray.GPUArray)
    for got, want in zip(computed(lazy), expected, strict=True):
        assert isinstance(got, gpuarray.GPUArray)
        np.testing.assert_array_equal(got.get(), want)
        assert got.dtype == np.asarray(want).dtype


@pytest.mark.parametrize("name", DRAWN)
def test_random_numbers_depend_on_the_seed_only(name, backend):
    first, again = DRAWN[name](da.random), DRAWN[name](da.random)
    assert first.name == again.name and isinstance(first._meta, gpuarray.GPUArray)
    (got,), (same,) = computed(first), computed(again)
    assert isinstance(got, gpuarray.GPUArray) and got.shape == first.shape and got.dtype == first.dtype
    assert (got.get() == same.get()).all()
    assert len(np.unique(got.get())) > 2


def test_chunks_have_other_random_numbers(backend):
    x = da.random.default_rng(3).random(4000, chunks=1000).compute().get()
    assert len(np.unique(x)) == 4000 and abs(x.mean() - 0.5) < 0.03
    assert len(np.unique(da.random.random(4000, chunks=1000).compute().get())) == 4000


def test_a_distribution_that_is_not_there_is_named(backend):
    with pytest.raises(AttributeError, match="vonmises"):
        da.random.default_rng(1).vonmises(0, 1, size=5)


def test_arrays_go_to_the_backend_and_back(backend):
    host = np.arange(12.0).reshape(4, 3)
    there = da.from_array(host, chunks=2).to_backend("pycuda")
    assert isinstance(there.compute(), gpuarray.GPUArray) and (there.compute().get() == host).all()
    assert there.to_backend("pycuda") is there
    assert (there.to_backend("numpy").compute() == host).all()


def test_threads_of_dask_need_no_context(backend):
    with dask.config.set(scheduler="threads", num_workers=4):
        total = da.ones((64, 64), chunks=8).map_blocks(lambda b: b.copy() * 2).sum().compute()
    assert float(total.get()) == 2 * 64 * 64


def test_dask_finds_the_backend_without_an_import_of_pycuda(tmp_path):
    program = (
        "import dask, dask.array as da, dask.sizeof, sys\n"
        "assert 'pycuda.gpuarray' not in sys.modules and 'pycuda._driver' not in sys.modules\n"
        "with dask.config.set({'array.backend': 'pycuda'}):\n"
        "    array = da.ones(1000).compute()\n"
        "print(type(array).__name__, dask.sizeof.sizeof(array))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "GPUArray 8000\n", done.stderr


# ---- tokens


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1", "c16", "?"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (8,), (33, 5), (1000, 3)], ids=str)
def test_a_token_depends_on_the_elements(shape, dtype):
    host = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    array = gpuarray.to_gpu(host)
    token = dask.base.tokenize(array)
    assert token == dask.base.tokenize(gpuarray.to_gpu(host))
    for place in {0, host.size // 2, host.size - 1} if host.size else ():
        other = host.copy().reshape(-1)
        other[place] = not other[place] if dtype == "?" else other[place] + 1
        assert token != dask.base.tokenize(gpuarray.to_gpu(other.reshape(shape)))
    assert token != dask.base.tokenize(array.reshape(*shape, 1))


def test_a_token_does_not_depend_on_strides_and_address():
    host = np.random.default_rng(0).normal(size=(12, 9)).astype(np.float32)
    array = gpuarray.to_gpu(host)
    for view, same in (
        (array[1:, 1:], host[1:, 1:]),
        (array.T, host.T),
        (array.ravel()[1:], host.ravel()[1:]),  # not aligned to 8 bytes
        (np.broadcast_to(array[0], (5, 9)), np.broadcast_to(host[0], (5, 9))),
    ):
        assert dask.base.tokenize(view) == dask.base.tokenize(gpuarray.to_gpu(np.ascontiguousarray(same)))


def test_a_token_depends_on_the_order_of_elements_and_on_the_dtype():
    array = gpuarray.to_gpu(np.arange(64, dtype=np.int64))
    others = (
        array[::-1],
        np.roll(array, 1),
        array.view(np.uint64),
        array.view(np.float64),
        array.reshape(8, 8),
    )
    tokens = {dask.base.tokenize(each) for each in (array, *others)}
    assert len(tokens) == 6


def test_equal_arrays_have_one_name():
    array = gpuarray.to_gpu(np.arange(10.0))
    with dask.config.set({"tokenize.ensure-deterministic": True}):
        first, second = da.from_array(array, chunks=4), da.from_array(array.copy(), chunks=4)
    assert first.name == second.name
    assert da.from_array(array, name=False).name != first.name


def test_sizes():
    from dask.sizeof import sizeof

    array = gpuarray.zeros((10, 6), np.float32)
    assert sizeof(array) == 240 and sizeof(array[:, 0]) == 40
    assert sizeof(np.broadcast_to(array[:1], (1000, 6))) == 24
    assert sizeof(array[:0]) == 0
