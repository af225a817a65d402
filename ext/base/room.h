/* Room in the driver's queues.
 *
 * A driver takes about a thousand calls that are still to run, for each of its channels to the device, and
 * lets whoever queues one more wait. Who waits there with the GIL stops all other threads, perhaps the one
 * that the device waits for, and notices no signal. No driver tells how much room there is. So the calls are
 * counted, for each stream, from when its work was last known to be done. A call is made
 *
 *   as it is, with the GIL, while there are not many
 *   without the GIL, when the driver may be full
 *   after a wait that a signal can end, when it surely is
 *
 * Waits for the stream or for its context say what is done; where a program makes none, an event in the
 * stream does, recorded once every few hundred calls. Other libraries' calls, which nobody counts, are what
 * the margin is for.
 */
#ifndef EXT_BASE_ROOM_H
#define EXT_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/driver_table.h"

struct ModuleState;

/* The calls of one stream. */
typedef struct Queue {
    CUstream stream;        /* NULL: the default stream of the context */
    CUcontext context;
    long queued;            /* calls; of the stream used last those that are left are among them */
    long done;              /* of these, known to be over */
    long look_at;           /* as many, and the mark is looked at */
    CUevent mark;           /* owned, or NULL: recorded after the first `marked` calls, if that is not 0 */
    long marked;
    uint64_t used;          /* Room.uses, when a call was last counted */
} Queue;

/* In the module's state, guarded by its lock; all zero at first. The first two also by the GIL, which is all
 * that a launch needs. */
typedef struct Room {
    CUstream stream;        /* the one used last */
    long left;              /* calls that it takes before room_find is asked again */
    size_t last;            /* its place in `queues`, counted from 1; 0: `left` is nobody's */
    size_t count, space;
    Queue *queues;          /* owned */
    uint64_t uses;          /* counts up whenever the next call of a stream is the first after a wait */
} Room;

/* What a graph takes of a queue is the driver's secret, and depends on its branches. */
enum { ROOM_OF_A_GRAPH = 8 };

/* Whether a call on this stream can be made with the GIL, as far as is known from the call before. */
static inline bool room_is_left(Room *room, CUstream stream, long calls)
{
#ifdef Py_GIL_DISABLED
    return (void)room, (void)stream, (void)calls, false;
#else
    return __builtin_expect(stream == room->stream && (room->left -= calls) >= 0, true);
#endif
}

/* The same, and nothing is counted when it says no. */
static inline bool room_take(Room *room, CUstream stream, long calls)
{
#ifdef Py_GIL_DISABLED
    return (void)room, (void)stream, (void)calls, false;
#else
    if (stream != room->stream || room->left < calls) return false;
    room->left -= calls;
    return true;
#endif
}

/* Whether room_take would say yes. */
static inline bool room_has(const Room *room, CUstream stream, long calls)
{
#ifdef Py_GIL_DISABLED
    return (void)room, (void)stream, (void)calls, false;
#else
    return stream == room->stream && room->left >= calls;
#endif
}

/* The same when room_is_left said no, with a look at the device where it is time for one. True: the calls are
 * counted. False, perhaps with an exception: to be followed by room_count. */
bool room_find(struct ModuleState *state, CUstream stream, long calls);

/* Counts calls that are made without the GIL. -1 with an exception when a signal has ended the look. */
int room_count(struct ModuleState *state, CUstream stream, long calls);

/* Where a thread waits for room: a mark out of its queue. */
typedef struct RoomMark {
    CUstream stream;
    CUcontext context;
    CUevent event;
    long marked;
} RoomMark;

/* Whether the driver will let the next call wait. Then the mark is the caller's, until room_put_mark. */
bool room_take_mark(struct ModuleState *state, CUstream stream, RoomMark *out);
void room_put_mark(struct ModuleState *state, const RoomMark *mark, bool reached);

/* Around a wait: what was queued before it in this stream of the context, or in all of them, is done after
 * it. Two waits that begin with the same number have nothing queued between them. */
#define ROOM_ALL_STREAMS ((CUstream)(intptr_t)-1)
uint64_t room_begin_wait(struct ModuleState *state);
void room_end_wait(struct ModuleState *state, CUcontext context, CUstream stream, uint64_t begin);

/* The stream is about to be destroyed, in its context. */
void room_stream_gone(struct ModuleState *state, CUstream stream);

/* The next call on any stream is asked for by room_find: as there is another context, whose default stream is
 * not this one. */
void room_close(struct ModuleState *state);

/* The context ends: false when none of its streams is left, else one is forgotten, whose event (or NULL) is
 * the caller's. */
bool room_forget(struct ModuleState *state, CUcontext context, CUevent *mark);

#endif
