/* Sparse arrays. See sparse.h.
 *
 * The array has storage for all its tiles, row by row. When a tile is mapped its bytes are copied from the
 * physical memory to the storage, and back when it is unmapped. So two tiles that the same memory is mapped
 * to do not see each other's writes. */
#include "api/copy/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/log.h"
#include "api/copy/mipmap.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for Sparse.backing of all arrays */

static CUresult log_sparse_error(const char *what)
{
    log_error("sparse array: %s", what);
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- Tiles ---- */

static bool is_layered(const CUDA_ARRAY3D_DESCRIPTOR *shape) { return shape->Flags & CUDA_ARRAY3D_LAYERED; }

CUresult sparse_check(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    const unsigned flags = shape->Flags & ~(unsigned)CUDA_ARRAY3D_SPARSE;
    if (!shape->Height || (is_layered(shape) && !shape->Depth))
        return log_sparse_error("it has two dimensions, with layers or not, or three");
    if (!flags || flags == CUDA_ARRAY3D_LAYERED) return CUDA_SUCCESS;
    if (flags == CUDA_ARRAY3D_TEXTURE_GATHER && !shape->Depth) return CUDA_SUCCESS;
    return log_sparse_error(
        "its only other flag is CUDA_ARRAY3D_LAYERED, or CUDA_ARRAY3D_TEXTURE_GATHER in 2-D");
}

/* The shape of a tile in elements of that size: 64 KiB, as near to a square or cube as powers of two
 * allow. */
static const uint16_t *tile_of(const CUDA_ARRAY3D_DESCRIPTOR *shape, size_t element)
{
    /* Width, height, depth by the logarithm of the element's size: of 1, 2, 4, 8 and 16 bytes. */
    static const uint16_t flat[][3] = {
        {256, 256, 1}, {256, 128, 1}, {128, 128, 1}, {128, 64, 1}, {64, 64, 1}};
    static const uint16_t deep[][3] = {{64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
    unsigned log_size = (unsigned)__builtin_ctzl(element);
    return shape->Depth && !is_layered(shape) ? deep[log_size] : flat[log_size];
}

/* How many parts of that size cover `size`. */
static uint32_t parts(uint64_t size, uint64_t part) { return (uint32_t)((size + part - 1) / part); }

/* Whether a level is in the mip tail: it is smaller than a tile. */
static bool is_tail(const Array *array, const uint16_t tile[3])
{
    return array->shape.Width < tile[0] || array->rows < tile[1] || array->layers < tile[2];
}

/* The tiles of a level before the mip tail. */
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

/* The tiles of a level in the mip tail, in which it begins at byte `start`. Each layer has a tail
 * (by_layer), or, if the first level is in it, there is one tail for all. */
static SparseTiles tail_tiles(const Array *array, bool by_layer, uint64_t start)
{
    uint64_t layer = array->row * array->rows, bytes = by_layer ? layer : layer * array->layers;
    return (SparseTiles){
        .storage = array->storage,
        .row = bytes,
        .slice = bytes,
        .start = start,
        .rows = 1,
        .layers = by_layer ? (uint32_t)array->layers : 1,
        .tile_row = SPARSE_TILE_BYTES,
        .height = 1,
        .depth = 1,
        .down = 1,
    };
}

/* The bytes that a level occupies in the mip tail. The third dimension is rounded up to a power of two, as
 * observed with an H100's driver (580.159). */
static uint64_t tail_bytes(const Array *array, const SparseTiles *t)
{
    uint64_t depth = 1;
    if (is_layered(&array->shape)) return t->row;
    while (depth < array->layers) depth *= 2;
    return array->row * array->rows * depth;
}

static uint32_t tile_count(const SparseTiles *t) { return t->across * t->down * parts(t->layers, t->depth); }

/* Fills in the tiles of all levels. The number of tiles in the tail is known only after all its levels. */
static void cut_into_tiles(Sparse *sparse, Array *const *arrays, const uint16_t tile[3])
{
    uint64_t bytes = 0;
    unsigned k = 0;
    for (; k < sparse->count && !is_tail(arrays[k], tile); k++)
        sparse->level[k] = level_tiles(arrays[k], tile);
    sparse->own = k;
    for (; k < sparse->count; k++) {
        sparse->level[k] = tail_tiles(arrays[k], sparse->own && is_layered(&arrays[k]->shape), bytes);
        bytes += tail_bytes(arrays[k], &sparse->level[k]);
    }
    for (k = sparse->own; k < sparse->count; k++) sparse->level[k].across = parts(bytes, SPARSE_TILE_BYTES);
    for (k = 0; k < sparse->count && k <= sparse->own; k++) sparse->tiles += tile_count(&sparse->level[k]);
}

static void set_properties(Sparse *sparse, bool mipmapped, const uint16_t tile[3])
{
    bool tail = sparse->own < sparse->count;
    sparse->properties = (CUDA_ARRAY_SPARSE_PROPERTIES){
        .tileExtent = {tile[0], tile[1], tile[2]},
        .miptailFirstLevel = mipmapped ? sparse->own : 0,
        .miptailSize = tail ? (uint64_t)sparse->level[sparse->own].across * SPARSE_TILE_BYTES : 0,
        .flags = sparse->own ? 0 : CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL,
    };
}

CUresult sparse_make(Array *const *arrays, unsigned count, Sparse **out)
{
    Sparse *sparse = calloc(1, sizeof *sparse);
    if (!sparse) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = sparse;
    sparse->count = count;
    const uint16_t *tile = tile_of(&arrays[0]->shape, arrays[0]->element_size);
    cut_into_tiles(sparse, arrays, tile);
    set_properties(sparse, arrays[0]->whole, tile);
    sparse->mapped = calloc(sparse->tiles, 1);
    sparse->backing = calloc(sparse->tiles, sizeof *sparse->backing);
    if (!sparse->mapped || !sparse->backing) return CUDA_ERROR_OUT_OF_MEMORY;
    uint8_t *mapped = sparse->mapped;
    for (unsigned k = 0; k < count; k++) {
        sparse->level[k].mapped = mapped;
        if (k < sparse->own) mapped += tile_count(&sparse->level[k]);
        arrays[k]->sparse = &sparse->level[k];
        memset((void *)(uintptr_t)arrays[k]->storage, 0, array_bytes(arrays[k]));
    }
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

/* ---- Mapping ---- */

/* One CUarrayMapInfo: maps or unmaps a box of tiles. */
typedef struct MapStep {
    Object *owner; /* a reference: the array or mipmapped array */
    Sparse *sparse; /* the owner's */
    const SparseTiles *tiles; /* of the level, or of the first level in the mip tail */
    unsigned levels; /* 1, or how many levels are in the mip tail */
    uint32_t from[3], to[3]; /* tiles along x, y, z; `to` is exclusive */
    Physical *physical; /* a reference: what the tiles are mapped to; NULL: they are unmapped */
    uint64_t offset; /* of the first tile in the physical memory */
} MapStep;

/* Copies a level's bytes in the tile at position `at` from the storage to the buffer (to_buffer) or back. If
 * the buffer is NULL the storage becomes zeros. */
static void pass_level(const SparseTiles *t, const uint32_t at[3], uint8_t *buffer, bool to_buffer)
{
    uint64_t x = (uint64_t)at[0] * t->tile_row, end = t->start + t->row;
    uint64_t first = x < t->start ? t->start : x, last = x + t->tile_row < end ? x + t->tile_row : end;
    if (first >= last) return;
    for (uint32_t dz = 0; dz < t->depth; dz++)
        for (uint32_t dy = 0; dy < t->height; dy++) {
            uint32_t z = at[2] * t->depth + dz, y = at[1] * t->height + dy;
            if (z >= t->layers || y >= t->rows) continue;
            uint8_t *place =
                (uint8_t *)(uintptr_t)(t->storage + z * t->slice + y * t->row + first - t->start);
            uint8_t *kept = buffer ? buffer + (dz * t->height + dy) * t->tile_row + (first - x) : NULL;
            if (!kept)
                memset(place, 0, last - first);
            else
                memcpy(to_buffer ? kept : place, to_buffer ? place : kept, last - first);
        }
}

/* pass_level() for all levels in the tile. */
static void pass_tile(const MapStep *step, const uint32_t at[3], uint8_t *buffer, bool to_buffer)
{
    for (unsigned k = 0; k < step->levels; k++) pass_level(&step->tiles[k], at, buffer, to_buffer);
}

/* Writes the tile's bytes back to what it was mapped to, and reads those of what it is mapped to now. */
static void map_tile(const MapStep *step, const uint32_t at[3], uint64_t offset)
{
    const SparseTiles *t = step->tiles;
    uint32_t number = (at[2] * t->down + at[1]) * t->across + at[0];
    Backing *backing = &step->sparse->backing[(t->mapped - step->sparse->mapped) + number];
    uint8_t buffer[SPARSE_TILE_BYTES] = {0};
    if (backing->physical) {
        pass_tile(step, at, buffer, true);
        physical_pass(backing->physical, backing->offset, buffer, sizeof buffer, true);
        PUT(backing->physical);
        pass_tile(step, at, NULL, false);
    }
    *backing = (Backing){step->physical, offset};
    if (step->physical) {
        object_hold(OBJECT(step->physical));
        physical_pass(step->physical, offset, buffer, sizeof buffer, false);
        pass_tile(step, at, buffer, false);
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

/* ---- Reading CUarrayMapInfo ---- */

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
        return log_sparse_error("the resource is an array or a mipmapped array");
    }
    if (!step->owner) return CUDA_ERROR_INVALID_HANDLE;
    return step->sparse ? CUDA_SUCCESS : log_sparse_error("the array was not made with CUDA_ARRAY3D_SPARSE");
}

/* Sets the tiles along an axis from `first` and `count`, in elements of an axis of `size`. False unless both
 * are multiples of a tile; the last tile may be cut by the array's end. */
static bool set_span(MapStep *step, int axis, uint64_t first, uint64_t count, uint64_t tile, uint64_t size)
{
    uint64_t end = first + count;
    step->from[axis] = (uint32_t)(first / tile);
    step->to[axis] = parts(end, tile);
    return count && first % tile == 0
           && (end == size || (end % tile == 0 && step->to[axis] <= parts(size, tile)));
}

static CUresult find_level(const CUarrayMapInfo *info, MapStep *step)
{
    unsigned level = info->subresource.sparseLevel.level;
    if (level >= step->sparse->own)
        return log_sparse_error("it has no such level, or that is in the mip tail");
    const SparseTiles *t = step->tiles = &step->sparse->level[level];
    step->levels = 1;
    uint32_t width = step->sparse->properties.tileExtent.width, element = t->tile_row / width,
             layer = info->subresource.sparseLevel.layer;
    bool layered = t->depth == 1 && t->layers > 1;
    if (layer >= (layered ? t->layers : 1)) return log_sparse_error("it has no such layer");
    bool fits = set_span(step, 0, info->subresource.sparseLevel.offsetX,
                         info->subresource.sparseLevel.extentWidth, width, t->row / element)
                && set_span(step, 1, info->subresource.sparseLevel.offsetY,
                            info->subresource.sparseLevel.extentHeight, t->height, t->rows)
                && set_span(step, 2, info->subresource.sparseLevel.offsetZ,
                            info->subresource.sparseLevel.extentDepth, t->depth, layered ? 1 : t->layers);
    step->from[2] += layer;
    step->to[2] += layer;
    return fits ? CUDA_SUCCESS
                : log_sparse_error("offsets and extents must be multiples of the tile's, within the level");
}

static CUresult find_tail(const CUarrayMapInfo *info, MapStep *step)
{
    const Sparse *sparse = step->sparse;
    uint32_t layer = info->subresource.miptail.layer;
    if (sparse->own == sparse->count) return log_sparse_error("it has no mip tail");
    const SparseTiles *t = step->tiles = &sparse->level[sparse->own];
    if (layer >= t->layers) return log_sparse_error("its mip tail has no such layer");
    step->levels = sparse->count - sparse->own;
    step->from[2] = layer;
    step->to[1] = 1;
    step->to[2] = layer + 1;
    return set_span(step, 0, info->subresource.miptail.offset, info->subresource.miptail.size,
                    SPARSE_TILE_BYTES, (uint64_t)t->across * SPARSE_TILE_BYTES)
               ? CUDA_SUCCESS
               : log_sparse_error("offset and size must be multiples of 64 KiB, within the mip tail");
}

static CUresult find_memory(const CUarrayMapInfo *info, const Device *device, MapStep *step)
{
    uint64_t tiles = 1;
    if (info->memOperationType == CU_MEM_OPERATION_TYPE_UNMAP)
        return CUDA_SUCCESS; /* the handle is not looked at */
    if (info->memOperationType != CU_MEM_OPERATION_TYPE_MAP || info->memHandleType)
        return log_sparse_error("an invalid operation or type of a handle");
    TRY(physical_enter(info->memHandle.memHandle, &step->physical));
    for (int k = 0; k < 3; k++) tiles *= step->to[k] - step->from[k];
    step->offset = info->offset;
    if (!(step->physical->usage & CU_MEM_CREATE_USAGE_TILE_POOL) || step->physical->device != device)
        return log_sparse_error("the memory is no tile pool (CU_MEM_CREATE_USAGE_TILE_POOL) of the device");
    bool fits = info->offset % SPARSE_TILE_BYTES == 0 && info->offset <= step->physical->size
                && tiles <= (step->physical->size - info->offset) / SPARSE_TILE_BYTES;
    return fits ? CUDA_SUCCESS
                : log_sparse_error("the tiles do not fit into the memory at that multiple of 64 KiB");
}

static CUresult find_step(const CUarrayMapInfo *info, const Device *device, MapStep *step)
{
    if (info->flags || info->reserved[0] || info->reserved[1]
        || info->deviceBitMask != 1u << (unsigned)device->ordinal)
        return log_sparse_error("flags must be 0, and the only device that of the stream");
    TRY(find_resource(info, step));
    if (info->subresourceType > CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL)
        return log_sparse_error("an invalid type of a subresource");
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
