"""get_global of elementwise, reduction and scan kernels: the variables are those that calls use."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel

pytestmark = pytest.mark.usefixtures("primary_context", "fresh_caches")

LONG = 1 << 17  # where elementwise kernels without variables would have another module
PREAMBLE = "__constant__ int added; __device__ int count;"


def elementwise(preamble=PREAMBLE, **arguments):
    return ElementwiseKernel("int *x", "x[i] += added", "add", preamble=preamble, **arguments)


def reduction(preamble=PREAMBLE, **arguments):
    return ReductionKernel(
        np.int32, "0", "a+b", "x[i] + added", "int *x", "add_up", preamble=preamble, **arguments
    )


def scan(preamble=PREAMBLE, **arguments):
    """A scan whose element k is the sum of k + 1 elements and k times the variable."""
    return InclusiveScanKernel(np.int32, "a + b + added", preamble=preamble, **arguments)


def results(kernel, size, **arguments):
    """What a call gives for ones."""
    x = gpuarray.ones(size, np.int32)
    result = kernel(x, **arguments)
    return (x if result is None else result).get().tolist()


def expected(make, size, value):
    if make is elementwise:
        return [1 + value] * size
    if make is reduction:
        return size * (1 + value)
    return [k + 1 + k * value for k in range(size)]


def set_variable(kernel, value, name="added", **arguments):
    address, size = kernel.get_global(name, **arguments)
    assert size == 4
    drv.memcpy_htod(address, np.int32(value))


makers = pytest.mark.parametrize("make", [elementwise, reduction, scan])


@makers
@pytest.mark.parametrize("size", [1, 1000, LONG])
def test_calls_use_the_variable(make, size):
    kernel = make()
    for value in (7, -3):
        set_variable(kernel, value)
        assert results(kernel, size) == expected(make, size, value)


@makers
def test_the_same_variable_at_every_look_up_after_calls_too(make):
    kernel = make()
    set_variable(kernel, 5)
    first = kernel.get_global("added")
    assert results(kernel, 10) == expected(make, 10, 5)
    assert kernel.get_global("added") == first != kernel.get_global("count")


@makers
def test_each_kernel_has_its_own(make):
    one, other = make(), make()
    set_variable(one, 1)
    set_variable(other, 2)
    assert results(one, 3) == expected(make, 3, 1) and results(other, 3) == expected(make, 3, 2)


@makers
def test_each_context_has_its_own(make):
    kernel = make()
    set_variable(kernel, 5)
    other = drv.Device(0).make_context()
    try:
        set_variable(kernel, 6)
        assert results(kernel, 5) == expected(make, 5, 6)
    finally:
        other.pop()
        other.detach()
    assert results(kernel, 5) == expected(make, 5, 5)


@makers
def test_unknown_name(make):
    kernel = make()
    with pytest.raises(drv.LogicError, match="the module's variables are: added, count"):
        kernel.get_global("nowhere")


@makers
def test_variable_of_a_header(make, tmp_path):
    """The text does not show it; calls before and after the look-up."""
    (tmp_path / "added.h").write_text("__constant__ int added;\n")
    kernel = make('#include "added.h"\n', options=[f"-I{tmp_path}"])
    for value in (4, 5):
        for size in (10, LONG):
            before = results(kernel, size)
            assert value == 5 or before == expected(make, size, 0)
        set_variable(kernel, value)
        for size in (10, LONG):
            assert results(kernel, size) == expected(make, size, value)


@pytest.mark.parametrize("make", [elementwise, reduction])
def test_calls_with_a_range_have_their_own(make):
    kernel = make()
    set_variable(kernel, 1)
    set_variable(kernel, 10, use_range=True)
    assert kernel.get_global("added") != kernel.get_global("added", use_range=True)
    chosen = results(kernel, 4, slice=slice(1, 3))
    assert chosen == ([1, 11, 11, 1] if make is elementwise else 22)
    assert results(kernel, 4) == expected(make, 4, 1)


def test_calls_with_segments_have_their_own():
    kernel = ExclusiveScanKernel(np.int32, "a + b + added", 0, preamble=PREAMBLE)
    set_variable(kernel, 1)
    set_variable(kernel, 10, use_segments=True)
    flags = gpuarray.to_gpu(np.array([0, 0, 1, 0, 0], np.uint8))
    assert results(kernel, 5) == [0, 1, 3, 5, 7]
    assert results(kernel, 5, segments=flags) == [0, 1, 0, 1, 12]


def test_a_counter_is_read_back():
    """A __device__ variable that threads add to."""
    kernel = ElementwiseKernel("int *x", "if (x[i] > 2) atomicAdd(&count, 1)", preamble=PREAMBLE)
    set_variable(kernel, 0, "count")
    kernel(gpuarray.arange(10, dtype=np.int32))
    count = np.empty(1, np.int32)
    drv.memcpy_dtoh(count, kernel.get_global("count")[0])
    assert count[0] == 7
