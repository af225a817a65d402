#include "ext/context.h"

#include "ext/errors.h"
#include "ext/keep_alive.h"
#include "ext/wait.h"

/* ---- Which objects there are ---- */

static void lock_state(ModuleState *state) { PyThread_acquire_lock(state->lock, WAIT_LOCK); }

static void unlock_state(ModuleState *state) { PyThread_release_lock(state->lock); }

static void unlink_context(ContextObject *context)
{
    lock_state(context->state);
    ContextObject **link = &context->state->contexts;
    while (*link && *link != context) link = &(*link)->next;
    if (*link) *link = context->next;
    unlock_state(context->state);
}

/* A new reference or NULL, without an exception. */
static ContextObject *find_context(ModuleState *state, CUcontext handle)
{
    lock_state(state);
    ContextObject *context = state->contexts;
    while (context && context->handle != handle) context = context->next;
    Py_XINCREF((PyObject *)context);
    unlock_state(state);
    return context;
}

static ContextObject *new_context(ModuleState *state, CUcontext handle, CUdevice device, ContextKind kind)
{
    ContextObject *context = PyObject_New(ContextObject, state->Context_type);
    if (!context) return NULL;
    context->state = state;
    context->handle = handle;
    context->device = device;
    context->counted = false;
    context->weak_references = NULL;
    atomic_init(&context->kind, kind);
    atomic_init(&context->detached, false);
    atomic_init(&context->dead, false);
    atomic_init(&context->resources, 0);
    lock_state(state);
    context->next = state->contexts;
    state->contexts = context;
    unlock_state(state);
    return context;
}

ContextObject *context_of_handle(ModuleState *state, CUcontext handle, CUdevice device, ContextKind kind,
                                 bool *was_there)
{
    ContextObject *context = find_context(state, handle);
    ContextKind foreign = CONTEXT_FOREIGN;
    if (!context) {
        *was_there = false;
        return new_context(state, handle, device, kind);
    }
    *was_there = !atomic_compare_exchange_strong(&context->kind, &foreign, kind);
    return context;
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
    CUresult result;
    bool was_there;
    CALL_UNLOCKED(result, driver.cuCtxCreate(&handle, flags, device));
    if (result != CUDA_SUCCESS) return raise_driver(state, result, "cuCtxCreate", NULL);
    context_note_initialised(state);
    result = driver.cuCtxPopCurrent(&popped);
    if (result != CUDA_SUCCESS) {
        driver.cuCtxDestroy(handle);
        return raise_driver(state, result, "cuCtxPopCurrent", "of the context just made");
    }
    ContextObject *context = context_of_handle(state, handle, device, CONTEXT_OWNED, &was_there);
    if (!context) {
        driver.cuCtxDestroy(handle);
        return NULL;
    }
    atomic_store(&state->fault_shown, false);
    context_count(context, true);
    if (context_stack_push(context) < 0) Py_CLEAR(context);
    return (PyObject *)context;
}

PyObject *context_retain_primary(ModuleState *state, CUdevice device)
{
    CUcontext handle;
    CUresult result;
    bool was_there = true;
    CALL_UNLOCKED(result, driver.cuDevicePrimaryCtxRetain(&handle, device));
    if (result != CUDA_SUCCESS) return raise_driver(state, result, "cuDevicePrimaryCtxRetain", NULL);
    context_note_initialised(state);
    ContextObject *context = context_of_handle(state, handle, device, CONTEXT_PRIMARY, &was_there);
    if (!context || was_there) driver.cuDevicePrimaryCtxRelease(device);
    if (context && !was_there) context_count(context, true);
    return (PyObject *)context;
}

static CUresult current_handle(CUcontext *handle)
{
    CUresult result = CALL_ONCE(driver.cuCtxGetCurrent(handle));
    return result == CUDA_SUCCESS && !*handle ? CUDA_ERROR_INVALID_CONTEXT : result;
}

ContextObject *context_current(ModuleState *state)
{
    CUcontext handle = NULL;
    CUdevice device = CU_DEVICE_INVALID;
    CUresult result;
    bool was_there;
    CALL(state, result, current_handle(&handle));
    if (result != CUDA_SUCCESS) return (ContextObject *)raise_driver(state, result, "cuCtxGetCurrent", NULL);
    ContextObject *context = find_context(state, handle);
    if (context) return context;
    result = driver.cuCtxGetDevice(&device);
    if (result != CUDA_SUCCESS) return (ContextObject *)raise_driver(state, result, "cuCtxGetDevice", NULL);
    return context_of_handle(state, handle, device, CONTEXT_FOREIGN, &was_there);
}

/* ---- Ending ---- */

/* The driver's part of the end, once. */
static void end_context(ContextObject *context)
{
    CUresult result = CUDA_SUCCESS;
    ContextKind kind = atomic_load(&context->kind);
    if (atomic_exchange(&context->dead, true)) return;
    context_count(context, false);
    if (context_forked() || ext_is_finalizing() || atomic_load(&context->state->given_up)) return;
    if (kind == CONTEXT_OWNED)
        CALL_RELEASING(context->state, result, driver.cuCtxDestroy(context->handle));
    else if (kind == CONTEXT_PRIMARY)
        CALL_RELEASING(context->state, result, driver.cuDevicePrimaryCtxRelease(context->device));
    report_driver(context->state, result, kind == CONTEXT_OWNED ? "cuCtxDestroy" : "cuDevicePrimaryCtxRelease");
}

/* Where the driver does not tell, the thread's stack does. */
static bool is_current(ContextObject *context)
{
    CUcontext handle = NULL;
    if (CALL_ONCE(driver.cuCtxGetCurrent(&handle)) == CUDA_SUCCESS) return handle == context->handle;
    return context_stack_is_top(context);
}

int context_detach(ContextObject *context)
{
    bool was_current = is_current(context);
    int status = 0;
    if (atomic_exchange(&context->detached, true)) {
        raise_driver(context->state, CUDA_ERROR_INVALID_CONTEXT, "context::detach",
                     "the context was detached before");
        return -1;
    }
    unlink_context(context);
    Py_INCREF((PyObject *)context);
    if (atomic_load(&context->kind) == CONTEXT_OWNED) {
        end_context(context);
        keep_alive_finish(context->state, keep_alive_take(context->state, context, KEEP_ALIVE_ALL), true);
    }
    if (was_current) status = context_stack_forget(context);
    if (atomic_load(&context->resources) == 0) end_context(context);
    Py_DECREF((PyObject *)context);
    return status;
}

ContextObject *context_hold(ContextObject *context)
{
    Py_INCREF((PyObject *)context);
    atomic_fetch_add(&context->resources, 1);
    return context;
}

void context_drop(ContextObject *context)
{
    if (atomic_fetch_sub(&context->resources, 1) == 1 && atomic_load(&context->detached)) end_context(context);
    Py_DECREF((PyObject *)context);
}

ContextObject *context_hold_current(ModuleState *state)
{
    ContextObject *context = context_current(state);
    if (context) atomic_fetch_add(&context->resources, 1);
    return context;
}

/* ---- Working in it ---- */

bool context_enter(ContextObject *context, ContextScope *scope)
{
    CUcontext current = NULL;
    scope->pushed = false;
    scope->before = NULL;
    if (!context || context_forked() || ext_is_finalizing() || atomic_load(&context->dead)
        || atomic_load(&context->state->given_up))
        return false;
    CUresult result = driver.cuCtxGetCurrent(&current);
    if (result != CUDA_SUCCESS || current != context->handle) {
        scope->before = current;
        result = driver.cuCtxPushCurrent(context->handle);
        scope->pushed = result == CUDA_SUCCESS;
    }
    report_driver(context->state, result, "cuCtxPushCurrent");
    return result == CUDA_SUCCESS;
}

void context_leave(ContextScope *scope)
{
    CUcontext popped;
    if (scope->pushed && driver.cuCtxPopCurrent(&popped) != CUDA_SUCCESS) driver.cuCtxSetCurrent(scope->before);
    scope->pushed = false;
}

bool context_check(ContextObject *context, const char *what)
{
    if (!atomic_load(&context->dead)) return true;
    raise_driver(context->state, CUDA_ERROR_CONTEXT_IS_DESTROYED, what,
                 "the context that it belongs to is gone");
    return false;
}

/* tp_dealloc: the last reference ends the context. */
void context_dealloc(PyObject *self)
{
    ContextObject *context = context_cast(self);
    PyTypeObject *type = Py_TYPE(self);
    unlink_context(context);
    if (context->weak_references) PyObject_ClearWeakRefs(self);
    end_context(context);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
}
