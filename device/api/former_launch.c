/* The launch interface of before cuLaunchKernel: a function keeps the shape, the size of shared memory and
 * the parameters that its next launches have. */
#include <stdlib.h>
#include <string.h>

#include "api/launch.h"

enum { PARAMETERS_MOST = 4096 };

/* What was set of a function, from the first call on. */
struct FormerLaunch {
    uint32_t block[3], shared, size;
    uint8_t parameters[PARAMETERS_MOST];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what all functions keep */

static FormerLaunch *kept_locked(Function *function)
{
    if (!function->former) function->former = calloc(1, sizeof *function->former);
    return function->former;
}

/* Copies bytes to a place of what the function keeps. */
static CUresult keep(CUfunction handle, size_t place, const void *bytes, size_t size)
{
    Function *function;
    TRY(function_enter(handle, &function));
    pthread_mutex_lock(&lock);
    FormerLaunch *kept = kept_locked(function);
    if (kept && size) memcpy((uint8_t *)kept + place, bytes, size);
    pthread_mutex_unlock(&lock);
    PUT(function);
    return kept ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z)
{
    uint32_t block[3] = {(uint32_t)x, (uint32_t)y, (uint32_t)z};
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    return keep(function, offsetof(FormerLaunch, block), block, sizeof block);
}

CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes)
{
    return keep(function, offsetof(FormerLaunch, shared), &bytes, sizeof bytes);
}

CUresult cuParamSetSize(CUfunction function, unsigned int size)
{
    if (size > PARAMETERS_MOST) return CUDA_ERROR_INVALID_VALUE;
    return keep(function, offsetof(FormerLaunch, size), &size, sizeof size);
}

CUresult cuParamSetv(CUfunction function, int offset, void *bytes, unsigned int size)
{
    if (!bytes || offset < 0 || offset > PARAMETERS_MOST || size > (unsigned)(PARAMETERS_MOST - offset))
        return CUDA_ERROR_INVALID_VALUE;
    return keep(function, offsetof(FormerLaunch, parameters) + (size_t)offset, bytes, size);
}

CUresult cuParamSeti(CUfunction function, int offset, unsigned int value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction function, int offset, float value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

CUresult cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream)
{
    Function *function;
    FormerLaunch now = {0};
    TRY(function_enter(handle, &function));
    pthread_mutex_lock(&lock);
    if (function->former) now = *function->former;
    pthread_mutex_unlock(&lock);
    size_t size = now.size;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, now.parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    LaunchShape shape = {.grid = {(uint32_t)width, (uint32_t)height, 1},
                         .block = {now.block[0], now.block[1], now.block[2]},
                         .dynamic_shared = now.shared};
    CUresult result = launch_function(function, stream, &shape, NULL, extra);
    PUT(function);
    return result;
}

CUresult cuLaunchGrid(CUfunction function, int width, int height)
{
    return cuLaunchGridAsync(function, width, height, NULL);
}

CUresult cuLaunch(CUfunction function) { return cuLaunchGridAsync(function, 1, 1, NULL); }
