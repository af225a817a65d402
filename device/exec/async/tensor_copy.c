/* cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: a lane moves a box of a tensor, or pixels of images,
 * to shared memory or back, row by row of its innermost dimension. Done when it is issued, like
 * cp.async.bulk.
 *
 * In shared memory the rows are consecutive; a swizzle mode moves each chunk of 16 bytes, depending on
 * the address that it would have without. Elements out of the tensor's bounds are filled in a load, and
 * left out in a store. */
#include <stdio.h>
#include <string.h>

#include "exec/async/bulk.h"
#include "exec/async/mbarrier.h"
#include "exec/async/tensor_map.h"
#include "exec/checks/check.h"
#include "exec/numbers/half.h"
#include "exec/state/ranges.h"

enum { CHUNK_BYTES = 16, SHARED_ALIGN = 128, MAX_ROW_BYTES = TENSOR_MAX_BOX * 8 };

typedef struct TensorCopy {
    TensorMap map;
    int32_t corner[TENSOR_RANK];  /* of the box, or the first pixel; the innermost coordinate first */
    uint32_t count[TENSOR_RANK];  /* elements that are taken along each dimension of a box */
    int32_t offset[TENSOR_SPACE]; /* im2col: added to the coordinates of pixels */
    uint32_t group, halo; /* im2col: after each `group` pixels the next `halo` are copied too */
    uint32_t element, row, rows; /* bytes of an element, bytes of a row, number of rows */
    uint32_t first, end; /* elements of a row that are within the tensor */
    unsigned op; /* OP_cp_bulk, or the atomic operation that combines elements */
    bool store;
} TensorCopy;

/* --- where things are --------------------------------------------------------------------------------- */

/* The first and the last coordinate that pixels may have along a dimension of the images, without their
 * offset. */
static int64_t box_first(const TensorMap *map, unsigned d) { return map->lower[d - 1]; }
static int64_t box_last(const TensorMap *map, unsigned d)
{
    return (int64_t)map->dims[d] + map->upper[d - 1];
}

/* Whether the pixels of a copy differ in dimension d; in the modes W and W128 they do in W alone. */
static bool varies_along(const TensorMap *map, unsigned d)
{
    return map->mode == TENSOR_IM2COL ? d < map->rank : d == 1;
}

/* The coordinate, without its offset, of the `index`-th pixel along a dimension. Coordinates count up and
 * carry to the next dimension, like the digits of a number: the first pass goes from the corner to the end
 * of the box, each later pass from the box's start to its end. *passes: how many passes were completed
 * before. */
static int64_t pixel_coordinate(const TensorCopy *t, unsigned d, int64_t index, uint32_t *passes)
{
    const int64_t first = box_first(&t->map, d), last = box_last(&t->map, d);
    const int64_t stride = t->map.steps[d] + 1; /* the map has it less 1 */
    const int64_t in_first_pass = (last - t->corner[d]) / stride + 1;
    const int64_t in_later_passes = (last - first) / stride + 1;
    if (index < in_first_pass) {
        *passes = 0;
        return t->corner[d] + index * stride;
    }
    index -= in_first_pass;
    *passes = (uint32_t)(1 + index / in_later_passes);
    return first + index % in_later_passes * stride;
}

/* A row's coordinate in dimension d. *number: the row's number among those that differ in d or in later
 * dimensions; it becomes its number among those that differ in later ones. */
static int64_t row_coordinate(const TensorCopy *t, unsigned d, uint32_t *number)
{
    if (t->map.mode == TENSOR_TILED) {
        uint32_t at = *number % t->count[d];
        *number /= t->count[d];
        return t->corner[d] + (int64_t)at * (t->map.steps[d] + 1);
    }
    if (d == t->map.rank) return t->corner[d] + (int64_t)*number;
    const int64_t pixel = varies_along(&t->map, d) ? pixel_coordinate(t, d, *number, number) : t->corner[d];
    return pixel + t->offset[d - 1];
}

/* *address becomes that of element 0 of a row. False if the row has no elements in the tensor. */
static bool find_row(const TensorCopy *t, uint32_t number, uint64_t *address)
{
    *address = t->map.address;
    if (t->map.mode) number = number / (t->group + t->halo) * t->group + number % (t->group + t->halo);
    for (unsigned d = 1; d <= t->map.rank; d++) {
        int64_t place = row_coordinate(t, d, &number);
        if (place < 0 || place > t->map.dims[d]) return false;
        *address += (uint64_t)place * t->map.strides[d - 1];
    }
    return t->first < t->end;
}

/* The swizzled address of a byte of shared memory. */
static uint64_t swizzled_address(unsigned mode, uint64_t address)
{
    const uint64_t bits = (1u << mode) - 1;
    return address ^ (address >> 7 & bits) << 4;
}

/* The box's address in shared memory, by which its chunks are moved. One that is not aligned is a fault; a
 * launch that survives it has a sink for the box, of which the chunks stay within. */
static uint64_t box_offset(const Bulk *bulk) { return bulk->target & ~(uint64_t)(SHARED_ALIGN - 1); }

/* Copies a row between the box and `row`, as t->store says. `offset` is the box's address in shared
 * memory, `box` its host address. */
static void pass_row(const TensorCopy *t, uint8_t *box, uint64_t offset, uint32_t number, uint8_t *row)
{
    for (uint32_t at = 0; at < t->row; at += CHUNK_BYTES) {
        uint64_t plain = offset + (uint64_t)number * t->row + at;
        uint8_t *place = box + (swizzled_address(t->map.swizzle, plain) - offset);
        if (t->store)
            memcpy(row + at, place, CHUNK_BYTES);
        else
            memcpy(place, row + at, CHUNK_BYTES);
    }
}

/* --- rows --------------------------------------------------------------------------------------------- */

/* Fills a row with zeros, or with the NaN for elements out of bounds (half.h). */
static void fill_row(const TensorCopy *t, uint8_t *row)
{
    const uint16_t nan = HALF_OUT_OF_BOUNDS;
    if (!t->map.fill)
        memset(row, 0, t->row);
    else
        for (uint32_t at = 0; at < t->row; at += sizeof nan) memcpy(row + at, &nan, sizeof nan);
}

/* The host address of a row's elements that are in the tensor; NULL after a fault. */
static uint8_t *reach_row(const Bulk *bulk, uint64_t address)
{
    const TensorCopy *t = bulk->tensor;
    const Reach reach = {.address = address + (uint64_t)((int64_t)t->corner[0] + t->first) * t->element,
                         .bytes = (uint64_t)(t->end - t->first) * t->element,
                         .unit = t->element,
                         .write = t->store,
                         .what = "a row of the tensor"};
    AccessKind kind = !t->store ? ACCESS_READ : t->op == OP_cp_bulk ? ACCESS_WRITE : ACCESS_ATOMIC;
    uint8_t *place = range_reach(bulk->warp, bulk->insn, bulk->lane, &reach);
    bool seen = place && bulk->warp->block->checker;
    return seen && !check_reach(bulk->warp, bulk->insn, bulk->lane, place, reach.bytes, kind) ? NULL : place;
}

/* Copies one row between the tensor and the box. False after a fault. */
static bool move_row(const Bulk *bulk, uint8_t *box, uint32_t number)
{
    const TensorCopy *t = bulk->tensor;
    uint8_t row[MAX_ROW_BYTES];
    uint64_t address;
    bool some = find_row(t, number, &address);
    uint8_t *place = some ? reach_row(bulk, address) : NULL;
    if (some && !place) return false;
    uint32_t first = t->first * t->element, bytes = (t->end - t->first) * t->element;
    if (t->store) {
        pass_row(t, box, box_offset(bulk), number, row);
        if (some) bulk_combine(t->op, place, row + first, bytes);
        return true;
    }
    if (!some || bytes < t->row) fill_row(t, row);
    if (some) memcpy(row + first, place, bytes);
    pass_row(t, box, box_offset(bulk), number, row);
    return true;
}

/* Names the box in a message, innermost dimension first: "a box of 64 x 32 elements". */
static void describe_box(const TensorCopy *t, char *out, size_t capacity)
{
    const bool tiled = t->map.mode == TENSOR_TILED;
    const uint32_t pixels[] = {t->row / t->element, t->rows}, *sizes = tiled ? t->count : pixels;
    size_t length = (size_t)snprintf(out, capacity, "a box of %u", sizes[0]);
    for (unsigned d = 1; d <= (tiled ? t->map.rank : 1u) && length < capacity; d++)
        length += (size_t)snprintf(out + length, capacity - length, " x %u", sizes[d]);
    if (length < capacity) snprintf(out + length, capacity - length, " elements");
}

/* Bulk.move of a tensor copy. With a swizzle mode bytes after the box's end may change places with its
 * last ones: the box must have room for whole spans. */
static bool move_box(const Bulk *bulk)
{
    const TensorCopy *t = bulk->tensor;
    uint64_t span = tensor_swizzle_bytes(t->map.swizzle), unit = span ? span : 1;
    char what[80];
    describe_box(t, what, sizeof what);
    const Reach reach = {.address = bulk->target,
                         .bytes = (bulk->bytes + unit - 1) / unit * unit,
                         .unit = SHARED_ALIGN,
                         .shared = true,
                         .write = !t->store,
                         .what = what};
    uint8_t *box = range_reach(bulk->warp, bulk->insn, bulk->lane, &reach);
    if (!box) return false;
    if (bulk->warp->block->checker
        && !check_reach(bulk->warp, bulk->insn, bulk->lane, box, bulk->bytes,
                        t->store ? ACCESS_READ : ACCESS_WRITE))
        return false;
    for (uint32_t number = 0; number < t->rows; number++)
        if (!move_row(bulk, box, number)) return false;
    return true;
}

/* --- the instruction ---------------------------------------------------------------------------------- */

/* The atomic operation of a reduction, OP_cp_bulk for a copy; OP_COUNT if there is none for these
 * elements: to an H100 sums and bit operations of signed 64-bit integers are illegal instructions. */
static unsigned operation_of(TensorReduction reduction, unsigned type)
{
#define NOT_SIGNED_64(unsigned_32, signed_32, unsigned_64) \
    [TENSOR_U32] = OP_atom_##unsigned_32, [TENSOR_S32] = OP_atom_##signed_32, \
    [TENSOR_U64] = OP_atom_##unsigned_64
#define INTEGERS(name) NOT_SIGNED_64(name##_u32, name##_s32, name##_u64), [TENSOR_S64] = OP_atom_##name##_s64
#define HALVES(name) [TENSOR_F16] = OP_atom_##name##_f16, [TENSOR_BF16] = OP_atom_##name##_bf16
#define ORDER(name) INTEGERS(name), HALVES(name)
#define BITS(name) NOT_SIGNED_64(name##_b32, name##_b32, name##_b64)
    static const uint16_t operations[][TENSOR_TYPE_COUNT] = {
        [TENSOR_ADD] = {NOT_SIGNED_64(add_u32, add_u32, add_u64),
                        HALVES(add), [TENSOR_F32] = OP_atom_add_f32, [TENSOR_F64] = OP_atom_add_f64},
        [TENSOR_MIN] = {ORDER(min)},
        [TENSOR_MAX] = {ORDER(max)},
        [TENSOR_INC] = {[TENSOR_U32] = OP_atom_inc_u32},
        [TENSOR_DEC] = {[TENSOR_U32] = OP_atom_dec_u32},
        [TENSOR_AND] = {BITS(and)},
        [TENSOR_OR] = {BITS(or)},
        [TENSOR_XOR] = {BITS(xor)},
    };
#undef NOT_SIGNED_64
#undef INTEGERS
#undef HALVES
#undef ORDER
#undef BITS
    unsigned op = reduction == TENSOR_COPIED ? OP_cp_bulk : operations[reduction][type];
    return op ? op : OP_COUNT;
}

/* Finds which elements of a row are in the tensor; the innermost dimension has no step. */
static void clip_row(TensorCopy *t)
{
    int64_t corner = t->corner[0], size = (int64_t)t->map.dims[0] + 1, count = t->count[0];
    int64_t first = corner < 0 ? -corner : 0, end = size - corner;
    t->first = (uint32_t)(first < count ? first : count);
    t->end = end < t->first ? t->first : (uint32_t)(end < count ? end : count);
}

/* Why the coordinates are an illegal instruction to an H100; NULL if they are not. */
static const char *corner_problem(const TensorCopy *t, unsigned rank)
{
    if ((int64_t)t->corner[0] * t->element % CHUNK_BYTES)
        return "the innermost coordinate is not a multiple of 16 bytes";
    for (unsigned d = 0; d < rank; d++)
        if (t->store && t->corner[d] < 0) return "a coordinate of a store or a reduction is negative";
    return NULL;
}

/* Sets the counts and rows of a tiled copy. Returns NULL, or why that is not possible. */
static const char *prepare_box(TensorCopy *t)
{
    t->rows = 1;
    for (unsigned d = 0; d <= t->map.rank; d++) {
        unsigned step = d ? t->map.steps[d] + 1u : 1;
        t->count[d] = (t->map.box[d] + step) / step;
        if (d && __builtin_mul_overflow(t->rows, t->count[d], &t->rows)) return "the box is too large";
    }
    return NULL;
}

/* The same for im2col. `given`: the numbers after a load's coordinates (tensor_offset_count). In the
 * modes W and W128 the first pixel may be before the box. */
static const char *prepare_pixels(TensorCopy *t, const uint32_t given[TENSOR_SPACE])
{
    enum { W128_GROUP = 32 };
    const TensorMap *map = &t->map;
    bool wide = map->mode != TENSOR_IM2COL;
    unsigned space = map->rank - 1u, limit = space == 1 ? 1 << 16 : space == 2 ? 1 << 8 : 1 << 5;
    for (unsigned d = 1; d <= space; d++) {
        int64_t first = box_first(map, d), last = box_last(map, d), corner = t->corner[d];
        if (varies_along(map, d) && (first > last || corner > last || (corner < first && !wide)))
            return "the first pixel is outside of the map's box";
        if (t->store && (map->lower[d - 1] < 0 || map->upper[d - 1] > 0))
            return "the box of a store or a reduction is larger than the images";
        if (!wide && given[d - 1] >= limit) return "an offset of pixels is too large";
        t->offset[d - 1] = wide ? 0 : (int32_t)given[d - 1];
    }
    if (wide) t->offset[0] = (int32_t)given[1];
    t->halo = wide ? given[0] : 0;
    t->group = map->mode == TENSOR_IM2COL_W128 ? W128_GROUP : map->pixels + 1u;
    t->count[0] = map->box[0] + 1u;
    t->rows = (map->pixels + 1u) / t->group * (t->group + t->halo);
    return NULL;
}

static const char *prepare_copy(TensorCopy *t, const Insn *insn, const uint32_t given[TENSOR_SPACE])
{
    unsigned rank = insn->imm & TENSOR_IMM_RANK;
    const char *problem = tensor_map_problem(&t->map);
    if (problem) return problem;
    if (t->map.rank + 1u != rank) return "the tensor has another number of dimensions";
    if (t->map.mode != (insn->imm >> TENSOR_MODE_SHIFT & TENSOR_IMM_MODE)) return "the map has another mode";
    t->element = tensor_type_bytes(t->map.type);
    t->op = operation_of((TensorReduction)(insn->imm >> TENSOR_REDUCE_SHIFT), t->map.type);
    problem = t->map.mode ? prepare_pixels(t, given) : prepare_box(t);
    if (problem) return problem;
    t->row = t->count[0] * t->element;
    if (t->rows > UINT32_MAX / t->row) return "the box is too large";
    clip_row(t);
    return t->op == OP_COUNT ? "this reduction of its elements is not supported" : corner_problem(t, rank);
}

static bool copy_lane(Warp *warp, const Insn *insn, int lane)
{
    const Ref *refs = warp->current->function->refs + insn->more;
    unsigned rank = insn->imm & TENSOR_IMM_RANK;
    TensorCopy t = {.store = insn->imm & TENSOR_STORE};
    const Reach reach = {.address = ROW(const uint64_t, warp, insn->a)[lane],
                         .bytes = sizeof t.map,
                         .unit = TENSOR_MAP_ALIGN,
                         .what = "a tensor map"};
    const uint8_t *map = range_reach(warp, insn, lane, &reach);
    if (!map) return false;
    memcpy(&t.map, map, sizeof t.map);
    for (unsigned d = 0; d < rank; d++) t.corner[d] = ROW(const int32_t, warp, refs[d])[lane];
    TensorMode mode = (TensorMode)(insn->imm >> TENSOR_MODE_SHIFT & TENSOR_IMM_MODE);
    unsigned offsets = t.store ? 0 : tensor_offset_count(mode, rank);
    uint32_t given[TENSOR_SPACE] = {0};
    for (unsigned d = 0; d < offsets; d++)
        given[d] = ROW(const uint32_t, warp, refs[rank + d])[lane] & UINT16_MAX;
    const char *problem = prepare_copy(&t, insn, given);
    if (problem) {
        exec_fault(warp, insn, lane, CUDA_ERROR_ILLEGAL_INSTRUCTION, "tensor map at 0x%llx: %s",
                   (unsigned long long)reach.address, problem);
        return false;
    }
    const Bulk x = {.warp = warp,
                    .insn = insn,
                    .lane = lane,
                    .bytes = t.row * t.rows,
                    .target = ROW(const uint64_t, warp, insn->b)[lane],
                    .barrier = ROW(const uint64_t, warp, insn->e)[lane],
                    .move = move_box,
                    .tensor = &t};
    bool several = insn->mods & BULK_TO_BLOCKS;
    return bulk_deliver(&x, several ? ROW(const uint32_t, warp, refs[rank + offsets])[lane] : 0);
}

const Insn *tensor_copy(Warp *warp, const Insn *insn)
{
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1)
        if (!copy_lane(warp, insn, __builtin_ctz(rest))) return NULL;
    return insn + 1;
}
