/* Elements are moved as integers of their size, or as bytes: their bits stay, and all dtypes of one size have
 * one kernel, which is that of the elementwise operation "copy". */
#include "ext/gpuarray/strided_copy.h"

#include "core/layout/strides.h"
#include "ext/base/numpy_api.h"
#include "ext/gpuarray/elementwise.h"

/* The dtype as which a kernel copies elements that are aligned to `alignment` bytes, a new reference: an
 * unsigned integer of their size, or else their own. NULL without an exception when no kernel can copy them.
 */
static PyArray_Descr *copy_dtype(PyArray_Descr *dtype, ptrdiff_t alignment)
{
    static const int integers[] = {[1] = NPY_UINT8, [2] = NPY_UINT16, [4] = NPY_UINT32, [8] = NPY_UINT64};
    Py_ssize_t size = PyDataType_ELSIZE(dtype);
    bool is_complex = dtype->type_num == NPY_CFLOAT || dtype->type_num == NPY_CDOUBLE;
    if (size == 0 || alignment < strides_word(is_complex ? size / 2 : size)) return NULL;
    if (strides_word(size) == size && alignment >= size) return PyArray_DescrFromType(integers[size]);
    bool has_kernel_type = is_complex || dtype->type_num == NPY_VOID;
    return has_kernel_type ? (PyArray_Descr *)Py_NewRef((PyObject *)dtype) : NULL;
}

static ptrdiff_t alignment(const GPUArrayObject *array)
{
    return strides_alignment(array->ndim, array->shape, array->strides, array->pointer);
}

static PyObject *as_words(GPUArrayObject *array, PyArray_Descr *dtype)
{
    Py_INCREF((PyObject *)dtype);
    return gpuarray_new_view(array, dtype, array->ndim, array->shape, array->strides, array->pointer);
}

/* Clears the exception if it is a CompileError: then the copy is made without a kernel, which is slower.
 * False for another exception, which stays set. */
static bool clear_compile_error(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *module = PyImport_ImportModule("pycuda.driver");
    PyObject *error = module ? PyObject_GetAttrString(module, "CompileError") : NULL;
    bool is_compile_error = error && PyErr_GivenExceptionMatches(type, error);
    Py_XDECREF(error);
    Py_XDECREF(module);
    PyErr_Clear();
    if (!is_compile_error) {
        PyErr_Restore(type, value, trace);
        return false;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return true;
}

int strided_copy(GPUArrayObject *to, GPUArrayObject *from, TransferMode mode)
{
    PyArray_Descr *dtype = copy_dtype(to->dtype, Py_MIN(alignment(to), alignment(from)));
    if (!dtype) return 0;
    PyObject *target = as_words(to, dtype), *source = target ? as_words(from, dtype) : NULL, *result = NULL;
    PyObject *name = source ? PyUnicode_InternFromString("copy") : NULL;
    if (name)
        result = elementwise_call(
            to->state,
            &(ElementwiseCall){
                .name = name, .operands = &source, .count = 1, .out = target, .stream = mode.stream_object});
    int done = 1;
    if (!result) done = clear_compile_error() ? 0 : -1;
    Py_XDECREF(result);
    Py_XDECREF(name);
    Py_XDECREF(source);
    Py_XDECREF(target);
    Py_DECREF((PyObject *)dtype);
    return done;
}
