"""prepare() and the prepared calls; the packer of their arguments, which is compared with the struct
module."""

import struct

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import _pvt_struct, gpuarray
from pycuda.compiler import SourceModule

SOURCE = """
__global__ void fill(float *a, int n, float x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = x;
}
__global__ void all_codes(double *out, bool a, signed char b, unsigned char c, short d, unsigned short e,
                          int f, unsigned g, long h, unsigned long i, float j, double k, float2 l)
{
    double values[] = {(double)a, (double)b, (double)c, (double)d, (double)e, (double)f, (double)g, (double)h,
                       (double)i, j, k, l.x, l.y};
    for (int n = 0; n < 13; n++) out[n] = values[n];
}
__global__ void half_bits(unsigned short *out, unsigned short value) { out[0] = value; }
__global__ void shared_size(int *out)
{
    unsigned bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    out[0] = bytes;
}
"""
GRID, BLOCK = (2, 1), (32, 1, 1)


@pytest.fixture(scope="module")
def module():
    return SourceModule(SOURCE)


@pytest.fixture
def fill(module):
    return module.get_function("fill")


def check(array, count, value):
    """Asserts that the first `count` elements are that value, and those after them 0."""
    data = array.get()
    assert (data[:count] == value).all() and (data[count:] == 0).all()


@pytest.mark.parametrize(
    "types",
    [
        "Pif",
        ["P", "i", "f"],
        [np.intp, np.int32, np.float32],
        [np.uint64, np.dtype(np.int32), "f"],
        (drv.DeviceAllocation, "if"),
        [gpuarray.GPUArray, np.uintc, np.single],
        "@Pif",
        " P i f ",
    ],
)
def test_prepare_and_call(fill, types):
    array = gpuarray.zeros(40, np.float32)
    assert fill.prepare(types) is fill
    address = int(array.gpudata)
    assert fill.prepared_call(GRID, BLOCK, address, 33, 2.5) is None
    check(array, 33, 2.5)


def test_types_may_be_an_iterator(fill):
    test_prepare_and_call(fill, iter("Pif"))


@pytest.mark.parametrize("pointer", ["allocation", "array", "int", "intp", "uint64"])
def test_pointers(fill, pointer):
    """Each kind of pointer is accepted for the code P."""
    array = gpuarray.zeros(40, np.float32)
    given = {
        "allocation": array.gpudata,
        "array": array,
        "int": array.ptr,
        "intp": np.intp(array.ptr),
        "uint64": np.uint64(array.ptr),
    }[pointer]
    fill.prepare("Pif").prepared_call(GRID, BLOCK, given, np.int64(33), np.float64(1))
    check(array, 33, 1)


def test_arg_format_belongs_to_one_function_object(module, fill):
    """Another Function of the same kernel is prepared independently."""
    fill.prepare([np.intp, np.int32, np.float32])
    assert fill.arg_format == "lif" and fill.texrefs == []
    other = module.get_function("fill")
    assert not hasattr(other, "arg_format")
    other.prepare("Pif", texrefs=[])
    assert other.arg_format == "Pif" and fill.arg_format == "lif"
    other.prepare("Pif", shared=None)


def test_call_before_prepare(fill):
    for call in (fill.prepared_call, fill.prepared_timed_call):
        with pytest.raises(AttributeError, match="prepare"):
            call(GRID, BLOCK, 0, 0, 0)
    with pytest.raises(AttributeError, match="prepare"):
        fill.prepared_async_call(GRID, BLOCK, None, 0, 0, 0)


def test_async_and_timed(fill):
    """Prepared asynchronous and timed calls run the kernel; the latter return the seconds."""
    array, stream = gpuarray.zeros(40, np.float32), drv.Stream()
    fill.prepare("Pif")
    fill.prepared_async_call(GRID, BLOCK, stream, array, 40, 3)
    stream.synchronize()
    check(array, 40, 3)
    fill.prepared_async_call(GRID, BLOCK, None, array, 40, 4)
    check(array, 40, 4)
    seconds = fill.prepared_timed_call(GRID, BLOCK, array, 40, 5)
    assert 0 <= seconds() < 60 and seconds() == seconds()
    check(array, 40, 5)
    with pytest.raises(TypeError):
        seconds(1)


def test_a_timed_call_whose_time_is_not_queried(fill):
    array = gpuarray.zeros(40, np.float32)
    fill.prepare("Pif").prepared_timed_call(GRID, BLOCK, array, 40, 5)
    check(array, 40, 5)


def test_shared_size(module):
    out = gpuarray.zeros(1, np.int32)
    function = module.get_function("shared_size").prepare("P")
    function.prepared_call((1, 1), (1, 1, 1), out, shared_size=1024)
    assert out.get()[0] == 1024
    with pytest.raises(TypeError, match="shared"):
        function.prepared_call((1, 1), (1, 1, 1), out, shared=1024)


def test_every_code(module):
    """Each code of a format string, and each dtype, passes its values."""
    out = gpuarray.zeros(13, np.float64)
    function = module.get_function("all_codes").prepare("P?bBhHiIlLfdF")
    numbers = [-100, 200, -30000, 60000, -(2**31), 2**32 - 1, -(2**40), 2**50, 0.5, 1e-300]
    function.prepared_call((1, 1), (1, 1, 1), out, True, *numbers, 3 - 4j)
    assert out.get().tolist() == [1, *numbers, 3, -4]
    types = [
        np.intp,
        np.bool_,
        np.int8,
        np.uint8,
        np.int16,
        np.uint16,
        np.int32,
        np.uint32,
        np.int64,
        np.uint64,
        np.float32,
        np.float64,
        np.complex64,
    ]
    function.prepare(types)
    function.prepared_call((1, 1), (1, 1, 1), out.ptr, *[0] * 12)
    assert not out.get().any()


def test_several_values_for_one_parameter(module):
    out = gpuarray.zeros(13, np.float64)
    function = module.get_function("all_codes").prepare("P?bBhHiIlLfdff")
    function.prepared_call((1, 1), (1, 1, 1), out, *[0] * 11, 6, 7)
    assert out.get()[-2:].tolist() == [6, 7]


def test_vectors(module):
    out = gpuarray.zeros(13, np.float64)
    types = "P?bBhHiIlLfd"
    function = module.get_function("all_codes").prepare([*types, gpuarray.vec.float2])
    assert function.arg_format == types + "8s"
    function.prepared_call((1, 1), (1, 1, 1), out, *[0] * 11, gpuarray.vec.make_float2(8, 9))
    assert out.get()[-2:].tolist() == [8, 9]


def test_half(module):
    out = gpuarray.zeros(1, np.uint16)
    module.get_function("half_bits").prepare([np.intp, np.float16]).prepared_call(
        (1, 1), (1, 1, 1), out.ptr, 1.5
    )
    assert out.get().view(np.float16)[0] == 1.5


@pytest.mark.driver(12040, "kernels report their parameters")
@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("Pid", "argument 2 .*'fill'.* 8 bytes.*'d'.* 4"),
        ("iif", "argument 0 .*'fill'.* 4 bytes.* 8"),
        ("Pi", "'fill' takes 3 arguments, 2 types"),
        ("Piff", "'fill' takes 3 arguments, 4 types"),
        ("", "3 arguments, 0"),
        ([np.intp, np.int64, np.float32], "argument 1 .* 8 bytes.* 4"),
        ([np.intp, np.bool_, np.float32], "argument 1 .* 1 "),
    ],
)
def test_types_that_do_not_fit_the_kernel(fill, types, message):
    refuses_types(fill, types, message)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ([np.intp, np.int32, float], "argument 2 .*8 bytes"),
        ([np.intp, int, np.float32], "argument 1 .*8 bytes"),
        ([None, object, np.float32], "argument 1 .*8 bytes"),
        ([np.intp, np.int32, np.longdouble], "argument 2: "),
        ([np.intp, np.int32, np.dtype(object)], "argument 2: "),
        ([np.intp, np.int32, np.dtype("S4")], "argument 2: "),
        ("Pi!", "character 2"),
        ("PiZ", "character 2"),
        ("Pi3", "repeat count"),
        (5, "iterable"),
    ],
)
def test_types_that_no_kernel_can_have(fill, types, message):
    refuses_types(fill, types, message)


@pytest.mark.parametrize("address", [None, object, int, object(), drv.DeviceAllocation])
def test_a_type_that_is_no_number_means_an_address(fill, address):
    fill.prepare([address, np.int32, np.float32])
    array = gpuarray.zeros(40, np.float32)
    fill.prepared_call(GRID, BLOCK, array, 40, 4)
    assert (array.get() == 4).all()


def refuses_types(fill, types, message):
    """Asserts that prepare() raises that TypeError and leaves the function unprepared."""
    with pytest.raises(TypeError, match=message):
        fill.prepare(types)
    assert not hasattr(fill, "arg_format")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0, 1.5, 1.0), "argument 1 .*'fill'.*integer, not float"),
        ((0, 2**31, 1.0), "argument 1 .*2147483648.*'i'"),
        ((0, 1, "x"), "argument 2 .*real number, not str"),
        ((0, 1, 1e39), "argument 2 .*too large"),
        ((1.5, 1, 1.0), "#0 .*float"),
        ((None, 1, 1.0), "#0 .*NoneType"),
        ((np.zeros(3, np.float32), 1, 1.0), "host"),
        ((0, 1), "prepared for 3 arguments, 2 given"),
        ((0, 1, 2, 3), "prepared for 3 arguments, 4 given"),
        (("x", 1, 2), "#0 .*str"),
        ((object(), 1, 2), "#0 .*object"),
    ],
)
def test_values_that_do_not_fit(fill, values, message):
    with pytest.raises(TypeError, match=message):
        fill.prepare("Pif").prepared_call(GRID, BLOCK, *values)


def test_freed_memory(fill):
    memory = drv.mem_alloc(160)
    memory.free()
    with pytest.raises(drv.LogicError, match=r"argument 0 .*freed"):
        fill.prepare("Pif").prepared_call(GRID, BLOCK, memory, 1, 1)


@pytest.mark.parametrize("arguments", [(), ((1, 1),), ((1, 1), (1, 1))])
def test_prepared_calls_without_grid_or_block(fill, arguments):
    with pytest.raises((TypeError, ValueError)):
        fill.prepare("Pif").prepared_call(*arguments)


# The packer

FORMATS = [
    "b",
    "bB",
    "bhilq",
    "bxi",
    "3i",
    "2b2i",
    "?bd",
    "cP",
    "fd",
    "bnN",
    "4s",
    "b5sh",
    "3pi",
    "b0q",
    "eb",
    " i  f ",
]


def sample(code, count):
    """The list of values for one item of a format: a code of struct with its count."""
    if code in "s":
        return [b"abcdefgh"[:count]]
    if code == "p":
        return [b"ab"]
    one = {"?": True, "c": b"z", "f": 1.5, "d": -2.25, "e": 0.5}.get(code, 7)
    return [] if code == "x" else [one] * count


def values_for(text):
    """Values that the format packs."""
    import re

    values = []
    for count, code in re.findall(r"(\d*)([a-zA-Z?])", text):
        values += sample(code, int(count or 1))
    return values


@pytest.mark.parametrize("text", FORMATS)
def test_packs_like_struct(text):
    values = values_for(text)
    packed = _pvt_struct.pack(text, *values)
    assert packed == struct.pack(text, *values)
    assert _pvt_struct.calcsize(text) == struct.calcsize(text) == _pvt_struct.Struct(text).size
    assert _pvt_struct.unpack(text, packed) == struct.unpack(text, packed)
    buffer = bytearray(struct.calcsize(text) + 8)
    _pvt_struct.pack_into(text, buffer, 3, *values)
    assert _pvt_struct.unpack_from(text, buffer, 3) == struct.unpack(text, packed)


@pytest.mark.parametrize("code", "bBhHiIlLqQnN")
def test_range_of_integers(code):
    bits = 8 * struct.calcsize(code)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if code.islower() else (0, (1 << bits) - 1)
    for value in (low, high, 0):
        assert _pvt_struct.pack(code, value) == struct.pack(code, value)
        assert _pvt_struct.unpack(code, _pvt_struct.pack(code, value)) == (value,)
    for value in (low - 1, high + 1, 1 << 80, -(1 << 80), 1.0, "1", None):
        with pytest.raises(_pvt_struct.error):
            _pvt_struct.pack(code, value)


def test_complex_codes():
    """F and D, which struct did not have: two floats or doubles."""
    assert _pvt_struct.calcsize("bF") == 12 and _pvt_struct.calcsize("bD") == 24
    assert _pvt_struct.pack("F", 1 + 2j) == struct.pack("ff", 1, 2)
    assert _pvt_struct.pack("D", 3) == struct.pack("dd", 3, 0)
    assert _pvt_struct.pack("D", np.array(1j)) == struct.pack("dd", 0, 1)
    assert _pvt_struct.unpack("FD", _pvt_struct.pack("FD", 1 + 2j, 3 - 4j)) == (1 + 2j, 3 - 4j)
    with pytest.raises(_pvt_struct.error):
        _pvt_struct.pack("F", "1j")


@pytest.mark.parametrize(
    "call",
    [
        lambda: _pvt_struct.pack("i"),
        lambda: _pvt_struct.pack("i", 1, 2),
        lambda: _pvt_struct.pack("<i", 1),
        lambda: _pvt_struct.unpack("i", b"123"),
        lambda: _pvt_struct.unpack_from("i", b"12345", 2),
        lambda: _pvt_struct.pack_into("i", bytearray(4), 1, 5),
        lambda: _pvt_struct.pack("f", 1e39),
        lambda: _pvt_struct.calcsize("99999999999999999999q"),
        lambda: _pvt_struct.pack("c", b"ab"),
        lambda: _pvt_struct.pack("s", 5),
        lambda: _pvt_struct.pack("e", 1e6),
    ],
)
def test_packer_errors(call):
    with pytest.raises(_pvt_struct.error):
        call()
