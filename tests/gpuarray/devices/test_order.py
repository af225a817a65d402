"""get() and set() come after the work that is queued on an array, whichever context is current."""

import contextlib
import time

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

DELAY = 0.3


@contextlib.contextmanager
def filled_late(context, allocator):
    """An array of ones, which the default stream of the context is going to fill with sevens."""
    with context:
        array = gpuarray.to_gpu(np.ones(1000, np.float32), allocator=allocator)
        array += 0  # the kernels are loaded
        array.fill(1)
        stream = drv.Stream()
        context.synchronize()
        stream.launch_host_func(time.sleep, DELAY)  # for which the default stream waits
        array.fill(7)
    yield array
    with context:
        context.synchronize()


def check(context, other, allocator):
    with filled_late(context, allocator) as array, other:
        assert set(array.get()) == {7}
    with filled_late(context, allocator) as array:
        with other:
            array.set(np.full(1000, 9, np.float32))
        with context:
            assert set(array.get()) == {9}
    with filled_late(context, allocator) as array, other:
        host = array.get_async()
        other.synchronize()
        assert set(host) == {7}


def check_managed_memory():
    from pairs import FIRST, SECOND

    with FIRST:
        pool = drv.ManagedMemoryPool()
    check(FIRST, SECOND, pool.allocate)


def test_managed_memory(on_two_devices):
    on_two_devices(check_managed_memory)


@pytest.mark.parametrize("kind", [drv.DeviceMemoryPool, drv.ManagedMemoryPool])
def test_two_contexts_of_a_device(kind):
    drv.init()
    context, other = drv.Device(0).retain_primary_context(), drv.Device(0).make_context()
    drv.Context.pop()
    with context:
        pool = kind()
    check(context, other, pool.allocate)
    other.detach()


def test_a_stream_that_is_given_decides():
    """The copy is queued on it, in the current context."""
    drv.init()
    context, other = drv.Device(0).retain_primary_context(), drv.Device(0).make_context()
    drv.Context.pop()
    with context:
        array = gpuarray.to_gpu(np.arange(10))
        context.synchronize()
    with other:
        stream = drv.Stream()
        assert (array.get(stream=stream) == np.arange(10)).all()
        with stream:
            array.set(np.arange(10) + 1)
            assert (array.get() == np.arange(10) + 1).all()
        del stream
    other.detach()
