"""Functions of half, float and double at special values, compared with NumPy (test_exactness.py for
others)."""

import numpy as np
import pytest
from special import BOUNDS, distance, evaluate, outputs, show_wrong

from pycuda import gpuarray
from pycuda._kernels.builtin.functions import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about overflow and NaN

UFUNCS = [row for row in TABLE.values() if isinstance(row.rule, np.ufunc) and "f" in row.body]
NAMES = [row.name for row in UFUNCS if row.rule.nin < 3]
# Cases are (name, char). A function has one expression for float and double: both are tested for functions of
# CUDA's library (those in BOUNDS), one of the two for the others. Half is computed as float by the same code,
# except for some functions: these and a quarter of all are tested.
CASES = [(name, "fd"[k % 2]) for k, name in enumerate(NAMES)]
CASES += [(name, char) for name in BOUNDS for char in "fd" if (name, char) not in CASES]
OF_HALF = {*NAMES[::4], "nextafter", "floor_divide", "divmod", "ldexp", "frexp"}
CASES += [(name, "e") for name in sorted(OF_HALF)]
# Differences of large logarithms: their error is measured by the operands' size.
BY_OPERANDS = {"logaddexp", "logaddexp2"}
# Which of two zeros NumPy returns depends on the host's processor.
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin"}


def special(char):
    """Signed zeros, subnormals, limits, infinities, NaN, whole numbers, halves and neighbors of 1."""
    limits = np.finfo(char)
    tiny, subnormal, large = limits.tiny, limits.smallest_subnormal, limits.max
    numbers = [0, subnormal, tiny / 2, tiny, limits.eps, 1 / 3, 0.5, 1 - limits.epsneg, 1, 1 + limits.eps]
    numbers += [1.5, 2, 2.5]
    numbers += [3, 7, 24, 100, 149, 1023, 1074, 6e4, np.pi / 2, np.pi, np.e, large / 2, large, np.inf]
    axis = np.array(numbers).astype(char)
    return np.concatenate([axis, -axis, np.array([np.nan], char)])


def exponents(count):
    """`count` exponents (int32): small ones, limits of the formats, and two beyond the exponents of all
    floats."""
    limits = [0, 1, -1, 5, -5, 24, -24, 100, -126, 127, -149, 150, 1000, -1022, 1074, -1074, 2100]
    return np.resize(np.array([*limits, 2**31 - 1, -(2**31)], np.int32), count)


def operands_for(name, char):
    """The operands of a function: special values, in all pairs for two operands."""
    x = special(char)
    if TABLE[name].rule.nin == 1:
        return [x]
    if name == "ldexp":
        return [np.repeat(x, 19), exponents(19 * len(x))]  # exponents() repeats 19 numbers
    return [np.repeat(x, len(x)), np.tile(x, len(x))]


def check(name, got, want, operands):
    """Asserts that infinities, NaNs and the signs of zeros are NumPy's, and that other values are near:
    within four units (one unit for half, which NumPy computes as float too), or by the operands' size for
    BY_OPERANDS."""
    assert got.dtype == want.dtype
    if want.dtype.kind != "f":
        return np.testing.assert_array_equal(got, want)
    finite = np.isfinite(want) & np.isfinite(got)
    wrong = ~finite & ~((got == want) | (np.isnan(got) & np.isnan(want)))
    if name not in EITHER_ZERO:
        wrong |= finite & (np.signbit(got) != np.signbit(want)) & ((got == 0) | (want == 0))
    if name in BY_OPERANDS:
        largest = np.fmax(abs(operands[0]), abs(operands[1]))
        wrong &= ~(finite & (abs(got - want) <= 4 * np.finfo(want.dtype).eps * largest))
    elif want.dtype != np.float16:
        wrong[finite] |= distance(got[finite], want[finite]) > 4
    else:
        wrong[finite] |= distance(got[finite], want[finite]) > 1
    return show_wrong(wrong, got, want, operands)


@pytest.mark.parametrize("name, char", CASES)
def test_special_values(name, char):
    operands = operands_for(name, char)
    want = TABLE[name].rule(*operands)
    if name == "nextafter" and char == "e":
        # NumPy before 2.5 returns the first of two equal zeros, C (and ours) the second.
        want = np.where(operands[0] == operands[1], operands[1], want)
    got = evaluate(name, operands)
    for one, other in zip(got, outputs(want), strict=True):
        check(name, one, other, operands)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_ldexp_takes_exponents_of_64_bits(dtype):
    host = np.array([1, -1, 0, -0.0, np.inf, np.nan, 3e300, 5e-324]).astype(dtype)
    for power in (2**31 - 1, -(2**31), 2**31, 2**40, -(2**40), 2**63 - 1, 1074, -1074):
        exponents = np.full(host.size, power, np.int64)
        with np.errstate(all="ignore"):
            expected = np.ldexp(host, exponents)
        got = np.ldexp(gpuarray.to_gpu(host), gpuarray.to_gpu(exponents)).get()
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("char", "?iBefdFD")
def test_round(char):
    host = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 1234.5678, 0.125, 0.375, 25, -15])
    host = (host + 1j * host[::-1] if char in "FD" else np.abs(host) if char == "B" else host).astype(char)
    for decimals in (0, 1, 2, -1, -2, 20, 400):
        try:
            with np.errstate(all="ignore"):
                expected = np.round(host, decimals)
        except TypeError:
            with pytest.raises(TypeError):
                np.round(gpuarray.to_gpu(host), decimals)
            continue
        got = np.round(gpuarray.to_gpu(host), decimals).get()
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    out = gpuarray.zeros(host.size, np.complex128 if char in "FD" else np.float64)
    assert np.round(gpuarray.to_gpu(host), 0, out) is out
    np.testing.assert_array_equal(out.get(), np.round(host))
    if char in "Fe":
        with pytest.raises(TypeError):
            np.round(gpuarray.to_gpu(host), 1, gpuarray.zeros(host.size, np.int32))
