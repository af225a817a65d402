/* What work in flight still needs stays alive until the work is done.
 *
 * An asynchronous copy puts its host buffer and its device object here. They are released when the stream or
 * the context is next synchronized or found idle. A program that never waits must not collect them without
 * end, so they lie in batches: an event is recorded after a full batch, and later calls release the batches
 * whose events are complete. No callback runs in a driver's thread.
 */
#ifndef EXT_CONTEXT_KEEP_ALIVE_H
#define EXT_CONTEXT_KEEP_ALIVE_H

#include "ext/context/context.h"

/* Keeps the objects (each may be NULL) until the work now queued on this stream of the current context is
 * done. Takes references of its own. -1 with MemoryError, before which nothing was kept. */
int keep_alive(ModuleState *state, ContextObject *context, CUstream stream, PyObject *first,
               PyObject *second);

/* Room for the objects that a call is about to need. The caller keeps them alive until the call is queued.
 * No other thread finds the batch before: one that waits for the stream releases nothing that the call
 * needs. */
typedef struct Kept {
    struct KeepBatch *batch;    /* NULL: nothing to keep */
    PyObject *objects[2];       /* borrowed, or NULL */
} Kept;

/* keep_alive() in two steps: keep_alive_begin() before a call is queued, keep_alive_end() after it. Only the
 * first can fail: -1 with MemoryError. If it does not, the second is due, after a failed call as well. */
int keep_alive_begin(ModuleState *state, ContextObject *context, CUstream stream, PyObject *first,
                     PyObject *second, Kept *kept);
void keep_alive_end(ModuleState *state, Kept *kept);

/* Whether both objects, one after another, are among the last that are kept for the stream. If so they need
 * not be kept again for a call that is queued before another thread gets the GIL. Always false where calls
 * release the GIL. */
bool keep_alive_has(ModuleState *state, const ContextObject *context, CUstream stream, const PyObject *first,
                    const PyObject *second);

/* Called before and after a wait or a query. keep_alive_take() takes out what is kept for the stream, or,
 * with KEEP_ALIVE_ALL, for the whole context; NULL if nothing is. keep_alive_finish() releases it if the
 * work is done, and puts it back otherwise. What other threads queue meanwhile is not affected. */
#define KEEP_ALIVE_ALL ((CUstream)(intptr_t)-1)
struct KeepBatch *keep_alive_take(ModuleState *state, const ContextObject *context, CUstream stream);
void keep_alive_finish(ModuleState *state, struct KeepBatch *taken, bool done);

/* Keeps the object until the work queued up to now is done. An event is recorded for it alone: large objects
 * must not live until the next synchronize, and the end of a foreign stream is not noticed. -1 with
 * MemoryError. */
int keep_alive_until_now(ModuleState *state, ContextObject *context, CUstream stream, PyObject *object);

/* Called before the stream is destroyed. Frees batches whose work is done. Seals the others: from now on
 * their event is asked, not the stream. Only the caller still has the stream, so no call is about to queue
 * work for an open batch. */
void keep_alive_seal_stream(ModuleState *state, ContextObject *context, CUstream stream);

/* Asks the driver which work is done, and releases what it needed. */
void keep_alive_collect(ModuleState *state);

#endif
