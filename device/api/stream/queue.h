/* The streams' queues: tasks in order, run by a worker of the stream or by the thread that waits for them.
 *
 * A stream numbers its tasks; a task waits for (stream, number) pairs: what cuStreamWaitEvent asked for and
 * what the rules of the legacy default stream imply. One lock guards all queues and is never held while a
 * task runs. A worker starts with the first asynchronous task and sleeps briefly, again and again, before it
 * waits for a signal, so that a launch wakes no thread; a thread that waits runs the stream's tasks itself
 * unless the worker does.
 *
 * A thread may have a timeout (timeout.h): its waits end without success when they last longer. What it runs
 * meanwhile the worker takes over, if the task can be left half way.
 */
#ifndef DEVICE_API_STREAM_QUEUE_H
#define DEVICE_API_STREAM_QUEUE_H

#include "api/context/upcalls.h"

enum { QUEUE_LEAST_PRIORITY = 0, QUEUE_GREATEST_PRIORITY = -5 };

/* The nearest that there is. */
static inline int queue_priority(int asked)
{
    return asked > QUEUE_LEAST_PRIORITY      ? QUEUE_LEAST_PRIORITY
           : asked < QUEUE_GREATEST_PRIORITY ? QUEUE_GREATEST_PRIORITY
                                             : asked;
}

typedef struct Task Task;

/* Work that has to be done before: all of stream's tasks up to that number. */
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

/* A stream in its context's list; the caller's reference. NULL if out of memory, or when the context
 * closes. */
Stream *stream_new(Context *context, unsigned flags, int priority);
/* Streams that are made later begin after what is submitted to this one. With a reference; NULL without
 * memory, or when the context closes. */
Stream *queue_barrier(Context *context);
/* The next task of the stream waits for what the barrier has been given so far. As long as there is none the
 * stream may be idle. */
CUresult queue_begin_after(Stream *stream, Stream *barrier);
/* The default stream with a reference; NULL when the context closes. */
Stream *queue_legacy(Context *context);

/* Takes the task over, with a dependency (a reference that it takes over as well) or NULL. Returns its
 * number. */
uint64_t queue_submit(Stream *stream, Task *task, const Dependency *dependency);
/* What follows in the stream waits for that record; its reference is taken over. */
CUresult queue_submit_wait(Stream *stream, const Dependency *place);
/* The streams of the context, with references, `capacity` at most. Returns how many there are. */
size_t queue_streams(Context *context, Stream **out, size_t capacity);
/* The number of the last task submitted. */
uint64_t queue_last(const Stream *stream);
bool queue_reached(const Stream *stream, uint64_t number);
/* The stream waits for a record of an event, which may have been reached. */
void queue_note_wait(Stream *stream, const Dependency *record);
/* Whether a new task of the stream would come after that task of the other: by order, by the legacy
 * stream's implicit synchronization or by events. false where that is not known. */
bool queue_follows(Stream *stream, const Stream *other, uint64_t number);
/* All waits: false when the thread's timeout ends first, or CUDA_ERROR_NOT_READY. */
/* Waits until the stream's tasks up to that number are done, running them if need be. */
bool queue_wait(Stream *stream, uint64_t number);
/* Waits for all a new task of that stream would wait for: with the barriers the caller may then do its work
 * itself, without them all is done that was given to the stream, or that it synchronizes with implicitly. */
bool queue_wait_turn(Stream *stream, bool barriers);
/* Whether a new task of the stream could run at once, or without the barriers. */
bool queue_idle(Stream *stream, bool barriers);
/* A number of the work that the context has been given so far; and the last one of which all is done. */
uint64_t queue_given(void);
/* The number of the task that the calling thread has submitted last; 0: none since it was requested. */
cuuint64_t queue_take_given(void);
uint64_t queue_done(const Context *context);
/* Waits until one more task would not have to wait for the queue to shrink: before queue_submit, which does
 * not wait in a thread with a timeout. */
CUresult queue_wait_room(Stream *stream);
/* No more tasks come: the worker ends after the last, the stream leaves its context's list. */
void queue_close(Stream *stream);

#endif
