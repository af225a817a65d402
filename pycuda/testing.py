"""For tests of programs that use pycuda: comparisons, tests on each device, a check for leaked objects.

::

    from pycuda.testing import assert_allclose, no_leaks, parametrize_devices

`no_leaks` is a fixture of pytest: in conftest.py the import is enough.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
import time

import numpy as np

import pycuda.driver as drv


def _on_host(value):
    """A GPUArray, and arrays of other libraries on the device, as NumPy arrays; the rest as it is."""
    from pycuda import gpuarray

    if isinstance(value, list | tuple):
        return [_on_host(item) for item in value]
    if isinstance(value, gpuarray.GPUArray):
        return value.get()
    if hasattr(value, "__cuda_array_interface__"):
        return drv._driver._views((value,))[0].get()
    return value


def assert_allclose(actual, desired, rtol=1e-7, atol=0, **options) -> None:
    """numpy.testing.assert_allclose for arrays on the device or on the host.

    Parameters
    ----------
    actual, desired : array-like
        GPUArrays, arrays with ``__cuda_array_interface__``, what NumPy takes, or lists of those.
    rtol, atol : float
        Relative and absolute tolerance.
    **options
        As NumPy has them.

    Raises
    ------
    AssertionError
    """
    __tracebackhide__ = True
    np.testing.assert_allclose(_on_host(actual), _on_host(desired), rtol=rtol, atol=atol, **options)


def assert_array_equal(actual, desired, **options) -> None:
    """numpy.testing.assert_array_equal for arrays on the device or on the host.

    Parameters
    ----------
    actual, desired : array-like
    **options
        As NumPy has them.

    Raises
    ------
    AssertionError
    """
    __tracebackhide__ = True
    np.testing.assert_array_equal(_on_host(actual), _on_host(desired), **options)


def parametrize_devices(function=None):
    """Run a test once on each device, with the device's primary context current.

    Parameters
    ----------
    function : callable
        The test. It may have a parameter ``device``, which is a Device then. Left out, as in
        ``@parametrize_devices()``, the result is the decorator.

    Returns
    -------
    callable
        The tests are named device0, device1 and so on.
    """
    import pytest

    if function is None:
        return parametrize_devices
    drv.init()
    parameters = list(inspect.signature(function).parameters.values())
    wanted = any(parameter.name == "device" for parameter in parameters)

    @functools.wraps(function)
    def test(*args, device, **kwargs):
        context = device.retain_primary_context()
        context.push()
        try:
            return function(*args, **({"device": device} if wanted else {}), **kwargs)
        finally:
            drv.Context.pop()

    if not wanted:
        parameters.append(inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY))
    test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    devices = [drv.Device(number) for number in range(drv.Device.count())]
    names = [f"device{number}" for number in range(len(devices))]
    return pytest.mark.parametrize("device", devices, ids=names)(test)


def live_objects() -> dict[str, int]:
    """How many objects there are that own something of the driver's.

    Returns
    -------
    dict of str to int
        By type, those of which there are some.
    """
    return {name: count for name, count in drv._live_objects().items() if count}


def _no_leaks(request):
    """No test ends with driver objects that it did not start with. Collecting garbage takes longer than most
    tests do, so it is done only where there are some that no cache held, and of young objects first.
    """
    from pycuda.tools import clear_context_caches

    before = live_objects()
    yield
    request.node.funcargs.clear()  # pytest holds the values of finished fixtures there
    young, old = functools.partial(gc.collect, 1), functools.partial(_collect_all, before)
    for clean in _wait, clear_context_caches, young, old:
        if _count_new_objects(before):
            clean()
    end = time.monotonic() + 1  # a thread of the driver releases what graphs of other libraries used
    while _count_new_objects(before) and time.monotonic() < end:
        time.sleep(0.01)
    left = _count_new_objects(before)
    # Of a test that failed pytest keeps the exception there, and with it what the test had.
    if left and getattr(sys, "last_value", None) is None:
        raise AssertionError(f"leaked objects: {left}")


def _wait() -> None:
    """Wait for the work of the primary context, after which the objects that it uses are released."""
    context = drv.Device(0).retain_primary_context()
    context.push()
    try:
        context.synchronize()
    except drv.Error:
        pass
    finally:
        drv.Context.pop()


def _collect_all(before):
    """Collect garbage as long as that ends new objects. Once is enough with the GIL. A free-threaded CPython
    leaves an object to the thread that made it, or to a collection if that thread does nothing; and what the
    object held, to the next collection.
    """
    left = None
    while left != (left := _count_new_objects(before)):
        gc.collect()


def _count_new_objects(before):
    """The number of new objects by type. The primary context is not counted: it stays with the thread."""
    now = live_objects()
    now.pop("Context", None)
    return {name: n - before.get(name, 0) for name, n in now.items() if n > before.get(name, 0)}


def __getattr__(name):
    """The fixture is made when it is requested, so that pytest is needed only then."""
    if name != "no_leaks":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pytest

    fixture = pytest.fixture(autouse=True)(_no_leaks)
    globals()[name] = fixture
    return fixture
