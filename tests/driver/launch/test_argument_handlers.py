"""In, Out, InOut and users' subclasses of ArgumentHandler: what is copied, when, and in which order."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

SOURCE = """
__global__ void add(int *out, const int *a, const int *b) { int i = threadIdx.x; out[i] = a[i] + b[i]; }
__global__ void double_it(int *a) { a[threadIdx.x] *= 2; }
__global__ void slow_double(int *a, long long turns)
{
    long long x = a[threadIdx.x];
    for (long long i = 0; i < turns; i++) x = x * 3 + 1;
    // Undoes it: the factor is 1 / 3 modulo 2 to the power of 64.
    for (long long i = 0; i < turns; i++) x = (x - 1) * -6148914691236517205ll;
    a[threadIdx.x] = (int)(x * 2);
}
"""
BLOCK = dict(block=(8, 1, 1))


@pytest.fixture(scope="module")
def module():
    return SourceModule(SOURCE)


@pytest.fixture
def data():
    return np.arange(8, dtype=np.int32)


def test_in_and_out(module, data):
    out = np.zeros(8, np.int32)
    module.get_function("add")(drv.Out(out), drv.In(data), drv.In(data * 10), **BLOCK)
    assert out.tolist() == (data * 11).tolist()
    assert data.tolist() == list(range(8))


def test_in_does_not_copy_back(module, data):
    module.get_function("double_it")(drv.In(data), **BLOCK)
    drv.Context.synchronize()
    assert data.tolist() == list(range(8))


def test_in_out(module, data):
    module.get_function("double_it")(drv.InOut(data), **BLOCK)
    assert data.tolist() == list(range(0, 16, 2))


@pytest.mark.parametrize("flags", [0, drv.stream_flags.NON_BLOCKING])
@pytest.mark.parametrize("pinned", [False, True])
def test_on_a_stream(module, flags, pinned):
    """When the call returns, the result has been copied back, and the input may change, on any kind of
    stream."""
    stream = drv.Stream(flags)
    data = drv.pagelocked_empty(8, np.int32) if pinned else np.empty(8, np.int32)
    for _ in range(5):
        data[:] = range(8)
        module.get_function("slow_double")(drv.InOut(data), np.int64(2000), stream=stream, **BLOCK)
        assert data.tolist() == list(range(0, 16, 2))


def test_input_may_change_once_the_call_has_returned(module):
    """The copy of In is delayed by a kernel in the stream, and still has the values from before the
    change."""
    stream, out = drv.Stream(drv.stream_flags.NON_BLOCKING), drv.to_device(np.zeros(8, np.int32))
    data, zero = drv.pagelocked_empty(8, np.int32), np.zeros(8, np.int32)
    data[:] = 5
    delay = drv.to_device(zero)
    module.get_function("slow_double")(delay, np.int64(20000), stream=stream, **BLOCK)
    handler = drv.In(data)
    module.get_function("add")(out, handler, drv.In(zero), stream=stream, **BLOCK)
    data[:] = 99
    stream.synchronize()
    assert drv.from_device(out, 8, np.int32).tolist() == [5] * 8


def test_time_kernel_with_handlers(module, data):
    seconds = module.get_function("double_it")(drv.InOut(data), time_kernel=True, **BLOCK)
    assert seconds >= 0 and data[3] == 6


def test_a_handler_allocates_once_and_keeps_the_memory(module, data):
    handler = drv.InOut(data)
    assert handler.array is data and handler.dev_alloc is None
    module.get_function("double_it")(handler, **BLOCK)
    memory = handler.dev_alloc
    assert isinstance(memory, drv.DeviceAllocation) and handler.get_device_alloc() is memory
    module.get_function("double_it")(handler, **BLOCK)
    assert handler.dev_alloc is memory and data.tolist() == list(range(0, 32, 4))


def test_arrays_in_fortran_order(module):
    data = np.asfortranarray(np.arange(8, dtype=np.int32).reshape(2, 4))
    expected = data * 2
    module.get_function("double_it")(drv.InOut(data), **BLOCK)
    assert (data == expected).all()


def test_order_of_calls(module, data):
    """get_device_alloc of all handlers, pre_call of all, the kernel, post_call of all."""
    events = []

    class Watching(drv.InOut):
        def get_device_alloc(self):
            events.append("alloc " + self.name)
            return super().get_device_alloc()

        def pre_call(self, stream):
            events.append(f"pre {self.name} {stream}")
            super().pre_call(stream)

        def post_call(self, stream):
            events.append(f"post {self.name} {stream}")
            super().post_call(stream)

    handlers = [Watching(data.copy()) for _ in range(3)]
    for handler, name in zip(handlers, "xyz", strict=True):
        handler.name = name
    module.get_function("add")(*handlers, **BLOCK)
    order = [line for line in events if not line.startswith("alloc")]
    assert events[:3] == ["alloc x", "alloc y", "alloc z"]
    assert order == [f"{when} {name} None" for when in ("pre", "post") for name in "xyz"]
    assert handlers[0].array.tolist() == (data * 2).tolist()


def test_handler_of_a_user(module, data):
    class Doubled(drv.ArgumentHandler):
        """Uploads twice the array; has no post_call."""

        def pre_call(self, stream):
            drv.memcpy_htod(self.get_device_alloc(), self.array * 2)

    out = np.zeros(8, np.int32)
    module.get_function("add")(drv.Out(out), Doubled(data), drv.In(data), **BLOCK)
    assert out.tolist() == (data * 3).tolist()


@pytest.mark.parametrize("where", ["get_device_alloc", "pre_call", "post_call"])
def test_handler_that_raises(module, data, where):
    def fail(*args):
        raise ZeroDivisionError(where)

    handler = type("Failing", (drv.InOut,), {where: fail})(data)
    with pytest.raises(ZeroDivisionError, match=where):
        module.get_function("double_it")(handler, **BLOCK)
    module.get_function("double_it")(drv.InOut(data), **BLOCK)


def test_empty_array():
    """It has no device memory: the kernel gets a null pointer."""
    handler = drv.InOut(np.zeros(0, np.int32))
    assert handler.get_device_alloc() is None
    handler.pre_call(None)
    handler.post_call(None)


@pytest.mark.parametrize("kind", [drv.In, drv.Out, drv.InOut])
def test_strided_array(module, data, kind):
    with pytest.raises((ValueError, BufferError), match="contiguous"):
        module.get_function("double_it")(kind(np.zeros((8, 2), np.int32)[:, 0]), **BLOCK)


def test_read_only_array(module, data):
    data.flags.writeable = False
    module.get_function("double_it")(drv.In(data), **BLOCK)
    for kind in (drv.Out, drv.InOut):
        with pytest.raises((ValueError, BufferError, TypeError)):
            module.get_function("double_it")(kind(data), **BLOCK)


@pytest.mark.parametrize("value", [5, None, [1, 2], "text"])
def test_values_without_nbytes(module, value):
    with pytest.raises(TypeError, match="nbytes"):
        module.get_function("double_it")(drv.In(value), **BLOCK)


def test_classes_of_handlers():
    assert issubclass(drv.In, drv.ArgumentHandler) and issubclass(drv.InOut, drv.ArgumentHandler)
    assert hasattr(drv.Out, "post_call") and not hasattr(drv.In, "post_call")
    with pytest.raises(TypeError):
        drv.In()
