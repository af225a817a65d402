"""GenericScanKernel: values by an expression, results to a statement, compared with NumPy and plain loops."""

import itertools

import numpy as np
import pytest
from user_kernels import DTYPES, values

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.scan import GenericScanKernel, InclusiveScanKernel
from pycuda.tools import ScalarArg, VectorArg, dtype_to_ctype, get_or_register_dtype

pytestmark = pytest.mark.usefixtures("primary_context", "fresh_caches")

# A tile has 1024 items of 4 bytes, a group 32 tiles.
SIZES = [0, 1, 2, 31, 33, 1000, 1024, 1025, 4096, 32 * 1024 + 1, 100_003]
STORE = "result[i] = item; before[i] = prev_item;"


def sums(dtype, **arguments):
    """A kernel that stores sums up to each element and before it."""
    ctype = dtype_to_ctype(dtype)
    return GenericScanKernel(
        dtype, f"const {ctype} *x, {ctype} *result, {ctype} *before", "x[i]", "a+b", 0, STORE, **arguments
    )


def run(kernel, *host, outputs=2, dtype=None, **arguments):
    """What the kernel writes into arrays like the first one."""
    given = [gpuarray.to_gpu(each) for each in host]
    made = [gpuarray.zeros(host[0].shape, dtype or host[0].dtype) for _ in range(outputs)]
    kernel(*given, *made, **arguments)
    assert all((device.get() == each).all() for device, each in zip(given, host, strict=True))
    return [each.get() for each in made]


class Foreign:
    """Another library's view of an array."""

    def __init__(self, array, read_only=False):
        self.array = array
        data = array.__cuda_array_interface__["data"][0], read_only
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "data": data, "stream": None}


def segmented(x, starts, combine, neutral):
    """(results, results before each) of a loop."""
    results, before, last = [], [], None
    for value, start in zip(x, starts, strict=True):
        if start:
            last = None
        before.append(neutral if last is None else last)
        last = value if last is None else combine(last, value)
        results.append(last)
    return results, before


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_length(dtype):
    kernel = sums(dtype)
    for size in SIZES if dtype != np.float16 else SIZES[:6]:
        x = values(dtype, size)
        result, before = run(kernel, x)
        expected = np.cumsum(x, dtype=dtype)
        assert (result == expected).all() and (before[1:] == expected[:-1]).all() and not before[:1].any()


@pytest.mark.parametrize("index_dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_values_of_the_index_alone(index_dtype):
    kernel = GenericScanKernel(
        np.int64, "long *out", "i + 1", "a+b", "0", "out[N-1-i] = item", index_dtype=index_dtype
    )
    for size in SIZES:
        out = gpuarray.zeros(size, np.int64)
        kernel(out)
        assert (out.get()[::-1] == np.cumsum(np.arange(1, size + 1))).all()


def test_compaction():
    """The order of the selected elements is kept, and nothing is written beyond them."""
    kernel = GenericScanKernel(
        np.int32, "const double *x, double least, double *out, int *count", "x[i] > least", "a+b", "0",
        "if (prev_item != item) out[item - 1] = x[i]; if (i == N - 1) *count = item;",
    )  # fmt: skip
    for size, least in itertools.product(SIZES, [-1, 0.3, 0.999, 2]):
        x = np.random.default_rng(size).random(size)
        out, count = gpuarray.zeros(size, np.float64), gpuarray.zeros(1, np.int32)
        kernel(gpuarray.to_gpu(x), least, out, count)
        chosen = x[x > least]
        assert count.get()[0] == chosen.size
        assert (out.get() == np.append(chosen, np.zeros(size - chosen.size))).all()


def test_partition_by_the_last_item():
    """Elements that hold first, then the others: their places need the total."""
    kernel = GenericScanKernel(
        np.int32, "const int *x, int *out", "x[i] % 3 == 0", "a+b", "0",
        "out[item != prev_item ? prev_item : last_item + i - item] = x[i]",
    )  # fmt: skip
    for size in SIZES:
        x = np.random.default_rng(size).integers(0, 1000, size).astype(np.int32)
        (out,) = run(kernel, x, outputs=1)
        assert (out == np.append(x[x % 3 == 0], x[x % 3 != 0])).all()


SEGMENTED = {
    "across": "across_seg_boundary ? b : a+b",
    "plain": "a+b",
}


@pytest.mark.parametrize("expression", SEGMENTED)
@pytest.mark.parametrize("density", [0, 0.0005, 0.02, 0.7, 1])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.int64, np.complex128])
def test_segments(expression, density, dtype):
    """Segments that are shorter and longer than a tile, with a start at index 0 and without."""
    dtype = np.dtype(dtype)
    ctype = dtype_to_ctype(dtype)
    kernel = GenericScanKernel(
        dtype, f"const {ctype} *x, const unsigned char *starts, {ctype} *result, {ctype} *before", "x[i]",
        SEGMENTED[expression], "100", STORE, is_segment_start_expr="starts[i]",
    )  # fmt: skip
    for size in (0, 1, 33, 1025, 33_000):
        x, starts = values(dtype, size), np.random.default_rng(size).random(size) < density
        x = np.ones_like(x) if dtype == np.int8 else x
        with np.errstate(over="ignore"):
            results, earlier = segmented(list(x), starts, lambda a, b: dtype.type(a + b), 100)
        result, before = run(kernel, x, starts.astype(np.uint8))
        assert (result == np.array(results, dtype)).all() and (before == np.array(earlier, dtype)).all()


def test_segments_with_the_last_item():
    """Results are stored first, those before each too; the last item is that of the last segment."""
    kernel = GenericScanKernel(
        np.int32, "const int *key, int *result, int *before, int *last", "1", "a+b", "0",
        STORE + " last[i] = last_item;", is_segment_start_expr="i > 0 && key[i] != key[i-1]",
    )  # fmt: skip
    for size in SIZES[1:]:
        key = np.sort(np.random.default_rng(size).integers(0, 1 + size // 300, size)).astype(np.int32)
        starts = np.append(True, key[1:] != key[:-1])
        results, earlier = segmented([1] * size, starts, lambda a, b: a + b, 0)
        result, before, last = run(kernel, key, outputs=3)
        assert result.tolist() == results and before.tolist() == earlier and (last == results[-1]).all()


def test_fetched_neighbors():
    """The first elements of runs, as numpy.unique finds them; there is a zero before the first element."""
    kernel = GenericScanKernel(
        np.int32, "const int *x, int *out, int *count, int *seen", "i == 0 || here != before", "a+b", "0",
        "if (item != prev_item) out[prev_item] = x[i]; if (i == N - 1) *count = item;",
        input_fetch_exprs=[("here", "x", 0), ("before", "x", -1)],
    )  # fmt: skip
    for size in SIZES[1:]:
        x = np.sort(np.random.default_rng(size).integers(0, 50, size)).astype(np.int32)
        out, count = gpuarray.zeros(size, np.int32), gpuarray.zeros(1, np.int32)
        kernel(gpuarray.to_gpu(x), out, count, out)
        assert (out.get()[: count.get()[0]] == np.unique(x)).all()
    zero = GenericScanKernel(
        np.int32, "const int *x, int *out", "before", "a+b", "0", "out[i] = item",
        input_fetch_exprs=[("before", "x", -1)],
    )  # fmt: skip
    x = np.arange(1, 2001, dtype=np.int32)
    (out,) = run(zero, x, outputs=1)
    assert (out == np.cumsum(x) - x).all()


PAIR = np.dtype([("scale", np.uint32), ("shift", np.uint32)])
AFFINE = """
struct generic_affine { unsigned scale, shift; };
__device__ generic_affine then(generic_affine f, generic_affine g)
{ generic_affine h = {g.scale * f.scale, g.scale * f.shift + g.shift}; return h; }
"""


def compose(f, g):
    """The affine map of f, then g."""
    return g[0] * f[0] % 2**32, (g[0] * f[1] + g[1]) % 2**32


@pytest.mark.parametrize("last", [False, True], ids=["one pass", "two passes"])
@pytest.mark.parametrize("density", [None, 0, 0.001, 0.3])
def test_structures_keep_their_order(density, last):
    """The composition of affine maps is associative and exact, but not commutative."""
    get_or_register_dtype("generic_affine", PAIR)
    kernel = GenericScanKernel(
        PAIR, "const unsigned *factor, const unsigned *term, const unsigned char *starts, "
        "generic_affine *result, generic_affine *before, unsigned *check",
        "generic_affine{factor[i], term[i]}", "then(a, b)", "generic_affine{1, 0}",
        STORE + f"if (i == N-1) check[0] = {'last_item' if last else 'item'}.shift;",
        is_segment_start_expr=None if density is None else "starts[i]", preamble=AFFINE,
    )  # fmt: skip
    size = 35_000
    random = np.random.default_rng(3)
    factor, term = (random.integers(0, 2**32, size).astype(np.uint32) for _ in range(2))
    starts = random.random(size) < (density or 0)
    maps = list(zip(factor.tolist(), term.tolist(), strict=True))
    results, earlier = segmented(maps, starts, compose, (1, 0))
    made = [gpuarray.zeros(size, PAIR) for _ in range(2)]
    check = gpuarray.zeros(1, np.uint32)
    kernel(*map(gpuarray.to_gpu, (factor, term, starts.astype(np.uint8))), *made, check)
    assert made[0].get().tolist() == results and made[1].get().tolist() == earlier
    assert check.get()[0] == results[-1][1]


def test_a_large_structure():
    dtype = get_or_register_dtype("generic_large", np.dtype([("m", np.int32, 25)]))
    preamble = """
    struct generic_large { int m[25]; };
    __device__ generic_large make(int x)
    { generic_large y; for (int k = 0; k < 25; k++) y.m[k] = x * k; return y; }
    __device__ generic_large sum(generic_large a, generic_large b)
    { for (int k = 0; k < 25; k++) a.m[k] += b.m[k]; return a; }
    """
    kernel = GenericScanKernel(
        dtype, "const int *x, generic_large *out", "make(x[i])", "sum(a, b)", "make(0)", "out[i] = item",
        preamble=preamble,
    )  # fmt: skip
    x = np.random.default_rng(0).integers(-9, 9, 3000).astype(np.int32)
    (out,) = run(kernel, x, outputs=1, dtype=dtype)
    assert (out["m"] == np.cumsum(x)[:, None] * np.arange(25)).all()
    with pytest.raises(ValueError, match="too large for a scan"):
        huge = get_or_register_dtype("generic_huge", np.dtype([("m", np.float64, 300)]))
        GenericScanKernel(huge, "int *x", "x[i]", "a", "0", "")


def in_place(statement, input_expr="x[i]", arguments="int *x", **more):
    return GenericScanKernel(np.int32, arguments, input_expr, "a+b", "0", statement, **more)


@pytest.mark.parametrize("size", [1, 1024, 5000, 70_001])
def test_results_in_place_of_values(size):
    """What values are computed from is what was there before the call, whatever elements are written."""
    x = np.random.default_rng(size).integers(-5, 5, size).astype(np.int32)
    expected = np.cumsum(x)
    before = [("before", "x", -1)]
    for kernel, wanted in [
        (in_place("x[i] = item"), expected),
        (in_place("x[N-1-i] = item"), expected[::-1]),
        (in_place("x[i] = item", "x[N-1-i]"), np.cumsum(x[::-1])),
        (in_place("x[i] = item", "before", input_fetch_exprs=before), expected - x),
        (in_place("*(x + i) = item"), expected),
    ]:
        array = gpuarray.to_gpu(x)
        kernel(array)
        assert (array.get() == wanted).all()


def test_arguments_that_overlap():
    kernel = in_place("out[i] = item", arguments="const int *x, int *out")
    x = np.arange(50_000, dtype=np.int32) % 7
    for source, target in [
        (slice(None), slice(None)),
        (slice(0, -1), slice(1, None)),
        (slice(1, None), slice(0, -1)),
    ]:
        array = gpuarray.to_gpu(x)
        kernel(array[source], array[target])
        expected = x.copy()
        expected[target] = np.cumsum(x[source])
        assert (array.get() == expected).all()


def test_same_bits_at_every_run_and_in_both_ways():
    x = np.random.default_rng(5).standard_normal(400_000).astype(np.float32)
    one = sums(np.float32)
    other = GenericScanKernel(
        np.float32,
        "const float *x, float *result, float *before",
        "x[i]",
        "a+b",
        0,
        STORE + "(void)last_item;",
    )
    first = run(one, x)
    assert np.allclose(first[0], np.cumsum(x.astype(float)), atol=1e-2)
    for kernel in (one, one, other):
        assert [each.tobytes() for each in run(kernel, x)] == [each.tobytes() for each in first]


def test_size_and_short_arrays():
    count = GenericScanKernel(np.int32, "int *x, int *last", "1", "a+b", "0", "if (i == N-1) *last = item")
    x, last = gpuarray.zeros(10, np.int32), gpuarray.zeros(1, np.int32)
    for size in (3, 5000):
        count(x, last, size=size)
        assert last.get()[0] == size
    count(x, last, size=np.int64(0))
    assert last.get()[0] == 5000
    store = sums(np.int32)
    short = gpuarray.zeros(9, np.int32)
    for given, named in [((x, x, short), "before"), ((x, short, x), "result")]:
        with pytest.raises(ValueError, match=f"'{named}' has 9 elements, the scan needs 10"):
            store(*given)
    with pytest.raises(ValueError, match="'x' has 9 elements, the scan needs 10"):
        store(short, x, x, size=10)
    fetch = in_place("", "y", input_fetch_exprs=[("y", "x", 0), ("z", "x", -1)])
    fetch(short)
    with pytest.raises(ValueError, match="'x' has 9 elements, the scan needs 10"):
        fetch(short, size=10)
    in_place("", "z", input_fetch_exprs=[("z", "x", -1)])(short, size=10)
    with pytest.raises(ValueError, match="the size is -1"):
        store(x, x, x, size=-1)
    with pytest.raises(TypeError):
        store(x, x, x, size=2.5)
    small = GenericScanKernel(
        np.int32, "int *x", "1", "a+b", "0", "if (i == N-1) *x = item", index_dtype=np.int8
    )
    small(last, size=127)
    assert last.get()[0] == 127
    with pytest.raises(ValueError, match="must be from 0 to 127, as int8 has it"):
        small(last, size=128)


@pytest.mark.gpu("two thousand million values take minutes on the CPU device")
def test_more_values_than_32_bits_count():
    kernel = GenericScanKernel(
        np.int64, "long *out", "i == 0 || i == 5 || i == N - 1", "a+b", "0",
        "if (item != prev_item) out[prev_item] = i; if (i == N - 1) out[3] = item;",
    )  # fmt: skip
    out, size = gpuarray.zeros(4, np.int64), 2**32 + 12_345
    kernel(out, size=size)
    assert out.get().tolist() == [0, 5, size - 1, 3]


def test_arguments_as_objects_and_names_of_the_expressions():
    """Arguments may have the names of the two values, or of the parameters of the kernel around the text."""
    kernel = GenericScanKernel(
        np.float64, [VectorArg(np.float64, "a"), ScalarArg(np.float32, "b"), VectorArg(np.float64, "n")],
        "a[i] * b", "a+b", "0", "n[i] = item + b",
    )  # fmt: skip
    x = np.arange(3000, dtype=np.float64)
    out = gpuarray.zeros(3000, np.float64)
    kernel(gpuarray.to_gpu(x), 0.5, out)
    assert (out.get() == np.cumsum(x * 0.5) + 0.5).all()


def test_macros_and_types_of_the_preamble():
    kernel = GenericScanKernel(
        np.int32, "int *x", "VALUE", "MORE(a, b)", "0", "GIVE",
        preamble="""
        #define VALUE scan_type(x[index_type(N-1-i)])
        #define MORE(p, q) max(p, q)
        #define GIVE x[i] = prev_item
        """,
    )  # fmt: skip
    x = np.random.default_rng(2).permutation(9000).astype(np.int32)
    array = gpuarray.to_gpu(x)
    kernel(array)
    assert (array.get() == np.append(0, np.maximum.accumulate(x[::-1])[:-1])).all()


@pytest.mark.parametrize("after_calls", [False, True])
def test_variables_of_the_preamble(after_calls):
    """Both ways have the same variables."""
    kernel = in_place("x[i] = item + added; ", "x[i] * factor", preamble="__constant__ int added, factor;")
    turned = in_place("x[N-1-i] = item + added; ", "x[i]", preamble="__constant__ int added;")
    if after_calls:
        kernel(gpuarray.zeros(3, np.int32))
    for name, value in (("added", 7), ("factor", 3)):
        drv.memcpy_htod(kernel.get_global(name)[0], np.int32(value))
    drv.memcpy_htod(turned.get_global("added")[0], np.int32(5))
    array = gpuarray.ones(3, np.int32)
    kernel(array)
    assert array.get().tolist() == [10, 13, 16]
    turned(array)
    assert array.get().tolist() == [44, 28, 15]
    with pytest.raises(drv.LogicError, match="variables are"):
        kernel.get_global("nowhere")


def test_streams_allocators_and_other_libraries_arrays():
    sizes = []

    def allocator(size):
        sizes.append(size)
        return drv.mem_alloc(size)

    kernel = in_place("out[i] = item + last_item * 0", arguments="const int *x, int *out")
    x = np.arange(20_000, dtype=np.int32)
    array, out = gpuarray.to_gpu(x), gpuarray.zeros(20_000, np.int32)
    stream = drv.Stream()
    drv.Context.synchronize()
    kernel(Foreign(array), Foreign(out), stream=stream, allocator=allocator)
    stream.synchronize()
    assert (out.get() == np.cumsum(x)).all() and sizes == [80_000]
    fortran = gpuarray.to_gpu(np.asfortranarray(x.reshape(100, 200)))
    kernel(fortran, out)
    assert (out.get() == np.cumsum(x.reshape(100, 200).ravel("F"))).all()


def test_another_context():
    kernel = in_place("x[i] = item")
    other = drv.Device(0).make_context()
    try:
        array = gpuarray.ones(5, np.int32)
        kernel(array)
        assert array.get().tolist() == [1, 2, 3, 4, 5]
        del array
    finally:
        other.pop()
        other.detach()
    array = gpuarray.ones(5, np.int32)
    kernel(array)
    assert array.get().tolist() == [1, 2, 3, 4, 5]


def test_wrong_arguments_are_refused():
    kernel = in_place("out[i] = item", arguments="const int *x, int *out")
    array = gpuarray.zeros(10, np.int32)
    with pytest.raises(TypeError, match="missing required argument 'out'"):
        kernel(array)
    with pytest.raises(TypeError, match="takes 2 arguments, 3 were given"):
        kernel(array, array, array)
    with pytest.raises(TypeError, match="'x' is declared with elements of int32, the array has float32"):
        kernel(array.astype(np.float32), array)
    with pytest.raises(TypeError, match="'out' is a NumPy array"):
        kernel(array, np.zeros(10, np.int32))
    with pytest.raises(ValueError, match="'x' is not contiguous"):
        kernel(array[::2], array)
    with pytest.raises(ValueError, match="'out' is written to, and the array is read-only"):
        kernel(array, Foreign(array, read_only=True))


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"arguments": "int n"}, ValueError, "needs a pointer"),
        ({"arguments": "nothing *x"}, ValueError, "nothing"),
        ({"index_dtype": np.float32}, ValueError, "index_dtype is float32"),
        ({"input_fetch_exprs": [("y", "x", 1)]}, ValueError, "offset 1: it must be 0 or -1"),
        (
            {"input_fetch_exprs": [("y", "z", 0)]},
            ValueError,
            "'z' of input_fetch_exprs is not an array argument",
        ),
        ({"input_fetch_exprs": [("y z", "x", 0)]}, ValueError, "'y z' of input_fetch_exprs is not a name"),
        ({"input_fetch_exprs": [("y", "x")]}, TypeError, "must be .name, array argument, offset."),
        ({"input_expr": None}, TypeError, "input_expr"),
        ({"dtype": np.dtype([("unknown", np.int8, 3)])}, ValueError, "unable to map dtype"),
    ],
)
def test_wrong_texts_are_refused(change, error, message):
    arguments = dict(
        dtype=np.int32,
        arguments="int *x",
        input_expr="x[i]",
        scan_expr="a+b",
        neutral="0",
        output_statement="",
    )
    with pytest.raises(error, match=message):
        GenericScanKernel(**{**arguments, **change})


@pytest.mark.parametrize(
    "part, what",
    [
        ("input_expr", "input_expr"),
        ("scan_expr", "scan_expr"),
        ("output_statement", "output_statement"),
        ("is_segment_start_expr", "is_segment_start_expr"),
        ("neutral", "neutral"),
        ("preamble", "preamble"),
    ],
)
def test_errors_show_the_users_lines(part, what):
    arguments = dict(input_expr="x[i]", scan_expr="a+b", neutral="0", output_statement="x[i] = item;")
    with pytest.raises(drv.CompileError, match=rf"{what} of wrong_scan\(2\): error"):
        GenericScanKernel(np.int32, "int *x", name_prefix="wrong", **{**arguments, part: "\n nothing"})


def test_as_the_plain_scan():
    """The same operations in the same order as an InclusiveScanKernel's, for exact sums."""
    x = np.random.default_rng(8).integers(-100, 100, 70_000).astype(np.float32)
    (result, _) = run(sums(np.float32), x)
    assert (result == InclusiveScanKernel(np.float32, "a+b")(gpuarray.to_gpu(x)).get()).all()
