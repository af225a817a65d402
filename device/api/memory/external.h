/* Memory and semaphores that other interfaces (Vulkan and the like) share by file descriptors.
 *
 * No other interface makes memory that the CPU device could use. What can be imported are descriptors of its
 * own memory (physical.h), as external memory or as a semaphore. As in NVIDIA's driver the semaphore is then
 * the first word of that memory: it is 1 when the semaphore is signaled, and a stream that has waited writes
 * 0.
 */
#ifndef DEVICE_API_MEMORY_EXTERNAL_H
#define DEVICE_API_MEMORY_EXTERNAL_H

#include "api/base/external.h"
#include "api/stream/queue.h"

typedef struct CUextSemaphore_st ExternalSemaphore;

/* Maps a part of the memory at a new address of the context, until memory_release(*out). */
CUresult external_map(Context *context, CUexternalMemory handle, uint64_t offset, uint64_t size,
                      CUdeviceptr *out);

/* Looks up the semaphores. *out is an array with a reference to each, for external_semaphores_put(). An
 * error if a handle or its parameters are not valid. */
CUresult external_semaphores_enter(const SemaphoresNodeParams *params, ExternalSemaphore ***out);
/* Puts the references and frees the array. */
void external_semaphores_put(ExternalSemaphore **semaphores, unsigned count);
/* Signals each semaphore, or waits for each; called by a task of the stream. A task that waits must be
 * endless (Task.endless). */
void external_semaphores_do(ExternalSemaphore *const *semaphores, unsigned count, bool wait, Stream *stream);

#endif
