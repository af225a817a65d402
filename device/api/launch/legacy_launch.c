/* The launch interface that preceded cuLaunchKernel: a function keeps the shape, the size of shared memory
 * and the parameters that its next launches have. */
#include <stdlib.h>
#include <string.h>

#include "api/device/device_limits.h"
#include "api/launch/launch.h"
#include "api/stream/stream.h"

enum { MAX_PARAMETERS = 32764 }; /* bytes: the maximum for a kernel */

/* What was set of a function for its next launches. */
struct LegacyLaunch {
    uint32_t block[3];    /* threads along x, y, z */
    uint32_t shared;      /* bytes of dynamic shared memory */
    uint32_t size;        /* bytes of the parameters, by cuParamSetSize */
    uint8_t parameters[]; /* code->param_size bytes; those not set are zero */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for legacy_launch of all functions */

/* What is kept for the function, made at the first call; NULL if out of memory. */
static LegacyLaunch *kept_locked(Function *function)
{
    LegacyLaunch *kept = function->legacy_launch;
    if (kept) return kept;
    kept = function->legacy_launch = calloc(1, sizeof *kept + function->code->param_size);
    for (int i = 0; kept && i < 3; i++) kept->block[i] = 1;
    return kept;
}

/* The function of a module, with a reference. A CUkernel of a library is an error: it is newer than this
 * interface. */
static CUresult enter_function(CUfunction handle, Function **out)
{
    Context *context;
    TRY(context_enter(&context));
    *out = handle ? object_get(handle, OBJECT_FUNCTION) : NULL;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Copies bytes to offset `place` of the function's LegacyLaunch; what is beyond its end is dropped. Releases
 * the caller's reference to the function. */
static CUresult keep_bytes(Function *function, size_t place, const void *bytes, size_t size)
{
    size_t capacity = sizeof(LegacyLaunch) + function->code->param_size;
    pthread_mutex_lock(&lock);
    LegacyLaunch *kept = kept_locked(function);
    if (kept && size && place < capacity)
        memcpy((uint8_t *)kept + place, bytes, size < capacity - place ? size : capacity - place);
    pthread_mutex_unlock(&lock);
    PUT(function);
    return kept ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static bool is_block(const uint32_t block[3])
{
    static const uint32_t max[3] = {DEVICE_MAX_THREADS, DEVICE_MAX_THREADS, DEVICE_MAX_BLOCK_Z};
    uint32_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!block[i] || block[i] > max[i] || block[i] > DEVICE_MAX_THREADS / threads) return false;
        threads *= block[i];
    }
    return true;
}

CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z)
{
    Function *function;
    uint32_t block[3] = {(uint32_t)x, (uint32_t)y, (uint32_t)z};
    TRY(enter_function(handle, &function));
    if (is_block(block)) return keep_bytes(function, offsetof(LegacyLaunch, block), block, sizeof block);
    PUT(function);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetSharedSize(CUfunction handle, unsigned int bytes)
{
    Function *function;
    TRY(enter_function(handle, &function));
    if (bytes <= (unsigned)function_max_dynamic_shared(function->code, &function->settings))
        return keep_bytes(function, offsetof(LegacyLaunch, shared), &bytes, sizeof bytes);
    PUT(function);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuParamSetSize(CUfunction handle, unsigned int size)
{
    Function *function;
    TRY(enter_function(handle, &function));
    if (size <= MAX_PARAMETERS) return keep_bytes(function, offsetof(LegacyLaunch, size), &size, sizeof size);
    PUT(function);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuParamSetv(CUfunction handle, int offset, void *bytes, unsigned int size)
{
    Function *function;
    TRY(enter_function(handle, &function));
    if (bytes && offset >= 0 && offset <= MAX_PARAMETERS && size <= (unsigned)(MAX_PARAMETERS - offset))
        return keep_bytes(function, offsetof(LegacyLaunch, parameters) + (size_t)offset, bytes, size);
    PUT(function);
    return CUDA_ERROR_INVALID_VALUE;
}

/* Changes nothing, for any unit: kernels see all references of their module, and no others. */
CUresult cuParamSetTexRef(CUfunction handle, int unit, CUtexref texture)
{
    Function *function;
    (void)unit;
    TRY(enter_function(handle, &function));
    PUT(function);
    return reference_check_bound(texture);
}

CUresult cuParamSeti(CUfunction function, int offset, unsigned int value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction function, int offset, float value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

/* Copies the block, shared memory and parameters that are kept. CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES if
 * cuParamSetSize was given more bytes than the kernel has. */
static CUresult copy_kept(Function *function, LaunchConfig *shape, uint8_t *parameters)
{
    size_t size = function->code->param_size;
    pthread_mutex_lock(&lock);
    const LegacyLaunch *kept = kept_locked(function);
    bool fits = kept && kept->size <= size;
    if (fits) {
        memcpy(shape->block, kept->block, sizeof shape->block);
        shape->dynamic_shared = kept->shared;
        memcpy(parameters, kept->parameters, kept->size);
    }
    pthread_mutex_unlock(&lock);
    if (!kept) return CUDA_ERROR_OUT_OF_MEMORY;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

static CUresult launch_with_kept(Function *function, CUstream handle, int width, int height)
{
    Stream *stream;
    TRY(stream_enter(handle, &stream)); /* an error if the stream is captured */
    PUT(stream);
    LaunchConfig shape = {.grid = {(uint32_t)width, (uint32_t)height, 1}};
    size_t size = function->code->param_size;
    uint8_t *parameters = calloc(1, size + 1);
    if (!parameters) return CUDA_ERROR_OUT_OF_MEMORY;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUresult result = copy_kept(function, &shape, parameters);
    if (!result) result = launch_function(function, handle, &shape, NULL, extra);
    free(parameters);
    return result;
}

CUresult cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream)
{
    Function *function;
    TRY(enter_function(handle, &function));
    CUresult result = launch_with_kept(function, stream, width, height);
    PUT(function);
    return result;
}

CUresult cuLaunchGrid(CUfunction function, int width, int height)
{
    return cuLaunchGridAsync(function, width, height, NULL);
}

CUresult cuLaunch(CUfunction function) { return cuLaunchGridAsync(function, 1, 1, NULL); }
