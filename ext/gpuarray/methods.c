/* The methods of GPUArray. Those of methods.def have bodies in Python, imported with the first call. */
#include "ext/gpuarray/gpuarray.h"

#include <string.h>

enum { FEW_ARGUMENTS = 8 };

/* The function, borrowed from the module's state; NULL with an exception. */
static PyObject *body_of(ModuleState *state, const char *module, const char *name)
{
    PyObject *key = PyUnicode_FromFormat("%s.%s", module, name);
    PyObject *function = key ? PyDict_GetItemWithError(state->array_bodies, key) : NULL;
    if (key && !function && !PyErr_Occurred()) {
        PyObject *whole = PyUnicode_FromFormat("pycuda._array.%s", module);
        PyObject *home = whole ? PyImport_Import(whole) : NULL;
        PyObject *found = home ? PyObject_GetAttrString(home, name) : NULL;
        if (found && PyDict_SetItem(state->array_bodies, key, found) == 0) function = found;
        Py_XDECREF(found);
        Py_XDECREF(home);
        Py_XDECREF(whole);
    }
    Py_XDECREF(key);
    return function;
}

PyObject *gpuarray_call_body(ModuleState *state, const char *module, const char *name, PyObject *self,
                             FAST_PARAMETERS)
{
    Py_ssize_t count = 1 + arg_count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    PyObject *few[FEW_ARGUMENTS], **all = count > FEW_ARGUMENTS ? PyMem_New(PyObject *, (size_t)count) : few;
    if (!all) return PyErr_NoMemory();
    PyObject *function = Py_XNewRef(body_of(state, module, name)), *result = NULL;
    all[0] = self;
    if (count > 1) memcpy(all + 1, args, (size_t)(count - 1) * sizeof *all);
    if (function) result = PyObject_Vectorcall(function, all, (size_t)(1 + arg_count), keywords);
    Py_XDECREF(function);
    if (all != few) PyMem_Free(all);
    return result;
}

#define METHOD(name, module, signature, doc) \
    static PyObject *method_##name(PyObject *self, FAST_PARAMETERS) \
    { \
        return gpuarray_call_body(gpuarray_cast(self)->state, #module, #name, self, args, arg_count, \
                                  keywords); \
    }
#include "ext/gpuarray/methods.def"
#undef METHOD

PyDoc_STRVAR(get_doc, "get(ary=None, pagelocked=False, async_=False, stream=None) -> numpy.ndarray\n--\n\n"
                      "Copies the array to the host: into `ary`, or into a new array with the same order of "
                      "axes and no gaps. ValueError when\n"
                      "the size of `ary` differs, TypeError when its dtype does. With async_ the copy is "
                      "queued on the stream.");

PyDoc_STRVAR(get_async_doc, "get_async(stream=None, ary=None) -> numpy.ndarray\n--\n\n"
                            "get that returns at once; the result is there when the stream has come so far.");

PyDoc_STRVAR(
    set_doc,
    "set(ary, async_=False, stream=None)\n--\n\n"
    "Fills the array from a host array or a GPUArray of the same size and dtype (ValueError otherwise).");

PyDoc_STRVAR(set_async_doc, "set_async(ary, stream=None)\n--\n\n"
                            "set that returns at once.");

PyDoc_STRVAR(copy_doc, "copy() -> GPUArray\n--\n\n"
                       "A new array with the same elements and order of axes, without gaps.");

PyDoc_STRVAR(transpose_doc, "transpose(axes=None) -> GPUArray\n--\n\n"
                            "A view with the axes in another order, reversed by default; transpose(2, 0, 1) "
                            "is transpose((2, 0, 1)). ValueError\n"
                            "unless axes is a permutation.");

PyDoc_STRVAR(reshape_doc, "reshape(*shape, order=\"C\") -> GPUArray\n--\n\n"
                          "The same elements, read in `order`, in another shape; one length may be -1. A "
                          "view where strides allow it, else a\n"
                          "copy. ValueError when the number of elements differs.");

PyDoc_STRVAR(ravel_doc,
             "ravel() -> GPUArray\n--\n\n"
             "The elements in row-major order along one axis: a view where strides allow it, else a copy.");

PyDoc_STRVAR(squeeze_doc, "squeeze() -> GPUArray\n--\n\n"
                          "A view without the axes of length 1.");

PyDoc_STRVAR(view_doc, "view(dtype=None) -> GPUArray\n--\n\n"
                       "The same memory as another dtype. When its size differs, the axis whose elements lie "
                       "side by side changes its length.\n"
                       "ValueError when that does not come out even.");

const PyMethodDef gpuarray_methods[] = {
    {"get", AS_METHOD(gpuarray_get), FAST_KEYWORDS, get_doc},
    {"get_async", AS_METHOD(gpuarray_get_async), FAST_KEYWORDS, get_async_doc},
    {"set", AS_METHOD(gpuarray_set), FAST_KEYWORDS, set_doc},
    {"set_async", AS_METHOD(gpuarray_set_async), FAST_KEYWORDS, set_async_doc},
    {"copy", AS_METHOD(gpuarray_copy), FAST_KEYWORDS, copy_doc},
    {"transpose", AS_METHOD(gpuarray_transpose_py), FAST_KEYWORDS, transpose_doc},
    {"reshape", AS_METHOD(gpuarray_reshape), FAST_KEYWORDS, reshape_doc},
    {"ravel", gpuarray_ravel, METH_NOARGS, ravel_doc},
    {"squeeze", gpuarray_squeeze, METH_NOARGS, squeeze_doc},
    {"view", AS_METHOD(gpuarray_view), FAST_KEYWORDS, view_doc},
#define METHOD(name, module, signature, doc) \
    {#name, AS_METHOD(method_##name), FAST_KEYWORDS, #name signature "\n--\n\n" doc},
#include "ext/gpuarray/methods.def"
#undef METHOD
    {NULL, NULL, 0, NULL},
};
