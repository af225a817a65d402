"""The fast path of an operation, in C, does what the checks in Python do."""

import sys

import nccl_stand_in
import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import _driver, gpuarray
from pycuda._array.interop import collectives

OPERATIONS = [value for value in vars(collectives).values() if isinstance(value, collectives.Operation)]
SUM, MAX = 0, 2  # ncclRedOp_t
DTYPES = "float32", "int16", "bool", "complex64", "datetime64[s]"


@pytest.fixture
def ways(bindings):
    """A function of an operation: (the fast path, the checks)."""
    comm = nccl_stand_in.communicator(drv.Context.get_device().handle)

    def ways(operation):
        return collectives.collective(operation, comm, bindings), collectives.Collective(
            operation, comm, bindings
        )

    return ways


def extra(operation, op=SUM):
    """What the operation is called with after its arrays."""
    moves = "send", "recv", "broadcast", "gather", "scatter"
    return [op] * operation.reduces + [0] * (operation.name in (*moves, "reduce"))


def outcome(bindings, call, *arguments):
    """What the bindings get, or the exception."""
    bindings.calls.clear()
    try:
        call(*arguments)
    except Exception as error:
        assert not bindings.calls
        return type(error), str(error)
    ((name, *given),) = bindings.calls
    return name, *(getattr(each, "handle", each) for each in given)


def pairs(rng, pool):
    """Arrays to send and to receive: parts of one array, often in place, a few of other forms."""
    for _ in range(120):
        first, second = rng.integers(0, 5, 2) * 4
        sent, received = (
            pool[first : first + rng.choice([0, 4, 7, 8])],
            pool[second : second + rng.choice([4, 8])],
        )
        if rng.random() < 0.1:
            received = _driver._forbid_writing(received[:])
        if rng.random() < 0.1:
            sent = pool[::2]
        if rng.random() < 0.1:
            received = gpuarray.zeros(8, "int8")
        yield sent, received


@pytest.mark.parametrize(
    "operation", OPERATIONS, ids=lambda each: f"{each.name} {each.sends + each.receives}"
)
def test_both_ways_agree(ways, bindings, operation):
    fast, checks = ways(operation)
    rng, found = np.random.default_rng(OPERATIONS.index(operation)), set()
    for dtype in DTYPES:
        pool = gpuarray.empty(32, dtype)
        for sent, received in pairs(rng, pool):
            for op in SUM, MAX:
                arguments = sent, received, None, None, *extra(operation, op)
                wanted = outcome(bindings, checks, *arguments)
                assert outcome(bindings, fast, *arguments) == wanted
                found.add(wanted[0])
    assert operation.name in found and ValueError in found


@pytest.mark.parametrize(
    "operation", OPERATIONS, ids=lambda each: f"{each.name} {each.sends + each.receives}"
)
def test_gpuarrays_that_break_no_rule_need_no_python(ways, bindings, operation, monkeypatch):
    fast, _ = ways(operation)
    monkeypatch.setattr(collectives.Collective, "__call__", None)
    sizes = 8 if operation.sent_in_parts else 4, 8 if operation.received_in_parts else 4
    for dtype in "float32", "complex128":
        sent, received = (gpuarray.zeros(size, dtype) for size in sizes)
        fast(sent, received, None, None, *extra(operation))
        fast(sent, received, drv.Stream(), [], *extra(operation))
    with pytest.raises(TypeError, match="not callable"):
        fast(gpuarray.zeros((4, 4), "float32")[:, :2], gpuarray.zeros((4, 4), "float32")[::2], None, None, 0)
    assert len(bindings.calls) == 4


def test_errors_of_the_bindings_are_raised(bindings, comm):
    def fail(*arguments):
        raise OSError("from NCCL")

    bindings.send = fail
    comm = type(comm)(comm.comm)
    with pytest.raises(OSError, match="from NCCL"):
        comm.send(gpuarray.zeros(4, "float32"), 0)


def test_an_object_as_operation_is_asked_each_time(comm, bindings):
    """One of create_pre_mul_sum, which may be destroyed."""

    class Scaled:
        number = 9

        def __int__(self):
            return self.number

    a, op = gpuarray.zeros(4, "float32"), Scaled()
    for Scaled.number in 9, 8:
        comm.allreduce(a, a, op)
    assert [call[5] for call in bindings.calls] == [9, 8]


def test_nothing_is_kept_by_many_calls(ways, bindings):
    operation = next(each for each in OPERATIONS if each.name == "all_reduce")
    fast, _ = ways(operation)
    a, b = gpuarray.zeros(4, "float32"), gpuarray.zeros(4, "complex64")
    kept = [a, b, a.dtype, b.dtype, fast, bindings.all_reduce]
    fast(a, a, None, None, SUM)
    before = [sys.getrefcount(each) for each in kept]
    for _ in range(100):
        fast(b, b, None, None, SUM)
        fast(a, a, None, None, SUM)
        with pytest.raises(TypeError):
            fast(b, b, None, None, MAX)
        bindings.calls.clear()
    assert [sys.getrefcount(each) for each in kept] == before
