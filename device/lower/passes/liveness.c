/* Live ranges: for each virtual register the range of instructions, in layout order, in which some lane
 * may still need its value.
 *
 * Lanes keep their own values in a row, and each takes its own path through the control flow graph. So the
 * liveness for one lane, which is that of the graph, is enough however the lanes of a warp diverge.
 * Only registers that cross blocks take part in the dataflow; a range is the hull of all places where the
 * register is live.
 */
#include "lower/ir.h"

#include <string.h>

typedef struct Liveness {
    LowerFunction *f;
    uint32_t *index;        /* number among the crossing registers, or LOCAL */
    uint32_t *crossing;     /* the registers with these indices */
    uint32_t crossing_count, words;
    uint64_t *in, *used, *defined;  /* sets of crossing registers, `words` words for each block */
    uint32_t *seen;         /* by register: the block that wrote it last, + 1 */
    uint32_t block, insn;   /* being visited */
} Liveness;
#define LOCAL UINT32_MAX

/* Extends a range, which may be empty (UINT32_MAX), to an instruction. */
static void widen_range(LiveRange *range, uint32_t at)
{
    if (at < range->first) range->first = at;
    if (range->last == UINT32_MAX || at > range->last) range->last = at;
}

/* Extends the register's range to the use. A register read in a block before it is written there crosses
 * blocks. */
static void find_uses(void *closure, Ref *ref, bool read, bool written)
{
    Liveness *l = closure;
    uint32_t r = ref_number(*ref);
    widen_range(&l->f->ranges[r], l->insn);
    if (read && l->seen[r] != l->block + 1 && l->index[r] == LOCAL) {
        l->crossing[l->crossing_count] = r;
        l->index[r] = l->crossing_count++;
    }
    if (written) l->seen[r] = l->block + 1;
}

/* Adds the register to what its block uses before it defines it, or to what it defines. */
static void collect_sets(void *closure, Ref *ref, bool read, bool written)
{
    Liveness *l = closure;
    uint32_t x = l->index[ref_number(*ref)];
    if (x == LOCAL) return;
    size_t word = (size_t)l->block * l->words + x / 64;
    uint64_t bit = UINT64_C(1) << (x % 64);
    if (read && !(l->defined[word] & bit)) l->used[word] |= bit;
    if (written) l->defined[word] |= bit;
}

static void visit_blocks(Liveness *l, RegisterVisitor visitor)
{
    LowerFunction *f = l->f;
    for (l->block = 0; l->block < f->block_count; l->block++) {
        LowerBlock *block = &f->blocks[l->block];
        for (l->insn = block->first; l->insn < block->first + block->count; l->insn++)
            lower_visit(f, &f->insns[l->insn], visitor, l);
    }
}

/* Adds to the block's set `in` what its successors need and it does not define; true if that grew. */
static bool flow_block(Liveness *l, uint32_t block)
{
    const LowerFunction *f = l->f;
    uint64_t *in = l->in + (size_t)block * l->words;
    const uint64_t *defined = l->defined + (size_t)block * l->words;
    uint64_t grew = 0;
    for (uint32_t n = f->start[block]; n < f->start[block + 1]; n++) {
        const uint64_t *out = l->in + (size_t)f->next[n] * l->words;
        for (uint32_t w = 0; w < l->words; w++) {
            uint64_t more = out[w] & ~defined[w] & ~in[w];
            in[w] |= more;
            grew |= more;
        }
    }
    return grew != 0;
}

static void find_live_sets(Liveness *l)
{
    size_t words = (size_t)l->words * l->f->block_count;
    if (words) memcpy(l->in, l->used, words * sizeof(uint64_t));
    bool grew = true;
    while (grew) {
        grew = false;
        for (uint32_t b = l->f->block_count; b-- > 0;) grew |= flow_block(l, b);
    }
}

/* Extends the ranges of all registers in a set to an instruction. */
static void widen_set(Liveness *l, const uint64_t *set, uint32_t at)
{
    for (uint32_t w = 0; w < l->words; w++)
        for (uint64_t bits = set[w]; bits; bits &= bits - 1)
            widen_range(&l->f->ranges[l->crossing[w * 64 + (uint32_t)__builtin_ctzll(bits)]], at);
}

/* Registers live into a block are live at its first instruction, and at the last one of its predecessors. */
static void widen_blocks(Liveness *l)
{
    const LowerFunction *f = l->f;
    for (uint32_t b = 0; b < f->block_count; b++) {
        const LowerBlock *block = &f->blocks[b];
        widen_set(l, l->in + (size_t)b * l->words, block->first);
        uint32_t end = block->count ? block->first + block->count - 1 : block->first;
        for (uint32_t n = f->start[b]; n < f->start[b + 1]; n++)
            widen_set(l, l->in + (size_t)f->next[n] * l->words, end);
    }
}

void lower_liveness(LowerFunction *f)
{
    Liveness l = {.f = f};
    uint32_t count = f->register_count;
    f->ranges = ARENA_ARRAY(f->scratch, LiveRange, count);
    l.index = ARENA_ARRAY(f->scratch, uint32_t, count);
    l.crossing = ARENA_ARRAY(f->scratch, uint32_t, count);
    l.seen = ARENA_ZEROS(f->scratch, uint32_t, count);
    for (uint32_t r = 0; r < count; r++) {
        f->ranges[r] = (LiveRange){UINT32_MAX, UINT32_MAX};
        l.index[r] = LOCAL;
    }
    visit_blocks(&l, find_uses);
    if (!l.crossing_count) return;
    l.words = (l.crossing_count + 63) / 64;
    size_t words = (size_t)l.words * f->block_count;
    l.in = ARENA_ZEROS(f->scratch, uint64_t, words);
    l.used = ARENA_ZEROS(f->scratch, uint64_t, words);
    l.defined = ARENA_ZEROS(f->scratch, uint64_t, words);
    visit_blocks(&l, collect_sets);
    find_live_sets(&l);
    widen_blocks(&l);
}
