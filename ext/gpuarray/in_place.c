/* a.shape = , a.strides = , a.dtype = : another description of the same memory. Allowed if NumPy allows it
 * and all elements are within the array's memory. */
#include "core/layout/strides.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/gpuarray.h"
#include "ext/gpuarray/shared_memory.h"

/* False with AttributeError when the attribute `name` is deleted: then a setter's value is NULL. */
static bool is_given(PyObject *value, const char *name)
{
    if (!value) PyErr_Format(PyExc_AttributeError, "Cannot delete array %s", name);
    return value != NULL;
}

/* Gives the array the description of the view. Takes the reference to the view, which may be NULL with an
 * exception. -1 with an exception. */
static int describe_as(GPUArrayObject *array, PyObject *view)
{
    int failed = view ? gpuarray_describe_again(array, gpuarray_cast(view)) : -1;
    Py_XDECREF(view);
    return failed;
}

static PyArray_Descr *own_dtype(GPUArrayObject *array)
{
    return (PyArray_Descr *)Py_NewRef((PyObject *)array->dtype);
}

int gpuarray_set_shape(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    GPUArrayObject *array = gpuarray_cast(self);
    Py_ssize_t shape[STRIDES_MAX_DIMS] = {0}, strides[STRIDES_MAX_DIMS];
    int ndim = is_given(value, "shape") ? gpuarray_read_shape(array, &value, 1, shape) : -1;
    if (ndim < 0) return -1;
    if (array->size == 0) {
        strides_fill('C', ndim, shape, array->itemsize, strides);
    } else if (!strides_reshape('C', array->ndim, array->shape, array->strides, ndim, shape, array->itemsize,
                                strides)) {
        PyErr_SetString(PyExc_AttributeError, "Incompatible shape for in-place modification. Use "
                                              "`.reshape()` to make a copy with the desired shape.");
        return -1;
    }
    return describe_as(array,
                       gpuarray_new_view(array, own_dtype(array), ndim, shape, strides, array->pointer));
}

/* The addresses that belong to the array: its allocation if that is known; else the span of the array of
 * which it is a view, if that contains it; else its own span. */
static MemorySpan memory_of(GPUArrayObject *array)
{
    const DeviceAllocationObject *allocation = array->allocation;
    const GPUArrayObject *root = array;
    if (allocation) return (MemorySpan){allocation->pointer, allocation->pointer + allocation->size};
    while (root->base && gpuarray_check(array->state, root->base)) root = gpuarray_cast(root->base);
    MemorySpan own = shared_memory_span(array), whole = shared_memory_span(root);
    return whole.low <= own.low && own.high <= whole.high ? whole : own;
}

/* ValueError unless the array with these strides is inside its memory. */
static int check_span(GPUArrayObject *array, const Py_ssize_t *strides)
{
    Py_ssize_t low, high;
    MemorySpan memory = memory_of(array);
    if (!array->size) return 0;
    if (strides_extent(array->ndim, array->shape, strides, array->itemsize, &low, &high)
        && -(CUdeviceptr)low <= array->pointer - memory.low
        && (CUdeviceptr)high <= memory.high - array->pointer)
        return 0;
    PyErr_SetString(PyExc_ValueError, "strides is not compatible with available memory");
    return -1;
}

int gpuarray_set_strides(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    GPUArrayObject *array = gpuarray_cast(self);
    Py_ssize_t strides[STRIDES_MAX_DIMS];
    if (!is_given(value, "strides") || gpuarray_read_strides(value, array->ndim, strides) < 0
        || check_span(array, strides) < 0
        || convert_aligned(array->dtype, array->ndim, array->shape, strides, array->pointer) < 0)
        return -1;
    return describe_as(array, gpuarray_new_view(array, own_dtype(array), array->ndim, array->shape, strides,
                                                array->pointer));
}

/* The last axis if it is contiguous, else -1: the only axis whose length a new dtype may change, as in NumPy.
 */
static int last_axis(const GPUArrayObject *array)
{
    int last = array->ndim - 1;
    bool packed =
        last >= 0 && (array->size == 0 || array->shape[last] == 1 || array->strides[last] == array->itemsize);
    return packed ? last : -1;
}

int gpuarray_set_dtype(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    GPUArrayObject *array = gpuarray_cast(self);
    PyArray_Descr *dtype = NULL;
    if (!is_given(value, "dtype") || !PyArray_DescrConverter(value, &dtype)) return -1;
    return describe_as(array, gpuarray_view_as(array, dtype, last_axis(array)));
}
