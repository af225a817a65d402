/* Blocks, clusters and grids, run in turn, and the threads that run them. */
#ifndef DEVICE_EXEC_RUN_RUN_H
#define DEVICE_EXEC_RUN_RUN_H

#include "exec/state/grid.h"

typedef enum {
    BLOCK_DONE,    /* all threads have exited */
    BLOCK_WAITING, /* it seems to wait for other blocks, or all that could run sleeps: run it again later */
    BLOCK_STOPPED  /* by a fault of this block or another, or by a GridStop */
} BlockResult;
/* A block's state with memory for the grid's blocks, the worker's until block_release(); NULL if out of
 * memory. */
Block *block_take(Worker *worker, Grid *grid);
/* Makes it the state of the block with that number, of which nothing has run. */
void block_begin(Block *block, uint64_t linear);
BlockResult block_run(Block *block, Worker *worker);
/* Returns the state to the worker, which keeps its memory for later blocks. */
void block_release(Worker *worker, Block *block);
/* The block and its cluster are deadlocked: the fault names the threads that wait and where. */
void block_fault_stuck(Block *block);
/* Called in each pass in which nothing of the cluster can run: whether its waits for mbarriers may time
 * out once more. False when the passes have gone on for so long that it is a deadlock. */
bool cluster_may_wait_longer(Cluster *cluster);

/* Gives a warp its registers and puts it at its first instruction. False if out of memory. */
bool warp_begin(Warp *warp, Worker *worker);
/* Runs a fresh block as a whole. False, with nothing done, where that is not possible. */
bool elementwise_run(Block *block, Worker *worker);
/* Runs the first instructions of a fresh block for all its warps at once, until they diverge. */
void lockstep_run(Block *block, Worker *worker);
void lockstep_free(struct Lockstep *lockstep);

/* The functions for blocks (take, begin, run, release), for all blocks of a cluster together, which its
 * first block, the leader, stands for. number: of the cluster in its grid. */
Block *cluster_take(Worker *worker, Grid *grid);
void cluster_begin(Block *leader, uint64_t number);
BlockResult cluster_run(Block *leader, Worker *worker);
void cluster_release_blocks(Worker *worker, Block *leader);

/* Runs the grid's blocks, to the end or a fault, with which *fault is filled; without one fault->code is 0.
 * What their threads launch is gathered in `children`, not run. */
void grid_run_blocks(WorkerPool *pool, const GridLaunch *launch, struct Children *children, ExecFault *fault);
void grid_run_free(struct GridRun *run);

Worker *worker_create(uint32_t index);
void worker_destroy(Worker *worker);
/* How long a grid runs before it is worth waking other threads. */
enum { HELP_AFTER_NS = 15000 };
/* An idle worker of the pool, or a new one; NULL if out of memory. */
Worker *worker_acquire(WorkerPool *pool);
void worker_release(WorkerPool *pool, Worker *worker);
/* Lets the pool's threads join in, once the grid has run for long enough to be worth it. */
void grid_call_help_if_long(Grid *grid);
/* As grid_call_help_if_long(), at once. */
void grid_call_help(Grid *grid);
/* Lets that many of the pool's threads join in the job: puts it into the list and wakes them. */
void worker_pool_call(WorkerPool *pool, PoolJob *job, uint64_t threads);
/* Takes the job from the list and waits for the threads that joined in. */
void worker_pool_finish(WorkerPool *pool, PoolJob *job);
/* Whether a thread of the pool has nothing to do and could be called; a hint. */
bool worker_pool_sleepers(WorkerPool *pool);
pthread_mutex_t *worker_pool_print_lock(WorkerPool *pool);
pthread_mutex_t *worker_pool_fault_lock(WorkerPool *pool);

#endif
