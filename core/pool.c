#include "core/pool.h"

#include <stdint.h>
#include <stdlib.h>

/* How many blocks of a bin are looked at for one of the right stream. */
enum { LOOK_AT = 32 };

/* ---- Sources ---- */

static CUresult allocate_device(CUdeviceptr *pointer, size_t size, unsigned flags)
{
    (void)flags;
    return driver.cuMemAlloc(pointer, size);
}

static CUresult release_device(CUdeviceptr pointer) { return driver.cuMemFree(pointer); }

static CUresult allocate_host(CUdeviceptr *pointer, size_t size, unsigned flags)
{
    void *memory = NULL;
    CUresult result = driver.cuMemHostAlloc(&memory, size, flags);
    *pointer = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

static CUresult release_host(CUdeviceptr pointer) { return driver.cuMemFreeHost((void *)(uintptr_t)pointer); }

const PoolSource pool_device_memory = {allocate_device, release_device, "cuMemFree"};
const PoolSource pool_host_memory = {allocate_host, release_host, "cuMemFreeHost"};

/* ---- Events ---- */

static void lock_pool(Pool *pool) { pthread_mutex_lock(&pool->lock); }

static void unlock_pool(Pool *pool) { pthread_mutex_unlock(&pool->lock); }

static const PoolOrder in_order = {CUDA_SUCCESS, NULL};

/* A new event, or NULL with the error. */
static PoolEvent *make_event(PoolOrder *order)
{
    PoolEvent *event = malloc(sizeof *event);
    CUresult result =
        event ? driver.cuEventCreate(&event->event, CU_EVENT_DISABLE_TIMING) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) return event;
    *order = (PoolOrder){result, "cuEventCreate"};
    free(event);
    return NULL;
}

static PoolEvent *pop_event_locked(Pool *pool)
{
    PoolEvent *event = pool->events;
    if (event) pool->events = event->next;
    return event;
}

static void push_event_locked(Pool *pool, PoolEvent *event)
{
    event->next = pool->events;
    pool->events = event;
}

static void push_event(Pool *pool, PoolEvent *event)
{
    lock_pool(pool);
    push_event_locked(pool, event);
    unlock_pool(pool);
}

/* An event behind all that is queued on the stream, with one user. NULL with the error. */
static PoolEvent *record_event(Pool *pool, CUstream stream, PoolOrder *order)
{
    lock_pool(pool);
    PoolEvent *event = pop_event_locked(pool);
    unlock_pool(pool);
    if (!event && !(event = make_event(order))) return NULL;
    CUresult result = driver.cuEventRecord(event->event, stream);
    event->users = 1;
    if (result == CUDA_SUCCESS) return event;
    *order = (PoolOrder){result, "cuEventRecord"};
    push_event(pool, event);
    return NULL;
}

static void drop_event_locked(Pool *pool, PoolBlock *block)
{
    PoolEvent *event = block->ready;
    block->ready = NULL;
    if (event && --event->users == 0) push_event_locked(pool, event);
}

static PoolOrder wait_event(CUstream stream, const PoolEvent *event)
{
    CUresult result = driver.cuStreamWaitEvent(stream, event->event, 0);
    return result == CUDA_SUCCESS ? in_order : (PoolOrder){result, "cuStreamWaitEvent"};
}

/* ---- The pool ---- */

bool pool_init(Pool *pool, const PoolSource *source, unsigned flags, unsigned bits)
{
    *pool = (Pool){.source = source, .flags = flags, .bits = bits};
    pool->bins = calloc(pool_bin_count(bits), sizeof(PoolBlock *));
    if (!pool->bins) return false;
    if (pthread_mutex_init(&pool->lock, NULL) == 0) return true;
    free(pool->bins);
    return false;
}

static void free_events(Pool *pool, bool with_driver)
{
    while (pool->events) {
        PoolEvent *event = pop_event_locked(pool);
        if (with_driver) driver.cuEventDestroy(event->event);
        free(event);
    }
}

PoolStatistics pool_statistics(Pool *pool)
{
    lock_pool(pool);
    PoolStatistics now = pool->now;
    unlock_pool(pool);
    return now;
}

static void activate_locked(Pool *pool, PoolBlock *block, size_t size)
{
    block->size = size;
    pool->now.active_blocks++;
    pool->now.active_bytes += size;
}

static void deactivate_locked(Pool *pool, const PoolBlock *block)
{
    pool->now.active_blocks--;
    pool->now.active_bytes -= block->size;
}

/* ---- Taking ---- */

static bool needs_no_wait(const PoolBlock *block, CUstream stream)
{
    return !block->ready && (block->stream == stream || block->stream == POOL_NO_STREAM);
}

/* The link to a block that needs no wait, else to the oldest one seen, whose work is most likely done. */
static PoolBlock **find_locked(Pool *pool, unsigned bin, CUstream stream)
{
    PoolBlock **link = &pool->bins[bin], **last = link;
    for (int i = 0; i < LOOK_AT && *link; i++) {
        if (needs_no_wait(*link, stream)) return link;
        last = link;
        link = &(*link)->next;
    }
    return last;
}

PoolBlock *pool_take(Pool *pool, size_t size, CUstream stream)
{
    unsigned bin = pool_bin_number(pool->bits, size);
    lock_pool(pool);
    PoolBlock **link = find_locked(pool, bin, stream), *block = *link;
    if (block) {
        *link = block->next;
        pool->now.held_blocks--;
        activate_locked(pool, block, size);
    }
    unlock_pool(pool);
    return block;
}

PoolOrder pool_order(Pool *pool, PoolBlock *block, CUstream stream)
{
    PoolOrder order = in_order;
    if (!needs_no_wait(block, stream)) {
        if (!block->ready) block->ready = record_event(pool, block->stream, &order);
        if (block->ready) order = wait_event(stream, block->ready);
    }
    block->stream = stream;
    return order;
}

CUresult pool_add(Pool *pool, size_t size, CUstream stream, PoolBlock **out)
{
    unsigned bin = pool_bin_number(pool->bits, size);
    size_t bytes = pool_alloc_size(pool->bits, bin);
    PoolBlock *block = calloc(1, sizeof *block);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = pool->source->allocate(&block->pointer, bytes, pool->flags);
    if (result != CUDA_SUCCESS) {
        free(block);
        return result;
    }
    block->bin = bin;
    block->stream = stream;
    lock_pool(pool);
    activate_locked(pool, block, size);
    pool->now.managed_bytes += bytes;
    unlock_pool(pool);
    *out = block;
    return CUDA_SUCCESS;
}

/* ---- More streams than one ---- */

/* `later` waits for what is queued on `earlier`. */
static PoolOrder put_behind(Pool *pool, CUstream later, CUstream earlier)
{
    PoolOrder order = in_order;
    PoolEvent *event = record_event(pool, earlier, &order);
    if (!event) return order;
    order = wait_event(later, event);
    push_event(pool, event);
    return order;
}

PoolOrder pool_follow(Pool *pool, PoolBlock *block, CUstream other)
{
    if (block->ready) return wait_event(other, block->ready);
    return block->reused ? put_behind(pool, other, block->stream) : in_order;
}

PoolOrder pool_join(Pool *pool, PoolBlock *block, CUstream other)
{
    return put_behind(pool, block->stream, other);
}

PoolOrder pool_seal(Pool *pool, PoolBlock *block)
{
    PoolOrder order = in_order;
    PoolEvent *event = record_event(pool, block->stream, &order);
    if (!event) return order;
    lock_pool(pool);
    drop_event_locked(pool, block);
    unlock_pool(pool);
    block->ready = event;
    block->stream = POOL_NO_STREAM;
    return order;
}

/* ---- Giving back ---- */

/* What its stream waited for is behind the block, unless an event stands for the stream. */
bool pool_put(Pool *pool, PoolBlock *block)
{
    lock_pool(pool);
    bool held = !pool->stopped;
    if (held) {
        deactivate_locked(pool, block);
        if (block->stream != POOL_NO_STREAM) drop_event_locked(pool, block);
        block->reused = true;
        block->next = pool->bins[block->bin];
        pool->bins[block->bin] = block;
        pool->now.held_blocks++;
    }
    unlock_pool(pool);
    return held;
}

/* Takes a block that is in no bin out of the accounts. */
static void forget_locked(Pool *pool, PoolBlock *block)
{
    drop_event_locked(pool, block);
    pool->now.managed_bytes -= pool_alloc_size(pool->bits, block->bin);
}

static CUresult release_block(Pool *pool, PoolBlock *block, bool with_driver)
{
    CUresult result = with_driver ? pool->source->release(block->pointer) : CUDA_SUCCESS;
    free(block);
    return result;
}

CUresult pool_drop(Pool *pool, PoolBlock *block, bool with_driver)
{
    lock_pool(pool);
    deactivate_locked(pool, block);
    forget_locked(pool, block);
    unlock_pool(pool);
    return release_block(pool, block, with_driver);
}

static PoolBlock *unhold_locked(Pool *pool, unsigned bin)
{
    PoolBlock *block = pool->bins[bin];
    pool->bins[bin] = block->next;
    pool->now.held_blocks--;
    forget_locked(pool, block);
    return block;
}

static PoolBlock *unhold_largest(Pool *pool)
{
    PoolBlock *block = NULL;
    lock_pool(pool);
    for (unsigned bin = pool->now.held_blocks ? pool_bin_count(pool->bits) : 0; bin-- > 0 && !block;)
        if (pool->bins[bin]) block = unhold_locked(pool, bin);
    unlock_pool(pool);
    return block;
}

bool pool_release_largest(Pool *pool, CUresult *result)
{
    PoolBlock *block = unhold_largest(pool);
    *result = block ? release_block(pool, block, true) : CUDA_SUCCESS;
    return block != NULL;
}

/* All held blocks, linked by next. */
static PoolBlock *unhold_all(Pool *pool)
{
    PoolBlock *all = NULL;
    lock_pool(pool);
    for (unsigned bin = 0; pool->now.held_blocks; bin++) {
        while (pool->bins[bin]) {
            PoolBlock *block = unhold_locked(pool, bin);
            block->next = all;
            all = block;
        }
    }
    unlock_pool(pool);
    return all;
}

CUresult pool_release_held(Pool *pool, bool with_driver)
{
    CUresult first = CUDA_SUCCESS;
    for (PoolBlock *block = unhold_all(pool), *next; block; block = next) {
        next = block->next;
        CUresult result = release_block(pool, block, with_driver);
        if (first == CUDA_SUCCESS) first = result;
    }
    return first;
}

CUresult pool_stop(Pool *pool, bool with_driver)
{
    lock_pool(pool);
    pool->stopped = true;
    unlock_pool(pool);
    return pool_release_held(pool, with_driver);
}

CUresult pool_clear(Pool *pool, bool with_driver)
{
    CUresult result = pool_release_held(pool, with_driver);
    free_events(pool, with_driver);
    free(pool->bins);
    pthread_mutex_destroy(&pool->lock);
    return result;
}

/* ---- A stream ends ---- */

static bool is_behind(const PoolBlock *block, CUstream stream)
{
    return block->stream == stream && !block->ready;
}

/* One event for all blocks of the stream. Without one the work is waited for, after which no order is
 * needed. */
static PoolEvent *event_for_end_locked(Pool *pool, CUstream stream)
{
    PoolOrder order;
    PoolEvent *event = pop_event_locked(pool);
    if (!event) event = make_event(&order);
    if (event && driver.cuEventRecord(event->event, stream) == CUDA_SUCCESS) {
        event->users = 0;
        return event;
    }
    if (event) push_event_locked(pool, event);
    driver.cuStreamSynchronize(stream);
    return NULL;
}

void pool_stream_gone(Pool *pool, CUstream stream)
{
    PoolEvent *event = NULL;
    bool asked = false;
    lock_pool(pool);
    unsigned count = pool->now.held_blocks ? pool_bin_count(pool->bits) : 0;
    for (unsigned bin = 0; bin < count; bin++) {
        for (PoolBlock *block = pool->bins[bin]; block; block = block->next) {
            if (!is_behind(block, stream)) continue;
            if (!asked) event = event_for_end_locked(pool, stream);
            asked = true;
            block->stream = POOL_NO_STREAM;
            block->ready = event;
            if (event) event->users++;
        }
    }
    unlock_pool(pool);
}
