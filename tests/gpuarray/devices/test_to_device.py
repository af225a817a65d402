"""GPUArray.to_device: values, layout, where the copy is, its order with other work, and what is refused."""

import contextlib
import gc
import itertools

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray


def check_values_and_layouts():
    from pairs import FIRST, SECOND, on

    import pycuda.numpy as pnp

    host = np.arange(60.0).reshape(3, 4, 5)
    record = np.zeros(4, np.dtype([("x", "i4"), ("y", "f8", 2)]))
    record["x"] = range(4)
    a = on(FIRST, host)
    with FIRST:
        arrays = [
            (a, host), (a.T, host.T), (a.transpose(1, 0, 2), host.transpose(1, 0, 2)), (a[1], host[1]),
            (a[::-1], host[::-1]), (a[:, ::2, 1:], host[:, ::2, 1:]), (a[1:2, :, ::5], host[1:2, :, ::5]),
            (a[0, 0, 0], host[0, 0, 0]), (a[:0], host[:0]), (a[:, 4:], host[:, 4:]),
            (pnp.broadcast_to(a[0, 0], (2, 5)), np.broadcast_to(host[0, 0], (2, 5))),
            (gpuarray.to_gpu(record), record), (gpuarray.to_gpu(record)["x"], record["x"]),
            (gpuarray.to_gpu((host * 1j).astype("F")), (host * 1j).astype("F")),
            (gpuarray.to_gpu(np.asfortranarray(host[0])), host[0]), (gpuarray.to_gpu(host > 30), host > 30),
        ]  # fmt: skip
    for array, values in arrays:
        with FIRST:
            there = array.to_device(1)
            assert there.device == drv.Device(1), (array.shape, array.strides)
            assert type(there) is gpuarray.GPUArray and there.dtype == values.dtype
            assert (there.get() == values).all() and there.shape == values.shape
        packed = values.copy(order="K") if values.ndim else values
        if values.size and packed.strides == values.strides:
            assert there.strides == array.strides
        with SECOND:
            again = there.copy()
            assert (again.get() == values).all() and again.flags.forc == there.flags.forc
            back = there.to_device(FIRST)
        assert back.device == drv.Device(0) and (back.get() == values).all()
        assert back is not array


def test_values_and_layouts(on_two_devices):
    on_two_devices(check_values_and_layouts)


def check_targets():
    """Numbers, devices and contexts; the result's context."""
    from pairs import FIRST, SECOND, on

    a = on(FIRST, np.arange(5.0))
    own = drv.Device(1).make_context()  # current
    there = a.to_device(1)
    assert own.handle == drv.pointer_get_attribute(drv.pointer_attribute.CONTEXT, there.gpudata)
    assert (there + 1).get()[4] == 5
    own.pop()
    with FIRST:
        for target in 1, np.int64(1), drv.Device(1), SECOND:
            there = a.to_device(target)
            context = drv.pointer_get_attribute(drv.pointer_attribute.CONTEXT, there.gpudata)
            assert context == SECOND.handle
        there = a.to_device(own)
        assert own.handle == drv.pointer_get_attribute(drv.pointer_attribute.CONTEXT, there.gpudata)
        assert there.to_device(1) is there is there.to_device(own) and there.to_device(SECOND) is not there
        assert (there.to_device(SECOND).get() == a.get()).all()
        assert a.to_device(0) is a is a.to_device(drv.Device(0)) is a.to_device(FIRST)
        assert type(a.to_device("cpu")) is np.ndarray
        for wrong in 2, -1, 10**6:
            with pytest.raises(ValueError, match=f"unsupported device {wrong}: there are 2"):
                a.to_device(wrong)
        for wrong in "gpu", "":
            with pytest.raises(ValueError, match=f"unsupported device {wrong!r}"):
                a.to_device(wrong)
        for wrong in 1.0, None, (2, 0):
            with pytest.raises(TypeError, match="a device is a"):
                a.to_device(wrong)
    del there
    own.detach()
    with FIRST, pytest.raises(drv.LogicError):
        a.to_device(own)


def test_targets(on_two_devices):
    on_two_devices(check_targets)


SLOW = """
__global__ void add_late(double *x, int n, int turns)
{
    double extra = 0;
    for (int i = 0; i < turns; i++) extra += sin(extra + i) * 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += 1 + extra;
}
"""


def check_order():
    """The copy follows work that is queued on the source, on any of its streams, and what is queued on both
    sides afterwards follows the copy; the host waits for nothing.
    """
    from pairs import FIRST, SECOND

    from pycuda.compiler import SourceModule

    n, turns = 5000, 20_000 if "CPU" in drv.Device(0).name() else 2_000_000
    with FIRST:
        slow = SourceModule(SLOW).get_function("add_late")
        sources = [None, drv.Stream(), drv.Stream(drv.stream_flags.NON_BLOCKING)]
    with SECOND:
        targets = [None, drv.Stream(drv.stream_flags.NON_BLOCKING)]
    for source, target in itertools.product(sources, targets):
        with FIRST:
            a = gpuarray.zeros(n, np.float64)
            FIRST.synchronize()
            for k in range(1, 4):
                slow(a, np.int32(n), np.int32(turns), block=(32, 1, 1), stream=source)
                there = a.to_device(SECOND, stream=target)
                slow(a, np.int32(n), np.int32(10), block=(32, 1, 1), stream=source)
                with SECOND, target or contextlib.nullcontext():
                    there += 0.5
                    assert set((there * 2).get(stream=target)) == {4 * k - 1}, (source, target, k)
                    given = a.to_device(SECOND, stream=source)
                    assert set(given.get(stream=target)) == {2 * k}, (source, target, k)


def test_order(on_two_devices):
    on_two_devices(check_order)


def check_memory_is_not_reused():
    """The source's memory goes to others after the copy only, also if that has to wait."""
    from pairs import FIRST, SECOND

    from pycuda.compiler import SourceModule

    turns = 20_000 if "CPU" in drv.Device(0).name() else 2_000_000
    with SECOND:
        slow = SourceModule(SLOW).get_function("add_late")
        target = drv.Stream(drv.stream_flags.NON_BLOCKING)
        busy = gpuarray.zeros(1, np.float64)
    with FIRST:
        for k in range(5):
            with SECOND:
                slow(busy, np.int32(1), np.int32(turns), block=(32, 1, 1), stream=target)
            a = gpuarray.zeros(30_000, np.float64)
            a.fill(k)
            there = a.to_device(SECOND, stream=target)
            del a
            gpuarray.zeros(30_000, np.float64).fill(-1)
            packed = gpuarray.zeros((100, 300), np.float64)
            packed.fill(k)
            part = packed[:, ::2].to_device(SECOND, stream=target)
            del packed
            gpuarray.zeros((100, 150), np.float64).fill(-1)
            allocated = gpuarray.GPUArray(30_000, np.float64, allocator=drv.mem_alloc)
            allocated.fill(k)
            other = allocated.to_device(SECOND, stream=target)
            del allocated
            for each in there, part, other:
                assert set(each.get(stream=target).flat) == {k}


def test_memory_is_not_reused(on_two_devices):
    on_two_devices(check_memory_is_not_reused)


def check_streams():
    """stream= of either side, and current streams."""
    from pairs import FIRST, SECOND, on

    host = np.arange(1000.0)
    a = on(FIRST, host)
    with SECOND:
        theirs = drv.Stream(drv.stream_flags.NON_BLOCKING)
        there = a.to_device(1, stream=theirs)
        with theirs:
            twice = there * 2
            more = a.to_device(1) * 3
            assert (twice.get(stream=theirs) == 2 * host).all() and (more.get() == 3 * host).all()
    with FIRST:
        ours = drv.Stream(drv.stream_flags.NON_BLOCKING)
        with ours:
            b = a + 1
            there = b.to_device(1)
            c = (a + 2).to_device(1, stream=ours)
        assert (there.get() == host + 1).all() and (c.get() == host + 2).all()
        with pytest.raises(TypeError, match="stream"):
            a.to_device(1, stream=5)


def test_streams(on_two_devices):
    on_two_devices(check_streams)


def check_capture():
    from pairs import FIRST, SECOND, on

    a = on(FIRST, np.arange(10.0))
    for context in FIRST, SECOND:
        with context:
            stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
            with stream.capture(), pytest.raises(drv.LogicError, match="to_device cannot be captured"):
                a.to_device(1, stream=stream)
    assert (a.to_device(1).get() == np.arange(10)).all()


def test_capture(on_two_devices):
    on_two_devices(check_capture)


def check_other_memory():
    """Managed and page-locked memory, that of other contexts and libraries, and memory that was freed."""
    from pairs import FIRST, SECOND

    from pycuda.tools import ManagedMemoryPool, StreamOrderedMemoryPool

    host = np.arange(7.0)
    with FIRST:
        managed = gpuarray.to_gpu(host, allocator=ManagedMemoryPool())
        ordered = gpuarray.to_gpu(host, allocator=StreamOrderedMemoryPool())
        foreign = gpuarray.from_dlpack(ordered)
        for array in managed, ordered, foreign:
            there = array.to_device(1)
            assert there.device == drv.Device(1) and (there.get() == host).all()
            with SECOND:
                assert (there + there).get()[3] == 6
        freed = gpuarray.to_gpu(host)
        freed.gpudata.free()
        with pytest.raises(drv.LogicError, match="was freed"):
            freed.to_device(1)
    own = drv.Device(0).make_context()
    lost = gpuarray.to_gpu(host)
    own.pop()
    own.detach()
    with FIRST, pytest.raises(drv.LogicError, match="freed with its context"):
        lost.to_device(1)


def test_other_memory(on_two_devices):
    on_two_devices(check_other_memory)


def check_nothing_is_left():
    from pairs import FIRST, SECOND, on

    before = None
    with FIRST:
        for _ in range(5):
            a = on(FIRST, np.zeros(100_000))
            for _ in range(20):
                there = a.to_device(1)
                there.to_device(0)
            del a, there
            gc.collect()
            for context in FIRST, SECOND:
                with context:
                    context.synchronize()
            left = drv._live_objects()
            assert before in (None, left), (before, left)
            before = left


def test_nothing_is_left(on_two_devices):
    on_two_devices(check_nothing_is_left)


def test_one_device(primary_context):
    """On its own device an array is not copied, to another context of it only if that is named."""
    host = np.arange(6.0).reshape(2, 3)
    a = gpuarray.to_gpu(host)
    number = a.device.handle
    assert a.to_device(number) is a.to_device(a.device) is a.to_device(drv.Context.get_current()) is a
    assert (a.to_device("cpu") == host).all()
    with pytest.raises(ValueError, match="unsupported device 99"):
        a.to_device(99)
    own = a.device.make_context()
    own.pop()
    there = a.T.to_device(own)
    assert there.strides == a.T.strides and (there.get() == host.T).all()
    assert (there[::-1].to_device(drv.Context.get_current()).get() == host.T[::-1]).all()
    drv.Context.synchronize()
    del there
    own.detach()


def check_streams_of_the_other_device():
    """An array that was copied on one, and its pool's memory, can be used as before."""
    from pairs import FIRST, SECOND, on

    from pycuda import gpuarray

    host = np.arange(6.0)
    with SECOND:
        stream = drv.Stream()
    for use in (
        lambda a: a.get(stream=stream),
        lambda a: a.set_async(drv.aligned_zeros(6, float), stream=stream),
        lambda a: a.get_async(stream=stream),
        lambda a: a.to_device(1, stream=stream),
    ):
        a = on(FIRST, host)
        with FIRST:
            use(a)
            stream.synchronize()
            assert (a.to_device(1).get() == a.get()).all()
            assert ((a + 1).get() == a.get() + 1).all()
            del a
            assert ((gpuarray.to_gpu(host) + 1).get() == host + 1).all()


def test_streams_of_the_other_device(on_two_devices):
    on_two_devices(check_streams_of_the_other_device)
