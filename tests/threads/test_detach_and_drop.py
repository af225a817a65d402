"""Contexts that end while another thread uses them: objects that are dropped or made meanwhile."""

from pathlib import Path

import pytest

LATE = str(Path(__file__).parent.with_name("driver") / "late.ptx")

PROGRAM = """
import faulthandler, gc, sys, threading, time

import numpy as np

import pycuda.driver as drv
from devices import repeats
from pycuda import gpuarray

faulthandler.dump_traceback_later(60, exit=True)
drv.init()
gc.disable()
keep = drv.Device(0).make_context()
drv.Context.pop()
MAKE = {
    "memory": lambda: drv.mem_alloc(1 << 20),
    "managed": lambda: drv.managed_zeros(100, np.int8),
    "page-locked": lambda: drv.pagelocked_zeros(100, np.int8),
    "registered": lambda: drv.register_host_memory(drv.aligned_zeros(4096, np.int8)),
    "array": lambda: drv.np_to_array(np.zeros((4, 4), np.float32), "C"),
    "module": lambda: drv.module_from_file(LATE),
    "stream": drv.Stream,
    "event": drv.Event,
    "gpuarray": lambda: gpuarray.zeros(100, np.int8),
    "everything": lambda: [make() for name, make in MAKE.items() if name != "everything"],
}


def drop_and_detach(pause):
    # One thread drops an object, which waits for a kernel; another detaches its context after the pause.
    context = drv.Device(0).make_context()
    spin = drv.module_from_file(LATE).get_function("spin")
    box, start = [MAKE[KIND]()], threading.Barrier(2)
    spin(np.uint64(0.05e9), block=(1, 1, 1))
    drv.Context.pop()

    def drop():
        start.wait()
        box.clear()

    def detach():
        start.wait()
        time.sleep(pause)
        context.detach()

    threads = [threading.Thread(target=drop), threading.Thread(target=detach)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


for number in range(repeats(8)):
    drop_and_detach(0.005 * (number % 4))
# If something had been released twice, some of this memory would have two owners.
keep.push()
memory = [drv.to_device(np.full(1000, number, np.int32)) for number in range(20)]
for number, allocation in enumerate(memory):
    assert (drv.from_device(allocation, 1000, np.int32) == number).all()
del allocation, memory
gc.collect()
print({name: count for name, count in drv._live_objects().items() if count and name != "Context"})
"""


KINDS = [
    "memory", "managed", "page-locked", "registered", "array", "module", "stream", "event", "gpuarray",
    "everything",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_is_released_once_while_its_context_is_detached(run_python, kind):
    done = run_python(f"LATE, KIND = {LATE!r}, {kind!r}\n" + PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", ""), done.stdout + done.stderr


LEAVING = """
import faulthandler, threading, time
import numpy as np
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.tools import DeviceMemoryPool

faulthandler.dump_traceback_later(60, exit=True)
drv.init()
context = drv.Device(0).make_context()
array = drv.np_to_array(np.zeros((4, 4), np.float32), "C")
shape = array.get_descriptor()
gpuarray.zeros(100, np.int8)
del array
drv.Context.pop()
MAKE = {
    "get_current": drv.Context.get_current,
    "memory": lambda: drv.mem_alloc(1000),
    "managed": lambda: drv.managed_zeros(100, np.int8),
    "page-locked": lambda: drv.pagelocked_zeros(100, np.int8),
    "array": lambda: drv.Array(shape),
    "module": lambda: drv.module_from_file(LATE),
    "stream": drv.Stream,
    "event": drv.Event,
    "pool": lambda: DeviceMemoryPool().allocate(100),
    "gpuarray": lambda: gpuarray.zeros(100, np.int8),
}
ready, leaving = threading.Event(), threading.Event()

def work():
    # Makes objects 0.1 s after the other thread began to detach, while cuCtxDestroy takes 1.5 s.
    context.push()
    ready.set()
    leaving.wait()
    time.sleep(0.1)
    for name, make in MAKE.items():
        try:
            make()
            print("made", name)
        except drv.Error as error:
            assert error.name == "CUDA_ERROR_CONTEXT_IS_DESTROYED", error
    drv.Context.pop()
    print(drv.Context.get_current())

thread = threading.Thread(target=work)
thread.start()
ready.wait()
assert drv._driver._fault_delay("cuCtxDestroy", 1500)
leaving.set()
context.detach()
thread.join()
"""


def test_nothing_is_made_in_a_context_that_another_thread_ends(run_python):
    """Such an object would outlive its context: the driver may give a new context the same handle, and the
    object would be released in that."""
    done = run_python(f"LATE = {LATE!r}\n" + LEAVING, env={"PYCUDA_FAULT_CALL": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", ""), done.stderr


BY_DRIVER = """
import ctypes, faulthandler, threading
import numpy as np
import pycuda.driver as drv

faulthandler.dump_traceback_later(60, exit=True)
drv.init()
with open("/proc/self/maps") as maps:
    library = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libcuda.so" in line))
"""


def test_a_thread_whose_context_the_driver_popped_gets_errors_until_it_pops_that(run_python):
    """With the default context instead, its work would go on unnoticed in a context without its objects."""
    done = run_python(
        BY_DRIVER
        + """
context = drv.Device(0).make_context()
assert library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())) == 0
for call in (lambda: drv.mem_alloc(100), drv.Stream, drv.Context.synchronize):
    try:
        call()
    except drv.LogicError as error:
        print(error.name)
context.pop()
print(drv.Context.get_current(), int(drv.mem_alloc(100)) > 0)  # in the default context
""",
        check=True,
    )
    assert done.stdout == "CUDA_ERROR_CONTEXT_IS_DESTROYED\n" * 3 + "None True\n"


def test_a_primary_context_that_another_library_made_current_stays_while_it_is_used(run_python):
    """Here, the code that had retained it has detached it."""
    done = run_python(
        BY_DRIVER
        + """
context = drv.Device(0).retain_primary_context()
context.push()
memory, handle = drv.mem_alloc(100), context.handle
drv.Context.pop()
context.detach()
numbers = np.arange(100, dtype=np.int32)

def work():
    global memory
    assert library.cuCtxSetCurrent(ctypes.c_void_p(handle)) == 0
    other = drv.to_device(numbers)
    assert drv.Context.get_current() is not context
    memory = None  # the last object that kept the context as first retained
    print((drv.from_device_like(other, numbers) == numbers).all())
    del other

thread = threading.Thread(target=work)
thread.start()
thread.join()
print({name: count for name, count in drv._live_objects().items() if count})
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n{}\n", ""), done.stderr
