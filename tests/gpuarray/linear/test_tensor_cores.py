"""Products by tensor cores: of doubles, with the same bits as without them, and of halves, compared with
NumPy."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pycuda
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._kernels.builtin import matmul as kernels

pytestmark = pytest.mark.usefixtures("primary_context")

# Which elements are contiguous: those of a row, those of a column, or none (rows with a negative stride).
FORMS = st.sampled_from(["rows", "columns", "reversed"])


def numbers(rng, shape, dtype):
    """Normally distributed numbers."""
    return rng.standard_normal(shape).astype(dtype)


def to_gpu(host, form):
    """A copy of a host array on the device, in one of FORMS."""
    if form == "rows":
        return gpuarray.to_gpu(host)
    if form == "columns":
        return gpuarray.to_gpu(np.ascontiguousarray(host.mT)).mT
    return gpuarray.to_gpu(np.ascontiguousarray(host[..., ::-1]))[..., ::-1]


def operand(array, is_first):
    """The operand of a product that the functions of pycuda._kernels.builtin.matmul take: its lines are the
    rows of the first matrix, or the columns of the second.
    """
    lines, inner = (-2, -1) if is_first else (-1, -2)
    steps = array.strides
    return kernels._Operand(
        array.shape[lines], array.shape[inner], steps[lines], steps[inner], steps[:-2], array._address,
        array.itemsize,
    )  # fmt: skip


def product(a, b, dtype, choose_way):
    """a @ b on the host, computed by the kernel of the Way that choose_way(first, second) returns for the two
    operands. The arrays are matrices, or stacks of equally many matrices.
    """
    if drv.Context.get_device().compute_capability() < (8, 0):
        pytest.skip("the device has a compute capability below 8.0: it has no tensor cores for doubles")
    c = gpuarray.zeros((*a.shape[:-1], b.shape[-1]), dtype)
    axes = [(a.shape[0], a.strides[0], b.strides[0], c.strides[0])] if a.ndim == 3 else []
    way = choose_way(operand(a, is_first=True), operand(b, is_first=False))
    kernels.plan_matmul(a, b, c, axes, False, way).queue(a, b, c, None)
    return c.get()


def by_threads(first, second):
    """The Way of a product of doubles without tensor cores."""
    return kernels._by_threads(first, second, batches=1, types=("double",) * 4, itemsize=8)


@settings(max_examples=8, deadline=None)
@given(
    st.tuples(st.integers(1, 140), st.integers(1, 140), st.integers(0, 20)), FORMS, FORMS,
    st.sampled_from([(), (3,)]), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_doubles(sizes, first, second, batch, seed):
    """Tensor cores and threads compute the same bits, and those are NumPy's numbers. Some sums are -0, the
    underflow of -1e-200 * 1e-200: adding the zeros that pad a tile must not make them +0.
    """
    rows, columns, inner = sizes
    rng = np.random.default_rng(seed)
    a, b = numbers(rng, (*batch, rows, inner), "f8"), numbers(rng, (*batch, inner, columns), "f8")
    a[..., ::3, :], b[..., :, ::3] = -1e-200, 1e-200
    x, y = to_gpu(a, first), to_gpu(b, second)
    got = product(x, y, "f8", kernels.by_tensor_cores_of_doubles)
    want = product(x, y, "f8", by_threads)
    assert (got.view(np.uint64) == want.view(np.uint64)).all()
    np.testing.assert_allclose(got, a @ b, rtol=1e-12, atol=1e-12)


@settings(max_examples=8, deadline=None)
@given(
    st.tuples(st.integers(1, 18), st.integers(1, 18), st.integers(1, 9)),
    st.sampled_from(["rows", "columns"]), st.sampled_from(["rows", "columns"]), st.sampled_from([(), (3,)]),
    st.booleans(), st.booleans(), st.sampled_from([kernels.HALF_SMALL, kernels.HALF_LARGE]),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_halves(eighths, first, second, batch, is_bfloat, into_float, shape, seed):
    """float16 and bfloat16, with results of the same dtype or float32. Lengths are multiples of 8 elements,
    16 bytes, so that the kernel of tensor cores takes the matrices.
    """
    rows, columns, inner = (8 * each for each in eighths)
    dtype = np.dtype(ml_dtypes.bfloat16 if is_bfloat else "f2")
    rng = np.random.default_rng(seed)
    a, b = numbers(rng, (*batch, rows, inner), dtype), numbers(rng, (*batch, inner, columns), dtype)
    result = np.dtype("f4") if into_float else dtype
    got = product(
        to_gpu(a, first), to_gpu(b, second), result,
        lambda *each: kernels.by_tensor_cores_of_halves(*each, (dtype, dtype, result), shape),
    )  # fmt: skip
    want = a.astype("f8") @ b.astype("f8")
    bound = 1e-5 if into_float else 1e-2 if is_bfloat else 1e-3
    np.testing.assert_allclose(got.astype("f8"), want, rtol=bound, atol=bound * inner**0.5)


def test_halves_that_are_not_aligned():
    """Tensor cores do not take them: there is no Way, and threads will read the elements one by one."""
    array = gpuarray.zeros((16, 17), "f2")
    first, second = operand(array[:, 1:], is_first=True), operand(array[:, :16], is_first=False)
    assert kernels.by_tensor_cores_of_halves(first, second, [np.dtype("f2")] * 3, kernels.HALF_SMALL) is None


@pytest.mark.parametrize("dtype", ["i1", "i4", "e", "f", "d", "F", "D"])
@pytest.mark.parametrize("form", ["rows", "columns", "reversed"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 0), (5, 700), (700, 5), (90, 80), (4, 30, 40)])
def test_matrix_and_vector(dtype, form, shape):
    """Our own kernels for a matrix with a vector on either side, without tensor cores: exact, as all are
    integers."""
    rng = np.random.default_rng(sum(shape))
    a, right, left = (rng.integers(-4, 5, n).astype(dtype) for n in (shape, shape[-1:], shape[-2:-1]))
    x, y, z = to_gpu(a, form), gpuarray.to_gpu(right), gpuarray.to_gpu(np.repeat(left, 2))[::2]
    for _ in range(2):  # the second time uses the plans of the first
        with pycuda.same_bits():
            np.testing.assert_array_equal((x @ y).get(), a @ right)
            np.testing.assert_array_equal((z @ x).get(), left @ a)
            out = gpuarray.zeros((*shape[:-1], 2), dtype)[..., 1]
            gpuarray.matmul(x, y, out=out)
            np.testing.assert_array_equal(out.get(), a @ right)
