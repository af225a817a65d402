"""Which memory a kernel may access, of other contexts and of other devices; copies between devices.

Each test is a process of its own, with two virtual CPU devices or the machine's first two GPUs.
"""

import pytest

COMMON = '''
import sys

import numpy as np

import pycuda.driver as drv
from devices import on_cpu_device

drv.init()

PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 out, .param .u64 in)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    mov.u32 %r1, %tid.x;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.s32 %r2, [%rd7];
    add.s32 %r2, %r2, 1;
    st.global.s32 [%rd6], %r2;
    ret;
}
"""
N = 64
start = np.arange(N, dtype=np.int32)
first = drv.Device(0).make_context()
ours = drv.mem_alloc(start.nbytes)
add = drv.module_from_buffer(PTX).get_function("add")
shape = dict(block=(N, 1, 1))


def expect_fault(*arguments):
    """Runs add, which must fail with an illegal address; prints the error, or "no error"."""
    try:
        add(*arguments, **shape)
        drv.Context.synchronize()
    except drv.LaunchError as problem:
        assert problem.name == "CUDA_ERROR_ILLEGAL_ADDRESS", problem
        print(problem)
    else:
        print("no error")


def name_of(call):
    """The name of the error that the call raises; None without one."""
    try:
        call()
    except drv.LogicError as problem:
        return problem.name
'''

# Memory `theirs` in a context of a second device; "one device" where there is none.
TWO = """
if drv.Device.count() < 2:
    print("one device")
    sys.exit()
second = drv.Device(1).make_context()
theirs = drv.to_device(start)
second.pop()
"""


def output_of(run_python, program):
    """Runs COMMON and the program with two virtual devices; returns stdout."""
    done = run_python(COMMON + program, env={"PYCUDA_CPU_DEVICES": "2"})
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.fixture
def one_device(run_python):
    return lambda program: output_of(run_python, program)


@pytest.fixture
def two_devices(run_python):
    def run(program):
        output = output_of(run_python, TWO + program)
        if output == "one device\n":
            pytest.skip("needs two GPUs")
        return output

    return run


@pytest.mark.parametrize("arguments", ["ours, theirs", "theirs, ours"], ids=["reads", "writes"])
def test_memory_of_another_device_is_a_fault_without_peer_access(two_devices, arguments):
    """The fault ends the context of the kernel; on the CPU device the other one works."""
    output = two_devices(
        f"""
assert first.get_device().can_access_peer(drv.Device(1))
expect_fault({arguments})
if on_cpu_device():  # on a GPU both contexts are lost
    with second:
        assert (drv.from_device(theirs, N, np.int32) == start).all()
        second.synchronize()
"""
    )
    assert "no error" not in output and "failed: " in output
    if "kernel add" in output:
        assert "it belongs to another device, to which peer access is not enabled" in output


@pytest.mark.parametrize("given", ["elsewhere", "np.uint64(int(elsewhere))"], ids=["object", "address"])
def test_memory_of_another_context_of_the_device_is_accessible(one_device, given):
    """Until that context is destroyed."""
    output = one_device(
        f"""
other = drv.Device(0).make_context()
elsewhere = drv.to_device(3 * start)
other.synchronize()  # a small copy may return before the data has arrived
other.pop()
add(ours, {given}, **shape)
assert (drv.from_device(ours, N, np.int32) == 3 * start + 1).all()
add({given}, ours, **shape)
first.synchronize()
with other:
    print((drv.from_device(elsewhere, N, np.int32) == 3 * start + 2).all())
other.detach()
try:
    add(ours, elsewhere, **shape)
except drv.LogicError as problem:
    print(problem)
"""
    )
    assert output == "True\nargument 1 of kernel 'add': the memory was freed with its context\n"


def test_peer_access_to_the_own_device(one_device):
    """Neither the context itself nor another one of its device is a peer."""
    output = one_device(
        """
other = drv.Device(0).make_context()
other.pop()
for peer in (first, other):
    assert name_of(lambda: first.enable_peer_access(peer)) == "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"
assert name_of(lambda: first.disable_peer_access(first)) == "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"
print("done")
"""
    )
    assert output == "done\n"


def test_enable_and_disable(two_devices):
    """Access is enabled in one direction. Enabling it twice and disabling what is not enabled are errors."""
    output = two_devices(
        """
if not drv.Device(0).can_access_peer(drv.Device(1)):
    print("one device")
    sys.exit()
assert name_of(lambda: first.disable_peer_access(second)) == "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"
first.enable_peer_access(second)
assert name_of(lambda: first.enable_peer_access(second)) == "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"
add(ours, theirs, **shape)
add(theirs, ours, **shape)
drv.Context.synchronize()
assert (drv.from_device(ours, N, np.int32) == start + 1).all()
with second:
    assert (drv.from_device(theirs, N, np.int32) == start + 2).all()
    add = drv.module_from_buffer(PTX).get_function("add")
    expect_fault(theirs, ours)
second.detach()
if on_cpu_device():  # on a GPU both contexts are lost
    assert (drv.from_device(ours, N, np.int32) == start + 1).all()
"""
    )
    assert "no error" not in output and "failed: " in output


def test_access_after_disabling_is_a_fault(two_devices):
    output = two_devices(
        """
if not drv.Device(0).can_access_peer(drv.Device(1)):
    print("one device")
    sys.exit()
first.enable_peer_access(second)
add(ours, theirs, **shape)
drv.Context.synchronize()
first.disable_peer_access(second)
expect_fault(ours, theirs)
"""
    )
    assert "no error" not in output and "failed: " in output


def test_portable_host_and_managed_memory_is_accessible_from_all_devices(two_devices):
    output = two_devices(
        """
with second:
    flags = drv.host_alloc_flags
    host = drv.pagelocked_empty(N, np.int32, mem_flags=flags.PORTABLE | flags.DEVICEMAP)
    managed = drv.managed_empty(N, np.int32, mem_flags=drv.mem_attach_flags.GLOBAL)
host[:] = managed[:] = start
for array in (host, managed):
    add(ours, np.uint64(array.base.get_device_pointer()), **shape)
    drv.Context.synchronize()
    print((drv.from_device(ours, N, np.int32) == start + 1).all())
"""
    )
    assert output == "True\nTrue\n"


def test_copies_need_no_peer_access(two_devices):
    """memcpy_peer, its asynchronous form, memcpy_dtod and Memcpy3DPeer, in both directions."""
    output = two_devices(
        """
stream = drv.Stream()
drv.memcpy_peer(ours, theirs, start.nbytes, first, second)
assert (drv.from_device(ours, N, np.int32) == start).all()
add(ours, ours, **shape)
drv.memcpy_peer_async(theirs, ours, start.nbytes, dest_context=second, src_context=first, stream=None)
drv.Context.synchronize()
with second:
    assert (drv.from_device(theirs, N, np.int32) == start + 1).all()
    drv.memset_d32(theirs, 5, N)
    second.synchronize()
drv.memcpy_dtod_async(ours, theirs, start.nbytes, stream)
stream.synchronize()
assert (drv.from_device(ours, N, np.int32) == 5).all()
copy = drv.Memcpy3DPeer()
copy.set_src_device(ours)
copy.set_src_context(first)
copy.set_dst_device(theirs)
copy.set_dst_context(second)
copy.src_pitch, copy.dst_pitch, copy.src_height, copy.dst_height = 64, 32, 4, 8
copy.width_in_bytes, copy.height, copy.depth = 32, 4, 1
drv.memset_d32(ours, 6, N)
copy()
drv.Context.synchronize()
with second:
    values = drv.from_device(theirs, N, np.int32)
assert set(values[:32]) == {6} and set(values[32:]) == {5}
try:
    drv.memcpy_peer(ours, theirs, start.nbytes + 1000_000, first, second)
except (ValueError, drv.LogicError) as problem:
    print("fine")
"""
    )
    assert output == "fine\n"
