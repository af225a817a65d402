"""Sparse arrays and mipmapped arrays: tiles of 64 KiB that are mapped to memory and unmapped again, by the
driver's own functions. Tiles that are not mapped read as zeros, and writes to them are discarded. Results are
those of an H100's driver (580.159), except those after UNMAP in test_wrong_changes, which were not
measured."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_ushort, c_void_p

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

SUCCESS, INVALID_VALUE, INVALID_HANDLE, CAPTURE_UNSUPPORTED = 0, 1, 400, 900
TILE, POOL = 64 << 10, 2 << 20  # bytes of a tile; of memory that tiles are mapped to
# Flags of CUDA arrays.
LAYERED, STORES, CUBEMAP, GATHER, DEPTH_TEXTURE, COLOR, SPARSE, DEFERRED = (1 << bit for bit in range(8))
MAP, UNMAP = 1, 2  # CUmemOperationType
FLOAT, BYTE, HALF = 0x20, 0x01, 0x10  # CUarray_format


# The parts of CUarrayMapInfo: a box of tiles of a level, or bytes of the mip tail.
class Level(ctypes.Structure):
    _fields_ = [(name, c_uint) for name in ("level", "layer", "x", "y", "z", "width", "height", "depth")]


class Tail(ctypes.Structure):
    _fields_ = [("layer", c_uint), ("offset", c_ulonglong), ("size", c_ulonglong)]


class Part(ctypes.Union):
    _fields_ = [("level", Level), ("tail", Tail)]


class MapInfo(ctypes.Structure):
    """CUarrayMapInfo."""

    _fields_ = [
        ("kind", c_uint), ("resource", c_void_p), ("part_kind", c_uint), ("part", Part),
        ("operation", c_uint), ("handle_kind", c_uint), ("memory", c_ulonglong), ("offset", c_ulonglong),
        ("devices", c_uint), ("flags", c_uint), ("reserved", c_uint * 2),
    ]  # fmt: skip


class Properties(ctypes.Structure):
    """CUDA_ARRAY_SPARSE_PROPERTIES; first, size: the first level of the mip tail and its bytes."""

    _fields_ = [
        ("tile", c_uint * 3), ("first", c_uint), ("size", c_ulonglong), ("flags", c_uint),
        ("rest", c_uint * 4),
    ]  # fmt: skip


class Shape(ctypes.Structure):
    """CUDA_ARRAY3D_DESCRIPTOR."""

    _fields_ = [
        ("width", c_size_t), ("height", c_size_t), ("depth", c_size_t), ("format", c_uint),
        ("channels", c_uint), ("flags", c_uint),
    ]  # fmt: skip


class MemoryProperties(ctypes.Structure):
    """CUmemAllocationProp; usage 1: for tiles of arrays."""

    _fields_ = [
        ("kind", c_uint), ("handles", c_uint), ("place", c_uint), ("device", c_int), ("windows", c_void_p),
        ("compression", ctypes.c_ubyte * 2), ("usage", c_ushort), ("reserved", ctypes.c_ubyte * 4),
    ]  # fmt: skip


class Sparse:
    """The driver's calls for sparse arrays; ends: functions that release what was made, arrays before
    memory."""

    def __init__(self, cuda):
        self.cuda, self.ends = cuda, []

    def memory(self, usage=1, size=POOL):
        handle = c_ulonglong()
        wanted = MemoryProperties(kind=1, place=1, usage=usage)
        assert self.cuda.cuMemCreate(byref(handle), c_size_t(size), byref(wanted), c_ulonglong(0)) == SUCCESS
        self.ends.append(lambda: self.cuda.cuMemRelease(handle))
        return handle.value

    def array(self, width, height, depth=0, flags=0, format=FLOAT, channels=1):
        array, shape = c_void_p(), Shape(width, height, depth, format, channels, flags | SPARSE)
        assert self.cuda.cuArray3DCreate_v2(byref(array), byref(shape)) == SUCCESS
        self.ends.insert(0, lambda: self.cuda.cuArrayDestroy(array))
        return array

    def mipmap(self, levels, width, height, depth=0, flags=0):
        mipmap, shape = c_void_p(), Shape(width, height, depth, FLOAT, 1, flags | SPARSE)
        assert self.cuda.cuMipmappedArrayCreate(byref(mipmap), byref(shape), levels) == SUCCESS
        self.ends.insert(0, lambda: self.cuda.cuMipmappedArrayDestroy(mipmap))
        return mipmap

    def level(self, mipmap, level):
        array = c_void_p()
        assert self.cuda.cuMipmappedArrayGetLevel(byref(array), mipmap, level) == SUCCESS
        return array

    def properties(self, handle, mipmapped=False):
        found = Properties()
        name = "cuMipmappedArrayGetSparseProperties" if mipmapped else "cuArrayGetSparseProperties"
        assert getattr(self.cuda, name)(byref(found), handle) == SUCCESS
        return found

    def change(self, resource, memory, *, mipmapped=False, tail=None, stream=None, **change):
        """Maps a box of tiles (at: other fields of Level), or a tail (layer, offset, size), to the memory, or
        unmaps it if memory is None; change: other fields of MapInfo. Returns the result of the call."""
        info = MapInfo(kind=mipmapped, resource=resource, operation=MAP if memory else UNMAP, devices=1)
        info.memory, info.part_kind = memory or 0, tail is not None
        if tail is None:
            info.part.level = Level(**{"width": 128, "height": 128, "depth": 1, **change.pop("at", {})})
        else:
            info.part.tail = Tail(*tail)
        for name, value in change.items():
            setattr(info, name, value)
        return self.cuda.cuMemMapArrayAsync(byref(info), 1, stream)

    def copy(self, array, data, back=False):
        """Copies the data (depth, height, width) into the array, or back: from the array."""
        depth, height, width = data.shape
        host, in_array = 1, 3  # CUmemorytype
        # The fields of CUDA_MEMCPY3D, which are all words: those of the source, of the destination, the
        # extent.
        here = [0] * 4 + [host, data.ctypes.data, 0, 0, 0, width * 4, height]
        there = [0] * 4 + [in_array, 0, 0, array.value, 0, 0, 0]
        words = [*(there if back else here), *(here if back else there), width * 4, height, depth]
        assert self.cuda.cuMemcpy3D_v2((c_size_t * 25)(*words)) == SUCCESS

    def read(self, array, *shape):
        """The contents of the array, as floats of that shape."""
        data = np.full(shape, 77, np.float32)
        self.copy(array, data, back=True)
        return data


@pytest.fixture
def sparse(primary_context, driver_library):
    device = drv.Context.get_device()
    if not device.get_attribute(drv.device_attribute.SPARSE_CUDA_ARRAY_SUPPORTED):
        pytest.skip("the device has no sparse arrays")
    made = Sparse(ctypes.CDLL(driver_library))
    yield made
    drv.Context.synchronize()
    assert [end() for end in made.ends] == [SUCCESS] * len(made.ends)


def numbers(*shape):
    """1, 2, 3, ... in that shape."""
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def kept(data, *boxes):
    """The data inside of the boxes, and 0 elsewhere."""
    inside = np.zeros(data.shape, bool)
    for box in boxes:
        inside[box] = True
    return np.where(inside, data, 0)


@pytest.mark.parametrize(
    "format, channels, flat, deep",
    [
        (BYTE, 1, (256, 256, 1), (64, 32, 32)),
        (HALF, 1, (256, 128, 1), (32, 32, 32)),
        (FLOAT, 1, (128, 128, 1), (32, 32, 16)),
        (FLOAT, 2, (128, 64, 1), (32, 16, 16)),
        (FLOAT, 4, (64, 64, 1), (16, 16, 16)),
    ],
)
def test_shapes_of_tiles(sparse, format, channels, flat, deep):
    """In elements, of arrays with 2 dimensions (layered or not) and with 3."""
    for depth, flags, expected in ((0, 0, flat), (3, LAYERED, flat), (64, 0, deep)):
        found = sparse.properties(sparse.array(512, 512, depth, flags, format, channels))
        assert (tuple(found.tile), found.first, found.size, found.flags) == (expected, 0, 0, 0)


FLAT, DEEP = (128, 128, 1), (32, 32, 16)  # tiles of floats


def described(found):
    """(tile, first level of the mip tail, tiles of the tail, flags)"""
    return tuple(found.tile), found.first, found.size // TILE, found.flags


@pytest.mark.parametrize(
    "shape, flags, expected",
    [
        ((64, 300), 0, (FLAT, 0, 2, 1)),
        ((64, 32, 40), 0, (DEEP, 0, 0, 0)),
        ((128, 256, 3), 0, (DEEP, 0, 8, 1)),
        ((512, 512, 6), 0, (DEEP, 0, 128, 1)),
        ((64, 32, 40), LAYERED, (FLAT, 0, 5, 1)),
        ((64, 64, 64), LAYERED, (FLAT, 0, 16, 1)),
        ((512, 512, 6), LAYERED, (FLAT, 0, 0, 0)),
        ((300, 200), GATHER, (FLAT, 0, 0, 0)),
        ((64, 300), GATHER, (FLAT, 0, 2, 1)),
    ],
)
def test_smaller_than_a_tile(sparse, shape, flags, expected):
    """An array that is smaller than a tile in some axis is a mip tail."""
    assert described(sparse.properties(sparse.array(*shape, flags=flags))) == expected


@pytest.mark.parametrize(
    "levels, shape, flags, expected",
    [
        (10, (512, 256), 0, (FLAT, 2, 1, 0)),
        (3, (512, 256), 0, (FLAT, 2, 1, 0)),
        (1, (512, 256), 0, (FLAT, 1, 0, 0)),
        (4, (64, 64), 0, (FLAT, 0, 1, 1)),
        (3, (128, 128, 64), 0, (DEEP, 3, 0, 0)),
        (3, (256, 256, 2), 0, (DEEP, 0, 10, 1)),
        (3, (256, 256, 6), 0, (DEEP, 0, 37, 1)),
        (3, (128, 128, 64), LAYERED, (FLAT, 1, 1, 0)),
        (3, (256, 256, 2), LAYERED, (FLAT, 2, 1, 0)),
        (3, (256, 256, 6), LAYERED, (FLAT, 2, 1, 0)),
    ],
)
def test_mip_tails(sparse, levels, shape, flags, expected):
    found = sparse.properties(sparse.mipmap(levels, *shape, flags=flags), mipmapped=True)
    assert described(found) == expected


@pytest.mark.parametrize(
    "flags, shapes",
    [
        (0, [(64, 0, 0)]),
        (LAYERED, [(512, 512, 0), (64, 0, 0)]),
        (GATHER, [(64, 32, 40), (512, 512, 6), (64, 0, 0)]),
        *[
            (flags, [(512, 512, 0), (64, 64, 64), (512, 512, 6), (64, 0, 0)])
            for flags in (STORES, CUBEMAP, DEPTH_TEXTURE, COLOR, DEFERRED, LAYERED | STORES)
        ],
    ],
)
def test_unsupported_sparse_arrays(sparse, flags, shapes):
    for shape in shapes:
        asked = Shape(*shape, FLOAT, 1, flags | SPARSE)
        assert sparse.cuda.cuArray3DCreate_v2(byref(c_void_p()), byref(asked)) == INVALID_VALUE
        if flags in (LAYERED, STORES, CUBEMAP) and shape[1] > 0:
            assert sparse.cuda.cuMipmappedArrayCreate(byref(c_void_p()), byref(asked), 3) == INVALID_VALUE


def test_only_mapped_tiles_are_written(sparse):
    """One tile is mapped, then another one in the corner, then the first is unmapped."""
    array, memory, data = sparse.array(300, 200), sparse.memory(), numbers(1, 200, 300)
    sparse.copy(array, data)
    assert not sparse.read(array, 1, 200, 300).any()
    assert sparse.change(array, memory, at={"x": 128}) == SUCCESS
    middle, corner = np.s_[:, :128, 128:256], np.s_[:, 128:, 256:]
    found = sparse.read(array, 1, 200, 300)
    found[middle] = 0  # new memory may have anything in it
    assert not found.any()
    sparse.copy(array, data)
    assert (sparse.read(array, 1, 200, 300) == kept(data, middle)).all()
    at = {"x": 256, "y": 128, "width": 44, "height": 72}  # to the array's end
    assert sparse.change(array, memory, at=at, offset=5 * TILE) == SUCCESS
    sparse.copy(array, data)
    assert (sparse.read(array, 1, 200, 300) == kept(data, middle, corner)).all()
    assert sparse.change(array, None, at={"x": 128}) == SUCCESS
    assert (sparse.read(array, 1, 200, 300) == kept(data, corner)).all()


def test_memory_keeps_its_contents_when_it_is_unmapped(sparse):
    """And has them where it is mapped again."""
    array, memory, data = sparse.array(256, 256), sparse.memory(), numbers(1, 256, 256)
    whole = {"width": 256, "height": 256}
    assert sparse.change(array, memory, at=whole) == SUCCESS
    sparse.copy(array, data)
    assert sparse.change(array, None, at=whole) == SUCCESS
    assert not sparse.read(array, 1, 256, 256).any()
    assert sparse.change(array, memory, at={"y": 128}, offset=TILE) == SUCCESS
    wanted = np.zeros_like(data)
    wanted[:, 128:, :128] = data[:, :128, 128:]  # the second tile of the first row
    assert (sparse.read(array, 1, 256, 256) == wanted).all()


def test_layers_and_depth(sparse):
    """Tiles are mapped in one layer, and in a part of a 3D array; only these keep data."""
    memory = sparse.memory()
    layers, data = sparse.array(128, 256, 3, LAYERED), numbers(3, 256, 128)
    assert sparse.change(layers, memory, at={"layer": 2, "height": 256}) == SUCCESS
    sparse.copy(layers, data)
    assert (sparse.read(layers, 3, 256, 128) == kept(data, np.s_[2])).all()
    deep, data = sparse.array(64, 32, 40), numbers(40, 32, 64)
    at = {"x": 32, "z": 16, "width": 32, "height": 32, "depth": 24}
    assert sparse.change(deep, memory, at=at, offset=4 * TILE) == SUCCESS
    sparse.copy(deep, data)
    assert (sparse.read(deep, 40, 32, 64) == kept(data, np.s_[16:, :, 32:])).all()


SURFACE = """
extern "C" __global__ void fill(cudaSurfaceObject_t s, float *read)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    surf2Dwrite(float(1 + x + 256 * y), s, 4 * x, y);
    read[256 * y + x] = surf2Dread<float>(s, 4 * x, y);
}
"""


@pytest.mark.cpu("a sparse array cannot have SURFACE_LDST, and an H100 reads other numbers without")
def test_a_kernel_writes_and_reads_through_a_surface(sparse):
    array, memory, data = sparse.array(256, 256), sparse.memory(), numbers(1, 256, 256)
    assert sparse.change(array, memory, at={"x": 128, "height": 256}) == SUCCESS
    resource, surface = (c_ulonglong * 18)(0, array.value), c_ulonglong()
    assert sparse.cuda.cuSurfObjectCreate(byref(surface), resource) == SUCCESS
    read = np.zeros((256, 256), np.float32)
    fill = SourceModule(SURFACE, no_extern_c=True).get_function("fill")
    fill(np.uint64(surface.value), drv.Out(read), block=(128, 1, 1), grid=(2, 256))
    wanted = kept(data, np.s_[:, :, 128:])
    assert (read == wanted[0]).all()
    assert (sparse.read(array, 1, 256, 256) == wanted).all()
    assert sparse.cuda.cuSurfObjectDestroy(surface) == SUCCESS


def test_levels_and_the_mip_tail(sparse):
    """Half of level 1 is mapped, then the tail, which has the levels from 2 on."""
    mipmap, memory = sparse.mipmap(10, 512, 256), sparse.memory()
    found = sparse.properties(mipmap, mipmapped=True)
    assert (tuple(found.tile), found.first, found.flags) == ((128, 128, 1), 2, 0)
    assert found.size and found.size % TILE == 0
    sizes = [(256 >> k, 512 >> k) for k in range(4)]
    at = {"level": 1, "x": 128}
    assert sparse.change(mipmap, memory, mipmapped=True, at=at) == SUCCESS
    for k, size in enumerate(sizes):
        sparse.copy(sparse.level(mipmap, k), numbers(1, *size))
    for k, size in enumerate(sizes):
        wanted = kept(numbers(1, *size), *[np.s_[:, :, 128:]] * (k == 1))
        assert (sparse.read(sparse.level(mipmap, k), 1, *size) == wanted).all(), k
    tail = 0, 0, found.size
    assert sparse.change(mipmap, memory, mipmapped=True, tail=tail, offset=TILE) == SUCCESS
    for k in 2, 3:
        sparse.copy(sparse.level(mipmap, k), numbers(1, *sizes[k]))
        assert (sparse.read(sparse.level(mipmap, k), 1, *sizes[k]) == numbers(1, *sizes[k])).all()
    assert sparse.change(mipmap, None, mipmapped=True, tail=tail) == SUCCESS
    assert not sparse.read(sparse.level(mipmap, 3), 1, *sizes[3]).any()


def test_an_array_smaller_than_a_tile_is_a_tail(sparse):
    array, memory, data = sparse.array(64, 300), sparse.memory(), numbers(1, 300, 64)
    assert sparse.change(array, memory, tail=(0, 0, 2 * TILE)) == SUCCESS
    sparse.copy(array, data)
    assert (sparse.read(array, 1, 300, 64) == data).all()


def test_each_layer_has_a_mip_tail(sparse):
    mipmap, memory = sparse.mipmap(3, 128, 128, 2, LAYERED), sparse.memory()
    assert sparse.change(mipmap, memory, mipmapped=True, tail=(2, 0, TILE)) == INVALID_VALUE
    assert sparse.change(mipmap, memory, mipmapped=True, tail=(1, 0, TILE)) == SUCCESS
    for k in 1, 2:
        level, data = sparse.level(mipmap, k), numbers(2, 128 >> k, 128 >> k)
        sparse.copy(level, data)
        assert (sparse.read(level, *data.shape) == kept(data, np.s_[1])).all()
    assert sparse.change(mipmap, None, mipmapped=True, tail=(1, 0, TILE)) == SUCCESS
    assert sparse.change(mipmap, memory, mipmapped=True, tail=(0, 0, TILE)) == SUCCESS
    for k in 1, 2:
        level, data = sparse.level(mipmap, k), numbers(2, 128 >> k, 128 >> k)
        assert (sparse.read(level, *data.shape) == kept(data[::-1], np.s_[0])).all()


def test_changes_in_a_stream(sparse):
    """They cannot be captured."""
    array, memory, stream = sparse.array(128, 128), sparse.memory(), drv.Stream()
    handle = c_void_p(stream.handle)
    assert sparse.change(array, memory, stream=handle) == SUCCESS
    stream.synchronize()
    sparse.copy(array, numbers(1, 128, 128))
    assert sparse.change(array, None, stream=handle) == SUCCESS
    stream.synchronize()
    assert not sparse.read(array, 1, 128, 128).any()
    assert sparse.cuda.cuStreamBeginCapture_v2(handle, 2) == SUCCESS
    assert sparse.change(array, memory, stream=handle) == CAPTURE_UNSUPPORTED
    sparse.cuda.cuStreamEndCapture(handle, byref(c_void_p()))


def test_wrong_changes(sparse):
    array, memory, plain = sparse.array(300, 200), sparse.memory(), sparse.memory(usage=0)
    mipmap = sparse.mipmap(3, 512, 256)
    for change in (
        {"at": {"x": 1}}, {"at": {"x": 384}}, {"at": {"width": 100}}, {"at": {"width": 512}},
        {"at": {"width": 0}}, {"at": {"z": 1}}, {"at": {"depth": 2}}, {"at": {"layer": 1}},
        {"at": {"level": 1}}, {"operation": 0}, {"operation": 3}, {"handle_kind": 1},
        {"offset": 1}, {"offset": POOL}, {"devices": 0}, {"devices": 3}, {"flags": 1}, {"part_kind": 2},
        {"reserved": (0, 1)}, {"kind": 2}, {"tail": (0, 0, TILE)},
    ):  # fmt: skip
        assert sparse.change(array, memory, **change) == INVALID_VALUE, change
    assert sparse.change(array, memory, operation=UNMAP) == SUCCESS
    assert sparse.change(array, plain) == INVALID_VALUE
    level = sparse.level(mipmap, 0)
    assert sparse.change(level, memory) == INVALID_VALUE
    assert sparse.change(None, memory) in (INVALID_HANDLE, INVALID_VALUE)  # depends on the driver's version
    assert sparse.cuda.cuMemMapArrayAsync(None, 1, None) == INVALID_VALUE
    found = Properties()
    assert sparse.cuda.cuArrayGetSparseProperties(byref(found), level) == INVALID_VALUE
    address = c_ulonglong()
    reserve = sparse.cuda.cuMemAddressReserve
    assert reserve(byref(address), c_size_t(POOL), c_size_t(0), c_ulonglong(0), c_ulonglong(0)) == SUCCESS
    mapped = sparse.cuda.cuMemMap(address, c_size_t(POOL), c_size_t(0), c_ulonglong(memory), c_ulonglong(0))
    assert mapped == INVALID_VALUE
    assert sparse.cuda.cuMemAddressFree(address, c_size_t(POOL)) == SUCCESS
