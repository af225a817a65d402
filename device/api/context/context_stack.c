/* The thread's stack of current contexts, and the calls that make, destroy and switch contexts. */
#include <stdlib.h>

#include "api/base/log.h"
#include "api/context/timeout.h"
#include "api/context/upcalls.h"

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static _Thread_local ThreadState *mine;

static Context *pop_context(ThreadState *state)
{
    Context *context = state->stack[--state->depth];
    context_put(context);
    return context;
}

/* Runs at the end of a thread: its default streams are destroyed once their work is done. A forked child has
 * no workers that could do it, and keeps them. */
static void drop_thread_state(void *value)
{
    ThreadState *state = value;
    bool forked = driver_check() == CUDA_ERROR_NOT_INITIALIZED;
    for (size_t i = 0; i < state->stream_count && !forked; i++) queue_drop(state->streams[i]);
    while (state->depth) pop_context(state);
    free(state->streams);
    free(state->stack);
    free(state);
    mine = NULL;
}

static void make_key(void) { pthread_key_create(&thread_key, drop_thread_state); }

ThreadState *thread_state(void)
{
    if (mine) return mine;
    pthread_once(&key_once, make_key);
    mine = calloc(1, sizeof *mine);
    if (mine) pthread_setspecific(thread_key, mine);
    return mine;
}

void context_leave_top(const Context *context)
{
    ThreadState *state = thread_state();
    if (state && state->depth && state->stack[state->depth - 1] == context) pop_context(state);
}

static CUresult push_context(ThreadState *state, Context *context)
{
    if (state->depth == state->capacity) {
        size_t capacity = 2 * state->capacity + 8;
        Context **stack = realloc(state->stack, capacity * sizeof *stack);
        if (!stack) return CUDA_ERROR_OUT_OF_MEMORY;
        state->stack = stack;
        state->capacity = capacity;
    }
    state->stack[state->depth++] = context_retain(context);
    return CUDA_SUCCESS;
}

static CUresult create_context(CUcontext *out, unsigned flags, CUdevice ordinal)
{
    TRY(driver_check());
    if (!out || !context_flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
    Device *device = driver_device(ordinal);
    ThreadState *state = thread_state();
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    Context *context = state ? context_new(device, flags, false) : NULL;
    if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
    context->retained = 1;
    CUresult result = push_context(state, context);
    if (result)
        context_close(context);
    else
        *out = context;
    return result;
}

CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device)
{
    return create_context(out, flags, device);
}

enum { AFFINITY_MULTIPROCESSORS = 0 }; /* CUexecAffinityType */
enum { GRAPHICS_D3D12 = 1, GRAPHICS_NV_BLOB = 2 }; /* CUcigDataType */

/* Execution affinity, which is a part of the multiprocessors, exists only under MPS. */
CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params, int count, unsigned int flags,
                        CUdevice device)
{
    if (count > 0) return params ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : CUDA_ERROR_INVALID_VALUE;
    return create_context(out, flags, device);
}

static CUresult refuse_graphics(const CUctxCigParam *params)
{
    log_error("cuCtxCreate_v4: contexts for graphics (cigParams) are not supported by the CPU device");
    bool valid = params->type == GRAPHICS_D3D12 || (params->type == GRAPHICS_NV_BLOB && params->data);
    return valid ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

/* Parameters that are zero request nothing, and are accepted. */
CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned int flags, CUdevice device)
{
    if (params && params->cigParams) return refuse_graphics(params->cigParams);
    if (!params) return create_context(out, flags, device);
    return cuCtxCreate_v3(out, params->execAffinityParams, params->numExecAffinityParams, flags, device);
}

/* No type of affinity is supported, whatever its number. */
CUresult cuDeviceGetExecAffinitySupport(int *out, int type, CUdevice ordinal)
{
    (void)type;
    TRY(driver_check());
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *out = 0;
    return CUDA_SUCCESS;
}

/* Only MPS limits a context's multiprocessors: without it they are all of the device. The part that a green
 * context has is a resource (cuCtxGetDevResource), not an affinity. */
CUresult cuCtxGetExecAffinity(CUexecAffinityParam *out, int type)
{
    CUdevice device;
    int count;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (type != AFFINITY_MULTIPROCESSORS) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    TRY(cuCtxGetDevice(&device));
    TRY(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    *out = (CUexecAffinityParam){AFFINITY_MULTIPROCESSORS, (unsigned)count};
    return CUDA_SUCCESS;
}

/* With a timeout, waits for the context's work first: the wait can time out, and then nothing has changed.
 * The close that follows cannot be interrupted. */
static CUresult destroy_context(Context *context)
{
    if (context->primary || context->base) return CUDA_ERROR_INVALID_CONTEXT;
    if (timeout_is_set()) TRY(queue_wait_context_despite_capture(context));
    context_leave_top(context);
    return context_close(context) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cuCtxDestroy_v2(CUcontext handle)
{
    Context *context;
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    TRY(context_named(handle, &context));
    CUresult result = destroy_context(context);
    context_put(context);
    return result;
}

CUresult cuCtxAttach(CUcontext *out, unsigned int flags)
{
    Context *context;
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    TRY(context_enter_any(&context));
    driver_lock();
    context->retained++;
    driver_unlock();
    *out = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext handle)
{
    Context *context;
    TRY(context_resolve(handle, &context));
    CUresult result = CUDA_ERROR_INVALID_CONTEXT;
    if (!context->primary) {
        driver_lock();
        unsigned left = context->retained ? --context->retained : 0;
        driver_unlock();
        result = left ? CUDA_SUCCESS : destroy_context(context);
    }
    context_put(context);
    return result;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle)
{
    Context *context;
    TRY(driver_check());
    if (!handle) return CUDA_ERROR_INVALID_CONTEXT;
    TRY(context_named(handle, &context));
    ThreadState *state = thread_state();
    CUresult result = state ? push_context(state, context) : CUDA_ERROR_OUT_OF_MEMORY;
    context_put(context);
    return result;
}

CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
    TRY(driver_check());
    ThreadState *state = thread_state();
    if (!state || !state->depth) return CUDA_ERROR_INVALID_CONTEXT;
    Context *context = pop_context(state);
    if (out) *out = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
    Context *context;
    TRY(driver_check());
    ThreadState *state = thread_state();
    if (!state) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!handle) {
        if (state->depth) pop_context(state);
        return CUDA_SUCCESS;
    }
    TRY(context_named(handle, &context));
    if (state->depth) pop_context(state);
    CUresult result = push_context(state, context);
    context_put(context);
    return result;
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
    TRY(driver_check());
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    ThreadState *state = thread_state();
    *out = state && state->depth ? state->stack[state->depth - 1] : NULL;
    return CUDA_SUCCESS;
}

/* Primary contexts: one for each device, the same handle whenever it lives. */

/* The device's primary context, created or opened again if necessary; NULL if out of memory. The driver's
 * lock is held, but released while another thread closes the context. */
static Context *live_primary_locked(Device *device)
{
    for (;;) {
        Context *context = device->primary;
        if (!context) return device->primary = context_new(device, device->primary_flags, true);
        if (atomic_load(&context->live)) return context;
        if (atomic_load(&context->closed))
            return context_open(context, device->primary_flags) ? context : NULL;
        driver_unlock();
        context_await_closed(context);
        driver_lock();
    }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice ordinal)
{
    TRY(driver_check());
    Device *device = driver_device(ordinal);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    driver_lock();
    Context *context = live_primary_locked(device);
    if (context) context->retained++;
    driver_unlock();
    if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = context;
    return CUDA_SUCCESS;
}

/* Waits first if a timeout is set, as destroy_context() does. The driver's lock is not held meanwhile, so the
 * context is looked at again afterwards. */
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
    TRY(driver_check());
    Device *device = driver_device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    driver_lock();
    Context *context = device->primary;
    bool ends = context && context->retained == 1 && atomic_load(&context->live);
    driver_unlock();
    if (ends && timeout_is_set()) TRY(queue_wait_context_despite_capture(context));
    driver_lock();
    context = device->primary;
    bool retained = context && context->retained;
    bool last = retained && --context->retained == 0 && context_begin_close(context);
    driver_unlock();
    if (last) context_finish_close(context);
    return retained ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
    TRY(driver_check());
    Device *device = driver_device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    driver_lock();
    Context *context = device->primary;
    driver_unlock();
    if (context) context_close(context);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int *flags, int *active)
{
    TRY(driver_check());
    Device *device = driver_device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    *flags = device->primary_flags;
    *active = device->primary && atomic_load(&device->primary->live);
    driver_unlock();
    return CUDA_SUCCESS;
}

static CUresult set_primary_flags(CUdevice ordinal, unsigned flags, bool while_active)
{
    TRY(driver_check());
    Device *device = driver_device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    if (!context_flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    bool refused = !while_active && device->primary && atomic_load(&device->primary->live);
    if (!refused) device->primary_flags = flags;
    if (!refused && device->primary) atomic_store(&device->primary->flags, flags);
    driver_unlock();
    return refused ? CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE : CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    return set_primary_flags(device, flags, true);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
    return set_primary_flags(device, flags, false);
}
