"""ReductionKernel: dtypes, lengths, order, layouts and ranges, compared with NumPy; stages that programs
launch themselves."""

import functools
import itertools

import numpy as np
import pytest
from user_kernels import DTYPES, values

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
import pycuda.reduction as reduction
from pycuda.reduction import ReductionKernel
from pycuda.tools import VectorArg, dtype_to_ctype, get_or_register_dtype

pytestmark = pytest.mark.usefixtures("primary_context", "fresh_caches")

SIZES = [0, 1, 31, 32, 33, 1000, 4096, 4097, 65537, 1 << 20]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sum_and_dot_of_every_dtype_and_length(dtype):
    total, dot = reduction.get_sum_kernel(None, dtype), reduction.get_dot_kernel(None, dtype, dtype)
    for size in SIZES if dtype.itemsize > 2 else SIZES[:-1]:
        x, y = values(dtype, size), values(dtype, size, 1)
        x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
        result = total(x_gpu)
        assert result.shape == () and result.dtype == dtype
        if dtype == np.float16:
            assert result.get() == np.sum(x, dtype=np.float32).astype(dtype)
            continue
        assert result.get() == np.sum(x, dtype=dtype)
        assert dot(x_gpu, y_gpu).get() == np.sum(x * y, dtype=dtype)


PAIR = np.dtype([("a", np.uint32), ("b", np.uint32)])
# The affine map x -> a x + b modulo 2**32, and the composition of two.
AFFINE = """
struct red_affine {
    unsigned a, b;
    __device__ red_affine() {}
    __device__ red_affine(unsigned a, unsigned b) : a(a), b(b) {}
};
__device__ red_affine then(red_affine f, red_affine g) { return red_affine(g.a * f.a, g.a * f.b + g.b); }
"""


def test_elements_keep_their_order():
    """The composition of affine maps is associative and exact, but not commutative."""
    get_or_register_dtype("red_affine", PAIR)
    kernel = ReductionKernel(
        PAIR, "red_affine(1, 0)", "then(a, b)", "f[i]", "red_affine *f", preamble=AFFINE, name="compose"
    )
    for size in (*SIZES[:-1], 300_001):
        f = np.empty(size, PAIR)
        f["a"] = np.random.default_rng(0).integers(0, 2**31, size) * 2 + 1
        f["b"] = np.random.default_rng(1).integers(0, 2**32, size)
        # The composition has the product of all a, and the sum of each b times the product of all later a.
        after = np.append(np.multiply.accumulate(f["a"][::-1], dtype=np.uint32)[::-1][1:], np.uint32(1))
        expected = (
            np.multiply.reduce(f["a"], dtype=np.uint32),
            np.add.reduce(f["b"] * after[:size], dtype=np.uint32),
        )
        assert kernel(gpuarray.to_gpu(f)).get().item() == tuple(map(int, expected))


def test_a_large_structure_with_volatile_members():
    """The example of PyCUDA's documentation."""
    dtype = get_or_register_dtype(
        "red_minmax",
        np.dtype([("lo", np.float32), ("hi", np.float32), ("sum", np.float64), ("n", np.int64)], align=True),
    )
    kernel = ReductionKernel(
        dtype,
        neutral="red_minmax(1e30f, -1e30f, 0, 0)",
        reduce_expr="merged(a, b)",
        map_expr="red_minmax(x[i], x[i], x[i], 1)",
        arguments="float *x",
        preamble="""
        struct red_minmax {
            float lo, hi; double sum; long n;
            __device__ red_minmax() {}
            __device__ red_minmax(float lo, float hi, double sum, long n) : lo(lo), hi(hi), sum(sum), n(n) {}
            __device__ red_minmax(red_minmax const &o) : lo(o.lo), hi(o.hi), sum(o.sum), n(o.n) {}
            __device__ red_minmax(red_minmax const volatile &o) : lo(o.lo), hi(o.hi), sum(o.sum), n(o.n) {}
            __device__ red_minmax volatile &operator=(red_minmax const &o) volatile
            { lo = o.lo; hi = o.hi; sum = o.sum; n = o.n; return *this; }
        };
        __device__ red_minmax merged(red_minmax a, red_minmax b)
        { return red_minmax(fminf(a.lo, b.lo), fmaxf(a.hi, b.hi), a.sum + b.sum, a.n + b.n); }
        """,
    )
    x = np.random.default_rng(3).integers(-1000, 1000, 70_001).astype(np.float32)
    got = kernel(gpuarray.to_gpu(x)).get()
    assert (got["lo"], got["hi"], got["sum"], got["n"]) == (x.min(), x.max(), x.sum(dtype=float), x.size)


def test_example_of_the_documentation():
    a = gpuarray.to_gpu(np.arange(400, dtype=np.float32))
    krnl = ReductionKernel(
        np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]*y[i]", arguments="float *x, float *y"
    )
    my_dot_prod = krnl(a, a).get()
    assert my_dot_prod == np.dot(np.arange(400.0), np.arange(400.0))


def test_optional_arguments():
    x = np.arange(100, dtype=np.int32)
    assert ReductionKernel(np.int32, 0, "a+b")(gpuarray.to_gpu(x)).get() == x.sum()
    objects = [VectorArg(np.int32, "in")]
    assert ReductionKernel(np.int64, "0", "a+b", arguments=objects)(gpuarray.to_gpu(x)).get() == x.sum()
    with pytest.raises(AssertionError):
        ReductionKernel(np.int32, "0", "a+b", "x", "int x")


def test_same_bits_for_any_alignment_and_strides():
    x = np.random.default_rng(5).standard_normal(100_001).astype(np.float32)
    kernel = reduction.get_sum_kernel(None, np.float32)
    expected = kernel(gpuarray.to_gpu(x)).get()
    for shift in (1, 2, 5):
        memory = gpuarray.zeros(x.size + shift, np.float32)
        memory[shift:].set(x)
        assert kernel(memory[shift:]).get() == expected
    gaps = gpuarray.zeros((x.size, 2), np.float32)
    gaps[:, 1].set(x)
    assert kernel(gaps[:, 1]).get() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_dot_has_the_same_bits_for_any_alignment_and_strides(dtype):
    """Products and sums are fused, or not, in the same way in each kernel."""
    kernel = reduction.get_dot_kernel(None, dtype, dtype)
    for size in (5, 4099, 100_003):
        x = np.random.default_rng(size).standard_normal(size).astype(dtype)
        arrays = [gpuarray.zeros(size + shift, dtype)[shift:] for shift in (0, 1, 3)]
        arrays.append(gpuarray.zeros((size, 2), dtype)[:, 0])
        for array in arrays:
            array.set(x)
        assert len({kernel(array, array).get().tobytes() for array in arrays}) == 1


def tree(x, vector=4):
    """The sum of float32 numbers in the order of pycuda-reduce.hpp. A lane loads `vector` numbers at a
    time."""
    step = 32 * 4 * vector  # numbers that a warp loads before it adds its lanes

    def halves(parts):
        """The sum of neighbors in pairs, then of neighboring sums, and so on."""
        while len(parts) > 1:
            parts = parts[::2] + parts[1::2]
        return parts[0]

    def warp(part):
        """The sum of a warp's part of a tile."""
        total = np.float32(0)
        for at in range(0, len(part), step):
            rows = np.zeros(step, np.float32)
            rows[: len(part[at : at + step])] = part[at : at + step]
            lanes = rows.reshape(4, 32, vector)
            each = functools.reduce(np.add, [lanes[:, :, k] for k in range(vector)])
            total = np.float32(total + halves(np.array([halves(row) for row in each])))
        return total

    tile = 1024 * vector  # numbers of a block of 8 warps
    parts = []
    for at in range(0, max(len(x), 1), tile):
        warps = [
            warp(x[at + k * tile // 8 : at + (k + 1) * tile // 8][: max(len(x) - at, 0)]) for k in range(8)
        ]
        parts.append(functools.reduce(lambda a, b: np.float32(a + b), warps))
    if len(parts) == 1:
        return parts[0]
    # A block of 256 threads adds the sums of the tiles, each thread those of neighboring tiles.
    share = -(-len(parts) // 256)
    threads = np.zeros(256, np.float32)
    for k in range(256):
        for part in parts[k * share : (k + 1) * share]:
            threads[k] += part
    return functools.reduce(lambda a, b: np.float32(a + b), [halves(row) for row in threads.reshape(8, 32)])


@pytest.mark.parametrize("size", [5, 512, 4096, 5000, 200_003])
def test_the_order_of_a_sum_is_the_documented_one(size):
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    assert reduction.get_sum_kernel(None, np.float32)(gpuarray.to_gpu(x)).get() == tree(x)


def test_layouts_and_broadcasts():
    kernel = ReductionKernel(np.int64, "0", "a+b", "x[i]*y[i]", "int *x, int *y")
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    y = np.arange(6, dtype=np.int32)
    gx, gy = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    assert kernel(gx, gy).get() == (x * y).sum()
    assert kernel(gx, gpuarray.to_gpu(np.asfortranarray(x))).get() == (x * x).sum()
    assert kernel(gx[::-1, ::2], gx[:, 1::2]).get() == (x[::-1, ::2] * x[:, 1::2]).sum()
    assert kernel(gx[:0], gx[:0]).get() == 0
    with pytest.raises(ValueError, match="'y' has shape"):
        kernel(gx, gx[0, :5])


def test_arguments_named_a_and_b():
    """reduce_expr has variables of these names too."""
    kernel = reduction.get_dot_kernel(None, np.int32, np.int32)
    a = np.arange(24, dtype=np.int32).reshape(4, 6)
    gpu = gpuarray.to_gpu(a)
    assert kernel(gpu[:, ::2], gpu[:, 1::2]).get() == (a[:, ::2] * a[:, 1::2]).sum()
    assert all(use.indexed for use in kernel._analysis.uses.values())


SHAPES = [
    (5,),
    (3, 4),
    (1000, 37),
    (37, 1000),
    (4, 300, 5),
    (3, 0, 4),
    (0, 3),
    (2, 70_000),
    (33_333, 8),
    (2, 3, 4, 5),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_along_axes(shape):
    kernel = reduction.get_sum_kernel(np.int64, np.int32)
    x = np.random.default_rng(0).integers(0, 100, shape).astype(np.int32)
    array = gpuarray.to_gpu(x)
    for count in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            assert (kernel(array, axis=axes).get() == x.sum(axes)).all()
            kept = kernel(array, axis=axes, keepdims=True)
            assert kept.shape == x.sum(axes, keepdims=True).shape
    assert (kernel(array, axis=-1).get() == x.sum(-1)).all()
    if len(shape) > 1:
        assert (kernel(array.T, axis=0).get() == x.T.sum(0)).all()
        assert (kernel(array[::-1, ::2], axis=1).get() == x[::-1, ::2].sum(1)).all()


def test_along_axes_into_the_array_itself():
    kernel = ReductionKernel(np.int32, "0", "a+b", "x[i]", "int *x")
    x = np.arange(40_000, dtype=np.int32).reshape(200, 200) % 97
    for axis, place in ((0, np.s_[100]), (1, np.s_[3])):
        array = gpuarray.to_gpu(x)
        out = array[place]
        assert kernel(array, axis=axis, out=out) is out
        expected = x.copy()
        expected[place] = x.sum(axis)
        assert (array.get() == expected).all()


@pytest.mark.parametrize(
    "shape, axis", [((300, 7), 0), ((7, 5000), 1), ((3, 3000, 5), 1), ((2, 40_000), 1), ((50_000, 3), 0)]
)
def test_along_axes_elements_keep_their_order(shape, axis):
    get_or_register_dtype("red_affine", PAIR)
    kernel = ReductionKernel(
        PAIR, "red_affine(1, 0)", "then(a, b)", "f[i]", "red_affine *f", preamble=AFFINE, name="compose"
    )
    f = np.empty(shape, PAIR)
    f["a"] = np.random.default_rng(0).integers(0, 2**31, shape) * 2 + 1
    f["b"] = np.random.default_rng(1).integers(0, 2**32, shape)
    got = kernel(gpuarray.to_gpu(f), axis=axis).get()
    moved = np.moveaxis(f, axis, -1)
    after = np.multiply.accumulate(moved["a"][..., ::-1], axis=-1, dtype=np.uint32)[..., ::-1]
    after = np.concatenate([after[..., 1:], np.ones((*after.shape[:-1], 1), np.uint32)], axis=-1)
    assert (got["a"] == np.multiply.reduce(moved["a"], axis=-1, dtype=np.uint32)).all()
    assert (got["b"] == np.add.reduce(moved["b"] * after, axis=-1, dtype=np.uint32)).all()


def test_along_axes_half_broadcasts_and_errors():
    half = reduction.get_sum_kernel(None, np.float16)
    x = np.full((3, 5000), 0.5, np.float16)
    assert half(gpuarray.to_gpu(x), axis=1).get().tolist() == [2500.0] * 3
    dot = reduction.get_dot_kernel(None, np.int32, np.int32)
    m, v = np.arange(12, dtype=np.int32).reshape(3, 4), np.arange(4, dtype=np.int32)
    gm, gv = gpuarray.to_gpu(m), gpuarray.to_gpu(v)
    assert (dot(gm, gv, axis=1).get() == m @ v).all()
    out = gpuarray.zeros(3, np.int32)
    assert dot(gm, gv, axis=1, out=out) is out and (out.get() == m @ v).all()
    with pytest.raises(
        ValueError, match=r"out has dtype int32 and shape \(4,\); it must have int32 and \(3,\)"
    ):
        dot(gm, gv, axis=1, out=gv)
    with pytest.raises(ValueError, match="does not broadcast"):
        dot(gm, out, axis=1)
    with pytest.raises(ValueError, match="out of bounds"):
        dot(gm, gv, axis=2)
    with pytest.raises(ValueError, match=r"uses i only as in x\[i\]"):
        ReductionKernel(np.int32, "0", "a+b", "x[i]*i", "int *x")(gv, axis=0)


def test_out_allocator_stream_and_wrapper():
    kernel = ReductionKernel(np.int64, "0", "a+b", "x[i]", "int *x", "total")
    x = gpuarray.to_gpu(np.arange(100_000, dtype=np.int32))
    expected = np.arange(100_000).sum()
    out = gpuarray.zeros(5, np.int64)
    assert kernel(x, out=out[3]).get() == expected
    assert out.get().tolist() == [0, 0, 0, expected, 0]
    kernel(x, out=out)
    assert out.get()[0] == expected
    with pytest.raises(ValueError, match="total: out has dtype int32, the result int64"):
        kernel(x, out=x)
    with pytest.raises(ValueError, match="no element"):
        kernel(x, out=out[:0])
    sizes = []

    def allocator(size):
        sizes.append(size)
        return drv.mem_alloc(size)

    assert kernel(x, allocator=allocator).get() == expected and sizes == [8]
    inherited = gpuarray.to_gpu(np.arange(10, dtype=np.int32), allocator)
    del sizes[:]
    assert kernel(inherited).get() == 45 and sizes == [8]
    calls = []

    def wrapper(launch):
        def wrapped(*args, **kwargs):
            calls.append(args[0])
            return launch(*args, **kwargs)

        return wrapped

    assert kernel(x, kernel_wrapper=wrapper).get() == expected and calls
    streams = [drv.Stream() for _ in range(3)]
    results = [kernel(x, stream=stream) for stream in streams * 5]
    for stream in streams:
        stream.synchronize()
    assert all(result.get() == expected for result in results)


def test_bad_arguments_and_errors():
    kernel = ReductionKernel(np.int32, "0", "a+b", "x[i]", "int *x", "total")
    with pytest.raises(TypeError, match="total: the argument 'x' is declared with elements of int32"):
        kernel(gpuarray.zeros(5, np.float32))
    with pytest.raises(TypeError, match="missing required argument 'x'"):
        kernel()
    with pytest.raises(TypeError, match="'x' is a NumPy array"):
        kernel(np.zeros(5, np.int32))
    with pytest.raises(TypeError, match="unexpected keyword"):
        kernel(gpuarray.zeros(5, np.int32), queue=None)
    for part, text in (
        ("reduce_expr", {"reduce_expr": "a +\n wrong"}),
        ("map_expr", {"map_expr": "x[i] +\n wrong"}),
        ("neutral", {"neutral": "\nwrong"}),
    ):
        given = {"neutral": "0", "reduce_expr": "a+b", "map_expr": "x[i]", "arguments": "int *x", **text}
        with pytest.raises(drv.CompileError, match=rf"{part} of reduce_kernel\(2\): error"):
            ReductionKernel(np.int32, **given)


# ---- attributes and functions that programs use


class Client(ReductionKernel):
    """Launches the two stages itself, as PyCBC does."""

    def __call__(self, *args, **kwargs):
        size, block = args[0].size, (self.block_size, 1, 1)
        assert [code for code in self.stage1_arg_types if code == "P"]
        blocks = min(-(-size // (4 * self.block_size)), 64)
        seq_count = -(-size // (blocks * self.block_size))  # elements of a thread
        partial, last = gpuarray.empty((blocks,), self.dtype_out), gpuarray.empty((), self.dtype_out)
        shared = self.block_size * self.dtype_out.itemsize
        addresses = [arg.gpudata for arg in args]
        self.stage1_func(
            (blocks, 1), block, None, partial.gpudata, *addresses, seq_count, size, shared_size=shared
        )
        self.stage2_func(
            (1, 1), block, None, last.gpudata, partial.gpudata, *addresses, 1, blocks, shared_size=shared
        )
        return last


def test_attributes_of_the_two_stages():
    kernel = Client(np.complex128, "0", "a+b", "x[i]*y[i]", "double *x, pycuda::complex<double> *y")
    assert kernel.stage1_arg_types == ["P", "P"] and kernel.stage2_arg_types == ["P", "P", "P"]
    x = np.arange(50_000.0)
    y = x - 1j * x[::-1]
    assert kernel(gpuarray.to_gpu(x), gpuarray.to_gpu(y)).get() == (x * y).sum()
    assert "seq_count" in kernel.stage_1_inf.source
    function, codes = reduction.get_reduction_kernel_and_types(
        2, "float", 128, "0", "a+b", arguments="float *x"
    )
    assert codes == ["P", "P"] and function.name == "reduce_kernel"


def test_functions_that_return_kernels():
    x = np.array([3, 0, 7, 5, 1], np.float32)
    index = np.array([1, 2, 2, 4], np.int32)
    gx, gi = gpuarray.to_gpu(x), gpuarray.to_gpu(index)
    assert reduction.get_any_kernel(np.bool_, np.float32)(gx).get()
    assert not reduction.get_all_kernel(np.bool_, np.float32)(gx).get()
    assert reduction.get_any_kernel(np.int8, np.complex64)(gpuarray.to_gpu(x * 1j)).get() == 1
    assert reduction.get_subset_sum_kernel(None, np.int32, np.float32)(gi, gx).get() == x[index].sum()
    assert reduction.get_subset_sum_kernel(np.float64, np.int32, np.float32)(gi, gx).get() == x[index].sum()
    assert reduction.get_subset_dot_kernel(np.float32, np.int32)(gi, gx, gx).get() == (x[index] ** 2).sum()
    assert (
        reduction.get_dot_kernel(np.complex64, np.float32, np.complex64)(gx, gpuarray.to_gpu(x * 1j)).get()
        == 84j
    )
    assert (
        reduction.get_dot_kernel(np.float64, np.int32, np.float32)(gi, gx[:4]).get() == (index * x[:4]).sum()
    )
    for dtype in map(np.dtype, "bIqQefd?"):
        host, array = x.astype(dtype), gpuarray.to_gpu(x.astype(dtype))
        for what in ("min", "max"):
            kernel = reduction.get_minmax_kernel(what, dtype)
            assert kernel(array).get() == getattr(host, what)()
            if dtype.kind != "b":  # elements that are the worst for what is wanted, as is the neutral value
                limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
                worst = limits.max if what == "min" else limits.min
                assert kernel(gpuarray.to_gpu(np.full(3, worst, dtype))).get() == worst
    assert reduction.get_subset_minmax_kernel("max", np.float32, np.int32)(gi, gx).get() == x[index].max()
    with_nan = gpuarray.to_gpu(np.array([np.nan, 2, 1, np.nan], np.float32))
    assert reduction.get_minmax_kernel("max", np.float32)(with_nan).get() == 2
    assert reduction.get_minmax_kernel("max", np.float32) is reduction.get_minmax_kernel("max", np.float32)
    with pytest.raises(TypeError, match="has no order"):
        reduction.get_minmax_kernel("max", np.complex64)
    with pytest.raises(ValueError, match="'min' or 'max'"):
        reduction.get_minmax_neutral("sum", np.float32)
    assert dtype_to_ctype(np.float32) == "float"


@pytest.mark.parametrize("given", [(3, -5, 7), (None, None, -1), (990, 20, -3), (5, 5), (7, None)])
def test_slice_and_range(given):
    """slice= and range= select the values of i, which map_expr may use itself."""
    x, y = values(np.dtype("f8"), 1000), values(np.dtype("f8"), 1000, 1)
    kernel = ReductionKernel(
        dtype=np.float64, neutral=0, reduce_expr="a+b", map_expr="x[i]*y[i]*s + i", arguments="double *x, "
        "double s, double *y",
    )  # fmt: skip
    x_gpu, y_gpu, chosen = gpuarray.to_gpu(x), gpuarray.to_gpu(y), slice(*given)
    indices = np.arange(1000)[chosen]
    want = (x * y * 2 + np.arange(1000))[chosen].sum()
    assert kernel(x_gpu, np.float64(2), y_gpu, slice=chosen).get() == want
    if len(indices):
        whole = slice(int(indices[0]), int(indices[-1]) + int(np.sign(chosen.step or 1)), chosen.step)
        if whole.stop >= 0:
            out = gpuarray.zeros((), np.float64)
            got = kernel(x_gpu, np.float64(2), y_gpu, range=whole, stream=drv.Stream(), out=out)
            assert got is out and got.get() == want


def test_wrong_ranges():
    x = gpuarray.zeros(10, np.float32)
    kernel = ReductionKernel(np.float32, "0", "a+b", "x[i]", "float *x")
    with pytest.raises(ValueError, match="from index 0 to 10, the argument 'x' has 10 elements"):
        kernel(x, range=slice(0, 11))
    with pytest.raises(TypeError, match="needs a start and a stop"):
        kernel(x, range=slice(None, 3))
    with pytest.raises(TypeError, match="exclude each other"):
        kernel(x, range=slice(0, 3), slice=slice(0, 3))
    with pytest.raises(TypeError, match="axis= cannot be combined"):
        kernel(x, slice=slice(0, 3), axis=0)
    hidden = ReductionKernel(np.float32, "0", "a+b", "READ(x)", "float *x", preamble="#define READ(x) x[i]")
    with pytest.raises(RuntimeError, match="uses i directly"):
        hidden(x, slice=slice(0, 3))


@pytest.mark.parametrize("part, text", [("map_expr", "(x[i]"), ("reduce_expr", "a + b)"), ("neutral", "{0")])
def test_brackets_that_do_not_match(part, text):
    texts = {"neutral": "0", "reduce_expr": "a + b", "map_expr": "x[i]", part: text}
    with pytest.raises(drv.CompileError) as error:
        kernel = ReductionKernel(np.float32, arguments="const float *x", name="wrong", **texts)
        kernel(gpuarray.zeros(10, np.float32))
    assert f"{part} of wrong(1): " in str(error.value) and f"  {text}\n" in str(error.value)
