"""The error of functions of float and double for operands that are hard to compute with."""

import numpy as np
import pytest
from special import BOUNDS, distance, evaluate, show_wrong

from pycuda._kernels.builtin.functions import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about overflow and NaN


def hard(char):
    """Operands that are hard to get right: random bit patterns, neighbors of 1, -1, 0.5, -0.5 and of the
    limits of exp() and sinh(), numbers near multiples of pi / 2 (small and large ones), small numbers,
    ordinary ones."""
    rng, dtype = np.random.default_rng(11), np.dtype(char)
    word = np.dtype(f"u{dtype.itemsize}")
    patterns = rng.integers(0, np.iinfo(word).max, 1500, dtype=word, endpoint=True).view(dtype)
    steps = np.arange(-40, 41)
    # Where exp() and sinh() overflow, and where exp(-x) becomes 0.
    limits = (709.782712893384, 710.4758600739439, 745.1332191019412)
    limits = np.array(limits if char == "d" else (88.72284, 89.41599, 103.97208))
    centers = [1, -1, 0.5, -0.5, *limits, *-limits]
    near = [np.array(center, dtype) + steps * np.spacing(np.array(center, dtype)) for center in centers]
    quarter_turns = np.arange(1, 400) * (np.longdouble(np.pi) / 2)
    turns = [(rng.integers(1, 2**40, 300) * np.longdouble(np.pi) / 2), quarter_turns]
    # The doubles and floats closest to a multiple of pi / 2 (Muller, Elementary Functions).
    worst = np.array([6381956970095103.0 * 2.0**797] if char == "d" else [16367173.0 * 2.0**72])
    small = 10.0 ** rng.uniform(-30, 0, 300) * rng.choice([-1, 1], 300)
    parts = [patterns, *near, *turns, worst, small, rng.normal(size=600) * 10]
    return np.concatenate([each.astype(dtype) for each in parts])


def hard_pairs(name, char):
    """Two operands of a function, each from hard(); for power no negative bases, and bases near 1 with large
    exponents."""
    x = hard(char)
    rng = np.random.default_rng(12)
    if name != "power":
        return x, np.roll(x, 701)
    near_one = (1 + rng.normal(size=800) * 1e-4).astype(char)
    base = np.concatenate([abs(x), near_one])
    return base, np.concatenate([np.roll(x, 333), (rng.normal(size=800) * 1e5).astype(char)])


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", BOUNDS)
def test_error_bound(name, char):
    """The distance from the exact result, rounded, is at most that of BOUNDS. NumPy computes it in a wider
    type."""
    operands = hard_pairs(name, char) if TABLE[name].rule.nin == 2 else (hard(char),)
    wide = char if name == "sqrt" else np.longdouble if char == "d" else np.float64
    want = TABLE[name].rule(*[each.astype(wide) for each in operands]).astype(char)
    (got,) = evaluate(name, operands)
    finite = np.isfinite(want) & np.isfinite(got)
    wrong = ~finite & (np.isnan(got) != np.isnan(want))
    # One may be infinity if the other is a few units from it.
    one_is_infinite = np.isinf(got) ^ np.isinf(want)
    nearly_infinite = np.finfo(char).max * (1 - 4 * np.finfo(char).eps)
    wrong |= one_is_infinite & (np.minimum(abs(got), abs(want)) < nearly_infinite)
    wrong[finite] |= distance(got[finite], want[finite]) > BOUNDS[name][char == "d"]
    show_wrong(wrong, got, want, operands)
