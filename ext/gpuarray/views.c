/* Views: other descriptions of the same memory. If strides cannot describe a shape, a copy is made, as in
 * NumPy. */
#include <string.h>

#include "core/layout/strides.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/foreign_view.h"

static PyArray_Descr *own_dtype(GPUArrayObject *array)
{
    return (PyArray_Descr *)Py_NewRef((PyObject *)array->dtype);
}

PyObject *gpuarray_transpose(GPUArrayObject *array, const int *axes)
{
    Py_ssize_t shape[STRIDES_MAX_DIMS], strides[STRIDES_MAX_DIMS];
    for (int i = 0; i < array->ndim; i++) {
        int axis = axes ? axes[i] : array->ndim - 1 - i;
        shape[i] = array->shape[axis];
        strides[i] = array->strides[axis];
    }
    return gpuarray_new_view(array, own_dtype(array), array->ndim, shape, strides, array->pointer);
}

/* A reshaped view of a contiguous copy in this order. NULL with an exception. */
static PyObject *reshape_copy(GPUArrayObject *array, int ndim, const Py_ssize_t *shape, char order,
                              PyObject *stream)
{
    TransferMode mode;
    if (transfer_mode_on(array->state, stream, &mode) < 0) return NULL;
    PyObject *copy = transfer_copy(array, order, array->allocator, mode);
    PyObject *view = copy ? gpuarray_reshape_to(gpuarray_cast(copy), ndim, shape, order, NULL) : NULL;
    Py_XDECREF(copy);
    return view;
}

PyObject *gpuarray_reshape_to(GPUArrayObject *array, int ndim, const Py_ssize_t *shape, char order,
                              PyObject *stream)
{
    Py_ssize_t strides[STRIDES_MAX_DIMS];
    if (array->size == 0)
        strides_fill(order, ndim, shape, array->itemsize, strides);
    else if (!strides_reshape(order, array->ndim, array->shape, array->strides, ndim, shape, array->itemsize,
                              strides))
        return reshape_copy(array, ndim, shape, order, stream);
    return gpuarray_new_view(array, own_dtype(array), ndim, shape, strides, array->pointer);
}

/* All elements along one contiguous axis: a view if the array is contiguous in this order, else a copy. A
 * strided view will not do: programs give the result to kernels that ignore strides. */
static PyObject *along_one_axis(GPUArrayObject *array, char order, PyObject *stream)
{
    int wanted = order == 'F' ? GPUARRAY_F : GPUARRAY_C;
    if (!(array->layout & wanted)) return reshape_copy(array, 1, &array->size, order, stream);
    return gpuarray_reshape_to(array, 1, &array->size, order, stream);
}

/* NumPy's AxisError, unless there is an exception already. */
static void raise_axis(GPUArrayObject *array, PyObject *axis)
{
    PyObject *module = PyErr_Occurred() ? NULL : PyImport_ImportModule("numpy.exceptions");
    PyObject *error = module ? PyObject_CallMethod(module, "AxisError", "Oi", axis, array->ndim) : NULL;
    if (error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    Py_XDECREF(module);
}

/* Reads the axes of a permutation. -1 with ValueError or its subclass AxisError. */
static int read_axes(GPUArrayObject *array, PyObject *value, int *axes)
{
    bool seen[STRIDES_MAX_DIMS] = {false};
    PyObject *items = convert_items(value, "axes must be a sequence of integers");
    if (!items) return -1;
    if (PySequence_Fast_GET_SIZE(items) != array->ndim)
        PyErr_SetString(PyExc_ValueError, "axes don't match array");
    for (int i = 0; i < array->ndim && !PyErr_Occurred(); i++) {
        Py_ssize_t axis = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(items, i), PyExc_ValueError);
        axis += axis < 0 ? array->ndim : 0;
        if (axis < 0 || axis >= array->ndim)
            raise_axis(array, PySequence_Fast_GET_ITEM(items, i));
        else if (seen[axis])
            PyErr_SetString(PyExc_ValueError, "repeated axis in transpose");
        else
            seen[axes[i] = (int)axis] = true;
    }
    Py_DECREF(items);
    return PyErr_Occurred() ? -1 : 0;
}

const char gpuarray_transpose_doc[] =
    PyDoc_STR("transpose($self, axes=None)\n--\n\n"
              "A view with the axes in another order.\n"
              "\nParameters\n----------\n"
              "axes : sequence of int\n"
              "    Reversed by default; transpose(2, 0, 1) is transpose((2, 0, 1)).\n"
              "\nReturns\n-------\n"
              "GPUArray\n"
              "\nRaises\n------\n"
              "ValueError\n    axes is not a permutation.");

PyObject *gpuarray_transpose_py(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[1] = {NULL}, *many = NULL;
    int axes[STRIDES_MAX_DIMS];
    if (!keywords && arg_count && PyIndex_Check(args[0]) && !PyArray_Check(args[0])) {
        if (!(many = PyTuple_New(arg_count))) return NULL;
        for (Py_ssize_t i = 0; i < arg_count; i++) PyTuple_SET_ITEM(many, i, Py_NewRef(args[i]));
        given[0] = many;
    } else if (convert_arguments(gpuarray_transpose_doc, args, arg_count, keywords, GIVEN(given)) < 0) {
        return NULL;
    }
    PyObject *view;
    if (!given[0] || given[0] == Py_None)
        view = gpuarray_transpose(gpuarray_cast(self), NULL);
    else
        view = read_axes(gpuarray_cast(self), given[0], axes) < 0
                   ? NULL
                   : gpuarray_transpose(gpuarray_cast(self), axes);
    Py_XDECREF(many);
    return view;
}

/* Replaces the length -1, of which there may be one, so that the array's elements fit. -1 with ValueError. */
static int complete_shape(GPUArrayObject *array, int ndim, Py_ssize_t *shape)
{
    Py_ssize_t known = 1;
    int unknown = -1;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] >= 0) {
            known *= shape[axis];
        } else if (shape[axis] != -1 || unknown >= 0) {
            PyErr_SetString(PyExc_ValueError, "can only specify one unknown dimension");
            return -1;
        } else {
            unknown = axis;
        }
    }
    if (unknown >= 0 && known) known *= shape[unknown] = array->size / known;
    if (known == array->size && (unknown < 0 || shape[unknown] >= 0)) return 0;
    if (unknown >= 0) shape[unknown] = -1;
    PyObject *text = convert_shape_text(ndim, shape);
    if (text)
        PyErr_Format(PyExc_ValueError, "cannot reshape array of size %zd into shape %U", array->size, text);
    Py_XDECREF(text);
    return -1;
}

void gpuarray_raise_ndim(void)
{
    PyErr_Format(PyExc_ValueError, "maximum supported dimension for an array is %d", STRIDES_MAX_DIMS);
}

char gpuarray_raise_order(PyObject *value)
{
    PyErr_Format(PyExc_ValueError, "order must be one of 'C', 'F', 'A', or 'K' (got %R)", value);
    return 0;
}

/* Reads the lengths of a shape that is given as integers or as one sequence. Their number, or -1 with an
 * exception. */
static int read_lengths(PyObject *const *args, Py_ssize_t count, Py_ssize_t *shape)
{
    PyObject *items = NULL;
    bool is_sequence = count == 1 && !PyIndex_Check(args[0]);
    if (is_sequence && !(items = convert_items(args[0], "shape must be integers or a sequence of integers")))
        return -1;
    Py_ssize_t ndim = is_sequence ? PySequence_Fast_GET_SIZE(items) : count;
    if (ndim > STRIDES_MAX_DIMS) gpuarray_raise_ndim();
    for (Py_ssize_t i = 0; i < ndim && !PyErr_Occurred(); i++) {
        PyObject *length = is_sequence ? PySequence_Fast_GET_ITEM(items, i) : args[i];
        shape[i] = PyNumber_AsSsize_t(length, PyExc_OverflowError);
    }
    Py_XDECREF(items);
    return PyErr_Occurred() ? -1 : (int)ndim;
}

int gpuarray_read_shape(GPUArrayObject *array, PyObject *const *args, Py_ssize_t count, Py_ssize_t *shape)
{
    int ndim = read_lengths(args, count, shape);
    return ndim < 0 || complete_shape(array, ndim, shape) < 0 ? -1 : ndim;
}

/* Whether a keyword of reshape() is for shape/views.py: copy=, and order="A". */
static bool is_for_python(PyObject *keyword, PyObject *value)
{
    if (PyUnicode_CompareWithASCIIString(keyword, "copy") == 0) return true;
    return PyUnicode_CompareWithASCIIString(keyword, "order") == 0 && PyUnicode_Check(value)
           && PyUnicode_CompareWithASCIIString(value, "A") == 0;
}

/* The order of reshape(), 'C' or 'F'. 0 with ValueError. */
static char read_order(PyObject *value)
{
    for (const char *order = "CF"; *order; order++)
        if (PyUnicode_Check(value) && PyUnicode_GET_LENGTH(value) == 1
            && PyUnicode_READ_CHAR(value, 0) == (Py_UCS4)*order)
            return *order;
    if (!PyUnicode_Check(value) || PyUnicode_CompareWithASCIIString(value, "K") != 0)
        return gpuarray_raise_order(value);
    PyErr_SetString(PyExc_ValueError, "order 'K' is not permitted for reshaping");
    return 0;
}

const char gpuarray_reshape_doc[] = PyDoc_STR(
    "reshape($self, /, *shape, order=\"C\", copy=None, stream=None)\n--\n\n"
    "The same elements in another shape: a view where strides allow it, else a copy. With one axis\n"
    "the result is contiguous.\n"
    "\nParameters\n----------\n"
    "*shape : int or sequence of int\n    One length may be -1.\n"
    "order : {\"C\", \"F\", \"A\"}\n    In which the elements are read; \"A\" is that of a "
    "contiguous array.\n    With \"F\" the result of a contiguous array is Fortran-contiguous.\n"
    "copy : bool\n    True: always. False: ValueError where strides do not allow a view.\n"
    "stream : Stream\n    Where a copy is queued.\n"
    "\nReturns\n-------\n"
    "GPUArray\n"
    "\nRaises\n------\n"
    "ValueError\n    The number of elements differs.");

PyObject *gpuarray_reshape(PyObject *self, FAST_PARAMETERS)
{
    GPUArrayObject *array = gpuarray_cast(self);
    Py_ssize_t shape[STRIDES_MAX_DIMS] = {0};
    char order = 'C';
    PyObject *stream = NULL;
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *keyword = PyTuple_GET_ITEM(keywords, i), *value = args[arg_count + i];
        if (is_for_python(keyword, value))
            return gpuarray_call_python(array->state, "shape.views", "reshaped", self, args, arg_count,
                                        keywords);
        if (PyUnicode_CompareWithASCIIString(keyword, "stream") == 0)
            stream = value;
        else if (PyUnicode_CompareWithASCIIString(keyword, "order") != 0)
            return PyErr_Format(PyExc_TypeError, "reshape() got an unexpected keyword argument '%U'",
                                keyword);
        else if (!(order = read_order(value)))
            return NULL;
    }
    int ndim = gpuarray_read_shape(array, args, arg_count, shape);
    if (ndim < 0) return NULL;
    if (order == 'F' && array->layout == GPUARRAY_C) return reshape_copy(array, ndim, shape, order, stream);
    if (gpuarray_has_shape(array, ndim, shape) && (ndim != 1 || array->layout)) return Py_NewRef(self);
    if (ndim == 1) return along_one_axis(array, order, stream);
    return gpuarray_reshape_to(array, ndim, shape, order, stream);
}

const char gpuarray_ravel_doc[] =
    PyDoc_STR("ravel($self, order=\"C\", stream=None)\n--\n\n"
              "The elements along one axis, contiguous: a view where they lie so, else a copy.\n"
              "\nParameters\n----------\n"
              "order : {\"C\", \"F\", \"A\", \"K\"}\n    In which the elements are read.\n"
              "stream : Stream\n    Where a copy is queued.\n"
              "\nReturns\n-------\n"
              "GPUArray");

PyObject *gpuarray_ravel(PyObject *self, FAST_PARAMETERS)
{
    if (arg_count || keywords)
        return gpuarray_call_python(gpuarray_cast(self)->state, "shape.views", "ravel", self, args, arg_count,
                                    keywords);
    return along_one_axis(gpuarray_cast(self), 'C', NULL);
}

const char gpuarray_squeeze_doc[] =
    PyDoc_STR("squeeze($self, axis=None)\n--\n\n"
              "A view without the axes of length 1.\n"
              "\nParameters\n----------\n"
              "axis : int or tuple of int\n    Without these alone, which are of length 1.\n"
              "\nReturns\n-------\n"
              "GPUArray");

PyObject *gpuarray_squeeze(PyObject *self, FAST_PARAMETERS)
{
    GPUArrayObject *array = gpuarray_cast(self);
    if (arg_count || keywords)
        return gpuarray_call_python(array->state, "shape.views", "squeeze", self, args, arg_count, keywords);
    Py_ssize_t shape[STRIDES_MAX_DIMS], strides[STRIDES_MAX_DIMS];
    int ndim = 0;
    for (int axis = 0; axis < array->ndim; axis++) {
        if (array->shape[axis] == 1) continue;
        shape[ndim] = array->shape[axis];
        strides[ndim++] = array->strides[axis];
    }
    return gpuarray_new_view(array, own_dtype(array), ndim, shape, strides, array->pointer);
}

/* The contiguous axis, whose length changes with the itemsize; -1 when there is none. */
static int packed_axis(GPUArrayObject *array)
{
    if (array->size == 0) return array->ndim - 1;
    for (int i = 0; i < array->ndim; i++) {
        int axis = array->layout & GPUARRAY_C || !(array->layout & GPUARRAY_F) ? array->ndim - 1 - i : i;
        if (array->strides[axis] == array->itemsize || array->shape[axis] == 1) return axis;
    }
    return -1;
}

const char gpuarray_view_doc[] = PyDoc_STR(
    "view($self, dtype=None)\n--\n\n"
    "The same memory as another dtype.\n"
    "\nParameters\n----------\n"
    "dtype : dtype-like\n"
    "    When its size differs, the contiguous axis changes its length.\n"
    "\nReturns\n-------\n"
    "GPUArray\n"
    "\nRaises\n------\n"
    "ValueError\n    That does not come out even, or the elements would not lie at multiples of their size,\n"
    "    where kernels read them.");

PyObject *gpuarray_view(PyObject *self, FAST_PARAMETERS)
{
    GPUArrayObject *array = gpuarray_cast(self);
    PyObject *given[1];
    PyArray_Descr *dtype = NULL;
    if (convert_arguments(gpuarray_view_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!given[0] || given[0] == Py_None)
        return gpuarray_new_view(array, own_dtype(array), array->ndim, array->shape, array->strides,
                                 array->pointer);
    if (!PyArray_DescrConverter(given[0], &dtype)) return NULL;
    return gpuarray_view_as(array, dtype, packed_axis(array));
}

/* NumPy's words for an item size that a view cannot have. */
static const char *itemsize_problem(int ndim, int axis, bool smaller)
{
    if (ndim == 0) return "Changing the dtype of a 0d array is only supported if the itemsize is unchanged";
    if (axis < 0) return "To change to a dtype of a different size, the last axis must be contiguous";
    if (smaller)
        return "When changing to a smaller dtype, its size must be a divisor of the size of original dtype";
    return "When changing to a larger dtype, its size must be a divisor of the total size in bytes "
           "of the last axis of the array.";
}

PyObject *gpuarray_view_as(GPUArrayObject *array, PyArray_Descr *dtype, int axis)
{
    Py_ssize_t shape[STRIDES_MAX_DIMS], strides[STRIDES_MAX_DIMS];
    Py_ssize_t old_size = array->itemsize, new_size = PyDataType_ELSIZE(dtype);
    memcpy(shape, array->shape, (size_t)array->ndim * sizeof *shape);
    memcpy(strides, array->strides, (size_t)array->ndim * sizeof *strides);
    if (new_size != old_size) {
        if (axis < 0 || new_size == 0 || shape[axis] * old_size % new_size) {
            Py_DECREF(dtype);
            PyErr_SetString(PyExc_ValueError, itemsize_problem(array->ndim, axis, new_size < old_size));
            return NULL;
        }
        shape[axis] = shape[axis] * old_size / new_size;
        strides[axis] = new_size;
    }
    if (convert_aligned(dtype, array->ndim, shape, strides, array->pointer) < 0) {
        Py_DECREF(dtype);
        return NULL;
    }
    return gpuarray_new_view(array, dtype, array->ndim, shape, strides, array->pointer);
}
