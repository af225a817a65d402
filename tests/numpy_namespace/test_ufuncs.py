"""Ufuncs of pycuda.numpy: operands of every kind, keywords, methods and attributes, as NumPy's."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.numpy as xp
from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

HOST = np.array([3, 1, 2], np.float32)


def same(got, want):
    """Asserts that our result is a GPUArray with the shape, dtype and values of NumPy's."""
    want = np.asarray(want)
    assert isinstance(got, gpuarray.GPUArray)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(got.get(), want)


@pytest.mark.parametrize(
    "first, second",
    [
        (HOST, 2), (2, HOST), (HOST, [1.0, 2.0, 3.0]), ([1, 2], (3, 4)), (1, 2), (1, 2.5), (True, False),
        (np.float32(1), 2), (np.int8(1), np.int8(2)), ([[1], [2]], HOST), (np.array(2), HOST), ([], 1.0),
    ],
)  # fmt: skip
def test_operands_of_each_kind(first, second):
    same(xp.add(first, second), np.add(first, second))
    on_device = [xp.asarray(each) if isinstance(each, np.ndarray) else each for each in (first, second)]
    same(xp.add(*on_device), np.add(first, second))
    same(xp.less(first, second), np.less(first, second))


def test_results_of_scalars_are_0d_arrays():
    same(xp.sqrt(4.0), 2.0)
    quotient, rest = xp.divmod(7, 2)
    same(quotient, 3), same(rest, 1)
    same(xp.add.reduce(3, axis=None), 3)


def test_comparisons_with_numbers_beyond_the_dtype():
    small = xp.asarray([1, 2], dtype=xp.int8)
    same(xp.less(small, 1000), [True, True])
    same(xp.equal([1, 2], 2**80), [False, False])
    out = xp.zeros(2, dtype=bool)
    assert xp.less(small, 1000, out=out) is out
    same(out, [True, True])
    with pytest.raises(OverflowError):
        xp.add(small, 1000)


def test_keywords_of_ufuncs():
    a = xp.asarray(HOST)
    out = xp.zeros(3)
    assert xp.sin(a, out=out) is out and xp.cos(a, out) is out
    same(out, np.cos(HOST).astype(np.float64))
    assert xp.negative(a, out=(out,)) is out
    with pytest.raises(ValueError, match="copies"):
        xp.add(a, 1, out=xp.zeros(3, dtype=complex).real)
    assert xp.add([1, 2, 3], a, out=out) is out
    same(out, [4.0, 3.0, 5.0])
    same(xp.add(a, 1, dtype=np.float64), np.add(HOST, 1, dtype=np.float64))
    filled = xp.full(3, 9.0)
    xp.add(a, [1, 1, 1], out=filled, where=[True, False, True])
    same(filled, [4.0, 9.0, 3.0])
    with pytest.raises(TypeError, match="no-such"):
        xp.add(a, 1, **{"no-such": 1})
    with pytest.raises(TypeError, match="casting"):
        xp.add(a, 1.5, out=xp.zeros(3, dtype=np.int32))


def test_wrong_operands_are_refused():
    a = xp.asarray(HOST)
    for call in (lambda: xp.sin(), lambda: xp.add(a), lambda: xp.sin(a, a, a), lambda: xp.sin(a, a, out=a)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        xp.sin("text")
    with pytest.raises(TypeError, match="out="):
        xp.sin(a, out=np.zeros(3))
    with pytest.raises(TypeError, match="GPUArray"):
        xp.add.at(HOST, [0], 1)
    with pytest.raises(ValueError, match="broadcast"):
        xp.add([1, 2], [1, 2, 3])


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "logical_or", "subtract"])
def test_methods_of_ufuncs(name):
    ours, theirs = getattr(xp, name), getattr(np, name)
    host = np.array([[1.0, 2, 3], [4, 5, 6]])
    for given in (host, host.tolist(), xp.asarray(host)):
        same(ours.reduce(given), theirs.reduce(host))
        same(ours.reduce(given, 1, keepdims=True), theirs.reduce(host, 1, keepdims=True))
        same(ours.accumulate(given, 1), theirs.accumulate(host, 1))
        same(ours.reduceat(given, [0, 1], 1), theirs.reduceat(host, [0, 1], 1))
        same(ours.outer(given, [1, 2]), theirs.outer(host, [1, 2]))
    out = xp.zeros(3, dtype=theirs.reduce(host).dtype)
    assert ours.reduce(host, out=out) is out
    same(out, theirs.reduce(host))


def test_at():
    a = xp.asarray(HOST)
    assert xp.add.at(a, [0, 0, 1], [1, 2, 3]) is None
    same(a, np.array([6, 4, 2], np.float32))


@pytest.mark.parametrize("name", sorted(name for name in dir(xp) if isinstance(getattr(xp, name), xp.ufunc)))
def test_attributes_of_ufuncs(name):
    ours, theirs = getattr(xp, name), getattr(np, name)
    for attribute in ("nin", "nout", "nargs", "identity", "signature", "__name__"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert ours.types and {*ours.types} <= {*theirs.types} and ours.ntypes == len(ours.types)
    assert not {"g", "G", "O"} & {*"".join(ours.types)}
    assert repr(ours) == f"<ufunc pycuda.numpy.{theirs.__name__}>"


def test_products_of_matrices():
    host = np.arange(6.0).reshape(2, 3)
    same(xp.matmul(host, host.T.tolist()), host @ host.T)
    same(xp.vecdot(host, [1, 2, 3]), host @ [1, 2, 3])
    a = xp.asarray(host)
    same(xp.matmul(a, a, axes=[(0, 1), (1, 0), (0, 1)]), host @ host.T)


def test_the_current_stream_is_that_of_the_call():
    stream = drv.Stream()
    with stream:
        result = xp.multiply(xp.sin([1.0, 2.0]), [2.0, 3.0])
    stream.synchronize()
    np.testing.assert_allclose(result.get(), np.sin([1.0, 2.0]) * [2, 3], rtol=1e-15)
