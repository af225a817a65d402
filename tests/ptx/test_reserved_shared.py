"""Reserved shared memory, where cooperative groups keep the state of tiles of several warps."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

KERNEL = """.version 8.5
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 taken)
{
.reg .b64 to; .reg .b32 t, x, y; .reg .pred p;
.shared .align 16 .b8 room[48];
ld.param.u64 to, [taken];
mov.u32 t, 0; mov.u32 y, %reserved_smem_offset_1;
own: add.u32 x, y, t; st.shared.u8 [x], 7; add.u32 t, t, 1; setp.lt.u32 p, t, 288; @p bra own;
mov.u32 t, 0; mov.u32 y, dynamic;
rest: add.u32 x, y, t; st.shared.u8 [x], 1; add.u32 t, t, 1; setp.lt.u32 p, t, 100; @p bra rest;
st.shared.u8 [room], 1; st.shared.u8 [room+47], 1;
mov.u32 t, 0; mov.u32 y, %reserved_smem_offset_1;
next: add.u32 x, y, t; ld.shared.u8 x, [x]; setp.ne.u32 p, x, 7; @p bra done;
add.u32 t, t, 1; setp.lt.u32 p, t, 288; @p bra next;
done: st.global.u32 [to], t;
mov.u32 x, %reserved_smem_offset_begin; st.global.u32 [to+4], x; st.global.u32 [to+8], y;
mov.u32 x, %reserved_smem_offset_end; st.global.u32 [to+12], x;
mov.u32 x, %reserved_smem_offset_cap; st.global.u32 [to+16], x;
mov.u32 x, %total_smem_size; st.global.u32 [to+20], x;
ret;
}
"""
TILES = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
template <int SIZE> __device__ void report(int *out)
{
    auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
    int sum = cg::reduce(tile, (int)threadIdx.x, cg::plus<int>());
    out[threadIdx.x] = sum * 1000 + tile.any(threadIdx.x == 70) * 500;
    tile.sync(); // CUDA's header counts on lanes that stay together between any and shfl
    out[threadIdx.x] += tile.shfl((int)threadIdx.x, 37);
    tile.sync();
}
extern "C" __global__ void fill()
{
    extern __shared__ int room[];
    for (int x = threadIdx.x; x < 12288; x += blockDim.x) room[x] = -1;
}
extern "C" __global__ void k(int *out)
{
    out += blockIdx.x * 768;
    __shared__ int own[256];
    auto tile = cg::tiled_partition<128>(cg::this_thread_block());
    own[threadIdx.x] = threadIdx.x;
    report<64>(out);
    report<128>(out + 256);
    tile.sync();
    out[512 + threadIdx.x] = own[threadIdx.x ^ 64];
}
"""


def check_places():
    """288 bytes from %reserved_smem_offset_1 on keep their values while the program writes all of its own 148
    bytes (100 dynamic, 48 static); the registers have the bounds of the reserved part."""
    out = np.zeros(6, np.uint32)
    drv.module_from_buffer(KERNEL.encode()).get_function("k")(drv.InOut(out), block=(1, 1, 1), shared=100)
    kept, begin, first, end, cap, total = map(int, out)
    assert kept == 288, "reserved bytes were overwritten"
    assert begin <= first and first + 288 <= end <= begin + cap and 148 <= total <= 256


def check_tiles():
    """Tiles of 64 and 128 threads exchange values through it, whatever bytes it had before."""
    module, out = SourceModule(TILES, no_extern_c=True), np.zeros((4, 768), np.int32)
    module.get_function("fill")(block=(256, 1, 1), grid=(4, 1), shared=49152)
    module.get_function("k")(drv.InOut(out), block=(256, 1, 1), grid=(4, 1))
    for size, found in ((64, out[:, :256]), (128, out[:, 256:512])):
        tiles = np.arange(256).reshape(-1, size)
        wanted = tiles.sum(1) * 1000 + (tiles == 70).any(1) * 500 + tiles[:, 37]
        assert (found == np.repeat(wanted, size)).all(), size
    assert (out[:, 512:] == np.arange(256) ^ 64).all()


def test_places(at_capability):
    at_capability((8, 0), check_places)


def test_tiles_of_several_warps(at_capability):
    at_capability((9, 0), check_tiles)


@pytest.mark.cpu("checks and a schedule that only the CPU device has")
def test_checked_lane_by_lane(at_capability, monkeypatch):
    monkeypatch.setenv("PYCUDA_CPU_CHECK", "racecheck, initcheck-shared, synccheck")
    monkeypatch.setenv("PYCUDA_CPU_SCHEDULE", "random:5")
    at_capability((9, 0), check_tiles)
