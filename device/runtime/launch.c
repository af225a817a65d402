/* Launches: the configuration of <<<>>>, and the calls that launch. */
#include "runtime/runtime.h"

typedef struct Configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} Configuration;

/* <<<>>> within the arguments of another <<<>>> makes a stack of them. */
enum { MAX_CONFIGURATIONS = 32 };
static _Thread_local Configuration configurations[MAX_CONFIGURATIONS];
static _Thread_local unsigned configuration_count;

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    if (configuration_count == MAX_CONFIGURATIONS) return (unsigned)runtime_return(cudaErrorLaunchFailure);
    configurations[configuration_count++] = (Configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (!configuration_count) return runtime_return(cudaErrorMissingConfiguration);
    Configuration *top = &configurations[--configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}

/* The driver's error of a launch, as the runtime's: CUDA 12 has one for shapes that no kernel can have. */
static cudaError_t launch_error(CUresult result, dim3 grid, dim3 block)
{
    enum { MAX_BLOCK_Z = 64, MAX_THREADS = 1024, MAX_GRID_YZ = 65535 };
    if (CUDART_MAJOR >= 13 || result != CUDA_ERROR_INVALID_VALUE) return (cudaError_t)result;
    bool empty = !grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z;
    bool large = block.x > MAX_THREADS || block.y > MAX_THREADS || block.z > MAX_BLOCK_Z
                 || grid.y > MAX_GRID_YZ || grid.z > MAX_GRID_YZ
                 || (uint64_t)block.x * block.y * block.z > MAX_THREADS || grid.x > INT32_MAX;
    return empty || large ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue;
}

cudaError_t run_cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared,
                                 cudaStream_t stream)
{
    CUfunction kernel;
    TRY(runtime_kernel(host, &kernel));
    return launch_error(PTSZ_OF(cuLaunchKernel)(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                (unsigned)shared, stream, args, NULL),
                        grid, block);
}

cudaError_t run___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                   cudaStream_t stream)
{
    return run_cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

cudaError_t run_cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **args,
                                            size_t shared, cudaStream_t stream)
{
    CUfunction function;
    TRY(runtime_function(host, &function));
    return launch_error(PTSZ_OF(cuLaunchCooperativeKernel)(function, grid.x, grid.y, grid.z, block.x, block.y,
                                                           block.z, (unsigned)shared, stream, args),
                        grid, block);
}

static CUlaunchConfig driver_config(const cudaLaunchConfig_t *config)
{
    return (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = config->attrs,
        .numAttrs = config->numAttrs,
    };
}

cudaError_t run_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *host, void **args)
{
    CUfunction kernel;
    if (!config) return cudaErrorInvalidValue;
    TRY(runtime_kernel(host, &kernel));
    CUlaunchConfig launch = driver_config(config);
    return launch_error(PTSZ_OF(cuLaunchKernelEx)(&launch, kernel, args, NULL), config->gridDim,
                        config->blockDim);
}

cudaError_t run_cudaOccupancyMaxActiveClusters(int *out, const void *host, const cudaLaunchConfig_t *config)
{
    CUfunction function;
    if (!config) return cudaErrorInvalidValue;
    TRY(runtime_function(host, &function));
    CUlaunchConfig launch = driver_config(config);
    return (cudaError_t)cuOccupancyMaxActiveClusters(out, function, &launch);
}

cudaError_t run_cudaOccupancyMaxPotentialClusterSize(int *out, const void *host,
                                                     const cudaLaunchConfig_t *config)
{
    CUfunction function;
    if (!config) return cudaErrorInvalidValue;
    TRY(runtime_function(host, &function));
    CUlaunchConfig launch = driver_config(config);
    return (cudaError_t)cuOccupancyMaxPotentialClusterSize(out, function, &launch);
}

#if CUDART_MAJOR < 13
cudaError_t run_cudaLaunchCooperativeKernelMultiDevice(struct cudaLaunchParams *list, unsigned int count,
                                                       unsigned int flags)
{
    enum { MAX_LAUNCHES = 64 };
    CUDA_LAUNCH_PARAMS launches[MAX_LAUNCHES];
    if (!list || !count || count > MAX_LAUNCHES) return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; i++) {
        const struct cudaLaunchParams *from = &list[i];
        launches[i] = (CUDA_LAUNCH_PARAMS){NULL,
                                           from->gridDim.x,
                                           from->gridDim.y,
                                           from->gridDim.z,
                                           from->blockDim.x,
                                           from->blockDim.y,
                                           from->blockDim.z,
                                           (unsigned)from->sharedMem,
                                           from->stream,
                                           from->args};
        CUcontext context, before;
        TRY(cuStreamGetCtx(from->stream, &context));
        TRY(cuCtxGetCurrent(&before));
        TRY(cuCtxSetCurrent(context));
        cudaError_t error = runtime_function(from->func, &launches[i].function);
        TRY(cuCtxSetCurrent(before));
        TRY(error);
    }
    return (cudaError_t)cuLaunchCooperativeKernelMultiDevice(launches, count, flags);
}
#endif

#if CUDART_MAJOR >= 13
/* The function runs in the same thread as by cudaLaunchHostFunc, whatever the mode of waiting. */
cudaError_t run_cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t function, void *data,
                                      unsigned int mode)
{
    (void)mode;
    return (cudaError_t)PTSZ_OF(cuLaunchHostFunc)(stream, function, data);
}
#endif
