"""cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: boxes of tensors, against slices in NumPy."""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tensor_maps import ROOM, box_of, encode, load_text, numbers, run, store_text, swizzled, with_box

import pycuda.driver as drv


def check_load(kind, shape, box, corner, *, steps=None, swizzle=0, text=None):
    """A load writes the box, swizzled, and nothing else; text: another load."""
    array = numbers(shape, kind)
    memory = drv.to_device(array)
    tile = box_of(array, corner, box, steps)
    tensor = encode(memory, kind, shape, box, steps=steps, swizzle=swizzle)
    found = run(text or load_text(len(shape)), tensor, [], corner, tile.nbytes)
    wanted = swizzled(tile, swizzle)
    sent = swizzled(np.ones(tile.nbytes, bool), swizzle).astype(bool)
    assert (found[: len(wanted)][sent] == wanted[sent]).all(), (kind, shape, box, corner, steps, swizzle)
    untouched = np.concatenate([~sent, np.ones(ROOM - len(sent), bool)])
    assert (found[untouched] == 0xA5).all(), (kind, shape, box, corner, steps, swizzle)


# The shapes of an array of 4-byte elements and of a box; corners of the box, which in the innermost dimension
# are at multiples of 16 bytes.
BOXES = [
    ((64,), (16,), [(0,), (4,), (60,), (-4,), (64,), (-16,)]),
    ((62,), (16,), [(44,), (48,), (60,)]),
    ((256,), (256,), [(0,), (4,)]),
    ((8, 16), (4, 8), [(0, 0), (2, 4), (6, 12), (8, 0), (5, 100), (-1, -4), (0, -8), (-5, 4), (8, -4)]),
    ((5, 6, 12), (2, 3, 8), [(0, 0, 0), (1, 2, 4), (4, 5, 8), (5, 0, 0), (-1, 2, -4), (0, -3, 0)]),
    ((3, 4, 5, 8), (2, 2, 2, 4), [(0, 0, 0, 0), (2, 3, 4, 4), (1, 2, 3, 4), (-1, -1, -1, -4)]),
    ((2, 3, 4, 5, 8), (2, 2, 2, 2, 8), [(0, 0, 0, 0, 0), (1, 2, 3, 4, 4), (-1, 1, -1, 2, -4)]),
]


def check_boxes():
    for shape, box, corners in BOXES:
        for corner in corners:
            check_load("f4", shape, box, corner)


def check_types():
    for kind in ("u1", "u2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"):
        unit = 16 // np.dtype(kind).itemsize
        for corner in ((1, unit), (-2, -unit), (5, 32 - unit)):
            check_load(kind, (7, 32), (4, 2 * unit), corner)


def check_steps():
    """Loads with steps between the elements of a box."""
    for steps in ((1, 2), (3, 1), (2, 5), (8, 1)):
        for corner in ((0, 0), (1, 8), (-3, -8), (9, 24)):
            check_load("u2", (16, 32), (8, 16), corner, steps=(steps[0], 1))
            check_load("u4", (5, 16, 32), (3, 8, 4), (1, *corner), steps=(*steps, 1))
    # The step of the innermost dimension is ignored.
    array = numbers((8, 32), "u2")
    memory = drv.to_device(array)
    tensor = encode(memory, "u2", (8, 32), (4, 8), steps=(1, 2))
    found = run(load_text(2), tensor, [], (2, 8), 64)
    assert (found[:64].view("u2").reshape(4, 8) == array[2:6, 8:16]).all()


def check_swizzles():
    for mode in (1, 2, 3):
        inner = 16 << mode
        for corner in ((0, 0), (3, 16), (-2, -16), (20, 96)):
            check_load("u1", (32, 256), (24, inner), corner, swizzle=mode)
            check_load("f2", (32, 128), (8, inner // 2), corner, swizzle=mode)
            check_load("f4", (3, 32, 64), (2, 11, inner // 4), (1, *corner), swizzle=mode)


def check_swizzle_goes_by_addresses():
    """The swizzle pattern of 1024 bytes depends on addresses, not on where the box starts."""
    array = numbers((32, 128), "u1")
    memory = drv.to_device(array)
    for mode, start in product((1, 2, 3), (128, 384, 896)):
        inner = 16 << mode
        tensor = encode(memory, "u1", (32, 128), (8, inner), swizzle=mode)
        text = load_text(2).replace("[room]", f"[room+{start}]")
        found = run(text, tensor, [], (4, 0), 8 * inner)
        before = np.concatenate([np.full(start, 0xA5, np.uint8), array[4:12, :inner].ravel()])
        wanted = swizzled(before, mode)
        assert (found[start : start + 8 * inner] == wanted[start : start + 8 * inner]).all(), (mode, start)


def check_strides():
    """Rows with gaps between them, and rows that belong to several planes."""
    array = numbers((8, 32), "u4")
    memory = drv.to_device(array)
    tensor = encode(memory, "u4", (8, 19), (4, 8), strides=[128])
    found = run(load_text(2), tensor, [], (5, 16), 128)[:128].view("u4").reshape(4, 8)
    assert (found == box_of(array[:, :19], (5, 16), (4, 8))).all()
    tensor = encode(int(memory) + 16, "u4", (4, 4, 8), (2, 4, 8), strides=[128, 128])
    found = run(load_text(3), tensor, [], (1, 0, 0), 256)[:256].view("u4").reshape(2, 4, 8)
    assert (found == array[[[1, 2, 3, 4], [2, 3, 4, 5]], 4:12]).all()


def check_nan():
    """With fill 1, floats outside the array are a NaN with certain bits."""
    for kind in ("f2", "f4", "f8"):
        array = numbers((8, 32), kind)
        memory, unit = drv.to_device(array), 16 // array.itemsize
        for corner in ((-2, -unit), (6, 32 - unit), (8, 0)):
            tensor = encode(memory, kind, (8, 32), (4, 16), fill=1)
            wanted = box_of(array, corner, (4, 16), fill=np.nan)
            found = run(load_text(2), tensor, [], corner, wanted.nbytes)[: wanted.nbytes].view(kind)
            assert np.array_equal(found, wanted.ravel(), equal_nan=True), (kind, corner)
            bits = found[np.isnan(found)].view(f"u{array.itemsize}")
            assert (bits == int.from_bytes(b"\xf7\x7f" * (array.itemsize // 2), "little")).all()
    array = np.full(16, 0x3F80, "u2")
    memory = drv.to_device(array)
    tensor = encode(memory, "bf16", (16,), (16,), fill=1)
    found = run(load_text(1), tensor, [], (-8,), 32)[:32].view("u2")
    assert found.tolist() == [0x7FF7] * 8 + [0x3F80] * 8


def check_spellings():
    """Every way to write a load or prefetch."""
    shape, box, corner = (8, 16), (4, 8), (3, 4)
    for space, mode, policy in product(("shared::cluster", "shared::cta"), (".tile", ""), (False, True)):
        words = ".L2::cache_hint" if policy else ""
        more = ", w" if policy else ""
        check_load("f4", shape, box, corner, text=load_text(2, space, mode, words, more))
    check_load("f4", shape, box, corner,
               text=load_text(2, words=".multicast::cluster", more=", ranks"))  # fmt: skip
    check_load("f4", shape, box, corner,
               text=load_text(2, words=".multicast::cluster.L2::cache_hint", more=", ranks, w"))  # fmt: skip
    check_load("f4", shape, box, corner, text=load_text(2).replace("{c0, c1}", "{4, 3}"))
    prefetch = "cp.async.bulk.prefetch.tensor.2d.L2.global{} [m, {{c0, c1}}]{}; "
    for words, more in (("", ""), (".tile", ""), (".tile.L2::cache_hint", ", w")):
        text = "prefetch.tensormap [m]; " + prefetch.format(words, more) + load_text(2)
        check_load("f4", shape, box, corner, text=text)


def check_store(kind, shape, box, corner, *, steps=None, swizzle=0, text=None, combine=None, limit=None):
    """A store writes the box to the array and nothing else; text, combine: another store, and its result for
    old and new values; limit: all numbers are below it."""
    array, tile = numbers(shape, kind), numbers(box, kind)
    tile = np.ascontiguousarray(box_of(tile, (0,) * len(box), box, steps))[..., ::-1].copy()
    if limit:
        array, tile = array % limit, tile % limit
    memory = drv.to_device(array)
    tensor = encode(memory, kind, shape, box, steps=steps, swizzle=swizzle)
    run(text or store_text(len(shape)), tensor, swizzled(tile, swizzle), corner)
    wanted = with_box(array, tile, corner, box, steps, combine or (lambda old, new: new))
    found = drv.from_device(memory, shape, array.dtype)
    assert np.array_equal(found, wanted), (kind, shape, box, corner, steps, swizzle, text)


def check_stores():
    """Stores of boxes, types, swizzles and steps."""
    for shape, box, corners in BOXES:
        for corner in corners:
            if min(corner) >= 0:
                check_store("f4", shape, box, corner)
    for kind in ("u1", "u2", "i8", "f2", "f8"):
        unit = 16 // np.dtype(kind).itemsize
        check_store(kind, (7, 32), (4, 2 * unit), (5, 32 - unit))
    for mode in (1, 2, 3):
        check_store("f2", (32, 128), (24, 8 << mode), (12, 96), swizzle=mode)
    check_store("u4", (5, 16, 32), (3, 8, 4), (1, 2, 28), steps=(2, 3, 1))
    for words, more in ((".bulk_group", ""), (".tile.bulk_group.L2::cache_hint", ", w")):
        check_store("f4", (8, 16), (4, 8), (6, 12), text=store_text(2, words=words, more=more))


ORDERED = ("u4", "i4", "u8", "i8")
NOT_SIGNED_64 = ("u4", "i4", "u8")
REDUCTIONS = {
    "add": (np.add, (*NOT_SIGNED_64, "f2", "f4", "f8")),
    "min": (np.minimum, (*ORDERED, "f2")),
    "max": (np.maximum, (*ORDERED, "f2")),
    "inc": (lambda old, new: np.where(old >= new, 0, old + 1), ("u4",)),
    "dec": (lambda old, new: np.where((old == 0) | (old > new), new, old - 1), ("u4",)),
    "and": (np.bitwise_and, NOT_SIGNED_64),
    "or": (np.bitwise_or, NOT_SIGNED_64),
    "xor": (np.bitwise_xor, NOT_SIGNED_64),
}


def check_reductions():
    for name, (combine, kinds) in REDUCTIONS.items():
        for kind, corner in product(kinds, ((0, 0), (6, 8))):
            words = f".{name}.tile.bulk_group"
            check_store(
                kind, (8, 16), (4, 8), corner, combine=combine, limit=10 if name in ("inc", "dec") else None,
                text=store_text(2, "cp.reduce.async.bulk.tensor", words),
            )  # fmt: skip


CLUSTER = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 tensor[128], .param .u64 memory) .reqntid 32 .reqnctapercluster 2
{
.reg .b64 m, at, o; .reg .b32 t, x, y, rank; .reg .pred p, first, leads;
.shared .align 128 .b8 room[128]; .shared .align 8 .b64 bar;
mov.b64 m, tensor; cvta.param.u64 m, m; ld.param.u64 at, [memory];
mov.u32 t, %tid.x; setp.eq.u32 first, t, 0; mov.u32 rank, %cluster_ctarank;
setp.eq.and.u32 leads, rank, 1, first;
@first mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
@first mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
@leads cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
 [room], [m, {4, 1}], [bar], 3;
again: mbarrier.try_wait.parity.shared.b64 p, [bar], 0; @!p bra again;
mov.u32 y, room; mad.lo.u32 y, t, 4, y; ld.shared.b32 x, [y];
mad.lo.u32 y, rank, 32, t; mul.wide.u32 o, y, 4; add.u64 at, at, o; st.global.b32 [at], x;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ret;
}
"""


def check_multicast():
    """A copy writes to the same place in each block of a cluster, and the barrier of each counts the
    bytes."""
    array = numbers((8, 16), "u4")
    memory = drv.to_device(array)
    tensor, out = encode(memory, "u4", (8, 16), (4, 8)), np.zeros((2, 4, 8), "u4")
    function = drv.module_from_buffer(CLUSTER.encode()).get_function("k")
    function(tensor, drv.InOut(out), grid=(2, 1), block=(32, 1, 1))
    assert (out == box_of(array, (1, 4), (4, 8))).all()


CASES = [
    check_boxes, check_types, check_steps, check_swizzles, check_swizzle_goes_by_addresses, check_strides,
    check_nan, check_spellings, check_stores, check_reductions, check_multicast,
]  # fmt: skip


@pytest.mark.parametrize("check", CASES)
def test_copies(at_capability, check):
    at_capability((9, 0), check)


# Cases in which an H100 reports an illegal instruction.
ILLEGAL = {
    "load at 4 bytes": ("f4", (0, 1), load_text(2)),
    "load at -8 bytes": ("f4", (0, -2), load_text(2)),
    "store at 8 bytes": ("f8", (0, 1), store_text(2)),
    "store before the first row": ("f4", (-1, 0), store_text(2)),
    "store before the first column": ("f4", (8, -4), store_text(2)),
    "reduction before the first row": (
        "u4", (-1, 0), store_text(2, "cp.reduce.async.bulk.tensor", ".add.tile.bulk_group"),
    ),
    "sum of signed 64-bit integers": (
        "i8", (0, 0), store_text(2, "cp.reduce.async.bulk.tensor", ".add.tile.bulk_group"),
    ),
    "bits of signed 64-bit integers": (
        "i8", (0, 0), store_text(2, "cp.reduce.async.bulk.tensor", ".xor.tile.bulk_group"),
    ),
}  # fmt: skip


def check_illegal(name):
    kind, corner, text = ILLEGAL[name]
    memory = drv.to_device(numbers((8, 16), kind))
    with pytest.raises(drv.Error, match="an illegal instruction was encountered"):
        run(text, encode(memory, kind, (8, 16), (4, 8)), [], corner, 32 * np.dtype(kind).itemsize)


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal(at_capability, name):
    at_capability((9, 0), check_illegal, name)
