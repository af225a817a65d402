"""python -m pycuda.check: it runs a program with all checks; its exit code and its summary."""

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.cpu("it runs programs on the CPU device")

PRELUDE = """
import os, sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

get = SourceModule('''
__global__ void fill(float *a) { a[threadIdx.x] = 1; }
__global__ void sum(float *a)
{
    __shared__ float part[64];
    part[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = part[63 - threadIdx.x];
}''').get_function
fill, array = get("fill"), gpuarray.zeros(64, np.float32)
"""


@pytest.fixture
def check(tmp_path):
    """A function that runs `python -m pycuda.check` with these arguments and, if there is one, a program with
    this source. It returns (the finished process, the numbers of its summary line: faults, launches,
    bytes that were not freed).
    """

    def run(*arguments, source=None):
        if source is not None:
            (tmp_path / "program.py").write_text(PRELUDE + source)
            arguments = (*arguments, str(tmp_path / "program.py"))
        command = [sys.executable, "-m", "pycuda.check", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=tmp_path)
        summary = re.findall(
            r"^pycuda\.check: (\d+) faults?, (\d+) launch(?:es)?, (\d+) byte", done.stderr, re.M
        )
        return done, [int(number) for number in summary[0]] if summary else None

    return run


def test_a_program_without_faults(check):
    done, counts = check(source="fill(array, block=(64, 1, 1)); print(array.get().sum()); del array")
    assert (done.returncode, done.stdout) == (0, "64.0\n")
    assert counts[0] == 0 and counts[1] >= 1 and counts[2] == 0


# name: (program, words of the summary)
FAULTS = {
    "past the end": ("fill(array, block=(65, 1, 1)); drv.Context.synchronize()", "past the end"),
    "no wait": ("fill(array, block=(65, 1, 1))", "past the end"),
    "caught": ("fill(array, block=(65, 1, 1))\ntry: array.get()\nexcept drv.Error: pass", "past the end"),
    "a race": ("get('sum')(array, block=(64, 1, 1))", "race at offset"),
    "not written": ("get('sum')(gpuarray.empty(64, np.float32), block=(64, 1, 1))", "uninitialized"),
    "freed, and made again": (
        "address = array.ptr; del array\nother = gpuarray.zeros(64, np.float32)\n"
        "fill(np.uintp(address), block=(64, 1, 1)); drv.Context.synchronize()",
        "freed device memory",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
def test_the_summary_has_each_fault_and_the_line_of_its_launch(check, what):
    source, says = FAULTS[what]
    done, counts = check(source=source)
    summary = done.stderr.partition("pycuda.check: ")[2]
    line = next(k for k, text in enumerate((PRELUDE + source).split("\n"), 1) if "block=" in text)
    assert done.returncode == 1 and counts[0] == 1
    assert says in summary
    assert re.search(rf" \(launched by \S*program\.py, line {line}\)$", summary, re.M)


def test_exit_code_arguments_and_memory(check):
    """Without faults the exit code is the program's, and memory that was not freed is counted. A fault is
    reported when it happens: also of a program that ends by os._exit().
    """
    done, counts = check("-c", PRELUDE + "print(sys.argv[1:])\nsys.exit(7)", "--a", "-m", "b")
    assert (done.returncode, done.stdout) == (7, "['--a', '-m', 'b']\n") and counts == [0, 0, 256]
    late = "fill(array, block=(65, 1, 1))\nimport time; time.sleep(0.5); os._exit(0)"
    done, _ = check(source=late)
    assert done.returncode == 1 and "past the end" in done.stderr


def test_a_run_of_pytest_fails_for_a_fault_in_a_passed_test(check, tmp_path):
    (tmp_path / "test_it.py").write_text(PRELUDE + "def test_it(): fill(array, block=(65, 1, 1))\n")
    done, counts = check("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert done.returncode == 1 and counts[0] == 1 and "1 passed" in done.stdout


def test_help_and_mistakes(check):
    done, _ = check("--help")
    assert done.returncode == 0 and "-m MODULE" in done.stdout and "exit code" in done.stdout
    done, _ = check("nowhere.py")
    assert done.returncode == 2 and "nowhere.py: no such file" in done.stderr
    assert check()[0].returncode == 2
