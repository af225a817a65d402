"""Stream.launch_host_func: Python functions run in the stream's order, without deadlocks on the GIL."""

import gc
import sys
import threading

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry nothing(.param .u64 a) { ret; }
.visible .entry fault(.param .u64 a)
{
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 64;
    st.global.u32 [%rd1], 1;
    ret;
}
"""
ONE = dict(block=(1, 1, 1))


@pytest.fixture
def stream():
    return drv.Stream()


def test_order(stream):
    """The function sees the results of earlier work and runs in another thread; later work sees its
    results."""
    n = 100
    memory = drv.to_device(np.arange(n, dtype=np.int32))
    host = drv.pagelocked_zeros(n, np.int32)
    seen = []

    def work(factor, add):
        seen.append((host.tolist(), threading.get_ident() != main))
        host[:] = factor * host + add

    main = threading.get_ident()
    drv.memcpy_dtoh_async(host, memory, stream)
    assert stream.launch_host_func(work, 2, 1) is None
    drv.memcpy_htod_async(memory, host, stream)
    stream.synchronize()
    assert seen[0][0] == list(range(n)) and len(seen) == 1
    assert (drv.from_device(memory, n, np.int32) == 2 * np.arange(n) + 1).all()


def test_functions_run_in_the_order_of_their_launches(stream):
    seen = []
    for number in range(200):
        stream.launch_host_func(seen.append, number)
    stream.synchronize()
    assert seen == list(range(200))


def test_add_callback_is_the_same(stream):
    seen = []
    stream.add_callback(seen.append, 5)
    stream.synchronize()
    assert seen == [5]


@pytest.mark.parametrize("wait", ["stream", "context", "event", "copy", "free"])
def test_no_deadlock_while_waiting(stream, wait):
    """The function needs the GIL while this thread waits for it in a driver call, which must release the
    GIL."""
    entered = threading.Event()
    memory, host, event = drv.mem_alloc(16), np.zeros(4, np.int32), drv.Event()
    drv.memset_d32_async(memory, 3, 4, stream)
    stream.launch_host_func(entered.wait, 5)
    event.record(stream)
    threading.Timer(0.1, entered.set).start()
    if wait == "stream":
        stream.synchronize()
    elif wait == "context":
        drv.Context.synchronize()
    elif wait == "event":
        event.synchronize()
    elif wait == "copy":
        drv.memcpy_dtoh(host, memory)
        assert (host == 3).all()
    else:
        memory.free()
    drv.Context.synchronize()
    assert entered.is_set()


def test_no_deadlock_in_a_full_queue(stream):
    """More launches, copies and records than a stream's queue takes, after a function that needs the GIL."""
    nothing = drv.module_from_buffer(PTX).get_function("nothing")
    go, ran = threading.Event(), []
    memory, host = drv.mem_alloc(16), drv.pagelocked_zeros(4, np.int32)
    timer = threading.Timer(0.3, go.set)
    timer.start()
    stream.launch_host_func(lambda: ran.append(go.wait(20)))
    for number in range(3000):
        nothing(memory, stream=stream, **ONE)
        if number % 2:
            drv.memcpy_dtoh_async(host, memory, stream)
        if number % 100 == 0:
            drv.Event().record(stream)
    stream.synchronize()
    assert ran == [True]
    timer.join()


def test_a_garbage_collection_in_the_function(stream):
    """A host function may make no driver call; an array that the collector finds there is released by another
    thread."""
    was = gc.get_threshold()
    gc.set_threshold(1)
    try:
        loop = [gpuarray.zeros(10, np.int32)]
        loop.append(loop)
        del loop
        seen = []
        stream.launch_host_func(lambda: seen.append([[] for _ in range(1000)] and gc.isenabled()))
        stream.synchronize()
    finally:
        gc.set_threshold(*was)
    assert seen == [True] and gc.isenabled()


@pytest.mark.parametrize(
    ("make", "drop"),
    [
        (lambda: drv.mem_alloc(1 << 20), list.clear),
        (lambda: drv.mem_alloc(1 << 20), lambda memory: memory[0].free()),
        (lambda: gpuarray.zeros(1 << 18, np.float32, drv.mem_alloc), list.clear),
        (lambda: drv.managed_zeros(1 << 18, np.float32), list.clear),
    ],
    ids=["allocation", "free", "array", "managed"],
)
def test_memory_released_in_the_function_is_freed_after_it(stream, monkeypatch, make, drop):
    """No driver call is made in the host function; the memory is freed when the stream has been
    synchronized."""
    reports = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reports.append(report.exc_value))
    memory = [make()]
    address = getattr(memory[0], "gpudata", None) or getattr(memory[0], "base", None) or memory[0]
    address = int(address)
    drv.mem_get_address_range(address)
    stream.launch_host_func(drop, memory)
    stream.synchronize()
    assert not reports
    with pytest.raises(drv.LogicError, match="cuMemGetAddressRange"):
        drv.mem_get_address_range(address)


def test_an_exception_is_reported(run_python):
    done = run_python(
        """
        import pycuda.driver as drv
        stream = drv.Stream()
        def bad():
            raise KeyError("from the function")
        stream.launch_host_func(bad)
        stream.launch_host_func(print, "on")
        stream.synchronize()
        print("done")
        """,
        check=True,
    )
    assert done.stdout == "on\ndone\n" and "KeyError: 'from the function'" in done.stderr


def test_driver_calls_in_the_function_are_refused(stream):
    """By pycuda, since NVIDIA's driver allows some of them."""
    errors = []

    def work():
        try:
            drv.mem_get_info()
        except drv.Error as problem:
            errors.append(problem.name)
        else:
            errors.append("done")

    stream.launch_host_func(work)
    stream.synchronize()
    assert errors == ["CUDA_ERROR_NOT_PERMITTED"]


def test_functions_that_are_queued_at_exit_run(run_python):
    done = run_python(
        """
        import time
        import pycuda.driver as drv
        stream = drv.Stream()
        stream.launch_host_func(time.sleep, 0.2)
        stream.launch_host_func(print, "ran")
        """,
        check=True,
    )
    assert done.stdout == "ran\n" and done.stderr == ""


def test_a_function_after_a_fault_is_not_called(run_python):
    """Neither synchronize() nor the end of the program waits for it."""
    done = run_python(
        f"""
        import time
        import numpy as np
        import pycuda.driver as drv
        stream = drv.Stream()
        fault = drv.module_from_buffer({PTX!r}).get_function("fault")
        stream.launch_host_func(time.sleep, 0.3)
        fault(np.intp(0), block=(1, 1, 1), stream=stream)
        stream.launch_host_func(print, "called")
        try:
            stream.synchronize()
        except drv.LaunchError as error:
            print(error.name)
        """,
        check=True,
    )
    assert done.stdout == "CUDA_ERROR_ILLEGAL_ADDRESS\n" and done.stderr == ""


def test_arguments_are_released_after_the_call(stream):
    class Thing:
        pass

    import weakref

    thing = Thing()
    alive = weakref.ref(thing)
    stream.launch_host_func(lambda thing: None, thing)
    del thing
    stream.synchronize()
    assert alive() is None


@pytest.mark.parametrize("arguments", [(), (5,), (None, 1)])
def test_missing_or_wrong_functions(stream, arguments):
    with pytest.raises(TypeError, match="takes a function"):
        stream.launch_host_func(*arguments)
