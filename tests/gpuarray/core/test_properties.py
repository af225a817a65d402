"""Operations with random strides, dtypes, outputs and scalars: values, dtypes and errors are NumPy's."""

import numpy as np
import pytest
from drawing import axes_of, layouts, numbers, shapes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pycuda.gpuarray as gpuarray

pytestmark = [
    pytest.mark.usefixtures("primary_context"),
    pytest.mark.filterwarnings("ignore"),  # NumPy's, about overflow and means of nothing
]
DRAWN = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
DTYPES = [np.dtype(code) for code in "?bHiqefdFD"]
# Few operations: for each combination of an operation and dtypes a kernel is compiled.
ARITHMETIC = [np.add, np.multiply, np.maximum]  # results have the operands' dtype
OPERATIONS = [*ARITHMETIC, np.less]
PYTHON_NUMBERS = [2, 1.5, True]  # an array of the other operand's kind keeps its dtype
NUMBERS = [*PYTHON_NUMBERS, np.float32(3), np.int8(-2), np.float64(0.5)]
REDUCTIONS = ["sum", "max", "mean", "any", "std"]


def outcome(function, *arguments, **keywords):
    """(result, None), or (None, TypeError, OverflowError or ValueError) if the call raised one."""
    with np.errstate(all="ignore"):
        try:
            return function(*arguments, **keywords), None
        except (TypeError, ValueError, OverflowError) as error:
            kinds = TypeError, OverflowError, ValueError
            return None, next(kind for kind in kinds if isinstance(error, kind))


def check(got, expected, tolerance):
    """Asserts that a GPUArray has the shape, the dtype and, within the tolerance, the values of
    `expected`."""
    got, expected = got.get(), np.asarray(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def tolerance_of(*dtypes):
    """The tolerance for the dtype of the lowest precision."""
    return max({"e": 2e-2, "f": 1e-4, "F": 1e-4}.get(dtype.char, 1e-9) for dtype in dtypes)


@st.composite
def windows(draw, shape, host, device):
    """The same random part of two arrays, as (view of host, view of device): of this shape, with steps of 1
    or 2 in either direction. Each axis of host and device has 2 * length + 2 elements for `length` of the
    shape."""
    index = []
    for length in shape:
        step = draw(st.sampled_from([1, 2, -1, -2]))
        span = (length - 1) * abs(step) + 1
        first = draw(st.integers(0, 2 * length + 2 - span))
        part = range(first, first + span, abs(step))
        part = part if step > 0 else part[::-1]
        index.append(slice(part.start, part.stop if part.stop >= 0 else None, part.step))
    return host[tuple(index)], device[tuple(index)]


@given(st.data())
@DRAWN
def test_operands_and_out_of_one_array(data):
    """However operands and out overlap, the operation reads the values from before it wrote any."""
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    dtype = data.draw(st.sampled_from([np.dtype(code) for code in "bifF"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    host = numbers(rng, tuple(2 * length + 2 for length in shape), dtype)
    device = gpuarray.to_gpu(host)
    (x, a), (y, b), (host_out, out) = (data.draw(windows(shape, host, device)) for _ in range(3))
    if data.draw(st.booleans()):
        y = b = data.draw(st.sampled_from(PYTHON_NUMBERS))
    operation = data.draw(st.sampled_from(ARITHMETIC))
    _, numpys_error = outcome(operation, x, y, out=host_out)
    result, error = outcome(operation, a, b, out=out)
    assert error == numpys_error and (error or result is out)
    np.testing.assert_allclose(device.get(), host, rtol=1e-5)


@given(st.data())
@DRAWN
def test_dtypes_and_numbers(data):
    shape = data.draw(shapes(max_ndim=3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    operation = data.draw(st.sampled_from(OPERATIONS))
    first, second = (data.draw(st.sampled_from(DTYPES)) for _ in range(2))
    x, a = data.draw(layouts(np.asarray(numbers(rng, shape, first))))
    if data.draw(st.booleans()):
        y = b = data.draw(st.sampled_from(NUMBERS))
    else:
        narrow = tuple(1 if data.draw(st.booleans()) else length for length in x.shape)
        y = np.asarray(numbers(rng, narrow[data.draw(st.integers(0, len(narrow))) :], second))
        b = gpuarray.to_gpu(y)
    expected, error = outcome(operation, x, y)
    got, ours = outcome(operation, a, b)
    assert ours == error
    if error is None:
        check(got, expected, tolerance_of(first, np.asarray(expected).dtype))


@given(st.data())
@DRAWN
def test_reductions_of_drawn_arrays(data):
    """Reductions by axis=, keepdims=, dtype= and out= give NumPy's results and NumPy's errors."""
    shape = data.draw(shapes(max_ndim=4))
    name, dtype = data.draw(st.sampled_from(REDUCTIONS)), data.draw(st.sampled_from(DTYPES))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, a = data.draw(layouts(np.asarray(numbers(rng, shape, dtype))))
    asked = {"axis": data.draw(axes_of(x.ndim)), "keepdims": data.draw(st.booleans())}
    if name in ("sum", "mean") and data.draw(st.booleans()):
        asked["dtype"] = data.draw(st.sampled_from([np.dtype("f"), np.dtype("D")]))
    expected, error = outcome(getattr(x, name), **asked)
    got, ours = outcome(getattr(a, name), **asked)
    assert ours == error
    if error is not None:
        return
    # NumPy sums squares of halves as halves, which a few thousand of them exceed.
    of_halves = x.astype("f").std(**asked) if name == "std" and dtype == np.float16 else None
    expected = np.asarray(expected if of_halves is None else of_halves.astype(dtype))
    tolerance = tolerance_of(dtype, expected.dtype) * max(1, x.size**0.5)
    check(got, expected, tolerance)
    wanted = data.draw(st.sampled_from([expected.dtype, np.dtype("d")]))
    out = gpuarray.zeros(expected.shape, wanted)
    written, error = outcome(getattr(x, name), **asked, out=np.zeros(expected.shape, wanted))
    result, ours = outcome(getattr(a, name), **asked, out=out)
    assert ours == error and (error or result is out)
    if error is None:
        check(out, written if of_halves is None else of_halves.astype(wanted), tolerance)
