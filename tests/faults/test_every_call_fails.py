"""Every driver call of a few programs fails once: the program raises or its result is right, nothing is
leaked, and it can go on.
"""

import pytest
from devices import on_cpu_device
from faults.one_by_one import CODES

# On a GPU that others use as well, making a context takes seconds.
pytestmark = pytest.mark.timeout(320)

PARTS = '''
import os

import numpy as np

import pycuda.driver as drv
from faults.one_by_one import Failing, in_a_context
from pycuda import gpuarray

N = 100

PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 factor = 1;
.visible .entry twice(.param .u64 out, .param .u64 in, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<7>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra $L_end;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd4, %rd5;
    ld.global.f32 %f1, [%rd6];
    add.f32 %f2, %f1, %f1;
    add.s64 %rd6, %rd3, %rd5;
    st.global.f32 [%rd6], %f2;
$L_end:
    ret;
}
"""

ONES = np.arange(N, dtype=np.float32)


def copies():
    memory, other = drv.to_device(ONES), drv.mem_alloc(ONES.nbytes)
    drv.memcpy_dtod(other, memory, ONES.nbytes)
    drv.memset_d32(memory, 0, N)
    assert (drv.from_device_like(other, ONES) == ONES).all()
    assert (drv.from_device_like(memory, ONES) == 0).all()
    assert len(drv.mem_get_info()) == 2


def asynchronous_copies():
    host, stream = drv.pagelocked_empty(N, np.float32), drv.Stream()
    start, end = drv.Event(), drv.Event()
    memory = drv.mem_alloc(ONES.nbytes)
    host[:] = ONES
    start.record(stream)
    drv.memcpy_htod_async(memory, host, stream)
    drv.memset_d32_async(int(memory), 0, N // 2, stream)
    drv.memcpy_dtoh_async(host, memory, stream)
    end.record(stream)
    stream.wait_for_event(end)
    end.synchronize()
    assert end.query() and stream.is_done() in (True, False) and end.time_since(start) >= 0
    stream.synchronize()
    assert (host[: N // 2] == 0).all() and (host[N // 2 :] == ONES[N // 2 :]).all()


def launches():
    module = drv.module_from_buffer(PTX)
    twice = module.get_function("twice")
    address, size = module.get_global("factor")
    assert address and size == 4 and twice.num_regs >= 0
    out = np.empty_like(ONES)
    twice(drv.Out(out), drv.In(ONES), np.int32(N), block=(32, 1, 1), grid=(4, 1))
    assert (out == 2 * ONES).all()
    both = ONES.copy()
    stream = drv.Stream()
    twice(drv.InOut(both), drv.In(ONES), np.int32(N), block=(64, 1, 1), grid=(2, 1), stream=stream)
    assert (both == 2 * ONES).all()
    seconds = twice(drv.Out(out), drv.In(both), np.int32(N), block=(128, 1, 1), grid=(1, 1), time_kernel=True)
    assert (out == 4 * ONES).all() and seconds >= 0
    twice.prepare("PPi")
    a, b = drv.to_device(ONES), drv.mem_alloc(ONES.nbytes)
    twice.prepared_call((4, 1), (32, 1, 1), b, a, N)
    assert (drv.from_device_like(b, ONES) == 2 * ONES).all()


def pools():
    pool, host_pool = drv.DeviceMemoryPool(), drv.PageLockedMemoryPool()
    first, second = drv.Stream(), drv.Stream()
    host = host_pool.allocate(N, np.float32)
    host[:] = ONES
    block = pool.allocate(ONES.nbytes, first)
    drv.memcpy_htod_async(block, host, first)
    drv.memset_d32_async(block, 0, 1, second)
    block.free()
    block = pool.allocate(ONES.nbytes, second)
    assert pool.held_blocks == 0 and pool.active_blocks == 1
    drv.memcpy_htod_async(block, host, first)
    first.synchronize()
    assert (drv.from_device_like(block, ONES) == ONES).all()
    del block, first
    array = gpuarray.to_gpu(ONES, allocator=pool.allocate)
    assert (array.get() == ONES).all()
    pool.free_held()


def virtual_memory():
    unit = drv.mem_get_allocation_granularity()
    space = drv.AddressRange(2 * unit)
    memory = drv.PhysicalMemory(unit, handle_type=drv.mem_handle_type.POSIX_FILE_DESCRIPTOR)
    space.map(0, memory)
    descriptor = memory.export_fd()
    try:
        space.map(unit, drv.PhysicalMemory.from_fd(descriptor, unit))
    finally:
        os.close(descriptor)
    drv.memset_d32(space, 7, N)
    assert (drv.from_device(space.ptr + unit, N, np.int32) == 7).all()
    space.set_access(space.get_access())
    space.unmap(unit)
    assert space.mappings == [(0, unit)]


class Resource:
    def allocate(self, size, stream):
        return drv.mem_alloc(size)


def pools_of_all_kinds():
    for pool in drv.ManagedMemoryPool(), drv.StreamOrderedMemoryPool(), drv.ExternalMemoryPool(Resource()):
        stream = drv.Stream()
        for _ in range(2):
            block = pool.allocate(ONES.nbytes, stream)
            drv.memset_d32_async(block, 0, N)
            assert (drv.from_device_like(block, ONES) == 0).all()
            block.free()
        pool.trim()
        pool.reset_high()
        assert pool.active_blocks == 0


def arrays():
    array = gpuarray.to_gpu(ONES)
    zeros = gpuarray.zeros((4, 5), np.int32)
    assert (array.get() == ONES).all() and (zeros.get() == 0).all()
    zeros.set(np.ones((4, 5), np.int32))
    assert (zeros.get() == 1).all()


'''

MAIN_PATH = """
def work():
    copies()
    asynchronous_copies()
    launches()
    arrays()
    pools()
    drv.Context.synchronize()

in_a_context(work, code)
"""

POOLS = """
in_a_context(pools_of_all_kinds, code)
"""

VIRTUAL_MEMORY = """
in_a_context(virtual_memory, code)
"""

# Without page-locked memory a pickle has other memory: that failure alone is quiet.
PICKLES = """
import pickle

from pycuda.tools import clear_context_caches

LARGE = np.arange(1 << 17, dtype=np.float32)

def work():
    clear_context_caches()  # the pool of page-locked memory is new
    array = gpuarray.to_gpu(LARGE)
    for _ in range(3):
        buffers = []
        text = pickle.dumps(array, 5, buffer_callback=buffers.append)
        assert (np.frombuffer(buffers[0], np.float32) == LARGE).all()
        array = pickle.loads(text, buffers=buffers)
    assert (array.get() == LARGE).all()
    buffers.clear()
    clear_context_caches()

in_a_context(work, code)
"""

# A program that makes contexts. When a call fails, the local variables in the traceback outlive their
# context.
CONTEXTS = """
def work():
    context = drv.Device(0).make_context()
    try:
        memory, stream, module = drv.to_device(ONES), drv.Stream(), drv.module_from_buffer(PTX)
        block = drv.DeviceMemoryPool().allocate(ONES.nbytes, stream)
        drv.memset_d32_async(block, 0, N, stream)
        context.synchronize()
        with context:
            drv.Event().record()
    finally:
        context.pop()
        context.detach()

drv.init()
print(*Failing(work, code).each_call())
"""


def counts(run_python, program, code):
    """Runs a program in which calls fail with this code. Returns the three numbers of Failing.each_call()."""
    done = run_python(f"{PARTS}\ncode = {code}\n{program}", env={"PYCUDA_FAULT_CALL": "0"}, timeout=300)
    assert done.returncode == 0, done.stderr
    return map(int, done.stdout.split())


# (program, a number below that of its calls)
PROGRAMS = {"main path": (MAIN_PATH, 80), "pools": (POOLS, 40), "virtual memory": (VIRTUAL_MEMORY, 15)}
PROGRAMS["pickles"] = PICKLES, 10
PROGRAMS["contexts"] = CONTEXTS, 20
SLOW_ON_A_GPU = {("contexts", code) for code in CODES if code != "out of memory"}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_call(run_python, name, code):
    if (name, code) in SLOW_ON_A_GPU and not on_cpu_device():
        pytest.skip("a hundred contexts: on a GPU, which makes one after another, with one of the codes only")
    program, min_calls = PROGRAMS[name]
    total, failures, quiet = counts(run_python, program, CODES[code])
    assert total > min_calls
    assert failures > 4 * quiet, "few calls may fail without a report"
