/* See device.h. */
#include "ext/context/device.h"

#include <ctype.h>
#include <string.h>

#include "ext/base/constants.h"
#include "ext/base/types.h"
#include "ext/context/context.h"
#include "ext/context/resource.h"
#include "ext/convert/driver_method.h"

enum { NAME_SIZE = 256, ATTRIBUTE_NAME_SIZE = 128 };

static PyObject *new_of_type(PyTypeObject *type, ModuleState *state, CUdevice handle)
{
    PyObject *self = type->tp_alloc(type, 0);
    if (self) {
        device_cast(self)->state = state;
        device_cast(self)->handle = handle;
    }
    return self;
}

PyObject *device_new(ModuleState *state, CUdevice handle)
{
    return new_of_type(state->Device_type, state, handle);
}

PyDoc_STRVAR(device_doc, "Device(number)\n--\n\n"
                         "A device. Two Device objects are equal if they refer to the same device.\n\n"
                         "Initializes the driver if that was not done.\n"
                         "\nParameters\n----------\n"
                         "number : int or str\n"
                         "    The ordinal, or the PCI address like \"0000:01:00.0\" (the keyword may be\n"
                         "    ``pci_bus_id``).\n"
                         "\nRaises\n------\n"
                         "LogicError\n    There is no such device.\n"
                         "\nNotes\n-----\n"
                         "Calls cuDeviceGet, cuDeviceGetByPCIBusId.");

static PyObject *device_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *given[1];
    CUdevice handle;
    int number = 0;
    if (convert_call(device_doc, args, kwargs, GIVEN(given)) < 0) return NULL;
    if (context_init_default(state) < 0) return NULL;
    if (PyUnicode_Check(given[0])) {
        const char *bus = PyUnicode_AsUTF8(given[0]);
        if (!bus) return NULL;
        CUresult result = try_cuDeviceGetByPCIBusId(state, &handle, bus);
        return result == CUDA_SUCCESS ? new_of_type(type, state, handle)
                                      : raise_driver(state, result, "cuDeviceGetByPCIBusId", "%.40s", bus);
    }
    if (convert_int(given[0], "a device ordinal", &number) < 0) return NULL;
    CUresult result;
    result = try_cuDeviceGet(state, &handle, number);
    return result == CUDA_SUCCESS ? new_of_type(type, state, handle)
                                  : raise_driver(state, result, "cuDeviceGet", "device %d", number);
}

PyDoc_STRVAR(count_doc, "count($type)\n--\n\n"
                        "Count the devices; initializes the driver if that was not done.\n"
                        "\nReturns\n-------\n"
                        "int\n"
                        "\nRaises\n------\n"
                        "Error\n    The driver cannot be initialized, as init() says.\n"
                        "\nNotes\n-----\n"
                        "Calls cuDeviceGetCount.");

static PyObject *device_count(PyObject *cls, PyObject *Py_UNUSED(none))
{
    ModuleState *state = state_of_type((PyTypeObject *)cls);
    int count;
    if (context_init_default(state) < 0) return NULL;
    return gpu_cuDeviceGetCount(state, &count) < 0 ? NULL : PyLong_FromLong(count);
}

static PyObject *as_text(const char *text, size_t size)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strnlen(text, size), "replace");
}

#define SELF_IS \
    ModuleState *state = device_cast(self)->state; \
    CUdevice handle = device_cast(self)->handle
#define CALL(...) DRIVER_METHOD(SELF_IS, __VA_ARGS__)
#define ASK(...) DRIVER_METHOD_OF_NOTHING(SELF_IS, __VA_ARGS__)
#include "ext/context/device_calls.def"
#undef SELF_IS

static CUresult read_attribute(PyObject *self, unsigned attribute, int *value)
{
    return try_cuDeviceGetAttribute(device_cast(self)->state, value, attribute, device_cast(self)->handle);
}

PyDoc_STRVAR(compute_capability_doc, "compute_capability($self)\n--\n\n"
                                     "Read the compute capability of the device.\n"
                                     "\nReturns\n-------\n"
                                     "(major, minor) : tuple of int\n"
                                     "\nNotes\n-----\n"
                                     "Calls cuDeviceGetAttribute.");

static PyObject *device_compute_capability(PyObject *self, PyObject *Py_UNUSED(none))
{
    int major = 0, minor = 0;
    CUresult result = read_attribute(self, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major);
    if (result == CUDA_SUCCESS)
        result = read_attribute(self, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor);
    if (result != CUDA_SUCCESS)
        return raise_driver(device_cast(self)->state, result, "cuDeviceComputeCapability", NULL);
    return Py_BuildValue("(ii)", major, minor);
}

/* ---- Attributes ---- */

static PyObject *attribute_value(ModuleState *state, unsigned attribute, int value)
{
    return attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE ? constants_member(state, state->compute_mode, value)
                                                         : PyLong_FromLong(value);
}

PyDoc_STRVAR(get_attribute_doc,
             "get_attribute($self, attr)\n--\n\n"
             "Read an attribute of the device.\n\n"
             "Each is an attribute of the Device as well, in lower case: ``dev.warp_size``.\n"
             "\nParameters\n----------\n"
             "attr : device_attribute\n"
             "\nReturns\n-------\n"
             "int\n    For COMPUTE_MODE a compute_mode.\n"
             "\nRaises\n------\n"
             "LogicError\n    The driver does not know the attribute.\n"
             "\nNotes\n-----\n"
             "Calls cuDeviceGetAttribute.");

static PyObject *find_attribute(PyObject *self, unsigned number)
{
    ModuleState *state = device_cast(self)->state;
    int value = 0;
    CUresult result = read_attribute(self, number, &value);
    return result == CUDA_SUCCESS
               ? attribute_value(state, number, value)
               : raise_driver(state, result, "cuDeviceGetAttribute", "attribute %u", number);
}

static PyObject *device_get_attribute(PyObject *self, FAST_PARAMETERS)
{
    unsigned number;
    return READ_ARGUMENTS(get_attribute_doc, INTO(&number)) < 0 ? NULL : find_attribute(self, number);
}

/* Adds the attribute `member` of the device to the dict `values`, or its name to the list `refused` when the
 * driver does not know it. */
static int add_attribute(PyObject *self, PyObject *name, PyObject *member, PyObject *values,
                         PyObject *refused)
{
    ModuleState *state = device_cast(self)->state;
    unsigned number = 0;
    int value = 0;
    if (convert_unsigned(member, "attr", &number) < 0) return -1;
    CUresult result = read_attribute(self, number, &value);
    if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED)
        return PyList_Append(refused, name);
    if (result != CUDA_SUCCESS) {
        raise_driver(state, result, "cuDeviceGetAttribute", "attribute %u", number);
        return -1;
    }
    PyObject *shown = attribute_value(state, number, value);
    int status = shown ? PyDict_SetItem(values, member, shown) : -1;
    Py_XDECREF(shown);
    return status;
}

/* Warns if the list of names is not empty. -1 when the warning became an exception. */
static int warn_refused(PyObject *refused)
{
    if (PyList_GET_SIZE(refused) == 0) return 0;
    PyObject *comma = PyUnicode_FromString(", "), *names = comma ? PyUnicode_Join(comma, refused) : NULL;
    int status = names ? PyErr_WarnFormat(PyExc_UserWarning, 1,
                                          "the driver does not support these attributes: %U", names)
                       : -1;
    Py_XDECREF(comma);
    Py_XDECREF(names);
    return status;
}

PyDoc_STRVAR(get_attributes_doc, "get_attributes($self)\n--\n\n"
                                 "Read all attributes. A warning names those that the driver does not know.\n"
                                 "\nReturns\n-------\n"
                                 "dict\n    From device_attribute to int.\n"
                                 "\nNotes\n-----\n"
                                 "Calls cuDeviceGetAttribute.");

static PyObject *device_get_attributes(PyObject *self, PyObject *Py_UNUSED(none))
{
    ModuleState *state = device_cast(self)->state;
    PyObject *members = PyObject_GetAttr(state->device_attribute, state->str_names), *name, *member;
    PyObject *values = PyDict_New(), *refused = PyList_New(0);
    Py_ssize_t position = 0;
    bool good = members && PyDict_Check(members) && values && refused;
    while (good && PyDict_Next(members, &position, &name, &member))
        good = add_attribute(self, name, member, values, refused) == 0;
    if (!good || warn_refused(refused) < 0) Py_CLEAR(values);
    Py_XDECREF(members);
    Py_XDECREF(refused);
    return values;
}

/* The device_attribute of a name in lower case: borrowed, NULL when there is none. */
static PyObject *find_shortcut(PyObject *members, PyObject *name)
{
    char upper[ATTRIBUTE_NAME_SIZE];
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text || (size_t)length >= sizeof upper) return NULL;
    for (Py_ssize_t i = 0; i <= length; i++) {
        if (isupper((unsigned char)text[i])) return NULL;
        upper[i] = (char)toupper((unsigned char)text[i]);
    }
    return PyDict_GetItemString(members, upper);
}

static PyObject *device_getattro(PyObject *self, PyObject *name)
{
    ModuleState *state = device_cast(self)->state;
    PyObject *found = PyObject_GenericGetAttr(self, name), *type, *value, *trace;
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *members = PyObject_GetAttr(state->device_attribute, state->str_names);
    PyObject *member = members ? find_shortcut(members, name) : NULL;
    PyErr_Clear();
    if (!member) {
        PyErr_Restore(type, value, trace);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        found = find_attribute(self, (unsigned)PyLong_AsUnsignedLong(member));
    }
    Py_XDECREF(members);
    return found;
}

/* ---- Contexts ---- */

PyDoc_STRVAR(make_context_doc,
             "make_context($self, flags=0)\n--\n\n"
             "Create a context and push it on the calling thread's stack.\n\n"
             "To share memory with other libraries, use retain_primary_context. A ``with`` block\n"
             "over a context in which nothing was made yet ends by taking it off the stack again.\n"
             "\nParameters\n----------\n"
             "flags : ctx_flags\n"
             "\nReturns\n-------\n"
             "Context\n"
             "\nNotes\n-----\n"
             "Calls cuCtxCreate.");

static PyObject *device_make_context(PyObject *self, FAST_PARAMETERS)
{
    unsigned flags = 0;
    if (READ_ARGUMENTS(make_context_doc, INTO(&flags)) < 0) return NULL;
    if (forked_after_init())
        return raise_driver(device_cast(self)->state, CUDA_ERROR_NOT_INITIALIZED, "cuCtxCreate", NULL);
    return context_create(device_cast(self)->state, device_cast(self)->handle, flags);
}

PyDoc_STRVAR(retain_primary_context_doc,
             "retain_primary_context($self)\n--\n\n"
             "Retain the device's primary context, which every library that uses the CUDA runtime\n"
             "shares.\n\n"
             "It is not made current: call push() or use ``with``.\n"
             "\nReturns\n-------\n"
             "Context\n"
             "\nNotes\n-----\n"
             "Calls cuDevicePrimaryCtxRetain.");

static PyObject *device_retain_primary_context(PyObject *self, PyObject *Py_UNUSED(none))
{
    if (forked_after_init())
        return raise_driver(device_cast(self)->state, CUDA_ERROR_NOT_INITIALIZED, "cuDevicePrimaryCtxRetain",
                            NULL);
    return context_retain_primary(device_cast(self)->state, device_cast(self)->handle);
}

/* ---- The type ---- */

static PyObject *device_compare(PyObject *left, PyObject *right, int operation)
{
    bool alike = PyObject_TypeCheck(right, device_cast(left)->state->Device_type);
    return type_compare(alike, alike && device_cast(left)->handle == device_cast(right)->handle, operation);
}

static Py_hash_t device_hash(PyObject *self)
{
    return device_cast(self)->handle == -1 ? -2 : device_cast(self)->handle;
}

static PyObject *device_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<pycuda.driver.Device %d>", (int)device_cast(self)->handle);
}

static PyMethodDef device_methods[] = {
    {"count", device_count, METH_NOARGS | METH_CLASS, count_doc},
    {"compute_capability", device_compute_capability, METH_NOARGS, compute_capability_doc},
    {"get_attribute", AS_METHOD(device_get_attribute), FAST_KEYWORDS, get_attribute_doc},
    {"get_attributes", device_get_attributes, METH_NOARGS, get_attributes_doc},
    {"make_context", AS_METHOD(device_make_context), FAST_KEYWORDS, make_context_doc},
    {"retain_primary_context", device_retain_primary_context, METH_NOARGS, retain_primary_context_doc},
    {"get_resource", AS_METHOD(device_get_resource), FAST_KEYWORDS, device_get_resource_doc},
#define CALL(name, ...) {#name, AS_METHOD(name), FAST_KEYWORDS, name##_doc},
#define ASK(name, ...) {#name, name, METH_NOARGS, name##_doc},
#include "ext/context/device_calls.def"
    {NULL, NULL, 0, NULL},
};

static PyMemberDef device_members[] = {
    {"handle", T_INT, offsetof(DeviceObject, handle), READONLY, "The CUdevice as an int."},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec Device_spec = {
    TYPE_OF("pycuda.driver.Device", DeviceObject, Py_TPFLAGS_BASETYPE, device_doc),
    .tp_new = device_tp_new,
    .tp_repr = device_repr,
    .tp_hash = device_hash,
    .tp_richcompare = device_compare,
    .tp_getattro = device_getattro,
    TYPE_TABLES(device_methods, NULL, device_members),
};

PyDoc_STRVAR(init_doc, "init(flags=0)\n--\n\n"
                       "Load the driver and initialize it. May be repeated.\n\n"
                       "A RuntimeWarning says so when the CPU device stands in for a GPU.\n"
                       "\nParameters\n----------\n"
                       "flags : int\n    Must be 0.\n"
                       "\nRaises\n------\n"
                       "RuntimeError\n    There is no device.\n"
                       "\nNotes\n-----\n"
                       "Calls cuInit.");

static PyObject *init(PyObject *module, FAST_PARAMETERS)
{
    unsigned flags = 0;
    if (READ_ARGUMENTS(init_doc, INTO(&flags)) < 0) return NULL;
    return context_init_driver(module_state(module), flags) < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef device_functions[] = {
    {"init", AS_METHOD(init), FAST_KEYWORDS, init_doc},
    {NULL, NULL, 0, NULL},
};
