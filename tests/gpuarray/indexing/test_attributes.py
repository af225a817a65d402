"""Attributes and conversions that NumPy's arrays have: flat, flags, data, format, comparisons."""

import numpy as np
import pytest

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


def test_flat():
    host = np.arange(12.0).reshape(3, 4)
    for view in (lambda a: a, lambda a: a.T, lambda a: a[:, ::-2]):
        for index, value in ((3, 5), (slice(1, 9, 3), 7), ([0, 2], [8, 9]), (slice(0, 6), [1, 2])):
            mine, theirs = gpuarray.to_gpu(host), host.copy()
            view(mine).flat[index] = value
            view(theirs).flat[index] = value
            assert (mine.get() == theirs).all()
    mine.flat = 3
    assert (mine.get() == 3).all()
    mine.flat = gpuarray.to_gpu(np.arange(5.0))
    theirs.flat = np.arange(5.0)
    assert (mine.get() == theirs).all()
    assert [float(each) for each in mine.flat] == list(theirs.flat)


def test_attributes_of_numpys_arrays():
    array = gpuarray.to_gpu(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert array.flags["C_CONTIGUOUS"] and not array.flags["F"] and array.T.flags.fnc
    assert np.isfortran(array.T) and not np.isfortran(array)
    assert array.flags[:2] == (True, False)
    with pytest.raises(KeyError):
        array.flags["X"]
    with pytest.raises(AttributeError, match="get"):
        _ = array.data
    assert f"{array[1, 0]:.2f}" == "3.00" and format(array, "") == str(array)
    with pytest.raises(TypeError):
        format(array, ".2f")
    assert 3 in array and 7 not in array and np.float32(5) in array
    assert array.tobytes() == array.get().tobytes() and array.tobytes("F") == array.get().tobytes("F")


@pytest.mark.parametrize("other", [[1, 2], (1, 2), [[1]]])
def test_comparison_with_a_list_is_not_silently_false(other):
    array = gpuarray.to_gpu(np.array([1, 2]))
    for compare in (lambda: array == other, lambda: array != other, lambda: other == array):
        with pytest.raises(TypeError, match="to_gpu"):
            compare()
    assert (array == "text") is False and (array != None) is True  # noqa: E711
