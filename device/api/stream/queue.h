/* The streams' queues: tasks in order, run by a worker of the stream or by the thread that waits for them.
 *
 * The tasks of a stream are numbered. A task may depend on tasks of other streams, by (stream, number)
 * pairs: those of cuStreamWaitEvent, and those that the rules of the legacy default stream imply. One lock
 * guards all queues and is never held while a task runs. A stream's worker is started by its first task.
 * Before it waits for a signal it polls for a while with brief sleeps, so that most launches need not wake a
 * thread. A thread that waits for a stream runs the stream's tasks itself, unless the worker does.
 *
 * A thread may have a timeout (timeout.h): a wait that lasts longer ends without success. If the thread
 * itself is running a task then, and that is a kernel, which can be interrupted, the worker continues it.
 */
#ifndef DEVICE_API_STREAM_QUEUE_H
#define DEVICE_API_STREAM_QUEUE_H

#include "api/context/upcalls.h"

enum { QUEUE_LEAST_PRIORITY = 0, QUEUE_GREATEST_PRIORITY = -5 };

/* The valid priority nearest to `asked`. A smaller number is a higher priority. */
static inline int queue_priority(int asked)
{
    return asked > QUEUE_LEAST_PRIORITY      ? QUEUE_LEAST_PRIORITY
           : asked < QUEUE_GREATEST_PRIORITY ? QUEUE_GREATEST_PRIORITY
                                             : asked;
}

typedef struct Task Task;

/* What has to be done first: the tasks of `stream` up to `number`. */
typedef struct Dependency {
    Stream *stream;             /* a reference */
    uint64_t number;
} Dependency;

struct Task {
    Task *next;
    uint64_t number;            /* in its stream, from 1 */
    uint64_t ticket;            /* its number among the tasks of all streams */
    bool on_worker;             /* calls a function of the program: not run by a thread that waits */
    bool always;                /* runs even if the context has failed */
    bool stoppable;             /* ends, or stops for now, when the stream's `stop` is set */
    bool endless;               /* may wait forever: not run by a thread with a timeout */
    bool unfinished;            /* set by `run` when it has stopped for now: the worker calls it again */
    void (*run)(Task *self, Stream *stream);
    void (*release)(Task *self); /* frees the task and what it holds */
    Dependency *dependencies;   /* owned */
    unsigned dependency_count;
};

/* A stream has waited for the tasks up to `number` of another one, which is identified without a reference:
 * by its context's id and its own. */
typedef struct Waited {
    unsigned long long life, stream;
    uint64_t number;
} Waited;

enum { STREAM_WAITS = 8, STREAM_BARRIERS = 2 };

struct CUstream_st {
    Object object;
    unsigned flags;
    int priority;
    bool legacy;                /* the legacy default stream */
    bool blocking;              /* synchronizes with the legacy stream */
    bool standard;              /* a default stream: its kernels run on the part of the current context */
    struct CUgreenCtx_st *green; /* a reference to the green context whose stream it is, or NULL */
    unsigned long long id;
    struct StreamAttributes *attributes; /* owned: what was set (stream_attributes.c), or NULL */

    /* From here on under the queue's lock, except for atomics. */
    Dependency after[STREAM_BARRIERS]; /* barrier streams that its next task waits for; unused: NULL */
    Task *head, *tail;          /* the tasks that are not completed; the head runs first */
    _Atomic uint64_t submitted, completed; /* the numbers of the last such tasks */
    bool running;               /* a thread runs the head */
    bool lent;                  /* that thread has a timeout: the worker will continue the head */
    bool worker_started, worker_asleep;
    bool closing;               /* no more tasks are submitted */
    bool listed;                /* it is in its context's list, which has a reference */
    _Atomic uint32_t stop;      /* GridStop, for the kernel that runs */
    unsigned waiters;           /* threads that wait for `done` */
    pthread_cond_t work, done;  /* for the worker: there is a task; for others: a task is completed */
    Stream *next, *previous;    /* in the context's list */
    Waited waited[STREAM_WAITS]; /* the last waits for other streams, at most one for each */
    unsigned waited_next;       /* the entry of `waited` to use next, modulo STREAM_WAITS */
    _Atomic(struct CaptureMember *) captured; /* its part in a capture, NULL: in none (stream/capture.h) */
    uint64_t search,
        searched; /* the last search of queue_follows(), and the task up to which it has looked */
};

/* A new stream, in its context's list, with the caller's reference. NULL if out of memory, or if the context
 * closes. */
Stream *stream_new(Context *context, unsigned flags, int priority);
/* The context's barrier stream, made at the first call, with a reference. Streams that are made later wait
 * for its tasks. NULL if out of memory, or if the context closes. */
Stream *queue_barrier(Context *context);
/* Makes the next task of the stream wait for the tasks that the barrier stream has now. No task is submitted
 * for that, so the stream may be idle until then. */
CUresult queue_begin_after(Stream *stream, Stream *barrier);
/* The context's legacy default stream with a reference. NULL if the context closes. */
Stream *queue_legacy(Context *context);

/* Queues the task, which the stream owns from now on. It waits for `dependency` (NULL: for none), whose
 * reference now belongs to the task. Returns the task's number. */
uint64_t queue_submit(Stream *stream, Task *task, const Dependency *dependency);
/* Makes later tasks of the stream wait for `place`, whose reference is released, after an error as well. */
CUresult queue_submit_wait(Stream *stream, const Dependency *place);
/* The streams of the context, with references, `capacity` at most. Returns how many there are. */
size_t queue_streams(Context *context, Stream **out, size_t capacity);
/* The number of the last task submitted to the stream. */
uint64_t queue_last(const Stream *stream);
/* Whether the stream's tasks up to that number are done. */
bool queue_reached(const Stream *stream, uint64_t number);
/* Records, for queue_follows(), that the stream waits for these tasks, which may be done already. */
void queue_note_wait(Stream *stream, const Dependency *record);
/* Whether a new task of the stream would run after the task with that number of `other`: by the stream's
 * order, by the legacy stream's implicit synchronization or by events. False if it would not, or if that is
 * not known. */
bool queue_follows(Stream *stream, const Stream *other, uint64_t number);

/* A wait that the thread's timeout ends returns false or CUDA_ERROR_NOT_READY. */
/* Waits until the stream's tasks up to that number are done. The caller runs them if no worker does. */
bool queue_wait(Stream *stream, uint64_t number);
/* Waits for the stream's tasks and for those that it synchronizes with implicitly. With `barriers` also for
 * the barriers that its next task would wait for, so that the caller may do that task's work itself. */
bool queue_wait_turn(Stream *stream, bool barriers);
/* Whether queue_wait_turn() with the same arguments would not wait. */
bool queue_idle(Stream *stream, bool barriers);
/* The ticket of the last task submitted, over all streams. */
uint64_t queue_last_ticket(void);
/* The ticket up to which all tasks of the context are done. */
uint64_t queue_done_ticket(const Context *context);
/* The ticket of the last task that the calling thread has submitted; 0: none since the previous call. */
cuuint64_t queue_take_thread_ticket(void);
/* To be called before queue_submit(). That waits while the queue is full, except in a thread with a timeout,
 * which waits here instead: CUDA_ERROR_NOT_READY if its timeout ends first. */
CUresult queue_wait_room(Stream *stream);
/* The stream gets no more tasks. After its last task its worker ends, and it is taken out of its context's
 * list. */
void queue_close(Stream *stream);

#endif
