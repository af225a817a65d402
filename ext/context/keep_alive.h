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

/* Room for what a call is about to need, which the caller holds meanwhile. No other thread finds the batch:
 * one that waits for the stream before the call is queued releases nothing that the call needs. */
typedef struct Kept {
    struct KeepBatch *batch;    /* NULL: nothing to keep */
    PyObject *objects[2];       /* borrowed, or NULL */
} Kept;

/* keep_alive in two steps, before and after a call is queued; only the first can fail. Each keep_alive_begin
 * is followed by a keep_alive_end, after a failed call as well. */
int keep_alive_begin(ModuleState *state, ContextObject *context, CUstream stream, PyObject *first,
                     PyObject *second, Kept *kept);
void keep_alive_end(ModuleState *state, Kept *kept);

/* Whether both objects are among the last that are kept for the stream, one after another. Then they are kept
 * for a call as well that is queued before another thread gets the GIL. Always false where calls release the
 * GIL. */
bool keep_alive_has(ModuleState *state, const ContextObject *context, CUstream stream, const PyObject *first,
                    const PyObject *second);

/* Before and after a wait or a query: keep_alive_take takes out what is kept for the stream, or for the whole
 * context when stream is KEEP_ALIVE_ALL; keep_alive_finish releases it when the work is done and puts it back
 * when it is not. What other threads queue meanwhile is not among it. */
#define KEEP_ALIVE_ALL ((CUstream)(intptr_t)-1)
struct KeepBatch *keep_alive_take(ModuleState *state, const ContextObject *context, CUstream stream);
void keep_alive_finish(ModuleState *state, struct KeepBatch *taken, bool done);

/* Keeps the object until the work queued up to now is done, which an event of its own shows: for large
 * objects, which are not to live until the next synchronize, and for foreign streams, whose end is not
 * noticed. -1 with MemoryError. */
int keep_alive_until_now(ModuleState *state, ContextObject *context, CUstream stream, PyObject *object);

/* Called before the stream is destroyed. Batches whose work is done are freed; the others are sealed, so that
 * from now on an event is asked and not the stream. Only the caller still has the stream: no call is about to
 * queue work for an open batch. */
void keep_alive_seal_stream(ModuleState *state, ContextObject *context, CUstream stream);

/* Lets go of everything whose work is done; asks the driver. */
void keep_alive_collect(ModuleState *state);

#endif
