/* Views: other descriptions of the same memory. What strides cannot describe is copied first, as NumPy does.
 */
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

/* Of a copy in that order, whose result is contiguous in it. */
static PyObject *reshape_copy(GPUArrayObject *array, int ndim, const Py_ssize_t *shape, char order,
                              PyObject *stream)
{
    TransferMode mode;
    if (transfer_queued(array->state, stream, &mode) < 0) return NULL;
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

/* All elements as a contiguous array, since kernels take it for one: a view where the array is contiguous in
 * that order, else a copy. */
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

/* Reads the axes of a permutation. -1 with ValueError, of which AxisError is a subclass. */
static int read_axes(GPUArrayObject *array, PyObject *value, int *axes)
{
    bool seen[STRIDES_MAX_DIMS] = {false};
    PyObject *items = PySequence_Fast(value, "axes must be a sequence of integers");
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

/* One length may be -1: it is what the others leave. -1 with ValueError. */
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

/* *shape as ints or as one sequence. The number of axes, or -1 with an exception. */
static int read_lengths(PyObject *const *args, Py_ssize_t count, Py_ssize_t *shape)
{
    PyObject *items = count == 1 && !PyIndex_Check(args[0])
                          ? PySequence_Fast(args[0], "shape must be integers or a sequence of integers")
                          : PyList_New(0);
    if (!items) return -1;
    bool one = count == 1 && !PyIndex_Check(args[0]);
    Py_ssize_t ndim = one ? PySequence_Fast_GET_SIZE(items) : count;
    if (ndim > STRIDES_MAX_DIMS)
        PyErr_Format(PyExc_ValueError, "maximum supported dimension for an array is %d", STRIDES_MAX_DIMS);
    for (Py_ssize_t i = 0; i < ndim && !PyErr_Occurred(); i++)
        shape[i] =
            PyNumber_AsSsize_t(one ? PySequence_Fast_GET_ITEM(items, i) : args[i], PyExc_OverflowError);
    Py_DECREF(items);
    return PyErr_Occurred() ? -1 : (int)ndim;
}

int gpuarray_read_shape(GPUArrayObject *array, PyObject *const *args, Py_ssize_t count, Py_ssize_t *shape)
{
    int ndim = read_lengths(args, count, shape);
    return ndim < 0 || complete_shape(array, ndim, shape) < 0 ? -1 : ndim;
}

/* Whether shape/views.py has to look at a keyword of reshape: copy=, and an order that is the array's. */
static bool is_for_python(PyObject *keyword, PyObject *value)
{
    if (PyUnicode_CompareWithASCIIString(keyword, "copy") == 0) return true;
    return PyUnicode_CompareWithASCIIString(keyword, "order") == 0 && PyUnicode_Check(value)
           && PyUnicode_CompareWithASCIIString(value, "A") == 0;
}

/* "C" or "F", 0 with ValueError. */
static char read_order(PyObject *value)
{
    for (const char *order = "CF"; *order; order++)
        if (PyUnicode_Check(value) && PyUnicode_GET_LENGTH(value) == 1
            && PyUnicode_READ_CHAR(value, 0) == (Py_UCS4)*order)
            return *order;
    if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "K") == 0)
        PyErr_SetString(PyExc_ValueError, "order 'K' is not permitted for reshaping");
    else
        PyErr_Format(PyExc_ValueError, "order must be one of 'C', 'F', 'A', or 'K' (got %R)", value);
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
            return gpuarray_call_body(array->state, "shape.views", "reshaped", self, args, arg_count,
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
        return gpuarray_call_body(gpuarray_cast(self)->state, "shape.views", "ravel", self, args, arg_count,
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
        return gpuarray_call_body(array->state, "shape.views", "squeeze", self, args, arg_count, keywords);
    Py_ssize_t shape[STRIDES_MAX_DIMS], strides[STRIDES_MAX_DIMS];
    int ndim = 0;
    for (int axis = 0; axis < array->ndim; axis++) {
        if (array->shape[axis] == 1) continue;
        shape[ndim] = array->shape[axis];
        strides[ndim++] = array->strides[axis];
    }
    return gpuarray_new_view(array, own_dtype(array), ndim, shape, strides, array->pointer);
}

/* The contiguous axis, which is the one that another item size changes; -1 for none. */
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
    return "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the "
           "last "
           "axis of the array.";
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

/* Basic indexing: integers, slices, one Ellipsis, None. */

typedef struct Indexing {
    GPUArrayObject *array;
    Py_ssize_t offset;
    int axis, ndim; /* next axis of the array, axes of the view so far */
    Py_ssize_t shape[STRIDES_MAX_DIMS], strides[STRIDES_MAX_DIMS]; /* of those axes */
} Indexing;

static int add_axis(Indexing *view_of, Py_ssize_t length, Py_ssize_t stride)
{
    if (view_of->ndim == STRIDES_MAX_DIMS) {
        PyErr_SetString(PyExc_IndexError, "too many axes");
        return -1;
    }
    view_of->shape[view_of->ndim] = length;
    view_of->strides[view_of->ndim++] = stride;
    return 0;
}

static int take_slice(Indexing *view_of, PyObject *slice)
{
    Py_ssize_t start, stop, step, stride = view_of->array->strides[view_of->axis];
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) return -1;
    Py_ssize_t length = PySlice_AdjustIndices(view_of->array->shape[view_of->axis++], &start, &stop, step);
    if (length > 0) view_of->offset += start * stride;
    return add_axis(view_of, length, length > 1 ? stride * step : stride);
}

static int take_integer(Indexing *view_of, PyObject *index)
{
    Py_ssize_t length = view_of->array->shape[view_of->axis], i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) return -1;
    if (i < -length || i >= length) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis %d with size %zd", i,
                     view_of->axis, length);
        return -1;
    }
    view_of->offset += (i < 0 ? i + length : i) * view_of->array->strides[view_of->axis++];
    return 0;
}

static int take_one(Indexing *view_of, PyObject *item, int rest)
{
    if (item == Py_None) return add_axis(view_of, 1, 0);
    if (item == Py_Ellipsis) {
        for (; view_of->axis < view_of->array->ndim - rest; view_of->axis++)
            if (add_axis(view_of, view_of->array->shape[view_of->axis],
                         view_of->array->strides[view_of->axis])
                < 0)
                return -1;
        return 0;
    }
    if (PySlice_Check(item)) return take_slice(view_of, item);
    return take_integer(view_of, item);
}

/* How many axes these items take. */
static int axes_of(PyObject *const *items, Py_ssize_t count)
{
    int axes = 0;
    for (Py_ssize_t i = 0; i < count; i++) axes += items[i] != Py_None && items[i] != Py_Ellipsis;
    return axes;
}

static PyObject *index_view(GPUArrayObject *array, PyObject *const *items, Py_ssize_t count)
{
    Indexing view_of;
    bool dots = false;
    view_of.array = array;
    view_of.offset = view_of.axis = view_of.ndim = 0;
    int wanted = axes_of(items, count);
    if (wanted > array->ndim)
        return PyErr_Format(PyExc_IndexError,
                            "too many indices for array: array is %d-dimensional, but %d were indexed",
                            array->ndim, wanted);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = items[i];
        if (item == Py_Ellipsis && dots)
            return PyErr_Format(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
        dots = dots || item == Py_Ellipsis;
        if (take_one(&view_of, item, axes_of(items + i + 1, count - i - 1)) < 0) return NULL;
    }
    if (take_one(&view_of, Py_Ellipsis, 0) < 0) return NULL;
    return gpuarray_new_view(array, own_dtype(array), view_of.ndim, view_of.shape, view_of.strides,
                             array->pointer + (CUdeviceptr)view_of.offset);
}

/* NumPy's are integers, too, before NumPy 2.3. */
static bool is_truth(PyObject *item) { return PyBool_Check(item) || PyArray_IsScalar(item, Bool); }

/* Integers, slices, one Ellipsis and None make views; the rest is for pycuda/_array/indexing/getitem.py. */
static bool is_basic_item(ModuleState *state, PyObject *item)
{
    return item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || PyLong_CheckExact(item)
           || (PyIndex_Check(item) && !is_truth(item) && !PyArray_Check(item) && !gpuarray_check(state, item)
               && !foreign_is_array(state, item));
}

static bool is_basic(ModuleState *state, PyObject *index)
{
    if (!PyTuple_Check(index)) return is_basic_item(state, index);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++)
        if (!is_basic_item(state, PyTuple_GET_ITEM(index, i))) return false;
    return true;
}

/* False with ValueError. */
static bool is_aligned(const GPUArrayObject *view)
{
    return convert_aligned(view->dtype, view->ndim, view->shape, view->strides, view->pointer) == 0;
}

/* The view for elements of this dtype, a subarray or not, which begin `offset` bytes after each element. A
 * new reference. */
static PyObject *view_at(GPUArrayObject *array, PyArray_Descr *dtype, Py_ssize_t offset)
{
    Py_ssize_t shape[STRIDES_MAX_DIMS], strides[STRIDES_MAX_DIMS];
    int ndim = array->ndim, inner = 0;
    PyObject *subarray = PyObject_GetAttrString((PyObject *)dtype, "subdtype"), *lengths = NULL;
    if (!subarray) return NULL;
    if (subarray != Py_None) {
        dtype = (PyArray_Descr *)PyTuple_GET_ITEM(subarray, 0);
        lengths = PyTuple_GET_ITEM(subarray, 1);
        inner = (int)PyTuple_GET_SIZE(lengths);
    }
    PyObject *view = NULL;
    if (ndim + inner > STRIDES_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "maximum supported dimension for an array is %d", STRIDES_MAX_DIMS);
    } else {
        memcpy(shape, array->shape, (size_t)ndim * sizeof *shape);
        memcpy(strides, array->strides, (size_t)ndim * sizeof *strides);
        for (int i = 0; i < inner; i++) shape[ndim + i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(lengths, i));
        strides_fill('C', inner, shape + ndim, PyDataType_ELSIZE(dtype), strides + ndim);
        Py_INCREF(dtype);
        view = gpuarray_new_view(array, dtype, ndim + inner, shape, strides,
                                 array->pointer + (CUdeviceptr)(array->size ? offset : 0));
    }
    Py_DECREF(subarray);
    return view;
}

/* What `name` is in each element, as a view. */
static PyObject *view_field(GPUArrayObject *array, PyObject *name)
{
    PyObject *fields = PyObject_GetAttrString((PyObject *)array->dtype, "fields"), *view = NULL,
             *title = NULL;
    PyArray_Descr *dtype = NULL;
    Py_ssize_t offset = 0;
    if (!fields) return NULL;
    PyObject *field = fields == Py_None ? NULL : PyObject_GetItem(fields, name);
    if (fields == Py_None)
        PyErr_SetString(PyExc_IndexError, "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis "
                                          "(`None`) and integer or boolean arrays are valid indices");
    else if (!field && PyErr_ExceptionMatches(PyExc_KeyError))
        PyErr_Format(PyExc_ValueError, "no field of name %U", name);
    else if (field && PyArg_ParseTuple(field, "O!n|O", &PyArrayDescr_Type, &dtype, &offset, &title))
        view = view_at(array, dtype, offset);
    if (view) gpuarray_cast(view)->is_interleaved = true;
    if (view && !is_aligned(gpuarray_cast(view))) {
        Py_CLEAR(view);
        PyErr_Format(PyExc_ValueError,
                     "the field %U is not aligned, as kernels need it: create the dtype with align=True",
                     name);
    }
    Py_XDECREF(field);
    Py_DECREF(fields);
    return view;
}

PyObject *gpuarray_subscript(PyObject *self, PyObject *index)
{
    ModuleState *state = gpuarray_cast(self)->state;
    if (PyUnicode_Check(index)) return view_field(gpuarray_cast(self), index);
    if (!is_basic(state, index))
        return gpuarray_call_body(state, "indexing.getitem", "getitem", self, &index, 1, NULL);
    bool many = PyTuple_Check(index); /* which the caller holds */
    return index_view(gpuarray_cast(self), many ? &PyTuple_GET_ITEM(index, 0) : &index,
                      many ? PyTuple_GET_SIZE(index) : 1);
}

int gpuarray_assign_subscript(PyObject *self, PyObject *index, PyObject *value)
{
    if (!value) {
        PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
        return -1;
    }
    if (gpuarray_check_kept_of(gpuarray_cast(self)->state, self, value) < 0) return -1;
    PyObject *arguments[] = {index, value};
    PyObject *none = gpuarray_call_body(gpuarray_cast(self)->state, "indexing.setitem", "setitem", self,
                                        arguments, 2, NULL);
    Py_XDECREF(none);
    return none ? 0 : -1;
}

const char gpuarray_setitem_doc[] = "__setitem__($self, key, value, /)\n--\n\nSet self[key] to value.";

/* In place of the slot's: the call shows whether anybody else holds the array. */
PyObject *gpuarray_setitem(PyObject *self, PyObject *const *args, Py_ssize_t arg_count)
{
    if (arg_count != 2)
        return PyErr_Format(PyExc_TypeError, "__setitem__() takes 2 arguments (%zd given)", arg_count);
    return gpuarray_assign_subscript(self, args[0], args[1]) < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *gpuarray_item(PyObject *self, Py_ssize_t i)
{
    PyObject *index = PyLong_FromSsize_t(i);
    PyObject *result = index ? gpuarray_subscript(self, index) : NULL;
    Py_XDECREF(index);
    return result;
}
