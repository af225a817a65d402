"""Copies of tensors in im2col modes: consecutive pixels in the box of a map, image after image, against a
walk in NumPy by the PTX manual. The maps that are refused are those that an H100's driver (580.159) refuses.
The im2col::w modes have been run only on the CPU device."""

import sys
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tensor_maps import (
    Refused,
    encode,
    encode_images,
    encode_wide,
    load_text,
    numbers,
    run,
    store_text,
    swizzled,
)  # fmt: skip

import pycuda.driver as drv

INVALID, UNSUPPORTED = 1, 801  # CUresult


def braces(values):
    """The offsets of a copy, as its last operand."""
    return ", {" + ", ".join(map(str, values)) + "}"


def walk(start, first, last, steps, still=0):
    """Yields places (image, [D, [H,]] W) from a start on, within the box from `first` to `last`, image by
    image; the `still` outermost dimensions of an image do not change."""
    at = [*start]
    while True:
        yield tuple(at)
        for d in range(len(at) - 1, still, -1):
            at[d] += steps[d - 1]
            if at[d] <= last[d - 1]:
                break
            at[d] = first[d - 1]
        else:
            at[0] += 1


def row_of(array, place, offsets, channel, channels, fill=0):
    """`channels` channels of a pixel, from number `channel` on; `fill` outside the array."""
    row = np.full(channels, fill, array.dtype)
    place = place[0], *(i + offset for i, offset in zip(place[1:], offsets, strict=True))
    if all(0 <= i < size for i, size in zip(place, array.shape, strict=False)):
        first = max(channel, 0)
        found = array[place][first : max(channel + channels, 0)]
        row[first - channel : first - channel + len(found)] = found
    return row


def pixels_of(array, corner, lower, upper, steps, offsets, pixels, channels, fill=0):
    """The expected result of a copy: so many pixels, from the corner (image, places, channel) on. The box
    within an image reaches from `lower` to the last place plus `upper` (PTX manual, "im2col mode")."""
    last = [size - 1 + beyond for size, beyond in zip(array.shape[1:-1], upper, strict=True)]
    places = islice(walk(corner[:-1], lower, last, steps), pixels)
    return np.array([row_of(array, place, offsets, corner[-1], channels, fill) for place in places])


def check_load(
    kind, shape, corner, lower, upper, pixels, channels, offsets, *, steps=None, swizzle=0, fill=0
):
    """A load writes the pixels, swizzled, and nothing else."""
    array, space = numbers(shape, kind), len(shape) - 2
    memory, steps = drv.to_device(array), steps or [1] * space
    tensor = encode_images(memory, kind, shape, lower, upper, channels, pixels, steps=[1, *steps, 1],
                           swizzle=swizzle, fill=fill)  # fmt: skip
    wanted = pixels_of(array, corner, lower, upper, steps, offsets, pixels, channels, np.nan if fill else 0)
    text = load_text(len(shape), mode=".im2col", more=braces(offsets[::-1]))
    found = run(text, tensor, [], corner, wanted.nbytes)
    if fill:
        found = found[: wanted.nbytes].view(kind).reshape(wanted.shape)
        assert np.array_equal(found, wanted, equal_nan=True), (shape, corner)
    else:
        places = swizzled(np.ones(wanted.nbytes, bool), swizzle).astype(bool)
        size = len(places)
        assert (found[:size][places] == swizzled(wanted, swizzle)[places]).all(), (
            kind,
            shape,
            corner,
            offsets,
        )
        assert (found[:size][~places] == 0xA5).all() and (found[size:] == 0xA5).all()


# The shape of an array (images, [D, [H,]] W, channels); corner, lower, upper, pixels, offsets of pixels_of().
COPIES = [
    ((3, 9, 8), (0, 0, 0), (0,), (0,), 9, (0,)),
    ((3, 9, 8), (1, 4, 4), (-1,), (-1,), 20, (2,)),
    ((3, 9, 8), (0, -300, 0), (-300,), (400,), 40, (700,)),
    ((2, 5, 6, 8), (0, -1, -1, 0), (-1, -1), (-1, -1), 60, (0, 0)),
    ((2, 5, 6, 8), (0, 2, 3, 4), (-1, -1), (-1, -1), 60, (1, 2)),
    ((2, 5, 6, 8), (1, 2, 3, 0), (0, 0), (-2, -2), 16, (2, 2)),
    ((2, 5, 6, 8), (5, 0, 0, 0), (0, 0), (0, 0), 8, (0, 0)),
    ((2, 5, 6, 8), (0, 0, 0, -4), (0, 0), (0, 0), 8, (0, 0)),
    ((2, 5, 6, 8), (0, 0, -128, 0), (0, -128), (0, 127), 8, (255, 255)),
    ((2, 3, 4, 5, 4), (0, 0, 0, 0, 0), (-1, -1, -1), (-1, -1, -1), 130, (1, 1, 1)),
    ((2, 3, 4, 5, 4), (0, 2, 1, 3, 0), (-16, 0, -2), (15, -1, 1), 90, (31, 0, 2)),
]


def check_pixels():
    for shape, corner, lower, upper, pixels, offsets in COPIES:
        check_load("f4", shape, corner, lower, upper, pixels, 4, offsets)


def check_steps():
    for steps in ((2, 1), (1, 2), (3, 2), (8, 8)):
        for corner in ((0, 0, 0, 0), (0, 1, 3, 4), (1, 6, 12, 0)):
            check_load("f4", (2, 8, 14, 8), corner, (-1, -1), (-1, -1), 100, 4, (1, 1), steps=steps)


def check_types():
    for kind, swizzle in (("u1", 0), ("f2", 1), ("i4", 2), ("u8", 3)):
        channels = (16 << swizzle) // np.dtype(kind).itemsize
        shape = 2, 5, 6, 2 * channels
        check_load(kind, shape, (0, 1, 2, channels), (0, -1), (0, 0), 40, channels, (0, 1), swizzle=swizzle)
    check_load("f2", (2, 5, 6, 8), (1, 3, 0, 0), (-1, -1), (0, 0), 40, 16, (0, 0), fill=1)


def check_convolution():
    """The columns of im2col for a filter of 3 by 3 with a margin of 1, by an offset for each place."""
    array = numbers((2, 5, 6, 4), "f4")
    memory = drv.to_device(array)
    tensor = encode_images(memory, "f4", array.shape, (-1, -1), (-1, -1), 4, 60)
    wide = np.pad(array, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for r, s in product(range(3), range(3)):
        text = f".reg .b16 r, s; mov.b16 r, {r}; mov.b16 s, {s};"
        text += load_text(4, "shared::cta", ".im2col", ".L2::cache_hint", ", {s, r}, w")
        wanted = wide[:, r : r + 5, s : s + 6]
        found = run(text, tensor, [], (0, -1, -1, 0), wanted.nbytes)
        assert found[: wanted.nbytes].tobytes() == wanted.tobytes(), (r, s)


def check_spellings():
    array = numbers((2, 5, 6, 4), "f4")
    memory = drv.to_device(array)
    tensor = encode_images(memory, "f4", array.shape, (0, 0), (0, 0), 4, 8)
    prefetch = "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [m, {c0, c1, c2, c3}], {1, 2}; "
    text = prefetch + load_text(4, mode=".im2col", words=".multicast::cluster", more=", {1, 2}, ranks")
    wanted = pixels_of(array, (0, 1, 1, 0), (0, 0), (0, 0), (1, 1), (2, 1), 8, 4)
    assert run(text, tensor, [], (0, 1, 1, 0), 128)[:128].tobytes() == wanted.tobytes()


def check_stores():
    """Stores and reductions of rows of pixels change these pixels only."""
    for name, words, combine in (
        ("cp.async.bulk.tensor", ".im2col_no_offs.bulk_group", lambda old, new: new),
        ("cp.reduce.async.bulk.tensor", ".add.im2col_no_offs.bulk_group", np.add),
    ):
        for corner, steps in product(((0, 0, 0, 0), (0, 1, 2, 4), (1, 3, 2, 4)), ((1, 1), (2, 3))):
            array, rows = numbers((2, 5, 6, 8), "u4"), numbers((16, 8), "u4")
            memory = drv.to_device(array)
            tensor = encode_images(memory, "u4", array.shape, (1, 0), (0, -1), 8, 16, steps=[1, *steps, 1])
            if corner[1] < 1:
                corner = corner[0], 1, *corner[2:]
            run(store_text(4, name, words), tensor, rows.view("u1").ravel(), corner)
            for place, row in zip(walk(corner[:-1], (1, 0), (4, 4), steps), rows, strict=False):
                if place[0] < 2:
                    there = (*place, slice(corner[-1], 8))
                    array[there] = combine(array[there], row[: 8 - corner[-1]])
            assert (drv.from_device(memory, array.shape, "u4") == array).all(), (name, corner, steps)


@pytest.mark.parametrize(
    "check", [check_pixels, check_steps, check_types, check_convolution, check_spellings, check_stores]
)
def test_copies(at_capability, check):
    at_capability((9, 0), check)


# --- rows of images ---


def rows_of(array, corner, lower, upper, step, offset, group, count, halo, channels):
    """`count` pixels along rows, in groups that each have the `halo` pixels after them as well."""
    space = array.ndim - 2
    last = [0] * (space - 1) + [array.shape[-2] - 1 + upper]
    steps, first = [1] * (space - 1) + [step], [0] * (space - 1) + [lower]
    offsets = [0] * (space - 1) + [offset]
    places = [*islice(walk(corner[:-1], first, last, steps, still=space - 1), count + halo)]
    chosen = [place for at in range(0, count, group) for place in places[at : at + group + halo]]
    return np.array([row_of(array, place, offsets, corner[-1], channels) for place in chosen])


# The shape of an array, corner, lower, upper, step along W, pixels (128: mode w::128), halo, offset.
WIDE = [
    ((3, 9, 32), (0, 0, 0), 0, 0, 1, 9, 2, 0),
    ((3, 9, 32), (0, -3, 0), -1, 0, 1, 9, 0, 1),
    ((9, 2, 7, 32), (3, 1, 3, 0), 0, 0, 1, 20, 2, 0),
    ((9, 2, 7, 32), (3, 1, -1, 0), -1, -1, 3, 20, 0, 2),
    ((9, 2, 2, 7, 32), (0, 1, 1, 2, 0), -1, 1, 2, 20, 1, 1),
    ((9, 2, 7, 32), (0, 1, 0, 0), 0, 0, 1, 128, 2, 0),
    ((3, 2, 67, 32), (0, 0, -1, 0), -1, 0, 2, 128, 1, 1),
]  # fmt: skip


def check_rows():
    """Loads in the im2col::w modes."""
    for shape, corner, lower, upper, step, pixels, halo, offset in WIDE:
        array, is_128 = numbers(shape, "f2"), pixels == 128
        memory, space = drv.to_device(array), len(shape) - 2
        steps = [1] * (len(shape) - 2) + [step, 1]
        tensor = encode_wide(memory, "f2", shape, lower, upper, 32, pixels, is_128, steps=steps, swizzle=2)
        group = 32 if is_128 else pixels
        wanted = rows_of(array, corner, lower, upper, step, offset, group, pixels, halo, 32)
        text = load_text(
            space + 2, "shared::cta", ".im2col::w" + "::128" * is_128, more=braces((halo, offset))
        )
        found = run(text, tensor, [], corner, wanted.nbytes, "sm_100a")
        assert (found[: wanted.nbytes] == swizzled(wanted, 2)[: wanted.nbytes]).all(), (shape, corner)


def check_refused_wide():
    asked = {"address": 4096, "kind": "f2", "shape": (2, 6, 32), "lower": 0, "upper": 0, "channels": 32,
             "pixels": 8, "swizzle": 2}  # fmt: skip
    for change, code in (
        ({}, 0), ({"mode": 1, "pixels": 0}, 0), ({"mode": 2}, INVALID), ({"swizzle": 0}, INVALID),
        ({"swizzle": 1}, INVALID), ({"swizzle": 5}, INVALID), ({"swizzle": 4}, UNSUPPORTED),
        ({"pixels": 0}, INVALID), ({"lower": -32769}, INVALID), ({"lower": 6}, INVALID),
    ):  # fmt: skip
        assert code_of(encode_wide, {**asked, **change}) == code, change


@pytest.mark.parametrize("check", [check_rows, check_refused_wide])
@pytest.mark.cpu("written by the manual, not run on a GPU of compute capability 10.0")
def test_rows(at_capability, check):
    at_capability((10, 0), check)


# --- what is refused ---

REFUSED = [
    {"address": 8}, {"shape": (8, 16), "lower": (), "upper": ()}, {"shape": (2, 0, 6, 8)}, {"channels": 0},
    {"channels": 257}, {"channels": 3}, {"pixels": 0}, {"pixels": 1025}, {"lower": (-129, 0)},
    {"upper": (0, 128)}, {"lower": (5, 0)}, {"upper": (0, -6)}, {"steps": (1, 1, 0, 1)}, {"fill": 1},
    {"steps": (1, 9, 1, 1)}, {"strides": [320, 64, 24]}, {"swizzle": 1, "channels": 16}, {"promotion": 4},
    {"interleave": 3}, {"shape": (2, 2, 2, 6, 8), "lower": (0, 0, -17), "upper": (0, 0, 0)},
    {"shape": (2, 6, 8), "lower": (-32769,), "upper": (0,)},
]  # fmt: skip


def code_of(encode, asked):
    """The CUresult of a function of tensor_maps with these arguments."""
    try:
        encode(**asked)
    except Refused as refused:
        return refused.args[0]
    return 0


def check_refused():
    asked = {"address": 4096, "kind": "u4", "shape": (2, 5, 6, 8), "lower": (0, 0), "upper": (0, 0),
             "channels": 4, "pixels": 8}  # fmt: skip
    made = [encode_images(**asked, at=at).tobytes() for at in (0, 1, 2, 4, 8, 16, 24, 32, 48)]
    assert len(set(made)) == 1
    for change in REFUSED:
        assert code_of(encode_images, {**asked, **change}) == INVALID, change


def check_wide_needs_more():
    asked = {"address": 4096, "kind": "f2", "shape": (2, 6, 32), "lower": 0, "upper": 0, "channels": 32,
             "pixels": 8, "swizzle": 2}  # fmt: skip
    assert code_of(encode_wide, asked) == UNSUPPORTED


def test_refused(at_capability):
    at_capability((9, 0), check_refused)


@pytest.mark.cpu("a GPU of a higher compute capability has them")
def test_rows_need_a_higher_capability(at_capability):
    at_capability((9, 0), check_wide_needs_more)


TILED, LARGER = load_text(4), store_text(4, words=".im2col_no_offs.bulk_group")
FAULTS = [
    (TILED, (0, 0, 0, 0), "the map has another mode"),
    (load_text(3, mode=".im2col", more=", {0}"), (0, 0, 0), "another number of dimensions"),
    (load_text(4, mode=".im2col", more=", {0, 0}"), (0, 5, 0, 0), "outside of the map's box"),
    (load_text(4, mode=".im2col", more=", {0, 0}"), (0, 0, -2, 0), "outside of the map's box"),
    (load_text(4, mode=".im2col", more=", {256, 0}"), (0, 0, 0, 0), "an offset of pixels is too large"),
    (LARGER, (0, 0, 0, 0), "is larger than the images"),
]


def check_fault(text, corner, message):
    memory = drv.to_device(numbers((2, 5, 6, 8), "u4"))
    tensor = encode_images(memory, "u4", (2, 5, 6, 8), (0, -1), (-1, 0), 4, 8)
    with pytest.raises(drv.Error, match=message):
        run(text, tensor, [], corner, 128)


def check_tiled_map():
    memory = drv.to_device(numbers((2, 5, 6, 8), "u4"))
    tensor = encode(memory, "u4", (2, 5, 6, 8), (1, 1, 8, 4))
    with pytest.raises(drv.Error, match="the map has another mode"):
        run(load_text(4, mode=".im2col", more=", {0, 0}"), tensor, [], (0, 0, 0, 0), 128)


UNLOADED = {
    load_text(4, mode=".im2col"): "operands",
    load_text(4, mode=".im2col", more=", {0}"): "an offset for each of W, H, D",
    load_text(3, mode=".im2col", more=", {0, 0}"): "an offset for each of W, H, D",
    load_text(2, mode=".im2col", more=", {0}"): "a batch of images has 3 to 5 dimensions",
    load_text(4, mode=".im2col", more=", {x, x}"): "expected a value of type .u16",
    load_text(4, mode=".im2col::w", more=", {0, 0}"): "sm_100",
}


def check_unloaded():
    for text, message in UNLOADED.items():
        with pytest.raises(drv.Error) as found:
            run(text, np.zeros(128, np.uint8), [], (0, 0, 0, 0))
        assert message in str(found.value), (text, str(found.value))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.cpu("a GPU does not say what was wrong")
def test_fault(at_capability, fault):
    at_capability((9, 0), check_fault, *fault)


@pytest.mark.parametrize("check", [check_tiled_map, check_unloaded])
@pytest.mark.cpu("a GPU does not say what was wrong")
def test_other_faults(at_capability, check):
    at_capability((9, 0), check)
