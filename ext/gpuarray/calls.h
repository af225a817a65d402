/* Calls of kernels that were seen before (calls.c), for others than Python. */
#ifndef EXT_GPUARRAY_CALLS_H
#define EXT_GPUARRAY_CALLS_H

#include "ext/ext.h"

/* Makes a call by what a _Calls remembers: the result, or None. NULL without an exception when nothing is
 * remembered. */
PyObject *calls_make(PyObject *calls, PyObject *const *values, Py_ssize_t count);

/* The same for kernel(*values), by the kernel's attribute _calls. NULL without an exception also when the
 * values are none that a kernel takes, of which the kernel itself says more. */
PyObject *calls_make_of(ModuleState *state, PyObject *kernel, PyObject *const *values, Py_ssize_t count);

#endif
