/* Fused operations, put before the instructions that they run (exec/ops/fused.c).
 *
 * A fused operation writes its result only, so the registers between its instructions must have one
 * definition and one use. The instructions follow it: warps run them where the fused operation does not
 * apply.
 */
#include "exec/code/fused.h"
#include "lower/ir.h"

#include <string.h>

enum {
    MAX_PRODUCTS = 1024, /* of one fused operation */
    PRODUCT_INSNS = 3    /* two loads and an fma */
};

typedef struct Fusion {
    LowerFunction *f;
    uint32_t *reads, *writes;  /* of each register */
} Fusion;

static void count_uses(void *closure, Ref *ref, bool read, bool written)
{
    Fusion *fusion = closure;
    fusion->reads[ref_number(*ref)] += read;
    fusion->writes[ref_number(*ref)] += written;
}

static bool used_once(const Fusion *fusion, Ref ref)
{
    uint32_t r = ref_number(ref);
    return ref_is_register(ref) && fusion->reads[r] == 1 && fusion->writes[r] == 1;
}

static bool is_shared_load(const LowerInsn *i)
{
    return i->op == OP_affine_ld_shared_b32_32 && i->guard == REF_ABSENT && i->imm % 4 == 0
           && i->imm >= INT16_MIN && i->imm <= INT16_MAX;
}

/* Whether the three instructions at i are two loads, and an fma that
 * multiplies their values and is their only use. */
static bool is_product(const Fusion *fusion, const LowerInsn *i)
{
    const LowerInsn *fma = i + 2;
    if (!is_shared_load(i) || !is_shared_load(i + 1) || fma->op != OP_fma_f32 || fma->guard != REF_ABSENT)
        return false;
    bool multiplies_both = (fma->a == i->d && fma->b == i[1].d) || (fma->a == i[1].d && fma->b == i->d);
    return multiplies_both && used_once(fusion, i->d) && used_once(fusion, i[1].d);
}

/* Whether the product at i is added to the sum of the product before it, with the same base addresses. */
static bool continues_sum(const Fusion *fusion, const LowerInsn *i)
{
    const LowerInsn *before = i - 1, *fma = i + 2;
    return i->a == i[-PRODUCT_INSNS].a && i[1].a == i[1 - PRODUCT_INSNS].a && fma->c == before->d
           && (used_once(fusion, before->d) || before->d == fma->d);
}

static void widen_bounds(int16_t *min, int16_t *max, int64_t offset)
{
    if (offset < *min) *min = (int16_t)offset;
    if (offset > *max) *max = (int16_t)offset;
}

/* How many products the sum has that starts at i, within the next `limit` instructions.
 * *offsets: the ranges of their addresses. */
static uint32_t dot_length(const Fusion *fusion, const LowerInsn *i, uint32_t limit, FusedDot *offsets)
{
    uint32_t count = 0;
    *offsets = (FusedDot){(int16_t)i->imm, (int16_t)i->imm, (int16_t)i[1].imm, (int16_t)i[1].imm};
    while (limit >= PRODUCT_INSNS && count < MAX_PRODUCTS && is_product(fusion, i)
           && (!count || continues_sum(fusion, i))) {
        widen_bounds(&offsets->first_min, &offsets->first_max, i->imm);
        widen_bounds(&offsets->second_min, &offsets->second_max, i[1].imm);
        i += PRODUCT_INSNS;
        limit -= PRODUCT_INSNS;
        count++;
    }
    return count;
}

static void fuse_dot(Fusion *fusion, const LowerInsn *i, uint32_t count, FusedDot offsets)
{
    LowerInsn *fused = lower_new_insn(fusion->f, OP_fused_dot_shared_f32, i->line);
    fused->mods = (uint16_t)count;
    fused->imm = fused_dot_pack(offsets);
}

/* Copies the instruction at i or, after a fused operation for it, the sum of products that starts there.
 * `left`: how many instructions the block has from i on. Returns how many were copied. */
static uint32_t fuse_at(Fusion *fusion, const LowerInsn *i, uint32_t left)
{
    FusedDot offsets = {0};
    uint32_t products = 0, copied = 1;
    if (left >= PRODUCT_INSNS && is_shared_load(i)) products = dot_length(fusion, i, left, &offsets);
    if (products) {
        fuse_dot(fusion, i, products, offsets);
        copied = PRODUCT_INSNS * products;
    }
    for (uint32_t n = 0; n < copied; n++) *lower_add_insn(fusion->f) = i[n];
    return copied;
}

static bool has_candidates(const LowerFunction *f)
{
    uint32_t n = 0;
    while (n < f->insn_count && !is_shared_load(&f->insns[n])) n++;
    return n < f->insn_count;
}

void lower_fuse(LowerFunction *f)
{
    Fusion x = {.f = f};
    if (!has_candidates(f)) return;
    x.reads = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    x.writes = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    for (uint32_t n = 0; n < f->insn_count; n++) lower_visit(f, &f->insns[n], count_uses, &x);
    const LowerInsn *text = f->insns;
    lower_reserve(f, f->insn_count + f->insn_count / 3 + 1);
    for (uint32_t b = 0; b < f->block_count; b++) {
        LowerBlock *block = &f->blocks[b], old = *block;
        block->first = f->insn_count;
        for (uint32_t n = 0; n < old.count;) n += fuse_at(&x, &text[old.first + n], old.count - n);
        block->count = f->insn_count - block->first;
    }
}
