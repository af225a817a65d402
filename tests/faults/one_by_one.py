"""Makes the driver calls of a function fail, one after another, in a program of its own.

The function is called many times in one context, because making and destroying one takes half a second on a
GPU. The context stays usable: failures are only simulated (`core/fault_injection.h`).
"""

import gc
import itertools
import sys

import pycuda.driver as drv

core = drv._driver
CODES = {"out of memory": 2, "invalid value": 1, "not found": 500, "unknown": 999}
WORK_EVERY = 10  # attempts, after which the work is done once without a failure
gc.freeze()  # each attempt collects garbage: faster without the objects of imported modules


def state():
    """({type: number of its live objects} once nothing is in flight, the current context or None)."""
    current = drv.Context.get_current()
    if current:
        current.synchronize()
    gc.collect()
    return {name: count for name, count in drv._live_objects().items() if count}, current


class Failing:
    """A function `work` whose driver calls fail, one after another, with this CUresult code.

    The function may raise the failing call's error, or an error for which may_be(error) is true. After each
    attempt, no object may be leaked and the same context must be current.
    """

    def __init__(self, work, code, may_be=lambda error: False):
        self.work, self.code, self.may_be = work, code, may_be
        self.reports = []

    def is_expected(self, error):
        """Whether the work may raise this exception."""
        ours = isinstance(error, drv.Error) and str(error) and error.code == self.code
        return ours or self.may_be(error)

    def attempt(self, n):
        """Does the work with its n-th call failing. Returns (whether it made n calls, whether an error was
        raised or reported as unraisable).
        """
        before, raised = core._fault_calls(), False
        assert core._fault_arm(n, self.code)
        try:
            self.work()
        except Exception as error:
            raised = True
            if not self.is_expected(error):
                raise
        reached = core._fault_calls() - before >= n
        core._fault_arm(0)
        reported = raised or bool(self.reports)
        self.reports.clear()
        return reached, reported

    def each_call(self):
        """Makes each call fail. Returns (number of calls, failures that were raised or reported, failures
        that were neither).
        """
        sys.unraisablehook = lambda report: self.reports.append(str(report.exc_value))
        self.work()
        at_first, failures, quiet = state(), 0, 0
        for n in itertools.count(1):
            reached, reported = self.attempt(n)
            assert state() == at_first, (n, core._fault_failed(), state())
            if not reached:
                break
            failures += reported
            # A release asks which context is current. When that fails it makes its context current anyway.
            quiet += not reported and core._fault_failed() != "cuCtxGetCurrent"
            if n % WORK_EVERY == 0:
                self.work()
        self.work()
        assert state() == at_first and not self.reports
        return n - 1, failures, quiet


def in_a_context(work, code, **options):
    """Print the numbers of Failing(work, code, **options).each_call() in a context made for it."""
    drv.init()
    context = drv.Device(0).make_context()
    print(*Failing(work, code, **options).each_call())
    context.pop()
    context.detach()
    assert state() == ({}, None)
