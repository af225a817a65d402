"""The questions of PyCUDA's FAQ as programs: what it advises works, and the problems that it warns of do not
occur.
"""

import re

import pytest
from devices import on_cpu_device

PRELUDE = """
import gc
import threading
import time

import numpy as np

import pycuda.driver as drv
from pycuda.compiler import SourceModule

drv.init()
"""
TWO_DEVICES = {"PYCUDA_CPU_DEVICES": "2"}


@pytest.fixture
def program(run_python):
    """A function that runs PRELUDE and a program, which must exit with 0 and print nothing on stderr, and
    returns its output.
    """

    def run(text, env=TWO_DEVICES):
        done = run_python(PRELUDE + text, env=env)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout

    return run


# ---- How about multiple GPUs?


def test_contexts_of_several_devices_in_one_thread(program):
    """push() and pop() select one of two contexts: on two devices, or both on the only one."""
    program("""
devices = [drv.Device(number % drv.Device.count()) for number in range(2)]
contexts, arrays, kernels = [], [], []
for number, device in enumerate(devices):
    contexts.append(device.make_context())
    arrays.append(drv.to_device(np.full(32, number, np.int32)))
    kernels.append(SourceModule("__global__ void add(int *a) { a[threadIdx.x] += 10; }").get_function("add"))
    contexts[-1].pop()
for turn in range(3):
    for context, array, kernel in zip(contexts, arrays, kernels):
        context.push()
        kernel(array, block=(32, 1, 1))
        drv.Context.pop()
for number, (context, array) in enumerate(zip(contexts, arrays)):
    context.push()
    assert context.get_device() == devices[number]
    assert (drv.from_device(array, 32, np.int32) == number + 30).all()
    context.pop()
""")


def test_a_thread_for_each_device(program):
    program("""
results = {}

def work(number):
    context = drv.Device(number % drv.Device.count()).make_context()
    source = "__global__ void times(int *a, int n) { a[threadIdx.x] *= n; }"
    kernel = SourceModule(source).get_function("times")
    array = drv.to_device(np.arange(64, dtype=np.int32))
    for _ in range(20):
        kernel(array, np.int32(number + 1), block=(64, 1, 1))
        kernel(array, np.int32(-1), block=(64, 1, 1))
    results[number] = drv.from_device(array, 64, np.int32)
    context.pop()

threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for number in range(4):
    expected = np.arange(64).astype(object) * (number + 1) ** 20
    assert (results[number] == np.array([int(x) % 2**32 for x in expected], np.uint32).view(np.int32)).all()
""")


def test_a_process_for_each_device(program):
    program("""
import multiprocessing

def work(number):
    context = drv.Device(number % drv.Device.count()).make_context()
    array = drv.to_device(np.full(10, number, np.int32))
    total = drv.from_device(array, 10, np.int32).sum()
    context.pop()
    return total

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(work, range(3)) == [0, 10, 20]
""")


# ---- My program terminates after a launch failure. Why?

FAILS = """
def main():
    context = drv.Device(0).make_context()
    try:
        wild = SourceModule("__global__ void wild(int *a) { *a = 1; }").get_function("wild")
        kept = [drv.mem_alloc(1000), drv.Stream(), drv.Event(), drv.DeviceMemoryPool().allocate(100)]
        wild(np.intp(8), block=(1, 1, 1))
        print("launched")
        time.sleep(0.2)
        del wild, kept[1:]  # some objects die before the failure is noticed
        drv.memcpy_dtoh(np.empty(250, np.int32), kept[0])
        print("never")
    finally:
        context.pop()

"""


def test_a_launch_failure_is_one_exception(run_python):
    """Cleaning up in the context that the failure has made useless neither aborts nor adds to it."""
    done = run_python(PRELUDE + FAILS + "main()")
    assert done.returncode == 1 and done.stdout == "launched\n"
    assert done.stderr.count("Traceback") == 1 and "terminate" not in done.stderr, done.stderr
    assert re.search(r"(LaunchError|LogicError|KernelError): cuMemcpyDtoH failed: ", done.stderr), done.stderr
    assert "kernel wild" in done.stderr or not on_cpu_device(), done.stderr


def test_a_program_goes_on_after_a_launch_failure(program):
    """Work on the host goes on. On a GPU, the process gets no other context."""
    output = program(
        FAILS
        + """
try:
    main()
except drv.Error as error:
    print("caught", type(error).__name__, error.code)
gc.collect()
print("and on", np.arange(3).sum())
"""
    )
    assert re.fullmatch(r"launched\ncaught \w+ \d+\nand on 3\n", output)


# ---- Out of memory


def test_too_much_memory_is_an_error_to_go_on_after(program):
    program("""
context = drv.Device(0).make_context()
free, total = drv.mem_get_info()
for allocate in drv.mem_alloc, drv.DeviceMemoryPool().allocate, drv.StreamOrderedMemoryPool().allocate:
    try:
        allocate(total + (1 << 40))
    except drv.MemoryError as error:
        assert "out of memory" in str(error) and "requested" in str(error)
    else:
        raise AssertionError(allocate)
    assert (drv.from_device(drv.to_device(np.arange(5)), 5, int) == np.arange(5)).all()
context.pop()
""")


# ---- Does PyCUDA automatically activate the right context for the object I'm talking to?


def test_cleaning_up_finds_its_context_and_leaves_the_current_one(program):
    program("""
first = drv.Device(0).make_context()
memory, stream = drv.mem_alloc(1 << 20), drv.Stream()
first.pop()
second = drv.Device(1 % drv.Device.count()).make_context()
before = drv._live_objects()
memory.free()
del stream
assert drv.Context.get_current() == second
assert drv._live_objects()["Stream"] == before["Stream"] - 1
assert (drv.from_device(drv.to_device(np.arange(5)), 5, int) == np.arange(5)).all()
second.pop()
""")


# ---- How does PyCUDA handle threading?


def test_objects_that_are_collected_in_another_thread_are_freed(program):
    """PyCUDA leaks them silently, because no context is current in that thread."""
    program("""
context = drv.Device(0).make_context()
gc.disable()
cycle = [drv.mem_alloc(1000), drv.Event(), drv.Stream()]
cycle.append(cycle)
del cycle
before = drv._live_objects()
thread = threading.Thread(target=gc.collect)
thread.start()
thread.join()
after = drv._live_objects()
assert [before[name] - after[name] for name in ("DeviceAllocation", "Event", "Stream")] == [1, 1, 1]
context.pop()
""")


def test_one_context_in_several_threads(program):
    program("""
context = drv.Device(0).make_context()
kernel = SourceModule("__global__ void add(int *a, int n) { atomicAdd(a, n); }").get_function("add")
total = drv.to_device(np.zeros(1, np.int32))

def work(number):
    context.push()
    for _ in range(50):
        kernel(total, np.int32(number), block=(32, 1, 1))
    context.pop()

threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert drv.from_device(total, 1, np.int32)[0] == 50 * 32 * 6
context.pop()
""")


# ---- How do I specify the correct types when calling and preparing PyCUDA functions?


def test_types_of_arguments(program):
    """Each C type by the NumPy type that the FAQ names: called, prepared by letters and by types."""
    program("""
context = drv.Device(0).make_context()
TYPES = {
    "char": np.int8, "unsigned char": np.uint8, "short": np.int16, "unsigned short": np.uint16,
    "int": np.int32, "unsigned int": np.uint32, "long": np.int64, "unsigned long": np.uint64,
    "float": np.float32, "double": np.float64,
}
for name, dtype in TYPES.items():
    source = f"__global__ void put({name} *out, int i, {name} x) {{ out[i] = x; }}"
    put = SourceModule(source).get_function("put")
    out = drv.to_device(np.zeros(4, dtype))
    put(out, np.int32(0), dtype(101), block=(1, 1, 1))
    put(np.intp(int(out)), np.int32(1), dtype(102), block=(1, 1, 1))
    put.prepare("Pi" + np.dtype(dtype).char)
    put.prepared_call((1, 1), (1, 1, 1), out, 2, 103)
    put.prepare([np.intp, np.int32, dtype])
    put.prepared_call((1, 1), (1, 1, 1), out, 3, 104)
    assert drv.from_device(out, 4, dtype).tolist() == [101, 102, 103, 104], name
context.pop()
""")


def test_pointers_to_pointers(program):
    """A kernel's float ** is an array of addresses, which are intp."""
    program("""
context = drv.Device(0).make_context()
source = "__global__ void foo(float **a, int b, float c) { a[b][threadIdx.x] = c; }"
foo = SourceModule(source).get_function("foo")
rows = [drv.to_device(np.zeros(8, np.float32)) for _ in range(3)]
table = drv.to_device(np.array([int(row) for row in rows], np.intp))
foo.prepare("Pif")
foo.prepared_call((1, 1), (8, 1, 1), table, 1, 5.923)
assert [drv.from_device(row, 8, np.float32).sum() > 0 for row in rows] == [False, True, False]
context.pop()
""")


# ---- Is it possible to profile CUDA code with PyCUDA?


def test_times_of_kernels(program):
    """Times by time_kernel, by events, and between start_profiler and stop_profiler."""
    program("""
context = drv.Device(0).make_context()
source = '''__global__ void spin(unsigned *a, int turns)
{
    unsigned x = *a;
    for (int i = 0; i < turns; i++) x = x * 1664525u + 1013904223u;
    *a = x;
}'''
spin = SourceModule(source).get_function("spin")
state = drv.to_device(np.ones(1, np.uint32))
spin(state, np.int32(10), block=(1, 1, 1))
drv.start_profiler()
seconds = spin(state, np.int32(100_000), block=(1, 1, 1), time_kernel=True)
spin.prepare("Pi")
prepared = spin.prepared_timed_call((1, 1), (1, 1, 1), state, 100_000)()
start, end = drv.Event(), drv.Event()
start.record()
spin(state, np.int32(100_000), block=(1, 1, 1))
end.record()
end.synchronize()
drv.stop_profiler()
for measured in seconds, prepared, start.time_till(end) / 1e3:
    assert 1e-6 < measured < 60
context.pop()
""")


# ---- My compiler cache gets deleted on every reboot. How do I keep that from happening?

COMPILES = """
from pycuda import compiler

binary = compiler.compile("__global__ void cached(int *a) { *a = 7; }", arch="sm_75")
print(len(binary))
"""


def test_the_cache_is_not_among_temporary_files(run_python, tmp_path):
    """It is in the user's cache folder, where a second process finds what the first has compiled."""
    home = {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": None,
        "PYCUDA_CACHE_DIR": None,
        "TMPDIR": str(tmp_path / "t"),
    }
    (tmp_path / "t").mkdir()
    first = run_python(COMPILES, env=home, check=True)
    files = {path for path in (tmp_path / ".cache").rglob("*") if path.is_file()}
    assert any("pycuda" in str(path) for path in files) and not list((tmp_path / "t").iterdir())
    contents = {path: path.read_bytes() for path in files}
    second = run_python(COMPILES, env=home, check=True)
    assert first.stdout == second.stdout
    assert {path for path in (tmp_path / ".cache").rglob("*") if path.is_file()} == files
    assert {path: path.read_bytes() for path in files} == contents


# ---- Does PyCUDA support emulation mode?


@pytest.mark.cpu("asks for the CPU device by name")
def test_programs_run_on_the_cpu_device_without_a_gpu(program):
    output = program("print(drv.Device(0).name(), drv.mem_get_info()[0] > 0)", env={"PYCUDA_DEVICE": "cpu"})
    assert output.startswith("CPU device") and output.endswith("True\n")
