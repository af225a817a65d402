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
    PyObject *given[2];
    if (convert_arguments(share_memory_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    bool alone = given[1] == Py_None;
    if (!gpuarray_check(state, given[0]) || !(alone || gpuarray_check(state, given[1])))
        return PyErr_Format(PyExc_TypeError, "_share_memory takes GPUArrays");
    const GPUArrayObject *a = gpuarray_cast(given[0]);
    if (!alone) return PyBool_FromLong(shared_memory_is_possible(a, gpuarray_cast(given[1])));
    return PyBool_FromLong(!a->layout && strides_may_overlap(a->ndim, a->shape, a->strides, a->itemsize));
}

PyDoc_STRVAR(forbid_writing_doc,
             "_forbid_writing(view, /)\n--\n\n"
             "The view, which from now on is read-only: some of its elements share memory.");

static PyObject *forbid_writing_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[1];
    if (convert_arguments(forbid_writing_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!gpuarray_check(module_state(module), given[0]))
        return PyErr_Format(PyExc_TypeError, "_forbid_writing takes a GPUArray");
    gpuarray_cast(given[0])->read_only = true;
    return Py_NewRef(given[0]);
}

PyMethodDef shared_memory_functions[] = {
    {"_forbid_writing", AS_METHOD(forbid_writing_py), FAST_KEYWORDS, forbid_writing_doc},
    {"_share_memory", AS_METHOD(share_memory_py), FAST_KEYWORDS, share_memory_doc},
    {NULL, NULL, 0, NULL},
};
