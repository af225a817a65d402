"""A synchronous copy from the host is complete when the call returns, also as non-blocking streams see it."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

SOURCE = """__global__ void take(const int *from, int *to, int n)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) to[i] = from[i]; }"""
N = 1 << 18


def rows(memory, numbers):
    """Copies the numbers by a Memcpy2D, in rows of 4 KiB."""
    copy = drv.Memcpy2D()
    copy.set_src_host(numbers)
    copy.set_dst_device(memory)
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 4 << 10
    copy.height = N >> 10
    copy(aligned=True)


COPIES = {
    "memcpy_htod": drv.memcpy_htod,
    "set": lambda memory, numbers: gpuarray.GPUArray(N, np.int32, gpudata=memory).set(numbers),
    "rows": rows,
}


@pytest.mark.parametrize("name", COPIES)
def test_a_non_blocking_stream_sees_the_whole_copy_once_the_call_has_returned(name):
    """Without a wait in the call, a kernel on an H100 read old numbers in 256 of 400 rounds."""
    take, stream = SourceModule(SOURCE).get_function("take"), drv.Stream(drv.stream_flags.NON_BLOCKING)
    memory, out = drv.mem_alloc(4 * N), drv.mem_alloc(4 * N)
    for number in range(30):
        COPIES[name](memory, np.full(N, number, np.int32))
        take(memory, out, np.int32(N), block=(256, 1, 1), grid=(N // 256, 1), stream=stream)
        stream.synchronize()
        assert (drv.from_device(out, N, np.int32) == number).all()


# Prints for each copy whether it waited for the stream: twice, with `begin` in between.
PROGRAM = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray

calls = drv._driver._fault_count

class Foreign:
    def __init__(self, handle):
        self.handle = handle
    def __cuda_stream__(self):
        return 0, self.handle

memory = drv.mem_alloc(1 << 20)
small, large = np.zeros(64, np.int32), np.zeros(1 << 18, np.int32)

def waits(call):
    before = calls("cuStreamSynchronize")
    call()
    return calls("cuStreamSynchronize") - before

copies = [
    lambda: drv.memcpy_htod(memory, small),
    lambda: drv.to_device(small),
    lambda: gpuarray.to_gpu(small),
    lambda: drv.memcpy_htod(memory, large),
    lambda: drv.memcpy_dtoh(small, memory),
]
print([waits(copy) for copy in copies])
{begin}
print([waits(copy) for copy in copies])
"""
# Where a non-blocking stream comes from: pycuda makes one; another library's stream might be one.
BEGIN = {
    "a stream": "stream = drv.Stream(drv.stream_flags.NON_BLOCKING)",
    "of another library": "other = drv.Stream(); drv.memset_d32_async(memory, 0, 64, Foreign(other.handle))",
}


@pytest.mark.parametrize("begin", BEGIN)
def test_small_copies_wait_only_where_there_are_non_blocking_streams(run_python, begin):
    done = run_python(PROGRAM.format(begin=BEGIN[begin]), env={"PYCUDA_FAULT_CALL": "0"}, check=True)
    assert done.stdout.splitlines() == ["[0, 0, 0, 1, 0]", "[1, 1, 1, 1, 0]"]
