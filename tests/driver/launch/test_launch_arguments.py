"""What may be passed to a kernel; its bytes arrive where the kernel reads them."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule, compile

# {dtype: the C type of the same size and alignment}
TYPES = {
    "?": "bool",
    "i1": "signed char",
    "u1": "unsigned char",
    "i2": "short",
    "u2": "unsigned short",
    "i4": "int",
    "u4": "unsigned int",
    "i8": "long long",
    "u8": "unsigned long long",
    "f2": "unsigned short",
    "f4": "float",
    "f8": "double",
    "c8": "Complex8",
    "c16": "Complex16",
}
NAMES = {dtype: "bool_" if dtype == "?" else dtype for dtype in TYPES}  # parts of kernels' names
SOURCE = """
struct Complex8 { float re, im; };
struct Complex16 { double re, im; };
struct Mixed { char tag; double value; short tail; };
__global__ void store_mixed(char a, Mixed m, int b, double *out)
{ out[0] = a; out[1] = m.tag; out[2] = m.value; out[3] = m.tail; out[4] = b; }
__global__ void store_float4(char a, float4 v, char b, float *out)
{ out[0] = a; out[1] = v.x; out[2] = v.y; out[3] = v.z; out[4] = v.w; out[5] = b; }
__global__ void store_float3(float3 v, float *out) { out[0] = v.x; out[1] = v.y; out[2] = v.z; }
struct Table { float row[5]; };
__global__ void store_table(Table t, float *out) { for (int i = 0; i < 5; i++) out[i] = t.row[i]; }
__global__ void address(long long *out, void *p) { out[0] = (long long)p; }
__global__ void sum_of_three(float *out, const float *a, const float *b, int n, int stride)
{ int i = threadIdx.x; if (i < n) out[i] = a[i * stride] + b[i]; }
__global__ void many(MANY int *out) { out[0] = TOTAL; }
""".replace("MANY", "".join(f"int a{i}, " for i in range(70))).replace(
    "TOTAL", "+".join(f"{i}*a{i}" for i in range(70))
)
SOURCE += "".join(
    f"""
__global__ void store_{NAMES[dtype]}({c} value, {c} *out) {{ out[0] = value; }}
__global__ void store_after_char_{NAMES[dtype]}(char a, {c} value, char b, {c} *out, char *rest)
{{ out[0] = value; rest[0] = a; rest[1] = b; }}
"""
    for dtype, c in TYPES.items()
)
ONE = dict(block=(1, 1, 1))


@pytest.fixture(scope="module")
def module():
    return SourceModule(SOURCE)


def values_of(dtype):
    """Values of the dtype, extreme ones of integers."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [info.min, info.max, 1]
    if dtype.kind == "b":
        return [True, False]
    return [1.5, -0.25] if dtype.kind == "f" else [1.5 - 2.25j, -3j]


@pytest.mark.parametrize("dtype", TYPES)
def test_numpy_scalars(module, dtype):
    function, out = module.get_function("store_" + NAMES[dtype]), np.zeros(1, dtype)
    for value in values_of(dtype):
        function(np.dtype(dtype).type(value), drv.Out(out), **ONE)
        assert out[0] == value


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("form", ["scalar", "0-d array"])
def test_alignment_after_a_char(module, dtype, form):
    out, rest = np.zeros(1, dtype), np.zeros(2, np.int8)
    value = np.dtype(dtype).type(values_of(dtype)[0])
    passed = value if form == "scalar" else np.array(value)
    module.get_function("store_after_char_" + NAMES[dtype])(
        np.int8(7), passed, np.int8(9), drv.Out(out), drv.Out(rest), **ONE
    )
    assert out[0] == value and rest.tolist() == [7, 9]


def test_vector_by_value_is_aligned(module):
    out = np.zeros(6, np.float32)
    for vector in (gpuarray.vec.make_float4(1, 2, 3, 4), gpuarray.vec.make_float4(1, 2, 3, 4)[()]):
        module.get_function("store_float4")(np.int8(5), vector, np.int8(6), drv.Out(out), **ONE)
        assert out.tolist() == [5, 1, 2, 3, 4, 6]
    module.get_function("store_float3")(gpuarray.vec.make_float3(7, 8, 9), drv.Out(out), **ONE)
    assert out[:3].tolist() == [7, 8, 9]


def test_structure_by_value(module):
    mixed = np.dtype([("tag", "i1"), ("value", "f8"), ("tail", "i2")], align=True)
    record, out = np.zeros(1, mixed), np.zeros(5)
    record[0] = (3, 1.25, -4)
    for value in (record[0], record[0:1].reshape(())):
        module.get_function("store_mixed")(np.int8(1), value, np.int32(8), drv.Out(out), **ONE)
        assert out.tolist() == [1, 3, 1.25, -4, 8]


@pytest.mark.driver(12040, "kernels report their parameters")
def test_packed_structure_has_the_wrong_size(module):
    packed = np.zeros((), [("tag", "i1"), ("value", "f8"), ("tail", "i2")])
    with pytest.raises(TypeError, match=r"'store_mixed': argument 1 .* 11 bytes.* 24"):
        module.get_function("store_mixed")(np.int8(1), packed, np.int32(8), drv.Out(np.zeros(5)), **ONE)


@pytest.mark.driver(12040, "kernels report their parameters")
def test_array_by_value_where_it_has_the_parameters_size(module):
    """An array of 20 bytes for a structure of 20 bytes is passed by value."""
    out = np.zeros(5, np.float32)
    module.get_function("store_table")(np.arange(5, dtype=np.float32), drv.Out(out), **ONE)
    assert out.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(TypeError, match="host"):
        module.get_function("store_table")(np.arange(6, dtype=np.float32), drv.Out(out), **ONE)
    with pytest.raises(TypeError, match="contiguous"):
        module.get_function("store_table")(np.arange(10, dtype=np.float32)[::2], drv.Out(out), **ONE)


EIGHT_BYTES = """
#include <pycuda-complex.hpp>
struct Two { short a, b; float c; };
typedef struct { int a; float b; } Other;
typedef float *Pointer;
extern "C" {
__global__ void vector(float2 v, double *out) { out[0] = v.x; out[1] = v.y; }
__global__ void number(pycuda::complex<float> const v, double *out) { out[0] = v.real(); out[1] = v.imag(); }
__global__ void record(struct Two v, double *out) { out[0] = v.a + 10 * v.b; out[1] = v.c; }
__global__ void other(const Other v, double *out) { out[0] = v.a; out[1] = v.b; }
__global__ void pointer(const float *v, double *out) { out[0] = v[0]; out[1] = v[1]; }
__global__ void pointer_by_name(Pointer v, double *out) { out[0] = v[0]; out[1] = v[1]; }
__global__ void scalar(double v, double *out) { out[0] = v; }
}
"""


@pytest.mark.driver(12040, "kernels report their parameters")
def test_eight_bytes_are_passed_by_value_where_the_parameter_is_a_structure():
    """An array of 8 bytes could be meant as a pointer by mistake: the source decides whether the parameter is
    a structure."""
    module, out = SourceModule(EIGHT_BYTES, no_extern_c=True), np.zeros(2)
    pair = np.array([1.5, -2.5], np.float32)
    two = np.array([(1, 2, 0.25)], [("a", "i2"), ("b", "i2"), ("c", "f4")])
    other = np.array([[(7, 8.5)]], [("a", "i4"), ("b", "f4")])
    for name, value, seen in (
        ("vector", pair, [1.5, -2.5]),
        ("number", pair, [1.5, -2.5]),
        ("number", np.array([3 - 1j], np.complex64), [3, -1]),
        ("record", two, [21, 0.25]),
        ("other", other, [7, 8.5]),
    ):
        for _ in range(2):
            module.get_function(name)(value, drv.Out(out), **ONE)
            assert out.tolist() == seen, name
    for name in ("pointer", "pointer_by_name", "scalar"):
        with pytest.raises(TypeError, match=r"argument 0 of kernel .* wrap it in drv\.In"):
            module.get_function(name)(pair, drv.Out(out), **ONE)
    with pytest.raises(TypeError, match="contiguous"):
        module.get_function("vector")(np.zeros(4, np.float32)[::2], drv.Out(out), **ONE)
    with pytest.raises(TypeError, match="host"):
        module.get_function("vector")(np.zeros(3, np.float32), drv.Out(out), **ONE)


@pytest.mark.gpu("the CPU device reads the parameters of all code")
def test_eight_bytes_where_the_parameter_is_unknown():
    """Machine code without its source: the error says how to pass the array by value."""
    function = drv.module_from_buffer(compile(EIGHT_BYTES, no_extern_c=True)).get_function("vector")
    pair, out = np.array([1.5, 2.5], np.float32), np.zeros(2)
    with pytest.raises(TypeError, match=r"by value as array\.view\('V8'\)\[0\]"):
        function(pair, drv.Out(out), **ONE)
    function(pair.view("V8")[0], drv.Out(out), **ONE)
    assert out.tolist() == [1.5, 2.5]


def address_seen(module, argument):
    """The pointer that a kernel gets for the argument."""
    out = np.zeros(1, np.int64)
    module.get_function("address")(drv.Out(out), argument, **ONE)
    return int(out[0])


def test_addresses(module):
    """Every kind of object with memory is passed as its address."""
    memory = drv.mem_alloc(256)
    array = gpuarray.empty((4, 5), np.float32)

    class Holder(drv.PointerHolderBase):
        def get_pointer(self):
            return int(memory) + 16

    class WithGpudata:
        gpudata = memory

    class WithInterface:
        __cuda_array_interface__ = dict(shape=(3,), typestr="<f4", data=(int(memory) + 8, False), version=3)

    class Derived(gpuarray.GPUArray):
        pass

    assert address_seen(module, memory) == int(memory)
    assert address_seen(module, array) == array.ptr
    assert address_seen(module, array[1:, 2]) == array.ptr + 28
    assert address_seen(module, array.gpudata) == array.ptr
    assert address_seen(module, Derived((3,), np.int8, gpudata=memory)) == int(memory)
    assert address_seen(module, Holder()) == int(memory) + 16
    assert address_seen(module, WithGpudata()) == int(memory)
    assert address_seen(module, WithInterface()) == int(memory) + 8
    assert address_seen(module, np.intp(int(memory))) == int(memory)
    assert address_seen(module, np.uint64(int(memory) + 1)) == int(memory) + 1
    assert address_seen(module, gpuarray.empty((0,), np.float32)) == 0


def test_managed_arrays_and_their_views(module):
    managed = drv.managed_empty((4, 8), np.float32, mem_flags=drv.mem_attach_flags.GLOBAL)
    assert address_seen(module, managed) == managed.ctypes.data
    assert address_seen(module, managed[2, 3:]) == managed.ctypes.data + 4 * 19


def test_several_kinds_at_one_position(module):
    """The kind of the previous launch's argument, which is tried first, has no effect on the next one."""
    memory = drv.mem_alloc(64)
    array = gpuarray.empty(4, np.float32)
    for _ in range(3):
        for argument, expected in (
            (memory, int(memory)),
            (array, array.ptr),
            (np.int64(5), 5),
            (np.uint64(6), 6),
        ):
            assert address_seen(module, argument) == expected


@pytest.mark.driver(12040, "kernels report their parameters")
def test_a_value_of_the_wrong_width(module):
    for wrong in np.float32(5), np.bool_(True):
        with pytest.raises(TypeError, match="8: pass numpy.uintp for a size_t or a pointer"):
            address_seen(module, wrong)


@pytest.mark.driver(12040, "kernels report their parameters")
@pytest.mark.gpu("the CPU device knows from the PTX that it is an integer")
def test_an_integer_of_the_wrong_width(module):
    with pytest.raises(TypeError, match="8: pass numpy.uintp for a size_t or a pointer"):
        address_seen(module, np.int32(5))


def test_kernel_with_arrays_and_numbers(module):
    a, b = np.arange(20, dtype=np.float32), np.arange(10, dtype=np.float32) * 100
    out = gpuarray.zeros(10, np.float32)
    module.get_function("sum_of_three")(
        out, gpuarray.to_gpu(a), gpuarray.to_gpu(b), np.int32(10), np.int32(2), block=(32, 1, 1)
    )
    np.testing.assert_array_equal(out.get(), a[::2] + b)


def test_seventy_arguments(module):
    out = np.zeros(1, np.int32)
    values = list(range(70))
    module.get_function("many")(*[np.int32(value) for value in values], drv.Out(out), **ONE)
    assert out[0] == sum(i * value for i, value in enumerate(values))


@pytest.mark.driver(12040, "kernels report their parameters")
@pytest.mark.parametrize("count", [0, 1, 3, 100])
def test_number_of_arguments(module, count):
    with pytest.raises(TypeError, match=rf"'address' takes 2 arguments, {count} given"):
        module.get_function("address")(*[np.int64(0)] * count, **ONE)


@pytest.mark.parametrize(
    "value",
    [
        1,
        -1,
        2**70,
        1.5,
        1j,
        True,
        None,
        b"12345678",
        bytearray(8),
        "x",
        [1],
        (1,),
        {},
        object(),
        np.longdouble(1),
        np.clongdouble(1),
        np.str_("x"),
        np.bytes_(b"x"),
        np.datetime64("2020-01-01"),
        np.timedelta64(1, "s"),
        int,
        np.int64,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_passed(module, value):
    with pytest.raises(TypeError, match=r"#1 "):
        module.get_function("address")(drv.Out(np.zeros(1, np.int64)), value, **ONE)


@pytest.mark.parametrize(
    "array",
    [np.zeros(3), np.zeros((2, 2), np.float32), np.zeros(1, np.int64), np.zeros(0), np.zeros(2, object)],
)
def test_host_arrays(module, array):
    with pytest.raises(TypeError, match=r"argument 1 .*NumPy array on the host: wrap it in drv\.In"):
        module.get_function("address")(drv.Out(np.zeros(1, np.int64)), array, **ONE)


def test_freed_memory(module):
    memory = drv.mem_alloc(64)
    array = gpuarray.GPUArray((4,), np.float32, gpudata=memory)
    view = array[1:]
    memory.free()
    for argument in (memory, array, view):
        with pytest.raises(drv.LogicError, match=r"argument 1 .*freed"):
            address_seen(module, argument)


def test_memory_of_another_context(module):
    other = drv.Device(0).make_context()
    theirs = drv.mem_alloc(64)
    array = gpuarray.empty(4, np.float32)
    other.pop()
    assert address_seen(module, theirs) == int(theirs)
    assert address_seen(module, array) == array.ptr
    other.detach()
    for argument in (theirs, array):
        with pytest.raises(drv.LogicError, match=r"argument 1 .*was freed with its context"):
            address_seen(module, argument)


def test_an_exception_in_an_arguments_interface_is_raised(module):
    class Bad:
        @property
        def __cuda_array_interface__(self):
            raise ZeroDivisionError("in the interface")

    with pytest.raises(ZeroDivisionError):
        address_seen(module, Bad())


def test_launches_keep_no_references(module):
    """Neither a launch nor a refused one keeps its arguments alive."""
    import sys

    value, memory = np.int64(5), drv.mem_alloc(64)
    before = sys.getrefcount(value), sys.getrefcount(memory)
    for _ in range(50):
        address_seen(module, value)
        address_seen(module, memory)
        with pytest.raises(TypeError):
            module.get_function("address")(memory, object(), **ONE)
    assert (sys.getrefcount(value), sys.getrefcount(memory)) == before


@pytest.mark.driver(12040, "older ones do not report the parameters of a kernel")
def test_parameters_are_queried_without_an_error(run_python):
    """A query past the last parameter would fail, and tools that watch the driver's errors would report it.
    For each kernel: successful queries, and other calls."""
    program = """
        import pycuda.autoinit
        import pycuda.driver as drv
        from pycuda.compiler import SourceModule

        core = drv._driver
        module = SourceModule('''
            struct Many { int a[500]; };
            __global__ void none() {}
            __global__ void three(int *a, float b, double c) { *a = b + c; }
            __global__ void wide(int *p, Many m, char c) { *p = m.a[3] + c; }
            __global__ void __launch_bounds__(64) bounded(int a) {}
        ''')
        module.get_function("none")
        for name in ("none", "three", "wide", "bounded"):
            calls, queries = core._fault_calls(), core._fault_count("cuFuncGetParamInfo")
            module.get_function(name)
            queries = core._fault_count("cuFuncGetParamInfo") - queries
            print(queries, core._fault_calls() - calls - queries)
    """
    done = run_python(program, env={"PYCUDA_FAULT_CALL": "0"}, check=True)
    assert done.stdout.split() == ["0", "1", "3", "1", "3", "1", "1", "1"]
