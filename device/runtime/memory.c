/* Memory: allocation, release, what an address is, and where managed memory should be. */
#include "runtime/runtime.h"

cudaError_t run_cudaMalloc(void **out, size_t size)
{
    if (!out) return cudaErrorInvalidValue;
    *out = NULL;
    return size ? (cudaError_t)cuMemAlloc_v2((CUdeviceptr *)out, size) : cudaSuccess;
}

cudaError_t run_cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    enum { ELEMENT_BYTES = 4 };
    if (!out || !pitch) return cudaErrorInvalidValue;
    *out = NULL;
    if (!width || !height) {
        *pitch = 0;
        return cudaSuccess;
    }
    return (cudaError_t)cuMemAllocPitch_v2((CUdeviceptr *)out, pitch, width, height, ELEMENT_BYTES);
}

cudaError_t run_cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
    if (!out) return cudaErrorInvalidValue;
    *out = (struct cudaPitchedPtr){NULL, 0, extent.width, extent.height};
    return run_cudaMallocPitch(&out->ptr, &out->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t run_cudaMallocHost(void **out, size_t size) { return run_cudaHostAlloc(out, size, 0); }

cudaError_t run_cudaHostAlloc(void **out, size_t size, unsigned int flags)
{
    if (!out) return cudaErrorInvalidValue;
    *out = NULL;
    return size ? (cudaError_t)cuMemHostAlloc(out, size, flags) : cudaSuccess;
}

cudaError_t run_cudaMallocManaged(void **out, size_t size, unsigned int flags)
{
    if (!out) return cudaErrorInvalidValue;
    *out = NULL;
    return size ? (cudaError_t)cuMemAllocManaged((CUdeviceptr *)out, size, flags) : cudaSuccess;
}

/* Of NULL too the driver returns the error of a context that a kernel has ended. */
cudaError_t run_cudaFree(void *address) { return (cudaError_t)cuMemFree_v2(ADDRESS(address)); }

cudaError_t run_cudaFreeHost(void *address)
{
    return address ? (cudaError_t)cuMemFreeHost(address) : cudaSuccess;
}

cudaError_t run_cudaMallocAsync(void **out, size_t size, cudaStream_t stream)
{
    if (!out) return cudaErrorInvalidValue;
    *out = NULL;
    return size ? (cudaError_t)PTSZ_OF(cuMemAllocAsync)((CUdeviceptr *)out, size, stream) : cudaSuccess;
}

cudaError_t run_cudaMallocFromPoolAsync(void **out, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    if (!out) return cudaErrorInvalidValue;
    *out = NULL;
    if (!size) return cudaSuccess;
    return (cudaError_t)PTSZ_OF(cuMemAllocFromPoolAsync)((CUdeviceptr *)out, size, pool, stream);
}

/* enum cudaMemoryType */
enum { MEMORY_UNREGISTERED, MEMORY_HOST, MEMORY_DEVICE, MEMORY_MANAGED };

cudaError_t run_cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *pointer)
{
    CUmemorytype type = 0;
    unsigned int managed = 0;
    int device = CU_DEVICE_INVALID;
    CUdeviceptr on_device = 0;
    void *on_host = NULL;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *values[] = {&type, &managed, &device, &on_device, &on_host};
    if (!out) return cudaErrorInvalidValue;
    TRY(cuPointerGetAttributes(sizeof names / sizeof *names, names, values, ADDRESS(pointer)));
    *out = (struct cudaPointerAttributes){.type = managed                        ? MEMORY_MANAGED
                                                  : type == CU_MEMORYTYPE_HOST   ? MEMORY_HOST
                                                  : type == CU_MEMORYTYPE_DEVICE ? MEMORY_DEVICE
                                                                                 : MEMORY_UNREGISTERED,
                                          .device = device,
                                          .devicePointer = (void *)(uintptr_t)on_device,
                                          .hostPointer = on_host};
    if (out->type == MEMORY_UNREGISTERED) out->hostPointer = (void *)(uintptr_t)pointer;
    return cudaSuccess;
}

cudaError_t run_cudaMemset(void *to, int value, size_t count)
{
    if (!count) return cudaSuccess;
    return (cudaError_t)PTDS_OF(cuMemsetD8_v2)(ADDRESS(to), (unsigned char)value, count);
}

cudaError_t run_cudaMemsetAsync(void *to, int value, size_t count, cudaStream_t stream)
{
    if (!count) return cudaSuccess;
    return (cudaError_t)PTSZ_OF(cuMemsetD8Async)(ADDRESS(to), (unsigned char)value, count, stream);
}

cudaError_t run_cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    if (!width || !height) return cudaSuccess;
    return (cudaError_t)PTDS_OF(cuMemsetD2D8_v2)(ADDRESS(to), pitch, (unsigned char)value, width, height);
}

cudaError_t run_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                  cudaStream_t stream)
{
    if (!width || !height) return cudaSuccess;
    return (cudaError_t)PTSZ_OF(cuMemsetD2D8Async)(ADDRESS(to), pitch, (unsigned char)value, width, height,
                                                   stream);
}

/* Slice by slice; of full slices all at once. */
cudaError_t run_cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
    size_t slice = to.pitch * to.ysize;
    if (extent.height == to.ysize)
        return run_cudaMemset2D(to.ptr, to.pitch, value, extent.width, extent.height * extent.depth);
    for (size_t z = 0; z < extent.depth; z++)
        TRY(run_cudaMemset2D((char *)to.ptr + z * slice, to.pitch, value, extent.width, extent.height));
    return cudaSuccess;
}

cudaError_t run_cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                                  cudaStream_t stream)
{
    size_t slice = to.pitch * to.ysize;
    if (extent.height == to.ysize)
        return run_cudaMemset2DAsync(to.ptr, to.pitch, value, extent.width, extent.height * extent.depth,
                                     stream);
    for (size_t z = 0; z < extent.depth; z++)
        TRY(run_cudaMemset2DAsync((char *)to.ptr + z * slice, to.pitch, value, extent.width, extent.height,
                                  stream));
    return cudaSuccess;
}
