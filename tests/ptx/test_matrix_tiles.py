"""ldmatrix, stmatrix and movmatrix: 8 x 8 tiles of halves between shared memory and the lanes of a warp."""

import numpy as np
import pytest
from devices import words_are_ours

import pycuda.driver as drv

KERNEL = """.version 8.5
.target sm_{sm}
.address_size 64
.visible .entry k(.param .u64 given, .param .u64 taken, .param .u64 order)
{{
.reg .b64 from, to, o, near64, orders; .reg .b32 t, u, x, near, row; .reg .b32 r0, r1, r2, r3; .reg .pred p;
.shared .align 16 .b8 room[1024];
ld.param.u64 from, [given]; ld.param.u64 to, [taken]; ld.param.u64 orders, [order];
mov.u32 t, %tid.x; mul.wide.u32 o, t, 16; add.u64 from, from, o; add.u64 to, to, o;
mul.wide.u32 o, t, 4; add.u64 orders, orders, o; ld.global.u32 row, [orders];
ld.global.v4.b32 {{r0, r1, r2, r3}}, [from];
shl.b32 row, row, 4; mov.u32 near, room; add.u32 row, row, near;
shl.b32 u, t, 4; add.u32 near, near, u;
cvt.u64.u32 near64, row; cvta.shared.u64 near64, near64; setp.lt.u32 p, t, 64;
{text}
st.global.v4.b32 [to], {{r0, r1, r2, r3}};
ret;
}}
"""
COUNTS = {1: "{r0}", 2: "{r0, r1}", 4: "{r0, r1, r2, r3}"}
CLEAR = "mov.b32 r0, 0; mov.b32 r1, 0; mov.b32 r2, 0; mov.b32 r3, 0; bar.warp.sync -1;"
PUT = "st.shared.v4.b32 [near], {r0, r1, r2, r3}; " + CLEAR
GET = "bar.warp.sync -1; ld.shared.v4.b32 {r0, r1, r2, r3}, [near];"
ZEROS = "mov.b32 x, 0; st.shared.v4.b32 [near], {x, x, x, x}; bar.warp.sync -1;"


def load(text, sm=75):
    return drv.module_from_buffer(KERNEL.format(text=text, sm=sm).encode()).get_function("k")


def run(text, data, order, sm=75):
    """The result of a kernel. data: 32 rows of 8 halves, one for each lane; order: the row whose address each
    lane has."""
    out = np.zeros_like(data)
    load(text, sm)(drv.In(data), drv.Out(out), drv.In(order.astype(np.uint32)), block=(32, 1, 1))
    return out


def in_lanes(tiles):
    """The halves of tiles (tiles, 8, 8) that each lane holds: (32, tiles, 2)."""
    return tiles.reshape(len(tiles), 8, 4, 2).transpose(1, 2, 0, 3).reshape(32, len(tiles), 2)


def rows(seed):
    random = np.random.default_rng(seed)
    return random.integers(0, 65536, (32, 8), np.uint16), random.permutation(32)


def check_loads():
    """ldmatrix of 1, 2 and 4 tiles, transposed or not, by every kind of address."""
    data, order = rows(1)
    for count, registers in COUNTS.items():
        for trans in ("", ".trans"):
            tiles = data[order].reshape(4, 8, 8)[:count]
            wanted = np.zeros((32, 4, 2), np.uint16)
            wanted[:, :count] = in_lanes(tiles.transpose(0, 2, 1) if trans else tiles)
            for space, address, width in (
                (".shared", "row", 32),
                (".shared::cta", "row", 32),
                ("", "near64", 64),
                ("", "row", 32),
            ):
                moved = f"add.u{width} {address}, {address}, 64; "
                for before, offset, guard in (("", "", ""), (moved, "+-64", ""), ("", "", "@p ")):
                    mnemonic = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16"
                    text = f"{PUT} {before}{guard}{mnemonic} {registers}, [{address}{offset}];"
                    assert (run(text, data, order).reshape(32, 4, 2) == wanted).all(), text


def check_stores():
    """stmatrix of 1, 2 and 4 tiles, transposed or not, by every kind of address."""
    data, order = rows(2)
    words = data.reshape(32, 4, 2)
    for count, registers in COUNTS.items():
        for trans in ("", ".trans"):
            tiles = words[:, :count].reshape(8, 4, count, 2).transpose(2, 0, 1, 3).reshape(count, 8, 8)
            wanted = np.zeros((32, 8), np.uint16)
            wanted[order[: 8 * count]] = (tiles.transpose(0, 2, 1) if trans else tiles).reshape(-1, 8)
            places = (".shared", "row"), (".shared::cta", "row+0"), ("", "near64"), ("", "row")
            for space, address in places:
                mnemonic = f"stmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16"
                text = f"{ZEROS} {mnemonic} [{address}], {registers}; {GET}"
                assert (run(text, data, order, 90) == wanted).all(), text


def check_transpose():
    data, order = rows(3)
    transpose = "movmatrix.sync.aligned.m8n8.trans.b16"
    text = f"{transpose} r1, r0; mov.b32 r2, r1; {transpose} r2, r2;"
    out = run(text, data, order).reshape(32, 4, 2)
    tile = data.reshape(32, 4, 2)[:, 0].reshape(8, 8)
    assert (out[:, 1] == in_lanes(tile.T[None])[:, 0]).all()
    assert (out[:, 2] == data.reshape(32, 4, 2)[:, 0]).all()


REFUSED = {
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r0}, [row];": "2 registers are expected here, found 1",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {o}, [row];": "",
    "ldmatrix.sync.aligned.m8n8.x3.shared.b16 {r0}, [row];": "unknown modifier '.x3'",
    "ldmatrix.sync.aligned.m8n8.x1.global.b16 {r0}, [from];": "'.global' is not a modifier of 'ldmatrix'",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b8 {r0}, [row];": "they do not go together",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {r0, r1}, [row];": "needs .target sm_100 or higher",
    "stmatrix.sync.aligned.m8n8.x4.shared.b16 [row], {r0, r1, r2};": "4 registers are expected here, found 3",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [row];": "an address",
    "movmatrix.sync.aligned.m8n8.b16 r0, r1;": "they do not go together",
    "movmatrix.sync.aligned.m8n8.trans.b16 r0, o;": "a value of type .b32",
}


def check_refused():
    for text, message in REFUSED.items():
        with pytest.raises(drv.Error) as found:
            load(text, 90)
        assert message in str(found.value), text


def check_fault(text, message, threads=32):
    data, order = drv.to_device(np.zeros((64, 8), np.uint16)), drv.to_device(np.arange(64, dtype=np.uint32))
    function = load(text, 90)
    with pytest.raises(drv.Error) as found:
        function(data, data, order, block=(threads, 1, 1))
        drv.Context.synchronize()
    assert message in str(found.value), str(found.value)


def test_loads(at_capability):
    at_capability((7, 5), check_loads)


def test_transpose(at_capability):
    at_capability((7, 5), check_transpose)


@pytest.mark.parametrize("check", [check_stores, pytest.param(check_refused, marks=words_are_ours)])
def test_stores_of_compute_capability_9(at_capability, check):
    at_capability((9, 0), check)


@pytest.mark.cpu("only the CPU device has a random scheduler")
def test_lane_by_lane(at_capability, monkeypatch):
    """The random scheduler runs lanes one by one."""
    monkeypatch.setenv("PYCUDA_CPU_SCHEDULE", "random:5")
    at_capability((9, 0), check_loads)
    at_capability((9, 0), check_transpose)


LOAD = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [row];"
STORE = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [row], {r0};"


@pytest.mark.parametrize(
    ("text", "message", "threads"),
    [
        (f"add.u32 row, row, 2; {LOAD}", "misaligned read of 16 bytes", 32),
        (f"add.u32 row, row, 4096; {LOAD}", "invalid read of 16 bytes", 32),
        (f"add.u32 row, row, 4096; {STORE}", "invalid write of 16 bytes", 32),
        ("mov.u64 near64, 64; " + LOAD.replace(".shared", "").replace("row", "near64"), "a null pointer", 32),
        (LOAD, "ldmatrix is for all 32 threads of a warp", 24),
    ],
)
@pytest.mark.cpu("a GPU does not say what was wrong")
def test_fault(at_capability, text, message, threads):
    at_capability((9, 0), check_fault, text, message, threads)
