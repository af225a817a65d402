/* See room.h. */
#include "ext/base/room.h"

#include "core/poll.h"
#include "ext/base/driver_calls.h"

/* Drivers take 1,024 calls a channel, some take more. */
enum { SURELY_FULL = 1000, SURELY_FREE = 768, LOOK_EVERY = SURELY_FREE / 3, LOOK_AGAIN = 16 };

/* With the GIL nobody else is here: a thread lets go of it in driver calls only. */
static void lock_room(ModuleState *state)
{
#ifdef Py_GIL_DISABLED
    state_lock(state);
#else
    (void)state;
#endif
}

static void unlock_room(ModuleState *state)
{
#ifdef Py_GIL_DISABLED
    state_unlock(state);
#else
    (void)state;
#endif
}

/* ---- Queues ---- */

/* How many streams may have one channel, of the eight that a process has unless it asks for others. */
static long sharing(const Room *room)
{
    enum { CHANNELS = 8 };
    return 1 + ((long)room->count - 1) / CHANNELS;
}

static long pending(const Queue *queue) { return queue->queued - queue->done; }

/* What the stream used last was still allowed is not: its next call comes to room_find. */
static void close_locked(Room *room)
{
    if (room->last) room->queues[room->last - 1].queued -= room->left;
    room->last = 0;
    room->left = 0;
}

/* context NULL: of any. */
static Queue *find_locked(const Room *room, CUstream stream, CUcontext context)
{
    for (size_t i = 0; i < room->count; i++)
        if (room->queues[i].stream == stream && (!context || room->queues[i].context == context))
            return &room->queues[i];
    return NULL;
}

static void note_done(Queue *queue, long done)
{
    if (done > queue->done) queue->done = done;
    queue->look_at = queue->done + LOOK_EVERY;
}

/* Streams that have nothing to do make room for others. */
static void drop_idle_locked(Room *room)
{
    size_t kept = 0;
    for (size_t i = 0; i < room->count; i++)
        if (pending(&room->queues[i]) || room->queues[i].mark) room->queues[kept++] = room->queues[i];
    room->count = kept;
}

/* NULL when memory is short. */
static Queue *add_locked(Room *room, CUstream stream, CUcontext context)
{
    if (room->count == room->space) drop_idle_locked(room);
    if (room->count == room->space) {
        size_t space = room->space ? 2 * room->space : 8;
        Queue *queues = PyMem_RawRealloc(room->queues, space * sizeof *queues);
        if (!queues) return NULL;
        room->queues = queues;
        room->space = space;
    }
    room->queues[room->count] = (Queue){.stream = stream, .context = context, .look_at = LOOK_EVERY};
    return &room->queues[room->count++];
}

/* Whose calls these are. */
typedef struct Owner {
    CUstream stream;
    CUcontext context;      /* NULL: the only one there is */
} Owner;

/* A default stream is the current context's, of which only the driver knows where there are several. False
 * for a stream that is not counted. */
static bool find_owner(ModuleState *state, CUstream stream, Owner *out)
{
    *out = (Owner){stream == CU_STREAM_LEGACY ? NULL : stream, NULL};
    if (stream == CU_STREAM_PER_THREAD) return false; /* as many streams as threads */
    lock_room(state);
    bool several = state->living_contexts > 1;
    bool known = (out->stream || !several) && find_locked(&state->room, out->stream, NULL);
    unlock_room(state);
    if (!known) try_cuCtxGetCurrent(state, &out->context);
    return known || out->context;
}

/* The owner's queue, with nothing left to any stream. NULL when memory is short. */
static Queue *open_locked(Room *room, const Owner *owner)
{
    close_locked(room);
    Queue *queue = find_locked(room, owner->stream, owner->stream ? NULL : owner->context);
    return queue || !owner->context ? queue : add_locked(room, owner->stream, owner->context);
}

static void use_locked(Room *room, Queue *queue, long calls)
{
    queue->queued += calls;
    queue->used = ++room->uses;
}

/* ---- Marks ---- */

typedef struct Look {
    RoomMark mark;
    MarkLook seen;
} Look;

static void take_mark_locked(Queue *queue, RoomMark *out)
{
    *out = (RoomMark){queue->stream, queue->context, queue->mark, queue->marked};
    queue->mark = NULL;
    queue->marked = 0;
}

/* An event that the queue had no room for: its context may have ended, or another took its place. Returned if
 * it is to be destroyed. */
static CUevent give_mark_locked(Room *room, const RoomMark *mark, bool reached)
{
    Queue *queue = find_locked(room, mark->stream, mark->context);
    if (!queue) return NULL;
    if (reached) note_done(queue, mark->marked);
    if (queue->mark) return mark->event;
    queue->mark = mark->event;
    queue->marked = reached ? 0 : mark->marked;
    return NULL;
}

static void destroy_mark(ModuleState *state, CUevent event)
{
    if (event) once_cuEventDestroy(state, event);
}

void room_put_mark(ModuleState *state, const RoomMark *mark, bool reached)
{
    lock_room(state);
    CUevent spare = give_mark_locked(&state->room, mark, reached);
    unlock_room(state);
    destroy_mark(state, spare);
}

/* Asks whether the mark was reached, and records the next one if so: a call like any other, which may have to
 * wait. When a signal ended that, an exception is set. */
static void look_at(ModuleState *state, const Owner *owner, Look *out)
{
    CUresult result;
    lock_room(state);
    Queue *queue = open_locked(&state->room, owner);
    long queued = queue ? queue->queued : 0;
    bool free = queue && pending(queue) < SURELY_FREE / sharing(&state->room);
    *out = (Look){.seen = {.captured = false}};
    if (queue) take_mark_locked(queue, &out->mark);
    unlock_room(state);
    if (!queue) return;
    RoomMark mark = out->mark;
    CALL_CORE(state, result, (free ? ASKS_ONCE : HOW_WAITS(ON_NOTHING)),
              poll_look(mark.stream, &mark.event, mark.marked != 0, &out->seen));
    if (result == CUDA_ERROR_INVALID_HANDLE) errors_skip_log(state); /* a stream of another context */
    lock_room(state);
    CUevent spare = give_mark_locked(&state->room, &mark, out->seen.reached && mark.marked);
    queue = find_locked(&state->room, mark.stream, mark.context);
    if (queue && !spare && out->seen.recorded) queue->marked = queued;
    if (queue && !out->seen.captured)
        queue->look_at = queue->queued + (out->seen.reached ? LOOK_EVERY : LOOK_AGAIN);
    unlock_room(state);
    destroy_mark(state, spare);
}

/* ---- Before a call ---- */

/* As many calls as come before the next look, at least those that are requested. */
static bool grant_locked(Room *room, Queue *queue, const Owner *owner, CUstream stream, long calls)
{
    long most = queue->look_at - queue->queued, free = SURELY_FREE / sharing(room) - pending(queue);
    bool one_context = owner->stream || !owner->context;
    if (most < calls || !one_context) most = calls;
    if (most > free) most = free;
    if (most < calls) return false;
    use_locked(room, queue, most);
    if (!one_context) return true;
    room->stream = stream;
    room->left = most - calls;
    room->last = (size_t)(queue - room->queues) + 1;
    return true;
}

/* The owner, after a look if it is time for one. False for a stream that is not counted. */
static bool find_and_look(ModuleState *state, CUstream stream, Owner *owner, bool *captured)
{
    Look look;
    *captured = false;
    if (!find_owner(state, stream, owner)) return false;
    lock_room(state);
    const Queue *queue = open_locked(&state->room, owner);
    bool due = queue && queue->queued >= queue->look_at;
    unlock_room(state);
    if (!due) return true;
    look_at(state, owner, &look);
    *captured = look.seen.captured;
    return true;
}

bool room_find(ModuleState *state, CUstream stream, long calls)
{
    Room *room = &state->room;
    Owner owner;
    bool captured;
    if (forked_after_init() || host_function_runs()) return true; /* the call is refused */
#ifndef Py_GIL_DISABLED
    if (stream == room->stream) room->left += calls; /* room_is_left had taken them */
#endif
    if (!find_and_look(state, stream, &owner, &captured)) return false;
    if (captured) return true;
    lock_room(state);
    Queue *queue = open_locked(room, &owner);
    bool found = queue && grant_locked(room, queue, &owner, stream, calls);
    unlock_room(state);
    return found;
}

int room_count(ModuleState *state, CUstream stream, long calls)
{
    Room *room = &state->room;
    Owner owner;
    bool captured;
    if (PyErr_Occurred()) return -1; /* of room_find */
#ifndef Py_GIL_DISABLED
    if (room->last && stream == room->stream && room->left >= calls) {
        room->left -= calls;
        return 0;
    }
#endif
    if (forked_after_init() || host_function_runs()) return 0;
    bool counted = find_and_look(state, stream, &owner, &captured) && !captured;
    lock_room(state);
    Queue *queue = counted ? open_locked(room, &owner) : NULL;
    if (queue) use_locked(room, queue, calls);
    unlock_room(state);
    return PyErr_Occurred() ? -1 : 0;
}

bool room_take_mark(ModuleState *state, CUstream stream, RoomMark *out)
{
    Room *room = &state->room;
    Owner owner;
    if (!find_owner(state, stream, &owner)) return false;
    lock_room(state);
    Queue *queue = open_locked(room, &owner);
    bool full = queue && queue->marked && pending(queue) >= SURELY_FULL / sharing(room);
    if (full) take_mark_locked(queue, out);
    unlock_room(state);
    return full;
}

/* ---- What is known from elsewhere ---- */

uint64_t room_begin_wait(ModuleState *state)
{
    lock_room(state);
    close_locked(&state->room);
    uint64_t begin = state->room.uses;
    unlock_room(state);
    return begin;
}

void room_end_wait(ModuleState *state, CUcontext context, CUstream stream, uint64_t begin)
{
    Room *room = &state->room;
    if (stream == CU_STREAM_LEGACY) stream = NULL;
    lock_room(state);
    for (Queue *queue = room->queues; queue < room->queues + room->count; queue++) {
        bool all = stream == ROOM_ALL_STREAMS, own = stream && !all;
        if (queue->used > begin || !(all || queue->stream == stream)) continue;
        if (!own && queue->context != context) continue;
        note_done(queue, queue->queued);
        queue->marked = 0; /* as good as reached */
    }
    unlock_room(state);
}

void room_close(ModuleState *state) { room_begin_wait(state); }

/* A queue out of the table; its event, or NULL. False when there is none of this stream, or else of this
 * context. */
static bool take_queue(ModuleState *state, CUstream stream, CUcontext context, CUevent *out)
{
    Room *room = &state->room;
    lock_room(state);
    close_locked(room);
    size_t i = 0;
    while (i < room->count
           && (context ? room->queues[i].context != context : room->queues[i].stream != stream))
        i++;
    bool found = i < room->count;
    *out = found ? room->queues[i].mark : NULL;
    if (found) room->queues[i] = room->queues[--room->count];
    unlock_room(state);
    return found;
}

/* Its work may go on: the handle is the driver's to give again, and then to be counted anew. */
void room_stream_gone(ModuleState *state, CUstream stream)
{
    CUevent mark;
    if (take_queue(state, stream, NULL, &mark)) destroy_mark(state, mark);
}

bool room_forget(ModuleState *state, CUcontext context, CUevent *mark)
{
    return take_queue(state, NULL, context, mark);
}
