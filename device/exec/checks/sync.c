/* Divergent barriers, and barriers with a thread count that is wrong.
 *
 * The aligned forms (bar.*, as in __syncthreads()) require all threads of a warp that have not exited, at
 * one instruction. The interpreter may still run the lanes up to there in several groups; so what counts is
 * where the other lanes are when the barrier is complete, or when they exit. Lanes that have nothing left to
 * do but exit when others come to the barrier have returned early, which is not an error.
 */
#include "exec/checks/check.h"

enum { STEPS_TO_END = 4 }; /* instructions before the exit that has_returned() follows */

static bool is_aligned(const Insn *insn) { return !(insn->mods & BAR_UNALIGNED); }

static bool waits(const Group *g) { return g->state == GROUP_BARRIER; }

/* Whether a group has returned early: nothing but a few jumps is left before its end. */
static bool has_returned(const Group *g)
{
    const Insn *insn = g->pc;
    for (int step = 0; g->depth == 0 && step < STEPS_TO_END; step++) {
        if ((insn->op == OP_ret || insn->op == OP_exit) && insn->a == REF_ABSENT) return true;
        if (insn->op == OP_label)
            insn++;
        else if (insn->op == OP_bra)
            insn = insn->target;
        else
            return false;
    }
    return false;
}

/* Whether the barrier's thread count is a number of whole warps, and the same as that of the threads that
 * wait there. An instruction without a count means all threads of the block. */
static bool count_is_valid(Warp *warp, const Insn *insn, int l)
{
    const Block *block = warp->block;
    uint32_t number = ROW(const uint32_t, warp, insn->a)[l], count = block->threads, others = count;
    if (insn->b != REF_ABSENT) {
        count = ROW(const uint32_t, warp, insn->b)[l];
        if (!count || count % WARP_LANES) {
            exec_fault(warp, insn, l, CUDA_ERROR_LAUNCH_FAILED,
                       "the thread count of barrier %u is %u: it must be a multiple of %d", number, count,
                       WARP_LANES);
            return false;
        }
    }
    if (number >= BARRIER_COUNT || !block->barriers[number].arrived) return true;
    if (block->barriers[number].expected) others = block->barriers[number].expected;
    if (others == count) return true;
    exec_fault(warp, insn, l, CUDA_ERROR_LAUNCH_FAILED,
               "barrier %u is entered with %u threads, but others wait there for %u", number, count, others);
    return false;
}

static bool counts_are_valid(Warp *warp, const Insn *insn)
{
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1)
        if (!count_is_valid(warp, insn, __builtin_ctz(rest))) return false;
    return true;
}

/* Checks a warp's arrival at a barrier: its thread count, and for aligned forms that the warp's other
 * groups wait at the same instruction. Lanes that have not arrived are only noted in `missed`:
 * check_complete() judges them when the barrier completes, check_exit() if they end first. Under a random
 * schedule they are not noted, because they may simply be late. False: a fault was recorded. */
bool check_arrival(Warp *warp, const Insn *insn)
{
    Checker *checker = warp->block->checker;
    if (!(checker->checks & CHECK_SYNC)) return true;
    if (!counts_are_valid(warp, insn)) return false;
    for (uint32_t n = 0; is_aligned(insn) && n < warp->group_count; n++) {
        const Group *g = &warp->groups[n];
        if (g == warp->current) continue;
        if (waits(g) && g->pc != insn) {
            check_report_divergence(warp, g, warp->mask, "to another one");
            return !exec_has_failed(warp);
        }
        if (!waits(g) && !has_returned(g) && !warp->randomized) checker->missed[warp->index] |= g->mask;
    }
    return true;
}

/* Reports a warp of which some lanes wait at the barrier, by an aligned form, and some are elsewhere. */
static void check_warp_at(const Warp *warp, uint32_t barrier)
{
    const Group *first = NULL;
    uint32_t here = 0, elsewhere = 0;
    for (uint32_t n = 0; n < warp->group_count; n++) {
        const Group *g = &warp->groups[n];
        bool comes = waits(g) && g->barrier == barrier;
        if (comes && is_aligned(g->pc)) first = g;
        if (comes)
            here |= g->mask;
        else if (!has_returned(g))
            elsewhere |= g->mask;
    }
    if (first && elsewhere) check_report_divergence(warp, first, elsewhere & ~here, "did not");
}

void check_complete(Block *block, uint32_t barrier)
{
    Checker *checker = block->checker;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        const Warp *warp = &block->warps[w];
        if (!warp->started || warp->done) continue;
        check_warp_at(warp, barrier);
        checker->missed[w] = 0;
    }
}

void check_exit(const Warp *warp, uint32_t lanes)
{
    const Checker *checker = warp->block->checker;
    uint32_t missed = checker->checks & CHECK_SYNC ? checker->missed[warp->index] & lanes : 0;
    for (uint32_t n = 0; missed && n < warp->group_count; n++) {
        const Group *g = &warp->groups[n];
        if (waits(g) && is_aligned(g->pc)) check_report_divergence(warp, g, missed, "ended without it");
    }
}
