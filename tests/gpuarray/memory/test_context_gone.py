"""Arrays whose context was destroyed are refused: the driver may have reused their addresses."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

CALLS = {
    "get": lambda array: array.get(),
    "set": lambda array: array.set(np.ones(4, np.float32)),
    "fill": lambda array: array.fill(1),
    "copy": lambda array: array.copy(),
    "add": lambda array: array + array,
    "sum": lambda array: array.sum(),
    "element": lambda array: array[1].get(),
    "part": lambda array: array[::2].get(),
    "choice": lambda array: array[array > 0],
    "assignment": lambda array: array.__setitem__(slice(1, 3), 5),
    "ptr": lambda array: array.ptr,
    "int": lambda array: int(array.gpudata),
    "memcpy_dtoh": lambda array: drv.memcpy_dtoh(np.empty(4, np.float32), array.gpudata),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_arrays_of_a_destroyed_context_are_refused(call):
    other = drv.Device(0).make_context()
    array = gpuarray.to_gpu(np.arange(4, dtype=np.float32))
    call(array)  # compiles the kernels
    other.detach()
    with pytest.raises(drv.LogicError, match="was freed with its context|context .* is gone"):
        call(array)
    np.testing.assert_array_equal((gpuarray.arange(4, dtype=np.float32) + 1).get(), [1, 2, 3, 4])
