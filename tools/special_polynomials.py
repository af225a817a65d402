"""Prints the coefficients of the polynomials in pycuda/cuda/array/pycuda-special*.hpp for floats.

    python tools/special_polynomials.py [name ...]

It needs mpmath and NumPy. Each polynomial has the smallest maximum of the error that its row weights, by
Lawson's method: least squares, whose weights are multiplied by the errors until these are even. Coefficients
are rounded to float one after another, from the constant one on, each time with a new fit of the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mpf, sqrt

mpmath.mp.dps = 40
NODES, ROUNDS = 240, 60


class Row(NamedTuple):
    """A polynomial for `low` <= v <= `high`."""

    function: Callable[[Any], Any]
    low: float
    high: float
    degree: int
    weight: Callable[[Any], Any] | None = None  # of the error; by default 1 / |function|


def _fitted(matrix: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    best, found = np.inf, None
    lawson = np.full(len(values), 1 / len(values))
    for _ in range(ROUNDS):
        factors = np.sqrt(lawson) * weights
        solution = np.linalg.lstsq(matrix * factors[:, None], values * factors, rcond=None)[0]
        errors = abs(weights * (matrix @ solution - values))
        if errors.max() < best:
            best, found = errors.max(), solution
        lawson *= errors + 1e-30 * errors.max()
        lawson /= lawson.sum()
    return found


def coefficients(row: Row) -> tuple[list[float], float]:
    """The coefficients, each a float, in ascending order, and the greatest weighted error."""
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    v = (row.low + row.high) / 2 + (row.high - row.low) / 2 * np.cos(angles)
    values = np.array([float(row.function(mpf(float(each)))) for each in v])
    if row.weight is None:
        weights = 1 / abs(values)
    else:
        weights = np.array([float(row.weight(mpf(float(each)))) for each in v])
    size = max(abs(row.low), abs(row.high))
    powers = np.stack([(v / size) ** k for k in range(row.degree + 1)], axis=1)
    rounded: list[float] = []
    rest = values.copy()
    for k in range(row.degree + 1):
        rounded.append(float(np.float32(_fitted(powers[:, k:], rest, weights)[0] / size**k)))
        rest = rest - rounded[k] * v**k
    return rounded, float(abs(weights * rest).max())


def _erfcx_in_t(t):
    z = 2 * (1 + t) / (1 - t)
    return (z + 2) * mpmath.exp(z * z) * mpmath.erfc(z)


def _of_root(function):
    """A function of v = z^2."""
    return lambda v: function(sqrt(v))


def _scaled_bessel_i(order):
    return lambda r: mpmath.exp(-1 / r) * mpmath.besseli(order, 1 / r) / sqrt(r)


DIGAMMA_ROOT = mpmath.findroot(mpmath.digamma, 1.46)
ROWS = {
    "log_of_sum": Row(
        lambda f: (mpmath.log1p(f) - f + f * f / 2) / f**3,
        -0.33332,
        0.33332,
        7,
        lambda f: abs(f**3 / mpmath.log1p(f)),
    ),
    "scaled_erfcx": Row(_erfcx_in_t, -1, 0.998, 10),
    "logit": Row(_of_root(lambda z: 2 * mpmath.atanh(z) / z), 1e-9, 0.165, 6),
    "positive_kl_divergence": Row(_of_root(lambda z: (mpmath.atanh(z) - z) / z**3), 1e-9, 0.1112, 4),
    "scaled_bessel_i<0>, x^2": Row(_of_root(lambda y: mpmath.besseli(0, y)), 1e-6, 36, 8),
    "scaled_bessel_i<1>, x^2": Row(_of_root(lambda y: mpmath.besseli(1, y) / y), 1e-6, 36, 8),
    "scaled_bessel_i<0>, 1 / x": Row(_scaled_bessel_i(0), 1e-4, 1 / 6, 5),
    "scaled_bessel_i<1>, 1 / x": Row(_scaled_bessel_i(1), 1e-4, 1 / 6, 5),
    "digamma_pole": Row(
        _of_root(lambda r: (1 / r - mpmath.pi * mpmath.cot(mpmath.pi * r)) / r), 1e-8, 0.25, 6
    ),
    "digamma, near the root": Row(lambda t: mpmath.digamma(t + 1.5) / (t + 1.5 - DIGAMMA_ROOT), -0.5, 0.5, 9),
    "digamma, from 2 on": Row(
        _of_root(lambda r: (-mpmath.log(r) - r / 2 - mpmath.digamma(1 / r)) / r**2),
        1e-6,
        0.25,
        3,
        lambda s: s / mpmath.digamma(1 / sqrt(s)),
    ),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ROWS:
        found, error = coefficients(ROWS[name])
        print(f"{name} ({error:.1e}):", ", ".join(f"{np.float32(each)!s}f" for each in found))
