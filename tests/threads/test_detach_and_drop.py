"""One thread drops an object, which waits for a kernel; another detaches the object's context meanwhile."""

from pathlib import Path

import pytest

LATE = str(Path(__file__).parent.with_name("driver") / "late.ptx")

PROGRAM = """
import faulthandler, gc, sys, threading, time

import numpy as np

import pycuda.driver as drv
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


def round(pause):
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


for number in range(8):
    round(0.005 * (number % 4))
# The memory that follows is nobody else's.
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
def test_drop_against_detach(run_python, kind):
    done = run_python(f"LATE, KIND = {LATE!r}, {kind!r}\n" + PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", ""), done.stdout + done.stderr
