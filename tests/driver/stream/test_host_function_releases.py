"""Deferred releases, for objects of every type: one whose last reference is dropped in a host function, which
may make no driver call, or during a capture, is released right after it.
"""

import gc
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from free_threading import FREE_THREADED

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda import tools as pools

PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry nothing(.param .u64 a) { ret; }
"""


def make_timed_call():
    nothing = drv.module_from_buffer(PTX).get_function("nothing").prepare("P")
    return nothing.prepared_timed_call((1, 1), (1, 1, 1), 0)


def make_linker():
    linker = drv.Linker()
    linker.add_data(PTX, drv.jit_input_type.PTX)
    return linker


def make_foreign_use():
    """Pooled memory that three other streams have used: its release must join them by events."""
    memory = pools.DeviceMemoryPool().allocate(1 << 12)
    nothing = drv.module_from_buffer(PTX).get_function("nothing")
    for _ in range(3):
        nothing(memory, block=(1, 1, 1), stream=drv.Stream(drv.stream_flags.NON_BLOCKING))
    return memory


def make_image():
    return drv.np_to_array(np.zeros((4, 4), np.float32), "C", allowSurfaceBind=True)


def make_context():
    context = drv.Device(0).make_context()
    drv.Context.pop()
    return context


def make_in_another_context():
    context = drv.Device(0).make_context()
    memory = drv.mem_alloc(1 << 16)
    drv.Context.pop()
    return [memory, context]


def make_address_range():
    unit = drv.mem_get_allocation_granularity()
    space = drv.AddressRange(unit)
    space.map(0, drv.PhysicalMemory(unit))
    return space


# {name: function that makes an object, or a list of several}
MAKERS = {
    "memory": lambda: drv.mem_alloc(1 << 20),
    "pitched": lambda: drv.mem_alloc_pitch(100, 100, 4)[0],
    "gpuarray": lambda: gpuarray.zeros(1 << 18, np.float32),
    "managed": lambda: drv.managed_zeros(1 << 18, np.float32),
    "pagelocked": lambda: drv.pagelocked_zeros(1 << 18, np.float32),
    "registered": lambda: drv.register_host_memory(drv.aligned_zeros(1 << 16, np.int8)),
    "pooled": lambda: pools.DeviceMemoryPool().allocate(1 << 20),
    "pooled, used on streams": make_foreign_use,
    "pooled host": lambda: pools.PageLockedMemoryPool().allocate(1 << 18, np.int8),
    "pool": lambda: pools.DeviceMemoryPool(),
    "image": make_image,
    "mipmapped array": lambda: drv.MipmappedArray(make_image().get_descriptor()),
    "level": lambda: drv.MipmappedArray(make_image().get_descriptor()).get_level(1),
    "texture": lambda: drv.TextureObject(make_image()),
    "surface": lambda: drv.SurfaceObject(make_image()),
    "module": lambda: drv.module_from_buffer(PTX),
    "function": lambda: drv.module_from_buffer(PTX).get_function("nothing"),
    "timed call": make_timed_call,
    "linker": make_linker,
    "stream": lambda: drv.Stream(),
    "event": lambda: drv.Event(),
    "graph": lambda: drv.Graph(),
    "executable graph": lambda: drv.Graph().instantiate(),
    "physical memory": lambda: drv.PhysicalMemory(drv.mem_get_allocation_granularity()),
    "address range": make_address_range,
    "context": make_context,
    "green context": lambda: drv.GreenContext(drv.Device(0).get_resource()),
    "green stream": lambda: drv.GreenContext(drv.Device(0).get_resource()).create_stream(),
    "memory in another context": make_in_another_context,
}
every_kind = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@pytest.fixture
def stream():
    return drv.Stream()


@pytest.fixture
def reports(monkeypatch):
    """The list of errors that are reported since they cannot be raised; it must be empty after the test."""
    errors = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: errors.append(report.exc_value))
    yield errors
    assert not errors


def live():
    """{type: number of live objects}, without the types that have none."""
    return {name: count for name, count in drv._live_objects().items() if count}


@every_kind
def test_the_last_reference_is_dropped_in_a_host_function(stream, reports, make):
    gc.collect()
    before = live()
    box = [make()]
    assert live() != before or isinstance(box[0], drv.Linker) or callable(box[0])
    stream.launch_host_func(box.clear)
    stream.synchronize()
    assert live() == before


@every_kind
def test_the_last_reference_is_dropped_in_a_host_node_of_a_graph(stream, reports, make):
    box, graph = [], drv.Graph()
    graph.add_host(box.clear)
    ready = graph.instantiate()
    gc.collect()
    before = live()
    box.append(make())
    ready.launch(stream)
    stream.synchronize()
    assert live() == before


@every_kind
def test_the_collector_finds_the_object_in_a_host_function(stream, reports, make):
    gc.collect()
    before = live()
    loop = [make()]
    loop.append(loop)
    del loop
    found = []
    stream.launch_host_func(lambda: found.append(gc.collect()))
    stream.synchronize()
    assert found[0] >= 1 and live() == before


@pytest.mark.driver(12030, "captures into a graph")
@pytest.mark.parametrize("mode", ["relaxed", "thread_local", "global"])
@every_kind
def test_releases_during_a_capture_wait_for_its_end(stream, reports, make, mode):
    """In every mode, also of an object in a reference cycle: no release ends the capture."""
    gc.collect()
    before = live()
    box, loop = [make()], [make()]
    loop.append(loop)
    held = live()
    with stream.capture(mode=mode) as graph:
        box.clear()
        del loop
        gc.collect()
        assert all(live()[name] >= count for name, count in held.items())
    del graph
    assert live() == before


FREES = {
    **dict.fromkeys(("memory", "pooled", "image", "texture", "surface"), lambda thing: thing.free()),
    **dict.fromkeys(("physical memory", "address range"), lambda thing: thing.free()),
    **dict.fromkeys(("managed", "pagelocked", "pooled host"), lambda array: array.base.free()),
    "registered": lambda array: array.base.unregister(),
}


@pytest.mark.parametrize("name", FREES)
def test_an_object_is_freed_in_a_host_function(stream, reports, name):
    """By its method; it is released once, right after the function, although the reference lives on."""
    thing = MAKERS[name]()
    held = live()
    stream.launch_host_func(FREES[name], thing)
    stream.synchronize()
    assert sum(live().values()) == sum(held.values()) - 1


def test_deferred_releases_of_pagelocked_memory_do_not_accumulate(stream, reports):
    """50 times 4 MiB: the process grows by less than 60 MiB."""

    def resident():
        """The resident memory of the process in MiB."""
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) >> 10

    before = resident()
    for _ in range(50):
        box = [drv.pagelocked_zeros(1 << 22, np.int8)]
        stream.launch_host_func(box.clear)
    stream.synchronize()
    assert resident() - before < 60


def test_without_a_wait_the_main_thread_makes_the_release(stream, reports):
    """In a loop that makes no call of pycuda's."""
    base = drv.aligned_zeros(1 << 16, np.int8)
    reference = weakref.ref(base.base)
    box = [drv.register_host_memory(base)]
    del base
    stream.launch_host_func(box.clear)
    limit = time.monotonic() + 20
    while reference() is not None and time.monotonic() < limit:
        time.sleep(0.001)
    assert reference() is None


def test_another_thread_makes_the_release_while_the_main_one_waits(stream, reports):
    left = []

    def work():
        drv.mem_alloc(16).free()  # makes the default context, which is not counted
        before = live()
        box, done = [drv.mem_alloc(1 << 16)], threading.Event()
        stream.launch_host_func(box.clear)
        stream.launch_host_func(done.set)
        done.wait()
        left.append(live() == before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert left == [True]


def test_thread_local_objects_of_the_drivers_thread_are_released(stream, reports):
    """They are dropped when the driver's thread detaches from the interpreter, after the function's end."""
    before, local = live(), threading.local()

    def work():
        local.memory = thing.pop()
        local.more = threading.local()

    for make in MAKERS["memory"], MAKERS["stream"], MAKERS["texture"]:
        thing = [make()]
        stream.launch_host_func(work)
        stream.synchronize()
    assert live() == before


def test_the_finalizer_of_a_subclass_runs_once(stream, reports):
    died = []

    class Mine(drv.Stream):
        def __del__(self):
            died.append(self.handle)

    box = [Mine()]
    handle = box[0].handle
    stream.launch_host_func(box.clear)
    stream.synchronize()
    assert died == [handle]


def test_weak_references_are_cleared_at_once(stream, reports):
    """Not only when the deferred release is made. A free-threaded CPython ends an object in the thread that
    made it, which waits here.
    """
    box, seen = [drv.Event()], []
    alive = weakref.ref(box[0])

    def work():
        box.clear()
        seen.append(alive() is None)

    stream.launch_host_func(work)
    stream.synchronize()
    assert alive() is None and (FREE_THREADED or seen == [True])


def test_the_collector_stays_on_when_functions_overlap(stream):
    """Two functions that run at the same time, where the driver does that; others run them one after
    another."""
    other, seen, go = drv.Stream(drv.stream_flags.NON_BLOCKING), [], threading.Event()
    stream.launch_host_func(lambda: (go.wait(1), seen.append(gc.isenabled())))
    other.launch_host_func(lambda: (seen.append(gc.isenabled()), go.set()))
    other.synchronize()
    stream.synchronize()
    assert seen == [True, True] and gc.isenabled()


@pytest.mark.parametrize(
    "call",
    [
        lambda: drv.mem_alloc(16),
        lambda: drv.mem_get_info(),
        lambda: drv.Stream(),
        lambda: drv.Event(),
        lambda: drv.pagelocked_zeros(4, np.int8),
        lambda: drv.module_from_buffer(PTX),
        lambda: drv.Linker(),
        lambda: pools.DeviceMemoryPool(),
        lambda: drv.Context.synchronize(),
        lambda: drv.Context.get_current(),
        lambda: drv.Context.get_current().detach(),
        lambda: drv.Device(0).make_context(),
        lambda: gpuarray.zeros(4, np.float32),
        lambda: OBJECTS["stream"].synchronize(),
        lambda: OBJECTS["stream"].is_done(),
        lambda: OBJECTS["stream"].launch_host_func(print),
        lambda: OBJECTS["pool"].allocate(1 << 10),
        lambda: OBJECTS["pool"].free_held(),
        lambda: OBJECTS["context"].detach(),
        lambda: OBJECTS["context"].push(),
        lambda: OBJECTS["function"](np.intp(0), block=(1, 1, 1)),
        lambda: OBJECTS["timed"](),
    ],
)
def test_driver_calls_are_refused_with_the_reason(reports, call):
    """By pycuda on every driver, since NVIDIA's allows some of them. OBJECTS: what the calls use."""
    stream, errors = drv.Stream(), []
    pool = pools.DeviceMemoryPool()
    pool.allocate(1 << 10).free()
    function = drv.module_from_buffer(PTX).get_function("nothing")
    OBJECTS.update(
        stream=stream,
        pool=pool,
        context=drv.Context.get_current(),
        function=function,
        timed=make_timed_call(),
    )
    before = live()

    def work():
        try:
            call()
        except drv.Error as problem:
            errors.append(problem)

    stream.launch_host_func(work)
    stream.synchronize()
    OBJECTS.clear()
    assert [problem.name for problem in errors] == ["CUDA_ERROR_NOT_PERMITTED"]
    assert "host function" in str(errors[0]) and live() == before
    del function, pool, stream
    errors.clear()


OBJECTS = {}
