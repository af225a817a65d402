/* Copy propagation.
 *
 * A register with one definition, unguarded, that copies a constant or a parameter row is that row
 * everywhere. A copy of another register holds within its block as long as neither is written again. The
 * copies without a use are dead then, so that ld.param and cvta.to.global cost nothing.
 */
#include "lower/ir.h"

typedef struct CopyPropagation {
    LowerFunction *f;
    uint32_t *writes;      /* definitions of each register */
    Ref *fixed;            /* the row that a register always is, or REF_ABSENT */
    Ref *current;          /* what a register is a copy of here, valid when its stamp is the block's */
    uint32_t *stamp;
    uint32_t *version, *copied_version; /* writes seen so far in this block */
    uint32_t block_stamp;
} CopyPropagation;

static void count_writes(void *closure, Ref *ref, bool read, bool written)
{
    CopyPropagation *c = closure;
    c->writes[ref_number(*ref)] += written;
    (void)read;
}

static bool is_copy(const LowerInsn *i)
{
    return i->flags & FLAG_COPY && i->guard == REF_ABSENT && ref_is_register(i->d);
}

/* Follows chains of single-definition copies to the row at their end. Text order nearly always meets a
 * source before its copies, so one round finds them. */
static void find_fixed(CopyPropagation *c)
{
    for (uint32_t n = 0; n < c->f->insn_count; n++) {
        const LowerInsn *i = &c->f->insns[n];
        if (!is_copy(i) || c->writes[ref_number(i->d)] != 1) continue;
        Ref source = ref_is_register(i->a) ? c->fixed[ref_number(i->a)] : i->a;
        c->fixed[ref_number(i->d)] = source;
    }
}

/* What a source operand may be read from instead. */
static Ref substitute_source(CopyPropagation *c, Ref ref)
{
    if (!ref_is_register(ref)) return ref;
    uint32_t r = ref_number(ref);
    if (c->fixed[r] != REF_ABSENT) return c->fixed[r];
    if (c->stamp[r] != c->block_stamp || c->current[r] == REF_ABSENT) return ref;
    uint32_t source = ref_number(c->current[r]);
    return c->version[source] == c->copied_version[r] ? c->current[r] : ref;
}

static void rewrite_sources(void *closure, Ref *ref, bool read, bool written)
{
    if (read && !written) *ref = substitute_source(closure, *ref);
}

static void note_write(void *closure, Ref *ref, bool read, bool written)
{
    CopyPropagation *c = closure;
    (void)read;
    if (!written) return;
    c->version[ref_number(*ref)]++;
    c->stamp[ref_number(*ref)] = 0;
}

static void note_copy(CopyPropagation *c, const LowerInsn *i)
{
    if (!is_copy(i) || !ref_is_register(i->a) || i->a == i->d) return;
    uint32_t d = ref_number(i->d), a = ref_number(i->a);
    c->current[d] = i->a;
    c->copied_version[d] = c->version[a];
    c->stamp[d] = c->block_stamp;
}

static void propagate_copies(CopyPropagation *c)
{
    LowerFunction *f = c->f;
    for (uint32_t b = 0; b < f->block_count; b++) {
        c->block_stamp = b + 1;
        for (uint32_t n = f->blocks[b].first; n < f->blocks[b].first + f->blocks[b].count; n++) {
            lower_visit(f, &f->insns[n], rewrite_sources, c);
            lower_visit(f, &f->insns[n], note_write, c);
            note_copy(c, &f->insns[n]);
        }
    }
}

void lower_copies(LowerFunction *f)
{
    CopyPropagation c = {.f = f};
    uint32_t count = f->register_count;
    c.writes = ARENA_ZEROS(f->scratch, uint32_t, count);
    c.stamp = ARENA_ZEROS(f->scratch, uint32_t, count);
    c.version = ARENA_ZEROS(f->scratch, uint32_t, count);
    c.copied_version = ARENA_ZEROS(f->scratch, uint32_t, count);
    c.fixed = ARENA_ARRAY(f->scratch, Ref, count);
    c.current = ARENA_ARRAY(f->scratch, Ref, count);
    for (uint32_t r = 0; r < count; r++) c.fixed[r] = c.current[r] = REF_ABSENT;
    for (uint32_t n = 0; n < f->insn_count; n++) lower_visit(f, &f->insns[n], count_writes, &c);
    find_fixed(&c);
    propagate_copies(&c);
}
