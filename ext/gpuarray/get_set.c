/* get, set, copy and to_gpu: what may be given, then the transfer (ext/gpuarray/transfer.h). */
#include <string.h>

#include "core/layout/strides.h"
#include "ext/base/driver_calls.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/base/section.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/foreign_view.h"
#include "ext/memory/array_device.h"
#include "ext/stream/stream.h"

/* 1 if the array is on another device than the current context; 0; -1 with an exception. */
static int is_elsewhere(GPUArrayObject *array)
{
    ModuleState *state = array->state;
    ContextObject *current = array->size ? context_current(state) : NULL;
    if (!current) return array->size ? -1 : 0;
    bool is_foreign = !array_device_is(array, current);
    int elsewhere = is_foreign && array_device_number(array, current->device) != current->device;
    Py_DECREF((PyObject *)current);
    return elsewhere;
}

/* Calls a method of the array in a context of its device: only there a copy is in order with the work on the
 * array. */
static PyObject *call_there(PyObject *(*method)(PyObject *, FAST_PARAMETERS), PyObject *self, FAST_PARAMETERS)
{
    ContextScope scope;
    ContextObject *context = array_device_hold_context(gpuarray_cast(self));
    PyObject *result = NULL;
    if (!context) return NULL;
    if (context_lend(context, &scope)) {
        result = method(self, args, arg_count, keywords);
        context_lend_end(&scope);
    } else
        context_raise_dead(context, "GPUArray");
    context_drop(context);
    return result;
}

/* For call_there(): calls args[0] with the other arguments, without the array. */
static PyObject *call_second(PyObject *Py_UNUSED(array), FAST_PARAMETERS)
{
    return PyObject_Vectorcall(args[0], args + 1, (size_t)(arg_count - 1), keywords);
}

/* Checks the host array that get() is to fill. -1 with an exception; a warning if only the shape differs. */
static int check_target(GPUArrayObject *array, PyObject *ary)
{
    if (!PyArray_Check(ary)) {
        PyErr_Format(PyExc_TypeError, "ary must be a numpy array, not %.200s", Py_TYPE(ary)->tp_name);
        return -1;
    }
    PyArrayObject *host = (PyArrayObject *)ary;
    if (PyArray_SIZE(host) != array->size) {
        PyErr_Format(PyExc_ValueError, "ary has %zd elements, but the GPUArray has %zd", PyArray_SIZE(host),
                     array->size);
        return -1;
    }
    if (!PyArray_EquivTypes(PyArray_DESCR(host), array->dtype)) {
        PyErr_Format(PyExc_TypeError, "ary has dtype %S, but the GPUArray has %S",
                     (PyObject *)PyArray_DESCR(host), (PyObject *)array->dtype);
        return -1;
    }
    if (PyArray_FailUnlessWriteable(host, "ary") < 0) return -1;
    return gpuarray_has_shape(array, PyArray_NDIM(host), PyArray_DIMS(host))
               ? 0
               : PyErr_WarnEx(PyExc_DeprecationWarning, "get() into an array of a different shape", 1);
}

/* Fills a host array of another shape through a temporary array of the same shape. -1 with an exception. */
static int fill_other_shape(GPUArrayObject *array, PyObject *ary, TransferMode mode)
{
    PyObject *host = transfer_new_host(array, false);
    mode.async = false;
    int failed = !host || transfer_to_host(array, host, mode) < 0
                 || PyArray_CopyAnyInto((PyArrayObject *)ary, (PyArrayObject *)host) < 0;
    Py_XDECREF(host);
    return failed ? -1 : 0;
}

/* get(): fills `ary`, or a new array, page-locked if `locked`. A new reference to it. */
static PyObject *get_into(GPUArrayObject *array, PyObject *ary, PyObject *stream, bool locked,
                          TransferMode mode)
{
    int failed;
    if (transfer_stream(array->state, stream, &mode) < 0) return NULL;
    if (!ary || ary == Py_None) {
        PyObject *host = transfer_new_host(array, locked);
        mode.fresh = !locked;
        if (host && transfer_to_host(array, host, mode) < 0) Py_CLEAR(host);
        return host;
    }
    if (check_target(array, ary) < 0) return NULL;
    PyArrayObject *host = (PyArrayObject *)ary;
    if (gpuarray_has_shape(array, PyArray_NDIM(host), PyArray_DIMS(host)))
        failed = transfer_to_host(array, ary, mode);
    else
        failed = fill_other_shape(array, ary, mode);
    return failed ? NULL : Py_NewRef(ary);
}

const char gpuarray_get_doc[] =
    PyDoc_STR("get($self, ary=None, pagelocked=False, async_=False, stream=None)\n--\n\n"
              "Copy the array to the host.\n"
              "\nParameters\n----------\n"
              "ary : numpy.ndarray\n"
              "    Where to; None is a new array with the same order of axes and no gaps.\n"
              "pagelocked : bool\n    Make the new array page-locked.\n"
              "async_ : bool\n    Queue the copy on the stream.\n"
              "stream : Stream\n"
              "\nReturns\n-------\n"
              "numpy.ndarray\n"
              "\nRaises\n------\n"
              "ValueError\n    The size of ary differs.\n"
              "TypeError\n    The dtype of ary differs.\n"
              "\nNotes\n-----\n"
              "Calls cuMemcpyDtoH, cuMemcpyDtoHAsync.");

PyObject *gpuarray_get(PyObject *self, FAST_PARAMETERS)
{
    PyObject *ary, *stream;
    TransferMode mode = {0};
    bool locked = false;
    if (READ_ARGUMENTS(gpuarray_get_doc, INTO(&ary), INTO(&locked), INTO(&mode.async), INTO(&stream)) < 0)
        return NULL;
    int elsewhere = is_elsewhere(gpuarray_cast(self));
    if (elsewhere) return elsewhere < 0 ? NULL : call_there(gpuarray_get, self, args, arg_count, keywords);
    return get_into(gpuarray_cast(self), ary, stream, locked, mode);
}

const char gpuarray_get_async_doc[] =
    PyDoc_STR("get_async($self, stream=None, ary=None)\n--\n\n"
              "Queue a copy of the array to the host; the result is there when the stream was waited\n"
              "for.\n"
              "\nParameters\n----------\n"
              "stream : Stream\n"
              "ary : numpy.ndarray\n    As for get.\n"
              "\nReturns\n-------\n"
              "numpy.ndarray\n"
              "\nNotes\n-----\n"
              "Calls cuMemcpyDtoHAsync.");

PyObject *gpuarray_get_async(PyObject *self, FAST_PARAMETERS)
{
    PyObject *stream, *ary;
    TransferMode mode = {.async = true};
    if (READ_ARGUMENTS(gpuarray_get_async_doc, INTO(&stream), INTO(&ary)) < 0) return NULL;
    int elsewhere = is_elsewhere(gpuarray_cast(self));
    if (elsewhere)
        return elsewhere < 0 ? NULL : call_there(gpuarray_get_async, self, args, arg_count, keywords);
    return get_into(gpuarray_cast(self), ary, stream, false, mode);
}

/* set() */

/* Checks the size and dtype of what set() is given. -1 with an exception; a warning unless the shape fits. */
static int check_source(GPUArrayObject *array, Py_ssize_t size, PyArray_Descr *dtype, bool shape_fits)
{
    if (size != array->size) {
        PyErr_Format(PyExc_ValueError, "ary has %zd elements, but the GPUArray has %zd", size, array->size);
        return -1;
    }
    if (!PyArray_EquivTypes(dtype, array->dtype)) {
        PyErr_Format(PyExc_ValueError, "ary has dtype %S, but the GPUArray has %S", (PyObject *)dtype,
                     (PyObject *)array->dtype);
        return -1;
    }
    return shape_fits ? 0
                      : PyErr_WarnEx(PyExc_UserWarning, "setting an array from one of a different shape", 1);
}

static int set_from_host(GPUArrayObject *array, PyArrayObject *host, TransferMode mode)
{
    bool fits = gpuarray_has_shape(array, PyArray_NDIM(host), PyArray_DIMS(host));
    if (check_source(array, PyArray_SIZE(host), PyArray_DESCR(host), fits) < 0) return -1;
    if (fits) return transfer_to_device(array, (PyObject *)host, mode);
    PyArray_Dims shape = {array->shape, array->ndim};
    PyObject *shaped = PyArray_Newshape(host, &shape, NPY_CORDER);
    int failed = shaped ? transfer_to_device(array, shaped, mode) : -1;
    Py_XDECREF(shaped);
    return failed;
}

static int set_from_device(GPUArrayObject *array, GPUArrayObject *source, TransferMode mode)
{
    bool fits = gpuarray_has_shape(array, source->ndim, source->shape);
    if (check_source(array, source->size, source->dtype, fits) < 0) return -1;
    if (fits) return transfer_on_device(array, source, mode);
    PyObject *shaped = gpuarray_reshape_to(source, array->ndim, array->shape, 'C', mode.stream_object);
    int failed = shaped ? transfer_on_device(array, gpuarray_cast(shaped), mode) : -1;
    Py_XDECREF(shaped);
    return failed;
}

static PyObject *set_from(GPUArrayObject *array, PyObject *ary, PyObject *stream, TransferMode mode)
{
    PyObject *view = NULL;
    if (transfer_stream(array->state, stream, &mode) < 0
        || gpuarray_check_kept(array->state, (PyObject *)array) < 0)
        return NULL;
    int failed = -1, found = PyArray_Check(ary) ? 0 : foreign_view(array->state, ary, mode, &view);
    if (found < 0) return NULL;
    if (found || gpuarray_check(array->state, ary))
        failed = set_from_device(array, gpuarray_cast(found ? view : ary), mode);
    else if (PyArray_Check(ary))
        failed = set_from_host(array, (PyArrayObject *)ary, mode);
    else
        PyErr_Format(PyExc_TypeError, "ary must be a numpy array or a GPUArray, not %.200s",
                     Py_TYPE(ary)->tp_name);
    Py_XDECREF(view);
    return failed ? NULL : Py_NewRef(Py_None);
}

const char gpuarray_set_doc[] = PyDoc_STR("set($self, ary, async_=False, stream=None)\n--\n\n"
                                          "Fill the array from another one of the same size and dtype.\n"
                                          "\nParameters\n----------\n"
                                          "ary : numpy.ndarray or GPUArray\n"
                                          "async_ : bool\n    Queue the copy on the stream.\n"
                                          "stream : Stream\n"
                                          "\nRaises\n------\n"
                                          "ValueError\n    Size or dtype differs.\n"
                                          "\nNotes\n-----\n"
                                          "Calls cuMemcpyHtoD, cuMemcpyHtoDAsync.");

PyObject *gpuarray_set(PyObject *self, FAST_PARAMETERS)
{
    PyObject *ary, *stream;
    TransferMode mode = {0};
    if (READ_ARGUMENTS(gpuarray_set_doc, INTO(&ary), INTO(&mode.async), INTO(&stream)) < 0) return NULL;
    int elsewhere = is_elsewhere(gpuarray_cast(self));
    if (elsewhere) return elsewhere < 0 ? NULL : call_there(gpuarray_set, self, args, arg_count, keywords);
    return set_from(gpuarray_cast(self), ary, stream, mode);
}

const char gpuarray_set_async_doc[] = PyDoc_STR("set_async($self, ary, stream=None)\n--\n\n"
                                                "Queue a copy to the array.\n"
                                                "\nParameters\n----------\n"
                                                "ary : numpy.ndarray or GPUArray\n    As for set.\n"
                                                "stream : Stream\n"
                                                "\nNotes\n-----\n"
                                                "Calls cuMemcpyHtoDAsync.");

PyObject *gpuarray_set_async(PyObject *self, FAST_PARAMETERS)
{
    PyObject *ary, *stream;
    TransferMode mode = {.async = true};
    if (READ_ARGUMENTS(gpuarray_set_async_doc, INTO(&ary), INTO(&stream)) < 0) return NULL;
    int elsewhere = is_elsewhere(gpuarray_cast(self));
    if (elsewhere)
        return elsewhere < 0 ? NULL : call_there(gpuarray_set_async, self, args, arg_count, keywords);
    return set_from(gpuarray_cast(self), ary, stream, mode);
}

const char gpuarray_copy_doc[] =
    PyDoc_STR("copy($self, order=\"K\", stream=None)\n--\n\n"
              "A new array with the same elements, without gaps.\n"
              "\nParameters\n----------\n"
              "order : {\"K\", \"C\", \"F\", \"A\"}\n    In memory; \"K\" keeps that of the axes.\n"
              "stream : Stream\n    Where the copy is queued.\n"
              "\nReturns\n-------\n"
              "GPUArray");

/* 'C', 'F' or 'K', which NULL means; "A" is read as 'F' if the array is F-contiguous and not C-contiguous,
 * else as 'C'. 0 with ValueError. */
static char read_order(PyObject *value, const GPUArrayObject *array)
{
    if (!value) return 'K';
    bool is_letter = PyUnicode_Check(value) && PyUnicode_GET_LENGTH(value) == 1;
    Py_UCS4 letter = is_letter ? PyUnicode_READ_CHAR(value, 0) : 0;
    if (letter == 'A') return array->layout == GPUARRAY_F ? 'F' : 'C';
    if (letter == 'C' || letter == 'F' || letter == 'K') return (char)letter;
    return gpuarray_raise_order(value);
}

PyObject *gpuarray_copy(PyObject *self, FAST_PARAMETERS)
{
    GPUArrayObject *array = gpuarray_cast(self);
    TransferMode mode = transfer_mode_blocking(array->state);
    PyObject *given[2] = {NULL};
    if ((arg_count || keywords)
        && convert_arguments(gpuarray_copy_doc, args, arg_count, keywords, GIVEN(given)) < 0)
        return NULL;
    char order = read_order(given[0], array);
    if (!order || transfer_mode_on(array->state, given[1], &mode) < 0) return NULL;
    return transfer_copy(array, order, array->allocator, mode);
}

/* empty_like */

PyDoc_STRVAR(empty_like_doc,
             "_empty_like(array, dtype=None, order=\"K\", stream=None)\n--\n\n"
             "A new GPUArray of the same shape and allocator, unset, for work on the stream.");

static PyObject *empty_like_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[4];
    PyArray_Descr *dtype = NULL;
    Py_ssize_t strides[STRIDES_MAX_DIMS];
    ModuleState *state = module_state(module);
    if (convert_arguments(empty_like_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!gpuarray_check(state, given[0])) return PyErr_Format(PyExc_TypeError, "array must be a GPUArray");
    GPUArrayObject *like = gpuarray_cast(given[0]);
    char order = read_order(given[2], like);
    if (!order) return NULL;
    if (!given[1] || given[1] == Py_None)
        dtype = (PyArray_Descr *)Py_NewRef((PyObject *)like->dtype);
    else if (!PyArray_DescrConverter(given[1], &dtype))
        return NULL;
    if (order == 'K' && !(like->layout & GPUARRAY_C))
        strides_pack_like(like->ndim, like->shape, like->strides, PyDataType_ELSIZE(dtype), strides);
    else
        strides_fill(order == 'F' ? 'F' : 'C', like->ndim, like->shape, PyDataType_ELSIZE(dtype), strides);
    return gpuarray_new(state, dtype, like->ndim, like->shape, strides, like->allocator, given[3]);
}

/* to_gpu */

/* Other objects as numpy.asarray converts them. NULL with an exception. */
static PyObject *as_host_array(PyObject *value)
{
    PyObject *array = PyArray_FROM_O(value);
    if (array && PyArray_TYPE((PyArrayObject *)array) == NPY_OBJECT) {
        PyErr_Format(PyExc_TypeError, "ary must be an array, a number or lists of numbers, not %.200s",
                     Py_TYPE(value)->tp_name);
        Py_CLEAR(array);
    }
    return array;
}

/* A new GPUArray with the elements of `ary`, which may be a GPUArray, another library's array or array_like.
 * NULL with an exception. */
static PyObject *to_gpu(ModuleState *state, PyObject *ary, PyObject *allocator, TransferMode mode)
{
    Py_ssize_t strides[STRIDES_MAX_DIMS];
    PyObject *view = NULL;
    if (gpuarray_check(state, ary)) return transfer_copy(gpuarray_cast(ary), 'K', allocator, mode);
    int found = PyArray_Check(ary) ? 0 : foreign_view(state, ary, mode, &view);
    if (found) {
        PyObject *copy = found > 0 ? transfer_copy(gpuarray_cast(view), 'K', allocator, mode) : NULL;
        Py_XDECREF(view);
        return copy;
    }
    if (!PyArray_Check(ary)) {
        PyObject *host = as_host_array(ary);
        PyObject *array = host ? to_gpu(state, host, allocator, mode) : NULL;
        Py_XDECREF(host);
        return array;
    }
    PyArrayObject *host = (PyArrayObject *)ary;
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(host));
    bool in_order = PyArray_IS_C_CONTIGUOUS(host);
    if (!in_order)
        strides_pack_like(PyArray_NDIM(host), PyArray_DIMS(host), PyArray_STRIDES(host),
                          PyArray_ITEMSIZE(host), strides);
    PyObject *array = gpuarray_new(state, dtype, PyArray_NDIM(host), PyArray_DIMS(host),
                                   in_order ? NULL : strides, allocator, mode.stream_object);
    if (array && transfer_to_device(gpuarray_cast(array), ary, mode) < 0) Py_CLEAR(array);
    return array;
}

PyDoc_STRVAR(to_gpu_doc, "to_gpu(ary, allocator=None)\n--\n\n"
                         "Copy a host array to a new GPUArray with the same order of axes and no gaps.\n"
                         "\nParameters\n----------\n"
                         "ary : array_like or GPUArray\n    Lists are taken as by numpy.asarray.\n"
                         "allocator : callable\n    None is the default pool.\n"
                         "\nReturns\n-------\n"
                         "GPUArray\n"
                         "\nNotes\n-----\n"
                         "Calls cuMemcpyHtoD.");

static PyObject *to_gpu_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[2];
    if (convert_arguments(to_gpu_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    return to_gpu(module_state(module), given[0], given[1], transfer_mode_blocking(module_state(module)));
}

PyDoc_STRVAR(to_gpu_async_doc,
             "to_gpu_async(ary, allocator=None, stream=None)\n--\n\n"
             "Queue a copy of a host array to a new GPUArray with the same order of axes and no\n"
             "gaps.\n"
             "\nParameters\n----------\n"
             "ary : numpy.ndarray or GPUArray\n"
             "    Stays alive until the stream has copied it; must not change before.\n"
             "allocator : callable\n    None is the default pool.\n"
             "stream : Stream\n"
             "\nReturns\n-------\n"
             "GPUArray\n"
             "\nNotes\n-----\n"
             "Calls cuMemcpyHtoDAsync.");

static PyObject *to_gpu_async_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[3];
    TransferMode mode = {.async = true};
    if (convert_arguments(to_gpu_async_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || transfer_stream(module_state(module), given[2], &mode) < 0)
        return NULL;
    return to_gpu(module_state(module), given[0], given[1], mode);
}

/* pycuda.gpuarray has these functions under their names; in this module they begin with an underscore. */
static PyMethodDef to_gpu_row = {"to_gpu", AS_METHOD(to_gpu_py), FAST_KEYWORDS, to_gpu_doc};
static PyMethodDef to_gpu_async_row = {"to_gpu_async", AS_METHOD(to_gpu_async_py), FAST_KEYWORDS,
                                       to_gpu_async_doc};

static int add_function(PyObject *module, const char *name, PyMethodDef *row)
{
    PyObject *home = PyUnicode_FromString("pycuda.gpuarray");
    PyObject *function = home ? PyCFunction_NewEx(section_method(row), module, home) : NULL;
    int status = function ? PyModule_AddObjectRef(module, name, function) : -1;
    Py_XDECREF(home);
    Py_XDECREF(function);
    return status;
}

PyDoc_STRVAR(in_context_of_doc, "_in_context_of(array, function, /, *args)\n--\n\n"
                                "function(*args) with the context of the array's memory as the current one.");

static PyObject *in_context_of(PyObject *module, PyObject *const *args, Py_ssize_t arg_count)
{
    if (arg_count < 2 || !gpuarray_check(module_state(module), args[0]))
        return PyErr_Format(PyExc_TypeError, "_in_context_of takes a GPUArray and a function");
    return call_there(call_second, args[0], args + 1, arg_count - 1, NULL);
}

PyMethodDef get_set_functions[] = {
    {"_in_context_of", AS_METHOD(in_context_of), METH_FASTCALL, in_context_of_doc},
    {"_empty_like", AS_METHOD(empty_like_py), FAST_KEYWORDS, empty_like_doc},
    {NULL, NULL, 0, NULL},
};

int get_set_setup(PyObject *module, ModuleState *Py_UNUSED(state))
{
    if (add_function(module, "_to_gpu", &to_gpu_row) < 0) return -1;
    return add_function(module, "_to_gpu_async", &to_gpu_async_row);
}
