"""Calls whose results, dtypes or exceptions once differed from NumPy's. Random programs found them
(tests/differential).
"""

import numpy as np
import pytest
from against import HOST, compare, run

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

# Calls for which NumPy raises must raise an error of the same kind.
CALLS = """
np.convolve(f, s)
np.convolve(s, n, "same")
np.convolve(s, f, "valid")
np.convolve(n, s[:1])
np.correlate(f, s, "full")
np.correlate(s, n, "full")
np.correlate(n, s, "same")
np.pad(s, 3, mode="reflect", reflect_type="odd")
np.pad(s[:5], (1, 9), mode="symmetric", reflect_type="odd")
np.pad(i, (7, 4), mode="reflect", reflect_type="odd")
np.pad(m, ((1, 5), (6, 0)), mode="symmetric", reflect_type="odd")
np.pad(s[2:3], 3, mode="symmetric", reflect_type="odd")
np.pad(n[None, 1:2], 2, mode="symmetric", reflect_type="odd")
np.nanvar(i[:1], ddof=1)
np.nanstd(i, ddof=9)
np.nanstd(u[:2], ddof=2)
np.nanvar(t, ddof=4)
np.nanvar(f, ddof=4)
np.var(f, ddof=2, where=np.array([True, False, True, False], like=f))
np.std(i[None], axis=0, ddof=2, where=t)
np.bitwise_and.reduce(u[:0])
np.bitwise_and.reduce(np.stack((u, u))[:0], axis=0)
np.bitwise_and.reduce(u, where=t)
np.bitwise_and.reduce(i[:0])
np.logical_and.reduce(t[:1], initial=False)
np.logical_and.reduce(m, axis=0, initial=0, keepdims=True)
np.logical_or.reduce(f[:0], initial=3)
np.logical_xor.reduce(i, initial=3, where=t)
np.bitwise_xor.reduce(i, initial=3, where=t)
np.bitwise_or.reduce(t, initial=0)
np.fmax.reduce(t, initial=0)
np.hypot.reduce(f, initial=3, where=t)
np.logaddexp.reduce(d, initial=0, where=t)
np.subtract.reduce(f, initial=9, where=t)
np.subtract.reduce(m, axis=(), initial=9)
np.divide.reduce(d, initial=9, where=t)
np.sum(f[:1], where=t)
np.sum(z, where=t)
np.sum(z, where=t[:1])
np.prod(m[0], where=np.stack((t, t)))
np.max(f[:1], initial=9, where=t)
np.any(f[:1], where=t)
np.all(m, where=t)
np.mean(f[:1], where=t)
np.var(f[:1], where=t)
np.nansum(f[:1], where=t)
np.nanmax(f[:1], where=t, initial=-1)
np.nanmax(f[:0], where=t, initial=-1)
np.nanmax(t, initial=0)
np.nanmin(t, where=~t, initial=1)
np.nanmin(u, initial=-1)
np.nanmax(i, initial=7.5)
np.nanmean(z.astype(int), axis=0, where=t[0])
np.nanvar(z.astype(int), axis=0, where=t[0])
np.fill_diagonal(np.stack((u, u))[:, :0], -1)
np.insert(u, 9, -1)
np.zeros_like(np.broadcast_to(m[:1, :1], (3, 1)), shape=(2, 3)).flags["F_CONTIGUOUS"]
np.broadcast_to(m[:, :1], (2, 3, 1)).strides
np.pad(s, 2, mode="linear_ramp")
np.pad(t, 2, mode="linear_ramp", end_values=3)
np.pad(s, 2, mode="mean", stat_length=2)
np.pad(z, -1)
np.signbit(np.nan_to_num(c).imag)
np.nan_to_num(c, posinf=np.inf)
np.histogram(f, 2, weights=c)
np.histogram(np.resize(f * 3.0625, 1024), "sturges")[0].size
np.histogram(np.resize(h / np.float16(4), 200), "scott", range=(0, 5))[0].size
np.cumulative_prod(z, include_initial=True)
np.histogram2d(f, d, 3)
np.histogram2d(h, h[::-1], 2, range=[[0, 4], [0, 4]])
np.sort_complex(f)
np.sort_complex(i)
np.sort_complex(i.astype(np.int8))
np.sort_complex(u)
np.sort_complex(t)
t**2
t**t
2**t
t**2.5
i[:0] ** -1
np.power(np.stack((i, i))[:, :0], np.int32(-1))
np.digitize(f, [1, np.nan])
np.digitize(f, [np.nan, 2, 1])
np.digitize(f, [3, 2, np.nan])
np.digitize(f, [2, 1, 3])
np.digitize(f, np.sort(d)[::-1])
(np.put(f, [0], []), f)
(np.put(f, [99], []), f)
(np.put(u, [0], -1), u)
(np.putmask(u, u > 1, 300), u)
(np.putmask(f, f > 1, np.int64(5)), f)
(np.copyto(m[:0], 1, where=t[:3]), m)
np.sort(f, order=None)
np.argsort(f, order=None)
np.roll(f, np.array(2, like=f))
np.roll(m, np.array([1, 2], like=f), axis=(0, 1))
np.roll(m, [1, 2], axis=[0, 1])
np.roll(f, [1, 2])
np.linalg.norm(f[:0], np.inf)
np.linalg.norm(f[:0], -np.inf)
np.linalg.norm(m[:0], np.inf)
np.linalg.vector_norm(m[:0], ord=np.inf)
np.matmul(m, m.T, axes=[(0, 1), (0, 1), (1, 0)])
np.matmul(m, m.T, axes=[(0, 1)])
np.matmul(i[None], f[:, None], casting="no")
np.matmul(i[None], f[:, None], casting="unsafe", dtype=np.float32)
np.vecdot(m, m, axes=[(0,), (0,), ()])
np.quantile(f, [0.0, 0.3, 1], weights=i, method="inverted_cdf")
np.quantile(f, 0.3, weights=i)
np.quantile(f, 0.3, weights=-i, method="inverted_cdf")
np.quantile(f, 0.3, weights=i * 0, method="inverted_cdf")
np.percentile(m, [10, 50], weights=i, axis=1, method="inverted_cdf")
np.percentile(m, 50, weights=abs(m), axis=(0, 1), method="inverted_cdf", keepdims=True)
np.nanquantile(n, [0.4, 1.0, 0.0], weights=i, method="inverted_cdf")
np.quantile(n, [0.4, 1.0], weights=i, method="inverted_cdf")
np.nanquantile(f[:0], 0.5)
np.subtract.reduce(m)
np.subtract.reduce(m, axis=1, initial=7, keepdims=True)
np.subtract.accumulate(m, axis=1)
np.subtract.reduceat(m, [0, 2, 1], axis=1)
np.divide.accumulate(m[:, :3], axis=1)
np.divide.reduce(f)
np.floor_divide.reduce(u)
np.remainder.reduceat(u, [1, 3])
np.power.accumulate(i)
np.subtract.reduceat(m[:0], [0, 1], axis=1)
operator.imatmul(m, 2)
operator.matmul(2.5, m)
np.percentile(z, 50, axis=0)
np.nanquantile(z, 0.5, axis=-1)
np.median(z, axis=0)
np.average(z, axis=0)
np.average(z, axis=-1, weights=z)
np.gradient(z, axis=0)
np.mean(z, axis=0)
np.std(z, axis=0)
np.flip(z, axis=0)
np.repeat(z, 2, axis=0)
np.linalg.vector_norm(z, axis=0)
np.average(f[:0], weights=f[:0])
np.average(m[:0], axis=0, weights=m[:0])
np.average(m[:0], axis=1)
f.__setitem__(0, f[:1])
f.__setitem__(0, [[5]])
m.__setitem__((0, 0), f[:1])
z.__setitem__((), f[:1])
(f.__setitem__((0, ...), f[1:2]), f)
(m.__setitem__(0, f[:1]), m)
m[:0][:, np.array([9], like=f)]
m[:, :0][np.array([9], like=f)]
m[:, :0].__setitem__(np.array([9], like=f), 1)
np.take(m[:, :0], np.array([9], like=f), axis=0)
np.tril(f)
np.triu(f, 1)
np.tril(z)
np.linspace(0, f, 3)
np.linspace(h, 2, 3)
np.logspace(f, 2, 3)
np.arange(0, 5.5, 1, like=f)
np.arange(-0.5, 7, dtype=int, like=f)
np.arange(0, 1, 0.3, dtype=np.float16, like=f)
np.arange(1, 9, dtype=bool, like=f)
np.piecewise(u, [u > 1], [-1, 2])
np.select([t], [u], default=-1)
np.insert(u, 1, -1)
np.fill_diagonal(np.stack((u, u)), -1)
np.size(m, 5)
np.gcd.at(f, np.array([], int), 1)
np.cov(m[:0])
operator.iadd(np.broadcast_to(f, (2, 4)), 1)
np.broadcast_to(f, (2, 4)).__setitem__(0, 1)
np.broadcast_to(f[:0], (2, 0)).__setitem__(0, 1)
np.broadcast_to(f, (2, 4)).flatten("K")
(np.broadcast_to(f, (2, 4)) + 1).strides
m.T.astype(np.float32, order="C", copy=False).flags["C_CONTIGUOUS"]
""".strip().split("\n")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_call(call):
    """The call has NumPy's result, or raises; afterwards all arrays are equal to NumPy's."""
    host = {name: array.copy() for name, array in HOST.items()}
    on_device = {name: gpuarray.to_gpu(array) for name, array in HOST.items()}
    want, got = run(call, host), run(call, on_device)
    if isinstance(want, Exception):
        kinds = (IndexError, ValueError, TypeError, ZeroDivisionError, OverflowError)
        kind = next(kind for kind in kinds if isinstance(want, kind))
        assert isinstance(got, kind), (got, want)
    elif isinstance(got, Exception):
        raise got
    else:
        compare(got, want, 2e-6, 1e-6)
    for name, array in on_device.items():
        compare(array, host[name], 2e-6, 1e-6)


@pytest.mark.parametrize("name, method, args, error", [
    ("m", "reduce", (None,), "at most one axis"), ("m", "reduce", ((0, 1),), "at most one axis"),
    ("f", "reduceat", ([4],), "out-of-bounds"), ("z", "reduceat", ([0],), "on a scalar"),
    ("z", "accumulate", (), "on a scalar"), ("z", "accumulate", (-1,), "on a scalar"),
    ("z", "accumulate", (3,), "axis 3 is out"), ("z", "reduceat", ([0], 1), "axis 1 is out"),
])  # fmt: skip
def test_folds_in_order_that_are_refused(name, method, args, error):
    """__array_ufunc__ is called directly: NumPy leaks the operands of a method that raises."""
    array = gpuarray.to_gpu(HOST[name])
    with pytest.raises((ValueError, TypeError, IndexError), match=error):
        array.__array_ufunc__(np.subtract, method, array, *args)


def test_a_mask_of_more_elements_than_the_array_is_refused():
    array, mask = gpuarray.to_gpu(HOST["f"][:1]), gpuarray.to_gpu(HOST["t"])
    with pytest.raises(ValueError, match="could not be broadcast"):
        array.__array_ufunc__(np.hypot, "reduce", array, where=mask)
    with pytest.raises(TypeError, match="does not support where="):
        mask.__array_ufunc__(np.remainder, "reduce", array, where=mask[:1], initial=1)


def test_no_nan_where_numpy_has_numbers():
    on_device = {name: gpuarray.to_gpu(array) for name, array in HOST.items()}
    padded = np.pad(gpuarray.to_gpu(np.array([1.0, 2, 3, 4, np.nan])), 2, "reflect", reflect_type="odd").get()
    assert np.isfinite(padded).sum() == 6
    ends = np.convolve(gpuarray.to_gpu(np.array([1.0, 2, 3, 4])), gpuarray.to_gpu(np.array([np.nan, 1, 2])))
    assert ends.get()[-2:].tolist() == [10, 8]
    assert np.subtract.reduce(on_device["f"]).get() == -5


def test_the_mean_of_equal_complex_numbers_is_that_number():
    value = np.complex64(-6.75 + 3j)
    a = gpuarray.to_gpu(np.full(15, value))
    assert np.nanmean(a).get() == value and np.nanvar(a).get() == 0


@pytest.mark.parametrize("sizes", [(1, 1), (5, 1), (1000, 33), (33, 1000), (129, 129)])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_sliding_products_of_any_lengths_and_strides(sizes, mode):
    rng = np.random.default_rng(3)
    a, v = (rng.integers(-9, 9, 2 * size).astype(np.float32)[::-2] for size in sizes)
    for function in (np.convolve, np.correlate):
        got = function(gpuarray.to_gpu(a.copy())[::-1], gpuarray.to_gpu(v.copy()), mode)
        compare(got, function(a[::-1], v, mode))
