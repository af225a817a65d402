"""The output of printf() and the message of a failed assert() in kernels. The programs run in their own
processes, as neither is written through Python's sys.stdout."""

PRINTF = r"""
import numpy as np, pycuda.driver as drv
from pycuda.compiler import SourceModule
hello = SourceModule('''
#include <stdio.h>
__global__ void hello(float x)
{
    if (threadIdx.x == 0)
        printf("%d %5d|%-5d|%05d %u %x %#o %c %s %%\\n", -3, 42, 42, 42, 7u, 255, 8, 'c', "text");
    if (threadIdx.x == 1)
        printf("%f %.2f %e %g %lld %llu %p\\n", x, (double)x, 1e10, 0.5, -5000000000ll,
               18446744073709551615ull, (void *)0x10);
}
''').get_function("hello")
hello(np.float32(1.5), block=(2, 1, 1))
drv.Context.synchronize()
"""

ASSERT = r"""
import numpy as np, pycuda.driver as drv
from pycuda.compiler import SourceModule
check = SourceModule('''
#include <assert.h>
__global__ void check(int n)
{
    assert(threadIdx.x < n);
}
''').get_function("check")
check(np.int32(64), block=(64, 1, 1))
drv.Context.synchronize()
print("held")
try:
    check(np.int32(63), block=(64, 1, 1))
    drv.Context.synchronize()
except drv.LaunchError as error:
    print(error.code, error.name)
"""


def test_printf(run_python):
    done = run_python(PRINTF, check=True)
    assert sorted(done.stdout.splitlines()) == sorted(
        [
            "-3    42|42   |00042 7 ff 010 c text %",
            "1.500000 1.50 1.000000e+10 0.5 -5000000000 18446744073709551615 0x10",
        ]
    )
    assert done.stderr == ""


def test_assert(run_python):
    done = run_python(ASSERT, check=True)
    assert done.stdout.split() == ["held", "710", "CUDA_ERROR_ASSERT"]
    assert "Assertion `threadIdx.x < n` failed" in done.stderr
    assert "block: [0,0,0], thread: [63,0,0]" in done.stderr
