"""CUDA arrays and their descriptors, copies by byte offset, and functions that make them of NumPy arrays."""

import gc
import weakref

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.gpuarray import to_gpu

FORMATS = {
    "u1": "UNSIGNED_INT8", "u2": "UNSIGNED_INT16", "u4": "UNSIGNED_INT32",
    "i1": "SIGNED_INT8", "i2": "SIGNED_INT16", "i4": "SIGNED_INT32", "f4": "FLOAT",
}  # fmt: skip


def descriptor(width, height=0, form="FLOAT", channels=1):
    """An ArrayDescriptor of these sizes; form: the name of an array_format."""
    descr = drv.ArrayDescriptor()
    descr.width, descr.height = width, height
    descr.format, descr.num_channels = getattr(drv.array_format, form), channels
    return descr


def descriptor_3d(width, height, depth, flags=0):
    descr = drv.ArrayDescriptor3D()
    descr.width, descr.height, descr.depth = width, height, depth
    descr.format, descr.num_channels, descr.flags = drv.array_format.FLOAT, 1, flags
    return descr


def contents(array, shape, dtype):
    """The contents of an Array as a NumPy array of shape (depth, height, width[, channels])."""
    out = np.zeros(shape, dtype)
    copy = drv.Memcpy3D()
    copy.set_src_array(array)
    copy.set_dst_host(out)
    depth, height = out.shape[:2]
    copy.width_in_bytes = copy.dst_pitch = out.strides[1]
    copy.height = copy.dst_height = height
    copy.depth = depth
    copy()
    return out


# ---- Descriptors


def test_fields_are_zero_at_first_and_keep_what_is_set():
    descr = drv.ArrayDescriptor3D()
    names = ["width", "height", "depth", "format", "num_channels", "flags"]
    assert [getattr(descr, name) for name in names] == [0] * 6
    for number, name in enumerate(names, 1):
        setattr(descr, name, number)
    assert [getattr(descr, name) for name in names] == [1, 2, 3, 4, 5, 6]
    assert not hasattr(drv.ArrayDescriptor(), "depth")


def test_a_format_is_a_constant():
    descr = descriptor(1, form="HALF")
    assert str(descr.format) == "HALF" and isinstance(descr.format, drv.array_format)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("width", -1, ValueError),
        ("height", 1.5, TypeError),
        ("num_channels", 1 << 40, OverflowError),
        ("format", "FLOAT", TypeError),
    ],
)
def test_bad_fields(name, value, error):
    descr = drv.ArrayDescriptor()
    with pytest.raises(error, match=name):
        setattr(descr, name, value)
    with pytest.raises(AttributeError):
        delattr(descr, name)
    assert getattr(descr, name) == 0


# ---- Array


def test_get_descriptor():
    array = drv.Array(descriptor(5, 3, "SIGNED_INT16", 2))
    back = array.get_descriptor()
    assert (back.width, back.height, back.num_channels) == (5, 3, 2)
    assert back.format == drv.array_format.SIGNED_INT16
    deep = array.get_descriptor_3d()
    assert (deep.width, deep.height, deep.depth, deep.flags) == (5, 3, 0, 0)


def test_get_descriptor_3d():
    flags = drv.array3d_flags.SURFACE_LDST | drv.array3d_flags.LAYERED
    deep = drv.Array(descriptor_3d(4, 3, 2, flags=flags)).get_descriptor_3d()
    assert (deep.width, deep.height, deep.depth, deep.flags) == (4, 3, 2, flags)


def test_a_second_free_is_accepted_and_uses_after_it_raise():
    array = drv.Array(descriptor(8))
    handle = array.handle
    assert handle
    array.free()
    array.free()
    for use in (
        array.get_descriptor,
        array.get_descriptor_3d,
        lambda: drv.memcpy_htoa(array, 0, b"1234"),
        lambda: drv.Memcpy2D().set_src_array(array),
    ):
        with pytest.raises(drv.LogicError, match="freed"):
            use()


def test_equality_is_of_handles():
    first, second = drv.Array(descriptor(8)), drv.Array(descriptor(8))
    assert first == first and first != second and first != 5
    assert len({first, second, first}) == 2


def test_weak_references():
    array = drv.Array(descriptor(8))
    reference = weakref.ref(array)
    del array
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("value", [None, 5, "descr", (4, 4)])
def test_only_descriptors_describe(value):
    with pytest.raises(TypeError, match="ArrayDescriptor"):
        drv.Array(value)


def test_the_drivers_error_has_the_description():
    with pytest.raises(drv.LogicError, match="cuArrayCreate failed: .* 3 channels"):
        drv.Array(descriptor(4, 4, channels=3))
    with pytest.raises(drv.LogicError, match="cuArray3DCreate failed: .*width 0"):
        drv.Array(descriptor_3d(0, 0, 0))


# ---- Copies by byte offset


def test_every_copy_by_offset():
    """Between an Array and the host, device memory and another Array; offsets are in bytes."""
    data = np.arange(16, dtype=np.float32)
    array = drv.Array(descriptor(16))
    drv.memcpy_htoa(array, 0, data)
    back = np.zeros(8, np.float32)
    drv.memcpy_atoh(back, array, 16)
    assert (back == data[4:12]).all()

    memory = drv.mem_alloc(64)
    drv.memcpy_atod(memory, array, 32, 32)
    drv.memcpy_dtoh(back, memory)
    assert (back == data[8:]).all()

    other = drv.Array(descriptor(16))
    drv.memcpy_dtoa(other, 32, memory, 32)
    drv.memcpy_atoa(other, 0, array, 4, 32)
    whole = np.zeros(16, np.float32)
    drv.memcpy_atoh(whole, other, 0)
    assert whole.tolist() == data[1:9].tolist() + data[8:].tolist()


def test_other_names_and_keywords():
    array = drv.Array(descriptor(4))
    drv.py_memcpy_htoa(ary=array, index=4, src=np.float32([7, 8]))
    out = np.zeros(1, np.float32)
    drv.py_memcpy_atoh(dest=out, ary=array, index=8)
    assert out[0] == 8


def test_wrong_copies_by_offset():
    array, memory = drv.Array(descriptor(4)), drv.mem_alloc(8)
    with pytest.raises(TypeError, match="ary must be an Array"):
        drv.memcpy_htoa(memory, 0, b"1234")
    with pytest.raises(ValueError, match="the allocation has 8"):
        drv.memcpy_atod(memory, array, 0, 16)
    with pytest.raises(ValueError, match="negative"):
        drv.memcpy_atod(memory, array, -4, 4)
    with pytest.raises(ValueError, match="read-only"):
        drv.memcpy_atoh(np.broadcast_to(np.float32(0), 1), array, 0)
    with pytest.raises(drv.LogicError, match="cuMemcpyHtoA failed"):
        drv.memcpy_htoa(array, 0, bytes(64))


# ---- From NumPy


@pytest.mark.parametrize("code", FORMATS)
def test_formats_of_dtypes(code):
    assert drv.dtype_to_array_format(code) == getattr(drv.array_format, FORMATS[code])


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex64, np.bool_, "S4"])
def test_dtypes_without_a_format(dtype):
    with pytest.raises(TypeError, match="arrays cannot hold"):
        drv.dtype_to_array_format(dtype)


@pytest.mark.parametrize("code", FORMATS)
def test_matrix_to_array(code):
    matrix = np.arange(15).reshape(3, 5).astype(code)
    array = drv.matrix_to_array(matrix, "C")
    descr = array.get_descriptor()
    assert (descr.width, descr.height, descr.num_channels) == (5, 3, 1)
    assert (contents(array, (1, 3, 5), code)[0] == matrix).all()
    array = drv.matrix_to_array(matrix, "F")
    assert (array.get_descriptor().width, array.get_descriptor().height) == (3, 5)
    assert (contents(array, (1, 5, 3), code)[0] == matrix.T).all()


def test_the_layout_of_the_source_does_not_matter():
    """order names the axis that becomes the width; the strides of the source have no effect."""
    matrix = np.arange(15, dtype=np.int32).reshape(3, 5)
    for layout in (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        assert (contents(drv.matrix_to_array(layout, "C"), (1, 3, 5), "i4")[0] == matrix).all()


def test_doubles_as_pairs_of_integers():
    matrix = np.linspace(0, 1, 6).reshape(2, 3)
    array = drv.matrix_to_array(matrix, "C", allow_double_hack=True)
    assert array.get_descriptor().num_channels == 2
    assert (contents(array, (1, 2, 3), "f8")[0] == matrix).all()
    with pytest.raises(TypeError, match="float64"):
        drv.matrix_to_array(matrix, "C")


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (4, 4)])
@pytest.mark.parametrize("code", ["f4", "i2", "f8", "c8", "c16"])
@pytest.mark.parametrize("on_device", [False, True])
def test_np_to_array_and_gpuarray_to_array(shape, order, surface, code, on_device):
    """Sizes, channels and flags of the Array, and its contents. A wider dtype has several channels of 32
    bits."""
    source = np.arange(np.prod(shape)).astype(code).reshape(shape)
    source = np.asarray(source, order=order)
    if on_device:
        array = drv.gpuarray_to_array(to_gpu(source), order, allowSurfaceBind=surface)
    else:
        array = drv.np_to_array(source, order, allowSurfaceBind=surface)
    expected = source if order == "C" else source.T
    deep = array.get_descriptor_3d()
    assert (deep.height, deep.width) == expected.shape[-2:]
    assert deep.num_channels == {"c16": 4, "f8": 2, "c8": 2}.get(code, 1)
    assert bool(deep.flags & drv.array3d_flags.SURFACE_LDST) == surface
    assert bool(deep.flags & drv.array3d_flags.LAYERED) == (surface and len(shape) == 2)
    expected = expected.reshape((-1, *expected.shape[-2:]))
    assert (contents(array, expected.shape, code) == expected).all()


def test_wrong_orders_and_dimensions_of_conversions():
    matrix = np.zeros((2, 3), np.float32)
    for convert in (
        drv.matrix_to_array,
        drv.np_to_array,
        lambda ary, order: drv.gpuarray_to_array(to_gpu(ary), order),
        drv.make_multichannel_2d_array,
    ):
        with pytest.raises(drv.LogicError, match="order is 'K'"):
            convert(matrix, "K")
        with pytest.raises(drv.LogicError, match="-dimensional array, not|dimensions, not|not of"):
            convert(np.zeros(3, np.float32), "C")
    with pytest.raises(drv.LogicError, match="not F-contiguous"):
        drv.gpuarray_to_array(to_gpu(matrix), "F")
    with pytest.raises(TypeError, match="must be a TextureReference, not int"):
        drv.bind_array_to_texref(drv.matrix_to_array(matrix, "C"), 5)


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_several_channels(channels):
    data = np.arange(3 * 5 * channels, dtype=np.uint8).reshape(3, 5, channels)
    array = drv.make_multichannel_2d_array(data, "C")
    descr = array.get_descriptor()
    assert (descr.width, descr.height, descr.num_channels) == (5, 3, channels)
    assert (contents(array, (1, 3, 5, channels), "u1")[0] == data).all()
    array = drv.make_multichannel_2d_array(np.asfortranarray(data.T), "F")
    assert (contents(array, (1, 3, 5, channels), "u1")[0] == data).all()


def test_bind_array_to_texref_calls_the_reference():
    """The calls that it makes, in their order, recorded by a stand-in for a TextureReference."""

    class Reference:
        def __init__(self):
            self.calls = []

        def __getattr__(self, name):
            return lambda *args: self.calls.append((name, *args))

    reference, array = Reference(), drv.matrix_to_array(np.zeros((2, 2), np.float32), "C")
    drv.bind_array_to_texref(array, reference)
    assert reference.calls == [
        ("set_array", array),
        ("set_address_mode", 0, drv.address_mode.CLAMP),
        ("set_address_mode", 1, drv.address_mode.CLAMP),
        ("set_filter_mode", drv.filter_mode.POINT),
    ]
