/* A list of arrays as the argument of a kernel that takes a pointer to pointers (T **): a table of their
 * addresses in device memory, made for one launch. */
#ifndef EXT_LAUNCH_POINTER_TABLE_H
#define EXT_LAUNCH_POINTER_TABLE_H

#include "ext/launch/arguments.h"

static inline bool pointer_table_is(PyObject *argument)
{
    return PyList_Check(argument) || PyTuple_Check(argument);
}

/* Checks the arrays as arguments of their own, and queues the copy of their addresses on the stream. Returns
 * the memory, of the default pool: it goes back there after the work of the stream, so that the caller may
 * drop it once the launch is queued. stream_object: the stream, or None; NULL: there is no launch that the
 * table could be made for. NULL with an exception. */
DeviceAllocationObject *pointer_table_new(FunctionObject *function, Py_ssize_t position, PyObject *arrays,
                                          PyObject *stream_object, CUstream stream);

#endif
