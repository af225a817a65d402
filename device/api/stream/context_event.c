/* Events that are recorded in, and waited for by, all streams of a context or of a green context. */
#include <stdlib.h>

#include "api/stream/capture.h"
#include "api/stream/event.h"
#include "api/stream/green.h"

/* An array of the context's streams, or, if `green` is not NULL, of the green context's streams, its barrier
 * and the legacy default stream. For put_streams(): each has a reference. NULL if out of memory. */
static Stream **streams_of(Context *base, const GreenContext *green, size_t *count)
{
    size_t capacity = 0, found = 0, kept = 0;
    Stream **all = NULL;
    do { /* until the array is large enough: other threads may make streams meanwhile */
        for (size_t k = 0; k < found && k < capacity; k++) PUT(all[k]);
        free(all);
        capacity = found + 8;
        all = malloc(capacity * sizeof *all);
        if (!all) return NULL;
        found = queue_streams(base, all, capacity);
    } while (found > capacity);
    for (size_t k = 0; k < found; k++) {
        if (!green || all[k]->legacy || all[k]->green == green || all[k] == green->barrier)
            all[kept++] = all[k];
        else
            PUT(all[k]);
    }
    *count = kept;
    return all;
}

static void put_streams(Stream **streams, size_t count)
{
    for (size_t k = 0; k < count; k++) PUT(streams[k]);
    free(streams);
}

/* As streams_of(). An error if one of them is captured; then all their captures are invalidated. */
static CUresult enter_streams(Context *base, const GreenContext *green, Stream ***out, size_t *count)
{
    CUresult result = CUDA_SUCCESS;
    if (!(*out = streams_of(base, green, count))) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t k = 0; k < *count; k++)
        if (stream_is_captured((*out)[k])) result = capture_refuse((*out)[k]);
    if (result) put_streams(*out, *count);
    return result;
}

/* Records the event in the barrier stream, which waits for each of the other streams first. */
static CUresult record_after(Stream **streams, size_t count, Stream *barrier, Event *event)
{
    for (size_t k = 0; k < count; k++) {
        if (streams[k] == barrier) continue;
        object_hold(OBJECT(streams[k]));
        Dependency place = {streams[k], queue_last(streams[k])};
        TRY(queue_submit_wait(barrier, &place));
    }
    return event_record_in(barrier, event);
}

/* For a whole context: records the event in a new stream, which waits for all of these streams. */
static CUresult record_in_new(Context *base, Stream **streams, size_t count, Event *event)
{
    Stream *barrier = stream_new(base, CU_STREAM_NON_BLOCKING, 0);
    if (!barrier) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = record_after(streams, count, barrier, event);
    queue_drop(barrier);
    return result;
}

CUresult context_record_event(Context *base, GreenContext *green, CUevent handle)
{
    Event *event;
    Stream **streams;
    size_t count;
    TRY(event_enter(handle, &event));
    CUresult result = enter_streams(base, green, &streams, &count);
    if (!result) {
        result = green ? record_after(streams, count, green->barrier, event)
                       : record_in_new(base, streams, count, event);
        put_streams(streams, count);
    }
    event_put(event);
    return result;
}

/* Makes the barrier stream wait for the event, and the other streams for the barrier stream. */
static CUresult wait_by_barrier(Stream **streams, size_t count, Stream *barrier, Event *event)
{
    TRY(queue_wait_room(barrier));
    TRY(event_wait_in(barrier, event));
    for (size_t k = 0; k < count; k++)
        if (streams[k] != barrier) TRY(queue_begin_after(streams[k], barrier));
    return CUDA_SUCCESS;
}

CUresult context_wait_event(Context *base, GreenContext *green, CUevent handle)
{
    Event *event;
    Stream **streams, *barrier = NULL;
    size_t count;
    TRY(event_enter(handle, &event));
    CUresult result = capture_check_event(event);
    if (!result) {
        barrier = green ? (Stream *)object_hold(OBJECT(green->barrier)) : queue_barrier(base);
        result = barrier ? enter_streams(base, green, &streams, &count) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!result) {
        result = wait_by_barrier(streams, count, barrier, event);
        put_streams(streams, count);
    }
    if (barrier) PUT(barrier);
    event_put(event);
    return result;
}

/* context_record_event() or context_wait_event(). */
typedef CUresult EventAction(Context *base, GreenContext *green, CUevent event);

/* Calls `act` for the context of the handle, or for the green context that it is derived from. */
static CUresult with_context(CUcontext handle, CUevent event, EventAction *act)
{
    Context *context;
    TRY(driver_check());
    if (!handle) return CUDA_ERROR_INVALID_CONTEXT;
    TRY(context_named(handle, &context));
    GreenContext *green = context->base ? object_get(context->green, OBJECT_GREEN_CONTEXT) : NULL;
    CUresult result = context->base && !green ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                              : act(context->base ? context->base : context, green, event);
    if (green) PUT(green);
    context_put(context);
    return result;
}

CUresult cuCtxRecordEvent(CUcontext context, CUevent event)
{
    return with_context(context, event, context_record_event);
}

CUresult cuCtxWaitEvent(CUcontext context, CUevent event)
{
    return with_context(context, event, context_wait_event);
}
