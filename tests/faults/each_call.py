"""pytest plugin: each test is run again and again, and each time another of its driver calls fails.

    PYCUDA_FAULT_CALL=0 PYTHONPATH=tests/faults pytest -p each_call tests/driver tests/gpuarray tests/compiler

After a first run without a failure, every driver call of the test's body fails once with each of
--fault-codes. Bodies with more than ALL_UP_TO calls repeat the same calls in a loop: of these about AT_LEAST
fail. An attempt is good if the body

- succeeds, or
- raises the failing call's error, recognized by its code and routine, or
- fails an assertion of its own after the error was raised in it, or reported where nothing could be raised.

Any other exception fails the test, and so do leaked objects, a body that hangs, and a last run without a
failure that does not pass. A body runs in a thread of its own, so that it starts without a current context
and leaves none.

Tests that start processes are left out, as their calls are made in those processes; so are tests with random
input, whose calls differ from run to run, and those with the mark no_faults.
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
# Out of memory, invalid value, unknown. Not a kernel's fault: releases ignore its error once it was reported.
CODES = "2,1,999"
# Of a body with more than ALL_UP_TO calls about AT_LEAST fail; a body may take JOIN_SECONDS.
ALL_UP_TO, AT_LEAST, JOIN_SECONDS = 300, 100, 60
# Printed at the end. Each failing call was raised, reported as unraisable, or quiet, which is neither.
tally = {"tests": 0, "left out": 0, "failing calls": 0, "raised": 0, "reported": 0, "quiet": 0}
quiet = {}  # routine -> how often its failure was quiet


def pytest_addoption(parser):
    parser.addoption("--fault-codes", default=CODES, help="CUresult codes, separated by commas")
    parser.addoption("--fault-call", type=int, help="this call only")


def pytest_configure(config):
    config.option.timeout = 0  # bodies are timed one by one
    event_waits.install()


def starts_processes(item):
    """Whether the test, or a fixture that it uses, starts processes, by the names in their code."""
    names = {name for name in item.function.__code__.co_names if name in ("subprocess", "multiprocessing")}
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        code = getattr(definitions[-1].func, "__code__", None)
        if code and "no_leaks" not in code.co_name:
            names |= {"subprocess"} & set(code.co_names)
    fixtures = {"run_python", "at_capability", "on_two_devices"}
    return bool(names or fixtures.intersection(item.fixturenames))


def is_random(item):
    """Whether hypothesis runs the test."""
    return getattr(item.obj, "is_hypothesis_test", False)


def pytest_collection_modifyitems(config, items):
    kept = [item for item in items if not starts_processes(item) and not is_random(item)]
    kept = [item for item in kept if not item.get_closest_marker("no_faults")]
    tally["left out"] = len(items) - len(kept)
    items[:] = kept


def pytest_collection_finish(session):
    drv.init()
    if not core._fault_arm(0):
        raise pytest.UsageError("faults need PYCUDA_FAULT_CALL=0 in the environment")
    gc.collect()
    gc.freeze()  # no objects of tests yet: the searches for leaked objects need not look at these


class EventWaits:
    """Ends the waits, with a timeout, for a threading.Event that a failed body will never set.

    install() replaces Event.wait for all tests. give_up() wakes the waiting threads and lets later waits
    return at once, until `given_up` is False again. Waits without a timeout are left alone: a thread that
    starts waits for an Event in this way.
    """

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


def check_recovery():
    """End the work that the body left in flight, pop the contexts that it left current, and check that a copy
    to the device and back still works.
    """
    with contextlib.suppress(drv.LogicError):  # there is no context to pop anymore
        while True:
            drv.Context.synchronize()
            drv.Context.pop()
    data = np.arange(7)
    assert (drv.from_device_like(drv.to_device(data), data) == data).all()


class Attempt:
    """One run of a body in which its n-th driver call (0: none) fails with this code. run() fills in the
    rest.

    Attributes: `calls`, the number of calls that the body made; `failed`, the name of the call that failed,
    or None; `error`, the exception that the body raised, or None; `reports`, the exceptions that were
    reported as unraisable or ended a thread; `hangs`, whether the body did not end; `unrecovered`, the
    exception of check_recovery(), or None.
    """

    def __init__(self, n=0, code=0):
        self.n, self.code = n, code
        self.calls, self.failed = 0, None
        self.error, self.reports = None, []
        self.hangs, self.unrecovered = False, None

    def __str__(self):
        return f"call {self.n}, {self.failed}, fails with {self.code}:"

    def run(self, function, arguments):
        """Calls the function in a thread of its own, and sets the attributes."""

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
                check_recovery()
            except Exception as error:
                self.unrecovered = error

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

    def is_from_failed_call(self, error):
        """Whether an exception is the failing call's, by its code and routine."""
        return (
            isinstance(error, drv.Error)
            and error.code == self.code
            and error.routine in names_of(self.failed)
        )

    def has_seen_error(self):
        """Whether a driver error reached the test: one was raised or reported, or the message of the failed
        assertion has the text of one, which the test compared or which a thread of the test passed to it.
        """
        compared = isinstance(self.error, AssertionError) and re.search(
            " failed: |CUDA_ERROR_", str(self.error)
        )
        return bool(compared) or any(
            isinstance(error, drv.Error) for error in chain(self.error) + self.reports
        )

    def complaint(self):
        """A text that says what is wrong with this attempt; None if it is good (see the top of this file)."""
        if self.hangs:
            return "it hangs"
        if self.unrecovered:
            return f"afterwards nothing works: {self.unrecovered!r}"
        if self.failed == "cuInit" and not isinstance(self.error, SystemError):
            return None  # taken for a machine without a driver, on which the compiler still works
        is_reported = any(map(self.is_from_failed_call, self.reports))
        failed_assertion = AssertionError, Failed
        others = [
            error
            for error in self.reports
            if not self.is_from_failed_call(error) and not isinstance(error, failed_assertion)
        ]
        if others and not is_reported:
            return f"other errors were reported: {others!r}"
        if self.error is None or self.is_from_failed_call(self.error):
            return None
        if isinstance(self.error, drv.Error) and is_reported:
            return None  # a consequence of the error that was reported
        if isinstance(self.error, failed_assertion) and self.has_seen_error():
            return None
        return f"{type(self.error).__name__}: {self.error}"

    def forget(self):
        """Drop the errors and the objects that their frames hold, which would count as leaked by the test."""
        for error in [*chain(self.error), *self.reports]:
            traceback.clear_frames(error.__traceback__)
        self.error, self.unrecovered, self.reports = None, None, []


# Names that errors use instead of the routine that failed: PyCUDA's, or that of the call that the caller
# made.
ALSO_NAMED = {
    "cuCtxSetCurrent": ["cuCtxPushCurrent", "cuCtxPopCurrent"],
    "cuDeviceGetAttribute": ["cuDeviceComputeCapability"],
    "cuModuleLoadDataEx": ["cuModuleLoadData"],
    "cuModuleGetGlobal": ["cuModuleGetTexRef", "cuModuleGetSurfRef"],
    "cuMemAlloc": ["memory_pool::allocate"],
    "cuMemHostAlloc": ["memory_pool::allocate"],
}


# Tests whose own assertion fails when these calls do: pycuda does without the call, so that nothing raises.
OTHER_WAYS = {
    # When no event can be recorded after its work, a stream that is dropped is waited for.
    "test_a_dropped_stream_still_keeps_what_its_work_needs": ["cuEventCreate", "cuEventRecord"],
    # "invalid value" means an address of no allocation, which is then refused by the operation.
    "test_memory_that_is_too_short": ["cuMemGetAddressRange"],
    # "invalid value" is a driver's answer to an attribute that it does not know, which is then left out.
    "test_all_attributes": ["cuDeviceGetAttribute"],
}


def names_of(routine):
    """The values of `routine` that an error of this driver function may have."""
    return [routine, *ALSO_NAMED.get(routine, [])]


def chain(error):
    """An error, its cause (or context), the cause of that, and so on."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


attempts = []  # the attempt that is running, as the only element


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs the body as the current attempt, and fails the test if the attempt is not good."""
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
    """Add a good attempt to `tally` and `quiet`; one that made fewer than n calls had no failure to count."""
    if not attempt.failed:
        return
    tally["failing calls"] += 1
    outcome = "raised" if attempt.error else "reported" if attempt.reports else "quiet"
    tally[outcome] += 1
    if outcome == "quiet":
        quiet[attempt.failed] = quiet.get(attempt.failed, 0) + 1


def run_once(item, attempt, nextitem):
    """Runs a test's fixtures, and its body as this attempt. Returns the reports of its phases."""
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


def is_chosen(n, calls):
    """Whether the n-th of a body's calls is to fail: all are, or some at equal distances."""
    return calls <= ALL_UP_TO or n % (calls // AT_LEAST) == 0


class Sibling:
    """A stand-in for the next test, of the same file: with it, pytest tears down the test's fixtures but not
    the file's.
    """

    def __init__(self, item):
        self.parents = item.listchain()[:-1]

    def listchain(self):
        return self.parents


def run_all(item):
    """The reports of the first run if it does not pass; otherwise those of the attempts that fail."""
    first = Attempt()
    reports = run_once(item, first, Sibling(item))
    if not all(report.passed for report in reports):
        return reports
    tally["tests"] += 1
    only, failures = item.config.option.fault_call, []
    for code in map(int, item.config.option.fault_codes.split(",")):
        for n in range(1, first.calls + 1):
            if only == n or (only is None and is_chosen(n, first.calls)):
                reports = run_once(item, Attempt(n, code), Sibling(item))
                failures += [report for report in reports if not report.passed]
    return failures


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Runs all attempts of a test, then the test once without a failure, in place of pytest's single run."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with contextlib.suppress(KeyboardInterrupt):
        reports = run_all(item) + run_once(item, Attempt(), nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_sessionfinish(session):
    """In a worker of pytest-xdist: sends the numbers to the main process."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output.update(fault_tally=tally, fault_quiet=quiet)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """In the main process of pytest-xdist: adds a worker's numbers."""
    for name, number in getattr(node, "workeroutput", {}).get("fault_tally", {}).items():
        # Each worker of pytest-xdist collects all tests, and so leaves out the same ones.
        tally[name] = number if name == "left out" else tally[name] + number
    for name, number in getattr(node, "workeroutput", {}).get("fault_quiet", {}).items():
        quiet[name] = quiet.get(name, 0) + number


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(", ".join(f"{name}: {number}" for name, number in tally.items()))
    by_count = sorted(quiet.items(), key=lambda pair: -pair[1])
    terminalreporter.write_line("not reported: " + ", ".join(f"{name} {number}" for name, number in by_count))
