"""_repr_html_(), the HTML of an array in notebooks."""

import html

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

ARRAYS = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "number": np.array(3, np.int16),
    "empty": np.zeros((0, 3)),
    "large": np.arange(5000).reshape(50, 100),
    "fields": np.array([(1, 2)], [("a<b", "f4"), ("c&d", "i4")]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_shape_dtype_device_and_text_are_shown(primary_context, name):
    """Special characters of HTML are escaped."""
    host = ARRAYS[name]
    text = gpuarray.to_gpu(host)._repr_html_()
    for shown in (str(host.shape), str(host.dtype), drv.Context.get_device().name()):
        assert f"<td>{html.escape(shown)}</td>" in text or f": {html.escape(shown)}</td>" in text
    assert f"<pre>{html.escape(str(host))}</pre>" in text
    assert "a<b" not in text and "c&d" not in text


def test_print_options(primary_context):
    array = gpuarray.to_gpu(np.linspace(0, 1, 7))
    with np.printoptions(precision=2, threshold=3, edgeitems=1):
        assert f"<pre>{np.linspace(0, 1, 7)}</pre>" in array._repr_html_()


def test_freed_memory(primary_context):
    array = gpuarray.zeros((2, 5), np.float32)
    array.gpudata.free()
    text = array._repr_html_()
    assert "(2, 5)" in text and "float32" in text and "was freed" in text


def test_arrays_of_a_lost_context(run_python):
    """The context was detached, or a kernel of it had a fault: shape and dtype are shown, the elements are
    not."""
    done = run_python(
        """
import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

drv.init()
for fault in False, True:
    context = drv.Device(0).make_context()
    array = gpuarray.zeros(7, np.float32)
    if fault:
        SourceModule('__global__ void f() { asm("trap;"); }').get_function("f")(block=(1, 1, 1))
        try:
            drv.Context.synchronize()
        except drv.Error:
            pass
    else:
        context.detach()
    text = array._repr_html_()
    print("(7,)" in text, "float32" in text, "<pre>not available: " in text)
    if fault:
        context.detach()
"""
    )
    assert done.stdout.splitlines() == ["True True True"] * 2, done.stderr
