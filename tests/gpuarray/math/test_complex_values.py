"""Functions of complex numbers: special values, branch cuts and exactness, compared with NumPy.

C99 (annex G) leaves some signs unspecified: of an infinity or a zero whose other part is NaN, and of results
whose operand has a NaN. There either sign is accepted.
"""

import numpy as np
import pytest
from special import evaluate as evaluate_all
from special import show_wrong

from pycuda import gpuarray
from pycuda._kernels.builtin.functions import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about overflow and NaN

CHARS = "FD"
UFUNCS = [
    row
    for row in TABLE.values()
    if isinstance(row.rule, np.ufunc) and any("D" in types.split("->")[0] for types in row.rule.types)
]
UNARY = [row.name for row in UFUNCS if row.rule.nin == 1]
BINARY = [row.name for row in UFUNCS if row.rule.nin == 2]
# Functions computed as exp(b log(a)), whose rounding error grows with the operands.
POWERS = ("power", "float_power")


def special(char, *more):
    """The complex numbers whose real and imaginary parts are special numbers, in all pairs; `more`: further
    ones."""
    limits = np.finfo(char)
    numbers = [0, 0.5, 1, limits.max / 2, limits.tiny, np.inf, *more]
    axis = np.array([s * number for number in numbers for s in (1, -1)] + [np.nan], limits.dtype)
    return pairs(axis, axis)


def pairs(real, imaginary):
    """The complex numbers of all pairs of a real and an imaginary part."""
    grid = np.empty((len(real), len(imaginary)), np.result_type(real.dtype, np.complex64))
    grid.real, grid.imag = real[:, None], imaginary
    return grid.ravel()


def evaluate(name, *operands):
    """The result of our elementwise function of that name, as an array of NumPy."""
    return evaluate_all(name, operands)[0]


def parts(z):
    """(real part, imaginary part) of complex numbers, (z,) of others."""
    return (z.real, z.imag) if z.dtype.kind == "c" else (z,)


def kind(x):
    """A number for the kind of each element: 0 for NaN, otherwise 1 for zeros, 2 for finite numbers, 3 for
    infinities, with the element's sign."""
    sizes = np.where(np.isinf(x), 3, np.where(x == 0, 1, 2))
    return np.where(np.isnan(x), 0, sizes * np.where(np.signbit(x), -1, 1))


def check_kinds(got, want, open_signs, operands):
    """Asserts that both parts have the same kind(), except for a different sign where open_signs is true."""
    assert got.dtype == want.dtype
    wrong = np.zeros(got.shape, bool)
    for one, other in zip(parts(got), parts(want), strict=True):
        differ = kind(one) != kind(other)
        same_size = (one == other) | (np.isinf(one) & np.isinf(other))
        wrong |= differ & ~(open_signs & same_size) & ~is_underflow(one, other)
    show_wrong(wrong, got, want, operands)


def is_underflow(x, y):
    """Whether x and y have one sign and are at most two of the smallest subnormals apart."""
    return (abs(x - y) <= 2 * np.finfo(x.dtype).smallest_subnormal) & (np.signbit(x) == np.signbit(y))


def check_near(got, want, tolerance, operands):
    """Asserts that elements that are finite in both differ by at most `tolerance` epsilons of abs(want)."""
    finite = np.isfinite(got) & np.isfinite(want)
    limits = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        bound = tolerance * limits.eps * abs(want) + 4 * limits.smallest_subnormal
        show_wrong(finite & (abs(got - want) > bound), got, want, operands)


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("name", UNARY)
def test_special_values(name, char):
    z = special(char, 2, np.finfo(char).smallest_subnormal, np.finfo(char).max, 3e4)
    want, got = TABLE[name].rule(z), evaluate(name, z)
    if want.dtype.kind == "b":
        return np.testing.assert_array_equal(got, want)
    if name == "log1p":  # NumPy computes log(hypot(1 + x, y)), which loses a small x, and overflows
        want = with_exact_log1p(z, want)
    if name in STANDARDS:
        want = STANDARDS[name](z, want)
    check_kinds(got, want, TABLE[name].complex_functions & (np.isnan(z) | np.isnan(want)), [z])
    # Sines and cosines of many turns depend on the rounding of the angle: their values are not compared.
    turns = abs(z.imag) > 1e3 if name in ("exp2", "expm1") else np.zeros(z.shape, bool)
    return check_near(got[~turns], want[~turns], 16, [z[~turns]])


def with_exact_log1p(z, want):
    """NumPy's log1p with exact real parts where NumPy's are far from right: near 0, and where squares
    overflow."""
    small = abs(z) < 0.1
    x, y = z.real.astype(np.longdouble), z.imag.astype(np.longdouble)
    want.real[small] = (np.log1p(x * (2 + x) + y * y) / 2)[small]
    large = abs(z.real) > 1e30
    want.real[large] = np.log(z).real[large]
    return want


def with_standards_expm1(z, want):
    """NumPy's expm1, with the array API standard's values where NumPy multiplies infinity by 0 or by NaN."""
    power = np.exp(z)
    at_limits = ~np.isfinite(z) | ~np.isfinite(want)
    want.real[at_limits], want.imag[at_limits] = power.real[at_limits] - 1, power.imag[at_limits]
    return want


def with_standards_sign(z, want):
    """NumPy's sign, but NaN in both parts, as in the array API standard, for operands with a part that is
    NaN."""
    want[np.isnan(z)] = complex(np.nan, np.nan)
    return want


# Functions for which the array API standard has other values than NumPy: (z, NumPy's result) -> expected
# result.
STANDARDS = {"expm1": with_standards_expm1, "sign": with_standards_sign}


def fused_product(a, b):
    """a * b where the first product of each sum is not rounded (an FMA), as our kernel computes it on every
    device."""
    wide = np.longdouble if a.dtype.char == "D" else np.float64
    ar, ai, br, bi = (x.astype(wide) for x in (a.real, a.imag, b.real, b.imag))
    result = np.empty_like(a)
    result.real = ar * br - (a.imag * b.imag).astype(wide)
    result.imag = ar * bi + (a.imag * b.real).astype(wide)
    return result


def plain_product(a, b):
    """a * b by the formula, where each product is rounded, without C's recovery of infinities."""
    result = np.empty_like(a)
    result.real, result.imag = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
    return result


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("name", ["multiply", "square"])
def test_products(name, char):
    """Our products are fused. NumPy's are fused or plain, depending on the host's processor: one of the two
    must explain NumPy's results.
    """
    z = special(char)
    a, b = (np.repeat(z, len(z)), np.tile(z, len(z))) if name == "multiply" else (z, z)
    operands = (a, b) if name == "multiply" else (z,)
    got, numpys = evaluate(name, *operands), TABLE[name].rule(*operands)
    open_signs = np.zeros(a.shape, bool)
    check_kinds(got, fused_product(a, b), open_signs, operands)
    alike = [np.array_equal(kind(x), kind(y)) for x, y in zip(parts(numpys), parts(got), strict=True)]
    if not all(alike):
        check_kinds(numpys, plain_product(a, b), open_signs, operands)


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("name", sorted({*BINARY} - {"multiply"}))
def test_special_values_of_pairs(name, char):
    z = special(char)
    a, b = np.repeat(z, len(z)), np.tile(z, len(z))
    want, got = TABLE[name].rule(a, b), evaluate(name, a, b)
    if want.dtype.kind == "b":
        return np.testing.assert_array_equal(got, want)
    if name not in POWERS:
        check_kinds(got, want, np.zeros(a.shape, bool), [a, b])
        return check_near(got, want, 8, [a, b])
    # exp(b log(a)): its direction is the rounded `angle`. Near an axis one part is about 0, with either sign;
    # for large angles the direction is not known at all.
    eps = np.finfo(want.dtype).eps
    logarithm = np.log(a.astype(np.complex128))
    angle = b.real * logarithm.imag + b.imag * logarithm.real
    known = ~np.isfinite(angle) | (abs(angle) < 0.01 / eps)
    along_an_axis = abs(np.sin(2 * angle)) < 1e-3
    open_signs = ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(want)) | along_an_axis
    is_ordinary = np.isfinite(want) & (want.real != 0) & (want.imag != 0)
    strict = known & ~is_ordinary
    check_kinds(got[strict], want[strict], open_signs[strict], [a[strict], b[strict]])
    size = 8 + 8 * np.where(np.isfinite(angle), abs(b * logarithm), 0)
    return check_near(got[known], want[known], size[known], [a[known], b[known]])


def scattered(char, count=1500):
    """Random numbers in all directions: of many magnitudes, and near 0, 1, -1, i, -i and the unit circle,
    where functions lose digits by cancellation."""
    rng, real = np.random.default_rng(3), np.finfo(char).dtype
    angle, size = rng.uniform(-np.pi, np.pi, count), 10 ** rng.uniform(-3, 1.2, count)
    wide = size * np.exp(1j * angle)
    near = 10 ** rng.uniform(-9, -1, count) * np.exp(1j * angle)
    circle = np.exp(1j * angle) * (1 + 10 ** rng.uniform(-12, -2, count))
    numbers = np.concatenate([wide, near, near + 1, near - 1, near + 1j, near - 1j, circle])
    return numbers.astype(np.result_type(real, np.complex64))


# Functions of which a part may lose digits by cancellation, in NumPy too: their error is measured by the
# absolute value of the result, that of the others by each part.
BY_THE_WHOLE = {"expm1", "exp2", "log2", "log10", "log1p", "reciprocal", "square", "sign"}
EXACT = [row.name for row in UFUNCS if row.complex_functions and row.rule.nin == 1]


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("name", EXACT)
def test_exactness(name, char):
    """The error is a few units in the last place, of each part or (BY_THE_WHOLE) of the absolute value."""
    z = scattered(char)
    wide = z.astype(np.clongdouble if char == "D" else np.complex128)
    want, got = TABLE[name].rule(wide), evaluate(name, z)
    if name == "log1p":
        want = with_exact_log1p(wide, want)
    if name in BY_THE_WHOLE:
        return check_near(got, want, 40 if name == "exp2" else 8, [z])
    limits = np.finfo(char)
    for one, other in zip(parts(got), parts(want), strict=True):
        bound = 8 * limits.eps * abs(other) + 2 * limits.smallest_subnormal
        show_wrong(abs(one - other) > bound, one, other, [z])
    return None


@pytest.mark.parametrize("char", CHARS)
def test_exact_arithmetic(char):
    """Sums and quotients have NumPy's bits; products of complex64 are those of fused_product()."""
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=(2, 500)) + 1j * rng.normal(size=(2, 500))).astype(char)
    for name in ("add", "subtract", "divide"):
        np.testing.assert_array_equal(evaluate(name, a, b), TABLE[name].rule(a, b))
    if char == "F":  # fused_product() computes in double and rounds once more, which rarely changes a bit
        np.testing.assert_allclose(evaluate("multiply", a, b), fused_product(a, b), rtol=3e-7)


def test_python_numbers_and_casts():
    """Python numbers become complex before the operation, as in NumPy, so that infinities may give NaN."""
    z = special("F")
    for operation in (lambda x: x * 2, lambda x: 2.5 / x, lambda x: x - 1j, lambda x: x + np.float64(0.1)):
        got, want = operation(gpuarray.to_gpu(z)).get(), operation(z)
        check_kinds(got, want, np.zeros(z.shape, bool), [z])
    for dtype in (np.complex128, np.float32, np.bool_, np.float16):
        np.testing.assert_array_equal(gpuarray.to_gpu(z).astype(dtype).get(), z.astype(dtype))


@pytest.mark.parametrize("char", "efdFDi?")
def test_angle(char):
    z = special(char) if char in CHARS else np.array([0, 1, -1, 2.5, -3]).astype(char)
    for degrees in (False, True):
        got, want = np.angle(gpuarray.to_gpu(z), degrees).get(), np.angle(z, degrees)
        check_kinds(got, want, np.zeros(z.shape, bool), [z])
        check_near(got, want, 4, [z])
