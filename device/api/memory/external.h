/* Memory and semaphores that other interfaces (Vulkan and the like) share by file descriptors.
 *
 * No other interface makes any that the CPU device could use. What can be imported is its own memory
 * (physical.h): a descriptor of it is one of external memory, and of a semaphore, which then is the first
 * word of that memory, as NVIDIA's driver has it: 1 when it is signaled; the stream that has waited writes 0.
 */
#ifndef DEVICE_API_MEMORY_EXTERNAL_H
#define DEVICE_API_MEMORY_EXTERNAL_H

#include "api/base/external.h"
#include "api/stream/queue.h"

typedef struct CUextSemaphore_st ExternalSemaphore;

/* Maps a part of the memory at a new address of the context, until memory_release. */
CUresult external_map(Context *context, CUexternalMemory handle, uint64_t offset, uint64_t size,
                      CUdeviceptr *out);

/* Looks up the semaphores. *out is an array of the caller's, with a reference to each. An error if a handle
 * or its parameters are not valid. */
CUresult external_semaphores_enter(const SemaphoresNodeParams *params, ExternalSemaphore ***out);
/* Puts the references and frees the array. */
void external_semaphores_put(ExternalSemaphore **semaphores, unsigned count);
/* Signals each semaphore, or waits for each, in a task of the stream. A task that waits is an endless one. */
void external_semaphores_do(ExternalSemaphore *const *semaphores, unsigned count, bool wait, Stream *stream);

#endif
