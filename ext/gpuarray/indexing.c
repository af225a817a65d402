/* a[index] and a[index] = value. Integers, slices, one ellipsis and None are read here, also for Python; an
 * index with arrays is for pycuda/_array/indexing/. */
#include <string.h>

#include "core/layout/strides.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/elementwise.h"
#include "ext/gpuarray/foreign_view.h"

/* An index being applied: the view so far, and where in the array it is. */
typedef struct Indexing {
    GPUArrayObject *array;
    Py_ssize_t offset;
    int axis; /* the next axis of the array */
    int ndim; /* how many axes the view has so far */
    Py_ssize_t shape[STRIDES_MAX_DIMS], strides[STRIDES_MAX_DIMS]; /* of the view's axes */
} Indexing;

static int add_axis(Indexing *view, Py_ssize_t length, Py_ssize_t stride)
{
    if (view->ndim == STRIDES_MAX_DIMS) {
        PyErr_SetString(PyExc_IndexError, "too many axes");
        return -1;
    }
    view->shape[view->ndim] = length;
    view->strides[view->ndim++] = stride;
    return 0;
}

static int take_slice(Indexing *view, PyObject *slice)
{
    Py_ssize_t start, stop, step, stride = view->array->strides[view->axis];
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) return -1;
    Py_ssize_t length = PySlice_AdjustIndices(view->array->shape[view->axis++], &start, &stop, step);
    if (length > 0) view->offset += start * stride;
    return add_axis(view, length, length > 1 ? stride * step : stride);
}

static int take_integer(Indexing *view, PyObject *index)
{
    Py_ssize_t length = view->array->shape[view->axis], i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) return -1;
    if (i < -length || i >= length) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis %d with size %zd", i, view->axis,
                     length);
        return -1;
    }
    view->offset += (i < 0 ? i + length : i) * view->array->strides[view->axis++];
    return 0;
}

/* Adds the array's axes from the next one up to, but not including, `end` to the view. -1 with IndexError. */
static int take_axes(Indexing *view, int end)
{
    const GPUArrayObject *array = view->array;
    for (; view->axis < end; view->axis++)
        if (add_axis(view, array->shape[view->axis], array->strides[view->axis]) < 0) return -1;
    return 0;
}

/* Applies one item of an index. ellipsis_axes: how many axes an ellipsis stands for. -1 with an exception. */
static int take_one(Indexing *view, PyObject *item, int ellipsis_axes)
{
    if (item == Py_None) return add_axis(view, 1, 0);
    if (item == Py_Ellipsis) return take_axes(view, view->axis + ellipsis_axes);
    if (PySlice_Check(item)) return take_slice(view, item);
    return take_integer(view, item);
}

/* How many axes of the array these items index. */
static int axes_of(PyObject *const *items, Py_ssize_t count)
{
    int axes = 0;
    for (Py_ssize_t i = 0; i < count; i++) axes += items[i] != Py_None && items[i] != Py_Ellipsis;
    return axes;
}

/* The view by these items, each of which is_basic_item(). NULL with IndexError. */
static PyObject *index_view(GPUArrayObject *array, PyObject *const *items, Py_ssize_t count)
{
    Indexing view;
    bool dots = false;
    view.array = array;
    view.offset = view.axis = view.ndim = 0;
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
        if (take_one(&view, item, array->ndim - wanted) < 0) return NULL;
    }
    if (take_axes(&view, array->ndim) < 0) return NULL;
    return gpuarray_new_view(array, (PyArray_Descr *)Py_NewRef((PyObject *)array->dtype), view.ndim,
                             view.shape, view.strides, array->pointer + (CUdeviceptr)view.offset);
}

/* Whether the item is a boolean, which is no integer although NumPy's booleans have __index__ before NumPy
 * 2.3. */
static bool is_bool(PyObject *item) { return PyBool_Check(item) || PyArray_IsScalar(item, Bool); }

/* Whether an item of an index makes a view: integers, slices, Ellipsis and None do. Indices with other items
 * are for pycuda/_array/indexing/getitem.py. */
static bool is_basic_item(ModuleState *state, PyObject *item)
{
    return item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || PyLong_CheckExact(item)
           || (PyIndex_Check(item) && !is_bool(item) && !PyArray_Check(item) && !gpuarray_check(state, item)
               && !foreign_is_array(state, item));
}

static bool is_basic(ModuleState *state, PyObject *index)
{
    if (!PyTuple_Check(index)) return is_basic_item(state, index);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++)
        if (!is_basic_item(state, PyTuple_GET_ITEM(index, i))) return false;
    return true;
}

/* False with ValueError when kernels cannot read the view's elements. */
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
        gpuarray_raise_ndim();
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

/* A view of the field `name` of all elements, a new reference. NULL with an exception. */
static PyObject *view_field(GPUArrayObject *array, PyObject *name)
{
    PyObject *fields = PyObject_GetAttrString((PyObject *)array->dtype, "fields"), *view = NULL,
             *title = NULL;
    PyArray_Descr *dtype = NULL;
    Py_ssize_t offset = 0;
    if (!fields) return NULL;
    PyObject *field = fields == Py_None ? NULL : PyObject_GetItem(fields, name);
    if (fields == Py_None)
        PyErr_SetString(PyExc_IndexError, BAD_INDEX);
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

/* The view that an index without arrays stands for, a new reference. index: borrowed; a field's name as a
 * str, a tuple, or one index. */
static PyObject *basic_view(GPUArrayObject *array, PyObject *index)
{
    bool many = PyTuple_Check(index);
    if (PyUnicode_Check(index)) return view_field(array, index);
    return index_view(array, many ? &PyTuple_GET_ITEM(index, 0) : &index, many ? PyTuple_GET_SIZE(index) : 1);
}

PyObject *gpuarray_subscript(PyObject *self, PyObject *index)
{
    ModuleState *state = gpuarray_cast(self)->state;
    if (PyUnicode_Check(index) || is_basic(state, index)) return basic_view(gpuarray_cast(self), index);
    return gpuarray_call_python(state, "indexing.getitem", "getitem", self, &index, 1, NULL);
}

/* ---- Assignment ---- */

static bool is_number(PyObject *value)
{
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyComplex_CheckExact(value)
           || is_bool(value) || PyArray_IsScalar(value, Number);
}

static bool holds_numbers(const GPUArrayObject *array)
{
    return PyTypeNum_ISNUMBER(array->dtype->type_num) || PyTypeNum_ISBOOL(array->dtype->type_num);
}

/* Whether NumPy would copy the array to the view without a warning of lost imaginary parts and without an
 * error of shapes that do not fit: then a kernel may do it. */
static bool is_copied_silently(const GPUArrayObject *view, const GPUArrayObject *value)
{
    int more = view->ndim - value->ndim;
    bool fits =
        more >= 0 && holds_numbers(value)
        && (PyTypeNum_ISCOMPLEX(view->dtype->type_num) || !PyTypeNum_ISCOMPLEX(value->dtype->type_num));
    for (int axis = 0; fits && axis < value->ndim; axis++)
        fits = value->shape[axis] == 1 || value->shape[axis] == view->shape[more + axis];
    return fits;
}

/* Sets every element of the view from a number, in the view's dtype, or from an array. */
static int copy_to_view(GPUArrayObject *view, PyObject *value)
{
    ModuleState *state = view->state;
    PyObject *dtype = Py_NewRef((PyObject *)view->dtype), *operand = value;
    if (gpuarray_check(state, value)) {
        Py_INCREF(value);
        Py_DECREF(dtype);
    } else if (!(operand = PyArray_FromAny(value, (PyArray_Descr *)dtype, 0, 0, 0, NULL))) {
        return -1;
    }
    ElementwiseCall call = {.name = state->str_copy, .operands = &operand, .count = 1};
    call.out = (PyObject *)view;
    call.casting = state->str_unsafe;
    PyObject *result = elementwise_call(state, &call);
    Py_DECREF(operand);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* Assigns by a function of a Python module of pycuda._array. -1 with an exception. */
static int assign_by(ModuleState *state, const char *module, const char *name, PyObject *self,
                     PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *none = gpuarray_call_python(state, module, name, self, arguments, count, NULL);
    Py_XDECREF(none);
    return none ? 0 : -1;
}

/* Whether all items of an index without arrays are integers. */
static bool is_of_integers(PyObject *index)
{
    PyObject *const *items = PyTuple_Check(index) ? &PyTuple_GET_ITEM(index, 0) : &index;
    Py_ssize_t count = PyTuple_Check(index) ? PyTuple_GET_SIZE(index) : 1;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyIndex_Check(items[i])) return false;
    return true;
}

static int assign_basic(GPUArrayObject *array, PyObject *index, PyObject *value)
{
    ModuleState *state = array->state;
    PyObject *object = basic_view(array, index);
    if (!object) return -1;
    GPUArrayObject *view = gpuarray_cast(object);
    bool quick = view->size && holds_numbers(view)
                 && (is_number(value)
                     || (gpuarray_check(state, value) && is_copied_silently(view, gpuarray_cast(value))));
    bool is_element = view->ndim == 0 && is_of_integers(index);
    int failed =
        quick ? copy_to_view(view, value)
              : assign_by(state, "core.assign", is_element ? "assign_element" : "assign", object, &value, 1);
    Py_DECREF(object);
    return failed;
}

int gpuarray_assign_subscript(PyObject *self, PyObject *index, PyObject *value)
{
    GPUArrayObject *array = gpuarray_cast(self);
    PyObject *arguments[] = {index, value};
    if (!value) {
        PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
        return -1;
    }
    if (gpuarray_check_kept_of(array->state, self, value) < 0) return -1;
    if (PyUnicode_Check(index) || is_basic(array->state, index)) return assign_basic(array, index, value);
    return assign_by(array->state, "indexing.setitem", "setitem", self, arguments, 2);
}

const char gpuarray_setitem_doc[] = "__setitem__($self, key, value, /)\n--\n\nSet self[key] to value.";

/* The method __setitem__. It replaces CPython's wrapper of the slot, which holds another reference to the
 * array: here gpuarray_check_kept() sees whether only the call holds it. */
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
