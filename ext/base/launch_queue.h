/* How full the driver's queues of launches and copies are.
 *
 * A driver takes about a thousand calls that are still to run, for each of its channels to the device, and
 * lets whichever thread queues one more wait. A thread that waits there with the GIL stops all others,
 * perhaps the one that the device waits for, and notices no signal. No driver says how full a queue is. So
 * the calls are counted, for each stream, from when its work was last known to be done. A call is made
 *
 *   as it is, with the GIL, while there are not many
 *   without the GIL, when the driver may be full
 *   after a wait that a signal can end, when it surely is
 *
 * Waits for the stream or for its context show what is done; where a program never waits, an event in the
 * stream does, recorded once every few hundred calls. The margin is for calls of other libraries, which are
 * not counted.
 */
#ifndef EXT_BASE_LAUNCH_QUEUE_H
#define EXT_BASE_LAUNCH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/driver_table.h"

struct ModuleState;

/* The calls of one stream. */
typedef struct LaunchQueue {
    CUstream stream;        /* NULL: the default stream of the context */
    CUcontext context;
    long queued;            /* calls; of the stream used last those that are left are among them */
    long done;              /* of these, known to be over */
    long look_at;           /* as many, and the mark is looked at */
    CUevent mark;           /* owned, or NULL: recorded after the first `marked` calls, if that is not 0 */
    long marked;
    uint64_t used;          /* LaunchQueues.uses, when a call was last counted */
} LaunchQueue;

/* In the module's state, guarded by its lock; all zero at first. The first two also by the GIL, which is all
 * that a launch needs. */
typedef struct LaunchQueues {
    CUstream stream;        /* the one used last */
    long left;              /* calls that it takes before queue_find_capacity is asked again */
    size_t last;            /* its place in `list`, counted from 1; 0: `left` belongs to no stream */
    size_t count, space;
    LaunchQueue *list;      /* owned */
    uint64_t uses;          /* counts up whenever the next call of a stream is the first after a wait */
} LaunchQueues;

/* What a graph takes of a queue is the driver's secret, and depends on its branches. */
enum { QUEUE_CALLS_OF_A_GRAPH = 8 };

/* Whether a call on this stream can be made with the GIL, as far as is known from the call before. */
static inline bool queue_is_free(LaunchQueues *queues, CUstream stream, long calls)
{
#ifdef Py_GIL_DISABLED
    return (void)queues, (void)stream, (void)calls, false;
#else
    return __builtin_expect(stream == queues->stream && (queues->left -= calls) >= 0, true);
#endif
}

/* As queue_is_free(), and nothing is counted when it says no. */
static inline bool queue_take(LaunchQueues *queues, CUstream stream, long calls)
{
#ifdef Py_GIL_DISABLED
    return (void)queues, (void)stream, (void)calls, false;
#else
    if (stream != queues->stream || queues->left < calls) return false;
    queues->left -= calls;
    return true;
#endif
}

/* Whether queue_take would say yes. */
static inline bool queue_has(const LaunchQueues *queues, CUstream stream, long calls)
{
#ifdef Py_GIL_DISABLED
    return (void)queues, (void)stream, (void)calls, false;
#else
    return stream == queues->stream && queues->left >= calls;
#endif
}

/* As queue_take(), where queue_is_free() said no, with a look at the device where it is time for one. True:
 * the calls are counted. False, perhaps with an exception: to be followed by queue_count. */
bool queue_find_capacity(struct ModuleState *state, CUstream stream, long calls);

/* Counts calls that are made without the GIL. -1 with an exception when a signal has ended the look. */
int queue_count(struct ModuleState *state, CUstream stream, long calls);

/* A queue's mark, lent to a thread that waits for room. */
typedef struct QueueMark {
    CUstream stream;
    CUcontext context;
    CUevent event;
    long marked;
} QueueMark;

/* Whether the driver will let the next call wait. Then the mark is the caller's, until queue_put_mark. */
bool queue_take_mark(struct ModuleState *state, CUstream stream, QueueMark *out);
void queue_put_mark(struct ModuleState *state, const QueueMark *mark, bool reached);

/* Around a wait: what was queued before it in this stream of the context, or in all of them, is done after
 * it. Two waits that begin with the same number have nothing queued between them. */
#define QUEUE_ALL_STREAMS ((CUstream)(intptr_t)-1)
uint64_t queue_begin_wait(struct ModuleState *state);
void queue_end_wait(struct ModuleState *state, CUcontext context, CUstream stream, uint64_t begin);

/* The stream is about to be destroyed, in its context. */
void queue_stream_destroyed(struct ModuleState *state, CUstream stream);

/* The next call on any stream is asked for by queue_find_capacity: as there is another context, whose
 * default stream is not this one. */
void queue_reset_capacity(struct ModuleState *state);

/* The context ends: false when none of its streams is left, else one is forgotten, whose event (or NULL) is
 * the caller's. */
bool queue_forget(struct ModuleState *state, CUcontext context, CUevent *mark);

#endif
