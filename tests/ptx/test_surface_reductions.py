"""sured and istypep: results of reductions in a surface, and the kind of object of a handle."""

import numpy as np
import pytest
from devices import words_are_ours

import pycuda.driver as drv

KERNEL = """.version 8.5
.target sm_75
.address_size 64
.visible .entry k(.param .u64 handle, .param .u64 values)
{{
.reg .b64 h, v, o; .reg .b32 x, y, z, t, r; .reg .{kind} c; .reg .pred p;
ld.param.u64 h, [handle]; ld.param.u64 v, [values];
mov.u32 t, %tid.x; mul.wide.u32 o, t, {size}; add.u64 v, v, o; ld.global.{kind} c, [v];
and.b32 x, t, 7; shr.u32 y, t, 3; and.b32 y, y, 3; shr.u32 z, t, 5; and.b32 z, z, 1;
{text}
ret;
}}
"""
WHERE = {"1d": "{x}", "2d": "{x, y}", "3d": "{x, y, z, z}"}
FUNCTIONS = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
ALL = "u32 s32 u64 s64"
KINDS = {"add": "u32 s32 u64", "min": ALL, "max": ALL, "and": "b32", "or": "b32"}
UNFORMATTED = [(f"b.{name}", kind) for name, kinds in KINDS.items() for kind in kinds.split()]
FORMATS = {
    "u": drv.array_format.UNSIGNED_INT32,
    "i": drv.array_format.SIGNED_INT32,
    "f": drv.array_format.FLOAT,
}
THREADS = 128


pytestmark = pytest.mark.usefixtures("primary_context")


def kernel(text, kind="b32"):
    source = KERNEL.format(text=text, kind=kind, size=int(kind[1:]) // 8)
    return drv.module_from_buffer(source.encode()).get_function("k")


def array_of(data, dimensions, flags=drv.array3d_flags.SURFACE_LDST):
    """An Array with data of (depth, height, width) numbers of 32 bits, for surfaces."""
    descr = drv.ArrayDescriptor3D()
    depth, height, width = data.shape
    descr.width, descr.num_channels = width, 1
    descr.height, descr.depth = height if dimensions > 1 else 0, depth if dimensions > 2 else 0
    descr.format, descr.flags = FORMATS[data.dtype.kind], flags
    array = drv.Array(descr)
    moved(array, data, True)
    return array


def moved(array, data, there):
    """Copies data to the array if `there`, otherwise the array to data; returns data."""
    copy = drv.Memcpy3D()
    (copy.set_src_host if there else copy.set_dst_host)(data)
    (copy.set_dst_array if there else copy.set_src_array)(array)
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = data.shape[2] * 4
    copy.height = copy.src_height = copy.dst_height = data.shape[1]
    copy.depth = data.shape[0]
    copy()
    return data


def places(shape):
    """The element of each thread, as an index of (depth, height, width)."""
    t = np.arange(THREADS)
    return tuple(
        np.minimum(at, size - 1) for at, size in zip((t >> 5 & 1, t >> 3 & 3, t & 7), shape, strict=True)
    )


def reduced(name, data, values):
    """The expected data after the reduction with one value of each thread."""
    result = data.copy()
    FUNCTIONS[name].at(result, places(data.shape), values)
    return result


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize(("operation", "kind"), UNFORMATTED)
def test_unformatted(operation, kind, dimensions):
    name, bits = operation.split(".")[1], int(kind[1:])
    dtype = np.dtype(f"{'i' if kind[0] == 's' else 'u'}{bits // 8}")
    random = np.random.default_rng(bits + dimensions)
    shape = (2 if dimensions > 2 else 1, 4 if dimensions > 1 else 1, 8)
    data = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype)
    values = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, THREADS, dtype)
    words = data.view(np.uint32).copy()
    array = array_of(words, dimensions)
    surface = drv.SurfaceObject(array)
    where = WHERE[f"{dimensions}d"]
    text = f"mul.lo.u32 x, x, {bits // 8}; sured.{operation}.{dimensions}d.{kind}.trap [h, {where}], c;"
    kernel(text, f"b{bits}")(surface, drv.In(values), block=(THREADS, 1, 1))
    result = moved(array, np.empty_like(words), False).view(dtype)
    assert (result == reduced(name, data, values)).all()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", "ui")
def test_formatted(name, kind):
    """The format of the surface determines whether numbers are signed; x counts elements."""
    dtype = np.dtype(f"{kind}4")
    random = np.random.default_rng(7)
    data = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (1, 4, 8), dtype)
    values = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, THREADS, dtype)
    array = array_of(data, 2)
    surface = drv.SurfaceObject(array)
    kernel(f"sured.p.{name}.2d.b32.trap [h, {{x, y}}], c;")(surface, drv.In(values), block=(THREADS, 1, 1))
    assert (moved(array, np.empty_like(data), False) == reduced(name, data, values)).all()


@pytest.mark.parametrize("boundary", ["clamp", "zero"])
def test_outside(boundary):
    """Values outside the surface go to the nearest element, or are ignored."""
    data, values = np.zeros((1, 4, 8), np.uint32), np.arange(1, THREADS + 1, dtype=np.uint32)
    array = array_of(data, 2)
    surface = drv.SurfaceObject(array)
    text = "add.u32 y, y, 2; sub.u32 x, x, 2; mul.lo.u32 x, x, 4; "
    kernel(f"{text}sured.b.add.2d.u32.{boundary} [h, {{x, y}}], c;")(
        surface, drv.In(values), block=(THREADS, 1, 1)
    )
    t = np.arange(THREADS)
    x, y = (t & 7) - 2, (t >> 3 & 3) + 2
    inside = (x >= 0) & (y < 4)
    wanted = np.zeros_like(data[0])
    if boundary == "clamp":
        np.add.at(wanted, (np.minimum(y, 3), np.maximum(x, 0)), values)
    else:
        np.add.at(wanted, (y[inside], x[inside]), values[inside])
    assert (moved(array, np.empty_like(data), False)[0] == wanted).all()


FAULT = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np, pycuda.autoinit, pycuda.driver as drv
from test_surface_reductions import array_of, kernel

surface = drv.SurfaceObject(array_of(np.zeros((1, 4, 8), {dtype!r}), 2))
function, values = kernel({text!r}), drv.to_device(np.zeros(128, np.uint32))
try:
    function(surface, values, block=(128, 1, 1))
    drv.Context.synchronize()
except drv.Error as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        ("sured.b.add.2d.u32.trap [h, {x, 9}], c;", "u4", "outside of the surface of 8 x 4 x 1 elements"),
        ("sured.b.add.2d.u32.trap [h, {2, 1}], c;", "u4", "misaligned access of 4 bytes"),
        ("sured.p.add.2d.b32.trap [h, {x, y}], c;", "f4", "whose elements are not integers of 32 bits"),
        ("sured.b.add.1d.u32.trap [h, {x}], c;", "u4", "the instruction is for 1d"),
    ],
)
@pytest.mark.cpu("a GPU does not say what was wrong, or does not detect it")
def test_fault(run_python, text, dtype, message):
    """The fault ends the whole context, so this needs a process of its own."""
    folder = __file__.rsplit("/", 1)[0]
    done = run_python(FAULT.format(folder=folder, text=text, dtype=dtype))
    assert message in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("mnemonic", "message"),
    [
        ("sured.b.add.1d.s64.trap", "they do not go together"),
        ("sured.b.and.1d.u32.trap", "they do not go together"),
        ("sured.p.add.1d.b64.trap", "they do not go together"),
        ("sured.b.xor.1d.b32.trap", "'.xor' is not a modifier of 'sured'"),
        ("sured.b.add.a2d.u32.trap", "'.a2d' is not a modifier of 'sured'"),
        ("sured.b.add.2d.u32.trap", "2 coordinates are expected"),
    ],
)
@words_are_ours
def test_refused(mnemonic, message):
    with pytest.raises(drv.Error) as found:
        kernel(f"{mnemonic} [h, {{x}}], c;")
    assert message in str(found.value)


@pytest.mark.parametrize("question", ["texref", "surfref", "samplerref"])
@pytest.mark.cpu("a GPU's compiler answers for variables, not for handles of objects")
def test_istypep(question):
    """Whether a handle is of an object of the kind; no handle is of a sampler without a texture."""
    array = array_of(np.zeros((1, 4, 8), np.uint32), 2)
    surface, texture = drv.SurfaceObject(array), drv.TextureObject(array, flags=drv.TRSF_READ_AS_INTEGER)
    handles = {"surfref": surface, "texref": texture, "none": 0, "odd": 64}
    function = kernel(f"istypep.{question} p, h; selp.u32 r, 1, 0, p; st.global.u32 [v], r;")
    for name, handle in handles.items():
        out = np.full(THREADS, 7, np.uint32)
        function(np.uint64(int(handle)), drv.InOut(out), block=(THREADS, 1, 1))
        assert (out == (name == question)).all(), name
