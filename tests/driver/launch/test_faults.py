"""The message of a kernel's fault: where it occurred, what launched the kernel, and how later calls repeat
it."""

import re
import textwrap

import pytest
from devices import on_cpu_device

PRELUDE = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

module = SourceModule('''
__global__ void astray(float *a)
{
    a[threadIdx.x] = 1;
}
__global__ void innocent(float *a) {}''')
astray, innocent = module.get_function("astray"), module.get_function("innocent")
array = gpuarray.zeros(30, np.float32)


# Prints the name, routine and message of the error that the call raises, in one line.
def report(call):
    try:
        call()
    except drv.Error as error:
        print(error.name, error.routine, str(error).replace("\\n", " "))


"""
NOWHERE = "astray(np.uint64(64), block=(1, 1, 1))"  # writes to an address without memory

LATER = f"""
{NOWHERE}
report(drv.Context.synchronize)
report(lambda: innocent(array, block=(1, 1, 1)))
report(lambda: array.get())
report(lambda: array + 1)
report(lambda: drv.mem_alloc(1 << 20))
report(drv.Context.synchronize)
"""


def test_later_calls_repeat_the_first_fault(run_python):
    done = run_python(PRELUDE + LATER, check=True)
    first, *later = done.stdout.splitlines()
    assert first.startswith("CUDA_ERROR_ILLEGAL_ADDRESS cuCtxSynchronize cuCtxSynchronize failed: an illegal")
    assert len(later) == 5
    message = first.partition(" cuCtxSynchronize ")[2]
    for line in later:
        assert re.search(r"^CUDA_ERROR_ILLEGAL_ADDRESS (\S+) \1 failed: the context is lost", line), line
        assert message in line and "restart the program" in line


def test_later_calls_repeat_a_fault_that_another_call_reported_first(run_python):
    """The first call that reports the fault is a copy here; synchronize() repeats its message."""
    source = (
        PRELUDE
        + f"""
import time
{NOWHERE}
time.sleep(0.3)
report(lambda: array.get())
report(drv.Context.synchronize)
"""
    )
    first, later = run_python(source, check=True).stdout.splitlines()
    assert "an illegal memory access" in first and first.partition(" failed: ")[2] in later


@pytest.mark.cpu("a GPU's driver may refuse further work of the whole process")
def test_a_fault_in_a_new_context_does_not_repeat_one_of_another(run_python):
    source = (
        PRELUDE
        + """
context = drv.Device(0).make_context()
module = SourceModule("__global__ void astray(float *a) { *a = 1; }")
module.get_function("astray")(np.uint64(64), block=(1, 1, 1))
report(context.synchronize)
context.pop()
context.detach()
context = drv.Device(0).make_context()
module = SourceModule("__global__ void other(float *a) { *a = 1; }")
module.get_function("other")(np.uint64(64), block=(1, 1, 1))
report(context.synchronize)
context.pop()
context.detach()
"""
    )
    first, second = run_python(source, check=True).stdout.splitlines()
    assert "kernel astray" in first
    assert "kernel other" in second and "lost" not in second and "astray" not in second


@pytest.mark.cpu("a GPU's driver reports neither thread nor line")
class TestPlaces:
    """The lines of the kernel and of its launch, with no option and no setting."""

    @staticmethod
    def error_text(run_python, source):
        """What the program prints."""
        done = run_python(PRELUDE + source, check=True)
        return done.stdout.strip()

    def test_the_lines_of_the_kernel_and_of_its_launch(self, run_python):
        """The array has 30 elements: thread 30 writes just past its end."""
        launch = "astray(array, block=(32, 1, 1))"
        error_text = self.error_text(run_python, f"{launch}\nreport(drv.Context.synchronize)\n")
        line = (PRELUDE + launch).strip("\n").count("\n") + 2
        assert "kernel astray, block (0,0,0), thread (30,0,0), kernel.cu:4 (PTX line" in error_text
        assert "just past the end of the device memory" in error_text and "of 120 bytes" in error_text
        assert re.search(rf"\(launched by \S*program\.py, line {line}\)$", error_text), (line, error_text)
        assert "CPU device]" not in error_text

    @pytest.mark.parametrize(
        "launch",
        [
            "astray.prepare('P').prepared_call((1, 1), (1, 1, 1), 64)",
            "astray.prepare('P').prepared_async_call((1, 1), (1, 1, 1), drv.Stream(), 64)",
            "from pycuda.elementwise import ElementwiseKernel as E; E('float *a', 'a[i + 9] = 1')(array)",
            "s = drv.Stream()\nwith s.capture() as g: astray(np.uint64(64), block=(1, 1, 1), stream=s)\n"
            "g.instantiate().launch(s)",
        ],
    )
    def test_every_way_to_launch(self, run_python, launch):
        error_text = self.error_text(run_python, f"{launch}\nreport(drv.Context.synchronize)\n")
        line = (PRELUDE + launch).strip("\n").count("\n") + 2
        assert re.search(rf"\(launched by \S*program\.py, line {line}\)$", error_text), (line, error_text)

    def test_launches_of_other_threads_do_not_change_the_place(self, run_python):
        """Nor is the kernel named that they launch."""
        source = f"""
import threading
stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
{NOWHERE}  # this line
def work():
    pycuda.autoinit.context.push()
    try:
        for _ in range(100): innocent(array, block=(1, 1, 1), stream=stream)
    except drv.Error as error:
        pass
    pycuda.autoinit.context.pop()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
report(drv.Context.synchronize)
"""
        error_text = self.error_text(run_python, source)
        lines = textwrap.dedent(PRELUDE + source).split("\n")
        line = next(k for k, text in enumerate(lines, 1) if "# this line" in text)
        assert f"line {line})" in error_text and "innocent" not in error_text


def test_a_failed_assertion_has_its_own_message(run_python):
    source = (
        PRELUDE
        + """
check = SourceModule("#include <cassert>\\n__global__ void check(int n) { assert(n == 3); }")
check.get_function("check")(np.int32(4), block=(1, 1, 1))
report(drv.Context.synchronize)
report(drv.Context.synchronize)
"""
    )
    first, later = run_python(source, check=True).stdout.splitlines()[-2:]
    assert "device-side assert triggered" in first and "lost" in later
    assert on_cpu_device() is ("kernel check" in first)
