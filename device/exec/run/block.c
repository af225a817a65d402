/* Runs one block: its warps in turn, each until it parks, ends, or has spent its fuel.
 *
 * A warp is set up when its first turn comes and borrows registers and local memory from the worker until
 * its end. A pass (a turn of each warp) in which every warp only spins counts as waiting for another block:
 * after some of these block_run() returns BLOCK_WAITING. When no warp can run and some have not ended, the
 * block is deadlocked: a fault says where each group waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/async/mbarrier.h"
#include "exec/checks/check.h"
#include "exec/control/group.h"
#include "exec/control/sleep.h"
#include "exec/run/run.h"
#include "exec/state/store.h"

/* After how many passes that only spin a block counts as waiting. FEW: for blocks of a cooperative grid
 * or of a cluster, and those of a worker that has other blocks waiting, which often do wait for each
 * other. */
enum { SPIN_PASSES = 64, SPIN_PASSES_FEW = 4 };
enum { SCATTER_STEPS = 24 }; /* random scheduler: the maximum of instructions before another lane runs */

/* What an absent operand reads. */
static const _Alignas(64) uint8_t zeros[512];

/* --- warps --------------------------------------------------------------------------------------------- */

bool warp_begin(Warp *warp, Worker *worker)
{
    uint32_t first = warp->index * WARP_LANES, threads = warp->block->threads - first;
    if (!store_borrow(warp, worker)) return false;
    warp->started = true;
    warp->carry = 0;
    warp->erred = 0;
    group_start(warp, threads >= WARP_LANES ? FULL_MASK : (1u << threads) - 1);
    return true;
}

/* Random scheduler: a few instructions of one lane, then another lane. */
static void warp_run_randomized(Warp *warp, const Insn *insn)
{
    uint32_t steps = 1 + worker_random(warp->worker) % SCATTER_STEPS;
    while (insn) {
        if (steps-- == 0) {
            group_preempt(warp, insn);
            return;
        }
        insn = insn->run[warp->full](warp, insn);
    }
}

/* Runs a warp until it must leave the run loop. */
static void warp_run(Warp *warp)
{
    const Insn *insn = warp->current ? warp->current->pc : group_next(warp);
    warp->spinning = warp->watching = false;
    if (warp->randomized) {
        warp_run_randomized(warp, insn);
        return;
    }
    while (insn) insn = insn->run[warp->full](warp, insn);
}

/* --- deadlock --------------------------------------------------------------------------- */

/* Writes where a group waits. Returns the length of the text, at most capacity. */
static size_t describe_group(const Warp *warp, const Group *g, char *out, size_t capacity)
{
    char place[256];
    int count;
    exec_place(g->function, g->pc, place, sizeof place);
    if (g->state == GROUP_BARRIER)
        count = snprintf(out, capacity, "; warp %u, lanes 0x%08x wait at barrier %u, %s", warp->index,
                         g->mask, g->barrier, place);
    else if (g->state == GROUP_CLUSTER)
        count = snprintf(out, capacity, "; warp %u, lanes 0x%08x wait at the cluster's barrier, %s",
                         warp->index, g->mask, place);
    else if (g->state == GROUP_MBARRIER)
        count = snprintf(out, capacity,
                         "; warp %u, lanes 0x%08x wait for the mbarrier at offset 0x%x of shared memory, %s",
                         warp->index, g->mask, g->mbarrier, place);
    else
        count =
            snprintf(out, capacity, "; warp %u, lanes 0x%08x wait at %s for lanes 0x%08x, %s", warp->index,
                     g->mask, exec_op_names[g->pc->op], g->member_mask & warp->live & ~g->mask, place);
    return count < 0 ? 0 : (size_t)count < capacity ? (size_t)count : capacity;
}

static size_t describe_block(const Block *block, char *out, size_t capacity)
{
    size_t used = 0;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        const Warp *warp = &block->warps[k];
        for (uint32_t n = 0; !warp->done && n < warp->group_count && used < capacity; n++)
            used += describe_group(warp, &warp->groups[n], out + used, capacity - used);
    }
    return used < capacity ? used : capacity;
}

/* The message also says where the other blocks of its cluster wait. */
void block_fault_stuck(Block *block)
{
    char waits[760] = "";
    size_t used = describe_block(block, waits, sizeof waits);
    for (uint32_t r = 0; r < block->cluster->size && used < sizeof waits; r++) {
        const Block *other = block->cluster->blocks[r];
        if (other == block || !other->live) continue;
        int count = snprintf(waits + used, sizeof waits - used, "; in block (%u,%u,%u)", other->id[0],
                             other->id[1], other->id[2]);
        used += count > 0 ? (size_t)count : 0;
        if (used < sizeof waits) used += describe_block(other, waits + used, sizeof waits - used);
    }
    exec_fault_plain(block->grid, CUDA_ERROR_LAUNCH_FAILED,
                     "kernel %s, block (%u,%u,%u): deadlock, its threads wait for each other%s",
                     block->grid->function->name, block->id[0], block->id[1], block->id[2], waits);
}

/* --- blocks -------------------------------------------------------------------------------------------- */

/* A warp's turn. Returns whether it ran: a parked one does not, nor one without memory (then *failed).
 * *failed: the block must stop. */
static bool turn_of(Warp *warp, Worker *worker, bool *failed)
{
    if (!warp->started && !warp_begin(warp, worker)) {
        exec_fault_plain(warp->block->grid, CUDA_ERROR_OUT_OF_MEMORY,
                         "kernel %s: no memory for registers or local memory of a warp",
                         warp->block->grid->function->name);
        *failed = true;
        return false;
    }
    if (warp->parked) return false;
    if (!warp->randomized || worker_random(worker) & 1) warp_run(warp);
    *failed = grid_stops(warp->block->grid, worker);
    return true;
}

/* No warp could run: waits for mbarriers time out, unless that has gone on for long. */
static bool expire_waits(Block *block)
{
    return cluster_may_wait_longer(block->cluster) && mbarrier_expire(block);
}

/* After a warp's turn: if the warp did more than wait, its cluster has advanced. Returns whether the warp
 * may be waiting for another block: it spins, which includes lanes that slept and are awake again. */
static bool end_turn(const Warp *warp)
{
    if (warp->done || warp->watching || !(warp->parked || warp->spinning))
        cluster_advance(warp->block->cluster);
    return warp->randomized || warp->spinning;
}

/* Counts a pass that only spun. True, and the count is reset, when there were enough of them. */
static bool has_spun(Block *block, const Worker *worker)
{
    bool soon = block->grid->launch->cooperative || block->cluster->size > 1 || worker->live;
    uint32_t max = soon ? SPIN_PASSES_FEW : SPIN_PASSES;
    if (++block->spins < max) return false;
    block->spins = 0;
    return true;
}

/* Runs passes until all warps are done; until the block seems to wait for other blocks, or sleeps, or (in
 * a cluster) cannot run; or until it must stop. */
BlockResult block_run(Block *block, Worker *worker)
{
    if (block->grid->function->lockstep) lockstep_run(block, worker);
    for (bool first = true;; first = false) {
        bool alive = false, ran = false, waiting = true, failed = false;
        if (block->wake_at) sleep_wake(block);
        for (uint32_t k = 0; k < block->warp_count; k++) {
            Warp *warp = &block->warps[k];
            if (warp->done) continue;
            alive = true;
            if (!turn_of(warp, worker, &failed)) {
                if (failed) return BLOCK_STOPPED;
                continue;
            }
            ran = true;
            if (warp->done) store_return(warp, worker);
            if (failed) return BLOCK_STOPPED;
            if (!end_turn(warp)) waiting = false;
        }
        if (!alive) return BLOCK_DONE;
        if (!ran && grid_stops(block->grid, worker)) return BLOCK_STOPPED;
        block->asleep = !ran && block->wake_at;
        block->idle = !ran && first;
        if (!ran && block->cluster->size > 1) return BLOCK_WAITING;
        if (!ran && !block->asleep && !expire_waits(block)) {
            block_fault_stuck(block);
            return BLOCK_STOPPED;
        }
        if (ran && waiting) mbarrier_expire(block);
        grid_call_help_if_long(block->grid);
        if (block->asleep) return BLOCK_WAITING;
        if (waiting && has_spun(block, worker)) return BLOCK_WAITING;
    }
}

static Block *block_new(void)
{
    Block *block = aligned_alloc(64, sizeof *block);
    if (block) memset(block, 0, sizeof *block);
    return block;
}

static void block_free(Block *block)
{
    if (!block) return;
    free(block->shared);
    free(block->warps);
    checker_free(block->checker);
    free(block);
}

/* Sets row->affine; valid if the first `lanes` lanes are affine. The others are beyond the end of the
 * block. */
static void find_affine(SpecialRow *row, uint32_t lanes)
{
    const uint32_t *lane = row->lane, step = lane[1] - lane[0];
    bool valid = true;
    for (uint32_t l = 0; l < lanes && l < WARP_LANES; l++) valid &= lane[l] == lane[l & 16] + step * (l & 15);
    row->affine =
        (Affine){.low = lane[0], .high = lane[16], .stride = (int32_t)step, .valid = valid, .spread = 1};
}

/* Fills the warps' rows for a block of that shape. */
static void fill_tids(Block *block, const uint32_t dims[3])
{
    uint32_t x = 0, y = 0, z = 0;
    for (uint32_t t = 0; t < block->warp_count * WARP_LANES; t++) {
        Warp *warp = &block->warps[t / WARP_LANES];
        uint32_t l = t % WARP_LANES;
        warp->rows[WARP_ROW_TID].lane[l] = x;
        warp->rows[WARP_ROW_TID + 1].lane[l] = y;
        warp->rows[WARP_ROW_TID + 2].lane[l] = z;
        warp->rows[WARP_ROW_LANEID].lane[l] = l;
        if (++x < dims[0]) continue;
        x = 0;
        if (++y < dims[1]) continue;
        y = 0;
        z++;
    }
    for (uint32_t k = 0; k < block->warp_count * WARP_ROWS; k++)
        find_affine(&block->warps[k / WARP_ROWS].rows[k % WARP_ROWS],
                    block->threads - k / WARP_ROWS * WARP_LANES);
    memcpy(block->dims, dims, sizeof block->dims);
}

/* Makes the block's memory large enough; its contents are lost where it grows. False if out of memory. */
static bool reserve_block(Block *block, uint32_t warps, size_t shared)
{
    if (warps > block->warp_capacity) {
        free(block->warps);
        block->warps = aligned_alloc(64, warps * sizeof *block->warps);
        block->warp_capacity = block->warps ? warps : 0;
        if (!block->warps) return false;
        memset(block->warps, 0, warps * sizeof *block->warps);
        memset(block->dims, 0, sizeof block->dims);
    }
    if (shared > block->shared_capacity) {
        free(block->shared);
        const size_t grown = (shared + 1023) / 1024 * 1024;
        block->shared = aligned_alloc(1024, grown);
        block->shared_capacity = block->shared ? grown : 0;
        if (!block->shared) return false;
    }
    return true;
}

/* Fills a row with one value, unless it has it already: most blocks have y and z in common with the block
 * before. */
static void fill_uniform(SpecialRow *row, uint32_t value)
{
    if (row->affine.valid && row->lane[0] == value) return;
    for (int l = 0; l < WARP_LANES; l++) row->lane[l] = value;
    affine_set_uniform(row->lane, value);
}

/* One value for each axis, in three rows. */
static void fill_axes(Block *block, enum BlockRow row, const uint32_t values[3])
{
    for (int axis = 0; axis < 3; axis++) fill_uniform(&block->rows[(int)row + axis], values[axis]);
}

Block *block_take(Worker *worker, Grid *grid)
{
    Block *block = worker->free_blocks;
    const uint32_t *dims = grid->launch->block;
    if (block)
        worker->free_blocks = block->next;
    else
        block = block_new();
    if (!block || !reserve_block(block, grid->warps, grid->shared_size)) {
        block_free(block);
        return NULL;
    }
    block->grid = grid;
    block->next = NULL;
    block->cluster = &block->own;
    block->rank = 0;
    block->own = (Cluster){.blocks = {block}, .size = 1};
    block->shared_size = grid->shared_size;
    block->threads = grid->threads;
    if (block->warp_count != grid->warps || memcmp(block->dims, dims, sizeof block->dims) != 0) {
        block->warp_count = grid->warps;
        fill_tids(block, dims);
    }
    fill_axes(block, BLOCK_ROW_NTID, dims);
    fill_axes(block, BLOCK_ROW_NCTAID, grid->launch->grid);
    for (uint32_t k = 0; k < block->warp_count; k++) {
        Warp *warp = &block->warps[k];
        warp->block = block;
        warp->worker = worker;
        warp->index = k;
        warp->randomized = worker->random != 0;
        warp_set_base(warp, REF_PARAM, grid->param_rows);
        warp_set_base(warp, REF_NONE, zeros);
        warp_set_base(warp, REF_WARP, warp->rows);
        warp_set_base(warp, REF_BLOCK, block->rows);
    }
    if (checker_take(block)) return block;
    block_free(block);
    return NULL;
}

void block_begin(Block *block, uint64_t linear)
{
    const uint32_t *dims = block->grid->launch->grid;
    block->linear = linear;
    block->id[0] = (uint32_t)(linear % dims[0]);
    block->id[1] = (uint32_t)(linear / dims[0] % dims[1]);
    block->id[2] = (uint32_t)(linear / dims[0] / dims[1]);
    fill_axes(block, BLOCK_ROW_CTAID, block->id);
    block->live = block->threads;
    block->spins = 0;
    block->mbarrier_waits = block->asleep = block->idle = false;
    block->wake_at = 0;
    if (block->barriers_busy) memset(block->barriers, 0, sizeof block->barriers);
    block->barriers_busy = 0;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        Warp *warp = &block->warps[k];
        warp->started = warp->parked = warp->done = false;
        warp->arrived = warp->complete = 0;
        warp->store = NULL;
    }
    if (block->checker) checker_begin(block);
}

void block_release(Worker *worker, Block *block)
{
    for (uint32_t k = 0; k < block->warp_count; k++) store_return(&block->warps[k], worker);
    block->next = worker->free_blocks;
    worker->free_blocks = block;
}

/* --- workers ------------------------------------------------------------------------------------------- */

Worker *worker_create(uint32_t index)
{
    Worker *worker = calloc(1, sizeof *worker);
    if (worker) worker->index = index;
    return worker;
}

void worker_destroy(Worker *worker)
{
    if (!worker) return;
    while (worker->free_blocks) {
        Block *next = worker->free_blocks->next;
        block_free(worker->free_blocks);
        worker->free_blocks = next;
    }
    while (worker->free_stores) {
        WarpStore *next = worker->free_stores->next;
        store_free(worker->free_stores);
        worker->free_stores = next;
    }
    lockstep_free(worker->lockstep);
    for (int k = 0; k < 2; k++) free(worker->sinks[k].bytes);
    grid_run_free(worker->run);
    free(worker);
}
