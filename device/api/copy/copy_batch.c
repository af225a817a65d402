/* Batches of copies: all are checked before the first is queued. The hints where memory is, and the flag that
 * prefers overlap with kernels, change nothing here. */
#include "api/copy/array.h"
#include "api/copy/copy.h"

/* CUmemcpySrcAccessOrder. ORDER_DURING_CALL: the source is read before the call returns. */
enum { ORDER_STREAM = 1, ORDER_DURING_CALL = 2, ORDER_ANY = 3 };
enum { ALL_FLAGS = 1 };

typedef struct CopyBatch {
    const CUdeviceptr *to, *from;
    const size_t *sizes;
    size_t count;
    const CUmemcpyAttributes *attributes;
    const size_t *starts; /* the number of the first copy that each attribute is for */
    size_t attribute_count;
} CopyBatch;

static CopyJob job_of(const CopyBatch *b, size_t k)
{
    return (CopyJob){{.address = b->to[k]}, {.address = b->from[k]}, b->sizes[k], 1, 1};
}

static bool is_valid_access(int order, unsigned flags)
{
    return order >= ORDER_STREAM && order <= ORDER_ANY && !(flags & ~(unsigned)ALL_FLAGS);
}

static bool has_valid_attributes(const CopyBatch *b)
{
    if (!b->attributes || !b->starts || !b->attribute_count || b->attribute_count > b->count) return false;
    for (size_t a = 0; a < b->attribute_count; a++) {
        const CUmemcpyAttributes *attribute = &b->attributes[a];
        if (!is_valid_access(attribute->order, attribute->flags) || b->starts[a] >= b->count) return false;
        if (a ? b->starts[a] <= b->starts[a - 1] : b->starts[0] != 0) return false;
    }
    return true;
}

/* *failed: the number of the invalid copy, or SIZE_MAX if the error is of the batch. */
static CUresult check_copies(const CopyBatch *b, size_t *failed)
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

static CUresult queue_copies(Stream *stream, const CopyBatch *b)
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
    CopyBatch batch = {to, from, sizes, count, attributes, starts, attribute_count};
    TRY(stream_enter(handle, &stream)); /* an error if the stream is captured: graphs have no such node */
    CUresult result =
        stream->legacy ? CUDA_ERROR_INVALID_VALUE : check_copies(&batch, failed ? failed : &ignored);
    if (!result) result = queue_copies(stream, &batch);
    PUT(stream);
    return result;
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *starts, size_t attribute_count,
                               CUstream stream)
{
    return cuMemcpyBatchAsync(to, from, sizes, count, attributes, starts, attribute_count, NULL, stream);
}

/* ---- Shapes ---- */

typedef CUDA_MEMCPY3D_BATCH_OP ShapedCopy;

/* Bytes of an element of a side that is an array; 0 for other sides, and if no array has that handle. */
static size_t array_element_size(const CUmemcpy3DOperand *side)
{
    Array *array =
        side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? object_get(side->array.array, OBJECT_ARRAY) : NULL;
    size_t size = array ? array->element_size : 0;
    if (array) PUT(array);
    return size;
}

/* Whether the type is known and the lengths are within the limit. */
static bool is_valid_side(const CUmemcpy3DOperand *side)
{
    const size_t max = INT32_MAX;
    if (side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) return side->array.x <= max;
    return side->type == CU_MEMCPY_OPERAND_TYPE_POINTER && side->pointer.row_length <= max;
}

/* The unit of the copy's lengths, in bytes: an element, or 1 if no side is an array. 0: a side is invalid, or
 * their elements have different sizes. */
static size_t unit_of(const ShapedCopy *copy)
{
    size_t from = array_element_size(&copy->from), to = array_element_size(&copy->to);
    if (!is_valid_side(&copy->from) || !is_valid_side(&copy->to) || (from && to && from != to)) return 0;
    return from ? from : to ? to : 1;
}

/* Fills in one end of a CUDA_MEMCPY3D. `end`: the prefix of the names of its fields, src or dst. */
#define PUT_SIDE(shape, end, side, unit) \
    do { \
        bool linear = (side)->type == CU_MEMCPY_OPERAND_TYPE_POINTER; \
        (shape)->end##MemoryType = linear ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_ARRAY; \
        (shape)->end##Device = linear ? (side)->pointer.address : 0; \
        (shape)->end##Pitch = linear ? (side)->pointer.row_length * (unit) : 0; \
        (shape)->end##Height = linear ? (side)->pointer.layer_height : 0; \
        (shape)->end##Array = linear ? NULL : (side)->array.array; \
        (shape)->end##XInBytes = linear ? 0 : (side)->array.x * (unit); \
        (shape)->end##Y = linear ? 0 : (side)->array.y; \
        (shape)->end##Z = linear ? 0 : (side)->array.z; \
    } while (0)

/* As copy_resolve(), of a copy of a batch. */
static CUresult resolve_shape(const ShapedCopy *copy, CopyJob *job, Array *arrays[2])
{
    const size_t max = INT32_MAX;
    size_t unit = unit_of(copy);
    CUDA_MEMCPY3D shape = {0};
    arrays[0] = arrays[1] = NULL;
    bool valid = unit && is_valid_access(copy->order, copy->flags);
    if (!valid || !copy->width || !copy->height || !copy->depth || copy->width > max)
        return CUDA_ERROR_INVALID_VALUE;
    PUT_SIDE(&shape, src, &copy->from, unit);
    PUT_SIDE(&shape, dst, &copy->to, unit);
    shape.WidthInBytes = copy->width * unit;
    shape.Height = copy->height;
    shape.Depth = copy->depth;
    return copy_resolve(&shape, job, arrays);
}

static void put_arrays(Array *arrays[2])
{
    for (int k = 0; k < 2; k++)
        if (arrays[k]) PUT(arrays[k]);
}

/* Queues a copy in the stream; if that is NULL only checks it. */
static CUresult check_or_queue_shape(const ShapedCopy *copy, Stream *stream)
{
    CopyJob job = {0};
    Array *arrays[2];
    CUresult result = resolve_shape(copy, &job, arrays);
    if (!result && stream)
        result = copy_queue(stream, &job, copy->order == ORDER_DURING_CALL);
    else if (!result && !copy_check(&job))
        result = CUDA_ERROR_INVALID_VALUE;
    put_arrays(arrays);
    return result;
}

static CUresult queue_shapes(Stream *stream, const ShapedCopy *copies, size_t count, size_t *failed)
{
    *failed = SIZE_MAX;
    for (size_t k = 0; k < count; k++) {
        CUresult result = check_or_queue_shape(&copies[k], NULL);
        if (!result) continue;
        *failed = k;
        return result;
    }
    for (size_t k = 0; k < count; k++) TRY(check_or_queue_shape(&copies[k], stream));
    return CUDA_SUCCESS;
}

CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, size_t *failed,
                              unsigned long long flags, CUstream handle)
{
    Stream *stream;
    size_t ignored;
    TRY(stream_enter(handle, &stream)); /* an error if the stream is captured: graphs have no such node */
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (count && copies && !flags && !stream->legacy)
        result = queue_shapes(stream, copies, count, failed ? failed : &ignored);
    PUT(stream);
    return result;
}

CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, unsigned long long flags,
                                 CUstream stream)
{
    return cuMemcpy3DBatchAsync(count, copies, NULL, flags, stream);
}
