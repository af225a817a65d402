"""Calls of pycuda.numpy and the same of NumPy: values, dtypes and shapes, or that both raise."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import pycuda.numpy as xp
from pycuda import gpuarray

# One of each kind: each dtype needs kernels of its own.
DTYPES = ["bool", "int8", "uint16", "float32", "complex64"]
# This NumPy lacks functions or parameters, or raises for empty matrices.
OLDER = np.lib.NumpyVersion(np.__version__) < "2.3.0"
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def arrays(dtypes=DTYPES, min_dims=0, max_dims=3, longest=4):
    """Arrays of small numbers, of which some are equal; axes may be of length 0."""
    shapes = st.lists(st.integers(0, longest), min_size=min_dims, max_size=max_dims)
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
    """GPUArrays in the place of NumPy's arrays."""
    if isinstance(value, np.ndarray):
        return xp.asarray(value)
    if isinstance(value, list | tuple):
        return type(value)(map(on_device, value))
    return value


def same(got, want, rtol=0.0):
    """Our result is a GPUArray with the shape, dtype and values of NumPy's array or number, or a sequence of
    as many such."""
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
    """The attribute "a.b" of a module."""
    for part in name.split("."):
        module = getattr(module, part)
    return module


def check(name, *args, rtol=0.0, **kwargs):
    """pycuda.numpy's function of that name gives what NumPy's gives (same()); where NumPy's raises, it raises
    that, or a TypeError, ValueError, IndexError."""
    function = find(xp, name)
    try:
        with np.errstate(all="ignore"):
            want = find(np, name)(*args, **kwargs)
    except Exception as problem:
        allowed = (type(problem), ValueError, TypeError, IndexError)
        try:
            function(*map(on_device, args), **{key: on_device(each) for key, each in kwargs.items()})
        except allowed:
            return
        if OLDER:
            return
        raise AssertionError(f"{name} does not raise, NumPy's does: {problem!r}") from problem
    same(
        function(*map(on_device, args), **{key: on_device(each) for key, each in kwargs.items()}), want, rtol
    )
