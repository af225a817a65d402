"""Launches with texture references: every kind of call, and what is read when bindings change in between.

A kernel reads a reference through a handle in device memory, which a launch replaces when the binding has
changed: the tests with streams check that it is not replaced too early and not read too early.
"""

import threading

import numpy as np
import pytest

import pycuda.autoinit  # noqa: F401
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from pycuda.tools import DeviceMemoryPool

SOURCE = """
texture<int, 1, cudaReadModeElementType> a;
texture<int, 1, cudaReadModeElementType> b;
__global__ void sum(int *out) { out[threadIdx.x] = tex1Dfetch(a, threadIdx.x) + tex1Dfetch(b, threadIdx.x); }
__global__ void first(int *out) { out[threadIdx.x] = tex1Dfetch(a, threadIdx.x); }
__global__ void plain(int *out) { out[threadIdx.x] = 7; }
__global__ void waits(volatile int *flag, int *out)
{
    while (!*flag) {}
    out[threadIdx.x] = tex1Dfetch(a, threadIdx.x);
}
"""
N = 32


@pytest.fixture
def module():
    return SourceModule(SOURCE)


def bound(module, name, value):
    """The reference of that name, bound to memory of N elements of this value."""
    texref = module.get_texref(name)
    gpuarray.to_gpu(np.full(N, value, np.int32)).bind_to_texref_ext(texref)
    return texref


class Output:
    """N elements for a kernel's results; equal to a number if all elements are."""

    def __init__(self):
        self.array = gpuarray.zeros(N, np.int32)

    def __eq__(self, value):
        return bool((self.array.get() == value).all())

    __hash__ = None


def test_every_way_to_call(module):
    texrefs = [bound(module, "a", 3), bound(module, "b", 4)]
    block, outs = (N, 1, 1), [Output() for _ in range(7)]
    call, stream = module.get_function("sum"), drv.Stream()
    call(outs[0].array, block=block, texrefs=texrefs)
    call(outs[1].array, block=block, texrefs=tuple(texrefs), stream=stream)
    assert call(outs[2].array, block=block, texrefs=texrefs, time_kernel=True) >= 0
    call.prepare("P", texrefs=texrefs)
    assert call.texrefs == texrefs
    call.prepared_call((1, 1), block, outs[3].array.gpudata)
    call.prepared_async_call((1, 1), block, stream, outs[4].array.gpudata)
    assert call.prepared_timed_call((1, 1), block, outs[5].array.gpudata)() >= 0
    for texref in texrefs:
        call.param_set_texref(texref)
    with pytest.warns(DeprecationWarning):
        call.param_setv(0, np.intp(outs[6].array.ptr))
        call.set_block_shape(*block)
        call.launch_grid(1, 1)
    drv.Context.synchronize()
    assert all(out == 7 for out in outs)


def test_a_prepared_function_reads_what_is_bound_at_the_call(module):
    texref = bound(module, "a", 1)
    call = module.get_function("first").prepare("P", texrefs=[texref])
    outs = [Output() for _ in range(3)]
    for k, out in enumerate(outs):
        bound(module, "a", 10 + k)
        call.prepared_call((1, 1), (N, 1, 1), out.array.gpudata)
    drv.Context.synchronize()
    assert outs == [10, 11, 12]


@pytest.mark.parametrize("own_stream", [False, True])
def test_bindings_change_from_launch_to_launch(module, own_stream):
    """100 launches without a wait: each reads what was bound when it was made."""
    stream = drv.Stream() if own_stream else None
    call, count = module.get_function("first"), 100
    outs = [gpuarray.zeros(N, np.int32) for _ in range(count)]
    sources = [gpuarray.to_gpu(np.full(N, k, np.int32)) for k in range(count)]
    drv.Context.synchronize()
    texref = module.get_texref("a")
    for source, out in zip(sources, outs, strict=True):
        source.bind_to_texref_ext(texref)
        call(out, block=(N, 1, 1), stream=stream)
    drv.Context.synchronize()
    assert all((out.get() == k).all() for k, out in enumerate(outs))


def test_settings_change_between_launches():
    """Filter, address mode and flags: a launch reads the texels 2, 4 by those that were set when it was
    made."""
    module = SourceModule("""
    texture<float, 2> t;
    __global__ void read(float *out) { out[0] = tex2D(t, 1.0f, 0.5f); out[1] = tex2D(t, -1.0f, 0.5f); }
    """)
    texref, out = module.get_texref("t"), np.zeros(2, np.float32)
    drv.matrix_to_texref(np.array([[2, 4]], np.float32), texref, "C")

    def read():
        module.get_function("read")(drv.Out(out), block=(1, 1, 1), texrefs=[texref])
        return out.tolist()

    assert read() == [4, 2]
    texref.set_filter_mode(drv.filter_mode.LINEAR)
    assert read() == [3, 2]
    texref.set_address_mode(0, drv.address_mode.BORDER)
    assert read() == [3, 0]
    texref.set_flags(drv.TRSF_NORMALIZED_COORDINATES)
    texref.set_address_mode(0, drv.address_mode.WRAP)
    assert read() == [3, 3]
    drv.Context.synchronize()


class Flag:
    """A word of host memory that the kernel `waits` polls; set after a while by another thread, and at the
    end of the with block."""

    def __init__(self):
        self.memory = drv.pagelocked_zeros(1, np.int32, mem_flags=drv.host_alloc_flags.DEVICEMAP)
        self.device = np.intp(self.memory.base.get_device_pointer())
        self.was_set, self.timer = False, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.timer:
            self.timer.cancel()
            self.timer.join()
        self.set()

    def set_after(self, seconds):
        self.timer = threading.Timer(seconds, self.set)
        self.timer.daemon = True
        self.timer.start()

    def set(self):
        self.was_set = True
        self.memory[0] = 1


@pytest.fixture
def streams(module):
    """Two non-blocking streams. The kernels have run once, since a first launch may wait for other work."""
    flag, out = Flag(), Output()
    flag.set()
    bound(module, "a", 0)
    for name, given in (("waits", [flag.device, out.array]), ("first", [out.array])):
        module.get_function(name)(*given, block=(N, 1, 1))
    drv.Context.synchronize()
    return drv.Stream(drv.stream_flags.NON_BLOCKING), drv.Stream(drv.stream_flags.NON_BLOCKING)


def test_a_handle_is_not_replaced_while_another_stream_reads_it(module, streams):
    """A launch after a new binding waits for the kernel in the other stream that still reads the old one."""
    early, late = Output(), Output()
    bound(module, "a", 1)
    after = gpuarray.to_gpu(np.full(N, 2, np.int32))
    waits, first = module.get_function("waits"), module.get_function("first")
    drv.Context.synchronize()
    with Flag() as flag:
        waits(flag.device, early.array, block=(N, 1, 1), stream=streams[0])
        flag.set_after(0.2)
        after.bind_to_texref_ext(module.get_texref("a"))
        first(late.array, block=(N, 1, 1), stream=streams[1])
        assert flag.was_set  # the launch waited for the kernel, which waits for the flag
        drv.Context.synchronize()
    assert early == 1 and late == 2


def test_a_handle_is_written_before_another_stream_reads_it(module, streams):
    """The first launch queues the write of the handle in a held stream; the second one, in another stream,
    waits for it."""
    one, two, unread = Output(), Output(), Output()
    other, first = SourceModule(SOURCE), module.get_function("first")
    waits = other.get_function("waits")
    bound(other, "a", 9)
    bound(module, "a", 5)
    drv.Context.synchronize()
    with Flag() as flag:
        waits(flag.device, unread.array, block=(N, 1, 1), stream=streams[0])
        flag.set_after(0.2)
        first(one.array, block=(N, 1, 1), stream=streams[0])
        first(two.array, block=(N, 1, 1), stream=streams[1])
        assert (
            flag.was_set
        )  # the launch waited for the write, which comes after the kernel that waits for the flag
        drv.Context.synchronize()
    assert one == 5 and two == 5


def test_streams_that_only_read_do_not_wait(module, streams):
    out = Output()
    bound(module, "a", 5)
    waits, first = module.get_function("waits"), module.get_function("first")
    for stream in streams:
        first(out.array, block=(N, 1, 1), stream=stream)
        drv.Context.synchronize()
    with Flag() as flag:
        waits(flag.device, out.array, block=(N, 1, 1), stream=streams[0])
        flag.set_after(20)
        first(out.array, block=(N, 1, 1), stream=streams[1])
        streams[1].synchronize()
        ran_meanwhile = not flag.was_set
        flag.set()
        drv.Context.synchronize()
    assert ran_meanwhile and out == 5


@pytest.mark.parametrize("prepared", [False, True])
def test_a_pool_reuses_bound_memory_after_the_launch_that_reads_it(module, streams, prepared):
    """The pool learns that the launch uses the memory, although it is no argument."""
    pool, out = DeviceMemoryPool(), Output()
    array = gpuarray.GPUArray(N, np.int32, allocator=pool.allocate)
    array.set(np.full(N, 3, np.int32))
    array.bind_to_texref_ext(module.get_texref("a"))
    waits = module.get_function("waits")
    drv.Context.synchronize()
    with Flag() as flag:
        if prepared:
            waits.prepare("PP").prepared_async_call(
                (1, 1), (N, 1, 1), streams[0], flag.device, out.array.gpudata
            )
        else:
            waits(flag.device, out.array, block=(N, 1, 1), stream=streams[0])
        flag.set_after(0.2)
        array.gpudata.free()
        again = pool.allocate(array.nbytes)
        drv.memset_d32(again, 4, N)
        drv.Context.synchronize()
    assert out == 3
    del array, again
    pool.stop_holding()


def test_two_modules_of_one_source_have_their_own_references():
    one, two = SourceModule(SOURCE), SourceModule(SOURCE)
    bound(one, "a", 1)
    bound(two, "a", 2)
    outs = Output(), Output()
    one.get_function("first")(outs[0].array, block=(N, 1, 1))
    two.get_function("first")(outs[1].array, block=(N, 1, 1))
    assert outs[0] == 1 and outs[1] == 2


def test_a_failed_launch_leaves_the_binding(module):
    texref, out = bound(module, "a", 9), Output()
    with pytest.raises(drv.LogicError):
        module.get_function("first")(out.array, block=(4096, 1, 1), texrefs=[texref])
    module.get_function("first")(out.array, block=(N, 1, 1), texrefs=[texref])
    assert out == 9


def test_kernels_without_textures(module):
    module.get_texref("a")
    out = Output()
    module.get_function("plain")(out.array, block=(N, 1, 1))
    assert out == 7


def test_threads(module):
    """Launches of several threads, each in its own stream, share the references."""
    bound(module, "a", 1)
    bound(module, "b", 2)
    context, outs = drv.Context.get_current(), [Output() for _ in range(4)]
    call, problems = module.get_function("sum"), []
    drv.Context.synchronize()

    def work(out):
        context.push()
        try:
            stream = drv.Stream()
            for _ in range(20):
                call(out.array, block=(N, 1, 1), stream=stream)
            stream.synchronize()
        except Exception as problem:
            problems.append(problem)
        finally:
            context.pop()

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and all(out == 3 for out in outs)
