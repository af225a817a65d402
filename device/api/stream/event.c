/* Events: a place in a stream and the time when the stream reached it. Interprocess events have no time, and
 * a part that processes share (shared_event.h). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/stream/event.h"
#include "api/base/ipc_handle.h"
#include "api/context/timeout.h"
#include "api/stream/capture.h"
#include "api/stream/shared_event.h"

struct CUevent_st {
    Object object;
    unsigned flags;
    pthread_mutex_t lock;
    uint64_t serial;       /* of the last record that was requested; 0: there was none */
    Stream *stream;        /* where it was recorded, a reference; NULL before */
    uint64_t number;       /* of the record's task in that stream */
    uint64_t timed_serial; /* of the record that `time` belongs to; 0: no record was reached */
    int64_t time;          /* nanoseconds of CLOCK_MONOTONIC */
    SharedEvent *shared;   /* of an interprocess event; else NULL */
    SharedFile file;       /* with `shared`; only in the process that made the event */
    bool imported;         /* the event was made by another process */
    EventCapture capture;  /* of the last record, if it was captured */
};

typedef struct RecordTask {
    Task task;
    Event *event;          /* a reference */
    RecordTicket ticket;
} RecordTask;

static int64_t clock_nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void event_release(Object *object)
{
    Event *event = (Event *)object;
    if (event->stream) PUT(event->stream);
    event_capture_clear(&event->capture);
    if (event->shared) shared_event_unmap(event->shared);
    if (event->shared && !event->imported) shared_file_close(&event->file);
    pthread_mutex_destroy(&event->lock);
}

void event_put(Event *event) { PUT(event); }

Context *event_context(const Event *event) { return event->object.context; }

EventCapture *event_capture(Event *event) { return &event->capture; }

void event_capture_clear(EventCapture *capture)
{
    node_set_clear(&capture->before);
    capture->capture = 0;
}

CUresult event_enter(CUevent handle, Event **out)
{
    Context *context;
    TRY(context_enter(&context));
    Event *event = object_get(handle, OBJECT_EVENT);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    CUresult error = context_error(event->object.context);
    if (error)
        PUT(event);
    else
        *out = event;
    return error;
}

static Event *event_new(Context *context, unsigned flags)
{
    Event *event = object_new(OBJECT_EVENT, sizeof *event, context, event_release);
    if (!event) return NULL;
    event->flags = flags;
    pthread_mutex_init(&event->lock, NULL);
    return event;
}

/* Publishes the new event and returns it in *out, unless `result` is an error already. Releases the caller's
 * reference. */
static CUresult event_publish(Event *event, CUresult result, CUevent *out)
{
    if (!result) result = object_publish(OBJECT(event));
    if (!result) *out = event;
    PUT(event);
    return result;
}

/* CU_EVENT_BLOCKING_SYNC changes nothing: a thread that waits sleeps, or runs the stream's tasks itself. */
CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
    enum { ALL_EVENT_FLAGS = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS };
    Context *context;
    TRY(context_enter(&context));
    if (!out || flags > ALL_EVENT_FLAGS) return CUDA_ERROR_INVALID_VALUE;
    bool shared = flags & CU_EVENT_INTERPROCESS;
    if (shared && !(flags & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
    Event *event = event_new(context, flags);
    if (!event) return CUDA_ERROR_OUT_OF_MEMORY;
    return event_publish(event, shared ? shared_event_create(&event->shared, &event->file) : CUDA_SUCCESS,
                         out);
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *out, CUevent handle)
{
    Event *event;
    IpcHandle bytes;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(event_enter(handle, &event));
    bool ours = event->shared && !event->imported && shared_file_is_open(&event->file);
    if (ours) {
        ipc_fill_handle(&bytes, IPC_EVENT, event->file.descriptor, (uint64_t)event->file.inode);
        memcpy(out, &bytes, sizeof bytes);
    }
    PUT(event);
    return ours ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
    Context *context;
    IpcHandle bytes;
    SharedFile file;
    TRY(context_enter(&context));
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&bytes, &handle, sizeof bytes);
    Event *event = event_new(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    if (!event) return CUDA_ERROR_OUT_OF_MEMORY;
    event->imported = true;
    CUresult result = ipc_open(&bytes, IPC_EVENT, &file);
    if (!result) {
        result = shared_event_map(&file, &event->shared);
        shared_file_close(&file);
    }
    return event_publish(event, result, out);
}

CUresult cuEventDestroy_v2(CUevent handle)
{
    Context *context;
    TRY(context_enter_any(&context));
    Event *event = object_get(handle, OBJECT_EVENT);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    bool mine = object_retire(OBJECT(event));
    PUT(event);
    return mine ? context_error(context) : CUDA_ERROR_INVALID_HANDLE;
}

RecordTicket event_take_ticket(Event *event)
{
    RecordTicket ticket = {0};
    if (event->shared) ticket.shared_number = shared_event_record(event->shared);
    pthread_mutex_lock(&event->lock);
    ticket.serial = ++event->serial;
    pthread_mutex_unlock(&event->lock);
    return ticket;
}

void event_place(Event *event, RecordTicket ticket, Stream *stream, uint64_t number)
{
    Stream *unused = stream; /* the reference that the event does not keep */
    object_hold(OBJECT(stream));
    pthread_mutex_lock(&event->lock);
    if (ticket.serial == event->serial) {
        unused = event->stream;
        event->stream = stream;
        event->number = number;
    }
    pthread_mutex_unlock(&event->lock);
    if (unused) PUT(unused);
}

void event_reach(Event *event, RecordTicket ticket)
{
    int64_t time = clock_nanoseconds();
    pthread_mutex_lock(&event->lock);
    if (ticket.serial > event->timed_serial) {
        event->timed_serial = ticket.serial;
        event->time = time;
    }
    pthread_mutex_unlock(&event->lock);
    if (event->shared) shared_event_reach(event->shared, ticket.shared_number);
}

static void run_record(Task *self, Stream *stream)
{
    const RecordTask *task = (RecordTask *)self;
    (void)stream;
    event_reach(task->event, task->ticket);
}

static void free_record(Task *self)
{
    PUT(((RecordTask *)self)->event);
    free(self);
}

static CUresult submit_record(Event *event, Stream *stream)
{
    RecordTask *task = calloc(1, sizeof *task);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    task->task.run = run_record;
    task->task.release = free_record;
    task->task.always = true;
    task->event = event;
    object_hold(OBJECT(event));
    RecordTicket ticket = task->ticket = event_take_ticket(event);
    event_place(event, ticket, stream, queue_submit(stream, &task->task, NULL));
    return CUDA_SUCCESS;
}

CUresult event_record_in(Stream *stream, Event *event)
{
    if (event_context(event) != stream->object.context) return CUDA_ERROR_INVALID_HANDLE;
    TRY(queue_wait_room(stream));
    capture_forget(event);
    return submit_record(event, stream);
}

/* Records or captures. `external` is for captures only: outside of one it is an error. */
static CUresult record_in(Stream *stream, Event *event, bool external)
{
    if (!stream_is_captured(stream))
        return external ? CUDA_ERROR_INVALID_VALUE : event_record_in(stream, event);
    if (event_context(event) != stream->object.context) return CUDA_ERROR_INVALID_HANDLE;
    return capture_record(stream, event, external);
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags)
{
    Event *event;
    Stream *stream;
    if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    TRY(event_enter(handle, &event));
    CUresult result = stream_enter_to_submit(stream_handle, &stream);
    if (!result) {
        result = record_in(stream, event, flags & CU_EVENT_RECORD_EXTERNAL);
        PUT(stream);
    }
    PUT(event);
    return result;
}

CUresult cuEventRecord(CUevent handle, CUstream stream) { return cuEventRecordWithFlags(handle, stream, 0); }

/* The stream, with a reference, and the number of the event's last record; false if there was none. */
static bool last_record(Event *event, Dependency *place)
{
    pthread_mutex_lock(&event->lock);
    *place = (Dependency){event->stream, event->number};
    if (place->stream) object_hold(OBJECT(place->stream));
    pthread_mutex_unlock(&event->lock);
    return place->stream != NULL;
}

static bool is_done(Event *event)
{
    Dependency place;
    if (event->shared) return shared_event_reached(event->shared, shared_event_last(event->shared));
    if (!last_record(event, &place)) return true;
    bool done = queue_reached(place.stream, place.number);
    PUT(place.stream);
    return done;
}

/* As event_enter(). An error if the last record was captured, or if captures forbid the thread to wait. */
static CUresult enter_to_wait(CUevent handle, Event **event)
{
    TRY(event_enter(handle, event));
    CUresult error = capture_check_event(*event);
    if (!error) error = capture_check_thread();
    if (error) PUT(*event);
    return error;
}

CUresult cuEventQuery(CUevent handle)
{
    Event *event;
    TRY(enter_to_wait(handle, &event));
    bool done = is_done(event);
    CUresult error = context_error(event->object.context);
    PUT(event);
    if (error) return error;
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent handle)
{
    Event *event;
    Dependency place;
    TRY(enter_to_wait(handle, &event));
    uint64_t shared = event->shared ? shared_event_last(event->shared) : 0;
    bool reached = true;
    if (last_record(event, &place)) {
        reached = queue_wait(place.stream, place.number);
        if (reached) pools_observe(place.stream->object.context->device, place.stream);
        PUT(place.stream);
        context_flush(event->object.context);
    }
    if (reached && shared)
        reached = shared_event_wait(event->shared, shared, timeout_deadline(event->object.context));
    CUresult error = context_error(event->object.context);
    PUT(event);
    return error || reached ? error : CUDA_ERROR_NOT_READY;
}

/* The time of the last record; CUDA_ERROR_INVALID_HANDLE without one, CUDA_ERROR_NOT_READY before it is
 * reached. */
static CUresult time_of(Event *event, int64_t *time)
{
    if (event->flags & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
    TRY(capture_check_event(event));
    if (!is_done(event)) return CUDA_ERROR_NOT_READY;
    pthread_mutex_lock(&event->lock);
    bool recorded = event->timed_serial != 0;
    *time = event->time;
    pthread_mutex_unlock(&event->lock);
    return recorded ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* If several errors apply, a captured event comes first, then an invalid one, then one that is not
 * reached. */
static CUresult elapsed_between(Event *start, Event *end, float *milliseconds)
{
    int64_t from = 0, to = 0;
    if (start->object.context != end->object.context) return CUDA_ERROR_INVALID_HANDLE;
    CUresult first = time_of(start, &from), second = time_of(end, &to);
    if (first == CUDA_ERROR_CAPTURED_EVENT || second == CUDA_ERROR_CAPTURED_EVENT)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (first == CUDA_ERROR_INVALID_HANDLE || second == CUDA_ERROR_INVALID_HANDLE)
        return CUDA_ERROR_INVALID_HANDLE;
    if (first || second) return first ? first : second;
    *milliseconds = (float)((double)(to - from) * 1e-6);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
    Event *start, *end;
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    TRY(event_enter(start_handle, &start));
    CUresult result = event_enter(end_handle, &end);
    if (!result) {
        result = elapsed_between(start, end, milliseconds);
        PUT(end);
    }
    PUT(start);
    return result;
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    return cuEventElapsedTime(milliseconds, start, end);
}

/* A task that waits for a record of another process. */
static void run_wait(Task *self, Stream *stream)
{
    const RecordTask *task = (RecordTask *)self;
    (void)stream;
    shared_event_wait(task->event->shared, task->ticket.shared_number, 0);
}

static CUresult wait_for_shared(Stream *stream, Event *event)
{
    uint64_t number = shared_event_last(event->shared);
    if (shared_event_reached(event->shared, number)) return CUDA_SUCCESS;
    RecordTask *task = calloc(1, sizeof *task);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    task->task.run = run_wait;
    task->task.endless = true;
    task->task.release = free_record;
    task->event = event;
    task->ticket.shared_number = number;
    object_hold(OBJECT(event));
    queue_submit(stream, &task->task, NULL);
    return CUDA_SUCCESS;
}

static CUresult wait_for(Stream *stream, Event *event)
{
    Dependency place;
    return last_record(event, &place) ? queue_submit_wait(stream, &place) : CUDA_SUCCESS;
}

CUresult event_wait_in(Stream *stream, Event *event)
{
    return event->shared ? wait_for_shared(stream, event) : wait_for(stream, event);
}

static CUresult wait_in(Stream *stream, Event *event, bool external)
{
    bool joined = false;
    if (stream_is_captured(stream)) return capture_wait(stream, event, external);
    if (external) return CUDA_ERROR_INVALID_VALUE;
    TRY(capture_join(stream, event, &joined));
    if (joined) return CUDA_SUCCESS;
    TRY(queue_wait_room(stream));
    return event_wait_in(stream, event);
}

CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned int flags)
{
    Event *event;
    Stream *stream;
    if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    TRY(event_enter(handle, &event));
    CUresult result = stream_enter_to_submit(stream_handle, &stream);
    if (!result) {
        result = wait_in(stream, event, flags & CU_EVENT_WAIT_EXTERNAL);
        PUT(stream);
    }
    PUT(event);
    return result;
}
