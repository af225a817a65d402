/* What every file of the extension module begins with: Python, the driver table and the module's state.
 *
 * pycuda._driver is one module; what the files add to it are the rows of module_setups.def. The README.md
 * of each folder says what is in it.
 */
#ifndef EXT_BASE_EXT_H
#define EXT_BASE_EXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <structmember.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/driver_table.h"
#include "ext/base/state.h"

#if PY_VERSION_HEX < 0x030D0000
#define ext_is_finalizing() _Py_IsFinalizing()
#else
#define ext_is_finalizing() Py_IsFinalizing()
#endif

/* A method or slot function in the form that the tables of CPython want. */
#define AS_METHOD(function) ((PyCFunction)(void (*)(void))(function))
#define AS_SLOT(function) ((void *)(function))
#define FAST_KEYWORDS (METH_FASTCALL | METH_KEYWORDS)

/* A row of tp_methods that gives tp_call a signature: without it inspect sees (*args, **kwargs). */
#define CALL_ROW(function, doc) \
    {"__call__", AS_METHOD(function), METH_VARARGS | METH_KEYWORDS | METH_COEXIST, doc}

/* The parameters of a function of the kind METH_FASTCALL | METH_KEYWORDS. */
#define FAST_PARAMETERS PyObject *const *args, Py_ssize_t arg_count, PyObject *keywords

#endif
