/* Contexts: one Context object per CUcontext, which everything made in it keeps alive.
 *
 * OWNED contexts were created here and are destroyed at detach or with their last reference. PRIMARY ones are
 * retained and released. FOREIGN ones were found current and belong to other code. GREEN ones are parts of a
 * device, created and destroyed here.
 *
 * An object that owns a driver resource holds its context (context_hold) and releases the resource between
 * context_enter_scope and context_leave_scope, from any thread and at any time. A primary context that is
 * detached while resources remain is released with the last of them, as others may be using it and the memory
 * would leak.
 *
 * A context that one thread detaches may be current in other threads. Until the driver has ended it they find
 * out by its object, later by the driver's results: nothing new is made in it, and the thread gets no other
 * context by itself.
 */
#ifndef EXT_CONTEXT_CONTEXT_H
#define EXT_CONTEXT_CONTEXT_H

#include "core/capture_mode.h"
#include "ext/base/ext.h"

typedef enum ContextKind { CONTEXT_OWNED, CONTEXT_PRIMARY, CONTEXT_FOREIGN, CONTEXT_GREEN } ContextKind;

typedef struct ContextObject {
    PyObject_HEAD
    ModuleState *state;
    struct ContextObject *next;     /* in ModuleState.contexts */
    CUcontext handle;
    CUdevice device;
    CUgreenCtx green;               /* of a GREEN context, else NULL */
    struct ContextObject *primary; /* of a GREEN context, else NULL: the device's, held until this one ends */
    _Atomic(ContextKind) kind;
    atomic_bool detached; /* by its user, or unreferenced: it may not be pushed anymore */
    atomic_bool unreferenced; /* nothing needs it anymore: no reference may be taken */
    atomic_bool dormant; /* no Python reference is left, but objects in it are */
    uint64_t serial; /* no other context of the process has or had it */
    atomic_bool dead; /* a thread ends it or has ended it: nothing may be called in it */
    atomic_long resources; /* objects that own something in it (gil_count) */
    atomic_long holders; /* the resources, and the batches of work in flight (gil_count) */
    atomic_long entered; /* threads between context_enter_scope and context_leave_scope */
    atomic_bool over; /* dead, and the driver has ended it */
    atomic_ulong ender; /* the thread that ends it, once it is dead */
    bool fresh; /* pushed by make_context, and not yet pushed or entered by its user */
    struct MemoryPool *default_pool; /* one reference (pool.h); NULL before it is needed */
    WordMap elementwise; /* of ElementwiseLoop, owned (elementwise_kernels.c) */
    _Atomic(void *) staging; /* page-locked memory (staging.h); NULL while a copy uses it, or there is none */
    atomic_bool staged; /* `staging` was requested */
    struct CopyStreams *copy_streams; /* owned (stream/copy_streams.h); NULL before they are needed */
    bool counted; /* in live_Context, which does not count the default context */
    PyObject *weak_references;
#ifdef Py_GIL_DISABLED
    int revived; /* how many calls of tp_dealloc have come too late and end nothing */
#endif
} ContextObject;

static inline ContextObject *context_cast(PyObject *object) { return (ContextObject *)object; }

/* The object of the thread's current context, a new reference. Makes the default primary context current when
 * the thread has none. NULL with an exception. */
ContextObject *context_current(ModuleState *state);

/* Counts one resource more, or one less, in the context, which lives as long as it has any. context_hold()
 * returns the context. Resources are not Python references: when the last reference is released, no code can
 * make the context current anymore, and what is cached for it, such as kernels, is dropped. */
ContextObject *context_hold(ContextObject *context);
void context_drop(ContextObject *context);

/* As context_hold() and context_drop(), for objects that are no resources: the release of a primary context
 * that is detached does not wait for them. */
ContextObject *context_keep(ContextObject *context);
void context_unkeep(ContextObject *context);

/* context_current, held, for the constructor of a resource. NULL with an exception. */
ContextObject *context_hold_current(ModuleState *state);

typedef struct ContextScope {
    ContextObject *context; /* borrowed; NULL when it was not entered */
    struct ContextScope *outer; /* the one of this thread that was entered before */
    bool pushed;
    CUcontext before; /* the handle that was current before */
    CaptureMode mode;
} ContextScope;

/* Makes the context current until context_leave_scope(). Until then a thread that detaches the context waits,
 * and captures forbid this thread nothing (core/capture_mode.h). False when the context is gone, in a forked
 * child, in a host function, and when the interpreter or the driver shuts down: then no driver call may be
 * made. Other failures are reported. */
bool context_enter_scope(ContextObject *context, ContextScope *scope);
void context_leave_scope(ContextScope *scope);

/* Makes the context current for Python code, which must not run within a scope. The context may end
 * meanwhile; calls in it fail then. False as for context_enter_scope. */
bool context_lend(ContextObject *context, ContextScope *scope);
void context_lend_end(ContextScope *scope);

/* For a few instructions without the GIL on memory that is freed with the context, which is not destroyed
 * between context_stay and context_go. False when it is gone: then context_go is not called. */
static inline bool context_stay(ContextObject *context)
{
    atomic_fetch_add(&context->entered, 1);
    if (!atomic_load(&context->dead)) return true;
    atomic_fetch_sub(&context->entered, 1);
    return false;
}
static inline void context_go(ContextObject *context) { atomic_fetch_sub(&context->entered, 1); }

/* Raises LogicError: the context is gone, and with it `what` belonged to it. Returns false. */
bool context_raise_dead(ContextObject *context, const char *what);
/* False with that LogicError when the context is gone. */
static inline bool context_check(ContextObject *context, const char *what)
{
    return !atomic_load(&context->dead) || context_raise_dead(context, what);
}

/* The Context object of a handle, a new reference: the one in ModuleState.contexts, else a new one of this
 * kind. One found there that is FOREIGN becomes one of this kind: then, as for a new one, *was_there is
 * false, and the object takes over the count or ownership that its caller got from the driver. NULL with an
 * exception. */
ContextObject *context_of_handle(ModuleState *state, CUcontext handle, CUdevice device, ContextKind kind,
                                 bool *was_there);

/* The next living context in the list after `previous` (NULL: the first) that this module has to end: that is
 * neither detached nor foreign. A new reference; NULL without an exception when there is none. */
ContextObject *context_next_own(ModuleState *state, const ContextObject *previous);

/* A new reference to the first context for which is_wanted is true; NULL without an exception. */
ContextObject *context_first(ModuleState *state, bool (*is_wanted)(const ContextObject *));

/* Whether objects of one context may be used in the other: they are the same, or both share the memory,
 * modules and streams of one primary context, as green contexts do. */
bool contexts_share_memory(const ContextObject *a, const ContextObject *b);
/* As contexts_share_memory(), for the handle of the other context. False if no Context object has it. */
bool context_shares_memory_with(const ContextObject *context, CUcontext handle);

/* The repr of an object with a handle in this context: "<pycuda.driver.Stream of device 0 at 0x...>", with
 * `more` before the end. NULL with an exception. */
PyObject *context_repr_of(PyObject *object, const ContextObject *context, const void *handle,
                          const char *more);

/* Sets whether _live_objects() counts the context: it counts those that a user asked for. */
void context_count(ContextObject *context, bool counted);

/* Ends the context for its user. An OWNED one is destroyed now; others end with the last resource in
 * them. -1 with LogicError the second time. */
int context_detach(ContextObject *context);

/* During set-up: registers a function that is called when a context ends (state.h). -1 with an exception when
 * there are too many. */
int context_on_end(ModuleState *state, ContextEndFn function);

/* As context_on_end(), for a function that is called just before the driver destroys the context. It makes
 * driver calls in a scope of context_enter_last(). */
int context_on_last(ModuleState *state, ContextLastFn function);
/* context_enter_scope() for such a function: the context is dead by then, but the driver still has it. */
bool context_enter_last(ContextObject *context, ContextScope *scope);

/* Device.make_context and Device.retain_primary_context. */
PyObject *context_create(ModuleState *state, CUdevice device, unsigned flags);
PyObject *context_retain_primary(ModuleState *state, CUdevice device);

/* As context_retain_primary(), for the caller's own use, such as a green context made of it. The result is
 * held (context_hold), not a Python reference. */
ContextObject *context_hold_primary(ModuleState *state, CUdevice device);

/* Checks the settings, calls cuInit and issues the notice of the CPU device. -1 with an exception. */
int context_init_driver(ModuleState *state, unsigned flags);
/* As context_init_driver(), unless the driver is initialized. */
int context_init_default(ModuleState *state);

/* ModuleState.make_default_context (MakeDefaultContextFn in ext/base/state.h). */
int context_make_default(ModuleState *state, CUresult result);

/* Called when the driver is found to be initialized, by this module or by other code: from now on a fork is
 * noticed. */
void context_note_initialized(ModuleState *state);

void context_dealloc(PyObject *self);

/* ext/context/peers.c: lets copies of this context, which is the current one, read the other's memory
 * directly and not through the host, if the devices can. Failures change only the speed of copies. */
void context_enable_copies(ContextObject *context, const ContextObject *peer);
extern const char enable_peer_access_doc[], disable_peer_access_doc[];
PyObject *context_enable_peer_access(PyObject *cls, FAST_PARAMETERS);
PyObject *context_disable_peer_access(PyObject *cls, FAST_PARAMETERS);

/* ext/context/stack.c: the stack of contexts of this thread, of which the driver sees the top only. 0, or -1
 * with an exception. */
int context_stack_push(ContextObject *context);
int context_stack_pop(ModuleState *state);
int context_stack_forget(ContextObject *context); /* after a detach: the next one below becomes current */
bool context_stack_is_top(ContextObject *context);
bool context_stack_is_used(ModuleState *state); /* whether a context was pushed and not popped */
bool context_stack_top_is_detached(ModuleState *state);

#endif
