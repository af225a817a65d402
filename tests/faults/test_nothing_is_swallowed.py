"""Driver calls whose failure is easily ignored raise: queries of the current context and of a device, and
leaving a context.
"""

import textwrap

START = """
import threading

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

core, INVALID, MEMORY = drv._driver, 1, 2
drv.init()
device = drv.Device(0)
drv.Context.synchronize()


def in_thread(work):
    # The result of work(), called in a new thread, which has no context.
    seen = []
    thread = threading.Thread(target=lambda: seen.append(work()))
    thread.start()
    thread.join()
    assert seen, "the thread ended with an exception"
    return seen[0]


def fails(n, routine, code, work, *arguments):
    # Asserts that work(*arguments) raises the error of its n-th driver call, which is `routine`. True.
    core._fault_arm(n, code)
    with pytest.raises(drv.Error) as info:
        work(*arguments)
    core._fault_arm(0)
    assert core._fault_failed() == routine and info.value.code == code, (core._fault_failed(), info.value)
    return True
"""


def run(run_python, program):
    """Runs START and a program, which must succeed."""
    done = run_python(START + textwrap.dedent(program), env={"PYCUDA_FAULT_CALL": "0"})
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_a_thread_without_a_context(run_python):
    """The first driver call fails because there is no context, and then the query for the current one does:
    its error is raised.
    """
    run(run_python, "assert in_thread(lambda: fails(2, 'cuCtxGetCurrent', MEMORY, drv.mem_alloc, 64))")


def test_the_context_below_a_pushed_one(run_python):
    """push() queries the current context, which pop() will restore. If the query fails, it pushes nothing."""
    program = """
        context, before = device.make_context(), None
        drv.Context.pop()
        before = drv.Context.get_current()
        assert before is not None
        fails(1, "cuCtxGetCurrent", MEMORY, context.push)
        assert drv.Context.get_current() == before
        context.push()
        drv.Context.pop()
        assert drv.Context.get_current() == before
        context.detach()
    """
    run(run_python, program)


def test_a_context_that_stays_current(run_python):
    """make_context() pops the new context from the driver's stack; when that fails it destroys the
    context.
    """
    program = """
        before = drv.Context.get_current()
        fails(2, "cuCtxPopCurrent", MEMORY, device.make_context)
        assert drv.Context.get_current() == before and drv._live_objects()["Context"] == 0
        drv.to_device(np.arange(5))
    """
    run(run_python, program)


def test_detach_when_the_current_context_cannot_be_queried(run_python):
    program = """
        first, second = device.make_context(), device.make_context()
        core._fault_arm(1, MEMORY)
        second.detach()
        core._fault_arm(0)
        assert core._fault_failed() == "cuCtxGetCurrent" and drv.Context.get_current() == first
        first.pop()
        first.detach()
    """
    run(run_python, program)


def test_attributes_that_fail_raise(run_python):
    """Only attributes that the driver does not know are left out of get_attributes()."""
    run(run_python, "fails(3, 'cuDeviceGetAttribute', MEMORY, device.get_attributes)")


def test_code_is_not_compiled_for_a_default_architecture(run_python):
    """Only without a driver is code compiled for a default architecture; if a driver's call fails, that is
    raised.
    """
    run(run_python, "fails(2, 'cuCtxGetCurrent', MEMORY, SourceModule, '__global__ void k() {}')")
