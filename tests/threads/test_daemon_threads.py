"""Daemon threads that call the driver without end while the program ends: the exit code is the program's, and
no thread is in the driver when that is torn down.
"""

import pytest

PROGRAM = '''
import faulthandler, sys, threading, time

import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import compile

faulthandler.dump_traceback_later(60, exit=True)
drv.init()
context = drv.Device(0).make_context()
PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 nanoseconds)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [nanoseconds];
    mov.u64 %rd2, %globaltimer;
$again:
    mov.u64 %rd3, %globaltimer;
    sub.s64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra $again;
    ret;
}
"""
LONG = np.uint64(600e6)


class Thread:
    """What a thread uses, and the kinds of work it may do. An object that only a frame of a daemon thread
    held would never be released.
    """

    def __init__(self):
        context.push()
        self.spin = drv.module_from_buffer(PTX).get_function("spin")
        self.memory, self.host = drv.mem_alloc(1 << 16), np.zeros(1 << 16, np.int8)
        self.stream = drv.Stream()
        compile("__global__ void first() { }")  # finds the compiler

    def launch(self, time, stream=None):
        self.spin(time, block=(1, 1, 1), stream=stream)

    def launch_and_wait(self):
        self.launch(LONG)
        drv.Context.synchronize()

    def wait_long(self):
        self.launch(LONG, self.stream)
        self.stream.synchronize()

    def free(self):
        mine = drv.mem_alloc(1 << 12)
        self.launch(LONG)
        del mine

    def copy(self):
        self.launch(LONG)
        drv.memcpy_dtoh(self.host, self.memory)
        drv.memcpy_htod(self.memory, self.host)

    def everything(self):
        self.launch_and_wait()
        drv.Stream(), drv.Event(), drv.pagelocked_zeros(100, np.int8), gpuarray.zeros(100, np.int8)

    def functions(self):
        self.stream.launch_host_func(time.sleep, 0.6)
        self.stream.synchronize()

    def compiling(self):
        kernels = [f"__global__ void f{n}(double *a) {{ *a = pow(sin(a[1]), {n}); }}" for n in range(20)]
        compile(" ".join(kernels), cache_dir=False)

    def contexts(self):
        mine = drv.Device(0).make_context()
        drv.module_from_buffer(PTX).get_function("spin")(LONG, block=(1, 1, 1))
        drv.Context.pop()
        mine.detach()


running = threading.Barrier(3)


def work():
    thread = Thread()
    step = getattr(thread, WORK)
    running.wait()
    while True:
        step()


for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
running.wait()
time.sleep(0.05)
drv.Context.pop()
'''
ENDINGS = {"end": ("", 0), "exit": ("sys.exit(3)", 3), "error": ("raise SystemExit('the end')", 1)}
WORK = ["launch_and_wait", "wait_long", "free", "copy", "everything", "functions", "contexts", "compiling"]


@pytest.mark.parametrize("work", WORK)
def test_the_exit_code_is_the_programs_while_daemon_threads_wait_in_the_driver(run_python, work):
    """PYCUDA_CPU_LOCK: as in NVIDIA's driver, a lock is held during waits, which shows deadlocks."""
    ending = list(ENDINGS)[WORK.index(work) % len(ENDINGS)]
    last, code = ENDINGS[ending]
    for _ in range(2):
        done = run_python(f"WORK = {work!r}\n{PROGRAM}\n{last}\n", env={"PYCUDA_CPU_LOCK": "1"})
        assert (done.returncode, done.stderr) == (code, "the end\n" if ending == "error" else ""), done.stderr
