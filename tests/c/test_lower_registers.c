/* Blocks, copies, liveness and packing, end to end: random programs are run before and after, by an
 * interpreter that knows nothing of how the passes work, and must write the same.
 *
 * The packed program runs on a frame of cells. A register's cells are marked with the value written and
 * their place in it, so that two registers alive at a time in overlapping cells cannot go unnoticed.
 */
#include "check.h"

#include "lower/ir.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COMPUTE = 1000, STORE, COPY }; /* opcodes of the random programs, none of the real ones */
enum { MAX_BRANCHES = 400, MAX_OUT = 400, CELLS = 4096, CONSTANT_LIMIT = 1 << 20 };

static uint32_t random_state = 2024;
static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* ---- random programs ---- */

/* One of the first `limit` registers, a predicate or not. */
static Ref random_of(const LowerFunction *f, bool predicate, uint32_t limit)
{
    for (;;) {
        uint32_t r = random_below(limit);
        if ((f->classes[r] == CLASS_PREDICATE) == predicate) return REF_MAKE(REF_FRAME, r);
    }
}

/* One of the first `limit` registers, or sometimes a constant. */
static Ref random_source(const LowerFunction *f, uint32_t limit)
{
    if (!random_below(8)) return REF_MAKE(REF_CONST, random_below(CONSTANT_LIMIT));
    return random_of(f, false, limit);
}

static void define(LowerFunction *f, Ref d, uint32_t limit)
{
    LowerInsn *i = lower_new_insn(f, COMPUTE, 0);
    i->flags = FLAG_PURE;
    i->d = d;
    i->imm = random_below(1000000);
    if (!limit) return;
    i->a = random_source(f, limit);
    i->b = random_source(f, limit);
}

/* A store, copy or computation of the registers below `shared`, sometimes under a guard. */
static void random_insn(LowerFunction *f, uint32_t shared)
{
    uint32_t what = random_below(10);
    LowerInsn *i;
    if (what < 2) {
        i = lower_new_insn(f, STORE, 0);
        i->a = random_source(f, shared);
        i->b = random_source(f, shared);
    } else if (what < 4) {
        i = lower_new_insn(f, COPY, 0);
        i->flags = FLAG_PURE | FLAG_COPY;
        i->d = random_of(f, false, shared);
        do i->a = random_source(f, shared);
        while (ref_is_register(i->a) && f->classes[i->a] != f->classes[i->d]);
    } else {
        define(f, random_of(f, what == 4, shared), shared);
        i = &f->insns[f->insn_count - 1];
    }
    if (!random_below(4)) {
        i->guard = random_of(f, true, shared);
        i->flags |= random_below(2) ? FLAG_GUARD_NOT : 0;
    }
}

/* A value defined and used within a block, in its own registers: what compilers emit most often. */
static void local_chain(LowerFunction *f, uint32_t shared)
{
    Ref a = lower_new_register(f, CLASS_16 + random_below(4));
    define(f, a, shared);
    Ref b = lower_new_register(f, f->classes[a]);
    LowerInsn *copy = lower_new_insn(f, COPY, 0);
    copy->flags = FLAG_PURE | FLAG_COPY;
    copy->d = b;
    copy->a = random_below(3) ? a : REF_MAKE(REF_CONST, random_below(CONSTANT_LIMIT));
    LowerInsn *use = lower_new_insn(f, STORE, 0);
    use->a = b;
    use->b = a;
}

static void random_branch(LowerFunction *f, uint32_t shared, uint32_t labels)
{
    LowerInsn *i = lower_new_insn(f, OP_bra, 0);
    i->target = random_below(labels);
    i->flags = FLAG_BRANCH;
    if (random_below(5)) {
        i->a = random_of(f, true, shared);
        i->mods = random_below(2) ? MODS_NEGATE : 0;
    } else {
        i->flags |= FLAG_ENDS;
    }
}

/* Blocks of random instructions and branches on registers that all blocks share. */
static void random_program(LowerFunction *f)
{
    uint32_t shared = 4 + random_below(20), blocks = 1 + random_below(10);
    lower_new_register(f, CLASS_PREDICATE);
    lower_new_register(f, CLASS_32);
    while (f->register_count < shared) lower_new_register(f, random_below(5));
    f->labels = ARENA_ZEROS(f->scratch, uint32_t, blocks);
    f->label_count = blocks;
    for (uint32_t r = 0; r < shared; r++) define(f, REF_MAKE(REF_FRAME, r), 0);
    for (uint32_t b = 0; b < blocks; b++) {
        f->labels[b] = f->insn_count;
        for (uint32_t n = random_below(8); n > 0; n--) random_insn(f, shared);
        for (uint32_t n = random_below(3); n > 0; n--) local_chain(f, shared);
        if (random_below(4)) random_branch(f, shared, blocks);
    }
    lower_new_insn(f, OP_ret, 0)->flags = FLAG_ENDS;
}

/* ---- the interpreter ---- */

typedef struct Cell {
    uint64_t value;
    uint32_t part;
} Cell;

typedef struct Machine {
    const LowerFunction *f;
    const LowerInsn
        *classes; /* the instructions before packing, for classes of registers; NULL: not packed */
    Cell cells[CELLS];
    uint64_t out[MAX_OUT];
    uint32_t out_count;
    bool clash, ended; /* clash: a value was read of which another one overwrote a part */
} Machine;

static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    return a ^ a >> 29;
}

static uint32_t cells_of(RegisterClass class)
{
    static const uint32_t count[] = {1, 1, 1, 2, 4};
    return count[class];
}

/* Virtual registers are four cells apart; packed ones are at their offset, with predicates in the upper half
 * of the cells. */
static uint32_t first_cell(const Machine *m, Ref ref, RegisterClass class)
{
    if (!m->classes) return (ref & REF_OFFSET_MASK) * 4;
    uint32_t offset = ref & REF_OFFSET_MASK;
    return class == CLASS_PREDICATE ? CELLS / 2 + offset / 4 : offset / 128;
}

static uint64_t read_ref(Machine *m, Ref ref, Ref virtual)
{
    if (ref == REF_ABSENT) return 7;
    if (!ref_is_register(ref)) return mix(ref, 1);
    RegisterClass class = m->f->classes[virtual];
    uint32_t first = first_cell(m, ref, class);
    for (uint32_t i = 0; i < cells_of(class); i++)
        if (m->cells[first + i].value != m->cells[first].value || m->cells[first + i].part != i)
            m->clash = true;
    return m->cells[first].value;
}

static void write_ref(Machine *m, Ref ref, Ref virtual, uint64_t value)
{
    RegisterClass class = m->f->classes[virtual];
    uint32_t first = first_cell(m, ref, class);
    for (uint32_t i = 0; i < cells_of(class); i++) m->cells[first + i] = (Cell){value, i};
}

/* Runs one instruction; true when it branches. */
static bool step(Machine *m, const LowerInsn *i, const LowerInsn *v)
{
    if (i->guard != REF_ABSENT && (read_ref(m, i->guard, v->guard) & 1) == !!(i->flags & FLAG_GUARD_NOT))
        return false;
    if (i->flags & FLAG_BRANCH)
        return i->a == REF_ABSENT || (read_ref(m, i->a, v->a) & 1) != !!(i->mods & MODS_NEGATE);
    uint64_t a = read_ref(m, i->a, v->a), b = read_ref(m, i->b, v->b);
    if (i->op == COMPUTE) write_ref(m, i->d, v->d, mix(mix(a, b), (uint64_t)i->imm));
    if (i->op == COPY) write_ref(m, i->d, v->d, a);
    if (i->op == STORE && m->out_count < MAX_OUT) m->out[m->out_count++] = mix(a, b);
    return false;
}

/* Runs until the program returns or has branched MAX_BRANCHES times. `laid_out`: targets are blocks, not
 * labels. */
static void run(Machine *m, bool laid_out)
{
    const LowerFunction *f = m->f;
    uint32_t at = 0;
    for (uint32_t branches = 0; branches < MAX_BRANCHES && f->insns[at].op != OP_ret;) {
        const LowerInsn *i = &f->insns[at], *v = m->classes ? &m->classes[at] : i;
        at++;
        if (!step(m, i, v)) continue;
        at = laid_out ? f->blocks[i->target].first : f->labels[i->target];
        branches++;
    }
    m->ended = f->insns[at].op == OP_ret;
}

/* ---- the comparison ---- */

/* The layout adds jumps, which count as branches, so that outputs of endless programs have different lengths:
 * they must agree as far as both go. */
static bool same_output(const Machine *a, const Machine *b)
{
    uint32_t count = a->out_count < b->out_count ? a->out_count : b->out_count;
    if (a->ended && b->ended && a->out_count != b->out_count) return false;
    return !memcmp(a->out, b->out, count * sizeof *a->out);
}

/* Sizes of elements (as class + 1, 0 if unused) of the registers that are packed into each cell. */
typedef struct Sizes {
    const LowerFunction *f;
    uint8_t class_at[CELLS];
    bool unmixed; /* no cell has registers of two sizes */
} Sizes;

static void note_size(Sizes *s, Ref ref, Ref virtual)
{
    if (!ref_is_register(ref)) return;
    RegisterClass class = s->f->classes[virtual];
    uint8_t element = (uint8_t)(class == CLASS_128 ? CLASS_64 : class) + 1;
    for (uint32_t i = 0; i < cells_of(class); i++) {
        uint8_t *at = &s->class_at[ref / 128 + i];
        s->unmixed &= !*at || *at == element;
        *at = element;
    }
}

/* Whether registers that share a row have elements of the same size. A lane that diverged may still keep a
 * value in a row in which other lanes already keep another register's, which works only then. */
static bool rows_have_one_size(const LowerFunction *f, const LowerInsn *virtual)
{
    Sizes s = {.f = f, .unmixed = true};
    for (uint32_t i = 0; i < f->insn_count; i++) {
        const LowerInsn *p = &f->insns[i], *v = &virtual[i];
        note_size(&s, p->d, v->d);
        note_size(&s, p->a, v->a);
        note_size(&s, p->b, v->b);
        note_size(&s, p->guard, v->guard);
    }
    return s.unmixed;
}

/* Runs the program before and after all passes; whether both write the same, without clashes. */
static bool check_program(LowerFunction *f, Machine *before, Machine *after)
{
    LowerFunction text = *f;
    text.insns = ARENA_ARRAY(f->scratch, LowerInsn, f->insn_count);
    memcpy(text.insns, f->insns, f->insn_count * sizeof(LowerInsn));
    *before = (Machine){.f = &text};
    run(before, false);
    lower_blocks(f);
    lower_copies(f);
    lower_dead(f);
    lower_liveness(f);
    LowerInsn *virtual = ARENA_ARRAY(f->scratch, LowerInsn, f->insn_count);
    memcpy(virtual, f->insns, f->insn_count * sizeof(LowerInsn));
    if (!lower_registers(f)) return false;
    *after = (Machine){.f = f, .classes = virtual};
    run(after, true);
    return same_output(before, after) && !after->clash && rows_have_one_size(f, virtual);
}

/* Checks random programs up to the first that fails; adds to *outputs how many values they wrote. */
static bool run_programs(Arena *arena, Machine *before, Machine *after, uint32_t *outputs)
{
    bool right = true;
    for (int round = 0; round < 3000 && right; round++) {
        LowerFunction f = {.scratch = arena};
        random_program(&f);
        right = check_program(&f, before, after);
        *outputs += after->out_count;
        arena_free(arena);
    }
    return right;
}

static void test_random_programs(void)
{
    Machine *before = malloc(sizeof *before), *after = malloc(sizeof *after);
    Arena arena = {.chunks = NULL};
    jmp_buf failed;
    static uint32_t outputs; /* static: it outlives the longjmp */
    arena.on_failure = &failed;
    if (!before || !after || setjmp(failed))
        CHECK(!"out of memory");
    else
        CHECK(run_programs(&arena, before, after, &outputs));
    CHECK(outputs > 10000);
    arena_free(&arena);
    free(before);
    free(after);
}

/* 1000 values, each used only right after its definition, share one row; unused definitions are removed. */
static void test_reuse(void)
{
    Arena arena = {.chunks = NULL};
    jmp_buf failed;
    if (setjmp(failed)) {
        CHECK(!"out of memory");
        return;
    }
    arena.on_failure = &failed;
    LowerFunction f = {.scratch = &arena};
    for (int i = 0; i < 1000; i++) {
        Ref r = lower_new_register(&f, CLASS_64);
        define(&f, r, 0);
        lower_new_insn(&f, STORE, 0)->a = r;
        define(&f, lower_new_register(&f, CLASS_32), 0);
    }
    lower_new_insn(&f, OP_ret, 0)->flags = FLAG_ENDS;
    lower_blocks(&f);
    lower_copies(&f);
    lower_dead(&f);
    CHECK(f.insn_count == 2001);
    lower_liveness(&f);
    CHECK(lower_registers(&f));
    CHECK(f.frame_size == 256);
    CHECK(f.peak_rows == 2);
    arena_free(&arena);
}

int main(void)
{
    test_random_programs();
    test_reuse();
    return check_done();
}
