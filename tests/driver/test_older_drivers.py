"""The CPU device poses as older drivers: the paths for them work, and a call of a function that they lack
raises an error that names the version needed. `make older` runs all tests of this folder with such
versions."""

import pytest

import pycuda.driver as drv

VERSIONS = [11040, 12000, 12040]

PROGRAM = '''
import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

VERSION = @VERSION@
N = 100
drv.init()
assert drv.get_driver_version() == VERSION

# Memory, copies and fills of every kind.
values = np.arange(N, dtype=np.float32)
memory, other, stream = drv.to_device(values), drv.mem_alloc(4 * N), drv.Stream()
host, managed = drv.pagelocked_zeros(N, np.float32), drv.managed_zeros(N, np.float32)
drv.memcpy_dtod_async(other, memory, 4 * N, stream)
drv.memcpy_dtoh_async(host, other, stream)
start, end = drv.Event().record(stream), drv.Event().record(stream)
stream.synchronize()
assert (host == values).all() and end.time_since(start) >= 0
drv.memset_d32(other, 0, N)
copy = drv.Memcpy2D()
copy.set_src_host(values)
copy.set_dst_device(other)
copy.src_pitch = copy.dst_pitch = copy.width_in_bytes = 40
copy.height = 10
copy(aligned=True)
assert (drv.from_device_like(other, values) == values).all()
array = drv.np_to_array(values.reshape(10, 10), "C")
assert array.get_descriptor_3d().width == 10

# Code: compiled, loaded, linked, launched in every way.
module = SourceModule("""
__constant__ float factor = 3;
__global__ void scale(float *a, int n, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= by * factor;
}
""")
scale = module.get_function("scale")
shape = dict(block=(32, 1, 1), grid=(4, 1))
scale(memory, np.int32(N), np.float32(2), **shape)
assert (drv.from_device_like(memory, values) == 6 * values).all()
scale(drv.InOut(host), np.int32(N), np.float32(1), stream=stream, **shape)
assert (host == 3 * values).all()
managed[:] = values
scale(managed, np.int32(N), np.float32(1), **shape)
drv.Context.synchronize()
assert (managed == 3 * values).all()
assert scale.prepare("Pif").prepared_timed_call((4, 1), (32, 1, 1), memory, N, 0.5)() >= 0
assert scale.num_regs > 0 and scale.get_attribute(drv.function_attribute.MAX_THREADS_PER_BLOCK) > 0
assert (gpuarray.to_gpu(values).get() == values).all()

# Contexts, devices, attributes, limits.
context = drv.Device(0).make_context()
assert context.get_api_version() >= 3010 and drv.Context.get_limit(drv.limit.STACK_SIZE) > 0
drv.Context.pop()
context.detach()
assert len(drv.Device(0).get_attributes()) > 50

# Faults are reported as far as that driver can.
with drv.Device(0).make_context() as broken:
    bad = SourceModule("__global__ void reader(int *a) { a[0] = a[-100000]; }").get_function("reader")
    try:
        bad(np.intp(64), block=(1, 1, 1))
        drv.Context.synchronize()
    except drv.LaunchError as problem:
        assert problem.name == "CUDA_ERROR_ILLEGAL_ADDRESS"
broken.detach()

# From CUDA 12.4 on the number of arguments is checked; 11.4 has no launch attributes, which 12.0 has.
counted = VERSION >= 12040
try:
    if counted:
        scale(memory, **shape)
    else:
        scale(memory, np.int32(N), np.float32(2), cooperative=True, **shape)
except TypeError as problem:
    assert counted and "takes 3 arguments" in str(problem), problem
except drv.LogicError as problem:
    text = "this driver (CUDA 11.4) has no cuLaunchKernelEx, which came with CUDA 11.6"
    assert VERSION == 11040 and text in str(problem), problem
else:
    assert VERSION == 12000
drv.Context.synchronize()
print("fine")
'''


@pytest.mark.parametrize("version", VERSIONS)
def test_everyday_work(run_python, version):
    done = run_python(
        PROGRAM.replace("@VERSION@", str(version)),
        env={"PYCUDA_DEVICE": "cpu", "PYCUDA_CPU_DRIVER_VERSION": str(version)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


@pytest.mark.parametrize(
    ("version", "call", "missing"),
    [
        (10020, "drv._driver.mem_alloc(4); drv.Stream(); s.wait_for_event(drv.Event())", None),
        (
            11040,
            "f(np.intp(0), block=(1, 1, 1), cluster=(1, 1, 1))",
            "cuLaunchKernelEx, which came with CUDA 11.6",
        ),
    ],
)
def test_a_missing_function_is_named(run_python, version, call, missing):
    """The error has the function and the version that brought it; missing: None if that driver has all."""
    done = run_python(
        f"""
        import numpy as np
        import pycuda.driver as drv
        s = drv.Stream()
        f = drv.module_from_buffer(
            b".version 6.3 .target sm_50 .address_size 64 .visible .entry f(.param .u64 a) {{ ret; }}"
        ).get_function("f")
        try:
            {call}
        except drv.Error as problem:
            print(problem)
        """,
        env={"PYCUDA_DEVICE": "cpu", "PYCUDA_CPU_DRIVER_VERSION": str(version)},
        check=True,
    )
    assert done.stderr == ""
    if missing:
        assert missing in done.stdout
    else:
        assert done.stdout == ""


@pytest.mark.skipif(drv.get_driver_version() < 13000, reason="this run poses as an older driver already")
def test_newer_ptx_is_refused_by_name(run_python):
    done = run_python(
        """
        import pycuda.driver as drv
        try:
            drv.module_from_buffer(b".version 8.7 .target sm_50 .address_size 64 .entry f() { ret; }")
        except drv.Error as problem:
            print(problem.name, problem)
        """,
        env={"PYCUDA_DEVICE": "cpu", "PYCUDA_CPU_DRIVER_VERSION": "12040"},
        check=True,
    )
    assert done.stdout.startswith("CUDA_ERROR_UNSUPPORTED_PTX_VERSION") and "8.4" in done.stdout
