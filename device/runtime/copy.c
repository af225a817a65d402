/* Copies of a line of bytes: between addresses, to and from variables, between devices. */
#include "runtime/runtime.h"

cudaError_t run_cudaMemcpy(void *to, const void *from, size_t count, enum cudaMemcpyKind kind)
{
    if (!count) return cudaSuccess;
    switch (kind) {
    case cudaMemcpyHostToDevice: return (cudaError_t)PTDS_OF(cuMemcpyHtoD_v2)(ADDRESS(to), from, count);
    case cudaMemcpyDeviceToHost: return (cudaError_t)PTDS_OF(cuMemcpyDtoH_v2)(to, ADDRESS(from), count);
    case cudaMemcpyDeviceToDevice:
        return (cudaError_t)PTDS_OF(cuMemcpyDtoD_v2)(ADDRESS(to), ADDRESS(from), count);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault: return (cudaError_t)PTDS_OF(cuMemcpy)(ADDRESS(to), ADDRESS(from), count);
    default: return cudaErrorInvalidMemcpyDirection;
    }
}

cudaError_t run_cudaMemcpyAsync(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                                cudaStream_t stream)
{
    if (!count) return cudaSuccess;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return (cudaError_t)PTSZ_OF(cuMemcpyHtoDAsync_v2)(ADDRESS(to), from, count, stream);
    case cudaMemcpyDeviceToHost:
        return (cudaError_t)PTSZ_OF(cuMemcpyDtoHAsync_v2)(to, ADDRESS(from), count, stream);
    case cudaMemcpyDeviceToDevice:
        return (cudaError_t)PTSZ_OF(cuMemcpyDtoDAsync_v2)(ADDRESS(to), ADDRESS(from), count, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return (cudaError_t)PTSZ_OF(cuMemcpyAsync)(ADDRESS(to), ADDRESS(from), count, stream);
    default: return cudaErrorInvalidMemcpyDirection;
    }
}

cudaError_t run_cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t count)
{
    CUcontext to_context, from_context;
    TRY(runtime_primary(to_device, &to_context));
    TRY(runtime_primary(from_device, &from_context));
    if (!count) return cudaSuccess;
    return (cudaError_t)cuMemcpyPeer(ADDRESS(to), to_context, ADDRESS(from), from_context, count);
}

cudaError_t run_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t count,
                                    cudaStream_t stream)
{
    CUcontext to_context, from_context;
    TRY(runtime_primary(to_device, &to_context));
    TRY(runtime_primary(from_device, &from_context));
    if (!count) return cudaSuccess;
    return (cudaError_t)cuMemcpyPeerAsync(ADDRESS(to), to_context, ADDRESS(from), from_context, count,
                                          stream);
}

cudaError_t runtime_part(const void *symbol, size_t count, size_t offset, void **out)
{
    Variable variable;
    TRY(runtime_variable(symbol, &variable));
    if (offset > variable.size || count > variable.size - offset) return cudaErrorInvalidValue;
    *out = (void *)(uintptr_t)(variable.address + offset);
    return cudaSuccess;
}

static bool goes_to_device(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

static bool comes_from_device(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

cudaError_t run_cudaMemcpyToSymbol(const void *symbol, const void *from, size_t count, size_t offset,
                                   enum cudaMemcpyKind kind)
{
    void *to;
    if (!goes_to_device(kind)) return cudaErrorInvalidMemcpyDirection;
    TRY(runtime_part(symbol, count, offset, &to));
    return run_cudaMemcpy(to, from, count, kind);
}

cudaError_t run_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t count, size_t offset,
                                        enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *to;
    if (!goes_to_device(kind)) return cudaErrorInvalidMemcpyDirection;
    TRY(runtime_part(symbol, count, offset, &to));
    return run_cudaMemcpyAsync(to, from, count, kind, stream);
}

cudaError_t run_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t count, size_t offset,
                                     enum cudaMemcpyKind kind)
{
    void *from;
    if (!comes_from_device(kind)) return cudaErrorInvalidMemcpyDirection;
    TRY(runtime_part(symbol, count, offset, &from));
    return run_cudaMemcpy(to, from, count, kind);
}

cudaError_t run_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t count, size_t offset,
                                          enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *from;
    if (!comes_from_device(kind)) return cudaErrorInvalidMemcpyDirection;
    TRY(runtime_part(symbol, count, offset, &from));
    return run_cudaMemcpyAsync(to, from, count, kind, stream);
}

#if CUDART_MAJOR >= 13
cudaError_t run_cudaMemcpyWithAttributesAsync(void *to, const void *from, size_t size,
                                              struct cudaMemcpyAttributes *attributes, cudaStream_t stream)
{
    CUdeviceptr to_address = ADDRESS(to), from_address = ADDRESS(from);
    size_t start = 0;
    return (cudaError_t)PTSZ_OF(cuMemcpyBatchAsync_v2)(&to_address, &from_address, &size, 1, attributes,
                                                       &start, 1, stream);
}
#endif
