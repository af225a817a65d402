/* Copy propagation.
 *
 * A register whose only definition is an unguarded copy of a constant or a parameter row is replaced by that
 * row everywhere. A copy of another register is replaced within its block, as long as neither is written
 * again. Copies without a use are then dead, so that ld.param and cvta.to.global cost nothing.
 */
#include "lower/ir.h"

typedef struct CopyPropagation {
    LowerFunction *f;
    /* By register: */
    uint32_t *writes;      /* how many definitions it has */
    Ref *fixed;            /* the row that it always is, or REF_ABSENT */
    Ref *current;          /* the register that it is a copy of, if its stamp is the block's */
    uint32_t *stamp;       /* block_stamp of the copy; 0 after another write */
    uint32_t *version;     /* writes so far */
    uint32_t
        *copied_version; /* version of current[] when it was copied: if that has changed, the copy is stale */
    uint32_t block_stamp; /* the block being visited, + 1 */
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

/* Finds the registers that are always a constant or a parameter row, through chains of copies. One round over
 * the text is enough: a source nearly always stands before its copies. */
static void find_fixed(CopyPropagation *c)
{
    for (uint32_t n = 0; n < c->f->insn_count; n++) {
        const LowerInsn *i = &c->f->insns[n];
        if (!is_copy(i) || c->writes[ref_number(i->d)] != 1) continue;
        Ref source = ref_is_register(i->a) ? c->fixed[ref_number(i->a)] : i->a;
        c->fixed[ref_number(i->d)] = source;
    }
}

/* The row that an operand can be read from instead, or the operand itself. */
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

/* Ends what is known of a register as a copy, and of its copies. */
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
