/* Copies of plain memory. Asynchronous ones keep the host buffer and the device object alive (keep_alive.h).
 */
#ifndef EXT_MEMORY_COPY_H
#define EXT_MEMORY_COPY_H

#include "ext/convert/buffers.h"
#include "ext/context/context.h"

/* Before a copy or fill is queued: converts the stream of an asynchronous one, tells the pools whose memory
 * is used, and keeps the objects (each may be NULL) until an asynchronous one is done. -1 with an exception.
 */
int copy_begin(ModuleState *state, bool async, PyObject *stream_object, CUstream *stream, PyObject *first,
               PyObject *second);

#endif
