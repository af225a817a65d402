/* Loops that only wait for memory: their loads become strong (MEM_STRONG), whatever cache operation they name
 * (ld.global.cg, or a plain ld next to a fence). So the interpreter knows that the write of another thread
 * ends the loop, and gives that thread its turn.
 *
 * Such a loop is one block that carries nothing from one round to the next: each register that it writes is
 * written before it is read.
 */
#include "lower/ir.h"

typedef struct LoopWrites {
    uint32_t *written; /* by register: block + 1 after a write in that block, ~block after a read before it */
    uint32_t block; /* being visited */
    bool carries; /* a register from one round to the next */
} LoopWrites;

/* Called for an instruction after note_early_read(): its reads come before its writes. */
static void note_write(void *closure, Ref *ref, bool read, bool written)
{
    LoopWrites *loop = closure;
    (void)read;
    if (written) loop->written[ref_number(*ref)] = loop->block + 1;
}

/* A register that is read before the block writes it is carried to the next round if it writes it later. */
static void note_early_read(void *closure, Ref *ref, bool read, bool written)
{
    LoopWrites *loop = closure;
    uint32_t *at = &loop->written[ref_number(*ref)];
    const uint32_t here = loop->block + 1, early = ~loop->block;
    if (read && *at != here) *at = early;
    if (written && *at == early) loop->carries = true;
}

static bool loops_on_itself(const LowerFunction *f, uint32_t block)
{
    for (uint32_t e = f->start[block]; e < f->start[block + 1]; e++)
        if (f->next[e] == block) return true;
    return false;
}

static bool is_load(uint16_t op)
{
    return (op >= OP_ld_generic_u8_16 && op <= OP_ld_generic_b128)
           || (op >= OP_ldv_generic_u8_16 && op <= OP_ldv_generic_b128);
}

static bool has_load(const LowerFunction *f, const LowerBlock *block)
{
    for (uint32_t i = block->first; i < block->first + block->count; i++)
        if (is_load(f->insns[i].op)) return true;
    return false;
}

static bool carries_something(LowerFunction *f, LoopWrites *loop)
{
    const LowerBlock *block = &f->blocks[loop->block];
    loop->carries = false;
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        lower_visit(f, &f->insns[i], note_early_read, loop);
        lower_visit(f, &f->insns[i], note_write, loop);
    }
    return loop->carries;
}

void lower_spins(LowerFunction *f)
{
    LoopWrites loop = {0};
    for (uint32_t b = 0; b < f->block_count; b++) {
        const LowerBlock *block = &f->blocks[b];
        if (!loops_on_itself(f, b) || !has_load(f, block)) continue;
        if (!loop.written) loop.written = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
        loop.block = b;
        if (carries_something(f, &loop)) continue;
        for (uint32_t i = block->first; i < block->first + block->count; i++)
            if (is_load(f->insns[i].op)) f->insns[i].mods |= MEM_STRONG;
    }
}
