/* Runs a block as a whole on a way that lower/stream.c has found (stream.h).
 *
 * Lines are what affine rows are for a warp, for all threads of the block: value(thread) = base + stride *
 * thread, modulo the width of the row. What is widened or compared must not wrap in between.
 */
#include <string.h>

#include "exec/state.h"
#include "exec/stream.h"

enum { PIECE = 2048 }; /* bytes of each array that are computed with at a time, where there are buffers */

typedef struct Line {
    int64_t base, stride; /* base as the row has it: unsigned where it has 32 bits */
} Line;

typedef struct Stream {
    const CodeStream *code;
    Block *block;
    Worker *worker;
    uint32_t threads;
    Line lines[STREAM_LINES];
    uint8_t *at[STREAM_OPERANDS];
    _Alignas(64) uint8_t buffers[STREAM_BUFFERS][PIECE];
} Stream;

/* --- lines --------------------------------------------------------------------------------------------- */

/* Bits of an operation's result and sources. */
static const uint8_t widths[OP_COUNT][4] = {
#define AFFINE(name, rule, d, a, b, c) [OP_affine_##name] = {d, a, b, c},
#include "exec/affine.def"
#undef AFFINE
};

static const uint8_t *value_row(const Stream *s, Ref ref)
{
    const Grid *grid = s->block->grid;
    const uint32_t offset = ref & REF_OFFSET_MASK;
    switch (ref >> REF_BASE_SHIFT) {
    case REF_CONST: return grid->function->module->constants + offset;
    case REF_PARAM: return grid->param_rows + offset;
    default: return (const uint8_t *)s->block->rows + offset; /* REF_BLOCK */
    }
}

/* Of a warp's rows only %tid.x is read. */
static Line line_at(const Stream *s, Ref ref, unsigned bits)
{
    switch (ref >> REF_BASE_SHIFT) {
    case REF_FRAME: return s->lines[ref];
    case REF_WARP: return (Line){0, 1};
    case REF_NONE: return (Line){0, 0};
    default: break;
    }
    const void *row = value_row(s, ref);
    return (Line){bits == 64 ? *(const int64_t *)row : (int64_t)*(const uint32_t *)row, 0};
}

__extension__ typedef __int128 Wide;

/* The values of the first and the last thread, as numbers of a type; false where the line leaves its range,
 * least to most, in between. */
typedef struct Ends {
    Wide first, last;
} Ends;
static bool find_ends(const Stream *s, Line x, Wide first, Wide least, Wide most, Ends *ends)
{
    ends->first = first;
    ends->last = first + (Wide)x.stride * (s->threads - 1);
    return ends->last >= least && ends->last <= most;
}
#define ENDS_FN(T, least, most) \
    static bool ends_##T(const Stream *s, Line x, Ends *ends) \
    { \
        return find_ends(s, x, (T)x.base, least, most, ends); \
    }
typedef int32_t s32;
typedef uint32_t u32;
typedef int64_t s64;
typedef uint64_t u64;
ENDS_FN(s32, INT32_MIN, INT32_MAX)
ENDS_FN(u32, 0, UINT32_MAX)
ENDS_FN(s64, INT64_MIN, INT64_MAX)
ENDS_FN(u64, 0, UINT64_MAX)

#define WIDEN_FN(T) \
    static bool widen_##T(const Stream *s, Line *x) \
    { \
        Ends ends; \
        x->base = (T)x->base; \
        return ends_##T(s, *x, &ends); \
    }
WIDEN_FN(s32)
WIDEN_FN(u32)

static Line sum(Line a, Line b)
{
    return (Line){(int64_t)((uint64_t)a.base + (uint64_t)b.base),
                  (int64_t)((uint64_t)a.stride + (uint64_t)b.stride)};
}

static Line scaled(Line a, int64_t factor)
{
    return (Line){(int64_t)((uint64_t)a.base * (uint64_t)factor),
                  (int64_t)((uint64_t)a.stride * (uint64_t)factor)};
}

/* a * b + c; false where both vary. */
static bool multiply(Line a, Line b, Line c, Line *r)
{
    *r = sum(b.stride ? scaled(b, a.base) : scaled(a, b.base), c);
    return a.stride == 0 || b.stride == 0;
}

static bool shift(Line a, Line by, unsigned bits, Line *r)
{
    *r = scaled(a, (uint32_t)by.base < bits ? (int64_t)(UINT64_C(1) << by.base) : 0);
    return by.stride == 0;
}

static bool find_line(const Stream *s, const StreamStep *step, Line *r)
{
    const uint8_t *bits = widths[step->op];
    Line a = line_at(s, step->a, bits[1]), b = line_at(s, step->b, bits[2]), c = line_at(s, step->c, bits[3]);
    switch (step->op) {
    case OP_affine_mov_b32:
    case OP_affine_mov_b64:
    case OP_affine_cvt_b32_b64: *r = a; return true;
    case OP_affine_cvt_s64_s32: *r = a; return widen_s32(s, r);
    case OP_affine_cvt_u64_u32: *r = a; return widen_u32(s, r);
    case OP_affine_add_b32:
    case OP_affine_add_b64: *r = sum(a, b); return true;
    case OP_affine_sub_b32:
    case OP_affine_sub_b64: *r = sum(a, scaled(b, -1)); return true;
    case OP_affine_mul_lo_b32:
    case OP_affine_mul_lo_b64:
    case OP_affine_mad_lo_b32:
    case OP_affine_mad_lo_b64: return multiply(a, b, c, r);
    case OP_affine_mul_wide_s32:
    case OP_affine_mad_wide_s32: return widen_s32(s, &a) && widen_s32(s, &b) && multiply(a, b, c, r);
    case OP_affine_mul_wide_u32:
    case OP_affine_mad_wide_u32: return widen_u32(s, &a) && widen_u32(s, &b) && multiply(a, b, c, r);
    case OP_affine_shl_b32: return shift(a, b, 32, r);
    case OP_affine_shl_b64: return shift(a, b, 64, r);
    default: return false;
    }
}

static bool compute(Stream *s, const StreamStep *step)
{
    Line r;
    if (!find_line(s, step, &r)) return false;
    if (widths[step->op][0] == 32) r = (Line){(uint32_t)r.base, (int32_t)r.stride};
    s->lines[step->d] = r;
    return true;
}

/* --- comparisons --------------------------------------------------------------------------------------- */

/* The difference of two lines rises or falls: an order that both ends have, all threads have. */
#define ORDER(T, operator) \
    (known = ends_##T(s, a, &x) && ends_##T(s, b, &y), first = x.first operator y.first, \
     last = x.last operator y.last)
#define EQUAL(operator) (known = (a.stride | b.stride) == 0, first = last = a.base operator b.base)
#define CASES(T) \
    case OP_affine_setp_lt_##T: ORDER(T, <); break; \
    case OP_affine_setp_le_##T: ORDER(T, <=); break; \
    case OP_affine_setp_gt_##T: ORDER(T, >); break; \
    case OP_affine_setp_ge_##T: ORDER(T, >=); break;

/* Whether the comparison gives what it must in all threads. */
static bool holds(const Stream *s, const StreamStep *step)
{
    const uint8_t *bits = widths[step->op];
    const Line a = line_at(s, step->a, bits[1]), b = line_at(s, step->b, bits[2]);
    Ends x = {0, 0}, y = {0, 0};
    bool known = false, first = false, last = false;
    switch (step->op) {
        CASES(s32)
        CASES(u32)
        CASES(s64)
        CASES(u64)
    case OP_affine_setp_eq_b32:
    case OP_affine_setp_eq_b64: EQUAL(==); break;
    case OP_affine_setp_ne_b32:
    case OP_affine_setp_ne_b64: EQUAL(!=); break;
    default: break;
    }
    return known && first == step->holds && last == step->holds;
}

/* --- memory -------------------------------------------------------------------------------------------- */

/* Finds where the elements of all threads are: one thread's after the other's. */
static bool reach(Stream *s, const StreamStep *step)
{
    const Grid *grid = s->block->grid;
    const Line a = line_at(s, step->a, 64);
    const uint64_t address = (uint64_t)a.base + (uint64_t)step->imm,
                   bytes = (uint64_t)step->bytes * s->threads;
    Worker *worker = s->worker;
    RangeEntry *range =
        &(step->write ? worker->stores : worker->loads)[range_slot(grid->function->insns + step->insn)];
    if (a.stride != step->bytes || address % step->bytes) return false;
    if (!range_has(range, address, bytes)
        && !range_find_map(grid->launch, address, bytes, step->write, range))
        return false;
    s->at[step->d] = (uint8_t *)(uintptr_t)address;
    return true;
}

/* What a thread writes, others must neither read nor write. */
static bool is_apart(const Stream *s, const StreamStep *x, const StreamStep *y)
{
    const uint8_t *p = s->at[x->d], *q = s->at[y->d];
    const size_t bytes = (size_t)x->bytes * s->threads;
    return (p == q && x->write != y->write) || (p < q ? p + bytes <= q : q + bytes <= p);
}

/* Accesses are the last steps. */
static bool are_apart(const Stream *s, const StreamStep *first, const StreamStep *end)
{
    for (const StreamStep *x = first; x < end; x++)
        for (const StreamStep *y = x + 1; y < end; y++)
            if ((x->write || y->write) && !is_apart(s, x, y)) return false;
    return true;
}

/* All that must be known before anything is written. */
static bool find_way(Stream *s)
{
    const StreamStep *first = s->code->steps, *end = first + s->code->step_count, *access = end;
    for (const StreamStep *step = first; step < end; step++) {
        const bool found = step->bytes               ? reach(s, step)
                           : widths[step->op][0] > 1 ? compute(s, step)
                                                     : holds(s, step);
        if (!found) return false;
        if (step->bytes && access == end) access = step;
    }
    return are_apart(s, access, end);
}

/* --- elements ------------------------------------------------------------------------------------------ */

/* The row has the value in each lane. */
static void fill(uint8_t *buffer, const uint8_t *row, uint32_t size)
{
    const uint32_t bytes = size * WARP_LANES;
    for (uint32_t k = 0; k < PIECE; k += bytes) memcpy(buffer + k, row, bytes);
}

static void set_buffers(Stream *s)
{
    uint32_t used = 0;
    for (uint32_t k = 0; k < s->code->operand_count; k++) {
        const StreamOperand *operand = &s->code->operands[k];
        if (operand->hold < HOLDS_RESULT) continue;
        s->at[k] = s->buffers[used++];
        if (operand->hold == HOLDS_VALUE) fill(s->at[k], value_row(s, operand->value), operand->size);
    }
}

static void work_on(const Stream *s, const WideFn *wide, size_t bytes)
{
    for (uint32_t n = 0; n < s->code->work_count; n++) {
        const StreamWork *work = &s->code->work[n];
        uint8_t *const *at = s->at;
        if (work->op == WIDE_COUNT)
            memmove(at[work->d], at[work->s[0]], bytes);
        else
            wide[work->op](at[work->d], at[work->s[0]], at[work->s[1]], at[work->s[2]],
                           bytes / s->code->element);
    }
}

static void work_through(Stream *s)
{
    const WideFn *wide = s->block->grid->function->module->wide;
    size_t rest = (size_t)s->code->bytes * s->threads, piece = s->code->buffered ? PIECE : rest;
    if (s->code->buffered) set_buffers(s);
    for (; rest > piece; rest -= piece) {
        work_on(s, wide, piece);
        for (uint32_t k = 0; k < s->code->operand_count; k++)
            if (s->code->operands[k].hold == HOLDS_MEMORY) s->at[k] += piece;
    }
    work_on(s, wide, rest);
}

bool stream_run(Block *block, Worker *worker)
{
    const Grid *grid = block->grid;
    const bool flat = block->dims[1] == 1 && block->dims[2] == 1;
    if (!flat || block->warps[0].started || block->checker || worker->random || grid->cluster_size > 1
        || grid_stops(grid, worker))
        return false;
    Stream s;
    s.code = grid->function->stream;
    s.block = block;
    s.worker = worker;
    s.threads = block->threads;
    if (!find_way(&s)) return false;
    work_through(&s);
    block->live = 0;
    grid_ask_help(block->grid);
    return true;
}
