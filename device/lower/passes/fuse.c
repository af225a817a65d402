/* Fused operations, put before the instructions that they run (exec/ops/fused.c).
 *
 * What a fused operation does not write, no other instruction may read: the registers between its
 * instructions have one definition and one use. The instructions themselves stay, for when it cannot run.
 */
#include "exec/code/fused.h"
#include "lower/ir.h"

#include <string.h>

enum { RUN_LIMIT = 1024 }; /* products that one fused operation makes */

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

/* Whether three instructions are two loads and an fma that multiplies their values. */
static bool is_product(const Fusion *fusion, const LowerInsn *i)
{
    const LowerInsn *fma = i + 2;
    if (!is_shared_load(i) || !is_shared_load(i + 1) || fma->op != OP_fma_f32 || fma->guard != REF_ABSENT)
        return false;
    bool of_these = (fma->a == i->d && fma->b == i[1].d) || (fma->a == i[1].d && fma->b == i->d);
    return of_these && used_once(fusion, i->d) && used_once(fusion, i[1].d);
}

/* Instruction i goes on with the sum of the product before it. */
static bool goes_on(const Fusion *fusion, const LowerInsn *i)
{
    const LowerInsn *before = i - 1, *fma = i + 2;
    return i->a == i[-3].a && i[1].a == i[-2].a && fma->c == before->d
           && (used_once(fusion, before->d) || before->d == fma->d);
}

static void widen_bounds(int16_t *min, int16_t *max, int64_t offset)
{
    if (offset < *min) *min = (int16_t)offset;
    if (offset > *max) *max = (int16_t)offset;
}

/* The sum of products that starts at i: how many, at most limit instructions. */
static uint32_t dot_length(const Fusion *fusion, const LowerInsn *i, uint32_t limit, FusedDot *offsets)
{
    uint32_t count = 0;
    *offsets = (FusedDot){(int16_t)i->imm, (int16_t)i->imm, (int16_t)i[1].imm, (int16_t)i[1].imm};
    while (limit >= 3 && count < RUN_LIMIT && is_product(fusion, i) && (!count || goes_on(fusion, i))) {
        widen_bounds(&offsets->first_min, &offsets->first_max, i->imm);
        widen_bounds(&offsets->second_min, &offsets->second_max, i[1].imm);
        i += 3;
        limit -= 3;
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

/* Copies what starts at i, fused where that can be; the number of instructions copied. */
static uint32_t fuse_at(Fusion *fusion, const LowerInsn *i, uint32_t left)
{
    FusedDot offsets = {0};
    uint32_t products = left >= 3 && is_shared_load(i) ? dot_length(fusion, i, left, &offsets) : 0,
             copied = 1;
    if (products) {
        fuse_dot(fusion, i, products, offsets);
        copied = 3 * products;
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
