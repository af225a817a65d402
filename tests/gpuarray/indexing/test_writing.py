"""Writing into arrays: all indices are checked before any element is written, and a conversion that loses
something warns or is refused as in NumPy.
"""

import warnings

import numpy as np
import pytest

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

# The arrays c, f, i, b and e of CONVERSIONS.
HOST = (
    np.array([1 + 2j, 2, 3, 4]),
    np.zeros(4),
    np.array([0, 1, 2, 3]),
    np.array([1, 0, 1, 1], bool),
    np.zeros(4, np.uint8),
)

# ---- out of bounds

OUTSIDE = np.array([0, 1, 9])


def index():
    """An index on the device that is out of bounds for arrays of four elements."""
    return gpuarray.to_gpu(OUTSIDE)


def assign(array, value):
    array[index()] = value


def assign_row(array, value):
    array.reshape(2, 2)[index()] = value


def assign_two(array, value):
    array.reshape(2, 2)[index(), 0] = value


# Writes to an array of four elements with an index that is out of bounds.
WRITES = {
    "a[i] = 7": lambda a: assign(a, 7),
    "a[i] = array": lambda a: assign(a, gpuarray.to_gpu(np.array([7.0, 8, 9]))),
    "a[::-1][i] = 7": lambda a: assign(a[::-1], 7),
    "rows": lambda a: assign_row(a, 7),
    "places": lambda a: assign_two(a, 7),
    "a[host] = 7": lambda a: a.__setitem__(OUTSIDE, 7),
    "put": lambda a: a.put(index(), 7),
    "put, strided": lambda a: a[::2].put(index(), 7),
    "put_along_axis": lambda a: np.put_along_axis(a, index(), 7, 0),
    "add.at": lambda a: np.add.at(a, index(), 7),
    "take, out": lambda a: a.take(index(), out=a[:3]),
    "gpuarray.take, out": lambda a: gpuarray.take(a.copy(), index(), out=a[:3]),
    "multi_take": lambda a: gpuarray.multi_take(
        [gpuarray.arange(20, dtype=a.dtype), a], index(), [a[:3], a[1:]]
    ),
    "multi_put": lambda a: gpuarray.multi_put([a[:3], a[:3]], index(), out=[gpuarray.zeros(20, a.dtype), a]),
}


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_written_where_an_index_is_out_of_bounds(name):
    array = gpuarray.to_gpu(np.array([5.0, 6, 3, 4]))
    before = array.get()
    with pytest.raises((IndexError, ValueError)):
        WRITES[name](array)
    np.testing.assert_array_equal(array.get(), before)


def test_no_array_is_written_where_one_is_too_short():
    long, short = gpuarray.zeros(20, np.float32), gpuarray.zeros(4, np.float32)
    values = gpuarray.to_gpu(np.ones(3, np.float32))
    for call in (
        lambda: gpuarray.multi_put([values, values], index(), out=[long, short]),
        lambda: gpuarray.multi_put([values, values[:2]], index(), out=[long, long]),
        lambda: gpuarray.multi_take_put(
            [values, values], index(), gpuarray.to_gpu(np.array([0, 1, 2])), out=[long, short]
        ),
    ):
        with pytest.raises((IndexError, ValueError)):
            call()
        assert not long.get().any() and not short.get().any()


@pytest.mark.parametrize("dtype", ["u1,u1,u1", "u1,u4", "u2,u2,u2", "u2,u4,u1"])
def test_elements_of_odd_sizes(dtype):
    """take(out=) and astype() copy them byte by byte or in small words: their sizes are not powers of two."""
    host = np.frombuffer(np.random.default_rng(1).bytes(40 * np.dtype(dtype).itemsize), dtype)
    array, out = gpuarray.to_gpu(host), gpuarray.empty(3, host.dtype)
    array.take(gpuarray.to_gpu(np.array([3, 1, 39])), out=out)
    assert out.get().tobytes() == host[[3, 1, 39]].tobytes()
    assert array.astype(array.dtype).get().tobytes() == host.tobytes()


# ---- conversions of c (complex), f (float), i (integers), b (booleans), e (bytes), the arrays of HOST

CONVERSIONS = {
    "astype": lambda c, f, i, b, e: (c.astype("f4"), c.astype("i4"), c.astype("?")),
    "a[:] = c": lambda c, f, i, b, e: f.__setitem__(slice(None), c),
    "a[i] = c": lambda c, f, i, b, e: f.__setitem__(i, c),
    "a[b] = c": lambda c, f, i, b, e: f.__setitem__(b, c[b]),
    "a[:] = number": lambda c, f, i, b, e: f.__setitem__(slice(None), np.complex128(1j)),
    "a[:] = 1j": lambda c, f, i, b, e: f.__setitem__(slice(None), 1j),
    "fill": lambda c, f, i, b, e: f.fill(np.complex128(1j)),
    "fill, element": lambda c, f, i, b, e: f.fill(c[0]),
    "fill 1j": lambda c, f, i, b, e: f.fill(1j),
    "copyto": lambda c, f, i, b, e: np.copyto(f, c),
    "copyto, unsafe": lambda c, f, i, b, e: np.copyto(f, c, casting="unsafe"),
    "copyto 1j": lambda c, f, i, b, e: np.copyto(f, 1j, casting="unsafe"),
    "copyto 2.7": lambda c, f, i, b, e: np.copyto(i, 2.7),
    "copyto 2.7, where": lambda c, f, i, b, e: np.copyto(i, 2.7, where=b),
    "copyto 2.7, unsafe": lambda c, f, i, b, e: np.copyto(i, 2.7, casting="unsafe"),
    "copyto 2": lambda c, f, i, b, e: np.copyto(b, 2),
    "copyto 300": lambda c, f, i, b, e: np.copyto(e, 300),
    "copyto float": lambda c, f, i, b, e: np.copyto(i, f),
    "copyto, where integers": lambda c, f, i, b, e: np.copyto(f, 2, where=i),
    "copyto, where 1": lambda c, f, i, b, e: np.copyto(f, 2, where=1),
    "sum, where": lambda c, f, i, b, e: np.sum(f, where=i),
    "mean, where": lambda c, f, i, b, e: np.mean(f, where=i),
    "var, where": lambda c, f, i, b, e: np.var(f, where=i),
    "any, where": lambda c, f, i, b, e: np.any(f, where=i),
    "max, where": lambda c, f, i, b, e: np.max(f, where=i, initial=0),
    "sum, dtype": lambda c, f, i, b, e: np.sum(c, dtype="f8"),
    "sum, out": lambda c, f, i, b, e: np.sum(c, out=f[:1].reshape(())),
    "cumsum": lambda c, f, i, b, e: (np.cumsum(c, dtype="f8"), np.cumsum(c, out=f)),
    "add, out": lambda c, f, i, b, e: np.add(c, c, out=f, casting="unsafe"),
    "add, dtype": lambda c, f, i, b, e: np.add(c, 1, dtype="f8", casting="unsafe"),
    "absolute": lambda c, f, i, b, e: np.abs(c, out=f),
    "put": lambda c, f, i, b, e: np.put(f, i, c),
    "putmask": lambda c, f, i, b, e: np.putmask(i, b, f + 2.5),
    "place": lambda c, f, i, b, e: np.place(f, b, c),
    "no loss": lambda c, f, i, b, e: (np.real(c), np.std(c), np.isclose(c, c), np.cov(c), np.linalg.norm(c)),
}


def outcome(call, arrays):
    """(class of the exception or None, whether a ComplexWarning was issued) of call(*arrays)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = None
        try:
            call(*arrays)
        except Exception as problem:
            error = TypeError if isinstance(problem, TypeError) else type(problem)
    return error, any(each.category is np.exceptions.ComplexWarning for each in caught)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_warn_or_raise_as_numpys(name):
    host = [array.copy() for array in HOST]
    on_device = [gpuarray.to_gpu(array) for array in HOST]
    assert outcome(CONVERSIONS[name], on_device) == outcome(CONVERSIONS[name], host)
    for got, want in zip(on_device, host, strict=True):
        np.testing.assert_array_equal(got.get(), want)


def test_the_warning_names_the_users_line():
    array, target = gpuarray.to_gpu(HOST[0]), gpuarray.zeros(4, np.float64)
    for call in (lambda: array.astype("f4"), lambda: target.__setitem__(slice(None), array)):
        with pytest.warns(np.exceptions.ComplexWarning) as caught:
            call()
        assert [each.filename for each in caught] == [__file__]


# ---- np.f(..., like=a)


@pytest.mark.parametrize(
    "numbers", [(0, 5.5, 1), (0, 5, 1), (0.0, 5), (0, 5, 1.0), (0, 2**63, 2**61), (True, 4), (3,), (0, 5.5)]
)
def test_dtype_of_arange(numbers):
    """The dtype depends on each of start, stop and step."""
    array = gpuarray.zeros(1, np.float32)
    got, want = np.arange(*numbers, like=array), np.arange(*numbers)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.get(), want)


@pytest.mark.parametrize("function", [np.eye, np.tri, np.identity, np.zeros, np.ones, np.empty])
def test_dtype_none(function):
    array = gpuarray.zeros(1, np.float32)
    assert function(2, dtype=None, like=array).dtype == function(2, dtype=None).dtype
