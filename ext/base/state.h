/* The module's state, made of the field list in state_fields.def.
 *
 * There is no mutable state outside of it but what a process has only once: the tables of the driver and of
 * NVTX (core/driver_table.h, core/memory_marks.h), whether it was forked and which threads are inside the
 * driver at its end (gate.h), what stands for the GIL where there is none (section.h), the lock or the thread
 * that all calls may be made under (core/exclusive.h, core/one_thread.h), injected faults
 * (core/fault_injection.h); and what a thread has: whether it runs a Python function for the driver
 * (errors.h), its innermost context scope (context.c).
 */
#ifndef EXT_BASE_STATE_H
#define EXT_BASE_STATE_H

#include <pthread.h>

#include "core/library_table.h"
#include "core/word_map.h"
#include "ext/base/free_list.h"
#include "ext/base/launch_queue.h"

struct Captured;
struct Compilation;
struct ContextObject;
struct Deferred;
struct KeepBatch;
struct MemoryPool;
struct MipmappedArrayObject;
typedef struct ModuleState ModuleState;

/* Called when a context ends for its user, or with its last reference (context.h). Calls can still be made in
 * it. May be called more than once for a context. */
typedef void (*ContextEndFn)(struct ContextObject *context);
enum { STATE_CONTEXT_END_MAX = 4 };

/* Called before this stream of the context is destroyed. False when it must not be, as a pool could not note
 * its end. */
typedef bool (*StreamGoneFn)(struct ContextObject *context, CUstream stream);

/* Called after a driver call that lacked a context or an initialized driver. 0: there is one now, if need be
 * the default device's primary context, and the call can be repeated. 1: the result had another cause. -1
 * with an exception. */
typedef int (*MakeDefaultContextFn)(ModuleState *state, CUresult result);

/* Called just before the context is destroyed: no other thread is in it, and none enters it anymore. */
typedef void (*ContextLastFn)(struct ContextObject *context);
enum { STATE_CONTEXT_LAST_MAX = 3 };

/* Called when the driver has no more memory (device_memory.h): frees what is held for reuse. */
typedef void (*GiveBackFn)(ModuleState *state);
enum { STATE_GIVE_BACK_MAX = 8 };

enum { STATE_DTYPES = 16 };

/* A kernel's fault that a release met, until it is reported: with the exception of the next call that meets
 * it, or at the end of the program (errors.c). */
typedef struct KeptFault {
    CUresult result; /* CUDA_SUCCESS: there is none */
    const char *routine;
    char *log; /* owned: what the driver said of it; NULL: nothing */
} KeptFault;

struct ModuleState {
#define STATE_TYPE(name) PyTypeObject *name##_type;
#define STATE_OBJECT(name) PyObject *name;
#define STATE_STRING(name) PyObject *str_##name;
#define STATE_LIVE(name) atomic_long live_##name;
#include "ext/base/state_fields.def"

    pthread_mutex_t lock; /* guards the lists below; no Python call is made under it */
    bool has_lock;
    struct ContextObject *contexts; /* every living Context, borrowed, linked by `next` */
    uint64_t contexts_made; /* with the lock */
    int living_contexts; /* in the list */
    struct ContextObject *recent_context; /* borrowed: the one found last among them; with the GIL */
    struct KeepBatch *kept; /* objects that work in flight needs (keep_alive.h) */
    struct MemoryPool *pools; /* every living pool (pool.h) */
    struct MipmappedArrayObject *mipmapped; /* those that the driver has (mipmapped_array.c) */
    struct Captured *captured; /* captures in progress (captured.h); with the GIL, not the lock */

    /* What types of numbers mean (host_array_layout.c), by their addresses: static types of NumPy. */
    struct {
        PyObject *type, *dtype; /* borrowed, owned */
    } dtypes[STATE_DTYPES];
    WordMap functions_by_literal; /* values of python_functions, borrowed (gpuarray/methods.c) */
    atomic_long arrays_changed; /* how often an array got another description (gpuarray_describe_again) */
    FreeList free_arrays, free_pooled; /* of GPUArray and PooledDeviceAllocation */

    /* Callbacks, set during set-up only. */
    MakeDefaultContextFn make_default_context; /* context/default.c */
    StreamGoneFn stream_gone; /* pool.c */
    GiveBackFn give_back[STATE_GIVE_BACK_MAX];
    int give_back_count;
    ContextEndFn context_end[STATE_CONTEXT_END_MAX];
    int context_end_count;
    ContextLastFn context_last[STATE_CONTEXT_LAST_MAX];
    int context_last_count;

    struct Deferred *deferred; /* releases that wait for a thread that may make them (deferred.h) */
    bool deferred_asked; /* the main thread was asked to make the deferred releases */
    atomic_long streams_entered; /* `with stream:` blocks so far, and calls in progress (stream.h) */
    LibraryTable libraries; /* with the GIL */
    struct Compilation *left; /* compilations that no thread waits for anymore (compilation.h) */
    unsigned long main_thread; /* where Python runs signal handlers (wait.h) */
    atomic_int wait_mode;
    LaunchQueues queues; /* queued launches (launch_queue.h) */
    uint64_t idle_begin; /* of the last wait for all work of the context below */
    CUcontext idle_context;
    atomic_bool nonblocking_streams; /* some do not wait for the default one (wait.h) */
    atomic_bool left_running; /* a wait was left while the work went on: releases may not wait for it */
    atomic_bool given_up; /* the program ends before its work: no driver call may wait for that */
    atomic_long host_functions; /* Python functions in streams that are still to run */
    atomic_long host_generations[2]; /* the part of host_functions queued in each generation, modulo 2 */
    unsigned host_generation; /* _finish() begins a new one, and waits for the functions of the last */
    atomic_uint log_position; /* the position in the driver's log up to which it was shown */
    atomic_bool fault_shown; /* a kernel's fault was raised or reported: later calls repeat it */
    bool fault_before; /* as fault_shown, which is cleared for each new context; this is never cleared */
    KeptFault kept_fault;
    struct LaunchSites *sites; /* where launches came from (launch_site.c); with the GIL */
    struct LostContext *lost; /* contexts that a fault has ended (lost.c); with the GIL */
    struct PeerAccess *peer_access; /* (peer_access.h); with the GIL */
};

static inline void state_lock(ModuleState *state) { pthread_mutex_lock(&state->lock); }

static inline void state_unlock(ModuleState *state) { pthread_mutex_unlock(&state->lock); }

/* What the files add to the module. */
#define TYPE(name) extern const struct TypeSpec name##_spec;
#define SUBTYPE(name, base) extern const struct TypeSpec name##_spec;
#define METHODS(type, table) extern PyMethodDef table[];
#define FUNCTIONS(name) extern PyMethodDef name##_functions[];
#define SETUP(name) int name##_setup(PyObject *module, ModuleState *state);
#include "ext/base/module_setups.def"

/* The new value of a count that is changed with the GIL only, and read without it: no locked instruction. */
static inline long gil_count(atomic_long *count, long more)
{
    long value = atomic_load_explicit(count, memory_order_relaxed) + more;
    atomic_store_explicit(count, value, memory_order_release);
    return value;
}

#define LIVE_MORE(state, name) gil_count(&(state)->live_##name, 1)
#define LIVE_LESS(state, name) gil_count(&(state)->live_##name, -1)

static inline ModuleState *module_state(PyObject *module) { return (ModuleState *)PyModule_GetState(module); }

/* The state of any object that is our module, else NULL. */
ModuleState *state_of_module(PyObject *module);

/* The state of the module that made this type or one of its bases. Never NULL for our types and subclasses.
 */
ModuleState *state_of_type(PyTypeObject *type);

/* Makes the strings of state_fields.def. -1 with an exception. */
int state_intern_names(ModuleState *state);

/* m_traverse, m_clear and m_free of the module. */
int state_traverse(PyObject *module, visitproc visit, void *arg);
int state_clear(PyObject *module);
void state_free(void *module);

#endif
