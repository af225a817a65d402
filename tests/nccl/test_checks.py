"""What pycuda.nccl refuses before anything is sent, and what nccl4py is given."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
import pycuda.nccl
from pycuda import _driver

SUM, PROD, MAX, MIN, AVG = range(5)  # ncclRedOp_t


def taken(bindings):
    """The only call, without the communicator."""
    (call,) = bindings.calls
    assert call[-2].handle == 77
    return (*call[:-2], call[-1])


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
SIZES = {"reduce_scatter": (8, 4), "scatter": (8, 4), "allgather": (4, 8), "gather": (4, 8)}  # elements

FLOAT, BYTES = 7, 1  # ncclDataType_t
# What NCCL gets, in the order of nccl.h: addresses, count, type, operation, root or peer.
GIVEN = {
    "send": lambda a, b: ("send", a, 32, BYTES, 0),
    "recv": lambda a, b: ("recv", b, 32, BYTES, 0),
    "broadcast": lambda a, b: ("broadcast", a, b, 32, BYTES, 1),
    "allreduce": lambda a, b: ("all_reduce", a, b, 8, FLOAT, SUM),
    "reduce": lambda a, b: ("reduce", a, b, 8, FLOAT, SUM, 1),
    "reduce_scatter": lambda a, b: ("reduce_scatter", a, b, 4, FLOAT, SUM),
    "allgather": lambda a, b: ("all_gather", a, b, 16, BYTES),
    "gather": lambda a, b: ("gather", a, b, 16, BYTES, 1),
    "scatter": lambda a, b: ("scatter", a, b, 16, BYTES, 1),
    "alltoall": lambda a, b: ("allto_all", a, b, 16, BYTES),
}


def pair(name):
    return [array(size) for size in SIZES.get(name, (8, 8))]


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_nccl_is_given(comm, bindings, name):
    a, b = pair(name)
    with drv.Stream() as stream:
        OPERATIONS[name](comm, a, b)
    assert taken(bindings) == (*GIVEN[name](a.ptr, b.ptr), stream.handle)


def test_a_stream_that_is_given(comm, bindings):
    stream = drv.Stream()
    comm.send(array(), 0, stream=stream)
    assert taken(bindings)[-1] == stream.handle


@pytest.mark.parametrize("name", sorted(SENDS))
def test_what_is_sent_is_contiguous(comm, bindings, name):
    for wrong in array(16)[::2], array(8)[::-1], array((4, 4))[:, :2]:
        with pytest.raises(ValueError, match=r"needs a contiguous array, and strides .* pass a\.copy\(\)"):
            OPERATIONS[name](comm, wrong, array())
    assert bindings.calls == []


@pytest.mark.parametrize("name", sorted(RECEIVES))
def test_what_is_received_is_contiguous_and_writeable(comm, bindings, name):
    with pytest.raises(ValueError, match="needs a contiguous array"):
        OPERATIONS[name](comm, array(), array(16)[::2])
    with pytest.raises(ValueError, match="read-only"):
        OPERATIONS[name](comm, array(), _driver._forbid_writing(array()))
    assert bindings.calls == []


@pytest.mark.parametrize("name", sorted(SENDS & RECEIVES))
def test_both_arrays_have_one_dtype_and_room(comm, bindings, name):
    a, b = pair(name)
    with pytest.raises(TypeError, match="what is sent is float32, what is received int32"):
        OPERATIONS[name](comm, a, b.astype(np.int32))
    with pytest.raises(ValueError, match=f"has {b.size - 1} elements, {b.size} are needed"):
        OPERATIONS[name](comm, a, b[1:])
    assert bindings.calls == []


def test_fortran_order_goes_in_the_order_of_memory(comm, bindings):
    a = array((3, 4), order="F")
    comm.send(a, 0)
    assert taken(bindings)[:3] == ("send", a.ptr, 48)


@pytest.mark.parametrize("dtype", ["int16", "bool", "complex128", "datetime64[s]", "i4,f8", "float32"])
def test_elements_of_all_types_are_moved(comm, bindings, dtype):
    a = gpuarray.empty((3, 4), np.dtype(dtype))
    comm.send(a, 0)
    assert taken(bindings)[:4] == ("send", a.ptr, a.nbytes, BYTES)


TYPES = ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", TYPES)
def test_types_of_reductions(comm, bindings, dtype):
    a = gpuarray.zeros(4, dtype)
    comm.allreduce(a, a, PROD)
    assert taken(bindings)[3:5] == (4, TYPES.index(dtype))


@pytest.mark.parametrize(("dtype", "part"), [("complex64", 7), ("complex128", 8)])
@pytest.mark.parametrize("op", [SUM, AVG])
def test_complex_numbers_are_added_as_pairs(comm, bindings, op, dtype, part):
    a, b = array((2, 3), dtype, "F"), array((2, 3), dtype, "F")
    comm.allreduce(a, b, op)
    assert taken(bindings)[:6] == ("all_reduce", a.ptr, b.ptr, 12, part, op)


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
def test_reductions_that_nccl_does_not_have(comm, bindings, dtype, op, message):
    a, b = gpuarray.empty(4, np.dtype(dtype)), gpuarray.empty(4, np.dtype(dtype))
    for call in comm.allreduce, comm.reduce_scatter:
        with pytest.raises(TypeError, match=message):
            call(a, b, op)
    with pytest.raises(TypeError, match=message):
        comm.reduce(a, b, op, 1)
    assert bindings.calls == []


def test_booleans_have_any_and_all(comm, bindings):
    a = gpuarray.zeros(4, bool)
    comm.allreduce(a, a, MAX)
    assert taken(bindings)[3:6] == (4, BYTES, MAX)


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
def test_in_place(comm, bindings, name):
    OPERATIONS[name](comm, *IN_PLACE[name](array()))
    assert len(bindings.calls) == 1


@pytest.mark.parametrize("name", sorted(SENDS & RECEIVES))
def test_other_overlaps_are_refused(comm, bindings, name):
    whole = array(12)
    pairs = {
        "reduce_scatter": (whole[:8], whole[5:9]),
        "allgather": (whole[5:9], whole[:8]),
        "gather": (whole[3:7], whole[:8]),
        "scatter": (whole[:8], whole[2:6]),
    }
    with pytest.raises(ValueError, match="the arrays overlap"):
        OPERATIONS[name](comm, *pairs.get(name, (whole[:8], whole[4:])))
    assert bindings.calls == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_arrays_without_elements(comm, bindings, name):
    """A rank that has none takes part: the others wait for it."""
    OPERATIONS[name](comm, array(0), array(0))
    (call,) = bindings.calls
    assert set(call[1:3]) <= {0}


@pytest.mark.parametrize("name", OPERATIONS)
def test_freed_memory(comm, bindings, name):
    a, b = pair(name)
    a.gpudata.free()
    b.gpudata.free()
    with pytest.raises(drv.LogicError, match="was freed"):
        OPERATIONS[name](comm, a, b)
    assert bindings.calls == []


def test_only_the_root_needs_both_arrays(comm, bindings):
    comm.broadcast(None, array(), 0)
    comm.reduce(array(), None, SUM, 0)
    comm.gather(array(), None, 0)
    comm.scatter(None, array(), 0)
    assert [call[0] for call in bindings.calls] == ["broadcast", "reduce", "gather", "scatter"]


def test_arrays_of_other_libraries(comm, bindings):
    a = array()

    class Other:
        __cuda_array_interface__ = a.__cuda_array_interface__

    comm.allreduce(Other(), Other(), SUM)
    assert taken(bindings)[:4] == ("all_reduce", a.ptr, a.ptr, 8)
    with pytest.raises(TypeError, match="NCCL needs an array on the device, not ndarray"):
        comm.send(np.zeros(3), 0)


def test_attributes_are_those_of_nccl4py(comm):
    assert comm.nranks == 2 and comm.rank == 1
    assert "nranks=2" in repr(comm)


def test_a_destroyed_communicator(comm, bindings):
    comm.comm.ptr = 0
    with pytest.raises(RuntimeError, match="the communicator was destroyed"):
        comm.send(array(), 0)
    assert bindings.calls == []


@pytest.mark.cpu("on a GPU it is no error")
def test_the_cpu_device_has_no_nccl():
    with pytest.raises(RuntimeError, match="NCCL needs NVIDIA's driver"):
        pycuda.nccl.init_all()
