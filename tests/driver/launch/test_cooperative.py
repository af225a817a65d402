"""Launch attributes: cooperative=, cluster=, programmatic=, priority=, carveout=."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

BLOCKS, THREADS = 24, 64
COUNT = BLOCKS * THREADS

# Each thread reads what a thread of another block wrote before the barrier, three times over.
BARRIER = """
#include <cooperative_groups.h>

extern "C" __global__ void turn(int *first, int *second)
{
    auto grid = cooperative_groups::this_grid();
    int count = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 3; round++) {
        second[i] = first[count - 1 - i] + round;
        grid.sync();
        first[i] = second[(i + blockDim.x) % count];
        grid.sync();
    }
}
"""


def expected(values):
    """What `turn` leaves in `first`, by NumPy."""
    for turn in range(3):
        values = np.roll(values[::-1] + turn, -THREADS)
    return values


pytestmark = pytest.mark.driver(11060, "launch attributes (cuLaunchKernelEx)")


@pytest.fixture
def turn():
    return SourceModule(BARRIER, no_extern_c=True).get_function("turn")


@pytest.fixture
def plain():
    return SourceModule("__global__ void mark(int *a) { a[blockIdx.x] = 7; }").get_function("mark")


# Every way to launch a cooperative kernel.


def call(kernel, first, second):
    kernel(first, second, block=(THREADS, 1, 1), grid=(BLOCKS, 1), cooperative=True)


def on_stream(kernel, first, second):
    stream = drv.Stream()
    kernel(first, second, block=(THREADS, 1, 1), grid=(BLOCKS,), stream=stream, cooperative=True)
    stream.synchronize()


def timed(kernel, first, second):
    shape = {"block": (THREADS, 1, 1), "grid": (BLOCKS, 1)}
    assert kernel(first, second, **shape, cooperative=True, time_kernel=True) > 0


def prepared(kernel, first, second):
    kernel.prepare("PP").prepared_call((BLOCKS, 1), (THREADS, 1, 1), first, second, cooperative=True)


def prepared_async(kernel, first, second):
    stream, shape = drv.Stream(), ((BLOCKS, 1), (THREADS, 1, 1))
    kernel.prepare("PP").prepared_async_call(*shape, stream, first, second, cooperative=True)
    stream.synchronize()


def prepared_timed(kernel, first, second):
    shape = (BLOCKS, 1), (THREADS, 1, 1)
    seconds = kernel.prepare("PP").prepared_timed_call(*shape, first, second, shared_size=64, cooperative=1)
    assert seconds() > 0


@pytest.mark.parametrize("launch", [call, on_stream, timed, prepared, prepared_async, prepared_timed])
def test_a_barrier_of_the_grid(turn, launch):
    values = np.arange(COUNT, dtype=np.int32)
    first, second = drv.to_device(values), drv.mem_alloc(values.nbytes)
    launch(turn, first, second)
    assert (drv.from_device_like(first, values) == expected(values)).all()


def test_a_cooperative_launch_with_an_argument_handler(turn):
    values = np.arange(COUNT, dtype=np.int32)
    result, space = values.copy(), drv.mem_alloc(values.nbytes)
    turn(drv.InOut(result), space, block=(THREADS, 1, 1), grid=(BLOCKS, 1), cooperative=True)
    assert (result == expected(values)).all()


def test_too_many_blocks_to_run_at_once(turn):
    memory = drv.mem_alloc(4)
    with pytest.raises(
        drv.Error, match="turn.*at the same time: at most [0-9]+ blocks of this size"
    ) as caught:
        turn(memory, memory, block=(256, 1, 1), grid=(1 << 20, 1), cooperative=True)
    assert caught.value.name == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
    assert caught.value.routine == "cuLaunchKernelEx"


@pytest.mark.parametrize(
    "extras",
    [
        {"programmatic": True},
        {"priority": 0},
        {"programmatic": True, "priority": -1},
        {"cluster": (1, 1, 1)},
        {"cluster": [1]},
        {"cooperative": False, "cluster": None, "programmatic": None, "priority": None, "carveout": None},
    ],
    ids=str,
)
def test_attributes_do_not_change_results(plain, extras):
    """Called and prepared."""
    out = drv.mem_alloc(16)
    drv.memset_d32(out, 0, 4)
    plain(out, block=(1, 1, 1), grid=(4, 1), **extras)
    assert drv.from_device(out, 4, np.int32).tolist() == [7] * 4
    drv.memset_d32(out, 0, 4)
    plain.prepare("P").prepared_call((4, 1), (1, 1, 1), out, **extras)
    assert drv.from_device(out, 4, np.int32).tolist() == [7] * 4


def test_carveout(plain):
    if drv.get_driver_version() < 12060:
        pytest.skip("needs a driver of CUDA 12.6")
    out = drv.mem_alloc(16)
    plain(out, block=(1, 1, 1), grid=(4, 1), carveout=50)
    assert drv.from_device(out, 4, np.int32).tolist() == [7] * 4


def test_clusters(plain):
    """The launch succeeds where the device has clusters, and raises where it does not."""
    out = drv.mem_alloc(16)
    drv.memset_d32(out, 0, 4)
    if drv.Device(0).compute_capability() >= (9, 0) and drv.get_driver_version() >= 11080:
        plain(out, block=(1, 1, 1), grid=(4, 1), cluster=(2, 1, 1))
        assert drv.from_device(out, 4, np.int32).tolist() == [7] * 4
        return
    with pytest.raises(drv.Error, match="cuLaunchKernelEx failed.*mark"):
        plain(out, block=(1, 1, 1), grid=(4, 1), cluster=(2, 1, 1))


@pytest.mark.parametrize(
    ("extras", "error", "message"),
    [
        ({"cluster": (3, 1, 1)}, ValueError, "grid.x is 4, which is not a multiple of cluster.x, 3"),
        ({"cluster": (1, 2, 1)}, ValueError, "grid.y is 1, which is not a multiple of cluster.y, 2"),
        ({"cluster": (0, 1, 1)}, ValueError, "cluster.x, 0"),
        ({"cluster": (1, 1, 1, 1)}, ValueError, "one to three"),
        ({"cluster": 2}, TypeError, "cluster must be a sequence"),
        ({"cluster": (1.0,)}, TypeError, "cluster must be an integer"),
        ({"carveout": 101}, ValueError, "percentage"),
        ({"carveout": "all"}, TypeError, "carveout"),
        ({"priority": 1.5}, TypeError, "priority"),
        ({"cooperative": np.zeros(2)}, ValueError, "ambiguous"),
    ],
    ids=str,
)
def test_bad_values_launch_nothing(plain, extras, error, message):
    out = drv.mem_alloc(16)
    drv.memset_d32(out, 5, 4)
    with pytest.raises(error, match=message):
        plain(out, block=(1, 1, 1), grid=(4, 1), **extras)
    with pytest.raises(error, match=message):
        plain.prepare("P").prepared_call((4, 1), (1, 1, 1), out, **extras)
    assert drv.from_device(out, 4, np.int32).tolist() == [5] * 4


def test_unknown_keywords(plain):
    with pytest.raises(ValueError, match="extra keyword arguments: cooperate"):
        plain(np.intp(0), block=(1, 1, 1), cooperate=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'cooperate'"):
        plain.prepare("P").prepared_call((1, 1), (1, 1, 1), 0, cooperate=True)
