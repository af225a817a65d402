"""ElementwiseKernel: dtypes, lengths, layouts, ranges and overlapping arrays, compared with NumPy; errors."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from user_kernels import DTYPES

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda._kernels.plans import layout
from pycuda._kernels.user import elementwise
from pycuda.elementwise import ElementwiseKernel, ScalarArg, VectorArg
from pycuda.tools import clear_context_caches, dtype_to_ctype, get_or_register_dtype

pytestmark = pytest.mark.usefixtures("primary_context", "fresh_caches")

LONG = elementwise.STREAMING_FROM  # from this many elements on there is another kernel
SIZES = [0, 1, 31, 32, 33, 1000, 65537, LONG, LONG + 4099]


def values(dtype, shape, seed=0):
    """Random small integers, whose sums and products are exact in every dtype, as an array of NumPy."""
    drawn = np.random.default_rng(seed).integers(0, 5, shape)
    if dtype.kind == "c":
        return (drawn + 1j * np.random.default_rng(seed + 1).integers(0, 5, shape)).astype(dtype)
    return drawn.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_length(dtype):
    name = dtype_to_ctype(dtype)
    kernel = ElementwiseKernel(f"{name} a, {name} *x, {name} *y, {name} *z", "z[i] = a*x[i] + y[i]")
    for size in SIZES:
        x, y = values(dtype, size), values(dtype, size, 2)
        z = gpuarray.empty(size, dtype)
        kernel(dtype.type(3), gpuarray.to_gpu(x), gpuarray.to_gpu(y), z)
        assert (z.get() == (dtype.type(3) * x + y).astype(dtype)).all()


@pytest.mark.parametrize("size", [1000, LONG + 5])
def test_structures_and_vectors(size):
    pair = get_or_register_dtype("ew_pair", np.dtype([("a", np.int32), ("b", np.float64)], align=True))
    kernel = ElementwiseKernel(
        "ew_pair *p, float4 *v, float *z",
        "z[i] = p[i].a + p[i].b + v[i].w; p[i].a = i",
        preamble="struct ew_pair { int a; double b; };",
    )
    p = np.zeros(size, pair)
    p["a"], p["b"] = np.arange(size) % 100, 0.5
    v = np.zeros(size, gpuarray.vec.float4)
    v["w"] = np.arange(size) % 7
    gpu, z = gpuarray.to_gpu(p), gpuarray.empty(size, np.float32)
    kernel(gpu, gpuarray.to_gpu(v), z)
    assert (z.get() == p["a"] + p["b"] + v["w"]).all()
    assert (gpu.get()["a"] == np.arange(size)).all()


def test_a_structure_of_another_size_than_its_dtype_does_not_compile():
    dtype = get_or_register_dtype("ew_packed", np.dtype([("a", np.int8), ("b", np.float64)]))
    kernel = ElementwiseKernel(
        "ew_packed *x", "x[i].a = 1", preamble="struct ew_packed { char a; double b; };"
    )
    with pytest.raises(drv.CompileError, match="ew_packed does not have the 9 bytes of its dtype"):
        kernel(gpuarray.empty(3, dtype))


# ---- PyCUDA's examples


def test_example_of_the_documentation():
    linear = ElementwiseKernel(
        "float a, float *x, float b, float *y, float *z",
        "z[i] = my_f(a*x[i], b*y[i])",
        "linear_combination",
        preamble="""
        __device__ float my_f(float x, float y)
        {
          return x*y + 1;
        }
        """,
    )
    x, y = np.random.default_rng(1).random((2, 50), np.float32)
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    z_gpu = gpuarray.empty_like(x_gpu)
    linear(5, x_gpu, 6, y_gpu, z_gpu)
    assert np.allclose(z_gpu.get(), 5 * x * 6 * y + 1)


def test_complex_example():
    kernel = ElementwiseKernel(
        "pycuda::complex<float> *x, pycuda::complex<float> *y, pycuda::complex<float> *z",
        "z[i] = x[i] * y[i]",
    )
    x = values(np.dtype(np.complex64), 400)
    z = gpuarray.empty(400, np.complex64)
    kernel(gpuarray.to_gpu(x), gpuarray.to_gpu(x + 1), z)
    assert (z.get() == x * (x + 1)).all()


def test_a_list_of_arguments_is_not_changed():
    arguments = [VectorArg(np.float32, "x"), ScalarArg(np.float32, "a")]
    kernel = ElementwiseKernel(arguments, "x[i] = a")
    x = gpuarray.empty(10, np.float32)
    kernel(x, 3)
    kernel(x, 4, range=slice(2, 5))
    assert len(arguments) == 2 and x.get().tolist() == [3, 3, 4, 4, 4, 3, 3, 3, 3, 3]


def test_names_of_the_loop():
    """An operation may use i, n, tid, cta_start and total_threads, as in PyCUDA's loop."""
    kernel = ElementwiseKernel(
        "int *x, int *threads",
        "x[i] = i == cta_start + tid + rounds++ * total_threads ? (int)n : -1; mine++",
        loop_prep="int rounds = 0, mine = 0",
        after_loop="atomicAdd(threads, mine)",
    )
    for size in (1, 5000, 300_000):
        x, count = gpuarray.zeros(size, np.int32), gpuarray.zeros(1, np.int32)
        kernel(x, count)
        assert (x.get() == size).all() and count.get()[0] == size


def test_advancing_by_the_number_of_threads():
    kernel = ElementwiseKernel("int *x", "x[i] = 1; i += total_threads; if (i < n) x[i] = 2")
    x = gpuarray.zeros(LONG, np.int32)
    kernel(x)
    assert set(x.get()) <= {1, 2}


# ---- range and slice


@pytest.mark.parametrize(
    "which",
    [slice(0, 10), slice(5, 1000, 7), slice(999, 3, -2), slice(0, 0), slice(7, 8, None), slice(10, 5)],
    ids=str,
)
def test_range_is_a_slice_of_the_index(which):
    kernel = ElementwiseKernel("int *x", "x[i] = i + step")
    x, expected = gpuarray.zeros(1000, np.int32), np.zeros(1000, np.int32)
    step = which.step or 1
    for i in range(which.start, which.stop, step):
        expected[i] = i + step
    kernel(x, range=which)
    assert (x.get() == expected).all()


@given(st.slices(100))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_slice(which):
    x, expected = gpuarray.zeros(100, np.int32), np.zeros(100, np.int32)
    expected[which] = 1
    SET(x, slice=which)
    assert (x.get() == expected).all()


SET = ElementwiseKernel("int *x", "x[i] = 1", "set")


def test_wrong_ranges():
    x, y = gpuarray.zeros(10, np.int32), gpuarray.zeros(5, np.int32)
    both = ElementwiseKernel("int *x, int *y", "x[i] = y[i]", "both")
    with pytest.raises(TypeError, match="exclude each other"):
        SET(x, range=slice(0, 2), slice=slice(0, 2))
    with pytest.raises(TypeError, match="needs a start and a stop"):
        SET(x, range=slice(3))
    with pytest.raises(TypeError, match="slice object"):
        SET(x, range=(0, 3))
    with pytest.raises(ValueError, match="from index 0 to 10, the argument 'x' has 10 elements"):
        SET(x, range=slice(0, 11))
    with pytest.raises(ValueError, match="from index -1"):
        SET(x, range=slice(4, -2, -1))
    with pytest.raises(ValueError, match="the argument 'y' has 5 elements"):
        both(x, y, range=slice(0, 6))
    both(x, y, range=slice(0, 5))
    with pytest.raises(TypeError, match="unexpected keyword"):
        SET(x, queue=None)


# ---- layouts

SUM = ElementwiseKernel("int *x, int *y, int *z", "z[i] = x[i] + 2*y[i]", "sum")
NUMBERED = ElementwiseKernel("int *x, int *z", "z[i] = x[i] + i", "numbered")


@st.composite
def views(draw, shape, broadcasts=False):
    """(host, device): a random array of this shape, or with broadcasts of one that broadcasts to it, with any
    strides."""
    lengths = [1 if broadcasts and draw(st.integers(0, 3)) == 0 else length for length in shape]
    if broadcasts:
        lengths = lengths[draw(st.integers(0, len(lengths))) :]
    order = draw(st.permutations(range(len(lengths))))
    starts = [draw(st.integers(0, 2)) for _ in lengths]
    steps = [draw(st.sampled_from([1, 1, -1, 2, -2, 3])) for _ in lengths]
    whole = [start + length * abs(step) for start, length, step in zip(starts, lengths, steps, strict=True)]
    memory = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 99, [whole[axis] for axis in order])
    host = memory.astype(np.int32)
    device = gpuarray.to_gpu(host)
    if not lengths:
        return host.reshape(()), device.reshape(())
    axes = [int(axis) for axis in np.argsort(order)]
    index = tuple(
        slice(start, None, step) if step > 0 else slice(count - 1 - start, None, step)
        for start, step, count in zip(starts, steps, whole, strict=True)
    )
    part = tuple(slice(0, length) for length in lengths)
    return host.transpose(axes)[index][part], device.transpose(axes)[index][part]


@given(st.data(), st.lists(st.integers(1, 5), min_size=0, max_size=5).map(tuple))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_strides_and_broadcasts(data, shape):
    (x, x_gpu), (_, z_gpu) = data.draw(views(shape)), data.draw(views(shape))
    y, y_gpu = data.draw(views(shape, broadcasts=True))
    SUM(x_gpu, y_gpu, z_gpu)
    assert (z_gpu.get() == x + 2 * y).all()
    NUMBERED(x_gpu, z_gpu)
    if not (x_gpu.flags.forc and z_gpu.flags.forc):
        assert (z_gpu.get() == x + np.arange(x.size).reshape(shape)).all()


def test_indices_of_64_bits(monkeypatch):
    """_NARROW is the number of elements from which they are used."""
    monkeypatch.setattr(layout, "_NARROW", 1)
    kernel = ElementwiseKernel("int *x, int *y, int *z", "z[i] = x[i] + 2*y[i]", "wide")
    x, z = np.arange(60, dtype=np.int32).reshape(3, 4, 5), gpuarray.empty((3, 4, 5), np.int32)
    array = gpuarray.to_gpu(x)
    kernel(array[::-1], array[:, :, :1], z)
    assert (z.get() == x[::-1] + 2 * x[:, :, :1]).all()
    assert any(variant[0] == "strided" and variant[1][0] for _, variant in kernel._functions)  # wide


def test_arrays_in_fortran_order_are_traversed_in_that_order():
    x = np.asfortranarray(np.arange(12, dtype=np.int32).reshape(3, 4))
    z = gpuarray.empty((3, 4), np.int32, order="F")
    NUMBERED(gpuarray.to_gpu(x), z)
    assert (z.get() == x + np.arange(12).reshape((3, 4), order="F")).all()


def test_c_and_fortran_order_together():
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    z = gpuarray.empty((3, 4), np.int32)
    SUM(gpuarray.to_gpu(x), gpuarray.to_gpu(np.asfortranarray(x)), z)
    assert (z.get() == 3 * x).all()


def test_same_gaps_and_large_strides():
    x = np.arange(2 * LONG + 10, dtype=np.int32)
    a = gpuarray.to_gpu(x)
    SUM(a[::2], a[::2], a[1::2])
    assert (a.get()[1::2] == 3 * x[::2]).all()


def test_long_arrays_of_any_layout():
    kernel = ElementwiseKernel("int *x, int *y, int *z", "z[i] = x[i] + 2*y[i]", "sum")
    x = np.arange(400 * 400, dtype=np.int32).reshape(400, 400)
    y = np.arange(400, dtype=np.int32)
    a, b = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    z = gpuarray.empty((400, 400), np.int32)
    kernel(a, b, z)
    assert (z.get() == x + 2 * y).all()
    kernel(a.T, b, z)
    assert (z.get() == x.T + 2 * y).all()
    kernel(a, a.T, z)
    assert (z.get() == x + 2 * x.T).all()
    kernel(a[::-1], z, z[::-1, ::-1][::-1, ::-1])
    assert (z.get() == x[::-1] + 2 * (x + 2 * x.T)).all()
    kernel(b[:1], b, a[0, :1])
    wide = gpuarray.to_gpu(np.repeat(x, 2, axis=1))
    kernel(wide[:, ::2], wide[:, 1::2], wide[:, ::2])
    assert (wide.get()[:, ::2] == 3 * x).all() and (wide.get()[:, 1::2] == x).all()
    assert any(variant[0] == "disjoint" for _, variant in kernel._functions)


def test_neighbors_through_strides():
    kernel = ElementwiseKernel("int *x, int *z", "z[i] = x[i] + (i + 1 < n ? x[i + 1] : 0)")
    x = np.arange(40, dtype=np.int32).reshape(4, 10)
    view, z = gpuarray.to_gpu(x)[:, ::3], gpuarray.empty((4, 4), np.int32)
    kernel(view, z)
    flat = x[:, ::3].ravel()
    assert (z.get().ravel() == flat + np.append(flat[1:], 0)).all()


def test_pointers_need_contiguous_arrays():
    kernel = ElementwiseKernel("int *x, int *z", "z[i] = *(x + i)", "peek")
    x = gpuarray.to_gpu(np.arange(10, dtype=np.int32))
    z = gpuarray.empty(5, np.int32)
    kernel(x[:5], z)
    with pytest.raises(RuntimeError, match="peek: the argument 'x' is used as a pointer"):
        kernel(x[::2], z)


@pytest.mark.parametrize(
    "operation",
    ["z[i] = 2*x[i]", "x[i] = x[i] + 1; z[i] = x[i]", "z[i] = x[i]; x[i] = 7", "if (i & 1) z[i] = x[i] + 3"],
)
def test_in_place_and_overlapping_long_arrays(operation):
    kernel = ElementwiseKernel("int *x, int *z", operation)
    size = LONG + 1001

    def run_on_host(x, z):
        """Runs the operation for all elements of two arrays of NumPy."""
        variables = {"x": x, "z": z}
        if "if" in operation:
            z[1::2] = x[1::2] + 3
        else:
            for statement in operation.replace("[i]", "[:]").split(";"):
                exec(statement.strip(), variables)

    for shift in (0, size):  # in place, and without overlap; a partial overlap has no defined result
        host = np.arange(2 * size, dtype=np.int32) % 1000
        device = gpuarray.to_gpu(host)
        kernel(device[:size], device[shift : shift + size])
        run_on_host(host[:size], host[shift : shift + size])
        assert (device.get() == host).all()


PLUS_ONE = ElementwiseKernel("int *z, int *x", "z[i] = x[i] + 1", "plus_one")


@pytest.mark.parametrize("size", [100, 3000, LONG + 78])
def test_overlapping_arrays_are_read_before_they_are_written(size):
    host = np.arange(size, dtype=np.int32)
    for target, source in [
        (np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[:], np.s_[::-1]), (np.s_[::-1], np.s_[:]),
        (np.s_[::2], np.s_[: size // 2]), (np.s_[: size // 2], np.s_[::2]), (np.s_[:], np.s_[:]),
        (np.s_[::2], np.s_[1::2]), (np.s_[:5], np.s_[3:4]),
    ]:  # fmt: skip
        expected, device = host.copy(), gpuarray.to_gpu(host)
        if size % 2 and source == np.s_[1::2]:
            continue
        for _ in range(2):  # the second call uses the remembered plan
            expected[target] = expected[source].copy()[: len(expected[target])] + 1
            PLUS_ONE(device[target], device[source])
        assert (device.get() == expected).all(), (target, source)


def views_at(start, shape, steps, memory, device):
    """(view of the host's memory, the same view of the device's) at an element, with steps in elements."""
    strides = tuple(4 * step for step in steps)
    return (
        np.lib.stride_tricks.as_strided(memory[start:], shape, strides),
        gpuarray.GPUArray(shape, np.int32, base=device, gpudata=device.ptr + 4 * start, strides=strides),
    )


@given(st.data(), st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_views_of_one_array_of_any_strides(data, shape):
    memory = np.random.default_rng(0).integers(0, 99, 4000).astype(np.int32)
    device = gpuarray.to_gpu(memory)
    steps, step = [0] * len(shape), 1
    for axis in data.draw(st.permutations(range(len(shape)))):
        step *= data.draw(st.integers(1, 2))
        steps[axis] = step * data.draw(st.sampled_from([1, -1]))
        step *= shape[axis]
    z, z_gpu = views_at(2000, shape, steps, memory, device)
    (x, x_gpu), (y, y_gpu) = (
        views_at(
            data.draw(st.integers(1950, 2050)), shape,
            data.draw(st.sampled_from([steps, [data.draw(st.integers(-9, 9)) for _ in shape]])),
            memory, device,
        )
        for _ in range(2)
    )  # fmt: skip
    SUM(x_gpu, y_gpu, z_gpu)
    z[...] = x + 2 * y
    assert (device.get() == memory).all()


def test_ranges_of_overlapping_arrays():
    device = gpuarray.to_gpu(np.arange(100, dtype=np.int32))
    PLUS_ONE(device[1:], device[:-1], slice=slice(10, 90))
    expected = np.arange(100)
    expected[11:91] = np.arange(10, 90) + 1
    assert (device.get() == expected).all()
    both = ElementwiseKernel("int *x, int *y", "x[i] = 1; y[i] = 2", "both")
    both(device[:50], device[25:], range=slice(0, 25))  # these elements do not overlap
    assert (device.get()[:50] == np.repeat([1, 2], 25)).all()
    with pytest.raises(ValueError, match="both: the arguments 'x' and 'y' share memory"):
        both(device[:50], device[25:], range=slice(0, 26))


def test_overlapping_arrays_that_are_both_written():
    device = gpuarray.zeros(200, np.int32)
    for text in ("x[i] = 1; y[i] = 2", "x[i] += 1; y[i] += 2"):
        kernel = ElementwiseKernel("int *x, int *y", text, "both")
        with pytest.raises(ValueError, match="both: the arguments 'x' and 'y' share memory"):
            kernel(device[1:], device[:-1])
        kernel(device[:100], device[100:])
    # A condition may keep the writes apart, and atomic functions need no order.
    apart = ElementwiseKernel("int *x, int *y", "if (i < 50) x[i] = 5; else y[i] = 6")
    apart(device[:100], device[50:150])
    assert device.get().tolist() == [5] * 50 + [2] * 50 + [6] * 50 + [4] * 50
    count = gpuarray.zeros(101, np.int32)
    ElementwiseKernel("int *x, int *y", "atomicAdd(&x[i], 1); atomicAdd(&y[i], 1)")(count[1:], count[:-1])
    assert count.get().tolist() == [1] + [2] * 99 + [1]


def test_a_broadcast_array_is_not_written():
    one, x = gpuarray.zeros(1, np.int32), gpuarray.to_gpu(np.arange(40, dtype=np.int32))
    wide = gpuarray.broadcast_to(one, (40,))
    with pytest.raises(ValueError, match="plus_one: several elements of the argument 'z' share memory"):
        PLUS_ONE(wide, x)
    ElementwiseKernel("int *sum, int *x", "atomicAdd(&sum[i], x[i])")(wide, x)
    assert one.get()[0] == 780


def test_an_overlapping_array_that_a_macro_writes_is_not_copied():
    """The parser does not see that write. The compiler finds it, so that the kernel does not write to a
    copy."""
    kernel = ElementwiseKernel("int *z, int *x", "z[i] = 1; BUMP(x[i])", preamble="#define BUMP(v) (v) += 7")
    x = gpuarray.zeros(300, np.int32)
    kernel(x[:200], x[100:])
    assert (x.get()[200:] == 7).all() and (x.get()[:100] == 1).all()


def test_longer_arrays_are_used_from_their_start_and_tables_by_index():
    kernel = ElementwiseKernel("int *z, int *x, int *table", "z[i] = x[i] + table[x[i] % 4]")
    x = np.arange(20, dtype=np.int32)
    table = np.array([5, 6, 7, 8], np.int32)
    z = gpuarray.empty(10, np.int32)
    kernel(z, gpuarray.to_gpu(x), gpuarray.to_gpu(table))
    assert (z.get() == x[:10] + table[x[:10] % 4]).all()


def test_a_shorter_array_whose_elements_a_condition_selects():
    kernel = ElementwiseKernel("int *z, int *x", "z[i] = i < 4 ? x[i] : 0")
    z = gpuarray.empty(10, np.int32)
    kernel(z, gpuarray.to_gpu(np.arange(1, 5, dtype=np.int32)))
    assert z.get().tolist() == [1, 2, 3, 4, 0, 0, 0, 0, 0, 0]


# ---- wrong arguments and compiler errors


def test_bad_arguments():
    x, y = gpuarray.zeros(10, np.int32), gpuarray.zeros(5, np.int32)
    long_one = gpuarray.zeros((2, 5), np.int32)
    with pytest.raises(
        ValueError, match=r"sum: the argument 'y' has shape \(5,\), the first vector 'x' \(10,\)"
    ):
        SUM(x, y, x)
    with pytest.raises(ValueError, match="'z' has shape .*: .*it is written"):
        SUM(long_one, y, y)
    for wrong in (np.float32, np.uint32, np.int64):
        with pytest.raises(TypeError, match="'y' is declared with elements of int32"):
            SUM(x, gpuarray.zeros(10, wrong), x)
    with pytest.raises(TypeError, match="'y' is a NumPy array"):
        SUM(x, np.zeros(10, np.int32), x)
    SUM(x, x, x)  # a valid call, which is remembered: the errors stay the same
    with pytest.raises(TypeError, match="'y' is a NumPy array"):
        SUM(x, np.zeros(10, np.int32), x)
    with pytest.raises(TypeError, match="'y' is int"):
        SUM(x, 5, x)
    with pytest.raises(TypeError, match="missing required arguments 'y', 'z'"):
        SUM(x)
    with pytest.raises(AssertionError):
        ElementwiseKernel("int a", "a")(3)
    with pytest.raises(ValueError, match="unknown type"):
        ElementwiseKernel("nonsense *a", "a[i] = 0")(x)


def test_unsigned_char_takes_bool_and_float2_takes_complex():
    kernel = ElementwiseKernel("unsigned char *m, float2 *c", "if (m[i]) c[i].y = 0")
    c = gpuarray.to_gpu(np.full(4, 1 + 1j, np.complex64))
    kernel(gpuarray.to_gpu(np.array([True, False, True, False])), c)
    assert c.get().tolist() == [1, 1 + 1j, 1, 1 + 1j]


def test_an_error_shows_the_users_line():
    kernel = ElementwiseKernel(
        "int *x", "x[i] = 1;\nx[i] = nothing;", "wrong", preamble="// a\n__device__ f();"
    )
    with pytest.raises(drv.CompileError) as error:
        kernel(gpuarray.zeros(10, np.int32))
    assert "operation of wrong(2): error" in str(error.value) and "x[i] = nothing;" in str(error.value)
    assert "preamble of wrong(2): error" in str(error.value)


@pytest.mark.parametrize(
    "operation, place, line",
    [
        ("x[i] = (1", "(1): '(' is not closed", "  x[i] = (1\n         ^"),
        ("x[i] = 1;\nx[i] = f(2));", "(2): ')' closes nothing", "  x[i] = f(2));\n             ^"),
        ("if (i) {\n  x[i] = 1; // }\n", "(1): '{' is not closed", "  if (i) {\n         ^"),
        ("x[i] = 1; }", "(1): '}' closes nothing", "  x[i] = 1; }\n            ^"),
        ("x[i] = ')' + (2]", "(1): ']' closes nothing", "  x[i] = ')' + (2]\n                 ^"),
    ],
)
def test_brackets_that_do_not_match(operation, place, line):
    """The error shows the bracket in the user's text; the compiler's would show a line of the generated
    source."""
    with pytest.raises(drv.CompileError) as error:
        ElementwiseKernel("int *x", operation, "wrong")(gpuarray.zeros(10, np.int32))
    assert f"operation of wrong{place}\n{line}\n" in str(error.value)


def test_a_comment_at_the_end():
    x = gpuarray.zeros(3, np.int32)
    ElementwiseKernel("int *x", "x[i] = 1  // one, (not two")(x)
    assert x.get().tolist() == [1, 1, 1]


def test_other_librarys_arrays():
    class Foreign:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": None}

    x = np.arange(10, dtype=np.int32)
    z = gpuarray.empty(10, np.int32)
    for array in (gpuarray.to_gpu(x), gpuarray.to_gpu(x)[::-1]):
        SUM(Foreign(array), array, z)
        assert (z.get() == 3 * array.get()).all()


def test_texture_references():
    kernel = ElementwiseKernel(
        "float *x", "x[i] = tex1Dfetch(source, n - 1 - i)", preamble="texture<float, 1> source;"
    )
    values = gpuarray.to_gpu(np.arange(10, dtype=np.float32))
    values.bind_to_texref(kernel.get_texref("source"))
    x = gpuarray.empty(10, np.float32)
    kernel(x)
    assert (x.get() == np.arange(10)[::-1]).all()


def test_streams_and_contexts():
    stream = drv.Stream()
    x = gpuarray.zeros(1000, np.int32)
    SET(x, stream=stream)
    stream.synchronize()
    assert (x.get() == 1).all()
    del stream, x
    other = drv.Device(0).make_context()
    try:
        y = gpuarray.zeros(100, np.int32)
        SET(y)
        assert (y.get() == 1).all()
        del y
    finally:
        clear_context_caches()
        other.pop()
    z = gpuarray.zeros(10, np.int32)
    SET(z)
    assert (z.get() == 1).all()


def test_a_kernel_with_module_variables_has_one_module():
    kernel = ElementwiseKernel("int *x, int *y", "x[i] = added + y[i]", preamble="__constant__ int added;")
    module = kernel.generate_stride_kernel_and_types(False)[0]
    drv.memcpy_htod(module.get_global("added")[0], np.array([7], np.int32))
    for size in (10, LONG):
        x = gpuarray.zeros(size, np.int32)
        kernel(x, x)
        assert (x.get() == 7).all()
    with pytest.raises(RuntimeError, match="variables of the module"):
        kernel(x[::2], x[::2])


def test_a_reference_that_writes_is_found_by_the_compiler():
    """A macro or a function may change its argument, which the parser cannot see."""
    kernel = ElementwiseKernel("int *x", "BUMP(x[i])", "bumped", preamble="#define BUMP(v) (v)++")
    through = ElementwiseKernel(
        "int *x", "bump(x[i])", preamble="template <class T> __device__ void bump(T &v) { v++; }"
    )
    for size in (10, LONG):
        x = gpuarray.zeros(size, np.int32)
        for each in (kernel, through, through):
            each(x)
        assert (x.get() == 3).all()


def test_elements_that_a_macro_skips_keep_their_values():
    skip = "#define SKIP(c) if (c) continue"
    kernel = ElementwiseKernel("float *x, float *y", "SKIP(y[i] < 0); x[i] = 1", preamble=skip)
    y = np.tile(np.float32([-1, 1, 2]), LONG // 3 + 1)
    x = gpuarray.to_gpu(np.full_like(y, 7))
    kernel(x, gpuarray.to_gpu(y))
    assert (x.get() == np.where(y < 0, 7, 1)).all()
