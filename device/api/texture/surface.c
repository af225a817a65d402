/* Surface objects: arrays that kernels read and write by coordinates. */
#include "api/texture/texture.h"

CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out || !resource || resource->resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
    TextureObject *object = object_new(OBJECT_SURFACE, sizeof *object, context, NULL);
    if (!object) return CUDA_ERROR_OUT_OF_MEMORY;
    object->texture.surface = true;
    object->resource = *resource;
    CUresult result = texture_bind(&object->texture, resource);
    if (!result) result = object_publish(OBJECT(object));
    if (!result) *out = (CUsurfObject)(uintptr_t)object;
    PUT(object);
    return result;
}

CUresult cuSurfObjectDestroy(CUsurfObject handle) { return texture_destroy(handle, OBJECT_SURFACE); }

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject handle)
{
    return texture_resource(handle, OBJECT_SURFACE, out);
}
