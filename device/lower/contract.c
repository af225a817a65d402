/* Products that go into sums: a mul and an add or sub that name no rounding become one fma, as a GPU's compiler
 * makes them; so results have a GPU's last bits.
 *
 * All that reads such a product is such sums in its block, each once, directly or through a change of sign.
 * Products that one sum reads go first, then the others; of two in a sum the one that is read less goes, or
 * the first. A sum that took one product reads the other: that one can go nowhere else. (ptxas 13.0 does so in
 * every one of a thousand generated programs; the manual, section "add", leaves it open.)
 */
#include "lower/ir.h"

#include <string.h>

/* Operations of a type. */
typedef struct Family {
    uint16_t mul, add, sub, neg, fma;
    uint16_t flush; /* changes nothing of a product of the family, or OP_COUNT */
    uint8_t class;
} Family;

static const Family families[] = {
    {OP_mul_f32, OP_add_f32, OP_sub_f32, OP_neg_f32, OP_fma_f32, OP_COUNT, CLASS_32},
    {OP_mul_ftz_f32, OP_add_ftz_f32, OP_sub_ftz_f32, OP_neg_f32, OP_fma_ftz_f32, OP_flush_f32, CLASS_32},
    {OP_mul_f64, OP_add_f64, OP_sub_f64, OP_neg_f64, OP_fma_f64, OP_COUNT, CLASS_64},
    {OP_mul_f16, OP_add_f16, OP_sub_f16, OP_neg_f16, OP_fma_f16, OP_COUNT, CLASS_16},
    {OP_mul_f16x2, OP_add_f16x2, OP_sub_f16x2, OP_neg_f16x2, OP_fma_f16x2, OP_COUNT, CLASS_32},
    {OP_mul_bf16, OP_add_bf16, OP_sub_bf16, OP_neg_bf16, OP_fma_bf16, OP_COUNT, CLASS_16},
    {OP_mul_bf16x2, OP_add_bf16x2, OP_sub_bf16x2, OP_neg_bf16x2, OP_fma_bf16x2, OP_COUNT, CLASS_32},
};

enum { ROLE_OTHER, ROLE_PRODUCT, ROLE_SUM, ROLE_SIGN };

enum { NONE = UINT32_MAX, TAKES_NOTHING = 2, LONGEST_CHAIN = 8 };

/* What is known of an instruction. */
typedef struct Node {
    const Family *family;
    uint8_t role;
    bool spoiled; /* a product or its sign is read by something else as well */
    uint8_t takes; /* of a sum: the operand whose product went into it */
    uint8_t stale[2]; /* of a sum, for each operand: sources of its product written since, bits 1 and 2 */
    uint32_t from[2]; /* of a sum and a sign: the product or sign that its operand is, or NONE */
    uint32_t readers; /* of a product and a sign: how many instructions */
    uint32_t sums; /* of a product: how many of them, through signs */
    uint32_t last_sum; /* of a product: the last one counted */
    uint32_t versions[2]; /* of a product: how often its sources had been written */
    Ref kept[2]; /* of a product: copies of its sources, or REF_ABSENT */
} Node;

typedef struct Contraction {
    LowerFunction *f;
    const LowerInsn *text; /* as it was given */
    Node *nodes; /* by instruction of it */
    uint32_t *made; /* by register: the instruction that wrote it last in this block */
    uint32_t *stamp; /* by register: block + 1 for which `made` holds */
    uint32_t *version; /* by register: writes so far */
    bool *crosses; /* by register: some block reads it before it writes it */
    uint32_t block, insn; /* being visited */
} Contraction;

static uint32_t number_of(Ref ref) { return ref & REF_OFFSET_MASK; }

static void find_role(const LowerInsn *i, Node *node)
{
    bool loose = i->flags & FLAG_NO_ROUNDING, always = i->guard == REF_ABSENT;
    *node = (Node){
        .takes = TAKES_NOTHING, .from = {NONE, NONE}, .last_sum = NONE, .kept = {REF_ABSENT, REF_ABSENT}};
    for (size_t k = 0; k < sizeof families / sizeof *families && loose; k++) {
        const Family *family = &families[k];
        if (i->op == family->mul && always) node->role = ROLE_PRODUCT;
        if (i->op == family->add || i->op == family->sub) node->role = ROLE_SUM;
        if (node->role == ROLE_OTHER) continue;
        node->family = family;
        return;
    }
}

/* A change of sign belongs to the family of what it reads. */
static void find_sign(const LowerInsn *i, const Node *source, Node *node)
{
    bool same = i->op == source->family->neg || i->op == source->family->flush;
    if (!same || i->guard != REF_ABSENT) return;
    node->role = ROLE_SIGN;
    node->family = source->family;
}

static void note_crossing(void *closure, Ref *ref, bool read, bool written)
{
    Contraction *c = closure;
    uint32_t r = number_of(*ref);
    if (read && c->stamp[r] != c->block + 1) c->crosses[r] = true;
    if (written) c->stamp[r] = c->block + 1;
}

static void find_crossing(Contraction *c)
{
    LowerFunction *f = c->f;
    for (c->block = 0; c->block < f->block_count; c->block++) {
        LowerInsn *insns = &f->insns[f->blocks[c->block].first];
        for (uint32_t n = 0; n < f->blocks[c->block].count; n++) lower_visit(f, &insns[n], note_crossing, c);
    }
    memset(c->stamp, 0, f->register_count * sizeof *c->stamp);
}

/* The product or sign that a register is here, or NONE. */
static uint32_t maker_of(const Contraction *c, Ref ref)
{
    uint32_t r = number_of(ref);
    if (!ref_is_register(ref) || c->stamp[r] != c->block + 1) return NONE;
    const Node *node = &c->nodes[c->made[r]];
    return node->role == ROLE_PRODUCT || node->role == ROLE_SIGN ? c->made[r] : NONE;
}

static void note_read(void *closure, Ref *ref, bool read, bool written)
{
    Contraction *c = closure;
    LowerInsn *i = &c->f->insns[c->insn];
    Node *node = &c->nodes[c->insn];
    (void)written;
    uint32_t maker = read ? maker_of(c, *ref) : NONE;
    if (maker == NONE) return;
    Node *source = &c->nodes[maker];
    source->readers++;
    if (node->role == ROLE_OTHER && ref == &i->a) find_sign(i, source, node);
    bool fits = node->family == source->family;
    if (fits && node->role == ROLE_SUM && (ref == &i->a || ref == &i->b))
        node->from[ref == &i->b] = maker;
    else if (fits && node->role == ROLE_SIGN && ref == &i->a)
        node->from[0] = maker;
    else
        source->spoiled = true;
}

static void note_write(void *closure, Ref *ref, bool read, bool written)
{
    Contraction *c = closure;
    uint32_t r = number_of(*ref);
    (void)read;
    if (!written) return;
    c->made[r] = c->insn;
    c->stamp[r] = c->block + 1;
    c->version[r]++;
}

static uint32_t version_of(const Contraction *c, Ref ref)
{
    return ref_is_register(ref) ? c->version[number_of(ref)] : 0;
}

/* The product behind changes of sign, or NONE; whether its own sign changes. */
static uint32_t product_of(const Contraction *c, uint32_t maker, bool *negative)
{
    *negative = false;
    for (int hops = 0; maker != NONE && hops < LONGEST_CHAIN; hops++) {
        const Node *node = &c->nodes[maker];
        if (node->role == ROLE_PRODUCT) return maker;
        *negative ^= c->text[maker].op == node->family->neg;
        maker = node->from[0];
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
        bool a = version_of(c, mul->a) != source->versions[0], b = version_of(c, mul->b) != source->versions[1];
        node->stale[k] = (uint8_t)(a | b << 1);
        if (source->last_sum == c->insn) source->spoiled = true; /* both operands */
        source->last_sum = c->insn;
        source->sums++;
    }
}

/* Who reads what in a block. */
static void scan(Contraction *c)
{
    LowerFunction *f = c->f;
    const LowerBlock *block = &f->blocks[c->block];
    for (c->insn = block->first; c->insn < block->first + block->count; c->insn++) {
        LowerInsn *i = &f->insns[c->insn];
        Node *node = &c->nodes[c->insn];
        lower_visit(f, i, note_read, c);
        if (node->role == ROLE_SUM) note_sum(c, node);
        node->versions[0] = version_of(c, i->a);
        node->versions[1] = version_of(c, i->b);
        lower_visit(f, i, note_write, c);
    }
}

/* Products whose value leaves the block, or is read by more than sums. */
static void spoil(Contraction *c)
{
    const LowerBlock *block = &c->f->blocks[c->block];
    for (uint32_t n = block->first + block->count; n-- > block->first;) {
        Node *node = &c->nodes[n];
        bool negative;
        if (node->role != ROLE_PRODUCT && node->role != ROLE_SIGN) continue;
        uint32_t r = number_of(c->text[n].d);
        if (c->made[r] == n && c->crosses[r]) node->spoiled = true;
        if (node->role != ROLE_SIGN || !node->spoiled) continue;
        uint32_t product = product_of(c, n, &negative);
        if (product != NONE) c->nodes[product].spoiled = true;
    }
}

static bool may_go(const Contraction *c, uint32_t product, bool single)
{
    return product != NONE && !c->nodes[product].spoiled && (!single || c->nodes[product].sums == 1);
}

static void take(Contraction *c, uint32_t sum, bool single)
{
    Node *node = &c->nodes[sum];
    bool negative;
    if (node->role != ROLE_SUM || node->takes != TAKES_NOTHING) return;
    uint32_t a = product_of(c, node->from[0], &negative), b = product_of(c, node->from[1], &negative);
    bool first = may_go(c, a, single), second = may_go(c, b, single);
    if (!first && !second) return;
    node->takes = second && (!first || c->nodes[b].readers < c->nodes[a].readers);
    uint32_t taken = node->takes ? b : a, other = node->takes ? a : b;
    if (other != NONE) c->nodes[other].spoiled = true;
    for (int k = 0; k < 2; k++)
        if (node->stale[node->takes] >> k & 1 && c->nodes[taken].kept[k] == REF_ABSENT)
            c->nodes[taken].kept[k] = lower_new_register(c->f, node->family->class);
}

static void decide(Contraction *c)
{
    const LowerBlock *block = &c->f->blocks[c->block];
    for (int single = 1; single >= 0; single--)
        for (uint32_t n = block->first; n < block->first + block->count; n++) take(c, n, single);
}

/* --- the new text --- */

static Ref negated(Contraction *c, const Family *family, Ref source, uint32_t line)
{
    Ref d = lower_new_register(c->f, family->class);
    LowerInsn *neg = lower_new_insn(c->f, family->neg, line);
    neg->flags = FLAG_PURE;
    neg->a = source;
    neg->d = d;
    return d;
}

static void keep_sources(Contraction *c, const LowerInsn *mul, const Node *node)
{
    static const uint16_t copies[] = {
        [CLASS_16] = OP_mov_b16, [CLASS_32] = OP_mov_b32, [CLASS_64] = OP_mov_b64};
    for (int k = 0; k < 2; k++) {
        if (node->kept[k] == REF_ABSENT) continue;
        LowerInsn *copy = lower_new_insn(c->f, copies[node->family->class], mul->line);
        copy->flags = FLAG_PURE | FLAG_COPY;
        copy->d = node->kept[k];
        copy->a = k ? mul->b : mul->a;
    }
}

static void write_fma(Contraction *c, const LowerInsn *sum, const Node *node)
{
    bool negative, minus = sum->op == node->family->sub;
    uint32_t product = product_of(c, node->from[node->takes], &negative);
    const Node *source = &c->nodes[product];
    const LowerInsn *mul = &c->text[product];
    LowerInsn fma = *sum;
    fma.op = node->family->fma;
    fma.a = node->stale[node->takes] & 1 ? source->kept[0] : mul->a;
    fma.b = node->stale[node->takes] & 2 ? source->kept[1] : mul->b;
    fma.c = node->takes ? sum->a : sum->b;
    if (negative != (minus && node->takes)) fma.a = negated(c, node->family, fma.a, sum->line);
    if (minus && !node->takes) fma.c = negated(c, node->family, fma.c, sum->line);
    *lower_new_insn(c->f, 0, 0) = fma;
}

static void rewrite(Contraction *c)
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
                *lower_new_insn(f, 0, 0) = c->text[n];
        }
        block->count = f->insn_count - block->first;
    }
}

static bool has_candidates(const LowerFunction *f)
{
    uint32_t n = 0;
    while (n < f->insn_count && !(f->insns[n].flags & FLAG_NO_ROUNDING)) n++;
    return n < f->insn_count;
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
    for (c.block = 0; c.block < f->block_count; c.block++) {
        scan(&c);
        spoil(&c);
        decide(&c);
    }
    rewrite(&c);
    lower_dead(f); /* the products that nobody reads any more */
}
