"""The special cases of complex functions that the array API standard lists.

A row has four words: the real and imaginary parts of an operand, and those of the result. A word in brackets
stands for all numbers of a kind (KINDS), a question mark for either sign, and "inf*cis" for infinity with the
sign of that part of cos(b) + i sin(b), where b is the operand's imaginary part. The sign of a zero counts.
Each row holds for the conjugate operand too, with the conjugate result.
"""

import math

import numpy as np
import pytest

import pycuda.numpy as xp

pytestmark = pytest.mark.usefixtures("primary_context")

NUMBERS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 2.0**90, -(2.0**90), math.inf, -math.inf, math.nan]
KINDS = {
    "zero": lambda x: x == 0,
    "finite": math.isfinite,
    "nonzero": lambda x: math.isfinite(x) and x != 0,
    "positive": lambda x: math.isfinite(x) and x > 0,
    "infinite": math.isinf,
    "not0": lambda x: x != 0,
    "any": lambda x: True,
}
ANGLES = {"pi": math.pi, "3pi/4": 0.75 * math.pi, "pi/2": 0.5 * math.pi, "pi/4": 0.25 * math.pi}
ROWS = """
acos: [zero] 0 pi/2 -0, [zero] nan pi/2 nan, [finite] inf pi/2 -inf, [nonzero] nan nan nan,
    -inf [positive] pi -inf, inf [positive] 0 -inf, -inf inf 3pi/4 -inf, inf inf pi/4 -inf,
    [infinite] nan nan ?inf, nan [finite] nan nan, nan inf nan -inf, nan nan nan nan
acosh: [zero] 0 0 pi/2, [finite] inf inf pi/2, [nonzero] nan nan nan, 0 nan nan ?pi/2, -inf [positive] inf pi,
    inf [positive] inf 0, -inf inf inf 3pi/4, inf inf inf pi/4, [infinite] nan inf nan, nan [finite] nan nan,
    nan inf inf nan, nan nan nan nan
asinh: 0 0 0 0, [positive] inf inf pi/2, [finite] nan nan nan, inf [positive] inf 0, inf inf inf pi/4,
    inf nan inf nan, nan 0 nan 0, nan [nonzero] nan nan, nan inf ?inf nan, nan nan nan nan
atanh: 0 0 0 0, 0 nan 0 nan, 1 0 inf 0, [positive] inf 0 pi/2, [nonzero] nan nan nan, inf [positive] 0 pi/2,
    inf inf 0 pi/2, inf nan 0 nan, nan [finite] nan nan, nan inf ?0 pi/2, nan nan nan nan
cosh: 0 0 1 0, 0 inf nan ?0, 0 nan nan ?0, [nonzero] inf nan nan, [nonzero] nan nan nan, inf 0 inf 0,
    inf [nonzero] inf*cis inf*cis, inf inf ?inf nan, inf nan inf nan, nan [zero] nan ?0,
    nan [nonzero] nan nan, nan nan nan nan
exp: [zero] 0 1 0, [finite] inf nan nan, [finite] nan nan nan, inf 0 inf 0, -inf [finite] 0*cis 0*cis,
    inf [nonzero] inf*cis inf*cis, -inf inf ?0 ?0, inf inf ?inf nan, -inf nan ?0 ?0, inf nan ?inf nan,
    nan 0 nan 0, nan [not0] nan nan
expm1: [zero] 0 ?0 0, [finite] inf nan nan, [finite] nan nan nan, inf 0 inf 0, -inf [finite] -1 0*cis,
    inf [nonzero] inf*cis inf*cis, -inf inf -1 ?0, inf inf ?inf nan, -inf nan -1 ?0, inf nan ?inf nan,
    nan 0 nan 0, nan [not0] nan nan
log: -0 0 -inf pi, 0 0 -inf 0, [finite] inf inf pi/2, [finite] nan nan nan, -inf [positive] inf pi,
    inf [positive] inf 0, -inf inf inf 3pi/4, inf inf inf pi/4, [infinite] nan inf nan, nan [finite] nan nan,
    nan inf inf nan, nan nan nan nan
log1p: -1 0 -inf 0, [finite] inf inf pi/2, [finite] nan nan nan, -inf [positive] inf pi, inf [positive] inf 0,
    -inf inf inf 3pi/4, inf inf inf pi/4, [infinite] nan inf nan, nan [finite] nan nan, nan inf inf nan,
    nan nan nan nan
sign: [zero] [zero] ?0 ?0, nan [any] nan nan, [any] nan nan nan
sinh: 0 0 0 0, 0 inf ?0 nan, 0 nan ?0 nan, [positive] inf nan nan, [positive] nan nan nan, inf 0 inf 0,
    inf [positive] inf*cis inf*cis, inf inf ?inf nan, inf nan ?inf nan, nan 0 nan 0, nan [nonzero] nan nan,
    nan nan nan nan
sqrt: [zero] 0 0 0, [any] inf inf inf, [finite] nan nan nan, -inf [positive] 0 inf, inf [positive] inf 0,
    -inf nan nan ?inf, inf nan inf nan, nan [finite] nan nan, nan nan nan nan
tanh: 0 0 0 0, [nonzero] inf nan nan, 0 inf 0 nan, [nonzero] nan nan nan, 0 nan 0 nan, inf [positive] 1 ?0,
    inf inf 1 ?0, inf nan 1 ?0, nan 0 nan 0, nan [nonzero] nan nan, nan nan nan nan
"""
TABLE = {
    name: [case.split() for case in cases.split(", ")]
    for name, _, cases in (line.partition(": ") for line in ROWS.strip().replace(",\n    ", ", ").split("\n"))
}
# asin(z) is asinh(iz) / i, and so on; but cos(z) is cosh(iz), without the division.
HYPERBOLIC = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh", "cos": "cosh"}


def same(x, y):
    """Whether two numbers are equal up to rounding, with zeros of the same sign, or both NaN."""
    if math.isnan(y) or math.isinf(y) or y == 0:
        return (x == y and math.copysign(1, x) == math.copysign(1, y)) or (math.isnan(x) and math.isnan(y))
    return math.isclose(x, y, rel_tol=1e-6)


def numbers(word):
    """The numbers that a word of an operand stands for."""
    if word[0] == "[":
        return [x for x in NUMBERS if KINDS[word[1:-1]](x)]
    return [float(word)]


def is_right(part, word, direction):
    """Whether a part of a result is what its word in the row says; `direction` is that part of cos(b) + i
    sin(b)."""
    if word.endswith("*cis"):
        return same(part, math.copysign(float(word[: -len("*cis")]), direction))
    plain = word.removeprefix("?")
    return same(abs(part) if word != plain else part, ANGLES[plain] if plain in ANGLES else float(plain))


def wrong_parts(row, z, result):
    """[(row, z, result)] with an entry for each part of the result of z that is not what the row says."""
    direction = (math.cos(z.imag), math.sin(z.imag)) if math.isfinite(z.imag) else (0.0, 0.0)
    parts = zip((result.real, result.imag), row[2:], direction, strict=True)
    return [(row, z, result) for part, word, each in parts if not is_right(part, word, each)]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", TABLE)
def test_special_cases(name, dtype):
    drawn = [(row, complex(a, b)) for row in TABLE[name] for a in numbers(row[0]) for b in numbers(row[1])]
    operands = np.array([z for _, z in drawn], dtype)
    function = getattr(xp, name)
    results = function(xp.asarray(operands)).get()
    mirrored = function(xp.asarray(operands.conj())).get().conj()
    for each in (results, mirrored):
        pairs = zip(drawn, each.tolist(), strict=True)
        assert [wrong for (row, z), w in pairs for wrong in wrong_parts(row, z, w)] == []


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", HYPERBOLIC)
def test_functions_defined_by_a_hyperbolic_function_of_iz(name, dtype):
    z = np.empty((len(NUMBERS), len(NUMBERS)), dtype)
    z.real, z.imag = np.array(NUMBERS)[:, None], NUMBERS
    iz = np.empty_like(z)
    iz.real, iz.imag = -z.imag, z.real
    got = getattr(xp, name)(xp.asarray(z)).get()
    hyperbolic = getattr(xp, HYPERBOLIC[name])(xp.asarray(iz)).get()
    want = hyperbolic.copy()
    if name != "cos":  # divided by i
        want.real, want.imag = hyperbolic.imag, -hyperbolic.real
    for part, want_part, other_part in ((got.real, want.real, got.imag), (got.imag, want.imag, got.real)):
        any_sign = np.isnan(z) | np.isnan(other_part)  # as the standard leaves it unspecified
        for x, y, ignores_sign in zip(part.flat, want_part.flat, any_sign.flat, strict=True):
            assert same(abs(x), abs(y)) if ignores_sign else same(x, y)
