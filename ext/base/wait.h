/* Waits that a signal can end.
 *
 * Python runs signal handlers on the main thread only, and not while that is inside the driver. So there a
 * wait is cut into slices, between which the handlers run; when one of them raises, the wait is over: the
 * result is CUDA_ERROR_NOT_READY with the exception set, and what the call itself was to do has not happened.
 * Other threads wait as the driver does.
 *
 * A driver with cuPycudaSetTimeout, the CPU device, returns from any call that would wait longer, and ends
 * the work when no thread waits for it anymore. Other drivers are asked, before the call, whether what it
 * will wait for is idle; work that was launched goes on.
 *
 * A copy in a stream whose host memory is only lent is waited for like this before it is queued, and not
 * after: once it is under way the memory may not go.
 */
#ifndef EXT_BASE_WAIT_H
#define EXT_BASE_WAIT_H

#include "ext/base/errors.h"

typedef enum WaitKind { WAIT_NOTHING, WAIT_QUEUE, WAIT_STREAM, WAIT_EVENT, WAIT_CONTEXT } WaitKind;

/* What a call waits for before it does its own part. */
typedef struct WaitPlace {
    WaitKind kind;
    CUstream stream;
    CUevent event;
    long calls;             /* how many calls it queues on the stream, to be counted (launch_queue.h) */
    bool surely; /* when the call has succeeded all earlier work of the place is known to be done */
    CUcontext context; /* the current one when the wait begins */
    uint64_t begin; /* the number of queue_begin_wait() */
} WaitPlace;

#define ON_STREAM(handle) ((WaitPlace){.kind = WAIT_STREAM, .stream = (handle), .surely = true})
#define ON_EVENT(handle) ((WaitPlace){.kind = WAIT_EVENT, .event = (handle)})
#define ON_CONTEXT ((WaitPlace){.kind = WAIT_CONTEXT, .surely = true})
/* For calls that may return before the work is done. */
#define AFTER_STREAM(handle) ((WaitPlace){.kind = WAIT_STREAM, .stream = (handle)})
#define AFTER_CONTEXT ((WaitPlace){.kind = WAIT_CONTEXT})
/* For calls that only queue work, but may wait for a full stream. */
#define ON_QUEUE(handle, count) ((WaitPlace){.kind = WAIT_QUEUE, .stream = (handle), .calls = (count)})
/* For calls before which nothing is waited for. */
#define ON_NOTHING ((WaitPlace){.kind = WAIT_NOTHING})

/* A copy in a stream to or from this host memory. If that is not page-locked, the driver waits for the stream
 * before it copies. */
WaitPlace wait_for_copy(ModuleState *state, const void *host, CUstream stream);

/* A copy within the device or a fill, on the default stream: the driver queues it. If one of the addresses is
 * of managed memory or of the host's, it may wait for the stream. 0: an array, or nothing. */
WaitPlace wait_within_device(ModuleState *state, CUdeviceptr to, CUdeviceptr from);

/* Called before the driver call. False when the call must not be made: *result says why. */
bool wait_begin(ModuleState *state, WaitPlace *place, CUresult *result);
/* Called after each attempt of the driver call. True when it is to be made again. */
bool wait_again(ModuleState *state, CUresult *result);
/* Called after the last attempt. Notes which work is known to be done. */
void wait_end(ModuleState *state, const WaitPlace *place, CUresult result);

/* As wait_begin() and wait_again(), for a release, which cannot raise: the exception of a signal handler is
 * raised at the program's next instruction. With drivers that cannot end work the release waits for it. */
void wait_begin_release(ModuleState *state);
bool wait_again_release(ModuleState *state, CUresult *result);

/* Called after a copy in a stream, with its result. Waits until the copy is done: afterwards its host memory
 * may be freed. No signal ends the wait. -1 with an exception when the copy or the wait failed. */
int wait_after_copy(ModuleState *state, CUstream stream, CUresult result, const char *routine);

/* Destroys an event after a wait whose result was `before`. A failure is reported, unless the wait failed,
 * too: in a context that a fault has ended, every later call has the same error, and the wait's is raised. */
void wait_drop_event(ModuleState *state, CUresult before, CUevent event);

/* For a release, in a ContextScope: waits for all work of the current context, by freeing a byte of memory.
 * cuCtxSynchronize would end every capture in the context, whatever its mode; cuMemFree waits for the same
 * work, and no capture forbids it there. *routine: the call that failed. */
CUresult wait_for_release(ModuleState *state, const char **routine);

/* Whether signals can end a wait of this thread, which is so for the main thread. Waits of other kinds call
 * PyErr_CheckSignals() then. */
bool wait_is_interruptible(const ModuleState *state);

/* At the end of the program: how long what is still to be done may take, in all. */
typedef struct WaitLimit {
    double seconds;
    uint64_t end; /* microseconds of CLOCK_MONOTONIC */
} WaitLimit;
WaitLimit wait_limit(void);
/* True when the limit is reached. */
bool wait_is_over(const WaitLimit *limit);
/* As cuCtxSynchronize, but not longer than the limit. CUDA_ERROR_NOT_READY when the limit is reached, or,
 * with the exception, when a signal's handler raised one. */
CUresult wait_for_current(ModuleState *state, const WaitLimit *limit);
/* At the end of the program: ends the work that still runs, if the driver can; else no driver call is made
 * anymore. Says so on stderr, unless a signal has ended the wait. */
void wait_give_up(ModuleState *state, const WaitLimit *limit);

/* Whether a copy of so many bytes from the host is waited for before the call returns (driver_calls.c). */
static inline bool copy_is_awaited(ModuleState *state, size_t bytes)
{
    enum { SMALL_BYTES = 64 << 10 };
    return bytes > SMALL_BYTES
           || (bytes && atomic_load_explicit(&state->nonblocking_streams, memory_order_relaxed));
}

/* Called for each new stream that does not wait for the default one. */
static inline void wait_note_stream(ModuleState *state)
{
    atomic_store_explicit(&state->nonblocking_streams, true, memory_order_relaxed);
}

#endif
