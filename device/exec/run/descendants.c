/* Runs what grids have launched, and what that launches in turn: the tree of launches below one of the host.
 *
 * A child that waits for nothing is ready. The thread that runs the host's launch takes one after another,
 * the newest first, so that few are pending at a time; threads of the pool join in when several are ready.
 * Nothing here recurses: a child that is done makes the next one of its queue ready; if it was the last one
 * of its parent, the parent may be done too.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/runtime/children.h"
#include "exec/run/run.h"
#include "exec/state/clock.h"

typedef struct LaunchTree {
    PoolJob job; /* must be first: it is cast to LaunchTree. open: how many are ready */
    pthread_mutex_t lock; /* guards the fields below, and the children's links to each other */
    pthread_cond_t changed; /* something is ready, or all is done */
    Children *root;
    const GridLaunch *launch; /* the host's */
    WorkerPool *pool;
    ExecFault *fault; /* the first of them */
    Child *ready;
    uint64_t started_ns;
    bool done;
} LaunchTree;

static void make_ready_locked(LaunchTree *tree, Child *child)
{
    child->next = tree->ready;
    tree->ready = child;
    atomic_fetch_add(&tree->job.open, 1);
    pthread_cond_signal(&tree->changed);
}

static Child *take_ready_locked(LaunchTree *tree)
{
    Child *child = tree->ready;
    if (!child) return NULL;
    tree->ready = child->next;
    atomic_fetch_sub(&tree->job.open, 1);
    return child;
}

/* Moves the next launches into their queues, up to one that must wait for all of these, and makes the
 * first one of each queue ready. False when no launches are left. Called only when all launches in the
 * queues are done. */
static bool start_next_locked(LaunchTree *tree, Children *own)
{
    ChildList *from = own->launched.first ? &own->launched : &own->tail;
    if (!from->first) return false;
    do {
        Child *child = child_list_take(from);
        child_list_append(&own->queues[child->queue], child);
        own->unfinished++;
    } while (from->first && !from->first->after_all);
    for (int k = CHILD_QUEUES - 1; k >= 0; k--) {
        Child *first = child_list_take(&own->queues[k]);
        if (first) make_ready_locked(tree, first);
    }
    return true;
}

/* Called when the blocks of a grid are done (own: its launches), which then starts its next launches. If
 * none are left the grid is done: it is freed, and if it was the last one in its parent's queues, the
 * same is done for the parent. If the root is done, so is the tree. */
static void end_grids_locked(LaunchTree *tree, Children *own)
{
    while (!start_next_locked(tree, own)) {
        if (own == tree->root) {
            tree->done = true;
            pthread_cond_broadcast(&tree->changed);
            return;
        }
        Child *child = (Child *)own;
        Children *siblings = child->siblings;
        Child *next = child_list_take(&siblings->queues[child->queue]);
        atomic_fetch_sub(&tree->launch->runtime->pending, 1);
        free(child);
        siblings->unfinished--;
        if (next) make_ready_locked(tree, next);
        if (siblings->unfinished) return;
        own = siblings;
    }
}

/* Runs the blocks of a child's grid, or its transfer. */
static void run_child(const LaunchTree *tree, Child *child, ExecFault *fault)
{
    DeviceRuntime *runtime = tree->launch->runtime;
    GridLaunch launch = *tree->launch;
    if (!child->function) {
        transfer_run((const Transfer *)(const void *)child->params, &launch, fault);
        return;
    }
    launch.function = child->function;
    memcpy(launch.grid, child->shape.grid, sizeof launch.grid);
    memcpy(launch.block, child->shape.block, sizeof launch.block);
    launch.dynamic_shared = child->shape.shared;
    launch.params = child->params;
    launch.cooperative = false;
    grid_set_cluster(&launch, (const uint32_t[3]){0});
    launch.grid_id = runtime->next_grid_id(runtime->closure);
    grid_run_blocks(tree->pool, &launch, &child->own, fault);
}

/* Calls threads of the pool when launches are ready and the tree has run for long enough to be worth it. */
static void ask_help(LaunchTree *tree)
{
    uint32_t open = atomic_load(&tree->job.open);
    if (!open || !worker_pool_sleepers(tree->pool)) return;
    if (!tree->job.queued && exec_now_ns() - tree->started_ns < HELP_AFTER_NS) return;
    worker_pool_call(tree->pool, &tree->job, open);
}

/* Runs grids that are ready until all are done; a helper leaves when none is. */
static void run_ready_grids(LaunchTree *tree, bool helper)
{
    ExecFault fault;
    pthread_mutex_lock(&tree->lock);
    while (!tree->done) {
        Child *child = take_ready_locked(tree);
        if (!child && helper) break;
        if (!child) {
            pthread_cond_wait(&tree->changed, &tree->lock);
            continue;
        }
        if (!tree->fault->code) {
            pthread_mutex_unlock(&tree->lock);
            ask_help(tree);
            run_child(tree, child, &fault);
            pthread_mutex_lock(&tree->lock);
            if (fault.code && !tree->fault->code) *tree->fault = fault;
        }
        end_grids_locked(tree, &child->own);
    }
    pthread_mutex_unlock(&tree->lock);
}

static void help(PoolJob *job) { run_ready_grids((LaunchTree *)job, true); }

int descendants_run(Children *root, const GridLaunch *launch, WorkerPool *pool, ExecFault *fault)
{
    if (!root->launched.first && !root->tail.first) return fault->code;
    LaunchTree tree = {
        .job = {.work = help},
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
        .root = root,
        .launch = launch,
        .pool = pool,
        .fault = fault,
        .started_ns = exec_now_ns(),
    };
    start_next_locked(&tree, root);
    run_ready_grids(&tree, false);
    worker_pool_finish(pool, &tree.job);
    pthread_mutex_destroy(&tree.lock);
    pthread_cond_destroy(&tree.changed);
    return fault->code;
}
