/* Copying: checks, the copy itself, its task, and the one-dimensional calls. */
#include "api/copy/copy.h"

#include <stdlib.h>
#include <string.h>

#include "api/copy/array.h"
#include "api/memory/memory.h"
#include "api/stream/capture.h"

/* The maximum of a copy in an idle stream that is done by the calling thread; the maximum that is staged:
 * whose pageable source is copied to a buffer, so that the copy can be queued. */
enum { INLINE_BYTES = 1 << 16, STAGED_BYTES = 1 << 20 };

/* The bytes that a side spans, from its first one to its last, with all gaps; false if that overflows. */
static bool side_extent(const CopyJob *job, const CopySide *side, uint64_t *bytes)
{
    uint64_t rows, layers;
    if (__builtin_mul_overflow(job->height - 1, side->pitch, &rows)) return false;
    if (__builtin_mul_overflow(job->depth - 1, side->slice, &layers)) return false;
    if (__builtin_add_overflow(rows, layers, bytes)) return false;
    return !__builtin_add_overflow(*bytes, job->width, bytes) && *bytes <= UINT64_MAX - side->address;
}

/* Whether the side is within one allocation or, unless it must be memory that the driver knows, in other host
 * memory. *pageable: it is in such other memory. */
static bool check_side(const CopyJob *job, const CopySide *side, bool *pageable)
{
    MemoryMap *map = driver_memory();
    MemoryRange range;
    uint64_t bytes;
    if (!side->address || !side_extent(job, side, &bytes)) return false;
    *pageable = !memory_map_find_for_call(map, side->address, 1, &range);
    if (!*pageable && range.kind == MEMORY_MAPPED)
        return memory_map_find_for_call(map, side->address, bytes, &range)
               && (side != &job->to || range.writers);
    if (!*pageable && side->device && memory_is_of_host_pool(&range)) return false;
    if (!*pageable)
        return bytes <= range.size - (side->address - range.base) || range.kind == MEMORY_REGISTERED;
    return !side->device && !memory_map_reserves(map, side->address);
}

/* Copies to the mapped tiles only. */
static void copy_mapped(const SparseTiles *sparse, uint64_t to, uint64_t from, uint64_t width)
{
    for (uint64_t bytes; width; to += bytes, from += bytes, width -= bytes) {
        bool mapped = sparse_is_mapped(sparse, to, &bytes);
        if (bytes > width) bytes = width;
        if (mapped) memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    }
}

static void copy_rows(const CopyJob *job)
{
    for (uint64_t z = 0; z < job->depth; z++)
        for (uint64_t y = 0; y < job->height; y++) {
            uint64_t to = job->to.address + z * job->to.slice + y * job->to.pitch;
            uint64_t from = job->from.address + z * job->from.slice + y * job->from.pitch;
            memory_map_copied(driver_memory(), to, from, job->width);
            if (job->to.sparse)
                copy_mapped(job->to.sparse, to, from, job->width);
            else
                memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, job->width);
        }
}

/* Does the copy; rows without gaps become a single row. */
static void copy_run(CopyJob job)
{
    bool packed = job.to.pitch == job.width && job.from.pitch == job.width;
    if (job.height > 1 && packed
        && (job.depth == 1 || (job.to.slice == job.width * job.height && job.from.slice == job.to.slice))) {
        job.width *= job.height * job.depth;
        job.height = job.depth = 1;
    }
    copy_rows(&job);
}

bool copy_check(const CopyJob *job)
{
    bool pageable;
    return check_side(job, &job->to, &pageable) && check_side(job, &job->from, &pageable);
}

static bool is_empty(const CopyJob *job) { return !job->width || !job->height || !job->depth; }

/* Whether reserved addresses of the side have no memory by now. */
static bool is_closed(const CopyJob *job, const CopySide *side)
{
    uint64_t bytes;
    return side_extent(job, side, &bytes) && memory_map_is_closed(driver_memory(), side->address, bytes);
}

CUresult copy_do(const CopyJob *job, Context *context)
{
    if (is_closed(job, &job->to) || is_closed(job, &job->from)) return memory_fail_closed(context, "a copy");
    copy_run(*job);
    return CUDA_SUCCESS;
}

/* Copies on the calling thread, after all work in the stream. CUDA_ERROR_NOT_READY if a timeout ended the
 * wait. */
static CUresult run_in_turn(Stream *stream, const CopyJob *job)
{
    if (!queue_wait_turn(stream, true)) return CUDA_ERROR_NOT_READY;
    Context *context = stream->object.context;
    if (!context_keep_open(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult error = stream_error(stream);
    if (!error) error = copy_do(job, context);
    context_flush(context);
    context_allow_close(context);
    return error;
}

CUresult copy_now(const CopyJob *job)
{
    Stream *stream;
    TRY(stream_enter_at_once(&stream));
    CUresult result = CUDA_SUCCESS;
    if (!is_empty(job))
        result = copy_check(job) ? run_in_turn(stream, job) : CONTEXT_ADDRESS_ERROR(stream->object.context);
    PUT(stream);
    return result;
}

typedef struct CopyTask {
    Task task;
    CopyJob job;
    void *staged; /* owned: a copy of the source, or NULL */
} CopyTask;

static void run_copy(Task *self, Stream *stream)
{
    copy_do(&((CopyTask *)self)->job, stream->object.context);
}

static void free_copy(Task *self)
{
    free(((CopyTask *)self)->staged);
    free(self);
}

/* Copies the source to a buffer, without gaps, which becomes the job's source. False if out of memory. */
static bool stage_source(CopyTask *task)
{
    CopyJob *job = &task->job, to_buffer = *job;
    task->staged = malloc(job->width * job->height * job->depth);
    if (!task->staged) return false;
    to_buffer.to = (CopySide){
        .address = (uint64_t)(uintptr_t)task->staged, .pitch = job->width, .slice = job->width * job->height};
    copy_run(to_buffer);
    job->from = to_buffer.to;
    return true;
}

static CUresult submit_copy(Stream *stream, const CopyJob *job, bool staged)
{
    CopyTask *task = calloc(1, sizeof *task);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    task->task.run = run_copy;
    task->task.release = free_copy;
    task->job = *job;
    if (staged && !stage_source(task)) {
        free(task);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    queue_submit(stream, &task->task, NULL);
    return CUDA_SUCCESS;
}

/* Captures the copy, queues it, or does it at once: when the stream is idle and the copy small, and when host
 * memory is accessed that the program may use again after the call. */
static CUresult copy_in_order(Stream *stream, const CopyJob *job)
{
    bool to_pageable, from_pageable;
    if (is_empty(job)) return CUDA_SUCCESS;
    if (!check_side(job, &job->to, &to_pageable) || !check_side(job, &job->from, &from_pageable))
        return CONTEXT_ADDRESS_ERROR(stream->object.context);
    if (stream_is_captured(stream)) return capture_add_copy(stream, job);
    bool small = job->width <= STAGED_BYTES && job->height <= STAGED_BYTES && job->depth <= STAGED_BYTES
                 && job->width * job->height <= STAGED_BYTES
                 && job->width * job->height * job->depth <= STAGED_BYTES;
    if (to_pageable || (from_pageable && !small)) return run_in_turn(stream, job);
    bool tiny = small && job->width * job->height * job->depth <= INLINE_BYTES;
    if (tiny && queue_idle(stream, true)) return run_in_turn(stream, job);
    TRY(queue_wait_room(stream));
    return submit_copy(stream, job, from_pageable);
}

CUresult copy_queue(Stream *stream, const CopyJob *job, bool at_once)
{
    return at_once ? run_in_turn(stream, job) : copy_in_order(stream, job);
}

CUresult copy_in_stream(const CopyJob *job, CUstream handle)
{
    Stream *stream;
    TRY(stream_enter_to_submit(handle, &stream));
    CUresult result = copy_in_order(stream, job);
    PUT(stream);
    return result;
}

static CopySide device_side(CUdeviceptr address) { return (CopySide){.address = address, .device = true}; }

static CopySide host_side(const void *pointer) { return (CopySide){.address = (uint64_t)(uintptr_t)pointer}; }

/* Any memory: of the driver or of the host. */
static CopySide unified_side(CUdeviceptr address) { return (CopySide){.address = address}; }

static CopyJob flat(CopySide to, CopySide from, size_t bytes) { return (CopyJob){to, from, bytes, 1, 1}; }

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CopyJob job = flat(unified_side(to), unified_side(from), bytes);
    return copy_now(&job);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CopyJob job = flat(unified_side(to), unified_side(from), bytes);
    return copy_in_stream(&job, stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    CopyJob job = flat(device_side(to), host_side(from), bytes);
    return copy_now(&job);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    CopyJob job = flat(device_side(to), host_side(from), bytes);
    return copy_in_stream(&job, stream);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    CopyJob job = flat(host_side(to), device_side(from), bytes);
    return copy_now(&job);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CopyJob job = flat(host_side(to), device_side(from), bytes);
    return copy_in_stream(&job, stream);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CopyJob job = flat(device_side(to), device_side(from), bytes);
    return copy_now(&job);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CopyJob job = flat(device_side(to), device_side(from), bytes);
    return copy_in_stream(&job, stream);
}

CUresult copy_is_captured(const CUstream *handle, bool *captured)
{
    Stream *stream;
    *captured = false;
    if (!handle) return CUDA_SUCCESS;
    TRY(stream_enter_to_submit(*handle, &stream));
    *captured = stream_is_captured(stream);
    PUT(stream);
    return CUDA_SUCCESS;
}

CUresult copy_enter_peer(CUcontext handle, bool captured)
{
    Context *context;
    TRY(context_resolve(handle, &context));
    CUresult result = context_error(context);
    if (!result && !captured) result = queue_wait_context(context);
    context_put(context);
    return result;
}

/* waits: for the work of both contexts. */
static CUresult enter_peers(CUcontext first, CUcontext second, bool waits)
{
    CUcontext handles[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        if (!handles[i]) return CUDA_ERROR_INVALID_CONTEXT;
        TRY(copy_enter_peer(handles[i], !waits));
    }
    return CUDA_SUCCESS;
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      size_t bytes)
{
    TRY(enter_peers(to_context, from_context, true));
    return cuMemcpyDtoD_v2(to, from, bytes);
}

/* On the legacy default stream a copy is in order with the work of both contexts, on any other stream only
 * with that stream's. */
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes, CUstream stream)
{
    Stream *entered;
    TRY(stream_enter(stream, &entered)); /* an error if the stream is captured: graphs have no such node */
    bool is_legacy = entered->legacy;
    PUT(entered);
    TRY(enter_peers(to_context, from_context, is_legacy));
    return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

/* ---- Arrays by byte offset ---- */

typedef CUresult (*CopyFn)(const CopyJob *job, CUstream stream);

static CUresult copy_blocking(const CopyJob *job, CUstream stream)
{
    (void)stream;
    return copy_now(job);
}

/* Does the job by `copy`. Its sides are replaced by the arrays with the handles `to` and `from`, unless
 * those are NULL. */
static CUresult with_arrays(CUarray to, size_t to_offset, CUarray from, size_t from_offset, CopyJob job,
                            CopyFn copy, CUstream stream)
{
    Array *target = NULL, *source = NULL;
    Context *context;
    TRY(context_enter(&context));
    CUresult result = CUDA_ERROR_INVALID_HANDLE;
    if (to && !(target = object_get(to, OBJECT_ARRAY))) goto end;
    if (from && !(source = object_get(from, OBJECT_ARRAY))) goto end;
    result = CUDA_ERROR_INVALID_VALUE;
    if (target && !array_at(target, to_offset, job.width, &job.to)) goto end;
    if (source && !array_at(source, from_offset, job.width, &job.from)) goto end;
    result = copy(&job, stream);
end:
    if (target) object_put((Object *)target);
    if (source) object_put((Object *)source);
    return result;
}

CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes)
{
    if (!to || !from) return CUDA_ERROR_INVALID_VALUE;
    return with_arrays(to, to_offset, from, from_offset, flat((CopySide){0}, (CopySide){0}, bytes),
                       copy_blocking, NULL);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
    if (!from) return CUDA_ERROR_INVALID_VALUE;
    return with_arrays(NULL, 0, from, offset, flat(device_side(to), (CopySide){0}, bytes), copy_blocking,
                       NULL);
}

CUresult cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t bytes)
{
    if (!from) return CUDA_ERROR_INVALID_VALUE;
    return with_arrays(NULL, 0, from, offset, flat(host_side(to), (CopySide){0}, bytes), copy_blocking, NULL);
}

CUresult cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t bytes, CUstream stream)
{
    if (!from) return CUDA_ERROR_INVALID_VALUE;
    return with_arrays(NULL, 0, from, offset, flat(host_side(to), (CopySide){0}, bytes), copy_in_stream,
                       stream);
}

CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
    if (!to) return CUDA_ERROR_INVALID_VALUE;
    return with_arrays(to, offset, NULL, 0, flat((CopySide){0}, device_side(from), bytes), copy_blocking,
                       NULL);
}

CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t bytes)
{
    if (!to) return CUDA_ERROR_INVALID_VALUE;
    return with_arrays(to, offset, NULL, 0, flat((CopySide){0}, host_side(from), bytes), copy_blocking, NULL);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream)
{
    if (!to) return CUDA_ERROR_INVALID_VALUE;
    return with_arrays(to, offset, NULL, 0, flat((CopySide){0}, host_side(from), bytes), copy_in_stream,
                       stream);
}
