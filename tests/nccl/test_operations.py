"""Every operation between all devices of the machine, in one process, against NumPy."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
import pycuda.nccl
from pycuda.compiler import SourceModule

SUM, PROD, MAX, MIN, AVG = range(5)  # ncclRedOp_t
REDUCE = {SUM: np.add.reduce, PROD: np.multiply.reduce, MAX: np.maximum.reduce, MIN: np.minimum.reduce}

SIZE = 1000  # elements for each rank


def on_all(ranks, function):
    """The results of function(rank, communicator), each with its context, in one group; NumPy arrays."""
    made = []
    for rank, (_, context) in enumerate(ranks):
        with context:
            made.append(function.prepare(rank))
    with pycuda.nccl.group():
        for rank, (comm, context) in enumerate(ranks):
            with context:
                function.run(comm, rank, made[rank])
    results = []
    for rank, (_, context) in enumerate(ranks):
        with context:
            results.append(made[rank][1].get())
    return results


class Call:
    """prepare: arrays to send and to receive, by rank; run: the operation."""

    def __init__(self, sent, received, run):
        self.sent, self.received, self._run = sent, received, run

    def prepare(self, rank):
        return gpuarray.to_gpu(self.sent[rank]), gpuarray.zeros(self.received.shape, self.received.dtype)

    def run(self, comm, rank, arrays):
        self._run(comm, rank, *arrays)


def data(ranks, dtype, parts=1, seed=3):
    rng = np.random.default_rng(seed)
    shape = (len(ranks), SIZE * parts)
    if np.dtype(dtype).kind == "c":
        return (rng.integers(-9, 9, shape) + 1j * rng.integers(-9, 9, shape)).astype(dtype)
    return rng.integers(0, 3, shape).astype(dtype)


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int32", "uint64", "complex64", "complex128"]
)
def test_allreduce(ranks, dtype):
    sent = data(ranks, dtype)
    found = on_all(ranks, Call(sent, sent[0], lambda comm, rank, a, b: comm.allreduce(a, b, SUM)))
    for each in found:
        np.testing.assert_array_equal(each, sent.sum(axis=0).astype(dtype))


@pytest.mark.parametrize("op", [PROD, MAX, MIN])
def test_other_reductions(ranks, op):
    sent = data(ranks, "float32")
    for each in on_all(ranks, Call(sent, sent[0], lambda comm, rank, a, b: comm.allreduce(a, b, op))):
        np.testing.assert_array_equal(each, REDUCE[op](sent))


def test_booleans(ranks):
    sent = data(ranks, "int8") > 1
    for each in on_all(ranks, Call(sent, sent[0], lambda comm, rank, a, b: comm.allreduce(a, b, MAX))):
        np.testing.assert_array_equal(each, sent.any(axis=0))


@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64", "datetime64[s]"])
def test_operations_that_move(ranks, dtype):
    n, last = len(ranks), len(ranks) - 1
    one, all_parts = data(ranks, "int64").astype(dtype), data(ranks, "int64", parts=n, seed=4).astype(dtype)
    joined = one.reshape(-1)
    found = on_all(ranks, Call(one, joined, lambda comm, rank, a, b: comm.allgather(a, b)))
    for each in found:
        np.testing.assert_array_equal(each, joined)
    found = on_all(ranks, Call(one, joined, lambda comm, rank, a, b: comm.gather(a, b, last)))
    np.testing.assert_array_equal(found[last], joined)
    found = on_all(ranks, Call(one, one[0], lambda comm, rank, a, b: comm.broadcast(a, b, last)))
    for each in found:
        np.testing.assert_array_equal(each, one[last])
    found = on_all(ranks, Call(all_parts, one[0], lambda comm, rank, a, b: comm.scatter(a, b, last)))
    for rank, each in enumerate(found):
        np.testing.assert_array_equal(each, all_parts[last].reshape(n, SIZE)[rank])
    found = on_all(ranks, Call(all_parts, all_parts[0], lambda comm, rank, a, b: comm.alltoall(a, b)))
    for rank, each in enumerate(found):
        np.testing.assert_array_equal(each, all_parts.reshape(n, n, SIZE)[:, rank].reshape(-1))


def test_reduce_and_reduce_scatter(ranks):
    n, last = len(ranks), len(ranks) - 1
    sent = data(ranks, "float32", parts=n)
    found = on_all(ranks, Call(sent, sent[0], lambda comm, rank, a, b: comm.reduce(a, b, SUM, last)))
    np.testing.assert_array_equal(found[last], sent.sum(axis=0))
    part = sent[0, :SIZE]
    found = on_all(ranks, Call(sent, part, lambda comm, rank, a, b: comm.reduce_scatter(a, b, SUM)))
    for rank, each in enumerate(found):
        np.testing.assert_array_equal(each, sent.sum(axis=0).reshape(n, SIZE)[rank])


def test_send_and_receive_around_the_ring(ranks):
    """A part of each array, and what a temporary holds: dropped before the group ends."""
    n = len(ranks)
    sent = data(ranks, "float32")

    def run(comm, rank, a, b):
        comm.send(a[100:200] * 2, (rank + 1) % n)
        comm.recv(b[300:400], (rank - 1) % n)
        gpuarray.zeros(100, np.float32)  # does not get the memory of what is sent

    found = on_all(ranks, Call(sent, sent[0], run))
    for rank, each in enumerate(found):
        wanted = np.zeros(SIZE, np.float32)
        wanted[300:400] = sent[rank - 1, 100:200] * 2
        np.testing.assert_array_equal(each, wanted)


def test_fortran_order(ranks):
    comm, context = ranks[0]
    with context:
        a = gpuarray.to_gpu(np.asfortranarray(np.arange(12.0).reshape(3, 4)))
        b = gpuarray.zeros((3, 4), np.float64, order="F")
        exchange(comm, a, b)
        np.testing.assert_array_equal(b.get(), a.get())


def exchange(comm, a, b):
    """Sends `a` to itself, into `b`."""
    with pycuda.nccl.group():
        comm.send(a, 0)
        comm.recv(b, 0)


DELAY = "__global__ void delay(long long n) { long long t = clock64(); while (clock64() - t < n); }"


def test_an_operation_comes_after_the_work_on_its_stream(ranks):
    comm, context = ranks[0]
    with context, drv.Stream() as stream:
        delay = SourceModule(DELAY).get_function("delay")
        a, b = gpuarray.zeros(SIZE, np.float32), gpuarray.zeros(SIZE, np.float32)
        exchange(comm, a, b)  # NCCL makes its connections at the first use, and waits
        a += 3  # compiled
        stream.synchronize()
        delay(np.int64(200_000_000), block=(1, 1, 1), stream=stream)
        a += 3
        exchange(comm, a, b)
        assert not stream.is_done()
        assert (b + 1).get().min() == 7


def test_a_graph(ranks):
    """Captured, launched twice with other contents."""
    comm, context = ranks[0]
    with context, drv.Stream() as stream:
        a, b = gpuarray.zeros(SIZE, np.float32), gpuarray.zeros(SIZE, np.float32)
        exchange(comm, a, b)
        stream.synchronize()
        with stream.capture() as graph:
            exchange(comm, a + 1, b)
        launched = graph.instantiate()
        for value in 5, 7:
            a.fill(value)
            launched.launch(stream)
            assert set(b.get()) == {value + 1}


def test_the_current_context_stays(ranks):
    comm, context = ranks[-1]
    with context:
        before = drv.Context.get_current()
        a = gpuarray.zeros(4, np.float32)
        with pycuda.nccl.group():
            comm.send(a, comm.rank)
            comm.recv(gpuarray.empty(4, np.float32), comm.rank)
        assert drv.Context.get_current() == before


def test_another_context_than_the_primary_is_refused():
    context = drv.Device(0).make_context()
    try:
        with pytest.raises(ValueError, match="NCCL works in primary contexts"):
            pycuda.nccl.init(1, 0, b"", context=context)
    finally:
        context.detach()


def test_arrays_of_another_device_are_refused(ranks):
    if len(ranks) < 2:
        pytest.skip("one device")
    with ranks[1][1]:
        a = gpuarray.zeros(4, np.float32)
        with pytest.raises(RuntimeError, match="the context of the communicator's device"):
            ranks[0][0].send(a, 0)
    with ranks[0][1], pytest.raises(ValueError, match="device"):
        ranks[0][0].send(a, 0)
