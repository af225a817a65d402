/* Clusters: blocks that run at the same time and reach each other's shared memory.
 *
 * The worker that takes a cluster runs its blocks in turn, each until it waits. So what two blocks of a
 * cluster share needs no locks, as what two warps of a block share does not; and the memory of a block that
 * has ended stays until its cluster ends. Where no block can run, waits for mbarriers time out in all of
 * them; a cluster in which nothing waits for one, or nothing else has happened for long, is deadlocked.
 */
#include "exec/async/mbarrier.h"
#include "exec/run/run.h"
#include "exec/state/clock.h"

/* A cluster seems to wait for another one after that many rounds in which no block did more than wait. */
enum { SPIN_ROUNDS = 16 };

/* A cluster is deadlocked when waits for mbarriers have timed out in at least that many passes and for at
 * least that long. The time is compared in every STUCK_LOOK-th pass. */
enum { STUCK_PASSES = 65536, STUCK_LOOK = 1024 };
#define STUCK_NS UINT64_C(1000000000)

/* --- the blocks ---------------------------------------------------------------------------------------- */

void cluster_release_blocks(Worker *worker, Block *leader)
{
    const Cluster *cluster = &leader->own;
    for (uint32_t r = cluster->size; r-- > 0;) block_release(worker, cluster->blocks[r]);
}

Block *cluster_take(Worker *worker, Grid *grid)
{
    Block *leader = block_take(worker, grid);
    while (leader && leader->own.size < grid->cluster_size) {
        Block *block = block_take(worker, grid);
        if (!block) {
            cluster_release_blocks(worker, leader);
            return NULL;
        }
        block->cluster = &leader->own;
        block->rank = leader->own.size++;
        leader->own.blocks[block->rank] = block;
    }
    return leader;
}

/* The number in the grid of the block with that rank in that cluster. */
static uint64_t block_number(const GridLaunch *launch, uint64_t cluster, uint32_t rank)
{
    uint64_t number = 0, stride = 1;
    for (unsigned axis = 0; axis < 3; axis++) {
        uint32_t size = launch_cluster_size(launch, axis), count = launch->grid[axis] / size;
        number += stride * (cluster % count * size + rank % size);
        cluster /= count;
        rank /= size;
        stride *= launch->grid[axis];
    }
    return number;
}

void cluster_begin(Block *leader, uint64_t number)
{
    Cluster *cluster = &leader->own;
    cluster->arrived = cluster->stuck = cluster->spins = 0;
    if (cluster->size == 1) {
        block_begin(leader, number);
        return;
    }
    for (uint32_t r = 0; r < cluster->size; r++)
        block_begin(cluster->blocks[r], block_number(leader->grid->launch, number, r));
}

/* --- running ------------------------------------------------------------------------------------------- */

bool cluster_may_wait_longer(Cluster *cluster)
{
    if (cluster->stuck == 0) cluster->stuck_since = exec_now_ns();
    cluster->stuck++;
    bool look = cluster->stuck >= STUCK_PASSES && cluster->stuck % STUCK_LOOK == 0;
    return !look || exec_now_ns() - cluster->stuck_since <= STUCK_NS;
}

/* What became of the blocks in a round. */
typedef struct ClusterRound {
    bool alive; /* some block has not ended */
    bool stopped; /* some block must stop */
    bool ran; /* some block could run */
    uint64_t wake_at; /* when the first of the groups that sleep wakes; 0: none does */
    Block *idle; /* one of the blocks that could not run */
} ClusterRound;

/* Runs each block until it waits. */
static ClusterRound run_round(Cluster *cluster, Worker *worker)
{
    ClusterRound round = {0};
    for (uint32_t r = 0; r < cluster->size; r++) {
        Block *block = cluster->blocks[r];
        if (!block->live) continue;
        BlockResult result = block_run(block, worker);
        round.stopped = result == BLOCK_STOPPED;
        if (round.stopped) return round;
        if (result == BLOCK_DONE || !block->idle) round.ran = true;
        if (result == BLOCK_DONE) continue;
        round.alive = true;
        if (block->idle) round.idle = block;
        if (block->wake_at && (!round.wake_at || block->wake_at < round.wake_at))
            round.wake_at = block->wake_at;
    }
    return round;
}

/* Lets the waits for mbarriers time out. False when nothing waits for one. */
static bool expire_all(Cluster *cluster)
{
    bool any = false;
    for (uint32_t r = 0; r < cluster->size; r++) any |= mbarrier_expire(cluster->blocks[r]);
    return any;
}

/* block_run() for a cluster of several blocks, which run in turn. */
static BlockResult run_blocks(Block *leader, Worker *worker)
{
    Cluster *cluster = &leader->own;
    for (;;) {
        cluster->advanced = false;
        ClusterRound round = run_round(cluster, worker);
        if (round.stopped) return BLOCK_STOPPED;
        if (!round.alive) return BLOCK_DONE;
        leader->asleep = !round.ran && round.wake_at;
        if (leader->asleep) {
            leader->wake_at = round.wake_at;
            return BLOCK_WAITING;
        }
        if (!round.ran && !(cluster_may_wait_longer(cluster) && expire_all(cluster))) {
            block_fault_stuck(round.idle);
            return BLOCK_STOPPED;
        }
        if (cluster->advanced) cluster->spins = 0;
        if (++cluster->spins < SPIN_ROUNDS) continue;
        cluster->spins = 0;
        return BLOCK_WAITING;
    }
}

BlockResult cluster_run(Block *leader, Worker *worker)
{
    return leader->own.size == 1 ? block_run(leader, worker) : run_blocks(leader, worker);
}
