"""Arrays of bfloat16 (the package ml_dtypes): stored in 16 bits, computed as float, rounded to even."""

import operator

import numpy as np
import pytest
from special import evaluate, outputs, show_wrong

from pycuda import _pvt_struct, gpuarray
from pycuda._array.core.elementwise import apply
from pycuda._kernels.builtin.functions import TABLE
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel
from pycuda.tools import VectorArg

ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about overflow and NaN

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
UFUNCS = [row.name for row in TABLE.values() if isinstance(row.rule, np.ufunc) and row.rule.nin < 3]
SPECIAL = np.array(
    [0, -0.0, 1, -1, 0.5, 2, 3, -2.5, 9.2e-41, -1e-39, 3e38, -3e38, np.inf, -np.inf, np.nan]
    + [100, 0.1, -7, 1.0078125],
    BFLOAT16,
)


def steps(x):
    """Integers in the order of the numbers: those of neighbors differ by 1."""
    bits = x.view(np.int16).astype(int)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


def check(got, want, operands=(), apart=0):
    """Asserts the same dtype and shape. Values of bfloat16 are at most `apart` steps from those expected, and
    NaN where those are; values of other dtypes are equal up to rounding. operands: for the message."""
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype != BFLOAT16:
        return np.testing.assert_allclose(got, want, rtol=1e-6)
    nan = np.isnan(got) & np.isnan(want)
    wrong = ~nan & ((np.isnan(got) != np.isnan(want)) | (abs(steps(got) - steps(want)) > apart))
    return show_wrong(wrong, got, want, operands)


@pytest.mark.parametrize("name", UFUNCS)
def test_function(name):
    """At most a step from the result of ml_dtypes, which has rounding errors itself; refused if it
    refuses."""
    function = TABLE[name].rule
    count = len(SPECIAL)
    operands = [SPECIAL] if function.nin == 1 else [np.repeat(SPECIAL, count), np.tile(SPECIAL, count)]
    try:
        want = function(*operands)
    except TypeError:
        with pytest.raises(TypeError):
            evaluate(name, operands)
        return
    for one, other in zip(evaluate(name, operands), outputs(want), strict=True):
        check(one, other, operands, 1)


def test_casts_to_and_from_bfloat16():
    rng = np.random.default_rng(2)
    ties = 1 + np.arange(512) * 2.0**-9  # a quarter of a step apart: some are halfway between two numbers
    numbers = rng.normal(size=500) * 10.0 ** rng.integers(-44, 38, 500)
    host = np.concatenate([numbers, ties, [0, -0.0, np.inf, 3.4e38]])
    for dtype in (np.float64, np.float32, np.float16, np.complex64):
        converted = host.astype(dtype)
        check(gpuarray.to_gpu(converted).astype(BFLOAT16).get(), converted.astype(BFLOAT16), [converted])
    whole = rng.integers(-200, 200, 100)
    for dtype in (np.int8, np.int64, np.bool_):
        converted = whole.astype(dtype)
        check(gpuarray.to_gpu(converted).astype(BFLOAT16).get(), converted.astype(BFLOAT16), [converted])
    small = SPECIAL[np.isfinite(SPECIAL) & (abs(SPECIAL) < 1000)]
    for dtype in (np.float64, np.float16, np.complex128, np.int16, np.bool_):
        check(gpuarray.to_gpu(small).astype(dtype).get(), small.astype(dtype))


def test_operators():
    """Results have the dtypes that NumPy finds with ml_dtypes, for scalars and arrays of other dtypes too."""
    host = np.array([1, 2.5, -3], BFLOAT16)
    array = gpuarray.to_gpu(host)
    others = (2, 1.5, True, np.float32(0.1), np.int8(3), np.float16(2), host[::-1])
    for function in (operator.add, operator.mul, operator.truediv, operator.lt, operator.eq):
        for other in others:
            ours = gpuarray.to_gpu(other.copy()) if isinstance(other, np.ndarray) else other
            check(function(array, ours).get(), function(host, other))
    array *= 2
    check(array.get(), host * host.dtype.type(2))


def test_views_and_assignment():
    host = np.arange(24).reshape(4, 6).astype(BFLOAT16)
    array = gpuarray.to_gpu(host)
    check((array[::2, ::-1] + array[1::2]).get(), host[::2, ::-1] + host[1::2])
    array[1:3, ::2] = 0.3
    host[1:3, ::2] = 0.3
    array[array > 20] = -1
    host[host > 20] = -1
    array[0] = gpuarray.to_gpu(np.linspace(0, 1, 6, dtype=np.float32))
    host[0] = np.linspace(0, 1, 6, dtype=np.float32)
    check(array.get(), host)
    check(array[gpuarray.to_gpu(np.array([3, 0]))].get(), host[[3, 0]])
    check(gpuarray.full((3,), 0.1, BFLOAT16).get(), np.full(3, 0.1, BFLOAT16))
    doubled = np.where(host > 3, host, host * host.dtype.type(2))
    check(apply("where", array > 3, array, array * 2).get(), doubled)
    assert array[3, 3].item() == float(host[3, 3])


def test_reductions_and_scans():
    """Sums are accumulated in float32 and rounded once."""
    host = (np.random.default_rng(4).normal(size=(70, 300)) + 1).astype(BFLOAT16)
    array, wide = gpuarray.to_gpu(host), host.astype(np.float64)
    for name in ("sum", "mean", "var", "max", "min"):
        for axis in (None, 0, 1):
            want = getattr(wide, name)(axis=axis)
            check(getattr(array, name)(axis=axis).get(), np.asarray(want).astype(BFLOAT16), apart=1)
    np.testing.assert_array_equal(array.argmax(axis=1).get(), host.argmax(axis=1))
    check(array.cumsum(axis=1).get(), wide.cumsum(axis=1).astype(BFLOAT16), apart=1)
    np.testing.assert_array_equal((array > 1).any(axis=0).get(), (host > 1).any(axis=0))


@pytest.mark.parametrize("other", [BFLOAT16, np.int8, np.int32, np.float16, np.float32, np.float64])
def test_products_of_matrices_have_numpys_dtype(other):
    """With ml_dtypes NumPy's dtype is float32 even if both operands are bfloat16."""
    left = (np.arange(12).reshape(3, 4) % 5).astype(BFLOAT16)
    right = (np.arange(8).reshape(4, 2) % 3).astype(other)
    check((gpuarray.to_gpu(left) @ gpuarray.to_gpu(right)).get(), left @ right)
    check((gpuarray.to_gpu(right).T @ gpuarray.to_gpu(left).T).get(), right.T @ left.T)


def test_kernels_that_users_write():
    host = np.arange(-20, 20).astype(BFLOAT16)
    x, z = gpuarray.to_gpu(host), gpuarray.zeros(40, BFLOAT16)
    scaled = ElementwiseKernel(
        "__nv_bfloat16 *x, nv_bfloat16 s, __nv_bfloat16 *z", "z[i] = x[i] * s", "scaled"
    )
    scaled(x, BFLOAT16.type(1.5), z)
    check(z.get(), host * BFLOAT16.type(1.5))
    scaled(x[::-1], BFLOAT16.type(2), z)
    check(z.get(), host[::-1] * BFLOAT16.type(2))
    widened = gpuarray.zeros(40, np.float32)
    ElementwiseKernel([VectorArg(BFLOAT16, "x"), VectorArg(np.float32, "z")], "z[i] = x[i]")(x, widened)
    check(widened.get(), host.astype(np.float32))
    total = ReductionKernel(np.float32, "0", "a + b", "__bfloat162float(x[i])", "__nv_bfloat16 *x")
    assert total(x).get() == host.astype(np.float32).sum()
    largest = ReductionKernel(
        BFLOAT16, "__float2bfloat16(-1e30f)", "a > b ? a : b", "x[i]", "__nv_bfloat16 *x"
    )
    check(largest(x).get(), host.max())
    check(
        InclusiveScanKernel(BFLOAT16, "a + b")(x.copy()).get(),
        host.astype(np.float32).cumsum().astype(BFLOAT16),
    )


def test_arrays_of_half_are_refused_for_bfloat16():
    """float16 must not be taken for bfloat16, which has 16 bits too."""
    kernel = ElementwiseKernel("__nv_bfloat16 *x, __nv_bfloat16 s", "x[i] = s", "set")
    with pytest.raises(TypeError, match="bfloat16"):
        kernel(gpuarray.zeros(3, np.float16), BFLOAT16.type(1))


def test_numbers_are_rounded_to_bfloat16():
    kernel = ElementwiseKernel("__nv_bfloat16 *x, __nv_bfloat16 s", "x[i] = s", "set")
    x = gpuarray.zeros(3, BFLOAT16)
    tie, above = 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40
    for number in (
        1.5,
        3,
        np.float16(0.1),
        np.int16(7),
        -0.0,
        tie,
        above,
        -above,
        1e-40,
        2e-45,
        np.inf,
        np.nan,
    ):
        kernel(x, number)
        expected = 1 + 2.0**-7 if abs(number) == above else BFLOAT16.type(number)
        check(x.get(), np.full(3, np.copysign(expected, number), BFLOAT16))
    for wrong in (1e39, "1"):
        with pytest.raises(_pvt_struct.error):
            kernel(x, wrong)
