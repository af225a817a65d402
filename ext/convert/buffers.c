/* See buffers.h. */
#include "ext/convert/buffers.h"

#include <string.h>

#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"

int buffers_check_array(PyArrayObject *array, const char *what, bool writable)
{
    if (writable && !PyArray_ISWRITEABLE(array)) {
        PyErr_Format(PyExc_ValueError, "%s: the array is read-only", what);
        return -1;
    }
    if (PyDataType_REFCHK(PyArray_DESCR(array))) {
        PyErr_Format(PyExc_TypeError, "%s: cannot copy an array of Python objects", what);
        return -1;
    }
    return convert_check_byte_order(PyArray_DESCR(array), what);
}

static int get_from_array(PyArrayObject *array, const char *what, bool writable, HostBuffer *out)
{
    if (!PyArray_IS_C_CONTIGUOUS(array) && !PyArray_IS_F_CONTIGUOUS(array)) {
        PyErr_Format(PyExc_ValueError, "%s: ndarray is not contiguous", what);
        return -1;
    }
    if (buffers_check_array(array, what, writable) < 0) return -1;
    out->pointer = PyArray_DATA(array);
    out->size = (size_t)PyArray_NBYTES(array);
    out->owner = Py_NewRef((PyObject *)array);
    return 0;
}

PyObject *buffers_view(PyObject *object, const char *what)
{
    if (PyObject_CheckBuffer(object)) return PyMemoryView_FromObject(object);
    return PyErr_Format(PyExc_TypeError, "%s: a buffer or an array in host memory is expected, not %s", what,
                        Py_TYPE(object)->tp_name);
}

/* The memoryview holds the buffer, so that the object cannot resize it meanwhile. */
static int get_from_buffer(PyObject *object, const char *what, bool writable, HostBuffer *out)
{
    PyObject *view = buffers_view(object, what);
    if (!view) return -1;
    Py_buffer *buffer = PyMemoryView_GET_BUFFER(view);
    const char *problem = NULL;
    if (writable && buffer->readonly) problem = "the buffer is read-only";
    if (!PyBuffer_IsContiguous(buffer, 'A')) problem = "the buffer is not contiguous";
    if (problem) {
        PyErr_Format(PyExc_BufferError, "%s: %s", what, problem);
        Py_DECREF(view);
        return -1;
    }
    *out = (HostBuffer){.pointer = buffer->buf, .size = (size_t)buffer->len, .owner = view};
    return 0;
}

/* Fills *out from an array or a buffer, whose owner it holds until buffers_release. -1 with an exception. */
static int get_buffer(PyObject *object, const char *what, bool writable, HostBuffer *out)
{
    *out = (HostBuffer){.owner = NULL};
    return PyArray_Check(object) ? get_from_array((PyArrayObject *)object, what, writable, out)
                                 : get_from_buffer(object, what, writable, out);
}

int buffers_read(PyObject *object, const char *what, HostBuffer *out)
{
    return get_buffer(object, what, false, out);
}

int buffers_write(PyObject *object, const char *what, HostBuffer *out)
{
    return get_buffer(object, what, true, out);
}

int buffers_copy_exactly(ModuleState *state, PyObject *object, const char *what, const char *whose, void *out,
                         size_t size)
{
    HostBuffer bytes;
    if (buffers_read(object, what, &bytes) < 0) return -1;
    bool fits = bytes.size == size;
    if (fits)
        memcpy(out, bytes.pointer, size);
    else
        raise_logic(state, "%s has %zu bytes, not %zu", whose, size, bytes.size);
    buffers_release(&bytes);
    return fits ? 0 : -1;
}

/* *out: a new bytes object with the elements of the object's buffer in C order. */
static int copy_to_bytes(PyObject *object, HostBuffer *out)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) return -1;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, view.len);
    int status = bytes ? PyBuffer_ToContiguous(PyBytes_AS_STRING(bytes), &view, view.len, 'C') : -1;
    if (status == 0)
        *out = (HostBuffer){PyBytes_AS_STRING(bytes), (size_t)view.len, bytes};
    else
        Py_XDECREF(bytes);
    PyBuffer_Release(&view);
    return status;
}

int buffers_read_logical(PyObject *object, const char *what, HostBuffer *out)
{
    *out = (HostBuffer){.owner = NULL};
    if (PyArray_Check(object)) {
        PyObject *packed = (PyObject *)PyArray_GETCONTIGUOUS((PyArrayObject *)object);
        int status = packed ? get_from_array((PyArrayObject *)packed, what, false, out) : -1;
        Py_XDECREF(packed);
        return status;
    }
    if (!PyObject_CheckBuffer(object)) return get_from_buffer(object, what, false, out);
    return copy_to_bytes(object, out);
}

void buffers_release(HostBuffer *buffer) { Py_CLEAR(buffer->owner); }
