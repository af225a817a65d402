/* The layout of another library's array, from its __cuda_array_interface__. See foreign.h. */
#include <string.h>

#include "ext/base/driver_calls.h"
#include "ext/base/numpy_api.h"
#include "ext/base/peer_access.h"
#include "ext/convert/convert.h"
#include "ext/convert/dlpack.h"
#include "ext/convert/foreign.h"

void foreign_layout_clear(ForeignLayout *layout)
{
    Py_CLEAR(layout->dtype);
    Py_CLEAR(layout->owner);
}

bool foreign_is_possible(ModuleState *state, PyObject *object)
{
    return !(Py_TYPE(object) == state->GPUArray_type || object == Py_None || object == Py_Ellipsis
             || PyLong_Check(object) || PyFloat_Check(object) || PyComplex_CheckExact(object)
             || PyUnicode_Check(object) || PyBytes_Check(object) || PyTuple_Check(object)
             || PyList_Check(object) || PyDict_Check(object) || PyType_Check(object) || PySlice_Check(object)
             || PyVectorcall_Function(object) /* functions, NumPy's among them */
             || PyArray_Check(object) || PyArray_IsScalar(object, Generic) || PyArray_DescrCheck(object)
             || Py_TYPE(object) == state->Stream_type || PyObject_TypeCheck(object, state->GPUArray_type));
}

/* An entry of the interface, a new reference; NULL without an exception when it is None or not there. */
static PyObject *interface_entry(PyObject *interface, const char *name)
{
    PyObject *value = PyMapping_GetItemString(interface, name);
    if (!value && PyErr_ExceptionMatches(PyExc_KeyError)) PyErr_Clear();
    if (value == Py_None) Py_CLEAR(value);
    return value;
}

/* out[]: the integers of a tuple. Returns how many there are, at most STRIDES_MAX_DIMS, or -1 with an
 * exception. what: the name of the entry. */
static int read_numbers(PyObject *value, const char *what, Py_ssize_t *out)
{
    PyObject *items = value ? PySequence_Tuple(value) : NULL;
    if (!items) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "__cuda_array_interface__ has no \"%s\"", what);
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    if (count > STRIDES_MAX_DIMS)
        PyErr_Format(PyExc_ValueError, "__cuda_array_interface__: %zd dimensions, at most %d are supported",
                     count, STRIDES_MAX_DIMS);
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++)
        out[i] = PyNumber_AsSsize_t(PyTuple_GET_ITEM(items, i), PyExc_OverflowError);
    Py_DECREF(items);
    return PyErr_Occurred() ? -1 : (int)count;
}

/* The dtype, a new reference; NULL with an exception. The entry typestr describes it completely, except for
 * structures: their fields are in the entry descr. */
static PyArray_Descr *read_dtype(PyObject *interface)
{
    PyArray_Descr *dtype = NULL;
    PyObject *text = interface_entry(interface, "typestr"), *fields = NULL;
    if (!text || !PyUnicode_Check(text)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "__cuda_array_interface__ has no \"typestr\" that is a str");
    } else if (PyArray_DescrConverter(text, &dtype) && dtype->type_num == NPY_VOID
               && (fields = interface_entry(interface, "descr"))) {
        Py_CLEAR(dtype);
        if (!PyArray_DescrConverter(fields, &dtype)) dtype = NULL;
    }
    Py_XDECREF(fields);
    Py_XDECREF(text);
    if (PyErr_Occurred() || (dtype && convert_check_byte_order(dtype, "__cuda_array_interface__") < 0))
        Py_CLEAR(dtype);
    if (dtype && PyDataType_REFCHK(dtype)) {
        PyErr_SetString(PyExc_TypeError, "__cuda_array_interface__: elements are Python objects");
        Py_CLEAR(dtype);
    }
    return dtype;
}

/* Reads shape and strides. layout->dtype is known. */
static int read_shape(PyObject *interface, ForeignLayout *layout)
{
    PyObject *shape = interface_entry(interface, "shape"), *strides = NULL;
    int ndim = layout->ndim = read_numbers(shape, "shape", layout->shape), status = ndim < 0 ? -1 : 0;
    Py_ssize_t itemsize = PyDataType_ELSIZE(layout->dtype);
    if (!status && strides_count(ndim, layout->shape, itemsize) < 0) {
        PyErr_SetString(PyExc_ValueError, "__cuda_array_interface__: the shape has a negative length or too "
                                          "many elements");
        status = -1;
    }
    if (!status) strides = interface_entry(interface, "strides");
    if (status || PyErr_Occurred()) {
        status = -1;
    } else if (!strides) {
        strides_fill('C', ndim, layout->shape, itemsize, layout->strides);
    } else {
        int count = read_numbers(strides, "strides", layout->strides);
        if (count >= 0 && count != ndim)
            PyErr_Format(PyExc_ValueError, "__cuda_array_interface__: %d strides for %d dimensions", count,
                         ndim);
        status = count == ndim ? 0 : -1;
    }
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return status;
}

/* Reads the flag read-only from the entry "data". -1 with TypeError for a masked array. */
static int read_flags(PyObject *interface, ForeignLayout *layout)
{
    PyObject *data = interface_entry(interface, "data"), *mask = interface_entry(interface, "mask");
    if (data && PyTuple_Check(data) && PyTuple_GET_SIZE(data) > 1)
        layout->read_only = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1)) > 0;
    if (mask && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError,
                        "masked arrays are not supported: __cuda_array_interface__ has a mask");
    Py_XDECREF(data);
    Py_XDECREF(mask);
    return PyErr_Occurred() ? -1 : 0;
}

/* -1 with ValueError when the current context cannot access the array's memory, on device `there` (-1: the
 * driver is asked). Sets array->device. */
static int check_place(ModuleState *state, ForeignArray *array, int there)
{
    CUdevice here = 0;
    if (gpu_cuCtxGetDevice(state, &here) < 0) return -1;
    array->device = here;
    if (there == here) return 0;
    CUresult result =
        once_cuPointerGetAttribute(state, &there, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, array->pointer);
    array->device = result == CUDA_SUCCESS ? there : -1;
    if (result != CUDA_SUCCESS || there == here)
        return 0; /* memory unknown to the driver may be the host's */
    if (peer_access_is_open(state, NULL, there, array->pointer)) return 0;
    PyErr_Format(PyExc_ValueError,
                 "the array is in memory of device %d, which the current context, on device %d, cannot "
                 "access: copy the array, or enable peer access",
                 there, here);
    return -1;
}

int foreign_check_place(ModuleState *state, ForeignArray *array)
{
    array->device = -1;
    return array->pointer ? check_place(state, array, -1) : 0;
}

int foreign_check_pointer(ModuleState *state, ForeignArray *array, const ForeignLayout *layout, int device)
{
    array->device = -1;
    if (strides_count(layout->ndim, layout->shape, PyDataType_ELSIZE(layout->dtype)) == 0) return 0;
    if (!array->pointer) {
        PyErr_SetString(PyExc_ValueError, "the array has elements, but its address is 0");
        return -1;
    }
    if (convert_aligned(layout->dtype, layout->ndim, layout->shape, layout->strides, array->pointer) < 0)
        return -1;
    return check_place(state, array, device);
}

/* foreign_describe() by __cuda_array_interface__. 0 when there is none, and for an interface without a stream
 * if the object has DLPack, which orders the work. */
static int describe_interface(ModuleState *state, PyObject *object, ForeignArray *out, ForeignLayout *layout)
{
    PyObject *interface;
    memset(layout, 0, offsetof(ForeignLayout, shape));
    layout->owner = NULL;
    layout->read_only = layout->is_copy = false;
    int found = convert_find_attribute(object, state->str___cuda_array_interface__, &interface);
    if (found <= 0) return found;
    if (foreign_read_interface(state, object, interface, out) < 0)
        found = -1;
    else if (out->unordered && dlpack_is_array(state, object))
        found = 0;
    else if (!(layout->dtype = read_dtype(interface)) || read_shape(interface, layout) < 0
             || read_flags(interface, layout) < 0 || foreign_check_pointer(state, out, layout, -1) < 0)
        found = -1;
    else
        layout->owner = Py_NewRef(object);
    Py_DECREF(interface);
    if (found < 0) foreign_layout_clear(layout);
    return found;
}

/* Uses the cheapest protocol of the object that describes the array completely. */
int foreign_describe(ModuleState *state, PyObject *object, CUstream consumer, ForeignArray *out,
                     ForeignLayout *layout)
{
    *out = (ForeignArray){0};
    int found = dlpack_describe_exchanged(state, object, false, out, layout);
    if (found == 0 && !out->on_host) found = describe_interface(state, object, out, layout);
    if (found == 0 && !out->on_host) found = dlpack_describe_exported(state, object, consumer, out, layout);
    return found;
}

bool foreign_is_array(ModuleState *state, PyObject *object)
{
    return foreign_is_possible(state, object)
           && (PyObject_HasAttr(object, state->str___cuda_array_interface__)
               || dlpack_is_array(state, object));
}
