"""Green contexts: multiprocessors split into groups, contexts that have one, their streams and events."""

import gc
import threading
import weakref

import numpy as np
import pytest

import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

pytestmark = pytest.mark.driver(12090, "green contexts (cuGreenCtxGetId)")

SOURCE = """
// Which multiprocessor each block ran on; how many there are; memory that is written.
__global__ void where(unsigned *seen)
{
    unsigned number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    seen[blockIdx.x] = number;
}
__global__ void how_many(unsigned *out) { asm("mov.u32 %0, %%nsmid;" : "=r"(out[0])); }
__global__ void fill(int *out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }
"""


@pytest.fixture(scope="module")
def kernels():
    module = SourceModule(SOURCE)
    return module.get_function("where"), module.get_function("fill")


@pytest.fixture
def whole():
    """The resource with all multiprocessors of the device."""
    return pycuda.autoinit.device.get_resource()


@pytest.fixture
def green(whole):
    """A green context that has one group of multiprocessors, of the smallest size."""
    (group,), _ = whole.split(whole.min_partition_size, groups=1)
    return drv.GreenContext(group)


def sizes(groups):
    return [group.sm_count for group in groups]


# ---- resources


def test_the_resource_of_a_device(whole):
    device = pycuda.autoinit.device
    assert whole.sm_count == device.get_attribute(drv.device_attribute.MULTIPROCESSOR_COUNT)
    assert whole.device == device and 1 <= whole.min_partition_size <= whole.sm_count
    # sm_count need not be a multiple of the alignment: an H200 has 132, its alignment is 8.
    assert whole.min_partition_size % whole.coscheduled_alignment == 0
    assert pycuda.autoinit.context.get_resource(drv.dev_resource_type.SM).sm_count == whole.sm_count
    assert repr(whole).endswith(f"{whole.sm_count} multiprocessors of device {device.handle}>")


def test_groups_are_of_one_size_and_the_rest_remains(whole):
    min_size, unit = whole.min_partition_size, whole.coscheduled_alignment
    for wanted in 0, 1, min_size, min_size + 1, whole.sm_count // 2, whole.sm_count // 3:
        groups, rest = whole.split(wanted)
        size = min(-(-max(wanted, min_size) // unit) * unit, whole.sm_count)
        assert groups and sizes(groups) == [size] * len(groups)
        # Drivers of CUDA 13.0 report an alignment of 0 for the parts of a split.
        assert {part.coscheduled_alignment for part in [*groups, rest or whole]} <= {0, unit}
        assert len(groups) * size + (rest.sm_count if rest else 0) == whole.sm_count
        one, rest = whole.split(wanted, groups=1)
        assert sizes(one) == [size] and (rest.sm_count if rest else 0) == whole.sm_count - size


def test_groups_may_be_smaller_without_coscheduling(whole):
    alone = drv.dev_sm_resource_split_flags.IGNORE_SM_COSCHEDULING
    groups, _ = whole.split(1, flags=alone)
    assert groups[0].sm_count <= whole.min_partition_size


def test_what_cannot_be_split(whole, green):
    with pytest.raises(
        drv.LogicError, match=r"cuDevSmResourceSplitByCount failed: .*groups of at least 100000"
    ):
        whole.split(100000)
    (group, *_), _ = whole.split(whole.min_partition_size)
    with pytest.raises(drv.LogicError, match="once a GreenContext was created from it"):
        group.split(1)
    groups, rest = green.get_resource().split(whole.min_partition_size)
    assert sizes(groups) == [green.get_resource().sm_count] and rest is None
    with pytest.raises(drv.LogicError, match=r"cuDeviceGetDevResource failed: .*type 999"):
        pycuda.autoinit.device.get_resource(999)
    with pytest.raises(TypeError):
        drv.DeviceResource()


# ---- contexts


def test_a_context_of_several_groups(whole):
    min_size = whole.min_partition_size
    groups, rest = whole.split(min_size, groups=2)
    both = drv.GreenContext(groups).get_resource()
    assert both.sm_count == sum(sizes(groups)) and both.coscheduled_alignment == whole.coscheduled_alignment
    again, left_over = both.split(min_size)
    assert sizes(again) == sizes(groups) and left_over is None
    assert drv.GreenContext([groups[0], rest]).get_resource().sm_count == whole.sm_count - min_size
    # The manual requires that all groups come from one split; drivers do not check that.
    for several in [groups[0], whole.split(min_size)[0][1]], [groups[0], groups[0]]:
        assert drv.GreenContext(several).get_resource().sm_count == 2 * min_size
    for wrong in 7, [whole, None], []:
        with pytest.raises((TypeError, drv.LogicError), match="resources"):
            drv.GreenContext(wrong)


def test_it_is_current_as_other_contexts_are(green, kernels):
    """In a with statement and by push and pop. It shares its memory with the primary context."""
    primary = pycuda.autoinit.context
    memory = gpuarray.zeros(64, np.int32)
    with primary, green as entered:
        assert entered is green and drv.Context.get_current() is green and isinstance(green, drv.Context)
        assert drv.Context.get_device() == pycuda.autoinit.device
        made = gpuarray.arange(64, dtype=np.int32)
        kernels[1](memory, np.int32(5), grid=(2, 1), block=(32, 1, 1))
        assert ((made * 2 + 1).get() == np.arange(64) * 2 + 1).all()
        drv.Context.synchronize()
    assert (memory.get() == 5).all() and (made.get() == np.arange(64)).all()  # one memory for both
    with primary:
        green.push()
        try:
            assert drv.Context.get_current() == green != primary
        finally:
            drv.Context.pop()
        assert drv.Context.get_current() is primary
    assert "green" in repr(green)


def test_kernels_run_on_the_contexts_multiprocessors_only(green, kernels):
    """In a stream of the green context, and where the green context is current."""
    count, blocks = green.get_resource().sm_count, 4096
    stream, seen = green.create_stream(), gpuarray.zeros(blocks, np.uint32)
    drv.Context.synchronize()
    kernels[0](seen, grid=(blocks, 1), block=(32, 1, 1), stream=stream)
    stream.synchronize()
    assert len(np.unique(seen.get())) <= count
    with green:
        kernels[0](seen, grid=(blocks, 1), block=(32, 1, 1))
        assert len(np.unique(seen.get())) <= count


def test_nsmid_is_the_devices_number(green, whole):
    out = np.zeros(1, np.uint32)
    function = SourceModule(SOURCE).get_function("how_many")
    function(drv.Out(out), block=(1, 1, 1))
    with green:
        inside = np.zeros(1, np.uint32)
        function(drv.Out(inside), block=(1, 1, 1))
    assert out == inside == whole.sm_count


def test_a_cooperative_grid_must_fit_the_contexts_multiprocessors(green, whole, kernels):
    """One block more than they hold is refused in the green context's stream, and fits the device."""
    fill, stream = kernels[1], green.create_stream()
    max_blocks = fill.max_active_blocks_per_multiprocessor(256) * green.get_resource().sm_count
    out = gpuarray.zeros(256 * (max_blocks + 1), np.int32)
    drv.Context.synchronize()
    fill(out, np.int32(3), grid=(max_blocks, 1), block=(256, 1, 1), stream=stream, cooperative=True)
    stream.synchronize()
    assert (out.get()[: 256 * max_blocks] == 3).all()
    with pytest.raises(drv.Error) as caught:
        fill(out, np.int32(4), grid=(max_blocks + 1, 1), block=(256, 1, 1), stream=stream, cooperative=True)
    assert caught.value.name == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
    fill(out, np.int32(4), grid=(max_blocks + 1, 1), block=(256, 1, 1), cooperative=True)
    assert (out.get() == 4).all()


def test_captured_work_keeps_its_multiprocessors(green, whole, kernels):
    """A graph captured in the green context's stream runs on that context's multiprocessors in any stream."""
    count, stream, other = green.get_resource().sm_count, green.create_stream(), drv.Stream()
    memory, seen = drv.mem_alloc(4 * 4096), np.zeros(4096, np.uint32)
    with stream.capture() as graph:
        kernels[0](memory, grid=(4096, 1), block=(32, 1, 1), stream=stream)
    ready = graph.instantiate()
    ready.launch(other)
    other.synchronize()
    drv.memcpy_dtoh(seen, memory)
    assert len(np.unique(seen)) <= count


def test_its_stream_is_used_in_the_primary_context(green, kernels):
    """Arrays of the primary context's pool are computed in the stream; a host array that is dropped while a
    copy from it is queued there is released when the stream is synchronized."""
    stream, host = green.create_stream(), drv.pagelocked_zeros(256, np.int32)
    kept = weakref.ref(host)
    host[:] = np.arange(256)
    with stream:
        array = gpuarray.to_gpu_async(host, stream=stream) + 1
        twice = array * 2
    drv.memcpy_htod_async(array.gpudata, host, stream)
    del host
    stream.synchronize()
    assert kept() is None
    assert (twice.get() == 2 * np.arange(256) + 2).all() and (array.get() == np.arange(256)).all()
    with green, drv.Stream() as other:
        kernels[1](array, np.int32(5), grid=(2, 1), block=(128, 1, 1))
        other.synchronize()
    assert (array.get() == 5).all()
    event = drv.Event().record(stream)
    del stream, other  # the pool must not use the stream any more
    event.synchronize()
    del array, twice
    assert (gpuarray.zeros(256, np.int32).get() == 0).all()


def test_a_stream_knows_its_green_context(green):
    stream = green.create_stream(priority=-1)
    assert stream.green_context is green and stream.priority == -1
    assert stream.flags == drv.stream_flags.NON_BLOCKING
    with green:
        assert drv.Stream().green_context is green
    assert drv.Stream().green_context is None


def test_two_at_once(whole, kernels):
    """Two green contexts exist at the same time, and kernels run in the streams of both."""
    groups, _ = whole.split(whole.min_partition_size, groups=2)
    contexts = [drv.GreenContext(group) for group in groups]
    assert contexts[0].id != contexts[1].id
    streams, arrays = [c.create_stream() for c in contexts], [gpuarray.zeros(512, np.int32) for _ in contexts]
    drv.Context.synchronize()
    for value, (stream, array) in enumerate(zip(streams, arrays, strict=True)):
        kernels[1](array, np.int32(value + 1), grid=(4, 1), block=(128, 1, 1), stream=stream)
    drv.Context.synchronize()
    assert [set(array.get()) for array in arrays] == [{1}, {2}]


def test_events_of_all_streams(green, kernels):
    """wait_for_event makes all streams of the context wait, also those that are created later; record_event
    follows the work of all of them."""
    gate, waits = threading.Event(), [green.create_stream() for _ in range(2)]
    arrays = [gpuarray.zeros(32, np.int32) for _ in range(3)]
    outside, event, done = drv.Stream(drv.stream_flags.NON_BLOCKING), drv.Event(), drv.Event()
    drv.Context.synchronize()
    try:
        outside.launch_host_func(gate.wait, 20)
        event.record(outside)
        green.wait_for_event(event)
        waits.append(green.create_stream())
        for stream, array in zip(waits, arrays, strict=True):
            kernels[1](array, np.int32(7), grid=(1, 1), block=(32, 1, 1), stream=stream)
        assert green.record_event(done) is done
        assert not done.query() and not waits[2].is_done()
    finally:
        gate.set()
    done.synchronize()
    assert all(stream.is_done() for stream in waits)
    assert [set(array.get()) for array in arrays] == [{7}] * 3
    with pytest.raises(TypeError, match="evt must be an Event"):
        green.record_event(None)


# ---- the end


def test_objects_made_in_it_work_after_detach(green):
    """The memory is the primary context's; the context ends with the last of them. Its own methods raise."""
    count = drv._driver._live_objects()["Context"]
    with green:
        memory, stream = drv.mem_alloc(64), drv.Stream()
    green.detach()
    drv.memset_d8(memory, 1, 64)
    stream.synchronize()
    with pytest.raises(drv.LogicError, match="detached"):
        green.push()
    with pytest.raises(drv.LogicError, match="detached"):
        green.detach()
    assert drv._driver._live_objects()["Context"] == count
    del memory, stream
    gc.collect()
    assert drv._driver._live_objects()["Context"] == count - 1
    for use in (
        green.create_stream,
        green.get_resource,
        lambda: green.id,
        lambda: green.record_event(drv.Event()),
    ):
        with pytest.raises(drv.LogicError, match="its context is gone"):
            use()


def test_the_last_reference_ends_it(whole):
    count = drv._driver._live_objects()["Context"]
    stream = drv.GreenContext(whole.split(whole.min_partition_size)[0]).create_stream()
    assert drv._driver._live_objects()["Context"] == count + 1
    assert stream.green_context.get_resource().sm_count > 0
    del stream
    assert drv._driver._live_objects()["Context"] == count


def test_detached_while_current(whole):
    green = drv.GreenContext(whole.split(whole.min_partition_size)[0][0])
    with pycuda.autoinit.context as primary:
        green.push()
        green.detach()
        assert drv.Context.get_current() is primary
