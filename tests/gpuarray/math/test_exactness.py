"""How exact the functions of float and double are, at the worst operands."""

import numpy as np
import pytest
from special import BOUNDS, distance, evaluate, show_wrong

from pycuda._kernels.builtin.functions import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about overflow and NaN


def hard(char):
    """Any bit pattern; the neighbors of 0, 1, multiples of pi / 2, also far away; the ends of exp, sinh."""
    rng, dtype = np.random.default_rng(11), np.dtype(char)
    word = np.dtype(f"u{dtype.itemsize}")
    patterns = rng.integers(0, np.iinfo(word).max, 1500, dtype=word, endpoint=True).view(dtype)
    steps = np.arange(-40, 41)
    ends = (709.782712893384, 710.4758600739439, 745.1332191019412)
    ends = np.array(ends if char == "d" else (88.72284, 89.41599, 103.97208))
    centres = [1, -1, 0.5, -0.5, *ends, *-ends]
    near = [np.array(centre, dtype) + steps * np.spacing(np.array(centre, dtype)) for centre in centres]
    quarter_turns = np.arange(1, 400) * (np.longdouble(np.pi) / 2)
    turns = [(rng.integers(1, 2**40, 300) * np.longdouble(np.pi) / 2), quarter_turns]
    # The doubles and floats closest to a multiple of pi / 2 (Muller, Elementary Functions).
    worst = np.array([6381956970095103.0 * 2.0**797] if char == "d" else [16367173.0 * 2.0**72])
    small = 10.0 ** rng.uniform(-30, 0, 300) * rng.choice([-1, 1], 300)
    every = [patterns, *near, *turns, worst, small, rng.normal(size=600) * 10]
    return np.concatenate([each.astype(dtype) for each in every])


def hard_pairs(name, char):
    """Two operands of a function that are hard to get right; for power also bases near 1 with large
    exponents.
    """
    x = hard(char)
    rng = np.random.default_rng(12)
    if name != "power":
        return x, np.roll(x, 701) * np.array(1, char)
    near_one = (1 + rng.normal(size=800) * 1e-4).astype(char)
    base = np.concatenate([abs(x), near_one])
    return base, np.concatenate([np.roll(x, 333), (rng.normal(size=800) * 1e5).astype(char)])


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", BOUNDS)
def test_error_bound(name, char):
    """The distance from the right result, rounded: NumPy's in a wider type."""
    operands = hard_pairs(name, char) if TABLE[name].rule.nin == 2 else (hard(char),)
    wide = char if name == "sqrt" else np.longdouble if char == "d" else np.float64
    want = TABLE[name].rule(*[each.astype(wide) for each in operands]).astype(char)
    (got,) = evaluate(name, operands)
    ordinary = np.isfinite(want) & np.isfinite(got)
    # Next to the largest number a unit more is infinity.
    edge = np.isinf(got) ^ np.isinf(want)
    wrong = ~ordinary & (np.isnan(got) != np.isnan(want))
    limit = np.finfo(char).max * (1 - 4 * np.finfo(char).eps)
    wrong |= edge & (np.minimum(abs(got), abs(want)) < limit)
    wrong[ordinary] |= distance(got[ordinary], want[ordinary]) > BOUNDS[name][char == "d"]
    show_wrong(wrong, got, want, operands)
