/* Elements are moved as integers of their size, or as bytes: their bits stay, and all dtypes of one size have
 * one kernel, which is that of the elementwise operation "copy". */
#include "ext/gpuarray/strided_copy.h"

#include "ext/gpuarray/elementwise.h"
#include "ext/numpy_api.h"

/* As what the elements are moved, a new reference. NULL without an exception when kernels have no such type.
 */
static PyArray_Descr *moved_as(PyArray_Descr *dtype)
{
    switch (PyDataType_ELSIZE(dtype)) {
    case 1: return PyArray_DescrFromType(NPY_UINT8);
    case 2: return PyArray_DescrFromType(NPY_UINT16);
    case 4: return PyArray_DescrFromType(NPY_UINT32);
    case 8: return PyArray_DescrFromType(NPY_UINT64);
    default: break;
    }
    bool known = dtype->type_num == NPY_CDOUBLE || dtype->type_num == NPY_VOID;
    return known ? (PyArray_Descr *)Py_NewRef((PyObject *)dtype) : NULL;
}

/* The greatest part of an element that a kernel moves at once. */
static Py_ssize_t word_of(Py_ssize_t size)
{
    Py_ssize_t word = 8;
    while (size % word) word /= 2;
    return word;
}

static bool is_aligned(const GPUArrayObject *array)
{
    Py_ssize_t word = word_of(array->itemsize);
    bool aligned = array->pointer % (CUdeviceptr)word == 0;
    for (int i = 0; i < array->ndim; i++)
        aligned = aligned && (array->shape[i] < 2 || array->strides[i] % word == 0);
    return aligned;
}

static PyObject *as_words(GPUArrayObject *array, PyArray_Descr *dtype)
{
    Py_INCREF((PyObject *)dtype);
    return gpuarray_new_view(array, dtype, array->ndim, array->shape, array->strides, array->pointer);
}

/* Who has no compiler has copies all the same, if slower ones. */
static bool is_for_want_of_a_compiler(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *module = PyImport_ImportModule("pycuda.driver");
    PyObject *error = module ? PyObject_GetAttrString(module, "CompileError") : NULL;
    bool is = error && PyErr_GivenExceptionMatches(type, error);
    Py_XDECREF(error);
    Py_XDECREF(module);
    PyErr_Clear();
    if (!is) {
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
    PyArray_Descr *dtype = is_aligned(to) && is_aligned(from) ? moved_as(to->dtype) : NULL;
    if (!dtype) return 0;
    PyObject *target = as_words(to, dtype), *source = target ? as_words(from, dtype) : NULL, *result = NULL;
    PyObject *name = source ? PyUnicode_InternFromString("copy") : NULL;
    if (name)
        result = elementwise_call(
            to->state,
            &(ElementwiseCall){
                .name = name, .operands = &source, .count = 1, .out = target, .stream = mode.stream_object});
    int done = result ? 1 : is_for_want_of_a_compiler() ? 0 : -1;
    Py_XDECREF(result);
    Py_XDECREF(name);
    Py_XDECREF(source);
    Py_XDECREF(target);
    Py_DECREF((PyObject *)dtype);
    return done;
}
