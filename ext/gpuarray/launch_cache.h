/* Calls of kernels that were seen before (launch_cache.c), made from C. */
#ifndef EXT_GPUARRAY_LAUNCH_CACHE_H
#define EXT_GPUARRAY_LAUNCH_CACHE_H

#include "ext/base/ext.h"

/* Makes a call by what a _LaunchCache remembers: the result, or None. NULL without an exception when nothing
 * is remembered. */
PyObject *launch_cache_call(PyObject *cache, PyObject *const *values, Py_ssize_t count);

/* As launch_cache_call(), for the call kernel(*values), with the cache in the kernel's attribute _launches.
 * If a value cannot be an argument the result is NULL without an exception as well: the caller then calls the
 * kernel, which raises. */
PyObject *launch_cache_call_kernel(ModuleState *state, PyObject *kernel, PyObject *const *values,
                                   Py_ssize_t count);

#endif
