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
 * Waits for the stream or for its context show what is done. Where a program never waits, the stream's
 * polled event does: it is recorded once every few hundred calls, and the driver is asked whether it is
 * complete. The margin is for calls of other libraries, which are not counted.
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
    long queued; /* calls so far, including granted ones that are not made yet (LaunchQueues.left) */
    long done; /* how many of `queued` are known to be done */
    long look_at; /* the value of `queued` at which the polled event is asked again */
    CUevent polled; /* owned: the polled event; NULL: not made yet, or lent */
    long polled_calls; /* the value of `queued` when `polled` was recorded; 0: it is not recorded */
    uint64_t used; /* the value of LaunchQueues.use_number when a call was last counted */
} LaunchQueue;

/* In the module's state; all zero at first. The GIL guards them. */
typedef struct LaunchQueues {
    CUstream stream; /* the one used last */
    long left; /* calls that it takes before queue_find_capacity is asked again */
    size_t last; /* its place in `list`, counted from 1; 0: `left` belongs to no stream */
    size_t count, space;
    LaunchQueue *list; /* owned */
    uint64_t use_number; /* how often calls of a queue were counted, of all queues */
} LaunchQueues;

/* How many calls the launch of a graph counts as. What it really takes of a queue depends on its branches,
 * and no driver says it. */
enum { QUEUE_CALLS_OF_A_GRAPH = 8 };

/* Counts calls on this stream. True if they were granted to it: they can be made with the GIL. False if not:
 * then queue_find_capacity() has to follow, which takes the subtraction from `left` back. */
static inline bool queue_charge(LaunchQueues *queues, CUstream stream, long calls)
{
    return __builtin_expect(stream == queues->stream && (queues->left -= calls) >= 0, true);
}

/* As queue_charge(), but nothing is subtracted when it is false. */
static inline bool queue_take(LaunchQueues *queues, CUstream stream, long calls)
{
    if (stream != queues->stream || queues->left < calls) return false;
    queues->left -= calls;
    return true;
}

/* Whether queue_take() would be true. Counts nothing. */
static inline bool queue_has(const LaunchQueues *queues, CUstream stream, long calls)
{
    return stream == queues->stream && queues->left >= calls;
}

/* Called when queue_charge() was false. Asks the polled event where that is due. True: the calls are counted
 * and can be made with the GIL. False, perhaps with an exception: the caller has to call queue_count(). */
bool queue_find_capacity(struct ModuleState *state, CUstream stream, long calls);

/* Counts calls that are made without the GIL. -1 with an exception when a signal has ended the query of the
 * polled event. */
int queue_count(struct ModuleState *state, CUstream stream, long calls);

/* A queue's polled event, lent to a thread that asks it or waits for it. */
typedef struct PolledEvent {
    CUstream stream;
    CUcontext context;
    CUevent event;
    long calls; /* LaunchQueue.polled_calls */
} PolledEvent;

/* True if the stream's queue is so full that the driver will make the next call wait. Then *out is the polled
 * event, lent until queue_return_event(). */
bool queue_take_event(struct ModuleState *state, CUstream stream, PolledEvent *out);
/* reached: the event is complete, so the calls before it are done. */
void queue_return_event(struct ModuleState *state, const PolledEvent *polled, bool reached);

/* Called before and after a wait for this stream of the context, or for all its streams. queue_end_wait()
 * notes that the calls queued before queue_begin_wait() are done. queue_begin_wait() returns a number, which
 * queue_end_wait() takes; two waits get the same number if nothing was queued between them. */
#define QUEUE_ALL_STREAMS ((CUstream)(intptr_t)-1)
uint64_t queue_begin_wait(struct ModuleState *state);
void queue_end_wait(struct ModuleState *state, CUcontext context, CUstream stream, uint64_t begin);

/* The stream is about to be destroyed, in its context. */
void queue_stream_destroyed(struct ModuleState *state, CUstream stream);

/* Revokes the calls that are granted: the next call on any stream goes through queue_find_capacity(). Called
 * when another context may be current, whose default stream has the same handle. */
void queue_reset_capacity(struct ModuleState *state);

/* Called, as often as it is true, when a context ends. True: one of its queues was removed, and *event, which
 * may be NULL, is the caller's to destroy. False: no queue of the context is left. */
bool queue_forget(struct ModuleState *state, CUcontext context, CUevent *event);

#endif
