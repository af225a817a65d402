"""Every name of PyCUDA's gpuarray and cumath is there and takes what PyCUDA's takes."""

import importlib
import inspect

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

FUNCTIONS = {
    "pycuda.gpuarray": """
        GPUArray(shape, dtype, allocator, base, gpudata, strides, order)
        empty(shape, dtype, allocator, base, gpudata, strides, order)
        to_gpu(ary, allocator)
        to_gpu_async(ary, allocator, stream)
        zeros(shape, dtype, allocator, order)
        ones(shape, dtype, allocator, order)
        empty_like(other_ary, dtype, order)
        zeros_like(other_ary, dtype, order)
        ones_like(other_ary, dtype, order)
        arange(start, stop, step, dtype)
        take(a, indices, out, stream)
        multi_take(arrays, indices, out, stream)
        multi_take_put(arrays, dest_indices, src_indices, dest_shape, out, stream, src_offsets)
        multi_put(arrays, dest_indices, dest_shape, out, stream)
        concatenate(arrays, axis, allocator)
        stack(arrays, axis, allocator)
        transpose(a, axes)
        reshape(a, *shape, order)
        if_positive(criterion, then_, else_, out, stream)
        where(criterion, then_, else_, out, stream)
        maximum(a, b, out, stream)
        minimum(a, b, out, stream)
        sum(a, dtype, stream, allocator)
        dot(a, b, dtype, stream, allocator)
        max(a, stream)
        min(a, stream)
        any(a, stream, allocator)
        all(a, stream, allocator)
        subset_sum(subset, a, dtype, stream, allocator)
        subset_dot(subset, a, b, dtype, stream, allocator)
        subset_max(subset, a, stream)
        subset_min(subset, a, stream)
        logical_and(x1, x2, out, allocator)
        logical_or(x1, x2, out, allocator)
        logical_not(x, out, allocator)
        sort(a, axis, kind, order)
        argsort(a, axis, kind, order)
        lexsort(keys, axis)
        sort_by_key(keys, values)
        partition(a, kth, axis, kind, order)
        argpartition(a, kth, axis, kind, order)
        topk(a, k, axis, largest)
        searchsorted(a, v, side, sorter)
        unique(ar, return_index, return_inverse, return_counts, axis, equal_nan, sorted)
        bincount(x, weights, minlength)
        histogram(a, bins, range, density, weights)
        nonzero(a)
        flatnonzero(a)
        count_nonzero(a, axis)
        compress(condition, a, axis, out)
        extract(condition, arr)
        splay(n, dev)
        _splay_backend(n, dev)
        _get_common_dtype(obj1, obj2)
        _memcpy_discontig(dst, src, async_, stream)
        _compact_strides(ary)""",
    "pycuda.gpuarray.GPUArray": """
        set(ary, async_, stream)
        set_async(ary, stream)
        get(ary, pagelocked, async_, stream)
        get_async(stream, ary)
        copy()
        sort(axis, kind, order)
        argsort(axis, kind, order)
        partition(kth, axis, kind, order)
        argpartition(kth, axis, kind, order)
        searchsorted(v, side, sorter)
        nonzero()
        compress(condition, axis, out)
        mul_add(selffac, other, otherfac, add_timer, stream, out)
        fill(value, stream)
        astype(dtype, stream)
        reshape(*shape, order)
        ravel()
        squeeze()
        transpose(axes)
        view(dtype)
        reverse(stream)
        any(stream, allocator)
        all(stream, allocator)
        conj(out)
        conjugate(out)
        bind_to_texref(texref, allow_offset)
        bind_to_texref_ext(texref, channels, allow_double_hack, allow_complex_hack, allow_offset)
        _new_like_me(dtype, order)
        _axpbz(selffac, other, out, stream)
        _axpbyz(selffac, other, otherfac, out, add_timer, stream)
        _elwise_multiply(other, out, stream)
        _div(other, out, stream)""",
    "pycuda.cumath": "\n".join(
        [
            f"{name}(array, stream_or_out, out, stream)"
            for name in "fabs ceil floor exp log log10 sqrt sin cos tan asin acos atan sinh cosh tanh".split()
        ]
        + ["fmod(arg, mod, stream)", "ldexp(significand, exponent, stream)", "frexp(arg, stream)"]
        + ["modf(arg, stream)"]
    ),
}
# NumPy's method, with an axis: what PyCUDA's takes goes by name.
BY_NAME = {"astype", "any", "all"}
PROPERTIES = """
    shape dtype strides size mem_size nbytes itemsize ndim allocator base gpudata ptr flags T real imag
    __cuda_array_interface__ __array_priority__ _grid _block
""".split()
ROWS = [(where, row.strip()) for where, rows in FUNCTIONS.items() for row in rows.strip().split("\n")]


def find(where):
    return gpuarray.GPUArray if where.endswith("GPUArray") else importlib.import_module(where)


@pytest.mark.parametrize("where, row", ROWS, ids=[row.split("(")[0] for _, row in ROWS])
def test_names_have_pycudas_parameters(where, row):
    name, _, text = row.rstrip(")").partition("(")
    function = getattr(find(where), name)
    wanted = [part.strip().lstrip("*") for part in text.split(",") if part.strip()]
    # A method's first parameter is the array, whatever its name.
    found = [*inspect.signature(function).parameters][1 if where.endswith("GPUArray") else 0 :]
    if name == "arange":
        assert found == ["args", "kwargs"]
    elif name in BY_NAME and where.endswith("GPUArray"):
        assert set(wanted) <= set(found)
    else:
        assert found[: len(wanted)] == wanted
    if name != "bincount":  # as NumPy's
        parameters = inspect.signature(function).parameters
        assert not any(parameters[each].kind is inspect.Parameter.POSITIONAL_ONLY for each in found)
    assert inspect.getdoc(function) or name.startswith("_")


@pytest.mark.parametrize("name", PROPERTIES)
def test_property(name):
    getattr(gpuarray.zeros((2, 3), np.complex64), name)


def test_reverse():
    for host in (
        np.arange(12, dtype=np.int32).reshape(3, 4),
        np.arange(5.0),
        np.float32(3),
        np.zeros((0, 2)),
    ):
        for order in "CF":
            array = gpuarray.to_gpu(np.array(host, order=order))
            for got in (array.reverse(), array.reverse(stream=drv.Stream())):
                assert got.shape == host.shape and got.strides == array.strides
                assert (got.get() == np.flip(host)).all()


def test_add_timer():
    """The timer gets the number of elements of all three arrays and a function that returns the kernel's
    time."""
    x, y, out = (gpuarray.to_gpu(np.arange(5.0)) for _ in range(3))
    calls = []
    result = x.mul_add(2, y, 3, add_timer=lambda count, timer: calls.append((count, timer)))
    x._axpbyz(1, y, 1, out, lambda count, timer: calls.append((count, timer)), drv.Stream())
    assert (result.get() == 5 * np.arange(5)).all() and (out.get() == 2 * np.arange(5)).all()
    assert [count for count, _ in calls] == [15, 15]
    assert all(0 <= timer() < 10 for _, timer in calls)


def test_undocumented_names():
    a, b = (np.arange(1, 5, dtype=np.float32) * factor for factor in (1, 3))
    x, y, out = gpuarray.to_gpu(a), gpuarray.to_gpu(b), gpuarray.zeros(4, np.float32)
    assert (x._axpbyz(2, y, 5, out).get() == 2 * a + 5 * b).all()
    assert (x._axpbz(2, 5, out).get() == 2 * a + 5).all()
    assert (x._elwise_multiply(y, out).get() == a * b).all()
    assert (y._div(x, out).get() == b / a).all()
    assert gpuarray._get_common_dtype(x, np.float64(1)) == np.float64
    back = np.zeros((2, 2), np.float32)
    square = gpuarray.to_gpu(np.asfortranarray(a.reshape(2, 2)))
    gpuarray._memcpy_discontig(back, square)
    assert (back == a.reshape(2, 2)).all() and gpuarray._compact_strides(square) == square.strides
    gpuarray._memcpy_discontig(square[0], b[:2])
    assert (square.get() == [b[:2], a[2:]]).all()


@pytest.mark.parametrize("char", "?bHiqfdFD")
def test_mul_add(char):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 2 if char == "?" else 9, 20).astype(char) for _ in range(2))
    factors = (True, False) if char == "?" else (2, 3)
    got = gpuarray.to_gpu(a).mul_add(factors[0], gpuarray.to_gpu(b), factors[1])
    want = a * factors[0] + b * factors[1]
    assert got.dtype == want.dtype and (got.get() == want).all()
