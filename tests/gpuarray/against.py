"""Calls on GPUArrays compared with the same on NumPy's arrays: results, or the kinds of errors."""

import operator

import numpy as np

from pycuda import gpuarray

NUMPY = np.lib.NumpyVersion(np.__version__)


def compare(got, want, rtol=0.0, atol=0.0):
    """Our result is NumPy's: a GPUArray (or a number of NumPy) of the same shape, dtype and values for an
    array of NumPy or its number; a sequence of such; all else is equal and of the same type."""
    if isinstance(want, np.ndarray | np.generic) and not isinstance(got, np.generic):
        assert isinstance(got, gpuarray.GPUArray), f"{type(got)} for {type(want)}"
        want = np.asarray(want)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        found = got.get()
        if want.dtype.kind in "fc":
            np.testing.assert_allclose(found, want, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(found, want)
    elif isinstance(want, tuple | list):
        assert type(got) is type(want) and len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            compare(one, other, rtol, atol)
    elif isinstance(got, gpuarray.GPUArray):
        compare(got, np.asarray(want), rtol, atol)
    else:
        assert type(got) is type(want) and got == want


def check_memory(got, want, on_device, host):
    """What is no view in NumPy shares no memory with an operand. Our results without axes may be views, where
    NumPy has numbers.

    on_device, host: {name: operand} of ours and of NumPy.
    """
    if isinstance(got, tuple | list):
        for one, other in zip(got, want, strict=True):
            check_memory(one, other, on_device, host)
    elif isinstance(got, gpuarray.GPUArray) and got.ndim:
        for name, operand in on_device.items():
            views = isinstance(want, np.ndarray) and np.may_share_memory(want, host[name])
            assert views or not np.may_share_memory(got, operand), f"memory of {name} in the result"


def outcome(call, arrays):
    """What a call gives, or the error that it raises."""
    try:
        with np.errstate(all="ignore"):
            return call(*arrays)
    except Exception as problem:
        return problem


# Arrays that the expressions of tests' tables name; run() evaluates these.
HOST = {
    "f": np.array([3, 1, 2, 5], np.float32),
    "d": np.array([1, 2, 0.5, 4]),
    "h": np.array([1, 2, 0.5, 4], np.float16),
    "i": np.array([3, 0, 2, 1]),
    "t": np.array([True, False, True, True]),
    "u": np.array([1, 2, 3, 4], np.uint8),
    "m": np.array([[3, 1, 2, 5], [0.5, 4, -1, 2], [7, -3, 1, 0]], np.float32),
    "n": np.array([1, np.nan, 3, 0.5]),
    "s": np.array([1, 2, np.inf, 4, np.nan, 6]),
    "c": np.array([1 - 0j, complex(np.nan, -0.0), complex(-0.0, np.inf), 2]),
    "z": np.array(2.5, np.float32),
}


def run(call, arrays):
    """What an expression gives with arrays for its names, or the error that it raises."""
    return outcome(lambda: eval(call, {"np": np, "operator": operator} | arrays), [])


def same(call, *arrays, rtol=0.0, atol=0.0):
    """call(*arrays) has one result (compare()) with NumPy's arrays and with GPUArrays, or raises with both.

    arrays: arrays of NumPy, which are copied to the device, or pairs (NumPy's array, GPUArray)."""
    pairs = [
        each if isinstance(each, tuple) else (each.copy(), gpuarray.to_gpu(np.asarray(each)))
        for each in arrays
    ]
    want = outcome(call, [np.asarray(host) for host, _ in pairs])
    got = outcome(call, [on_device for _, on_device in pairs])
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"{got!r} in place of {want!r}"
        kinds = (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError)
        assert any(isinstance(got, kind) and isinstance(want, kind) for kind in kinds), (got, want)
        return
    if isinstance(got, Exception):
        raise got
    compare(got, want, rtol, atol)
