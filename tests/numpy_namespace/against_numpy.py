"""Compares calls of pycuda.numpy with the same calls of NumPy: values, dtypes and shapes, or that both
raise."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import pycuda.numpy as xp
from pycuda import gpuarray

# One dtype of each kind, since each needs its own kernels.
DTYPES = ["bool", "int8", "uint16", "float32", "complex64"]
# Whether this NumPy lacks functions or parameters, or raises for empty matrices: then ours need not raise.
OLDER = np.lib.NumpyVersion(np.__version__) < "2.3.0"
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def arrays(dtypes=DTYPES, min_dims=0, max_dims=3, max_length=4):
    """A strategy for arrays of NumPy of small integers, some of them equal; axes may have length 0."""
    shapes = st.lists(st.integers(0, max_length), min_size=min_dims, max_size=max_dims)
    return st.builds(_array, st.sampled_from(dtypes), shapes, st.integers(0, 5))


def _array(dtype, shape, seed):
    """A host array of small integers, of any dtype; complex ones have both parts."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    low = 0 if dtype.kind in "bu" else -4
    values = rng.integers(low, 5, shape)
    if dtype.kind == "c":
        values = values + 1j * rng.integers(-2, 3, shape)
    return np.asarray(values).astype(dtype)


def on_device(value):
    """The value with copies on the device instead of NumPy's arrays, also in lists and tuples."""
    if isinstance(value, np.ndarray):
        return xp.asarray(value)
    if isinstance(value, list | tuple):
        return type(value)(map(on_device, value))
    return value


def same(got, want, rtol=0.0):
    """Asserts that our result is a GPUArray with the shape, dtype and values of NumPy's array or scalar, or a
    sequence of such results of the same length."""
    if isinstance(want, list | tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other, rtol)
        return
    want = np.asarray(want)
    assert isinstance(got, gpuarray.GPUArray)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got.get(), want, rtol=rtol, atol=rtol)


def find(module, name):
    """The attribute of a module by its name, which may have dots."""
    for part in name.split("."):
        module = getattr(module, part)
    return module


def check(name, *args, rtol=0.0, **kwargs):
    """Asserts that pycuda.numpy's function of that name has NumPy's result (same()) or, if NumPy's raises,
    that it raises the same exception or a TypeError, ValueError or IndexError."""
    ours = [on_device(each) for each in args], {key: on_device(each) for key, each in kwargs.items()}
    function = find(xp, name)
    try:
        with np.errstate(all="ignore"):
            want = find(np, name)(*args, **kwargs)
    except Exception as problem:
        allowed = (type(problem), ValueError, TypeError, IndexError)
        try:
            function(*ours[0], **ours[1])
        except allowed:
            return
        if OLDER:
            return
        raise AssertionError(f"{name} does not raise, NumPy's does: {problem!r}") from problem
    same(function(*ours[0], **ours[1]), want, rtol)
