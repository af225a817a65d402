"""PYCUDA_CPU_LOG=stderr: the driver's log on standard error, for programs that do not call
cuLogsDumpToMemory."""

import pytest

pytestmark = pytest.mark.cpu("PYCUDA_CPU_LOG")

# Calls the driver API alone, as a program without pycuda would; the kernel stores to an address without
# memory.
FAULT = """
import ctypes, os
import pycuda
cuda = ctypes.CDLL(os.environ["CPU_DEVICE"])
ptx = b'''.version 7.0
.target sm_50
.address_size 64
.visible .entry astray() { .reg .b64 %a; mov.u64 %a, 64; st.global.u32 [%a], 1; ret; }'''
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuModuleLoadData(ctypes.byref(module), ptx) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"astray") == 0
assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
print(cuda.cuCtxSynchronize())
"""


@pytest.mark.parametrize("log", ["stderr", "", None])
def test_the_text_of_a_fault(run_python, cpu_device_library, log):
    """With stderr the fault is one line there; otherwise nothing is printed."""
    done = run_python(FAULT, env={"PYCUDA_CPU_LOG": log, "CPU_DEVICE": cpu_device_library}, check=True)
    assert done.stdout == "700\n"
    assert ("kernel astray, block (0,0,0), thread (0,0,0)" in done.stderr) is (log == "stderr")
    assert done.stderr.count("\n") == (1 if log == "stderr" else 0)


def test_another_word_is_an_error(run_python):
    source = "import pycuda.driver as drv; drv.init()"
    done = run_python(source, env={"PYCUDA_CPU_LOG": "stdout"})
    assert done.returncode != 0 and 'PYCUDA_CPU_LOG is "stdout": it must be stderr' in done.stderr
