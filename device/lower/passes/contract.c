/* FMA contraction within a basic block: a mul and an add or sub that name no rounding become one fma, as
 * ptxas makes them, so that results have a GPU's last bits.
 *
 * A product is contracted when all its uses are sums in its block that use it once each, directly or
 * through a negation. Products that only one sum uses go first, then the others; of the two products of a
 * sum the one with fewer uses is contracted, or the first. A sum that took one product reads the other,
 * which is then a use that is not a contraction. (ptxas 13.0 does so in every one of a thousand generated
 * programs; the manual, section "add", leaves it open.)
 */
#include "lower/ir.h"

/* A product, and its fma. */
typedef struct Product {
    uint16_t op, fma;
} Product;

/* The operations of one floating-point type. Approximate quotients are products by a reciprocal. */
typedef struct FloatOps {
    Product products[3];
    uint16_t add, sub, neg;
    uint16_t flush; /* .ftz, which does not change this product; or OP_COUNT */
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

enum { ROLE_OTHER, ROLE_PRODUCT, ROLE_SUM, ROLE_SIGN };

enum { TAKES_NOTHING = 2, MAX_CHAIN = 8 };
#define NONE UINT32_MAX

/* What is known of an instruction. */
typedef struct Node {
    const FloatOps *ops;
    uint8_t role;
    bool has_other_uses; /* a product or its negation has another use */
    uint8_t takes; /* of a sum: the operand whose product went into it */
    uint8_t stale[2]; /* of a sum, for each operand: sources of its product written since, bits 1 and 2 */
    uint32_t from[2]; /* of a sum and a sign: the product or sign that its operand is, or NONE */
    uint32_t readers; /* of a product and a negation: uses */
    uint32_t sums; /* of a product: sums among its uses, also through negations */
    uint32_t last_sum; /* of a product: the last one counted */
    uint32_t versions[2]; /* of a product: how often its sources had been written */
    Ref kept[2]; /* of a product: copies of its sources, or REF_ABSENT */
} Node;

typedef struct Contraction {
    LowerFunction *f;
    const LowerInsn *text; /* as it was given */
    Node *nodes; /* by instruction of it */
    uint32_t *made; /* by register: the instruction that wrote it last in this region */
    uint32_t *stamp; /* by register: number of the region for which `made` holds */
    uint32_t *version; /* by register: writes so far */
    bool *crosses; /* by register: some region reads it before it writes it */
    uint32_t first, end, number; /* of this region */
    uint32_t block, insn; /* being visited */
    bool any; /* product was taken */
} Contraction;

/* Goes on to the next region: a basic block of the GPU's compiler, which is a block here, or the part of one
 * between instructions that are several blocks there (cuts.c). */
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

static void begin(Contraction *c) { c->end = c->block = 0; }

/* OP_COUNT: no product of this type. */
static uint16_t fma_of(const FloatOps *ops, uint16_t op)
{
    for (int k = 0; k < 3; k++)
        if (ops->products[k].op == op && ops->products[k].fma) return ops->products[k].fma;
    return OP_COUNT;
}

static void find_role(const LowerInsn *i, Node *node)
{
    bool loose = i->flags & FLAG_NO_ROUNDING, always = i->guard == REF_ABSENT;
    *node = (Node){
        .takes = TAKES_NOTHING, .from = {NONE, NONE}, .last_sum = NONE, .kept = {REF_ABSENT, REF_ABSENT}};
    for (size_t k = 0; k < sizeof float_ops / sizeof *float_ops && loose; k++) {
        const FloatOps *ops = &float_ops[k];
        if (always && fma_of(ops, i->op) != OP_COUNT) node->role = ROLE_PRODUCT;
        if (i->op == ops->add || i->op == ops->sub) node->role = ROLE_SUM;
        if (node->role == ROLE_OTHER) continue;
        node->ops = ops;
        return;
    }
}

/* A negation is of the type of what it reads. */
static void find_sign(const LowerInsn *i, const Node *source, Node *node)
{
    bool same = i->op == source->ops->neg || i->op == source->ops->flush;
    if (!same || i->guard != REF_ABSENT) return;
    node->role = ROLE_SIGN;
    node->ops = source->ops;
}

static void note_crossing(void *closure, Ref *ref, bool read, bool written)
{
    Contraction *c = closure;
    uint32_t r = ref_number(*ref);
    if (read && c->stamp[r] != c->number) c->crosses[r] = true;
    if (written) c->stamp[r] = c->number;
}

static void find_crossing(Contraction *c)
{
    for (begin(c); next_region(c);)
        for (uint32_t n = c->first; n < c->end; n++) lower_visit(c->f, &c->f->insns[n], note_crossing, c);
}

/* The product or negation that defines a register here, or NONE. */
static uint32_t definition_of(const Contraction *c, Ref ref)
{
    uint32_t r = ref_number(ref);
    if (!ref_is_register(ref) || c->stamp[r] != c->number) return NONE;
    const Node *node = &c->nodes[c->made[r]];
    return node->role == ROLE_PRODUCT || node->role == ROLE_SIGN ? c->made[r] : NONE;
}

static void note_use(void *closure, Ref *ref, bool read, bool written)
{
    Contraction *c = closure;
    LowerInsn *i = &c->f->insns[c->insn];
    Node *node = &c->nodes[c->insn];
    (void)written;
    uint32_t definition = read ? definition_of(c, *ref) : NONE;
    if (definition == NONE) return;
    Node *source = &c->nodes[definition];
    source->readers++;
    if (node->role == ROLE_OTHER && ref == &i->a) find_sign(i, source, node);
    bool fits = node->ops == source->ops;
    if (fits && node->role == ROLE_SUM && (ref == &i->a || ref == &i->b))
        node->from[ref == &i->b] = definition;
    else if (fits && node->role == ROLE_SIGN && ref == &i->a)
        node->from[0] = definition;
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

/* The product below negations, or NONE; whether it is negated. */
static uint32_t product_of(const Contraction *c, uint32_t definition, bool *negative)
{
    *negative = false;
    for (int hops = 0; definition != NONE && hops < MAX_CHAIN; hops++) {
        const Node *node = &c->nodes[definition];
        if (node->role == ROLE_PRODUCT) return definition;
        *negative ^= c->text[definition].op == node->ops->neg;
        definition = node->from[0];
    }
    return NONE;
}

static void note_sum(Contraction *c, Node *node)
{
    for (int k = 0; k < 2; k++) {
        bool negative;
        uint32_t product = product_of(c, node->from[k], &negative);
        if (product == NONE) continue;
        const LowerInsn *mul = &c->text[product];
        Node *source = &c->nodes[product];
        bool a_changed = version_of(c, mul->a) != source->versions[0],
             b_changed = version_of(c, mul->b) != source->versions[1];
        node->stale[k] = (uint8_t)(a_changed | b_changed << 1);
        if (source->last_sum == c->insn) source->has_other_uses = true; /* both operands */
        source->last_sum = c->insn;
        source->sums++;
    }
}

/* Uses in a region. */
static void scan_region(Contraction *c)
{
    LowerFunction *f = c->f;
    for (c->insn = c->first; c->insn < c->end; c->insn++) {
        LowerInsn *i = &f->insns[c->insn];
        Node *node = &c->nodes[c->insn];
        lower_visit(f, i, note_use, c);
        if (node->role == ROLE_SUM) note_sum(c, node);
        node->versions[0] = version_of(c, i->a);
        node->versions[1] = version_of(c, i->b);
        lower_visit(f, i, note_write, c);
    }
}

/* Marks products that are live out of the region, and those under a negation with other uses than sums. */
static void mark_other_uses(Contraction *c)
{
    for (uint32_t n = c->end; n-- > c->first;) {
        Node *node = &c->nodes[n];
        bool negative;
        if (node->role != ROLE_PRODUCT && node->role != ROLE_SIGN) continue;
        uint32_t r = ref_number(c->text[n].d);
        if (c->made[r] == n && c->crosses[r]) node->has_other_uses = true;
        if (node->role != ROLE_SIGN || !node->has_other_uses) continue;
        uint32_t product = product_of(c, n, &negative);
        if (product != NONE) c->nodes[product].has_other_uses = true;
    }
}

static bool may_go(const Contraction *c, uint32_t product, bool single)
{
    return product != NONE && !c->nodes[product].has_other_uses && (!single || c->nodes[product].sums == 1);
}

static void contract_sum(Contraction *c, uint32_t sum, bool single)
{
    Node *node = &c->nodes[sum];
    bool negative;
    if (node->role != ROLE_SUM || node->takes != TAKES_NOTHING) return;
    uint32_t a = product_of(c, node->from[0], &negative), b = product_of(c, node->from[1], &negative);
    bool first = may_go(c, a, single), second = may_go(c, b, single);
    if (!first && !second) return;
    node->takes = second && (!first || c->nodes[b].readers < c->nodes[a].readers);
    uint32_t taken = node->takes ? b : a, other = node->takes ? a : b;
    c->any = true;
    if (other != NONE) c->nodes[other].has_other_uses = true;
    for (int k = 0; k < 2; k++)
        if (node->stale[node->takes] >> k & 1 && c->nodes[taken].kept[k] == REF_ABSENT)
            c->nodes[taken].kept[k] = lower_new_register(c->f, node->ops->class);
}

static void contract_sums(Contraction *c)
{
    for (int single = 1; single >= 0; single--)
        for (uint32_t n = c->first; n < c->end; n++) contract_sum(c, n, single);
}

/* --- the new text --- */

static Ref negated_operand(Contraction *c, const FloatOps *ops, Ref source, uint32_t line)
{
    Ref d = lower_new_register(c->f, ops->class);
    LowerInsn *neg = lower_new_insn(c->f, ops->neg, line);
    neg->flags = FLAG_PURE;
    neg->a = source;
    neg->d = d;
    return d;
}

/* Before a product: copies those of its sources that have a register in `kept`, as they are overwritten
 * before the fma, which comes at the sum, reads them. */
static void keep_sources(Contraction *c, const LowerInsn *mul, const Node *node)
{
    static const uint16_t copies[] = {
        [CLASS_16] = OP_mov_b16, [CLASS_32] = OP_mov_b32, [CLASS_64] = OP_mov_b64};
    for (int k = 0; k < 2; k++) {
        if (node->kept[k] == REF_ABSENT) continue;
        LowerInsn *copy = lower_new_insn(c->f, copies[node->ops->class], mul->line);
        copy->flags = FLAG_PURE | FLAG_COPY;
        copy->d = node->kept[k];
        copy->a = k ? mul->b : mul->a;
    }
}

/* Writes the fma for a sum and the product that it takes. An operand of the product that was overwritten
 * since (stale) is read from its copy (kept). */
static void write_fma(Contraction *c, const LowerInsn *sum, const Node *node)
{
    bool negative, minus = sum->op == node->ops->sub;
    uint32_t product = product_of(c, node->from[node->takes], &negative);
    const Node *source = &c->nodes[product];
    const LowerInsn *mul = &c->text[product];
    LowerInsn fma = *sum;
    fma.op = fma_of(node->ops, mul->op);
    fma.a = node->stale[node->takes] & 1 ? source->kept[0] : mul->a;
    fma.b = node->stale[node->takes] & 2 ? source->kept[1] : mul->b;
    fma.c = node->takes ? sum->a : sum->b;
    if (negative != (minus && node->takes)) fma.a = negated_operand(c, node->ops, fma.a, sum->line);
    if (minus && !node->takes) fma.c = negated_operand(c, node->ops, fma.c, sum->line);
    *lower_add_insn(c->f) = fma;
}

static void rewrite_function(Contraction *c)
{
    LowerFunction *f = c->f;
    lower_reserve(f, f->insn_count + f->insn_count / 2 + 1);
    for (uint32_t b = 0; b < f->block_count; b++) {
        LowerBlock *block = &f->blocks[b], old = *block;
        block->first = f->insn_count;
        for (uint32_t n = old.first; n < old.first + old.count; n++) {
            const Node *node = &c->nodes[n];
            if (node->role == ROLE_PRODUCT) keep_sources(c, &c->text[n], node);
            if (node->role == ROLE_SUM && node->takes != TAKES_NOTHING)
                write_fma(c, &c->text[n], node);
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
        Node node;
        find_role(&f->insns[n], &node);
        if (node.role == ROLE_SUM && product) return true;
        product |= node.role == ROLE_PRODUCT;
    }
    return false;
}

void lower_contract(LowerFunction *f)
{
    Contraction c = {.f = f, .text = f->insns};
    if (!has_candidates(f)) return;
    c.nodes = ARENA_ARRAY(f->scratch, Node, f->insn_count);
    c.made = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    c.stamp = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    c.version = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    c.crosses = ARENA_ZEROS(f->scratch, bool, f->register_count);
    for (uint32_t n = 0; n < f->insn_count; n++) find_role(&f->insns[n], &c.nodes[n]);
    find_crossing(&c);
    for (begin(&c); next_region(&c);) {
        scan_region(&c);
        mark_other_uses(&c);
        contract_sums(&c);
    }
    if (!c.any) return;
    rewrite_function(&c);
    lower_dead(f); /* the products without a use */
}
