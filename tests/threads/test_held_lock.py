"""NVIDIA's driver holds a lock while it waits, and Python functions in streams need the GIL. So while such a
function is outstanding no thread may hold the GIL in any driver call, however short.

A thread waits for a kernel in cuMemFree, which holds the lock; a host function is outstanding in another
context; then each call of the list is made, and a third thread notes whether it got the GIL meanwhile. A call
that holds it would be a deadlock if a Python function were in the kernel's stream.
"""

from pathlib import Path

LATE = str(Path(__file__).parent.with_name("driver") / "late.ptx")

PROGRAM = '''
import faulthandler, gc, sys, threading, time

import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from pycuda.tools import PageLockedMemoryPool, DeviceMemoryPool

faulthandler.dump_traceback_later(60, exit=True)
drv.init()
gc.disable()
SPIN = int(0.12e9)

# A host function that stays outstanding, in a context of its own.
gate, ready, done = threading.Event(), threading.Event(), threading.Event()


def hold():
    with drv.Device(0).make_context() as other:
        stream = drv.Stream()
        stream.launch_host_func(gate.wait, 60)
        ready.set()
        done.wait()
        stream.synchronize()
        del stream
    other.detach()


holder = threading.Thread(target=hold)
holder.start()
ready.wait()

context = drv.Device(0).make_context()
late = drv.module_from_file(LATE)
spin = late.get_function("spin")
ONE = dict(block=(1, 1, 1))
PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .global .u32 number;
.visible .entry nothing(.param .u64 a) { ret; }
"""
module = drv.module_from_buffer(PTX)
nothing = module.get_function("nothing")
texture_source = SourceModule("""
texture<float, 1> tex;
surface<void, 2> surf;
__global__ void read(float *out) { out[0] = tex1Dfetch(tex, 0); }
__global__ void write() { surf2Dwrite(1.f, surf, 0, 0); }
""")
texref, surfref = texture_source.get_texref("tex"), texture_source.get_surfref("surf")
read, write = texture_source.get_function("read"), texture_source.get_function("write")
host = np.zeros(64, np.float32)
memory, stream, event = drv.to_device(host), drv.Stream(), drv.Event()
descr = drv.ArrayDescriptor()
descr.width, descr.num_channels, descr.format = 64, 1, drv.array_format.FLOAT
pool, host_pool = DeviceMemoryPool(), PageLockedMemoryPool()
managed_pool, ordered_pool = drv.ManagedMemoryPool(), drv.StreamOrderedMemoryPool()


def image():
    shape = drv.ArrayDescriptor3D()
    shape.width, shape.height, shape.num_channels, shape.format = 4, 4, 1, drv.array_format.FLOAT
    shape.flags = drv.array3d_flags.SURFACE_LDST
    return drv.Array(shape)


unit = drv.mem_get_allocation_granularity()
physical = drv.PhysicalMemory(unit)


def mapped():
    space = drv.AddressRange(unit)
    space.map(0, physical)
    return space


prepared = module.get_function("nothing").prepare("P")
texref.set_address(memory, 256)
surfref.set_array(image())
drv.Context.synchronize()


class Busy:
    """A stream whose queued copy needs an array that PyCUDA keeps alive until it is done."""

    def __init__(self):
        self.stream = drv.Stream()
        drv.memcpy_htod_async(memory, host, self.stream)


green = []

# (name, what is made before the lock is taken, what is done with it under the lock; None: it is dropped)
OPS = [
    ("make a stream", None, lambda x: drv.Stream()),
    ("drop a stream", drv.Stream, None),
    ("drop a stream with work", Busy, None),
    ("query a stream", drv.Stream, lambda x: x.is_done()),
    ("make a green context", None, lambda x: green.append(drv.GreenContext(drv.Device(0).get_resource()))),
    ("make an event", None, lambda x: drv.Event()),
    ("drop an event", drv.Event, None),
    ("record an event", None, lambda x: event.record(stream)),
    ("wait for an event", None, lambda x: stream.wait_for_event(event)),
    ("query an event", None, lambda x: event.query()),
    ("allocate", None, lambda x: drv.mem_alloc(100)),
    ("drop memory", lambda: drv.mem_alloc(100), None),
    ("drop managed memory", lambda: drv.managed_zeros(100, np.int8), None),
    ("drop page-locked memory", lambda: drv.pagelocked_zeros(100, np.int8), None),
    ("drop registered memory", lambda: drv.register_host_memory(drv.aligned_zeros(4096, np.int8)), None),
    ("query free memory", None, lambda x: drv.mem_get_info()),
    ("query an address", None, lambda x: drv.mem_get_address_range(memory)),
    ("query a pointer", None, lambda x: drv.pointer_get_attribute(2, memory)),
    ("make an array", None, lambda x: image()),
    ("drop an array", image, None),
    ("make a mipmapped array", None, lambda x: drv.MipmappedArray(descr)),
    ("drop a mipmapped array", lambda: drv.MipmappedArray(descr), None),
    ("make a texture", None, lambda x: drv.TextureObject(memory, descr)),
    ("drop a texture", lambda: drv.TextureObject(memory, descr), None),
    ("make a surface", image, lambda x: drv.SurfaceObject(x)),
    ("drop a surface", lambda: drv.SurfaceObject(image()), None),
    ("bind memory", None, lambda x: texref.set_address(memory, 256)),
    ("bind an array", image, lambda x: surfref.set_array(x)),
    ("launch", None, lambda x: nothing(memory, stream=stream, **ONE)),
    ("launch cooperatively", None, lambda x: nothing(memory, stream=stream, cooperative=True, **ONE)),
    ("launch with a texture", None, lambda x: read(memory, texrefs=[texref], stream=stream, **ONE)),
    ("launch with a surface", None, lambda x: write(stream=stream, **ONE)),
    ("prepared launch", None, lambda x: prepared.prepared_async_call((1, 1), (1, 1, 1), stream, memory)),
    ("start a copy", None, lambda x: drv.memcpy_htod_async(memory, host, stream)),
    ("start a copy back", None, lambda x: drv.memcpy_dtoh_async(host, memory, stream)),
    ("start a fill", None, lambda x: drv.memset_d32_async(memory, 0, 64, stream)),
    ("load a module", None, lambda x: drv.module_from_buffer(PTX)),
    ("drop a module", lambda: drv.module_from_buffer(PTX), None),
    ("look up a function", None, lambda x: module.get_function("nothing")),
    ("look up a variable", None, lambda x: module.get_global("number")),
    ("query a function", None, lambda x: nothing.num_regs),
    ("set up a function", None, lambda x: nothing.set_cache_config(drv.func_cache.PREFER_L1)),
    ("make a linker", None, lambda x: drv.Linker()),
    ("drop a linker", drv.Linker, None),
    ("push and pop", None, lambda x: (context.push(), drv.Context.pop())),
    ("query the current context", None, lambda x: drv.Context.get_current()),
    ("query a limit", None, lambda x: drv.Context.get_limit(drv.limit.STACK_SIZE)),
    ("query the device", None, lambda x: drv.Device(0).max_threads_per_block),
    ("allocate from a pool", None, lambda x: pool.allocate(100)),
    ("drop pooled memory", lambda: pool.allocate(100), None),
    ("free what a pool holds", lambda: pool.allocate(1000).free(), lambda x: pool.free_held()),
    ("drop pooled host memory", lambda: host_pool.allocate(100, np.int8), None),
    ("allocate from a managed pool", lambda: managed_pool.allocate(9), lambda x: managed_pool.allocate(9)),
    ("drop pooled managed memory", lambda: managed_pool.allocate(100), None),
    ("make a pool of the driver", None, lambda x: drv.StreamOrderedMemoryPool()),
    ("drop a pool of the driver", drv.StreamOrderedMemoryPool, None),
    ("allocate from the driver's pool", None, lambda x: ordered_pool.allocate(100, stream)),
    ("drop memory of the driver's pool", lambda: ordered_pool.allocate(100), None),
    ("query the driver's pool", None, lambda x: ordered_pool.used_mem_current),
    ("set up the driver's pool", None, lambda x: ordered_pool.reset_high()),
    ("trim the driver's pool", lambda: ordered_pool.allocate(100).free(), lambda x: ordered_pool.trim()),
    ("query occupancy", None, lambda x: nothing.max_active_blocks_per_multiprocessor(32)),
    ("reserve addresses", None, lambda x: drv.AddressRange(unit)),
    ("drop addresses", lambda: drv.AddressRange(unit), None),
    ("make physical memory", None, lambda x: drv.PhysicalMemory(unit)),
    ("drop physical memory", lambda: drv.PhysicalMemory(unit), None),
    ("map memory", lambda: drv.AddressRange(unit), lambda x: x.map(0, physical)),
    ("drop mapped memory", mapped, None),
    ("unmap memory", mapped, lambda x: x.unmap()),
    ("set access", mapped, lambda x: x.set_access(3)),
    ("query access", mapped, lambda x: x.get_access()),
    ("make an array on the device", None, lambda x: gpuarray.zeros(10, np.float32)),
    ("queue a function", None, lambda x: stream.launch_host_func(int)),
    ("raise an error", None, lambda x: module_error()),
]


def module_error():
    try:
        module.get_function("none of that name")
    except drv.LogicError:
        pass


beats, stop = [], threading.Event()


def beat():
    while not stop.is_set():
        beats.append(time.monotonic())
        time.sleep(0.002)


beater = threading.Thread(target=beat)
beater.start()


def held(make, use):
    """Whether the GIL was held for more than 60 ms of the 100 ms or so that a call under the lock takes."""
    box = [make() if make else None]
    drv.Context.synchronize()
    victim, inside = drv.mem_alloc(1 << 16), threading.Event()

    def wait_inside():
        context.push()
        inside.set()
        victim.free()
        drv.Context.pop()

    spin(np.uint64(SPIN), stream=stream, **ONE)
    waiter = threading.Thread(target=wait_inside)
    waiter.start()
    inside.wait()
    time.sleep(0.02)
    start = time.monotonic()
    if use:
        result = use(box[0])
    else:
        box.clear()
    end = time.monotonic()
    waiter.join()
    during = [start] + [moment for moment in list(beats) if start < moment < end] + [end]
    return max(b - a for a, b in zip(during, during[1:])) > 0.06


for name, make, use in OPS:
    # Three tries: on a busy machine the third thread may get no processor for so long.
    if held(make, use) and held(make, use) and held(make, use):
        print(name, flush=True)
# The driver ends a green context only after all work of the device, including the outstanding function.
threading.Timer(1, gate.set).start()
if held(green.pop, None):
    print("drop a green context", flush=True)
stop.set()
beater.join()
gate.set()
done.set()
holder.join()
print(len(OPS), "operations")
'''


def test_no_driver_call_holds_the_gil_while_a_host_function_is_outstanding(run_python):
    done = run_python(PROGRAM.replace("LATE", repr(LATE)), env={"PYCUDA_CPU_LOCK": "1"})
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    *held, last = done.stdout.splitlines()
    assert held == [] and last == "74 operations", done.stdout
