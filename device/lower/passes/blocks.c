/* Basic blocks, their order, and the jumps that it needs.
 *
 * The instructions come in the order of the text, with labels. This pass puts their blocks in weak
 * topological order (order.h): a block that falls through to another is followed by it, or gets a jump to it.
 * Blocks that cannot be reached are left out.
 */
#include "lower/ir.h"
#include "lower/passes/order.h"

#include <string.h>

enum { MAX_HOPS = 8 };

typedef struct Graph {
    LowerFunction *f;
    uint32_t *block_at;     /* block of each instruction */
    uint32_t *order;        /* the blocks that can be reached, in their order */
    uint32_t count;         /* how many blocks can be reached */
} Graph;

static bool ends_block(const LowerInsn *i) { return i->flags & (FLAG_BRANCH | FLAG_TABLE | FLAG_ENDS); }

/* Marks the instructions that a branch or table goes to. */
static void mark_targets(const LowerFunction *f, uint8_t *starts)
{
    for (uint32_t i = 0; i < f->insn_count; i++) {
        const LowerInsn *insn = &f->insns[i];
        if (insn->flags & FLAG_BRANCH) starts[f->labels[insn->target]] = 1;
        if (!(insn->flags & FLAG_TABLE)) continue;
        for (uint32_t t = 0; t < insn->table->count; t++) starts[f->labels[insn->table->targets[t]]] = 1;
    }
}

/* Divides the instructions into blocks: before each target and after each branch. */
static void cut_blocks(Graph *g)
{
    LowerFunction *f = g->f;
    uint8_t *starts = ARENA_ZEROS(f->scratch, uint8_t, f->insn_count + 1);
    starts[0] = 1;
    mark_targets(f, starts);
    for (uint32_t i = 0; i < f->insn_count; i++)
        if (ends_block(&f->insns[i])) starts[i + 1] = 1;
    g->block_at = ARENA_ARRAY(f->scratch, uint32_t, f->insn_count);
    f->blocks = ARENA_ARRAY(f->scratch, LowerBlock, f->insn_count);
    f->block_count = 0;
    for (uint32_t i = 0; i < f->insn_count; i++) {
        if (starts[i]) f->blocks[f->block_count++] = (LowerBlock){.first = i, .position = NO_BLOCK};
        f->blocks[f->block_count - 1].count++;
        g->block_at[i] = f->block_count - 1;
    }
}

/* The block at a label or, if only a jump stands there, that which the jump leads to. Jumps may form a
 * circle, so at most MAX_HOPS are followed. */
static uint32_t block_of_label(const Graph *g, uint32_t label)
{
    const LowerFunction *f = g->f;
    for (int hops = 0; hops < MAX_HOPS; hops++) {
        const LowerInsn *first = &f->insns[f->labels[label]];
        if ((first->flags & (FLAG_BRANCH | FLAG_ENDS)) != (FLAG_BRANCH | FLAG_ENDS)) break;
        label = first->target;
    }
    return g->block_at[f->labels[label]];
}

/* Replaces labels in branches and tables by blocks. All blocks are found first, since
 * block_of_label() reads the labels of jumps. */
static void resolve_labels(Graph *g)
{
    LowerFunction *f = g->f;
    uint32_t *blocks = ARENA_ARRAY(f->scratch, uint32_t, f->label_count);
    for (uint32_t l = 0; l < f->label_count; l++) blocks[l] = block_of_label(g, l);
    for (uint32_t i = 0; i < f->insn_count; i++) {
        LowerInsn *insn = &f->insns[i];
        if (insn->flags & FLAG_BRANCH) insn->target = blocks[insn->target];
        if (!(insn->flags & FLAG_TABLE)) continue;
        for (uint32_t t = 0; t < insn->table->count; t++)
            insn->table->targets[t] = blocks[insn->table->targets[t]];
    }
}

static const LowerInsn *last_insn(const LowerFunction *f, uint32_t block)
{
    return &f->insns[f->blocks[block].first + f->blocks[block].count - 1];
}

static uint32_t edge_count(const LowerFunction *f)
{
    uint32_t edges = 0;
    for (uint32_t b = 0; b < f->block_count; b++) {
        const LowerInsn *last = last_insn(f, b);
        edges += 2 + (last->flags & FLAG_TABLE ? last->table->count : 0);
    }
    return edges;
}

/* Lists the successors of each block, first that which it falls through to. */
static void link_blocks(LowerFunction *f)
{
    f->start = ARENA_ARRAY(f->scratch, uint32_t, f->block_count + 1);
    f->next = ARENA_ARRAY(f->scratch, uint32_t, edge_count(f));
    uint32_t edge = 0;
    for (uint32_t b = 0; b < f->block_count; b++) {
        const LowerInsn *last = last_insn(f, b);
        f->start[b] = edge;
        if (!(last->flags & FLAG_ENDS)) f->next[edge++] = b + 1;
        if (last->flags & FLAG_BRANCH) f->next[edge++] = last->target;
        if (last->flags & FLAG_TABLE)
            for (uint32_t t = 0; t < last->table->count; t++) f->next[edge++] = last->table->targets[t];
    }
    f->start[f->block_count] = edge;
}

/* Makes the block that was copied last go on as before, although `follows` is next in the order (NO_BLOCK:
 * none). `falls`: it falls through to block `fallen_into`. A jump to the next block is left out; a branch to
 * it is inverted; where the next block is another, a jump is added. */
static void place_jump(LowerFunction *f, bool falls, uint32_t fallen_into, uint32_t follows)
{
    LowerInsn *last = &f->insns[f->insn_count - 1];
    if (!falls) {
        if (last->flags & FLAG_BRANCH && last->target == follows) f->insn_count--;
        return;
    }
    if (fallen_into == follows) return;
    if (last->flags & FLAG_BRANCH && last->target == follows) {
        last->mods ^= MODS_NEGATE;
        last->target = fallen_into;
        return;
    }
    LowerInsn *jump = lower_new_insn(f, OP_bra, last->line);
    jump->flags = FLAG_BRANCH | FLAG_ENDS;
    jump->target = fallen_into;
}

/* Copies the blocks in their order to a new list. Targets of branches become positions in it. */
static void lay_out(Graph *g)
{
    LowerFunction *f = g->f;
    LowerInsn *text = f->insns;
    LowerBlock *blocks = ARENA_ARRAY(f->scratch, LowerBlock, g->count);
    lower_reserve(f, f->insn_count + g->count);
    for (uint32_t o = 0; o < g->count; o++) {
        const LowerBlock *old = &f->blocks[g->order[o]];
        blocks[o] = (LowerBlock){.first = f->insn_count, .position = o};
        uint32_t i = 0;
        do *lower_add_insn(f) = text[old->first + i];
        while (++i < old->count); /* no block is empty */
        uint32_t follows = o + 1 < g->count ? g->order[o + 1] : NO_BLOCK;
        bool falls = !(text[old->first + old->count - 1].flags & FLAG_ENDS);
        place_jump(f, falls, g->order[o] + 1, follows);
        blocks[o].count = f->insn_count - blocks[o].first;
    }
    for (uint32_t o = 0; o < g->count; o++) f->blocks[g->order[o]].position = o;
    for (uint32_t i = 0; i < f->insn_count; i++)
        if (f->insns[i].flags & FLAG_BRANCH) f->insns[i].target = f->blocks[f->insns[i].target].position;
    f->blocks = blocks;
}

/* The successors by their positions in the order; `old`: the blocks before. */
static void relink_successors(Graph *g, const LowerBlock *old)
{
    LowerFunction *f = g->f;
    uint32_t *start = ARENA_ARRAY(f->scratch, uint32_t, g->count + 1);
    uint32_t *next = ARENA_ARRAY(f->scratch, uint32_t, f->start[f->block_count]);
    uint32_t edge = 0;
    for (uint32_t o = 0; o < g->count; o++) {
        start[o] = edge;
        for (uint32_t n = f->start[g->order[o]]; n < f->start[g->order[o] + 1]; n++)
            next[edge++] = old[f->next[n]].position;
    }
    start[g->count] = edge;
    f->start = start;
    f->next = next;
    f->block_count = g->count;
}

/* Targets of tables become positions in the order; `old`: the blocks before. */
static void relink_tables(LowerFunction *f, const LowerBlock *old)
{
    for (uint32_t i = 0; i < f->insn_count; i++) {
        if (!(f->insns[i].flags & FLAG_TABLE)) continue;
        LowerTable *table = f->insns[i].table;
        for (uint32_t t = 0; t < table->count; t++) table->targets[t] = old[table->targets[t]].position;
    }
}

void lower_blocks(LowerFunction *f)
{
    Graph g = {.f = f};
    cut_blocks(&g);
    resolve_labels(&g);
    link_blocks(f);
    g.order = ARENA_ARRAY(f->scratch, uint32_t, f->block_count);
    BlockGraph graph = {f->block_count, f->start, f->next};
    g.count = lower_order(f->scratch, &graph, g.order);
    const LowerBlock *old = f->blocks;
    lay_out(&g);
    relink_successors(&g, old);
    relink_tables(f, old);
}
