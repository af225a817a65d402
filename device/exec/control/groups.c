/* Divergence: which lanes of a warp run, and when.
 *
 * The lanes of a warp are a list of groups that share pc, call depth and frame. The group with the deepest
 * call runs, then the one with the lowest pc: code is laid out so that under this order diverged lanes
 * reconverge at the post-dominator. Lanes that spin would starve the others, so each turn has fuel, counted
 * in backward branches; when it is spent the group that waited longest takes over and keeps its turn
 * ("pinned") until it meets another group, parks, exits or has spent its own fuel. The running group's pc is
 * kept by the run loop and is stored only when it is switched away.
 */
#include "exec/checks/check.h"
#include "exec/control/barrier.h"
#include "exec/control/collective.h"
#include "exec/control/group.h"
#include "exec/state/grid.h"

/* Whether two groups are ready at the same place in the same frames: then they can be one. */
static bool may_merge(const Group *a, const Group *b)
{
    return a->pc == b->pc && a->depth == b->depth && a->frame == b->frame && a->local == b->local
           && a->state == GROUP_READY && b->state == GROUP_READY;
}

/* next_pc is the lowest pc of the other ready groups at the running group's call depth; the maximum if there
 * are none, and with the random scheduler, which never merges. */
void group_refresh(Warp *warp)
{
    const Group *current = warp->current;
    uintptr_t lowest = UINTPTR_MAX;
    if (warp->group_count == 1) {
        warp->next_pc = lowest;
        return;
    }
    for (uint32_t k = 0; k < warp->group_count && !warp->randomized; k++) {
        const Group *g = &warp->groups[k];
        if (g != current && g->state == GROUP_READY && g->depth == current->depth
            && (uintptr_t)g->pc < lowest)
            lowest = (uintptr_t)g->pc;
    }
    warp->next_pc = lowest;
}

/* Takes g off the list. The last group takes its place, so that a pointer to that one is no longer valid. */
static void group_remove(Warp *warp, Group *g)
{
    Group *last = &warp->groups[--warp->group_count];
    if (g == last) return;
    *g = *last;
    if (warp->current == last) warp->current = g;
}

/* Reconvergence: merges every group at the running one's pc into it. Whether there were any. */
static bool group_absorb(Warp *warp)
{
    bool met = false;
    for (uint32_t k = warp->group_count; k-- > 0 && !warp->randomized;) {
        Group *g = &warp->groups[k];
        if (g == warp->current || !may_merge(g, warp->current)) continue;
        warp->current->mask |= g->mask;
        if (g->dynamic > warp->current->dynamic) warp->current->dynamic = g->dynamic;
        group_remove(warp, g);
        met = true;
    }
    return met;
}

/* Makes g the running group, merged with those at the same pc, and returns that pc. pinned: it keeps its turn
 * although another has a lower pc. Fuel is the warp's: a change of group within a turn does not renew it. */
static const Insn *group_load(Warp *warp, Group *g, bool pinned)
{
    warp->current = g;
    warp->pinned = pinned;
    if (warp->group_count > 1 && group_absorb(warp)) warp->pinned = false;
    g = warp->current;
    warp->base[REF_FRAME] = warp->registers + g->frame;
    warp_set_base(warp, REF_CONST, g->function->module->constants);
    if (warp->mask != g->mask) warp_set_mask(warp, g->mask);
    group_refresh(warp);
    return g->pc;
}

/* Whether group a has precedence: the deeper call, then the lower pc. */
static bool runs_before(const Group *a, const Group *b)
{
    return a->depth != b->depth ? a->depth > b->depth : (uintptr_t)a->pc < (uintptr_t)b->pc;
}

/* A ready group, picked at random; NULL if there is none. */
static Group *group_random(Warp *warp)
{
    uint32_t ready = 0, pick;
    for (uint32_t k = 0; k < warp->group_count; k++) ready += warp->groups[k].state == GROUP_READY;
    if (!ready) return NULL;
    pick = worker_random(warp->worker) % ready;
    for (uint32_t k = 0;; k++) {
        if (warp->groups[k].state == GROUP_READY && pick-- == 0) return &warp->groups[k];
    }
}

/* The group to run next; NULL when none is ready. */
static Group *group_best(Warp *warp)
{
    Group *best = NULL;
    if (warp->randomized) return group_random(warp);
    if (warp->group_count == 1) return warp->groups[0].state == GROUP_READY ? warp->groups : NULL;
    for (uint32_t k = 0; k < warp->group_count; k++) {
        Group *g = &warp->groups[k];
        if (g->state == GROUP_READY && (!best || runs_before(g, best))) best = g;
    }
    return best;
}

/* A warp whose last group has gone is done. */
const Insn *group_next(Warp *warp)
{
    Group *best = group_best(warp);
    if (best) return group_load(warp, best, false);
    warp->current = NULL;
    warp->parked = true;
    warp->done = warp->group_count == 0;
    return NULL;
}

/* Random scheduler: divides the only group of a new warp into one for each lane, and runs any. */
static void group_randomize(Warp *warp)
{
    Group whole = warp->groups[0];
    warp->group_count = 0;
    for (uint32_t rest = whole.mask; rest; rest &= rest - 1) {
        warp->groups[warp->group_count] = whole;
        warp->groups[warp->group_count++].mask = rest & -rest;
    }
    group_next(warp);
}

void group_start(Warp *warp, uint32_t mask)
{
    const CodeFunction *function = warp->block->grid->function;
    warp->live = mask;
    warp->turn = 0;
    warp->groups[0] = (Group){.pc = function->insns, .mask = mask, .function = function};
    warp->group_count = 1;
    warp->current = &warp->groups[0];
    warp->pinned = warp->spinning = false;
    warp->base[REF_FRAME] = warp->registers;
    warp_set_base(warp, REF_CONST, function->module->constants);
    warp->fuel = FUEL_PLAIN;
    warp->next_pc = UINTPTR_MAX;
    if (warp->mask != mask) warp_set_mask(warp, mask);
    if (warp->randomized) group_randomize(warp);
}

Group *group_divide(Warp *warp, uint32_t mask, const Insn *pc)
{
    Group *part = &warp->groups[warp->group_count++];
    *part = *warp->current;
    part->pc = pc;
    part->mask = mask;
    part->waited = ++warp->turn;
    warp->current->mask &= ~mask;
    return part;
}

void group_fork(Warp *warp, uint32_t mask, const Insn *pc)
{
    Group *part = group_divide(warp, mask, pc); /* the last one: merging it with another removes it */
    for (Group *g = warp->groups; g != part && !warp->randomized; g++) {
        if (g == warp->current || !may_merge(g, part)) continue;
        g->mask |= mask;
        if (part->dynamic > g->dynamic) g->dynamic = part->dynamic;
        warp->group_count--;
        return;
    }
}

/* The lanes at the lower pc stay the running group, and go on unless a third group has a lower pc still. */
const Insn *group_split(Warp *warp, const Insn *here, const Insn *other, uint32_t other_mask)
{
    uint32_t rest = warp->current->mask & ~other_mask;
    bool pinned = warp->pinned;
    if (here < other) {
        group_fork(warp, other_mask, other);
    } else {
        group_fork(warp, rest, here);
        here = other;
    }
    warp->current->pc = here;
    if (!pinned && (uintptr_t)here > warp->next_pc) return group_next(warp);
    return group_load(warp, warp->current, pinned);
}

/* The running group comes to pc, and another group waits there or at a lower pc. Merges the groups at pc.
 * Returns whether the running group goes on; if not, a group at a lower pc runs first. */
static bool group_meet(Warp *warp, const Insn *pc)
{
    warp->current->pc = pc;
    if (group_absorb(warp)) {
        warp->pinned = false;
        warp_set_mask(warp, warp->current->mask);
        group_refresh(warp);
    }
    if (warp->pinned || warp->next_pc >= (uintptr_t)pc) return true;
    warp->current->waited = ++warp->turn;
    return false;
}

const Insn *group_reach(Warp *warp, const Insn *label)
{
    return group_meet(warp, label) ? label + 1 : group_next(warp);
}

const Insn *group_rejoin(Warp *warp, const Insn *next)
{
    return group_meet(warp, next) ? next : group_next(warp);
}

/* The group that waited longest runs next, after the other warps of the block have had their turns. */
const Insn *group_yield(Warp *warp, const Insn *pc)
{
    Group *oldest = warp->current;
    uint32_t ready = 0;
    warp->current->pc = pc;
    warp->current->waited = ++warp->turn;
    for (uint32_t k = 0; k < warp->group_count; k++) {
        Group *g = &warp->groups[k];
        if (g->state != GROUP_READY) continue;
        ready++;
        if ((int32_t)(g->waited - oldest->waited) < 0) oldest = g;
    }
    group_load(warp, oldest, ready > 1);
    warp->fuel = FUEL_PLAIN;
    return NULL;
}

const Insn *group_preempt(Warp *warp, const Insn *pc)
{
    warp->current->pc = pc;
    return group_next(warp);
}

/* What waits for the lanes that exit is completed: collectives of the warp, barriers of block and cluster. */
const Insn *group_exit(Warp *warp, uint32_t lanes, const Insn *rest)
{
    Block *block = warp->block;
    Group *current = warp->current;
    if (block->checker) check_exit(warp, lanes);
    warp->live &= ~lanes;
    block->live -= lane_count(lanes);
    if (block->cluster->arrived | warp->arrived | warp->complete) cluster_exit(warp, lanes);
    if (!warp->live) {
        warp->group_count = 0;
        warp->current = NULL;
        warp->parked = warp->done = true;
        if (block->barriers_busy) barrier_exit(block);
        return NULL;
    }
    current->mask &= ~lanes;
    current->pc = rest;
    if (!current->mask) group_remove(warp, current);
    if (warp->group_count) collective_exit(warp);
    if (block->barriers_busy) barrier_exit(block);
    return group_next(warp);
}
