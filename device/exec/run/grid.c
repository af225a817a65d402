/* Runs a grid: hands out its blocks in ascending order to the workers.
 *
 * A worker runs one block to its end before it takes the next. In this file a block is the first one of a
 * cluster and stands for the whole cluster (cluster.c). When a block seems to wait for another one, the
 * worker begins further blocks and runs all of its blocks in turn, so that grids whose blocks wait for each
 * other come to an end. In a cooperative launch it may begin all blocks, in others as many as the device
 * holds at a time.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/checks/check.h"
#include "exec/runtime/children.h"
#include "exec/control/sleep.h"
#include "exec/run/run.h"
#include "exec/state/clock.h"
#include "exec/state/ranges.h"

enum {
    MAX_SHARE = 32, /* clusters that a worker takes at a time */
    WORKER_SHARES = 64, /* shares for each worker, at least: then all end at nearly the same time */
    STACK_DEFAULT = 65536, /* bytes of local memory of a thread, if neither code nor launch says how many */
    MAX_KEPT_PARAM_ROWS = 8192, /* bytes: 32 rows of 64-bit values; launches with more allocate them */
};

/* --- set-up -------------------------------------------------------------------------------------------- */

/* The value of a scalar parameter, widened to 64 bits. */
static uint64_t param_value(const CodeParamLoad *load, const uint8_t *params)
{
    uint64_t value = 0;
    memcpy(&value, params + load->offset, load->size);
    if (load->is_signed && load->size < 8 && value >> (8 * load->size - 1) & 1)
        value |= ~0ull << 8 * load->size;
    return value;
}

static void fill_row(uint8_t *row, uint32_t element, uint64_t value)
{
    for (int l = 0; l < WARP_LANES; l++) {
        if (element == 2) ((uint16_t *)(void *)row)[l] = (uint16_t)value;
        if (element == 4) ((uint32_t *)(void *)row)[l] = (uint32_t)value;
        if (element == 8) ((uint64_t *)(void *)row)[l] = value;
    }
}

static void fill_param_rows(const CodeFunction *function, const void *params, uint8_t *rows)
{
    for (uint32_t k = 0; k < function->param_load_count; k++) {
        const CodeParamLoad *load = &function->param_loads[k];
        uint64_t value = param_value(load, params);
        fill_row(rows + load->row, load->element, value);
        if (load->affine) affine_set_uniform(rows + load->row, load->element == 4 ? (uint32_t)value : value);
    }
}

/* Bytes from lane to lane in local memory: an odd number of cache lines, so that the same offset in two
 * lanes is not in one set of the cache. */
static size_t lane_stride(uint32_t size)
{
    size_t lines = ((size_t)size + 63) / 64;
    return size ? (lines | 1) * 64 : 0;
}

/* Clusters that a worker takes at a time: several if there are many, so that the workers seldom write the
 * counter's cache line. */
static uint32_t share_of(const Grid *grid)
{
    uint64_t share = grid->cluster_count / ((uint64_t)worker_pool_threads(grid->pool) * WORKER_SHARES);
    if (grid->launch->cooperative || share < 1) return 1;
    return share < MAX_SHARE ? (uint32_t)share : MAX_SHARE;
}

static uint32_t cluster_blocks(const GridLaunch *launch)
{
    uint32_t blocks = 1;
    for (int axis = 0; axis < 3; axis++) blocks *= launch->cluster[axis] ? launch->cluster[axis] : 1;
    return blocks;
}

/* The shared memory of a block: what the kernel uses, and in some modules reserved bytes after it. */
static uint32_t shared_size_of(const CodeFunction *function, uint32_t used)
{
    uint32_t units = (used + RESERVED_SHARED_ALIGN - 1) / RESERVED_SHARED_ALIGN;
    return function->module->reserves_shared ? units * RESERVED_SHARED_ALIGN + RESERVED_SHARED : used;
}

static void help(PoolJob *job);

static const _Atomic uint32_t never_stopped;

static void grid_init(Grid *grid, WorkerPool *pool, const GridLaunch *launch, ExecFault *fault)
{
    const CodeFunction *function = launch->function;
    uint32_t limit = launch->stack_limit ? launch->stack_limit : STACK_DEFAULT;
    grid->launch = launch;
    grid->function = function;
    grid->pool = pool;
    grid->shared_used = function->shared_size + launch->dynamic_shared;
    grid->shared_size = shared_size_of(function, grid->shared_used);
    grid->threads = launch->block[0] * launch->block[1] * launch->block[2];
    grid->warps = (grid->threads + WARP_LANES - 1) / WARP_LANES;
    grid->local_size = function->stack_size == UINT32_MAX ? limit : function->stack_size;
    if (grid->local_size < function->local_size) grid->local_size = function->local_size;
    grid->local_stride = lane_stride(grid->local_size);
    grid->block_count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    grid->cluster_size = cluster_blocks(launch);
    grid->cluster_count = grid->block_count / grid->cluster_size;
    grid->share = share_of(grid);
    atomic_init(&grid->next_block, 0);
    atomic_init(&grid->faulted, false);
    atomic_init(&grid->diverges, false);
    atomic_init(&grid->resident, 1);
    grid->stop = launch->stop ? launch->stop : &never_stopped;
    grid->fault = fault;
    grid->places.count = 0;
    grid->fault_lock = worker_pool_fault_lock(pool);
    grid->print_lock = worker_pool_print_lock(pool);
    grid->job = (PoolJob){.work = help};
    atomic_init(&grid->job.open, 1);
    grid->called = false;
    memset(grid->workspace, 0, sizeof grid->workspace);
}

/* --- blocks -------------------------------------------------------------------------------------------- */

/* Takes the next cluster's number from the worker's share, or from a new share; false when none is left. */
static bool take_number(Grid *grid, Worker *worker, uint64_t *number)
{
    if (worker->share_next == worker->share_end) {
        uint64_t first;
        if (atomic_load_explicit(&grid->next_block, memory_order_relaxed) >= grid->cluster_count)
            return false;
        first = atomic_fetch_add_explicit(&grid->next_block, grid->share, memory_order_relaxed);
        if (first >= grid->cluster_count) return false;
        worker->share_next = first;
        worker->share_end =
            grid->cluster_count - first < grid->share ? grid->cluster_count : first + grid->share;
    }
    *number = worker->share_next++;
    return true;
}

/* Begins the next cluster. Returns its first block; NULL when none is left, or, with *failed set, if out
 * of memory. */
static Block *next_block(Grid *grid, Worker *worker, bool *failed)
{
    uint64_t number;
    Block *block;
    if (!take_number(grid, worker, &number)) return NULL;
    block = cluster_take(worker, grid);
    if (!block) {
        exec_fault_plain(grid, CUDA_ERROR_OUT_OF_MEMORY, "kernel %s: no memory for the state of a block",
                         grid->function->name);
        *failed = true;
        return NULL;
    }
    cluster_begin(block, number);
    return block;
}

static void push_last(Worker *worker, Block *block)
{
    block->next = NULL;
    if (worker->live)
        worker->live_last->next = block;
    else
        worker->live = block;
    worker->live_last = block;
}

static void push_first(Worker *worker, Block *block)
{
    block->next = worker->live;
    if (!worker->live) worker->live_last = block;
    worker->live = block;
}

static Block *pop_first(Worker *worker)
{
    Block *block = worker->live;
    if (!block) return NULL;
    worker->live = block->next;
    return block;
}

/* next_block() for a worker whose blocks all seem to wait. NULL also if the device holds no more blocks. */
static Block *one_more(Grid *grid, Worker *worker, bool *failed)
{
    const GridLaunch *launch = grid->launch;
    bool all = launch->cooperative || !launch->resident;
    uint64_t max = all ? UINT64_MAX : launch->resident(launch) / grid->cluster_size;
    if (atomic_fetch_add(&grid->resident, 1) < max) {
        Block *block = next_block(grid, worker, failed);
        if (block) return block;
    }
    atomic_fetch_sub(&grid->resident, 1);
    return NULL;
}

/* Runs a cluster until it is done, waits or must stop. */
static BlockResult run_one(Grid *grid, Worker *worker, Block *block)
{
    if (worker->last != block) range_forget(worker);
    worker->last = block;
    range_check_generation(worker, grid->launch->memory);
    if (grid->function->elementwise && elementwise_run(block, worker)) return BLOCK_DONE;
    return cluster_run(block, worker);
}

/* Runs the block and, as long as no block waits, the blocks that follow, in the same state. Returns NULL
 * when no more are to be run so; else the block that waits or was stopped, as *result says. */
static Block *run_in_place(Grid *grid, Worker *worker, Block *block, BlockResult *result)
{
    for (;;) {
        uint64_t number;
        *result = run_one(grid, worker, block);
        if (*result != BLOCK_DONE) return block;
        if (worker->live) break;
        if (!take_number(grid, worker, &number)) break;
        cluster_begin(block, number);
    }
    cluster_release_blocks(worker, block);
    if (worker->live) atomic_fetch_sub(&grid->resident, 1);
    return NULL;
}

static void drop_all(Worker *worker)
{
    for (Block *block; (block = pop_first(worker)) != NULL;) cluster_release_blocks(worker, block);
}

/* Called when a worker stopped before the grid's end. A canceled grid gets a fault. Returns whether the
 * grid is to be resumed later: it has no fault. */
static bool is_to_be_resumed(Grid *grid)
{
    if (atomic_load(grid->stop) & GRID_CANCEL)
        exec_fault_plain(grid, CUDA_ERROR_LAUNCH_FAILED,
                         "kernel %s was interrupted by its program before it ended", grid->function->name);
    return !atomic_load(&grid->faulted);
}

static void begin_work(Worker *worker, uint32_t heeds)
{
    worker->heeds = heeds;
    worker->last = NULL;
    worker->share_next = worker->share_end = 0;
}

/* Runs blocks of the grid. True when none is left, or after a fault; false when the worker was asked to
 * leave: then it keeps the blocks that it has begun, to resume them. */
static bool grid_work(Grid *grid, Worker *worker)
{
    bool failed = false;
    while (!failed && !grid_stops(grid, worker)) {
        BlockResult result;
        Block *block = pop_first(worker), *fresh;
        if (!block) block = next_block(grid, worker, &failed);
        if (!block) break;
        block = run_in_place(grid, worker, block, &result);
        if (!block) continue;
        push_last(worker, block);
        if (result == BLOCK_STOPPED) break;
        fresh = one_more(grid, worker, &failed);
        if (fresh)
            push_first(worker, fresh);
        else if (block->asleep)
            sleep_worker(worker);
        else if (worker->live == block)
            sched_yield();
    }
    if (grid_stops(grid, worker) && is_to_be_resumed(grid)) return false;
    drop_all(worker);
    atomic_fetch_sub(&grid->resident, 1);
    return true;
}

/* PoolJob.work of a grid, on a thread of the pool. */
static void help(PoolJob *job)
{
    Grid *grid = (Grid *)job;
    Worker *worker = worker_acquire(grid->pool);
    if (worker) {
        begin_work(worker, GRID_CANCEL);
        atomic_fetch_add(&grid->resident, 1);
        grid_work(grid, worker);
        worker_release(grid->pool, worker);
    }
    atomic_store(&job->open, 0); /* all blocks are taken, or there is no memory for one more thread */
}

/* --- the whole ----------------------------------------------------------------------------------------- */

/* Whether threads are to be woken at once, because the blocks have many instructions. Grids that take
 * long because of loops are found as they run (grid_call_help_if_long). */
static bool is_long_grid(const Grid *grid)
{
    return grid->cluster_count > 1 && grid->block_count * grid->warps * grid->function->insn_count > 20000;
}

/* The state of a grid that a worker leads, kept with the worker from launch to launch. */
struct GridRun {
    Grid grid;
    Children children;
    Worker *worker;
    bool blocks_done;
    _Alignas(64) uint8_t rows[MAX_KEPT_PARAM_ROWS];
};

void grid_run_free(GridRun *run) { free(run); }

/* A worker with memory for a run; NULL if out of memory. */
static Worker *acquire_leader(WorkerPool *pool)
{
    Worker *worker = worker_acquire(pool);
    if (worker && !worker->run) worker->run = aligned_alloc(64, sizeof *worker->run);
    if (!worker || worker->run) return worker;
    worker_release(pool, worker);
    return NULL;
}

/* Sets up a run. children: where launches of the grid's threads are gathered; NULL: in the run itself.
 * NULL after a fault, which is in *fault. */
static GridRun *start(WorkerPool *pool, const GridLaunch *launch, Children *children, ExecFault *fault)
{
    const char *name = launch->function->name;
    size_t size = ((size_t)launch->function->param_rows_size + 63) / 64 * 64;
    Worker *worker = acquire_leader(pool);
    uint8_t *rows = !worker                       ? NULL
                    : size <= MAX_KEPT_PARAM_ROWS ? worker->run->rows
                                                  : aligned_alloc(64, size);
    fault->code = CUDA_SUCCESS;
    fault->text[0] = '\0';
    if (!rows) {
        if (worker) worker_release(pool, worker);
        *fault = (ExecFault){.code = CUDA_ERROR_OUT_OF_MEMORY};
        snprintf(fault->text, sizeof fault->text, "kernel %s: no memory for a worker or its parameters",
                 name);
        return NULL;
    }
    GridRun *run = worker->run;
    run->worker = worker;
    run->blocks_done = false;
    grid_init(&run->grid, pool, launch, fault);
    run->grid.global_race = check_grid(&run->grid);
    if (!children) children_init(&run->children);
    run->grid.children = children ? children : &run->children;
    run->grid.param_rows = rows;
    fill_param_rows(launch->function, launch->params, rows);
    run->grid.started_ns = exec_now_ns();
    begin_work(worker, GRID_CANCEL);
    if (is_long_grid(&run->grid)) grid_call_help(&run->grid);
    return run;
}

/* False when the thread was asked to leave. */
static bool run_blocks(GridRun *run, uint32_t heeds)
{
    Grid *grid = &run->grid;
    run->worker->heeds = heeds;
    if (!grid_work(grid, run->worker)) return false;
    worker_pool_finish(grid->pool, &grid->job);
    if (grid->launch->runtime) children_drop_open(grid->children, grid->launch->runtime);
    run->blocks_done = true;
    return true;
}

static void finish_grid(GridRun *run)
{
    if (run->grid.param_rows != run->rows) free(run->grid.param_rows);
    global_race_destroy(run->grid.global_race);
    worker_release(run->grid.pool, run->worker);
}

void grid_run_blocks(WorkerPool *pool, const GridLaunch *launch, Children *children, ExecFault *fault)
{
    GridRun *run = start(pool, launch, children, fault);
    if (!run) return;
    run_blocks(run, GRID_CANCEL);
    finish_grid(run);
}

GridRun *grid_start(WorkerPool *pool, const GridLaunch *launch, ExecFault *fault)
{
    return start(pool, launch, NULL, fault);
}

/* Runs the grid's blocks, then the grids that it launched. These cannot be left, so a thread that may
 * leave returns false before it would begin with them. */
bool grid_resume(GridRun *run, bool may_leave)
{
    Grid *grid = &run->grid;
    if (!run->blocks_done && !run_blocks(run, GRID_CANCEL | (may_leave ? GRID_LEAVE : 0))) return false;
    bool more = run->children.launched.first || run->children.tail.first;
    if (more && may_leave) return false;
    if (more) descendants_run(&run->children, grid->launch, grid->pool, grid->fault);
    finish_grid(run);
    return true;
}

int grid_run(WorkerPool *pool, const GridLaunch *launch, ExecFault *fault)
{
    GridRun *run = grid_start(pool, launch, fault);
    if (run) grid_resume(run, false);
    return fault->code;
}
