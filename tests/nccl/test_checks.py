"""What pycuda.nccl refuses before anything is sent, and what nccl4py is given."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
import pycuda.nccl
from pycuda import _driver

SUM, PROD, MAX, MIN, AVG = range(5)  # ncclRedOp_t


class Recorder:
    """In the place of nccl4py's communicator: keeps the calls."""

    nranks, rank = 2, 1

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **more: self.calls.append((name, arguments, more))


@pytest.fixture
def comm():
    return pycuda.nccl.Communicator(Recorder())


def taken(comm):
    """The only call that nccl4py got."""
    (call,) = comm.comm.calls
    return call


def array(shape=8, dtype=np.float32, order="C"):
    return gpuarray.zeros(shape, dtype, order=order)


# Each operation, called with arrays to send and to receive.
OPERATIONS = {
    "send": lambda comm, a, b: comm.send(a, 0),
    "recv": lambda comm, a, b: comm.recv(b, 0),
    "broadcast": lambda comm, a, b: comm.broadcast(a, b, 1),
    "allreduce": lambda comm, a, b: comm.allreduce(a, b, SUM),
    "reduce": lambda comm, a, b: comm.reduce(a, b, SUM, 1),
    "reduce_scatter": lambda comm, a, b: comm.reduce_scatter(a, b, SUM),
    "allgather": lambda comm, a, b: comm.allgather(a, b),
    "gather": lambda comm, a, b: comm.gather(a, b, 1),
    "scatter": lambda comm, a, b: comm.scatter(a, b, 1),
    "alltoall": lambda comm, a, b: comm.alltoall(a, b),
}
SENDS, RECEIVES = {*OPERATIONS} - {"recv"}, {*OPERATIONS} - {"send"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_arrays_are_given_as_they_are(comm, name):
    a, b = array(), array()
    with drv.Stream() as stream:
        OPERATIONS[name](comm, a, b)
    called, arguments, more = taken(comm)
    assert called == {"allreduce": "reduce", "allgather": "gather"}.get(name, name)
    wanted = ([a] if name in SENDS else []) + ([b] if name in RECEIVES else [])
    assert [id(each) for each in arguments[: len(wanted)]] == [id(each) for each in wanted]
    assert more == {"stream": stream.handle}


@pytest.mark.parametrize("name", sorted(SENDS))
def test_what_is_sent_is_contiguous(comm, name):
    for wrong in array(16)[::2], array(8)[::-1], array((4, 4))[:, :2]:
        with pytest.raises(ValueError, match=r"needs a contiguous array, and strides .* pass a\.copy\(\)"):
            OPERATIONS[name](comm, wrong, array())
    assert comm.comm.calls == []


@pytest.mark.parametrize("name", sorted(RECEIVES))
def test_what_is_received_is_contiguous_and_writeable(comm, name):
    with pytest.raises(ValueError, match="needs a contiguous array"):
        OPERATIONS[name](comm, array(), array(16)[::2])
    with pytest.raises(ValueError, match="read-only"):
        OPERATIONS[name](comm, array(), _driver._forbid_writing(array()))
    assert comm.comm.calls == []


def test_fortran_order_goes_in_the_order_of_memory(comm):
    a = array((3, 4), order="F")
    comm.send(a, 0)
    assert taken(comm)[1][0] is a


MOVED = ["int16", "uint16", "bool", "complex64", "complex128", "datetime64[s]", "i4,f8"]


@pytest.mark.parametrize("dtype", MOVED)
@pytest.mark.parametrize("order", "CF")
def test_elements_that_nccl_does_not_know_are_moved_as_bytes(comm, dtype, order):
    a = gpuarray.empty((3, 4), np.dtype(dtype), order=order)
    comm.send(a, 0)
    given = taken(comm)[1][0]
    assert given.dtype == np.uint8 and given.shape == (a.nbytes,) and given.ptr == a.ptr


@pytest.mark.parametrize("op", [SUM, AVG])
def test_complex_numbers_are_added_as_pairs(comm, op):
    a, b = array((2, 3), np.complex64, "F"), array((2, 3), np.complex64, "F")
    comm.allreduce(a, b, op)
    for given, each in zip(taken(comm)[1], (a, b), strict=False):
        assert given.dtype == np.float32 and given.shape == (12,) and given.ptr == each.ptr


@pytest.mark.parametrize(
    ("dtype", "op", "message"),
    [
        ("complex64", PROD, "of the reductions of complex64 NCCL has sums and averages only"),
        ("complex128", MAX, "of the reductions of complex128"),
        ("bool", SUM, r"of the reductions of bool NCCL has MAX \(any\) and MIN \(all\) only"),
        ("int16", SUM, r"NCCL has no reductions of int16: pass a\.astype\(\)"),
        ("datetime64[s]", MAX, r"NCCL has no reductions of datetime64"),
    ],
)
def test_reductions_that_nccl_does_not_have(comm, dtype, op, message):
    a = gpuarray.empty(4, np.dtype(dtype))
    with pytest.raises(TypeError, match=message):
        comm.allreduce(a, a, op)
    with pytest.raises(TypeError, match=message):
        comm.reduce_scatter(a, array(2), op)
    assert comm.comm.calls == []


def test_booleans_have_any_and_all(comm):
    a = gpuarray.zeros(4, bool)
    comm.allreduce(a, a, MAX)
    assert taken(comm)[1][0].dtype == np.uint8


@pytest.mark.parametrize("name", ["reduce_scatter", "scatter", "alltoall"])
def test_parts_of_ranks_are_equal(comm, name):
    with pytest.raises(ValueError, match="an array of 7 elements cannot be divided among 2 ranks"):
        OPERATIONS[name](comm, array(7), array(7))


# In place: which part of `a`, of 8 elements, is `b` with rank 1 of 2, or the other way.
IN_PLACE = {
    "broadcast": lambda a: (a, a),
    "allreduce": lambda a: (a, a),
    "reduce": lambda a: (a, a),
    "reduce_scatter": lambda a: (a, a[4:]),
    "allgather": lambda a: (a[4:], a),
    "gather": lambda a: (a[4:], a),
    "scatter": lambda a: (a, a[4:]),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(comm, name):
    OPERATIONS[name](comm, *IN_PLACE[name](array()))
    assert len(comm.comm.calls) == 1


@pytest.mark.parametrize("name", sorted(SENDS & RECEIVES))
def test_other_overlaps_are_refused(comm, name):
    whole = array(12)
    pairs = {
        "reduce_scatter": (whole[:8], whole[5:9]),
        "allgather": (whole[5:9], whole[:8]),
        "gather": (whole[3:7], whole[:8]),
        "scatter": (whole[:8], whole[2:6]),
    }
    with pytest.raises(ValueError, match="the arrays overlap"):
        OPERATIONS[name](comm, *pairs.get(name, (whole[:8], whole[4:])))
    assert comm.comm.calls == []


def test_only_the_root_needs_both_arrays(comm):
    comm.broadcast(None, array(), 0)
    comm.reduce(array(), None, SUM, 0)
    comm.gather(array(), None, 0)
    comm.scatter(None, array(), 0)
    assert [name for name, _, _ in comm.comm.calls] == ["broadcast", "reduce", "gather", "scatter"]


def test_other_buffers_are_left_to_nccl4py(comm):
    buffer = object()
    comm.allreduce(buffer, buffer, SUM)
    assert taken(comm)[1][0] is buffer


def test_attributes_are_those_of_nccl4py(comm):
    assert comm.nranks == 2 and comm.rank == 1
    assert "Recorder" in repr(comm)


@pytest.mark.cpu("on a GPU it is no error")
def test_the_cpu_device_has_no_nccl():
    with pytest.raises(RuntimeError, match="NCCL needs NVIDIA's driver"):
        pycuda.nccl.init_all()
