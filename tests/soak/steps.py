"""Steps of the threads of a random program: each function is one, and `w` is the Worker that does it
(worker.py). Results are compared with NumPy's. choice.py has how often each step is drawn.
"""

import contextlib
import gc
import os
import pickle
import threading
import time

import numpy as np
from worker import BLOCK, ONE, PTX, N, Planned, check

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.tools import DeviceMemoryPool, PageLockedMemoryPool

SHAPE = (8, 8)


# ---- memory and launches


def copy_and_launch(w):
    """A copy there, a launch, a copy back."""
    numbers, by = w.numbers(), w.dice.randrange(100)
    memory = drv.to_device(numbers)
    w.code.add(memory, np.int32(by), block=BLOCK)
    check(drv.from_device_like(memory, numbers), numbers + by, "add")


def launch_on_streams(w):
    """Page-locked buffers, asynchronous copies, several launches, one wait."""
    stream, numbers = w.dice.choice([*w.streams, drv.Stream(drv.stream_flags.NON_BLOCKING)]), w.numbers()
    source, target = drv.pagelocked_empty(N, np.int32), drv.pagelocked_zeros(N, np.int32)
    source[:] = numbers
    memory = drv.mem_alloc(numbers.nbytes)
    drv.memcpy_htod_async(memory, source, stream)
    rounds = w.dice.randrange(1, 5)
    for _ in range(rounds):
        w.code.add(memory, np.int32(3), block=BLOCK, stream=stream)
    drv.memcpy_dtoh_async(target, memory, stream)
    del source
    if w.dice.random() < 0.5:
        del memory  # waits for the copy
    w.wait(stream)
    check(target, numbers + 3 * rounds, "asynchronous copies")


def fills(w):
    """memset in the default stream and in another one."""
    memory, stream = drv.mem_alloc(4 * N), w.stream()
    host = np.zeros(N, np.int32)
    drv.memset_d32(memory, 5, N)
    drv.memset_d8_async(memory, 1, 2 * N, stream)
    w.wait(stream)
    drv.memcpy_dtoh(host, memory)
    check(host, np.repeat(np.array([0x01010101, 5], np.int32), N // 2), "fills")


def host_arguments(w):
    """In, Out and InOut copy around the launch."""
    a, b, out, stream = w.numbers(), w.numbers(), np.zeros(N, np.int32), w.stream()
    w.code.fold(drv.Out(out), drv.In(a), drv.In(b), block=BLOCK, stream=stream)
    w.wait(stream)
    check(out, 3 * a + b, "In and Out")
    w.code.add(drv.InOut(out), np.int32(4), block=BLOCK, stream=stream)
    w.wait(stream)
    check(out, 3 * a + b + 4, "InOut")


def prepared_calls(w):
    """A prepared kernel, called in one of three ways."""
    numbers, stream = w.numbers(), w.stream()
    memory = drv.to_device(numbers)
    call = w.code.add.prepare("Pi")
    how = w.dice.choice(["at once", "in a stream", "timed"])
    if how == "at once":
        call.prepared_call((1, 1), BLOCK, memory, 6)
    elif how == "in a stream":
        call.prepared_async_call((1, 1), BLOCK, stream, memory, 6)
        w.wait(stream)
    else:
        assert call.prepared_timed_call((1, 1), BLOCK, memory, 6)() >= 0
    check(drv.from_device_like(memory, numbers), numbers + 6, "prepared call")


def arrays(w):
    """A GPUArray, from a pool or not, which other threads get later."""
    numbers = w.numbers()
    pools = {"none": drv.mem_alloc, "pool": pool(w).allocate}
    array = gpuarray.to_gpu(numbers, allocator=pools[w.dice.choice(list(pools))])
    w.code.add(array, np.int32(1), block=BLOCK)
    w.put("array", (array, numbers + 1))
    found = w.take("array")
    if found:
        check(found[0].get(), found[1], "an array that passed through the bag")
        check(found[0].reshape(8, 8).T.get(), found[1].reshape(8, 8).T, "a view")


class Shown:
    """An array of another package: it only has __cuda_array_interface__."""

    def __init__(self, array):
        self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__


class Lent(Shown):
    """An array of another package that only has DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def pickled(w):
    """A pickle whose elements are in page-locked memory of a pool, which other threads read and drop."""
    numbers, buffers = np.resize(w.numbers(), w.dice.choice([1, 2, 3]) << 16), []
    text = pickle.dumps(gpuarray.to_gpu(numbers), 5, buffer_callback=buffers.append)
    w.put("pickle", (text, buffers, numbers))
    found = w.take("pickle")
    if found:
        text, buffers, numbers = found
        check(np.frombuffer(buffers[0], np.int32), numbers, "the memory of a pickle")
        check(pickle.loads(text, buffers=buffers).get(), numbers, "an unpickled array")


def lent_arrays(w):
    """Arrays passed through DLPack and the interface, on any stream, and released by any thread."""
    numbers, stream = w.numbers(), w.stream()
    as_theirs = w.dice.choice([Shown, Lent, lambda array: array])
    theirs = as_theirs(gpuarray.to_gpu(numbers))
    view = gpuarray.from_dlpack(theirs, stream=stream) if hasattr(theirs, "__dlpack__") else theirs
    out = gpuarray.empty(N, np.int32)
    out.set_async(view, stream=stream)
    w.put("lent", (theirs, numbers))
    w.put("capsule", gpuarray.to_gpu(numbers).__dlpack__(max_version=w.dice.choice([None, (1, 0)])))
    del view, theirs
    w.wait(stream)
    check(out.get(), numbers, "lent memory")
    found = w.take("lent")
    if found:
        check(gpuarray.to_gpu(found[0]).get(), found[1], "a lent array that passed through the bag")


class Lender:
    """An allocator with the interface of RMM's memory resources: it keeps what it lends."""

    def __init__(self):
        self.memory = {}

    def allocate(self, nbytes, stream):
        memory = drv.mem_alloc(nbytes)
        self.memory[int(memory)] = memory
        return int(memory)

    def deallocate(self, address, nbytes, stream):
        del self.memory[address]


class Owner:
    """Memory of a library that has no streams: its address is in `ptr`."""

    def __init__(self, nbytes):
        self.memory = drv.mem_alloc(nbytes)
        self.ptr = int(self.memory)


POOLS = {
    "device": DeviceMemoryPool,
    "managed": drv.ManagedMemoryPool,
    "ordered": drv.StreamOrderedMemoryPool,
    "external": lambda: drv.ExternalMemoryPool(drv.mem_alloc),
    "lender": lambda: drv.ExternalMemoryPool(Lender()),
    "owner": lambda: drv.ExternalMemoryPool(Owner),
}
POOL_KINDS = os.environ.get("SOAK_POOLS", ",".join(POOLS)).split(",")


def new_pool(w):
    """A new pool for device memory, of a random kind."""
    return POOLS[w.dice.choice(POOL_KINDS)]()


def pool(w):
    """The thread's pool for device memory; now and then it is replaced."""
    if not w.pools or w.dice.random() < 0.1:
        w.pools = [new_pool(w), PageLockedMemoryPool()]
    return w.pools[0]


def pooled(w):
    """Blocks go back into the pool while work is queued, and are used again in the same stream."""
    stream, numbers = w.stream(), w.numbers()
    target = drv.pagelocked_zeros(N, np.int32)
    for _ in range(w.dice.randrange(1, 4)):
        memory = pool(w).allocate(4 * N, stream)
        drv.memcpy_htod_async(memory, numbers, stream)
        w.code.add(memory, np.int32(2), block=BLOCK, stream=stream)
        drv.memcpy_dtoh_async(target, memory, stream)
        memory.free(stream)
    w.wait(stream)
    check(target, numbers + 2, "pooled memory")
    host = w.pools[1].allocate(N, np.int32)
    host[:] = numbers
    check(drv.from_device_like(drv.to_device(host), host), numbers, "pooled host memory")
    if w.dice.random() < 0.2:
        w.dice.choice([w.pools[0].free_held, w.pools[0].snapshot, w.pools[0].reset_high])()
        w.pools[1].stop_holding()


def managed(w):
    """Managed memory, written by host and kernel."""
    numbers = w.numbers()
    memory = drv.managed_empty(N, np.int32)
    memory[:] = numbers
    w.code.add(memory.base, np.int32(9), block=BLOCK)
    drv.Context.synchronize()
    check(memory, numbers + 9, "managed memory")
    w.put("managed", memory)


def registered(w):
    """Host memory that is registered with the driver."""
    numbers, stream = w.numbers(), w.stream()
    host = drv.aligned_empty(N, np.int32)
    host[:] = numbers
    host = drv.register_host_memory(host, drv.mem_host_register_flags.DEVICEMAP)
    memory = drv.mem_alloc(4 * N)
    drv.memcpy_htod_async(memory, host, stream)
    w.wait(stream)
    check(drv.from_device_like(memory, numbers), numbers, "registered memory")
    w.put("registered", host)


def shaped_copies(w):
    """Copies from an array to device memory and on to the host, by Memcpy2D and Memcpy3D."""
    numbers, stream = w.numbers().reshape(SHAPE), w.stream()
    target, image = np.zeros(SHAPE, np.int32), make_image(numbers)
    memory, pitch = drv.mem_alloc_pitch(32, 8, 4)
    copy = drv.Memcpy2D()
    copy.set_src_array(image)
    copy.set_dst_device(memory)
    copy.dst_pitch, copy.width_in_bytes, copy.height = pitch, 32, 8
    copy(stream)
    w.wait(stream)
    back = drv.Memcpy3D() if w.dice.random() < 0.5 else drv.Memcpy2D()
    back.set_src_device(memory)
    back.set_dst_host(target)
    back.src_pitch, back.dst_pitch, back.width_in_bytes, back.height = pitch, 32, 32, 8
    if isinstance(back, drv.Memcpy3D):
        back.src_height, back.dst_height, back.depth = 8, 8, 1
    back()
    check(target, numbers, "shaped copies")


def grown_memory(w):
    """An address range whose memory is mapped piece by piece, and unmapped."""
    unit, numbers, stream = drv.mem_get_allocation_granularity(), w.numbers(), w.stream()
    space, memory = drv.AddressRange(4 * unit), drv.PhysicalMemory(unit)
    for piece in range(w.dice.randrange(1, 4)):
        space.map(piece * unit, memory if piece else drv.PhysicalMemory(unit))
    drv.memcpy_htod(space, numbers)
    w.code.add(space, np.int32(3), block=BLOCK, stream=stream)
    w.wait(stream)
    check(drv.from_device_like(space, numbers), numbers + 3, "grown memory")
    if w.dice.random() < 0.5:
        space.unmap(0, unit)
    w.put("grown", [space, memory])


def green(w):
    """A stream of a green context, which takes a GPU 100 ms to make."""
    w.put("green", drv.GreenContext(drv.Device(0).get_resource()).create_stream())


def between_devices(w):
    """memcpy_dtod and memcpy_peer."""
    numbers = w.numbers()
    one, two = drv.to_device(numbers), drv.mem_alloc(4 * N)
    drv.memcpy_dtod(two, one, 4 * N)
    check(drv.from_device_like(two, numbers), numbers, "copy on the device")
    here = drv.Context.get_current()
    drv.memcpy_peer(one, two, 4 * N, here, here)
    check(drv.from_device_like(one, numbers), numbers, "copy to a peer")


def moved_arrays(w):
    """Arrays copied to every device and back; arrays of two devices are refused, or added right."""
    numbers = w.numbers()
    array = gpuarray.to_gpu(numbers)
    here, stream = drv.Context.get_current(), w.stream()
    for number in range(drv.Device.count()):
        moved = array.to_device(number, stream=stream)
        if moved.device != array.device:
            try:
                total = array + moved
            except ValueError:
                pass
            else:  # an object of this context that is gone had access, for copies
                check(total.get(), 2 * numbers, "a sum with an array that a device has access to")
        back = moved.reshape(8, 8).T.to_device(here, stream=stream)
        w.wait(stream)
        check(back.get(), numbers.reshape(8, 8).T, "an array that was on another device")
    w.put("array", (moved, numbers))


# ---- textures and surfaces


def make_image(numbers, surface=False):
    """An 8 x 8 array with the numbers; surface: one that kernels can write."""
    shape = drv.ArrayDescriptor3D()
    shape.width, shape.height, shape.num_channels, shape.format = 8, 8, 1, drv.array_format.SIGNED_INT32
    shape.flags = drv.array3d_flags.SURFACE_LDST if surface else 0
    image, copy = drv.Array(shape), drv.Memcpy2D()
    copy.set_src_host(np.ascontiguousarray(numbers).reshape(SHAPE))
    copy.set_dst_array(image)
    copy.src_pitch, copy.width_in_bytes, copy.height = 32, 32, 8
    copy(aligned=True)
    return image


def texture_object(w):
    """Texture objects of an array and of memory, of this thread and of another."""
    numbers, out = w.numbers(), np.zeros(N, np.int32)
    image = drv.TextureObject(make_image(numbers), flags=drv.TRSF_READ_AS_INTEGER)
    w.code.fetch(drv.Out(out), image, block=BLOCK)
    check(out, numbers, "texture object")
    row = drv.ArrayDescriptor()
    row.width, row.num_channels, row.format = N, 1, drv.array_format.SIGNED_INT32
    line = drv.TextureObject(drv.to_device(numbers), row, flags=drv.TRSF_READ_AS_INTEGER)
    w.code.fetch_row(drv.Out(out), line, block=BLOCK)
    check(out, numbers, "texture object of a row")
    w.put("texture", (image, numbers))
    found = w.take("texture")
    if found:
        w.code.fetch(drv.Out(out), found[0], block=BLOCK)
        check(out, found[1], "a texture that passed through the bag")


def surface_object(w):
    """A kernel writes an array through a surface object, another reads it as a texture."""
    numbers, out = w.numbers(), np.zeros(N, np.int32)
    image = make_image(numbers, surface=True)
    surface, texture = drv.SurfaceObject(image), drv.TextureObject(image, flags=drv.TRSF_READ_AS_INTEGER)
    del image
    w.code.store(surface, np.int32(11), block=BLOCK)
    w.code.fetch(drv.Out(out), texture, block=BLOCK)
    check(out, numbers + 11, "surface object")
    w.put("surface", surface)


def read_reference(w, bind, read, what):
    """All threads bind the module's one reference and launch with it, in several streams or all in one.

    bind(values) binds it to an array that holds one number, repeated; read(memory, stream) launches the
    kernel that copies what it reads to the memory. All it reads must be of one array, whichever thread bound
    it."""
    stream, out = w.dice.choice(w.streams) if w.plan.seed % 2 else None, np.zeros(N, np.int32)
    memory = drv.mem_alloc(4 * N)
    for _ in range(w.dice.choice([1, 3, 20, 100])):
        bind(w.dice.choice(w.world.values))
        for _ in range(w.dice.randrange(1, 4)):
            read(memory, stream)
        if stream:
            stream.synchronize()
        drv.memcpy_dtoh(out, memory)
        if not (out == out[0]).all() or not 0 <= out[0] < len(w.world.values):
            raise AssertionError(f"{what}: read {out.tolist()}")


def texture_reference(w):
    """A texture reference to linear memory, in plain launches."""
    tex, call = w.code.tex, w.code.read_tex
    texrefs = [tex] if w.dice.random() < 0.5 else []
    read_reference(
        w, lambda values: tex.set_address(drv.to_device(values), 4 * N),
        lambda out, stream: call(out, block=BLOCK, texrefs=texrefs, stream=stream), "texture reference",
    )  # fmt: skip


def texture_of_array(w):
    """A texture reference to an array, in prepared launches."""
    tex, call = w.code.image, w.code.read_image
    call.prepare("P", texrefs=[tex])
    read_reference(
        w, lambda values: tex.set_array(make_image(values)),
        lambda out, stream: call.prepared_async_call((1, 1), BLOCK, stream, out), "texture of an array",
    )  # fmt: skip


def surface_reference(w):
    """A surface reference, in plain launches."""
    surf, call = w.code.surf, w.code.read_surf
    read_reference(
        w, lambda values: surf.set_array(make_image(values, surface=True)),
        lambda out, stream: call(out, block=BLOCK, stream=stream), "surface reference",
    )  # fmt: skip


# ---- code


def modules(w):
    """A module, loaded or linked, that is dropped while its kernel may still run."""
    numbers = w.numbers()
    memory = drv.to_device(numbers)
    if w.dice.random() < 0.5:
        module = drv.module_from_buffer(PTX)
    else:
        linker = drv.Linker()
        linker.add_data(PTX, drv.jit_input_type.PTX)
        module = linker.link_module()
    address, size = module.get_global("counter")
    drv.memset_d32(address, 77, 1)
    assert size == 4 and drv.from_device(address, 1, np.int32)[0] == 77
    call = module.get_function("add")
    del module
    call(memory, np.int32(8), block=BLOCK)
    w.put("function", call)
    del call
    found = w.take("function")
    if found:
        found(memory, np.int32(0), block=BLOCK)
    del found
    check(drv.from_device_like(memory, numbers), numbers + 8, "a module that was dropped")


def half_linked(w):
    """A linker that is dropped before it links."""
    linker = drv.Linker()
    linker.add_data(PTX, drv.jit_input_type.PTX)
    w.put("linker", linker)


def globals_of_modules(w):
    """A kernel that reads a variable of its module."""
    out = np.zeros(N, np.int32)
    w.code.constant(drv.Out(out), block=BLOCK)
    check(out, np.full(N, 7), "a global of a module")


def compiling(w):
    """Loads the kernels again, from the compiler's cache, and drops the old ones."""
    if w.plan.compiling:
        w.code = type(w.code)()


# ---- streams, events, contexts


def streams(w):
    """What was queued in a stream is done even if the stream is dropped; another one is replaced."""
    target, stream = drv.pagelocked_zeros(N, np.int32), drv.Stream()
    memory = drv.to_device(w.world.values[3])
    w.code.wait(np.uint64(w.dice.randrange(300_000)), block=ONE, stream=stream)
    drv.memcpy_dtoh_async(target, memory, stream)
    event = drv.Event()
    event.record(stream)
    del stream
    event.synchronize()
    check(target, w.world.values[3], "a stream that was dropped")
    w.streams[w.dice.randrange(1, 3)] = drv.Stream()


def events(w):
    """A stream waits for an event of another one."""
    numbers = w.numbers()
    target, memory = drv.pagelocked_zeros(N, np.int32), drv.mem_alloc(4 * N)
    first, second = drv.Stream(), w.streams[1]
    start, done = drv.Event(), drv.Event()
    start.record(first)
    w.code.wait(np.uint64(w.dice.randrange(300_000)), block=ONE, stream=first)
    drv.memcpy_htod_async(memory, numbers, first)
    done.record(first)
    second.wait_for_event(done)
    drv.memcpy_dtoh_async(target, memory, second)
    w.wait(second)
    check(target, numbers, "a stream that waited")
    assert start.time_till(done.synchronize()) >= 0
    w.put("event", done)
    w.put("stream", first)


def contexts(w):
    """A new context with an object of every type, which ends before or after its objects, by this thread or
    by another.
    """
    if w.world.contexts_left <= 0:
        return
    w.world.contexts_left -= 1
    context = drv.Device(w.dice.randrange(drv.Device.count())).make_context()
    things = something(w)
    module = drv.module_from_buffer(PTX)
    memory = drv.to_device(w.world.values[4])
    module.get_function("add")(memory, np.int32(1), block=BLOCK)
    if w.dice.random() < 0.5:
        check(drv.from_device_like(memory, w.world.values[4]), w.world.values[5], "another context")
    if w.dice.random() < 0.5:  # releases wait for this kernel
        module.get_function("wait")(np.uint64(w.dice.randrange(5_000_000)), block=ONE)
    things += [module, memory]
    w.dice.shuffle(things)
    detach = w.dice.random() < 0.8
    if not detach:
        drv.Context.synchronize()  # memory that is kept for a queued copy would keep the context
    drv.Context.pop()
    if w.dice.random() < 0.4:
        w.world.graveyard.extend(things)
        things.clear()
    del module, memory
    dropper = threading.Thread(target=things.clear) if w.dice.random() < 0.7 else None
    if dropper:  # at the same moment
        dropper.start()
        w.threads.append(dropper)
    del things
    if detach and w.dice.random() < 0.3:
        w.world.doomed.append(context)
    elif detach:
        time.sleep(w.dice.choice([0, 0, 0.001, 0.003]))
        context.detach()


def primary(w):
    """The primary context is pushed once more; in a program with other contexts, all its users lose it."""
    context = drv.Device(0).retain_primary_context()
    context.push()
    try:
        w.world.graveyard.append(drv.mem_alloc(100))
        if w.dice.random() < 0.2:
            raise Planned("with a context pushed")
    finally:
        drv.Context.pop()
    if w.plan.threads == 1 and w.plan.contexts in ("shared", "each") and w.dice.random() < 0.5:
        context.detach()  # for all that retained it


def long_wait(w):
    """For threads that never stop: the interpreter may end before the wait does."""
    stream = w.stream()
    w.code.wait(np.uint64(w.dice.randrange(100_000_000, 400_000_000)), block=ONE, stream=stream)
    w.wait(stream)


# ---- dropping


def something(w):
    """One object of every type."""
    image = make_image(w.world.values[1], surface=True)
    linker = drv.Linker()
    linker.add_data(PTX, drv.jit_input_type.PTX)
    row = drv.ArrayDescriptor()
    row.width, row.num_channels, row.format = N, 1, drv.array_format.SIGNED_INT32
    memory, stream, host = drv.mem_alloc(4 * N), drv.Stream(), drv.pagelocked_zeros(N, np.int32)
    drv.memcpy_htod_async(memory, host, stream)
    return [
        stream,
        drv.Event().record(stream),
        drv.mem_alloc(100),
        drv.managed_zeros(N, np.int32),
        host,
        drv.register_host_memory(drv.aligned_zeros(N, np.int32)),
        drv.TextureObject(image, flags=drv.TRSF_READ_AS_INTEGER),
        drv.TextureObject(memory, row),
        drv.SurfaceObject(image),
        drv.MipmappedArray(image.get_descriptor()),
        drv.MipmappedArray(image.get_descriptor()).get_level(0),
        drv.module_from_buffer(PTX),
        drv.module_from_buffer(PTX).get_function("add").prepare("Pi"),
        linker,
        new_pool(w).allocate(100),
        PageLockedMemoryPool().allocate(N, np.int32),
        drv._driver._registered_pool().allocate(N, np.int32),
        gpuarray.zeros(N, np.int32),
        gpuarray.zeros(N, np.int32, allocator=DeviceMemoryPool().allocate),
        drv.InOut(np.zeros(N, np.int32)),
        drv.Memcpy2D(),
    ]


def some(w):
    """One to five objects of different types."""
    things = something(w)
    w.dice.shuffle(things)
    return things[: w.dice.randrange(1, 6)]


def drop(w):
    """Drops objects of other threads and other contexts, and detaches a context."""
    for _ in range(w.dice.randrange(1, 10)):
        for place in (w.bag, w.world.graveyard):
            with contextlib.suppress(IndexError):
                place.pop(w.dice.randrange(3))
    with contextlib.suppress(IndexError):
        w.world.doomed.pop().detach()


def keep_some(w):
    """Keeps objects, which any thread may drop."""
    w.world.graveyard.extend(some(w))


def cycles(w):
    """Objects in a reference cycle, which the collector releases in whatever thread it runs."""
    loop = some(w)
    loop.append(loop)
    if w.dice.random() < 0.3:
        gc.collect()


# ---- Python functions in streams


def function_order(w):
    """A function in a stream sees what was queued before it, and what is queued later sees its effects."""
    stream, numbers = w.stream(), w.numbers()
    if not w.plan.functions or stream is None:
        return
    memory, host = drv.to_device(numbers), drv.pagelocked_zeros(N, np.int32)

    def work(factor):
        host[:] = factor * host

    queue = stream.add_callback if w.dice.random() < 0.3 else stream.launch_host_func
    drv.memcpy_dtoh_async(host, memory, stream)
    queue(work, 3)
    drv.memcpy_htod_async(memory, host, stream)
    w.wait(stream)
    out = np.zeros(N, np.int32)
    drv.memcpy_dtoh(out, memory)
    check(out, numbers * np.int32(3), "a function in a stream")


def function_drops(w):
    """A function in a stream drops the last references: to an object of every type, to a few, or to some from
    the bag."""
    stream = w.stream()
    if not w.plan.functions or stream is None:
        return
    box = w.dice.choice([something, some, lambda w: [w.take("array"), w.take("texture")]])(w)
    stream.launch_host_func(box.clear)
    del box
    if w.dice.random() < 0.3:
        w.wait(stream)


def function_does(w):
    """Functions in a stream that sleep, collect garbage, raise, or drop what other threads keep."""
    stream = w.stream()
    if not w.plan.functions or stream is None:
        return

    def fail():
        things = [[] for _ in range(100)]
        raise Planned(str(len(things)))

    def take():
        with contextlib.suppress(IndexError):
            w.world.graveyard.pop()

    for _ in range(w.dice.randrange(1, 4)):
        what = w.dice.choice(["sleep", "collect", "fail", "take"])
        if what == "sleep":
            stream.launch_host_func(time.sleep, w.dice.choice([0.0001, 0.002, 0.01]))
        elif what == "collect":
            stream.launch_host_func(gc.collect)
        elif what == "fail":
            stream.launch_host_func(fail)
        else:
            stream.launch_host_func(take)


def graphs(w):
    """A graph made of nodes, not captured, as a capture forbids waits for its context."""
    numbers, rounds = w.numbers(), w.dice.randrange(1, 4)
    memory, stream, graph = drv.to_device(numbers), w.stream(), drv.Graph()
    node = graph.add_kernel(w.code.add, memory, np.int32(2), block=BLOCK)
    if w.plan.functions:
        box = some(w)
        node = graph.add_host(box.clear, depends_on=node)
        del box
    graph.add_kernel(w.code.add, memory, np.int32(5), block=BLOCK, depends_on=node)
    ready = graph.instantiate()
    del graph, node
    for _ in range(rounds):
        ready.launch(stream)
    w.put("graph", ready)
    w.take("graph")
    del ready
    w.wait(stream)
    check(drv.from_device_like(memory, numbers), numbers + 7 * rounds, "a graph")


# ---- mistakes


def refused(w):
    """Mistakes are refused, some when an object is partly made."""
    memory = drv.mem_alloc(100)
    mistakes = [
        lambda: drv.mem_alloc(1 << 60),
        lambda: w.code.add(memory, block=BLOCK),
        lambda: w.code.add(memory, np.int32(1), block=(5000, 1, 1)),
        lambda: w.code.module.get_function("none of that name"),
        lambda: drv.module_from_buffer(b"no module"),
        lambda: drv.memcpy_dtoh(bytes(4), memory),
        lambda: drv.to_device(None),
        lambda: memory.free() or memory.free(),
    ]
    try:
        w.dice.choice(mistakes)()
    except (drv.Error, TypeError, ValueError, BufferError, AttributeError):
        return
    raise AssertionError("a mistake was not refused")


def raised(w):
    """An exception leaves a frame that holds objects with work in flight."""
    things, stream = some(w), w.stream()
    memory, host = drv.mem_alloc(4 * N), drv.pagelocked_zeros(N, np.int32)
    drv.memcpy_htod_async(memory, host, stream)
    w.code.add(memory, np.int32(1), block=BLOCK, stream=stream)
    raise Planned(f"with {len(things)} objects")


def queries(w):
    """Properties of the device, the context, a kernel and a stream."""
    drv.mem_get_info(), drv.Context.get_device().name(), drv.Context.get_limit(drv.limit.STACK_SIZE)
    w.code.add.num_regs, drv.Context.get_stream_priority_range()
    w.dice.choice(w.streams[1:]).is_done()
