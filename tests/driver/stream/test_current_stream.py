"""`with stream:` makes a stream the current one, which `stream=None` means in launches, asynchronous copies
and fills, events and arrays."""

import asyncio
import contextvars
import functools
import sys
import threading

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

MODULE = """
__global__ void write(int *out, int value) { *out = value; }
"""


@pytest.fixture(scope="module")
def write():
    return SourceModule(MODULE).get_function("write")


@pytest.fixture
def stream(primary_context):
    return drv.Stream(1)  # non-blocking: not ordered with the default stream


class Hold:
    """Work that is queued in the stream during the with block does not run before its end."""

    def __init__(self, stream):
        self.stream, self.open = stream, threading.Event()

    def __enter__(self):
        self.stream.launch_host_func(self.open.wait, 10)

    def __exit__(self, *exception):
        self.open.set()
        self.stream.synchronize()


def test_nested_blocks(stream):
    other = drv.Stream()
    assert drv.current_stream() is None
    with stream as entered:
        assert entered is stream and drv.current_stream() is stream
        with other:
            assert drv.current_stream() is other
            with stream:
                assert drv.current_stream() is stream
        assert drv.current_stream() is stream
    assert drv.current_stream() is None


def test_an_exception_ends_the_block(stream):
    with pytest.raises(ZeroDivisionError), stream:
        raise ZeroDivisionError
    assert drv.current_stream() is None


def test_blocks_end_in_the_reverse_order(stream):
    with pytest.raises(drv.LogicError, match="reverse order"):
        stream.__exit__(None, None, None)
    other = drv.Stream()
    stream.__enter__()
    with pytest.raises(drv.LogicError, match="reverse order"):
        other.__exit__(None, None, None)
    stream.__exit__(None, None, None)


def test_threads_and_coroutines_have_their_own(stream):
    found = []
    other = drv.Stream()

    async def use(own, turns):
        with own:
            for _ in range(turns):
                await asyncio.sleep(0)
                found.append(drv.current_stream() is own)

    async def both():
        await asyncio.gather(use(stream, 5), use(other, 5))

    asyncio.run(both())
    with stream:
        thread = threading.Thread(target=lambda: found.append(drv.current_stream() is None))
        thread.start()
        thread.join()
    assert found == [True] * 11


def test_a_thread_begins_with_it_where_python_passes_its_context_on(stream):
    """A free-threaded CPython 3.14 does."""
    context, found = drv.Context.get_current(), []

    def look():
        context.push()
        found.append(drv.current_stream())
        drv.Context.pop()

    with stream:
        for target in look, functools.partial(contextvars.Context().run, look):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    assert found == [stream if getattr(sys.flags, "thread_inherit_context", 0) else None, None]


def test_it_is_current_in_its_context_only(stream):
    with stream:
        context = drv.Device(0).make_context()
        try:
            assert drv.current_stream() is None
            array = gpuarray.to_gpu(np.arange(10)) + 1
            assert array.get().tolist() == list(range(1, 11))
        finally:
            context.pop()
        del array
        assert drv.current_stream() is stream


# Calls without a stream that make the word at `out` 1; it is 0 before.


def launch(write, out):
    write(out, np.int32(1), block=(1, 1, 1), grid=(1, 1))


def prepared(write, out):
    write.prepare("Pi")
    write.prepared_call((1, 1), (1, 1, 1), out, 1)


def prepared_async(write, out):
    write.prepare("Pi")
    write.prepared_async_call((1, 1), (1, 1, 1), None, out, 1)


def copy(write, out):
    drv.memcpy_htod_async(out, write.one)


def fill(write, out):
    drv.memset_d32_async(out, 1, 1)


def assign(write, out):
    gpuarray.GPUArray(1, np.int32, gpudata=out)[...] = 1


def add(write, out):
    array = gpuarray.GPUArray(1, np.int32, gpudata=out)
    array += 1


def scan(write, out):
    one = gpuarray.GPUArray(1, np.int32, gpudata=out)
    one.fill(1)
    one.cumsum(out=one)


@pytest.mark.parametrize("queue", [launch, prepared, prepared_async, copy, fill, assign, add, scan])
def test_work_is_queued_in_it(write, stream, queue):
    """While the stream is held, the word is still 0 in another stream; then it is 1."""
    write.one = drv.pagelocked_zeros(1, np.int32)  # released after the block: it waits for all work
    write.one[:] = 1
    out, read = drv.mem_alloc(4), np.zeros(1, np.int32)
    drv.memset_d32(out, 0, 1)
    with stream:
        queue(write, out)  # compiles
    stream.synchronize()
    drv.memset_d32(out, 0, 1)
    drv.Context.synchronize()
    with Hold(stream):
        with stream:
            queue(write, out)
        drv.memcpy_dtoh(read, out)
        assert read[0] == 0
    drv.memcpy_dtoh(read, out)
    assert read[0] == 1
    del write.one


def test_reads_of_arrays_wait_for_it(stream):
    with stream:
        array = gpuarray.to_gpu(np.arange(1000))
        for _ in range(20):
            array = array + 1
        assert array.get()[0] == 20 and int(array[-1]) == 1019 and float(array.sum()) == 1000 * 20 + 499500


def test_an_event_records_it(stream):
    with Hold(stream):
        with stream:
            event = drv.Event().record()
        assert not event.query()
    assert event.query()


def test_the_legacy_default_stream_can_be_named(write, stream):
    """LEGACY_DEFAULT_STREAM is not replaced by the current stream, which is held meanwhile."""
    out, read = drv.mem_alloc(4), np.zeros(1, np.int32)
    drv.memset_d32(out, 0, 1)
    with Hold(stream), stream:
        write(out, np.int32(5), block=(1, 1, 1), grid=(1, 1), stream=drv.LEGACY_DEFAULT_STREAM)
        drv.Event().record(drv.LEGACY_DEFAULT_STREAM).synchronize()
        drv.memcpy_dtoh(read, out)
        assert gpuarray.GPUArray(1, np.int32, gpudata=out).get(stream=drv.LEGACY_DEFAULT_STREAM) == 5
    assert read[0] == 5


def test_a_stream_argument_overrides_the_current_stream(write, stream):
    other, out, read = drv.Stream(1), drv.mem_alloc(4), np.zeros(1, np.int32)
    drv.memset_d32(out, 0, 1)
    with Hold(stream), stream:
        write(out, np.int32(5), block=(1, 1, 1), grid=(1, 1), stream=other)
        other.synchronize()
        drv.memcpy_dtoh(read, out)
    assert read[0] == 5
