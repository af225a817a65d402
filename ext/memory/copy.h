/* Copies of plain memory. Asynchronous ones keep the host buffer and the device object alive (keep_alive.h).
 */
#ifndef EXT_MEMORY_COPY_H
#define EXT_MEMORY_COPY_H

#include "ext/convert/buffers.h"
#include "ext/context/keep_alive.h"

/* Called before a copy or fill is queued: notes its use of pooled memory. If it is asynchronous, also
 * converts the stream and makes room to keep the objects (each may be NULL) until the work is done.
 * keep_alive_end() is due once the work is queued. -1 with an exception: then it is not. */
int copy_begin(ModuleState *state, bool async, PyObject *stream_object, CUstream *stream, PyObject *first,
               PyObject *second, Kept *kept);

/* The last part of copy_begin() alone: makes room to keep the objects. Numbers and memory of pools are left
 * out, as they need not be kept. */
int copy_keep(ModuleState *state, PyObject *stream_object, CUstream stream, PyObject *first, PyObject *second,
              Kept *kept);

#endif
