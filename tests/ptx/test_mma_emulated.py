"""mma.sync of shapes and types that sm_90 has no instruction for: eight-bit floats, and m8n8k4 of halves.

ptxas compiles them to other instructions, which determine every bit of the results. The tests follow these
steps: sums of a tensor core in integers, and sums of floats in NumPy.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ptx_cases import matrices
from ptx_cases.tensor_core import decoded, emulated, same

import pycuda.driver as drv

PRODUCTS = 4  # m8n8k4 computes four at once


# --- numbers of eight bits ---


def multiplied(shape, kinds, a, b, c, sums):
    """a @ b + c on the device, of eight-bit floats as bytes; kinds: the types of a and b, sums: that of c."""
    as_bytes = "u8"
    given = {
        "a": matrices.registers(a, shape, as_bytes, "a"),
        "b": matrices.registers(b, shape, as_bytes, "b"),
    }
    given["c"] = matrices.registers(c, shape, sums, "c")
    counts = {role: words.shape[1] for role, words in given.items()} | {"d": given["c"].shape[1]}
    operands = ", ".join(matrices.vector(role, counts[role]) for role in "dabc")
    text = f"mma.sync.aligned.{shape}.row.col.{sums}.{kinds[0]}.{kinds[1]}.{sums} {operands};"
    types = {"d": sums, "a": as_bytes, "b": as_bytes, "c": sums}
    function = matrices.kernel(text, counts, types, 89, "8.7")
    out = np.zeros((32, counts["d"]), np.uint32)
    function(drv.InOut(out), *(drv.In(np.ascontiguousarray(given[r])) for r in "abc"), block=(32, 1, 1))
    return matrices.matrix_of(out, shape, sums)


def bytes_of(random, size, special):
    """Random bytes; unless `special`, of finite numbers near one, whose sums are finite."""
    anything = random.integers(0, 256, size)
    return anything if special else (anything & 0x87) | random.integers(4, 11, size) << 3


def check_bytes():
    """Products of random eight-bit floats are those of emulated(), to the bit."""
    random = np.random.default_rng(5)
    forms = [(s, x, y) for s in ("m16n8k32", "m16n8k16") for x in ("e4m3", "e5m2") for y in ("e4m3", "e5m2")]
    for shape, *kinds in forms:
        m, n, k = matrices.size_of(shape)
        for sums in ("f32", "f16"):
            for special in (False, False, True):
                a, b = bytes_of(random, (m, k), special), bytes_of(random, (k, n), special)
                c = random.normal(size=(m, n)) * 2.0 ** random.integers(-6, 7, (m, n))
                c = c.astype(np.float32 if sums == "f32" else np.float16)
                if special:
                    c[0, :4] = np.inf, -np.inf, np.nan, 0
                x, y = decoded(a, kinds[0]), decoded(b, kinds[1])
                with np.errstate(all="ignore"):
                    wanted = emulated(x, y, c, sums)
                found = multiplied(shape, kinds, a, b, c, sums)
                assert same(found, wanted), (shape, kinds, sums, special)


def check_bytes_one_by_one():
    """Single products of bytes, which no rounding changes: all first factors, eight second ones."""
    for kind in ("e4m3", "e5m2"):
        every = decoded(np.arange(256), kind)
        for first in range(0, 256, 16):
            a, b = np.zeros((16, 32), int), np.zeros((32, 8), int)
            a[:, 3] = np.arange(first, first + 16)
            b[3] = np.arange(8) * 31 % 256
            found = multiplied("m16n8k32", (kind, kind), a, b, np.zeros((16, 8), np.float32), "f32")
            with np.errstate(invalid="ignore"):
                wanted = np.float32(every[a[:, 3]][:, None] * every[b[3]][None, :]) + np.float32(0)
            assert same(found, wanted), (kind, first)


# --- m8n8k4 of halves ---


def quad_lanes(product):
    """The eight lanes that hold one of the four products."""
    return [4 * product + within + half for half in (0, 16) for within in range(4)]


def quad_places(role, columns, kind):
    """(row, column) of each element in each of the eight lanes that hold a product, by the tables of the PTX
    manual."""
    places = []
    for half in (0, 4):
        for within in range(4):
            if role == "a":
                places.append([(i + half, within) if columns else (within + half, i) for i in range(4)])
            elif role == "b":
                places.append([(i, within + half) if columns else (within, i + half) for i in range(4)])
            elif kind == "f16":
                places.append([(within + half, i) for i in range(8)])
            else:
                places.append(
                    [((within & 1) + (i & 2) + half, (i & 4) + (within & 2) + (i & 1)) for i in range(8)]
                )
    return places


def quad_registers(stack, role, columns, kind):
    """The words that each lane holds of four matrices."""
    size = np.float16 if kind == "f16" else np.float32
    places = quad_places(role, columns, kind)
    out = np.zeros((32, len(places[0])), size)
    for product in range(PRODUCTS):
        for lane, where in zip(quad_lanes(product), places, strict=True):
            out[lane] = [stack[product][at] for at in where]
    return out.view(np.uint32)


def quad_matrices(words, kind):
    """The four results, from the words of the lanes."""
    values = words.view(np.float16 if kind == "f16" else np.float32)
    result = np.zeros((PRODUCTS, 8, 8), values.dtype)
    for product in range(PRODUCTS):
        for lane, where in zip(quad_lanes(product), quad_places("d", False, kind), strict=True):
            for value, at in zip(values[lane], where, strict=True):
                result[product][at] = value
    return result


def fused(x, y, z):
    """x * y + z rounded once: these operands' sum is exact in double."""
    return np.float32(x.astype(float) * y.astype(float) + np.asarray(z, float))


def quad_product(a, b, c, sums):
    """a @ b + c of four matrices as ptxas computes m8n8k4 for sm_90: by fused multiply-adds of floats, in one
    chain of four, or two chains of two if sums are halves."""
    x = [a[:, :, k, None] for k in range(4)]
    y = [b[:, k, None, :] for k in range(4)]
    c = np.asarray(c, np.float32)
    if sums == "f16":
        low, high = (fused(x[k + 1], y[k + 1], fused(x[k], y[k], 0)) for k in (0, 2))
        return ((c + low) + high).astype(np.float16)
    total = np.float32(0)
    for k in range(4):
        total = fused(x[k], y[k], total)
    return total + c


def check_quads():
    """m8n8k4 in every layout and type has the results of quad_product(), to the bit."""
    random = np.random.default_rng(6)

    def numbers(size, kind):
        x = random.normal(size=size) * 2.0 ** random.integers(-5, 6, size)
        return x.astype(np.float16 if kind == "f16" else np.float32)

    for layouts in (("row", "col"), ("row", "row"), ("col", "row"), ("col", "col")):
        for d, c in (("f32", "f32"), ("f16", "f16"), ("f32", "f16")):
            stack = [
                numbers((PRODUCTS, *size), kind)
                for size, kind in (((8, 4), "f16"), ((4, 8), "f16"), ((8, 8), c))
            ]
            given = [
                quad_registers(x, role, layout == "col", kind)
                for x, role, layout, kind in zip(stack, "abc", (*layouts, ""), ("f16", "f16", c), strict=True)
            ]
            counts = {"a": 2, "b": 2, "c": 4 if c == "f16" else 8, "d": 4 if d == "f16" else 8}
            operands = ", ".join(matrices.vector(role, counts[role]) for role in "dabc")
            text = f"mma.sync.aligned.m8n8k4.{'.'.join(layouts)}.{d}.f16.f16.{c} {operands};"
            function = matrices.kernel(text, counts, {"d": d, "a": "f16", "b": "f16", "c": c}, 80)
            out = np.zeros((32, counts["d"]), np.uint32)
            function(drv.InOut(out), *map(drv.In, given), block=(32, 1, 1))
            assert same(quad_matrices(out, d), quad_product(*stack, d)), (layouts, d, c)


@pytest.mark.parametrize("check", [check_bytes, check_bytes_one_by_one, check_quads])
def test_products_to_the_bit(at_capability, check):
    at_capability((9, 0), check)
