"""Contexts and arrays of two devices, for functions of tests that run in a process with two."""

import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray

FIRST, SECOND = (drv.Device(number).retain_primary_context() for number in range(2))


def on(context, host):
    """A copy of the host array in memory of the context."""
    with context:
        return gpuarray.to_gpu(np.asarray(host))


def refusal(call, *args, **kwargs):
    """The message of the ValueError that the call raises; it must leave both contexts as they were."""
    try:
        call(*args, **kwargs)
    except ValueError as error:
        message = str(error)
    else:
        raise AssertionError("no ValueError")
    for context in FIRST, SECOND:
        with context:
            context.synchronize()
    return message


def assert_refused(call, *args, **kwargs):
    """The call raises a ValueError that names both devices and what to do."""
    message = refusal(call, *args, **kwargs)
    assert "on device 0" in message and "on device 1" in message and "to_device(" in message, message
