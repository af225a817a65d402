/* What work in flight still needs stays alive until the work is done.
 *
 * An asynchronous copy puts its host buffer and its device object here. They are released when the stream or
 * the context is next synchronized or found idle. So that a program which never waits does not collect them
 * without end, they lie in batches: a full batch gets an event recorded after it, and later calls release
 * the batches whose events have come. No callback runs in a driver's thread.
 */
#ifndef EXT_CONTEXT_KEEP_ALIVE_H
#define EXT_CONTEXT_KEEP_ALIVE_H

#include "ext/context/context.h"

/* Keeps the objects (each may be NULL) until the work now queued on this stream of the current context is
 * done. Takes references of its own. -1 with MemoryError, before which nothing was kept. */
int keep_alive(ModuleState *state, ContextObject *context, CUstream stream, PyObject *first,
               PyObject *second);

/* Room for what a call is about to need, which the caller holds meanwhile. Nobody else finds the batch: a
 * thread that waits for the stream before the call is queued releases nothing that the call needs. */
typedef struct Kept {
    struct KeepBatch *batch;    /* NULL: nothing to keep */
    PyObject *objects[2];       /* borrowed, or NULL */
} Kept;

/* keep_alive in two steps, before and after a call is queued: all that can fail comes before. Each begun one
 * is ended, after a failed call as well. */
int keep_alive_begin(ModuleState *state, ContextObject *context, CUstream stream, PyObject *first,
                     PyObject *second, Kept *kept);
void keep_alive_end(ModuleState *state, Kept *kept);

/* Whether both objects are among the last that are kept for the stream, one after another: then they are
 * for a call, too, that is queued before anybody else gets the GIL. So false where calls let go of it. */
bool keep_alive_has(ModuleState *state, const ContextObject *context, CUstream stream, const PyObject *first,
                    const PyObject *second);

/* Around a wait or a query: what is kept for the stream, or for the whole context when stream is
 * KEEP_ALIVE_ALL, is taken out before, and afterwards released when the work is done or put back when it is
 * not. What other threads queue meanwhile is not among it. */
#define KEEP_ALIVE_ALL ((CUstream)(intptr_t)-1)
struct KeepBatch *keep_alive_take(ModuleState *state, const ContextObject *context, CUstream stream);
void keep_alive_finish(ModuleState *state, struct KeepBatch *taken, bool done);

/* Keeps the object until the work queued up to now is done, found by an event of its own: what is large is
 * not to wait for the next synchronize, and there is no notice of the end of others' streams. -1 with
 * MemoryError. */
int keep_alive_until_now(ModuleState *state, ContextObject *context, CUstream stream, PyObject *object);

/* The stream is about to be destroyed: an event takes its place, unless its work is done. The caller that
 * destroys it is the only one that still has it, so no call is about to queue what is kept already. */
void keep_alive_seal(ModuleState *state, ContextObject *context, CUstream stream);

/* Lets go of everything whose work is done; asks the driver. */
void keep_alive_collect(ModuleState *state);

#endif
