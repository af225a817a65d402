"""host.queue(): functions of NumPy in the order of a stream, on the CPU device, whose memory is the
host's."""

import sys
import time

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._libraries import host

pytestmark = pytest.mark.cpu("the memory of a GPU is not the host's")


def add(a, b, out, *more):
    """Queued functions get the inputs, the outputs and further arguments."""
    np.add(a, b, out=out)
    for each in more:
        out += each


def slow_add(a, b, out):
    """Ends so late that work which does not wait for it would get other numbers."""
    time.sleep(0.05)
    np.add(a, b, out=out)


@pytest.mark.parametrize("is_default", [True, False])
def test_in_the_order_of_the_stream(is_default):
    stream = None if is_default else drv.Stream()
    a = gpuarray.to_gpu(np.arange(6.0))
    out = gpuarray.zeros(6, float)
    for _ in range(3):
        host.queue(slow_add, (a, out), (out,), stream=stream)
        host.queue(add, (a, out), (out,), 1, 2, stream=stream)
    result = out.get() if is_default else out.get_async(stream)
    if stream is not None:
        stream.synchronize()
    assert (result == 6 * np.arange(6.0) + 9).all()  # each round added a twice, and 1 + 2


def test_the_current_stream_is_used():
    stream, out = drv.Stream(), gpuarray.zeros(3, int)
    with stream:
        host.queue(slow_add, (out + 1, out), (out,))
        assert not stream.is_done()
    stream.synchronize()
    assert (out.get() == 1).all()


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "f4", "f8", "c8", "c16", "u8"])
def test_dtypes_and_strides(dtype):
    values = (np.arange(24).reshape(4, 6) % 2).astype(dtype)
    a, out = gpuarray.to_gpu(values), gpuarray.zeros((6, 8), dtype)
    host.queue(add, (a.T[::-1], a.T), (out[:, ::-2],))
    want = np.zeros((6, 8), dtype)
    want[:, ::-2] = values.T[::-1] + values.T
    assert (out.get() == want).all()


def test_parts_of_complex_arrays():
    values = np.arange(6) * (1 + 2j)
    a, out = gpuarray.to_gpu(values), gpuarray.zeros(6, complex)
    host.queue(add, (np.real(a), np.imag(a)), (np.imag(out),))
    assert (out.get() == 1j * (values.real + values.imag)).all()


def test_empty_arrays():
    empty = gpuarray.zeros((0, 3), float)
    host.queue(add, (empty, empty), (empty,))
    drv.Context.synchronize()


def test_arrays_live_until_the_function_has_run():
    out = gpuarray.zeros(1000, float)
    for number in range(20):
        host.queue(slow_add if number < 2 else add, (gpuarray.zeros(1000, float) + number, out), (out,))
    assert (out.get() == sum(range(20))).all()


def test_captured_functions():
    stream, a, out = drv.Stream(), gpuarray.to_gpu(np.ones(4)), gpuarray.zeros(4, float)
    with stream.capture() as graph:
        host.queue(add, (a, out), (out,), stream=stream)
    run = graph.instantiate()
    del graph, a
    for _ in range(3):
        run.launch(stream)
    stream.synchronize()
    assert (out.get() == 3).all()


def test_an_exception_is_reported_and_outputs_become_nan(monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: raised.append(report.exc_type))
    out = gpuarray.zeros(3, float)
    host.queue(lambda out: 1 // 0, (), (out,))
    assert np.isnan(out.get()).all() and raised == [ZeroDivisionError]


def test_outputs_count_as_initialized(run_python):
    """The checker of uninitialized memory knows that the host function wrote them."""
    program = """
import numpy as np, pycuda.autoinit
from pycuda import gpuarray
from pycuda._libraries import host
a, out = gpuarray.to_gpu(np.ones(5)), gpuarray.empty(5, float)
host.queue(lambda a, out: np.copyto(out, a), (a,), (out,))
assert ((out + 1).get() == 2).all()
"""
    run_python(program, env={"PYCUDA_CPU_CHECK": "initcheck"}, check=True)
