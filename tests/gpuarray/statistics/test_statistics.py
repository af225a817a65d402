"""Means, variances, medians and quantiles, with and without NaN and masks; covariances and histograms;
compared with NumPy.
"""

import warnings

import numpy as np
import pytest
from against import same
from drawing import arrays, axes_of, few
from hypothesis import given
from hypothesis import strategies as st

from pycuda import gpuarray
from pycuda._array.statistics import bins

pytestmark = [
    pytest.mark.usefixtures("primary_context"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

rng = np.random.default_rng(5)
NEAR = {"rtol": 2e-5, "atol": 2e-5}


def with_nan(pair, chance=0.3):
    """(host, device) with NaN instead of some floats, each with this probability."""
    host, on_device = pair
    if host.dtype.kind not in "fc":
        return pair
    host = np.array(host)
    host[np.random.default_rng(host.size).random(host.shape) < chance] = np.nan
    on_device = on_device.copy()
    on_device[...] = host
    return host, on_device


def for_products(pair, name):
    """(host, device) with powers of two instead of floats if the function named is a product: mostly 1, so
    that products are exact in any order and do not overflow."""
    host, on_device = pair
    if "prod" not in name or host.dtype.kind not in "fc":
        return pair
    exponents = np.random.default_rng(host.size).choice([-1, 1, 0], host.shape, p=[0.05, 0.05, 0.9])
    host = np.copysign(np.ldexp(np.ones(host.shape, host.dtype), exponents), host)
    on_device = on_device.copy()
    on_device[...] = host
    return host, on_device


NAN = "nansum nanprod nanmean nanvar nanstd nanmax nanmin nanmedian".split()


@pytest.mark.parametrize("name", NAN)
@few
@given(data=st.data())
def test_functions_that_skip_nan(data, name):
    pair = with_nan(for_products(data.draw(arrays(["f4", "f8", "i4"], max_ndim=3)), name))
    axis, keepdims = data.draw(axes_of(pair[0].ndim)), data.draw(st.booleans())
    if pair[0].size == 0 and name not in ("nansum", "nanprod"):
        return
    same(lambda a: getattr(np, name)(a, axis=axis, keepdims=keepdims), pair, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin", "nancumsum"])
@few
@given(data=st.data())
def test_functions_along_an_axis_that_skip_nan(data, name):
    pair = with_nan(data.draw(arrays(["f4", "i4"], min_ndim=1, max_ndim=2)), 0.2)
    axis = data.draw(st.sampled_from([None, *range(pair[0].ndim)]))
    if pair[0].size:
        same(lambda a: getattr(np, name)(a, axis=axis), pair, rtol=1e-4, atol=1e-3)


def test_options_of_functions_that_skip_nan():
    host = rng.normal(size=(5, 7)).astype("f4")
    host[rng.random(host.shape) < 0.3] = np.nan
    mask = rng.random(host.shape) < 0.7
    complex_host = (host + 1j).astype("F")
    for name in ("nansum", "nanprod", "nanmax", "nanmin"):
        same(lambda a, n=name: getattr(np, n)(a, axis=1, initial=2), host, **NEAR)
        same(lambda a, m, n=name: getattr(np, n)(a, axis=1, initial=2, where=m), host, mask, **NEAR)
    for name in ("nansum", "nanmean", "nanmax"):
        same(lambda a, n=name: getattr(np, n)(a, axis=1), complex_host, **NEAR)
        same(lambda a, o, n=name: (getattr(np, n)(a, axis=0, out=o), o), host, np.zeros(7, "f8"), **NEAR)
    for name in ("nanmean", "nanvar", "nanstd"):
        same(lambda a, m, n=name: getattr(np, n)(a, axis=0, where=m), host, mask, **NEAR)
        same(lambda a, n=name: getattr(np, n)(a, axis=0, dtype="f8"), host, **NEAR)
        same(lambda a: np.nancumprod(a, axis=1), host, **NEAR)
    same(lambda a: np.nanvar(a, axis=0, ddof=1), host, **NEAR)
    same(lambda a: np.nanmax(a, axis=0, where=a > 0), host)


MASKED = {
    "sum": {"initial": 3},
    "prod": {"initial": 3},
    "max": {"initial": 3},
    "min": {"initial": 3},
    "any": {},
    "all": {},
    "mean": {},
    "var": {},
    "std": {"ddof": 1},
}


@pytest.mark.parametrize("name", MASKED)
@few
@given(data=st.data())
def test_where_and_initial(data, name):
    pair = for_products(data.draw(arrays(["f4", "i4", "?"], max_ndim=3)), name)
    axis, keepdims = data.draw(axes_of(pair[0].ndim)), data.draw(st.booleans())
    mask = np.asarray(np.random.default_rng(1).random(pair[0].shape[-1:]) < 0.6)
    options = MASKED[name]
    if name in ("prod", "var", "std") and pair[0].dtype.kind == "i":
        return
    same(lambda a, m: getattr(a, name)(axis=axis, keepdims=keepdims, where=m, **options), pair, mask, **NEAR)
    same(
        lambda a, m: getattr(np, name)(a, axis=axis, keepdims=keepdims, where=m, **options),
        pair,
        mask,
        **NEAR,
    )
    if "initial" in options:
        same(lambda a: getattr(np, name)(a, axis=axis, keepdims=keepdims, **options), pair, **NEAR)


def test_initial_mean_and_correction():
    empty, host = np.zeros((0, 3), "f4"), rng.normal(size=(4, 3)).astype("f4")
    same(lambda a: a.max(initial=2), empty)
    same(lambda a: a.max(axis=0, initial=2), empty)
    same(lambda a: a.max(axis=1), empty)
    same(lambda a: a.max(), empty)
    same(lambda a: a.max(where=a > 0), host)
    same(lambda a, o: (a.sum(axis=0, initial=1, out=o), o), host, np.zeros(3, "f8"), **NEAR)
    same(lambda a: a.var(axis=0, mean=a.mean(axis=0, keepdims=True)), host, **NEAR)
    same(lambda a: np.std(a, axis=1, correction=1), host, **NEAR)


@few
@given(data=st.data())
def test_median(data):
    pair = data.draw(arrays(["f4", "f8", "i4", "e"], max_ndim=3))
    axis, keepdims = data.draw(axes_of(pair[0].ndim)), data.draw(st.booleans())
    if pair[0].size and pair[0].ndim:
        for operand in (pair, with_nan(pair, 0.02)):
            same(lambda a: np.median(a, axis=axis, keepdims=keepdims), operand, rtol=1e-6)


METHODS = """inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull
linear median_unbiased normal_unbiased lower higher midpoint nearest""".split()


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("method", METHODS)
@few
@given(data=st.data())
def test_quantile(data, method, name):
    pair = data.draw(arrays(["f4", "f8", "i4"], min_ndim=1, max_ndim=3))
    if not pair[0].size:
        return
    pair = with_nan(pair, data.draw(st.sampled_from([0, 0.02, 0.3])))
    axis, keepdims = data.draw(axes_of(pair[0].ndim)), data.draw(st.booleans())
    if isinstance(axis, tuple) and not axis:
        return
    if pair[0].dtype.kind == "f" and np.isnan(pair[0]).all(axis=axis).any():
        return  # NumPy's dtype depends on whether a result is NaN
    q = data.draw(st.sampled_from([0.3, 0, 1, 0.5, [0.25, 0.5, 1.0], np.float32(0.7)]))
    same(
        lambda a: getattr(np, name)(a, q, axis, method=method, keepdims=keepdims), pair, rtol=3e-6, atol=1e-6
    )


def test_percentile_quantile_and_median():
    host = rng.normal(size=(5, 9)).astype("f4")
    for q in (30, 50.0, [0, 25, 100]):
        same(lambda a, q=q: np.percentile(a, q, axis=1), host, **NEAR)
        same(lambda a, q=q: np.nanpercentile(a, q, axis=0), host, **NEAR)
    same(lambda a, q: np.percentile(a, q), host, np.array([10.0, 90]), **NEAR)
    same(lambda a: np.percentile(a, 101), host)
    same(lambda a: np.quantile(a, [[0.1], [0.9]], axis=1, keepdims=True), host, **NEAR)
    same(lambda a: np.quantile(a, 0.5, method="nonsense"), host)
    same(lambda a, o: (np.median(a, axis=0, out=o), o), host, np.zeros(9, "f4"), **NEAR)


def test_average():
    host, weights = rng.normal(size=(4, 6)).astype("f4"), rng.random(6)
    for options in ({}, {"axis": 1}, {"returned": True}, {"axis": 0, "keepdims": True, "returned": True}):
        same(lambda a, o=options: np.average(a, **o), host, **NEAR)
        same(lambda a, o=options: np.average(a, weights=abs(a), **o), host, **NEAR)
    same(lambda a, w: np.average(a, 1, w), host, weights, **NEAR)
    same(lambda a, w: np.average(a, 1, w, returned=True), host.astype("i4"), weights, **NEAR)
    same(lambda a, w: np.average(a, 0, w), host, weights)
    same(lambda a, w: np.average(a, None, w), host, weights)


def test_covariances_and_correlations():
    m = rng.normal(size=(3, 20))
    counts, weights = rng.integers(1, 4, 20), rng.random(20)
    for options in ({}, {"ddof": 0}, {"bias": True}, {"rowvar": False}, {"dtype": "f4"}):
        same(lambda m, o=options: np.cov(m, **o), m, **NEAR)
    same(lambda m: np.cov(m[0]), m, **NEAR)
    same(lambda m: np.cov(m, m[:1]), m, **NEAR)
    same(lambda m, f, a: np.cov(m, fweights=f, aweights=a), m, counts, weights, **NEAR)
    same(lambda m, f: np.cov(m, fweights=f), m, counts, **NEAR)
    same(lambda m: np.cov(m + 1j * m[::-1]), m, **NEAR)
    same(np.corrcoef, m, **NEAR)
    same(lambda m: np.corrcoef(m[0], m[1]), m, **NEAR)
    same(lambda m: np.corrcoef(m + 1j * m[::-1]), m, **NEAR)
    same(lambda m: np.ptp(m, axis=1, keepdims=True), m)


# ---- histograms


def test_histograms_of_several_axes():
    points, weights = rng.normal(size=(200, 3)), rng.random(200)
    points[:5] = 0
    for options in ({}, {"bins": 4}, {"bins": (2, 3, 4)}, {"density": True}, {"range": [(-1, 1)] * 3}):
        same(lambda p, o=options: list(np.histogramdd(p, **o)[1]), points, **NEAR)
        same(lambda p, o=options: np.histogramdd(p, **o)[0], points, **NEAR)
    same(lambda p, w: np.histogramdd(p, 3, weights=w)[0], points, weights, **NEAR)
    same(lambda p: np.histogram2d(p[:, 0], p[:, 1], [3, 5]), points, **NEAR)
    same(lambda p: np.histogram2d(p[:, 0], p[:, 1], [[-1, 0, 2], [-2, 0, 1.0]]), points, **NEAR)
    same(lambda p: np.histogram2d(p[:, 0], p[:3, 1]), points)
    same(lambda p: np.histogramdd(p > 0, 3)[0], points)


@pytest.mark.parametrize("bins", ["auto", "fd", "doane", "scott", "rice", "sturges", "sqrt"])
def test_estimated_numbers_of_bins(bins):
    host = rng.normal(size=700)
    same(lambda a: np.histogram(a, bins), host, rtol=1e-12, atol=1e-12)
    same(lambda a: np.histogram_bin_edges(a.astype("f4"), bins), host, **NEAR)
    same(lambda a: np.histogram_bin_edges(a, bins, range=(-1, 1)), host, rtol=1e-12, atol=1e-12)
    same(lambda a: np.histogram_bin_edges((a * 9).astype("i4"), bins), host, rtol=1e-12, atol=1e-12)
    same(lambda a: np.histogram_bin_edges(a[:0], bins), host)
    same(lambda a: np.histogram_bin_edges(a * 0, bins), host)


def test_estimators_that_are_refused():
    array = gpuarray.to_gpu(np.arange(4.0))
    with pytest.raises(ValueError, match="estimator"):
        np.histogram(array, "nonsense")
    with pytest.raises(TypeError, match="stone"):
        np.histogram(array, "stone")
    with pytest.raises(TypeError, match="weighted"):
        np.histogram(array, "auto", weights=array)


def test_digitize():
    host = rng.normal(size=(5, 8))
    for edges in ([-1, 0, 0.5, 2], [2, 0.5, 0, -1], [0], [1, 1, 2]):
        for right in (False, True):
            same(lambda a, b=edges, r=right: np.digitize(a, b, r), host)
            same(lambda a, b, r=right: np.digitize(a, b, r), host, np.array(edges, float))
    same(lambda a: np.digitize(a, [1, 0, 2]), host)


@pytest.mark.parametrize("edges", [[-1, 0, 2], [2, 0, -1], [1, 0, 2], [], [[1]]])
def test_digitize_reads_edges_while_it_searches(monkeypatch, edges):
    """_SEARCHED_AT_ONCE is the number of values from which the search is queued before the edges were
    checked."""
    monkeypatch.setattr(bins, "_SEARCHED_AT_ONCE", 0)
    same(lambda a, b: np.digitize(a, b), rng.normal(size=(5, 8)), np.array(edges, float))
    same(lambda a, b: np.digitize(a, b[::2]), rng.normal(size=(5, 8)), np.repeat(np.array(edges, float), 2))


def test_bincount_of_floats_or_of_two_axes():
    """Such operands raise NumPy's errors; the shape is checked before the dtype."""
    same(np.bincount, np.zeros((2, 2)))
    same(np.bincount, np.zeros(2))
    same(np.bincount, np.zeros((2, 2), int))


def test_functions_that_skip_nan_do_not_warn():
    """NumPy warns of results that are NaN. Here they are only queued, and no value is read to decide on a
    warning."""
    array = gpuarray.to_gpu(np.full((2, 3), np.nan, np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("nanmean", "nanmax", "nanvar", "nanmedian"):
            assert np.isnan(getattr(np, name)(array, axis=0).get()).all()
