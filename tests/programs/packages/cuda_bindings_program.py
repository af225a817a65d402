"""cuda.bindings: NVRTC's PTX, loaded and launched by the driver's calls; a captured graph."""

import numpy as np
from cuda.bindings import driver, nvrtc

SOURCE = b'extern "C" __global__ void twice(float *a, int n) { int i = threadIdx.x; if (i < n) a[i] *= 2; }'


def ok(result):
    error, *values = result
    assert error == type(error)(0), error
    return values[0] if len(values) == 1 else values


ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
context = ok(driver.cuDevicePrimaryCtxRetain(device))
ok(driver.cuCtxSetCurrent(context))

program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"twice.cu", 0, [], []))
ok(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"]))
ptx = b" " * ok(nvrtc.nvrtcGetPTXSize(program))
ok(nvrtc.nvrtcGetPTX(program, ptx))
module = ok(driver.cuModuleLoadData(np.char.array(ptx).ctypes.data))
kernel = ok(driver.cuModuleGetFunction(module, b"twice"))

host = np.arange(100, dtype=np.float32)
memory = ok(driver.cuMemAlloc(host.nbytes))
stream = ok(driver.cuStreamCreate(0))
pointer, count = np.array([int(memory)], np.uint64), np.array([100], np.int32)
arguments = np.array([pointer.ctypes.data, count.ctypes.data], np.uint64)
ok(driver.cuMemcpyHtoD(memory, host.ctypes.data, host.nbytes))
ok(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, stream, arguments.ctypes.data, 0))
graph = ok(driver.cuGraphInstantiate(ok(driver.cuStreamEndCapture(stream)), 0))
for _ in range(3):
    ok(driver.cuGraphLaunch(graph, stream))
ok(driver.cuStreamSynchronize(stream))
out = np.empty_like(host)
ok(driver.cuMemcpyDtoH(out.ctypes.data, memory, out.nbytes))
assert (out == 8 * host).all()
print("done")
