/* Runs a block as a whole on a way that lower/stream.c has found (stream.h). */
#include <string.h>

#include "exec/code/lines.h"
#include "exec/code/stream.h"
#include "exec/run/run.h"
#include "exec/run/whole_block.h"
#include "exec/state/ranges.h"

enum { PIECE = 2048 }; /* bytes of each array that are computed with at a time, where there are buffers */

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

static const uint8_t *value_row(const Stream *s, Ref ref) { return block_value_row(s->block, ref); }

static Line line_at(const Stream *s, Ref ref, unsigned bits)
{
    return ref_is_frame(ref) ? s->lines[ref] : block_line(s->block, ref, bits);
}

static bool compute(Stream *s, const StreamStep *step)
{
    const uint8_t *bits = line_bits[step->op];
    return line_compute(step->op, s->threads, line_at(s, step->a, bits[1]), line_at(s, step->b, bits[2]),
                        line_at(s, step->c, bits[3]), &s->lines[step->d]);
}

/* Whether the comparison gives what it must in all threads. */
static bool holds(const Stream *s, const StreamStep *step)
{
    const uint8_t *bits = line_bits[step->op];
    bool result;
    return line_compare(step->op, s->threads, line_at(s, step->a, bits[1]), line_at(s, step->b, bits[2]),
                        &result)
           && result == step->holds;
}

/* --- memory -------------------------------------------------------------------------------------------- */

/* Finds where the elements of all threads are: one thread's after the other's. */
static bool reach(Stream *s, const StreamStep *step)
{
    const Grid *grid = s->block->grid;
    const Line a = line_at(s, step->a, 64);
    const uint64_t address = (uint64_t)a.base + (uint64_t)step->imm,
                   bytes = (uint64_t)step->bytes * s->threads;
    if (a.stride != step->bytes || address % step->bytes) return false;
    if (!range_has_block(s->block, s->worker, grid->function->insns + step->insn, address, bytes,
                         step->write))
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
        const bool found = step->bytes                  ? reach(s, step)
                           : line_bits[step->op][0] > 1 ? compute(s, step)
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

static void work_on(const Stream *s, const WideTable *wide, size_t bytes)
{
    for (uint32_t n = 0; n < s->code->work_count; n++) {
        const StreamWork *work = &s->code->work[n];
        uint8_t *const *at = s->at;
        if (work->op == WIDE_COUNT)
            memmove(at[work->d], at[work->s[0]], bytes);
        else
            wide->ops[work->op](at[work->d], at[work->s[0]], at[work->s[1]], at[work->s[2]],
                                bytes / s->code->element);
    }
}

static void work_through(Stream *s)
{
    const WideTable *wide = s->block->grid->function->module->wide;
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
    if (!block_is_line(block, worker) || grid->cluster_size > 1 || grid_stops(grid, worker)) return false;
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
