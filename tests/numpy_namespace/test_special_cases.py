"""The special cases of elementwise functions that the array API standard lists, one row each.

A row has a function, its operands and the result. As an operand, a word in brackets stands for the numbers of
a kind (KINDS); as a result, for an operand (see result()). The sign of a zero counts.
"""

import itertools
import math

import numpy as np
import pytest

import pycuda.numpy as xp

pytestmark = pytest.mark.usefixtures("primary_context")

KINDS = {
    "positive": [0.5, 1.0, 2.0, 3.0, 1e30],
    "negative": [-0.5, -1.0, -2.0, -3.0, -1e30],
    "above1": [1.5, 2.0, 1e10],
    "below1": [0.25, 0.5],
    "less": [-1.5, -2.0, -math.inf],  # than -1
    "more": [1.5, 2.0, math.inf],  # than 1
    "odd": [1.0, 3.0, 5.0],
    "minusodd": [-1.0, -3.0],
    "even": [2.0, 4.0, 0.5, 2.5],  # positive numbers that are not odd integers
    "minuseven": [-2.0, -0.5, -2.5],
    "fraction": [0.5, 1.5, -0.5],
    "any": [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.0],
    "number": [math.inf, -math.inf, 0.0, -0.0, 1.5, -2.0],
    "finite": [0.0, -0.0, 1.5, -2.0, 1e30],
}
WORDS = {
    "nan": math.nan, "inf": math.inf, "-inf": -math.inf, "pi": math.pi, "-pi": -math.pi, "pi/2": math.pi / 2,
    "-pi/2": -math.pi / 2, "pi/4": math.pi / 4, "-pi/4": -math.pi / 4, "3pi/4": 3 * math.pi / 4,
    "-3pi/4": -3 * math.pi / 4,
}  # fmt: skip

UNARY = """
abs: nan nan, -0 0, -inf inf
acos: nan nan, [more] nan, [less] nan, 1 0
acosh: nan nan, [below1] nan, -1 nan, 1 0, inf inf
asin: nan nan, [more] nan, [less] nan, 0 0, -0 -0
asinh: nan nan, 0 0, -0 -0, inf inf, -inf -inf
atan: nan nan, 0 0, -0 -0, inf pi/2, -inf -pi/2
atanh: nan nan, [less] nan, [more] nan, -1 -inf, 1 inf, 0 0, -0 -0
ceil: inf inf, -inf -inf, 0 0, -0 -0, nan nan, -0.5 -0
cos: nan nan, 0 1, -0 1, inf nan, -inf nan
cosh: nan nan, 0 1, -0 1, inf inf, -inf inf
exp: nan nan, 0 1, -0 1, inf inf, -inf 0
expm1: nan nan, 0 0, -0 -0, inf inf, -inf -1
floor: inf inf, -inf -inf, 0 0, -0 -0, nan nan
log: nan nan, [negative] nan, -inf nan, 0 -inf, -0 -inf, 1 0, inf inf
log10: nan nan, [negative] nan, 0 -inf, -0 -inf, 1 0, inf inf
log1p: nan nan, [less] nan, -1 -inf, 0 0, -0 -0, inf inf
log2: nan nan, [negative] nan, 0 -inf, -0 -inf, 1 0, inf inf
round: inf inf, -inf -inf, 0 0, -0 -0, nan nan, 0.5 0, 1.5 2, 2.5 2
sign: [negative] -1, 0 0, -0 0, [positive] 1, nan nan, inf 1, -inf -1
sin: nan nan, 0 0, -0 -0, inf nan, -inf nan
sinh: nan nan, 0 0, -0 -0, inf inf, -inf -inf
sqrt: nan nan, [negative] nan, 0 0, -0 -0, inf inf
tan: nan nan, 0 0, -0 -0, inf nan, -inf nan
tanh: nan nan, 0 0, -0 -0, inf 1, -inf -1
trunc: inf inf, -inf -inf, 0 0, -0 -0, nan nan, -0.5 -0
"""

BINARY = """
add: nan [any] nan, [any] nan nan, inf -inf nan, -inf inf nan, inf inf inf, -inf -inf -inf, inf [finite] inf,
    [finite] -inf -inf, -0 -0 -0, -0 0 0, 0 -0 0, 0 0 0
subtract: inf inf nan, -inf -inf nan, [finite] inf -inf, 0 0 0, -0 0 -0, 0 -0 0, -0 -0 0
multiply: nan [any] nan, inf 0 nan, -0 inf nan, inf inf inf, inf -inf -inf, inf [positive] inf,
    -inf [positive] -inf, [negative] inf -inf, -0 [positive] -0, [negative] 0 -0
divide: nan [any] nan, [any] nan nan, inf inf nan, -inf inf nan, 0 0 nan, -0 0 nan, [positive] 0 inf,
    [positive] -0 -inf, [negative] 0 -inf, [negative] -0 inf, 0 [positive] 0, 0 [negative] -0,
    -0 [positive] -0, inf [positive] inf, inf [negative] -inf, inf 0 inf, [positive] inf 0,
    [positive] -inf -0, [negative] inf -0
atan2: nan [any] nan, [any] nan nan, [positive] 0 pi/2, [positive] -0 pi/2, 0 [positive] 0, 0 0 0, 0 -0 pi,
    0 [negative] pi, -0 [positive] -0, -0 0 -0, -0 -0 -pi, -0 [negative] -pi, [negative] 0 -pi/2,
    [negative] -0 -pi/2, [positive] inf 0, [positive] -inf pi, [negative] inf -0, [negative] -inf -pi,
    inf [finite] pi/2, -inf [finite] -pi/2, inf inf pi/4, inf -inf 3pi/4, -inf inf -pi/4, -inf -inf -3pi/4
copysign: nan 0 nan, nan -0 nan, 0 -0 -0, -0 0 0, [positive] -0 [minus], inf -0 -inf, -inf 0 inf
floor_divide: nan [any] nan, [any] nan nan, inf inf nan, -inf inf nan, 0 0 nan, -0 0 nan, 0 [positive] 0,
    -0 [positive] -0, 0 [negative] -0, -0 [negative] 0, [positive] 0 inf, [positive] -0 -inf,
    [negative] 0 -inf, [negative] -0 inf, [positive] inf 0, [negative] -inf 0
remainder: nan [any] nan, [any] nan nan, inf [number] nan, -inf [number] nan, [number] 0 nan, [number] -0 nan,
    0 [positive] 0, -0 [positive] 0, 0 [negative] -0, -0 [negative] -0, [positive] inf [x],
    [positive] -inf -inf, [negative] inf inf, [negative] -inf [x]
hypot: inf [any] inf, [any] -inf inf, -inf nan inf, nan inf inf, nan [finite] nan, [finite] nan nan, 0 0 0
logaddexp: nan [number] nan, [number] nan nan, inf [finite] inf, [finite] inf inf, -inf -inf -inf
maximum: nan [any] nan, [any] nan nan, inf [number] inf, [number] -inf [x]
minimum: nan [any] nan, [any] nan nan, -inf [number] -inf, [number] inf [x]
nextafter: nan [any] nan, [any] nan nan, [finite] [same] [y], 0 -0 -0, -0 0 0
pow: [above1] inf inf, [above1] -inf 0, 1 [number] 1, -1 inf 1, -1 -inf 1, [below1] inf 0, [below1] -inf inf,
    [number] 0 1, [number] -0 1, nan 0 1, nan -0 1, inf [positive] inf, inf [negative] 0, -inf [odd] -inf,
    -inf [even] inf, -inf [minusodd] -0, -inf [minuseven] 0, 0 [positive] 0, 0 [negative] inf, -0 [odd] -0,
    -0 [even] 0, -0 [minusodd] -inf, -0 [minuseven] inf, [negative] [fraction] nan, nan [positive] nan,
    2 nan nan
"""

# Cases in which the standard has infinities or signed zeros, but our results are NumPy's.
NUMPYS = """
floor_divide: inf [positive] nan, inf [negative] nan, -inf [positive] nan, -inf [negative] nan,
    [positive] -inf -1, [negative] inf -1
"""


def rows(text):
    """(function, operands and result as words) of each row."""
    for block in text.strip().replace("\n    ", " ").split("\n"):
        name, _, cases = block.partition(": ")
        for case in cases.split(", "):
            yield pytest.param(name, case.split(), id=f"{name} {case}")


def values(word):
    """The numbers that a word stands for."""
    return KINDS[word[1:-1]] if word[0] == "[" else [WORDS[word] if word in WORDS else float(word)]


def result(word, operands):
    """The number that a word of the result stands for: "[x]" the first operand, "[y]" the last, "[minus]" the
    first one negated."""
    if word in ("[x]", "[y]", "[minus]"):
        return {"[x]": operands[0], "[y]": operands[-1], "[minus]": -operands[0]}[word]
    return values(word)[0]


def cases(words):
    """([operands, ...], [result, ...]) of a row, whose words are those of each operand and then of the
    result: all combinations of operands, or pairs of equal ones if a word is "[same]"."""
    *operands, last = words
    if "[same]" in operands:
        drawn = [(x, x) for x in values(operands[0])]
    else:
        drawn = list(itertools.product(*map(values, operands)))
    return drawn, [result(last, each) for each in drawn]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name, words", [*rows(UNARY), *rows(BINARY), *rows(NUMPYS)])
def test_special_case(name, words, dtype):
    drawn, wanted = cases(words)
    with np.errstate(over="ignore"):
        operands = [np.array(column, dtype) for column in zip(*drawn, strict=True)]
        wanted = np.array(wanted, dtype)
    got = getattr(xp, name)(*operands).get()
    near = np.isclose(got, wanted, rtol=1e-6, equal_nan=True)
    signs = np.isnan(wanted) | (np.signbit(got) == np.signbit(wanted))
    assert (near & signs).all(), (drawn, got, wanted)
