/* Arrays: creation, shape, destruction. */
#include "api/copy/mipmap.h"
#include "api/copy/sparse.h"
#include "api/memory/memory.h"

size_t array_format_size(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

bool array_at(const Array *array, size_t offset, size_t bytes, CopySide *side)
{
    size_t size = array_bytes(array);
    if (offset > size || bytes > size - offset) return false;
    *side = (CopySide){.address = array->storage + offset,
                       .device = true,
                       .array = (Array *)(uintptr_t)array,
                       .sparse = array->sparse};
    return true;
}

static void array_release(Object *object)
{
    Array *array = (Array *)object;
    sparse_free(array->tiles);
    if (array->whole)
        PUT(array->whole);
    else if (array->storage)
        memory_release_of(object, array->storage);
}

static CUresult check_array_shape(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    enum {
        KNOWN_FLAGS = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP
                      | CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_SPARSE
    };
    enum { CUBE_FACES = 6, MAX_WIDTH = 131072, MAX_HEIGHT = 65536, MAX_DEPTH = 16384 };
    bool layered = shape->Flags & CUDA_ARRAY3D_LAYERED, cube = shape->Flags & CUDA_ARRAY3D_CUBEMAP;
    unsigned channels = shape->NumChannels;
    if (!shape->Width || (channels != 1 && channels != 2 && channels != 4)) return CUDA_ERROR_INVALID_VALUE;
    if (shape->Flags & CUDA_ARRAY3D_SPARSE) TRY(sparse_check(shape));
    if (shape->Flags & ~(unsigned)KNOWN_FLAGS) return CUDA_ERROR_NOT_SUPPORTED;
    if (!array_format_size(shape->Format)) return CUDA_ERROR_INVALID_VALUE;
    if (shape->Depth && !shape->Height && !layered) return CUDA_ERROR_INVALID_VALUE;
    if (cube && (shape->Width != shape->Height || !shape->Depth || shape->Depth % CUBE_FACES))
        return CUDA_ERROR_INVALID_VALUE;
    bool fits = shape->Width <= MAX_WIDTH && shape->Height <= MAX_HEIGHT && shape->Depth <= MAX_DEPTH;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult array_new(Context *context, const CUDA_ARRAY3D_DESCRIPTOR *shape, Array **out)
{
    TRY(check_array_shape(shape));
    Array *array = object_new(OBJECT_ARRAY, sizeof *array, context, array_release);
    if (!array) return CUDA_ERROR_OUT_OF_MEMORY;
    array->shape = *shape;
    array->element_size = array_format_size(shape->Format) * shape->NumChannels;
    array->row = shape->Width * array->element_size;
    array->rows = shape->Height ? shape->Height : 1;
    array->layers = shape->Depth ? shape->Depth : 1;
    *out = array;
    return CUDA_SUCCESS;
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    Context *context;
    Array *array;
    CUdeviceptr storage = 0;
    TRY(context_enter(&context));
    if (!out || !shape) return CUDA_ERROR_INVALID_VALUE;
    TRY(array_new(context, shape, &array));
    MemoryRequest request = {.size = array_bytes(array), .kind = MEMORY_ARRAY};
    CUresult result = memory_allocate(context, &request, &storage);
    array->storage = storage;
    if (!result && shape->Flags & CUDA_ARRAY3D_SPARSE) result = sparse_make(&array, 1, &array->tiles);
    if (!result) result = object_publish(OBJECT(array));
    if (!result) *out = array;
    PUT(array);
    return result;
}

CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *shape)
{
    if (!shape) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR deep = {shape->Width, shape->Height, 0, shape->Format, shape->NumChannels, 0};
    return cuArray3DCreate_v2(out, &deep);
}

CUresult cuArrayDestroy(CUarray handle)
{
    Context *context;
    TRY(context_enter_any(&context));
    Array *array = object_get(handle, OBJECT_ARRAY);
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = array->whole ? CUDA_ERROR_INVALID_VALUE : queue_wait_context(array->object.context);
    if (!result) result = object_retire(OBJECT(array)) ? context_error(context) : CUDA_ERROR_INVALID_HANDLE;
    PUT(array);
    return result;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray handle)
{
    Context *context;
    TRY(context_enter(&context));
    if (!shape) return CUDA_ERROR_INVALID_VALUE;
    Array *array = object_get(handle, OBJECT_ARRAY);
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    *shape = array->shape;
    PUT(array);
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *shape, CUarray handle)
{
    CUDA_ARRAY3D_DESCRIPTOR deep;
    if (!shape) return CUDA_ERROR_INVALID_VALUE;
    TRY(cuArray3DGetDescriptor_v2(&deep, handle));
    *shape = (CUDA_ARRAY_DESCRIPTOR){deep.Width, deep.Height, deep.Format, deep.NumChannels};
    return CUDA_SUCCESS;
}

/* ---- Planes and deferred mapping, which no array has ---- */

/* The result of a call that asks for a property which no array has: CUDA_ERROR_INVALID_VALUE, unless another
 * error comes first. */
static CUresult refuse_valid_array(const void *out, CUarray handle)
{
    Context *context;
    TRY(context_enter(&context));
    Array *array = out ? object_get(handle, OBJECT_ARRAY) : NULL;
    if (out && !array) return CUDA_ERROR_INVALID_HANDLE;
    if (array) PUT(array);
    return CUDA_ERROR_INVALID_VALUE;
}

/* No array has planes: formats with several are not supported. */
CUresult cuArrayGetPlane(CUarray *out, CUarray array, unsigned int plane)
{
    (void)plane;
    return refuse_valid_array(out, array);
}

/* No array has its mapping deferred (CUDA_ARRAY3D_DEFERRED_MAPPING): none has requirements, on any device. */
CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray array, CUdevice device)
{
    (void)device;
    return refuse_valid_array(out, array);
}

CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray handle)
{
    TRY(driver_check());
    Array *array = out ? object_get(handle, OBJECT_ARRAY) : NULL;
    bool sparse = array && array->tiles;
    if (sparse) *out = array->tiles->properties;
    if (array) PUT(array);
    return sparse ? CUDA_SUCCESS : refuse_valid_array(out, handle);
}
