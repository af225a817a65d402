"""np.interp has NumPy's bits for any number and kind of points."""

import numpy as np
import pytest
from against import same
from drawing import few, layouts, shapes
from hypothesis import given
from hypothesis import strategies as st

import pycuda.gpuarray as gpuarray

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324]
SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.sampled_from([1, 2, 3, 7, 100, 1000, 1706, 1707])  # 1706 points fit into shared memory


def check_bits(got, want):
    """Asserts that elements have the same dtype and bits; the bits of NaNs may differ."""
    got = got.get()
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    numbers = want == want  # not NaN
    np.testing.assert_array_equal(np.signbit(got.real[numbers]), np.signbit(want.real[numbers]))
    np.testing.assert_array_equal(np.signbit(got.imag[numbers]), np.signbit(want.imag[numbers]))


def spread(rng, count, kind):
    """Sorted positions of this kind: evenly spaced, in two clusters far apart, of few different values,
    special values, or ("chance") normally distributed."""
    if kind == "even":
        return np.arange(count) * 0.25
    if kind == "clusters":
        return np.sort(np.where(rng.random(count) < 0.5, rng.random(count) * 1e-3, 1e6 + rng.random(count)))
    if kind == "equal":
        return np.sort(rng.integers(0, 3, count)).astype("f8")
    if kind == "special":
        return np.sort(rng.choice([-np.inf, -1e308, -1.0, 0.0, 5e-324, 2.0, 1e308, np.inf], count))
    return np.sort(rng.normal(size=count))


@few
@given(
    SEEDS, COUNTS,
    st.sampled_from(["even", "chance", "clusters", "equal", "special"]),
    st.sampled_from(["f8", "f4", "i4"]), st.booleans(), shapes(), st.data(),
)  # fmt: skip
def test_same_bits_as_numpy(seed, count, kind, dtype, is_complex, shape, data):
    """x has points of xp, points near them and special values; spread() makes xp of each kind."""
    rng = np.random.default_rng(seed)
    xp, fp = spread(rng, count, kind), rng.normal(size=count)
    fp = fp + 1j * rng.normal(size=count) if is_complex else fp
    if kind == "special":
        fp[rng.random(count) < 0.3] = np.inf
    x = rng.choice(xp, shape) + rng.normal(size=shape)
    chosen = rng.random(shape)
    x = np.where(chosen < 0.3, rng.choice(xp, shape), x)
    with np.errstate(all="ignore"):
        x = np.where(chosen > 0.9, rng.choice(SPECIAL, shape), x)
        if dtype == "i4":
            x = np.where(np.isfinite(x) & (np.abs(x) < 1e9), x, 7)
        x = x.astype(dtype)
    x, on_device = data.draw(layouts(x))
    with np.errstate(all="ignore"):
        want = np.asarray(np.interp(x, xp, fp))
    check_bits(np.interp(on_device, gpuarray.to_gpu(xp), gpuarray.to_gpu(fp)), want)


@pytest.mark.parametrize("count", [5, 4000])
def test_many_positions_between_few_and_between_many_points(count):
    rng = np.random.default_rng(count)
    xp, fp, x = np.sort(rng.random(count)), rng.random(count), rng.random(30_001) * 1.2 - 0.1
    check_bits(np.interp(*map(gpuarray.to_gpu, (x, xp, fp))), np.interp(x, xp, fp))


def test_points_of_any_strides():
    rng = np.random.default_rng(2)
    xp, fp, x = np.sort(rng.random(40)), rng.random(40), rng.random(50)
    on_device = [gpuarray.to_gpu(each) for each in (x, xp[::-1].copy(), fp)]
    check_bits(np.interp(on_device[0], on_device[1][::-2], on_device[2][::2]), np.interp(x, xp[::2], fp[::2]))


def test_points_that_do_not_increase():
    """The result has no meaning, as in NumPy, but no memory out of bounds is read."""
    rng = np.random.default_rng(3)
    for count in (50, 3000):
        xp, fp = rng.permutation(count) * 1.0, rng.random(count)
        xp[count // 2] = np.nan
        found = np.interp(*map(gpuarray.to_gpu, (rng.random(999) * count, xp, fp))).get()
        assert found.shape == (999,)


def test_values_beyond_the_ends():
    x, xp, fp = np.array([-1.0, 0.5, 9.0, np.nan]), np.array([0.0, 1.0]), np.array([2.0, 3.0])
    for left, right in ((-7, 7), (np.inf, None), (None, np.float32(0.1))):
        same(lambda x, xp, fp, left=left, right=right: np.interp(x, xp, fp, left, right), x, xp, fp)
    same(lambda x, xp, fp, z: np.interp(x, xp, fp, z, z[()]), x, xp, fp, np.array(2.5, "f4"))
    same(lambda x, xp, fp: np.interp(x, xp, fp + 1j, 2j, 1), x, xp, fp)
    same(lambda x, xp, fp: np.interp(x, xp, fp, 2j), x, xp, fp)
    same(lambda x, xp, fp: np.interp(x, xp[:1], fp[:1], -7, 7), x, xp, fp)


def test_period_scalars_and_wrong_operands():
    rng = np.random.default_rng(4)
    xp, fp, x = np.cumsum(rng.random(9)), rng.random(9), rng.random(50) * 6 - 0.5
    same(lambda x, xp, fp: np.interp(x, xp, fp, period=3), x, xp, fp, rtol=1e-10, atol=1e-10)
    same(lambda xp, fp: np.interp(2.5, xp, fp), xp, fp)
    same(np.interp, x + 1j, xp, fp)
    same(np.interp, x, xp[:0], fp[:0])
    same(np.interp, x, xp, fp[:-1])
