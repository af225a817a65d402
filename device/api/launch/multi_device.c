/* One cooperative kernel on several devices at a time (cuLaunchCooperativeKernelMultiDevice). Barriers across
 * devices are none of this: kernels that have them are not loaded. */
#include <string.h>

#include "api/launch/launch.h"
#include "api/stream/stream.h"

enum { NO_WAIT_BEFORE = 1, NO_WAIT_AFTER = 2, MAX_DEVICES = 64 };

/* A launch of the list, with references. */
typedef struct Part {
    Function *function;
    Stream *stream;
    LaunchConfig shape;
    void **pointers;
} Part;

static LaunchConfig shape_of(const CUDA_LAUNCH_PARAMS *p)
{
    return (LaunchConfig){{p->gridDimX, p->gridDimY, p->gridDimZ},
                          {p->blockDimX, p->blockDimY, p->blockDimZ},
                          p->sharedMemBytes,
                          true,
                          0,
                          {0},
                          false};
}

static CUresult open_part(const CUDA_LAUNCH_PARAMS *given, Part *part)
{
    if ((uintptr_t)given->hStream <= (uintptr_t)CU_STREAM_PER_THREAD) return CUDA_ERROR_INVALID_HANDLE;
    TRY(function_enter(given->function, &part->function));
    TRY(stream_enter(given->hStream, &part->stream)); /* it is not a node of a graph */
    part->shape = shape_of(given);
    part->pointers = given->kernelParams;
    return CUDA_SUCCESS;
}

/* Whether both launch the same kernel in the same shape, each on its own device. */
static bool fit_together(const Part *a, const Part *b)
{
    return a->stream->object.context->device != b->stream->object.context->device
           && !strcmp(a->function->code->name, b->function->code->name)
           && !memcmp(a->shape.grid, b->shape.grid, sizeof a->shape.grid)
           && !memcmp(a->shape.block, b->shape.block, sizeof a->shape.block)
           && a->shape.dynamic_shared == b->shape.dynamic_shared;
}

static CUresult check_parts(const Part *parts, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < i; k++)
            if (!fit_together(&parts[i], &parts[k])) return CUDA_ERROR_INVALID_VALUE;
        TRY(launch_check_shape(parts[i].function, &parts[i].shape));
        TRY(launch_check_cooperative(parts[i].function, &parts[i].shape));
    }
    return CUDA_SUCCESS;
}

/* Makes each stream wait for the work in the others. */
static CUresult wait_for_all(const Part *parts, unsigned count)
{
    uint64_t last[MAX_DEVICES];
    for (unsigned i = 0; i < count; i++) last[i] = queue_last(parts[i].stream);
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count; k++) {
            if (i == k) continue;
            Dependency place = {parts[k].stream, last[k]};
            object_hold(OBJECT(parts[k].stream));
            TRY(queue_submit_wait(parts[i].stream, &place));
        }
    return CUDA_SUCCESS;
}

static CUresult launch_parts(const Part *parts, unsigned count, unsigned flags)
{
    TRY(check_parts(parts, count));
    if (!(flags & NO_WAIT_BEFORE)) TRY(wait_for_all(parts, count));
    for (unsigned i = 0; i < count; i++)
        TRY(launch_function(parts[i].function, parts[i].stream, &parts[i].shape, parts[i].pointers, NULL));
    return flags & NO_WAIT_AFTER ? CUDA_SUCCESS : wait_for_all(parts, count);
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned int count,
                                              unsigned int flags)
{
    Part parts[MAX_DEVICES] = {{0}};
    CUresult result = driver_check();
    if (result) return result;
    if (!list || !count || count > MAX_DEVICES || count > (unsigned)driver_settings()->devices
        || flags & ~(unsigned)(NO_WAIT_BEFORE | NO_WAIT_AFTER))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && !result; i++) result = open_part(&list[i], &parts[i]);
    if (!result) result = launch_parts(parts, count, flags);
    for (unsigned i = 0; i < count; i++) {
        if (parts[i].function) PUT(parts[i].function);
        if (parts[i].stream) PUT(parts[i].stream);
    }
    return result;
}
