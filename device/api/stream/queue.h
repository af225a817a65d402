/* The streams' queues: tasks in order, run by a worker of the stream or by the thread that waits for them.
 *
 * A stream numbers its tasks; a task waits for (stream, number) pairs: what cuStreamWaitEvent asked for and
 * what the rules of the legacy default stream imply. One lock guards all queues and is never held while a
 * task runs. A worker starts with the first asynchronous task and sleeps briefly, again and again, before it
 * waits for a signal, so that a launch wakes no thread; a thread that waits runs the stream's tasks itself
 * unless the worker does.
 *
 * A thread may have a timeout (timeout.h): a wait that lasts longer ends without success. If the thread is
 * running a task itself then, and the task can be left half way, the worker takes the task over.
 */
#ifndef DEVICE_API_STREAM_QUEUE_H
#define DEVICE_API_STREAM_QUEUE_H

#include "api/context/upcalls.h"

enum { QUEUE_LEAST_PRIORITY = 0, QUEUE_GREATEST_PRIORITY = -5 };

/* The valid priority nearest to the one asked for. */
static inline int queue_priority(int asked)
{
    return asked > QUEUE_LEAST_PRIORITY      ? QUEUE_LEAST_PRIORITY
           : asked < QUEUE_GREATEST_PRIORITY ? QUEUE_GREATEST_PRIORITY
                                             : asked;
}

typedef struct Task Task;

/* Work that has to be done before: the tasks of `stream` up to `number`. */
typedef struct Dependency {
    Stream *stream;             /* a reference */
    uint64_t number;
} Dependency;

struct Task {
    Task *next;
    uint64_t number;
    uint64_t ticket;            /* numbers the tasks of all streams */
    bool on_worker;             /* calls the program back: never on a thread of the program */
    bool always;                /* runs although the context has failed */
    bool stoppable;             /* heeds the stream's `stop` */
    bool endless;               /* may never end, waiting for others: not run where waits are limited */
    bool unfinished;            /* it was left half way: run is called again, by the worker */
    void (*run)(Task *self, Stream *stream);
    void (*release)(Task *self); /* frees it with what it holds */
    Dependency *dependencies;
    unsigned dependency_count;
};

/* The record of an event that a stream waited for, by names that are never reused. */
typedef struct Waited {
    unsigned long long life, stream;
    uint64_t number;
} Waited;

enum { STREAM_WAITS = 8, STREAM_BARRIERS = 2 };

struct CUstream_st {
    Object object;
    unsigned flags;
    int priority;
    bool legacy, blocking;      /* blocking: synchronizes with the legacy stream */
    bool standard;              /* a default stream: its kernels run on the part of the current context */
    struct CUgreenCtx_st *green; /* a reference: it is a stream of that, and runs on its part; or NULL */
    unsigned long long id;
    struct StreamAttributes *attributes; /* what was set (stream_attributes.c), or NULL */

    Dependency after[STREAM_BARRIERS]; /* what its next task waits for: barriers of its contexts; or NULLs */
    Task *head, *tail;
    _Atomic uint64_t submitted, completed;
    bool running, worker_started, worker_asleep, closing, listed;
    bool lent; /* the thread that runs the head may leave it half way */
    _Atomic uint32_t stop; /* GridStop, for the kernel that runs */
    unsigned waiters;
    pthread_cond_t work, done;
    Stream *next, *previous; /* of the context's list */
    Waited waited[STREAM_WAITS]; /* the last ones, each stream once */
    unsigned waited_next;
    _Atomic(struct CaptureMember *) captured; /* its part in a capture, NULL: in none (stream/capture.h) */
    uint64_t search, searched; /* queue_follows has looked through its tasks up to that one */
};

/* A new stream, in its context's list, with the caller's reference. NULL if out of memory, or when the
 * context closes. */
Stream *stream_new(Context *context, unsigned flags, int priority);
/* The context's barrier stream, made at the first call, with a reference. Streams that are made later begin
 * after what is submitted to it. NULL if out of memory, or when the context closes. */
Stream *queue_barrier(Context *context);
/* The next task of the stream waits for what the barrier was given so far. This makes no task: until the next
 * one the stream may be idle. */
CUresult queue_begin_after(Stream *stream, Stream *barrier);
/* The context's legacy default stream with a reference. NULL when the context closes. */
Stream *queue_legacy(Context *context);

/* Queues the task, which the stream owns from now on. It waits for `dependency`, whose reference is taken
 * over as well, or for nothing more (NULL). Returns the task's number. */
uint64_t queue_submit(Stream *stream, Task *task, const Dependency *dependency);
/* Later tasks of the stream wait for `place`. Its reference is taken over, also after an error. */
CUresult queue_submit_wait(Stream *stream, const Dependency *place);
/* The streams of the context, with references, `capacity` at most. Returns how many there are. */
size_t queue_streams(Context *context, Stream **out, size_t capacity);
/* The number of the last task submitted to the stream. */
uint64_t queue_last(const Stream *stream);
/* Whether the stream's tasks up to that number are done. */
bool queue_reached(const Stream *stream, uint64_t number);
/* Notes for queue_follows() that the stream waits for a record of an event, which may be reached already. */
void queue_note_wait(Stream *stream, const Dependency *record);
/* Whether a new task of the stream would come after the task with that number of the other: by order, by the
 * legacy stream's implicit synchronization or by events. False if it would not, or if that is not known. */
bool queue_follows(Stream *stream, const Stream *other, uint64_t number);
/* All waits end without success when the thread's timeout ends first: with false, or CUDA_ERROR_NOT_READY. */
/* Waits until the stream's tasks up to that number are done. The caller runs them if no worker does. */
bool queue_wait(Stream *stream, uint64_t number);
/* Waits for the stream's tasks and for those that it synchronizes with implicitly. With `barriers` also for
 * the barriers of its next task: then the caller may do that task's work itself. */
bool queue_wait_turn(Stream *stream, bool barriers);
/* Whether queue_wait_turn() with the same arguments would not wait. */
bool queue_idle(Stream *stream, bool barriers);
/* The ticket of the last task submitted, over all streams. */
uint64_t queue_given(void);
/* The ticket up to which all tasks of the context are done. */
uint64_t queue_done(const Context *context);
/* The ticket of the last task that the calling thread has submitted; 0: none since the previous call. */
cuuint64_t queue_take_given(void);
/* To be called before queue_submit(), which waits while the queue is full, but not in a thread with a
 * timeout. Such a thread waits here: CUDA_ERROR_NOT_READY when its timeout ends first. */
CUresult queue_wait_room(Stream *stream);
/* The stream gets no more tasks. After the last one its worker ends and it leaves its context's list. */
void queue_close(Stream *stream);

#endif
