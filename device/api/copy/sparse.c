/* Sparse arrays. See sparse.h.
 *
 * The storage of the whole array is there, row by row, and a tile's bytes are copied: from its memory when it
 * is mapped, and back when it is unmapped. So memory that is mapped to two tiles at once is not shared. */
#include "api/copy/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/log.h"
#include "api/copy/mipmap.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what all tiles are mapped to */

static CUresult refuse(const char *what)
{
    log_error("sparse array: %s", what);
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- Tiles ---- */

static bool is_layered(const CUDA_ARRAY3D_DESCRIPTOR *shape) { return shape->Flags & CUDA_ARRAY3D_LAYERED; }

CUresult sparse_check(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    if (shape->Height && !(shape->Flags & CUDA_ARRAY3D_CUBEMAP)) return CUDA_SUCCESS;
    return refuse("it has two dimensions, with layers or not, or three");
}

/* Elements of a tile, by the size of one: 64 KiB, as near to a square or cube as powers of two are. */
static const uint16_t *tile_of(const CUDA_ARRAY3D_DESCRIPTOR *shape, size_t element)
{
    static const uint16_t flat[][3] = {
        {256, 256, 1}, {256, 128, 1}, {128, 128, 1}, {128, 64, 1}, {64, 64, 1}};
    static const uint16_t deep[][3] = {{64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
    unsigned size = (unsigned)__builtin_ctzl(element);
    return shape->Depth && !is_layered(shape) ? deep[size] : flat[size];
}

static uint32_t parts(uint64_t size, uint64_t part) { return (uint32_t)((size + part - 1) / part); }

static bool is_tail(const Array *array, const uint16_t tile[3])
{
    return array->shape.Width < tile[0] || array->rows < tile[1] || array->layers < tile[2];
}

static SparseTiles level_tiles(const Array *array, const uint16_t tile[3])
{
    return (SparseTiles){
        .storage = array->storage,
        .row = array->row,
        .slice = array->row * array->rows,
        .rows = (uint32_t)array->rows,
        .layers = (uint32_t)array->layers,
        .tile_row = (uint32_t)(tile[0] * array->element_size),
        .height = tile[1],
        .depth = tile[2],
        .across = parts(array->shape.Width, tile[0]),
        .down = parts(array->rows, tile[1]),
    };
}

static SparseTiles tail_tiles(uint64_t storage, uint64_t bytes)
{
    return (SparseTiles){
        .storage = storage,
        .row = bytes,
        .slice = bytes,
        .rows = 1,
        .layers = 1,
        .tile_row = SPARSE_TILE_BYTES,
        .height = 1,
        .depth = 1,
        .across = parts(bytes, SPARSE_TILE_BYTES),
        .down = 1,
    };
}

static uint32_t tile_count(const SparseTiles *t) { return t->across * t->down * parts(t->layers, t->depth); }

static void describe(Sparse *sparse, const Array *first, const uint16_t tile[3], unsigned levels, bool tail)
{
    CUDA_ARRAY_SPARSE_PROPERTIES *p = &sparse->properties;
    p->tileExtent.width = tile[0];
    p->tileExtent.height = tile[1];
    p->tileExtent.depth = tile[2];
    p->miptailFirstLevel = tail ? sparse->count - 1 : levels;
    p->miptailSize = tail ? (uint64_t)sparse->level[sparse->count - 1].across * SPARSE_TILE_BYTES : 0;
    if (!first->whole) p->miptailFirstLevel = 0;
    if (tail && (!first->whole || is_layered(&first->shape)))
        p->flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
}

CUresult sparse_make(Array *const *arrays, unsigned count, uint64_t end, Sparse **out)
{
    Sparse *sparse = calloc(1, sizeof *sparse);
    if (!sparse) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = sparse;
    const uint16_t *tile = tile_of(&arrays[0]->shape, arrays[0]->element_size);
    unsigned k = 0;
    for (; k < count && !is_tail(arrays[k], tile); k++) sparse->level[k] = level_tiles(arrays[k], tile);
    bool tail = k < count;
    if (tail) sparse->level[k] = tail_tiles(arrays[k]->storage, end - arrays[k]->storage);
    sparse->count = k + tail;
    for (unsigned i = 0; i < sparse->count; i++) sparse->tiles += tile_count(&sparse->level[i]);
    if (!sparse->tiles) return CUDA_ERROR_INVALID_VALUE;
    sparse->mapped = calloc(sparse->tiles, 1);
    sparse->backing = calloc(sparse->tiles, sizeof *sparse->backing);
    if (!sparse->mapped || !sparse->backing) return CUDA_ERROR_OUT_OF_MEMORY;
    uint8_t *mapped = sparse->mapped;
    for (unsigned i = 0; i < sparse->count; mapped += tile_count(&sparse->level[i++]))
        sparse->level[i].mapped = mapped;
    for (unsigned i = 0; i < count; i++) arrays[i]->sparse = &sparse->level[i < k ? i : k];
    describe(sparse, arrays[0], tile, count, tail);
    memset((void *)(uintptr_t)arrays[0]->storage, 0, end - arrays[0]->storage);
    return CUDA_SUCCESS;
}

void sparse_free(Sparse *sparse)
{
    if (!sparse) return;
    for (uint32_t i = 0; sparse->backing && i < sparse->tiles; i++)
        if (sparse->backing[i].physical) PUT(sparse->backing[i].physical);
    free(sparse->backing);
    free(sparse->mapped);
    free(sparse);
}

/* ---- Mapping: tiles from one corner to before another ---- */

typedef struct MapStep {
    Object *owner; /* a reference: whose tiles they are */
    Sparse *sparse;
    const SparseTiles *tiles;
    uint32_t from[3], to[3];
    Physical *physical; /* a reference; NULL: they are unmapped */
    uint64_t offset;
} MapStep;

/* A tile's bytes from the storage to a buffer or back; without a buffer they become zeros. */
static void pass_tile(const SparseTiles *t, const uint32_t at[3], uint8_t *buffer, bool to_buffer)
{
    uint64_t x = (uint64_t)at[0] * t->tile_row, width = t->row - x < t->tile_row ? t->row - x : t->tile_row;
    for (uint32_t dz = 0; dz < t->depth; dz++)
        for (uint32_t dy = 0; dy < t->height; dy++) {
            uint32_t z = at[2] * t->depth + dz, y = at[1] * t->height + dy;
            if (z >= t->layers || y >= t->rows) continue;
            uint8_t *place = (uint8_t *)(uintptr_t)(t->storage + z * t->slice + y * t->row + x);
            uint8_t *kept = buffer ? buffer + (uint64_t)(dz * t->height + dy) * t->tile_row : NULL;
            if (!kept)
                memset(place, 0, width);
            else
                memcpy(to_buffer ? kept : place, to_buffer ? place : kept, width);
        }
}

static void map_tile(const MapStep *step, const uint32_t at[3], uint64_t offset)
{
    const SparseTiles *t = step->tiles;
    uint32_t number = (at[2] * t->down + at[1]) * t->across + at[0];
    Backing *backing = &step->sparse->backing[(t->mapped - step->sparse->mapped) + number];
    uint8_t buffer[SPARSE_TILE_BYTES] = {0};
    if (backing->physical) {
        pass_tile(t, at, buffer, true);
        physical_pass(backing->physical, backing->offset, buffer, sizeof buffer, true);
        PUT(backing->physical);
        pass_tile(t, at, NULL, false);
    }
    *backing = (Backing){step->physical, offset};
    if (step->physical) {
        object_hold(OBJECT(step->physical));
        physical_pass(step->physical, offset, buffer, sizeof buffer, false);
        pass_tile(t, at, buffer, false);
    }
    __atomic_store_n(&t->mapped[number], step->physical != NULL, __ATOMIC_RELAXED);
}

static void run_step(const MapStep *step)
{
    uint64_t offset = step->offset;
    uint32_t at[3];
    for (at[2] = step->from[2]; at[2] < step->to[2]; at[2]++)
        for (at[1] = step->from[1]; at[1] < step->to[1]; at[1]++)
            for (at[0] = step->from[0]; at[0] < step->to[0]; at[0]++, offset += SPARSE_TILE_BYTES)
                map_tile(step, at, offset);
}

typedef struct MapTask {
    Task task;
    unsigned count;
    MapStep steps[];
} MapTask;

static void run_map(Task *self, Stream *stream)
{
    MapTask *task = (MapTask *)self;
    (void)stream;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < task->count; i++) run_step(&task->steps[i]);
    pthread_mutex_unlock(&lock);
}

static void free_map(Task *self)
{
    MapTask *task = (MapTask *)self;
    for (unsigned i = 0; i < task->count; i++) {
        if (task->steps[i].owner) object_put(task->steps[i].owner);
        if (task->steps[i].physical) PUT(task->steps[i].physical);
    }
    free(task);
}

/* ---- What is asked for ---- */

static CUresult find_resource(const CUarrayMapInfo *info, MapStep *step)
{
    const Array *array = NULL;
    if (info->resourceType == CU_RESOURCE_TYPE_ARRAY) {
        array = object_get(info->resource.array, OBJECT_ARRAY);
        step->owner = (Object *)(uintptr_t)array;
        if (array) step->sparse = array->tiles;
    } else if (info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        const MipmappedArray *mipmap = object_get(info->resource.mipmap, OBJECT_MIPMAPPED_ARRAY);
        step->owner = (Object *)(uintptr_t)mipmap;
        if (mipmap) step->sparse = mipmap->tiles;
    } else {
        return refuse("the resource is an array or a mipmapped array");
    }
    if (!step->owner) return CUDA_ERROR_INVALID_HANDLE;
    return step->sparse ? CUDA_SUCCESS : refuse("the array was not made with CUDA_ARRAY3D_SPARSE");
}

/* The tiles along an axis; the last may end with the array. */
static bool span(MapStep *step, int axis, uint64_t first, uint64_t count, uint64_t tile, uint64_t size)
{
    uint64_t end = first + count;
    step->from[axis] = (uint32_t)(first / tile);
    step->to[axis] = parts(end, tile);
    return count && first % tile == 0
           && (end == size || (end % tile == 0 && step->to[axis] <= parts(size, tile)));
}

static CUresult find_level(const CUarrayMapInfo *info, MapStep *step)
{
    const CUDA_ARRAY_SPARSE_PROPERTIES *p = &step->sparse->properties;
    unsigned own = step->sparse->count - (p->miptailSize != 0), level = info->subresource.sparseLevel.level;
    if (level >= own) return refuse("it has no such level, or that is in the mip tail");
    const SparseTiles *t = step->tiles = &step->sparse->level[level];
    uint32_t width = p->tileExtent.width, element = t->tile_row / width,
             layer = info->subresource.sparseLevel.layer;
    bool layered = t->depth == 1 && t->layers > 1;
    if (layer >= (layered ? t->layers : 1)) return refuse("it has no such layer");
    bool fits = span(step, 0, info->subresource.sparseLevel.offsetX,
                     info->subresource.sparseLevel.extentWidth, width, t->row / element)
                && span(step, 1, info->subresource.sparseLevel.offsetY,
                        info->subresource.sparseLevel.extentHeight, t->height, t->rows)
                && span(step, 2, info->subresource.sparseLevel.offsetZ,
                        info->subresource.sparseLevel.extentDepth, t->depth, layered ? 1 : t->layers);
    step->from[2] += layer;
    step->to[2] += layer;
    return fits ? CUDA_SUCCESS : refuse("offsets and extents are multiples of the tile's, within the level");
}

static CUresult find_tail(const CUarrayMapInfo *info, MapStep *step)
{
    if (!step->sparse->properties.miptailSize || info->subresource.miptail.layer)
        return refuse("it has no mip tail, or that has no layers");
    const SparseTiles *t = step->tiles = &step->sparse->level[step->sparse->count - 1];
    step->to[1] = step->to[2] = 1;
    return span(step, 0, info->subresource.miptail.offset, info->subresource.miptail.size, SPARSE_TILE_BYTES,
                (uint64_t)t->across * SPARSE_TILE_BYTES)
               ? CUDA_SUCCESS
               : refuse("offset and size are multiples of 64 KiB, within the mip tail");
}

static CUresult find_memory(const CUarrayMapInfo *info, const Device *device, MapStep *step)
{
    uint64_t tiles = 1;
    if (info->memOperationType == CU_MEM_OPERATION_TYPE_UNMAP)
        return info->memHandle.memHandle ? refuse("what is unmapped has no memory handle") : CUDA_SUCCESS;
    if (info->memOperationType != CU_MEM_OPERATION_TYPE_MAP || info->memHandleType)
        return refuse("an invalid operation or type of a handle");
    TRY(physical_enter(info->memHandle.memHandle, &step->physical));
    for (int k = 0; k < 3; k++) tiles *= step->to[k] - step->from[k];
    step->offset = info->offset;
    if (!(step->physical->usage & CU_MEM_CREATE_USAGE_TILE_POOL) || step->physical->device != device)
        return refuse("the memory is no tile pool (CU_MEM_CREATE_USAGE_TILE_POOL) of the device");
    bool fits = info->offset % SPARSE_TILE_BYTES == 0 && info->offset <= step->physical->size
                && tiles <= (step->physical->size - info->offset) / SPARSE_TILE_BYTES;
    return fits ? CUDA_SUCCESS : refuse("the tiles do not fit into the memory at that multiple of 64 KiB");
}

static CUresult find_step(const CUarrayMapInfo *info, const Device *device, MapStep *step)
{
    if (info->flags || info->reserved[0] || info->reserved[1]
        || info->deviceBitMask != 1u << (unsigned)device->ordinal)
        return refuse("flags are 0, and the only device is that of the stream");
    TRY(find_resource(info, step));
    if (info->subresourceType > CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL)
        return refuse("an invalid type of a subresource");
    TRY(info->subresourceType ? find_tail(info, step) : find_level(info, step));
    return find_memory(info, device, step);
}

CUresult cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned int count, CUstream handle)
{
    Stream *stream;
    TRY(stream_enter(handle, &stream));
    CUresult result = list && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    MapTask *task = result ? NULL : calloc(1, sizeof *task + count * sizeof *task->steps);
    if (!result && !task) result = CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; !result && i < count; i++) {
        task->count = i + 1;
        result = find_step(&list[i], stream->object.context->device, &task->steps[i]);
    }
    if (!result) result = queue_wait_room(stream);
    if (result) {
        if (task) free_map(&task->task);
    } else {
        task->task.run = run_map;
        task->task.release = free_map;
        queue_submit(stream, &task->task, NULL);
    }
    PUT(stream);
    return result;
}
