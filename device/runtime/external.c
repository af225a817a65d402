/* Memory and semaphores of other interfaces: the runtime's descriptions as the driver's, which are longer in
 * CUDA 12. */
#include "runtime/runtime.h"

cudaError_t run_cudaImportExternalMemory(cudaExternalMemory_t *out,
                                         const struct cudaExternalMemoryHandleDesc *desc)
{
    if (!desc) return cudaErrorInvalidValue;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC driver = {
        .type = desc->type, .handle = desc->handle, .size = desc->size, .flags = desc->flags};
    return (cudaError_t)cuImportExternalMemory(out, &driver);
}

cudaError_t run_cudaExternalMemoryGetMappedBuffer(void **out, cudaExternalMemory_t memory,
                                                  const struct cudaExternalMemoryBufferDesc *desc)
{
    if (!desc) return cudaErrorInvalidValue;
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC driver = {
        .offset = desc->offset, .size = desc->size, .flags = desc->flags};
    return (cudaError_t)cuExternalMemoryGetMappedBuffer((CUdeviceptr *)out, memory, &driver);
}

cudaError_t run_cudaExternalMemoryGetMappedMipmappedArray(
    cudaMipmappedArray_t *out, cudaExternalMemory_t memory,
    const struct cudaExternalMemoryMipmappedArrayDesc *desc)
{
    ElementFormat element;
    if (!desc) return cudaErrorInvalidValue;
    TRY(runtime_element_format(&desc->formatDesc, &element));
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC driver = {.offset = desc->offset,
                                                        .shape = {desc->extent.width, desc->extent.height,
                                                                  desc->extent.depth, element.format,
                                                                  element.channels, desc->flags},
                                                        .levels = desc->numLevels};
    return (cudaError_t)cuExternalMemoryGetMappedMipmappedArray(out, memory, &driver);
}

cudaError_t run_cudaImportExternalSemaphore(cudaExternalSemaphore_t *out,
                                            const struct cudaExternalSemaphoreHandleDesc *desc)
{
    if (!desc) return cudaErrorInvalidValue;
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC driver = {
        .type = desc->type, .handle = desc->handle, .flags = desc->flags};
    return (cudaError_t)cuImportExternalSemaphore(out, &driver);
}
