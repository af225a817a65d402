/* The state of a context that calls query and set: device, flags, limits, cache preferences, peers; waiting
 * for its work. */
#include "api/context/upcalls.h"

static CUresult synchronize_context(Context *context)
{
    TRY(capture_check_context(context));
    TRY(queue_wait_context(context));
    pools_observe(context->device, NULL);
    context_flush(context);
    return context_error(context);
}

CUresult cuCtxSynchronize(void)
{
    Context *context;
    TRY(context_enter_any(&context));
    return synchronize_context(context);
}

CUresult cuCtxSynchronize_v2(CUcontext handle)
{
    Context *context;
    TRY(context_resolve(handle, &context));
    CUresult result = synchronize_context(context);
    context_put(context);
    return result;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    Context *context;
    TRY(context_enter_any(&context));
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = context->device->ordinal;
    return CUDA_SUCCESS;
}

/* Defines a function that writes `fact`, an expression of `context`, to *out. Its parameters are `params`,
 * one of which must be named `handle`. */
#define CONTEXT_FACT(function, params, out, fact) \
    CUresult function params \
    { \
        Context *context; \
        TRY(context_resolve(handle, &context)); \
        if (out) *out = (fact); \
        context_put(context); \
        return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; \
    }
CONTEXT_FACT(cuCtxGetDevice_v2, (CUdevice * out, CUcontext handle), out, context->device->ordinal)
CONTEXT_FACT(cuCtxGetApiVersion, (CUcontext handle, unsigned int *out), out, context->version)
#undef CONTEXT_FACT

/* A derived context has an id of its own, but context_resolve() returns its base: it is called for its
 * errors only. */
CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    Context *context;
    TRY(context_resolve(handle, &context));
    context_put(context);
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    if (!handle) {
        *id = atomic_load(&context_on_top()->id);
        return CUDA_SUCCESS;
    }
    TRY(context_named(handle, &context));
    *id = atomic_load(&context->id);
    context_put(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
    Context *context;
    TRY(context_enter_any(&context));
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = atomic_load(&context->flags);
    return CUDA_SUCCESS;
}

/* The flags are kept, for cuCtxGetFlags. How a thread waits, whether host memory can be mapped, and whether
 * local memory is kept does not depend on them. */
CUresult cuCtxSetFlags(unsigned int flags)
{
    Context *context;
    TRY(context_enter(&context));
    if (!context_flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
    atomic_store(&context->flags, flags);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
    Context *context;
    TRY(context_enter(&context));
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    *config = atomic_load(&context->cache_config);
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    Context *context;
    TRY(context_enter(&context));
    if (config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    atomic_store(&context->cache_config, config);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    Context *context;
    TRY(context_enter(&context));
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    *config = atomic_load(&context->shared_config);
    return CUDA_SUCCESS;
}

/* Banks are four bytes wide, as on every GPU since Maxwell: asking for others changes nothing. */
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    Context *context;
    TRY(context_enter(&context));
    return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
    Context *context;
    return context_enter(&context);
}

/* Whether cuCtxGetLimit knows the limit. */
static bool has_limit(CUlimit limit) { return limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE; }

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    Context *context;
    TRY(context_enter(&context));
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (!has_limit(limit)) return CUDA_ERROR_INVALID_VALUE;
    *value = atomic_load(&context->limits[limit]);
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    enum { MAX_STACK = 512 * 1024, STACK_UNIT = 16, MAX_FETCH = 128, MIN_PENDING_LAUNCHES = 32 };
    Context *context;
    TRY(context_enter(&context));
    if (!has_limit(limit)) return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (limit == CU_LIMIT_STACK_SIZE && value > MAX_STACK) return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > MAX_FETCH) return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE && context->heap && value != atomic_load(&context->limits[limit]))
        return CUDA_ERROR_INVALID_VALUE; /* kernels may hold memory of the heap */
    if (limit == CU_LIMIT_STACK_SIZE) value = (value + STACK_UNIT - 1) & ~(size_t)(STACK_UNIT - 1);
    if (limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT && value < MIN_PENDING_LAUNCHES)
        value = MIN_PENDING_LAUNCHES; /* as on a GPU */
    atomic_store(&context->limits[limit], value);
    return CUDA_SUCCESS;
}

/* The device of the context with that handle, and its bit in another context's `peers`. */
static CUresult peer_bit(CUcontext handle, Device **device, uint64_t *bit)
{
    Context *peer;
    if (!handle) return CUDA_ERROR_INVALID_CONTEXT;
    TRY(context_resolve(handle, &peer));
    *device = peer->device;
    *bit = UINT64_C(1) << peer->device->ordinal;
    context_put(peer);
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    Context *context;
    Device *device;
    uint64_t bit;
    TRY(context_enter(&context));
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    TRY(peer_bit(peer, &device, &bit));
    if (device == context->device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    uint64_t before = atomic_fetch_or(&context->peers, bit);
    return before & bit ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    Context *context;
    Device *device;
    uint64_t bit;
    TRY(context_enter(&context));
    TRY(peer_bit(peer, &device, &bit));
    uint64_t before = atomic_fetch_and(&context->peers, ~bit);
    return before & bit ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
