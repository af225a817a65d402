/* Runs the first instructions of a block for all its warps at once (front.h).
 *
 * A frame of the whole block holds the rows of all warps side by side: the plane of a row that lies at some
 * offset in a warp's frame lies at as many times that offset as there are warps.
 */
#include "exec/code/front.h"

#include <stdlib.h>
#include <string.h>

#include "exec/run/run.h"
#include "exec/run/whole_block.h"
#include "exec/state/ranges.h"

enum { FRONT_TESTS = 64, SPARE_PLANES = 3, SPARE_BYTES = SPARE_PLANES * WARP_LANES * 8 };
enum { WHOLE_WARP = 31, WARPS_LEAST = 4 }; /* fewer are as fast one by one */

typedef enum RowKind { ROW_UNKNOWN, ROW_LINE_32, ROW_LINE_64, ROW_PLANE_32, ROW_PLANE_64 } RowKind;

typedef struct Front {
    Block *block;
    Worker *worker;
    const WideTable *wide;
    const Ref *refs;
    uint32_t threads, warps;
    uint8_t *planes; /* three spare ones, then those of the frame */
    size_t size;
    uint32_t touched_count;
    uint16_t touched[FRONT_ROWS]; /* rows that are known */
    uint8_t kinds[FRONT_ROWS];
    uint64_t tests, truths; /* predicates that are known, and hold */
    Line lines[FRONT_ROWS];
} Front;

void front_free(Front *front)
{
    if (front) free(front->planes);
    free(front);
}

#define CLASS_SUM FRONT_LINE
#define CLASS_PRODUCT FRONT_LINE
#define CLASS_SHIFT FRONT_LINE
#define CLASS_UNIFORM FRONT_LINE
#define CLASS_COMPARE FRONT_COMPARE
#define CLASS_ACCESS FRONT_ACCESS
const uint8_t front_classes[OP_COUNT] = {
#define AFFINE(name, rule, d, a, b, c) [OP_affine_##name] = CLASS_##rule,
#include "exec/code/affine.def"
#undef AFFINE
#define WIDE(name, size, sources) [OP_##name] = FRONT_ELEMENTS,
#include "exec/code/wide.def"
#undef WIDE
    [OP_label] = FRONT_SKIP,
    [OP_fused_add_ld_generic_b32_32] = FRONT_SKIP, /* stand before what they run */
    [OP_fused_add_ld_generic_b64_64] = FRONT_SKIP,
    [OP_fused_add_ldv_generic_b32_32] = FRONT_SKIP,
    [OP_fused_add_ldv_generic_b64_64] = FRONT_SKIP,
    [OP_bra] = FRONT_JUMP,
    [OP_bra_back] = FRONT_JUMP,
    [OP_bra_p] = FRONT_BRANCH,
    [OP_bra_p_back] = FRONT_BRANCH,
    [OP_mov_b32] = FRONT_MOVE,
    [OP_mov_b64] = FRONT_MOVE,
    [OP_selp_b32] = FRONT_CHOOSE,
    [OP_selp_b64] = FRONT_CHOOSE,
    [OP_shfl_bfly] = FRONT_EXCHANGE};

/* --- rows ---------------------------------------------------------------------------------------------- */

static void set_kind(Front *x, Ref row, RowKind kind)
{
    const uint32_t n = row / FRONT_UNIT;
    if (!x->kinds[n]) x->touched[x->touched_count++] = (uint16_t)n;
    x->kinds[n] = (uint8_t)kind;
}

static uint8_t *plane_at(const Front *x, uint32_t offset)
{
    return x->planes + (size_t)x->warps * (SPARE_BYTES + offset);
}

static bool read_line(const Front *x, Ref ref, unsigned bits, Line *line)
{
    if (ref_is_frame(ref)) {
        *line = x->lines[ref / FRONT_UNIT];
        return x->kinds[ref / FRONT_UNIT] == (bits == 64 ? ROW_LINE_64 : ROW_LINE_32);
    }
    *line = block_line(x->block, ref, bits);
    return ref >> REF_BASE_SHIFT != REF_WARP || ref == REF_ROW_32(REF_WARP, WARP_ROW_TID);
}

/* The elements of all threads; a value's in a spare plane. NULL where they are not known. */
static const void *read_plane(Front *x, Ref ref, uint32_t size, uint32_t spare)
{
    if (ref_is_frame(ref)) {
        const uint8_t kind = x->kinds[ref / FRONT_UNIT];
        return kind == (size == 8 ? ROW_PLANE_64 : ROW_PLANE_32) ? plane_at(x, ref) : NULL;
    }
    if (!ref_is_value(ref)) return NULL;
    uint8_t *plane = x->planes + (size_t)x->warps * spare * WARP_LANES * 8;
    const uint8_t *row = block_value_row(x->block, ref);
    for (uint32_t w = 0; w < x->warps; w++)
        memcpy(plane + (size_t)w * size * WARP_LANES, row, size * WARP_LANES);
    return plane;
}

static void *new_plane(Front *x, Ref row, uint32_t size)
{
    set_kind(x, row, size == 8 ? ROW_PLANE_64 : ROW_PLANE_32);
    return plane_at(x, row);
}

/* --- instructions: false where they do not fit, and nothing was done ----------------------------------- */

static bool do_line(Front *x, const Insn *i)
{
    const uint8_t *bits = line_bits[i->op];
    Line a, b, c, d;
    if (!read_line(x, i->a, bits[1], &a) || !read_line(x, i->b, bits[2], &b)
        || !read_line(x, i->c, bits[3], &c) || !line_compute(i->op, x->threads, a, b, c, &d))
        return false;
    set_kind(x, i->d, bits[0] == 64 ? ROW_LINE_64 : ROW_LINE_32);
    x->lines[i->d / FRONT_UNIT] = d;
    return true;
}

static bool set_test(Front *x, Ref ref, bool value)
{
    const uint64_t bit = UINT64_C(1) << ref / 4 % FRONT_TESTS;
    if (ref / 4 >= FRONT_TESTS) return false;
    x->tests |= bit;
    x->truths = value ? x->truths | bit : x->truths & ~bit;
    return true;
}

static bool do_compare(Front *x, const Insn *i)
{
    const uint8_t *bits = line_bits[i->op];
    Line a, b;
    bool result;
    return read_line(x, i->a, bits[1], &a) && read_line(x, i->b, bits[2], &b)
           && line_compare(i->op, x->threads, a, b, &result) && set_test(x, i->d, result);
}

/* A predicate that is the same in all threads. */
static bool read_test(const Front *x, const Insn *i, Ref ref, bool *value)
{
    const uint32_t n = ref / 4;
    if (!ref_is_frame(ref) || n >= FRONT_TESTS) return false;
    *value = (x->truths >> n & 1) != ((i->mods & MODS_NEGATE) != 0);
    return x->tests >> n & 1;
}

typedef struct Load {
    uint32_t size, count;
    const Ref *rows;
} Load;

static bool find_load(const Front *x, const Insn *i, Load *load)
{
    const uint32_t count = i->mods & MEM_COUNT;
    const Ref *list = x->refs + i->more;
    if (i->mods & (MEM_STRONG | MEM_ADDR32)) return false;
    switch (i->op) {
    case OP_affine_ld_generic_b32_32: *load = (Load){4, 1, &i->d}; break;
    case OP_affine_ld_generic_b64_64: *load = (Load){8, 1, &i->d}; break;
    case OP_affine_ldv_generic_b32_32: *load = (Load){4, count, list}; break;
    case OP_affine_ldv_generic_b64_64: *load = (Load){8, count, list}; break;
    default: return false;
    }
    bool whole = load->count == 1 || load->count == 2 || load->count == 4;
    for (uint32_t k = 0; k < load->count; k++) whole &= ref_is_frame(load->rows[k]);
    return whole;
}

/* Of elements that lie side by side in all threads. */
static bool do_load(Front *x, const Insn *i)
{
    Load load;
    Line a;
    if (!find_load(x, i, &load) || !read_line(x, i->a, 64, &a)) return false;
    const uint64_t address = (uint64_t)a.base + (uint64_t)i->imm, bytes = load.size * load.count;
    if (a.stride != (int64_t)bytes || address % bytes
        || !range_has_block(x->block, x->worker, i, address, bytes * x->threads, false))
        return false;
    const void *from = (const void *)(uintptr_t)address;
    void *to[4] = {NULL};
    for (uint32_t k = 0; k < load.count; k++) to[k] = new_plane(x, load.rows[k], load.size);
    if (load.count == 1)
        memcpy(to[0], from, bytes * x->threads);
    else
        (load.size == 8 ? x->wide->split_64 : x->wide->split_32)(to, load.count, from, x->warps);
    return true;
}

static bool do_elements(Front *x, const Insn *i)
{
    const WideForm *form = &wide_forms[i->op];
    const Ref refs[] = {i->a, i->b, i->c};
    const void *sources[3] = {NULL};
    for (uint32_t k = 0; k < 3; k++) {
        sources[k] = k < form->sources ? read_plane(x, refs[k], form->size, k) : sources[0];
        if (!sources[k]) return false;
    }
    if (i->mods) return false;
    x->wide->ops[form->op](new_plane(x, i->d, form->size), sources[0], sources[1], sources[2], x->threads);
    return true;
}

static bool copy_plane(Front *x, Ref to, Ref from, uint32_t size)
{
    const void *source = read_plane(x, from, size, 0);
    if (!source) return false;
    memmove(new_plane(x, to, size), source, (size_t)size * x->threads);
    return true;
}

static bool do_choose(Front *x, const Insn *i)
{
    bool first;
    return read_test(x, i, i->c, &first)
           && copy_plane(x, i->d, first ? i->a : i->b, i->op == OP_selp_b64 ? 8 : 4);
}

/* All lanes of all warps with those at a distance that the code names. */
static bool do_exchange(Front *x, const Insn *i)
{
    const Ref member = x->refs[i->more];
    const Ref constants[] = {i->b, i->c, member};
    uint32_t values[3];
    for (int k = 0; k < 3; k++) {
        if (constants[k] >> REF_BASE_SHIFT != REF_CONST) return false;
        values[k] = *(const uint32_t *)(const void *)block_value_row(x->block, constants[k]);
    }
    const void *source = read_plane(x, i->a, 4, 0);
    if (!source || values[1] != WHOLE_WARP || values[2] != FULL_MASK) return false;
    if (i->e != REF_ABSENT && !set_test(x, i->e, true)) return false;
    x->wide->exchange(new_plane(x, i->d, 4), source, values[0] & 31, x->warps);
    return true;
}

/* --- the way ------------------------------------------------------------------------------------------- */

/* Where a jump goes; NULL: the block is to stop, or does not go one way. */
static const Insn *jump(const Front *x, const Insn *i)
{
    return i->target > i || !grid_stops(x->block->grid, x->worker) ? i->target : NULL;
}

static const Insn *branch(const Front *x, const Insn *i)
{
    bool taken;
    if (!read_test(x, i, i->a, &taken)) return NULL;
    return taken ? jump(x, i) : i + 1;
}

/* Whether the instruction fits, and was done. */
static bool compute(Front *x, const Insn *i)
{
    if (front_classes[i->op] == FRONT_ACCESS) return do_load(x, i);
    if (!ref_is_frame(i->d)) return false;
    switch (front_classes[i->op]) {
    case FRONT_LINE: return do_line(x, i);
    case FRONT_COMPARE: return do_compare(x, i);
    case FRONT_ELEMENTS: return do_elements(x, i);
    case FRONT_MOVE: return copy_plane(x, i->d, i->a, i->op == OP_mov_b64 ? 8 : 4);
    case FRONT_CHOOSE: return do_choose(x, i);
    case FRONT_EXCHANGE: return do_exchange(x, i);
    default: return false;
    }
}

static const Insn *step(Front *x, const Insn *i)
{
    switch (front_classes[i->op]) {
    case FRONT_NONE: return NULL;
    case FRONT_SKIP: return i + 1;
    case FRONT_JUMP: return jump(x, i);
    case FRONT_BRANCH: return branch(x, i);
    default: return compute(x, i) ? i + 1 : NULL;
    }
}

/* --- warps --------------------------------------------------------------------------------------------- */

static void give_line(uint8_t *row, Line line, bool wide, uint32_t warp)
{
    const uint64_t low = (uint64_t)line.base + (uint64_t)line.stride * warp * WARP_LANES;
    const uint64_t high = low + (uint64_t)line.stride * (WARP_LANES / 2);
    *affine_of(row) = (Affine){.low = wide ? (int64_t)low : (int64_t)(uint32_t)low,
                               .high = wide ? (int64_t)high : (int64_t)(uint32_t)high,
                               .stride = line.stride,
                               .known = 1};
}

static void give_row(const Front *x, uint8_t *frame, uint32_t n, uint32_t warp)
{
    const uint32_t offset = n * FRONT_UNIT;
    const bool wide = x->kinds[n] == ROW_LINE_64 || x->kinds[n] == ROW_PLANE_64;
    const size_t bytes = (wide ? 8 : 4) * WARP_LANES;
    if (x->kinds[n] <= ROW_LINE_64)
        give_line(frame + offset, x->lines[n], wide, warp);
    else
        memcpy(frame + offset, plane_at(x, offset) + bytes * warp, bytes);
}

/* The rows that are known and may still be read from i on. */
static uint32_t find_needed(const Front *x, const Insn *i, uint16_t *rows)
{
    const CodeFunction *function = x->block->grid->function;
    uint32_t count = 0;
    for (uint32_t k = 0; k < x->touched_count; k++)
        if (function->front->needed_before[x->touched[k]] > i - function->insns)
            rows[count++] = x->touched[k];
    return count;
}

/* Lets a warp go on at i with these rows; false without memory: it starts from the beginning. */
static bool give_warp(const Front *x, Warp *warp, const Insn *i, const uint16_t *rows, uint32_t count)
{
    if (!warp_begin(warp, x->worker)) return false;
    warp->current->pc = i;
    uint8_t *frame = warp->registers;
    for (uint32_t k = 0; k < count; k++) give_row(x, frame, rows[k], warp->index);
    for (uint64_t rest = x->tests; rest; rest &= rest - 1) {
        const int n = __builtin_ctzll(rest);
        ((uint32_t *)(void *)frame)[n] = x->truths >> n & 1 ? FULL_MASK : 0;
    }
    return true;
}

static void forget(Front *x)
{
    for (uint32_t k = 0; k < x->touched_count; k++) x->kinds[x->touched[k]] = ROW_UNKNOWN;
    x->touched_count = 0;
    x->tests = 0;
}

/* The worker's room for a front, with planes for the block; NULL without memory. */
static Front *front_take(Block *block, Worker *worker)
{
    const size_t size = (size_t)block->warp_count * (SPARE_BYTES + block->grid->function->frame_size);
    if (!worker->front) worker->front = calloc(1, sizeof *worker->front);
    Front *x = worker->front;
    if (!x) return NULL;
    if (x->size < size) {
        free(x->planes);
        x->planes = aligned_alloc(64, (size + 63) / 64 * 64);
        x->size = x->planes ? size : 0;
    }
    x->block = block;
    x->worker = worker;
    x->wide = block->grid->function->module->wide;
    x->refs = block->grid->function->refs;
    x->threads = block->threads;
    x->warps = block->warp_count;
    return x->planes ? x : NULL;
}

void front_run(Block *block, Worker *worker)
{
    const Insn *start = block->grid->function->insns, *i = start, *next = start;
    const bool fits = block->warp_count >= WARPS_LEAST && block->threads % WARP_LANES == 0;
    Front *x = fits && block_is_line(block, worker) ? front_take(block, worker) : NULL;
    if (!x) return;
    while (next) {
        i = next;
        next = step(x, i);
    }
    uint16_t rows[FRONT_ROWS];
    const uint32_t count = find_needed(x, i, rows);
    for (uint32_t k = 0; i != start && k < block->warp_count; k++)
        if (!give_warp(x, &block->warps[k], i, rows, count)) break;
    forget(x);
    grid_ask_help(block->grid);
}
