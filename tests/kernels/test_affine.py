"""Affine registers, whose values rise evenly from lane to lane: indices and addresses in blocks of every
shape, even if they wrap around or lanes diverge. Expected values are computed here by other means."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"
# Shapes of blocks: of whole warps and not, with rows of a block that are shorter and longer than a warp.
SHAPES = [(32, 1, 1), (16, 4, 1), (8, 8, 1), (5, 7, 2), (48, 1, 1), (1, 40, 1), (4, 4, 4), (33, 2, 1)]


def launch(ptx, name, size, block, grid=(1, 1), *more):
    """The `size` words of 64 bits that a kernel stores to its first argument; more: its other arguments."""
    out = np.zeros(size, np.uint64)
    kernel = drv.module_from_buffer(ptx.encode()).get_function(name)
    kernel(drv.InOut(out), *more, block=block, grid=grid)
    return out


def indices(block, grid):
    """[tx, ty, tz, bx, by]: for each thread its indices in its block and its block's indices, block after
    block."""
    bx, by = (a.ravel() for a in np.meshgrid(np.arange(grid[0]), np.arange(grid[1]), indexing="xy"))
    tz, ty, tx = (a.ravel() for a in np.indices(block[::-1]))
    threads = len(tx)
    return [np.tile(a, len(bx)) for a in (tx, ty, tz)] + [np.repeat(a, threads) for a in (bx, by)]


ARITHMETIC = (
    HEAD
    + """
.visible .entry arithmetic(.param .u64 to, .param .u32 n, .param .s32 m)
{
    .reg .b64 %d<16>;
    .reg .b32 %r<32>;
    .reg .pred %p<8>;
    ld.param.u64 %d0, [to];
    ld.param.u32 %r0, [n];
    ld.param.s32 %r1, [m];
    mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %tid.z;
    mov.u32 %r5, %ntid.x; mov.u32 %r6, %ntid.y; mov.u32 %r7, %ntid.z;
    mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ctaid.y; mov.u32 %r10, %nctaid.x;
    mad.lo.u32 %r11, %r4, %r6, %r3;
    mad.lo.u32 %r11, %r11, %r5, %r2;            // thread in block
    mul.lo.u32 %r12, %r5, %r6;
    mul.lo.u32 %r12, %r12, %r7;                 // threads of a block
    mad.lo.u32 %r13, %r9, %r10, %r8;
    mad.lo.u32 %r14, %r13, %r12, %r11;          // thread in grid
    mul.wide.u32 %d1, %r14, 8;
    add.s64 %d2, %d0, %d1;
    mul.lo.u32 %r15, %r14, %r0;                 // wraps
    sub.u32 %r16, %r15, %r3;
    mul.wide.s32 %d3, %r16, %r1;
    cvt.u64.u32 %d4, %r16;
    cvt.s64.s32 %d5, %r15;
    shl.b64 %d6, %d4, 3;
    sub.s64 %d7, %d3, %d6;
    mad.lo.s64 %d8, %d5, 5, %d7;
    setp.lt.s32 %p1, %r16, %r1;
    setp.gt.u32 %p2, %r15, 1000;
    @%p1 add.s64 %d8, %d8, 77;
    @!%p2 shl.b64 %d8, %d8, 1;
    add.s64 %d9, %d8, %d1;                      // %d1, an operand of the address, is read as a value too
    cvt.u32.u64 %r17, %d9;
    and.b32 %r18, %r17, 0x7f;
    st.global.u64 [%d2], %d9;
    ret;
}
"""
)


@pytest.mark.parametrize("block", SHAPES)
@pytest.mark.parametrize("n, m", [(1, 3), (12345, -7), (0x7FFFFFF1, 0x7FFFFFFF), (0x10000000, -(2**31))])
def test_arithmetic_of_indices(block, n, m):
    grid = (3, 2)
    tx, ty, tz, bx, by = indices(block, grid)
    thread = (tz * block[1] + ty) * block[0] + tx
    linear = (by * grid[0] + bx) * np.prod(block) + thread
    out = launch(ARITHMETIC, "arithmetic", len(linear), block, grid, np.uint32(n), np.int32(m))
    # The kernel's registers of these names; the words wrap around.
    r15 = (linear.astype(np.uint64) * np.uint64(n)).astype(np.uint32)
    r16 = (r15 - ty.astype(np.uint32)).astype(np.uint32)
    d3 = r16.view(np.int32).astype(np.int64) * np.int64(m)
    d7 = d3.view(np.uint64) - (r16.astype(np.uint64) << np.uint64(3))
    d8 = r15.view(np.int32).astype(np.int64).view(np.uint64) * np.uint64(5) + d7
    d8 = np.where(r16.view(np.int32) < m, d8 + np.uint64(77), d8)
    d8 = np.where(r15 > 1000, d8, d8 << np.uint64(1))
    expected = d8 + linear.astype(np.uint64) * np.uint64(8)
    np.testing.assert_array_equal(out, expected)


# Each lane advances its own pointer: some lanes leave the loop early, some never enter it.
POINTERS = (
    HEAD
    + """
.visible .entry pointers(.param .u64 to, .param .u64 from)
{
    .reg .b64 %d<8>;
    .reg .b32 %r<8>;
    .reg .pred %p;
    ld.param.u64 %d0, [to];
    ld.param.u64 %d1, [from];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d2, %r0, 8;
    add.s64 %d0, %d0, %d2;
    add.s64 %d3, %d1, %d2;
    mov.u32 %r1, 0;
    mov.u64 %d4, 0;
    mul.lo.u32 %r2, %r0, 7;
    rem.u32 %r2, %r2, 11;                       // rounds of this lane
LOOP:
    setp.ge.u32 %p, %r1, %r2;
    @%p bra DONE;
    ld.global.u64 %d5, [%d3];
    add.s64 %d4, %d4, %d5;
    add.s64 %d3, %d3, 24;
    add.u32 %r1, %r1, 1;
    bra LOOP;
DONE:
    add.s64 %d6, %d3, 8;
    ld.global.u64 %d5, [%d6];
    shl.b64 %d5, %d5, 32;
    add.s64 %d4, %d4, %d5;
    st.global.u64 [%d0], %d4;
    ret;
}
"""
)


@pytest.mark.parametrize("threads", [32, 20, 64, 47])
def test_pointers_that_lanes_advance(threads):
    values = np.random.default_rng(5).integers(0, 1 << 30, threads + 40).astype(np.uint64)
    out = launch(POINTERS, "pointers", threads, (threads, 1, 1), (1, 1), drv.In(values))
    for t in range(threads):
        rounds = t * 7 % 11
        expected = int(values[t : t + 3 * rounds : 3].sum()) + (int(values[t + 3 * rounds + 1]) << 32)
        assert int(out[t]) == expected, t


TILES = r"""
#define SIZE %(size)d
extern "C" __global__ void tiles(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[SIZE][SIZE], bs[SIZE][SIZE + %(pad)d];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * SIZE + x, row = blockIdx.y * SIZE + y;
    float sum = 1;
    for (int t = 0; t < n; t += SIZE) {
        as[y][x] = a[row * n + t + x];
        bs[y][x] = b[(t + y) * n + column];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < SIZE; k++)
            sum += %(product)s;
        __syncthreads();
    }
    c[row * n + column] = sum;
}
"""


@pytest.mark.parametrize("size", [4, 8, 16, 32])
@pytest.mark.parametrize(
    "product, pad", [("as[y][k] * bs[k][x]", 0), ("bs[k][x] * as[y][k]", 1), ("as[k][x] * bs[k][x]", 0)]
)
def test_sums_of_products_in_shared_memory(size, product, pad):
    """Tiles whose rows are a part of a warp, half a warp or a warp; NaN and infinity among the values."""
    n = 64
    rng = np.random.default_rng(size)
    a, b = rng.integers(-8, 9, (2, n, n)).astype(np.float32)
    a[3, 5], b[7, 9], a[20, 30] = np.nan, np.inf, -np.inf
    c = np.zeros((n, n), np.float32)
    source = TILES % {"size": size, "pad": pad, "product": product}
    kernel = SourceModule(source, no_extern_c=True).get_function("tiles")
    kernel(drv.In(a), drv.In(b), drv.Out(c), np.int32(n), block=(size, size, 1), grid=(n // size, n // size))
    with np.errstate(all="ignore"):  # OpenBLAS for ARM divides by zero on its way to a NaN
        if "as[k][x]" in product:
            # Thread x of a tile multiplies column x of its tiles of a and b.
            expected = np.ones((n, n), np.float32)
            for t in range(0, n, size):
                for k in range(size):
                    rows = a[k::size, t : t + size]  # row k of each tile of a
                    expected += np.tile(np.repeat(rows, size, axis=0), (1, n // size)) * b[t + k]
        else:
            expected = 1 + a @ b
    np.testing.assert_array_equal(c, expected)
    assert (c[np.isnan(c)].view(np.uint32) == 0x7FFFFFFF).all()


ACCESS = r"""
extern "C" __global__ void reads(const int *a, int *out, int first, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + first;
    if (i < n)
        out[i] = a[i];
}
"""


@pytest.mark.cpu("the errors of a GPU do not name the lane")
def test_a_lane_past_the_end_is_named(run_python):
    """The addresses of a warp are contiguous, and one of them is out of bounds: the message names its
    lane."""
    source = f"""
        import numpy as np, pycuda.autoinit, pycuda.driver as drv
        from pycuda.compiler import SourceModule
        kernel = SourceModule({ACCESS!r}, no_extern_c=True).get_function("reads")
        a, out = drv.mem_alloc(400), drv.mem_alloc(4096)
        try:
            kernel(a, out, np.int32(0), np.int32(101), block=(128, 1, 1), grid=(1, 1))
            drv.Context.synchronize()
        except drv.LaunchError as error:
            print(error)
    """
    text = run_python(source).stdout
    assert "thread (100,0,0)" in text and "read" in text, text


BEYOND = r"""
extern "C" __global__ void beyond(const float *a, float *out, int first)
{
    extern __shared__ float s[];
    float sum = 0;
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 8; k++)
        sum += s[k + first] * s[threadIdx.x + k];
    out[threadIdx.x] = sum;
}
"""


@pytest.mark.cpu("the errors of a GPU do not name the lane")
def test_a_sum_of_products_that_leaves_shared_memory(run_python):
    """One load of a fused sum is beyond the end: the message names the lane and the offset."""
    source = f"""
        import numpy as np, pycuda.autoinit, pycuda.driver as drv
        from pycuda.compiler import SourceModule
        kernel = SourceModule({BEYOND!r}, no_extern_c=True).get_function("beyond")
        a = drv.mem_alloc(128)
        kernel(a, a, np.int32(0), block=(32, 1, 1), grid=(1, 1), shared=156)
        drv.Context.synchronize()
        try:
            kernel(a, a, np.int32(0), block=(32, 1, 1), grid=(1, 1), shared=152)
            drv.Context.synchronize()
        except drv.LaunchError as error:
            print(error)
    """
    done = run_python(source, check=True)
    assert "thread (31,0,0)" in done.stdout and "shared" in done.stdout, done.stdout
