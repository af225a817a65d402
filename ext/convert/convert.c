/* See convert.h. */
#include "ext/convert/convert.h"

#include <limits.h>

#include "core/layout/strides.h"
#include "ext/base/captured.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/base/wait.h"
#include "ext/convert/foreign.h"
#include "ext/gpuarray/gpuarray.h"
#include "ext/memory/device_memory.h"
#include "ext/stream/stream.h"

/* ---- Integers ---- */

/* The value as a Python int, a new reference. Floats have no __index__ and are refused. */
static PyObject *as_index(PyObject *value, const char *what)
{
    if (!PyIndex_Check(value)) {
        bool number = PyFloat_Check(value) || PyArray_IsScalar(value, Floating);
        PyErr_Format(PyExc_TypeError, "%s must be an integer, not %s%s", what, Py_TYPE(value)->tp_name,
                     number ? ": use // for a division that returns an integer" : "");
        return NULL;
    }
    return PyNumber_Index(value);
}

static int out_of_range(const char *what, PyObject *number, bool negative)
{
    if (negative) {
        PyErr_Format(PyExc_OverflowError, "%s is %S: it must not be negative", what, number);
        return -1;
    }
    PyErr_Format(PyExc_OverflowError, "%s is %S, which is out of range", what, number);
    return -1;
}

static int convert_signed(PyObject *value, const char *what, long long least, long long most, long long *out)
{
    int overflow, status = 0;
    PyObject *number = as_index(value, what);
    if (!number) return -1;
    *out = PyLong_AsLongLongAndOverflow(number, &overflow);
    bool negative = least == 0 && (overflow < 0 || (!overflow && *out < 0));
    if (overflow || *out < least || *out > most) status = out_of_range(what, number, negative);
    Py_DECREF(number);
    return status;
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

/* ---- Device addresses ---- */

static int address_of_index(PyObject *value, CUdeviceptr *out)
{
    unsigned long long number = 0;
    if (convert_bits(value, "a device pointer", 64, &number) < 0) return -1;
    *out = (CUdeviceptr)number;
    return 0;
}

static int address_of_holder(ModuleState *state, PyObject *holder, CUdeviceptr *out)
{
    PyObject *pointer = PyObject_CallMethodNoArgs(holder, state->str_get_pointer);
    int status = pointer ? address_of_index(pointer, out) : -1;
    Py_XDECREF(pointer);
    return status;
}

/* 1 when the object has the attribute, 0 when not, -1 with an exception. */
static int look_up(PyObject *object, PyObject *name, PyObject **out)
{
    *out = PyObject_GetAttr(object, name);
    if (*out) return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

/* Managed memory has one address for host and device, so a view of it is as good as the whole. */
static bool is_managed_array(ModuleState *state, PyObject *value)
{
    while (value && PyArray_Check(value)) {
        value = PyArray_BASE((PyArrayObject *)value);
        if (value && PyObject_TypeCheck(value, state->ManagedAllocation_type)) return true;
    }
    return false;
}

static int refuse_stranger(PyObject *value)
{
    PyErr_Format(PyExc_TypeError,
                 "a device pointer is expected (DeviceAllocation, GPUArray, int, ...), not %s",
                 Py_TYPE(value)->tp_name);
    return -1;
}

/* Neither an integer of Python's nor an object of ours. consumer: NULL when no stream is known. */
static int address_of_stranger(ModuleState *state, PyObject *value, const CUstream *consumer,
                               CUdeviceptr *out)
{
    ForeignArray array;
    int found = foreign_find(state, value, &array);
    if (found < 0) return -1;
    if (found) {
        *out = array.pointer;
        return consumer ? foreign_order(state, &array, *consumer) : foreign_wait(state, &array);
    }
    if (PyIndex_Check(value) && !PyArray_Check(value)) return address_of_index(value, out);
    if (!is_managed_array(state, value)) return refuse_stranger(value);
    *out = (CUdeviceptr)(uintptr_t)PyArray_DATA((PyArrayObject *)value);
    return 0;
}

static int pointer_of(ModuleState *state, PyObject *value, const CUstream *consumer, CUdeviceptr *out)
{
    if (device_allocation_check(state, value))
        return device_allocation_address(device_allocation_cast(value), out);
    if (PyLong_Check(value)) return address_of_index(value, out);
    if (gpuarray_check(state, value)) return gpuarray_address(gpuarray_cast(value), out);
    if (PyObject_TypeCheck(value, state->PointerHolderBase_type)) return address_of_holder(state, value, out);
    if (PyArray_IsScalar(value, Integer)) return address_of_index(value, out);
    return address_of_stranger(state, value, consumer, out);
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

int convert_pointer(ModuleState *state, PyObject *value, CUdeviceptr *out)
{
    return pointer_of(state, value, NULL, out);
}

/* From that address on, which lies in memory of an allocation or nobody knows where. */
static int check_room(ModuleState *state, PyObject *value, const char *what, size_t size, CUdeviceptr address)
{
    const DeviceAllocationObject *memory = device_allocation_check(state, value)
                                               ? device_allocation_cast(value)
                                           : gpuarray_check(state, value) ? gpuarray_cast(value)->allocation
                                                                          : NULL;
    if (!memory || size <= memory->size - (address - memory->pointer)) return 0;
    PyErr_Format(PyExc_ValueError, "%s: %zu bytes are requested, but the allocation has %zu", what, size,
                 (size_t)(memory->size - (address - memory->pointer)));
    return -1;
}

int convert_range(ModuleState *state, PyObject *value, const char *what, size_t size, CUdeviceptr *out)
{
    return pointer_of(state, value, NULL, out) < 0 ? -1 : check_room(state, value, what, size, *out);
}

int convert_range_on(ModuleState *state, PyObject *value, const char *what, size_t size, CUstream consumer,
                     CUdeviceptr *out)
{
    return pointer_of(state, value, &consumer, out) < 0 ? -1 : check_room(state, value, what, size, *out);
}

/* ---- Bytes of arrays ---- */

int convert_native(struct _PyArray_Descr *dtype, const char *what)
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

static int convert_shape(PyObject *value, const char *what, Py_ssize_t least, unsigned out[3])
{
    const char *wanted = least == 3 ? "three integers" : "one to three integers";
    if (!PySequence_Check(value) || PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a sequence of %s, not %s", what, wanted,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    PyObject *items = PySequence_Tuple(value);
    if (!items) return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    int status = 0;
    if (count < least || count > 3) {
        PyErr_Format(PyExc_ValueError, "%s must have %s, not %zd%s", what, wanted, count,
                     count < least && count > 0 ? ": unused ones are 1, as in (32, 1, 1)" : "");
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

/* ---- Streams ---- */

static int stream_of_protocol(PyObject *method, CUstream *out)
{
    unsigned long long handle = 0;
    PyObject *pair = PyObject_CallNoArgs(method);
    int status = -1;
    if (pair && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)
        status = convert_bits(PyTuple_GET_ITEM(pair, 1), "a stream handle", 64, &handle);
    else if (pair)
        PyErr_SetString(PyExc_TypeError, "__cuda_stream__ must return a tuple (version, handle)");
    if (status == 0) *out = (CUstream)(uintptr_t)handle;
    Py_XDECREF(pair);
    return status;
}

int convert_stream(ModuleState *state, PyObject *value, CUstream *out)
{
    PyObject *method;
    *out = NULL;
    if (!value || value == Py_None) return 0;
    if (PyObject_TypeCheck(value, state->Stream_type)) {
        *out = stream_cast(value)->handle;
        return context_check(stream_cast(value)->context, "Stream") ? 0 : -1;
    }
    int found = look_up(value, state->str___cuda_stream__, &method);
    if (found > 0) {
        found = stream_of_protocol(method, out);
        Py_DECREF(method);
        if ((uintptr_t)*out > (uintptr_t)CU_STREAM_PER_THREAD) wait_note_stream(state);
        return found == 0 && captured_notice(state, value, *out) < 0 ? -1 : found;
    }
    if (found == 0)
        PyErr_Format(PyExc_TypeError, "stream must be a Stream or None, not %s", Py_TYPE(value)->tp_name);
    return -1;
}

int convert_aligned(PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides,
                    CUdeviceptr pointer)
{
    Py_ssize_t size = PyDataType_ELSIZE(dtype) / (PyTypeNum_ISCOMPLEX(dtype->type_num) ? 2 : 1),
               word = strides_word(size), low, high;
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
