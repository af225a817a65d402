"""a.shape = , a.strides = and a.dtype = do what NumPy's do, or refuse what NumPy's refuse."""

import warnings

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

# Views of an array of shape (4, 6), to which the attributes are assigned.
MAKE = {
    "C": lambda a: a,
    "F": lambda a: a.T,
    "rows": lambda a: a[1:3],
    "columns": lambda a: a[:, 2:4],
    "steps": lambda a: a[::2, ::3],
    "reversed": lambda a: a[::-1, ::-1],
    "a column": lambda a: a[:, 1:2],
    "empty": lambda a: a[:0],
    "no axes": lambda a: a[1, 1],
    "many axes": lambda a: a.reshape(1, 2, 2, 1, 3, 2, 1),
}
ASSIGN = {
    "shape": [24, (24,), (4, 6), (6, 4), (-1, 3), (2, -1, 2), (2, 2, 2, 3, 1, 1), (8,), (4,), (4, 1), (), 1]
    + [(1, 1), (5,), (-1, -1), (-1, 5), (0, 7), (0, -1), (1,) * 65, "x", 1.5, (1.5, 2), None],
    "strides": [(24, 4), (4, 24), (4,), (-24, -4), (0, 0), (48, 8), (24, 4, 0), (2, 2), (-4, 4), (8, -4), ()]
    + [(2**62, 4), (2**63, 4), (-(2**63), 4), (24, 1 << 40), (96,), "x", 4, (1.5, 4), (1,) * 7, None],
    "dtype": ["i4", "i1", "u2", "f8", "c8", "c16", "V4", "V12", "V5", "M8[s]", "f4,f4", object, "x", 5],
}
ROWS = [(name, value) for name, values in ASSIGN.items() for value in values]


def outcome(array, name, value):
    """Assigns to an attribute. Returns a tuple of the array's attributes after that, or the exception's
    class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of setting them in NumPy
        try:
            setattr(array, name, value)
        except (ValueError, TypeError, AttributeError, OverflowError) as problem:
            return type(problem)
    return array.shape, array.strides, array.dtype, array.size, array.nbytes, array.itemsize, array.ndim


def form(array):
    """The attributes that can be assigned to."""
    return array.shape, array.strides, array.dtype


def has_unused_strides(array):
    """Whether NumPy and we may choose other strides: no address depends on them."""
    return 0 in array.shape or 1 in array.shape


@pytest.mark.parametrize("name, value", ROWS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(ROWS)])
@pytest.mark.parametrize("make", MAKE)
def test_as_in_numpy(make, name, value):
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    numpys, ours = MAKE[make](host), MAKE[make](gpuarray.to_gpu(host))
    if make == "no axes":
        numpys = host[1, 1:2].reshape(())  # host[1, 1] is a scalar, which has no settable attributes
    before = form(ours)
    wanted, got = outcome(numpys, name, value), outcome(ours, name, value)
    if isinstance(got, type):
        assert form(ours) == before
        # We refuse what NumPy refuses, and elements that would not be aligned.
        assert isinstance(wanted, type) or not numpys.flags.aligned, (wanted, got)
    else:
        assert not isinstance(wanted, type), (wanted, got)
        assert ours.shape == numpys.shape and ours.dtype == numpys.dtype
        assert has_unused_strides(numpys) or ours.strides == numpys.strides
        assert got[3:] == wanted[3:]
        assert ours.get().tobytes() == numpys.tobytes()


def test_operations_after_an_assignment_use_the_new_shape_strides_and_dtype():
    host = np.arange(24, dtype=np.float32)
    array = gpuarray.to_gpu(host)
    array.shape = 4, 6
    assert len(array) == 4 and array.ndim == 2
    assert ((array + array).get() == 2 * host.reshape(4, 6)).all()
    assert (array.sum(axis=0).get() == host.reshape(4, 6).sum(axis=0)).all()
    array.strides = 4, 16
    assert array.flags.f_contiguous and not array.flags.c_contiguous
    assert (array.get() == host.reshape(6, 4).T).all()
    array.strides = 24, 4
    array.dtype = np.int32
    assert ((array + 1).get() == host.view(np.int32).reshape(4, 6) + 1).all()
    array[1:3] = 7
    array.dtype = np.uint8
    assert array.shape == (4, 24) and array.get().view(np.int32)[1:3].tolist() == [[7] * 6] * 2


def test_strides_that_leave_the_memory_are_refused():
    """The memory is the whole allocation if that is known; given an address, what the first array spans."""
    memory = drv.mem_alloc(64)
    whole = gpuarray.GPUArray((4,), np.float32, gpudata=memory)
    whole.strides = (20,)
    for strides in (24,), (-4,):
        with pytest.raises(ValueError, match="strides is not compatible"):
            whole.strides = strides
    foreign = gpuarray.GPUArray((4, 2), np.float32, gpudata=int(memory), strides=(16, 4))
    part = foreign[1:3]
    part.strides = 16, 8
    part.strides = -16, 4
    for strides in (-20, 4), (32, 8):
        with pytest.raises(ValueError, match="strides is not compatible"):
            part.strides = strides
    with pytest.raises(ValueError, match="strides is not compatible"):
        foreign.strides = 16, 8
    assert foreign.strides == (16, 4) and part.strides == (-16, 4)


@pytest.mark.parametrize("name", ASSIGN)
def test_they_cannot_be_deleted(name):
    array = gpuarray.zeros(3, np.float32)
    with pytest.raises(AttributeError, match="Cannot delete array"):
        delattr(array, name)


@pytest.mark.parametrize("stride", [2**62, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("how", ["new", "allocation", "address"])
def test_new_arrays_of_strides_that_overflow(how, stride):
    memory = drv.mem_alloc(64)
    gpudata = {"new": None, "allocation": memory, "address": int(memory)}[how]
    with pytest.raises(ValueError):
        gpuarray.GPUArray((5,), np.int8, gpudata=gpudata, strides=(stride,))


@pytest.mark.parametrize("dimensions", [1, 2])
def test_an_allocator_that_changes_an_operand(dimensions):
    """The allocator of a result runs after the operands were examined; if it changes one, the operation
    raises."""

    def allocate(size):
        if armed:
            array.shape = (1, 2, 1, 3, 1, 2)
        return drv.mem_alloc(size)

    armed = False
    array = gpuarray.GPUArray((12,) if dimensions == 1 else (3, 4), np.float32, allocator=allocate)
    array.fill(1)
    armed = True
    with pytest.raises(RuntimeError, match="changed during"):
        array[::-1] + array
    armed = False
    assert array.shape == (1, 2, 1, 3, 1, 2) and ((array + array).get() == 2).all()


def test_an_allocator_that_changes_another_array():
    def allocate(size):
        other.shape = other.shape[::-1]
        return drv.mem_alloc(size)

    other = gpuarray.zeros((3, 4), np.float32)
    array = gpuarray.to_gpu(np.ones((3, 4), np.float32), allocator=allocate)
    before = other.shape
    total = array[::-1] + array
    assert other.shape == before[::-1] and (total.get() == 2).all()
