"""Shuffles, votes, matches and ballots within a warp, compared with their definitions."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

LANES = np.arange(32)
FULL = 0xFFFFFFFF


def run(body, dtype=np.int32, count=32, value=None):
    """The value of r in each thread after the body, C++ in which x is the thread's element of `value` (by
    default its index), lane its lane, and r is 0 at first."""
    value = np.arange(count, dtype=dtype) if value is None else value
    ctype = {"i": "int", "I": "unsigned", "q": "long long", "f": "float", "d": "double"}[
        np.dtype(dtype).char.replace("l", "q")  # int64 on Linux
    ]
    out = np.zeros(count, dtype)
    SourceModule(f"""
    __global__ void warp(const {ctype} *a, {ctype} *z)
    {{
        int lane = threadIdx.x % 32;
        {ctype} x = a[threadIdx.x], r = 0 * lane + 0 * x;  // so that no body leaves lane or x unused
        {body}
        z[threadIdx.x] = r;
    }}
    """).get_function("warp")(drv.In(value), drv.Out(out), block=(count, 1, 1))
    return out


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64], ids=lambda t: t.__name__)
def test_shuffles(dtype):
    value = (np.random.default_rng(0).integers(-100, 100, 32)).astype(dtype)
    down = run(f"r = __shfl_down_sync({FULL}u, x, 5);", dtype, value=value)
    up = run(f"r = __shfl_up_sync({FULL}u, x, 3);", dtype, value=value)
    xor = run(f"r = __shfl_xor_sync({FULL}u, x, 9);", dtype, value=value)
    index = run(f"r = __shfl_sync({FULL}u, x, (lane * 7) % 32);", dtype, value=value)
    assert (down == np.where(LANES + 5 < 32, value[(LANES + 5) % 32], value)).all()
    assert (up == np.where(LANES >= 3, value[LANES - 3], value)).all()
    assert (xor == value[LANES ^ 9]).all()
    assert (index == value[LANES * 7 % 32]).all()


@pytest.mark.parametrize("width", [2, 4, 8, 16, 32])
def test_shuffle_in_segments(width):
    value = np.arange(32, dtype=np.int32) * 10
    got = run(f"r = __shfl_down_sync({FULL}u, x, 1, {width});", value=value)
    last = LANES % width == width - 1
    assert (got == np.where(last, value, value[(LANES + 1) % 32])).all()


def test_votes():
    assert (run(f"r = __any_sync({FULL}u, x == 31);") == 1).all()
    assert (run(f"r = __any_sync({FULL}u, x == 32);") == 0).all()
    assert (run(f"r = __all_sync({FULL}u, x < 32);") == 1).all()
    assert (run(f"r = __all_sync({FULL}u, x < 31);") == 0).all()
    assert (
        run(f"r = __ballot_sync({FULL}u, x % 3 == 0);", np.uint32) == sum(1 << i for i in range(0, 32, 3))
    ).all()


def test_match():
    got = run(f"r = __match_any_sync({FULL}u, lane % 5);", np.uint32)
    assert (got == [sum(1 << j for j in range(lane % 5, 32, 5)) for lane in LANES]).all()
    got = run(f"int all; r = __match_all_sync({FULL}u, 3, &all); r = all ? r : 7;", np.uint32)
    assert (got == FULL).all()


def test_a_shuffle_of_lanes_in_different_branches():
    """The lanes of both branches exchange values, although they are at different instructions."""
    got = run(f"""
        if (lane % 2)
            r = __shfl_xor_sync({FULL}u, x + 100, 1);
        else
            r = __shfl_xor_sync({FULL}u, x + 200, 1);
    """)
    assert (got == np.where(LANES % 2, (LANES ^ 1) + 200, (LANES ^ 1) + 100)).all()


def test_a_shuffle_of_half_a_warp():
    got = run("if (lane < 16) r = __shfl_xor_sync(0x0000ffffu, x, 15); else r = -1;")
    assert (got == np.where(LANES < 16, LANES ^ 15, -1)).all()


def test_bits_of_words():
    value = np.random.default_rng(1).integers(0, 2**32, 32, dtype=np.uint32)
    assert (run("r = __popc(x);", np.uint32, value=value) == [bin(v).count("1") for v in value]).all()
    assert (run("r = __clz(x);", np.uint32, value=value) == [32 - int(v).bit_length() for v in value]).all()
    assert (run("r = __brev(x);", np.uint32, value=value) == [int(f"{v:032b}"[::-1], 2) for v in value]).all()
    assert (
        # Selects, from the lowest byte: byte 0 of x, byte 0 of the constant, byte 1 of x, byte 1 of the
        # constant.
        run("r = __byte_perm(x, 0x44556677u, 0x5140);", np.uint32, value=value)
        == [(v & 0xFF) | 0x77 << 8 | (v >> 8 & 0xFF) << 16 | 0x66 << 24 for v in value.astype(np.int64)]
    ).all()
