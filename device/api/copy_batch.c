/* Batches of copies: all are checked before the first is queued. */
#include "api/copy.h"

enum { ORDER_STREAM = 1, ORDER_DURING_CALL = 2, ORDER_ANY = 3, FLAGS_KNOWN = 1 };

typedef struct Batch {
    const CUdeviceptr *to, *from;
    const size_t *sizes;
    size_t count;
    const CUmemcpyAttributes *attributes;
    const size_t *starts; /* the first copy of each attribute */
    size_t attribute_count;
} Batch;

static CopyJob job_of(const Batch *b, size_t k)
{
    return (CopyJob){{.address = b->to[k]}, {.address = b->from[k]}, b->sizes[k], 1, 1};
}

static bool has_valid_attributes(const Batch *b)
{
    if (!b->attributes || !b->starts || !b->attribute_count || b->attribute_count > b->count) return false;
    for (size_t a = 0; a < b->attribute_count; a++) {
        const CUmemcpyAttributes *attribute = &b->attributes[a];
        bool known = attribute->order >= ORDER_STREAM && attribute->order <= ORDER_ANY;
        if (!known || attribute->flags & ~(unsigned)FLAGS_KNOWN || b->starts[a] >= b->count) return false;
        if (a ? b->starts[a] <= b->starts[a - 1] : b->starts[0] != 0) return false;
    }
    return true;
}

/* *failed: the copy that cannot be, or SIZE_MAX. */
static CUresult check(const Batch *b, size_t *failed)
{
    *failed = SIZE_MAX;
    if (!b->to || !b->from || !b->sizes || !b->count || !has_valid_attributes(b))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < b->count; k++) {
        CopyJob job = job_of(b, k);
        if (b->sizes[k] && copy_check(&job)) continue;
        *failed = k;
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult queue(Stream *stream, const Batch *b)
{
    for (size_t k = 0, a = 0; k < b->count; k++) {
        if (a + 1 < b->attribute_count && b->starts[a + 1] == k) a++;
        CopyJob job = job_of(b, k);
        TRY(copy_queue(stream, &job, b->attributes[a].order == ORDER_DURING_CALL));
    }
    return CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                            CUmemcpyAttributes *attributes, size_t *starts, size_t attribute_count,
                            size_t *failed, CUstream handle)
{
    Stream *stream;
    size_t ignored;
    Batch batch = {to, from, sizes, count, attributes, starts, attribute_count};
    TRY(stream_enter(handle, &stream)); /* it is no node of a graph here */
    CUresult result = stream->legacy ? CUDA_ERROR_INVALID_VALUE : check(&batch, failed ? failed : &ignored);
    if (!result) result = queue(stream, &batch);
    PUT(stream);
    return result;
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *starts, size_t attribute_count,
                               CUstream stream)
{
    return cuMemcpyBatchAsync(to, from, sizes, count, attributes, starts, attribute_count, NULL, stream);
}
