/* FMA contraction within a basic block: a mul and an add or sub that name no rounding become one fma, as
 * ptxas makes them, so that results have a GPU's last bits.
 *
 * A product is contracted if all its uses are sums in its block that use it once each, directly or through a
 * negation. Products that only one sum uses come first, then the others. Of two products of a sum the one
 * with fewer uses is contracted; if they have equally many, that of operand a. The sum then reads the other
 * product as it is, so that one is not contracted anywhere. (ptxas 13.0 does so in every one of a thousand
 * generated programs; the manual, section "add", leaves it open.)
 */
#include "lower/ir.h"

enum { MAX_PRODUCTS = 3 }; /* operations of a type that count as products */

/* An operation that makes a product, and the fma that makes a sum with it. */
typedef struct Product {
    uint16_t op, fma;
} Product;

/* The operations of one floating-point type. Approximate quotients are products by a reciprocal. */
typedef struct FloatOps {
    Product products[MAX_PRODUCTS];
    uint16_t add, sub, neg;
    uint16_t flush; /* of results under .ftz: it changes no product of this type. OP_COUNT: none */
    uint8_t class;
} FloatOps;

#define PRODUCT(suffix) {OP_mul_##suffix, OP_fma_##suffix}
#define QUOTIENT(suffix) {OP_div_##suffix, OP_div_add_##suffix}
#define FLOAT_OPS(suffix, class) \
    {{PRODUCT(suffix)}, OP_add_##suffix, OP_sub_##suffix, OP_neg_##suffix, OP_COUNT, class}
static const FloatOps float_ops[] = {
    {{PRODUCT(f32), QUOTIENT(approx_f32), QUOTIENT(full_f32)},
     OP_add_f32,
     OP_sub_f32,
     OP_neg_f32,
     OP_COUNT,
     CLASS_32},
    {{PRODUCT(ftz_f32), QUOTIENT(approx_ftz_f32), QUOTIENT(full_ftz_f32)},
     OP_add_ftz_f32,
     OP_sub_ftz_f32,
     OP_neg_f32,
     OP_flush_f32,
     CLASS_32},
    FLOAT_OPS(f32x2, CLASS_64),
    {{PRODUCT(ftz_f32x2)}, OP_add_ftz_f32x2, OP_sub_ftz_f32x2, OP_neg_f32x2, OP_flush_f32x2, CLASS_64},
    FLOAT_OPS(f64, CLASS_64),
    FLOAT_OPS(f16, CLASS_16),
    FLOAT_OPS(f16x2, CLASS_32),
    FLOAT_OPS(bf16, CLASS_16),
    FLOAT_OPS(bf16x2, CLASS_32),
};

/* ROLE_SIGN: a negation or flush of a product, or of another ROLE_SIGN. */
enum { ROLE_OTHER, ROLE_PRODUCT, ROLE_SUM, ROLE_SIGN };

enum {
    TAKES_NOTHING = 2, /* InsnFacts.takes of a sum without a product */
    STALE_A = 1,
    STALE_B = 2,
    MAX_CHAIN = 8 /* negations of a product */
};
#define NONE UINT32_MAX

/* What is known of an instruction. Pairs are of operands a and b. */
typedef struct InsnFacts {
    const FloatOps *ops;
    uint8_t role;
    bool has_other_uses; /* a product or its negation has another use */
    uint8_t
        takes; /* of a sum: 0 or 1 if the product that is operand a or b is contracted, or TAKES_NOTHING */
    uint8_t stale[2]; /* of a sum: STALE_* for sources of the operand's product that were overwritten since */
    uint32_t from[2]; /* of a sum or sign: the product or sign that the operand is, or NONE */
    uint32_t readers; /* of a product or sign: uses */
    uint32_t sums; /* of a product: sums among its uses, also through negations */
    uint32_t last_sum; /* of a product: the last sum that was counted */
    uint32_t versions[2]; /* of a product: how often its sources had been written before it */
    Ref kept[2]; /* of a product: registers with copies of its sources, or REF_ABSENT */
} InsnFacts;

typedef struct Contraction {
    LowerFunction *f;
    const LowerInsn *text; /* the instructions before contraction */
    InsnFacts *facts; /* by index into text */
    uint32_t *made; /* by register: the instruction that wrote it last in this region */
    uint32_t *stamp; /* by register: number of the region for which `made` holds */
    uint32_t *version; /* by register: writes so far */
    bool *crosses; /* by register: some region reads it before it writes it */
    uint32_t first, end, number; /* of this region: its instructions, and its number from 1 on */
    uint32_t block, insn; /* being visited */
    bool any; /* a product is contracted */
} Contraction;

/* Makes the next region the current one; false after the last. A region is a basic block
 * of the GPU's compiler: a block, or the part of one between instructions that the
 * compiler expands to several blocks (FLAG_CUTS). */
static bool next_region(Contraction *c)
{
    const LowerFunction *f = c->f;
    uint32_t end = 0;
    c->first = c->end;
    for (; c->block < f->block_count; c->block++) {
        end = f->blocks[c->block].first + f->blocks[c->block].count;
        if (c->first < end) break;
    }
    if (c->block == f->block_count) return false;
    do c->end++;
    while (c->end < end && !(c->text[c->end - 1].flags & FLAG_CUTS));
    c->number++;
    return true;
}

static void begin_regions(Contraction *c) { c->end = c->block = 0; }

/* The fma for a product; OP_COUNT if the operation is not a product of this type. */
static uint16_t fma_of(const FloatOps *ops, uint16_t op)
{
    for (int k = 0; k < MAX_PRODUCTS; k++)
        if (ops->products[k].op == op && ops->products[k].fma) return ops->products[k].fma;
    return OP_COUNT;
}

/* Finds whether an instruction is a product or a sum. A guarded product does
 * not count, since it may not be computed. */
static void find_role(const LowerInsn *i, InsnFacts *facts)
{
    bool contractible = i->flags & FLAG_NO_ROUNDING, guarded = i->guard != REF_ABSENT;
    *facts = (InsnFacts){
        .takes = TAKES_NOTHING, .from = {NONE, NONE}, .last_sum = NONE, .kept = {REF_ABSENT, REF_ABSENT}};
    for (size_t k = 0; k < sizeof float_ops / sizeof *float_ops && contractible; k++) {
        const FloatOps *ops = &float_ops[k];
        if (!guarded && fma_of(ops, i->op) != OP_COUNT) facts->role = ROLE_PRODUCT;
        if (i->op == ops->add || i->op == ops->sub) facts->role = ROLE_SUM;
        if (facts->role == ROLE_OTHER) continue;
        facts->ops = ops;
        return;
    }
}

/* Finds whether an instruction that reads `source`, a product or sign, is a ROLE_SIGN. */
static void find_sign(const LowerInsn *i, const InsnFacts *source, InsnFacts *facts)
{
    bool same = i->op == source->ops->neg || i->op == source->ops->flush;
    if (!same || i->guard != REF_ABSENT) return;
    facts->role = ROLE_SIGN;
    facts->ops = source->ops;
}

/* Visitor: whether the register is read in this region before it is written there. */
static void note_crossing(void *closure, Ref *ref, bool read, bool written)
{
    Contraction *c = closure;
    uint32_t r = ref_number(*ref);
    if (read && c->stamp[r] != c->number) c->crosses[r] = true;
    if (written) c->stamp[r] = c->number;
}

static void find_crossing(Contraction *c)
{
    for (begin_regions(c); next_region(c);)
        for (uint32_t n = c->first; n < c->end; n++) lower_visit(c->f, &c->f->insns[n], note_crossing, c);
}

/* The product or sign of this region that wrote a register last, or NONE. */
static uint32_t definition_of(const Contraction *c, Ref ref)
{
    uint32_t r = ref_number(ref);
    if (!ref_is_register(ref) || c->stamp[r] != c->number) return NONE;
    const InsnFacts *facts = &c->facts[c->made[r]];
    return facts->role == ROLE_PRODUCT || facts->role == ROLE_SIGN ? c->made[r] : NONE;
}

/* Visitor: links a use of a product or sign to it. Uses other than by sums and signs
 * of its type keep it from being contracted. */
static void note_use(void *closure, Ref *ref, bool read, bool written)
{
    Contraction *c = closure;
    LowerInsn *i = &c->f->insns[c->insn];
    InsnFacts *facts = &c->facts[c->insn];
    (void)written;
    uint32_t definition = read ? definition_of(c, *ref) : NONE;
    if (definition == NONE) return;
    InsnFacts *source = &c->facts[definition];
    source->readers++;
    if (facts->role == ROLE_OTHER && ref == &i->a) find_sign(i, source, facts);
    bool fits = facts->ops == source->ops;
    if (fits && facts->role == ROLE_SUM && (ref == &i->a || ref == &i->b))
        facts->from[ref == &i->b] = definition;
    else if (fits && facts->role == ROLE_SIGN && ref == &i->a)
        facts->from[0] = definition;
    else
        source->has_other_uses = true;
}

static void note_write(void *closure, Ref *ref, bool read, bool written)
{
    Contraction *c = closure;
    uint32_t r = ref_number(*ref);
    (void)read;
    if (!written) return;
    c->made[r] = c->insn;
    c->stamp[r] = c->number;
    c->version[r]++;
}

static uint32_t version_of(const Contraction *c, Ref ref)
{
    return ref_is_register(ref) ? c->version[ref_number(ref)] : 0;
}

/* The product at the end of a chain of signs, or NONE; *negative: whether they negate it. */
static uint32_t product_of(const Contraction *c, uint32_t definition, bool *negative)
{
    *negative = false;
    for (int hops = 0; definition != NONE && hops < MAX_CHAIN; hops++) {
        const InsnFacts *facts = &c->facts[definition];
        if (facts->role == ROLE_PRODUCT) return definition;
        *negative ^= c->text[definition].op == facts->ops->neg;
        definition = facts->from[0];
    }
    return NONE;
}

/* Counts a sum with the products that it uses, and notes which sources of these were overwritten since. */
static void note_sum(Contraction *c, InsnFacts *facts)
{
    for (int k = 0; k < 2; k++) {
        bool negative;
        uint32_t product = product_of(c, facts->from[k], &negative);
        if (product == NONE) continue;
        const LowerInsn *mul = &c->text[product];
        InsnFacts *source = &c->facts[product];
        bool a_changed = version_of(c, mul->a) != source->versions[0],
             b_changed = version_of(c, mul->b) != source->versions[1];
        facts->stale[k] = (uint8_t)((a_changed ? STALE_A : 0) | (b_changed ? STALE_B : 0));
        if (source->last_sum == c->insn) source->has_other_uses = true; /* as both operands */
        source->last_sum = c->insn;
        source->sums++;
    }
}

/* Links the uses of products and signs in the region to them, and counts them. */
static void scan_region(Contraction *c)
{
    LowerFunction *f = c->f;
    for (c->insn = c->first; c->insn < c->end; c->insn++) {
        LowerInsn *i = &f->insns[c->insn];
        InsnFacts *facts = &c->facts[c->insn];
        lower_visit(f, i, note_use, c);
        if (facts->role == ROLE_SUM) note_sum(c, facts);
        facts->versions[0] = version_of(c, i->a);
        facts->versions[1] = version_of(c, i->b);
        lower_visit(f, i, note_write, c);
    }
}

/* Gives other uses to the products that another region may read, and to those whose negation has some. */
static void mark_other_uses(Contraction *c)
{
    for (uint32_t n = c->end; n-- > c->first;) {
        InsnFacts *facts = &c->facts[n];
        bool negative;
        if (facts->role != ROLE_PRODUCT && facts->role != ROLE_SIGN) continue;
        uint32_t r = ref_number(c->text[n].d);
        if (c->made[r] == n && c->crosses[r]) facts->has_other_uses = true;
        if (facts->role != ROLE_SIGN || !facts->has_other_uses) continue;
        uint32_t product = product_of(c, n, &negative);
        if (product != NONE) c->facts[product].has_other_uses = true;
    }
}

/* Whether a product (or NONE) can be contracted; `single`: of those that only one sum uses. */
static bool may_contract(const Contraction *c, uint32_t product, bool single)
{
    return product != NONE && !c->facts[product].has_other_uses && (!single || c->facts[product].sums == 1);
}

/* Chooses the product that a sum takes, if there is one, and has copies made of its overwritten sources. */
static void contract_sum(Contraction *c, uint32_t sum, bool single)
{
    InsnFacts *facts = &c->facts[sum];
    bool negative;
    if (facts->role != ROLE_SUM || facts->takes != TAKES_NOTHING) return;
    uint32_t a = product_of(c, facts->from[0], &negative), b = product_of(c, facts->from[1], &negative);
    bool first = may_contract(c, a, single), second = may_contract(c, b, single);
    if (!first && !second) return;
    facts->takes = second && (!first || c->facts[b].readers < c->facts[a].readers);
    uint32_t taken = facts->takes ? b : a, other = facts->takes ? a : b;
    c->any = true;
    if (other != NONE) c->facts[other].has_other_uses = true;
    for (int k = 0; k < 2; k++)
        if (facts->stale[facts->takes] & (k ? STALE_B : STALE_A) && c->facts[taken].kept[k] == REF_ABSENT)
            c->facts[taken].kept[k] = lower_new_register(c->f, facts->ops->class);
}

static void contract_sums(Contraction *c)
{
    for (int single = 1; single >= 0; single--)
        for (uint32_t n = c->first; n < c->end; n++) contract_sum(c, n, single);
}

/* --- the instructions after contraction --- */

/* A new register with the negated source, and the instruction that makes it. */
static Ref negated_operand(Contraction *c, const FloatOps *ops, Ref source, uint32_t line)
{
    Ref d = lower_new_register(c->f, ops->class);
    LowerInsn *neg = lower_new_insn(c->f, ops->neg, line);
    neg->flags = FLAG_PURE;
    neg->a = source;
    neg->d = d;
    return d;
}

/* Before a product: copies its sources that have a register in `kept`. They are overwritten before the fma
 * reads them, which takes the place of the sum. */
static void keep_sources(Contraction *c, const LowerInsn *mul, const InsnFacts *facts)
{
    static const uint16_t copies[] = {
        [CLASS_16] = OP_mov_b16, [CLASS_32] = OP_mov_b32, [CLASS_64] = OP_mov_b64};
    for (int k = 0; k < 2; k++) {
        if (facts->kept[k] == REF_ABSENT) continue;
        LowerInsn *copy = lower_new_insn(c->f, copies[facts->ops->class], mul->line);
        copy->flags = FLAG_PURE | FLAG_COPY;
        copy->d = facts->kept[k];
        copy->a = k ? mul->b : mul->a;
    }
}

/* Writes the fma for a sum and the product that it takes. Overwritten sources
 * of the product are read from their copies. */
static void write_fma(Contraction *c, const LowerInsn *sum, const InsnFacts *facts)
{
    bool negative, minus = sum->op == facts->ops->sub;
    uint32_t product = product_of(c, facts->from[facts->takes], &negative);
    const InsnFacts *source = &c->facts[product];
    const LowerInsn *mul = &c->text[product];
    LowerInsn fma = *sum;
    fma.op = fma_of(facts->ops, mul->op);
    fma.a = facts->stale[facts->takes] & STALE_A ? source->kept[0] : mul->a;
    fma.b = facts->stale[facts->takes] & STALE_B ? source->kept[1] : mul->b;
    fma.c = facts->takes ? sum->a : sum->b;
    /* a - b: a product that is b is subtracted, or else b is. */
    if (negative != (minus && facts->takes)) fma.a = negated_operand(c, facts->ops, fma.a, sum->line);
    if (minus && !facts->takes) fma.c = negated_operand(c, facts->ops, fma.c, sum->line);
    *lower_add_insn(c->f) = fma;
}

/* Writes the instructions again: each contracted sum as its fma, products with copies of what is overwritten.
 * The products themselves stay, until dead code is removed. */
static void rewrite_function(Contraction *c)
{
    LowerFunction *f = c->f;
    lower_reserve(f, f->insn_count + f->insn_count / 2 + 1);
    for (uint32_t b = 0; b < f->block_count; b++) {
        LowerBlock *block = &f->blocks[b], old = *block;
        block->first = f->insn_count;
        for (uint32_t n = old.first; n < old.first + old.count; n++) {
            const InsnFacts *facts = &c->facts[n];
            if (facts->role == ROLE_PRODUCT) keep_sources(c, &c->text[n], facts);
            if (facts->role == ROLE_SUM && facts->takes != TAKES_NOTHING)
                write_fma(c, &c->text[n], facts);
            else
                *lower_add_insn(f) = c->text[n];
        }
        block->count = f->insn_count - block->first;
    }
}

/* Whether the function has a product and, after it, a sum. */
static bool has_candidates(const LowerFunction *f)
{
    bool product = false;
    for (uint32_t n = 0; n < f->insn_count; n++) {
        if (!(f->insns[n].flags & FLAG_NO_ROUNDING)) continue;
        InsnFacts facts;
        find_role(&f->insns[n], &facts);
        if (facts.role == ROLE_SUM && product) return true;
        product |= facts.role == ROLE_PRODUCT;
    }
    return false;
}

void lower_contract(LowerFunction *f)
{
    Contraction c = {.f = f, .text = f->insns};
    if (!has_candidates(f)) return;
    c.facts = ARENA_ARRAY(f->scratch, InsnFacts, f->insn_count);
    c.made = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    c.stamp = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    c.version = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    c.crosses = ARENA_ZEROS(f->scratch, bool, f->register_count);
    for (uint32_t n = 0; n < f->insn_count; n++) find_role(&f->insns[n], &c.facts[n]);
    find_crossing(&c);
    for (begin_regions(&c); next_region(&c);) {
        scan_region(&c);
        mark_other_uses(&c);
        contract_sums(&c);
    }
    if (!c.any) return;
    rewrite_function(&c);
    lower_dead(f); /* the products without a use */
}
