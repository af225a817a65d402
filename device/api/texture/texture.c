/* Texture and surface objects. Their descriptions are checked once, at creation. */
#include "api/texture/texture.h"

#include <string.h>

#include "api/base/log.h"
#include "api/copy/mipmap.h"
#include "api/memory/memory.h"

/* CU_TRSF_SEAMLESS_CUBEMAP, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION. */
enum { SEAMLESS = 0x40, NO_TRILINEAR_OPTIMIZATION = 0x20 };
enum { PITCH_ALIGNMENT = 32, ADDRESS_ALIGNMENT = 512 }; /* bytes */
enum { MAX_LINEAR = 1 << 28, MAX_WIDTH = 131072, MAX_HEIGHT = 65536 }; /* elements */

static CUresult log_texture_error(CUresult error, const char *what)
{
    log_error("texture or surface: %s", what);
    return error;
}

static CUresult set_format(Texture *t, CUarray_format format, unsigned channels)
{
    size_t size = array_format_size(format);
    if (!size)
        return log_texture_error(CUDA_ERROR_INVALID_VALUE, "the format is not supported by the CPU device");
    if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
    t->format = (uint8_t)format;
    t->channels = (uint8_t)channels;
    t->element = (uint8_t)(size * channels);
    return CUDA_SUCCESS;
}

/* Sets the texture's memory; an error if it is not within one allocation. */
static CUresult set_memory(Texture *t, CUdeviceptr address, uint64_t bytes)
{
    MemoryRange range;
    if (!memory_map_find_for_call(driver_memory(), address, bytes, &range))
        return log_texture_error(CUDA_ERROR_INVALID_VALUE, "the memory is not within one allocation");
    t->storage = address;
    t->bytes = bytes;
    t->range = range.id;
    return CUDA_SUCCESS;
}

static TextureShape array_texture_shape(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    bool layered = shape->Flags & CUDA_ARRAY3D_LAYERED;
    if (shape->Flags & CUDA_ARRAY3D_CUBEMAP) return layered ? TEXTURE_ACUBE : TEXTURE_CUBE;
    if (layered) return shape->Height ? TEXTURE_A2D : TEXTURE_A1D;
    return shape->Depth ? TEXTURE_3D : shape->Height ? TEXTURE_2D : TEXTURE_1D;
}

/* Sets shape, format and memory of the texture: those of the array, whose storage has `bytes` bytes with
 * that of the levels after it. */
static CUresult bind_shape(Texture *t, const Array *array, uint64_t bytes)
{
    t->shape = (uint8_t)array_texture_shape(&array->shape);
    t->row = array->row;
    t->slice = array->row * array->rows;
    t->sparse = array->sparse;
    t->size[0] = (uint32_t)array->shape.Width;
    t->size[1] = (uint32_t)array->rows;
    t->size[2] = (uint32_t)array->layers;
    TRY(set_format(t, array->shape.Format, array->shape.NumChannels));
    return set_memory(t, array->storage, bytes);
}

static CUresult bind_array(Texture *t, CUarray handle)
{
    Array *array = object_get(handle, OBJECT_ARRAY);
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    bool stores = array->shape.Flags & (CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_SPARSE);
    CUresult result = bind_shape(t, array, array_bytes(array));
    PUT(array);
    if (!result && t->surface && !stores)
        result = log_texture_error(CUDA_ERROR_INVALID_VALUE,
                                   "the array was not made with CUDA_ARRAY3D_SURFACE_LDST");
    return result;
}

static CUresult bind_mipmap(Texture *t, CUmipmappedArray handle)
{
    MipmappedArray *mipmap = object_get(handle, OBJECT_MIPMAPPED_ARRAY);
    if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
    Array *first = object_get(mipmap->level[0], OBJECT_ARRAY);
    CUresult result = first ? bind_shape(t, first, mipmap->bytes) : CUDA_ERROR_INVALID_HANDLE;
    t->levels = (uint8_t)mipmap->levels;
    if (first) PUT(first);
    PUT(mipmap);
    return result;
}

static CUresult bind_linear(Texture *t, const CUDA_RESOURCE_DESC *resource)
{
    TRY(set_format(t, resource->res.linear.format, resource->res.linear.numChannels));
    uint64_t bytes = resource->res.linear.sizeInBytes, count = bytes / t->element;
    if (!count || count > MAX_LINEAR || resource->res.linear.devPtr % ADDRESS_ALIGNMENT)
        return log_texture_error(CUDA_ERROR_INVALID_VALUE,
                                 "linear memory needs an address aligned to 512 and up to 2^28 elements");
    t->shape = TEXTURE_LINEAR;
    t->size[0] = (uint32_t)count;
    t->size[1] = t->size[2] = 1;
    return set_memory(t, resource->res.linear.devPtr, count * t->element);
}

static CUresult bind_pitch(Texture *t, const CUDA_RESOURCE_DESC *resource)
{
    TRY(set_format(t, resource->res.pitch2D.format, resource->res.pitch2D.numChannels));
    uint64_t width = resource->res.pitch2D.width, height = resource->res.pitch2D.height;
    uint64_t pitch = resource->res.pitch2D.pitchInBytes, row = width * t->element;
    if (!width || !height || width > MAX_WIDTH || height > MAX_HEIGHT || pitch < row
        || pitch % PITCH_ALIGNMENT || resource->res.pitch2D.devPtr % ADDRESS_ALIGNMENT)
        return log_texture_error(CUDA_ERROR_INVALID_VALUE,
                                 "the size, pitch (a multiple of 32) or alignment (512) does not fit");
    t->shape = TEXTURE_2D;
    t->row = pitch;
    t->size[0] = (uint32_t)width;
    t->size[1] = (uint32_t)height;
    t->size[2] = 1;
    return set_memory(t, resource->res.pitch2D.devPtr, pitch * (height - 1) + row);
}

CUresult texture_bind(Texture *t, const CUDA_RESOURCE_DESC *resource)
{
    if (resource->flags) return CUDA_ERROR_INVALID_VALUE;
    t->levels = 1;
    switch (resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY: return bind_array(t, resource->res.array.hArray);
    case CU_RESOURCE_TYPE_LINEAR: return bind_linear(t, resource);
    case CU_RESOURCE_TYPE_PITCH2D: return bind_pitch(t, resource);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: return bind_mipmap(t, resource->res.mipmap.hMipmappedArray);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult texture_read_as(Texture *t, CUarray_format format, unsigned channels)
{
    uint64_t row = (uint64_t)t->size[0] * t->element;
    TRY(set_format(t, format, channels));
    t->size[0] = (uint32_t)(row / t->element);
    return t->size[0] ? CUDA_SUCCESS
                      : log_texture_error(CUDA_ERROR_INVALID_VALUE, "the rows are narrower than an element");
}

/* Sets how elements are read: address modes, filter, flags. */
static CUresult set_reading(Texture *t, const CUDA_TEXTURE_DESC *d)
{
    enum {
        KNOWN = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB
                | NO_TRILINEAR_OPTIMIZATION
    };
    /* The results are floats, which a linear filter can interpolate. */
    bool reads_floats =
        t->format == TEXTURE_FLOAT || t->format == TEXTURE_HALF
        || (!(d->flags & CU_TRSF_READ_AS_INTEGER) && t->format != TEXTURE_U32 && t->format != TEXTURE_S32);
    bool linear = d->filterMode || t->between;
    if (d->filterMode > 1) return CUDA_ERROR_INVALID_VALUE;
    for (int k = 0; k < 3; k++) {
        if (d->addressMode[k] > TEXTURE_BORDER) return CUDA_ERROR_INVALID_VALUE;
        t->address[k] = (uint8_t)d->addressMode[k];
    }
    if (d->flags & ~(unsigned)(KNOWN | SEAMLESS)) return CUDA_ERROR_INVALID_VALUE;
    if (linear && !reads_floats && t->shape != TEXTURE_LINEAR)
        return log_texture_error(CUDA_ERROR_INVALID_VALUE, "linear filtering is not supported for integers");
    if (linear && (d->flags & (CU_TRSF_SRGB | SEAMLESS)))
        return log_texture_error(CUDA_ERROR_NOT_SUPPORTED,
                                 "the linear filter on sRGB or across the faces of a cube is not supported");
    t->linear = d->filterMode;
    t->normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
    t->integer = d->flags & CU_TRSF_READ_AS_INTEGER;
    t->srgb = (d->flags & CU_TRSF_SRGB) && t->format == TEXTURE_U8 && !t->integer;
    memcpy(t->border, d->borderColor, sizeof t->border);
    return CUDA_SUCCESS;
}

/* Sets how the level of a mipmapped array is chosen. */
static CUresult set_detail(Texture *t, const CUDA_TEXTURE_DESC *d)
{
    if (d->mipmapFilterMode > 1) return CUDA_ERROR_INVALID_VALUE;
    if (!(d->flags & CU_TRSF_NORMALIZED_COORDINATES))
        return log_texture_error(CUDA_ERROR_INVALID_VALUE,
                                 "a mipmapped array is read with CU_TRSF_NORMALIZED_COORDINATES only");
    t->between = d->mipmapFilterMode;
    t->bias = texture_fixed_bias(d->mipmapLevelBias);
    t->min = texture_fixed_detail(d->minMipmapLevelClamp);
    t->max = texture_fixed_detail(d->maxMipmapLevelClamp);
    return CUDA_SUCCESS;
}

CUresult texture_set_sampling(Texture *t, const CUDA_TEXTURE_DESC *description, bool mipmapped)
{
    if (mipmapped) TRY(set_detail(t, description));
    return set_reading(t, description);
}

/* The format of a view that leaves the elements as they are. */
static CUresourceViewFormat own_format(const Texture *t)
{
    static const uint8_t one_channel[] = {
        [TEXTURE_U8] = CU_RES_VIEW_FORMAT_UINT_1X8,     [TEXTURE_S8] = CU_RES_VIEW_FORMAT_SINT_1X8,
        [TEXTURE_U16] = CU_RES_VIEW_FORMAT_UINT_1X16,   [TEXTURE_S16] = CU_RES_VIEW_FORMAT_SINT_1X16,
        [TEXTURE_U32] = CU_RES_VIEW_FORMAT_UINT_1X32,   [TEXTURE_S32] = CU_RES_VIEW_FORMAT_SINT_1X32,
        [TEXTURE_HALF] = CU_RES_VIEW_FORMAT_FLOAT_1X16, [TEXTURE_FLOAT] = CU_RES_VIEW_FORMAT_FLOAT_1X32,
    };
    /* The formats with 2 and 4 channels have the two next numbers. */
    return (CUresourceViewFormat)one_channel[t->format] + t->channels / 2;
}

static bool has_layers(const Texture *t)
{
    return t->shape == TEXTURE_A1D || t->shape == TEXTURE_A2D || t->shape == TEXTURE_ACUBE;
}

/* Applies a resource view, which may select levels; in all else it must agree with the resource. */
static CUresult set_view(Texture *t, const CUDA_RESOURCE_VIEW_DESC *view)
{
    if (!has_layers(t) && (view->firstLayer || view->lastLayer))
        return log_texture_error(CUDA_ERROR_INVALID_VALUE,
                                 "the resource view names layers, and the array has none");
    bool all_layers = !has_layers(t) || (!view->firstLayer && view->lastLayer >= t->size[2] - 1);
    bool same = view->format == own_format(t) && view->width == t->size[0] && view->height <= t->size[1]
                && view->depth <= t->size[2] && all_layers;
    if (view->format == CU_RES_VIEW_FORMAT_NONE)
        return log_texture_error(CUDA_ERROR_INVALID_VALUE,
                                 "a resource view needs a format, if only that of the array");
    if (!same)
        return log_texture_error(
            CUDA_ERROR_NOT_SUPPORTED,
            "resource views of another format or of some layers are not supported by the CPU device");
    if (view->firstMipmapLevel > view->lastMipmapLevel || view->lastMipmapLevel >= t->levels)
        return log_texture_error(CUDA_ERROR_INVALID_VALUE, "the levels of the resource view do not exist");
    *t = texture_level(t, view->firstMipmapLevel);
    t->levels = (uint8_t)(view->lastMipmapLevel - view->firstMipmapLevel + 1);
    return CUDA_SUCCESS;
}

/* A texture or surface object; its handle is its address. */
typedef struct TextureObject {
    Object object;
    Texture texture;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC description;
    CUDA_RESOURCE_VIEW_DESC view;
    bool has_view;
} TextureObject;

CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *description, const CUDA_RESOURCE_VIEW_DESC *view)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out || !resource || !description) return CUDA_ERROR_INVALID_VALUE;
    TextureObject *object = object_new(OBJECT_TEXTURE, sizeof *object, context, NULL);
    if (!object) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = texture_bind(&object->texture, resource);
    if (!result)
        result = texture_set_sampling(&object->texture, description,
                                      resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
    if (!result && view) result = set_view(&object->texture, view);
    object->resource = *resource;
    object->description = *description;
    object->has_view = view != NULL;
    if (view) object->view = *view;
    if (!result) result = object_publish(OBJECT(object));
    if (!result) *out = (CUtexObject)(uintptr_t)object;
    PUT(object);
    return result;
}

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

/* A live object of that kind, with a reference; CUDA_ERROR_INVALID_VALUE when there is none. */
static CUresult texture_enter(unsigned long long handle, ObjectKind kind, TextureObject **out)
{
    Context *context;
    TRY(context_enter_any(&context));
    *out = object_get((const void *)(uintptr_t)handle, kind);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult texture_destroy(unsigned long long handle, ObjectKind kind)
{
    TextureObject *object;
    if (!handle) return CUDA_SUCCESS;
    TRY(texture_enter(handle, kind, &object));
    CUresult result = queue_wait_context(object->object.context);
    if (!result && !object_retire(OBJECT(object))) result = CUDA_ERROR_INVALID_VALUE;
    PUT(object);
    return result;
}

CUresult cuSurfObjectDestroy(CUsurfObject handle) { return texture_destroy(handle, OBJECT_SURFACE); }

CUresult cuTexObjectDestroy(CUtexObject handle) { return texture_destroy(handle, OBJECT_TEXTURE); }

bool texture_find(uint64_t handle, bool surface, Texture *out)
{
    TextureObject *object =
        object_get((const void *)(uintptr_t)handle, surface ? OBJECT_SURFACE : OBJECT_TEXTURE);
    if (!object) return false;
    *out = object->texture;
    PUT(object);
    return true;
}

static CUresult texture_resource(unsigned long long handle, ObjectKind kind, CUDA_RESOURCE_DESC *out)
{
    TextureObject *object;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(texture_enter(handle, kind, &object));
    *out = object->resource;
    PUT(object);
    return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject handle)
{
    return texture_resource(handle, OBJECT_TEXTURE, out);
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject handle)
{
    return texture_resource(handle, OBJECT_SURFACE, out);
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject handle)
{
    TextureObject *object;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(texture_enter(handle, OBJECT_TEXTURE, &object));
    *out = object->description;
    PUT(object);
    return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle)
{
    TextureObject *object;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(texture_enter(handle, OBJECT_TEXTURE, &object));
    bool given = object->has_view;
    *out = object->view;
    PUT(object);
    return given ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
