/* Copies of plain memory. Asynchronous ones keep the host buffer and the device object alive (keep_alive.h).
 */
#ifndef EXT_MEMORY_COPY_H
#define EXT_MEMORY_COPY_H

#include "ext/convert/buffers.h"
#include "ext/context/keep_alive.h"

/* Before a copy or fill is queued: converts the stream of an asynchronous one, notes its use of pooled
 * memory, and makes a place to keep the objects (each may be NULL) until an asynchronous one is done. -1 with
 * an exception; else keep_alive_end follows once the copy is queued. */
int copy_begin(ModuleState *state, bool async, PyObject *stream_object, CUstream *stream, PyObject *first,
               PyObject *second, Kept *kept);

/* The last part of copy_begin alone: a place to keep the objects, but for numbers and memory of pools. */
int copy_keep(ModuleState *state, PyObject *stream_object, CUstream stream, PyObject *first, PyObject *second,
              Kept *kept);

#endif
