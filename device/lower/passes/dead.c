/* Dead code elimination: instructions, old values of atomic operations and elements of vector loads without a
 * use.
 *
 * A value has a use if an instruction that is not dead itself may read it: liveness is propagated backwards,
 * over branches and around loops, and an instruction without a live result makes nothing live. Lanes keep
 * their own values in a row, so the liveness for one lane is enough.
 */
#include <string.h>

#include "lower/ir.h"

typedef struct LiveSets {
    LowerFunction *f;
    const LowerInsn *insn; /* being visited */
    uint32_t *index; /* by register: its bit in a set; crossing registers come first */
    uint32_t crossing; /* how many there are */
    uint32_t words; /* of a set of crossing registers */
    uint64_t *live_in; /* such a set for each block: registers live at its start */
    uint64_t *live; /* after the instruction being visited */
    uint32_t *seen; /* by register: the block that wrote it last, + 1 */
    uint32_t time; /* visits of blocks so far */
    uint32_t *visited; /* by block: time of the last visit; 0: none */
    uint32_t *live_in_grown; /* by block: time when its set live_in grew */
    uint32_t block;
    bool has_live_result;
} LiveSets;
#define LOCAL UINT32_MAX

/* --- sets --------------------------------------------------------------------------------------------- */

/* A register read in a block before it was written there crosses blocks. */
static void find_crossing(void *closure, Ref *ref, bool read, bool written)
{
    LiveSets *n = closure;
    uint32_t r = ref_number(*ref);
    if (read && n->seen[r] != n->block + 1 && n->index[r] == LOCAL) n->index[r] = n->crossing++;
    if (written) n->seen[r] = n->block + 1;
}

/* Numbers the registers, those that cross blocks first, and makes empty sets. */
static void make_sets(LiveSets *n)
{
    LowerFunction *f = n->f;
    uint32_t count = f->register_count;
    n->index = ARENA_ARRAY(f->scratch, uint32_t, count);
    n->seen = ARENA_ZEROS(f->scratch, uint32_t, count);
    for (uint32_t r = 0; r < count; r++) n->index[r] = LOCAL;
    for (n->block = 0; n->block < f->block_count; n->block++) {
        const LowerBlock *block = &f->blocks[n->block];
        for (uint32_t k = 0; k < block->count; k++)
            lower_visit(f, &f->insns[block->first + k], find_crossing, n);
    }
    uint32_t next = n->crossing;
    for (uint32_t r = 0; r < count; r++)
        if (n->index[r] == LOCAL) n->index[r] = next++;
    n->words = (n->crossing + 63) / 64;
    n->live_in = ARENA_ZEROS(f->scratch, uint64_t, (size_t)n->words * f->block_count);
    n->live = ARENA_ZEROS(f->scratch, uint64_t, (size_t)count / 64 + 1);
}

/* Whether a register is in the set `live`. */
static bool is_live(const LiveSets *n, Ref ref)
{
    uint32_t x = n->index[ref_number(ref)];
    return n->live[x / 64] >> (x % 64) & 1;
}

/* --- one instruction ---------------------------------------------------------------------------------- */

static void find_live_result(void *closure, Ref *ref, bool read, bool written)
{
    LiveSets *n = closure;
    (void)read;
    if (written && is_live(n, *ref)) n->has_live_result = true;
}

/* A guarded result (read and written) keeps its value where the guard is false: it is live before if it is
 * live after. */
static void kill_results(void *closure, Ref *ref, bool read, bool written)
{
    LiveSets *n = closure;
    uint32_t x = n->index[ref_number(*ref)];
    if (written && !read) n->live[x / 64] &= ~(UINT64_C(1) << (x % 64));
}

/* Adds a register that the instruction reads. A destination that counts as read because of
 * the guard is not a use: see kill_results(). */
static void add_uses(void *closure, Ref *ref, bool read, bool written)
{
    LiveSets *n = closure;
    uint32_t x = n->index[ref_number(*ref)];
    bool reads = read && (!written || (ref == &n->insn->d && n->insn->flags & FLAG_D_READ));
    if (reads) n->live[x / 64] |= UINT64_C(1) << (x % 64);
}

static bool is_dead(LiveSets *n, LowerInsn *i)
{
    /* ptxas expands such instructions to several blocks before it removes dead code, so they stay. */
    if (!(i->flags & FLAG_PURE) || i->flags & FLAG_CUTS) return false;
    if (i->flags & FLAG_COPY && i->a == i->d) return true;
    n->has_live_result = false;
    lower_visit(n->f, i, find_live_result, n);
    return !n->has_live_result;
}

/* Turns the set of registers live after the instruction into the set live before it. False, with the set
 * unchanged, if the instruction is dead. */
static bool transfer(LiveSets *n, LowerInsn *i)
{
    if (is_dead(n, i)) return false;
    n->insn = i;
    lower_visit(n->f, i, kill_results, n);
    lower_visit(n->f, i, add_uses, n);
    return true;
}

/* An atomic operation whose old value has no use needs no destination: it becomes a reduction. */
static void drop_old_value(const LiveSets *n, LowerInsn *i)
{
    bool atomic = i->op >= OP_atom_add_u32 && i->op <= OP_atom_cas_b128;
    if (atomic && ref_is_register(i->d) && !is_live(n, i->d)) i->d = REF_ABSENT;
}

static bool is_vector_load(uint16_t op) { return strncmp(exec_op_names[op], "ldv_", strlen("ldv_")) == 0; }

/* Drops elements of vector loads that have no use. Strong loads read all elements. */
static void drop_elements(const LiveSets *n, const LowerInsn *i)
{
    if (!i->more_written || !is_vector_load(i->op) || i->mods & MEM_STRONG) return;
    for (uint32_t e = 0; e < i->more_written; e++) {
        Ref *ref = &n->f->refs[i->more + e];
        if (ref_is_register(*ref) && !is_live(n, *ref)) *ref = REF_ABSENT;
    }
}

/* --- blocks ------------------------------------------------------------------------------------------- */

/* Sets `live` to the registers live at the end of a block: those live at the start of a successor, all
 * crossing. */
static void begin_with_live_out(LiveSets *n, uint32_t block)
{
    const LowerFunction *f = n->f;
    if (n->words) memset(n->live, 0, n->words * sizeof *n->live);
    for (uint32_t e = f->start[block]; e < f->start[block + 1]; e++)
        for (uint32_t w = 0; w < n->words; w++) n->live[w] |= n->live_in[(size_t)f->next[e] * n->words + w];
}

/* Adds the crossing registers in `live` to the block's set live_in; true if that grew. */
static bool merge_live_in(LiveSets *n, uint32_t block)
{
    uint64_t *in = n->live_in + (size_t)block * n->words, grew = 0;
    for (uint32_t w = 0; w < n->words; w++) {
        uint32_t left = n->crossing - w * 64;
        uint64_t live = n->live[w] & (left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX);
        grew |= live & ~in[w];
        in[w] |= live;
    }
    return grew != 0;
}

/* Whether the set live_in of a successor grew after the block was last visited. */
static bool is_stale(const LiveSets *n, uint32_t block)
{
    const LowerFunction *f = n->f;
    if (!n->visited[block]) return true;
    for (uint32_t e = f->start[block]; e < f->start[block + 1]; e++)
        if (n->live_in_grown[f->next[e]] >= n->visited[block]) return true;
    return false;
}

static void flow_block(LiveSets *n, uint32_t block)
{
    const LowerBlock *b = &n->f->blocks[block];
    n->visited[block] = ++n->time;
    begin_with_live_out(n, block);
    for (uint32_t k = b->count; k-- > 0;) transfer(n, &n->f->insns[b->first + k]);
    if (merge_live_in(n, block)) n->live_in_grown[block] = n->time;
}

/* Finds the sets live_in of a graph with loops, to the fixed point. Without loops lower_dead() finds them in
 * its one sweep from the last block to the first. */
static void propagate_liveness(LiveSets *n)
{
    const LowerFunction *f = n->f;
    bool loops = false;
    for (uint32_t b = 0; b < f->block_count; b++)
        for (uint32_t e = f->start[b]; e < f->start[b + 1]; e++) loops |= f->next[e] <= b;
    if (!loops || !n->words) return;
    n->live_in_grown = ARENA_ZEROS(f->scratch, uint32_t, f->block_count);
    n->visited = ARENA_ZEROS(f->scratch, uint32_t, f->block_count);
    for (uint32_t before = UINT32_MAX; before != n->time;) {
        before = n->time;
        for (uint32_t b = f->block_count; b-- > 0;)
            if (is_stale(n, b)) flow_block(n, b);
    }
}

/* Marks the block's dead instructions by OP_COUNT, from its end to its start. */
static void sweep_block(LiveSets *n, uint32_t block)
{
    const LowerBlock *b = &n->f->blocks[block];
    begin_with_live_out(n, block);
    for (uint32_t k = b->count; k-- > 0;) {
        LowerInsn *i = &n->f->insns[b->first + k];
        drop_old_value(n, i);
        drop_elements(n, i);
        if (!transfer(n, i)) i->op = OP_COUNT;
    }
    merge_live_in(n, block);
}

/* Removes the dead instructions. */
static void compact_insns(LowerFunction *f)
{
    uint32_t kept = 0;
    for (uint32_t b = 0; b < f->block_count; b++) {
        LowerBlock *block = &f->blocks[b];
        uint32_t first = kept;
        for (uint32_t n = block->first; n < block->first + block->count; n++)
            if (f->insns[n].op != OP_COUNT) f->insns[kept++] = f->insns[n];
        block->first = first;
        block->count = kept - first;
    }
    f->insn_count = kept;
}

void lower_dead(LowerFunction *f)
{
    LiveSets n = {.f = f};
    make_sets(&n);
    propagate_liveness(&n);
    for (uint32_t b = f->block_count; b-- > 0;) sweep_block(&n, b);
    compact_insns(f);
}
