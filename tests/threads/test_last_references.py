"""The last reference to an object ends in one thread while another is about to find the object.

On a free-threaded CPython without the GIL, a thread that ends an object waits for the lock of the module
(docs/design/threads.md), and until it has it the object is there without references.
"""

import pytest
from forking import under_asan
from free_threading import WITHOUT_GIL

THREADS = '''
import faulthandler, os, signal, sys, threading, time, warnings

import pycuda.driver as drv

faulthandler.dump_traceback_later(60, exit=True)
SECONDS = 2
end = time.monotonic() + SECONDS
failed = []


def run(work, count, daemon=False):
    """Runs work() in `count` threads again and again for SECONDS. A list of the threads."""

    def loop():
        try:
            while time.monotonic() < end:
                work()
        except BaseException as error:
            failed.append(repr(error))

    threads = [threading.Thread(target=loop, daemon=daemon) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


def slow_down(daemon=False):
    """Threads for which the others wait."""
    drv.init()
    return run(lambda: drv.Device(Slow()), 2 if daemon else 1, daemon)


class Slow:
    """A number that takes long to read, for which the module keeps its lock."""

    def __index__(self):
        late = time.monotonic() + 0.003
        while time.monotonic() < late:
            pass
        return 0


def finish(threads):
    for thread in threads:
        thread.join()
    sys.exit(failed[0] if failed else 0)

'''

COLLECTOR = """
import gc

import numpy as np

from pycuda import gpuarray

threads = slow_down()
context = drv.Device(0).retain_primary_context()
context.push()
dtype = np.dtype("f4,i4")
array = gpuarray.zeros(64, dtype)
before = sys.getrefcount(dtype)
threads += run(lambda: [array[1:] for _ in range(50)], 4) + run(gc.collect, 1)
for thread in threads:
    thread.join()
if sys.getrefcount(dtype) != before:
    failed.append("views of the array were released more than once")
finish(threads)
"""

CONTEXTS = """
drv.init()


def use():
    context = drv.Device(0).retain_primary_context()
    context.push()
    assert drv.Context.get_current() == context
    drv.Context.pop()


finish(run(use, 4))
"""

CHILDREN = """
warnings.simplefilter("ignore", DeprecationWarning)
threads = slow_down() + run(drv.get_version, 4)


def fork():
    child = os.fork()
    if not child:
        drv.get_version()
        os._exit(0)
    late = time.monotonic() + 20
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        time.sleep(0.001)
        if time.monotonic() > late:
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
            break
    assert ended[1] == 0, f"a child ended with {ended[1]}"


while time.monotonic() < end:
    fork()
finish(threads)
"""

DAEMONS = """
from pycuda import gpuarray

threads = slow_down(daemon=True) + run(lambda: drv.Device(0), 6, daemon=True)
context = drv.Device(0).retain_primary_context()
context.push()
arrays = [gpuarray.zeros(4, "f4") for _ in range(50)]
arrays.append(arrays)
time.sleep(0.1)
drv.Context.pop()
faulthandler.dump_traceback_later(20, exit=True)
"""


@pytest.mark.parametrize(
    "program",
    [COLLECTOR, CONTEXTS, CHILDREN, DAEMONS],
    ids=["collector", "contexts", "children", "daemons"],
)
def test_programs_end(run_python, program):
    """Collector: arrays die while the garbage collector visits all objects. Contexts: each of several threads
    takes the context for the only one that uses it. Children: a fork copies the module's lock, which another
    thread may have or be about to get. Daemons: the program ends, with objects of its own, while such threads
    wait for the lock."""
    if program is CHILDREN and under_asan():
        pytest.skip("AddressSanitizer's allocator does not survive a fork while other threads run")
    done = run_python(THREADS + program, env=WITHOUT_GIL)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
