/* See shared_memory.h. */
#include "ext/gpuarray/shared_memory.h"

#include "core/layout/strides.h"
#include "ext/convert/convert.h"

static StridedForm form_of(const GPUArrayObject *array)
{
    return (StridedForm){array->ndim, array->shape, array->strides, array->itemsize};
}

bool shared_memory_is_possible(const GPUArrayObject *a, const GPUArrayObject *b)
{
    if (!shared_memory_spans_meet(a, b)) return false;
    if (a->layout && b->layout) return true;
    StridedForm one = form_of(a), other = form_of(b);
    return strides_may_meet(&one, &other, (ptrdiff_t)(b->pointer - a->pointer));
}

/* ---- For Python ---- */

PyDoc_STRVAR(
    share_memory_doc,
    "_share_memory(a, b, /)\n--\n\n"
    "Whether elements of two GPUArrays may have a byte in common. With None for the second: whether\n"
    "elements of the first may have one among themselves.");

static PyObject *share_memory_py(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *first, *second;
    if (READ_ARGUMENTS(share_memory_doc, INTO_A(state->GPUArray_type, &first), INTO(&second)) < 0)
        return NULL;
    const GPUArrayObject *a = gpuarray_cast(first);
    if (second != Py_None)
        return gpuarray_check(state, second)
                   ? PyBool_FromLong(shared_memory_is_possible(a, gpuarray_cast(second)))
                   : PyErr_Format(PyExc_TypeError, "_share_memory takes GPUArrays");
    return PyBool_FromLong(!a->layout && strides_may_overlap(a->ndim, a->shape, a->strides, a->itemsize));
}

PyDoc_STRVAR(forbid_writing_doc,
             "_forbid_writing(view, /)\n--\n\n"
             "The view, which from now on is read-only: some of its elements share memory.");

static PyObject *forbid_writing_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *view;
    if (READ_ARGUMENTS(forbid_writing_doc, INTO_A(module_state(module)->GPUArray_type, &view)) < 0)
        return NULL;
    gpuarray_cast(view)->read_only = true;
    return Py_NewRef(view);
}

PyDoc_STRVAR(check_writable_doc, "_check_writable(array, /)\n--\n\n"
                                 "ValueError if this is a GPUArray that is read-only.");

static PyObject *check_writable_py(PyObject *module, PyObject *array)
{
    if (gpuarray_check(module_state(module), array) && gpuarray_check_writable(gpuarray_cast(array)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(first_address_doc,
             "_first_address(array, host_writes, /)\n--\n\n"
             "The address of the first element, also of a part of complex numbers, whose\n"
             "attribute `ptr` refuses. `host_writes`: the host is to write into the array\n"
             "there, on the CPU device.");

static PyObject *first_address_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *array;
    bool host_writes;
    if (READ_ARGUMENTS(first_address_doc, INTO_A(module_state(module)->GPUArray_type, &array),
                       INTO(&host_writes))
        < 0)
        return NULL;
    MemorySpan span = shared_memory_span(gpuarray_cast(array));
    if (host_writes && gpuarray_cast(array)->size)
        driver_note_host_write(span.low, (size_t)(span.high - span.low));
    return PyLong_FromUnsignedLongLong(gpuarray_cast(array)->pointer);
}

PyMethodDef shared_memory_functions[] = {
    {"_check_writable", check_writable_py, METH_O, check_writable_doc},
    {"_forbid_writing", AS_METHOD(forbid_writing_py), FAST_KEYWORDS, forbid_writing_doc},
    {"_first_address", AS_METHOD(first_address_py), FAST_KEYWORDS, first_address_doc},
    {"_share_memory", AS_METHOD(share_memory_py), FAST_KEYWORDS, share_memory_doc},
    {NULL, NULL, 0, NULL},
};
