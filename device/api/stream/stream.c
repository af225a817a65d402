/* Streams: handles, creation, callbacks, waiting. */
#include "api/stream/green.h"

#include "api/stream/capture.h"

#include <stdlib.h>

static _Thread_local bool null_is_per_thread;

bool stream_set_null_is_per_thread(bool per_thread)
{
    bool before = null_is_per_thread;
    null_is_per_thread = per_thread;
    return before;
}

/* Releases the thread's default streams of contexts that were closed. */
static void drop_dead_streams(ThreadState *state)
{
    size_t left = 0;
    for (size_t i = 0; i < state->stream_count; i++) {
        Stream *stream = state->streams[i];
        if (object_context_is_live(OBJECT(stream)))
            state->streams[left++] = stream;
        else
            PUT(stream);
    }
    state->stream_count = left;
}

/* The thread's default stream in that context, made at the first use; NULL if out of memory. */
static Stream *thread_stream(Context *context)
{
    ThreadState *state = thread_state();
    if (!state) return NULL;
    for (size_t i = 0; i < state->stream_count; i++)
        if (object_is_of(OBJECT(state->streams[i]), context)) return state->streams[i];
    drop_dead_streams(state);
    Stream **streams = realloc(state->streams, (state->stream_count + 1) * sizeof *streams);
    if (!streams) return NULL;
    state->streams = streams;
    Stream *stream = stream_new(context, CU_STREAM_DEFAULT, 0);
    if (stream) stream->standard = true;
    if (stream) streams[state->stream_count++] = stream;
    return stream;
}

/* Whether the handle stands for a default stream. */
static bool is_special(CUstream handle)
{
    return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

CUresult stream_enter_any(CUstream handle, Stream **out)
{
    Context *context;
    TRY(context_enter_any(&context));
    if (!is_special(handle)) {
        *out = object_get(handle, OBJECT_STREAM);
        if (!*out) return CUDA_ERROR_INVALID_HANDLE;
        if (!(*out)->green || atomic_load(&(*out)->green->live)) return CUDA_SUCCESS;
        PUT(*out);
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    bool own = handle == CU_STREAM_PER_THREAD || (!handle && null_is_per_thread);
    Stream *stream = own ? thread_stream(context) : queue_legacy(context);
    if (!stream) return CONTEXT_MEMORY_ERROR(context);
    if (own) object_hold(OBJECT(stream));
    *out = stream;
    return CUDA_SUCCESS;
}

CUresult stream_error(const Stream *stream) { return context_error(stream->object.context); }

CUresult stream_enter_itself(CUstream handle, Stream **out)
{
    Context *context;
    TRY(context_enter(&context));
    TRY(stream_enter_any(handle, out));
    CUresult error = stream_error(*out);
    if (error) PUT(*out);
    return error;
}

CUresult stream_enter_to_submit(CUstream handle, Stream **out)
{
    TRY(stream_enter_itself(handle, out));
    CUresult error = capture_check_legacy(*out, true);
    if (error) PUT(*out);
    return error;
}

CUresult stream_enter(CUstream handle, Stream **out)
{
    TRY(stream_enter_to_submit(handle, out));
    if (!stream_is_captured(*out)) return CUDA_SUCCESS;
    CUresult error = capture_refuse(*out);
    PUT(*out);
    return error;
}

CUresult stream_enter_to_wait(CUstream handle, Stream **out)
{
    TRY(stream_enter(handle, out));
    CUresult error = capture_check_thread();
    if (error) PUT(*out);
    return error;
}

CUresult stream_enter_at_once(Stream **out) { return stream_enter(NULL, out); }

CUresult stream_create(Context *context, GreenContext *green, CUstream *out, unsigned flags, int priority)
{
    if (!out || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    Stream *stream = stream_new(context, flags, queue_priority(priority));
    if (!stream) return CONTEXT_MEMORY_ERROR(context);
    CUresult result = green ? green_adopt(green, stream) : CUDA_SUCCESS;
    if (!result) result = object_publish(OBJECT(stream));
    if (!result)
        *out = stream;
    else
        queue_close(stream);
    PUT(stream);
    return result;
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
    Context *context;
    TRY(context_enter(&context));
    GreenContext *green = green_current();
    CUresult result = stream_create(context, green, out, flags, priority);
    if (green) PUT(green);
    return result;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    Context *context;
    TRY(context_enter(&context));
    if (least) *least = QUEUE_LEAST_PRIORITY;
    if (greatest) *greatest = QUEUE_GREATEST_PRIORITY;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
    return cuStreamCreateWithPriority(out, flags, 0);
}

/* Queued work still runs to completion; only the handle becomes invalid. */
CUresult cuStreamDestroy_v2(CUstream handle)
{
    Context *context; /* only checked to be there */
    TRY(context_enter_any(&context));
    Stream *stream;
    if (is_special(handle)) return CUDA_ERROR_INVALID_HANDLE;
    TRY(stream_enter_any(handle, &stream));
    bool mine = object_retire(OBJECT(stream));
    if (mine) capture_leave(stream);
    if (mine) queue_close(stream);
    PUT(stream);
    return mine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamQuery(CUstream handle)
{
    Stream *stream;
    TRY(stream_enter_to_wait(handle, &stream));
    bool done = stream->legacy ? queue_idle(stream, false) : queue_reached(stream, queue_last(stream));
    CUresult error = stream_error(stream);
    PUT(stream);
    if (error) return error;
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamSynchronize(CUstream handle)
{
    Stream *stream;
    TRY(stream_enter_to_wait(handle, &stream));
    bool reached = stream->legacy ? queue_wait_turn(stream, false) : queue_wait(stream, queue_last(stream));
    if (reached) pools_observe(stream->object.context->device, stream->legacy ? NULL : stream);
    context_flush(stream->object.context);
    CUresult error = stream_error(stream);
    PUT(stream);
    return error || reached ? error : CUDA_ERROR_NOT_READY;
}

/* Defines a function that writes `fact`, an expression of `stream`, to *out. */
#define STREAM_FACT(function, type, fact) \
    CUresult function(CUstream handle, type *out) \
    { \
        Stream *stream; \
        if (!out) return CUDA_ERROR_INVALID_VALUE; \
        TRY(stream_enter_itself(handle, &stream)); \
        *out = (fact); \
        PUT(stream); \
        return CUDA_SUCCESS; \
    }
STREAM_FACT(cuStreamGetFlags, unsigned int, stream->flags)
STREAM_FACT(cuStreamGetPriority, int, stream->priority)
STREAM_FACT(cuStreamGetId, unsigned long long, stream->id)
STREAM_FACT(cuStreamGetCtx, CUcontext, green_context_handle(stream))
STREAM_FACT(cuStreamGetGreenCtx, CUgreenCtx, green_of_stream(stream))
STREAM_FACT(cuStreamGetDevice, CUdevice, stream->object.context->device->ordinal)
#undef STREAM_FACT

/* *green: the green context of the stream, or NULL. *context is the primary context even then, not the
 * derived one that cuStreamGetCtx returns. */
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *context, CUgreenCtx *green)
{
    Stream *stream;
    if (!context && !green) return CUDA_ERROR_INVALID_VALUE;
    TRY(stream_enter_itself(handle, &stream));
    if (green) *green = green_of_stream(stream);
    if (context) *context = stream->object.context;
    PUT(stream);
    return CUDA_SUCCESS;
}

/* Managed memory is visible everywhere at all times: attaching it changes nothing. */
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t length, unsigned int flags)
{
    Stream *stream;
    MemoryRange range;
    TRY(stream_enter(handle, &stream));
    PUT(stream);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!memory_map_find_for_call(driver_memory(), address, length, &range)) return CUDA_ERROR_INVALID_VALUE;
    return memory_is_managed(range.kind) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A call of one function of the program, in order with the stream's work. */
typedef struct CallbackTask {
    Task task;
    CUstream handle;
    CUhostFn function;            /* cuLaunchHostFunc's; else NULL */
    CUstreamCallback callback;    /* cuStreamAddCallback's; else NULL */
    void *data;
} CallbackTask;

static void run_callback(Task *self, Stream *stream)
{
    CallbackTask *task = (CallbackTask *)self;
    bool before = driver_set_in_callback(true);
    if (task->function)
        task->function(task->data);
    else
        task->callback(task->handle, stream_error(stream), task->data);
    driver_set_in_callback(before);
}

static void free_callback(Task *self) { free(self); }

static CUresult submit_callback(CUstream handle, CUhostFn function, CUstreamCallback callback, void *data)
{
    Stream *stream;
    if (!function && !callback) return CUDA_ERROR_INVALID_VALUE;
    TRY(function ? stream_enter_to_submit(handle, &stream) : stream_enter(handle, &stream));
    if (stream_is_captured(stream)) {
        CUresult result = capture_add_host(stream, function, data);
        PUT(stream);
        return result;
    }
    if (queue_wait_room(stream)) {
        PUT(stream);
        return CUDA_ERROR_NOT_READY;
    }
    CallbackTask *task = calloc(1, sizeof *task);
    if (task) {
        task->task.run = run_callback;
        task->task.release = free_callback;
        task->task.on_worker = true;
        /* After a fault a callback is called, and gets the error; a host function is not called. */
        task->task.always = callback != NULL;
        task->handle = handle;
        task->function = function;
        task->callback = callback;
        task->data = data;
        queue_submit(stream, &task->task, NULL);
    }
    PUT(stream);
    return task ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
    return submit_callback(handle, function, NULL, data);
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned int flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : submit_callback(handle, NULL, callback, data);
}
