/* Looks for kernels whose warps are run together at first (exec/code/front.h): those that come to a loop with
 * loads by instructions that fit, all of them.
 */
#include "exec/code/front.h"
#include "lower/module.h"

typedef struct Reads {
    uint32_t number; /* of the decoded instruction */
    CodeFront *front;
    bool fits; /* no row is beyond the frame, as arguments of calls are */
} Reads;

static bool is_load(const Insn *i)
{
    return i->op == OP_affine_ld_generic_b32_32 || i->op == OP_affine_ld_generic_b64_64
           || i->op == OP_affine_ldv_generic_b32_32 || i->op == OP_affine_ldv_generic_b64_64;
}

static bool is_back(const Insn *i)
{
    return (i->op == OP_bra_back || i->op == OP_bra_p_back) && i->target <= i;
}

static bool has_load(const Insn *first, const Insn *last)
{
    while (first < last && !is_load(first)) first++;
    return first < last;
}

static bool pays(const CodeFunction *code)
{
    const Insn *i = code->insns, *end = i + code->insn_count;
    for (; i < end && front_classes[i->op]; i++) {
        if (front_classes[i->op] == FRONT_ACCESS && !is_load(i)) return false;
        if (is_back(i) && has_load(i->target, i)) return true;
    }
    return false;
}

static void note_read(void *closure, Ref *ref, bool read, bool written)
{
    Reads *x = closure;
    const uint32_t row = ref_number(*ref) / FRONT_UNIT;
    (void)written;
    if (row >= FRONT_ROWS)
        x->fits = false;
    else if (read)
        x->front->needed_before[row] = x->number + 1;
}

/* Labels and guards stand in the decoded code alone. */
static bool find_reads(LowerFunction *f, const CodeFunction *code, CodeFront *front)
{
    Reads x = {0, front, true};
    for (uint32_t b = 0; b < f->block_count; b++)
        for (uint32_t n = 0; n < f->blocks[b].count; n++, x.number++) {
            while (code->insns[x.number].op == OP_label || code->insns[x.number].op == OP_guard) x.number++;
            lower_visit(f, &f->insns[f->blocks[b].first + n], note_read, &x);
        }
    return x.fits;
}

/* What a loop reads is read again in its next round. */
static bool look_through_loops(const CodeFunction *code, CodeFront *front)
{
    bool changed = false;
    for (const Insn *i = code->insns; i < code->insns + code->insn_count; i++) {
        if (!is_back(i)) continue;
        const uint32_t first = (uint32_t)(i->target - code->insns), end = (uint32_t)(i - code->insns) + 1;
        for (uint32_t row = 0; row < FRONT_ROWS; row++) {
            uint32_t *needed = &front->needed_before[row];
            if (*needed <= first || *needed >= end) continue;
            *needed = end;
            changed = true;
        }
    }
    return changed;
}

void lower_front(Lower *lower, LowerFunction *f, CodeFunction *code)
{
    if (code->frame_size > FRONT_ROWS * FRONT_UNIT || !pays(code)) return;
    CodeFront *front = ARENA_ZEROS(lower->keep, CodeFront, 1);
    if (!find_reads(f, code, front)) return;
    while (look_through_loops(code, front)) {}
    code->front = front;
}
