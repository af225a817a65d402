/* Objects of ctypes as kernel arguments by value: numbers, addresses, structures and unions. */
#ifndef EXT_LAUNCH_CTYPES_ARGUMENT_H
#define EXT_LAUNCH_CTYPES_ARGUMENT_H

#include "ext/launch/arguments.h"

/* 1 if the argument is an object of ctypes that kernels can take: *out is its bytes, which live as long as
 * *view, a new reference to a memoryview. 0 for all other objects; -1 with an exception. */
int ctypes_argument(PyObject *argument, PyObject **view, ArgumentValue *out);

#endif
