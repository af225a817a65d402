/* See copy_streams.h. */
#include "ext/stream/copy_streams.h"

#include "ext/base/driver_calls.h"

typedef struct CopyStreams {
    CUevent event; /* owned; NULL: a caller has it, or there is none */
    unsigned count;
    PyObject *streams[]; /* by the number of the source's device; owned, NULL before they are needed */
} CopyStreams;

/* The context's record, with room for so many streams. NULL when memory is short, or if the context was
 * detached: what it has was released then, and would not be again. */
static CopyStreams *record_for(ContextObject *context, unsigned count)
{
    CopyStreams *record = context->copy_streams;
    if (atomic_load(&context->detached)) return NULL;
    if (record && count <= record->count) return record;
    record = PyMem_Realloc(record, sizeof *record + count * sizeof(PyObject *));
    if (!record) return NULL;
    if (!context->copy_streams) *record = (CopyStreams){0};
    while (record->count < count) record->streams[record->count++] = NULL;
    return context->copy_streams = record;
}

/* A non-blocking stream. Not noted by wait_note_stream(): a copy from the host that is still to be done is
 * waited for by event. */
static PyObject *new_stream(ContextObject *context)
{
    ModuleState *state = context->state;
    PyObject *self = owner_new_in(context, state->Stream_type);
    if (!self) return NULL;
    StreamObject *stream = stream_cast(self);
    stream->non_blocking = true;
    CUresult result = try_cuStreamCreate(state, &stream->handle, CU_STREAM_NON_BLOCKING);
    return owner_finish(self, result, "cuStreamCreate", &state->live_Stream);
}

/* Puts a new stream into the record, where it neither holds the context nor counts as an object of a user's.
 */
static void adopt(ContextObject *context, PyObject **place, PyObject *stream)
{
    *place = Py_NewRef(stream);
    LIVE_LESS(context->state, Stream);
    context_drop(context);
}

static void drop_adopted(ContextObject *context, PyObject *stream)
{
    if (!stream) return;
    LIVE_MORE(context->state, Stream);
    context_hold(context);
    Py_DECREF(stream);
}

PyObject *copy_stream(ContextObject *context, CUdevice from)
{
    CopyStreams *record = context->copy_streams;
    if (record && (unsigned)from < record->count && record->streams[from])
        return Py_NewRef(record->streams[from]);
    PyObject *stream = new_stream(context);
    /* Other threads may have run meanwhile. Without a record the stream ends with its last copy. */
    record = stream ? record_for(context, (unsigned)from + 1) : NULL;
    if (record && !record->streams[from]) adopt(context, &record->streams[from], stream);
    return stream;
}

CUresult copy_event_try(ContextObject *context, CUevent *out)
{
    CopyStreams *record = context->copy_streams;
    *out = record ? record->event : NULL;
    if (!*out) return try_cuEventCreate(context->state, out, CU_EVENT_DISABLE_TIMING);
    record->event = NULL;
    return CUDA_SUCCESS;
}

int copy_event_take(ContextObject *context, CUevent *out)
{
    CUresult result = copy_event_try(context, out);
    if (result == CUDA_SUCCESS) return 0;
    raise_driver(context->state, result, "cuEventCreate", NULL);
    return -1;
}

static void destroy_event(ContextObject *context, CUevent event)
{
    ContextScope scope;
    if (!event || !context_enter_scope(context, &scope)) return;
    once_cuEventDestroy(context->state, event);
    context_leave_scope(&scope);
}

void copy_event_return(ContextObject *context, CUevent event)
{
    CopyStreams *record = event ? record_for(context, 0) : NULL;
    if (!record || record->event)
        destroy_event(context, event);
    else
        record->event = event;
}

/* ContextEndFn. */
static void end_copy_streams(ContextObject *context)
{
    CopyStreams *record = context->copy_streams;
    context->copy_streams = NULL;
    if (!record) return;
    for (unsigned i = 0; i < record->count; i++) drop_adopted(context, record->streams[i]);
    destroy_event(context, record->event);
    PyMem_Free(record);
}

int copy_streams_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    return context_on_end(state, end_copy_streams);
}
