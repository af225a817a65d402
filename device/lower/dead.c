/* Dead code elimination: instructions, old values of atomic operations and elements of vector loads without a
 * use. */
#include <string.h>

#include "lower/ir.h"

typedef struct Readers {
    LowerFunction *f;
    uint32_t *reads; /* of each register */
    bool unread;
} Readers;

static void count(void *closure, Ref *ref, bool read, bool written)
{
    Readers *r = closure;
    (void)written;
    r->reads[ref_number(*ref)] += read;
}

static void uncount(void *closure, Ref *ref, bool read, bool written)
{
    Readers *r = closure;
    (void)written;
    r->reads[ref_number(*ref)] -= read;
}

/* A guarded destination reads itself: that does not keep it. */
static void check_unread(void *closure, Ref *ref, bool read, bool written)
{
    Readers *r = closure;
    if (written && r->reads[ref_number(*ref)] != (read ? 1u : 0u)) r->unread = false;
}

static bool is_dead(Readers *r, LowerInsn *i)
{
    if (!(i->flags & FLAG_PURE)) return false;
    if (i->flags & FLAG_COPY && i->a == i->d) return true;
    r->unread = true;
    lower_visit(r->f, i, check_unread, r);
    return r->unread;
}

/* An atomic operation whose old value has no use is a reduction. */
static void drop_old_value(const Readers *r, LowerInsn *i)
{
    bool atomic = i->op >= OP_atom_add_u32 && i->op <= OP_atom_cas_b128;
    if (atomic && ref_is_register(i->d) && r->reads[ref_number(i->d)] == (i->guard != REF_ABSENT))
        i->d = REF_ABSENT;
}

/* What is loaded with others and never read need not be there. */
static void drop_elements(const Readers *r, const LowerInsn *i)
{
    if (strncmp(exec_op_names[i->op], "ldv_", 4) != 0 || i->mods & MEM_STRONG) return;
    for (uint32_t e = 0; e < i->more_written; e++) {
        Ref *ref = &r->f->refs[i->more + e];
        if (ref_is_register(*ref) && r->reads[ref_number(*ref)] == (i->guard != REF_ABSENT))
            *ref = REF_ABSENT;
    }
}

static void close_ranks(LowerFunction *f)
{
    uint32_t kept = 0;
    for (uint32_t b = 0; b < f->block_count; b++) {
        LowerBlock *block = &f->blocks[b];
        uint32_t first = kept;
        for (uint32_t n = block->first; n < block->first + block->count; n++)
            if (f->insns[n].op != OP_COUNT) f->insns[kept++] = f->insns[n];
        block->first = first;
        block->count = kept - first;
    }
    f->insn_count = kept;
}

/* Backwards, so that what only fed a dead instruction is dead in its turn. */
void lower_dead(LowerFunction *f)
{
    Readers r = {.f = f, .reads = ARENA_ZEROS(f->scratch, uint32_t, f->register_count)};
    for (uint32_t n = 0; n < f->insn_count; n++) lower_visit(f, &f->insns[n], count, &r);
    for (uint32_t n = f->insn_count; n-- > 0;) {
        drop_old_value(&r, &f->insns[n]);
        drop_elements(&r, &f->insns[n]);
        if (!is_dead(&r, &f->insns[n])) continue;
        lower_visit(f, &f->insns[n], uncount, &r);
        f->insns[n].op = OP_COUNT;
    }
    close_ranks(f);
}
