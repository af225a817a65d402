"""DLPack's structures for ctypes, written from its specification, and producers made of them."""

import ctypes

import numpy as np

# DLDeviceType; DLDataTypeCode by NumPy's kind.
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
OPAQUE_HANDLE = 3  # the DLDataTypeCode of any other kind


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class Dtype(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", Dtype),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Plain(ctypes.Structure):
    """DLManagedTensor."""


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""


PlainDeleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(Plain))
VersionedDeleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(Versioned))
Plain._fields_ = [("tensor", Tensor), ("owner", ctypes.c_void_p), ("deleter", PlainDeleter)]
Versioned._fields_ = [
    ("version", ctypes.c_uint32 * 2),
    ("owner", ctypes.c_void_p),
    ("deleter", VersionedDeleter),
    ("flags", ctypes.c_uint64),
    ("tensor", Tensor),
]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = (
    ctypes.py_object,
    [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
)
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
capsule_name = ctypes.pythonapi.PyCapsule_GetName
capsule_name.restype, capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
rename_capsule = ctypes.pythonapi.PyCapsule_SetName
rename_capsule.restype, rename_capsule.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]

PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"


def read(capsule):
    """The structure (Plain or Versioned) in a capsule that was not consumed yet."""
    name = capsule_name(capsule)
    kind = {PLAIN: Plain, VERSIONED: Versioned}[name]
    return kind.from_address(capsule_pointer(capsule, name))


def take(capsule):
    """Consumes a capsule: returns its structure, whose deleter the caller must call."""
    managed = read(capsule)
    used = {PLAIN: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}[capsule_name(capsule)]
    take.names.append(used)  # the capsule does not copy its name
    assert rename_capsule(capsule, used) == 0
    return managed


take.names = []


undeleted = set()  # producers whose structure was not deleted yet: this keeps them and its memory alive


class Producer:
    """An array of another library in the memory of a GPUArray or of a NumPy array: it implements only DLPack.

    versioned: whether it exports DLManagedTensorVersioned. kind: its DLDeviceType. strides: if False, the
    pointer to strides is NULL. changes: fields of the structures that get another value (ndim, code, bits,
    lanes, number: the device ordinal, byte_offset, length: of the first axis, version, flags).

    Attributes: deleted counts calls of the deleter, calls has the keywords of each __dlpack__().
    """

    def __init__(self, array, *, versioned=True, kind=CUDA, strides=True, **changes):
        self.array, self.versioned, self.kind = array, versioned, kind
        self.strides, self.changes = strides, changes
        self.deleted, self.calls, self.kept = 0, [], []

    def __dlpack_device__(self):
        return self.kind, 0

    def fill(self, tensor):
        """Fills the fields of a Tensor with what describes the array, and with the changes."""
        array, changes = self.array, self.changes
        ndim = len(array.shape)
        numbers = (ctypes.c_int64 * max(2 * ndim, 1))(
            *array.shape, *(stride // array.dtype.itemsize for stride in array.strides)
        )
        self.kept.append(numbers)
        address = array.ctypes.data if isinstance(array, np.ndarray) else array.ptr if array.size else 0
        offset = changes.get("byte_offset", 0)
        tensor.data, tensor.byte_offset = (address - offset if address else None), offset
        tensor.device = Device(self.kind, changes.get("number", 0))
        tensor.ndim = changes.get("ndim", ndim)
        tensor.dtype = Dtype(
            changes.get("code", CODES.get(array.dtype.kind, OPAQUE_HANDLE)),
            changes.get("bits", 8 * array.dtype.itemsize),
            changes.get("lanes", 1),
        )
        tensor.shape = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int64))
        if self.strides:
            start = ctypes.addressof(numbers) + 8 * ndim
            tensor.strides = ctypes.cast(start, ctypes.POINTER(ctypes.c_int64))
        if "length" in changes:
            numbers[0] = changes["length"]

    def managed(self):
        """A new DLManagedTensor or DLManagedTensorVersioned, which lives until its deleter is called."""
        managed = Versioned() if self.versioned else Plain()
        self.fill(managed.tensor)

        def delete(_):
            self.deleted += 1
            undeleted.discard(self)

        managed.deleter = (VersionedDeleter if self.versioned else PlainDeleter)(delete)
        if self.versioned:
            managed.version[:] = self.changes.get("version", (1, 3))
            managed.flags = self.changes.get("flags", 0)
        self.kept.append(managed)
        undeleted.add(self)
        return managed

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        if not self.versioned and "max_version" in keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        managed = self.managed()
        name = VERSIONED if self.versioned else PLAIN
        return new_capsule(ctypes.addressof(managed), name, None)
