"""Events: recording, waiting, times."""

import threading
import time

import pytest

import pycuda.driver as drv


def test_record_and_synchronize_return_the_event():
    event = drv.Event()
    assert event.record() is event and event.synchronize() is event and event.query() is True
    assert event.handle != 0


def test_an_event_that_was_never_recorded_is_done():
    assert drv.Event().query() is True


def test_in_a_stream():
    stream, event = drv.Stream(), drv.Event()
    event.record(stream)
    event.record(stream=stream)
    stream.synchronize()
    assert event.query() is True


def test_times():
    """In milliseconds: at least most of a pause of 50, at most the host's time with some tolerance."""
    start, end = drv.Event(), drv.Event()
    begin = time.perf_counter()
    start.record().synchronize()
    time.sleep(0.05)
    end.record().synchronize()
    wall = (time.perf_counter() - begin) * 1000
    assert 30 < start.time_till(end) <= wall * 1.5 + 5
    assert end.time_since(start) == start.time_till(end)
    assert end.time_till(start) == -start.time_till(end)


def test_times_of_work():
    memory = drv.mem_alloc(1 << 24)
    start, end = drv.Event(), drv.Event()
    start.record()
    for _ in range(10):
        drv.memset_d8_async(memory, 1, 1 << 24)
    end.record().synchronize()
    assert start.time_till(end) > 0
    drv.Context.synchronize()


def test_no_times_without_timing():
    start, end = drv.Event(drv.event_flags.DISABLE_TIMING), drv.Event(flags=0)
    start.record().synchronize()
    end.record().synchronize()
    with pytest.raises(drv.LogicError, match=r"invalid resource handle - .* made with .*DISABLE_TIMING"):
        end.time_since(start)


def test_no_times_of_events_that_were_not_recorded():
    with pytest.raises(drv.LogicError, match="cuEventElapsedTime failed.* never recorded"):
        drv.Event().time_since(drv.Event())
    with pytest.raises(drv.LogicError, match="cuEventElapsedTime failed.* never recorded"):
        drv.Event().record().synchronize().time_till(drv.Event())


def test_no_times_of_events_that_are_not_done():
    stream, gate, start, end = drv.Stream(), threading.Event(), drv.Event(), drv.Event()
    start.record(stream)
    stream.launch_host_func(gate.wait, 20)
    end.record(stream)
    with pytest.raises(drv.RuntimeError, match=r"not finished: call synchronize\(\)"):
        start.time_till(end)
    gate.set()
    assert start.time_till(end.synchronize()) > 0


def test_wrong_arguments():
    with pytest.raises(TypeError, match="event must be an Event"):
        drv.Event().time_since(1.0)
    with pytest.raises(drv.LogicError, match="cuEventCreate failed: invalid argument"):
        drv.Event(1 << 20)


def test_an_event_of_one_context_is_not_recorded_in_another():
    drv.init()
    event = drv.Event()
    context = drv.Device(0).make_context()
    with pytest.raises(drv.LogicError, match="cuEventRecord failed"):
        event.record()
    context.detach()
