"""Bad input: each case raises the exception that PyCUDA's users expect, with a message that says what was
wrong, and the context still works afterwards."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

SOURCE = """
__global__ void add(float *a, int n, float x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] += x;
}
"""


@pytest.fixture
def add():
    return SourceModule(SOURCE).get_function("add")


@pytest.fixture
def works(add):
    """Checks, after the test body, that the same kernel still runs in the same context."""
    yield
    data = np.zeros(8, np.float32)
    add(drv.InOut(data), np.int32(8), np.float32(3), block=(8, 1, 1))
    assert (data == 3).all()


@pytest.fixture
def memory():
    memory = drv.to_device(np.zeros(8, np.float32))
    yield memory


N, X = np.int32(8), np.float32(1)  # good arguments of add


def test_block_too_large(add, memory, works):
    with pytest.raises(drv.LogicError, match="1025|2048|1024") as error:
        add(memory, N, X, block=(2048, 1, 1))
    assert error.value.code == 1


def test_block_with_too_many_threads_in_all(add, memory, works):
    with pytest.raises(drv.LogicError, match="33.*33"):
        add(memory, N, X, block=(33, 33, 1))


@pytest.mark.parametrize("grid", [(0, 1), (1, 0), (1, 1, 0)])
def test_zero_grid(add, memory, works, grid):
    with pytest.raises(drv.LogicError, match="grid"):
        add(memory, N, X, block=(8, 1, 1), grid=grid)


def test_missing_block(add, memory, works):
    with pytest.raises(ValueError, match="block"):
        add(memory, N, X)


@pytest.mark.driver(12040, "kernels report their parameters")
def test_missing_argument(add, memory, works):
    with pytest.raises(TypeError, match=r"add.*3.*2"):
        add(memory, N, block=(8, 1, 1))


@pytest.mark.driver(12040, "kernels report their parameters")
def test_extra_argument(add, memory, works):
    with pytest.raises(TypeError, match=r"add.*3.*4"):
        add(memory, N, X, X, block=(8, 1, 1))


@pytest.mark.driver(12040, "kernels report their parameters")
def test_argument_of_the_wrong_width(add, memory, works):
    with pytest.raises(TypeError, match=r"add.*1.*8.*4: pass numpy.int32 .* numpy.float32"):
        add(memory, np.float64(8), X, block=(8, 1, 1))
    with pytest.raises(TypeError, match=r"add.*1.*8.*4"):
        add(memory, np.int64(1 << 40), X, block=(8, 1, 1))


INTEGERS = (
    "__global__ void take(size_t n, short m, double x, unsigned long long *out) { out[0] = n; out[1] = m; }"
)


@pytest.mark.driver(12040, "kernels report their parameters")
@pytest.mark.cpu("a GPU's driver reports the size of a parameter, not its type")
def test_integer_of_another_width_where_the_type_is_known():
    """Where the driver reports a parameter's type, an integer of any width is converted to it, and one that
    the type cannot hold is an error."""
    take = SourceModule(INTEGERS).get_function("take")
    out = np.zeros(2, np.uint64)
    for n, m in [(5, -7), (-1, 65535), (200, 3)]:
        for n_type in np.uint8, np.int16, np.uint32, np.int32, np.int64:
            if not np.iinfo(n_type).min <= n <= np.iinfo(n_type).max:
                continue
            take(n_type(n), np.int64(m), np.float64(0), drv.InOut(out), block=(1, 1, 1))
            assert out.tolist() == [n % (1 << 64), (m - (1 << 16) if m > 32767 else m) % (1 << 64)]
    for m in (65536, -32769, 1 << 40):
        with pytest.raises(TypeError, match="numpy.int16"):
            take(np.uint64(1), np.int64(m), np.float64(0), drv.InOut(out), block=(1, 1, 1))
    with pytest.raises(TypeError, match="numpy.float64 for a double"):
        take(np.uint64(1), np.int16(1), np.int32(0), drv.InOut(out), block=(1, 1, 1))
    with pytest.raises(TypeError, match="numpy.uintp for a size_t"):
        take(np.float32(1), np.int16(1), np.float64(0), drv.InOut(out), block=(1, 1, 1))


@pytest.mark.parametrize("grid", [(8 / 4, 1), (np.float32(2), 1), (np.float64(2),)])
def test_float_grid(add, memory, works, grid):
    with pytest.raises(TypeError, match="grid must be an integer, not .*float.*: use //"):
        add(memory, N, X, block=(8, 1, 1), grid=grid)
    with pytest.raises(TypeError, match="use //"):
        add.prepare("Pif").prepared_call(grid, (8, 1, 1), memory, 8, 1.0)


def test_block_that_is_too_short_and_negative_grid(add, memory, works):
    with pytest.raises(ValueError, match=r"block must have three integers, not 1: .*\(32, 1, 1\)"):
        add(memory, N, X, block=(8,))
    with pytest.raises(OverflowError, match="grid is -1: it must not be negative"):
        add(memory, N, X, block=(8, 1, 1), grid=(-1, 1))


def swapped(dtype=np.float32):
    """Eight numbers in the byte order that is not the machine's."""
    return np.arange(8, dtype=np.dtype(dtype).newbyteorder("S"))


SWAPPED_FIELD = np.dtype([("n", np.dtype(np.int32).newbyteorder("S"))])
# Calls that would copy such numbers to or from the device, pass them to a kernel, or make memory for them.
TO_THE_DEVICE = {
    "In": lambda add: add(drv.In(swapped()), N, X, block=(8, 1, 1)),
    "Out": lambda add: add(drv.Out(swapped()), N, X, block=(8, 1, 1)),
    "InOut": lambda add: add(drv.InOut(swapped()), N, X, block=(8, 1, 1)),
    "field": lambda add: add(drv.InOut(np.zeros(8, SWAPPED_FIELD)), N, X, block=(8, 1, 1)),
    "to_device": lambda add: drv.to_device(swapped()),
    "memcpy_htod": lambda add: drv.memcpy_htod(drv.mem_alloc(32), swapped()),
    "memcpy_htod_async": lambda add: drv.memcpy_htod_async(drv.mem_alloc(32), swapped()),
    "memcpy_dtoh": lambda add: drv.memcpy_dtoh(swapped(), drv.mem_alloc(32)),
    "from_device_like": lambda add: drv.from_device_like(drv.mem_alloc(32), swapped()),
    "from_device": lambda add: drv.from_device(drv.mem_alloc(32), 8, swapped().dtype),
    "pagelocked_empty": lambda add: drv.pagelocked_empty(8, swapped().dtype),
    "aligned_empty_like": lambda add: drv.aligned_empty_like(swapped()),
    "managed_zeros": lambda add: drv.managed_zeros(8, swapped().dtype),
    "to_gpu": lambda add: gpuarray.to_gpu(swapped()),
    "GPUArray": lambda add: gpuarray.zeros(8, SWAPPED_FIELD),
    "view": lambda add: gpuarray.zeros(8, np.float32).view(swapped().dtype),
    "0-d": lambda add: add(drv.mem_alloc(32), swapped(np.int32)[:1].reshape(()), X, block=(8, 1, 1)),
    "structure": lambda add: add(drv.mem_alloc(32), np.zeros((), SWAPPED_FIELD)[()], X, block=(8, 1, 1)),
    "prepare": lambda add: add.prepare([np.intp, swapped(np.int32).dtype, np.float32]),
    "Memcpy2D": lambda add: drv.Memcpy2D().set_src_host(swapped().reshape(2, 4)),
}


@pytest.mark.parametrize("name", TO_THE_DEVICE)
def test_foreign_byte_order(add, works, name):
    with pytest.raises((ValueError, TypeError), match="not in the device's byte order"):
        TO_THE_DEVICE[name](add)


@pytest.mark.parametrize("kind", ["byte order", "read-only", "objects"])
@pytest.mark.parametrize("handler", [drv.Out, drv.InOut])
def test_result_that_cannot_be_copied_back_starts_no_kernel(add, works, handler, kind):
    array = np.zeros(
        8, {"byte order": ">f4" if np.little_endian else "<f4", "objects": object}.get(kind, np.float32)
    )
    array.flags.writeable = kind != "read-only"
    memory = drv.to_device(np.zeros(8, np.float32))
    both = SourceModule("__global__ void both(float *a, float *b) { a[0] = b[0] + 1; }").get_function("both")
    with pytest.raises((ValueError, TypeError)):
        both(memory, handler(array), block=(1, 1, 1))
    assert not drv.from_device(memory, 8, np.float32).any()


def test_too_much_host_memory(works):
    with pytest.raises(MemoryError, match="1125899906842624 bytes of memory aligned to 4096"):
        drv.aligned_empty(1 << 50, np.uint8)


def test_more_than_the_device_has_is_refused_at_once(works):
    """A request that could never fit raises MemoryError without a garbage collection first."""
    import gc

    collections = []
    gc.callbacks.append(lambda phase, info: collections.append(phase))
    try:
        for _ in range(3):
            with pytest.raises(drv.MemoryError):
                drv.mem_alloc(drv.mem_get_info()[1] + 1)
        count = len(collections)
    finally:
        del gc.callbacks[-1]
    assert count == 0


@pytest.mark.parametrize("value", [8, 1.5, None, True, "8", 1j])
def test_python_number_as_argument(add, memory, works, value):
    with pytest.raises(TypeError, match="1"):
        add(memory, value, X, block=(8, 1, 1))


def test_host_array_without_in_or_out(add, works):
    with pytest.raises(TypeError, match=r"0.*(In|Out)"):
        add(np.zeros(8, np.float32), N, X, block=(8, 1, 1))


@pytest.mark.driver(12040, "kernels report their parameters")
@pytest.mark.parametrize("types", ["Pid", "iif", "Pi", "Piff", [np.intp, np.int64, np.float32]])
def test_wrong_types_for_prepare(add, memory, works, types):
    with pytest.raises(TypeError, match="add"):
        add.prepare(types).prepared_call((1, 1), (8, 1, 1), memory, 8, 1.0)


def test_freed_allocation(add, works):
    memory = drv.mem_alloc(32)
    memory.free()
    with pytest.raises(drv.LogicError, match="freed"):
        add(memory, N, X, block=(8, 1, 1))
    with pytest.raises(drv.LogicError, match="freed"):
        drv.memcpy_htod(memory, np.zeros(8, np.float32))
    with pytest.raises(drv.LogicError):
        memory.free()


def test_memory_of_a_destroyed_context(add, works):
    other = drv.Device(0).make_context()
    try:
        theirs = drv.mem_alloc(32)
    finally:
        drv.Context.pop()
    other.detach()
    with pytest.raises(drv.LogicError, match="context"):
        add(theirs, N, X, block=(8, 1, 1))


def test_function_of_another_context(works):
    other = drv.Device(0).make_context()
    try:
        theirs = SourceModule(SOURCE).get_function("add")
    finally:
        drv.Context.pop()
    ours = drv.to_device(np.zeros(8, np.float32))
    with pytest.raises(drv.LogicError):
        theirs(ours, N, X, block=(8, 1, 1))
    del theirs
    other.detach()


def test_source_that_does_not_compile(works):
    with pytest.raises(drv.CompileError) as error:
        SourceModule("__global__ void f(float *a)\n{\n    a[0] = undeclared;\n}\n")
    assert "undeclared" in str(error.value)
    assert "(3)" in str(error.value) or ":3" in str(error.value)


def test_kernel_that_does_not_exist(works):
    with pytest.raises(drv.LogicError, match="nowhere"):
        SourceModule(SOURCE).get_function("nowhere")


def test_ptx_newer_than_the_driver(works):
    ptx = b".version 99.0\n.target sm_75\n.address_size 64\n.visible .entry f()\n{\n    ret;\n}\n"
    with pytest.raises(drv.LogicError):
        drv.module_from_buffer(ptx)


def test_ptx_with_an_error(works):
    ptx = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry f()\n{\nbogus.u32 %r1, 2;\nret;}\n"
    with pytest.raises(drv.LogicError, match="bogus"):
        drv.module_from_buffer(ptx)


@pytest.mark.parametrize(
    "image",
    [b"\x7fELF\x02\x01\x01\x33" + bytes(8), b"", b"\x00" * 64, b"\x50\xed\x55\xba" + bytes(12)],
    ids=["cubin", "empty", "zeros", "fatbin"],
)
def test_truncated_or_empty_image(works, image):
    with pytest.raises((drv.LogicError, drv.RuntimeError)):
        drv.module_from_buffer(image)


def test_unwritable_cache_folder(works, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="cache"):
        module = SourceModule(SOURCE + "// unwritable", cache_dir=str(tmp_path / "file" / "cache"))
    assert module.get_function("add")


def test_no_driver_and_gpu_wanted(run_python):
    done = run_python(
        "import pycuda.driver as drv\ndrv.init()",
        env={"PYCUDA_DEVICE": "gpu", "PYCUDA_DRIVER": "/nonexistent/libcuda.so.1"},
    )
    assert done.returncode == 1
    assert "/nonexistent/libcuda.so.1" in done.stderr.splitlines()[-1]


def test_unknown_device_choice(run_python):
    done = run_python(
        "import pycuda.driver as drv\ndrv.init()", env={"PYCUDA_DEVICE": "tpu", "PYCUDA_DRIVER": None}
    )
    assert done.returncode == 1 and "gpu or cpu" in done.stderr


OUT_OF_BOUNDS = """
import numpy as np, pycuda.driver as drv, pycuda.autoinit
from pycuda.compiler import SourceModule
read = SourceModule('''
__global__ void reader(float *a, float *out)
{
    out[threadIdx.x] = a[threadIdx.x + %s];
}
''').get_function("reader")
a, out = drv.mem_alloc(128), drv.mem_alloc(128)
try:
    read(a, out, block=(32, 1, 1), grid=(2, 1))
    drv.Context.synchronize()
except drv.LaunchError as error:
    print(type(error).__name__, error)
print("goes on")
"""


def test_a_kernel_that_reads_far_out_of_bounds(run_python):
    done = run_python(OUT_OF_BOUNDS % "(1ll << 44)", check=True)
    assert done.stdout.strip().endswith("goes on")
    assert "failed: " in done.stdout


@pytest.mark.driver(12090, "the driver's log")
def test_out_of_bounds_by_one_is_reported_in_full_on_the_cpu_device(run_python):
    """A GPU does not notice an index that is out of bounds by one; the CPU device's error has the kernel,
    block, thread, address and size."""
    done = run_python(OUT_OF_BOUNDS % "1", env={"PYCUDA_DEVICE": "cpu", "PYCUDA_DRIVER": None}, check=True)
    output = done.stdout
    for word in ("reader", "block (0,0,0)", "thread (31,0,0)", "0x", "128"):
        assert word in output, output
    assert output.strip().endswith("goes on") and done.stderr == ""
