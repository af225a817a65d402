"""Elementwise kernels over every integer and floating type, compared with NumPy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pycuda.driver as drv
from pycuda.compiler import SourceModule
from pycuda.tools import dtype_to_ctype

INTEGERS = [np.dtype(code) for code in "bBhHiIqQ"]
FLOATS = [np.dtype("f"), np.dtype("d")]
TYPES = INTEGERS + FLOATS
N = 1000  # not a multiple of the block: the last block has lanes without work

BINARY = """
__global__ void binary(const {type} *a, const {type} *b, {out} *z, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = ({out})({expression});
}}
"""


def run(expression, a, b, out):
    """An array of the dtype `out` with the C++ expression of a[i] and b[i] for each i."""
    source = BINARY.format(type=dtype_to_ctype(a.dtype), out=dtype_to_ctype(out), expression=expression)
    z = np.empty(a.shape, out)
    SourceModule(source).get_function("binary")(
        drv.In(a), drv.In(b), drv.Out(z), np.int32(a.size), block=(128, 1, 1), grid=(-(-a.size // 128), 1)
    )
    return z


def values(dtype, seed):
    """N values of a dtype: special ones (limits, 0, 1, ...), twice in different order, and random ones of all
    magnitudes."""
    random = np.random.default_rng(seed)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
        special += [limits.max, limits.tiny, limits.smallest_subnormal]
        drawn = random.standard_normal(N) * 10.0 ** random.integers(-30, 30, N)
    else:
        info = np.iinfo(dtype)
        special = [0, 1, info.min, info.max, info.max - 1, info.min + 1]
        drawn = random.integers(info.min, info.max, N, dtype=dtype, endpoint=True)
    out = drawn.astype(dtype)
    out[: len(special)] = np.array(special, dtype=dtype)
    out[20 : 20 + len(special)] = np.roll(np.array(special, dtype=dtype), 1)
    return out


@pytest.mark.parametrize("operator", ["+", "-", "*"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_arithmetic_operators(dtype, operator):
    a, b = values(dtype, 1), np.roll(values(dtype, 2), 7)
    with np.errstate(all="ignore"):
        wanted = eval(f"a {operator} b")
    # C computes small integers as int; the conversion of the result wraps around, as NumPy does.
    assert np.array_equal(run(f"a[i] {operator} b[i]", a, b, dtype), wanted, equal_nan=dtype.kind == "f")


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("operator", ["/", "%"])
def test_integer_division_truncates(dtype, operator):
    """Expected values are Python's integers. Undefined quotients, by 0 and of the minimum by -1, are left
    out."""
    a, b = values(dtype, 3), np.roll(values(dtype, 4), 7)
    b[b == 0] = 3
    if dtype.kind == "i":
        b[b == -1] = 5
    wide_a, wide_b = a.astype(object), b.astype(object)
    sign = np.where((wide_a < 0) == (wide_b < 0), 1, -1).astype(object)
    quotient = abs(wide_a) // abs(wide_b) * sign
    wanted = quotient if operator == "/" else wide_a - quotient * wide_b
    assert (run(f"a[i] {operator} b[i]", a, b, dtype) == wanted.astype(dtype)).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_division_rounds_to_nearest(dtype):
    a, b = values(dtype, 5), np.roll(values(dtype, 6), 7)
    with np.errstate(all="ignore"):
        wanted = a / b
    assert np.array_equal(run("a[i] / b[i]", a, b, dtype), wanted, equal_nan=True)


@pytest.mark.parametrize("operator", ["&", "|", "^"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_bits(dtype, operator):
    a, b = values(dtype, 7), np.roll(values(dtype, 8), 7)
    assert (run(f"a[i] {operator} b[i]", a, b, dtype) == eval(f"a {operator} b")).all()


@pytest.mark.parametrize("operator", ["<<", ">>"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts(dtype, operator):
    bits = dtype.itemsize * 8
    a, b = values(dtype, 9), (np.arange(N) % bits).astype(dtype)
    wanted = np.left_shift(a, b) if operator == "<<" else np.right_shift(a, b)
    assert (run(f"a[i] {operator} b[i]", a, b, dtype) == wanted).all()


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_comparison(dtype, operator):
    a, b = values(dtype, 10), np.roll(values(dtype, 11), 7)
    b[::3] = a[::3]
    assert (run(f"a[i] {operator} b[i]", a, b, np.dtype("i")) == eval(f"a {operator} b")).all()


def convertible(a, target):
    """The values of `a` that C converts to `target` without undefined behavior."""
    if a.dtype.kind != "f" or target.kind == "f":
        return a
    info = np.iinfo(target)
    inside = np.isfinite(a) & (a > max(float(info.min) * 0.99, -1e18)) & (a < float(info.max) * 0.99)
    return np.where(inside, a, a.dtype.type(42.75))


@pytest.mark.parametrize("target", TYPES, ids=str)
@pytest.mark.parametrize("source", TYPES, ids=str)
def test_conversion(source, target):
    a = convertible(values(source, 12), target)
    with np.errstate(all="ignore"):
        wanted = a.astype(target)
    assert np.array_equal(run("a[i]", a, a, target), wanted, equal_nan=target.kind == "f")


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("sqrt", np.sqrt),
        ("fabs", np.abs),
        ("floor", np.floor),
        ("ceil", np.ceil),
        ("trunc", np.trunc),
        ("rint", np.rint),
    ],
)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_exact_functions(dtype, name, wanted):
    a = np.abs(values(dtype, 13)) if name == "sqrt" else values(dtype, 13)
    function = name + "f" if dtype == "f" else name
    assert np.array_equal(run(f"{function}(a[i])", a, a, dtype), wanted(a), equal_nan=True)


# Maximum errors in units in the last place: those of CUDA's programming guide, plus 1 for the reference's
# error.
@pytest.mark.parametrize(
    "name, single, double",
    [
        ("exp", 3, 2),
        ("log", 2, 2),
        ("sin", 3, 3),
        ("cos", 3, 3),
        ("tan", 5, 3),
        ("atan", 3, 3),
        ("cbrt", 2, 2),
        ("tanh", 3, 3),
        ("exp2", 3, 2),
        ("log1p", 3, 2),
        ("erf", 3, 3),
    ],
)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_math_functions(dtype, name, single, double):
    a = np.random.default_rng(14).uniform(0.01, 20, N).astype(dtype)
    function, ulps = (name + "f", single) if dtype == "f" else (name, double)
    if name == "erf":
        exact = np.array([math.erf(float(x)) for x in a])
    else:
        exact = getattr(np, name)(a.astype(np.longdouble))
    got = run(f"{function}(a[i])", a, a, dtype)
    error = np.abs(got.astype(np.longdouble) - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert error.max() <= ulps


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=96, max_size=96))
def test_fused_multiply_add_rounds_once(numbers):
    function = SourceModule("""
    __global__ void fused(const float *a, float *z)
    {
        int i = threadIdx.x;
        z[i] = fmaf(a[3 * i], a[3 * i + 1], a[3 * i + 2]);
    }
    """).get_function("fused")
    a, z = np.array(numbers, np.float32), np.empty(32, np.float32)
    function(drv.In(a), drv.Out(z), block=(32, 1, 1))
    for i in range(32):
        exact = Fraction(float(a[3 * i])) * Fraction(float(a[3 * i + 1])) + Fraction(float(a[3 * i + 2]))
        if np.isfinite(z[i]):
            exponent = max(math.frexp(float(z[i]))[1], -125)  # subnormal numbers have one unit
            unit = Fraction(2) ** (exponent - 24)
            assert abs(Fraction(float(z[i])) - exact) <= unit / 2
        else:
            assert abs(exact) >= Fraction(float(np.finfo(np.float32).max))
