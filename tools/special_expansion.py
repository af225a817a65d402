"""Prints temme_coefficients of pycuda/cuda/array/pycuda-special-gamma-uniform.hpp, a line for each k.

    python tools/special_expansion.py

It needs mpmath. c_k(eta) of DLMF 8.12.7 is computed as a power series (DLMF 8.12.11), and that as one of
Chebyshev polynomials for |eta| <= 1, whose last terms are left out where they do not matter for a >= 20.
"""

from __future__ import annotations

import mpmath
from mpmath import mpf

mpmath.mp.dps = 60
ORDER, TERMS, NODES = 90, 11, 48
LEAST_A, TOLERANCE = 20, mpf("3e-17")


def inverse_of_mu() -> list:
    """The power series of eta / mu, where mu - ln(1 + mu) = eta^2 / 2, so mu mu' = eta (1 + mu)."""
    mu = [mpf(0), mpf(1)]
    for n in range(2, ORDER + 1):
        known = sum((mu[i] * mu[n + 1 - i] for i in range(2, n)), mpf(0))
        mu.append((2 * mu[n - 1] / (n + 1) - known) / 2)
    inverse = [mpf(1)]
    for n in range(1, ORDER):
        inverse.append(-sum(mu[i + 1] * inverse[n - i] for i in range(1, n + 1)))
    return inverse


def stirling_series() -> list:
    """g_k of DLMF 5.11.3, from the logarithm's series 5.11.1."""
    log = [mpf(0)] * (TERMS + 2)
    for n in range(1, TERMS + 1, 2):
        log[n] = mpmath.bernoulli(n + 1) / (n * (n + 1))
    series = [mpf(1)]
    for n in range(1, TERMS):
        series.append(sum(j * log[j] * series[n - j] for j in range(1, n + 1)) / n)
    return series


def power_series() -> list[list]:
    inverse, stirling = inverse_of_mu(), stirling_series()
    rows = [inverse[1:]]
    for k in range(1, TERMS):
        sign = (-1) ** k * stirling[k]
        last = rows[-1]
        rows.append([(n + 2) * last[n + 2] + sign * inverse[n + 1] for n in range(len(last) - 2)])
    return rows


def economized(series: list, tolerance) -> list[float]:
    """The coefficients of a shorter polynomial for |eta| <= 1, in ascending order."""
    angles = [mpmath.pi * (j + mpf(1) / 2) / NODES for j in range(NODES)]
    values = [mpmath.polyval(series[::-1], mpmath.cos(each)) for each in angles]
    chebyshev = [
        2 * mpmath.fsum(v * mpmath.cos(m * t) for v, t in zip(values, angles, strict=True)) / NODES
        for m in range(NODES)
    ]
    chebyshev[0] /= 2
    while abs(chebyshev[-1]) < tolerance:
        tolerance -= abs(chebyshev.pop())
    size = len(chebyshev)
    polynomials = [[mpf(1)] + [mpf(0)] * (size - 1), [mpf(0), mpf(1)] + [mpf(0)] * (size - 2)]
    for m in range(2, size):
        shifted = [mpf(0), *polynomials[m - 1][:-1]]
        polynomials.append([2 * a - b for a, b in zip(shifted, polynomials[m - 2], strict=True)])
    return [
        float(mpmath.fsum(c * p[n] for c, p in zip(chebyshev, polynomials, strict=False)))
        for n in range(size)
    ]


if __name__ == "__main__":
    for k, series in enumerate(power_series()):
        print(", ".join(map(repr, economized(series, TOLERANCE * LEAST_A**k)[::-1])))
