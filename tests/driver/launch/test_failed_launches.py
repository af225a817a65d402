"""The exception of a launch that fails names the kernel's arguments."""

import re

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda._compile import signatures
from pycuda.compiler import SourceModule
from pycuda.compiler import compile as compile_source

pytestmark = pytest.mark.usefixtures("primary_context")

SOURCE = """
__global__ void scale(float *x, const int n, double factor) { x[n] = factor; }
__global__ void others(float **parts, int *memory, float *copy, float2 pair, bool flag, int *plain) { }
"""
TOO_LARGE = (100_000, 1, 1)


@pytest.fixture(scope="module")
def module():
    return SourceModule(SOURCE)


def refused(launch):
    """The text of the error of a launch whose block is too large."""
    with pytest.raises(drv.LogicError) as caught:
        launch()
    assert caught.value.routine == "cuLaunchKernel" and caught.value.code == 1
    return str(caught.value)


def test_names_types_and_values(module):
    scale = module.get_function("scale")
    x = gpuarray.zeros((3, 4), np.float32)
    text = refused(lambda: scale(x, np.int32(5), np.float64(2.5), block=TOO_LARGE))
    assert "kernel 'scale'" in text and "the block is 100000 in x" in text
    assert text.endswith(
        f" - arguments: x = float32 array (3, 4) at {x.ptr:#x}; n = int32 5; factor = float64 2.5"
    )
    view = x[::2, ::-1]
    text = refused(lambda: scale(view, np.int32(-5), np.float64(0), block=TOO_LARGE))
    assert f"x = float32 array (2, 4) at {view.ptr:#x}, strides (32, -4); n = int32 -5" in text


@pytest.mark.parametrize("call", ["prepared_call", "prepared_async_call", "prepared_timed_call"])
def test_prepared_calls(module, call):
    scale = module.get_function("scale").prepare("Pid")
    x = gpuarray.zeros(7, np.float32)
    front = ((1, 1), TOO_LARGE, drv.Stream()) if call == "prepared_async_call" else ((1, 1), TOO_LARGE)
    text = refused(lambda: getattr(scale, call)(*front, x, 5, 2.5))
    assert text.endswith(f" - arguments: x = float32 array (7) at {x.ptr:#x}; n = 5; factor = 2.5")


def test_arguments_of_other_kinds(module):
    parts = [gpuarray.zeros(2, np.float32) for _ in range(3)]
    memory, host = drv.mem_alloc(100), np.zeros((2, 5), np.float32)
    pair = gpuarray.vec.make_float2(1, 2)
    kernel = module.get_function("others")
    text = refused(
        lambda: kernel(parts, memory, drv.InOut(host), pair, np.bool_(True), np.uint64(0), block=TOO_LARGE)
    )
    described = text.partition(" - arguments: ")[2].split("; ")
    assert described[0] == f"parts = list of 3 arrays: float32 array (2) at {parts[0].ptr:#x}, ..."
    assert described[1] == f"memory = DeviceAllocation at {int(memory):#x}"
    assert described[2] == "copy = InOut of float32 array (2, 5)"
    assert described[3].startswith("pair = ")
    assert described[4:] == ["flag = bool True", "plain = uint64 0"]


def test_without_a_source_arguments_have_numbers():
    count = 30
    parameters = ", ".join(f"int parameter_{k}" for k in range(count))
    code = compile_source(f"__global__ void k({parameters}) {{ }}")
    kernel = drv.module_from_buffer(code).get_function("k")
    text = refused(lambda: kernel(*np.arange(count, dtype=np.int32), block=TOO_LARGE))
    assert " - arguments: #0 = int32 0; #1 = int32 1; " in text
    assert text.endswith("#23 = int32 23; and 6 more")


def test_a_kernel_without_arguments(module):
    kernel = SourceModule("__global__ void k() { }").get_function("k")
    assert "arguments" not in refused(lambda: kernel(block=TOO_LARGE))


def test_an_interrupt_while_arguments_are_named_comes_after_the_error(run_python):
    done = run_python(
        f"""
        import time
        import pycuda.autoprimaryctx
        import pycuda.driver as drv
        from pycuda.compiler import SourceModule

        class Interrupting(int):
            def __str__(self):
                raise KeyboardInterrupt

        scale = SourceModule({SOURCE!r}).get_function("scale").prepare("Pid")
        try:
            try:
                scale.prepared_call((1, 1), {TOO_LARGE}, 0, Interrupting(0), 0.0)
            except drv.LogicError:
                for _ in range(100):
                    time.sleep(0.01)
        except KeyboardInterrupt as interrupt:
            print(interrupt.__context__)
        """,
        check=True,
    )
    assert done.stdout.startswith("cuLaunchKernel failed: ") and "kernel 'scale'" in done.stdout


def test_what_describes_arguments_is_not_imported_by_launches_that_succeed(run_python):
    done = run_python(
        """
import sys
import numpy as np
import pycuda.autoprimaryctx
from pycuda import gpuarray
from pycuda.compiler import SourceModule

kernel = SourceModule("__global__ void k(float *x, int n) { x[0] = n; }").get_function("k")
x = gpuarray.zeros(3, np.float32)
kernel(x, np.int32(3), block=(1, 1, 1))
assert x.get()[0] == 3 and "pycuda._base.launch_report" not in sys.modules
try:
    kernel(x, block=(1, 1, 1))
except TypeError as problem:
    print(problem)
assert "pycuda._base.launch_report" not in sys.modules
""",
        check=True,
    )
    assert done.stdout == "kernel 'k' takes 2 arguments, 1 given\n"


FAULT = """
import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

kernel = SourceModule("__global__ void astray(float *x, size_t n) { x[n] = 1; }").get_function("astray")
x = gpuarray.zeros(3, np.float32)
for work in (lambda: kernel(x, np.uint64(2**42), block=(1, 1, 1)), drv.Context.synchronize,
             lambda: kernel(x, np.uint64(7), block=(1, 1, 1))):
    try:
        work()
    except drv.KernelError as problem:
        print(problem)
"""


def test_a_fault_of_an_earlier_launch_does_not_name_these_arguments(run_python):
    *_, last = run_python(FAULT, env={"CUDA_LAUNCH_BLOCKING": None}).stdout.splitlines()
    assert last.startswith("cuLaunchKernel failed") and "n = uint64 7" not in last


@pytest.mark.gpu("the CPU device names the launch of a fault without it")
def test_a_launch_that_waits_names_the_arguments_of_its_fault(run_python):
    first, *_ = run_python(FAULT, env={"CUDA_LAUNCH_BLOCKING": "1"}).stdout.splitlines()
    assert re.search(r"kernel 'astray', or an earlier launch", first)
    assert re.search(rf" - arguments: x = float32 array \(3\) at 0x\w+; n = uint64 {2**42}$", first)


def test_names_of_parameters_in_a_source():
    source = """
    __global__ void a(float *x, const int n, unsigned long long const *__restrict__ keys, T matrix[3][4]) { }
    __global__ void b(int, float *) { }
    __global__ void c() { }
    """

    def names(kernel):
        return signatures.Reader(source, (), kernel).names()

    assert names("a") == ("x", "n", "keys", "matrix") and names("c") == () and names("missing") is None
