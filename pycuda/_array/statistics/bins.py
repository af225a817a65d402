"""Edges of bins, which bin a value is in, and how many bins NumPy's estimators choose.

An estimator takes a few sums, for which the call waits. Widths have NumPy's dtypes, as their rounding decides
about the number of bins if the span is nearly a multiple of the width.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import on_device
from pycuda._array.core.operands import as_array
from pycuda._array.reduction.masked import use_stream
from pycuda._array.sorting.sorting import searchsorted
from pycuda._kernels.plans.caches import memoized_in_context

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def _scalar_of(a):
    """A 0-d array as a NumPy scalar, for which the host waits."""
    return a.get()[()]


# ---- estimators: the width of bins for a flat array, by the formulas of numpy.histogram_bin_edges


def _ptp(a):
    """The maximum minus the minimum; of integers a Python int, which does not overflow."""
    minimum, maximum = _scalar_of(a.min()), _scalar_of(a.max())
    return int(maximum) - int(minimum) if a.dtype.kind in "iu" else maximum - minimum


def _sqrt(a):
    return _ptp(a) / np.sqrt(a.size)


def _sturges(a):
    return _ptp(a) / (np.log2(a.size) + 1.0)


def _rice(a):
    return _ptp(a) / (2.0 * a.size ** (1.0 / 3))


def _scott(a):
    return (24.0 * math.pi**0.5 / a.size) ** (1.0 / 3.0) * _scalar_of(a.std())


def _doane(a):
    """The width of Doane's bins: Sturges' for data whose skewness is taken into account."""
    if a.size <= 2:
        return 0.0
    spread = np.sqrt(6.0 * (a.size - 2) / ((a.size + 1.0) * (a.size + 3)))
    sigma = a.std()
    if not _scalar_of(sigma) > 0:
        return 0.0
    scaled = apply("divide", apply("subtract", a, a.mean()), sigma)
    skewness = _scalar_of(apply("multiply", apply("square", scaled), scaled).mean())
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
    """The number of bins that NumPy's estimator chooses for a flat array, of its elements within `limits`
    (first, last) if these are given."""
    if name == "stone":
        raise TypeError("bins='stone' is not supported: pass the number of bins")
    if name not in _WIDTHS:
        raise ValueError(f"{name!r} is not a valid estimator for `bins`")
    first, last = outer_edges(a, limits, stream)
    with use_stream(stream):
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


def outer_edges(a, limits, stream):
    """The first and the last edge, as NumPy chooses them."""
    if limits is not None:
        first, last = limits
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    elif a.size == 0:
        first, last = 0, 1
    else:
        captures.refuse(
            "histogram() without a range", "the host reads the minimum and the maximum", stream,
            "with range=(first, last) it can be",
        )  # fmt: skip
        first, last = (each(stream=stream).get(stream=stream)[()] for each in (a.min, a.max))
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


def bin_edges(a, bins, limits, stream):
    """(edges in host memory, whether they are equidistant) for the arguments bins= and range= of
    histogram().
    """
    if isinstance(bins, str):
        bins = count_bins(bins, a, limits, stream)
    if np.ndim(bins) == 1:
        if isinstance(bins, _driver.GPUArray):
            captures.refuse(
                "histogram() by edges on the device",
                "the host reads the edges",
                stream,
                "edges in a host array can be used",
            )
        edges = bins.get() if isinstance(bins, _driver.GPUArray) else np.asarray(bins)
        if np.any(edges[:-1] > edges[1:]):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges, False
    if np.ndim(bins):
        raise ValueError("`bins` must be 1d, when an array")
    try:
        count = operator.index(bins)
    except TypeError:
        raise TypeError("`bins` must be an integer, a string, or an array") from None
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    first, last = outer_edges(a, limits, stream)
    dtype = np.result_type(first, last, a.dtype)
    if dtype.kind in "iu":
        dtype = np.result_type(dtype, float)
    edges = np.linspace(first, last, count + 1, endpoint=True, dtype=dtype)
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
    return edges, True


def histogram_bin_edges(a, bins=10, range=None, weights=None) -> GPUArray:
    """The edges that histogram() has for these arguments."""
    if isinstance(bins, str) and weights is not None:
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    if a.dtype.kind == "b":
        a = a.astype(np.uint8)
    edges, _ = bin_edges(a.ravel(), bins, range, None)
    return on_device(edges)


def _monotonic(bins) -> int:
    """1 for edges that increase, -1 for edges that decrease, as NumPy decides it: the first two that differ
    say which, and ValueError is raised if later ones do the opposite. So edges that are NaN count as
    decreasing."""
    if bins.ndim != 1:
        raise ValueError(f"object {'too deep' if bins.ndim else 'of too small depth'} for desired array")
    before, after = bins[:-1], bins[1:]
    differ = np.flatnonzero(before != after)
    if not differ.size:
        return 1
    first = differ[0]
    rises = before[first] < after[first]
    before, after = before[first + 1 :], after[first + 1 :]
    opposite = before > after if rises else before < after
    if opposite.any():
        raise ValueError("bins must be monotonically increasing or decreasing")
    return 1 if rises else -1


# From this many values on, their search takes longer than reading the edges, so that digitize() queues the
# search without waiting to see whether the edges increase.
_SEARCHED_AT_ONCE = 1 << 20
# Of each context: (a pool of page-locked memory, {id(array): array} of the arrays in it to which a copy is
# queued). An array whose copy was never waited for stays there.
_page_locked = memoized_in_context(lambda: (_driver.PageLockedMemoryPool(), {}), 256)


def _begin_reading(array) -> Callable[[], np.ndarray]:
    """Queue a copy of an array to the host. Returns a function that waits for this copy, but not for what is
    queued after it, and returns the copy.
    """
    if captures.is_captured() or not array.flags.c_contiguous:
        before = captures.last_work(None)
        return functools.partial(captures.in_own_stream_after, before, array.get)
    pool, pending = _page_locked()
    host = pool.allocate(array.shape, array.dtype)
    pending[id(host)] = host
    array.get_async(ary=host)
    event = _driver.Event(_driver.event_flags.DISABLE_TIMING).record()

    def finish():
        event.synchronize()
        return pending.pop(id(host))

    return finish


def digitize(x, bins, right=False) -> GPUArray[np.intp]:
    """The number of the bin that each value is in. The call waits for edges on the device, which the host
    reads, but not for the search of many values.
    """
    x = as_array(x)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    is_on_device, side = isinstance(bins, _driver.GPUArray), "left" if right else "right"
    bins = bins if is_on_device else np.asarray(bins)
    if is_on_device and bins.ndim == 1 and x.size >= _SEARCHED_AT_ONCE:
        read = _begin_reading(bins)
        found = searchsorted(bins, x, side)  # dropped below if the edges decrease
        direction = _monotonic(read())
    else:
        direction, found = _monotonic(bins.get() if is_on_device else bins), None
    if direction > 0 and found is not None:
        return found
    edges = bins if is_on_device else on_device(bins)
    if direction > 0:
        return searchsorted(edges, x, side)
    return apply("subtract", edges.size, searchsorted(edges[::-1].copy(), x, side))
