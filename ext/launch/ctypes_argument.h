/* Objects of ctypes as kernel arguments by value: numbers, addresses, structures and unions. */
#ifndef EXT_LAUNCH_CTYPES_ARGUMENT_H
#define EXT_LAUNCH_CTYPES_ARGUMENT_H

#include "ext/launch/arguments.h"

/* 1 when it is one that kernels can take: its bytes, in *view, a new memoryview that they need. 0 for all
 * else; -1 with an exception. */
int ctypes_argument(PyObject *argument, PyObject **view, ArgumentValue *out);

#endif
