/* See context.h. */
#include "ext/context/context.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "core/exclusive.h"
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/lost.h"
#include "ext/base/peer_access.h"
#include "ext/base/section.h"
#include "ext/context/keep_alive.h"

/* ---- Which objects there are ---- */

static void unlink_context(ContextObject *context)
{
    state_lock(context->state);
    ContextObject **link = &context->state->contexts;
    while (*link && *link != context) link = &(*link)->next;
    if (*link) {
        *link = context->next;
        context->state->living_contexts--;
    }
    state_unlock(context->state);
}

/* Marks the context as detached. It stays in the list until the driver has ended it, so that a thread in
 * which it is current does not take it for a foreign context. False when it was detached before. */
static bool mark_detached(ContextObject *context)
{
    state_lock(context->state);
    bool first = !atomic_exchange(&context->detached, true);
    if (context->state->recent_context == context) context->state->recent_context = NULL;
    state_unlock(context->state);
    return first;
}

#ifdef Py_GIL_DISABLED
/* Makes a context alive again whose last reference is gone, and whose tp_dealloc waits for the section. That
 * is left with nothing to do (ends_nothing), for which it keeps the context. */
static void revive(ContextObject *context)
{
    context->revived++;
    context_keep(context);
}

/* Whether tp_dealloc was called for a reference before the context was made alive again. */
static bool ends_nothing(ContextObject *context)
{
    if (!context->revived) return false;
    context->revived--;
    context_unkeep(context);
    return true;
}
#else
static void revive(ContextObject *context) { (void)context; }
static bool ends_nothing(ContextObject *context) { return (void)context, false; }
#endif

/* A new reference to a context of the list, whose lock is held. A dormant context, to which there is no
 * reference, becomes a Python object again. */
static ContextObject *new_reference(ContextObject *context)
{
    PyTypeObject *type = Py_TYPE((PyObject *)context);
    if (!atomic_exchange(&context->dormant, false)) {
        if (section_find((PyObject *)context)) return context;
        revive(context);
    }
    PyObject_Init((PyObject *)context, type); /* one reference to the object, and another one to its type */
    Py_DECREF(type); /* the dormant object has kept its reference to the type */
    section_enable_find((PyObject *)context);
    return context;
}

/* The context with this handle that is not detached, a new reference; NULL, without an exception, when there
 * is none. *leaving: if there is none, the detached context with this handle, borrowed, or NULL. */
static ContextObject *find_context(ModuleState *state, CUcontext handle, const ContextObject **leaving)
{
    ContextObject *found = state->recent_context;
    *leaving = NULL;
    if (found && found->handle == handle && section_find((PyObject *)found)) return found;
    state_lock(state);
    found = NULL;
    for (ContextObject *context = state->contexts; context && !found; context = context->next) {
        if (context->handle != handle) continue;
        if (atomic_load(&context->detached))
            *leaving = context;
        else
            found = context;
    }
    if (found) new_reference(found);
    state->recent_context = found;
    state_unlock(state);
    return found;
}

static ContextObject *new_context(ModuleState *state, CUcontext handle, CUdevice device, ContextKind kind)
{
    PyTypeObject *type = kind == CONTEXT_GREEN ? state->GreenContext_type : state->Context_type;
    ContextObject *context = PyObject_New(ContextObject, type);
    if (!context) return NULL;
    memset(&context->state, 0, sizeof *context - offsetof(ContextObject, state));
    section_enable_find((PyObject *)context);
    context->state = state;
    context->handle = handle;
    context->device = device;
    atomic_init(&context->kind, kind);
    atomic_init(&context->detached, false);
    atomic_init(&context->unreferenced, false);
    atomic_init(&context->dormant, false);
    atomic_init(&context->dead, false);
    atomic_init(&context->resources, 0);
    atomic_init(&context->holders, 0);
    atomic_init(&context->entered, 0);
    atomic_init(&context->over, false);
    atomic_init(&context->ender, 0);
    queue_reset_capacity(state);
    state_lock(state);
    context->serial = ++state->contexts_made;
    context->next = state->contexts;
    state->contexts = context;
    state->living_contexts++;
    state->recent_context = NULL; /* the driver may give a handle again */
    state_unlock(state);
    return context;
}

ContextObject *context_of_handle(ModuleState *state, CUcontext handle, CUdevice device, ContextKind kind,
                                 bool *was_there)
{
    const ContextObject *leaving;
    ContextObject *context = find_context(state, handle, &leaving);
    ContextKind foreign = CONTEXT_FOREIGN;
    if (!context) {
        *was_there = false;
        return new_context(state, handle, device, kind);
    }
    *was_there = !atomic_compare_exchange_strong(&context->kind, &foreign, kind);
    return context;
}

ContextObject *context_next_own(ModuleState *state, const ContextObject *previous)
{
    state_lock(state);
    ContextObject *context = previous ? previous->next : state->contexts;
    while (context && (atomic_load(&context->detached) || atomic_load(&context->kind) == CONTEXT_FOREIGN))
        context = context->next;
    if (context) new_reference(context);
    state_unlock(state);
    return context;
}

ContextObject *context_first(ModuleState *state, bool (*is_wanted)(const ContextObject *))
{
    state_lock(state);
    ContextObject *context = state->contexts;
    while (context && !is_wanted(context)) context = context->next;
    if (context) new_reference(context);
    state_unlock(state);
    return context;
}

bool contexts_share_memory(const ContextObject *a, const ContextObject *b)
{
    if (a->handle == b->handle) return true;
    if ((!a->green && !b->green) || a->device != b->device) return false;
    return (a->green || atomic_load(&a->kind) != CONTEXT_OWNED)
           && (b->green || atomic_load(&b->kind) != CONTEXT_OWNED);
}

bool context_shares_memory_with(const ContextObject *context, CUcontext handle)
{
    ModuleState *state = context->state;
    if (context->handle == handle) return true;
    state_lock(state);
    const ContextObject *other = state->contexts;
    while (other && other->handle != handle) other = other->next;
    bool akin = other && contexts_share_memory(context, other);
    state_unlock(state);
    return akin;
}

void context_count(ContextObject *context, bool counted)
{
    if (counted && !context->counted) LIVE_MORE(context->state, Context);
    if (!counted && context->counted) LIVE_LESS(context->state, Context);
    context->counted = counted;
}

/* ---- Making ---- */

PyObject *context_create(ModuleState *state, CUdevice device, unsigned flags)
{
    CUcontext handle, popped;
    bool was_there;
    CUresult result = once_cuCtxCreate(state, &handle, flags, device);
    if (result != CUDA_SUCCESS) return raise_driver(state, result, "cuCtxCreate", NULL);
    context_note_initialized(state);
    result = once_cuCtxPopCurrent(state, &popped);
    if (result != CUDA_SUCCESS) {
        once_cuCtxDestroy(state, handle);
        return raise_driver(state, result, "cuCtxPopCurrent", "of the new context");
    }
    ContextObject *context = context_of_handle(state, handle, device, CONTEXT_OWNED, &was_there);
    if (!context) {
        once_cuCtxDestroy(state, handle);
        return NULL;
    }
    atomic_store(&state->fault_shown, false);
    context_count(context, true);
    if (context_stack_push(context) < 0) Py_CLEAR(context);
    if (context) context->fresh = true;
    return (PyObject *)context;
}

static ContextObject *retain_primary(ModuleState *state, CUdevice device, bool *was_there)
{
    CUcontext handle;
    CUresult result = once_cuDevicePrimaryCtxRetain(state, &handle, device);
    if (result != CUDA_SUCCESS)
        return (ContextObject *)raise_driver(state, result, "cuDevicePrimaryCtxRetain", NULL);
    context_note_initialized(state);
    ContextObject *context = context_of_handle(state, handle, device, CONTEXT_PRIMARY, was_there);
    if (!context || *was_there) once_cuDevicePrimaryCtxRelease(state, device);
    return context;
}

PyObject *context_retain_primary(ModuleState *state, CUdevice device)
{
    bool was_there = true;
    ContextObject *context = retain_primary(state, device, &was_there);
    if (context && !was_there) context_count(context, true);
    return (PyObject *)context;
}

ContextObject *context_hold_primary(ModuleState *state, CUdevice device)
{
    bool was_there = true;
    ContextObject *context = retain_primary(state, device, &was_there);
    if (!context) return NULL;
    context_hold(context);
    Py_DECREF((PyObject *)context);
    return context;
}

/* CUDA_ERROR_INVALID_CONTEXT when the thread has none. */
static CUresult current_handle(ModuleState *state, CUcontext *handle)
{
    CUresult result = try_cuCtxGetCurrent(state, handle);
    return result == CUDA_SUCCESS && !*handle ? CUDA_ERROR_INVALID_CONTEXT : result;
}

static ContextObject *raise_detached(ModuleState *state)
{
    return (ContextObject *)raise_driver(state, CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuCtxGetCurrent",
                                         "the current context was detached");
}

/* A new Context object for a primary context that is current here and was detached elsewhere. It is retained
 * once more, so that it stays while this thread uses it: others may still keep it alive. LogicError if this
 * thread itself has it on top of its stack, or if retaining made another context. */
static ContextObject *replace_detached(ModuleState *state, CUcontext handle, CUdevice device)
{
    bool was_there;
    if (context_stack_top_is_detached(state)) return raise_detached(state);
    ContextObject *context = retain_primary(state, device, &was_there);
    if (!context || context->handle == handle) return context;
    Py_DECREF((PyObject *)context);
    return raise_detached(state);
}

ContextObject *context_current(ModuleState *state)
{
    CUcontext handle = NULL;
    CUdevice device = CU_DEVICE_INVALID;
    const ContextObject *leaving;
    bool was_there;
    CUresult result = current_handle(state, &handle);
    if (CALL_WANTS_CONTEXT(result) && context_make_default(state, result) == 0)
        result = current_handle(state, &handle);
    if (result != CUDA_SUCCESS) return (ContextObject *)raise_driver(state, result, "cuCtxGetCurrent", NULL);
    ContextObject *context = find_context(state, handle, &leaving);
    if (context) return context;
    ContextKind kind = leaving ? atomic_load(&leaving->kind) : CONTEXT_FOREIGN;
    if (kind == CONTEXT_PRIMARY) return replace_detached(state, handle, leaving->device);
    if (kind != CONTEXT_FOREIGN) return raise_detached(state);
    result = once_cuCtxGetDevice(state, &device);
    if (result != CUDA_SUCCESS) return (ContextObject *)raise_driver(state, result, "cuCtxGetDevice", NULL);
    return context_of_handle(state, handle, device, CONTEXT_FOREIGN, &was_there);
}

/* ---- Ending ---- */

/* The innermost scope that this thread is in: Python code that runs inside of one may detach the context. */
static _Thread_local ContextScope *innermost;

/* Between two looks at what another thread does. */
static const struct timespec poll_interval = {.tv_nsec = 50000};

/* Waits for the releases that other threads have begun in the context: once it is destroyed, the driver may
 * give its handles and addresses to new objects. */
static void wait_until_left(ContextObject *context)
{
    long own = 0;
    for (const ContextScope *scope = innermost; scope; scope = scope->outer) own += scope->context == context;
    if (atomic_load(&context->entered) == own) return;
    WITHOUT_GIL(while (atomic_load(&context->entered) > own) nanosleep(&poll_interval, NULL));
}

static const char *ending_routine(ContextKind kind)
{
    if (kind == CONTEXT_OWNED) return "cuCtxDestroy";
    return kind == CONTEXT_GREEN ? "cuGreenCtxDestroy" : "cuDevicePrimaryCtxRelease";
}

/* Removes the context's launch queues. with_driver: their polled events are destroyed, which the driver does
 * not have to do for a context that goes on. */
static void forget_queues(ContextObject *context, bool with_driver)
{
    ContextScope scope;
    CUevent event;
    while (queue_forget(context->state, context->handle, &event)) {
        if (!event || !with_driver || !context_enter_last(context, &scope)) continue;
        once_cuEventDestroy(context->state, event);
        context_leave_scope(&scope);
    }
}

/* Destroys or releases the context in the driver; a FOREIGN one is left to the code that made it. */
static void end_in_driver(ContextObject *context)
{
    CUresult result = CUDA_SUCCESS;
    CaptureMode mode;
    ContextKind kind = atomic_load(&context->kind);
    if (forked_after_init() || ext_is_finalizing() || atomic_load(&context->state->given_up)) return;
    wait_until_left(context);
    forget_queues(context, kind != CONTEXT_FOREIGN);
    if (kind != CONTEXT_FOREIGN)
        for (int i = 0; i < context->state->context_last_count; i++) context->state->context_last[i](context);
    captured_relax_any(context->state, &mode);
    if (kind == CONTEXT_OWNED)
        result = end_cuCtxDestroy(context->state, context->handle);
    else if (kind == CONTEXT_PRIMARY)
        result = end_cuDevicePrimaryCtxRelease(context->state, context->device);
    else if (kind == CONTEXT_GREEN)
        result = end_cuGreenCtxDestroy(context->state, context->green);
    captured_restore_any(context->state, &mode);
    report_driver(context->state, result, ending_routine(kind));
}

/* Ends the context in the driver; only the first call does. */
static void end_context(ContextObject *context)
{
    if (atomic_exchange(&context->dead, true)) return;
    atomic_store(&context->ender, PyThread_get_thread_ident());
    context_count(context, false);
    if (atomic_load(&context->kind) == CONTEXT_OWNED) peer_access_forget(context->state, context->handle);
    end_in_driver(context);
    atomic_store(&context->over, true);
    unlink_context(context);
    if (context->primary) context_drop(context->primary);
}

int context_on_end(ModuleState *state, ContextEndFn function)
{
    if (state->context_end_count == STATE_CONTEXT_END_MAX) {
        PyErr_SetString(PyExc_SystemError, "STATE_CONTEXT_END_MAX is too small");
        return -1;
    }
    state->context_end[state->context_end_count++] = function;
    return 0;
}

int context_on_last(ModuleState *state, ContextLastFn function)
{
    if (state->context_last_count == STATE_CONTEXT_LAST_MAX) {
        PyErr_SetString(PyExc_SystemError, "STATE_CONTEXT_LAST_MAX is too small");
        return -1;
    }
    state->context_last[state->context_last_count++] = function;
    return 0;
}

/* Calls the functions of context_on_end(), and forgets the fault that ended the context. They all find it
 * alive: what they release does not end it, the caller does. */
static void notify_end(ContextObject *context)
{
    lost_forget(context->state, context->handle);
    gil_count(&context->resources, 1);
    for (int i = 0; i < context->state->context_end_count; i++) context->state->context_end[i](context);
    gil_count(&context->resources, -1);
}

/* Whether the context is current in this thread. If the driver does not answer, the thread's stack is asked.
 */
static bool is_current(ContextObject *context)
{
    CUcontext handle = NULL;
    CUresult result = try_cuCtxGetCurrent(context->state, &handle);
    if (result == CUDA_SUCCESS) return handle == context->handle;
    return context_stack_is_top(context);
}

int context_detach(ContextObject *context)
{
    bool was_current = is_current(context);
    int status = 0;
    if (host_function_refuses(context->state, "context::detach")) return -1;
    if (!mark_detached(context)) {
        raise_driver(context->state, CUDA_ERROR_INVALID_CONTEXT, "context::detach",
                     "the context was already detached");
        return -1;
    }
    Py_INCREF((PyObject *)context);
    notify_end(context);
    if (atomic_load(&context->kind) == CONTEXT_OWNED) {
        end_context(context);
        keep_alive_finish(context->state, keep_alive_take(context->state, context, KEEP_ALIVE_ALL), true);
    }
    if (was_current) status = context_stack_forget(context);
    if (atomic_load(&context->resources) == 0) end_context(context);
    Py_DECREF((PyObject *)context);
    return status;
}

ContextObject *context_keep(ContextObject *context)
{
    gil_count(&context->holders, 1);
    return context;
}

ContextObject *context_hold(ContextObject *context)
{
    gil_count(&context->resources, 1);
    return context_keep(context);
}

/* Called when neither references nor holders are left: ends and frees the context. No thread takes a
 * reference to a detached context. */
static void finish_context(ContextObject *context)
{
    PyTypeObject *type = Py_TYPE((PyObject *)context);
    atomic_store(&context->unreferenced, true);
    mark_detached(context);
    notify_end(context);
    end_context(context);
    type->tp_free(context);
    Py_DECREF((PyObject *)type);
}

void context_unkeep(ContextObject *context)
{
    if (gil_count(&context->holders, -1) == 0 && atomic_load(&context->dormant)
        && !atomic_load(&context->unreferenced))
        finish_context(context);
}

void context_drop(ContextObject *context)
{
    if (gil_count(&context->resources, -1) == 0 && atomic_load(&context->detached)) end_context(context);
    context_unkeep(context);
}

ContextObject *context_hold_current(ModuleState *state)
{
    deferred_release(state);
    ContextObject *context = context_current(state);
    if (!context) return NULL;
    context_hold(context);
    Py_DECREF((PyObject *)context);
    return context;
}

/* ---- Working in it ---- */

/* Called when the context was found dead. Waits until the driver has ended it: until then what ends with the
 * context, such as page-locks, is still there. Returns at once in the thread that ends the context. */
static void wait_until_over(ContextObject *context)
{
    if (atomic_load(&context->over) || atomic_load(&context->ender) == PyThread_get_thread_ident()) return;
    WITHOUT_GIL(while (!atomic_load(&context->over)) nanosleep(&poll_interval, NULL));
}

/* Enters the context if it is not dead. This thread is counted before it looks at `dead`, and end_context()
 * looks at the count after it has set `dead`. */
static bool enter_counted(ContextObject *context)
{
    if (context_stay(context)) return true;
    wait_until_over(context);
    return false;
}

/* Makes the handle current. scope: notes whether that needed a push, and what was current before. */
static CUresult make_current(ModuleState *state, CUcontext handle, ContextScope *scope)
{
    CUcontext current = NULL;
    CUresult result = try_cuCtxGetCurrent(state, &current);
    if (result == CUDA_SUCCESS && current == handle) return CUDA_SUCCESS;
    scope->before = current;
    result = once_cuCtxPushCurrent(state, handle);
    scope->pushed = result == CUDA_SUCCESS;
    return result;
}

/* Makes the context current, in which the caller has counted this thread (context->entered); on failure,
 * which is reported, that is undone. */
static bool make_counted_current(ContextObject *context, ContextScope *scope)
{
    CUresult result = make_current(context->state, context->handle, scope);
    if (result == CUDA_SUCCESS) return true;
    atomic_fetch_sub(&context->entered, 1);
    report_driver(context->state, result, "cuCtxPushCurrent");
    return false;
}

static bool begin_scope(ContextObject *context, ContextScope *scope)
{
    if (!make_counted_current(context, scope)) return false;
    scope->context = context;
    scope->outer = innermost;
    innermost = scope;
    captured_relax_any(context->state, &scope->mode);
    return true;
}

/* enter_counted(), if driver calls can be made now. */
static bool enter_if_possible(ContextObject *context, ContextScope *scope)
{
    *scope = (ContextScope){0};
    return context && !forked_after_init() && !host_function_runs() && !ext_is_finalizing()
           && !atomic_load(&context->state->given_up) && enter_counted(context);
}

bool context_enter_scope(ContextObject *context, ContextScope *scope)
{
    return enter_if_possible(context, scope) && begin_scope(context, scope);
}

bool context_enter_last(ContextObject *context, ContextScope *scope)
{
    *scope = (ContextScope){0};
    atomic_fetch_add(&context->entered, 1);
    return begin_scope(context, scope);
}

/* Pops the current context. If that fails, `before` is made current instead. */
static CUresult restore_current(ModuleState *state, CUcontext before)
{
    CUcontext popped;
    CUresult result = once_cuCtxPopCurrent(state, &popped);
    return result == CUDA_SUCCESS ? result : once_cuCtxSetCurrent(state, before);
}

void context_leave_scope(ContextScope *scope)
{
    if (!scope->context) return;
    innermost = scope->outer;
    captured_restore_any(scope->context->state, &scope->mode);
    if (scope->pushed) restore_current(scope->context->state, scope->before);
    atomic_fetch_sub(&scope->context->entered, 1);
    scope->context = NULL;
}

bool context_lend(ContextObject *context, ContextScope *scope)
{
    if (!enter_if_possible(context, scope) || !make_counted_current(context, scope)) return false;
    scope->context = context;
    atomic_fetch_sub(&context->entered, 1);
    return true;
}

void context_lend_end(ContextScope *scope)
{
    if (scope->pushed) restore_current(scope->context->state, scope->before);
}

bool context_raise_dead(ContextObject *context, const char *what)
{
    raise_driver(context->state, CUDA_ERROR_CONTEXT_IS_DESTROYED, what, "its context is gone");
    return false;
}

/* Called when no Python reference is left. The caches of a context that is still current, or foreign, stay:
 * get_current() may find it again. Ends the context if nothing holds it (context_unkeep). */
static void make_dormant(PyObject *self)
{
    ContextObject *context = context_cast(self);
    if (atomic_load(&context->kind) != CONTEXT_FOREIGN && !is_current(context)) {
        notify_end(context);
        if (atomic_load(&context->holders) > 1) keep_alive_collect(context->state);
    }
    context_unkeep(context);
}

/* tp_dealloc: the last reference ends the context, unless there are objects in it. It may be found again
 * (find_context) while it is dormant. */
void context_dealloc(PyObject *self)
{
    if (ends_nothing(context_cast(self))) return;
    ContextObject *context = context_keep(context_cast(self));
    state_lock(context->state);
    atomic_store(&context->dormant, true);
    if (context->state->recent_context == context) context->state->recent_context = NULL;
    state_unlock(context->state);
    if (context->weak_references) PyObject_ClearWeakRefs(self);
    if (!deferred_dealloc(context->state, make_dormant, self)) make_dormant(self);
}
