"""str() and repr() of arrays are NumPy's, and copy only the elements that the text has."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

LARGE = 10**6


def same(array, host):
    """Asserts equal str() and repr()."""
    assert str(array) == str(host) and repr(array) == repr(host)


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (0,),
        (5,),
        (1000,),
        (1001,),
        (LARGE,),
        (1000, 1000),
        (3, 5, 7),
        (6, 5, 300),
        (2, 0, 9),
        (1, 2000, 7, 1),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?", "c8", "f2"])
def test_text_is_numpys(shape, dtype):
    values = np.arange(np.prod(shape), dtype="i8") * 7919 % 1000 - 300  # of both signs, in no order
    host = values.reshape(shape).astype(dtype)
    same(gpuarray.to_gpu(host), host)


@pytest.mark.parametrize(
    "options", [{"threshold": 10}, {"edgeitems": 1}, {"precision": 2}, {"threshold": 0, "edgeitems": 2}]
)
def test_options_of_numpy(options):
    host = np.linspace(-1, 3, 4000).reshape(40, 100)
    with np.printoptions(**options):
        same(gpuarray.to_gpu(host), host)


def test_views_print_as_numpys():
    """The array of broadcast_to() has 2**32 rows: only the elements that are printed may be copied."""
    host = np.arange(60000, dtype=np.float32).reshape(200, 300)
    array = gpuarray.to_gpu(host)
    for view in np.s_[::-1], np.s_[:, ::7], np.s_[5], np.s_[::-3, 1::2]:
        same(array[view], host[view])
    same(array.T, host.T)
    same(
        gpuarray.broadcast_to(array[0], (1 << 20, 1 << 12, 300)),
        np.broadcast_to(host[0], (1 << 20, 1 << 12, 300)),
    )
    same(gpuarray.to_gpu(np.asfortranarray(host)), np.asfortranarray(host))


def test_special_values_and_structures():
    host = np.tile([np.nan, np.inf, -0.0, 1e-30, 1e30], 400)
    same(gpuarray.to_gpu(host), host)
    structure = np.zeros(3000, [("a", "i4"), ("b", "f8", (2,))])
    structure["a"] = np.arange(3000)
    same(gpuarray.to_gpu(structure), structure)
    same(gpuarray.to_gpu(structure[:4]), structure[:4])


def test_only_what_is_shown_is_copied():
    """The middle of this array is memory that was freed: str() must not read it."""
    memory = sorted((drv.mem_alloc(1 << 20) for _ in range(3)), key=int)
    first, middle, last = memory
    middle.free()
    size = int(last) + (1 << 20) - int(first)
    drv.memset_d8(first, 1, 1 << 20)
    drv.memset_d8(last, 2, 1 << 20)
    array = gpuarray.GPUArray(size, np.uint8, gpudata=int(first))
    assert str(array) == "[1 1 1 ... 2 2 2]"
