/* A cooperative kernel on several devices at a time (cuLaunchCooperativeKernelMultiDevice). Barriers across
 * devices are not supported: modules with such kernels are not loaded. */
#include <string.h>

#include "api/launch/launch.h"
#include "api/stream/stream.h"

/* CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC, _NO_POST_LAUNCH_SYNC. */
enum { NO_WAIT_BEFORE = 1, NO_WAIT_AFTER = 2 };

/* A launch of the list, with references to function and stream. */
typedef struct DeviceLaunch {
    Function *function;
    Stream *stream;
    LaunchConfig shape;
    void **pointers;
} DeviceLaunch;

static LaunchConfig cooperative_shape(const CUDA_LAUNCH_PARAMS *p)
{
    return (LaunchConfig){.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                          .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                          .dynamic_shared = p->sharedMemBytes,
                          .cooperative = true};
}

static CUresult open_launch(const CUDA_LAUNCH_PARAMS *given, DeviceLaunch *launch)
{
    if ((uintptr_t)given->hStream <= (uintptr_t)CU_STREAM_PER_THREAD) return CUDA_ERROR_INVALID_HANDLE;
    TRY(function_enter(given->function, &launch->function));
    TRY(stream_enter(given->hStream, &launch->stream)); /* an error if the stream is captured */
    launch->shape = cooperative_shape(given);
    launch->pointers = given->kernelParams;
    return CUDA_SUCCESS;
}

/* Whether both launch the same kernel in the same shape, each on its own device. */
static bool fit_together(const DeviceLaunch *a, const DeviceLaunch *b)
{
    return a->stream->object.context->device != b->stream->object.context->device
           && !strcmp(a->function->code->name, b->function->code->name)
           && !memcmp(a->shape.grid, b->shape.grid, sizeof a->shape.grid)
           && !memcmp(a->shape.block, b->shape.block, sizeof a->shape.block)
           && a->shape.dynamic_shared == b->shape.dynamic_shared;
}

static CUresult check_launches(const DeviceLaunch *launches, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < i; k++)
            if (!fit_together(&launches[i], &launches[k])) return CUDA_ERROR_INVALID_VALUE;
        TRY(launch_check_shape(launches[i].function, &launches[i].shape));
        TRY(launch_check_cooperative(launches[i].function, &launches[i].shape));
    }
    return CUDA_SUCCESS;
}

/* Makes each stream wait for the work that the other ones have now. The last tasks are noted first: the waits
 * that are queued below must not count, or streams would wait for each other's waits. */
static CUresult make_streams_wait(const DeviceLaunch *launches, unsigned count)
{
    uint64_t last[DRIVER_MAX_DEVICES];
    for (unsigned i = 0; i < count; i++) last[i] = queue_last(launches[i].stream);
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count; k++) {
            if (i == k) continue;
            Dependency place = {launches[k].stream, last[k]};
            object_hold(OBJECT(launches[k].stream));
            TRY(queue_submit_wait(launches[i].stream, &place));
        }
    return CUDA_SUCCESS;
}

static CUresult launch_all(const DeviceLaunch *launches, unsigned count, unsigned flags)
{
    TRY(check_launches(launches, count));
    if (!(flags & NO_WAIT_BEFORE)) TRY(make_streams_wait(launches, count));
    for (unsigned i = 0; i < count; i++)
        TRY(launch_function(launches[i].function, launches[i].stream, &launches[i].shape,
                            launches[i].pointers, NULL));
    return flags & NO_WAIT_AFTER ? CUDA_SUCCESS : make_streams_wait(launches, count);
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned int count,
                                              unsigned int flags)
{
    DeviceLaunch launches[DRIVER_MAX_DEVICES] = {{0}};
    CUresult result = driver_check();
    if (result) return result;
    if (!list || !count || count > DRIVER_MAX_DEVICES || count > (unsigned)driver_settings()->devices
        || flags & ~(unsigned)(NO_WAIT_BEFORE | NO_WAIT_AFTER))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && !result; i++) result = open_launch(&list[i], &launches[i]);
    if (!result) result = launch_all(launches, count, flags);
    for (unsigned i = 0; i < count; i++) {
        if (launches[i].function) PUT(launches[i].function);
        if (launches[i].stream) PUT(launches[i].stream);
    }
    return result;
}
