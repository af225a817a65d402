"""Sets of elements, choices, assignments by masks, numbers of elements and bits, against NumPy."""

import numpy as np
import pytest
from against import same
from drawing import arrays
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

few = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
DTYPES = ["f4", "i4", "?"]
rng = np.random.default_rng(2)


def whole(pair):
    """Few different values, so that some are in both."""
    return tuple(np.round(each) if each.dtype.kind == "f" else each for each in pair)


SETS = {
    "isin": np.isin,
    "not_in": lambda a, b: np.isin(a, b, invert=True),
    "intersect1d": np.intersect1d,
    "indices": lambda a, b: np.intersect1d(a, b, return_indices=True),
    "union1d": np.union1d,
    "setdiff1d": np.setdiff1d,
    "setxor1d": np.setxor1d,
    "unique": lambda a, b: (np.unique(a), np.unique(b)),
    "unique_all": lambda a, b: tuple(np.unique_all(a)),
    "unique_counts": lambda a, b: tuple(np.unique_counts(a)),
    "unique_inverse": lambda a, b: tuple(np.unique_inverse(a)),
    "unique_values": lambda a, b: np.sort(np.unique_values(a)),
}


@pytest.mark.parametrize("name", SETS)
@few
@given(data=st.data())
def test_sets(data, name):
    pairs = [whole(data.draw(arrays([dtype], most=2))) for dtype in (data.draw(st.sampled_from(DTYPES)),) * 2]
    same(SETS[name], *pairs)


def test_sets_of_other_dtypes_and_with_nan():
    a, b = np.array([1, 2.5, np.nan, np.nan, 7]), np.array([7, 1, 9], np.int32)
    for name in SETS:
        if name != "unique":
            same(SETS[name], a, b)
    same(lambda a: np.isin(a, 7), b)
    same(lambda a: np.setdiff1d(a, a, assume_unique=True), b)
    with pytest.raises(TypeError, match="to_gpu"):
        np.isin(gpuarray.to_gpu(a), [1, 2])


@pytest.mark.parametrize("shape, axis", [((0, 5), 0), ((0, 5), 1), ((5, 0), 0), ((0,), 0), ((2, 0, 3), 2)])
def test_unique_parts_of_nothing(shape, axis):
    for options in ({}, {"return_index": True, "return_inverse": True, "return_counts": True}):
        same(lambda a, o=options: np.unique(a, axis=axis, **o), np.zeros(shape))


def test_compress_without_axes():
    same(lambda a: np.compress([True], a, axis=0), np.array(5))
    same(lambda a: np.compress([False], a, axis=0), np.array(5))
    same(lambda a: np.compress([True], a), np.array(5))


# ---- choices and assignments


@few
@given(data=st.data())
def test_assignments(data):
    pair = data.draw(arrays(DTYPES, most=3))
    mask = rng.random(pair[0].shape) < 0.5
    values = np.arange(1, data.draw(st.integers(1, 5)) + 1)

    def changed(function):
        def call(a, m, v):
            a = a.copy()
            function(a, m, v.astype(a.dtype))
            return a

        same(call, pair, mask, values)

    changed(lambda a, m, v: np.place(a, m, v))
    changed(lambda a, m, v: np.putmask(a, m, v))
    changed(lambda a, m, v: np.copyto(a, v[0], where=m))
    # Which of two values for one place stays, no GPU says.
    changed(lambda a, m, v: np.put(a, [0, -1][: a.size], v))
    changed(lambda a, m, v: a.flat.__setitem__(slice(None), v))


def test_copyto_casts_as_it_is_told():
    ints, floats = np.arange(4), np.arange(4) + 0.5
    same(lambda a, b: (np.copyto(a, b), a), ints, floats)
    same(lambda a, b: (np.copyto(a, b, "unsafe"), a), ints, floats)
    same(lambda a, b: (np.copyto(b, a), b), ints, floats)
    same(lambda a: (np.copyto(a, 7), a), floats)
    same(lambda a, b: (np.copyto(a, b[:, None]), a), ints, floats)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_put_along_axis(axis):
    host, numbers = rng.normal(size=(3, 4)), np.array([[2, 0, 1]])
    numbers = numbers.T if axis else numbers[:, [0, 1, 2, 0]] % 3
    same(lambda a, n: (np.put_along_axis(a, n, 7, axis), a), host, numbers)
    same(lambda a, n, v: (np.put_along_axis(a, n, v, axis), a), host, numbers, numbers * 2.0)


def test_choose_and_select():
    number, a, b = rng.integers(0, 2, (3, 4)), rng.normal(size=(3, 4)), rng.integers(0, 9, 4)
    same(lambda n, a, b: np.choose(n, [a, b]), number, a, b)
    same(lambda n, a, b: n.choose([a, b, 7]), number, a, b)
    for mode in ("raise", "wrap", "clip"):
        same(lambda n, a, b, m=mode: np.choose(n * 3 - 1, [a, b], mode=m), number, a, b)
    same(lambda n, a, o: (np.choose(n, [a, a], out=o), o), number, a, np.zeros((3, 4)))
    same(lambda n, a, b: np.select([a > 1, a > 0, a > -1], [a, b, 3], -7), number, a, b)
    same(lambda n, a, b: np.select([n > 0], [b]), number, a, b)
    same(lambda n, a, b: np.select([n], [b]), number, a, b)
    same(lambda n, a, b: np.piecewise(a, [a < 0, a > 1], [lambda x: -x, 2, lambda x: x * 10]), number, a, b)
    same(lambda n, a, b: np.piecewise(a, [a < 0], [5, lambda x: x]), number, a, b)
    same(lambda n, a, b: np.where(a > 0), number, a, b)
    same(lambda n, a, b: np.where(a > 0, a, 1), number, a, b)
    same(lambda n, a, b: np.where(a > 0, a), number, a, b)


def test_numbers_of_elements():
    shape = (3, 4, 5)
    numbers = rng.integers(0, 60, (2, 7))
    for order in "CF":
        same(lambda n, o=order: np.unravel_index(n, shape, o), numbers)
        parts = np.unravel_index(numbers, shape, order)
        same(lambda *p, o=order: np.ravel_multi_index(p, shape, order=o), *parts)
    same(lambda n: np.unravel_index(n + 60, shape), numbers)
    for mode in ("raise", "wrap", "clip", ("wrap", "clip", "wrap")):
        same(lambda *p, m=mode: np.ravel_multi_index(p, (2, 3, 4), m), *np.unravel_index(numbers, shape))
    same(lambda n, m: np.ix_(n, m), numbers[0], numbers[1] > 20)
    same(np.argwhere, np.array(5))


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_bits(axis, bitorder):
    host = rng.integers(0, 3, (5, 11))
    same(lambda a: np.packbits(a, axis, bitorder), host)
    bits = rng.integers(0, 256, (3, 4)).astype(np.uint8)
    for count in (None, 5, 40, -2):
        same(lambda a, c=count: np.unpackbits(a, axis, c, bitorder), bits)


# ---- near and equal


def test_near_and_equal():
    a = np.array([1, 1 + 1e-7, np.nan, np.inf, -np.inf, 0, 100])
    b = np.array([1, 1, np.nan, np.inf, np.inf, 1e-9, 101])
    for options in ({}, {"equal_nan": True}, {"rtol": 0.1}, {"atol": 0.5, "rtol": 0}):
        same(lambda a, b, o=options: np.isclose(a, b, **o), a, b)
        same(lambda a, b, o=options: np.allclose(a, b, **o), a, b)
        same(lambda a, o=options: np.isclose(a, 1, **o), a)
        same(lambda a, o=options: np.isclose(1, a, **o), a)
    same(lambda a: np.isclose(a, a + 1), np.array([-128, 5], np.int8))
    for equal_nan in (False, True):
        same(lambda a, b, e=equal_nan: np.array_equal(a, b, e), a, b)
        same(lambda a, e=equal_nan: np.array_equal(a, a, e), a)
    same(lambda a, b: np.array_equal(a, b[:3]), a, b)
    same(lambda a: (np.array_equiv(a, a[None]), np.array_equiv(a, a[:3])), a[5:])


@pytest.mark.parametrize("dtype", ["f4", "f8", "e", "F", "i4"])
def test_kinds_of_values(dtype):
    host = np.array([1, -2, 0, 5]).astype(dtype)
    if dtype != "i4":
        host[:3] = np.nan, np.inf, -np.inf
    same(np.nan_to_num, host)
    same(lambda a: np.nan_to_num(a, nan=1, posinf=2, neginf=3), host)
    same(lambda a: (np.nan_to_num(a, copy=False), a), host)
    same(lambda a: (np.iscomplex(a), np.isreal(a)), host)
    same(lambda a: (np.iscomplexobj(a), np.isrealobj(a)), host)
    same(lambda a: (np.isposinf(a), np.isneginf(a)), host)
    same(lambda a: (np.real(a), np.imag(a)), host)
    same(np.real_if_close, host)


def test_questions_about_dtypes():
    a = gpuarray.to_gpu(np.zeros(3, np.float32))
    assert np.result_type(a, np.int64) == np.float64 and np.result_type(a, 3) == np.float32
    assert np.common_type(a, a.astype(np.int8)) is np.float64 and np.min_scalar_type(a) == np.float32
    assert np.can_cast(a, "f8") and not np.can_cast(a, "i4")
