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
    rounded: type = np.float32


def _fitted(matrix: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The coefficients with the least weighted maximum error, by Lawson's algorithm: least squares, repeated
    with more weight where the error is large."""
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
        rounded.append(float(row.rounded(_fitted(powers[:, k:], rest, weights)[0] / size**k)))
        rest = rest - rounded[k] * v**k
    return rounded, float(abs(weights * rest).max())


class Surface(NamedTuple):
    """A sum of u^k times a polynomial of v of degree degrees[k], for u up to `most`, `low` <= v <= `high`."""

    function: Callable[[Any, Any], Any]
    most: float
    low: float
    high: float
    degrees: tuple[int, ...]
    weight: Callable[[Any, Any, Any], Any]  # of u, v and the function's value
    rounded: type = np.float32


def surface_coefficients(row: Surface) -> tuple[list[list[float]], float]:
    """The coefficients for each power of u, rounded, and the greatest weighted error before that."""
    u = row.most / 2 * (1 + np.cos(np.pi * (np.arange(9) + 0.5) / 9))
    v = (row.low + row.high) / 2 + (row.high - row.low) / 2 * np.cos(np.pi * (np.arange(70) + 0.5) / 70)
    u, v = (each.ravel() for each in np.meshgrid(u, v))
    values = [row.function(mpf(float(a)), mpf(float(b))) for a, b in zip(u, v, strict=True)]
    weights = np.array([float(row.weight(*each)) for each in zip(u, v, values, strict=True)])
    powers = [(k, j) for k, degree in enumerate(row.degrees) for j in range(degree + 1)]
    matrix = np.stack([(u / row.most) ** k * v**j for k, j in powers], axis=1)
    values = np.array(values, float)
    found = _fitted(matrix, values, weights)
    error = abs(weights * (matrix @ found - values)).max()
    groups: list[list[float]] = [[] for _ in row.degrees]
    for (k, _), each in zip(powers, found, strict=True):
        groups[k].append(float(row.rounded(each / row.most**k)))
    return groups, float(error)


def _ratio_of_eta(eta):
    """lambda > 0 with eta^2 / 2 = lambda - 1 - ln(lambda) and the sign of eta, by Newton's method."""
    ratio = 1 + eta + eta * eta / 3 if eta > -1 else mpmath.exp(-1 - eta * eta / 2)
    for _ in range(60):
        value = ratio - 1 - mpmath.log(ratio) - eta * eta / 2
        ratio = max(ratio - value / (1 - 1 / ratio), ratio / 2)
    return ratio


def _temme_rest(r, eta):
    """Q(a, x) less erfc(eta sqrt(a / 2)) / 2, divided by exp(-a eta^2 / 2) / sqrt(2 pi a); a = 1 / r."""
    a = 1 / r
    x = a * _ratio_of_eta(eta)
    if eta > 0:
        rest = mpmath.gammainc(a, x, regularized=True) - mpmath.erfc(eta * sqrt(a / 2)) / 2
    else:
        rest = mpmath.erfc(-eta * sqrt(a / 2)) / 2 - mpmath.gammainc(a, 0, x, regularized=True)
    return rest * mpmath.exp(a * eta**2 / 2) * sqrt(2 * mpmath.pi * a)


def _temme_weight(r, eta, rest):
    """For relative errors of Q(a, x), for negative eta of P(a, x)."""
    z, factor = abs(eta) / sqrt(2 * r), sqrt(r / (2 * mpmath.pi))
    half = mpmath.exp(z * z) * mpmath.erfc(z) / 2
    return factor / (half + (factor * rest if eta > 0 else -factor * rest))


def _atanh_rest(s):
    return (2 * mpmath.atanh(s) - 2 * s) / s**3


def _inverse_scaled_gamma(r):
    a = 1 / r
    return mpmath.exp(-a) * a**a / mpmath.gamma(a) / sqrt(a)


def _erfcx_in_t(t):
    z = 2 * (1 + t) / (1 - t)
    return (z + 2) * mpmath.exp(z * z) * mpmath.erfc(z)


def _of_root(function):
    """A function of v = z^2."""
    return lambda v: function(sqrt(v))


def _scaled_bessel_i(order):
    return lambda r: mpmath.exp(-1 / r) * mpmath.besseli(order, 1 / r) / sqrt(r)


def _stirling_rest(r):
    x = 1 / r
    return mpmath.loggamma(x) - (x - mpf(1) / 2) * (mpmath.log(x) - 1) - (mpmath.log(2 * mpmath.pi) - 1) / 2


def _bessel_part(order, of_logarithm):
    """2 J_n(x) / (pi x^n), or what Y_n(x) is beyond logarithm and pole, as functions of x^2 - 12.5."""

    def part(u):
        x = sqrt(u + 12.5)
        j = 2 / mpmath.pi * mpmath.besselj(order, x)
        if of_logarithm:
            return j / x**order
        pole = 2 / (mpmath.pi * x) if order else 0
        return (mpmath.bessely(order, x) - j * mpmath.log(x) + pole) / x**order

    return part


def _hankel_part(order, odd):
    """P, or x times Q, of DLMF 10.17.4 as functions of 1 / x^2."""

    def part(s):
        x = 1 / sqrt(s)
        angle, factor = x - (2 * order + 1) * mpmath.pi / 4, sqrt(mpmath.pi * x / 2)
        j, y = factor * mpmath.besselj(order, x), factor * mpmath.bessely(order, x)
        sine, cosine = mpmath.sin(angle), mpmath.cos(angle)
        return x * (y * cosine - j * sine) if odd else j * cosine + y * sine

    return part


def _bessel_rows(order):
    degrees = (7, 7) if order else (7, 8)
    weight = (lambda u: sqrt(u + 12.5)) if order else (lambda u: 1)
    return {
        f"bessel_y{order}, of the logarithm": Row(
            _bessel_part(order, True), -12.4999999, 12.5, degrees[0], weight
        ),
        f"bessel_y{order}": Row(_bessel_part(order, False), -12.4999999, 12.5, degrees[1], weight),
        f"bessel_y{order}, P": Row(_hankel_part(order, False), 1e-5, 0.04, 4),
        f"bessel_y{order}, Q x": Row(_hankel_part(order, True), 1e-5, 0.04, 3, sqrt),
    }


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
    "less_log_of_one_plus": Row(_of_root(_atanh_rest), 1e-9, 0.0296, 4, rounded=np.float64),
    "gamma_power_factor, a < 1": Row(lambda a: 1 / mpmath.gamma(1 + a), 1e-9, 1, 8),
    "gamma_power_factor": Row(_inverse_scaled_gamma, 1e-4, 1, 7),
    "small_upper_gamma": Row(lambda a: mpmath.loggamma(1 + a) / a, 1e-9, 1.25, 9, lambda a: 1),
    "log_gamma, before 3": Row(lambda t: mpmath.loggamma(t + 2) / (t * (t + 1)), -1 + 1e-9, 1, 11),
    "log_gamma, from 3 on": Row(_of_root(lambda r: _stirling_rest(r) / r), 1e-6, 1 / 9, 2, sqrt),
    "sine_and_cosine, sine": Row(_of_root(lambda x: (mpmath.sin(x) - x) / x**3), 1e-9, 0.62, 2, lambda q: q),
    "sine_and_cosine, cosine": Row(
        _of_root(lambda x: (mpmath.cos(x) - 1 + x * x / 2) / x**4), 1e-9, 0.62, 2, lambda q: q * q
    ),
    **_bessel_rows(0),
    **_bessel_rows(1),
    "uniform_gamma_tail": Surface(_temme_rest, 1 / 6, -1.6, 1.6, (12, 8, 5, 2), _temme_weight),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ROWS:
        row = ROWS[name]
        if isinstance(row, Surface):
            groups, error = surface_coefficients(row)
        else:
            group, error = coefficients(row)
            groups = [group]
        suffix = "f" if row.rounded is np.float32 else ""
        for group in groups:
            print(f"{name} ({error:.1e}):", ", ".join(f"{row.rounded(each)!s}{suffix}" for each in group))
