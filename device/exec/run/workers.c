/* The threads that help to run grids, and the worker states that threads borrow while they do.
 *
 * A grid is run by the thread that launched it. It is put into the list of jobs, so that the pool's threads
 * join in, when it looks long or has run for some microseconds: most small kernels are over before a thread
 * could be woken. The tree of grids that a grid has launched is such a job too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exec/run/run.h"
#include "exec/state/clock.h"

struct WorkerPool {
    pthread_mutex_t lock;         /* guards the fields below */
    pthread_cond_t wake, left;    /* a job may be open; the last helper has left a job */
    PoolJob *jobs;
    _Atomic uint32_t sleepers;
    Worker *idle;
    uint32_t workers_made;
    bool closing;
    uint32_t thread_count;        /* without the callers of grid_run */
    pthread_t *threads;
    pthread_mutex_t print_lock, fault_lock;
    uint64_t seed;                /* of the random scheduler; 0: none */
};

pthread_mutex_t *worker_pool_print_lock(WorkerPool *pool) { return &pool->print_lock; }

pthread_mutex_t *worker_pool_fault_lock(WorkerPool *pool) { return &pool->fault_lock; }

int worker_pool_threads(const WorkerPool *pool) { return (int)pool->thread_count + 1; }

/* --- worker states ------------------------------------------------------------------------------------- */

Worker *worker_acquire(WorkerPool *pool)
{
    Worker *worker;
    uint32_t index = 0;
    pthread_mutex_lock(&pool->lock);
    worker = pool->idle;
    if (worker)
        pool->idle = worker->next;
    else
        index = pool->workers_made++;
    pthread_mutex_unlock(&pool->lock);
    if (!worker) worker = worker_create(index);
    if (worker) worker->random = pool->seed;
    return worker;
}

void worker_release(WorkerPool *pool, Worker *worker)
{
    pthread_mutex_lock(&pool->lock);
    worker->next = pool->idle;
    pool->idle = worker;
    pthread_mutex_unlock(&pool->lock);
}

/* --- help ---------------------------------------------------------------------------------------------- */

/* A job that one more thread can join; NULL if there is none. */
static PoolJob *open_job_locked(const WorkerPool *pool)
{
    PoolJob *job = pool->jobs;
    while (job && !atomic_load(&job->open)) job = job->next;
    return job;
}

static void unqueue_locked(WorkerPool *pool, PoolJob *job)
{
    for (PoolJob **at = &pool->jobs; *at; at = &(*at)->next) {
        if (*at != job) continue;
        *at = job->next;
        return;
    }
}

bool worker_pool_sleepers(WorkerPool *pool) { return !pool->seed && atomic_load(&pool->sleepers); }

void worker_pool_call(WorkerPool *pool, PoolJob *job, uint64_t threads)
{
    if (!pool->thread_count || pool->seed || !threads) return;
    pthread_mutex_lock(&pool->lock);
    if (!atomic_exchange(&job->queued, true)) {
        job->next = pool->jobs;
        pool->jobs = job;
    }
    pthread_mutex_unlock(&pool->lock);
    if (threads >= pool->thread_count)
        pthread_cond_broadcast(&pool->wake);
    else
        while (threads--) pthread_cond_signal(&pool->wake);
}

void worker_pool_finish(WorkerPool *pool, PoolJob *job)
{
    if (!atomic_load(&job->queued)) return;
    pthread_mutex_lock(&pool->lock);
    unqueue_locked(pool, job);
    while (job->helpers) pthread_cond_wait(&pool->left, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void grid_call_help(Grid *grid)
{
    if (grid->called) return;
    grid->called = true;
    worker_pool_call(grid->pool, &grid->job, grid->cluster_count - 1);
}

void grid_call_help_if_long(Grid *grid)
{
    if (grid->called || grid->cluster_count == 1) return;
    if (exec_now_ns() - grid->started_ns > HELP_AFTER_NS) grid_call_help(grid);
}

/* Runs a job; the lock is released meanwhile. */
static void help_locked(WorkerPool *pool, PoolJob *job)
{
    job->helpers++;
    pthread_mutex_unlock(&pool->lock);
    job->work(job);
    pthread_mutex_lock(&pool->lock);
    if (--job->helpers == 0) pthread_cond_broadcast(&pool->left);
}

static void sleep_locked(WorkerPool *pool)
{
    atomic_fetch_add(&pool->sleepers, 1);
    pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
}

static void *thread_main(void *closure)
{
    WorkerPool *pool = closure;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closing) {
        PoolJob *job = open_job_locked(pool);
        if (job)
            help_locked(pool, job);
        else
            sleep_locked(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* --- the pool ------------------------------------------------------------------------------------------ */

bool worker_schedule_seed(const char *text, uint64_t *seed)
{
    char *end = NULL;
    if (strncmp(text, "random:", 7) != 0 || text[7] < '0' || text[7] > '9') return false;
    *seed = strtoull(text + 7, &end, 10) * 0x9e3779b97f4a7c15ull;
    if (!*seed) *seed = 1;
    return !*end;
}

static uint64_t seed_from_environment(void)
{
    const char *text = getenv("PYCUDA_CPU_SCHEDULE");
    uint64_t seed;
    return text && worker_schedule_seed(text, &seed) ? seed : 0;
}

static void start_threads(WorkerPool *pool, uint32_t wanted)
{
    pool->threads = calloc(wanted, sizeof *pool->threads);
    if (!pool->threads) return;
    while (pool->thread_count < wanted
           && pthread_create(&pool->threads[pool->thread_count], NULL, thread_main, pool) == 0)
        pool->thread_count++;
}

WorkerPool *worker_pool_create(int threads)
{
    WorkerPool *pool = calloc(1, sizeof *pool);
    if (!pool) return NULL;
    if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_mutex_init(&pool->print_lock, NULL);
    pthread_mutex_init(&pool->fault_lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->left, NULL);
    pool->seed = seed_from_environment();
    if (threads > 1) start_threads(pool, (uint32_t)threads - 1);
    return pool;
}

void worker_pool_destroy(WorkerPool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t k = 0; k < pool->thread_count; k++) pthread_join(pool->threads[k], NULL);
    while (pool->idle) {
        Worker *next = pool->idle->next;
        worker_destroy(pool->idle);
        pool->idle = next;
    }
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->left);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->print_lock);
    pthread_mutex_destroy(&pool->fault_lock);
    free(pool->threads);
    free(pool);
}
