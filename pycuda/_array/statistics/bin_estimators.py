"""The number of bins of a histogram that NumPy's estimators choose: a few sums, for which the call waits.

Widths are of the dtypes that NumPy has them in, which decide where the quotient is nearly whole.
"""

from __future__ import annotations

import math

import numpy as np

from pycuda._array.core.elementwise import apply


def _number(a):
    return a.get()[()]


def _ptp(a):
    least, most = _number(a.min()), _number(a.max())
    return int(most) - int(least) if a.dtype.kind in "iu" else most - least


def _sqrt(a):
    return _ptp(a) / np.sqrt(a.size)


def _sturges(a):
    return _ptp(a) / (np.log2(a.size) + 1.0)


def _rice(a):
    return _ptp(a) / (2.0 * a.size ** (1.0 / 3))


def _scott(a):
    return (24.0 * math.pi**0.5 / a.size) ** (1.0 / 3.0) * _number(a.std())


def _doane(a):
    if a.size <= 2:
        return 0.0
    spread = np.sqrt(6.0 * (a.size - 2) / ((a.size + 1.0) * (a.size + 3)))
    sigma = a.std()
    if not _number(sigma) > 0:
        return 0.0
    scaled = apply("divide", apply("subtract", a, a.mean()), sigma)
    skewness = _number(apply("multiply", apply("square", scaled), scaled).mean())
    return _ptp(a) / (1.0 + np.log2(a.size) + np.log2(1.0 + abs(skewness) / spread))


def _freedman_diaconis(a):
    from pycuda._array.statistics.quantiles import percentile

    high, low = percentile(a, [75, 25]).get()
    return 2.0 * (high - low) * a.size ** (-1.0 / 3.0)


def _auto(a):
    return min(max(_freedman_diaconis(a), _sqrt(a) / 2), _sturges(a))


_WIDTHS = {
    "auto": _auto,
    "doane": _doane,
    "fd": _freedman_diaconis,
    "rice": _rice,
    "scott": _scott,
    "sqrt": _sqrt,
    "sturges": _sturges,
}


def count_bins(name: str, a, limits, stream) -> int:
    """How many bins of a flat array, within (first, last) where limits are given."""
    if name == "stone":
        raise TypeError("bins='stone' makes a histogram for each number of bins: give the number")
    if name not in _WIDTHS:
        raise ValueError(f"{name!r} is not a valid estimator for `bins`")
    from pycuda._array.reduction.masked import on
    from pycuda._array.statistics.histogram import _outer_edges

    first, last = _outer_edges(a, limits, stream)
    with on(stream):
        if limits is not None:
            a = a[apply("logical_and", apply("greater_equal", a, first), apply("less_equal", a, last))]
        if not a.size:
            return 1
        width = _WIDTHS[name](a)
    if not width:
        return 1
    if a.dtype.kind in "iu" and width < 1:
        width = 1
    whole = isinstance(first, np.integer) and isinstance(last, np.integer)
    span = int(last) - int(first) if whole else np.subtract(last, first)
    return math.ceil(span / width)
