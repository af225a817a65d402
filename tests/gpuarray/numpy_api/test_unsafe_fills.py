"""np.full, np.full_like and ufuncs with casting="unsafe" convert values as NumPy, with the same warnings and
errors."""

import warnings

import numpy as np
import pytest

from pycuda import gpuarray

VALUES = 1j, np.complex64(2 + 1j), 300.0, np.nan, 1e300, 1.5, True, np.array(1 + 2j), [1, 2, 3j], 2**70


def outcome(call):
    """(text of the result, classes of the warnings) of a call, or (class of its exception, None)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as problem:
            return type(problem), None
    result = result if isinstance(result, np.ndarray) else result.get()
    return repr(result), {each.category for each in caught}


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f2", "f4", "c8"])
def test_fill_values(primary_context, dtype):
    host = np.zeros(3, dtype)
    array = gpuarray.to_gpu(host)
    for value in VALUES:
        assert outcome(lambda v=value: np.full_like(array, v)) == outcome(
            lambda v=value: np.full_like(host, v)
        )
        ours = outcome(lambda v=value: np.full((3,), v, dtype, like=array))
        assert ours == outcome(lambda v=value: np.full((3,), v, dtype))


@pytest.mark.parametrize("dtype", ["?", "f4", "c16"])
def test_complex_rint_into_others(primary_context, dtype):
    host = np.array([1 + 2j, 0.4 + 0j, 0.2 + 0.7j, 2.5 - 1.5j], "c8")
    array = gpuarray.to_gpu(host)
    ours = outcome(lambda: np.rint(array, out=gpuarray.zeros(4, dtype), casting="unsafe"))
    assert ours == outcome(lambda: np.rint(host, out=np.zeros(4, dtype), casting="unsafe"))
