"""pytest plugin: each test is run again and again, and each time another of its driver calls fails.

    PYCUDA_FAULT_CALL=0 PYTHONPATH=tests/faults pytest -p each_call tests/driver tests/gpuarray tests/compiler

After a first clean run every call of the test's body fails once with each of --fault-codes; of more than 300,
which only tests make that repeat the same calls in a loop, about a hundred. What may come out: the test's own
success; the exception of the failing call, by its code and routine; the test's own disappointment when it
caught that exception or when the error was reported where nothing could be raised. Anything else is a
failure, as are leaked objects, a body that hangs, and a clean run that fails afterwards. A body runs in
a thread of its own, so that it starts with no current context and leaves none.

Tests that start processes are passed over, as their calls are made elsewhere, and so are
those that draw their input.
"""

import contextlib
import faulthandler
import gc
import re
import sys
import threading
import traceback

import numpy as np
import pytest
from _pytest.outcomes import Failed, Skipped
from _pytest.runner import runtestprotocol

import pycuda.driver as drv

core = drv._driver
# Out of memory, invalid value, unknown. A kernel's fault is reported once and then hushed at releases.
CODES = "2,1,999"
# Of a body with more than ALL_UP_TO calls about AT_LEAST fail; a body may take JOIN_SECONDS.
ALL_UP_TO, AT_LEAST, JOIN_SECONDS = 300, 100, 60
tally = {"tests": 0, "passed over": 0, "failing calls": 0, "raised": 0, "reported": 0, "quiet": 0}
quiet = {}  # routine -> how often it failed without a report


def pytest_addoption(parser):
    parser.addoption("--fault-codes", default=CODES, help="CUresult codes, separated by commas")
    parser.addoption("--fault-call", type=int, help="this call only")


def pytest_configure(config):
    config.option.timeout = 0  # bodies are timed one by one
    event_waits.install()


def starts_processes(item):
    """Whether the test, or a fixture that it uses, starts processes."""
    names = {name for name in item.function.__code__.co_names if name in ("subprocess", "multiprocessing")}
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        code = getattr(definitions[-1].func, "__code__", None)
        if code and "no_leaks" not in code.co_name:
            names |= {"subprocess"} & set(code.co_names)
    return bool(names) or "run_python" in item.fixturenames


def is_random(item):
    return getattr(item.obj, "is_hypothesis_test", False)


def pytest_collection_modifyitems(config, items):
    kept = [item for item in items if not starts_processes(item) and not is_random(item)]
    tally["passed over"] = len(items) - len(kept)
    items[:] = kept


def pytest_collection_finish(session):
    drv.init()
    if not core._fault_arm(0):
        raise pytest.UsageError("faults need PYCUDA_FAULT_CALL=0 in the environment")
    gc.collect()
    gc.freeze()  # what is there now need not be searched for what tests leave behind


class EventWaits:
    """Ends waits for an Event that a failed body will never set."""

    def __init__(self):
        self.waiting, self.given_up, self.wait = set(), False, threading.Event.wait

    def install(self):
        def wait(event, timeout=None):
            if timeout is None:
                return self.wait(event)
            self.waiting.add(event)
            result = self.wait(event, 0 if self.given_up else timeout)
            self.waiting.discard(event)
            return result

        threading.Event.wait = wait

    def give_up(self):
        self.given_up = True
        for event in list(self.waiting):
            event.set()


event_waits = EventWaits()


def go_on():
    """Ends what the body left in flight and what it left current; then a copy still arrives."""
    with contextlib.suppress(drv.LogicError):
        while True:
            drv.Context.synchronize()
            drv.Context.pop()
    data = np.arange(7)
    assert (drv.from_device_like(drv.to_device(data), data) == data).all()


class Attempt:
    """One run of a body: its n-th call (0: none) fails with this code; and what came of it."""

    def __init__(self, n=0, code=0):
        self.n, self.code = n, code
        self.calls, self.failed = 0, None  # how many there were; the name of the one that failed
        self.error, self.reports = None, []  # what the body raised, what was reported as unraisable
        self.hangs, self.stuck = False, None  # stuck: the error of a copy after the body

    def __str__(self):
        return f"call {self.n}, {self.failed}, fails with {self.code}:"

    def run(self, function, arguments):
        def body():
            before = core._fault_calls()
            core._fault_arm(self.n, self.code)
            try:
                function(**arguments)
            except BaseException as error:
                self.error = error
                event_waits.give_up()
            finally:
                core._fault_arm(0)
                self.calls = core._fault_calls() - before
            try:
                go_on()
            except Exception as error:
                self.stuck = error

        def report(unhandled):
            self.reports.append(unhandled.exc_value)

        old = sys.unraisablehook, threading.excepthook
        sys.unraisablehook = threading.excepthook = report
        event_waits.given_up = False
        try:
            thread = threading.Thread(target=body, daemon=True)
            thread.start()
            thread.join(JOIN_SECONDS)
            self.hangs = thread.is_alive()
            if self.hangs:
                faulthandler.dump_traceback()
        finally:
            sys.unraisablehook, threading.excepthook = old
        self.failed = core._fault_failed() if 0 < self.n <= self.calls else None

    def is_ours(self, error):
        """Whether this is the failing call's error."""
        return (
            isinstance(error, drv.Error)
            and error.code == self.code
            and error.routine in names_of(self.failed)
        )

    def reported(self):
        """Whether the body saw an error: it may compare messages, and those of errors of its threads."""
        seen = isinstance(self.error, AssertionError) and re.search(" failed: |CUDA_ERROR_", str(self.error))
        return bool(seen) or any(isinstance(error, drv.Error) for error in chain(self.error) + self.reports)

    def complaint(self):
        """What is wrong with what came out, or None."""
        if self.hangs:
            return "it hangs"
        if self.stuck:
            return f"afterwards nothing works: {self.stuck!r}"
        if self.failed == "cuInit" and not isinstance(self.error, SystemError):
            return None  # where it fails there is no driver, and the compiler works for none
        ours, expected = any(map(self.is_ours, self.reports)), (AssertionError, Failed)
        others = [
            error for error in self.reports if not self.is_ours(error) and not isinstance(error, expected)
        ]
        if others and not ours:
            return f"reported besides: {others!r}"
        if self.error is None or self.is_ours(self.error):
            return None
        if isinstance(self.error, drv.Error) and ours:
            return None  # a consequence of what was reported
        return (
            None
            if isinstance(self.error, expected) and self.reported()
            else f"{type(self.error).__name__}: {self.error}"
        )

    def forget(self):
        """What the frames of the error hold is not left behind by the test."""
        for error in [*chain(self.error), *self.reports]:
            traceback.clear_frames(error.__traceback__)
        self.error, self.stuck, self.reports = None, None, []


ALSO_NAMED = {  # as PyCUDA names it, or by the call that was asked for
    "cuCtxSetCurrent": ["cuCtxPushCurrent", "cuCtxPopCurrent"],
    "cuDeviceGetAttribute": ["cuDeviceComputeCapability"],
    "cuModuleLoadDataEx": ["cuModuleLoadData"],
    "cuModuleGetGlobal": ["cuModuleGetTexRef", "cuModuleGetSurfRef"],
    "cuMemAlloc": ["memory_pool::allocate"],
    "cuMemHostAlloc": ["memory_pool::allocate"],
}


# Tests in which another path is taken when these calls fail, without an error.
OTHER_WAYS = {
    # Without an event behind its work a stream that goes is waited for.
    "test_a_dropped_stream_still_keeps_what_its_work_needs": ["cuEventCreate", "cuEventRecord"],
    # "invalid value" means an address of no allocation, which is then refused by the operation.
    "test_memory_that_is_too_short": ["cuMemGetAddressRange"],
    # "invalid value" is a driver's answer to an attribute that it does not know, which is then left out.
    "test_all_attributes": ["cuDeviceGetAttribute"],
}


def names_of(routine):
    """The names by which an error may call this driver function."""
    return [routine, *ALSO_NAMED.get(routine, [])]


def chain(error):
    """An error, its cause (or context), the cause of that, and so on."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


attempts = []  # the one under way


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not attempts:
        return None
    attempt = attempts[-1]
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    attempt.run(pyfuncitem.obj, arguments)
    del arguments
    if attempt.n == 0 or isinstance(attempt.error, Skipped):
        if attempt.error:
            raise attempt.error
        return True
    complaint = attempt.complaint()
    if attempt.failed in OTHER_WAYS.get(pyfuncitem.originalname, []) and not attempt.hangs:
        complaint = None
    if complaint:
        trace = "".join(traceback.format_exception(attempt.error)) if attempt.error else ""
        attempt.forget()
        pytest.fail(f"{complaint}\n{trace}", pytrace=False)
    count(attempt)
    attempt.forget()
    return True


def count(attempt):
    if not attempt.failed:
        return
    tally["failing calls"] += 1
    outcome = "raised" if attempt.error else "reported" if attempt.reports else "quiet"
    tally[outcome] += 1
    if outcome == "quiet":
        quiet[attempt.failed] = quiet.get(attempt.failed, 0) + 1


def run_once(item, attempt, nextitem):
    """The reports of the test's phases, its body run as this Attempt."""
    attempts.append(attempt)
    item._initrequest()
    try:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    finally:
        attempts.pop()
    for report in reports:
        if attempt.n and not report.passed:
            report.longrepr = f"{attempt}\n{report.longreprtext}"
    return reports


def chosen(n, calls):
    """Whether the n-th of so many calls is one that fails."""
    return calls <= ALL_UP_TO or n % (calls // AT_LEAST) == 0


class Sibling:
    """Stands for a next test of the same file: fixtures of the test end, those of the file stay."""

    def __init__(self, item):
        self.above = item.listchain()[:-1]

    def listchain(self):
        return self.above


def run_all(item):
    """The reports of all runs that say something."""
    first = Attempt()
    reports = run_once(item, first, Sibling(item))
    if not all(report.passed for report in reports):
        return reports
    tally["tests"] += 1
    only, lines = item.config.option.fault_call, []
    for code in map(int, item.config.option.fault_codes.split(",")):
        for n in range(1, first.calls + 1):
            if only == n or (only is None and chosen(n, first.calls)):
                lines += [
                    report for report in run_once(item, Attempt(n, code), Sibling(item)) if not report.passed
                ]
    return lines


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with contextlib.suppress(KeyboardInterrupt):
        reports = run_all(item) + run_once(item, Attempt(), nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_sessionfinish(session):
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output.update(fault_tally=tally, fault_quiet=quiet)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    for name, number in getattr(node, "workeroutput", {}).get("fault_tally", {}).items():
        tally[name] = number if name == "passed over" else tally[name] + number
    for name, number in getattr(node, "workeroutput", {}).get("fault_quiet", {}).items():
        quiet[name] = quiet.get(name, 0) + number


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(", ".join(f"{name}: {number}" for name, number in tally.items()))
    by_count = sorted(quiet.items(), key=lambda pair: -pair[1])
    terminalreporter.write_line("not reported: " + ", ".join(f"{name} {number}" for name, number in by_count))
