"""Elements of given ranks in long rows, which have kernels of their own: partitions, medians, quantiles,
compared with NumPy."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pycuda import gpuarray
from pycuda._array.sorting import ranks
from pycuda._kernels.builtin import rank as kernels

pytestmark = pytest.mark.usefixtures("primary_context")
LENGTH = kernels.MIN_LENGTH + 123
some = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))

CASES = {
    "normal": lambda rng: rng.normal(size=LENGTH) * 50,
    "few": lambda rng: rng.integers(0, 3, LENGTH),
    "one": lambda rng: np.full(LENGTH, 7),
    "up": lambda rng: np.arange(LENGTH) % 120,
    "special": lambda rng: rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.5, -2], LENGTH),
    "nan": lambda rng: np.where(rng.random(LENGTH) < 1e-4, np.nan, rng.random(LENGTH)),
    "nans": lambda rng: np.full(LENGTH, np.nan),
}


def row(case, dtype, seed=3):
    """A host array of one of CASES; dtypes without NaN have 0 in its place."""
    with np.errstate(invalid="ignore"):
        values = CASES[case](np.random.default_rng(seed))
        if dtype not in "efd":
            values = np.nan_to_num(values, posinf=99, neginf=-99)
        return values.astype(dtype)


def stable_sort(a):
    """np.sort(), but with the stable algorithm: the default one loses elements of float16 arrays with NaNs on
    processors with AVX-512."""
    return np.sort(a, kind="stable")


def check_partition(got, host, k):
    """Asserts that element k of each row is that of the sorted row, that elements before and after it are
    those of the sorted row in any order, and that `got` has the bits of all elements of `host`."""
    ordered = stable_sort(host)
    np.testing.assert_array_equal(got[..., k], ordered[..., k])
    np.testing.assert_array_equal(stable_sort(got[..., :k]), ordered[..., :k])
    np.testing.assert_array_equal(stable_sort(got[..., k:]), ordered[..., k:])
    raw = f"u{host.itemsize}"
    np.testing.assert_array_equal(np.sort(got.view(raw)), np.sort(host.view(raw)))


@pytest.mark.parametrize("dtype", "bHiQefd")
@pytest.mark.parametrize("case", CASES)
@some
@given(k=st.sampled_from([0, 100, LENGTH // 2, -1]), start=st.sampled_from([0, 1]))
def test_partition(case, dtype, k, start):
    host = row(case, dtype)[start:]
    array = gpuarray.to_gpu(row(case, dtype))[start:]
    got = np.partition(array, k)
    check_partition(got.get(), host, k)
    np.testing.assert_array_equal(array.get(), host)
    array.partition(k)
    assert array.get().tobytes() == got.get().tobytes()


@pytest.mark.parametrize("axis", [0, 1])
def test_partition_along_an_axis_of_any_strides(axis):
    shape = (3, LENGTH) if axis else (LENGTH, 3)
    host = np.random.default_rng(1).integers(-1000, 1000, shape).astype("i")
    for index in (slice(None), slice(None, None, -1)):
        view, array = host[index], gpuarray.to_gpu(host)[index]
        got = np.partition(array, 1000, axis).get()
        check_partition(np.moveaxis(got, axis, -1).copy(), np.moveaxis(view, axis, -1).copy(), 1000)
        array.partition(1000, axis)
        np.testing.assert_array_equal(array.get(), got)


def test_partition_about_several_elements():
    host = row("normal", "f")
    got = np.partition(gpuarray.to_gpu(host), [5, 70, -3]).get()
    np.testing.assert_array_equal(got[[5, 70, -3]], np.sort(host)[[5, 70, -3]])


@pytest.mark.parametrize("dtype", "bHiQefd")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_medians_and_quantiles(case, dtype):
    host = row(case, dtype)
    array = gpuarray.to_gpu(host)
    near = {"rtol": {"e": 2e-3, "f": 1e-6}.get(dtype, 1e-12)}
    np.testing.assert_allclose(np.median(array).get(), np.median(host), **near)
    if dtype == "e":
        return  # NumPy computes the positions of quantiles in float16
    for q in (0, 0.3, 1.0, [0.25, 0.5, 0.75], np.linspace(0, 1, 7)):
        np.testing.assert_allclose(np.quantile(array, q).get(), np.quantile(host, q), **near)
    for method in ("lower", "nearest", "hazen"):
        got = np.quantile(array, [0.1, 0.8], method=method).get()
        np.testing.assert_allclose(got, np.quantile(host, [0.1, 0.8], method=method), **near)


def test_quantiles_along_axes():
    host = np.random.default_rng(5).normal(size=(2, LENGTH, 2)).astype("f")
    host[1, 17, 1] = np.nan
    array = gpuarray.to_gpu(host)
    for axis in (1, (0, 1), None):
        for keepdims in (False, True):
            got = np.percentile(array, [5, 60], axis, keepdims=keepdims).get()
            np.testing.assert_allclose(got, np.percentile(host, [5, 60], axis, keepdims=keepdims), rtol=1e-6)
            got = np.nanpercentile(array, 60, axis, keepdims=keepdims).get()
            np.testing.assert_allclose(got, np.nanpercentile(host, 60, axis, keepdims=keepdims), rtol=1e-6)


def test_more_ranks_than_a_launch_finds():
    host = np.random.default_rng(2).integers(-(2**60), 2**60, (3, LENGTH))
    wanted = [int(k) for k in np.linspace(0, LENGTH - 1, kernels.MAX_RANKS * 2 + 1)]
    found = ranks.find_ranks(gpuarray.to_gpu(host), wanted)
    got = np.concatenate([each.get()[:, :-1] for each in found], axis=1)
    np.testing.assert_array_equal(got, np.sort(host)[:, wanted])
