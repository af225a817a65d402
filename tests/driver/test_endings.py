"""Programs end cleanly with every kind of object alive: each runs in a new process, whose exit code, stdout
and stderr are checked."""

import pytest

# How a program gets its current context; `context` is that context, or None.
START = {
    "autoinit": "import pycuda.autoinit\ncontext = pycuda.autoinit.context\n",
    "autoprimaryctx": "import pycuda.autoprimaryctx\ncontext = pycuda.autoprimaryctx.context\n",
    "own": "import pycuda.driver as drv\ndrv.init()\ncontext = drv.Device(0).make_context()\n",
    "retained": "import pycuda.driver as drv\ndrv.init()\ncontext = drv.Device(0).retain_primary_context()\n"
    "context.push()\n",
    "none": "import pycuda.driver as drv\ndrv.init()\ncontext = None\n",
}
THINGS = '''
import gc, sys, threading
import numpy as np
import pycuda.driver as drv
from pycuda import gpuarray

PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry fault(.param .u64 a)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [a];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], 1;
    ret;
}
"""


class Things:
    """An object of every type that owns a resource of the driver's."""

    def __init__(self):
        self.stream, self.event, self.memory = drv.Stream(), drv.Event(), drv.mem_alloc(1 << 16)
        self.host, self.managed = drv.pagelocked_zeros(100, np.int32), drv.managed_zeros(100, np.int32)
        self.module = drv.module_from_buffer(PTX)
        self.fault = self.module.get_function("fault")
        self.array = gpuarray.zeros(100, np.float32)
        self.image = drv.np_to_array(np.zeros((4, 4), np.float32), "C")
        self.registered = drv.register_host_memory(drv.aligned_zeros(4096, np.int8))
        drv.memcpy_htod_async(self.memory, self.host, self.stream)
        self.event.record(self.stream)


things = Things()
ONE = dict(block=(1, 1, 1))
'''


@pytest.fixture
def ends(run_python):
    """Runs START[start], THINGS and the program; returns the exit code, stdout and stderr."""

    def run(start, program):
        done = run_python(START[start] + THINGS + program)
        return done.returncode, done.stdout, done.stderr

    return run


def check_only_error(stderr, last):
    """Asserts that stderr is one traceback and that its last line contains `last`."""
    lines = stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):", stderr
    assert stderr.count("Traceback") == 1 and "Exception ignored" not in stderr, stderr
    assert last in lines[-1], stderr


every_start = pytest.mark.parametrize("start", START)


@every_start
@pytest.mark.parametrize("ending", ["", "del things", "things.self = things; del context"])
def test_normal_end(ends, start, ending):
    assert ends(start, ending) == (0, "", "")


@every_start
def test_exit_in_nested_calls(ends, start):
    """sys.exit in a nested call, while each frame holds objects."""
    program = "def deep(n):\n    mine = Things()\n    deep(n - 1) if n else sys.exit(3)\ndeep(3)\n"
    assert ends(start, program) == (3, "", "")


@every_start
def test_exception_in_a_call(ends, start):
    code, output, error = ends(
        start, "def work():\n    mine = Things()\n    raise KeyError('mine')\nwork()\n"
    )
    assert code == 1 and output == ""
    check_only_error(error, "KeyError: 'mine'")


def test_exception_inside_with(ends):
    program = """
with drv.Device(0).make_context() as inner:
    mine = Things()
    assert drv.Context.get_current() == inner
    raise KeyError("mine")
"""
    code, output, error = ends("own", program)
    assert code == 1 and output == ""
    check_only_error(error, "KeyError: 'mine'")


def test_caught_exception_inside_with(ends):
    program = """
try:
    with drv.Device(0).make_context() as inner:
        mine = Things()
        raise KeyError("mine")
except KeyError:
    print(drv.Context.get_current() == context)
with inner:
    print(drv.Context.get_current() == inner)
print(drv.Context.get_current() == context)
Things()
"""
    assert ends("own", program) == (0, "True\nTrue\nTrue\n", "")


@pytest.mark.parametrize("start", ["own", "retained", "autoinit"])
def test_popped_too_often(ends, start):
    """A pop of the empty stack of contexts is an error; the program goes on and ends without another one."""
    program = """
drv.Context.pop()
for _ in range(3):
    try:
        drv.Context.pop()
    except drv.LogicError as error:
        print(error.routine)
del things
"""
    code, output, error = ends(start, program)
    assert (code, error) == (0, "") and output.splitlines() == ["cuCtxPopCurrent"] * 3


def test_popped_too_often_and_not_caught(ends):
    code, output, error = ends("own", "drv.Context.pop()\ndrv.Context.pop()\n")
    assert code == 1 and output == ""
    check_only_error(error, "LogicError: cuCtxPopCurrent failed")


@every_start
def test_popped_too_seldom(ends, start):
    program = """
for _ in range(3):
    drv.Device(0).make_context()
    more = Things()
if context is not None:
    context.push()
"""
    assert ends(start, program) == (0, "", "")


@every_start
def test_garbage_of_another_thread(ends, start):
    """Cycles are found by a thread that has another context, or none, while the first one goes on."""
    program = """
gc.disable()
def make():
    for _ in range(20):
        loop = Things()
        loop.self = loop
make()
def collect(own):
    mine = drv.Device(0).make_context() if own else None
    gc.collect()
    if mine:
        mine.pop()
        mine.detach()
for own in (True, False):
    make()
    thread = threading.Thread(target=collect, args=(own,))
    thread.start()
    for _ in range(50):
        drv.memset_d8(things.memory, 1, 100)
    thread.join()
print(drv._live_objects()["Stream"])
"""
    assert ends(start, program) == (0, "1\n", "")


@every_start
def test_failed_launch(ends, start):
    """The fault makes the context unusable, so that all releases fail; only the fault is reported, once."""
    code, output, error = ends(start, "things.fault(np.intp(64), **ONE)\ndrv.Context.synchronize()\n")
    assert code == 1 and output == ""
    check_only_error(error, "KernelError: cuCtxSynchronize failed: an illegal memory access was encountered")


@every_start
@pytest.mark.parametrize("clean_up", ["del things; gc.collect()", "context = None"])
def test_failed_launch_and_clean_up(ends, start, clean_up):
    program = f"""
things.fault(np.intp(64), **ONE)
try:
    drv.Context.synchronize()
except drv.LaunchError as error:
    print(error.name)
{clean_up}
"""
    assert ends(start, program) == (0, "CUDA_ERROR_ILLEGAL_ADDRESS\n", "")


PRINTS = """
module = drv.module_from_buffer(b'''
.version 6.3
.target sm_50
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[4] = {104, 105, 10, 0};
.visible .entry hi()
{
    .reg .b64 %rd<2>;
    .param .b64 format, values;
    .param .b32 r;
    mov.u64 %rd1, text;
    cvta.global.u64 %rd1, %rd1;
    st.param.b64 [format], %rd1;
    st.param.b64 [values], 0;
    call.uni (r), vprintf, (format, values);
    ret;
}
''')
module.get_function("hi")(block=(3, 1, 1))
"""


@every_start
def test_what_kernels_print_is_written_at_the_end(ends, start):
    assert ends(start, PRINTS) == (0, "hi\nhi\nhi\n", "")


@every_start
def test_failed_launch_without_a_synchronization(ends, start):
    """The failure is not lost: it is reported at the end, once."""
    code, output, error = ends(start, "things.fault(np.intp(64), **ONE)\n")
    assert (code, output) == (0, "")
    assert error.count("illegal memory access") == 1 and error.count("Traceback") <= 1, error


def test_another_context_after_a_failed_launch(ends):
    """The error belongs to its context: another context of the process works. NVIDIA's driver ends the whole
    process's use of the device, so that there is nothing to check on a GPU."""
    program = """
things.fault(np.intp(64), **ONE)
try:
    drv.Context.synchronize()
except drv.LaunchError as error:
    print(error.name)
drv.Context.pop()
from devices import on_cpu_device
if on_cpu_device():
    with drv.Device(0).make_context() as fresh:
        print(drv.from_device(drv.to_device(np.arange(3)), 3, int))
    fresh.detach()
else:
    print(np.arange(3))
"""
    assert ends("own", program) == (0, "CUDA_ERROR_ILLEGAL_ADDRESS\n[0 1 2]\n", "")
