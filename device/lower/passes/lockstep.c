/* Finds the kernels whose warps start in lockstep (exec/code/lockstep.h): those in which only instructions
 * that can run in lockstep come before a loop with loads.
 */
#include "exec/code/lockstep.h"

#include "exec/code/block_affine.h"
#include "lower/module.h"

typedef struct Reads {
    uint32_t index; /* of the decoded instruction */
    CodeLockstep *lockstep;
    bool fits; /* all rows are in the frame; arguments of calls are beyond it */
} Reads;

static bool is_load(const CodeFunction *code, const Insn *i)
{
    BlockAccess access;
    return block_access(code, i, &access) && !access.write;
}

/* Whether it is a branch backward: the end of a loop. */
static bool is_back(const Insn *i)
{
    return (i->op == OP_bra_back || i->op == OP_bra_p_back) && i->target <= i;
}

static bool has_load(const CodeFunction *code, const Insn *first, const Insn *last)
{
    while (first < last && !is_load(code, first)) first++;
    return first < last;
}

/* Whether running its warps in lockstep pays: before any access that is not a load, a loop has a load. */
static bool loads_in_a_loop(const CodeFunction *code)
{
    const Insn *i = code->insns, *end = i + code->insn_count;
    for (; i < end && lockstep_classes[i->op]; i++) {
        if (lockstep_classes[i->op] == LOCKSTEP_ACCESS && !is_load(code, i)) return false;
        if (is_back(i) && has_load(code, i->target, i)) return true;
    }
    return false;
}

static void note_needed_row(void *closure, Ref *ref, bool read, bool written)
{
    Reads *x = closure;
    const uint32_t row = ref_number(*ref) / LOCKSTEP_UNIT_BYTES;
    (void)written;
    if (row >= LOCKSTEP_ROWS)
        x->fits = false;
    else if (read)
        x->lockstep->needed_before[row] = x->index + 1;
}

/* Finds the last instruction that reads each row, in the order of the code. Labels and guards, which the
 * decoded code has in addition, are counted. False if a row is not in the frame. */
static bool find_reads(LowerFunction *f, const CodeFunction *code, CodeLockstep *lockstep)
{
    Reads x = {0, lockstep, true};
    for (uint32_t b = 0; b < f->block_count; b++)
        for (uint32_t n = 0; n < f->blocks[b].count; n++, x.index++) {
            while (code->insns[x.index].op == OP_label || code->insns[x.index].op == OP_guard) x.index++;
            lower_visit(f, &f->insns[f->blocks[b].first + n], note_needed_row, &x);
        }
    return x.fits;
}

/* A row that is needed at some instruction of a loop is needed until its end. True if something changed. */
static bool extend_over_loops(const CodeFunction *code, CodeLockstep *lockstep)
{
    bool changed = false;
    for (const Insn *i = code->insns; i < code->insns + code->insn_count; i++) {
        if (!is_back(i)) continue;
        const uint32_t first = (uint32_t)(i->target - code->insns), end = (uint32_t)(i - code->insns) + 1;
        for (uint32_t row = 0; row < LOCKSTEP_ROWS; row++) {
            uint32_t *needed = &lockstep->needed_before[row];
            if (*needed <= first || *needed >= end) continue;
            *needed = end;
            changed = true;
        }
    }
    return changed;
}

void lower_lockstep(Lower *lower, LowerFunction *f, CodeFunction *code)
{
    if (code->frame_size > LOCKSTEP_ROWS * LOCKSTEP_UNIT_BYTES || !loads_in_a_loop(code)) return;
    CodeLockstep *lockstep = ARENA_ZEROS(lower->keep, CodeLockstep, 1);
    if (!find_reads(f, code, lockstep)) return;
    while (extend_over_loops(code, lockstep)) continue;
    code->lockstep = lockstep;
}
