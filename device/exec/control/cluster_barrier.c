/* barrier.cluster: the barrier of all threads of a cluster, in two steps. A thread that has arrived may do
 * other things before it waits; a phase is complete when all threads of the cluster that have not ended have
 * arrived.
 *
 * Between its arrival and its wait a lane is in its warp's mask `arrived` while the phase is open, in
 * `complete` afterwards. It cannot arrive again before it has waited: there are never more than two phases.
 */
#include "exec/checks/check.h"
#include "exec/control/barrier.h"
#include "exec/control/group.h"

/* After the end of a phase: lets those groups of the warp go on after their wait of which every lane has
 * arrived. */
static void release_warp(Warp *warp)
{
    warp->complete |= warp->arrived;
    warp->arrived = 0;
    for (uint32_t n = 0; n < warp->group_count; n++) {
        Group *g = &warp->groups[n];
        if (g->state != GROUP_CLUSTER || g->mask & ~warp->complete) continue;
        warp->complete &= ~g->mask;
        if (warp->block->checker) check_cluster_wait(warp, g->mask);
        g->state = GROUP_READY;
        g->pc++;
        warp->parked = false;
    }
}

/* Ends the phase when all threads that have not exited have arrived, and at least one. */
static void complete_phase_if_done(Cluster *cluster)
{
    uint32_t live = 0;
    if (!cluster->arrived) return;
    for (uint32_t r = 0; r < cluster->size; r++) live += cluster->blocks[r]->live;
    if (cluster->arrived < live) return;
    cluster->arrived = 0;
    cluster_advance(cluster);
    for (uint32_t r = 0; r < cluster->size; r++) {
        Block *block = cluster->blocks[r];
        if (block->checker) check_cluster_phase(block);
        for (uint32_t k = 0; k < block->warp_count; k++)
            if (block->warps[k].started && !block->warps[k].done) release_warp(&block->warps[k]);
    }
}

/* The fault of `lanes` that arrive twice or wait without an arrival, as `what` says. Returns NULL. */
static const Insn *phase_fault(Warp *warp, const Insn *insn, uint32_t lanes, const char *what)
{
    return exec_fault(warp, insn, __builtin_ctz(lanes), CUDA_ERROR_LAUNCH_FAILED,
                      "%s: barrier.cluster.arrive and barrier.cluster.wait must alternate", what);
}

const Insn *cluster_arrive(Warp *warp, const Insn *insn)
{
    Cluster *cluster = warp->block->cluster;
    uint32_t again = warp->mask & (warp->arrived | warp->complete);
    if (again)
        return phase_fault(warp, insn, again, "a second arrival at the cluster's barrier without a wait");
    warp->arrived |= warp->mask;
    cluster->arrived += lane_count(warp->mask);
    if (warp->block->checker) check_cluster_arrive(warp);
    complete_phase_if_done(cluster);
    if (warp->group_count > 1) group_refresh(warp);
    return insn + 1;
}

/* Lanes whose phase is complete go on at once. The others (`open`) wait, as a group of their own where the
 * running group has lanes of both kinds. */
const Insn *cluster_wait(Warp *warp, const Insn *insn)
{
    uint32_t missing = warp->mask & ~(warp->arrived | warp->complete), open = warp->mask & warp->arrived;
    if (missing)
        return phase_fault(warp, insn, missing, "a wait at the cluster's barrier without an arrival");
    if (open && open != warp->mask) {
        group_fork(warp, open, insn);
        warp_set_mask(warp, warp->mask & ~open);
        group_refresh(warp);
        open = 0;
    }
    if (!open) {
        warp->complete &= ~warp->mask;
        if (warp->block->checker) check_cluster_wait(warp, warp->mask);
        return insn + 1;
    }
    Group *g = warp->current;
    g->pc = insn;
    g->state = GROUP_CLUSTER;
    g->waited = ++warp->turn;
    return group_next(warp);
}

void cluster_exit(Warp *warp, uint32_t lanes)
{
    Cluster *cluster = warp->block->cluster;
    cluster->arrived -= lane_count(warp->arrived & lanes);
    warp->arrived &= ~lanes;
    warp->complete &= ~lanes;
    complete_phase_if_done(cluster);
}
