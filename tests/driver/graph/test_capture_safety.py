"""Releasing, trimming, freeing and garbage collection do not invalidate any capture, in any mode, whichever
library began it."""

import contextvars
import ctypes
import gc
import sys
import threading
import time

import numpy as np
import pytest
from test_host_function_releases import MAKERS

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda import tools as pools

pytestmark = pytest.mark.driver(12030, "captures into a graph")

MODES = drv.stream_capture_mode
SIZE = 1 << 16
POOLS = {
    "device": pools.DeviceMemoryPool,
    "ordered": pools.StreamOrderedMemoryPool,
    "managed": pools.ManagedMemoryPool,
    "page-locked": pools.PageLockedMemoryPool,
}


@pytest.fixture(scope="module")
def context():
    context = drv.Device(0).retain_primary_context()
    context.push()
    yield context
    drv.Context.pop()


@pytest.fixture
def reports(monkeypatch):
    """The list of the errors that are reported since they cannot be raised."""
    events = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: events.append(str(report.exc_value)))
    return events


class Ours:
    """A capture by Stream.capture; error: the message with which it ended, or None."""

    def __init__(self, stream, mode, library):
        self.capture, self.error = stream.capture(mode=mode), None

    def __enter__(self):
        self.capture.__enter__()
        return self

    def __exit__(self, *exception):
        try:
            self.capture.__exit__(*exception)
        except drv.LogicError as error:
            self.error = str(error)


class Theirs:
    """A capture by direct calls of the driver; error: the code with which it ended, or None."""

    def __init__(self, stream, mode, library):
        self.stream, self.handle = stream, ctypes.c_void_p(stream.handle)
        self.mode, self.error, self.library = int(mode), None, ctypes.CDLL(library)

    def __enter__(self):
        assert self.library.cuStreamBeginCapture_v2(self.handle, self.mode) == 0
        return self

    def __exit__(self, *exception):
        graph = ctypes.c_void_p()
        self.error = self.library.cuStreamEndCapture(self.handle, ctypes.byref(graph)) or None
        if graph:
            self.library.cuGraphDestroy(graph)


def in_thread(context, work):
    """Runs work() in a new thread, with the context, and the default stream as the current one; returns the
    exception that it raised, or None.
    """
    raised = []

    def run():
        context.push()
        try:
            work()
        except BaseException as error:
            raised.append(error)
        finally:
            drv.Context.pop()

    thread = threading.Thread(target=contextvars.Context().run, args=(run,))
    thread.start()
    thread.join(60)
    return raised[0] if raised else None


def get(pool, stream=None):
    """A block of SIZE bytes of the pool."""
    if isinstance(pool, pools.PageLockedMemoryPool):
        return pool.allocate(SIZE, np.int8)
    return pool.allocate(SIZE, stream)


def used_pool(make):
    """[pool, blocks]: a pool with held blocks, and the block that is in use."""
    pool = make()
    blocks = [get(pool) for _ in range(3)]
    del blocks[:2]
    return [pool, blocks]


def in_a_cycle(make):
    """A list with the only outer reference to a new object in a reference cycle."""
    ring = [make()]
    ring.append(ring)
    return [ring]


def exported_memory():
    """[array]: other libraries may use its memory in any stream, so that it is freed after all work."""
    array = gpuarray.zeros(SIZE, np.int8, allocator=pools.StreamOrderedMemoryPool().allocate)
    assert array.__cuda_array_interface__["data"]
    return [array]


def free(held):
    """Calls free(), or unregister(), of the memory held[0]."""
    memory = getattr(held[0], "base", held[0])
    (memory.unregister if hasattr(memory, "unregister") else memory.free)()


def actions(mode):
    """(name, make, act): make() is called before the capture and returns a list; act(list), which releases or
    trims what is in it, is called during the capture. Contexts, which a GPU takes long to make, are released
    during captures of the strictest mode."""
    for kind, make in POOLS.items():
        for method in ("free_held", "trim", "stop_holding"):
            yield (
                f"{kind} pool {method}",
                lambda m=make: used_pool(m),
                lambda held, n=method: getattr(held[0], n)(),
            )
        yield f"{kind} pool dropped", lambda m=make: used_pool(m), list.clear
    for name, make in MAKERS.items():
        if "context" in name and mode != MODES.GLOBAL:
            continue
        yield f"{name} dropped", lambda m=make: [m()], list.clear
        if name != "registered":
            yield f"{name} collected", lambda m=make: in_a_cycle(m), lambda held: (held.clear(), gc.collect())
    device = ("memory", "pooled", "address range", "physical memory")
    for name in (*device, "pagelocked", "pooled host", "registered"):
        yield f"{name} freed", lambda m=MAKERS[name]: [m()], free
    yield "exported memory dropped", exported_memory, list.clear
    yield "stream-ordered memory of the default stream", lambda: [get(POOLS["ordered"]())], list.clear


@pytest.mark.parametrize("flags", [0, 1], ids=["blocking", "non-blocking"])
@pytest.mark.parametrize("mode", [MODES.GLOBAL, MODES.THREAD_LOCAL, MODES.RELAXED])
@pytest.mark.parametrize("capturing", [Ours, Theirs])
def test_releases_of_another_thread_end_no_capture(context, driver_library, reports, capturing, mode, flags):
    """ended: the actions that ended the capture, raised or reported an error."""
    ended = {}
    for name, make, act in actions(mode):
        held = make()
        gc.collect()
        with capturing(drv.Stream(flags), mode, driver_library) as capture:
            raised = in_thread(context, lambda: act(held))  # noqa: B023
        if capture.error or raised or reports:
            ended[name] = capture.error, raised, reports[:]
        reports.clear()
    assert not ended


@pytest.mark.parametrize("mode", [MODES.GLOBAL, MODES.THREAD_LOCAL, MODES.RELAXED])
@pytest.mark.parametrize("capturing", [Ours, Theirs])
def test_releases_of_the_capturing_thread_end_no_capture(context, driver_library, reports, capturing, mode):
    ended = {}
    for name, make, act in actions(mode):
        held = make()
        gc.collect()
        with capturing(drv.Stream(1), mode, driver_library) as capture:
            act(held)
        if capture.error or reports:
            ended[name] = capture.error, reports[:]
        reports.clear()
    assert not ended


def test_memory_is_unmapped_during_a_capture(context):
    space = MAKERS["address range"]()
    with drv.Stream(1).capture(mode="relaxed"):
        assert in_thread(context, space.unmap) is None
    assert not space.mappings


def test_a_launch_that_waits_ends_no_capture(context):
    """A launch of another thread that waits: for the copy of its InOut argument, and to measure its time."""
    memory = np.arange(4, dtype=np.int32)
    nothing = MAKERS["function"]()
    with drv.Stream(1).capture(mode="thread_local"):
        failed = in_thread(context, lambda: nothing(drv.InOut(memory), block=(1, 1, 1)))
        assert failed is None
        failed = in_thread(context, lambda: nothing(np.intp(0), block=(1, 1, 1), time_kernel=True))
        assert failed is None


@pytest.mark.parametrize("where", ["default", "stream", "a destroyed stream"])
def test_a_trim_during_a_capture_waits_for_work_and_frees(context, where):
    """where: the stream that the freed memory belongs to, which may still have work queued."""
    pool, stream = pools.StreamOrderedMemoryPool(), drv.Stream(1) if where != "default" else None
    memory = pool.allocate(1 << 22, stream)
    if stream:
        stream.launch_host_func(time.sleep, 0.05)
    del memory
    if where == "a destroyed stream":
        del stream
    with drv.Stream(1).capture(mode="relaxed"):
        assert in_thread(context, pool.trim) is None
        assert pool.managed_bytes == 0


def test_memory_freed_on_a_captured_stream_is_trimmed_after_the_capture(context, driver_library):
    pool, stream = pools.StreamOrderedMemoryPool(), drv.Stream(1)
    memory = pool.allocate(1 << 22, stream)
    stream.synchronize()
    del memory
    with Theirs(stream, MODES.RELAXED, driver_library) as capture:
        pool.trim()
    assert capture.error is None
    pool.trim()
    assert pool.managed_bytes == 0


def test_the_end_of_a_stream_leaves_no_objects_in_a_pool(context):
    """Streams and their memory are released without a trim of the pool."""
    pool = pools.StreamOrderedMemoryPool()
    before = drv._driver._live_objects()
    for _ in range(50):
        stream = drv.Stream(1)
        memory = pool.allocate(1 << 12, stream)
        del memory, stream
    assert drv._driver._live_objects() == before
    pool.trim()
    assert pool.managed_bytes == 0


# ---- Calls that end a capture are named in its error


def copy_on_the_default_stream(memory):
    return lambda: drv.memcpy_htod(memory, np.zeros(4, np.int8))


@pytest.mark.parametrize("where", ["at the end", "in the block", "in a launch"])
def test_work_of_another_thread_on_the_default_stream_is_named(context, where):
    """where: the place in the capturing thread that notices it and raises."""
    memory, stream, nothing = drv.mem_alloc(64), drv.Stream(0), MAKERS["function"]()
    match = "(?s)error during capture.*cuMemcpyHtoD in another thread invalidated the capture.*NON_BLOCKING"
    with pytest.raises(drv.LogicError, match=match), stream.capture():
        raised = in_thread(context, copy_on_the_default_stream(memory))
        assert "cuMemcpyHtoD" in str(raised)
        if where == "in the block":
            drv.memset_d8_async(memory, 0, 4, stream)
        if where == "in a launch":
            nothing(memory, block=(1, 1, 1), stream=stream)


def test_the_first_call_that_ended_a_capture_is_named(context):
    """Later calls, which fail because the capture has ended, are not named."""
    memory, stream = drv.mem_alloc(64), drv.Stream(1)
    with (
        pytest.raises(drv.LogicError, match="cuStreamEndCapture.*cuCtxSynchronize in another thread"),
        stream.capture(),
    ):
        assert "cuCtxSynchronize" in str(in_thread(context, drv.Context.synchronize))
        for _ in range(2):
            with pytest.raises(drv.LogicError, match="cuCtxSynchronize in another thread"):
                drv.memset_d8_async(memory, 0, 4, stream)


def test_a_call_outside_of_pycuda_that_ended_a_capture(context, driver_library):
    memory, library = drv.mem_alloc(64), ctypes.CDLL(driver_library)
    match = "outside of pycuda invalidated the capture.*NON_BLOCKING"
    with pytest.raises(drv.LogicError, match=match), drv.Stream(0).capture():
        assert library.cuMemsetD8_v2(ctypes.c_void_p(int(memory)), 0, ctypes.c_size_t(4)) != 0
