"""First versions of driver functions, without the suffix _v2, by their exported names: those with addresses
of 32 bits (before CUDA 3.2), and others. The results are those of NVIDIA's driver (580)."""

import ctypes
from ctypes import byref, c_int, c_uint, c_void_p

import pytest

import pycuda.driver as drv

SUCCESS, INVALID_VALUE, INVALID_CONTEXT, NOT_FOUND, PRIMARY_CONTEXT_ACTIVE = 0, 1, 201, 500, 708
EMPTY_KERNEL = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


def test_calls_with_addresses_of_32_bits_refuse_a_context_of_today(cuda):
    address, total, host = c_uint(), c_uint(), c_void_p()
    assert cuda.cuMemAlloc(byref(address), 64) == INVALID_CONTEXT
    assert cuda.cuMemGetInfo(byref(address), byref(total)) == INVALID_CONTEXT
    assert cuda.cuMemAllocHost(byref(host), 64) == INVALID_CONTEXT
    assert (address.value, total.value, host.value) == (0, 0, None)


@pytest.mark.cpu("the log of the CPU device")
def test_the_log_names_the_function_that_replaces_it(run_python):
    program = """
import ctypes, pycuda.driver as drv
drv.init()
context = drv.Device(0).make_context()
with open("/proc/self/maps") as maps:
    cuda = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libcuda.so" in line))
assert cuda.cuMemcpyHtoD(0, None, 4) == 201  # CUDA_ERROR_INVALID_CONTEXT
context.pop()
"""
    done = run_python(program, env={"PYCUDA_CPU_LOG": "stderr"})
    assert "cuMemcpyHtoD_v2" in done.stderr


def test_total_memory_and_properties(cuda):
    """The total memory is cut off at 32 bits; of CUdevprop 14 integers are written, the one after them is
    not."""
    unwritten = 77
    total, properties = c_uint(), (c_int * 15)(*[unwritten] * 15)
    device = drv.Context.get_device()
    assert cuda.cuDeviceTotalMem(byref(total), 0) == SUCCESS
    assert total.value == min(device.total_memory(), 2**32 - 1)
    assert cuda.cuDeviceGetProperties(properties, 0) == SUCCESS
    assert list(properties) == [
        device.max_threads_per_block,
        *(device.max_block_dim_x, device.max_block_dim_y, device.max_block_dim_z),
        *(device.max_grid_dim_x, device.max_grid_dim_y, device.max_grid_dim_z),
        *(device.max_shared_memory_per_block, device.total_constant_memory, device.warp_size),
        *(device.max_pitch, device.max_registers_per_block, device.clock_rate, device.texture_alignment),
        unwritten,
    ]


def test_flags_of_an_active_primary_context(cuda):
    assert cuda.cuDevicePrimaryCtxSetFlags(0, 0) == PRIMARY_CONTEXT_ACTIVE
    assert cuda.cuDevicePrimaryCtxSetFlags_v2(0, 0) == SUCCESS


def test_modules_without_references(cuda):
    module, reference = drv.module_from_buffer(EMPTY_KERNEL), c_void_p()
    for find in (cuda.cuModuleGetTexRef, cuda.cuModuleGetSurfRef):
        assert find(byref(reference), c_void_p(module.handle), b"x") == NOT_FOUND


def test_arrays_without_planes_and_tiles(cuda):
    description = drv.ArrayDescriptor()
    description.width, description.height, description.num_channels = 64, 32, 1
    description.format = drv.array_format.FLOAT
    array, answer = drv.Array(description), (ctypes.c_ulonglong * 16)()
    handle = c_void_p(array.handle)
    assert cuda.cuArrayGetPlane(answer, handle, 0) == INVALID_VALUE
    assert cuda.cuArrayGetMemoryRequirements(answer, handle, 0) == INVALID_VALUE
    assert cuda.cuArrayGetSparseProperties(answer, handle) == INVALID_VALUE
    assert list(answer) == [0] * 16
