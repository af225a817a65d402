/* Runs a block as a whole on the path that lower/passes/elementwise.c has found (elementwise.h). */
#include <string.h>

#include "exec/code/block_affine.h"
#include "exec/code/elementwise.h"
#include "exec/run/run.h"
#include "exec/run/whole_block.h"
#include "exec/state/ranges.h"

enum { PIECE_BYTES = 2048 }; /* of each array that are computed at a time if there are buffers */

/* values: those of the steps so far; at: where each operand's elements are. */
typedef struct Elementwise {
    const CodeElementwise *code;
    Block *block;
    Worker *worker;
    uint32_t threads;
    BlockAffine values[ELEMENTWISE_VALUES];
    uint8_t *at[ELEMENTWISE_OPERANDS];
    _Alignas(64) uint8_t buffers[ELEMENTWISE_BUFFERS][PIECE_BYTES];
} Elementwise;

/* --- values -------------------------------------------------------------------------------------------- */

static const uint8_t *value_row(const Elementwise *s, Ref ref) { return block_value_row(s->block, ref); }

static BlockAffine affine_at(const Elementwise *s, Ref ref, unsigned bits)
{
    return ref_is_register(ref) ? s->values[ref] : block_affine_of(s->block, ref, bits);
}

/* Computes the value of a step; false where it is not affine. */
static bool compute_step(Elementwise *s, const ElementwiseStep *step)
{
    const uint8_t *bits = affine_bits[step->op];
    return block_affine_compute(step->op, s->threads, affine_at(s, step->a, bits[1]),
                                affine_at(s, step->b, bits[2]), affine_at(s, step->c, bits[3]),
                                &s->values[step->d]);
}

/* Whether the comparison gives the expected result in all threads. */
static bool comparison_holds(const Elementwise *s, const ElementwiseStep *step)
{
    const uint8_t *bits = affine_bits[step->op];
    bool result;
    return block_affine_compare(step->op, s->threads, affine_at(s, step->a, bits[1]),
                                affine_at(s, step->b, bits[2]), &result)
           && result == step->holds;
}

/* --- memory -------------------------------------------------------------------------------------------- */

/* Finds the elements that all threads access. False where they are not consecutive, or the launch may not
 * access them. */
static bool locate_elements(Elementwise *s, const ElementwiseStep *step)
{
    const Grid *grid = s->block->grid;
    const BlockAffine a = affine_at(s, step->a, 64);
    const uint64_t address = (uint64_t)a.base + (uint64_t)step->imm,
                   bytes = (uint64_t)step->bytes * s->threads;
    if (a.stride != step->bytes || address % step->bytes) return false;
    if (!range_has_block(s->block, s->worker, grid->function->insns + step->insn, address, bytes,
                         step->write))
        return false;
    s->at[step->d] = (uint8_t *)(uintptr_t)address;
    return true;
}

/* Whether no thread accesses elements that another one writes: two accesses are disjoint, or are a read
 * and a write of the same elements by the same threads. */
static bool are_disjoint(const Elementwise *s, const ElementwiseStep *x, const ElementwiseStep *y)
{
    const uint8_t *p = s->at[x->d], *q = s->at[y->d];
    const size_t bytes = (size_t)x->bytes * s->threads;
    return (p == q && x->write != y->write) || (p < q ? p + bytes <= q : q + bytes <= p);
}

/* Accesses are the last steps. */
static bool all_disjoint(const Elementwise *s, const ElementwiseStep *first, const ElementwiseStep *end)
{
    for (const ElementwiseStep *x = first; x < end; x++)
        for (const ElementwiseStep *y = x + 1; y < end; y++)
            if ((x->write || y->write) && !are_disjoint(s, x, y)) return false;
    return true;
}

/* Whether all threads take the path and all accesses are valid: decided before anything is written. */
static bool check_all(Elementwise *s)
{
    const ElementwiseStep *first = s->code->steps, *end = first + s->code->step_count, *first_access = end;
    for (const ElementwiseStep *step = first; step < end; step++) {
        const bool can_run = step->bytes                    ? locate_elements(s, step)
                             : affine_bits[step->op][0] > 1 ? compute_step(s, step)
                                                            : comparison_holds(s, step);
        if (!can_run) return false;
        if (step->bytes && first_access == end) first_access = step;
    }
    return all_disjoint(s, first_access, end);
}

/* --- elements ------------------------------------------------------------------------------------------ */

/* Fills a buffer with a value, of which `row` has a copy for each lane. size: of the value. */
static void fill_row(uint8_t *buffer, const uint8_t *row, uint32_t size)
{
    const uint32_t bytes = size * WARP_LANES;
    for (uint32_t k = 0; k < PIECE_BYTES; k += bytes) memcpy(buffer + k, row, bytes);
}

/* Gives each buffered operand a buffer; locate_elements() has set `at` of those in memory. */
static void set_buffers(Elementwise *s)
{
    uint32_t used = 0;
    for (uint32_t k = 0; k < s->code->operand_count; k++) {
        const ElementwiseOperand *operand = &s->code->operands[k];
        if (!elementwise_is_buffered(operand)) continue;
        s->at[k] = s->buffers[used++];
        if (operand->kind == OPERAND_VALUE) fill_row(s->at[k], value_row(s, operand->value), operand->size);
    }
}

/* Runs all operations on `bytes` bytes of each array. */
static void compute_piece(const Elementwise *s, const WideTable *wide, size_t bytes)
{
    for (uint32_t n = 0; n < s->code->op_count; n++) {
        const ElementwiseOp *op = &s->code->ops[n];
        uint8_t *const *at = s->at;
        if (op->op == WIDE_COUNT)
            memmove(at[op->d], at[op->s[0]], bytes);
        else
            wide->ops[op->op](at[op->d], at[op->s[0]], at[op->s[1]], at[op->s[2]], bytes / s->code->element);
    }
}

static void compute_elements(Elementwise *s)
{
    const WideTable *wide = s->block->grid->function->module->wide;
    size_t rest = (size_t)s->code->bytes * s->threads, piece = s->code->buffered ? PIECE_BYTES : rest;
    if (s->code->buffered) set_buffers(s);
    for (; rest > piece; rest -= piece) {
        compute_piece(s, wide, piece);
        for (uint32_t k = 0; k < s->code->operand_count; k++)
            if (s->code->operands[k].kind == OPERAND_MEMORY) s->at[k] += piece;
    }
    compute_piece(s, wide, rest);
}

bool elementwise_run(Block *block, Worker *worker)
{
    const Grid *grid = block->grid;
    if (!block_may_run_whole(block, worker) || grid->cluster_size > 1 || grid_stops(grid, worker))
        return false;
    Elementwise s;
    s.code = grid->function->elementwise;
    s.block = block;
    s.worker = worker;
    s.threads = block->threads;
    memset(s.at, 0, sizeof s.at); /* those that are used are set later */
    if (!check_all(&s)) return false;
    compute_elements(&s);
    block->live = 0;
    grid_call_help_if_long(block->grid);
    return true;
}
