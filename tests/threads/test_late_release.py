"""An object of any type whose last reference a Python function in a stream drops is released soon after, and
nothing is printed.
"""

import pytest

PROGRAM = '''
import faulthandler, gc, resource, sys, threading, time

import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from pycuda.tools import DeviceMemoryPool, PageLockedMemoryPool

faulthandler.dump_traceback_later(90, exit=True)
drv.init()
gc.disable()
context = drv.Device(0).make_context()
stream = drv.Stream()
core = drv._driver
PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry nothing(.param .u64 a) { ret; }
"""
SIZE = 1 << 20
descr = drv.ArrayDescriptor()
descr.width, descr.num_channels, descr.format = 64, 1, drv.array_format.FLOAT
pool, host_pool = DeviceMemoryPool(), PageLockedMemoryPool()
ordered_pool = drv.StreamOrderedMemoryPool()
base = drv.mem_alloc(SIZE)


def image():
    shape = drv.ArrayDescriptor3D()
    shape.width, shape.height, shape.num_channels, shape.format = 256, 256, 1, drv.array_format.FLOAT
    shape.flags = drv.array3d_flags.SURFACE_LDST
    return drv.Array(shape)


def referenced():
    """A module whose texture reference is bound to memory that has no other reference."""
    module = SourceModule("texture<float, 1> tex; __global__ void k(float *o) { o[0] = tex1Dfetch(tex, 0); }")
    module.get_texref("tex").set_address(drv.mem_alloc(SIZE), 256)
    return module


def owned_context():
    made = drv.Device(0).make_context()
    drv.Context.pop()
    return made


def registered():
    return drv.register_host_memory(drv.aligned_zeros(SIZE, np.int8))


def function():
    return drv.module_from_buffer(PTX).get_function("nothing")


def ordered():
    return drv.StreamOrderedMemoryPool().allocate(SIZE)


def retained():
    return drv.Device(0).retain_primary_context()


def linked():
    linker = drv.Linker()
    linker.add_data(PTX, drv.jit_input_type.PTX)
    return linker


def graveyard():
    """Objects of another context, which is current nowhere."""
    made = drv.Device(0).make_context()
    things = [drv.mem_alloc(SIZE), drv.Stream(), drv.Event(), drv.pagelocked_zeros(SIZE, np.int8)]
    drv.Context.pop()
    return [things, made]


# kind: (how it is made, the driver's functions that make and that release it)
ALLOC = ("cuMemAlloc", "cuMemFree")
GREEN = ("cuGreenCtxCreate", "cuGreenCtxDestroy")
MIPMAP = ("cuMipmappedArrayCreate", "cuMipmappedArrayDestroy")
MAKE = {
    "memory": (lambda: drv.mem_alloc(SIZE), *ALLOC),
    "managed": (lambda: drv.managed_zeros(SIZE, np.int8), "cuMemAllocManaged", "cuMemFree"),
    "page-locked": (lambda: drv.pagelocked_zeros(SIZE, np.int8), "cuMemHostAlloc", "cuMemFreeHost"),
    "registered": (registered, "cuMemHostRegister", "cuMemHostUnregister"),
    "array": (image, "cuArray3DCreate", "cuArrayDestroy"),
    "mipmapped array": (lambda: drv.MipmappedArray(descr), *MIPMAP),
    "level": (lambda: drv.MipmappedArray(descr).get_level(0), *MIPMAP),
    "texture": (lambda: drv.TextureObject(base, descr), "cuTexObjectCreate", "cuTexObjectDestroy"),
    "surface": (lambda: drv.SurfaceObject(image()), "cuSurfObjectCreate", "cuSurfObjectDestroy"),
    "surface's array": (lambda: drv.SurfaceObject(image()), "cuArray3DCreate", "cuArrayDestroy"),
    "reference": (referenced, *ALLOC),
    "module": (lambda: drv.module_from_buffer(PTX), "cuModuleLoadDataEx", "cuModuleUnload"),
    "function": (function, "cuModuleLoadDataEx", "cuModuleUnload"),
    "linker": (linked, "cuLinkCreate", "cuLinkDestroy"),
    "stream": (drv.Stream, "cuStreamCreate", "cuStreamDestroy"),
    "event": (drv.Event, "cuEventCreate", "cuEventDestroy"),
    "pooled": (lambda: pool.allocate(SIZE), None, None),
    "pooled host": (lambda: host_pool.allocate(SIZE, np.int8), None, None),
    "pool": (lambda: DeviceMemoryPool().allocate(SIZE), *ALLOC),
    "host pool": (lambda: PageLockedMemoryPool().allocate(SIZE, np.int8), "cuMemHostAlloc", "cuMemFreeHost"),
    "managed pool": (lambda: drv.ManagedMemoryPool().allocate(SIZE), "cuMemAllocManaged", "cuMemFree"),
    "driver's pool": (ordered, "cuMemPoolCreate", "cuMemPoolDestroy"),
    "of a driver's pool": (lambda: ordered_pool.allocate(SIZE), "cuMemAllocFromPoolAsync", "cuMemFreeAsync"),
    "external pool": (lambda: drv.ExternalMemoryPool(drv.mem_alloc).allocate(SIZE), *ALLOC),
    "gpuarray": (lambda: gpuarray.zeros(SIZE, np.int8, drv.mem_alloc), *ALLOC),
    "pooled gpuarray": (lambda: gpuarray.zeros(SIZE, np.int8), None, None),
    "context": (owned_context, "cuCtxCreate", "cuCtxDestroy"),
    "another context's": (graveyard, "cuCtxCreate", "cuCtxDestroy"),
    "green context": (lambda: drv.GreenContext(drv.Device(0).get_resource()), *GREEN),
    "green stream": (lambda: drv.GreenContext(drv.Device(0).get_resource()).create_stream(), *GREEN),
    "primary context": (retained, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease"),
    "argument": (lambda: drv.InOut(np.zeros(SIZE, np.int8)), None, None),
}


def live():
    return {name: count for name, count in drv._live_objects().items() if count}


def check(kind):
    """Drops five objects of this kind; returns how many stay allocated, whether the live objects are those
    from before, and how many bytes stay in use in pools."""
    make, made_by, released_by = MAKE[kind]

    def outstanding():
        return core._fault_count(made_by) - core._fault_count(released_by) if made_by else 0

    made = make()  # makes what only the first call makes
    if kind == "another context's":
        made[1].detach()
    del made
    drv.Context.synchronize()
    before, alive, active = outstanding(), live(), pool.active_bytes + host_pool.active_bytes
    for _ in range(5):
        box = [make()]
        stream.launch_host_func(box.clear)
        del box
    if MEANWHILE == "wait":
        stream.synchronize()
    end = time.monotonic() + 5
    while (outstanding() > before or live() != alive) and time.monotonic() < end:
        if MEANWHILE == "work on":  # without a wait for the stream: other calls find that it is done
            drv.memset_d8(base, 0, 1)
            drv.memcpy_htod_async(base, np.zeros(1, np.int8), stream)
        time.sleep(0.01)
    return outstanding() - before, live() == alive, pool.active_bytes + host_pool.active_bytes - active


for kind in KINDS:
    print(kind, *check(kind), sep=", ", flush=True)
'''

# A process checks the kinds of a line. On a busy GPU a context takes seconds.
KINDS = [
    ("mipmapped array", "level", "green context", "green stream"),
    ("memory", "managed", "page-locked", "registered"),
    ("array", "texture", "surface", "surface's array", "reference", "module", "function", "linker"),
    ("stream", "event", "pooled", "pooled host", "pool", "host pool", "managed pool", "driver's pool"),
    ("of a driver's pool", "external pool", "gpuarray", "pooled gpuarray"),
    ("context",),
    ("another context's",),
    ("primary context", "argument"),
]  # fmt: skip


@pytest.mark.parametrize("meanwhile", ["wait", "work on"])
@pytest.mark.parametrize("kinds", KINDS, ids=[kinds[0] for kinds in KINDS])
def test_an_object_dropped_in_a_host_function_is_released_soon_after(run_python, kinds, meanwhile):
    source = f"KINDS, MEANWHILE = {kinds!r}, {meanwhile!r}\n" + PROGRAM
    done = run_python(source, env={"PYCUDA_FAULT_CALL": "0"})
    released = "".join(f"{kind}, 0, True, 0\n" for kind in kinds)
    assert (done.returncode, done.stdout, done.stderr) == (0, released, ""), done.stdout + done.stderr


COLLECTOR = """
import gc, threading
import pycuda.driver as drv
streams = [drv.Stream(), drv.Stream()]
enabled, inside, over = [], [threading.Event() for _ in streams], [threading.Event() for _ in streams]
def work(number):
    inside[number].set()
    over[number].wait(20)
    enabled.append(gc.isenabled())
for number, stream in enumerate(streams):
    stream.launch_host_func(work, number)
    inside[number].wait()
for number in ORDER:
    over[number].set()
    streams[number].synchronize()
print(enabled, gc.isenabled())
"""


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_garbage_collector_stays_enabled_when_host_functions_overlap(run_python, order):
    """Objects that it collects in them are released by another thread."""
    done = run_python(f"ORDER = {order}\n" + COLLECTOR, check=True)
    assert (done.stdout, done.stderr) == ("[True, True] True\n", "")
