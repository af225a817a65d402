/* Contexts, and the thread's stack of current ones. */
#ifndef DEVICE_API_CONTEXT_CONTEXT_H
#define DEVICE_API_CONTEXT_CONTEXT_H

#include "api/context/resource.h"

enum { CONTEXT_LIMITS = 10 }; /* more than the values of CUlimit */
enum { CONTEXT_API_VERSION = 3020 }; /* the version that cuCtxGetApiVersion returns, since CUDA 3.2 */

/* A context goes from live to closing (live is false, closed is false) to closed. A primary context may then
 * be opened again: it is live, with a new id. Any other one is freed some time after it was closed. */
struct CUctx_st {
    Context *next; /* in the list of all contexts (context_list.c) */
    _Atomic unsigned users; /* references: of threads' stacks, of objects, of calls */
    Device *device;
    bool primary;
    Context *base; /* of a derived context: the one in which its calls work; else NULL */
    struct CUgreenCtx_st *green; /* of a derived context: the handle of the green one, maybe a stale one */
    SmRange range; /* of a derived context: its part of the device */
    _Atomic bool live;
    _Atomic bool closed; /* its resources are released: it may be opened again, or freed */
    _Atomic unsigned kept_open; /* calls between context_keep_open() and context_allow_close() */
    _Atomic bool canceled; /* its work was interrupted: no task begins anymore */
    _Atomic int error; /* the fault that ended it, which every later call returns; or 0 */
    _Atomic uint64_t failed_launch; /* the ticket (queue.h) of the launch with that fault; 0: no launch's */
    unsigned retained; /* under the driver's lock. Primary: the retains; others: the count of cuCtxAttach */
    _Atomic unsigned flags;
    _Atomic unsigned long long id; /* a new one whenever it is opened */
    unsigned version; /* CONTEXT_API_VERSION */
    _Atomic unsigned cache_config, shared_config;
    _Atomic uint64_t limits[CONTEXT_LIMITS];
    _Atomic uint64_t peers; /* bit d: access to device d's memory is enabled */

    Stream *streams; /* all not yet destroyed, default streams among them; under the queue's lock */
    Stream *legacy; /* the NULL stream, a reference; under the queue's lock */
    Stream
        *barrier; /* the last barrier stream (queue_barrier), a reference or NULL; under the queue's lock */
    bool closing; /* no more streams are made; under the queue's lock */
    _Atomic uint64_t grid_count, stream_count;
    DeviceHeap *heap; /* made at the first launch, under the driver's lock */
    DeviceHeap *buffers; /* for parameters of launches by kernels: made at the first such launch */

    struct CoredumpSettings *coredump; /* owned; NULL: the default settings */
    pthread_mutex_t print_lock; /* for the text of printf, which is kept until a synchronization */
    char *print_text;
    size_t print_length, print_capacity;
};

/* The thread's current context (of a derived one: its base), without a new reference. An error if there is
 * none, it is not live, or it has a fault. */
CUresult context_enter(Context **out);
/* As context_enter(), but a context with a fault is returned: for calls that must work then (freeing,
 * querying). */
CUresult context_enter_any(Context **out);
/* Takes the context, which is about to be closed, off the thread's stack if it is on top. */
void context_leave_top(const Context *context);
/* The top of the thread's stack: a context, maybe a derived one, maybe not live; or NULL. */
Context *context_on_top(void);
/* The live context of a handle (of a derived one: its base), with a reference. NULL stands for the current
 * context. Errors: CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_CONTEXT_IS_DESTROYED, those of driver_check(). */
CUresult context_resolve(CUcontext handle, Context **out);
/* As context_resolve(), but NULL is an error, and a derived context is returned itself. */
CUresult context_named(CUcontext handle, Context **out);
/* Whether only known flags are set, and at most one way to wait (CU_CTX_SCHED_*). */
static inline bool context_flags_are_valid(unsigned flags)
{
    unsigned wait = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && !(wait & (wait - 1));
}
/* Ends the context by a fault of the launch with that ticket (0: of no launch). Only the first fault of a
 * context is recorded. The text goes to the log. */
void context_fail(Context *context, CUresult error, const char *text, uint64_t launch);
/* The fault that ended the context, or CUDA_SUCCESS. */
CUresult context_error(const Context *context);
/* The ticket of the launch whose fault ended the current context; 0: no launch did. */
cuuint64_t context_failed_launch(void);
/* The error when an object could not be made in the context: out of memory, or another thread is ending the
 * context. A macro, so that clang's analyzer sees at any call depth that it is an error. */
#define CONTEXT_MEMORY_ERROR(context) \
    (atomic_load(&(context)->live) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_CONTEXT_IS_DESTROYED)
/* The error when an address is not valid in the context: it never was, or another thread is ending the
 * context. */
#define CONTEXT_ADDRESS_ERROR(context) \
    (atomic_load(&(context)->live) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_CONTEXT_IS_DESTROYED)

/* --- context_list.c --- */
/* One more reference. The caller has one, or has the context on its stack. */
static inline Context *context_retain(Context *context)
{
    atomic_fetch_add(&context->users, 1);
    return context;
}
static inline void context_put(Context *context) { atomic_fetch_sub(&context->users, 1); }
/* The context with that handle, live or not, with a reference; NULL if there is none. */
Context *context_find(const void *handle);
/* Some live derived context with that base, with a reference; NULL if there is none. */
Context *context_find_derived(const Context *base);
/* Calls `act` for each live context of the process, of every device, primary and derived ones included. There
 * is a reference to the context meanwhile, and the list is not locked; contexts created meanwhile are not
 * visited. `act` has no result and cannot end the iteration: what it finds it stores itself. */
void context_each_live(void (*act)(Context *context));
/* The same for the live contexts whose streams have unfinished work at the moment of their turn. */
void context_each_busy(void (*act)(Context *context));
/* An id that no context of the process has had. */
unsigned long long context_new_id(void);
/* Enters the context into the list of all: from now on its handle is valid. */
void context_enlist(Context *context);
/* The last step of a close: from now on the context may be freed while there are no references. If there are
 * many closed contexts, frees the oldest ones. */
void context_set_closed(Context *context);
/* Waits until the context's close is over, or another thread has opened the context again. */
void context_await_closed(const Context *context);

/* A new live context with its default stream. NULL if out of memory. */
Context *context_new(Device *device, unsigned flags, bool primary);
void context_free(Context *context);
/* A new live context derived from a green one, with the caller's reference. NULL if out of memory. */
Context *context_new_derived(Context *base, struct CUgreenCtx_st *green, SmRange range);
void context_close_derived(Context *derived);
/* Begins to close the context: from now on it takes no calls. True for the caller that has to finish the
 * close, false if another has begun it. */
bool context_begin_close(Context *context);
/* Waits for the context's work and releases all that it has. A primary context may be opened again. */
void context_finish_close(Context *context);
/* context_begin_close(), and context_finish_close() if that returned true. Returns the same. */
bool context_close(Context *context);
/* Makes a new or closed context live, with a new id and default settings. False if out of memory. */
bool context_open(Context *context, unsigned flags);

/* The calling thread is going to access memory of the context itself: until it calls context_allow_close(), a
 * close that another thread begins waits. False if the context is closed or closing; then
 * context_allow_close() is not to be called. */
bool context_keep_open(Context *context);
void context_allow_close(Context *context);

/* coredump.c: a copy of the process's settings, for a new context. The caller frees it. */
struct CoredumpSettings *coredump_inherit(void);

/* Appends output of printf in a kernel to the context's text; called by worker threads. */
void context_print(void *context, const char *bytes, size_t count);
/* Writes what was gathered to stdout, at a synchronization. */
void context_flush(Context *context);

/* The thread's own data. */
typedef struct ThreadState {
    Context **stack; /* of current contexts, a reference each; the top is stack[depth - 1] */
    size_t depth, capacity;
    Stream **streams; /* its per-thread default streams, a reference each: at most one for each context */
    size_t stream_count;
} ThreadState;

/* The calling thread's, made at the first call; NULL if out of memory. */
ThreadState *thread_state(void);

#endif
