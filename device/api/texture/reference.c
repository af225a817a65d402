/* Texture and surface references. The setters keep what they are given; a launch makes textures and surfaces
 * from it. Which values are refused, and by which error, was observed with an H100's driver (580.159). */
#include "api/texture/reference.h"

#include <string.h>

#include "api/memory/memory.h"

enum { ADDRESS_ALIGNMENT = 512 }; /* bytes */
enum { MAX_LINEAR = 1 << 28 };    /* elements of linear memory */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the fields of all references */

static ObjectKind kind_of(bool surface)
{
    return surface ? OBJECT_SURFACE_REFERENCE : OBJECT_TEXTURE_REFERENCE;
}

CUresult reference_register(Context *context, bool surface, TexRef **out)
{
    TexRef *r = object_new(kind_of(surface), sizeof *r, context, NULL);
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    for (int k = 0; k < 3; k++) r->sampling.addressMode[k] = TEXTURE_CLAMP;
    r->format = CU_AD_FORMAT_FLOAT;
    r->channels = 1;
    *out = r;
    return object_publish(OBJECT(r));
}

/* The live texture or surface reference of a handle, with a reference. */
static CUresult enter_reference(const void *handle, bool surface, TexRef **out)
{
    Context *context;
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    TRY(context_enter(&context));
    *out = object_get(handle, kind_of(surface));
    return *out ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cuTexRefCreate(CUtexref *out)
{
    Context *context;
    TexRef *reference = NULL;
    TRY(context_enter(&context));
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = reference_register(context, false, &reference);
    if (!result) *out = (CUtexref)(void *)reference;
    if (reference) PUT(reference);
    return result;
}

CUresult cuTexRefDestroy(CUtexref handle)
{
    TexRef *reference;
    TRY(enter_reference(handle, false, &reference));
    object_retire(OBJECT(reference));
    PUT(reference);
    return CUDA_SUCCESS;
}

/* ---- Setters and getters ---- */

/* The body of a driver function from here on: if `valid`, does the action, both of which may use the
 * reference `r`, under the lock. Returns CUDA_ERROR_INVALID_VALUE if not. */
#define REFERENCE_CALL(handle, surface, valid, action) \
    do { \
        TexRef *r; \
        TRY(enter_reference(handle, surface, &r)); \
        pthread_mutex_lock(&lock); \
        bool is_valid = (valid); \
        if (is_valid) action; \
        pthread_mutex_unlock(&lock); \
        PUT(r); \
        return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; \
    } while (0)
#define TEXTURE_CALL(valid, action) REFERENCE_CALL(handle, false, valid, action)
#define TEXTURE_GETTER(out, value) TEXTURE_CALL(out, *(out) = (value))

CUresult reference_check_bound(CUtexref handle)
{
    TexRef *r;
    if (enter_reference(handle, false, &r)) return CUDA_ERROR_INVALID_HANDLE; /* if it was destroyed, too */
    pthread_mutex_lock(&lock);
    bool bound = r->bound;
    pthread_mutex_unlock(&lock);
    PUT(r);
    return bound ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexRefSetFormat(CUtexref handle, CUarray_format format, int channels)
{
    bool valid = channels >= 0 && channels <= 4 && channels != 3;
    TEXTURE_CALL(valid, (r->format = format, r->channels = (unsigned)channels));
}

CUresult cuTexRefSetFlags(CUtexref handle, unsigned int flags)
{
    enum { ALL_TEXTURE_FLAGS = 0x3f };
    TEXTURE_CALL(flags <= ALL_TEXTURE_FLAGS, r->sampling.flags = flags);
}

CUresult cuTexRefSetAddressMode(CUtexref handle, int dim, CUaddress_mode mode)
{
    TEXTURE_CALL(dim >= 0 && dim < 3, r->sampling.addressMode[dim] = mode);
}

CUresult cuTexRefSetFilterMode(CUtexref handle, CUfilter_mode mode)
{
    TEXTURE_CALL(true, r->sampling.filterMode = mode);
}

CUresult cuTexRefSetMipmapFilterMode(CUtexref handle, CUfilter_mode mode)
{
    TEXTURE_CALL(mode <= 1, r->sampling.mipmapFilterMode = mode);
}

CUresult cuTexRefSetMipmapLevelBias(CUtexref handle, float bias)
{
    TEXTURE_CALL(true, r->sampling.mipmapLevelBias = bias);
}

CUresult cuTexRefSetMipmapLevelClamp(CUtexref handle, float min, float max)
{
    TEXTURE_CALL(true, (r->sampling.minMipmapLevelClamp = min, r->sampling.maxMipmapLevelClamp = max));
}

CUresult cuTexRefSetMaxAnisotropy(CUtexref handle, unsigned int max)
{
    TEXTURE_CALL(true, r->sampling.maxAnisotropy = max);
}

CUresult cuTexRefSetBorderColor(CUtexref handle, float *color)
{
    TEXTURE_CALL(color, memcpy(r->sampling.borderColor, color, sizeof r->sampling.borderColor));
}

CUresult cuTexRefGetFormat(CUarray_format *format, int *channels, CUtexref handle)
{
    CUarray_format no_format;
    int no_channels;
    if (!format) format = &no_format;
    if (!channels) channels = &no_channels;
    TEXTURE_CALL(true, (*format = r->format, *channels = (int)r->channels));
}

CUresult cuTexRefGetFlags(unsigned int *out, CUtexref handle) { TEXTURE_GETTER(out, r->sampling.flags); }

CUresult cuTexRefGetAddressMode(CUaddress_mode *out, CUtexref handle, int dim)
{
    TEXTURE_CALL(out && dim >= 0 && dim < 3, *out = r->sampling.addressMode[dim]);
}

CUresult cuTexRefGetFilterMode(CUfilter_mode *out, CUtexref handle)
{
    TEXTURE_GETTER(out, r->sampling.filterMode);
}

CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode *out, CUtexref handle)
{
    TEXTURE_GETTER(out, r->sampling.mipmapFilterMode);
}

CUresult cuTexRefGetMipmapLevelBias(float *out, CUtexref handle)
{
    TEXTURE_GETTER(out, r->sampling.mipmapLevelBias);
}

CUresult cuTexRefGetMipmapLevelClamp(float *min, float *max, CUtexref handle)
{
    TEXTURE_CALL(min && max,
                 (*min = r->sampling.minMipmapLevelClamp, *max = r->sampling.maxMipmapLevelClamp));
}

CUresult cuTexRefGetMaxAnisotropy(int *out, CUtexref handle)
{
    TEXTURE_GETTER(out, (int)r->sampling.maxAnisotropy);
}

CUresult cuTexRefGetBorderColor(float *out, CUtexref handle)
{
    TEXTURE_CALL(out, memcpy(out, r->sampling.borderColor, sizeof r->sampling.borderColor));
}

/* ---- Memory ---- */

/* Binds the texture reference to the resource. With CU_TRSA_OVERRIDE_FORMAT it reads elements in the
 * resource's own format, that of `shape`. */
static CUresult bind_elements(CUtexref handle, const CUDA_RESOURCE_DESC *resource,
                              const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned flags)
{
    bool valid = flags <= CU_TRSA_OVERRIDE_FORMAT;
    TEXTURE_CALL(valid,
                 (r->resource = *resource, r->bound = true, r->format = flags ? shape->Format : r->format,
                  r->channels = flags ? shape->NumChannels : r->channels));
}

CUresult cuTexRefSetArray(CUtexref handle, CUarray array, unsigned int flags)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_ARRAY3D_DESCRIPTOR shape;
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    TRY(cuArray3DGetDescriptor_v2(&shape, array));
    return bind_elements(handle, &resource, &shape, flags);
}

CUresult cuTexRefSetMipmappedArray(CUtexref handle, CUmipmappedArray mipmap, unsigned int flags)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                   .res.mipmap.hMipmappedArray = mipmap};
    CUDA_ARRAY3D_DESCRIPTOR shape;
    CUarray first;
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    TRY(cuMipmappedArrayGetLevel(&first, mipmap, 0));
    TRY(cuArray3DGetDescriptor_v2(&shape, first));
    return bind_elements(handle, &resource, &shape, flags);
}

/* Binds memory from an aligned address on. *offset: the bytes from there to `address`. */
CUresult cuTexRefSetAddress_v2(size_t *offset, CUtexref handle, CUdeviceptr address, size_t bytes)
{
    size_t before = address % ADDRESS_ALIGNMENT;
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
    resource.res.linear.devPtr = address - before;
    resource.res.linear.sizeInBytes = bytes + before < bytes ? bytes : bytes + before;
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    if (before && !offset) return CUDA_ERROR_INVALID_VALUE;
    TRY(bind_elements(handle, &resource, NULL, 0));
    if (offset) *offset = before;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress2D_v2(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *shape, CUdeviceptr address,
                                 size_t pitch)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_PITCH2D};
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    if (!shape || address % ADDRESS_ALIGNMENT
        || pitch < shape->Width * array_format_size(shape->Format) * shape->NumChannels)
        return CUDA_ERROR_INVALID_VALUE;
    resource.res.pitch2D.devPtr = address;
    resource.res.pitch2D.width = shape->Width ? shape->Width : 1;
    resource.res.pitch2D.height = shape->Height ? shape->Height : 1;
    resource.res.pitch2D.pitchInBytes = pitch;
    CUDA_ARRAY3D_DESCRIPTOR elements = {.Format = shape->Format, .NumChannels = shape->NumChannels};
    return bind_elements(handle, &resource, &elements, CU_TRSA_OVERRIDE_FORMAT);
}

CUresult cuTexRefSetAddress2D_v3(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *shape, CUdeviceptr address,
                                 size_t pitch)
{
    enum { MAX_WIDTH = 131072, MAX_HEIGHT = 65000, MAX_PITCH = 2097120 };
    bool fits = !shape || (shape->Width <= MAX_WIDTH && shape->Height <= MAX_HEIGHT && pitch <= MAX_PITCH);
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    return fits ? cuTexRefSetAddress2D_v2(handle, shape, address, pitch) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuSurfRefSetArray(CUsurfref handle, CUarray array, unsigned int flags)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_ARRAY3D_DESCRIPTOR shape;
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    TRY(cuArray3DGetDescriptor_v2(&shape, array));
    bool valid = !flags && (shape.Flags & CUDA_ARRAY3D_SURFACE_LDST);
    REFERENCE_CALL(handle, true, valid, (r->resource = resource, r->bound = true));
}

/* The resource that the reference is bound to; an error if there is none of this type. */
static CUresult bound_to(const void *handle, bool surface, CUresourcetype type, CUDA_RESOURCE_DESC *out)
{
    REFERENCE_CALL(handle, surface, r->bound && r->resource.resType == type, *out = r->resource);
}

static CUresult get_array(CUarray *out, const void *handle, bool surface)
{
    CUDA_RESOURCE_DESC resource;
    TexRef *reference;
    TRY(enter_reference(handle, surface, &reference));
    PUT(reference);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    TRY(bound_to(handle, surface, CU_RESOURCE_TYPE_ARRAY, &resource));
    Array *array = object_get(resource.res.array.hArray, OBJECT_ARRAY);
    if (!array) return CUDA_ERROR_INVALID_VALUE;
    PUT(array);
    *out = resource.res.array.hArray;
    return CUDA_SUCCESS;
}

CUresult cuTexRefGetArray(CUarray *out, CUtexref handle) { return get_array(out, handle, false); }

CUresult cuSurfRefGetArray(CUarray *out, CUsurfref handle) { return get_array(out, handle, true); }

CUresult cuTexRefGetMipmappedArray(CUmipmappedArray *out, CUtexref handle)
{
    TEXTURE_CALL(out && r->bound && r->resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                 *out = r->resource.res.mipmap.hMipmappedArray);
}

CUresult cuTexRefGetAddress_v2(CUdeviceptr *out, CUtexref handle)
{
    TEXTURE_CALL(out && r->bound
                     && (r->resource.resType == CU_RESOURCE_TYPE_LINEAR
                         || r->resource.resType == CU_RESOURCE_TYPE_PITCH2D),
                 *out = r->resource.resType == CU_RESOURCE_TYPE_LINEAR ? r->resource.res.linear.devPtr
                                                                       : r->resource.res.pitch2D.devPtr);
}

/* ---- Textures for a launch ---- */

/* Linear memory may be bound with a size beyond its allocation: the texture has that size, but reads beyond
 * the allocation are a fault. */
static CUresult make_linear(const TexRef *r, CUDA_RESOURCE_DESC *resource, Texture *out)
{
    MemoryRange range;
    CUdeviceptr address = resource->res.linear.devPtr;
    uint64_t element = array_format_size(r->format) * r->channels, bytes = resource->res.linear.sizeInBytes;
    if (bytes < element) bytes = resource->res.linear.sizeInBytes = element; /* as observed with an H100 */
    uint64_t count = element ? bytes / element : 1;
    if (!memory_map_find_for_call(driver_memory(), address, 1, &range)) return texture_bind(out, resource);
    uint64_t available = range.base + range.size - address;
    resource->res.linear.sizeInBytes = available < bytes ? available : bytes;
    TRY(texture_bind(out, resource));
    out->size[0] = (uint32_t)(count < MAX_LINEAR ? count : MAX_LINEAR);
    return CUDA_SUCCESS;
}

/* CUDA_ERROR_INVALID_HANDLE: the array that it was bound to was destroyed. */
static CUresult make_texture(const TexRef *r, Texture *out)
{
    CUDA_RESOURCE_DESC resource = r->resource;
    if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
        resource.res.linear.format = r->format;
        resource.res.linear.numChannels = r->channels;
        TRY(make_linear(r, &resource, out));
    } else if (resource.resType == CU_RESOURCE_TYPE_PITCH2D) {
        resource.res.pitch2D.format = r->format;
        resource.res.pitch2D.numChannels = r->channels;
        TRY(texture_bind(out, &resource));
    } else {
        TRY(texture_bind(out, &resource));
        TRY(texture_read_as(out, r->format, r->channels));
    }
    return texture_set_sampling(out, &r->sampling, resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
}

static TextureBinding binding_of(const TexRef *r)
{
    bool surface = r->object.kind == OBJECT_SURFACE_REFERENCE;
    TextureBinding binding = {{.surface = surface}, NULL};
    if (!r->bound) return binding;
    CUresult result =
        surface ? texture_bind(&binding.texture, &r->resource) : make_texture(r, &binding.texture);
    if (result) binding.texture = (Texture){0};
    if (result && result != CUDA_ERROR_INVALID_HANDLE)
        binding.problem = "cannot be used as it is bound: the driver's log says why";
    return binding;
}

void references_bind(TexRef *const *references, unsigned count, TextureBinding *out)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count; i++) out[i] = binding_of(references[i]);
    pthread_mutex_unlock(&lock);
}
