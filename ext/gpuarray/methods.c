/* The methods of GPUArray that are written in C: transfers, views, the protocol of DLPack. The others stand
 * in the class of pycuda/gpuarray.py. Some slots, and methods with rare arguments, call functions of
 * pycuda._array. */
#include "ext/gpuarray/dlpack.h"
#include "ext/gpuarray/gpuarray.h"

#include <string.h>

enum { FEW_ARGUMENTS = 8 };

/* Borrowed from the state's dict; NULL with an exception. */
static PyObject *import_function(ModuleState *state, const char *module, const char *name)
{
    PyObject *key = PyUnicode_FromFormat("%s.%s", module, name);
    PyObject *function = key ? PyDict_GetItemWithError(state->python_functions, key) : NULL;
    if (key && !function && !PyErr_Occurred()) {
        PyObject *module_name = PyUnicode_FromFormat("pycuda._array.%s", module);
        PyObject *imported = module_name ? PyImport_Import(module_name) : NULL;
        PyObject *found = imported ? PyObject_GetAttrString(imported, name) : NULL;
        if (found && PyDict_SetItem(state->python_functions, key, found) == 0) function = found;
        Py_XDECREF(found);
        Py_XDECREF(imported);
        Py_XDECREF(module_name);
    }
    Py_XDECREF(key);
    return function;
}

/* import_function, remembered by the addresses of the two names, which are literals. */
static PyObject *cached_function(ModuleState *state, const char *module, const char *name)
{
    const uint64_t words[] = {(uint64_t)(uintptr_t)module, (uint64_t)(uintptr_t)name};
    void *before;
    PyObject *function = word_map_find(&state->functions_by_literal, words, 2);
    if (function || !(function = import_function(state, module, name))) return function;
    if (word_map_put(&state->functions_by_literal, words, 2, function, &before)) return function;
    return PyErr_NoMemory();
}

PyObject *gpuarray_call_python(ModuleState *state, const char *module, const char *name, PyObject *self,
                               FAST_PARAMETERS)
{
    Py_ssize_t count = 1 + arg_count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    PyObject *few[FEW_ARGUMENTS], **all = count > FEW_ARGUMENTS ? PyMem_New(PyObject *, (size_t)count) : few;
    if (!all) return PyErr_NoMemory();
    PyObject *function = Py_XNewRef(cached_function(state, module, name));
    all[0] = self;
    if (count > 1) memcpy(all + 1, args, (size_t)(count - 1) * sizeof *all);
    PyObject *result =
        function ? PyObject_Vectorcall(function, all, (size_t)(1 + arg_count), keywords) : NULL;
    Py_XDECREF(function);
    if (all != few) PyMem_Free(all);
    return result;
}

PyMethodDef gpuarray_methods[] = {
    {"get", AS_METHOD(gpuarray_get), FAST_KEYWORDS, gpuarray_get_doc},
    {"get_async", AS_METHOD(gpuarray_get_async), FAST_KEYWORDS, gpuarray_get_async_doc},
    {"set", AS_METHOD(gpuarray_set), FAST_KEYWORDS, gpuarray_set_doc},
    {"set_async", AS_METHOD(gpuarray_set_async), FAST_KEYWORDS, gpuarray_set_async_doc},
    {"copy", AS_METHOD(gpuarray_copy), FAST_KEYWORDS, gpuarray_copy_doc},
    {"transpose", AS_METHOD(gpuarray_transpose_py), FAST_KEYWORDS, gpuarray_transpose_doc},
    {"reshape", AS_METHOD(gpuarray_reshape), FAST_KEYWORDS, gpuarray_reshape_doc},
    {"ravel", AS_METHOD(gpuarray_ravel), FAST_KEYWORDS, gpuarray_ravel_doc},
    {"squeeze", AS_METHOD(gpuarray_squeeze), FAST_KEYWORDS, gpuarray_squeeze_doc},
    {"view", AS_METHOD(gpuarray_view), FAST_KEYWORDS, gpuarray_view_doc},
    {"__setitem__", AS_METHOD(gpuarray_setitem), METH_FASTCALL | METH_COEXIST, gpuarray_setitem_doc},
    {"__dlpack__", AS_METHOD(gpuarray_dlpack), FAST_KEYWORDS, gpuarray_dlpack_doc},
    {"__dlpack_device__", gpuarray_dlpack_device, METH_NOARGS, gpuarray_dlpack_device_doc},
    {NULL, NULL, 0, NULL},
};
