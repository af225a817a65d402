"""Tests of CUDA programs without a GPU: ``pytest --cuda-cpu``.

The tests, and the programs that they start, find the CPU device as ``libcuda.so.1`` and ``libcuda.so``,
whatever opens it: pycuda, numba-cuda, cuda.core, a library of your own. After each test the plugin waits for
its kernels. A test whose kernels failed (an access out of bounds, what ``--cuda-cpu-checks`` detects) fails,
with the fault in its report. No other test fails for it: the context's sticky error, which on a GPU would
fail all later tests, is cleared. The summary names the tests after which more device memory is allocated than
before.

::

    pytest --cuda-cpu --cuda-cpu-checks=race,init,sync

or in ``pytest.ini``::

    [pytest]
    cuda_cpu = true
    cuda_cpu_checks = race,init,sync

A test whose kernels fail on purpose is marked with ``@pytest.mark.cuda_faults``. pytest finds the
plugin by itself; ``-p no:pytest_cuda_cpu`` keeps it out.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import tempfile
from collections.abc import Generator
from typing import Any

import pytest

from . import _report, path

# Short names of checks in --cuda-cpu-checks, and the names that cuda-cpu takes.
_SHORT = {"race": "racecheck", "init": "initcheck", "sync": "synccheck"}
# Names of user properties of a report: how many faults the test's kernels had, how many bytes it leaked.
_FAULTS, _MEMORY = "cuda_cpu_faults", "cuda_cpu_memory"
# How many tests that leak memory the summary names.
_SHOWN = 10


def pytest_addoption(parser: Any) -> None:
    """Adds --cuda-cpu, its options and the settings of the same names in pytest.ini."""
    group = parser.getgroup("cuda-cpu", "CUDA without a GPU, on the CPU device")
    group.addoption("--cuda-cpu", action="store_true", help="run every test on the CPU device")
    group.addoption("--cuda-cpu-devices", metavar="N", help="how many devices there are (default: 1)")
    checks = (
        "a list of race, init, sync and initcheck-shared: what is detected in kernels beyond their accesses"
    )
    group.addoption("--cuda-cpu-checks", metavar="LIST", help=checks)
    parser.addini("cuda_cpu", "as --cuda-cpu", type="bool", default=False)
    parser.addini("cuda_cpu_devices", "as --cuda-cpu-devices", default="")
    parser.addini("cuda_cpu_checks", "as --cuda-cpu-checks", default="")


def pytest_configure(config: Any) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", "cuda_faults: kernels of this test fail on purpose (--cuda-cpu)")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Opens the CPU device, before a conftest.py can open another driver."""
    given, ini = early_config.known_args_namespace, early_config.getini
    if given.cuda_cpu or ini("cuda_cpu"):
        devices = given.cuda_cpu_devices or ini("cuda_cpu_devices")
        checks = given.cuda_cpu_checks or ini("cuda_cpu_checks")
        early_config.pluginmanager.register(_Tests(devices, checks), "cuda_cpu_tests")


def _settings(devices: str, checks: str) -> dict[str, str]:
    """The environment variables of a program that cuda-cpu starts with these options. UsageError if cuda-cpu
    refuses a value.
    """
    options = [f"--devices={devices}"] if devices else []
    if checks:
        options.append("--checks=" + ",".join(_SHORT.get(each, each) for each in checks.split(",")))
    command = [os.path.join(path(), "cuda-cpu"), *options, "--", "env", "-0"]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        raise pytest.UsageError(done.stderr.decode().strip())
    pairs = (each.partition("=") for each in os.fsdecode(done.stdout).split("\0") if each)
    return {name: value for name, _, value in pairs}


def _open_driver() -> ctypes.CDLL:
    """Opens the CPU device's libraries, so that the process has them under the driver's names."""
    try:
        ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return ctypes.CDLL(os.path.join(path(), "libcuda-names.so"))
    raise pytest.UsageError("--cuda-cpu: this process has opened libcuda.so.1 already, before the CPU device")


class _Tests:
    """The hooks around each test."""

    def __init__(self, devices: str, checks: str) -> None:
        os.environ.update(_settings(devices, checks))
        file, self._report = tempfile.mkstemp(prefix="cuda-cpu-")
        os.close(file)
        os.environ["PYCUDA_CPU_REPORT"] = self._report
        self._driver = _open_driver()
        self._driver.cpuDeviceMemoryUsed.restype = ctypes.c_uint64
        self._read = 0  # bytes of the report that are read already
        self._memory = 0  # bytes of device memory in use before the current test

    def pytest_unconfigure(self) -> None:
        os.unlink(self._report)

    def _new_faults(self) -> list[str]:
        """The faults of kernels since the last call of this method."""
        self._driver.cpuDeviceRecover()  # waits for all kernels, and clears a context's sticky error
        if os.path.getsize(self._report) == self._read:
            return []
        report, self._read = _report.read(self._report, self._read)
        return report.faults

    def _memory_growth(self) -> int:
        """How many bytes of device memory more are in use than before the test, at least 0."""
        grown = self._driver.cpuDeviceMemoryUsed() - self._memory
        if grown > 0:  # arrays in reference cycles are not leaked
            gc.collect()
            grown = self._driver.cpuDeviceMemoryUsed() - self._memory
        return max(grown, 0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self._memory = self._driver.cpuDeviceMemoryUsed()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        """Fails the phase of a test in which kernels failed, unless the test has the mark `cuda_faults`."""
        outcome = yield
        report, faults = outcome.get_result(), self._new_faults()
        if call.when == "teardown" and (grown := self._memory_growth()):
            report.user_properties.append((_MEMORY, grown))
        if not faults or item.get_closest_marker("cuda_faults"):
            return
        report.user_properties.append((_FAULTS, len(faults)))
        if report.passed:
            report.outcome, report.longrepr = "failed", "\n".join(["kernels of this test failed:", *faults])
        else:
            report.sections.append(("faults of kernels", "\n".join(faults)))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Prints the number of faults, and the tests that leak most device memory."""
        reports = [each for group in terminalreporter.stats.values() for each in group]
        found = [
            (report.nodeid, name, value)
            for report in reports
            for name, value in getattr(report, "user_properties", ())
            if name in (_FAULTS, _MEMORY)
        ]
        if not found:
            return
        terminalreporter.section("CUDA on the CPU device")
        faults = [value for _, name, value in found if name == _FAULTS]
        if faults:
            terminalreporter.line(f"{sum(faults)} faults of kernels, in {len(faults)} tests")
        grown = sorted(((value, test) for test, name, value in found if name == _MEMORY), reverse=True)
        if grown:
            terminalreporter.line("tests after which more device memory is allocated than before:")
        for value, test in grown[:_SHOWN]:
            terminalreporter.line(f"  {value:>12,} bytes  {test}")
        if len(grown) > _SHOWN:
            terminalreporter.line(f"  and {len(grown) - _SHOWN} more")
