"""Reductions and scans, compared with NumPy."""

import warnings

import numpy as np
import pytest
from drawing import arrays, axes_of, few, numbers
from hypothesis import given
from hypothesis import strategies as st

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda._kernels.builtin import axis_scan, reduction
from pycuda.tools import clear_context_caches

pytestmark = pytest.mark.usefixtures("primary_context")

ALL = "?bhiqBHIQefdFD"
EXACT = ("max", "min", "any", "all", "argmax", "argmin")
ROUNDED = ("sum", "prod", "mean", "var", "std")


def wide(dtype):
    """The dtype in which a reference is computed: NumPy's float32 sums along axes are less exact than
    ours."""
    return {"e": "d", "f": "d", "F": "D"}.get(np.dtype(dtype).char, dtype)


def reference(name, host, **arguments):
    """NumPy's result, with its dtype; computed in a wider dtype if the result is rounded."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = np.asarray(getattr(host, name)(**arguments))
        if name in EXACT or host.dtype.char not in "efF":
            return expected
        return np.asarray(getattr(host.astype(wide(host.dtype)), name)(**arguments)).astype(expected.dtype)


def same(got, expected, scale=1.0):
    """Asserts that two arrays of NumPy have the same shape and dtype, and equal integers or floats that
    differ by rounding only. scale: the sum of magnitudes, to which the rounding error of a sum is
    proportional."""
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    bound = {"e": 2e-3, "f": 3e-6, "F": 3e-6}.get(got.dtype.char, 1e-12) if got.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * scale, equal_nan=True)


def check(name, host, array, **arguments):
    """Compares a method's result, or asserts that it raises ValueError if NumPy's does."""
    try:
        expected = reference(name, host, **arguments)
    except ValueError:
        with pytest.raises(ValueError):
            getattr(array, name)(**arguments)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        got = getattr(array, name)(**arguments).get()
    same(got, expected, 1.0 + float(np.abs(host[np.isfinite(host)].astype("D")).sum()))


@few
@given(st.data())
def test_any_layout(data):
    host, array = data.draw(arrays("f", max_ndim=3))
    check("sum", host, array, axis=data.draw(axes_of(host.ndim)), keepdims=data.draw(st.booleans()))


@few
@given(st.data())
def test_argmax_and_argmin_in_any_layout(data):
    host, array = data.draw(arrays("i", min_ndim=1, max_ndim=2))
    axis = data.draw(st.one_of(st.none(), st.integers(-host.ndim, host.ndim - 1)))
    check(data.draw(st.sampled_from(["argmax", "argmin"])), host, array, axis=axis)


@pytest.mark.parametrize(
    "name, dtype",
    [("sum", each) for each in ALL]
    + [
        (name, each)
        for name, some in {"max": "?BqeF", "mean": "?qeF", "argmin": "?ed", "any": "eD"}.items()
        for each in some
    ],
)
def test_every_dtype(name, dtype):
    host = numbers(np.random.default_rng(ord(dtype)), (3, 70), dtype)
    check(name, host, gpuarray.to_gpu(host), axis=1)


@pytest.mark.parametrize("name", ["prod", "min", "all", "var", "std", "argmax", "count_nonzero"])
@pytest.mark.parametrize("dtype", "qe")
def test_every_function(name, dtype):
    host = numbers(np.random.default_rng(7), (5, 9), dtype)
    host[1, 2] = 0
    if name == "count_nonzero":
        got = gpuarray.count_nonzero(gpuarray.to_gpu(host), 1).get()
        np.testing.assert_array_equal(got, np.count_nonzero(host, 1))
    else:
        check(name, host, gpuarray.to_gpu(host), axis=1)


@pytest.mark.parametrize(
    "shape, axis",
    [
        ((1_000_003,), None), ((4, 100_000), 1), ((4, 100_000), 0), ((100_000, 4), 0), ((100_000, 3), 1),
        ((700, 900), 0), ((700, 900), 1), ((40, 50, 300), 1), ((40, 50, 300), (0, 2)), ((2, 3, 5, 7, 11), (1,
        3)),
    ],
)  # fmt: skip
def test_shapes_that_are_divided_differently(shape, axis):
    """Each shape is divided among blocks and threads in another way; strides have either sign."""
    host = numbers(np.random.default_rng(1), shape, "f")
    array = gpuarray.to_gpu(host)
    check("sum", host, array, axis=axis)
    backwards = (slice(None, None, -1),) * len(shape)
    check("sum", host[backwards], array[backwards], axis=axis)


def test_nan_infinities_and_signed_zeros():
    host = np.array([[1, np.nan, -np.inf], [np.inf, 2, 3], [-0.0, -0.0, -0.0]], np.float32)
    array = gpuarray.to_gpu(host)
    for name in ("max", "min", "argmax", "argmin", "any", "all"):
        for axis in (None, 0, 1):
            check(name, host, array, axis=axis)
    assert np.signbit(array[2].sum().get())
    assert not np.signbit(gpuarray.zeros(0, np.float32).sum().get())
    assert gpuarray.max(array).get() == np.inf
    assert gpuarray.min(array).get() == -np.inf
    assert np.isnan(gpuarray.max(array[0, 1:2]).get())
    both = gpuarray.to_gpu(np.array([1 + 2j, complex(np.nan, 0), 3 - 1j]))
    check("max", both.get(), both)
    check("max", both.get()[::2], both[::2])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
@pytest.mark.parametrize("name", EXACT + ROUNDED)
def test_empty_arrays(shape, name):
    host = np.zeros(shape, np.float32)
    for axis in (None, 0, *((1,) if len(shape) > 1 else ())):
        check(name, host, gpuarray.to_gpu(host), axis=axis)


@pytest.mark.parametrize("dtype, offset", [("f", 1e6), ("F", 1e6), ("d", 1e14), ("q", 1e14)])
@pytest.mark.parametrize("name", ["var", "nanstd"])
def test_variances_far_from_zero(name, dtype, offset):
    """The distances from the mean are only the last bits of the elements; the reference is computed of exact
    distances."""
    distances = np.round(numbers(np.random.default_rng(4), (300, 500), dtype))
    host = (distances + np.dtype(dtype).type(offset)).astype(dtype)
    if dtype in "fd" and name == "nanstd":
        for each in distances, host:
            each[0] = each[:, ::3] = np.nan
    exact = distances.astype("D" if dtype == "F" else "d")
    for axis in (None, 0, 1):
        got = getattr(np, name)(gpuarray.to_gpu(host), axis=axis, ddof=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(got.get(), getattr(np, name)(exact, axis=axis, ddof=1).astype(got.dtype))


def test_variances_by_an_element_far_from_the_others():
    """Variances are computed of distances from the first element, which is far from all others here."""
    host = np.random.default_rng(4).normal(size=100_000).astype("f")
    host[0] = 1e6
    same(gpuarray.to_gpu(host).var().get(), host.astype("d").var().astype("f"))
    huge = np.array([3e38, 3e38, 3e38], "f")
    assert gpuarray.to_gpu(huge).var().get() == 0


def test_sums_of_int8():
    """The method's result is int64, as NumPy's; that of gpuarray.sum() is int8, as PyCUDA's."""
    host = np.full(300, 100, np.int8)
    array = gpuarray.to_gpu(host)
    assert array.sum().get() == 30_000
    assert array.sum().dtype == np.int64
    assert gpuarray.sum(array).dtype == np.int8
    assert gpuarray.sum(array).get() == host.sum(dtype=np.int8)
    assert gpuarray.sum(array, dtype=np.int32).get() == 30_000


def test_masks_are_counted():
    """The sum of booleans is an integer, as in PyCUDA."""
    host = np.array([1, 1, 0, 1, 1], bool)
    mask, subset = gpuarray.to_gpu(host), gpuarray.to_gpu(np.array([0, 1, 2, 3]))
    for result, count in (
        (gpuarray.sum(mask), 4),
        (gpuarray.sum(gpuarray.to_gpu(np.arange(5)) > 1), 3),
        (gpuarray.dot(mask, mask), 4),
        (gpuarray.subset_sum(subset, mask), 3),
        (gpuarray.subset_dot(subset, mask, mask), 3),
        (mask.sum(), 4),
    ):
        assert (result.dtype, int(result.get())) == (np.int64, count)
    assert gpuarray.sum(mask, dtype=np.dtype(np.uint8)).dtype == np.uint8


def test_out_of_reductions():
    host = numbers(np.random.default_rng(3), (6, 7), "f")
    array = gpuarray.to_gpu(host)
    out = gpuarray.zeros((6, 2), np.float32)[:, 1]
    assert array.sum(1, out=out) is out
    same(out.get(), host.sum(1))
    double = gpuarray.zeros(7, np.float64)
    same(array.sum(0, out=double).get(), host.sum(0, dtype="d"))
    assert array.max(0, out=array[2])[3].get() == host[:, 3].max()
    for wrong, error in ((gpuarray.zeros(5, np.float32), ValueError), (np.zeros(6, np.float32), TypeError)):
        with pytest.raises(error):
            array.mean(1, out=wrong)
    whole = gpuarray.zeros(6, np.int32)
    assert array.mean(1, out=whole) is whole
    np.testing.assert_array_equal(whole.get(), array.get().mean(1).astype(np.int32))
    with pytest.raises(TypeError):
        array.std(1, out=whole)


def test_bad_axes():
    array = gpuarray.zeros((2, 3), np.float32)
    for axis, error in (
        (2, np.exceptions.AxisError),
        ((0, 0), ValueError),
        ([0], TypeError),
        ("a", TypeError),
    ):
        with pytest.raises(error):
            array.sum(axis)
    with pytest.raises(TypeError):
        array.argmax((0, 1))


def test_a_stream_and_an_allocator():
    array, stream, sizes = gpuarray.to_gpu(np.ones((50, 600), np.float32)), drv.Stream(), []

    def allocate(size):
        sizes.append(size)
        return drv.mem_alloc(size)

    result = array.sum(0, stream=stream, allocator=allocate)
    stream.synchronize()
    assert (result.get() == 50).all()
    assert 600 * 4 in sizes
    assert result.allocator is allocate


def test_the_bits_of_a_sum_do_not_depend_on_alignment_or_strides():
    host = numbers(np.random.default_rng(5), 300_001, "f")
    array = gpuarray.to_gpu(np.concatenate([np.zeros(3, "f"), host]))
    aligned = gpuarray.to_gpu(host)
    strided = gpuarray.to_gpu(np.repeat(host, 2))[::2]
    expected = aligned.sum().get().tobytes()
    assert array[3:].sum().get().tobytes() == expected
    assert strided.sum().get().tobytes() == expected


def test_the_grid_of_a_sum_follows_from_the_shape():
    """The blocks among which elements are divided determine the bits of a sum: they must not change by
    accident."""
    grids = {}
    for shape, axis in (((1 << 28,), 0), ((1 << 20,), 0), ((5000, 5000), 0), ((5000, 5000), 1)):
        axes = [reduction.Axis(n, 4 * int(np.prod(shape[i + 1 :])), 0) for i, n in enumerate(shape)]
        reduced = [axes.pop(axis)]
        plan = reduction.plan_reduction(0, 4, [each._replace(other=4) for each in axes], reduced)
        grids[shape, axis] = plan.grid
    assert grids == {
        ((1 << 28,), 0): (1, 4096),
        ((1 << 20,), 0): (1, 128),
        ((5000, 5000), 0): (40, 20),
        ((5000, 5000), 1): (5000, 1),
    }


@few
@given(st.data())
def test_scans_in_any_layout(data):
    host, array = data.draw(arrays("i", max_ndim=3))
    axis = data.draw(st.one_of(st.none(), st.integers(-host.ndim, host.ndim - 1))) if host.ndim else None
    check("cumsum", host, array, axis=axis)


@pytest.mark.parametrize("dtype", "?bQeFd")
def test_scans_of_every_dtype(dtype):
    host = numbers(np.random.default_rng(2), (3, 40), dtype)
    check("cumsum", host, gpuarray.to_gpu(host), axis=1)


@pytest.mark.parametrize(
    "shape, axis",
    [((300_000,), 0), ((3, 50_000), 1), ((50_000, 3), 0), ((9000, 64), 0), ((500, 1000), 1), ((200, 900), 0)]
    + [((9, 700), 0), ((700, 9), 1), ((5, 300, 70), 1)],
)
def test_scans_of_every_shape(shape, axis):
    """A shape for each way of dividing the work: whole rows or columns for a block, tiles, a thread for each
    row."""
    host = np.random.default_rng(1).integers(-9, 9, shape).astype(np.int32)
    check("cumsum", host, gpuarray.to_gpu(host), axis=axis)
    ones = np.where(host % 2, 1, -1).astype(np.float32)
    check("cumprod", ones, gpuarray.to_gpu(ones), axis=axis)


@pytest.mark.parametrize("dtype", "bife")
def test_scans_of_rows_with_a_block_each(dtype, monkeypatch):
    """_MANY_ROWS is the number of rows from which each has its own block. Plans that are remembered are
    dropped."""
    clear_context_caches()
    monkeypatch.setattr(axis_scan, "_MANY_ROWS", 3)
    host = np.random.default_rng(1).integers(-1, 2, (500, 9001)).astype(dtype)
    expected = host.cumsum(1, dtype=None if host.dtype.kind == "i" else "d").astype(host.cumsum(0).dtype)
    array = gpuarray.to_gpu(host)
    assert (array.cumsum(1).get() == expected).all()
    assert (array[::100, 1:].cumsum(1).get() == expected[::100, 1:] - host[::100, :1]).all()
    clear_context_caches()


def test_a_scan_in_place():
    host = numbers(np.random.default_rng(2), (20, 30), "f")
    array = gpuarray.to_gpu(host)
    assert array.cumsum(0, out=array) is array
    same(array.get(), host.astype("d").cumsum(0).astype("f"), 100)


def test_dot_of_arrays_of_any_order_and_dtype():
    host = numbers(np.random.default_rng(4), (30, 40), "f")
    array = gpuarray.to_gpu(host)
    fortran = gpuarray.to_gpu(np.asfortranarray(host))
    expected = np.float32((host.astype("d") ** 2).sum())
    for a, b in ((array, array), (array, fortran), (fortran, fortran), (array[::-1], fortran[::-1])):
        same(gpuarray.dot(a, b).get(), np.asarray(expected))
    mixed = gpuarray.dot(array.ravel(), gpuarray.to_gpu(np.arange(1200, dtype=np.int16)))
    same(mixed.get(), np.asarray((host.ravel().astype("d") * np.arange(1200)).sum(), "f"), 1e4)
    with pytest.raises(ValueError):
        gpuarray.dot(array, array[0])


def test_reductions_of_subsets():
    host = numbers(np.random.default_rng(4), (6, 7), "d")
    array, subset = gpuarray.to_gpu(host), np.array([3, 0, 41, 3], np.int32)
    part = host.ravel()[subset]
    on_device = gpuarray.to_gpu(subset)
    same(gpuarray.subset_sum(on_device, array).get(), np.asarray(part.sum()))
    same(gpuarray.subset_dot(on_device, array, array).get(), np.asarray((part * part).sum()))
    assert gpuarray.subset_max(on_device, array).get() == part.max()
    assert gpuarray.subset_min(on_device, array).get() == part.min()
    with pytest.raises(IndexError):
        gpuarray.subset_sum(gpuarray.to_gpu(np.array([42])), array)
    with pytest.raises(TypeError):
        gpuarray.max(gpuarray.to_gpu(host + 0j))


@pytest.mark.parametrize(
    "name",
    ["sum", "prod", "max", "min", "all", "any", "mean", "std", "var", "ptp", "argmax", "argmin", "median",
     "average", "nanmax", "nansum", "nanmean", "nanstd", "nanmedian", "count_nonzero", "quantile"],
)  # fmt: skip
def test_keepdims_may_be_a_number(name):
    """As in NumPy: 1 keeps the reduced axes, 0 does not."""
    a = np.arange(6.0).reshape(2, 3)
    q = (0.5,) if name == "quantile" else ()
    for keepdims, shape in ((1, (2, 1)), (0, (2,))):
        assert getattr(np, name)(a, *q, axis=1, keepdims=keepdims).shape == shape
        assert getattr(np, name)(gpuarray.to_gpu(a), *q, axis=1, keepdims=keepdims).shape == shape
