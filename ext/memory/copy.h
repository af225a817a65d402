/* Copies of plain memory. Asynchronous ones keep the host buffer and the device object alive (keep_alive.h).
 */
#ifndef EXT_MEMORY_COPY_H
#define EXT_MEMORY_COPY_H

#include "ext/convert/buffers.h"
#include "ext/context/keep_alive.h"

/* Called before a copy or fill is queued: notes its use of pooled memory. If it is asynchronous, converts the
 * stream and makes room to keep the objects (each may be NULL) until the work is done; else *stream is the
 * default stream. On success the caller has to call keep_alive_end() once the work is queued. -1 with an
 * exception. */
int copy_begin(ModuleState *state, bool async, PyObject *stream_object, CUstream *stream, PyObject *first,
               PyObject *second, Kept *kept);

/* The last part of copy_begin() alone: makes room to keep the objects. Numbers and memory of pools are not
 * kept, as they need not be. */
int copy_keep(ModuleState *state, PyObject *stream_object, CUstream stream, PyObject *first, PyObject *second,
              Kept *kept);

#endif
