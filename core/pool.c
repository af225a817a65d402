/* See pool.h. */
#include "core/pool.h"

#include <stdint.h>
#include <stdlib.h>

/* How many blocks of a bin are looked at for one of the right stream. */
enum { LOOK_AT = 32 };

/* ---- Sources ---- */

IN_CALL static CUresult allocate_device(CUdeviceptr *pointer, size_t size, unsigned flags)
{
    (void)flags;
    return driver.cuMemAlloc(pointer, size);
}

IN_CALL static CUresult release_device(CUdeviceptr pointer) { return driver.cuMemFree(pointer); }

IN_CALL static CUresult allocate_host(CUdeviceptr *pointer, size_t size, unsigned flags)
{
    void *memory = NULL;
    CUresult result = driver.cuMemHostAlloc(&memory, size, flags);
    *pointer = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

IN_CALL static CUresult release_host(CUdeviceptr pointer)
{
    return driver.cuMemFreeHost((void *)(uintptr_t)pointer);
}

const PoolSource pool_device_memory = {allocate_device, release_device, "cuMemFree"};
const PoolSource pool_host_memory = {allocate_host, release_host, "cuMemFreeHost"};

/* ---- Events ---- */

static void lock_pool(Pool *pool) { pthread_mutex_lock(&pool->lock); }

static void unlock_pool(Pool *pool) { pthread_mutex_unlock(&pool->lock); }

static const PoolOrder in_order = {CUDA_SUCCESS, NULL};

/* A new event, or NULL with the error. */
IN_CALL static PoolEvent *make_event(PoolOrder *order)
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

/* An event after all that is queued on the stream, with one user. NULL with the error. */
IN_CALL static PoolEvent *record_event(Pool *pool, CUstream stream, PoolOrder *order)
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

IN_CALL static PoolOrder wait_event(CUstream stream, const PoolEvent *event)
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
    if (pthread_mutex_init(&pool->lock, NULL) == 0) {
        if (pthread_mutex_init(&pool->streams, NULL) == 0) return true;
        pthread_mutex_destroy(&pool->lock);
    }
    free(pool->bins);
    return false;
}

IN_CALL static void free_events(Pool *pool, bool with_driver)
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

/* The link to a block that needs no wait; with any_order else to the oldest one seen, whose work is most
 * likely done. */
static PoolBlock **find_locked(Pool *pool, unsigned bin, CUstream stream, bool any_order)
{
    PoolBlock **link = &pool->bins[bin], **last = NULL;
    for (int i = 0; i < LOOK_AT && *link; i++) {
        if (needs_no_wait(*link, stream)) return link;
        last = link;
        link = &(*link)->next;
    }
    return any_order ? last : NULL;
}

static PoolBlock *take(Pool *pool, size_t size, CUstream stream, bool any_order)
{
    unsigned bin = pool_bin_number(pool->bits, size);
    lock_pool(pool);
    PoolBlock **link = find_locked(pool, bin, stream, any_order), *block = link ? *link : NULL;
    if (block) {
        *link = block->next;
        pool->now.held_blocks--;
        activate_locked(pool, block, size);
    }
    unlock_pool(pool);
    return block;
}

PoolBlock *pool_take(Pool *pool, size_t size, CUstream stream)
{
    PoolBlock *block = take(pool, size, stream, false);
    if (block) block->stream = stream;
    return block;
}

IN_CALL CUresult pool_take_after(Pool *pool, size_t size, CUstream stream, PoolBlock **out, PoolOrder *order)
{
    *order = in_order;
    pthread_mutex_lock(&pool->streams);
    PoolBlock *block = *out = take(pool, size, stream, true);
    if (block && !needs_no_wait(block, stream)) {
        if (!block->ready) block->ready = record_event(pool, block->stream, order);
        if (block->ready) *order = wait_event(stream, block->ready);
    }
    pthread_mutex_unlock(&pool->streams);
    if (block) block->stream = stream;
    return order->result;
}

IN_CALL CUresult pool_add(Pool *pool, size_t size, CUstream stream, PoolBlock **out)
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
IN_CALL static PoolOrder order_after(Pool *pool, CUstream later, CUstream earlier)
{
    PoolOrder order = in_order;
    PoolEvent *event = record_event(pool, earlier, &order);
    if (!event) return order;
    order = wait_event(later, event);
    push_event(pool, event);
    return order;
}

IN_CALL CUresult pool_follow(Pool *pool, const PoolBlock *block, CUstream other, PoolOrder *order)
{
    *order = block->ready    ? wait_event(other, block->ready)
             : block->reused ? order_after(pool, other, block->stream)
                             : in_order;
    return order->result;
}

IN_CALL CUresult pool_join(Pool *pool, PoolBlock *block, CUstream other, PoolOrder *order)
{
    *order = order_after(pool, block->stream, other);
    return order->result;
}

IN_CALL CUresult pool_seal(Pool *pool, PoolBlock *block, PoolOrder *order)
{
    *order = in_order;
    PoolEvent *event = record_event(pool, block->stream, order);
    if (!event) return order->result;
    lock_pool(pool);
    drop_event_locked(pool, block);
    unlock_pool(pool);
    block->ready = event;
    block->stream = POOL_NO_STREAM;
    return CUDA_SUCCESS;
}

/* ---- Giving back ---- */

/* A block of a stream needs no event: the stream has waited for it. */
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

IN_CALL static CUresult release_block(Pool *pool, PoolBlock *block, bool with_driver)
{
    CUresult result = with_driver ? pool->source->release(block->pointer) : CUDA_SUCCESS;
    free(block);
    return result;
}

IN_CALL CUresult pool_drop(Pool *pool, PoolBlock *block, bool with_driver)
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

IN_CALL CUresult pool_release_largest(Pool *pool, bool *found)
{
    PoolBlock *block = unhold_largest(pool);
    *found = block != NULL;
    return block ? release_block(pool, block, true) : CUDA_SUCCESS;
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

IN_CALL CUresult pool_release_held(Pool *pool, bool with_driver)
{
    CUresult first = CUDA_SUCCESS;
    for (PoolBlock *block = unhold_all(pool), *next; block; block = next) {
        next = block->next;
        CUresult result = release_block(pool, block, with_driver);
        if (first == CUDA_SUCCESS) first = result;
    }
    return first;
}

IN_CALL CUresult pool_stop(Pool *pool, bool with_driver)
{
    lock_pool(pool);
    pool->stopped = true;
    unlock_pool(pool);
    return pool_release_held(pool, with_driver);
}

IN_CALL CUresult pool_clear(Pool *pool, bool with_driver)
{
    CUresult result = pool_release_held(pool, with_driver);
    free_events(pool, with_driver);
    free(pool->bins);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->streams);
    return result;
}

/* ---- A stream ends ---- */

static bool is_after(const PoolBlock *block, CUstream stream)
{
    return block->stream == stream && !block->ready;
}

static bool any_after_locked(const Pool *pool, CUstream stream)
{
    unsigned count = pool->now.held_blocks ? pool_bin_count(pool->bits) : 0;
    for (unsigned bin = 0; bin < count; bin++)
        for (const PoolBlock *block = pool->bins[bin]; block; block = block->next)
            if (is_after(block, stream)) return true;
    return false;
}

/* The event stands for the stream in all of its held blocks; NULL says that there is nothing to wait for. */
static void replace_stream_locked(Pool *pool, CUstream stream, PoolEvent *event)
{
    unsigned count = pool->now.held_blocks ? pool_bin_count(pool->bits) : 0;
    for (unsigned bin = 0; bin < count; bin++) {
        for (PoolBlock *block = pool->bins[bin]; block; block = block->next) {
            if (!is_after(block, stream)) continue;
            block->stream = POOL_NO_STREAM;
            block->ready = event;
            if (event) event->users++;
        }
    }
}

/* Nobody queues work on the stream any more, so that one event serves blocks that are given back meanwhile,
 * too. Those that were taken meanwhile were put in order under the same lock. */
IN_CALL CUresult pool_stream_gone(Pool *pool, CUstream stream)
{
    PoolOrder order;
    PoolEvent *event = NULL;
    pthread_mutex_lock(&pool->streams);
    lock_pool(pool);
    bool asked = any_after_locked(pool, stream);
    unlock_pool(pool);
    if (asked && !(event = record_event(pool, stream, &order))) driver.cuStreamSynchronize(stream);
    lock_pool(pool);
    replace_stream_locked(pool, stream, event);
    if (event && --event->users == 0) push_event_locked(pool, event);
    unlock_pool(pool);
    pthread_mutex_unlock(&pool->streams);
    return CUDA_SUCCESS;
}
