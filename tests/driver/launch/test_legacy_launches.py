"""The driver's launch interface from before cuLaunchKernel: a function's shape, shared memory and parameters
are set by calls and stay set."""

import ctypes
from ctypes import byref, c_float, c_ulonglong, c_void_p

import numpy as np
import pytest

import pycuda.driver as drv

SUCCESS, INVALID_VALUE, OUT_OF_RESOURCES = 0, 1, 701
CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED = 900, 901
MODULE = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry report(.param .u64 out, .param .u32 number, .param .f32 real)
{
    .reg .b64 %d<2>; .reg .b32 %r<10>; .reg .f32 %f<2>;
    ld.param.u64 %d1, [out]; ld.param.u32 %r1, [number]; ld.param.f32 %f1, [real];
    mov.u32 %r2, %ntid.x; mov.u32 %r3, %ntid.y; mov.u32 %r4, %ntid.z;
    mov.u32 %r5, %nctaid.x; mov.u32 %r6, %nctaid.y; mov.u32 %r7, %nctaid.z;
    mov.u32 %r8, %dynamic_smem_size;
    st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r8};
    st.global.v4.u32 [%d1+16], {%r5, %r6, %r7, %r1};
    st.global.f32 [%d1+32], %f1;
    ret;
}
.visible .entry nothing() { ret; }
"""


class Function:
    """A kernel through the old interface: f.cuName(...) calls cuName with the function's handle first."""

    def __init__(self, cuda, kernel):
        self.cuda, self.handle = cuda, c_void_p(kernel.handle)

    def __getattr__(self, name):
        return lambda *arguments: getattr(self.cuda, name)(self.handle, *arguments)

    def set_all(self, out, number, real):
        """A block of (32, 2, 1), 128 bytes of shared memory, and the three parameters of `report`."""
        assert self.cuFuncSetBlockShape(32, 2, 1) == SUCCESS
        assert self.cuFuncSetSharedSize(128) == SUCCESS
        assert self.cuParamSetv(0, byref(c_ulonglong(int(out))), 8) == SUCCESS
        assert self.cuParamSeti(8, number) == SUCCESS
        assert self.cuParamSetf(12, c_float(real)) == SUCCESS
        assert self.cuParamSetSize(16) == SUCCESS


@pytest.fixture
def module(primary_context):
    return drv.module_from_buffer(MODULE)


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


@pytest.fixture
def function(cuda, module):
    return Function(cuda, module.get_function("report"))


@pytest.fixture
def out():
    memory = drv.mem_alloc(64)
    drv.memset_d32(memory, 0, 16)
    return memory


def words_of(out):
    """What `report` wrote: the block, shared memory, the grid and the two numbers; sets it to 0."""
    words = np.empty(9, np.uint32)
    drv.memcpy_dtoh(words, out)
    drv.memset_d32(out, 0, 16)
    return *words[:8].tolist(), float(words[8:].view(np.float32)[0])


def test_settings_stay_from_launch_to_launch(function, out):
    function.set_all(out, 7, 2.5)
    assert function.cuLaunchGrid(3, 2) == SUCCESS
    assert words_of(out) == (32, 2, 1, 128, 3, 2, 1, 7, 2.5)
    assert function.cuLaunch() == SUCCESS
    assert words_of(out) == (32, 2, 1, 128, 1, 1, 1, 7, 2.5)
    assert function.cuParamSeti(8, 8) == SUCCESS
    assert function.cuFuncSetSharedSize(0) == SUCCESS
    assert function.cuLaunchGrid(2, 2) == SUCCESS
    assert words_of(out) == (32, 2, 1, 0, 2, 2, 1, 8, 2.5)


def test_in_a_stream(function, out):
    stream = drv.Stream()
    function.set_all(out, 9, -1.5)
    assert function.cuLaunchGridAsync(5, 1, c_void_p(stream.handle)) == SUCCESS
    stream.synchronize()
    assert words_of(out) == (32, 2, 1, 128, 5, 1, 1, 9, -1.5)


def test_each_function_has_its_own_settings(cuda, module, function, out):
    other = Function(cuda, module.get_function("nothing"))
    function.set_all(out, 7, 2.5)
    assert other.cuFuncSetBlockShape(1, 1, 1) == SUCCESS
    assert other.cuLaunch() == SUCCESS
    assert function.cuLaunch() == SUCCESS
    assert words_of(out)[:4] == (32, 2, 1, 128)


def test_a_function_begins_with_one_thread_and_no_parameters(cuda, module, function, out):
    other = Function(cuda, module.get_function("nothing"))
    assert other.cuLaunch() == SUCCESS
    drv.Context.synchronize()
    function.set_all(out, 7, 2.5)
    assert function.cuFuncSetBlockShape(1, 1, 1) == SUCCESS
    for size, words in ((12, (7,)), (8, ()), (16, (7, 2.5))):  # parameters beyond the size are undefined
        assert function.cuParamSetSize(size) == SUCCESS
        assert function.cuLaunch() == SUCCESS
        assert words_of(out)[: 7 + len(words)] == (1, 1, 1, 128, 1, 1, 1, *words)


def test_sizes_beyond_the_parameters(function, out):
    function.set_all(out, 7, 2.5)
    assert function.cuParamSetSize(40000) == INVALID_VALUE
    assert function.cuLaunch() == SUCCESS
    assert function.cuParamSetSize(64) == SUCCESS
    assert function.cuLaunch() == OUT_OF_RESOURCES
    assert function.cuParamSetSize(16) == SUCCESS
    assert function.cuLaunch() == SUCCESS
    assert words_of(out) == (32, 2, 1, 128, 1, 1, 1, 7, 2.5)


@pytest.mark.parametrize("shape", [(0, 1, 1), (-1, 1, 1), (1, 0, 1), (1025, 1, 1), (1024, 2, 1), (1, 1, 65)])
def test_a_wrong_block_is_refused_and_the_old_one_stays(function, out, shape):
    function.set_all(out, 7, 2.5)
    assert function.cuFuncSetBlockShape(*shape) == INVALID_VALUE
    assert function.cuLaunch() == SUCCESS
    assert words_of(out) == (32, 2, 1, 128, 1, 1, 1, 7, 2.5)


def test_too_much_shared_memory_is_refused_and_the_old_size_stays(function, out):
    function.set_all(out, 7, 2.5)
    for size in (49153, 2**31, 2**32 - 1):
        assert function.cuFuncSetSharedSize(size) == INVALID_VALUE
    assert function.cuLaunch() == SUCCESS
    assert words_of(out) == (32, 2, 1, 128, 1, 1, 1, 7, 2.5)


def test_wrong_grids_launch_nothing(function, out):
    function.set_all(out, 7, 2.5)
    for grid in ((0, 1), (1, 0), (-1, 1), (1, 65536)):
        assert function.cuLaunchGrid(*grid) == INVALID_VALUE
    drv.Context.synchronize()
    assert words_of(out) == (0,) * 8 + (0.0,)


def test_parameters_beyond_those_of_the_kernel_are_ignored(function, out):
    function.set_all(out, 7, 2.5)
    for offset in (16, 1000, 4352):
        assert function.cuParamSeti(offset, 1) == SUCCESS
    assert function.cuParamSeti(32764, 1) == INVALID_VALUE
    assert function.cuLaunch() == SUCCESS
    assert words_of(out) == (32, 2, 1, 128, 1, 1, 1, 7, 2.5)


@pytest.mark.cpu("a GPU's driver crashes")
def test_negative_offsets_and_null_values_are_refused(function):
    assert function.cuParamSeti(-4, 1) == INVALID_VALUE
    assert function.cuParamSetv(0, None, 8) == INVALID_VALUE


def test_old_launches_cannot_be_captured(function, out):
    stream, graph = drv.Stream(1), c_void_p()
    function.set_all(out, 7, 2.5)
    handle = c_void_p(stream.handle)
    assert function.cuda.cuStreamBeginCapture_v2(handle, 0) == SUCCESS
    assert function.cuLaunchGridAsync(1, 1, handle) == CAPTURE_UNSUPPORTED
    assert function.cuda.cuStreamEndCapture(handle, byref(graph)) == CAPTURE_INVALIDATED
