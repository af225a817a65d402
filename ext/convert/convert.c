/* See convert.h. */
#include "ext/convert/convert.h"

#include <limits.h>
#include <string.h>

#include "core/layout/strides.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/base/wait.h"

/* ---- Integers ---- */

/* The value as a Python int, a new reference. Floats have no __index__ and are refused. */
static PyObject *as_index(PyObject *value, const char *what)
{
    if (!PyIndex_Check(value)) {
        bool is_float = PyFloat_Check(value) || PyArray_IsScalar(value, Floating);
        PyErr_Format(PyExc_TypeError, "%s must be an integer, not %s%s", what, Py_TYPE(value)->tp_name,
                     is_float ? ": use // for a division that returns an integer" : "");
        return NULL;
    }
    return PyNumber_Index(value);
}

/* Raises OverflowError. negative: the number is, and must not be. Returns -1. */
static int out_of_range(const char *what, PyObject *number, bool negative)
{
    if (negative)
        PyErr_Format(PyExc_OverflowError, "%s is %S: it must not be negative", what, number);
    else
        PyErr_Format(PyExc_OverflowError, "%s is %S, which is out of range", what, number);
    return -1;
}

/* *out: the value, from min to max. */
static int convert_signed(PyObject *value, const char *what, long long min, long long max, long long *out)
{
    int overflow, status = 0;
    PyObject *number = as_index(value, what);
    if (!number) return -1;
    *out = PyLong_AsLongLongAndOverflow(number, &overflow);
    bool negative = min == 0 && (overflow < 0 || (!overflow && *out < 0));
    if (overflow || *out < min || *out > max) status = out_of_range(what, number, negative);
    Py_DECREF(number);
    return status;
}

int convert_bool(PyObject *value, bool *out)
{
    int is_true = PyObject_IsTrue(value);
    *out = is_true > 0;
    return is_true < 0 ? -1 : 0;
}

int convert_size(PyObject *value, const char *what, size_t *out)
{
    long long number;
    if (!value) return 0;
    if (convert_signed(value, what, LLONG_MIN, LLONG_MAX, &number) < 0) return -1;
    if (number < 0) {
        PyErr_Format(PyExc_ValueError, "%s is %lld: it must not be negative", what, number);
        return -1;
    }
    *out = (size_t)number;
    return 0;
}

int convert_length(PyObject *value, long long *out)
{
    return convert_signed(value, "a dimension in shape", LLONG_MIN, LLONG_MAX, out);
}

PyObject *convert_shape_text(int ndim, const Py_ssize_t *shape)
{
    int first = 0;
    while (first < ndim && shape[first] < 0) first++;
    PyObject *text = PyUnicode_FromString("(");
    for (int i = first; i < ndim; i++) {
        const char *comma = i > first ? "," : "";
        PyUnicode_AppendAndDel(&text, shape[i] < 0 ? PyUnicode_FromFormat("%snewaxis", comma)
                                                   : PyUnicode_FromFormat("%s%zd", comma, shape[i]));
    }
    PyUnicode_AppendAndDel(&text, PyUnicode_FromString(ndim == 1 ? ",)" : ")"));
    return text;
}

int convert_int(PyObject *value, const char *what, int *out)
{
    long long number;
    if (!value) return 0;
    if (convert_signed(value, what, INT_MIN, INT_MAX, &number) < 0) return -1;
    *out = (int)number;
    return 0;
}

int convert_unsigned(PyObject *value, const char *what, unsigned *out)
{
    long long number;
    if (!value) return 0;
    if (convert_signed(value, what, 0, UINT_MAX, &number) < 0) return -1;
    *out = (unsigned)number;
    return 0;
}

int convert_bits(PyObject *value, const char *what, int bits, unsigned long long *out)
{
    int status = 0;
    if (!value) return 0;
    PyObject *number = as_index(value, what);
    if (!number) return -1;
    *out = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() || (bits < 64 && *out >> bits)) {
        PyErr_Clear();
        status = out_of_range(what, number, false);
    }
    Py_DECREF(number);
    return status;
}

/* ---- Bytes of arrays ---- */

int convert_check_byte_order(struct _PyArray_Descr *dtype, const char *what)
{
    int native = PyArray_ISNBO(dtype->byteorder);
    if (dtype->type_num == NPY_VOID) {  /* its fields count */
        PyObject *answer = PyObject_GetAttrString((PyObject *)dtype, "isnative");
        native = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
    }
    if (native == 0)
        PyErr_Format(
            PyExc_ValueError,
            "%s: dtype %S is not in the device's byte order: convert it with "
            "ary.astype(ary.dtype.newbyteorder('=')), or copy the raw bytes of ary.view(numpy.uint8)",
            what, (PyObject *)dtype);
    return native > 0 ? 0 : -1;
}

/* ---- Launch shapes ---- */

/* A sequence of `min` to 3 integers; missing ones are 1. */
static int convert_shape(PyObject *value, const char *what, Py_ssize_t min, unsigned out[3])
{
    const char *wanted = min == 3 ? "three integers" : "one to three integers";
    if (!PySequence_Check(value) || PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a sequence of %s, not %s", what, wanted,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    PyObject *items = PySequence_Tuple(value);
    if (!items) return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    int status = 0;
    if (count < min || count > 3) {
        PyErr_Format(PyExc_ValueError, "%s must have %s, not %zd%s", what, wanted, count,
                     count < min && count > 0 ? ": unused ones are 1, as in (32, 1, 1)" : "");
        status = -1;
    }
    for (Py_ssize_t i = 0; status == 0 && i < 3; i++) {
        out[i] = 1;
        if (i < count) status = convert_unsigned(PyTuple_GET_ITEM(items, i), what, &out[i]);
    }
    Py_DECREF(items);
    return status;
}

int convert_block(PyObject *value, unsigned out[3]) { return convert_shape(value, "block", 3, out); }

int convert_grid(PyObject *value, unsigned out[3]) { return convert_shape(value, "grid", 1, out); }

int convert_cluster(PyObject *value, unsigned out[3]) { return convert_shape(value, "cluster", 1, out); }

int convert_aligned(PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides,
                    CUdeviceptr pointer)
{
    int parts = PyTypeNum_ISCOMPLEX(dtype->type_num) ? 2 : 1;
    Py_ssize_t size = PyDataType_ELSIZE(dtype) / parts, word = strides_word(size), low, high;
    if (!strides_extent(ndim, shape, strides, PyDataType_ELSIZE(dtype), &low, &high)
        || pointer + (CUdeviceptr)low > pointer || pointer + (CUdeviceptr)high < pointer) {
        PyErr_SetString(PyExc_ValueError, "these strides put elements outside of the address space");
        return -1;
    }
    if (size == 0 || strides_alignment(ndim, shape, strides, pointer) >= word) return 0;
    PyErr_Format(PyExc_ValueError,
                 "the array at %p is not aligned for elements of %S, which kernels access at multiples of "
                 "%zd bytes: copy its bytes to a new array, then view the copy as %S",
                 (void *)(uintptr_t)pointer, (PyObject *)dtype, word, (PyObject *)dtype);
    return -1;
}

bool convert_check_type(PyObject *value, PyTypeObject *type, const char *what)
{
    if (PyObject_TypeCheck(value, type)) return true;
    const char *dot = strrchr(type->tp_name, '.'), *name = dot ? dot + 1 : type->tp_name;
    PyErr_Format(PyExc_TypeError, "%s must be %s %s, not %s", what, strchr("AEIO", *name) ? "an" : "a", name,
                 Py_TYPE(value)->tp_name);
    return false;
}

PyObject *convert_items(PyObject *value, const char *message)
{
#ifdef Py_GIL_DISABLED
    if (PyList_CheckExact(value)) return PyList_AsTuple(value);
#endif
    return PySequence_Fast(value, message);
}

PyObject *convert_imported_module(const char *name)
{
    PyObject *modules = PyImport_GetModuleDict(), *module;
#if PY_VERSION_HEX >= 0x030D0000
    if (PyDict_GetItemStringRef(modules, name, &module) < 0) PyErr_Clear();
#else
    module = Py_XNewRef(PyDict_GetItemString(modules, name));
#endif
    return module;
}

int convert_find_attribute(PyObject *object, PyObject *name, PyObject **out)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_GetOptionalAttr(object, name, out);
#else
    *out = PyObject_GetAttr(object, name);
    if (*out) return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
#endif
}
