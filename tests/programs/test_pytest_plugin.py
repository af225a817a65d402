"""pytest --cuda-cpu: which tests fail, what their reports say, and what is refused."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu("it runs tests on the CPU device")

PLUGIN = Path(__file__).resolve().parents[2] / "pytest_cuda_cpu"

# A conftest.py whose tests use the driver without PyCUDA, with one primary context for all, as other packages
# do. NAME: that of the library.
CONFTEST = '''
import ctypes
import pytest

PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry fill(.param .u64 to) {
.reg .b32 %r<2>;
.reg .b64 %d<3>;
ld.param.u64 %d0, [to];
mov.u32 %r0, %tid.x;
mul.wide.u32 %d1, %r0, 4;
add.u64 %d2, %d0, %d1;
st.global.u32 [%d2], %r0;
ret;
}
"""


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL(NAME)
        assert self.library.cuInit(0) == 0
        self.context, module, self.function = (ctypes.c_void_p() for _ in range(3))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"fill")

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        assert result == 0, f"{name}: {result}"

    def fill(self, count, threads):
        memory = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4 * count))
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
        self.call("cuLaunchKernel", self.function, 1, 1, 1, threads, 1, 1, 0, None, parameters, None)
        return memory

    def read(self, memory, count):
        out = (ctypes.c_uint32 * count)()
        self.call("cuMemcpyDtoH_v2", out, memory, ctypes.c_size_t(4 * count))
        self.call("cuMemFree_v2", memory)
        return list(out)


@pytest.fixture(scope="session")
def driver():
    return Driver()
'''

TESTS = """
import pytest


def test_before(driver):
    assert driver.read(driver.fill(3, 3), 3) == [0, 1, 2]


def test_fault_without_a_wait(driver):
    driver.fill(3, 4)


def test_after(driver):
    assert driver.read(driver.fill(3, 3), 3) == [0, 1, 2]


def test_fault_with_an_error(driver):
    driver.read(driver.fill(2, 3), 2)


@pytest.mark.cuda_faults
def test_fault_on_purpose(driver):
    with pytest.raises(AssertionError, match="cuMemcpyDtoH_v2: 700"):
        driver.read(driver.fill(2, 3), 2)


@pytest.fixture
def late(driver):
    yield
    driver.fill(5, 6)


def test_fault_in_the_teardown(late):
    pass


def test_leak(driver):
    driver.fill(1000, 1)


def test_at_the_end(driver):
    assert driver.read(driver.fill(3, 3), 3) == [0, 1, 2]
"""


def run(folder, *arguments, name="libcuda.so.1"):
    """The finished process of pytest in the folder, and the outcomes that it prints: {test: outcome}.

    name: the library that the tests open.
    """
    (folder / "conftest.py").write_text(CONFTEST.replace("NAME", repr(name)))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYCUDA_CPU_", "PYTEST_"))}
    options = ["-p", "pytest_cuda_cpu", "-p", "no:cacheprovider", "-rA", "-vv"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    kept["PYTHONPATH"] = os.pathsep.join([str(PLUGIN), str(folder), kept.get("PYTHONPATH", "")])
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, env=kept)
    outcomes = dict(re.findall(r"^\S+::(\w+) (PASSED|FAILED|ERROR)", done.stdout, re.MULTILINE))
    return done, outcomes


@pytest.mark.parametrize("name", ["libcuda.so.1", "libcuda.so"])
def test_only_tests_that_caused_faults_fail(tmp_path, name):
    """Also the summary has the faults, and the memory that tests left allocated."""
    (tmp_path / "test_it.py").write_text(TESTS)
    done, outcomes = run(tmp_path, "--cuda-cpu", name=name)
    assert {test for test, outcome in outcomes.items() if outcome != "PASSED"} == {
        "test_fault_without_a_wait",
        "test_fault_with_an_error",
        "test_fault_in_the_teardown",
    }
    assert "2 failed, 6 passed, 1 error" in done.stdout
    for text in (
        "kernels of this test failed:\nkernel fill, block (0,0,0), thread (3,0,0)",
        "faults of kernels",
        "thread (2,0,0)",
        "thread (5,0,0)",
        "3 faults of kernels, in 3 tests",
    ):
        assert text in done.stdout, text
    grown = re.findall(r"^ +([\d,]+) bytes +\S+::(\w+)", done.stdout, re.MULTILINE)
    assert grown[0] == ("4,000", "test_leak")


def test_settings_in_pytest_ini_reach_the_workers_of_xdist(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\ncuda_cpu = true\ncuda_cpu_devices = 2\n")
    done, _ = run(tmp_path, "-n", "2")
    assert "2 failed, 6 passed, 1 error" in done.stdout
    assert "3 faults of kernels, in 3 tests" in done.stdout


RACE = """
import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule


def test_race():
    assert drv.Device.count() == 2 and "CPU device" in drv.Device(0).name()
    module = SourceModule("__global__ void race(int *a) { a[0] = blockIdx.x; }")
    module.get_function("race")(gpuarray.zeros(1, np.int32), block=(1, 1, 1), grid=(2, 1))


def test_without_one():
    assert (gpuarray.arange(5, dtype=np.int32) + 1).get().tolist() == [1, 2, 3, 4, 5]
"""


def test_a_test_with_a_race_fails_and_the_report_has_its_line(tmp_path):
    (tmp_path / "test_it.py").write_text(RACE)
    done, outcomes = run(tmp_path, "--cuda-cpu", "--cuda-cpu-devices=2", "--cuda-cpu-checks=race,init,sync")
    assert outcomes == {"test_race": "FAILED", "test_without_one": "PASSED"}
    assert "race" in done.stdout and "launched by" in done.stdout and "test_it.py, line 12)" in done.stdout


def test_without_the_option_no_driver_library_is_opened(tmp_path):
    code = "import os\n\ndef test_it():\n    assert 'PYCUDA_CPU_REPORT' not in os.environ\n"
    (tmp_path / "test_it.py").write_text(
        code + "    assert 'libcuda' not in open('/proc/self/maps').read()\n"
    )
    done, outcomes = run(tmp_path)
    assert outcomes == {"test_it": "PASSED"}, done.stdout


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--cuda-cpu-checks=races"], 'PYCUDA_CPU_CHECK is "races"'),
        (["--cuda-cpu-devices=99"], 'PYCUDA_CPU_DEVICES is "99"'),
        (["-p", "opens_it"], "this process has opened libcuda.so.1 already"),
    ],
)
def test_wrong_options_and_a_library_opened_before_are_refused(tmp_path, options, text):
    opens = "import ctypes\nfrom pycuda import cpu\nctypes.CDLL(cpu.path() + '/libcuda.so')\n"
    (tmp_path / "opens_it.py").write_text(opens)
    (tmp_path / "test_it.py").write_text(TESTS)
    done, _ = run(tmp_path, "--cuda-cpu", *options)
    assert done.returncode == 4 and text in done.stderr, done.stderr
