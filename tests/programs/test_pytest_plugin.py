"""pytest --cuda-cpu: which tests fail, what their reports say, and what is refused."""

import re

import pytest
from plugin_run import TESTS, run

pytestmark = pytest.mark.cpu("it runs tests on the CPU device")


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


# There is no error that the test of a fault on purpose could expect.
SURVIVING = TESTS.replace("@pytest.mark.cuda_faults", "@pytest.mark.xfail")


def test_tests_whose_kernels_survive_their_faults_pass(tmp_path):
    """Each fault is in the report of its test, although all are at one place of the kernel."""
    (tmp_path / "test_it.py").write_text(SURVIVING)
    done, outcomes = run(tmp_path, "--cuda-cpu", "--cuda-cpu-faults=report")
    assert set(outcomes.values()) == {"PASSED"} and "7 passed, 1 xfailed" in done.stdout
    assert "faults of kernels, in" not in done.stdout
    _, _, summary = done.stdout.partition("4 faults that kernels survived, in 4 tests:\n")
    named = dict(
        re.findall(r"^  test_it\.py::(\w+): kernel fill, block \(0,0,0\), (thread \S+),", summary, re.M)
    )
    assert named == {
        "test_fault_without_a_wait": "thread (3,0,0)",
        "test_fault_with_an_error": "thread (2,0,0)",
        "test_fault_on_purpose": "thread (2,0,0)",
        "test_fault_in_the_teardown": "thread (5,0,0)",
    }


TRAP = """

def test_trap(driver):
    driver.trap()
"""


def test_a_fault_that_no_kernel_survives_fails_its_test(tmp_path):
    (tmp_path / "test_it.py").write_text(SURVIVING + TRAP)
    (tmp_path / "pytest.ini").write_text("[pytest]\ncuda_cpu = true\ncuda_cpu_faults = report\n")
    done, outcomes = run(tmp_path, "-n", "2")
    assert "1 failed, 7 passed, 1 xfailed" in done.stdout and "1 faults of kernels, in 1 tests" in done.stdout
    assert re.search(r"test_trap .*\nkernels of this test failed:\nkernel stop, .*trap", done.stdout, re.S)
    assert "4 faults that kernels survived, in 4 tests:" in done.stdout


def test_settings_in_pytest_ini_reach_the_workers_of_xdist(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\ncuda_cpu = true\ncuda_cpu_devices = 2\n")
    done, _ = run(tmp_path, "-n", "2")
    assert "2 failed, 6 passed, 1 error" in done.stdout
    assert "3 faults of kernels, in 3 tests" in done.stdout


PRELOADED = """
import os

def test_it(pytestconfig):
    assert "/libcuda-preload.so" in open("/proc/self/maps").read()
    assert os.environ["LD_PRELOAD"].count("libcuda-preload.so") == 1
    assert pytestconfig.getoption("keyword") == "test_it or not it"
"""
SCRIPT = "import sys, pytest\nprint('begins')\nsys.exit(pytest.main(sys.argv[1:]))\n"


# start: how pytest is started; how often that is; with that option of xdist or without. A program that calls
# pytest is not started again: only what it starts has the library.
@pytest.mark.parametrize(
    ("start", "count", "options", "result"),
    [
        (["-m", "pytest"], 0, [], "1 passed"),
        (["bin/pytest"], 2, [], "1 passed"),
        (["-c", SCRIPT], 1, [], "1 failed"),
        (["-c", SCRIPT], 1, ["-n", "1"], "1 passed"),
    ],
)
def test_the_library_for_cubins_is_loaded_where_pytest_is_the_program(
    tmp_path, start, count, options, result
):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pytest").write_text(SCRIPT)
    (tmp_path / "test_it.py").write_text(PRELOADED)
    done, _ = run(tmp_path, "--cuda-cpu", "-k", "test_it or not it", *options, start=start)
    assert result in done.stdout and done.stdout.count("begins") == count, done.stdout
    assert done.stdout.count("test session starts") == 1


def test_pytest_is_not_started_for_ever_where_the_library_is_removed(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pytest").write_text(SCRIPT)
    (tmp_path / "test_it.py").write_text(TESTS)
    removes = "import os\nprint('removes', os.environ.pop('LD_PRELOAD', None))\n"  # whenever Python begins
    (tmp_path / "sitecustomize.py").write_text(removes)
    done, _ = run(tmp_path, "--cuda-cpu", start=["bin/pytest"])
    assert re.search("^removes .*/libcuda-preload.so$", done.stdout, re.M)
    assert done.stdout.count("begins") == 2 and "2 failed, 6 passed, 1 error" in done.stdout


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
        (["--cuda-cpu-faults=ignore"], 'PYCUDA_CPU_FAULTS is "ignore"'),
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


@pytest.mark.parametrize(
    "option", ["--cuda-cpu-checks=race", "--cuda-cpu-devices=2", "--cuda-cpu-faults=report"]
)
def test_options_that_would_change_nothing_are_refused(tmp_path, option):
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    done, _ = run(tmp_path, option)
    assert (done.returncode, done.stderr) == (4, f"ERROR: {option.partition('=')[0]} needs --cuda-cpu\n\n")


def test_a_list_of_checks_may_have_spaces(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\ncuda_cpu_checks = race, init , sync\n")
    (tmp_path / "test_it.py").write_text(RACE)
    assert run(tmp_path)[1]["test_without_one"] == "PASSED"  # settings alone start nothing
    _, outcomes = run(tmp_path, "--cuda-cpu", "--cuda-cpu-devices=2")
    assert outcomes == {"test_race": "FAILED", "test_without_one": "PASSED"}
