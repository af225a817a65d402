"""C types, argument declarations, packed arguments and device limits: pycuda.tools and similar modules."""

import numpy as np
import pytest
from devices import on_cpu_device

import pycuda._pvt_struct as packing
import pycuda.driver as drv
from pycuda import tools
from pycuda.compiler import SourceModule
from pycuda.compyte import array, dtypes


@pytest.mark.parametrize(
    "dtype, name",
    [
        (bool, "bool"),
        (np.int8, "signed char"),
        (np.uint8, "unsigned char"),
        (np.int16, "short"),
        (np.uint16, "unsigned short"),
        (np.int32, "int"),
        (np.uint32, "unsigned"),
        (np.int64, "long"),
        (np.longlong, "long"),
        (np.uint64, "unsigned long"),
        (np.float32, "float"),
        (np.float64, "double"),
        (np.complex64, "pycuda::complex<float>"),
        (np.complex128, "pycuda::complex<double>"),
        ("f4", "float"),
    ],
)
def test_dtype_to_ctype(dtype, name):
    assert tools.dtype_to_ctype(dtype) == name


def test_dtype_to_ctype_of_the_unknown():
    for dtype in (None, np.dtype([("a", "i4"), ("b", "f8")])):
        with pytest.raises(ValueError):
            tools.dtype_to_ctype(dtype)
    assert tools.dtype_to_ctype(np.float64, with_fp_tex_hack=True) == "fp_tex_double"
    assert tools.dtype_to_ctype(np.int32, with_fp_tex_hack=True) == "int"


def test_dtypes_are_registered_under_several_names():
    registry = dtypes.DTypeRegistry()
    dtypes.fill_registry_with_c_types(registry, respect_windows=False)
    pair = np.dtype([("a", np.int32), ("b", np.float32)])
    assert registry.get_or_register_dtype(["pair", "pair_t"], pair) is pair
    assert registry.get_or_register_dtype("pair_t") is pair
    assert registry.get_or_register_dtype("again", np.dtype([("a", np.int32), ("b", np.float32)])) is pair
    assert registry.dtype_to_ctype(pair) == "pair"
    with pytest.raises(RuntimeError):
        registry.get_or_register_dtype("int", np.float32)
    with pytest.raises(dtypes.TypeNameNotKnown):
        registry.get_or_register_dtype("no_such_type")


@pytest.mark.parametrize(
    "text, cls, dtype, name, code",
    [
        ("float x", "ScalarArg", np.float32, "x", "f"),
        ("float *x", "VectorArg", np.float32, "x", "P"),
        ("const float* x", "VectorArg", np.float32, "x", "P"),
        ("const double *__restrict__ constant_x", "VectorArg", np.float64, "constant_x", "P"),
        ("unsigned char a[]", "VectorArg", np.uint8, "a", "P"),
        ("volatile unsigned int  volatile_n", "ScalarArg", np.uint32, "volatile_n", "I"),
        ("unsigned long long n", "ScalarArg", np.uint64, "n", None),
        ("pycuda::complex<float> *z", "VectorArg", np.complex64, "z", "P"),
        ("pycuda::complex< double > w", "ScalarArg", np.complex128, "w", "D"),
        ("uint8_t b", "ScalarArg", np.uint8, "b", "B"),
        ("float*x", "VectorArg", np.float32, "x", "P"),
        ("float const * const restrict restricted", "VectorArg", np.float32, "restricted", "P"),
        ("int n[16]", "VectorArg", np.int32, "n", "P"),
        ("double m[ 3 ][4]", "VectorArg", np.float64, "m", "P"),
        ("float **rows", "VectorArg", np.float32, "rows", "P"),
        ("long unsigned int n", "ScalarArg", np.uint64, "n", "L"),
        ("int long long signed n", "ScalarArg", np.int64, "n", "l"),
        ("char unsigned c", "ScalarArg", np.uint8, "c", "B"),
        ("signed char c", "ScalarArg", np.int8, "c", "b"),
        ("char c", "ScalarArg", np.int8, "c", "b"),
        ("signed i", "ScalarArg", np.int32, "i", "i"),
        ("unsigned u", "ScalarArg", np.uint32, "u", "I"),
        ("int short s", "ScalarArg", np.int16, "s", "h"),
        ("__half h", "ScalarArg", np.float16, "h", "e"),
        ("const\n  int\tn", "ScalarArg", np.int32, "n", "i"),
        ("pycuda :: complex<float>*w", "VectorArg", np.complex64, "w", "P"),
        ("size_t n", "ScalarArg", np.uintp, "n", "L"),
        ("const std::size_t n", "ScalarArg", np.uint64, "n", "L"),
        ("std::uint16_t *x", "VectorArg", np.uint16, "x", "P"),
        ("ptrdiff_t n", "ScalarArg", np.intp, "n", "l"),
        ("intptr_t p", "ScalarArg", np.intp, "p", "l"),
        ("uintptr_t p", "ScalarArg", np.uintp, "p", "L"),
        ("ssize_t n", "ScalarArg", np.intp, "n", "l"),
        ("uchar c", "ScalarArg", np.uint8, "c", "B"),
        ("ushort s", "ScalarArg", np.uint16, "s", "H"),
        ("uint u", "ScalarArg", np.uint32, "u", "I"),
        ("ulong *u", "VectorArg", np.uint64, "u", "P"),
        ("longlong n", "ScalarArg", np.int64, "n", "l"),
        ("ulonglong n", "ScalarArg", np.uint64, "n", "L"),
    ],
)
def test_parse_c_arg(text, cls, dtype, name, code):
    argument = tools.parse_c_arg(text)
    assert (type(argument).__name__, argument.dtype, argument.name) == (cls, np.dtype(dtype), name)
    assert code is None or tools.get_arg_type(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "nonsense x",
        "float",
        "float x y",
        "3 x",
        "unsigned int",
        "float &x",
        "float x = 3",
        "float *",
        "*x",
        "float x*",
        "int (*f)(int)",
        "unsigned double x",
        "long long long x",
        "char short x",
        "std::float x",
        "other::size_t n",
        "const",
    ],
)
def test_parse_c_arg_of_nonsense(text):
    with pytest.raises(ValueError):
        tools.parse_c_arg(text)


def test_declarators():
    assert tools.VectorArg(np.int32, "a").declarator() == "int *a"
    assert tools.ScalarArg(np.complex64, "z").declarator() == "pycuda::complex<float> z"
    assert tools.ScalarArg([("a", "i4"), ("b", "f8")], "s").struct_char == "12s"


def test_pack_aligns_as_numpy_does():
    assert packing.calcsize("iPf") == 20 and packing.calcsize("iF") == 12 and packing.calcsize("iD") == 24
    data = packing.pack("iD", 7, 1 + 2j)
    expected = np.zeros(1, np.dtype([("a", "i4"), ("z", "c16")], align=True))
    expected["a"], expected["z"] = 7, 1 + 2j
    assert data == expected.tobytes()
    assert packing.unpack("iD", data) == (7, 1 + 2j)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 1023, 1024, 2**40 + 1])
def test_bitlog2(n):
    assert tools.bitlog2(n) == (int(np.floor(np.log2(n))) if n else 0)


def test_strides_and_flags_are_numpys():
    for shape in ((3, 4, 5), (1, 7), (), (6,)):
        for order, function in (("C", array.c_contiguous_strides), ("F", array.f_contiguous_strides)):
            assert function(8, shape) == np.empty(shape, np.float64, order=order).strides
    for view in (
        np.empty((4, 5)),
        np.empty((4, 5), order="F"),
        np.empty((4, 5))[:, ::2],
        np.empty((1, 5))[:, :4],
        np.empty(0),
    ):
        flags = array.ArrayFlags(view)
        assert (flags.c_contiguous, flags.f_contiguous) == (view.flags.c_contiguous, view.flags.f_contiguous)
        assert flags.forc == view.flags.forc


def test_common_dtype():
    f4, f8, i4 = np.empty(1, "f4"), np.empty(1, "f8"), np.empty(1, "i4")
    assert array.get_common_dtype(f4, f8, True) == np.float64
    assert array.get_common_dtype(f4, f8, False) == np.float32
    assert array.get_common_dtype(i4, f4, True) == np.result_type(i4, f4)


@pytest.mark.parametrize(
    "capability, threads, shared, registers, blocks, reason, occupancy",
    [
        ((7, 5), 256, 0, 0, 4, "warps", 1.0),
        ((7, 5), 32, 0, 0, 16, "device", 0.5),
        ((7, 5), 1024, 0, 64, 1, "warps", 1.0),
        ((7, 5), 256, 32768, 16, 2, "smem", 0.5),
        ((7, 5), 256, 0, 128, 2, "regs", 0.5),
        ((8, 0), 256, 0, 32, 8, "warps", 1.0),
        ((8, 0), 128, 0, 255, 2, "regs", 0.125),
        ((8, 0), 64, 16 << 10, 32, 9, "smem", 9 / 32),
        ((8, 6), 32, 0, 16, 16, "device", 1 / 3),
        ((8, 9), 32, 0, 16, 24, "device", 0.5),
        ((9, 0), 256, 227 << 10, 32, 1, "smem", 0.125),
        ((9, 0), 384, 0, 168, 1, "regs", 0.1875),
        ((9, 0), 1024, 0, 32, 2, "warps", 1.0),
        ((10, 0), 128, 0, 40, 12, "regs", 0.75),
        ((12, 0), 512, 0, 32, 3, "warps", 1.0),
        ((6, 0), 96, 0, 72, 9, "regs", 27 / 64),
        ((5, 3), 64, 0, 32, 32, "device", 1.0),
    ],
)
def test_occupancy(capability, threads, shared, registers, blocks, reason, occupancy):
    """Values of NVIDIA's occupancy calculator."""
    record = tools.OccupancyRecord(tools.DeviceData(capability), threads, shared, registers)
    assert (record.tb_per_mp, record.limited_by, record.occupancy) == (blocks, reason, occupancy)
    assert record.warps_per_mp == blocks * threads // 32


@pytest.mark.parametrize(
    "threads, shared, registers", [(1025, 0, 0), (32, 10**6, 0), (32, 0, 300), (1024, 0, 128)]
)
def test_occupancy_of_the_impossible(threads, shared, registers):
    with pytest.raises(ValueError):
        tools.OccupancyRecord(tools.DeviceData((7, 5)), threads, shared, registers)


REGISTERS = """
// Needs about `count` registers.
template <int count> __device__ void mix(float *a, int n)
{
    float x[count];
    for (int i = 0; i < count; i++) x[i] = a[i * n];
    for (int turn = 0; turn < n; turn++)
        for (int i = 0; i < count; i++) x[i] = x[i] * x[(i + 1) % count] + x[(i + 7) % count];
    for (int i = 0; i < count; i++) a[i * n] = x[i];
}
extern "C" __global__ void few(float *a, int n) { a[threadIdx.x] *= n; }
extern "C" __global__ void some(float *a, int n) { mix<30>(a, n); }
extern "C" __global__ void many(float *a, int n) { mix<100>(a, n); }
extern "C" __global__ void shared(float *a, int n)
{
    __shared__ float all[2500];
    all[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = all[(threadIdx.x + n) % 2500];
}
"""


def test_occupancy_is_the_drivers():
    """OccupancyRecord agrees with the driver, for kernels with many registers and shared memory, and for
    blocks of all sizes.
    """
    module, data = SourceModule(REGISTERS, no_extern_c=True), tools.DeviceData()
    for name in ("few", "some", "many", "shared"):
        kernel = module.get_function(name)
        for threads in (1, 32, 33, 64, 96, 128, 160, 256, 352, 512, 768, 1024):
            for dynamic in (0, 1, 1000, 10_000, 30_000):
                blocks = kernel.max_active_blocks_per_multiprocessor(threads, dynamic)
                if threads > kernel.max_threads_per_block:
                    continue
                shared = kernel.shared_size_bytes + dynamic
                try:
                    record = tools.OccupancyRecord(data, threads, shared, kernel.num_regs)
                except ValueError:
                    # The CPU device runs a block that needs more registers than a multiprocessor has.
                    assert blocks == int(on_cpu_device())
                    continue
                assert record.tb_per_mp == blocks, (
                    name,
                    threads,
                    dynamic,
                    kernel.num_regs,
                    record.limited_by,
                )
    with pytest.raises(drv.LogicError):
        kernel.max_active_blocks_per_multiprocessor(-1)
    with pytest.raises(TypeError):
        kernel.max_active_blocks_per_multiprocessor("32", 0)


def test_the_table_has_the_devices_attributes():
    """The table's row for the device's compute capability agrees with the attributes that the
    driver returns.
    """
    device = drv.Context.get_device()
    attributes, row = tools.DeviceData(device), tools.DeviceData(device.compute_capability())
    differ = {name for name in vars(row) if getattr(row, name) != getattr(attributes, name)}
    assert not differ, {name: (getattr(row, name), getattr(attributes, name)) for name in differ}


@pytest.mark.parametrize("capability", [(5, 0), (7, 0), (8, 6), (9, 0), (10, 3), (12, 1), (13, 7), (2, 0)])
def test_rows_of_capabilities(capability):
    data = tools.DeviceData(capability)
    record = tools.OccupancyRecord(data, 128, 0, 32)
    assert data.warps_per_mp in (32, 48, 64) and 0 < record.occupancy <= 1
    assert data.shared_memory <= data.shared_memory_optin <= data.shared_memory_per_mp


def test_device_data():
    data = tools.DeviceData()
    assert data.warp_size == 32 and data.max_threads == 1024 and data.warps_per_mp * 32 >= 1024
    assert data.align_bytes(4) == 64 and data.align_bytes(8) == 128 and data.align(65) == 128
    assert data.align_words(4) == 16 and data.align_dtype(10, 4) == 16 and data.coalesce(17) == 32
    with pytest.raises(ValueError):
        data.align_bytes(3)
    assert [data.make_valid_tex_channel_count(size) for size in (1, 2, 3, 4)] == [1, 2, 4, 4]
    with pytest.raises(ValueError):
        data.make_valid_tex_channel_count(5)


def test_memoizing_per_context():
    calls = []

    @tools.context_dependent_memoize
    def double(value, *, extra=0):
        calls.append(value)
        return 2 * value + extra

    try:
        assert [double(2), double(2), double(3), double(2, extra=1)] == [4, 4, 6, 5]
        assert calls == [2, 3, 2]
        tools.clear_context_caches()
        assert double(2) == 4 and len(calls) == 4
    finally:
        tools.context_dependent_memoized_functions.remove(double)
        double.clear_cache()
