/* See launch_queue.h. */
#include "ext/base/launch_queue.h"

#include "core/poll.h"
#include "ext/base/driver_calls.h"

/* Pending calls of a channel. Drivers take 1,024, some take more. */
enum {
    SURELY_FREE = 768,              /* with fewer pending calls the driver takes another one at once */
    SURELY_FULL = 1000,             /* with so many the next call waits for the polled event first */
    LOOK_EVERY = SURELY_FREE / 3,   /* calls between two queries of the polled event that was reached */
    LOOK_AGAIN = 16                 /* calls until the next query of one that was not reached */
};

/* ---- Queues ---- */

/* How many streams may have one channel, of the eight that a process has unless it asks for others. */
static long streams_per_channel(const LaunchQueues *queues)
{
    enum { CHANNELS = 8 };
    return 1 + ((long)queues->count - 1) / CHANNELS;
}

static long pending(const LaunchQueue *queue) { return queue->queued - queue->done; }

/* Takes back the calls that are still granted to the stream used last: its next call goes through
 * queue_find_capacity. */
static void revoke_grant(LaunchQueues *queues)
{
    if (queues->last) queues->list[queues->last - 1].queued -= queues->left;
    queues->last = 0;
    queues->left = 0;
}

/* The queue of a stream, or NULL. context NULL: of any context. */
static LaunchQueue *find_queue(const LaunchQueues *queues, CUstream stream, CUcontext context)
{
    for (size_t i = 0; i < queues->count; i++)
        if (queues->list[i].stream == stream && (!context || queues->list[i].context == context))
            return &queues->list[i];
    return NULL;
}

static void note_done(LaunchQueue *queue, long done)
{
    if (done > queue->done) queue->done = done;
    queue->look_at = queue->done + LOOK_EVERY;
}

/* Removes the queues of streams without pending calls and without a polled event. */
static void drop_idle(LaunchQueues *queues)
{
    size_t kept = 0;
    for (size_t i = 0; i < queues->count; i++)
        if (pending(&queues->list[i]) || queues->list[i].polled) queues->list[kept++] = queues->list[i];
    queues->count = kept;
}

/* NULL when memory is short. */
static LaunchQueue *add_queue(LaunchQueues *queues, CUstream stream, CUcontext context)
{
    if (queues->count == queues->space) drop_idle(queues);
    if (queues->count == queues->space) {
        size_t space = queues->space ? 2 * queues->space : 8;
        LaunchQueue *list = PyMem_RawRealloc(queues->list, space * sizeof *list);
        if (!list) return NULL;
        queues->list = list;
        queues->space = space;
    }
    queues->list[queues->count] = (LaunchQueue){.stream = stream, .context = context, .look_at = LOOK_EVERY};
    return &queues->list[queues->count++];
}

/* Whose calls a queue counts. */
typedef struct Owner {
    CUstream stream;
    CUcontext context;      /* NULL: the stream's queue is in the list, and `stream` alone identifies it */
} Owner;

/* *out: the owner of the stream's queue. A default stream belongs to the current context; with several living
 * contexts only the driver knows which that is. False for a stream whose calls are not counted. */
static bool find_owner(ModuleState *state, CUstream stream, Owner *out)
{
    *out = (Owner){stream == CU_STREAM_LEGACY ? NULL : stream, NULL};
    if (stream == CU_STREAM_PER_THREAD) return false; /* as many streams as threads */
    bool several = state->living_contexts > 1;
    bool known = (out->stream || !several) && find_queue(&state->queues, out->stream, NULL);
    if (!known) try_cuCtxGetCurrent(state, &out->context);
    return known || out->context;
}

/* Finds or adds the owner's queue, and revokes what is granted. NULL when memory is short, or when the queue
 * of an owner without a context was removed meanwhile. */
static LaunchQueue *find_or_add_queue(LaunchQueues *queues, const Owner *owner)
{
    revoke_grant(queues);
    LaunchQueue *queue = find_queue(queues, owner->stream, owner->stream ? NULL : owner->context);
    return queue || !owner->context ? queue : add_queue(queues, owner->stream, owner->context);
}

static void count_calls(LaunchQueues *queues, LaunchQueue *queue, long calls)
{
    queue->queued += calls;
    queue->used = ++queues->use_number;
}

/* ---- Polled events ---- */

typedef struct EventPoll {
    PolledEvent polled;
    QueueEventState seen;
} EventPoll;

/* The queue has no polled event until return_event. */
static void borrow_event(LaunchQueue *queue, PolledEvent *out)
{
    *out = (PolledEvent){queue->stream, queue->context, queue->polled, queue->polled_calls};
    queue->polled = NULL;
    queue->polled_calls = 0;
}

/* Returns a borrowed event to its queue. NULL is the usual result, also if the queue is gone: then the event
 * ended with its context. If the queue got another event meanwhile the result is the returned one, which the
 * caller destroys. */
static CUevent return_event(LaunchQueues *queues, const PolledEvent *polled, bool reached)
{
    LaunchQueue *queue = find_queue(queues, polled->stream, polled->context);
    if (!queue) return NULL;
    if (reached) note_done(queue, polled->calls);
    if (queue->polled) return polled->event;
    queue->polled = polled->event;
    queue->polled_calls = reached ? 0 : polled->calls;
    return NULL;
}

static void destroy_event(ModuleState *state, CUevent event)
{
    if (event) once_cuEventDestroy(state, event);
}

void queue_return_event(ModuleState *state, const PolledEvent *polled, bool reached)
{
    CUevent spare = return_event(&state->queues, polled, reached);
    destroy_event(state, spare);
}

/* Asks whether the polled event was reached, and records it again if so. Recording may have to wait for a
 * full queue, as any call; when a signal ended that wait, an exception is set. */
static void poll_queue_event(ModuleState *state, const Owner *owner, EventPoll *out)
{
    CUresult result;
    LaunchQueue *queue = find_or_add_queue(&state->queues, owner);
    long queued = queue ? queue->queued : 0;
    bool free = queue && pending(queue) < SURELY_FREE / streams_per_channel(&state->queues);
    *out = (EventPoll){.seen = {.captured = false}};
    if (queue) borrow_event(queue, &out->polled);
    if (!queue) return;
    PolledEvent polled = out->polled;
    CALL_CORE(state, result, (free ? ASKS_ONCE : HOW_WAITS(ON_NOTHING)),
              poll_and_record(polled.stream, &polled.event, polled.calls != 0, &out->seen));
    if (result == CUDA_ERROR_INVALID_HANDLE) errors_skip_log(state); /* a stream of another context */
    CUevent spare = return_event(&state->queues, &polled, out->seen.reached && polled.calls);
    queue = find_queue(&state->queues, polled.stream, polled.context);
    if (queue && !spare && out->seen.recorded) queue->polled_calls = queued;
    if (queue && !out->seen.captured)
        queue->look_at = queue->queued + (out->seen.reached ? LOOK_EVERY : LOOK_AGAIN);
    destroy_event(state, spare);
}

/* ---- Before a call ---- */

/* Grants the stream the calls until the next query of its polled event, but at least `calls`. Of a default
 * stream where contexts share its handle only `calls`: the next one may be another context's. False when
 * there is no room for `calls`. */
static bool grant(LaunchQueues *queues, LaunchQueue *queue, const Owner *owner, CUstream stream, long calls)
{
    long max = queue->look_at - queue->queued,
         free = SURELY_FREE / streams_per_channel(queues) - pending(queue);
    bool one_context = owner->stream || !owner->context;
    if (max < calls || !one_context) max = calls;
    if (max > free) max = free;
    if (max < calls) return false;
    count_calls(queues, queue, max);
    if (!one_context) return true;
    queues->stream = stream;
    queues->left = max - calls;
    queues->last = (size_t)(queue - queues->list) + 1;
    return true;
}

/* *owner: the owner of the stream's queue. Queries the polled event if that is due; *captured: the query
 * found the stream under capture. False for a stream whose calls are not counted. */
static bool find_and_look(ModuleState *state, CUstream stream, Owner *owner, bool *captured)
{
    EventPoll look;
    *captured = false;
    if (!find_owner(state, stream, owner)) return false;
    const LaunchQueue *queue = find_or_add_queue(&state->queues, owner);
    bool due = queue && queue->queued >= queue->look_at;
    if (!due) return true;
    poll_queue_event(state, owner, &look);
    *captured = look.seen.captured;
    return true;
}

bool queue_find_capacity(ModuleState *state, CUstream stream, long calls)
{
    LaunchQueues *queues = &state->queues;
    Owner owner;
    bool captured;
    if (forked_after_init() || host_function_runs()) return true; /* the call is refused */
    if (stream == queues->stream) queues->left += calls; /* queue_charge had subtracted them */
    if (!find_and_look(state, stream, &owner, &captured)) return false;
    if (captured) return true;
    LaunchQueue *queue = find_or_add_queue(queues, &owner);
    bool found = queue && grant(queues, queue, &owner, stream, calls);
    return found;
}

int queue_count(ModuleState *state, CUstream stream, long calls)
{
    LaunchQueues *queues = &state->queues;
    Owner owner;
    bool captured;
    if (PyErr_Occurred()) return -1; /* set by queue_find_capacity */
    if (queues->last && stream == queues->stream && queues->left >= calls) {
        queues->left -= calls;
        return 0;
    }
    if (forked_after_init() || host_function_runs()) return 0;
    bool counted = find_and_look(state, stream, &owner, &captured) && !captured;
    LaunchQueue *queue = counted ? find_or_add_queue(queues, &owner) : NULL;
    if (queue) count_calls(queues, queue, calls);
    return PyErr_Occurred() ? -1 : 0;
}

bool queue_take_event(ModuleState *state, CUstream stream, PolledEvent *out)
{
    LaunchQueues *queues = &state->queues;
    Owner owner;
    if (!find_owner(state, stream, &owner)) return false;
    LaunchQueue *queue = find_or_add_queue(queues, &owner);
    bool full = queue && queue->polled_calls && pending(queue) >= SURELY_FULL / streams_per_channel(queues);
    if (full) borrow_event(queue, out);
    return full;
}

/* ---- Facts from elsewhere ---- */

uint64_t queue_begin_wait(ModuleState *state)
{
    revoke_grant(&state->queues);
    uint64_t begin = state->queues.use_number;
    return begin;
}

void queue_end_wait(ModuleState *state, CUcontext context, CUstream stream, uint64_t begin)
{
    LaunchQueues *queues = &state->queues;
    if (stream == CU_STREAM_LEGACY) stream = NULL;
    for (LaunchQueue *queue = queues->list; queue < queues->list + queues->count; queue++) {
        bool all_streams = stream == QUEUE_ALL_STREAMS;
        bool handle_is_unique = stream && !all_streams; /* every context has a default stream, NULL */
        if (queue->used > begin) continue; /* a call was counted after the wait began */
        if (!all_streams && queue->stream != stream) continue;
        if (!handle_is_unique && queue->context != context) continue;
        note_done(queue, queue->queued);
        queue->polled_calls = 0; /* nothing is left to learn from the polled event */
    }
}

void queue_reset_capacity(ModuleState *state) { queue_begin_wait(state); }

/* Removes a queue from the list: one of the context if that is not NULL, else the stream's. *out: its polled
 * event, which becomes the caller's, or NULL. False when there is no such queue. */
static bool take_queue(ModuleState *state, CUstream stream, CUcontext context, CUevent *out)
{
    LaunchQueues *queues = &state->queues;
    revoke_grant(queues);
    size_t i = 0;
    while (i < queues->count
           && (context ? queues->list[i].context != context : queues->list[i].stream != stream))
        i++;
    bool found = i < queues->count;
    *out = found ? queues->list[i].polled : NULL;
    if (found) queues->list[i] = queues->list[--queues->count];
    return found;
}

/* The stream's work may go on, but the driver may give the same handle to a new stream, whose launches are
 * counted from 0. */
void queue_stream_destroyed(ModuleState *state, CUstream stream)
{
    CUevent event;
    if (take_queue(state, stream, NULL, &event)) destroy_event(state, event);
}

bool queue_forget(ModuleState *state, CUcontext context, CUevent *event)
{
    return take_queue(state, NULL, context, event);
}
