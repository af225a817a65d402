"""Ctrl-C: waiting calls notice a signal, endless kernels and long compilations can be left, programs end.

Each case is a process of its own, a Program. It prints "ready" when all is prepared; then the test sends
SIGINT; it prints "left" when KeyboardInterrupt has reached its except clause.
"""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import devices
import pytest

cpu_only = pytest.mark.cpu("NVIDIA's driver ends no kernel")

ENTRY = ".visible .entry {name}()\n{{\n    .reg .pred %p<3>;\n    .reg .b32 %r<4>;\n{body}\n    ret;\n}}\n"
# Kernels that run forever, or until the host sets `stop`: name and body.
KERNELS = {
    "loop": "LOOP:\n    add.u32 %r1, %r1, 1;\n    bra LOOP;",
    "spin": "LOOP:\n    ld.volatile.global.u32 %r1, [stop];\n"
    "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra LOOP;",
    # The first warp loops, the others wait for it at the barrier.
    "barrier": "    mov.u32 %r1, %tid.x;\n    setp.lt.u32 %p1, %r1, 32;\n    @!%p1 bra WAIT;\nLOOP:\n"
    "    ld.volatile.global.u32 %r1, [stop];\n    setp.eq.u32 %p2, %r1, 0;\n    @%p2 bra LOOP;\nWAIT:\n"
    "    bar.sync 0;",
    "sleep": "LOOP:\n    nanosleep.u32 1000000;\n    ld.volatile.global.u32 %r1, [stop];\n"
    "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra LOOP;",
    # One lane of each block loops; the others exit.
    "some": "    mov.u32 %r1, %tid.x;\n    setp.ne.u32 %p1, %r1, 3;\n"
    "    @%p1 bra END;\nLOOP:\n    bra LOOP;\nEND:",
}
PTX = ".version 7.0\n.target sm_70\n.address_size 64\n.global .u32 stop = 0;\n" + "".join(
    ENTRY.format(name=name, body=body) for name, body in KERNELS.items()
)
START = f'''
import os, signal, sys, threading, time
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray

PTX = b"""{PTX}"""
module = drv.module_from_buffer(PTX)
KERNEL = {{name: module.get_function(name) for name in {list(KERNELS)}}}
loop = KERNEL["loop"]
memory = drv.mem_alloc(4096)
host = np.zeros(1024, np.uint32)
stream, other = drv.Stream(), drv.Stream()
event = drv.Event()
array = gpuarray.zeros(16, np.float32)
array + array  # loads its kernel now: a GPU's driver may load code only once no kernel runs
SHAPE = dict(block=(128, 1, 1), grid=(4, 1))
drv.Context.synchronize()

def ready():
    print("ready", flush=True)
'''


class Program:
    """A process that is sent signals once it says that it is ready."""

    def __init__(self, tmp_path, source, **env):
        script = tmp_path / "program.py"
        script.write_text(START + textwrap.dedent(source))
        path = os.pathsep.join(
            filter(None, [os.path.dirname(devices.__file__), os.environ.get("PYTHONPATH")])
        )
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, **env},
        )

    def wait_for(self, word):
        """Reads stdout up to the line that is that word; fails if the program ends before."""
        while (line := self.process.stdout.readline()) not in (word + "\n", ""):
            pass
        assert line, self.process.stderr.read()

    def end(self, timeout=60):
        """Waits for the program's end; returns its exit code, the rest of stdout, and stderr."""
        killer = threading.Timer(timeout, self.process.kill)
        killer.start()
        output, error = self.process.stdout.read(), self.process.stderr.read()
        code = self.process.wait()
        killer.cancel()
        return code, output, error

    def interrupted(self, delay=0.1):
        """Send one signal after the program's "ready"; return the seconds until it said "left"."""
        self.wait_for("ready")
        # Until the program is in the wait. A signal that is too early raises before it, which passes as well.
        time.sleep(delay)
        start = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.wait_for("left")
        return time.monotonic() - start


@pytest.fixture
def program(tmp_path):
    started = []

    def start(source, **env):
        started.append(Program(tmp_path, source, **env))
        return started[-1]

    yield start
    for each in started:
        with each.process:
            each.process.kill()


# Calls that wait while "loop" runs in `stream`.
WAITS = {
    "context": "drv.Context.synchronize()",
    "stream": "stream.synchronize()",
    "default stream": "drv.memcpy_dtoh(host, memory)",
    "event": "event.synchronize()",
    "htod": "drv.memcpy_htod(memory, host)",
    "dtod": "drv.memcpy_dtod(memory, int(memory) + 2048, 1024); drv.Context.synchronize()",
    "get": "array.get()",
    "set": "array.set(np.ones(16, np.float32))",
    "to_device": "drv.to_device(host)",
    "from_device": "drv.from_device(memory, 16, np.float32)",
    "handlers": "KERNEL['loop'](drv.InOut(host), **SHAPE)",
    "time_kernel": "loop(time_kernel=True, **SHAPE)",
    "timed prepared": "loop.prepare('P').prepared_timed_call((1, 1), (32, 1, 1), memory)()",
    "free": "memory.free()",
    "last reference": "del memory; time.sleep(0)",
    "dtoh async": "drv.memcpy_dtoh_async(host, memory, stream)",
    "get_async": "array.get_async(stream)",
    "rows async": "rows(stream)",
}
# Calls that return at once, until as much is queued as the driver takes; then they wait.
FULL = {
    "launches": "loop(**SHAPE)",
    "launches with attributes": "loop(priority=0, **SHAPE)",
    "prepared launches": "prepared.prepared_async_call((1, 1), (32, 1, 1), stream)",
    "fills": "drv.memset_d32_async(memory, 0, 1024, stream)",
    "copies": "drv.memcpy_dtod_async(memory, int(memory) + 2048, 1024, stream)",
    "page-locked copies": "drv.memcpy_htod_async(memory, locked, stream)",
    "events": "event.record(stream)",
    "functions": "stream.launch_host_func(len, ())",
    "graphs": "graph.launch(stream)",
    "arrays": "with stream: array + array",
}
WAITS |= {name: f"while True:\n        {call}" for name, call in FULL.items()}

WAIT = """
SHAPE["stream"] = stream
def rows(stream):
    copy = drv.Memcpy2D()
    copy.set_src_device(memory)
    copy.set_dst_host(host)
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 16
    copy.height = 4
    copy(stream)
prepared = KERNEL["some"].prepare("")
locked = drv.pagelocked_zeros(16, np.uint32)
graph = drv.Graph()
graph.add_kernel(KERNEL["some"], block=(1, 1, 1))
graph = graph.instantiate()
loop(**SHAPE)
event.record(stream)
try:
    ready()
    {wait}
    print("it ended by itself", flush=True)
except KeyboardInterrupt:
    print("left", flush=True)
os._exit(0)
"""


@cpu_only
@pytest.mark.parametrize("wait", [name for name in WAITS if name not in ("handlers", "timed prepared")])
def test_a_signal_ends_the_wait(program, wait):
    it = program(WAIT.format(wait=WAITS[wait]))
    assert it.interrupted() < 0.5
    assert it.end()[0] == 0


@pytest.mark.parametrize(
    "wait",
    ["context", "stream", "default stream", "event", "htod", "get", "set", "to_device", "time_kernel"]
    + ["dtoh async", "get_async", "rows async", *FULL],
)
def test_a_signal_ends_the_wait_where_kernels_go_on(program, wait):
    """The kernel is still running afterwards, as on a GPU."""
    it = program(WAIT.format(wait=WAITS[wait]), **devices.POLLING)
    assert it.interrupted() < 0.5
    assert it.end()[0] == 0


@cpu_only
@pytest.mark.parametrize("kernel", KERNELS)
def test_endless_kernels_can_be_stopped(program, kernel):
    it = program(f"""
        KERNEL[{kernel!r}](**SHAPE)
        try:
            ready()
            drv.Context.synchronize()
        except KeyboardInterrupt:
            print("left", flush=True)
        try:
            drv.Context.synchronize()
        except drv.LaunchError as error:
            print(error)
    """)
    assert it.interrupted() < 1
    code, output, error = it.end()
    assert (code, error) == (0, "")
    assert f"kernel {kernel} was interrupted" in output


@cpu_only
def test_nothing_is_printed_for_an_interrupted_context_that_is_no_longer_current(program):
    """Neither when its objects are released while another context is current, nor at the end."""
    it = program("""
        left = drv.Device(0).make_context()
        spin = drv.module_from_buffer(PTX).get_function("spin")
        late = drv.Event()
        spin(**SHAPE)
        late.record()
        try:
            ready()
            late.synchronize()
        except KeyboardInterrupt:
            print("left", flush=True)
        left.pop()
        new = drv.Device(0).make_context()
        del late, spin
        print(gpuarray.zeros(4, np.float32).get().sum())
        new.pop()
    """)
    assert it.interrupted() < 1
    assert it.end() == (0, "0.0\n", "")


@cpu_only
def test_a_cooperative_grid_can_be_stopped(program):
    it = program("""
        try:
            KERNEL["spin"](block=(32, 1, 1), grid=(4, 1), cooperative=True)
            ready()
            drv.Context.synchronize()
        except KeyboardInterrupt:
            print("left", flush=True)
    """)
    assert it.interrupted() < 1
    assert it.end() == (0, "", "")


def test_a_handler_that_returns_lets_the_wait_go_on(program):
    """The wait survives two calls of the handler; the second one makes the host write `stop`, which ends the
    kernel."""
    it = program("""
        flag, size = module.get_global("stop")
        calls = []

        def handler(number, frame):
            calls.append(number)
            if len(calls) == 2:
                threading.Thread(target=finish).start()

        def finish():
            pycuda.autoinit.context.push()
            own = drv.Stream(1)
            drv.memcpy_htod_async(flag, np.ones(1, np.uint32), own)
            pycuda.autoinit.context.pop()

        signal.signal(signal.SIGINT, handler)
        KERNEL["spin"](**SHAPE)
        ready()
        drv.Context.synchronize()
        print(len(calls), "calls", flush=True)
    """)
    it.wait_for("ready")
    for _ in range(2):
        time.sleep(0.3)
        it.process.send_signal(signal.SIGINT)
    code, output, error = it.end()
    assert (code, output, error) == (0, "2 calls\n", "")


@cpu_only
def test_a_wait_for_a_host_function_ends(program):
    it = program("""
        stream.launch_host_func(threading.Event().wait, 20)
        try:
            ready()
            stream.synchronize()
        except KeyboardInterrupt:
            print("left", flush=True)
        os._exit(0)
    """)
    assert it.interrupted() < 0.5
    assert it.end()[0] == 0


@cpu_only
def test_other_threads_that_wait_return_with_the_error(program):
    """The signal raises KeyboardInterrupt in the main thread; it cancels the kernel that another thread waits
    for, which gets LaunchError."""
    it = program("""
        loop(**SHAPE)
        seen = []
        def wait():
            pycuda.autoinit.context.push()
            try:
                drv.Context.synchronize()
            except drv.LaunchError as error:
                seen.append(error.name)
            pycuda.autoinit.context.pop()
        thread = threading.Thread(target=wait)
        thread.start()
        try:
            ready()
            drv.Context.synchronize()
        except KeyboardInterrupt:
            print("left", flush=True)
        thread.join()
        print(seen)
    """)
    assert it.interrupted() < 1
    assert it.end() == (0, "['CUDA_ERROR_LAUNCH_FAILED']\n", "")


def test_results_do_not_depend_on_the_thread_that_runs_the_blocks(program):
    """A waiting thread runs blocks itself for a while; kernels that are long enough to be handed to another
    thread on the way, in each kind of wait, compute what NumPy does."""
    it = program("""
        from pycuda.compiler import SourceModule
        count = SourceModule(r'''
            __global__ void count(unsigned *out, int turns)
            {
                __shared__ unsigned sum[128];
                unsigned value = blockIdx.x * 1000 + threadIdx.x;
                for (int i = 0; i < turns; i++) {
                    value = value * 1664525u + 1013904223u;
                    if (i % 4096 == 0) {
                        sum[threadIdx.x] = value;
                        __syncthreads();
                        value += sum[(threadIdx.x + 1) % 128];
                        __syncthreads();
                    }
                }
                out[blockIdx.x * 128 + threadIdx.x] = value;
            }''').get_function("count")

        def expected(turns):
            value = (np.arange(8)[:, None] * 1000 + np.arange(128)).astype(np.uint32)
            for i in range(turns):
                value = value * np.uint32(1664525) + np.uint32(1013904223)
                if i % 4096 == 0:
                    value = value + np.roll(value, -1, axis=1)
            return value

        turns = 60000
        want = expected(turns)
        for wait in (drv.Context.synchronize, stream.synchronize, lambda: None):
            out = gpuarray.zeros((8, 128), np.uint32)
            drv.Context.synchronize()
            start = time.monotonic()
            count(out.gpudata, np.int32(turns), block=(128, 1, 1), grid=(8, 1), stream=stream)
            wait()
            stream.synchronize()
            print((out.get() == want).all())
    """)
    assert it.end() == (0, "True\n" * 3, "")


ENDINGS = {
    "the end": "",
    "sys.exit": "sys.exit(3)",
    "an exception": "raise KeyError('mine')",
    "daemon threads": """
        def wait():
            pycuda.autoinit.context.push()
            try:
                drv.Context.synchronize()
            except drv.LaunchError:
                pass
        for _ in range(3):
            threading.Thread(target=wait, daemon=True).start()
        time.sleep(0.1)
        sys.exit(3)
    """,
    "another stream": "loop(stream=stream, **SHAPE)",
    "a host function": "stream.launch_host_func(print); sys.exit(3)",
    "another context": "drv.Device(0).make_context()",
}


@cpu_only
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_ends_with_an_endless_kernel(program, ending):
    it = program("loop(stream=stream, **SHAPE)\n" + textwrap.dedent(ENDINGS[ending]), PYCUDA_EXIT_WAIT="0.5")
    code, output, error = it.end()
    codes = {"sys.exit": 3, "daemon threads": 3, "a host function": 3, "an exception": 1}
    assert code == codes.get(ending, 0) and output == ""
    assert "KeyError: 'mine'" in error if code == 1 else "Traceback" not in error
    assert "PYCUDA_EXIT_WAIT" in error


@cpu_only
def test_an_uncaught_interrupt_ends_the_program(program):
    it = program("loop(**SHAPE)\nready()\ndrv.Context.synchronize()\n")
    it.wait_for("ready")
    time.sleep(0.2)
    start = time.monotonic()
    it.process.send_signal(signal.SIGINT)
    code, _, error = it.end()
    assert time.monotonic() - start < 3
    assert code == -signal.SIGINT and error.rstrip().endswith("KeyboardInterrupt")
    assert error.count("Traceback") == 1 and "Exception ignored" not in error, error


@cpu_only
def test_an_interrupt_at_the_end_of_the_program(program):
    it = program("import atexit\natexit.register(ready)\nloop(**SHAPE)\n", PYCUDA_EXIT_WAIT="inf")
    it.wait_for("ready")
    time.sleep(0.3)
    it.process.send_signal(signal.SIGINT)
    code, _, error = it.end()
    assert code == 0 and "KeyboardInterrupt" in error


@pytest.mark.parametrize("value", ["soon", "-1", "nan"])
def test_a_wrong_exit_wait_is_named(program, value):
    code, output, error = program("", PYCUDA_EXIT_WAIT=value).end()
    assert (code, output) == (1, "")
    assert f'PYCUDA_EXIT_WAIT is "{value}": it must be a number of seconds, 0 or more, or inf' in error


# compile_nested(depth) compiles a kernel of 6**depth statements, which takes seconds for a depth of 5. The
# end of the program waits for the compiler.
LONG = r"""
        template = '''
        #define SIX(x) x x x x x x
        __global__ void f(float *y)
        {
            float x = y[threadIdx.x];
            %s x = x * 1.0001f + __sinf(x + %d); %s
            y[threadIdx.x] = x;
        }
        '''
        from pycuda.compiler import compile
        def compile_nested(depth, seed=1):
            return compile(template % ("SIX(" * depth, seed, ")" * depth), cache_dir=False)
        compile_nested(2)
"""


@pytest.mark.parametrize("then", ["print(len(compile_nested(3)) > 0)", "sys.exit(5)"])
def test_a_compilation_can_be_left(program, then):
    """Afterwards the next compilation works, and so does the end of the program while the compiler still
    runs."""
    it = program(
        LONG
        + f"""
        ready()
        try:
            for seed in range(1000):
                compile_nested(5, seed)
        except KeyboardInterrupt:
            print("left", flush=True)
        {then}
        """
    )
    assert it.interrupted() < 0.5
    code, output, error = it.end()
    assert (code, error) == (5 if "exit" in then else 0, "")
    assert output == ("" if "exit" in then else "True\n")
