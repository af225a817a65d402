/* Texture and surface objects: the runtime's descriptions as the driver's, and back. */
#include "runtime/runtime.h"

#include <string.h>

static cudaError_t driver_resource(const struct cudaResourceDesc *desc, CUDA_RESOURCE_DESC *out)
{
    ElementFormat element;
    if (!desc) return cudaErrorInvalidValue;
    *out = (CUDA_RESOURCE_DESC){.resType = desc->resType};
    switch (desc->resType) {
    case CU_RESOURCE_TYPE_ARRAY: out->res.array.hArray = desc->res.array.array; break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: out->res.mipmap.hMipmappedArray = desc->res.mipmap.mipmap; break;
    case CU_RESOURCE_TYPE_LINEAR:
        TRY(runtime_element_format(&desc->res.linear.desc, &element));
        out->res.linear.devPtr = ADDRESS(desc->res.linear.devPtr);
        out->res.linear.format = element.format;
        out->res.linear.numChannels = element.channels;
        out->res.linear.sizeInBytes = desc->res.linear.sizeInBytes;
        break;
    case CU_RESOURCE_TYPE_PITCH2D:
        TRY(runtime_element_format(&desc->res.pitch2D.desc, &element));
        out->res.pitch2D.devPtr = ADDRESS(desc->res.pitch2D.devPtr);
        out->res.pitch2D.format = element.format;
        out->res.pitch2D.numChannels = element.channels;
        out->res.pitch2D.width = desc->res.pitch2D.width;
        out->res.pitch2D.height = desc->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = desc->res.pitch2D.pitchInBytes;
        break;
    default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

static void runtime_resource(const CUDA_RESOURCE_DESC *desc, struct cudaResourceDesc *out)
{
    *out = (struct cudaResourceDesc){.resType = desc->resType};
    switch (desc->resType) {
    case CU_RESOURCE_TYPE_ARRAY: out->res.array.array = desc->res.array.hArray; break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: out->res.mipmap.mipmap = desc->res.mipmap.hMipmappedArray; break;
    case CU_RESOURCE_TYPE_LINEAR:
        out->res.linear.devPtr = (void *)(uintptr_t)desc->res.linear.devPtr;
        out->res.linear.desc = runtime_channel_desc(desc->res.linear.format, desc->res.linear.numChannels);
        out->res.linear.sizeInBytes = desc->res.linear.sizeInBytes;
        break;
    default:
        out->res.pitch2D.devPtr = (void *)(uintptr_t)desc->res.pitch2D.devPtr;
        out->res.pitch2D.desc = runtime_channel_desc(desc->res.pitch2D.format, desc->res.pitch2D.numChannels);
        out->res.pitch2D.width = desc->res.pitch2D.width;
        out->res.pitch2D.height = desc->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = desc->res.pitch2D.pitchInBytes;
    }
}

/* The driver's flags for fields that are structure members in the runtime. */
enum { NO_TRILINEAR_OPTIMIZATION = 0x20, SEAMLESS_CUBEMAP = 0x40 };

enum { READ_ELEMENTS = 0 }; /* enum cudaTextureReadMode: not normalized */

static unsigned texture_flags(const struct cudaTextureDesc *desc)
{
    unsigned flags = 0;
    if (desc->readMode == READ_ELEMENTS) flags |= CU_TRSF_READ_AS_INTEGER;
    if (desc->normalizedCoords) flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (desc->sRGB) flags |= CU_TRSF_SRGB;
    if (desc->disableTrilinearOptimization) flags |= NO_TRILINEAR_OPTIMIZATION;
    if (desc->seamlessCubemap) flags |= SEAMLESS_CUBEMAP;
    return flags;
}

static void driver_texture(const struct cudaTextureDesc *desc, CUDA_TEXTURE_DESC *out)
{
    *out = (CUDA_TEXTURE_DESC){.filterMode = desc->filterMode,
                               .flags = texture_flags(desc),
                               .maxAnisotropy = desc->maxAnisotropy,
                               .mipmapFilterMode = desc->mipmapFilterMode,
                               .mipmapLevelBias = desc->mipmapLevelBias,
                               .minMipmapLevelClamp = desc->minMipmapLevelClamp,
                               .maxMipmapLevelClamp = desc->maxMipmapLevelClamp};
    for (int i = 0; i < 3; i++) out->addressMode[i] = desc->addressMode[i];
    for (int i = 0; i < 4; i++) out->borderColor[i] = desc->borderColor[i];
}

/* The format of a resource's elements. */
static cudaError_t element_format(const CUDA_RESOURCE_DESC *resource, CUarray_format *out)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    CUarray array = resource->res.array.hArray;
    switch (resource->resType) {
    case CU_RESOURCE_TYPE_LINEAR: *out = resource->res.linear.format; return cudaSuccess;
    case CU_RESOURCE_TYPE_PITCH2D: *out = resource->res.pitch2D.format; return cudaSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        TRY(cuMipmappedArrayGetLevel(&array, resource->res.mipmap.hMipmappedArray, 0));
    }
    TRY(cuArray3DGetDescriptor_v2(&shape, array));
    *out = shape.Format;
    return cudaSuccess;
}

/* Only integers of 8 and 16 bits can be normalized, and only what is read as floats can be filtered. */
static cudaError_t check_reads(const CUDA_RESOURCE_DESC *resource, const struct cudaTextureDesc *texture)
{
    CUarray_format format;
    TRY(element_format(resource, &format));
    struct cudaChannelFormatDesc channels = runtime_channel_desc(format, 1);
    bool floats = channels.f == cudaChannelFormatKindFloat, narrow = !floats && channels.x <= 16;
    if (texture->readMode != READ_ELEMENTS && !narrow) return cudaErrorInvalidNormSetting;
    if (texture->filterMode == CU_TR_FILTER_MODE_LINEAR && texture->readMode == READ_ELEMENTS && !floats)
        return cudaErrorInvalidFilterSetting;
    return cudaSuccess;
}

cudaError_t run_cudaCreateTextureObject(cudaTextureObject_t *out, const struct cudaResourceDesc *resource,
                                        const struct cudaTextureDesc *texture,
                                        const struct cudaResourceViewDesc *view)
{
    CUDA_RESOURCE_DESC driver_from;
    CUDA_TEXTURE_DESC how;
    if (!out) return cudaErrorInvalidValue;
    if (!texture) return cudaErrorInvalidResourceHandle;
    TRY(driver_resource(resource, &driver_from));
    TRY(check_reads(&driver_from, texture));
    driver_texture(texture, &how);
    CUDA_RESOURCE_VIEW_DESC part = {0};
    if (view) memcpy(&part, view, sizeof *view);
    return (cudaError_t)cuTexObjectCreate(out, &driver_from, &how, view ? &part : NULL);
}

/* The runtime's structure is the beginning of the driver's. */
cudaError_t run_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *out,
                                                     cudaTextureObject_t texture)
{
    CUDA_RESOURCE_VIEW_DESC desc;
    if (!out) return cudaErrorInvalidValue;
    TRY(cuTexObjectGetResourceViewDesc(&desc, texture));
    memcpy(out, &desc, sizeof *out);
    return cudaSuccess;
}

cudaError_t run_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *out, cudaTextureObject_t texture)
{
    CUDA_RESOURCE_DESC desc;
    if (!out) return cudaErrorInvalidValue;
    TRY(cuTexObjectGetResourceDesc(&desc, texture));
    runtime_resource(&desc, out);
    return cudaSuccess;
}

cudaError_t run_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *out, cudaTextureObject_t texture)
{
    CUDA_TEXTURE_DESC desc;
    if (!out) return cudaErrorInvalidValue;
    TRY(cuTexObjectGetTextureDesc(&desc, texture));
    *out =
        (struct cudaTextureDesc){.filterMode = desc.filterMode,
                                 .readMode = !(desc.flags & CU_TRSF_READ_AS_INTEGER),
                                 .sRGB = !!(desc.flags & CU_TRSF_SRGB),
                                 .normalizedCoords = !!(desc.flags & CU_TRSF_NORMALIZED_COORDINATES),
                                 .maxAnisotropy = desc.maxAnisotropy,
                                 .mipmapFilterMode = desc.mipmapFilterMode,
                                 .mipmapLevelBias = desc.mipmapLevelBias,
                                 .minMipmapLevelClamp = desc.minMipmapLevelClamp,
                                 .maxMipmapLevelClamp = desc.maxMipmapLevelClamp,
                                 .disableTrilinearOptimization = !!(desc.flags & NO_TRILINEAR_OPTIMIZATION),
                                 .seamlessCubemap = !!(desc.flags & SEAMLESS_CUBEMAP)};
    for (int i = 0; i < 3; i++) out->addressMode[i] = desc.addressMode[i];
    for (int i = 0; i < 4; i++) out->borderColor[i] = desc.borderColor[i];
    return cudaSuccess;
}

cudaError_t run_cudaCreateSurfaceObject(cudaSurfaceObject_t *out, const struct cudaResourceDesc *resource)
{
    CUDA_RESOURCE_DESC desc;
    if (!out) return cudaErrorInvalidValue;
    TRY(driver_resource(resource, &desc));
    return (cudaError_t)cuSurfObjectCreate(out, &desc);
}

cudaError_t run_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *out, cudaSurfaceObject_t surface)
{
    CUDA_RESOURCE_DESC desc;
    if (!out) return cudaErrorInvalidValue;
    TRY(cuSurfObjectGetResourceDesc(&desc, surface));
    runtime_resource(&desc, out);
    return cudaSuccess;
}
