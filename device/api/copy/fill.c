/* Fills (cuMemset*): one job over rows of elements of 1, 2 or 4 bytes. */
#include "api/copy/fill.h"

#include <stdlib.h>
#include <string.h>

#include "api/memory/memory.h"
#include "api/memory/pool.h"
#include "api/stream/capture.h"

enum {
    INLINE_BYTES = 1 << 16
}; /* the maximum of a fill in an idle stream that is done by the calling thread */

typedef struct FillTask {
    Task task;
    FillJob job;
} FillTask;

static void fill_row(uint8_t *row, const FillJob *job)
{
    switch (job->element) {
    case 1: memset(row, (int)(job->value & 0xff), job->width); break;
    case 2:
        for (uint64_t i = 0; i < job->width; i++) ((uint16_t *)(void *)row)[i] = (uint16_t)job->value;
        break;
    default:
        for (uint64_t i = 0; i < job->width; i++) ((uint32_t *)(void *)row)[i] = job->value;
    }
}

CUresult fill_do(const FillJob *job, Context *context)
{
    uint64_t bytes = (job->height - 1) * job->pitch + job->width * job->element;
    if (memory_map_is_closed(driver_memory(), job->address, bytes))
        return memory_fail_closed(context, "a fill");
    for (uint64_t y = 0; y < job->height; y++) {
        uint64_t row = job->address + y * job->pitch;
        fill_row((uint8_t *)(uintptr_t)row, job);
        memory_map_written(driver_memory(), row, job->width * job->element);
    }
    return CUDA_SUCCESS;
}

static void run_fill(Task *self, Stream *stream)
{
    fill_do(&((const FillTask *)self)->job, stream->object.context);
}

static void free_fill(Task *self) { free(self); }

bool fill_check(const FillJob *fill, uint64_t *bytes)
{
    MemoryRange range;
    uint64_t row, rows;
    if (fill->address % fill->element || (fill->height > 1 && fill->pitch % fill->element)) return false;
    if (__builtin_mul_overflow(fill->width, (uint64_t)fill->element, &row)) return false;
    if (fill->height > 1 && fill->pitch < row) return false;
    if (__builtin_mul_overflow(fill->height - 1, fill->pitch, &rows)) return false;
    if (__builtin_add_overflow(rows, row, bytes)) return false;
    if (!memory_map_find_for_call(driver_memory(), fill->address, *bytes, &range)) return false;
    if (memory_is_of_host_pool(&range)) return pool_allows_any(range.tag);
    return range.kind != MEMORY_MAPPED || range.writers;
}

/* Fills on the calling thread; the stream is idle. */
static CUresult fill_here(const FillJob *fill, Context *context)
{
    if (!context_keep_open(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = fill_do(fill, context);
    context_allow_close(context);
    return result;
}

static CUresult fill_in_order(Stream *stream, const FillJob *fill)
{
    uint64_t bytes;
    if (!fill->width || !fill->height) return CUDA_SUCCESS;
    if (!fill_check(fill, &bytes)) return CONTEXT_ADDRESS_ERROR(stream->object.context);
    if (stream_is_captured(stream)) return capture_add_fill(stream, fill);
    if (bytes <= INLINE_BYTES && queue_idle(stream, true)) return fill_here(fill, stream->object.context);
    TRY(queue_wait_room(stream));
    FillTask *task = malloc(sizeof *task);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    *task = (FillTask){.task = {.run = run_fill, .release = free_fill}, .job = *fill};
    queue_submit(stream, &task->task, NULL);
    return CUDA_SUCCESS;
}

/* handle: NULL for the calls that take none, which cannot be captured. */
static CUresult fill_in_stream(CUdeviceptr address, size_t pitch, unsigned element, uint32_t value,
                               size_t width, size_t height, const CUstream *handle)
{
    Stream *stream;
    FillJob fill = {.address = address,
                    .pitch = pitch,
                    .element = element,
                    .value = value,
                    .width = width,
                    .height = height};
    TRY(handle ? stream_enter_to_submit(*handle, &stream) : stream_enter_at_once(&stream));
    CUresult result = fill_in_order(stream, &fill);
    PUT(stream);
    return result;
}

/* For one element type: with and without rows, in the NULL stream or in a given one. */
#define FILL(bits, type, element) \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr address, type value, size_t count) \
    { \
        return fill_in_stream(address, 0, element, value, count, 1, NULL); \
    } \
    CUresult cuMemsetD##bits##Async(CUdeviceptr address, type value, size_t count, CUstream stream) \
    { \
        return fill_in_stream(address, 0, element, value, count, 1, &stream); \
    } \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr address, size_t pitch, type value, size_t width, \
                                    size_t height) \
    { \
        return fill_in_stream(address, pitch, element, value, width, height, NULL); \
    } \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr address, size_t pitch, type value, size_t width, \
                                      size_t height, CUstream stream) \
    { \
        return fill_in_stream(address, pitch, element, value, width, height, &stream); \
    }

FILL(8, unsigned char, 1)
FILL(16, unsigned short, 2)
FILL(32, unsigned int, 4)
