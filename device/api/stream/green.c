/* Green contexts: creation and destruction, their resources, their streams. */
#include "api/stream/green.h"

#include <stdlib.h>

/* The current context, if it is a live one derived from a green context, else NULL. */
static Context *current_derived(void)
{
    Context *top = context_on_top();
    return top && top->base && atomic_load(&top->live) ? top : NULL;
}

GreenContext *green_current(void)
{
    const Context *derived = current_derived();
    return derived ? object_get(derived->green, OBJECT_GREEN_CONTEXT) : NULL;
}

CUgreenCtx green_of_stream(const Stream *stream)
{
    const Context *derived = stream->standard ? current_derived() : NULL;
    return derived ? derived->green : stream->green;
}

CUcontext green_context_handle(const Stream *stream)
{
    Context *derived = stream->standard ? current_derived() : stream->green ? stream->green->derived : NULL;
    return derived ? derived : stream->object.context;
}

unsigned green_multiprocessors(const Stream *stream)
{
    if (stream && !stream->standard)
        return stream->green ? stream->green->range.count : (unsigned)driver_multiprocessors();
    const Context *derived = current_derived();
    return derived ? derived->range.count : (unsigned)driver_multiprocessors();
}

CUresult green_adopt(GreenContext *green, Stream *stream)
{
    object_hold(OBJECT(green));
    stream->green = green;
    return queue_begin_after(stream, green->barrier);
}

/* --- making, ending ----------------------------------------------------------------------------------- */

static void green_release(Object *object)
{
    GreenContext *green = (GreenContext *)object;
    if (green->barrier) PUT(green->barrier);
    if (green->derived) context_put(green->derived);
}

/* A published stream whose handle the program does not get. NULL if out of memory. */
static Stream *make_barrier(Context *base)
{
    Stream *barrier = stream_new(base, CU_STREAM_NON_BLOCKING, 0);
    if (!barrier || object_publish(OBJECT(barrier)) == CUDA_SUCCESS) return barrier;
    queue_drop(barrier);
    return NULL;
}

static CUresult make_green(Context *base, const SmRange *range, GreenContext **out)
{
    GreenContext *green = object_new(OBJECT_GREEN_CONTEXT, sizeof *green, base, green_release);
    if (!green) return CUDA_ERROR_OUT_OF_MEMORY;
    green->range = *range;
    green->barrier = make_barrier(base);
    green->derived = green->barrier ? context_new_derived(base, green, *range) : NULL;
    atomic_store(&green->live, green->derived != NULL);
    CUresult result = green->derived ? object_publish(OBJECT(green)) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) {
        green->id = atomic_load(&green->derived->id);
        *out = green;
    } else {
        if (green->derived) context_close_derived(green->derived);
        if (green->barrier) cuStreamDestroy_v2(green->barrier);
    }
    PUT(green);
    return result;
}

CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc descriptor, CUdevice ordinal, unsigned flags)
{
    Context *base;
    TRY(driver_check());
    if (!driver_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    if (!out || flags != CU_GREEN_CTX_DEFAULT_STREAM || !resource_is_descriptor(descriptor)
        || descriptor->range.device != ordinal)
        return CUDA_ERROR_INVALID_VALUE;
    TRY(cuDevicePrimaryCtxRetain(&base, ordinal));
    CUresult result = make_green(base, &descriptor->range, out);
    if (result) cuDevicePrimaryCtxRelease_v2(ordinal);
    return result;
}

/* The green context of a handle, with a reference. With null_is_current a NULL handle stands for the green
 * context of the current context. */
static CUresult enter_green(CUgreenCtx handle, bool null_is_current, GreenContext **out)
{
    TRY(driver_check());
    *out = !handle && null_is_current ? green_current() : object_get(handle, OBJECT_GREEN_CONTEXT);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle)
{
    GreenContext *green;
    TRY(enter_green(handle, false, &green));
    Context *base = green->object.context;
    CUresult result = queue_wait_context_despite_capture(base);
    if (!result && !object_retire(OBJECT(green))) result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (!result) {
        object_retire(OBJECT(green->barrier));
        queue_close(green->barrier);
        atomic_store(&green->live, false);
        context_leave_top(green->derived);
        context_close_derived(green->derived);
        result = cuDevicePrimaryCtxRelease_v2(base->device->ordinal);
    }
    PUT(green);
    return result;
}

/* --- queries ------------------------------------------------------------------------------------------ */

CUresult cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx handle)
{
    GreenContext *green;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(enter_green(handle, false, &green));
    *out = green->derived;
    PUT(green);
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long *out)
{
    GreenContext *green;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(enter_green(handle, true, &green));
    *out = green->id;
    PUT(green);
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource *out, CUdevResourceType type)
{
    GreenContext *green;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    TRY(enter_green(handle, false, &green));
    *out = resource_of_range(green->range);
    PUT(green);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource *out, CUdevResourceType type)
{
    Context *context;
    if (!handle) return CUDA_ERROR_INVALID_CONTEXT;
    TRY(context_named(handle, &context));
    SmRange range = context->base ? context->range : resource_of_device(context->device);
    context_put(context);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *out = resource_of_range(range);
    return CUDA_SUCCESS;
}

/* --- streams of a green context ----------------------------------------------------------------------- */

CUresult cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx handle, unsigned flags, int priority)
{
    GreenContext *green;
    if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    TRY(enter_green(handle, false, &green));
    CUresult result = context_error(green->object.context);
    if (!result) result = stream_create(green->object.context, green, out, flags, priority);
    PUT(green);
    return result;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event)
{
    GreenContext *green;
    TRY(enter_green(handle, false, &green));
    CUresult result = context_record_event(green->object.context, green, event);
    PUT(green);
    return result;
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event)
{
    GreenContext *green;
    TRY(enter_green(handle, false, &green));
    CUresult result = context_wait_event(green->object.context, green, event);
    PUT(green);
    return result;
}
