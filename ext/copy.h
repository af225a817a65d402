/* Copies of plain memory. Asynchronous ones keep the host buffer and the device object alive (keep_alive.h).
 */
#ifndef EXT_COPY_H
#define EXT_COPY_H

#include "ext/buffers.h"
#include "ext/context.h"

/* What to keep until the work now being queued on a stream is done: the objects given, each may be NULL. The
 * stream is the converted `stream_object`. -1 with an exception. */
int copy_keep(ModuleState *state, PyObject *stream_object, CUstream stream, PyObject *first, PyObject *second);

int copy_setup(PyObject *module, ModuleState *state);
int fill_setup(PyObject *module, ModuleState *state);

#endif
