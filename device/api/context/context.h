/* Contexts, and the thread's stack of current ones. */
#ifndef DEVICE_API_CONTEXT_CONTEXT_H
#define DEVICE_API_CONTEXT_CONTEXT_H

#include "api/context/resource.h"

enum { CONTEXT_LIMITS = 10 };

struct CUctx_st {
    Context *next;              /* in the list of all that are known: the living, and the last that died */
    _Atomic unsigned users; /* places on threads' stacks, objects, calls: not forgotten before they end */
    Device *device;
    bool primary;
    Context *base; /* of one derived from a green context: what calls work in; else NULL */
    struct CUgreenCtx_st *green; /* of a derived one: a handle, which may be of none anymore */
    SmRange range; /* of a derived one: its part of the device */
    _Atomic bool live;
    _Atomic bool closed; /* its resources are released: it may be opened again, or forgotten */
    _Atomic unsigned kept_open; /* calls that work on its memory themselves */
    _Atomic bool canceled; /* its work was interrupted: none is begun */
    _Atomic int error; /* the fault that ended it: every call answers with it from then on */
    _Atomic uint64_t failed_launch; /* its ticket (queue.h); 0: it was none */
    unsigned retained; /* primary: retains; made: cuCtxAttach's count */
    _Atomic unsigned flags;
    _Atomic unsigned long long id; /* a new one whenever it is opened */
    unsigned version;
    _Atomic unsigned cache_config, shared_config;
    _Atomic uint64_t limits[CONTEXT_LIMITS];
    _Atomic uint64_t peers; /* bit d: access to device d's memory is enabled */

    Stream *streams; /* all not yet destroyed, default streams too; under the queue's lock */
    Stream *legacy; /* the NULL stream, a reference; under the queue's lock */
    Stream *barrier; /* later streams wait for it (queue_barrier), a reference or NULL; under that lock */
    bool closing; /* no more streams are made; under the queue's lock */
    _Atomic uint64_t grid_count, stream_count;
    DeviceHeap *heap; /* made at the first launch, under the driver's lock */
    DeviceHeap *buffers; /* for parameters that kernels pass on: made at the first launch by one */

    struct CoredumpSettings *coredump; /* NULL: those that a process begins with */
    pthread_mutex_t print_lock; /* printf's output, until a synchronization shows it */
    char *print_text;
    size_t print_length, print_capacity;
};

/* The current context of the thread, live and without a fault; or the error to answer. */
CUresult context_enter(Context **out);
/* As context_enter(), but a faulted context passes: for what must work then (freeing, querying). */
CUresult context_enter_any(Context **out);
/* The context is about to end: takes it off the thread's stack if it is on top. */
void context_leave_top(const Context *context);
/* What the thread has made current: a context, maybe one derived from a green one, or NULL. */
Context *context_on_top(void);
/* The context of a handle, with a reference. NULL stands for the current one. CUDA_ERROR_INVALID_CONTEXT or
 * CUDA_ERROR_CONTEXT_IS_DESTROYED. */
CUresult context_resolve(CUcontext handle, Context **out);
/* As context_resolve(), but NULL is an error, and a derived context stays itself instead of becoming its
 * base. */
CUresult context_named(CUcontext handle, Context **out);
/* Ends the context by a fault of the launch with that ticket (0: of no launch). Only the first fault of a
 * context is recorded. The text goes to the log. */
void context_fail(Context *context, CUresult error, const char *text, uint64_t launch);
CUresult context_error(const Context *context);
/* The ticket of the launch whose fault ended the current context; 0: none did. */
cuuint64_t context_failed_launch(void);
/* The error when an object could not be made in the context: out of memory, or another thread is ending the
 * context. A macro, so that clang's analyzer sees at any call depth that it is an error. */
#define CONTEXT_WITHOUT_MEMORY(context) \
    (atomic_load(&(context)->live) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_CONTEXT_IS_DESTROYED)
/* The error when an address is not valid in the context: likewise. */
#define CONTEXT_WITHOUT_ADDRESS(context) \
    (atomic_load(&(context)->live) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_CONTEXT_IS_DESTROYED)

/* --- context_list.c --- */
/* One more reference. The caller has one, or has the context on its stack. */
static inline Context *context_retain(Context *context)
{
    atomic_fetch_add(&context->users, 1);
    return context;
}
static inline void context_put(Context *context) { atomic_fetch_sub(&context->users, 1); }
/* The context of that handle with a reference, dead or alive; NULL when there is none. */
Context *context_find(const void *handle);
/* A live context derived from a green one in this context, with a reference; NULL: there is none. */
Context *context_find_derived(const Context *base);
/* Calls `act` for each live context whose streams have unfinished work. */
void context_each_busy(void (*act)(Context *context));
unsigned long long context_new_id(void);
/* Enters the context into the list of all: from now on its handle is valid. */
void context_enlist(Context *context);
/* The last step of a close: the context may be freed as soon as there are no references. Frees the oldest of
 * those that died, if there are many. */
void context_closed(Context *context);
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

/* Around what a call itself does to memory of the context: a close that another thread begins waits. False,
 * with nothing to allow, when the context is closed or closing. */
bool context_keep_open(Context *context);
void context_allow_close(Context *context);

/* coredump.c: a copy of the process's settings, for a new context. The caller frees it. */
struct CoredumpSettings *coredump_inherit(void);

/* Gathers the output of printf in kernels; called by workers. */
void context_print(void *context, const char *bytes, size_t count);
/* Writes what was gathered to stdout, at a synchronization. */
void context_flush(Context *context);

/* The thread's own data. */
typedef struct ThreadState {
    Context **stack;
    size_t depth, capacity;
    Stream **streams; /* its default streams, a reference each: one for each context where it used one */
    size_t stream_count;
} ThreadState;

/* NULL if out of memory. */
ThreadState *thread_state(void);

#endif
