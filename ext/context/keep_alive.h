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
 * done. Takes references of its own. -1 with an exception: then nothing is kept. */
int keep_alive(ModuleState *state, ContextObject *context, CUstream stream, PyObject *first,
               PyObject *second);

/* Room for the objects that a call is about to need. The caller keeps them alive until the call is queued.
 * Until then the batch is in no list: another thread that waits for the stream does not find it, and so
 * releases nothing that the call needs. */
typedef struct Kept {
    struct KeepBatch *batch;    /* NULL: nothing to keep */
    PyObject *objects[2];       /* borrowed, or NULL */
} Kept;

/* keep_alive() in two steps: keep_alive_begin() before a call is queued, keep_alive_end() after it. Only
 * keep_alive_begin() can fail: -1 with an exception. If it succeeds keep_alive_end() has to follow, even when
 * the call fails. */
int keep_alive_begin(ModuleState *state, ContextObject *context, CUstream stream, PyObject *first,
                     PyObject *second, Kept *kept);
void keep_alive_end(ModuleState *state, Kept *kept);

/* Whether `first` and `second`, in this order, are among the objects kept last for the stream. If so they
 * need not be kept again for a call that is queued before another thread gets the GIL. Always false where
 * calls release the GIL. */
bool keep_alive_has(ModuleState *state, const ContextObject *context, CUstream stream, const PyObject *first,
                    const PyObject *second);

/* Called before and after a wait or a query. keep_alive_take() removes the batches of the stream, or, with
 * KEEP_ALIVE_ALL, of the whole context from the list; NULL if there are none. keep_alive_finish() frees them
 * if the work is done, and puts them back otherwise. What other threads queue meanwhile is not affected. */
#define KEEP_ALIVE_ALL ((CUstream)(intptr_t)-1)
struct KeepBatch *keep_alive_take(ModuleState *state, const ContextObject *context, CUstream stream);
void keep_alive_finish(ModuleState *state, struct KeepBatch *taken, bool done);

/* Keeps the object until the work queued up to now is done. An event is recorded for it alone: large objects
 * must not live until the next synchronize, and the end of a foreign stream is not noticed. -1 with
 * MemoryError. */
int keep_alive_until_now(ModuleState *state, ContextObject *context, CUstream stream, PyObject *object);

/* Called before the stream is destroyed. Frees its batches whose work is done, and seals the other ones: from
 * then on their event is queried, not the stream. Only the caller still has the stream, so no other thread is
 * about to queue work for an open batch. */
void keep_alive_seal_stream(ModuleState *state, ContextObject *context, CUstream stream);

/* Asks the driver which work is done, and releases what it needed. */
void keep_alive_collect(ModuleState *state);

#endif
