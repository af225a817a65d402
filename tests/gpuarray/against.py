"""Calls on GPUArrays compared with the same on NumPy's arrays: results, or the kinds of errors."""

import operator

import numpy as np

from pycuda import gpuarray

NUMPY = np.lib.NumpyVersion(np.__version__)


def compare(got, want, rtol=0.0, atol=0.0):
    """Asserts that our result equals NumPy's. Where `want` is an array or a scalar of NumPy, `got` is a
    GPUArray or a scalar of NumPy with its shape, dtype and values (of floats within the tolerances); tuples
    and lists are compared by element; any other result has the same type and is equal."""
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
    """Asserts that our result shares memory with an operand only if NumPy's result does. 0-d results are left
    out: they may be views, where NumPy returns scalars.

    on_device, host: {name: operand}, the GPUArrays and NumPy's arrays.
    """
    if isinstance(got, tuple | list):
        for one, other in zip(got, want, strict=True):
            check_memory(one, other, on_device, host)
    elif isinstance(got, gpuarray.GPUArray) and got.ndim:
        for name, operand in on_device.items():
            may_be_view = isinstance(want, np.ndarray) and np.may_share_memory(want, host[name])
            assert may_be_view or not np.may_share_memory(got, operand), f"memory of {name} in the result"


def outcome(call, arrays):
    """The result of call(*arrays), or the exception that it raised."""
    try:
        with np.errstate(all="ignore"):
            return call(*arrays)
    except Exception as problem:
        return problem


# Arrays by the names that they have in the expressions that tests list; run() evaluates the expressions.
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
    """The result of an expression over the arrays (by name), `np` and `operator`, or the exception raised."""
    return outcome(lambda: eval(call, {"np": np, "operator": operator} | arrays), [])


def same(call, *arrays, rtol=0.0, atol=0.0):
    """Asserts that call(*arrays) has the same result (compare()) for NumPy's arrays and for GPUArrays, or
    raises the same kind of exception for both.

    arrays: arrays of NumPy, which are copied to the device, or pairs (NumPy's array, GPUArray)."""
    pairs = [
        each if isinstance(each, tuple) else (each.copy(), gpuarray.to_gpu(np.asarray(each)))
        for each in arrays
    ]
    want = outcome(call, [np.asarray(host) for host, _ in pairs])
    got = outcome(call, [on_device for _, on_device in pairs])
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"{got!r} instead of {want!r}"
        kinds = (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError)
        assert any(isinstance(got, kind) and isinstance(want, kind) for kind in kinds), (got, want)
        return
    if isinstance(got, Exception):
        raise got
    compare(got, want, rtol, atol)
