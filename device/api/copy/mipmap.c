/* Mipmapped arrays: creation, their levels, destruction. */
#include "api/copy/mipmap.h"

#include "api/base/log.h"
#include "api/copy/sparse.h"
#include "api/memory/external.h"
#include "api/memory/memory.h"

static void mipmap_release(Object *object)
{
    MipmappedArray *mipmap = (MipmappedArray *)object;
    sparse_free(mipmap->tiles);
    if (mipmap->storage) memory_release_of(object, mipmap->storage);
}

static size_t halved(size_t size) { return size > 1 ? size / 2 : size; }

/* Whether the depth is a dimension, which is halved from level to level. Every level has all layers and all
 * faces of cubes. */
static bool has_depth(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    return !(shape->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP));
}

/* The largest number of levels: the last one has one element. */
static unsigned max_levels(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    size_t longest = shape->Width > shape->Height ? shape->Width : shape->Height;
    if (has_depth(shape) && shape->Depth > longest) longest = shape->Depth;
    unsigned levels = 1;
    while (longest >> levels) levels++;
    return levels;
}

/* Makes the array of each level, and adds up mipmap->bytes. */
static CUresult make_levels(MipmappedArray *mipmap, const CUDA_ARRAY3D_DESCRIPTOR *first)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = *first;
    for (unsigned k = 0; k < mipmap->levels; k++) {
        Array *array;
        TRY(array_new(mipmap->object.context, &shape, &array));
        array->whole = (MipmappedArray *)object_hold(OBJECT(mipmap));
        array->storage = mipmap->bytes; /* its offset; publish_levels() makes it an address */
        mipmap->level[k] = array;
        mipmap->bytes += texture_level_bytes(array->row * array->rows, array->layers);
        shape.Width = halved(shape.Width);
        shape.Height = halved(shape.Height);
        if (has_depth(first)) shape.Depth = halved(shape.Depth);
    }
    return CUDA_SUCCESS;
}

/* Completes the levels once there is storage, and publishes them and the mipmapped array. */
static CUresult publish_levels(MipmappedArray *mipmap)
{
    for (unsigned k = 0; k < mipmap->levels; k++) mipmap->level[k]->storage += mipmap->storage;
    if (mipmap->level[0]->shape.Flags & CUDA_ARRAY3D_SPARSE)
        TRY(sparse_make(mipmap->level, mipmap->levels, &mipmap->tiles));
    for (unsigned k = 0; k < mipmap->levels; k++) TRY(object_publish(OBJECT(mipmap->level[k])));
    return object_publish(OBJECT(mipmap));
}

static void retire_levels(const MipmappedArray *mipmap)
{
    for (unsigned k = 0; k < mipmap->levels; k++) {
        Array *array = object_get(mipmap->level[k], OBJECT_ARRAY);
        if (!array) continue;
        object_retire(OBJECT(array));
        PUT(array);
    }
}

/* Allocates the memory, or takes a part of external memory. */
static CUresult take_storage(MipmappedArray *mipmap, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *part,
                             CUexternalMemory memory)
{
    Context *context = mipmap->object.context;
    MemoryRequest request = {.size = mipmap->bytes, .kind = MEMORY_ARRAY};
    CUdeviceptr storage;
    TRY(memory ? external_map(context, memory, part->offset, mipmap->bytes, &storage)
               : memory_allocate(context, &request, &storage));
    mipmap->storage = storage;
    return CUDA_SUCCESS;
}

static CUresult make_mipmap(CUmipmappedArray *out, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *part,
                            CUexternalMemory memory, Context *context)
{
    MipmappedArray *mipmap = object_new(OBJECT_MIPMAPPED_ARRAY, sizeof *mipmap, context, mipmap_release);
    if (!mipmap) return CUDA_ERROR_OUT_OF_MEMORY;
    mipmap->levels = part->levels;
    CUresult result =
        part->levels > TEXTURE_MAX_LEVELS ? CUDA_ERROR_INVALID_VALUE : make_levels(mipmap, &part->shape);
    if (!result) result = take_storage(mipmap, part, memory);
    if (!result) result = publish_levels(mipmap);
    if (result) retire_levels(mipmap);
    for (unsigned k = 0; k < TEXTURE_MAX_LEVELS; k++)
        if (mipmap->level[k]) PUT(mipmap->level[k]);
    if (!result) *out = mipmap;
    PUT(mipmap);
    return result;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out || !shape) return CUDA_ERROR_INVALID_VALUE;
    unsigned max = max_levels(shape), count = levels < 1 ? 1 : levels > max ? max : levels;
    return make_mipmap(out, &(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC){.shape = *shape, .levels = count},
                       NULL, context);
}

/* CUDA_ARRAY3D_COLOR_ATTACHMENT makes no difference here. */
CUresult cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *out, CUexternalMemory memory,
                                                 const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *part)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out || !part || !memory) return CUDA_ERROR_INVALID_VALUE;
    if (!part->levels || part->levels > max_levels(&part->shape) || part->shape.Flags & CUDA_ARRAY3D_SPARSE)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC plain = *part;
    plain.shape.Flags &= ~(unsigned)CUDA_ARRAY3D_COLOR_ATTACHMENT;
    return make_mipmap(out, &plain, memory, context);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
    Context *context;
    TRY(context_enter_any(&context));
    MipmappedArray *mipmap = object_get(handle, OBJECT_MIPMAPPED_ARRAY);
    if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = queue_wait_context(mipmap->object.context);
    if (!result && !object_retire(OBJECT(mipmap))) result = CUDA_ERROR_INVALID_HANDLE;
    if (!result) {
        retire_levels(mipmap);
        result = context_error(context);
    }
    PUT(mipmap);
    return result;
}

CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray handle, unsigned level)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    MipmappedArray *mipmap = object_get(handle, OBJECT_MIPMAPPED_ARRAY);
    if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = level < mipmap->levels ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!result) *out = mipmap->level[level];
    PUT(mipmap);
    return result;
}

/* The result of a call for a property of mipmapped arrays made with the flag `what`, if this one was not: the
 * first error of its arguments. */
static CUresult refuse_plain(const void *out, CUmipmappedArray handle, const char *what)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    MipmappedArray *mipmap = object_get(handle, OBJECT_MIPMAPPED_ARRAY);
    if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
    PUT(mipmap);
    log_error("the mipmapped array was not made with %s", what);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUmipmappedArray handle,
                                               CUdevice ordinal)
{
    if (!driver_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    return refuse_plain(out, handle, "CUDA_ARRAY3D_DEFERRED_MAPPING");
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out, CUmipmappedArray handle)
{
    TRY(driver_check());
    MipmappedArray *mipmap = out ? object_get(handle, OBJECT_MIPMAPPED_ARRAY) : NULL;
    bool sparse = mipmap && mipmap->tiles;
    if (sparse) *out = mipmap->tiles->properties;
    if (mipmap) PUT(mipmap);
    return sparse ? CUDA_SUCCESS : refuse_plain(out, handle, "CUDA_ARRAY3D_SPARSE");
}
