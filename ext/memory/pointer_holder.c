/* PointerHolderBase: what a program derives from to pass device memory of its own making. */

#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/errors.h"

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
    PyObject *given[2];
    size_t size = 0, offset = 0;
    CUdeviceptr pointer;
    if (convert_arguments(as_buffer_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_size(given[0], "size", &size) < 0 || convert_size(given[1], "offset", &offset) < 0
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

static PyMemberDef holder_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PointerHolderObject, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(holder_doc,
             "PointerHolderBase()\n--\n\n"
             "Base class for objects that stand for device memory allocated elsewhere.\n\n"
             "A subclass defines get_pointer(), which returns the address; its objects are taken\n"
             "wherever a DeviceAllocation is.");

static PyType_Slot holder_slots[] = {
    {Py_tp_doc, (void *)holder_doc},
    {Py_tp_new, AS_SLOT(PyType_GenericNew)},
    {Py_tp_init, AS_SLOT(holder_init)},
    {Py_tp_dealloc, AS_SLOT(holder_dealloc)},
    {Py_tp_methods, holder_methods},
    {Py_tp_members, holder_members},
    {Py_nb_int, AS_SLOT(holder_int)},
    {Py_nb_index, AS_SLOT(holder_int)},
    {0, NULL},
};

static PyType_Spec holder_spec = {
    .name = "pycuda.driver.PointerHolderBase",
    .basicsize = sizeof(PointerHolderObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = holder_slots,
};

int pointer_holder_setup(PyObject *module, ModuleState *state)
{
    return state_add_type(module, &state->PointerHolderBase_type, &holder_spec, NULL);
}
