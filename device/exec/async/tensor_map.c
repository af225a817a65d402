/* The fields of tensor maps: their valid values, and the instructions that change them. */
#include "exec/async/tensor_map.h"

#include <string.h>

#include "exec/checks/check.h"
#include "exec/state/ranges.h"

static const char signature[sizeof((TensorMap){0}.signature)] = "tensmap";

uint32_t tensor_type_bytes(unsigned type)
{
    static const uint8_t bytes[TENSOR_TYPE_COUNT] = {
#define TENSOR_TYPE(name, driver, bytes, is_float) [TENSOR_##name] = bytes,
        TENSOR_TYPES(TENSOR_TYPE)
#undef TENSOR_TYPE
    };
    return type < TENSOR_TYPE_COUNT ? bytes[type] : 0;
}

bool tensor_type_is_float(unsigned type)
{
    static const bool floats[TENSOR_TYPE_COUNT] = {
#define TENSOR_TYPE(name, driver, bytes, is_float) [TENSOR_##name] = is_float,
        TENSOR_TYPES(TENSOR_TYPE)
#undef TENSOR_TYPE
    };
    return type < TENSOR_TYPE_COUNT && floats[type];
}

uint32_t tensor_swizzle_bytes(unsigned swizzle) { return swizzle ? 16u << swizzle : 0; }

unsigned tensor_offset_count(TensorMode mode, unsigned rank)
{
    return mode == TENSOR_TILED ? 0 : mode == TENSOR_IM2COL ? rank - 2 : 2;
}

void tensor_map_begin(TensorMap *map)
{
    *map = (TensorMap){0};
    memcpy(map->signature, signature, sizeof signature);
}

bool tensor_map_is_one(const TensorMap *map) { return !memcmp(map->signature, signature, sizeof signature); }

/* --- fields ------------------------------------------------------------------------------------------- */

const char *tensor_map_set(TensorMap *map, TensorField field, unsigned dimension, uint64_t value)
{
    if (dimension >= TENSOR_RANK - (field == TENSOR_GLOBAL_STRIDE))
        return "a tensor must have at most 5 dimensions, and one stride less";
    switch (field) {
    case TENSOR_ADDRESS:
        if (value % 16) return "the address must be a multiple of 16";
        map->address = value;
        break;
    case TENSOR_RANK_LESS_1:
        if (value >= TENSOR_RANK) return "a tensor must have 1 to 5 dimensions (the rank is given less 1)";
        map->rank = (uint8_t)value;
        break;
    case TENSOR_BOX_DIM:
        if (value - 1 >= TENSOR_MAX_BOX) return "a dimension of the box must be 1 to 256";
        map->box[dimension] = (uint8_t)(value - 1);
        break;
    case TENSOR_GLOBAL_DIM:
        if (value - 1 >= TENSOR_MAX_DIM) return "a dimension of the tensor must be 1 to 2^32";
        map->dims[dimension] = (uint32_t)(value - 1);
        break;
    case TENSOR_GLOBAL_STRIDE:
        if (value % 16 || value >= TENSOR_STRIDE_END)
            return "a stride must be a multiple of 16 bytes, and less than 2^40";
        map->strides[dimension] = value;
        break;
    case TENSOR_ELEMENT_STRIDE:
        if (value - 1 >= TENSOR_MAX_STEP) return "a stride of elements must be 1 to 8";
        map->steps[dimension] = (uint8_t)(value - 1);
        break;
    case TENSOR_ELEMTYPE:
        if (!tensor_type_bytes((unsigned)value)) return "elements of this type are not supported";
        map->type = (uint8_t)value;
        break;
    case TENSOR_INTERLEAVE:
        if (value) return "interleaved layouts are not supported";
        break;
    case TENSOR_SWIZZLE:
        if (value >= TENSOR_SWIZZLES) return "this swizzle mode is not supported";
        map->swizzle = (uint8_t)value;
        break;
    case TENSOR_ATOMICITY:
        if (value) return "only chunks of 16 bytes are supported";
        break;
    case TENSOR_FILL:
        if (value > 1) return "the out-of-bounds fill must be zeros (0) or NaN (1)";
        map->fill = (uint8_t)value;
        break;
    }
    return NULL;
}

/* In a GPU's map the coordinates of a corner share 16 bits: the more there are, the smaller each must be. */
const char *tensor_map_set_im2col(TensorMap *map, TensorMode mode, const int *lower, const int *upper,
                                  uint32_t channels, uint32_t pixels)
{
    enum { W128_PIXELS = 128 };
    unsigned space = map->rank - 1u, wide = mode != TENSOR_IM2COL;
    int end = wide || space == 1 ? 1 << 15 : space == 2 ? 1 << 7 : 1 << 4;
    if (mode == TENSOR_IM2COL_W128) pixels = W128_PIXELS;
    if (pixels - 1 >= TENSOR_MAX_PIXELS) return "a column must have 1 to 1024 pixels";
    for (unsigned d = 0; d < (wide ? 1 : space); d++) {
        if (lower[d] < -end || lower[d] >= end || upper[d] < -end || upper[d] >= end)
            return "a corner of the box is too far away";
        if ((int64_t)lower[d] > (int64_t)map->dims[d + 1] + upper[d]) return "the box is empty";
        map->lower[d] = (int16_t)lower[d];
        map->upper[d] = (int16_t)upper[d];
    }
    map->mode = (uint8_t)mode;
    map->pixels = (uint16_t)(pixels - 1);
    return tensor_map_set(map, TENSOR_BOX_DIM, 0, channels);
}

const char *tensor_map_problem(const TensorMap *map)
{
    uint32_t element = tensor_type_bytes(map->type), inner = (map->box[0] + 1u) * element;
    if (!tensor_map_is_one(map) || !element || map->swizzle >= TENSOR_SWIZZLES
        || (map->mode && map->rank + 1 < TENSOR_MIN_IMAGE_RANK))
        return "the bytes are not a tensor map";
    if (inner % 16) return "the inner dimension of the box is not a multiple of 16 bytes";
    if (map->swizzle && inner > tensor_swizzle_bytes(map->swizzle))
        return "the inner dimension of the box is larger than what the swizzle mode holds";
    return map->fill && !tensor_type_is_float(map->type) ? "only floats are filled with NaN" : NULL;
}

/* --- kernels ------------------------------------------------------------------------------------------ */

/* The host address of a tensor map that a lane accesses; NULL after a fault. */
static uint8_t *reach_map(Warp *warp, const Insn *insn, int lane, uint64_t address, bool shared, bool write)
{
    const Reach reach = {.address = address,
                         .bytes = sizeof(TensorMap),
                         .unit = TENSOR_MAP_ALIGN,
                         .shared = shared,
                         .write = write};
    uint8_t *place = range_reach(warp, insn, lane, &reach);
    bool seen = place && warp->block->checker;
    AccessKind kind = write ? ACCESS_WRITE : ACCESS_READ;
    return seen && !check_reach(warp, insn, lane, place, sizeof(TensorMap), kind) ? NULL : place;
}

/* tensormap.replace by one lane; imm: the field, and from bit 8 on the dimension. 128 zeros become a map
 * when their first field is set. False after a fault. */
static bool replace_lane(Warp *warp, const Insn *insn, int lane)
{
    static const TensorMap zeros;
    TensorField field = (TensorField)(insn->imm & 0xff);
    bool wide = field == TENSOR_ADDRESS || field == TENSOR_GLOBAL_STRIDE;
    uint64_t value =
        wide ? ROW(const uint64_t, warp, insn->b)[lane] : ROW(const uint32_t, warp, insn->b)[lane];
    uint64_t address = ROW(const uint64_t, warp, insn->a)[lane];
    uint8_t *place = reach_map(warp, insn, lane, address, insn->mods & MEM_SHARED, true);
    if (!place) return false;
    TensorMap map;
    memcpy(&map, place, sizeof map);
    if (!memcmp(&map, &zeros, sizeof map)) tensor_map_begin(&map);
    const char *problem = tensor_map_is_one(&map)
                              ? tensor_map_set(&map, field, (unsigned)(insn->imm >> 8), value)
                              : "the bytes are neither a tensor map nor zeros";
    if (problem) exec_fault(warp, insn, lane, CUDA_ERROR_LAUNCH_FAILED, "tensor map: %s", problem);
    if (!problem) memcpy(place, &map, sizeof map);
    return !problem;
}

const Insn *tensor_map_replace(Warp *warp, const Insn *insn)
{
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1)
        if (!replace_lane(warp, insn, __builtin_ctz(rest))) return NULL;
    return insn + 1;
}

/* tensormap.cp_fenceproxy: copies once for the warp, then fences, so that other threads see the copy. */
const Insn *tensor_map_copy(Warp *warp, const Insn *insn)
{
    int lane = __builtin_ctz(warp->mask);
    const uint8_t *from = reach_map(warp, insn, lane, ROW(const uint64_t, warp, insn->a)[lane], true, false);
    uint8_t *to =
        from ? reach_map(warp, insn, lane, ROW(const uint64_t, warp, insn->b)[lane], false, true) : NULL;
    if (!to) return NULL;
    memcpy(to, from, sizeof(TensorMap));
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return insn + 1;
}
