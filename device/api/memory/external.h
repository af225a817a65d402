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

/* The semaphores, each with a reference, in an array that is the caller's: live ones, with parameters such as
 * they can have. */
CUresult external_semaphores_enter(const SemaphoresNodeParams *params, ExternalSemaphore ***out);
/* Gives the references back, and the array. */
void external_semaphores_put(ExternalSemaphore **semaphores, unsigned count);
/* Signals each, or waits for each: for a task of the stream, which is endless if it waits. */
void external_semaphores_do(ExternalSemaphore *const *semaphores, unsigned count, bool wait, Stream *stream);

#endif
