"""Tests of CUDA programs without a GPU: ``pytest --cuda-cpu``.

The tests, and the programs that they start, find the CPU device as ``libcuda.so.1`` and ``libcuda.so``,
whatever opens it: pycuda, numba-cuda, cuda.core, a library of your own. For that pytest is started once more,
by ``cuda-cpu``, in place of the process that the command began. After each test the plugin waits for
its kernels. A test whose kernels failed (an access out of bounds, what ``--cuda-cpu-checks`` detects) fails,
with the fault in its report. No other test fails for it: the context's sticky error, which on a GPU would
fail all later tests, is cleared. The summary names the tests after which more device memory is allocated than
before. With ``--cuda-cpu-faults=report`` kernels go on after such accesses and tests stay green: the faults
are in their reports and, with the names of the tests, in the summary.

::

    pytest --cuda-cpu --cuda-cpu-checks=race,init,sync

or in ``pytest.ini``::

    [pytest]
    cuda_cpu = true
    cuda_cpu_checks = race,init,sync

A test whose kernels fail on purpose is marked with ``@pytest.mark.cuda_faults``. Where the distribution
pycuda-cpu is installed pytest finds the plugin by itself; ``-p no:cuda_cpu`` keeps it out.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from typing import Any

import pytest

from . import _report, path

# Short names of checks in --cuda-cpu-checks, and the names that cuda-cpu takes.
_SHORT = {"race": "racecheck", "init": "initcheck", "sync": "synccheck"}
_PRELOADED = "libcuda-preload.so"
# As what pytest is started, when it is the program: `pytest`, `python -m pytest`.
_PROGRAMS = {"pytest", "py.test", "pytest.__main__"}
# Names of user properties of a report: how many faults the test's kernels had, how many they have survived,
# how many bytes it leaked.
_FAULTS, _SURVIVED, _MEMORY = "cuda_cpu_faults", "cuda_cpu_survived_faults", "cuda_cpu_memory"
_SURVIVED_SECTION = "faults that kernels survived"  # of a report
# How many tests that leak memory, and how many faults of tests that passed, the summary names.
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
    faults = "report: kernels go on after accesses that are not valid, and tests stay green (default: stop)"
    group.addoption("--cuda-cpu-faults", metavar="WORD", help=faults)
    parser.addini("cuda_cpu", "as --cuda-cpu", type="bool", default=False)
    parser.addini("cuda_cpu_devices", "as --cuda-cpu-devices", default="")
    parser.addini("cuda_cpu_checks", "as --cuda-cpu-checks", default="")
    parser.addini("cuda_cpu_faults", "as --cuda-cpu-faults", default="")


def pytest_configure(config: Any) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", "cuda_faults: kernels of this test fail on purpose (--cuda-cpu)")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> Generator[None, None, None]:
    """Opens the CPU device, before a conftest.py can open another driver and before output is captured."""
    given, ini = early_config.known_args_namespace, early_config.getini
    if given.cuda_cpu or ini("cuda_cpu"):
        _start_by_cuda_cpu()
        devices = given.cuda_cpu_devices or ini("cuda_cpu_devices")
        checks = given.cuda_cpu_checks or ini("cuda_cpu_checks")
        faults = given.cuda_cpu_faults or ini("cuda_cpu_faults")
        options = {
            "--devices": devices,
            "--checks": ",".join(_SHORT.get(each, each) for each in map(str.strip, checks.split(","))),
            "--faults": faults,
        }
        early_config.pluginmanager.register(_Tests(options), "cuda_cpu_tests")
    else:
        _refuse_options(given)
    yield


def _refuse_options(given: Any) -> None:
    """UsageError for options that change nothing, as --cuda-cpu is not given."""
    for option in "devices", "checks", "faults":
        if getattr(given, f"cuda_cpu_{option}") is not None:
            raise pytest.UsageError(f"--cuda-cpu-{option} needs --cuda-cpu")


def _start_by_cuda_cpu() -> None:
    """Starts pytest once more, by cuda-cpu and in place of this process, for the library that must be there
    before Python to answer where a program asks NVRTC for a cubin. Nothing is done where it is there, where
    cuda-cpu has started pytest (and something has removed the library), and where pytest is not the program
    but was called by it.
    """
    runner, driver = (os.path.join(path(), name) for name in ("cuda-cpu", "libcuda.so.1"))
    started = _PRELOADED in os.environ.get("LD_PRELOAD", "") or os.environ.get("PYCUDA_DRIVER") == driver
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    program = spec.name if spec else os.path.basename(sys.argv[0])
    if program in _PROGRAMS and not started:
        os.execv(runner, [runner, "--", sys.executable, *sys.orig_argv[1:]])


def _settings(wanted: dict[str, str]) -> dict[str, str]:
    """The environment variables of a program that cuda-cpu starts with these options. UsageError if cuda-cpu
    refuses a value.

    wanted: the values of options; "" is that of an option which is not given.
    """
    options = [f"{name}={value}" for name, value in wanted.items() if value]
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

    def __init__(self, options: dict[str, str]) -> None:
        os.environ.update(_settings(options))
        file, self._report = tempfile.mkstemp(prefix="cuda-cpu-")
        os.close(file)
        os.environ["PYCUDA_CPU_REPORT"] = self._report
        self._driver = _open_driver()
        self._driver.cpuDeviceMemoryUsed.restype = ctypes.c_uint64
        self._read = 0  # bytes of the report that are read already
        self._memory = 0  # bytes of device memory in use before the current test

    def pytest_unconfigure(self) -> None:
        os.unlink(self._report)

    def _new_faults(self) -> _report.Report:
        """The faults of kernels since the last call of this method."""
        self._driver.cpuDeviceRecover()  # waits for all kernels, and clears a context's sticky error
        report, self._read = _report.read(self._report, self._read)
        return report

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
        """Adds the faults of kernels to the report of a phase of a test. The phase fails if kernels failed.
        With the mark `cuda_faults` nothing is done.
        """
        outcome = yield
        report, new = outcome.get_result(), self._new_faults()
        if call.when == "teardown" and (grown := self._memory_growth()):
            report.user_properties.append((_MEMORY, grown))
        if item.get_closest_marker("cuda_faults"):
            return
        if new.survived:
            report.user_properties.append((_SURVIVED, len(new.survived)))
            report.sections.append((_SURVIVED_SECTION, "\n".join(new.survived)))
        if not new.faults:
            return
        report.user_properties.append((_FAULTS, len(new.faults)))
        if report.passed:
            text = "\n".join(["kernels of this test failed:", *new.faults])
            report.outcome, report.longrepr = "failed", text
        else:
            report.sections.append(("faults of kernels", "\n".join(new.faults)))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Prints the number of faults, those that kernels survived, and the tests that leak most memory."""
        reports = [each for group in terminalreporter.stats.values() for each in group]
        failed, grown = _property(reports, _FAULTS), _property(reports, _MEMORY)
        survived = [
            f"{report.nodeid}: {fault}"
            for report in reports
            for title, text in getattr(report, "sections", ())
            if title == _SURVIVED_SECTION
            for fault in text.splitlines()
        ]
        if not (failed or grown or survived):
            return
        terminalreporter.section("CUDA on the CPU device")
        line = terminalreporter.line
        if failed:
            line(f"{sum(value for value, _ in failed)} faults of kernels, in {len(failed)} tests")
        if survived:
            tests = {test for _, test in _property(reports, _SURVIVED)}
            line(f"{len(survived)} faults that kernels survived, in {len(tests)} tests:")
            _print_first(line, survived)
        if grown:
            line("tests after which more device memory is allocated than before:")
            _print_first(line, [f"{value:>12,} bytes  {test}" for value, test in sorted(grown, reverse=True)])


def _property(reports: list[Any], wanted: str) -> list[tuple[int, str]]:
    """(value, name of the test) of a user property, where a report has it."""
    return [
        (value, report.nodeid)
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == wanted
    ]


def _print_first(line: Callable[[str], None], rows: list[str]) -> None:
    """Prints rows of the summary, the first _SHOWN of them."""
    for row in rows[:_SHOWN]:
        line(f"  {row}")
    if len(rows) > _SHOWN:
        line(f"  and {len(rows) - _SHOWN} more")
