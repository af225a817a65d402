"""Eight threads that do everything at once, with objects of their own and with shared ones.

With PYTHON_GIL=0, on a free-threaded CPython, they run Python at the same time.
"""

import contextlib
import threading

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from pycuda.tools import DeviceMemoryPool

pytestmark = pytest.mark.usefixtures("primary_context")

N, THREADS, ROUNDS = 257, 8, 12
SOURCE = """
__global__ void add(int *values, int n, int more)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += more;
}
"""


class Shared:
    """What all threads use."""

    def __init__(self):
        self.module = SourceModule(SOURCE)
        self.add = self.module.get_function("add")
        self.prepared = self.module.get_function("add").prepare("Pii")
        self.pool = DeviceMemoryPool()
        self.stream, self.event = drv.Stream(), drv.Event()
        self.constant = gpuarray.to_gpu(np.arange(N, dtype=np.int32))
        self.slots = [None] * THREADS


def launches(shared, number, rounds):
    values = gpuarray.zeros(N, np.int32)
    for each in range(rounds):
        shared.add(values, np.int32(N), np.int32(1), block=(64, 1, 1), grid=(5, 1))
        shared.prepared.prepared_call((5, 1), (64, 1, 1), values.gpudata, N, number)
        if each % 4 == 0:
            shared.prepared.prepare("Pii")
    assert (values.get() == rounds * (1 + number)).all()


def arithmetic(shared, number, rounds):
    mine = gpuarray.to_gpu(np.full(N, number, np.int32))
    for _ in range(rounds):
        result = shared.constant * 3 - mine
        result += shared.constant
        assert (result.get() == np.arange(N) * 4 - number).all()
        assert int(gpuarray.sum(shared.constant[::2]).get()) == np.arange(N)[::2].sum()


def pools(shared, number, rounds):
    for each in range(rounds):
        block = shared.pool.allocate(4 * N)
        values = gpuarray.empty(N, np.int32, allocator=shared.pool.allocate)
        drv.memset_d32(int(block), number, N)
        drv.memcpy_dtod(values.gpudata, int(block), 4 * N)
        block.free()
        assert (values.get() == number).all()
        if each % 5 == 0:
            shared.pool.free_held()


def streams(shared, number, rounds):
    host = drv.pagelocked_empty(N, np.int32)
    for _ in range(rounds):
        stream, begin = drv.Stream(), drv.Event()
        values = drv.mem_alloc(4 * N)
        for each in stream, shared.stream:
            drv.memset_d32_async(int(values), number, N, each)
            begin.record(each)
            each.wait_for_event(begin)
            shared.event.record(shared.stream)
            drv.memcpy_dtoh_async(host, values, each)
            each.synchronize()
            assert begin.query() and (host == number).all()
        values.free()


def modules(_shared, number, rounds):
    for _ in range(rounds // 4):
        module = SourceModule(SOURCE.replace("add(", f"add_{number}("))
        values = gpuarray.zeros(N, np.int32)
        module.get_function(f"add_{number}")(values, np.int32(N), np.int32(7), block=(N, 1, 1))
        assert (values.get() == 7).all()


def shared_objects(shared, number, rounds):
    """Arrays that one thread makes, another changes and a third drops. A calculation during which an array
    gets another shape may be refused.
    """
    for each in range(rounds):
        shared.slots[number] = gpuarray.zeros((4, 6), np.float32)
        other = shared.slots[(number + each) % THREADS]
        if other is None:
            continue
        try:
            assert (other + 1).get().ravel().tolist() == [1] * 24
        except RuntimeError as refused:
            assert "changed during a calculation" in str(refused)
        other.shape = (6, 4) if each % 2 else (24,)
        assert other.size == 24 and other.reshape(2, 12).shape == (2, 12)
        shared.slots[(number + each + 1) % THREADS] = None


def freed_meanwhile(shared, number, rounds):
    """Memory that another thread may free at any time: a call uses it, or refuses it."""
    memory = shared.slots
    for each in range(rounds):
        memory[number] = drv.mem_alloc(4 * N)
        other = memory[(number + each) % THREADS]
        if other is None:
            continue
        with contextlib.suppress(drv.LogicError):
            drv.memset_d32(other, number, N)
        if each % 3 == 0:
            with contextlib.suppress(drv.LogicError):
                other.free()


def in_threads(shared, work, rounds=ROUNDS):
    """Runs work(shared, number, rounds) in eight threads at once; raises what one of them raised."""
    context, failures, start = drv.Context.get_current(), [], threading.Barrier(THREADS)

    def run(number):
        context.push()
        try:
            start.wait(60)
            work(shared, number, rounds)
        except BaseException as failure:
            failures.append(failure)
        finally:
            drv.Context.pop()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    context.synchronize()
    if failures:
        raise failures[0]


WORK = [launches, arithmetic, pools, streams, modules, shared_objects, freed_meanwhile]


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_the_same_in_all(work):
    in_threads(Shared(), work)


def test_all_at_once():
    """Without the last two, which change what all threads see."""

    def mixed(shared, number, rounds):
        for each in range(len(WORK) - 2):
            WORK[(number + each) % (len(WORK) - 2)](shared, number, rounds // 4)

    in_threads(Shared(), mixed)
