"""Sorting, positions in sorted arrays and the largest elements, compared with NumPy."""

from typing import NamedTuple

import numpy as np
import pytest
from against import NUMPY
from drawing import arrays, few, layouts, numbers
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda._kernels.builtin import sort, topk

pytestmark = pytest.mark.usefixtures("primary_context")

seeds = st.integers(0, 1000)
DTYPES = "?bBhHiIqQefdFD"
LONG = 5000  # elements, more than one block sorts


def special(rng, count, dtype):
    """Random numbers, many of them equal; floats with zeros of both signs, infinities, and NaNs of both
    signs."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        spread = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
        return np.where(rng.random(count) < 0.5, spread, rng.integers(0, 5, count).astype(dtype))
    if dtype.kind == "b":
        return rng.random(count) < 0.4
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, -1, 2.5])
    some = np.where(rng.random(count) < 0.5, rng.choice(values, count), rng.normal(size=count) * 50)
    if dtype.kind == "c":
        some = some + 0j
        some.imag = rng.choice(values, count)
    return some.astype(dtype)


def same(got, want):
    """Asserts that a GPUArray has the dtype and the elements of `want`; NaNs are equal to each other."""
    got = got.get()
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("length", [100, LONG])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype, length):
    host = special(np.random.default_rng(7), length, dtype)
    array = gpuarray.to_gpu(host)
    same(gpuarray.sort(array), np.sort(host, kind="stable"))
    if length < LONG or dtype in "bifD":
        same(array.argsort(), np.argsort(host, kind="stable"))
    same(array, host)


@pytest.mark.parametrize("length", [100, LONG])
@pytest.mark.parametrize("dtype", "?bQefD")
def test_descending(dtype, length):
    """The order is NumPy's since 2.5: NaNs last, equal elements in their previous order."""
    host = special(np.random.default_rng(11), length, dtype)
    device = gpuarray.to_gpu(host)
    if host.dtype.kind in "fc":
        order = np.argsort(-host, kind="stable")
    else:
        order = length - 1 - np.argsort(host[::-1], kind="stable")[::-1]
    same(device.argsort(descending=True), order)
    same(gpuarray.argsort(device, descending=True), order)
    same(gpuarray.sort(device, descending=True), host[order])
    same(gpuarray.sort(device, descending=False), np.sort(host, kind="stable"))
    rows = gpuarray.to_gpu(np.stack([host, host[::-1]]).T.copy())
    rows.sort(0, descending=True)
    same(rows[:, 0], host[order])
    same(device, host)
    if NUMPY >= "2.5.0":
        same(np.sort(device, descending=True), np.sort(host, descending=True, stable=True))
        same(np.argsort(device, descending=True), np.argsort(host, descending=True, stable=True))


@pytest.mark.parametrize("dtype", "efdF")
def test_the_order_of_equal_elements_is_kept_to_the_bit(dtype):
    host = special(np.random.default_rng(3), LONG, dtype)
    word = f"u{host.real.itemsize}"
    order = np.argsort(host, kind="stable")
    got = gpuarray.sort(gpuarray.to_gpu(host), kind="stable").get()
    assert (got.view(word) == host[order].view(word)).all()
    got = gpuarray.sort(gpuarray.to_gpu(host)).get()
    same(gpuarray.to_gpu(got), host[order])
    assert (np.sort(got.view(word)) == np.sort(host.view(word))).all()


def test_sorting_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = special(np.random.default_rng(1), LONG, "f").astype(ml_dtypes.bfloat16)
    wide = host.astype("f")
    array = gpuarray.to_gpu(host)
    np.testing.assert_array_equal(array.argsort().get(), np.argsort(wide, kind="stable"))
    np.testing.assert_array_equal(np.sort(array).get().astype("f"), np.sort(wide))
    np.testing.assert_array_equal(gpuarray.sort(array[:50]).get().astype("f"), np.sort(wide[:50]))


@pytest.mark.parametrize("dtype", "hQefdFD")
@few
@given(
    length=st.sampled_from([1, 2, 3, 4, 5, 30, 64, 100, 513, 1025, 3000]), rows=st.integers(1, 70), seed=seeds
)
def test_short_rows(dtype, length, rows, seed):
    """A warp sorts several rows, or several warps one row. Sorted rows have the bits of all elements, and a
    stable sort keeps the order of equal ones."""
    rows = min(rows, 5000 // length + 1)
    host = special(np.random.default_rng(seed), rows * length, dtype).reshape(rows, length)
    device = gpuarray.to_gpu(host)
    got = np.sort(device)
    same(got, np.sort(host))
    np.testing.assert_array_equal(
        np.sort(got.get().view(f"u{host.real.itemsize}")), np.sort(host.view(f"u{host.real.itemsize}"))
    )
    order = np.argsort(host, kind="stable")
    same(np.argsort(device), order)
    stable = np.sort(device, kind="stable").get()
    assert stable.tobytes() == np.take_along_axis(host, order, -1).tobytes()
    device.sort(kind="mergesort")
    assert device.get().tobytes() == stable.tobytes()


@few
@given(st.data())
def test_any_axis_of_any_layout(data):
    host, array = data.draw(arrays("i", min_ndim=1, max_ndim=3))
    axis = data.draw(st.sampled_from([None, *range(-host.ndim, host.ndim)]))
    same(np.sort(array, axis=axis), np.sort(host, axis=axis))
    same(np.argsort(array, axis=axis), np.argsort(host, axis=axis, kind="stable"))
    host = host.copy()
    if axis is not None:
        array.sort(axis)
        host.sort(axis)
        same(array, host)


@pytest.mark.parametrize(
    "shape, axis", [((3, LONG), 1), ((LONG, 2), 0), ((2, 1, 20_000), -1), ((40_000,), 0)]
)
def test_long_rows(shape, axis):
    host = np.random.default_rng(5).integers(-1000, 1000, shape).astype("i")
    array = gpuarray.to_gpu(host)
    same(np.argsort(array, axis), np.argsort(host, axis, kind="stable"))
    array.sort(axis)
    same(array, np.sort(host, axis))


def test_kernels_for_more_than_2_30_elements(monkeypatch):
    """These kernels count in 64 bits. pass_shape() chooses them by its result's field `wide`, which is set
    here."""
    narrow = sort.pass_shape
    monkeypatch.setattr(sort, "pass_shape", lambda *args: narrow(*args)._replace(wide=True))
    host = np.random.default_rng(5).integers(-1000, 1000, (2, 20_000)).astype("i")
    array = gpuarray.to_gpu(host)
    same(np.argsort(array), np.argsort(host, kind="stable"))
    same(np.sort(array), np.sort(host))


def test_sorting_a_view_leaves_other_elements_unchanged():
    host = np.arange(6000, dtype="i")[::-1].copy()
    for index in slice(1, -1), slice(None, None, -2), slice(3, 3000):
        array, other = gpuarray.to_gpu(host), host.copy()
        array[index].sort()
        other[index].sort()
        same(array, other)


@pytest.mark.parametrize("dtype", "bi")
def test_in_place_over_several_tiles(dtype):
    host = np.random.default_rng(2).integers(-100, 100, 30_000).astype(dtype)
    array = gpuarray.to_gpu(host)
    assert array.sort() is None
    same(array, np.sort(host))


@pytest.mark.parametrize("length", [31, 32, 33, 1024, 1025, 2047, 2049, 4096, 4097])
def test_rows_near_the_limits_of_a_warp_and_a_block(length):
    host = (np.random.default_rng(length).normal(size=(3, length)) * 40).astype("i")
    device = gpuarray.to_gpu(host)
    same(gpuarray.sort(device), np.sort(host))
    same(gpuarray.argsort(device), np.argsort(host, kind="stable"))


@pytest.mark.parametrize("function", [np.sort, np.argsort])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1,), (4, 1)])
def test_rows_of_no_or_one_element(function, shape):
    for axis in range(len(shape)):
        same(function(gpuarray.zeros(shape, "i"), axis=axis), function(np.zeros(shape, "i"), axis=axis))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.sort(a, kind="x"),
        lambda a: np.sort(a, kind=3),
        lambda a: np.sort(a, kind="stable", stable=True),
        lambda a: np.sort(a, order="field"),
        lambda a: np.sort(a, axis=2),
        lambda a: a.sort(axis=1),
        lambda a: np.sort(a[0]),
        lambda a: a[0].sort(),
        lambda a: np.partition(a, 7),
        lambda a: np.partition(a, 1.0),
        lambda a: np.partition(a, True),
        lambda a: np.partition(a, 1, kind="quick"),
        lambda a: np.argpartition(a, [0, 5]),
        lambda a: np.searchsorted(a, 1, side="x"),
        lambda a: np.searchsorted(a, 1, sorter=np.array([0])),
        lambda a: np.searchsorted(a, 1, sorter=np.array([0.0, 1, 2])),
        lambda a: np.searchsorted(a.reshape(1, 3), 1),
        lambda a: np.lexsort([]),
        lambda a: np.lexsort((a, a[:2])),
        lambda a: np.lexsort((a,), axis=1),
    ],
)
def test_errors_are_those_of_numpy(call):
    host = np.arange(3.0)
    with pytest.raises(Exception) as wanted:
        # a[0] is a scalar for NumPy, here a 0-d array: both are refused.
        call(host)
    with pytest.raises(type(wanted.value)):
        call(gpuarray.to_gpu(host))


def test_structures_are_refused():
    array = gpuarray.zeros(3, [("x", "f4")])
    for call in gpuarray.sort, gpuarray.argsort, gpuarray.GPUArray.sort, gpuarray.unique:
        with pytest.raises(TypeError, match="dtype"):
            call(array)


def test_a_stream_and_an_allocator():
    stream, sizes = drv.Stream(), []

    def allocator(nbytes):
        sizes.append(nbytes)
        return drv.mem_alloc(nbytes)

    host = np.random.default_rng(0).normal(size=LONG).astype("f")
    array = gpuarray.to_gpu(host)
    got = gpuarray.sort(array, stream=stream, allocator=allocator)
    order = array.argsort(stream=stream, allocator=allocator)
    stream.synchronize()
    same(got, np.sort(host))
    same(order, np.argsort(host))
    assert host.nbytes in sizes and 2 * host.nbytes in sizes  # of the values, and of indices of 64 bits


# ---- several arrays


@pytest.mark.parametrize("length", [50, LONG])
@pytest.mark.parametrize("dtype", ["i1", "f8", "c16", [("x", "f4"), ("y", "i4"), ("z", "i4")]])
def test_sort_by_key(dtype, length):
    rng = np.random.default_rng(4)
    keys, values = rng.integers(0, 99, length).astype("i"), np.zeros(length, dtype)
    values.view(np.uint8)[:] = rng.integers(0, 99, values.nbytes)
    order = np.argsort(keys, kind="stable")
    got = gpuarray.sort_by_key(gpuarray.to_gpu(keys), gpuarray.to_gpu(values))
    same(got[0], keys[order])
    assert got[1].get().tobytes() == values[order].tobytes()


def test_sort_by_key_moves_rows():
    keys, values = np.array([3, 1, 2], "i"), np.arange(6.0).reshape(3, 2)
    got = gpuarray.sort_by_key(gpuarray.to_gpu(keys), gpuarray.to_gpu(values))
    same(got[1], values[[1, 2, 0]])
    with pytest.raises(ValueError):
        gpuarray.sort_by_key(gpuarray.to_gpu(keys), gpuarray.to_gpu(values[:2]))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lexsort(axis):
    keys = np.random.default_rng(4).integers(0, 3, (3, 20, 10)).astype("i")
    same(np.lexsort(tuple(map(gpuarray.to_gpu, keys)), axis=axis), np.lexsort(keys, axis=axis))
    same(gpuarray.lexsort(gpuarray.to_gpu(keys), axis=axis), np.lexsort(keys, axis=axis))


# ---- partitions, the largest elements


@pytest.mark.parametrize("kth", [0, -1, 5, [3, 7], np.array([2])])
def test_partition(kth):
    host = np.random.default_rng(9).integers(0, 50, (3, 12)).astype("i")
    array = gpuarray.to_gpu(host)
    got, order = np.partition(array, kth, axis=1).get(), np.argpartition(array, kth, axis=1).get()
    assert (np.take_along_axis(host, order, 1) == got).all()
    for k in np.ravel(kth):
        assert (got[:, k] == np.partition(host, k, axis=1)[:, k]).all()
    assert array.partition(kth) is None
    same(array, got)


def expected_top(host, k, largest):
    """(values, indices) of the k largest or smallest elements of a row. NaN counts as larger than all
    numbers; of equal elements the one with the lower index comes first."""
    order = np.argsort(host, kind="stable")
    if largest:
        order = len(host) - 1 - np.argsort(host[::-1], kind="stable")[::-1]
    return host[order[:k]], order[:k]


def check_top(got, host, k, largest):
    """Asserts that `got`, (values, indices) of topk(), has the expected indices, and values with the same
    bits."""
    values, indices = expected_top(host, k, largest)
    same(got[1], indices)
    assert got[0].get().tobytes() == values.tobytes()


LONG_ROW = 1 << 18
# From this length on a sample of a row gives the limit of the largest elements, if at most FEW are wanted.
SAMPLED_ROW = 1 << 15
FEW = 1024


@pytest.mark.parametrize("k, largest", [(1, True), (100, True), (100, False), (FEW, True), (1500, False)])
@pytest.mark.parametrize("case", ["spread", "few", "one", "tail", "wave", "misled", "short", "nan", "nans"])
def test_topk(case, k, largest):
    """A row may have many equal elements, few that a sample meets, or a sample that is unlike the row."""
    rng = np.random.default_rng(6)
    host = {
        "spread": lambda: rng.integers(-(2**31), 2**31, LONG_ROW).astype("f"),
        "few": lambda: rng.integers(0, 3, LONG_ROW).astype("f"),
        "one": lambda: np.zeros(LONG_ROW, "f"),
        "tail": lambda: np.where(np.arange(LONG_ROW) % 5000 == 17, rng.normal(size=LONG_ROW), 0).astype("f"),
        "wave": lambda: (np.arange(LONG_ROW) % 128).astype("f"),
        "misled": lambda: np.where(np.arange(LONG_ROW) % 127, np.arange(LONG_ROW), 0).astype("f"),
        "short": lambda: rng.integers(0, 300, 2000).astype("f"),
        "nan": lambda: np.where(rng.random(LONG_ROW) < 0.001, np.nan, rng.normal(size=LONG_ROW)).astype("f"),
        "nans": lambda: np.full(LONG_ROW, np.nan, "f"),
    }[case]()
    check_top(gpuarray.topk(gpuarray.to_gpu(host), k, largest=largest), host, k, largest)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["?", "b", "h", "q", "e", "d", "D", "bfloat16"])
def test_topk_of_every_kind(dtype, largest):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    host = special(np.random.default_rng(8), SAMPLED_ROW + 3, "f" if dtype not in tuple("?bhqedD") else dtype)
    array = gpuarray.to_gpu(host.astype(dtype))
    host = array.get()
    wide = host.astype("f") if host.dtype.kind == "V" else host
    got, order = gpuarray.topk(array, 300, largest=largest), expected_top(wide, 300, largest)[1]
    same(got.indices, order)
    assert got.values.get().tobytes() == host[order].tobytes()


HASH = 0x9E3779B1  # 2**32 divided by the golden ratio


def sampled(length, group=4, groups=2048):
    """The indices of a row's sample, as pycuda-topk.hpp chooses them: an element of each of group * groups
    parts of the row, at an offset that a hash of the part's number gives. Rows made with them have a
    misleading sample."""
    step, part = length // (group * groups), np.arange(group * groups, dtype=np.uint64)
    return part * step + ((part * HASH % 2**32) * step >> 32)


ROWS = {
    "up": lambda rng, n: np.arange(n),
    "down": lambda rng, n: -np.arange(n),
    "two": lambda rng, n: rng.random(n) < 0.5,
    "rare": lambda rng, n: rng.random(n) < 300 / n,
    "last": lambda rng, n: np.arange(n) > n - 700,
    "period": lambda rng, n: np.arange(n) % rng.integers(2, 300),
    "normal": lambda rng, n: rng.normal(size=n) * 30,
    "sample holds the largest": lambda rng, n: np.isin(np.arange(n), sampled(n)) * 100.0 + rng.random(n),
    "sample holds the smallest": lambda rng, n: np.isin(np.arange(n), sampled(n)) * -100.0 + rng.random(n),
    "one in the sample": lambda rng, n: np.where(np.arange(n) == sampled(n)[5], 1e9, -np.arange(n)),
    "some NaNs": lambda rng, n: np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
    "few NaNs": lambda rng, n: np.where(rng.random(n) < 50 / n, np.nan, rng.normal(size=n)),
    "few numbers": lambda rng, n: np.where(rng.random(n) < 50 / n, rng.normal(size=n), np.nan),
    "numbers at both ends": lambda rng, n: np.where(np.arange(n) % (n - 1) == 0, np.arange(n), np.nan),
    "zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, -0.0),
}


@settings(few, max_examples=8)
@example(["sample holds the largest", "sample holds the smallest"], SAMPLED_ROW, FEW, True, 0)
@example(["numbers at both ends"], SAMPLED_ROW + 1, 1, False, 0)
@given(
    st.lists(st.sampled_from(sorted(ROWS)), min_size=1, max_size=2),
    st.sampled_from([SAMPLED_ROW, SAMPLED_ROW + 1, SAMPLED_ROW + 4096 * 3 + 4]),
    st.sampled_from([1, 2, 100, FEW - 1, FEW]),
    st.booleans(),
    seeds,
)
def test_topk_of_adverse_rows(names, length, k, largest, seed):
    rng = np.random.default_rng(seed)
    host = np.stack([ROWS[name](rng, length).astype("f") for name in names])
    got = gpuarray.topk(gpuarray.to_gpu(host), k, largest=largest)
    for number, row in enumerate(host):
        check_top([part[number] for part in got], row, k, largest)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("name", sorted(name for name in ROWS if "sample" not in name))
def test_topk_of_a_long_row_reads_it_once(name, largest, monkeypatch):
    """The sample's limit selects at least k elements, and no more than there is memory for, so that the row
    need not be read again. The last kernel of topk() is replaced by an object that notes (k, selected
    elements, memory for).
    """
    host, found = ROWS[name](np.random.default_rng(4), 4 * SAMPLED_ROW).astype("f"), []

    class Watched(NamedTuple):
        finish: object

        def prepared_async_call(self, grid, block, stream, rows, length, limits, pairs, room, k, *rest):
            selected = int(limits.get().view(np.uint32)[2])  # a field of struct Limit
            found.append((k, selected, room))
            self.finish.prepared_async_call(grid, block, stream, rows, length, limits, pairs, room, k, *rest)

    def watched(*key, kernels=topk.topk_kernels):
        return kernels(*key)._replace(finish=Watched(kernels(*key).finish))

    monkeypatch.setattr(topk, "topk_kernels", watched)
    for k in 1, 100, FEW:
        check_top(gpuarray.topk(gpuarray.to_gpu(host), k, largest=largest), host, k, largest)
    assert [k for k, *_ in found] == [1, 100, FEW]
    assert all(k <= selected <= room for k, selected, room in found)


@pytest.mark.driver(12030, "captures into a graph")
def test_topk_of_a_long_row_is_captured():
    host, again = np.random.default_rng(9).normal(size=(2, SAMPLED_ROW)).astype("f")
    array, stream = gpuarray.to_gpu(host), drv.Stream()
    gpuarray.topk(array, 10, stream=stream)  # compiles
    with stream.capture() as graph:
        got = gpuarray.topk(array, 10, stream=stream)
    ready = graph.instantiate()
    for each in host, again:
        array.set(each)
        ready.launch(stream)
        stream.synchronize()
        check_top(got, each, 10, True)


@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_topk_along_an_axis(axis):
    host = np.random.default_rng(8).permutation(24 * 30).reshape(4, 6, 30).astype("i")
    got = gpuarray.topk(gpuarray.to_gpu(host), 3, axis)
    order = np.flip(np.argsort(host, axis), axis or 0)
    index = np.take(order, range(3), axis or 0)
    same(got.indices, index)
    same(got.values, np.take_along_axis(host if axis is not None else host.ravel(), index, axis or 0))
    assert gpuarray.topk(gpuarray.to_gpu(host), 0, axis).indices.size == 0
    for wrong in -1, 10**6:
        with pytest.raises(ValueError, match="k is"):
            gpuarray.topk(gpuarray.to_gpu(host), wrong, axis)


# ---- positions in sorted arrays


@few
@given(
    st.sampled_from(["i", "d", "F"]),
    st.sampled_from(["i", "d"]),
    st.sampled_from(["left", "right"]),
    st.booleans(),
    st.data(),
)
def test_searchsorted(dtype, wanted, side, sorter, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    host = special(rng, data.draw(st.sampled_from([0, 1, 7, 300])), dtype)
    order = np.argsort(host, kind="stable") if sorter else None
    host = host if sorter else np.sort(host)
    values, on_device = data.draw(
        layouts(numbers(rng, data.draw(st.sampled_from([(), (5,), (3, 4), (0,)])), wanted))
    )
    got = gpuarray.to_gpu(host).searchsorted(
        on_device, side, None if order is None else gpuarray.to_gpu(order)
    )
    same(got, np.asarray(np.searchsorted(host, values, side, order)))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", "bifdF")
@pytest.mark.parametrize("length", [2**k + more for k in (5, 13, 15) for more in (-1, 0, 1)])
def test_positions_in_tables_of_every_length(length, dtype, side):
    """A block holds all keys of a short table, and every n-th one of a long table; values are aligned or
    not."""
    rng = np.random.default_rng(length)
    host, values = np.sort(special(rng, length, dtype)), special(rng, 20_001, dtype)
    values[:4] = host[[0, -1, length // 2, -2]]
    table, on_device = gpuarray.to_gpu(host), gpuarray.to_gpu(values)
    same(table.searchsorted(on_device, side), np.searchsorted(host, values, side))
    same(table.searchsorted(on_device[1:90], side), np.searchsorted(host, values[1:90], side))
    if side == "left":
        for invert in (False, True):
            same(np.isin(on_device, table, invert=invert), np.isin(values, host, invert=invert))


def test_a_sorter_out_of_range_is_refused():
    array = gpuarray.arange(3, dtype="f")
    for wrong in 3, -1:
        with pytest.raises(ValueError, match="out of range"):
            array.searchsorted(1, sorter=np.array([0, 1, wrong]))


def test_searchsorted_takes_values_in_host_memory():
    host = np.arange(0, 20, 2, dtype="f")
    for values in (3, 4.5, [1, 2, 3], np.array([[4.0], [40]])):
        same(np.searchsorted(gpuarray.to_gpu(host), values), np.asarray(np.searchsorted(host, values)))
