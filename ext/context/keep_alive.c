/* See keep_alive.h. */
#include "ext/context/keep_alive.h"

#include "ext/base/captured.h"
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"

enum {
    BATCH_SIZE = 64, /* objects in a batch */
    RECENT = 16 /* the last objects of a batch, which keep_alive_has() searches */
};

typedef struct KeepBatch {
    struct KeepBatch *next;         /* in ModuleState.kept */
    ContextObject *context;         /* a reference */
    CUstream stream;
    CUevent event; /* owned, after the last work when the batch is sealed; NULL: it is open */
    int count;
    PyObject *objects[BATCH_SIZE]; /* references */
} KeepBatch;

/* ---- Releasing ---- */

static void free_batch(KeepBatch *batch)
{
    ContextScope scope;
    if (batch->event && context_enter_scope(batch->context, &scope)) {
        once_cuEventDestroy(batch->context->state, batch->event);
        context_leave_scope(&scope);
    }
    for (int i = 0; i < batch->count; i++) Py_DECREF(batch->objects[i]);
    context_unkeep(batch->context);
    PyMem_Free(batch);
}

static void free_batches(KeepBatch *batch)
{
    while (batch) {
        KeepBatch *next = batch->next;
        free_batch(batch);
        batch = next;
    }
}

/* Whether the handle identifies a stream whatever context and thread are current: a default stream's does
 * not. */
static bool is_unique(CUstream stream)
{
    return stream != NULL && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

/* Whether a wait for the stream of this context, or for all its streams (KEEP_ALIVE_ALL), includes the
 * batch's work. Contexts are compared by handle: a primary context that was detached and retained again has
 * another object. A green context and the primary one use each other's streams; a wait for the primary
 * context includes its green ones. */
static bool is_of_context(const KeepBatch *batch, const ContextObject *context, CUstream stream)
{
    if (batch->context->handle == context->handle) return stream == KEEP_ALIVE_ALL || batch->stream == stream;
    if (!contexts_share_memory(batch->context, context)) return false;
    return stream == KEEP_ALIVE_ALL ? !context->green : is_unique(stream) && batch->stream == stream;
}

KeepBatch *keep_alive_take(ModuleState *state, const ContextObject *context, CUstream stream)
{
    KeepBatch *taken = NULL;
    state_lock(state);
    for (KeepBatch **link = &state->kept; *link;) {
        KeepBatch *batch = *link;
        if (!is_of_context(batch, context, stream)) {
            link = &batch->next;
            continue;
        }
        *link = batch->next;
        batch->next = taken;
        taken = batch;
    }
    state_unlock(state);
    return taken;
}

void keep_alive_finish(ModuleState *state, KeepBatch *taken, bool done)
{
    KeepBatch *last = taken;
    deferred_release(state);
    if (done) free_batches(taken);
    if (done || !taken) return;
    while (last->next) last = last->next;
    state_lock(state);
    last->next = state->kept;
    state->kept = taken;
    state_unlock(state);
}

/* CUDA_SUCCESS when the batch's work is done. A stream under capture, and the legacy stream while it would
 * wait for one, counts as not ready: querying it would end the capture. */
static CUresult query_batch(const KeepBatch *batch)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (batch->event) return once_cuEventQuery(batch->context->state, batch->event);
    CUresult result = once_cuStreamIsCapturing(batch->context->state, batch->stream, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE)
        return CUDA_ERROR_NOT_READY;
    return result == CUDA_SUCCESS ? once_cuStreamQuery(batch->context->state, batch->stream) : result;
}

/* Whether the work of a batch is done; for one without an event, whether its whole stream is idle. */
static bool is_done(KeepBatch *batch)
{
    ContextScope scope;
    if (atomic_load(&batch->context->dead)) return true;
    if (!context_enter_scope(batch->context, &scope)) return false;
    CUresult result = query_batch(batch);
    context_leave_scope(&scope);
    return result == CUDA_SUCCESS || errors_is_loss(result); /* else it is queried again later */
}

/* Takes the whole list, as batches are queried without the lock, frees those whose work is done and puts back
 * the rest. sealed_only: open batches are put back without a query. During a capture nothing is done: a query
 * could end it. */
static void release_finished(ModuleState *state, bool sealed_only)
{
    KeepBatch *todo, *done = NULL, *rest = NULL, **tail = &rest;
    if (captured_some(state) && captured_close_ended(state)) return;
    state_lock(state);
    todo = state->kept;
    state->kept = NULL;
    state_unlock(state);
    while (todo) {
        KeepBatch *batch = todo;
        todo = batch->next;
        batch->next = NULL;
        if ((batch->event || !sealed_only) && is_done(batch)) {
            batch->next = done;
            done = batch;
        } else {
            *tail = batch;
            tail = &batch->next;
        }
    }
    state_lock(state);
    *tail = state->kept;
    state->kept = rest;
    state_unlock(state);
    free_batches(done);
}

void keep_alive_collect(ModuleState *state)
{
    deferred_release(state);
    release_finished(state, false);
}

/* ---- Keeping ---- */

/* Records an event after the work of a batch, which is not in the list meanwhile. If that fails the batch
 * stays open: it is done when its stream is idle. -1 with an exception when a signal ended the call; none
 * does when `releasing`. */
static int seal_batch(KeepBatch *batch, bool releasing)
{
    ModuleState *state = batch->context->state;
    ContextScope scope;
    CUevent event = NULL;
    if (!context_enter_scope(batch->context, &scope)) return 0;
    CUresult result = once_cuEventCreate(state, &event, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS)
        result = releasing ? end_cuEventRecord(state, event, batch->stream)
                           : try_cuEventRecord(state, event, batch->stream);
    if (result == CUDA_SUCCESS)
        batch->event = event;
    else if (event)
        once_cuEventDestroy(state, event);
    context_leave_scope(&scope);
    return !releasing && PyErr_Occurred() ? -1 : 0;
}

static void put_back(ModuleState *state, KeepBatch *batch)
{
    state_lock(state);
    batch->next = state->kept;
    state->kept = batch;
    state_unlock(state);
}

/* Takes an open batch of the stream out of the list; NULL when there is none. A stream has several when
 * several threads queue calls at once. */
static KeepBatch *take_open(ModuleState *state, const ContextObject *context, CUstream stream)
{
    state_lock(state);
    KeepBatch **link = &state->kept;
    while (*link && ((*link)->event || !is_of_context(*link, context, stream))) link = &(*link)->next;
    KeepBatch *batch = *link;
    if (batch) *link = batch->next;
    state_unlock(state);
    return batch;
}

/* A new batch that is in no list. NULL with MemoryError. */
static KeepBatch *new_batch(ContextObject *context, CUstream stream)
{
    KeepBatch *batch = PyMem_Calloc(1, sizeof *batch);
    if (!batch) {
        PyErr_NoMemory();
        return NULL;
    }
    batch->context = context_keep(context);
    batch->stream = stream;
    return batch;
}

static void add_object(KeepBatch *batch, PyObject *object)
{
    if (object) batch->objects[batch->count++] = Py_NewRef(object);
}

/* Reads the list without the lock: it changes only with the GIL. */
bool keep_alive_has(ModuleState *state, const ContextObject *context, CUstream stream, const PyObject *first,
                    const PyObject *second)
{
    const KeepBatch *batch = CALL_LETS_GO(state) ? NULL : state->kept;
    while (batch && (batch->stream != stream || batch->event || batch->context != context))
        batch = batch->next;
    int last = batch ? batch->count - 1 : 0, end = last > RECENT ? last - RECENT : 0;
    for (int i = last; i > end; i--)
        if (batch->objects[i] == second && batch->objects[i - 1] == first) return true;
    return false;
}

int keep_alive_begin(ModuleState *state, ContextObject *context, CUstream stream, PyObject *first,
                     PyObject *second, Kept *kept)
{
    PyObject *objects[] = {first, second};
    int captured = captured_keep(state, stream, objects, 2);
    *kept = (Kept){NULL, {NULL, NULL}};
    if (captured) return captured < 0 ? -1 : 0;
    KeepBatch *batch = take_open(state, context, stream);
    if (batch && batch->count + 2 > BATCH_SIZE) {
        int failed = seal_batch(batch, false);
        put_back(state, batch);
        if (failed) return -1;
        release_finished(state, true);
        batch = NULL;
    }
    if (!batch && !(batch = new_batch(context, stream))) return -1;
    *kept = (Kept){batch, {first, second}};
    return 0;
}

void keep_alive_end(ModuleState *state, Kept *kept)
{
    if (!kept->batch) return;
    add_object(kept->batch, kept->objects[0]);
    add_object(kept->batch, kept->objects[1]);
    put_back(state, kept->batch);
    kept->batch = NULL;
}

int keep_alive(ModuleState *state, ContextObject *context, CUstream stream, PyObject *first, PyObject *second)
{
    Kept kept;
    if (keep_alive_begin(state, context, stream, first, second, &kept) < 0) return -1;
    keep_alive_end(state, &kept);
    return 0;
}

/* Waits for a stream, as no event could be recorded in it, and releases what is kept for it. If the context
 * is gone, there is nothing to wait for. */
static void wait_for_stream(ModuleState *state, ContextObject *context, CUstream stream)
{
    ContextScope scope;
    CUresult result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    KeepBatch *taken = keep_alive_take(state, context, stream);
    if (context_enter_scope(context, &scope)) {
        result = once_cuStreamSynchronize(state, stream);
        context_leave_scope(&scope);
    }
    keep_alive_finish(state, taken, result != CUDA_ERROR_NOT_READY);
}

static bool is_idle(ContextObject *context, CUstream stream)
{
    return is_done(&(KeepBatch){.context = context, .stream = stream});
}

/* Uses a batch of its own: work that is queued later does not delay the release. */
int keep_alive_until_now(ModuleState *state, ContextObject *context, CUstream stream, PyObject *object)
{
    if (is_idle(context, stream)) return 0;
    KeepBatch *batch = new_batch(context, stream);
    if (!batch) return -1;
    add_object(batch, object);
    seal_batch(batch, true);
    put_back(state, batch);
    if (!batch->event) wait_for_stream(state, context, stream);
    return 0;
}

void keep_alive_seal_stream(ModuleState *state, ContextObject *context, CUstream stream)
{
    for (KeepBatch *batch; (batch = take_open(state, context, stream));) {
        if (is_done(batch)) {
            free_batch(batch);
            continue;
        }
        seal_batch(batch, true);
        const bool sealed = batch->event;
        put_back(state, batch);
        if (sealed) continue;
        wait_for_stream(state, context, stream);
        break;
    }
}
