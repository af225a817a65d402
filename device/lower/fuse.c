/* Fused operations, put before the instructions that they run (exec/ops_fused.c).
 *
 * What a fused operation does not write, nobody else may read: the registers between its instructions have one
 * definition and one use. The instructions themselves stay, for when it cannot run.
 */
#include "exec/fused.h"
#include "lower/ir.h"

#include <string.h>

enum { RUN_LIMIT = 1024 };

typedef struct Fusion {
    LowerFunction *f;
    uint32_t *reads, *writes;  /* of each register */
    LowerInsn *out;
    uint32_t out_count, out_capacity;
} Fusion;

static void count_uses(void *closure, Ref *ref, bool read, bool written)
{
    Fusion *x = closure;
    x->reads[*ref & REF_OFFSET_MASK] += read;
    x->writes[*ref & REF_OFFSET_MASK] += written;
}

static bool used_once(const Fusion *x, Ref ref)
{
    uint32_t r = ref & REF_OFFSET_MASK;
    return ref_is_register(ref) && x->reads[r] == 1 && x->writes[r] == 1;
}

static LowerInsn *append(Fusion *x)
{
    x->out = lower_arena_grow(x->f->scratch, x->out, x->out_count, &x->out_capacity, sizeof *x->out);
    return &x->out[x->out_count++];
}

static bool is_shared_load(const LowerInsn *i)
{
    return i->op == OP_affine_ld_shared_b32_32 && i->guard == REF_ABSENT && i->imm % 4 == 0
           && i->imm >= INT16_MIN && i->imm <= INT16_MAX;
}

/* load, load, fma of the two. */
static bool is_product(const Fusion *x, const LowerInsn *i)
{
    const LowerInsn *fma = i + 2;
    if (!is_shared_load(i) || !is_shared_load(i + 1) || fma->op != OP_fma_f32 || fma->guard != REF_ABSENT)
        return false;
    bool of_these = (fma->a == i->d && fma->b == i[1].d) || (fma->a == i[1].d && fma->b == i->d);
    return of_these && used_once(x, i->d) && used_once(x, i[1].d);
}

/* Instruction i goes on with the sum of the product before it. */
static bool goes_on(const Fusion *x, const LowerInsn *i)
{
    const LowerInsn *before = i - 1, *fma = i + 2;
    return i->a == i[-3].a && i[1].a == i[-2].a && fma->c == before->d
           && (used_once(x, before->d) || before->d == fma->d);
}

static void widen(int16_t *least, int16_t *most, int64_t offset)
{
    if (offset < *least) *least = (int16_t)offset;
    if (offset > *most) *most = (int16_t)offset;
}

/* The sum of products that starts at i: how many, at most limit instructions. */
static uint32_t dot_length(const Fusion *x, const LowerInsn *i, uint32_t limit, FusedDot *offsets)
{
    uint32_t count = 0;
    *offsets = (FusedDot){(int16_t)i->imm, (int16_t)i->imm, (int16_t)i[1].imm, (int16_t)i[1].imm};
    while (limit >= 3 && count < RUN_LIMIT && is_product(x, i) && (!count || goes_on(x, i))) {
        widen(&offsets->first_least, &offsets->first_most, i->imm);
        widen(&offsets->second_least, &offsets->second_most, i[1].imm);
        i += 3;
        limit -= 3;
        count++;
    }
    return count;
}

static void put_before(Fusion *x, uint16_t op, uint32_t line, uint32_t count, int64_t imm)
{
    *append(x) = (LowerInsn){.op = op,
                             .mods = (uint16_t)count,
                             .line = line,
                             .imm = imm,
                             .d = REF_ABSENT,
                             .a = REF_ABSENT,
                             .b = REF_ABSENT,
                             .c = REF_ABSENT,
                             .e = REF_ABSENT,
                             .guard = REF_ABSENT};
}

/* Copies what starts at i, fused where that can be; the number of instructions copied. */
static uint32_t fuse_at(Fusion *x, const LowerInsn *i, uint32_t left)
{
    FusedDot offsets;
    uint32_t count = left >= 3 && is_shared_load(i) ? dot_length(x, i, left, &offsets) : 0;
    uint32_t copied = count ? 3 * count : 1;
    if (count) put_before(x, OP_fused_dot_shared_f32, i->line, count, fused_dot_pack(offsets));
    for (uint32_t n = 0; n < copied; n++) *append(x) = i[n];
    return copied;
}

void lower_fuse(LowerFunction *f)
{
    Fusion x = {.f = f};
    x.reads = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    x.writes = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    for (uint32_t n = 0; n < f->insn_count; n++) lower_visit(f, &f->insns[n], count_uses, &x);
    for (uint32_t b = 0; b < f->block_count; b++) {
        LowerBlock *block = &f->blocks[b];
        uint32_t first = x.out_count, n = 0;
        while (n < block->count) n += fuse_at(&x, &f->insns[block->first + n], block->count - n);
        block->first = first;
        block->count = x.out_count - first;
    }
    f->insns = x.out;
    f->insn_count = x.out_count;
    f->insn_capacity = x.out_capacity;
}
