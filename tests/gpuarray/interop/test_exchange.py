"""DLPack's exchange tables (DLPackExchangeAPI, 1.3): GPUArray's, and those of other libraries' types."""

import ctypes
import weakref

import numpy as np
import pytest
from dlpack_abi import CPU, CUDA, Producer, Tensor, Versioned, capsule_pointer, new_capsule

import pycuda.driver as drv
from pycuda import gpuarray

NAME = b"dlpack_exchange_api"
SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
Allocate = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.POINTER(Versioned)), ctypes.c_void_p, SetError
)
Export = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Versioned)))
Import = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Versioned), ctypes.POINTER(ctypes.c_void_p))
Borrow = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
Stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    """DLPackExchangeAPI. take: import; borrow: describe without ownership; stream: the current one."""

    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("previous", ctypes.c_void_p),
        ("allocate", Allocate),
        ("export", Export),
        ("take", Import),
        ("borrow", Borrow),
        ("stream", Stream),
    ]


pytestmark = pytest.mark.usefixtures("nothing_in_flight")


@pytest.fixture
def table():
    return Table.from_address(capsule_pointer(gpuarray.GPUArray.__dlpack_c_exchange_api__, NAME))


# ---- our table


def test_version_and_entries(table):
    assert tuple(table.version) == (1, 3) and table.previous is None
    assert all(getattr(table, name) for name in ("allocate", "export", "take", "borrow", "stream"))


@pytest.mark.parametrize("view", [..., np.s_[::-1, 1::2], np.s_[0, 0], np.s_[:0]])
def test_borrowed_tensors_describe_the_array(table, ours, view):
    array, tensor = ours[view], Tensor()
    assert table.borrow(array, tensor) == 0
    assert (tensor.data or 0) == (array.ptr if array.size else 0) and tensor.ndim == array.ndim
    assert tensor.device.kind == CUDA and tensor.dtype.bits == 32
    if array.ndim:
        assert tuple(tensor.shape[: array.ndim]) == array.shape
        assert [4 * stride for stride in tensor.strides[: array.ndim]] == list(array.strides)


def test_borrowing_many_axes(table):
    array, tensor = gpuarray.zeros((1, 2, 1, 2, 3, 1, 2), np.int16), Tensor()
    assert table.borrow(array, tensor) == 0
    assert tuple(tensor.shape[:7]) == array.shape
    assert [2 * stride for stride in tensor.strides[:7]] == list(array.strides)
    assert array.shape == (1, 2, 1, 2, 3, 1, 2)


def test_export_and_import(table, host, ours):
    array, out, again = ours[1:], ctypes.POINTER(Versioned)(), ctypes.c_void_p()
    reference = weakref.ref(array)
    assert table.export(array, out) == 0 and tuple(out.contents.version) == (1, 3)
    del array
    assert reference() is not None
    assert table.take(out, again) == 0
    result = ctypes.cast(again, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(result))
    assert type(result) is gpuarray.GPUArray and (result.get() == host[1:]).all()
    del result
    drv.Context.synchronize()
    assert reference() is None


def test_structures_and_other_objects_are_refused(table):
    structure, out, tensor = gpuarray.zeros(3, [("a", "i4")]), ctypes.POINTER(Versioned)(), Tensor()
    for call in (lambda: table.export(structure, out), lambda: table.borrow(structure, tensor)):
        with pytest.raises(BufferError, match="dtype"):
            call()
    for call in (lambda: table.export(5, out), lambda: table.borrow(5, tensor)):
        with pytest.raises(TypeError, match="GPUArray"):
            call()
    assert not out


def test_a_tensor_that_cannot_be_imported_stays_with_its_owner(table, ours):
    producer, again = Producer(ours, version=(2, 0)), ctypes.c_void_p()
    managed = producer.managed()
    with pytest.raises(BufferError, match="version"):
        table.take(ctypes.pointer(managed), again)
    assert producer.deleted == 0 and not again
    managed.deleter(ctypes.pointer(managed))


def test_current_stream(table):
    stream = ctypes.c_void_p(7)  # any value that the call must replace
    assert table.stream(CUDA, 0, stream) == 0 and not stream.value
    assert table.stream(CPU, 0, stream) == 0 and not stream.value
    with drv.Stream() as ours:
        assert table.stream(CUDA, 0, stream) == 0 and stream.value == ours.handle


def like(shape, *, code=2, bits=32, kind=CUDA):
    """A DLPack tensor without memory, of this shape, dtype (code 2: float) and kind of device."""
    tensor, numbers = Tensor(), (ctypes.c_int64 * len(shape))(*shape)
    tensor.device.kind, tensor.ndim, tensor.shape = kind, len(shape), numbers
    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, 1
    return tensor


def test_allocation(table):
    """The table's allocate() may be called without the GIL, as ctypes does here."""
    out, errors = ctypes.POINTER(Versioned)(), []
    set_error = SetError(lambda context, kind, message: errors.append((kind, message)))
    assert table.allocate(like((3, 5)), out, None, set_error) == 0 and not errors
    tensor = out.contents.tensor
    assert tensor.shape[:2] == [3, 5] and tensor.strides[:2] == [5, 1] and tensor.data
    out.contents.deleter(out)
    for bad in like((3,), code=3), like((3,), kind=CPU), like((-1,)), like((1,) * 65):
        assert table.allocate(bad, out, None, set_error) == -1
    assert [kind for kind, _ in errors] == [b"BufferError", b"BufferError", b"ValueError", b"BufferError"]


CONSUMER = """
#include <stdint.h>
#include <string.h>

typedef struct { uint32_t major, minor; } version;
typedef struct { int32_t type, id; } device;
typedef struct { uint8_t code, bits; uint16_t lanes; } dtype;
typedef struct {
    void *data; device where; int32_t ndim; dtype kind; int64_t *shape, *strides; uint64_t offset;
} tensor;
typedef struct managed {
    version number; void *context; void (*deleter)(struct managed *); uint64_t flags; tensor array;
} managed;
typedef struct table {
    version number;
    struct table *previous;
    int (*allocate)(tensor *, managed **, void *, void (*)(void *, const char *, const char *));
    int (*export)(void *, managed **);
    int (*take)(managed *, void **);
    int (*borrow)(void *, tensor *);
    int (*stream)(int32_t, int32_t, void **);
} table;

/* The number of elements of an array; -1 on an error, or if the borrowed and the exported tensor differ. */
long count(table *api, void *object)
{
    tensor borrowed;
    managed *owned;
    void *stream, *again;
    long sizes[2] = {1, 1};
    if (api->number.major != 1 || api->borrow(object, &borrowed) || api->export(object, &owned)) return -1;
    if (api->stream(borrowed.where.type, borrowed.where.id, &stream)) return -1;
    for (int i = 0; i < borrowed.ndim; i++) sizes[0] *= borrowed.shape[i], sizes[1] *= owned->array.shape[i];
    if (memcmp(&borrowed.where, &owned->array.where, sizeof borrowed.where)) return -1;
    if (borrowed.data != owned->array.data) return -1;
    owned->deleter(owned);
    return sizes[0] == sizes[1] ? sizes[0] : -1;
}

/* A new reference to the array that is imported of an object's exported tensor. */
void *round_trip(table *api, void *object)
{
    managed *owned;
    void *again = 0;
    if (api->export(object, &owned)) return 0;
    if (api->take(owned, &again)) owned->deleter(owned);
    return again;
}
"""


def test_a_consumer_in_c(compiled, table, host, ours):
    library = ctypes.PyDLL(compiled(CONSUMER))
    library.count.argtypes, library.count.restype = [ctypes.c_void_p, ctypes.py_object], ctypes.c_long
    library.round_trip.argtypes, library.round_trip.restype = library.count.argtypes, ctypes.py_object
    address = ctypes.addressof(table)
    assert library.count(address, ours) == 12 and library.count(address, ours[:, :0]) == 0
    assert (library.round_trip(address, ours.T).get() == host.T).all()


# ---- tables of other libraries' types


def make_table(changes):
    """A class of arrays of another library that has an exchange table and no __dlpack__().

    changes: "version" and "previous", fields of the table; "borrows": False for a table without borrow();
    "stream": the handle that stream() gives. Attributes of the class: table, and calls_of, the names of the
    table's functions in the order of their calls.
    """
    calls = []

    class Tensors(Producer):
        __dlpack__ = None

    def export(object, out):
        calls.append("export")
        out[0] = ctypes.pointer(object.managed())
        return 0

    def borrow(object, out):
        calls.append("borrow")
        object.fill(out[0])
        return 0

    def stream(kind, number, out):
        calls.append("stream")
        out[0] = changes.get("stream")
        return 0

    table = Table()
    table.version[:] = changes.get("version", (1, 3))
    table.previous = changes.get("previous")
    table.export, table.stream = Export(export), Stream(stream)
    if changes.get("borrows", True):
        table.borrow = Borrow(borrow)
    Tensors.table, Tensors.calls_of = table, calls
    Tensors.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(table), NAME, None)
    return Tensors


def test_operands_are_borrowed(host, ours):
    tensors = make_table({})
    theirs = tensors(ours.copy())
    reference = weakref.ref(theirs)
    assert ((ours + theirs).get() == 2 * host).all() and ((theirs * ours).get() == host**2).all()
    assert gpuarray.sum(theirs).get() == host.sum()
    assert tensors.calls_of == ["borrow", "stream"] * 3 and theirs.deleted == 0
    ours[...] = tensors(gpuarray.to_gpu(host[::-1].copy())[::-1])
    assert (ours.get() == host).all()
    del theirs
    assert reference() is None, "its stream is ours: nothing is kept"


def test_operands_of_a_table_without_borrow_are_exported(host, ours):
    tensors = make_table({"borrows": False})
    theirs = tensors(ours.copy())
    assert ((ours + theirs).get() == 2 * host).all()
    assert tensors.calls_of == ["export", "stream"] and theirs.deleted == 1


def test_from_dlpack_keeps_the_memory_and_not_the_object(host, ours):
    tensors = make_table({})
    theirs = tensors(ours)
    array = gpuarray.from_dlpack(theirs)
    assert tensors.calls_of == ["export", "stream"] and theirs.deleted == 0
    assert (array.get() == host).all()
    del array
    assert theirs.deleted == 1


def test_an_older_table_is_used_if_the_newer_is_unknown(host, ours):
    older = make_table({})
    newer = make_table({"version": (2, 0), "previous": ctypes.addressof(older.table)})
    assert ((ours + newer(ours)).get() == 2 * host).all()
    assert older.calls_of == ["borrow", "stream"] and newer.calls_of == []
    with pytest.raises(TypeError):
        ours + make_table({"version": (2, 0)})(ours)


def test_owners_are_kept_while_another_stream_uses_them(host, ours):
    stream = drv.Stream()
    tensors = make_table({"stream": stream.handle})
    theirs = tensors(ours.copy())
    reference = weakref.ref(theirs)
    assert ((ours + theirs).get() == 2 * host).all()
    gpuarray.maximum(theirs, 1, stream=stream)
    del theirs
    drv.Context.synchronize()
    assert reference() is None


def test_errors_of_tables(ours):
    tensors = make_table({})
    for changes in {"code": 3}, {"kind": 10}, {"ndim": 65}:
        with pytest.raises(BufferError):
            ours + tensors(ours, **changes)
    with pytest.raises(TypeError, match="to_gpu"):
        ours + tensors(np.ones(4, np.float32), kind=CPU)
    silent = make_table({})
    silent.table.borrow = Borrow(lambda object, out: -1)
    with pytest.raises(BufferError, match="without an exception"):
        ours + silent(ours)
