"""InclusiveScanKernel and ExclusiveScanKernel, compared with NumPy."""

import functools
import itertools

import numpy as np
import pytest
from user_kernels import DTYPES, values

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel
from pycuda.tools import dtype_to_ctype, get_or_register_dtype

pytestmark = pytest.mark.usefixtures("primary_context", "fresh_caches")

SIZES = [0, 1, 31, 32, 33, 1000, 2048, 2049, 65537, 300_001]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_length(dtype):
    inclusive = InclusiveScanKernel(dtype, "a+b")
    exclusive = ExclusiveScanKernel(dtype, "a+b", "0")
    for size in SIZES if dtype != np.float16 else SIZES[:6]:
        x = values(dtype, size)
        expected = np.cumsum(x, dtype=dtype)
        array = gpuarray.to_gpu(x)
        result = inclusive(array, "new")
        assert (result.get() == expected).all() and (array.get() == x).all()
        assert exclusive(array) is array
        assert (array.get()[1:] == expected[:-1]).all() and (array.get()[:1] == 0).all()


PAIR = np.dtype([("factor", np.uint32), ("term", np.uint32)])
# The affine map x -> factor x + term modulo 2**32, and the composition of two.
AFFINE = """
struct scan_affine { unsigned factor, term; };
__device__ scan_affine then(scan_affine f, scan_affine g)
{ scan_affine h = {g.factor * f.factor, g.factor * f.term + g.term}; return h; }
"""


@pytest.mark.parametrize("kernel", [InclusiveScanKernel, ExclusiveScanKernel])
def test_elements_keep_their_order(kernel):
    """The composition of affine maps is associative and exact, but not commutative. Every prefix is
    checked."""
    get_or_register_dtype("scan_affine", PAIR)
    scan = kernel(PAIR, "then(a, b)", "scan_affine{1, 0}", preamble=AFFINE)
    size = 100_003
    f = np.empty(size, PAIR)
    f["factor"] = np.random.default_rng(0).integers(0, 2**31, size) * 2 + 1
    f["term"] = np.random.default_rng(1).integers(0, 2**32, size)
    expected = np.empty(size, PAIR)
    a, b = 1, 0
    for i, (fa, fb) in enumerate(zip(f["factor"].tolist(), f["term"].tolist(), strict=True)):
        if kernel is ExclusiveScanKernel:
            expected[i] = a, b
        a, b = fa * a % 2**32, (fa * b + fb) % 2**32
        if kernel is InclusiveScanKernel:
            expected[i] = a, b
    assert (scan(gpuarray.to_gpu(f)).get() == expected).all()


def test_maximum_and_a_large_structure():
    x = np.random.default_rng(7).integers(-(10**6), 10**6, 50_000).astype(np.int32)
    got = InclusiveScanKernel(np.int32, "max(a, b)")(gpuarray.to_gpu(x)).get()
    assert (got == np.maximum.accumulate(x)).all()
    dtype = get_or_register_dtype("scan_matrix", np.dtype([("m", np.float64, (3, 3))]))
    scan = InclusiveScanKernel(
        dtype,
        "product(a, b)",
        preamble="""
        struct scan_matrix { double m[3][3]; };
        __device__ scan_matrix product(scan_matrix a, scan_matrix b)
        {
            scan_matrix c;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    c.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
            return c;
        }
        """,
    )
    matrices = np.zeros(1500, dtype)  # permutations, whose products are exact
    matrices["m"] = np.random.default_rng(1).permuted(np.tile(np.eye(3), (1500, 1, 1)), axis=1)
    expected = np.array(list(itertools.accumulate(matrices["m"], np.matmul)))
    assert (scan(gpuarray.to_gpu(matrices)).get()["m"] == expected).all()
    with pytest.raises(ValueError, match="too large for a scan"):
        InclusiveScanKernel(get_or_register_dtype("scan_huge", np.dtype([("m", np.float64, 300)])), "a")


def test_example_of_the_documentation():
    """The example of PyCUDA's documentation."""
    knl = InclusiveScanKernel(np.int32, "a+b")
    n = 2**20 - 2**18 + 5
    host_data = np.random.default_rng(0).integers(0, 10, n).astype(np.int32)
    dev_data = gpuarray.to_gpu(host_data)
    knl(dev_data)
    assert (dev_data.get() == np.cumsum(host_data, axis=0)).all()


def test_same_bits_at_every_run():
    x = np.random.default_rng(5).standard_normal(400_000).astype(np.float32)
    scan, array = InclusiveScanKernel(np.float32, "a+b"), gpuarray.to_gpu(x)
    first = scan(array, "new").get()
    assert np.allclose(first, np.cumsum(x.astype(float)), atol=1e-2)
    for _ in range(10):
        assert scan(array, "new").get().tobytes() == first.tobytes()
    wide = gpuarray.zeros((x.size, 3), np.float32)
    wide[:, 1].set(x)
    assert scan(wide[:, 1], "new").get().tobytes() == first.tobytes()


def lanes(a):
    """The inclusive scan of 32 numbers along the last axis, as the lanes of a warp add them."""
    a, distance = a.copy(), 1
    while distance < 32:
        below = a[..., :-distance].copy()
        a[..., distance:] = below + a[..., distance:]
        distance *= 2
    return a


def by_32(a):
    """The numbers in rows of 32. Results do not depend on the zeros that pad the last row."""
    return np.append(a, np.zeros(-a.size % 32, a.dtype)).reshape(-1, 32)


def joined(*parts):
    """The sum of the parts from left to right, without those that are None; None if all are."""
    parts = [part for part in parts if part is not None]
    return functools.reduce(np.add, parts) if parts else None


def tree(x, warps=4, chunks=4, vector=4):
    """The scan of float32 numbers with the order of additions of pycuda-scan.hpp. A tile has `warps` warps,
    each of which scans `chunks` chunks of 32 lanes with `vector` numbers each; 32 tiles are a group, 32
    groups a supergroup.
    """
    tile = warps * chunks * 32 * vector
    tiles = -(-x.size // tile)
    padded = np.append(x, np.full(tiles * tile - x.size, x[-1]))
    padded = padded.reshape(tiles, warps, chunks, 32, vector)
    # Inclusive sums of lanes in a chunk, sums of warps and tiles; inclusive sums of tiles in a group, of
    # groups in a supergroup, and of supergroups.
    up_to = lanes(functools.reduce(np.add, [padded[..., v] for v in range(vector)]))
    of_warps = functools.reduce(np.add, [up_to[:, :, c, 31] for c in range(chunks)])
    of_tiles = functools.reduce(np.add, [of_warps[:, w] for w in range(warps)])
    in_group = lanes(by_32(of_tiles))
    in_super = lanes(by_32(in_group[:, 31]))
    supers = list(itertools.accumulate(in_super[:, 31], np.add))
    out = np.empty_like(padded)
    for t in range(tiles):
        group, tile_in_group = divmod(t, 32)
        supergroup, group_in_super = divmod(group, 32)
        before = joined(
            supers[supergroup - 1] if supergroup else None,
            in_super[supergroup, group_in_super - 1] if group_in_super else None,
            in_group[group, tile_in_group - 1] if tile_in_group else None,
        )
        for w in range(warps):
            carry = None
            for c in range(chunks):
                first = joined(before, carry)
                others = joined(carry, up_to[t, w, c, :-1])
                run = np.append(
                    np.float32(0 if first is None else first), others if before is None else before + others
                )
                for v in range(vector):
                    added = run + padded[t, w, c, :, v]
                    if first is None and v == 0:
                        added[0] = padded[t, w, c, 0, 0]
                    run = out[t, w, c, :, v] = added
                carry = joined(carry, up_to[t, w, c, 31])
            before = joined(before, of_warps[t, w])
    return out.ravel()[: x.size]


@pytest.mark.parametrize("size", [100, 5000, 2048 * 70 + 5, 2048 * 1100 + 7])
def test_the_order_of_a_scan_is_the_documented_one(size):
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    x[0] = -0.0
    expected = tree(x)
    assert InclusiveScanKernel(np.float32, "a+b")(gpuarray.to_gpu(x)).get().tobytes() == expected.tobytes()
    if size > 4096:
        assert gpuarray.cumsum(gpuarray.to_gpu(x)).get().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float64, np.complex128])
def test_segments_start_anew_at_flags(dtype):
    dtype = np.dtype(dtype)
    inclusive = InclusiveScanKernel(dtype, "a+b")
    exclusive = ExclusiveScanKernel(dtype, "a+b", "0")
    for size in (0, 1, 1000, 100_003):
        x, flags = values(dtype, size), np.random.default_rng(1).random(size) < 0.01
        starts = np.unique(np.append([0] if size else [], np.flatnonzero(flags))).astype(int)
        parts = [np.cumsum(part, dtype=dtype) for part in np.split(x, starts[1:])]
        expected = np.concatenate(parts)
        array, heads = gpuarray.to_gpu(x), gpuarray.to_gpu(flags)
        assert (inclusive(array, "new", segments=heads).get() == expected).all()
        assert (exclusive(array, "new", segments=heads).get() == (expected - x).astype(dtype)).all()


def test_views_and_outputs():
    scan = InclusiveScanKernel(np.int32, "a+b")
    x = np.arange(10_000, dtype=np.int32) % 7
    array, out = gpuarray.to_gpu(x), gpuarray.zeros(20_000, np.int32)
    assert scan(array[::-1], out[::2]).shape == (10_000,)
    assert (out.get()[::2] == np.cumsum(x[::-1])).all() and not out.get()[1::2].any()
    assert (scan(array[1::3], "new").get() == np.cumsum(x[1::3])).all()
    half = gpuarray.to_gpu(x)
    scan(half[:5000])
    assert (half.get() == np.append(np.cumsum(x[:5000]), x[5000:])).all()
    sizes = []

    def allocator(size):
        sizes.append(size)
        return drv.mem_alloc(size)

    scan(array, "new", allocator)
    assert sizes == [40_000]
    stream = drv.Stream()
    result = scan(array, "new", stream=stream)
    stream.synchronize()
    assert (result.get() == np.cumsum(x)).all()
    empty = gpuarray.zeros(0, np.int32)
    assert scan(empty) is empty


def test_many_streams_at_once():
    scan = InclusiveScanKernel(np.int64, "a+b")
    streams = [drv.Stream() for _ in range(4)]
    x = np.arange(200_000)
    array = gpuarray.to_gpu(x)
    drv.Context.synchronize()
    results = [scan(array, "new", stream=stream) for stream in streams * 3]
    drv.Context.synchronize()
    assert all((result.get() == np.cumsum(x)).all() for result in results)


def test_wrong_arguments_are_refused():
    scan = InclusiveScanKernel(np.int32, "a+b")
    array = gpuarray.zeros(100, np.int32)
    with pytest.raises(ValueError, match="needs a neutral element"):
        ExclusiveScanKernel(np.int32, "a+b")
    with pytest.raises(ValueError, match="2 dimensions"):
        scan(gpuarray.zeros((5, 5), np.int32))
    with pytest.raises(ValueError, match=r"the input has shape \(100,\), the output \(50,\)"):
        scan(array, gpuarray.zeros(50, np.int32))
    with pytest.raises(ValueError, match="overlap in part"):
        scan(array[:50], array[1:51])
    pairs = gpuarray.to_gpu(np.arange(20, dtype=np.int32))
    assert scan(pairs[::2], pairs[1::2]).get().tolist() == np.cumsum(np.arange(0, 20, 2)).tolist()
    with pytest.raises(ValueError, match="segments and the output share memory"):
        scan(array[:25], segments=array.view(np.uint8)[75:100])
    with pytest.raises(ValueError, match="'new'"):
        scan(array, "old")
    with pytest.raises(
        TypeError, match="'input_ary' is declared with elements of int32, the array has float32"
    ):
        scan(gpuarray.zeros(100, np.float32))
    with pytest.raises(TypeError, match="'output_ary'"):
        scan(array, gpuarray.zeros(100, np.float32))
    with pytest.raises(TypeError, match="'segments'"):
        scan(array, segments=array)
    with pytest.raises(drv.CompileError, match=r"scan_expr of wrong_scan\(2\): error"):
        InclusiveScanKernel(np.int32, "a +\n nothing", name_prefix="wrong")


def test_attributes_that_pycuda_has():
    scan = ExclusiveScanKernel(np.float32, "a+b", 0, devices=[])
    assert scan.dtype == np.float32 and scan.neutral == 0
    assert scan.scan_wg_size == scan.update_wg_size == 128 and scan.scan_wg_seq_batches > 1
    assert scan.scan_intervals_knl.name == scan.final_update_knl.name == "scan_scan"
    assert dtype_to_ctype(scan.dtype) == "float"
