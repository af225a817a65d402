/* Barriers of a block count threads, not warps; threads that have exited count as arrived.
 *
 * A group that waits is parked in GROUP_BARRIER with the barrier's number. The last arrival releases all
 * groups that wait, each at its own pc, and writes what bar.red has combined into their registers. Threads of
 * a group that name different barriers or thread counts are split into groups first.
 */
#include "exec/checks/check.h"
#include "exec/control/barrier.h"
#include "exec/control/group.h"

static bool barrier_full(const Block *block, const Barrier *barrier)
{
    return barrier->arrived >= (barrier->expected ? barrier->expected : block->live);
}

/* Writes the combined value into the destination of a waiting group's bar.red: a number for each lane, or a
 * predicate, which is one word with a bit for each lane. Other barrier instructions have no destination. */
static void deliver_reduction(Warp *warp, const Group *g, const Barrier *barrier)
{
    const Insn *insn = g->pc;
    uint8_t *row = warp->registers + g->frame + (insn->d & REF_OFFSET_MASK);
    bool holds = insn->op == OP_bar_red_and ? barrier->popc == barrier->votes : barrier->popc != 0;
    uint32_t *word = (uint32_t *)(void *)row;
    switch (insn->op) {
    case OP_bar_red_popc:
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            if (g->mask >> l & 1) word[l] = barrier->popc;
        }
        break;
    case OP_bar_red_and:
    case OP_bar_red_or: *word = (*word & ~g->mask) | (holds ? g->mask : 0); break;
    default: break;
    }
}

/* Completes a barrier: lets the groups that wait at it go on after it, and makes it idle again. */
static void barrier_release(Block *block, uint32_t number)
{
    Barrier *barrier = &block->barriers[number];
    if (block->checker) check_barrier(block, number);
    for (uint32_t k = 0; k < block->warp_count; k++) {
        Warp *warp = &block->warps[k];
        if (!warp->started || warp->done) continue;
        for (uint32_t n = 0; n < warp->group_count; n++) {
            Group *g = &warp->groups[n];
            if (g->state != GROUP_BARRIER || g->barrier != number) continue;
            deliver_reduction(warp, g, barrier);
            g->state = GROUP_READY;
            g->pc++;
            warp->parked = false;
        }
    }
    *barrier = (Barrier){0};
    block->barriers_busy &= ~(1u << number);
    cluster_advance(block->cluster);
}

/* A barrier with a thread count of its own goes on waiting for that many threads. */
void barrier_exit(Block *block)
{
    for (uint32_t busy = block->barriers_busy; busy; busy &= busy - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(busy);
        const Barrier *barrier = &block->barriers[number];
        if (!barrier->expected && barrier_full(block, barrier)) barrier_release(block, number);
    }
}

/* Whether all lanes have one value of the operand because of what it refers to: a constant, a parameter, a
 * row of the block, or nothing. */
static bool is_uniform(Ref ref)
{
    uint32_t base = ref >> REF_BASE_SHIFT;
    return base != REF_FRAME && base != REF_WARP;
}

/* The lanes of mask whose barrier number and count are those of lane l. */
static uint32_t lanes_at_same_barrier(Warp *warp, const Insn *insn, uint32_t mask, int l)
{
    const uint32_t *number = ROW(const uint32_t, warp, insn->a), *count = ROW(const uint32_t, warp, insn->b);
    uint32_t same = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int k = __builtin_ctz(rest);
        if (number[k] == number[l] && count[k] == count[l]) same |= 1u << k;
    }
    return same;
}

/* Counts the executing lanes at the barrier, for bar.red with their predicates. */
static void count_arrivals(Warp *warp, const Insn *insn, Barrier *barrier)
{
    uint32_t lanes = lane_count(warp->mask);
    barrier->arrived += lanes;
    if (insn->op != OP_bar_red_popc && insn->op != OP_bar_red_and && insn->op != OP_bar_red_or) return;
    barrier->votes += lanes;
    barrier->popc += lane_count(pred_lanes(warp, insn->c, insn->mods) & warp->mask);
}

/* Makes the running group, which has been counted, wait at the barrier. If it was the last one, the barrier
 * is released with it. Returns what the warp runs next. */
static const Insn *park_at(Warp *warp, const Insn *insn, uint32_t number)
{
    Block *block = warp->block;
    Group *g = warp->current;
    g->pc = insn;
    g->state = GROUP_BARRIER;
    g->barrier = number;
    g->waited = ++warp->turn;
    if (barrier_full(block, &block->barriers[number])) barrier_release(block, number);
    return group_next(warp);
}

const Insn *barrier_arrive(Warp *warp, const Insn *insn)
{
    Block *block = warp->block;
    int first = __builtin_ctz(warp->mask);
    uint32_t same = is_uniform(insn->a) && is_uniform(insn->b)
                        ? warp->mask
                        : lanes_at_same_barrier(warp, insn, warp->mask, first);
    uint32_t number = ROW(const uint32_t, warp, insn->a)[first];
    uint32_t expected = insn->b == REF_ABSENT ? 0 : ROW(const uint32_t, warp, insn->b)[first];
    Barrier *barrier;
    if (number >= BARRIER_COUNT)
        return exec_fault(warp, insn, first, CUDA_ERROR_LAUNCH_FAILED,
                          "barrier %u does not exist: a block has %d barriers", number, BARRIER_COUNT);
    if (same != warp->mask) {
        group_fork(warp, warp->mask & ~same, insn);
        warp_set_mask(warp, same);
        group_refresh(warp);
    }
    barrier = &block->barriers[number];
    if (expected) barrier->expected = expected;
    block->barriers_busy |= 1u << number;
    count_arrivals(warp, insn, barrier);
    if (insn->op != OP_bar_arrive) return park_at(warp, insn, number);
    if (block->checker) check_publish(warp, number);
    if (barrier_full(block, barrier)) barrier_release(block, number);
    return insn + 1;
}
