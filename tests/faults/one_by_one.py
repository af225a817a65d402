"""Lets the driver calls of a piece of work fail, one after another, in a program of its own.

The work is done again and again in a context that is there already: a GPU takes half a second to make one and
to destroy it. What fails is injected, so the context is as good after a failure as before.
"""

import gc
import itertools
import sys

import pycuda.driver as drv

core = drv._driver
CODES = {"out of memory": 2, "invalid value": 1, "not found": 500, "unknown": 999}
WORK_EVERY = 10  # attempts
gc.freeze()  # what was imported: no garbage, and most of what there is


def state():
    """The objects that live once nothing is in flight, and the context that is current."""
    current = drv.Context.get_current()
    if current:
        current.synchronize()
    gc.collect()
    return {name: count for name, count in drv._live_objects().items() if count}, current


class Failing:
    """Work (a function) whose driver calls fail, one after another, with this CUresult code.

    What it may raise is the failing call's error, or an error for which may_be(error) is true; nothing is
    left behind, the same context is current, and the work can be done again.
    """

    def __init__(self, work, code, may_be=lambda error: False):
        self.work, self.code, self.may_be = work, code, may_be
        self.reports = []

    def is_right(self, error):
        ours = isinstance(error, drv.Error) and str(error) and error.code == self.code
        return ours or self.may_be(error)

    def attempt(self, n):
        """Lets the n-th call fail. Whether the work got that far, and whether the failure was reported."""
        before, raised = core._fault_calls(), False
        assert core._fault_arm(n, self.code)
        try:
            self.work()
        except Exception as error:
            raised = True
            if not self.is_right(error):
                raise
        reached = core._fault_calls() - before >= n
        core._fault_arm(0)
        reported = raised or bool(self.reports)
        self.reports.clear()
        return reached, reported

    def each_call(self):
        """(calls of the work, failures that were raised or reported, failures of which nothing was said)"""
        sys.unraisablehook = lambda report: self.reports.append(str(report.exc_value))
        self.work()
        at_first, failures, quiet = state(), 0, 0
        for n in itertools.count(1):
            reached, reported = self.attempt(n)
            assert state() == at_first, (n, core._fault_failed(), state())
            if not reached:
                break
            failures += reported
            # Before a release that question may fail: the context is then made current in any case.
            quiet += not reported and core._fault_failed() != "cuCtxGetCurrent"
            if n % WORK_EVERY == 0:
                self.work()
        self.work()
        assert state() == at_first and not self.reports
        return n - 1, failures, quiet


def in_a_context(work, code, **options):
    """Prints Failing.each_call(), in a context made for it; options: of Failing."""
    drv.init()
    context = drv.Device(0).make_context()
    print(*Failing(work, code, **options).each_call())
    context.pop()
    context.detach()
    assert state() == ({}, None)
