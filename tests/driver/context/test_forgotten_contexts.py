"""A context ends with its last reference and the last object in it: caches do not keep it alive."""

import ctypes
import weakref

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import cumath, curandom, gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel
from pycuda.tools import clear_context_caches, context_dependent_memoize

twice = ElementwiseKernel("float *x, float *y", "y[i] = 2 * x[i]", "twice")
total = ReductionKernel(np.float32, "0", "a + b", arguments="float *x", map_expr="x[i]")
running = InclusiveScanKernel(np.float32, "a + b")
EDGES = np.array([0.0, 1, 5, 1000])


@context_dependent_memoize
def memoized():
    return drv.mem_alloc(16), drv.Stream()


# What is done with an array in the context: each use leaves something in a cache.
USES = {
    "nothing": lambda a: None,
    "addition": lambda a: (a + a).get(),
    "addition, not waited for": lambda a: a + a,
    "sum": lambda a: a.sum().get(),
    "sum along an axis": lambda a: a.reshape(10, 100).sum(axis=0).get(),
    "sorting": lambda a: np.sort(a).get(),
    "histogram": lambda a: np.histogram(a, bins=EDGES)[0].get(),
    "mask": lambda a: a[a > 5].get(),
    "indices": lambda a: a[gpuarray.to_gpu(np.array([1, 2]))].get(),
    "cumsum": lambda a: np.cumsum(a).get(),
    "random numbers": lambda a: curandom.rand((100,)).get(),
    "cumath": lambda a: cumath.sin(a).get(),
    "user's elementwise kernel": lambda a: twice(a, a.copy()),
    "user's reduction": lambda a: total(a).get(),
    "user's scan": lambda a: running(a).get(),
    "memoized": lambda a: memoized(),
}


def live():
    """{type: number of live objects}, without the types that have none."""
    return {name: count for name, count in drv._live_objects().items() if count}


def make_context():
    drv.init()
    return drv.Device(0).make_context()


@pytest.mark.parametrize("use", USES)
def test_a_context_ends_with_its_last_reference(use):
    drv.init()
    before = live()
    context = make_context()
    array = gpuarray.to_gpu(np.arange(1000, dtype=np.float32))
    USES[use](array)
    drv.Context.synchronize()
    context.pop()
    reference = weakref.ref(context)
    del array, context
    assert reference() is None
    assert live() == before


def test_an_array_keeps_its_context():
    """Its memory can be read after the last reference to the context was dropped; it then ends with the
    array."""
    before = live()
    context = make_context()
    array = gpuarray.to_gpu(np.arange(10, dtype=np.float32))
    handle = context.handle
    context.pop()
    del context
    assert live()["Context"] == before.get("Context", 0) + 1
    np.testing.assert_array_equal(array.get(), np.arange(10))
    with make_context() as other:
        assert other.handle != handle
    del array, other
    drv.Context.synchronize()
    assert live().get("Context", 0) <= before.get("Context", 0) + 1


def test_the_end_of_a_context_drops_no_cache_of_another_one():
    one, two = make_context(), make_context()
    try:
        made_in_two = memoized()
        two.pop()
        made_in_one = memoized()
        assert made_in_one[0] is not made_in_two[0]
        del made_in_two, two
        assert memoized() is made_in_one
        assert (gpuarray.to_gpu(np.ones(4)) + 1).get().tolist() == [2, 2, 2, 2]
    finally:
        one.detach()


def test_a_context_without_a_python_object_gets_one_again(driver_library):
    """An array keeps the context alive after its Python object is gone; then other code makes it current."""
    set_current = ctypes.CDLL(driver_library).cuCtxSetCurrent
    clear_context_caches()
    before, current = live(), drv.Context.get_current()
    context = make_context()
    array = gpuarray.to_gpu(np.arange(10, dtype=np.float32))
    handle = context.handle
    context.pop()
    del context
    assert set_current(ctypes.c_void_p(handle)) == 0
    try:
        assert drv.Context.get_current().handle == handle
        np.testing.assert_array_equal((array + array).get(), 2 * np.arange(10))
        del array
        assert drv.Context.get_current().handle == handle
    finally:
        assert set_current(ctypes.c_void_p(current.handle if current else None)) == 0
    clear_context_caches()
    assert live() == before
