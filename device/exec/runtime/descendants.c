/* Runs what grids have launched, and what that launches in turn: the family of one launch of the host.
 *
 * A child that waits for nothing is ready. The thread that runs the host's launch takes one after the other, the
 * one made ready last first, so that few are under way; threads of the pool join in when there are several.
 * Nothing here recurses: a child that is done makes the next of its lane ready, or is its parent's last one,
 * which may then be done itself.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/runtime/children.h"
#include "exec/state.h"

typedef struct Family {
    PoolJob job;                /* first; open: how many are ready */
    pthread_mutex_t lock;       /* of the fields below and of what the children know of each other */
    pthread_cond_t changed;     /* something is ready, or all is done */
    Children *root;
    const GridLaunch *launch;   /* the host's */
    WorkerPool *pool;
    ExecFault *fault;           /* the first of them */
    Child *ready;
    uint64_t started_ns;
    bool done;
} Family;

static void make_ready_locked(Family *family, Child *child)
{
    child->next = family->ready;
    family->ready = child;
    atomic_fetch_add(&family->job.open, 1);
    pthread_cond_signal(&family->changed);
}

static Child *take_ready_locked(Family *family)
{
    Child *child = family->ready;
    if (!child) return NULL;
    family->ready = child->next;
    atomic_fetch_sub(&family->job.open, 1);
    return child;
}

/* Puts launches into their lanes, up to one that waits for all others; false when none is left. */
static bool start_next_locked(Family *family, Children *own)
{
    ChildList *from = own->launched.first ? &own->launched : &own->tail;
    if (!from->first) return false;
    do {
        Child *child = child_list_take(from);
        child_list_append(&own->lanes[child->lane], child);
        own->unfinished++;
    } while (from->first && !from->first->after_all);
    for (int k = CHILD_LANES - 1; k >= 0; k--) {
        Child *first = child_list_take(&own->lanes[k]);
        if (first) make_ready_locked(family, first);
    }
    return true;
}

/* The blocks of the grid that launched these are done; it ends with the last of them, and its parent perhaps
 * with it. */
static void go_on_locked(Family *family, Children *own)
{
    while (!start_next_locked(family, own)) {
        if (own == family->root) {
            family->done = true;
            pthread_cond_broadcast(&family->changed);
            return;
        }
        Child *child = (Child *)own;
        Children *siblings = child->siblings;
        Child *next = child_list_take(&siblings->lanes[child->lane]);
        atomic_fetch_sub(&family->launch->runtime->pending, 1);
        free(child);
        siblings->unfinished--;
        if (next) make_ready_locked(family, next);
        if (siblings->unfinished) return;
        own = siblings;
    }
}

static void run_child(const Family *family, Child *child, ExecFault *fault)
{
    DeviceRuntime *runtime = family->launch->runtime;
    GridLaunch launch = *family->launch;
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
    launch.grid_id = runtime->next_grid_id(runtime->closure);
    grid_run_blocks(family->pool, &launch, &child->own, fault);
}

/* Threads of the pool are asked in when something waits for a thread and the whole takes long enough. */
static void ask_help(Family *family)
{
    uint32_t open = atomic_load(&family->job.open);
    if (!open || !worker_pool_sleepers(family->pool)) return;
    if (!family->job.queued && exec_now_ns() - family->started_ns < HELP_AFTER_NS) return;
    worker_pool_call(family->pool, &family->job, open);
}

/* Runs what is ready until all is done; a helper leaves when nothing is. */
static void work(Family *family, bool helper)
{
    ExecFault fault;
    pthread_mutex_lock(&family->lock);
    while (!family->done) {
        Child *child = take_ready_locked(family);
        if (!child && helper) break;
        if (!child) {
            pthread_cond_wait(&family->changed, &family->lock);
            continue;
        }
        if (!family->fault->code) {
            pthread_mutex_unlock(&family->lock);
            ask_help(family);
            run_child(family, child, &fault);
            pthread_mutex_lock(&family->lock);
            if (fault.code && !family->fault->code) *family->fault = fault;
        }
        go_on_locked(family, &child->own);
    }
    pthread_mutex_unlock(&family->lock);
}

static void help(PoolJob *job) { work((Family *)job, true); }

int descendants_run(Children *root, const GridLaunch *launch, WorkerPool *pool, ExecFault *fault)
{
    if (!root->launched.first && !root->tail.first) return fault->code;
    Family family = {
        .job = {.work = help},
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
        .root = root,
        .launch = launch,
        .pool = pool,
        .fault = fault,
        .started_ns = exec_now_ns(),
    };
    start_next_locked(&family, root);
    work(&family, false);
    worker_pool_finish(pool, &family.job);
    pthread_mutex_destroy(&family.lock);
    pthread_cond_destroy(&family.changed);
    return fault->code;
}
