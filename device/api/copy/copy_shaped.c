/* Copies of two and three dimensions between host memory, device memory and arrays. */
#include "api/copy/array.h"

#define MAX_PITCH UINT64_C(2147483647)

/* One side of a descriptor of any type: CUDA_MEMCPY2D, CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER. */
typedef struct ShapedSide {
    CUmemorytype type;
    uint64_t address;      /* of host or device memory */
    CUarray array;
    size_t x, y, z, lod;   /* x in bytes */
    size_t pitch, height;  /* of linear memory; 0: those of the copied block */
} ShapedSide;

/* Describes a side in an array; false if the block does not fit or is not of whole elements. */
static bool array_side(const Array *array, const ShapedSide *shaped, const CopyJob *job, CopySide *side)
{
    bool fits = shaped->x <= array->row && job->width <= array->row - shaped->x && shaped->y <= array->rows
                && job->height <= array->rows - shaped->y && shaped->z <= array->layers
                && job->depth <= array->layers - shaped->z;
    if (!fits || shaped->x % array->element_size || job->width % array->element_size) return false;
    *side = (CopySide){
        .address = array->storage + (shaped->z * array->rows + shaped->y) * array->row + shaped->x,
        .pitch = array->row,
        .slice = array->row * array->rows,
        .device = true,
        .array = (Array *)(uintptr_t)array,
        .sparse = array->sparse,
    };
    return true;
}

/* Describes a side in linear memory; false if its values are invalid or overflow. */
static bool linear_side(const ShapedSide *shaped, const CopyJob *job, CopySide *side)
{
    uint64_t pitch = shaped->pitch ? shaped->pitch : job->width + shaped->x;
    uint64_t height = shaped->height ? shaped->height : job->height + shaped->y;
    uint64_t slice, offset, rows, layers;
    if (!shaped->address || pitch > MAX_PITCH || height < job->height) return false;
    if (job->height * job->depth > 1 && pitch < job->width + shaped->x) return false;
    if (__builtin_mul_overflow(pitch, height, &slice)) return false;
    if (__builtin_mul_overflow(shaped->y, pitch, &rows) || __builtin_mul_overflow(shaped->z, slice, &layers))
        return false;
    if (__builtin_add_overflow(rows, layers, &offset) || __builtin_add_overflow(offset, shaped->x, &offset))
        return false;
    if (__builtin_add_overflow(shaped->address, offset, &side->address)) return false;
    side->pitch = pitch;
    side->slice = slice;
    side->device = shaped->type == CU_MEMORYTYPE_DEVICE;
    return true;
}

/* *array becomes the array with a reference, if the side has one. */
static CUresult resolve_side(const ShapedSide *shaped, const CopyJob *job, CopySide *side, Array **array)
{
    if (shaped->lod) return CUDA_ERROR_INVALID_VALUE;
    if (shaped->type == CU_MEMORYTYPE_ARRAY) {
        *array = object_get(shaped->array, OBJECT_ARRAY);
        if (!*array) return CUDA_ERROR_INVALID_HANDLE;
        return array_side(*array, shaped, job, side) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    if (shaped->type < CU_MEMORYTYPE_HOST || shaped->type > CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    return linear_side(shaped, job, side) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult resolve_both(const ShapedSide *to, const ShapedSide *from, CopyJob *job, Array *arrays[2])
{
    arrays[0] = arrays[1] = NULL;
    if (job->width > MAX_PITCH || job->height > MAX_PITCH || job->depth > MAX_PITCH)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = resolve_side(to, job, &job->to, &arrays[0]);
    return result ? result : resolve_side(from, job, &job->from, &arrays[1]);
}

/* stream: NULL for the blocking calls. */
static CUresult copy_shaped(const ShapedSide *to, const ShapedSide *from, CopyJob job, const CUstream *stream)
{
    Context *context;
    Array *arrays[2];
    TRY(context_enter(&context));
    if (!job.width || !job.height || !job.depth) return CUDA_SUCCESS;
    CUresult result = resolve_both(to, from, &job, arrays);
    if (!result) result = stream ? copy_in_stream(&job, *stream) : copy_now(&job);
    if (arrays[0]) PUT(arrays[0]);
    if (arrays[1]) PUT(arrays[1]);
    return result;
}

static uint64_t linear_address(CUmemorytype type, const void *host, CUdeviceptr device)
{
    return type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)host : device;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *copy, const CUstream *stream)
{
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    ShapedSide to = {
        .type = copy->dstMemoryType,
        .address = linear_address(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
        .array = copy->dstArray,
        .x = copy->dstXInBytes,
        .y = copy->dstY,
        .pitch = copy->dstPitch,
    };
    ShapedSide from = {
        .type = copy->srcMemoryType,
        .address = linear_address(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
        .array = copy->srcArray,
        .x = copy->srcXInBytes,
        .y = copy->srcY,
        .pitch = copy->srcPitch,
    };
    return copy_shaped(&to, &from, (CopyJob){.width = copy->WidthInBytes, .height = copy->Height, .depth = 1},
                       stream);
}

/* Macros, because CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER are two types whose fields have the same names.
 * SIDE_3D defines the variable `side`; `end` is the prefix of the fields' names, src or dst. */
#define SIDE_3D(side, copy, end) \
    ShapedSide side = {.type = (copy)->end##MemoryType}; \
    side.address = linear_address((copy)->end##MemoryType, (copy)->end##Host, (copy)->end##Device); \
    side.array = (copy)->end##Array; \
    side.x = (copy)->end##XInBytes, side.y = (copy)->end##Y, side.z = (copy)->end##Z; \
    side.lod = (copy)->end##LOD; \
    side.pitch = (copy)->end##Pitch, side.height = (copy)->end##Height

/* Returns from the calling function. */
#define COPY_3D(copy, stream) \
    do { \
        SIDE_3D(to, copy, dst); \
        SIDE_3D(from, copy, src); \
        CopyJob job = {.width = (copy)->WidthInBytes, .height = (copy)->Height, .depth = (copy)->Depth}; \
        return copy_shaped(&to, &from, job, stream); \
    } while (0)

CUresult copy_resolve(const CUDA_MEMCPY3D *shape, CopyJob *job, Array *arrays[2])
{
    arrays[0] = arrays[1] = NULL;
    if (shape->reserved0 || shape->reserved1) return CUDA_ERROR_INVALID_VALUE;
    SIDE_3D(to, shape, dst);
    SIDE_3D(from, shape, src);
    *job = (CopyJob){.width = shape->WidthInBytes, .height = shape->Height, .depth = shape->Depth};
    if (!job->width || !job->height || !job->depth) return CUDA_ERROR_INVALID_VALUE;
    return resolve_both(&to, &from, job, arrays);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *copy, const CUstream *stream)
{
    if (!copy || copy->reserved0 || copy->reserved1) return CUDA_ERROR_INVALID_VALUE;
    COPY_3D(copy, stream);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *copy, const CUstream *stream)
{
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    bool captured;
    TRY(copy_is_captured(stream, &captured));
    TRY(copy_enter_peer(copy->srcContext, captured));
    TRY(copy_enter_peer(copy->dstContext, captured));
    COPY_3D(copy, stream);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy) { return copy_2d(copy, NULL); }

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy) { return copy_2d(copy, NULL); }

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) { return copy_2d(copy, &stream); }

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy) { return copy_3d(copy, NULL); }

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) { return copy_3d(copy, &stream); }

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy) { return copy_3d_peer(copy, NULL); }

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    return copy_3d_peer(copy, &stream);
}
