/* Runs the first instructions of a block for all its warps at once (lockstep.h).
 *
 * A plane holds the row of one register for all warps, one warp after another. In the frame of the whole
 * block the plane of the row at some offset of a warp's frame is at that offset times the number of warps.
 */
#include "exec/code/lockstep.h"

#include <stdlib.h>
#include <string.h>

#include "exec/run/run.h"
#include "exec/run/whole_block.h"
#include "exec/state/ranges.h"

enum { PREDICATES = 64 }; /* of the frame's predicates, the first ones that are followed */
enum { SPARE_PLANES = 3, SPARE_BYTES = SPARE_PLANES * WARP_LANES * 8 }; /* for values of one operation */
enum { WHOLE_WARP = 31 }; /* the clamp word of a shuffle without segments */
enum { MIN_WARPS = 4 }; /* fewer are as fast one by one */

typedef enum RowKind { ROW_UNKNOWN, ROW_AFFINE_32, ROW_AFFINE_64, ROW_PLANE_32, ROW_PLANE_64 } RowKind;

typedef struct Lockstep {
    Block *block;
    Worker *worker;
    const WideTable *wide;
    const Ref *refs;
    uint32_t threads, warps;
    uint8_t *planes; /* three spare ones, then those of the frame */
    size_t size;
    uint32_t written_count;
    uint16_t written[LOCKSTEP_ROWS]; /* rows that have a value */
    uint8_t kinds[LOCKSTEP_ROWS];
    uint64_t predicates, predicate_values; /* bit n: predicate n is known; its value, in all threads */
    BlockAffine affine[LOCKSTEP_ROWS];
} Lockstep;

void lockstep_free(Lockstep *lockstep)
{
    if (lockstep) free(lockstep->planes);
    free(lockstep);
}

#define CLASS_SUM LOCKSTEP_AFFINE
#define CLASS_PRODUCT LOCKSTEP_AFFINE
#define CLASS_SHIFT LOCKSTEP_AFFINE
#define CLASS_UNIFORM LOCKSTEP_AFFINE
#define CLASS_COMPARE LOCKSTEP_COMPARE
#define CLASS_ACCESS LOCKSTEP_ACCESS
const uint8_t lockstep_classes[OP_COUNT] = {
#define AFFINE(name, rule, d, a, b, c) [OP_affine_##name] = CLASS_##rule,
#include "exec/code/affine.def"
#undef AFFINE
#define WIDE(name, size, sources) [OP_##name] = LOCKSTEP_ELEMENTS,
#include "exec/code/wide.def"
#undef WIDE
    [OP_label] = LOCKSTEP_SKIP,        [OP_bra] = LOCKSTEP_JUMP,          [OP_bra_back] = LOCKSTEP_JUMP,
    [OP_bra_p] = LOCKSTEP_BRANCH,      [OP_bra_p_back] = LOCKSTEP_BRANCH, [OP_mov_b32] = LOCKSTEP_MOVE,
    [OP_mov_b64] = LOCKSTEP_MOVE,      [OP_selp_b32] = LOCKSTEP_CHOOSE,   [OP_selp_b64] = LOCKSTEP_CHOOSE,
    [OP_shfl_bfly] = LOCKSTEP_EXCHANGE};

/* --- rows ---------------------------------------------------------------------------------------------- */

/* Says what represents a row that an instruction writes. */
static void set_kind(Lockstep *lockstep, Ref row, RowKind kind)
{
    const uint32_t n = row / LOCKSTEP_UNIT_BYTES;
    if (!lockstep->kinds[n]) lockstep->written[lockstep->written_count++] = (uint16_t)n;
    lockstep->kinds[n] = (uint8_t)kind;
}

static uint8_t *plane_at(const Lockstep *lockstep, uint32_t offset)
{
    return lockstep->planes + (size_t)lockstep->warps * (SPARE_BYTES + offset);
}

/* Reads a source of that width as an affine value; false where it is not represented so. */
static bool read_affine(const Lockstep *lockstep, Ref ref, unsigned bits, BlockAffine *value)
{
    if (ref_is_register(ref)) {
        *value = lockstep->affine[ref / LOCKSTEP_UNIT_BYTES];
        return lockstep->kinds[ref / LOCKSTEP_UNIT_BYTES] == (bits == 64 ? ROW_AFFINE_64 : ROW_AFFINE_32);
    }
    *value = block_affine_of(lockstep->block, ref, bits);
    return ref >> REF_BASE_SHIFT != REF_WARP || ref == REF_ROW_32(REF_WARP, WARP_ROW_TID);
}

/* The plane of a source. A value of the block is copied to the spare plane with number `spare`. NULL if
 * the source is not represented by a plane with elements of that size. */
static const void *read_plane(Lockstep *lockstep, Ref ref, uint32_t size, uint32_t spare)
{
    if (ref_is_register(ref)) {
        const uint8_t kind = lockstep->kinds[ref / LOCKSTEP_UNIT_BYTES];
        return kind == (size == 8 ? ROW_PLANE_64 : ROW_PLANE_32) ? plane_at(lockstep, ref) : NULL;
    }
    if (!ref_is_value(ref)) return NULL;
    uint8_t *plane = lockstep->planes + (size_t)lockstep->warps * spare * WARP_LANES * 8;
    const uint8_t *row = block_value_row(lockstep->block, ref);
    for (uint32_t w = 0; w < lockstep->warps; w++)
        memcpy(plane + (size_t)w * size * WARP_LANES, row, size * WARP_LANES);
    return plane;
}

/* The plane to write a row's elements to. */
static void *new_plane(Lockstep *lockstep, Ref row, uint32_t size)
{
    set_kind(lockstep, row, size == 8 ? ROW_PLANE_64 : ROW_PLANE_32);
    return plane_at(lockstep, row);
}

/* --- instructions: false where they do not fit, and nothing was done ----------------------------------- */

static bool do_affine(Lockstep *lockstep, const Insn *i)
{
    const uint8_t *bits = affine_bits[i->op];
    BlockAffine a, b, c, d;
    if (!read_affine(lockstep, i->a, bits[1], &a) || !read_affine(lockstep, i->b, bits[2], &b)
        || !read_affine(lockstep, i->c, bits[3], &c)
        || !block_affine_compute(i->op, lockstep->threads, a, b, c, &d))
        return false;
    set_kind(lockstep, i->d, bits[0] == 64 ? ROW_AFFINE_64 : ROW_AFFINE_32);
    lockstep->affine[i->d / LOCKSTEP_UNIT_BYTES] = d;
    return true;
}

static bool set_predicate(Lockstep *lockstep, Ref ref, bool value)
{
    const uint64_t bit = UINT64_C(1) << ref / 4 % PREDICATES;
    if (ref / 4 >= PREDICATES) return false;
    lockstep->predicates |= bit;
    lockstep->predicate_values = value ? lockstep->predicate_values | bit : lockstep->predicate_values & ~bit;
    return true;
}

static bool do_compare(Lockstep *lockstep, const Insn *i)
{
    const uint8_t *bits = affine_bits[i->op];
    BlockAffine a, b;
    bool result;
    return read_affine(lockstep, i->a, bits[1], &a) && read_affine(lockstep, i->b, bits[2], &b)
           && block_affine_compare(i->op, lockstep->threads, a, b, &result)
           && set_predicate(lockstep, i->d, result);
}

/* Reads a predicate, negated if the instruction says so. False if its value is not known. */
static bool read_predicate(const Lockstep *lockstep, const Insn *i, Ref ref, bool *value)
{
    const uint32_t n = ref / 4;
    if (!ref_is_register(ref) || n >= PREDICATES) return false;
    *value = (lockstep->predicate_values >> n & 1) != ((i->mods & MODS_NEGATE) != 0);
    return lockstep->predicates >> n & 1;
}

/* Whether the load writes a row for each of 1, 2 or 4 elements. */
static bool can_split(const BlockAccess *load)
{
    bool fits = load->count == 1 || load->count == 2 || load->count == 4;
    for (uint32_t k = 0; k < load->count; k++) fits &= ref_is_register(load->rows[k]);
    return fits;
}

/* Loads of which all threads' elements are consecutive. */
static bool do_load(Lockstep *lockstep, const Insn *i)
{
    BlockAccess load;
    BlockAffine a;
    if (!block_access(lockstep->block->grid->function, i, &load) || load.write || !can_split(&load)
        || !read_affine(lockstep, i->a, 64, &a))
        return false;
    const uint64_t address = (uint64_t)a.base + (uint64_t)i->imm, bytes = (uint64_t)load.element * load.count;
    if (a.stride != (int64_t)bytes || address % bytes
        || !range_has_block(lockstep->block, lockstep->worker, i, address, bytes * lockstep->threads, false))
        return false;
    const void *from = (const void *)(uintptr_t)address;
    void *to[4] = {NULL};
    for (uint32_t k = 0; k < load.count; k++) to[k] = new_plane(lockstep, load.rows[k], load.element);
    if (load.count == 1)
        memcpy(to[0], from, bytes * lockstep->threads);
    else
        (load.element == 8 ? lockstep->wide->split_64 : lockstep->wide->split_32)(to, load.count, from,
                                                                                  lockstep->warps);
    return true;
}

static bool do_elements(Lockstep *lockstep, const Insn *i)
{
    const WideForm *form = &wide_forms[i->op];
    const Ref refs[] = {i->a, i->b, i->c};
    const void *sources[3] = {NULL};
    for (uint32_t k = 0; k < 3; k++) {
        sources[k] = k < form->sources ? read_plane(lockstep, refs[k], form->size, k) : sources[0];
        if (!sources[k]) return false;
    }
    if (i->mods) return false;
    lockstep->wide->ops[form->op](new_plane(lockstep, i->d, form->size), sources[0], sources[1], sources[2],
                                  lockstep->threads);
    return true;
}

static bool copy_plane(Lockstep *lockstep, Ref to, Ref from, uint32_t size)
{
    const void *source = read_plane(lockstep, from, size, 0);
    if (!source) return false;
    memmove(new_plane(lockstep, to, size), source, (size_t)size * lockstep->threads);
    return true;
}

static bool do_choose(Lockstep *lockstep, const Insn *i)
{
    bool first;
    return read_predicate(lockstep, i, i->c, &first)
           && copy_plane(lockstep, i->d, first ? i->a : i->b, i->op == OP_selp_b64 ? 8 : 4);
}

/* Exchanges the values of all lanes with those at a constant distance, in all warps. */
static bool do_exchange(Lockstep *lockstep, const Insn *i)
{
    const Ref member = lockstep->refs[i->more];
    const Ref constants[] = {i->b, i->c, member};
    uint32_t values[3];
    for (int k = 0; k < 3; k++) {
        if (constants[k] >> REF_BASE_SHIFT != REF_CONST) return false;
        values[k] = *(const uint32_t *)(const void *)block_value_row(lockstep->block, constants[k]);
    }
    const void *source = read_plane(lockstep, i->a, 4, 0);
    if (!source || values[1] != WHOLE_WARP || values[2] != FULL_MASK) return false;
    if (i->e != REF_ABSENT && !set_predicate(lockstep, i->e, true)) return false;
    lockstep->wide->exchange(new_plane(lockstep, i->d, 4), source, values[0] & 31, lockstep->warps);
    return true;
}

/* --- control ------------------------------------------------------------------------------------------- */

/* The target of a jump; NULL if the grid must stop, which is checked at backward jumps. */
static const Insn *jump(const Lockstep *lockstep, const Insn *i)
{
    return i->target > i || !grid_stops(lockstep->block->grid, lockstep->worker) ? i->target : NULL;
}

/* The next instruction after a branch; NULL if threads may diverge, or the grid must stop. */
static const Insn *take_branch(const Lockstep *lockstep, const Insn *i)
{
    bool taken;
    if (!read_predicate(lockstep, i, i->a, &taken)) return NULL;
    return taken ? jump(lockstep, i) : i + 1;
}

/* Runs an instruction that computes; false, and nothing was done, if it does not fit. */
static bool compute_insn(Lockstep *lockstep, const Insn *i)
{
    if (lockstep_classes[i->op] == LOCKSTEP_ACCESS) return do_load(lockstep, i);
    if (!ref_is_register(i->d)) return false;
    switch (lockstep_classes[i->op]) {
    case LOCKSTEP_AFFINE: return do_affine(lockstep, i);
    case LOCKSTEP_COMPARE: return do_compare(lockstep, i);
    case LOCKSTEP_ELEMENTS: return do_elements(lockstep, i);
    case LOCKSTEP_MOVE: return copy_plane(lockstep, i->d, i->a, i->op == OP_mov_b64 ? 8 : 4);
    case LOCKSTEP_CHOOSE: return do_choose(lockstep, i);
    case LOCKSTEP_EXCHANGE: return do_exchange(lockstep, i);
    default: return false;
    }
}

/* Runs an instruction and returns the next one; NULL, and nothing was done, where lockstep ends. */
static const Insn *run_step(Lockstep *lockstep, const Insn *i)
{
    switch (lockstep_classes[i->op]) {
    case LOCKSTEP_NONE: return NULL;
    case LOCKSTEP_SKIP: return i + 1;
    case LOCKSTEP_JUMP: return jump(lockstep, i);
    case LOCKSTEP_BRANCH: return take_branch(lockstep, i);
    default: return compute_insn(lockstep, i) ? i + 1 : NULL;
    }
}

/* --- warps --------------------------------------------------------------------------------------------- */

static void write_affine(uint8_t *row, BlockAffine value, bool wide, uint32_t warp)
{
    const uint64_t low = (uint64_t)value.base + (uint64_t)value.stride * warp * WARP_LANES;
    const uint64_t high = low + (uint64_t)value.stride * (WARP_LANES / 2);
    *affine_of(row) = (Affine){.low = wide ? (int64_t)low : (int64_t)(uint32_t)low,
                               .high = wide ? (int64_t)high : (int64_t)(uint32_t)high,
                               .stride = value.stride,
                               .valid = 1};
}

static void write_row(const Lockstep *lockstep, uint8_t *frame, uint32_t n, uint32_t warp)
{
    const uint32_t offset = n * LOCKSTEP_UNIT_BYTES;
    const bool wide = lockstep->kinds[n] == ROW_AFFINE_64 || lockstep->kinds[n] == ROW_PLANE_64;
    const size_t bytes = (wide ? 8 : 4) * WARP_LANES;
    if (lockstep->kinds[n] <= ROW_AFFINE_64)
        write_affine(frame + offset, lockstep->affine[n], wide, warp);
    else
        memcpy(frame + offset, plane_at(lockstep, offset) + bytes * warp, bytes);
}

/* The written rows that may still be read from i on. */
static uint32_t live_rows(const Lockstep *lockstep, const Insn *i, uint16_t *rows)
{
    const CodeFunction *function = lockstep->block->grid->function;
    uint32_t count = 0;
    for (uint32_t k = 0; k < lockstep->written_count; k++)
        if (function->lockstep->needed_before[lockstep->written[k]] > i - function->insns)
            rows[count++] = lockstep->written[k];
    return count;
}

/* Makes a warp ready to continue at i alone, with these rows. False if out of memory: then it will start
 * from the beginning, which is right because nothing was written to memory. */
static bool resume_warp(const Lockstep *lockstep, Warp *warp, const Insn *i, const uint16_t *rows,
                        uint32_t count)
{
    if (!warp_begin(warp, lockstep->worker)) return false;
    warp->current->pc = i;
    uint8_t *frame = warp->registers;
    for (uint32_t k = 0; k < count; k++) write_row(lockstep, frame, rows[k], warp->index);
    for (uint64_t rest = lockstep->predicates; rest; rest &= rest - 1) {
        const int n = __builtin_ctzll(rest);
        ((uint32_t *)(void *)frame)[n] = lockstep->predicate_values >> n & 1 ? FULL_MASK : 0;
    }
    return true;
}

static void forget_rows(Lockstep *lockstep)
{
    for (uint32_t k = 0; k < lockstep->written_count; k++)
        lockstep->kinds[lockstep->written[k]] = ROW_UNKNOWN;
    lockstep->written_count = 0;
    lockstep->predicates = 0;
}

/* The worker's state, with planes for the block; NULL if out of memory. */
static Lockstep *lockstep_prepare(Block *block, Worker *worker)
{
    const size_t size = (size_t)block->warp_count * (SPARE_BYTES + block->grid->function->frame_size);
    if (!worker->lockstep) worker->lockstep = calloc(1, sizeof *worker->lockstep);
    Lockstep *lockstep = worker->lockstep;
    if (!lockstep) return NULL;
    if (lockstep->size < size) {
        free(lockstep->planes);
        lockstep->planes = aligned_alloc(64, (size + 63) / 64 * 64);
        lockstep->size = lockstep->planes ? size : 0;
    }
    lockstep->block = block;
    lockstep->worker = worker;
    lockstep->wide = block->grid->function->module->wide;
    lockstep->refs = block->grid->function->refs;
    lockstep->threads = block->threads;
    lockstep->warps = block->warp_count;
    return lockstep->planes ? lockstep : NULL;
}

void lockstep_run(Block *block, Worker *worker)
{
    const Insn *start = block->grid->function->insns, *i = start, *next = start;
    const bool fits = block->warp_count >= MIN_WARPS && block->threads % WARP_LANES == 0
                      && !atomic_load_explicit(&block->grid->diverges, memory_order_relaxed);
    Lockstep *lockstep = fits && block_may_run_whole(block, worker) ? lockstep_prepare(block, worker) : NULL;
    if (!lockstep) return;
    bool looped = false;
    while (next) {
        looped |= next < i;
        i = next;
        next = run_step(lockstep, i);
    }
    if (!looped) atomic_store_explicit(&block->grid->diverges, true, memory_order_relaxed);
    uint16_t rows[LOCKSTEP_ROWS];
    const uint32_t count = live_rows(lockstep, i, rows);
    for (uint32_t k = 0; i != start && k < block->warp_count; k++)
        if (!resume_warp(lockstep, &block->warps[k], i, rows, count)) break;
    forget_rows(lockstep);
    grid_call_help_if_long(block->grid);
}
