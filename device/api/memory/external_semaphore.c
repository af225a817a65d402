/* Semaphores of other interfaces: signaled and waited for by streams. See external.h. */
#include "api/memory/external.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/base/log.h"
#include "api/memory/ipc.h"
#include "api/memory/memory.h"
#include "api/memory/physical.h"
#include "api/memory/stream_values.h"
#include "api/stream/capture.h"
#include "api/stream/stream.h"

struct CUextSemaphore_st {
    Object object;
    CUdeviceptr word; /* of 4 bytes, in a mapping that it owns */
};

/* CUexternalSemaphoreHandleType. */
enum { OPAQUE_FD = 1, TIMELINE_SEMAPHORE_FD = 9, LAST_TYPE = 10 };

static void semaphore_release(Object *object)
{
    memory_release_of(object, ((ExternalSemaphore *)object)->word);
}

/* Checks the kind of the handle. Only those of Linux are supported. */
static CUresult check_semaphore_handle(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *handle)
{
    int type = handle->type;
    if (handle->flags || type < OPAQUE_FD || type > LAST_TYPE) return CUDA_ERROR_INVALID_VALUE;
    if (type != OPAQUE_FD && type != TIMELINE_SEMAPHORE_FD) return CUDA_ERROR_NOT_SUPPORTED;
    if (type == OPAQUE_FD) return CUDA_SUCCESS;
    if (handle->handle.fd < 0) return CUDA_ERROR_INVALID_VALUE;
    log_error("%d is not a descriptor of a timeline semaphore: the CPU device has none", handle->handle.fd);
    return CUDA_ERROR_UNKNOWN;
}

/* Maps the first word of the memory that the descriptor is of. */
static CUresult map_word(Context *context, int descriptor, CUdeviceptr *out)
{
    Physical *physical;
    IpcHandle part = {.size = sizeof(uint32_t)};
    CUresult result = physical_import(descriptor, &physical);
    if (result) return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_UNKNOWN : result;
    result = ipc_map(context, &part, &physical->file, NULL, true, out);
    PUT(physical);
    return result;
}

CUresult cuImportExternalSemaphore(CUexternalSemaphore *out,
                                   const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *handle)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out || !handle) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_semaphore_handle(handle));
    ExternalSemaphore *semaphore = object_new(OBJECT_EXTERNAL_SEMAPHORE, sizeof *semaphore, context, NULL);
    if (!semaphore) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = map_word(context, handle->handle.fd, &semaphore->word);
    if (!result) {
        semaphore->object.release = semaphore_release;
        result = object_publish(OBJECT(semaphore));
    }
    if (!result) {
        close(handle->handle.fd); /* which the import takes over */
        *out = semaphore;
    }
    PUT(semaphore);
    return result;
}

/* Queued work has references: it still uses the semaphore. */
CUresult cuDestroyExternalSemaphore(CUexternalSemaphore handle)
{
    Context *context;
    TRY(context_enter_any(&context));
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    ExternalSemaphore *semaphore = object_get(handle, OBJECT_EXTERNAL_SEMAPHORE);
    if (!semaphore) return CUDA_ERROR_INVALID_HANDLE;
    bool mine = object_retire(OBJECT(semaphore));
    PUT(semaphore);
    return mine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- Signals and waits ---- */

static CUresult enter_semaphore(CUexternalSemaphore handle, const SemaphoreParams *params,
                                ExternalSemaphore **out)
{
    if (!handle || params->flags) return CUDA_ERROR_INVALID_VALUE;
    *out = object_get(handle, OBJECT_EXTERNAL_SEMAPHORE);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult external_semaphores_enter(const SemaphoresNodeParams *params, ExternalSemaphore ***out)
{
    CUresult result = CUDA_SUCCESS;
    if (!params->semaphores || !params->params || !params->count) return CUDA_ERROR_INVALID_VALUE;
    ExternalSemaphore **semaphores = calloc(params->count, sizeof *semaphores);
    if (!semaphores) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < params->count && !result; i++)
        result = enter_semaphore(params->semaphores[i], &params->params[i], &semaphores[i]);
    if (result)
        external_semaphores_put(semaphores, params->count);
    else
        *out = semaphores;
    return result;
}

void external_semaphores_put(ExternalSemaphore **semaphores, unsigned count)
{
    for (unsigned i = 0; i < count; i++) object_put((Object *)(void *)semaphores[i]);
    free(semaphores);
}

void external_semaphores_do(ExternalSemaphore *const *semaphores, unsigned count, bool wait, Stream *stream)
{
    for (unsigned i = 0; i < count; i++) {
        CUdeviceptr word = semaphores[i]->word;
        const CUstreamBatchMemOpParams steps[] = {
            {.operation = wait ? WAIT_32 : WRITE_32,
             .address = word,
             .value = 1,
             .flags = wait ? WAIT_EQ : 0},
            {.operation = WRITE_32, .address = word, .value = 0},
        };
        stream_values_do(steps, wait ? 2 : 1, stream);
    }
}

typedef struct SemaphoresTask {
    Task task;
    ExternalSemaphore **semaphores; /* owned */
    unsigned count;
    bool wait;
} SemaphoresTask;

static void run(Task *self, Stream *stream)
{
    const SemaphoresTask *task = (const SemaphoresTask *)self;
    external_semaphores_do(task->semaphores, task->count, task->wait, stream);
}

static void release(Task *self)
{
    const SemaphoresTask *task = (const SemaphoresTask *)self;
    external_semaphores_put(task->semaphores, task->count);
    free(self);
}

static CUresult submit_semaphores(Stream *stream, const SemaphoresNodeParams *params, bool wait)
{
    TRY(queue_wait_room(stream));
    SemaphoresTask *task = calloc(1, sizeof *task);
    CUresult result = task ? external_semaphores_enter(params, &task->semaphores) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        free(task);
        return result;
    }
    task->task.run = run;
    task->task.release = release;
    task->task.endless = wait;
    task->count = params->count;
    task->wait = wait;
    queue_submit(stream, &task->task, NULL);
    return CUDA_SUCCESS;
}

/* The last argument of queue_or_capture(). */
enum { SIGNAL = false, WAIT = true };

static CUresult queue_or_capture(const CUexternalSemaphore *semaphores, const SemaphoreParams *params,
                                 unsigned count, CUstream handle, bool wait)
{
    Stream *stream;
    SemaphoresNodeParams all = {(CUexternalSemaphore *)semaphores, params, count};
    TRY(stream_enter_to_submit(handle, &stream));
    CUresult result = stream_is_captured(stream) ? capture_add_semaphores(stream, &all, wait)
                                                 : submit_semaphores(stream, &all, wait);
    PUT(stream);
    return result;
}

CUresult cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *semaphores, const SemaphoreParams *params,
                                         unsigned int count, CUstream stream)
{
    return queue_or_capture(semaphores, params, count, stream, SIGNAL);
}

CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *semaphores, const SemaphoreParams *params,
                                       unsigned int count, CUstream stream)
{
    return queue_or_capture(semaphores, params, count, stream, WAIT);
}
