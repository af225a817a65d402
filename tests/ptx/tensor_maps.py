"""Tensor maps for tests: the driver's functions by ctypes, a kernel around a copy, and the expected results
of copies, by NumPy."""

import ctypes
import functools

import devices
import numpy as np

import pycuda.driver as drv

# CUtensorMapDataType, by names of NumPy's dtypes if they exist.
TYPES = {
    "u1": 0, "u2": 1, "u4": 2, "i4": 3, "u8": 4, "i8": 5, "f2": 6, "f4": 7, "f8": 8, "bf16": 9,
    "f4 ftz": 10, "tf32": 11, "tf32 ftz": 12, "16u4 align8": 13,
}  # fmt: skip
# Dtypes of the arrays for the other types.
DTYPES = {"bf16": "u2", "f4 ftz": "f4", "tf32": "f4", "tf32 ftz": "f4", "16u4 align8": "u1"}


def library():
    """The driver that pycuda uses."""
    return ctypes.CDLL(devices.driver_library())


class Refused(Exception):
    """The driver's error code."""


def checked(code):
    """Raises Refused if a CUresult is an error."""
    if code:
        raise Refused(code)


def room(at=0):
    """The 128 bytes of a map, `at` bytes after a multiple of 64, which the driver requires."""
    bytes_ = np.zeros(128 + 128, np.uint8)
    return bytes_[-bytes_.ctypes.data % 64 + at :][:128]


def words(values, kind):
    """One number for each dimension as an array for the driver, where the outermost dimension is last; here
    it is first."""
    return np.array([*values][::-1] or [0], kind)


def encoded(name, address, kind, shape, box, *, steps=None, strides=None, swizzle=0, fill=0, interleave=0,
            promotion=0, rank=None, mode=(), at=0):  # fmt: skip
    """The map from the driver's function `name` for an array at this address, of a kind in TYPES and this
    shape, the outermost dimension first as in NumPy.

    box, mode: the arguments in which the functions differ; steps: between the elements that are copied, in
    each dimension; strides: bytes, for all dimensions except the innermost; swizzle, fill, interleave,
    promotion: the driver's numbers; rank: if not that of the shape; at: where the map begins (room())."""
    size = np.dtype(DTYPES.get(kind, kind)).itemsize
    if strides is None:
        strides = [size * int(np.prod(shape[d:])) for d in range(1, len(shape))]
    made = room(at)
    held = words(shape, "u8"), words(strides, "u8"), words(steps or [1] * len(shape), "u4")
    dims, strides, steps = (ctypes.c_void_p(array.ctypes.data) for array in held)
    checked(
        getattr(library(), name)(
            ctypes.c_void_p(made.ctypes.data),
            TYPES[kind],
            rank or len(shape),
            ctypes.c_void_p(int(address)),
            dims,
            strides,
            *box,
            steps,
            interleave,
            *mode,
            swizzle,
            promotion,
            fill,
        )  # fmt: skip
    )
    return made


def encode(address, kind, shape, box, **options):
    """A tensor map of an array, for boxes of this shape; options: of encoded(), here and below."""
    held = words(box, "u4")
    return encoded(
        "cuTensorMapEncodeTiled", address, kind, shape, [ctypes.c_void_p(held.ctypes.data)], **options
    )


def encode_images(address, kind, shape, lower, upper, channels, pixels, **options):
    """A tensor map of a batch of images; the corners of the box also begin with the outermost dimension."""
    held = words(lower, "i4"), words(upper, "i4")
    box = [*(ctypes.c_void_p(array.ctypes.data) for array in held), channels, pixels]
    return encoded("cuTensorMapEncodeIm2col", address, kind, shape, box, **options)


def encode_wide(address, kind, shape, lower, upper, channels, pixels, mode=0, **options):
    """A tensor map of rows of images: 128 pixels with mode 1."""
    box = [lower, upper, channels, pixels]
    return encoded("cuTensorMapEncodeIm2colWide", address, kind, shape, box, mode=[mode], **options)


def places(shape, corner, box, steps):
    """The index of each element of a box in each dimension, and whether it is within the array."""
    along = [first + np.arange(0, n, step) for first, n, step in zip(corner, box, steps, strict=True)]
    within = [(i >= 0) & (i < size) for i, size in zip(along, shape, strict=True)]
    return along, within


def box_of(array, corner, box, steps=None, fill=0):
    """The expected result of a load of the box at this corner: `fill` outside the array."""
    along, within = places(array.shape, corner, box, steps or [1] * array.ndim)
    clipped = [i.clip(0, size - 1) for i, size in zip(along, array.shape, strict=True)]
    inside = functools.reduce(np.logical_and.outer, within)
    return np.where(inside, array[np.ix_(*clipped)], array.dtype.type(fill))


def with_box(array, values, corner, box, steps=None, combine=lambda old, new: new):
    """The expected array after a store of values to the box at this corner; values outside it are ignored.
    combine: the result for an old and a new value."""
    along, within = places(array.shape, corner, box, steps or [1] * array.ndim)
    in_bounds = np.ix_(*(i[ok] for i, ok in zip(along, within, strict=True)))
    out = array.copy()
    out[in_bounds] = combine(out[in_bounds], values[np.ix_(*within)])
    return out


def swizzled(tile, mode):
    """The bytes of a tile in shared memory: in 8 lines of 128 bytes, chunks of 16 bytes are permuted within
    32, 64 or 128 bytes (modes 1 to 3)."""
    data = np.frombuffer(tile.tobytes(), np.uint8)
    padded = np.zeros(-(-len(data) // 1024) * 1024, np.uint8)
    padded[: len(data)] = data
    lines = padded.reshape(-1, 8, 8, 16)
    out = np.zeros_like(lines)
    for line in range(8):
        for chunk in range(8):
            out[:, line, chunk ^ (line & (1 << mode) - 1)] = lines[:, line, chunk]
    return out.ravel()


ROOM = 16384  # bytes of shared memory
# Fills shared memory (room) from global memory, runs {text}, copies shared memory back. For {text}: m is the
# map's address, c0 ... c4 the coordinates of the corner, innermost first, size the bytes that a load copies,
# near the room's address, bar a barrier for one thread, ranks a mask with this block, w a cache policy;
# `first` is true in the first thread.
KERNEL = """.version 8.6
.target {target}
.address_size 64
.visible .entry k(.param .align 64 .b8 tensor[128], .param .u64 memory, .param .u32 bytes,
  .param .u32 p0, .param .u32 p1, .param .u32 p2, .param .u32 p3, .param .u32 p4)
{{
.reg .b64 m, at, o, w; .reg .b32 t, u, x, y, near, size, c0, c1, c2, c3, c4; .reg .b16 ranks;
.reg .pred p, first;
.shared .align 1024 .b8 room[{room}]; .shared .align 8 .b64 bar;
mov.b64 m, tensor; cvta.param.u64 m, m;
ld.param.u64 at, [memory]; ld.param.u32 size, [bytes];
ld.param.u32 c0, [p0]; ld.param.u32 c1, [p1]; ld.param.u32 c2, [p2];
ld.param.u32 c3, [p3]; ld.param.u32 c4, [p4];
mov.u32 t, %tid.x; setp.eq.u32 first, t, 0; mov.u32 near, room; mov.b16 ranks, 1;
createpolicy.fractional.L2::evict_first.b64 w;
@first mbarrier.init.shared.b64 [bar], 1;
mul.wide.u32 o, t, 4; add.u64 at, at, o; mad.lo.u32 x, t, 4, near; mov.u32 u, t;
put: ld.global.b32 y, [at]; st.shared.b32 [x], y; add.u64 at, at, 512; add.u32 x, x, 512;
add.u32 u, u, 128; setp.lt.u32 p, u, {words}; @p bra put;
fence.proxy.async.shared::cta;
bar.sync 0;
{text}
bar.sync 0;
ld.param.u64 at, [memory]; add.u64 at, at, o; mad.lo.u32 x, t, 4, near; mov.u32 u, t;
take: ld.shared.b32 y, [x]; st.global.b32 [at], y; add.u64 at, at, 512; add.u32 x, x, 512;
add.u32 u, u, 128; setp.lt.u32 p, u, {words}; @p bra take;
ret;
}}
"""
LOAD = """@first mbarrier.arrive.expect_tx.shared.b64 _, [bar], size;
@first cp.async.bulk.tensor.{rank}d.{space}.global{mode}.mbarrier::complete_tx::bytes{words}
 [room], [m, {at}], [bar]{more};
again: mbarrier.try_wait.parity.shared.b64 p, [bar], 0; @!p bra again;"""
STORE = """@!first bra over; {name}.{rank}d.global.shared::cta{words} [m, {at}], [near]{more};
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; over:"""


def load_text(rank, space="shared::cluster", mode=".tile", words="", more=""):
    """{text} for a load and the wait for it; words: modifiers at the end of the mnemonic, more: operands
    after the barrier."""
    at = "{" + ", ".join(f"c{d}" for d in range(rank)) + "}"
    return LOAD.format(rank=rank, space=space, mode=mode, words=words, at=at, more=more)


def store_text(rank, name="cp.async.bulk.tensor", words=".tile.bulk_group", more=""):
    """{text} for a store or a reduction and the wait for it."""
    at = "{" + ", ".join(f"c{d}" for d in range(rank)) + "}"
    return STORE.format(rank=rank, name=name, words=words, at=at, more=more)


def run(text, tensor, shared, corner, size=0, target="sm_90"):
    """The bytes of shared memory after the kernel with this text and map. Before it they are `shared`,
    followed by 0xA5. corner: the outermost dimension first; size: bytes of a load."""
    memory = np.full(ROOM, 0xA5, np.uint8)
    memory[: len(shared)] = shared
    place = drv.to_device(memory)
    source = KERNEL.format(target=target, text=text, room=ROOM, words=ROOM // 4)
    corner = [*corner[::-1], 0, 0, 0, 0][:5]
    function = drv.module_from_buffer(source.encode()).get_function("k")
    function(tensor, place, np.uint32(size), *map(np.int32, corner), block=(128, 1, 1))
    return drv.from_device(place, ROOM, np.uint8)


def numbers(shape, kind):
    """Random numbers of a dtype, the same at each call."""
    random = np.random.default_rng(1)
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        return random.normal(size=shape).astype(dtype)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
