/* Decoded code: branches as pointers, a guard as an instruction of its own before the one that it guards, a
 * label where branches meet. */
#include "lower/ir.h"
#include "lower/module.h"

#include <string.h>

enum { MAX_OVER = 16 }; /* how far a branch marked with BRA_OVER may go, in instructions */

typedef struct Emission {
    Lower *lower;
    LowerFunction *f;
    CodeFunction *code;
    uint32_t *block_at;    /* first decoded instruction of each block */
    uint8_t *merges; /* by block: whether it has two predecessors or more, and so starts with a label */
} Emission;

static void find_merges(Emission *e)
{
    const LowerFunction *f = e->f;
    uint32_t *predecessors = ARENA_ZEROS(f->scratch, uint32_t, f->block_count);
    e->merges = ARENA_ZEROS(f->scratch, uint8_t, f->block_count);
    predecessors[0] = 1; /* the start of the function */
    for (uint32_t n = 0; n < f->start[f->block_count]; n++) predecessors[f->next[n]]++;
    for (uint32_t b = 0; b < f->block_count; b++) e->merges[b] = predecessors[b] > 1;
}

/* Finds where each block starts in the decoded code; returns the number of decoded instructions. */
static uint32_t place_blocks(Emission *e)
{
    const LowerFunction *f = e->f;
    uint32_t count = 0;
    e->block_at = ARENA_ARRAY(f->scratch, uint32_t, f->block_count);
    for (uint32_t b = 0; b < f->block_count; b++) {
        e->block_at[b] = count;
        count += e->merges[b] + f->blocks[b].count;
        for (uint32_t i = 0; i < f->blocks[b].count; i++)
            count += f->insns[f->blocks[b].first + i].guard != REF_ABSENT;
    }
    return count;
}

static const CodeTable *make_table(Emission *e, const LowerTable *list)
{
    CodeTable *table = ARENA_ARRAY(e->lower->keep, CodeTable, 1);
    table->count = list->count;
    table->targets = ARENA_ARRAY(e->lower->keep, const Insn *, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        table->targets[i] = e->code->insns + e->block_at[list->targets[i]];
    return table;
}

static uint16_t branch_op(bool predicated, bool back)
{
    if (predicated) return back ? OP_bra_p_back : OP_bra_p;
    return back ? OP_bra_back : OP_bra;
}

/* Writes the guard of an instruction to *at. Returns the place after it. */
static Insn *emit_guard(Insn *at, const LowerInsn *insn)
{
    *at = (Insn){.op = OP_guard,
                 .a = insn->guard,
                 .line = insn->line,
                 .d = REF_ABSENT,
                 .b = REF_ABSENT,
                 .c = REF_ABSENT,
                 .e = REF_ABSENT,
                 .mods = insn->flags & FLAG_GUARD_NOT ? MODS_NEGATE : 0};
    return at + 1;
}

/* Writes an instruction, and its guard, to *at. Returns the place after it. */
static Insn *emit_insn(Emission *e, Insn *at, const LowerInsn *insn)
{
    if (insn->guard != REF_ABSENT) at = emit_guard(at, insn);
    *at = (Insn){.op = insn->op,
                 .mods = insn->mods,
                 .d = insn->d,
                 .a = insn->a,
                 .b = insn->b,
                 .c = insn->c,
                 .e = insn->e,
                 .more = insn->more,
                 .line = insn->line,
                 .imm = insn->imm};
    if (insn->flags & FLAG_BRANCH) {
        at->target = e->code->insns + e->block_at[insn->target];
        at->op = branch_op(insn->a != REF_ABSENT, at->target <= at);
    }
    if (insn->flags & FLAG_TABLE) at->pointer = make_table(e, insn->table);
    return at + 1;
}

static void emit_blocks(Emission *e)
{
    const LowerFunction *f = e->f;
    Insn *at = e->code->insns;
    for (uint32_t b = 0; b < f->block_count; b++) {
        const LowerInsn *insns = f->insns + f->blocks[b].first;
        uint32_t line = f->blocks[b].count ? insns[0].line : 0;
        if (e->merges[b])
            *at++ = (Insn){.op = OP_label,
                           .line = line,
                           .d = REF_ABSENT,
                           .a = REF_ABSENT,
                           .b = REF_ABSENT,
                           .c = REF_ABSENT,
                           .e = REF_ABSENT};
        for (uint32_t i = 0; i < f->blocks[b].count; i++) {
            at = emit_insn(e, at, &insns[i]);
            f->places[f->blocks[b].first + i] = (uint32_t)(at - 1 - e->code->insns);
        }
    }
}

/* Whether the interpreter can run the operation under a mask of lanes: guards, memory
 * accesses, affine and fused operations, and arithmetic, which is the end of the table
 * of operations. Atomics are not among them. */
static bool may_be_guarded(uint16_t op)
{
    return op == OP_guard || (op >= OP_ld_generic_u8_16 && op <= OP_stv_local_b128)
           || (op >= OP_affine_mov_b32 && op <= OP_fused_dot_shared_f32) || op >= OP_mov_b16;
}

/* Marks with BRA_OVER the forward branches over a few instructions that may all be guarded. */
static void mark_short_branches(CodeFunction *code)
{
    for (Insn *i = code->insns; i < code->insns + code->insn_count; i++) {
        const Insn *next = i + 1;
        if (i->op != OP_bra_p || i->target - i > MAX_OVER) continue;
        while (next < i->target && may_be_guarded(next->op)) next++;
        if (next == i->target) i->mods |= BRA_OVER;
    }
}

void lower_emit(Lower *lower, LowerFunction *f, CodeFunction *code)
{
    Emission e = {.lower = lower, .f = f, .code = code};
    find_merges(&e);
    code->insn_count = place_blocks(&e);
    code->insns = ARENA_ARRAY(lower->keep, Insn, code->insn_count);
    code->ref_count = f->ref_count;
    code->refs = ARENA_ARRAY(lower->keep, Ref, f->ref_count);
    if (f->ref_count) memcpy(code->refs, f->refs, f->ref_count * sizeof(Ref));
    code->frame_size = f->frame_size;
    code->register_estimate = f->peak_rows;
    f->places = ARENA_ARRAY(f->scratch, uint32_t, f->insn_count);
    emit_blocks(&e);
    if (!lower->host->checks) mark_short_branches(code);
}
