"""Streams: order, waiting, what they keep alive."""

import gc
import threading
import weakref

import numpy as np
import pytest

import pycuda.driver as drv


def test_a_new_stream_is_idle():
    stream = drv.Stream()
    assert stream.handle != 0 and stream.is_done() is True
    assert stream.synchronize() is None


def test_handles_differ():
    first, second = drv.Stream(), drv.Stream()
    assert first.handle != second.handle


def test_flags():
    assert drv.Stream().flags == 0
    assert drv.Stream(1).flags == drv.Stream(flags=drv.stream_flags.NON_BLOCKING).flags == 1
    with pytest.raises(drv.LogicError, match="cuStreamCreate failed: invalid argument"):
        drv.Stream(77)


def test_priority():
    assert drv.Stream().priority == drv.Stream(priority=None).priority == drv.Stream(0, 0).priority == 0
    # A priority beyond the device's range is clamped to it.
    least, greatest = drv.Context.get_stream_priority_range()
    assert greatest <= 0 <= least
    assert drv.Stream(priority=-1000).priority == greatest
    assert drv.Stream(priority=1000).priority == least
    assert drv.Stream(priority=greatest).priority == greatest


class Handle:
    """A stream by its number: 1 is the legacy default stream, 2 the calling thread's own."""

    def __init__(self, number):
        self.number = number

    def __cuda_stream__(self):
        return 0, self.number


def test_default_streams_by_number():
    memory, out = drv.mem_alloc(1 << 12), drv.pagelocked_zeros(1 << 10, np.uint32)
    for number in (1, 2):
        stream, event = Handle(number), drv.Event()
        drv.memset_d32_async(memory, 7 + number, 1 << 10, stream)
        drv.memcpy_dtoh_async(out, memory, stream)
        event.record(stream)
        event.synchronize()
        assert (out == 7 + number).all()
    drv.Context.synchronize()


def test_threads_have_default_streams_of_their_own():
    """Work in one thread's default stream does not wait for a stream in which another thread's work is
    held."""
    entered, go, order = threading.Event(), threading.Event(), []
    memory, stream = drv.mem_alloc(16), drv.Stream(1)
    stream.launch_host_func(lambda: (entered.set(), go.wait(20)))
    event = drv.Event().record(stream)
    context = drv.Context.get_current()

    def behind_the_event():
        with context:
            waiting = drv.Event()
            drv.memset_d32_async(memory, 1, 4, stream)
            waiting.record(stream)
            order.append(waiting.query())

    def alone():
        with context:
            other = drv.mem_alloc(16)
            drv.memset_d32_async(other, 2, 4, Handle(2))
            done = drv.Event().record(Handle(2))
            done.synchronize()
            order.append("done")

    for work in (behind_the_event, alone):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert entered.wait(20) and order == [False, "done"] and not event.query()
    go.set()
    drv.Context.synchronize()
    assert event.query()


def test_the_stream_protocol():
    stream = drv.Stream()
    assert stream.__cuda_stream__() == (0, stream.handle)

    class Foreign:
        def __cuda_stream__(self):
            return 0, stream.handle

    class Broken:
        def __cuda_stream__(self):
            return stream.handle

    memory, out = drv.to_device(np.arange(4)), np.zeros(4, int)
    drv.memcpy_dtoh_async(out, memory, Foreign())
    stream.synchronize()
    assert (out == np.arange(4)).all()
    with pytest.raises(TypeError, match="__cuda_stream__ must return a tuple"):
        drv.memcpy_dtoh_async(out, memory, Broken())
    with pytest.raises(TypeError, match="not int"):
        drv.memcpy_dtoh_async(out, memory, stream.handle)
    drv.Context.synchronize()


def test_work_runs_in_order():
    stream = drv.Stream()
    memory, out = drv.mem_alloc(1 << 20), drv.pagelocked_empty(1 << 18, np.uint32)
    for value in range(20):
        drv.memset_d32_async(memory, value, 1 << 18, stream)
    drv.memcpy_dtoh_async(out, memory, stream)
    stream.synchronize()
    assert (out == 19).all()


def test_waiting_for_an_event_of_another_stream():
    first, second = drv.Stream(1), drv.Stream(1)
    memory, out = drv.mem_alloc(1 << 24), drv.pagelocked_empty(1 << 22, np.uint32)
    for value in range(10):
        drv.memset_d32_async(memory, value, 1 << 22, first)
    event = drv.Event().record(first)
    second.wait_for_event(event)
    drv.memcpy_dtoh_async(out, memory, second)
    second.synchronize()
    assert (out == 9).all()
    first.synchronize()


def test_a_stream_may_be_dropped_with_work_on_it():
    memory = drv.to_device(np.zeros(1 << 20, np.uint8))
    out = drv.pagelocked_empty(1 << 20, np.uint8)
    stream = drv.Stream()
    drv.memset_d8_async(memory, 7, 1 << 20, stream)
    drv.memcpy_dtoh_async(out, memory, stream)
    del stream
    drv.Context.synchronize()
    assert (out == 7).all()


# ---- Keeping alive ----


def make_host():
    """(array, weak reference to it)"""
    host = np.arange(1000, dtype=np.int64)
    return host, weakref.ref(host)


@pytest.mark.parametrize(
    "wait", [lambda stream: stream.synchronize(), lambda stream: drv.Context.synchronize()]
)
def test_a_host_buffer_lives_until_it_was_waited_for(wait):
    stream, memory = drv.Stream(), drv.mem_alloc(8000)
    host, gone = make_host()
    drv.memcpy_htod_async(memory, host, stream)
    del host
    gc.collect()
    assert gone() is not None
    wait(stream)
    assert gone() is None
    assert (drv.from_device(memory, 1000, np.int64) == np.arange(1000)).all()


def test_a_host_buffer_lives_until_the_stream_was_found_idle():
    stream, memory = drv.Stream(), drv.mem_alloc(8000)
    host, gone = make_host()
    drv.memcpy_htod_async(memory, host, stream)
    del host
    while not stream.is_done():
        pass
    assert gone() is None


def test_a_wait_for_another_stream_releases_nothing():
    stream, other, memory = drv.Stream(), drv.Stream(), drv.mem_alloc(8000)
    host, gone = make_host()
    drv.memcpy_htod_async(memory, host, stream)
    del host
    other.synchronize()
    assert gone() is not None
    stream.synchronize()
    assert gone() is None


def test_a_device_object_lives_until_it_was_waited_for():
    stream, memory = drv.Stream(), drv.mem_alloc(8000)
    count = drv._driver._live_objects()["DeviceAllocation"]
    drv.memset_d8_async(memory, 1, 8000, stream)
    del memory
    assert drv._driver._live_objects()["DeviceAllocation"] == count
    stream.synchronize()
    assert drv._driver._live_objects()["DeviceAllocation"] == count - 1


def test_buffers_do_not_accumulate_in_a_program_that_never_waits_for_the_stream():
    """It waits for an event, so that the copies are done; old references are released at later copies."""
    stream, memory, event = drv.Stream(), drv.mem_alloc(8), drv.Event()
    hosts = []
    for _ in range(1000):
        host = np.zeros(1)
        hosts.append(weakref.ref(host))
        drv.memcpy_htod_async(memory, host, stream)
        event.record(stream).synchronize()
    del host
    assert sum(host() is not None for host in hosts) <= 200
    stream.synchronize()
    assert sum(host() is not None for host in hosts) == 0


def test_a_dropped_stream_still_keeps_what_its_work_needs():
    stream, memory, opened = drv.Stream(), drv.mem_alloc(8000), threading.Event()
    host, gone = make_host()
    stream.launch_host_func(opened.wait, 20)
    drv.memcpy_htod_async(memory, host, stream)
    del host, stream
    gc.collect()
    assert gone() is not None
    opened.set()
    drv.Context.synchronize()
    assert gone() is None


def test_a_destroyed_context_keeps_nothing():
    drv.init()
    context = drv.Device(0).make_context()
    stream, memory = drv.Stream(), drv.mem_alloc(8000)
    host, gone = make_host()
    drv.memcpy_htod_async(memory, host, stream)
    del host
    context.detach()
    assert gone() is None


def test_a_buffer_in_use_cannot_be_resized():
    stream, memory = drv.Stream(), drv.mem_alloc(8)
    data = bytearray(8)
    drv.memcpy_htod_async(memory, data, stream)
    with pytest.raises(BufferError):
        data.append(1)
    stream.synchronize()
    data.append(1)


def test_a_primary_context_retained_again_releases_buffers(run_python):
    """Work that was queued before the context was detached and retained again keeps its buffer until a
    wait."""
    done = run_python(
        """
        import weakref
        import numpy as np
        import pycuda.driver as drv
        drv.init()
        context = drv.Device(0).retain_primary_context()
        context.push()
        host = np.zeros(1000)
        gone = weakref.ref(host)
        drv.memcpy_htod_async(drv.mem_alloc(8000), host)
        del host
        context.detach()
        with drv.Device(0).retain_primary_context() as again:
            print(again is context, gone() is None)
            again.synchronize()
            print(gone() is None, drv._driver._live_objects()["DeviceAllocation"])
        """,
        check=True,
    )
    assert done.stdout == "False False\nTrue 0\n"
