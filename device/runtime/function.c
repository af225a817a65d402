/* Attributes, names and parameters of functions, and how many of their blocks fit. */
#include "runtime/runtime.h"

/* Where the kernel cannot be found, *out is the host function: the launch then names the error. */
cudaError_t run___cudaGetKernel(cudaKernel_t *out, const void *host)
{
    *out = (cudaKernel_t)host;
    return runtime_registered_kernel(host, out);
}

cudaError_t run_cudaGetKernel(cudaKernel_t *out, const void *host)
{
    return out ? runtime_registered_kernel(host, out) : cudaErrorInvalidValue;
}

cudaError_t run_cudaGetFuncBySymbol(cudaFunction_t *out, const void *host)
{
    cudaKernel_t kernel;
    if (!out) return cudaErrorInvalidValue;
    TRY(runtime_registered_kernel(host, &kernel));
    return (cudaError_t)cuKernelGetFunction(out, kernel);
}

/* INT(field, attribute) and SIZE(field, attribute) of struct cudaFuncAttributes. */
#define FUNCTION_ATTRIBUTES \
    SIZE(sharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) \
    SIZE(constSizeBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES) \
    SIZE(localSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) \
    INT(maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) \
    INT(numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS) \
    INT(ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION) \
    INT(binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION) \
    INT(cacheModeCA, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA) \
    INT(maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) \
    INT(preferredShmemCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) \
    INT(clusterDimMustBeSet, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) \
    INT(requiredClusterWidth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) \
    INT(requiredClusterHeight, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT) \
    INT(requiredClusterDepth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH) \
    INT(clusterSchedulingPolicyPreference, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE) \
    INT(nonPortableClusterSizeAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)

cudaError_t run_cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *host)
{
    CUfunction function;
    int value;
    if (!out) return cudaErrorInvalidValue;
    TRY(runtime_function(host, &function));
    *out = (struct cudaFuncAttributes){0};
#define INT(field, attribute) \
    TRY(cuFuncGetAttribute(&value, attribute, function)); \
    out->field = value;
#define SIZE(field, attribute) \
    TRY(cuFuncGetAttribute(&value, attribute, function)); \
    out->field = (size_t)value;
    FUNCTION_ATTRIBUTES
#undef INT
#undef SIZE
    return cudaSuccess;
}

cudaError_t run_cudaFuncSetAttribute(const void *host, unsigned int attribute, int value)
{
    CUfunction function;
    TRY(runtime_function(host, &function));
    return (cudaError_t)cuFuncSetAttribute(function, (CUfunction_attribute)attribute, value);
}

cudaError_t run_cudaFuncSetCacheConfig(const void *host, unsigned int config)
{
    CUfunction function;
    TRY(runtime_function(host, &function));
    return (cudaError_t)cuFuncSetCacheConfig(function, config);
}

cudaError_t run_cudaFuncSetSharedMemConfig(const void *host, unsigned int config)
{
    CUfunction function;
    TRY(runtime_function(host, &function));
    return (cudaError_t)cuFuncSetSharedMemConfig(function, config);
}

cudaError_t run_cudaFuncGetName(const char **name, const void *host)
{
    CUfunction function;
    if (!name) return cudaErrorInvalidValue;
    TRY(runtime_function(host, &function));
    return (cudaError_t)cuFuncGetName(name, function);
}

cudaError_t run_cudaFuncGetParamInfo(const void *host, size_t index, size_t *offset, size_t *size)
{
    CUfunction function;
    TRY(runtime_function(host, &function));
    return (cudaError_t)cuFuncGetParamInfo(function, index, offset, size);
}

#if CUDART_MAJOR >= 13
cudaError_t run_cudaFuncGetParamCount(const void *host, size_t *count)
{
    CUfunction function;
    size_t offset, size;
    if (!count) return cudaErrorInvalidValue;
    TRY(runtime_function(host, &function));
    for (*count = 0; !cuFuncGetParamInfo(function, *count, &offset, &size);) ++*count;
    return cudaSuccess;
}
#endif

cudaError_t run_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *out, const void *host, int block,
                                                              size_t shared)
{
    CUfunction function;
    TRY(runtime_function(host, &function));
    return (cudaError_t)cuOccupancyMaxActiveBlocksPerMultiprocessor(out, function, block, shared);
}

cudaError_t run_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, const void *host, int block,
                                                                       size_t shared, unsigned int flags)
{
    CUfunction function;
    TRY(runtime_function(host, &function));
    return (cudaError_t)cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, function, block, shared,
                                                                             flags);
}

cudaError_t run_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *out, const void *host, int blocks,
                                                          int block)
{
    CUfunction function;
    TRY(runtime_function(host, &function));
    return (cudaError_t)cuOccupancyAvailableDynamicSMemPerBlock(out, function, blocks, block);
}
