"""The program ends while daemon threads call the driver: its exit code is its own, and stderr stays empty."""

import time

import pytest

FOREVER = '''
import sys, threading, time
import numpy as np
import pycuda.driver as drv
from pycuda import gpuarray

PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry nothing(.param .u64 a) { ret; }
"""
drv.init()
context = drv.Device(0).retain_primary_context()
busy = threading.Barrier(5)


def work(number):
    context.push()
    nothing, stream = drv.module_from_buffer(PTX).get_function("nothing"), drv.Stream()
    host = drv.pagelocked_zeros(1 << 16, np.int32)
    rounds = 0
    while True:
        memory = drv.mem_alloc(1 << 18)
        nothing(memory, block=(1, 1, 1), stream=stream)
        drv.memcpy_htod_async(memory, host, stream)
        event = drv.Event().record(stream)
        (stream.synchronize, drv.Context.synchronize, event.synchronize, memory.free)[number]()
        rounds += 1
        if rounds == 20:
            busy.wait()


for number in range(4):
    threading.Thread(target=work, args=(number,), daemon=True).start()
busy.wait()
'''
# ending: (last lines of the program, exit code, end of stderr)
ENDINGS = {
    "the end": ("", 0, ""),
    "sys.exit": ("sys.exit(7)", 7, ""),
    "an exception": ("raise KeyError('mine')", 1, "KeyError: 'mine'"),
    "with a context": ("context.push(); memory = gpuarray.zeros(100, np.int32); sys.exit(3)", 3, ""),
    "after a detach": ("own = drv.Device(0).make_context(); own.detach(); sys.exit(4)", 4, ""),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_exit_code_is_the_programs_while_daemon_threads_call_the_driver(run_python, ending):
    last, code, message = ENDINGS[ending]
    for _ in range(3):
        done = run_python(FOREVER + last)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert done.stderr.strip().endswith(message) and bool(done.stderr) == bool(message), done.stderr


# A daemon thread is inside a call of the driver, which takes DELAY ms, when the program ends.
INSIDE = """
import os, sys, threading, time
import pycuda.driver as drv
drv.init()
context = drv.Device(0).retain_primary_context()
inside = threading.Event()

def work():
    context.push()
    stream = drv.Stream()
    assert drv._driver._fault_delay("cuStreamSynchronize", DELAY)
    inside.set()
    stream.synchronize()

threading.Thread(target=work, daemon=True).start()
inside.wait()
time.sleep(0.05)
print(time.monotonic(), flush=True)
"""
FAULTS = {"PYCUDA_FAULT_CALL": "0"}  # makes _fault_delay available


def test_the_process_waits_for_calls_in_progress(run_python):
    done = run_python(INSIDE.replace("DELAY", "2000") + "sys.exit(5)", env=FAULTS)
    assert done.returncode == 5 and done.stderr == ""
    assert time.monotonic() - float(done.stdout) > 1.5


def test_the_process_waits_5_seconds_for_a_call_that_does_not_return(run_python):
    """Then it ends, with its own exit code, and with its output flushed."""
    program = INSIDE.replace("DELAY", "60000") + "print('last words')\nsys.exit(6)"
    done = run_python(program, env=FAULTS)
    first, last = done.stdout.splitlines()
    assert (done.returncode, done.stderr, last) == (6, "", "last words")
    assert time.monotonic() - float(first) < 40


def test_a_forked_child_does_not_wait_for_threads_of_its_parent(run_python):
    program = INSIDE.replace("DELAY", "6000") + (
        "child = os.fork()\n"
        "if not child:\n"
        "    sys.exit(8)\n"
        "start = time.monotonic()\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), time.monotonic() - start < 4)\n"
    )
    done = run_python(program, env=FAULTS)
    assert (done.returncode, done.stdout.splitlines()[1]) == (0, "8 True"), done.stderr


def test_exit_handlers_that_were_registered_before_the_import_may_call_the_driver(run_python):
    """They run after PyCUDA's own handler."""
    done = run_python(
        """
        import atexit

        def last():
            memory = drv.mem_alloc(64)
            drv.memcpy_htod(memory, np.arange(16, dtype=np.int32))
            drv.Context.synchronize()
            print(drv.from_device(memory, 16, np.int32).sum())
            memory.free()

        atexit.register(last)
        """
        + "\n".join("        " + line for line in FOREVER.splitlines())
        + "\n        sys.exit(9)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (9, "120\n", "")


def test_a_finalizer_that_calls_the_driver_at_the_end_does_not_hang(run_python):
    """The call is done, or raises an error."""
    done = run_python(
        """
        import sys
        import pycuda.driver as drv

        class Late:
            def __del__(self, drv=drv, print=print):
                try:
                    drv.Context.synchronize()
                    print("synchronized", flush=True)
                except drv.Error:
                    print("refused", flush=True)

        drv.init()
        drv.Device(0).retain_primary_context().push()
        kept = Late()
        sys.exit(2)
        """
    )
    assert (done.returncode, done.stderr) == (2, "") and done.stdout in ("synchronized\n", "refused\n")
