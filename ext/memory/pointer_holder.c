/* PointerHolderBase: what a program derives from to pass device memory of its own making. */

#include "ext/base/errors.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/device_pointer.h"

typedef struct PointerHolderObject {
    PyObject_HEAD
    PyObject *weak_references;
} PointerHolderObject;

static int holder_init(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return 0;
}

static void holder_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (((PointerHolderObject *)self)->weak_references) PyObject_ClearWeakRefs(self);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *holder_get_pointer(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyErr_Format(PyExc_NotImplementedError, "%s must define get_pointer()", Py_TYPE(self)->tp_name);
}

static PyObject *holder_int(PyObject *self)
{
    ModuleState *state = state_of_type(Py_TYPE(self));
    CUdeviceptr pointer;
    return convert_pointer(state, self, &pointer) < 0 ? NULL : PyLong_FromUnsignedLongLong(pointer);
}

static PyObject *holder_long(PyObject *self, PyObject *Py_UNUSED(none)) { return holder_int(self); }

PyDoc_STRVAR(as_buffer_doc, "as_buffer($self, size, offset=0)\n--\n\n"
                            "The device address as a buffer, unchecked.\n"
                            "\nParameters\n----------\n"
                            "size : int\n    Bytes.\n"
                            "offset : int\n    Bytes from the address to the first one of the buffer.\n"
                            "\nReturns\n-------\n"
                            "memoryview\n    Writable.");

static PyObject *holder_as_buffer(PyObject *self, FAST_PARAMETERS)
{
    size_t size = 0, offset = 0;
    CUdeviceptr pointer;
    if (READ_ARGUMENTS(as_buffer_doc, INTO(&size), INTO(&offset)) < 0
        || convert_pointer(state_of_type(Py_TYPE(self)), self, &pointer) < 0)
        return NULL;
    return PyMemoryView_FromMemory((char *)(uintptr_t)(pointer + offset), (Py_ssize_t)size, PyBUF_WRITE);
}

static PyMethodDef holder_methods[] = {
    {"get_pointer", holder_get_pointer, METH_NOARGS,
     "get_pointer($self)\n--\n\n"
     "The device address: to be defined by the subclass.\n"
     "\nReturns\n-------\n"
     "int"},
    {"as_buffer", AS_METHOD(holder_as_buffer), FAST_KEYWORDS, as_buffer_doc},
    {"__long__", holder_long, METH_NOARGS,
     "__long__($self)\n--\n\n"
     "The device address.\n"
     "\nReturns\n-------\n"
     "int"},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(holder_doc,
             "PointerHolderBase()\n--\n\n"
             "Base class for objects that stand for device memory allocated elsewhere.\n\n"
             "A subclass defines get_pointer(), which returns the address; its objects are taken\n"
             "wherever a DeviceAllocation is.");

const TypeSpec PointerHolderBase_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.PointerHolderBase", PointerHolderObject, Py_TPFLAGS_BASETYPE,
                              holder_doc),
    .tp_new = PyType_GenericNew,
    .tp_init = holder_init,
    .tp_dealloc = holder_dealloc,
    .nb_int = holder_int,
    .nb_index = holder_int,
    TYPE_TABLES(holder_methods, NULL, NULL),
};
