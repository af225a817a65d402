/* See pool.h. */
#include "core/pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory_marks.h"

enum { MAX_BLOCKS_SEARCHED = 32 }; /* by a request that looks for a block of its stream */

/* ---- Events ---- */

static void lock_pool(Pool *pool) { spin_lock(&pool->lock); }

static void unlock_pool(Pool *pool) { spin_unlock(&pool->lock); }

static const PoolError no_error = {CUDA_SUCCESS, NULL};

/* A new event; NULL, with *error, if none can be made. Out of host memory counts as an error of
 * cuEventCreate. */
IN_CALL static PoolEvent *make_event(PoolError *error)
{
    PoolEvent *event = malloc(sizeof *event);
    CUresult result =
        event ? driver.cuEventCreate(&event->event, CU_EVENT_DISABLE_TIMING) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) return event;
    *error = (PoolError){result, "cuEventCreate"};
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

/* An event that is recorded after all work queued on the stream, with one user. NULL, with *error, on
 * failure. */
IN_CALL static PoolEvent *record_event(Pool *pool, CUstream stream, PoolError *error)
{
    lock_pool(pool);
    PoolEvent *event = pop_event_locked(pool);
    unlock_pool(pool);
    if (!event && !(event = make_event(error))) return NULL;
    CUresult result = driver.cuEventRecord(event->event, stream);
    event->users = 1;
    if (result == CUDA_SUCCESS) return event;
    *error = (PoolError){result, "cuEventRecord"};
    push_event(pool, event);
    return NULL;
}

/* Ends one use of the event (NULL: nothing), which is kept for reuse after the last. */
static void unuse_event_locked(Pool *pool, PoolEvent *event)
{
    if (event && --event->users == 0) push_event_locked(pool, event);
}

static void drop_event_locked(Pool *pool, PoolBlock *block)
{
    PoolEvent *event = block->ready;
    block->ready = NULL;
    unuse_event_locked(pool, event);
}

IN_CALL static PoolError wait_event(CUstream stream, const PoolEvent *event)
{
    CUresult result = driver.cuStreamWaitEvent(stream, event->event, 0);
    return result == CUDA_SUCCESS ? no_error : (PoolError){result, "cuStreamWaitEvent"};
}

/* ---- The pool ---- */

bool pool_init(Pool *pool, const PoolSource *source, unsigned flags, unsigned bits)
{
    *pool = (Pool){.source = source, .flags = flags, .bits = bits};
    pool->checked = source->may_be_checked && memory_marks_wanted();
    if (source != &pool_external_memory) pool->cpu_marks = driver_memory_marks();
    if (source->ordered) pool_pass_through(pool);
    pool->bins = calloc(pool_bin_count(bits), sizeof(PoolBlock *));
    if (!pool->bins) return false;
    if (pthread_mutex_init(&pool->streams, NULL) == 0) return true;
    free(pool->bins);
    return false;
}

void pool_pass_through(Pool *pool)
{
    pool->stopped = pool->exact = true;
    pool->checked = false;
    pool->cpu_marks = NULL;
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

void pool_reset_peaks(Pool *pool)
{
    lock_pool(pool);
    pool->now.managed_bytes_high = pool->now.managed_bytes;
    pool->now.active_bytes_high = pool->now.active_bytes;
    unlock_pool(pool);
}

size_t pool_list_blocks(Pool *pool, PoolBlock *out, size_t capacity)
{
    size_t count = 0;
    lock_pool(pool);
    for (const PoolBlock *block = pool->blocks; block; block = block->after, count++)
        if (count < capacity) out[count] = *block;
    unlock_pool(pool);
    return count;
}

/* Repeated until the array is large enough, as the pool may grow meanwhile. */
PoolBlock *pool_copy_blocks(Pool *pool, size_t *count)
{
    size_t capacity = 0;
    PoolBlock *blocks = NULL;
    while ((*count = pool_list_blocks(pool, blocks, capacity)) > capacity || !blocks) {
        capacity = *count + *count / 8 + 1;
        free(blocks);
        blocks = calloc(capacity, sizeof *blocks);
        if (!blocks) break;
    }
    return blocks;
}

static void activate_locked(Pool *pool, PoolBlock *block, size_t size)
{
    PoolStatistics *now = &pool->now;
    block->size = size;
    block->active = true;
    now->active_blocks++;
    now->active_bytes += size;
    if (now->active_bytes > now->active_bytes_high) now->active_bytes_high = now->active_bytes;
}

static void deactivate_locked(Pool *pool, PoolBlock *block)
{
    block->active = false;
    pool->now.active_blocks--;
    pool->now.active_bytes -= block->size;
}

/* ---- The limit ---- */

void pool_set_limit(Pool *pool, size_t limit)
{
    lock_pool(pool);
    pool->limit = limit;
    unlock_pool(pool);
}

size_t pool_get_limit(Pool *pool)
{
    lock_pool(pool);
    size_t limit = pool->limit;
    unlock_pool(pool);
    return limit;
}

/* Whether a new block of that capacity would exceed the limit. */
static bool is_beyond_locked(const Pool *pool, size_t capacity)
{
    return pool->limit && (capacity > pool->limit || pool->now.managed_bytes > pool->limit - capacity);
}

static size_t capacity_for(const Pool *pool, size_t size)
{
    if (pool->exact) return size ? size : 1;
    return pool_alloc_size(pool->bits, pool_bin_number(pool->bits, size));
}

bool pool_is_beyond_limit(Pool *pool, size_t size)
{
    size_t capacity = capacity_for(pool, size);
    lock_pool(pool);
    bool beyond = is_beyond_locked(pool, capacity);
    unlock_pool(pool);
    return beyond;
}

/* ---- Reports of which bytes are in use ---- */

/* To the CPU device only, which needs no driver call. */
static void mark_use_here(const Pool *pool, const PoolBlock *block)
{
    if (pool->cpu_marks) pool->cpu_marks->use(block->cpu_mark, block->size);
}

IN_CALL static void mark_use(const Pool *pool, const PoolBlock *block)
{
    mark_use_here(pool, block);
    if (pool->checked && block->size) memory_marks_use(block->heap, block->pointer, block->size);
}

/* Waits for the work on the stream or, if that is POOL_NO_STREAM, for the event `ready`. Does not wait for a
 * stream under capture, nor for the legacy stream while a capture forbids that: then *captured is true. */
IN_CALL static CUresult await_work(CUstream stream, const PoolEvent *ready, bool *captured)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    *captured = false;
    if (stream == POOL_NO_STREAM) return ready ? driver.cuEventSynchronize(ready->event) : CUDA_SUCCESS;
    CUresult result = driver.cuStreamIsCapturing(stream, &capture);
    *captured = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || capture != CU_STREAM_CAPTURE_STATUS_NONE;
    if (*captured || result != CUDA_SUCCESS) return *captured ? CUDA_SUCCESS : result;
    return driver.cuStreamSynchronize(stream);
}

IN_CALL CUresult pool_end_use(const PoolBlock *block)
{
    bool captured;
    CUresult result = await_work(block->stream, block->ready, &captured);
    if (block->size) memory_marks_end(block->pointer);
    return result;
}

/* ---- Taking ---- */

static bool needs_no_wait(const Pool *pool, const PoolBlock *block, CUstream stream)
{
    bool follows = block->stream == stream && !pool->source->host_uses;
    return !block->ready && (follows || block->stream == POOL_NO_STREAM);
}

/* The link to a block of the bin that needs no wait, among the first *looks blocks, which are counted down.
 * If there is none, NULL, or with any_order the link to the oldest block seen, whose work is most likely
 * done. */
static PoolBlock **find_locked(Pool *pool, unsigned bin, CUstream stream, bool any_order, int *looks)
{
    PoolBlock **link = &pool->bins[bin], **last = NULL;
    for (; *looks > 0 && *link; --*looks) {
        if (needs_no_wait(pool, *link, stream)) return link;
        last = link;
        link = &(*link)->next;
    }
    return any_order ? last : NULL;
}

/* As find_locked(), in the bins for up to twice the size; NULL if the pool does not share its bins. */
static PoolBlock **find_larger_locked(Pool *pool, unsigned bin, CUstream stream, bool any_order, int *looks)
{
    unsigned end = bin + (1u << pool->bits), count = pool_bin_count(pool->bits);
    PoolBlock **link = NULL;
    for (bin++; pool->shares_bins && !link && bin <= end && bin < count; bin++)
        if (pool->bins[bin]) link = find_locked(pool, bin, stream, any_order, looks);
    return link;
}

static PoolBlock *take(Pool *pool, size_t size, CUstream stream, bool any_order)
{
    unsigned bin = pool_bin_number(pool->bits, size);
    int looks = MAX_BLOCKS_SEARCHED;
    lock_pool(pool);
    PoolBlock **link = find_locked(pool, bin, stream, any_order, &looks);
    if (!link) link = find_larger_locked(pool, bin, stream, any_order, &looks);
    PoolBlock *block = link ? *link : NULL;
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
    PoolBlock *block = pool->checked ? NULL : take(pool, size, stream, false);
    if (!block) return NULL;
    block->stream = stream;
    mark_use_here(pool, block);
    return block;
}

static void drop_event(Pool *pool, PoolBlock *block)
{
    lock_pool(pool);
    drop_event_locked(pool, block);
    unlock_pool(pool);
}

/* Puts an active block into its bin. A block of a stream needs no event anymore: the stream has waited for
 * it. */
static void hold_locked(Pool *pool, PoolBlock *block)
{
    deactivate_locked(pool, block);
    if (block->stream != POOL_NO_STREAM) drop_event_locked(pool, block);
    block->reused = true;
    block->next = pool->bins[block->bin];
    pool->bins[block->bin] = block;
    pool->now.held_blocks++;
}

/* The host waits until the block's last work is done. */
IN_CALL static void await_block(Pool *pool, PoolBlock *block, PoolError *error)
{
    if (!block->ready) return;
    CUresult result = driver.cuEventSynchronize(block->ready->event);
    if (result == CUDA_SUCCESS)
        drop_event(pool, block);
    else
        *error = (PoolError){result, "cuEventSynchronize"};
}

IN_CALL CUresult pool_take_after(Pool *pool, size_t size, CUstream stream, PoolBlock **out, PoolError *error)
{
    *error = no_error;
    pthread_mutex_lock(&pool->streams);
    PoolBlock *block = *out = take(pool, size, stream, true);
    if (block && !needs_no_wait(pool, block, stream)) {
        if (!block->ready) block->ready = record_event(pool, block->stream, error);
        if (block->ready && !pool->source->host_uses) *error = wait_event(stream, block->ready);
    }
    pthread_mutex_unlock(&pool->streams);
    if (block && pool->source->host_uses) await_block(pool, block, error);
    if (block && error->result == CUDA_ERROR_NOT_READY) {
        lock_pool(pool);
        hold_locked(pool, block);
        unlock_pool(pool);
        block = *out = NULL;
    }
    if (block) block->stream = stream;
    if (block && error->result == CUDA_SUCCESS) mark_use(pool, block);
    return error->result;
}

/* ---- New blocks ---- */

static PoolBlock *new_block(const Pool *pool, size_t size, CUstream stream)
{
    PoolBlock *block = calloc(1, sizeof *block);
    if (!block) return NULL;
    block->bin = pool_bin_number(pool->bits, size);
    block->capacity = capacity_for(pool, size);
    block->stream = stream;
    block->reused = pool->source->ordered;
    return block;
}

/* Counts the bytes as managed. False, with nothing counted, when that is beyond the limit. */
static bool reserve_bytes(Pool *pool, size_t capacity)
{
    lock_pool(pool);
    bool beyond = is_beyond_locked(pool, capacity);
    if (!beyond) pool->now.managed_bytes += capacity;
    unlock_pool(pool);
    return !beyond;
}

static void unreserve(Pool *pool, size_t capacity)
{
    lock_pool(pool);
    pool->now.managed_bytes -= capacity;
    unlock_pool(pool);
}

/* Adds a new block, now active, whose bytes reserve_bytes() has counted. */
static void include_block(Pool *pool, PoolBlock *block, CUdeviceptr pointer, size_t size)
{
    PoolStatistics *now = &pool->now;
    block->pointer = pointer;
    lock_pool(pool);
    block->after = pool->blocks;
    if (block->after) block->after->before = block;
    pool->blocks = block;
    activate_locked(pool, block, size);
    if (now->managed_bytes > now->managed_bytes_high) now->managed_bytes_high = now->managed_bytes;
    unlock_pool(pool);
}

IN_CALL CUresult pool_add(Pool *pool, size_t size, CUstream stream, PoolBlock **out)
{
    CUdeviceptr pointer;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    PoolBlock *block = new_block(pool, size, stream);
    if (!block) return result;
    if (reserve_bytes(pool, block->capacity)) {
        result = pool->source->allocate(pool, &pointer, block->capacity, stream);
        if (result != CUDA_SUCCESS) unreserve(pool, block->capacity);
    }
    if (result != CUDA_SUCCESS) {
        free(block);
        return result;
    }
    if (pool->checked) block->heap = memory_marks_block(pointer, block->capacity);
    if (pool->cpu_marks) block->cpu_mark = pool->cpu_marks->make(pointer);
    include_block(pool, block, pointer, size);
    mark_use(pool, block);
    *out = block;
    return CUDA_SUCCESS;
}

PoolBlock *pool_adopt(Pool *pool, CUdeviceptr pointer, size_t size, CUstream stream)
{
    PoolBlock *block = new_block(pool, size, stream);
    if (!block) return NULL;
    if (reserve_bytes(pool, block->capacity)) {
        include_block(pool, block, pointer, size);
        return block;
    }
    free(block);
    return NULL;
}

/* ---- More streams than one ---- */

/* Makes the stream `later` wait for the work that is queued on `earlier`. */
IN_CALL static PoolError order_after(Pool *pool, CUstream later, CUstream earlier)
{
    PoolError error = no_error;
    PoolEvent *event = record_event(pool, earlier, &error);
    if (!event) return error;
    error = wait_event(later, event);
    push_event(pool, event);
    return error;
}

IN_CALL CUresult pool_follow(Pool *pool, const PoolBlock *block, CUstream other, PoolError *error)
{
    *error = block->ready    ? wait_event(other, block->ready)
             : block->reused ? order_after(pool, other, block->stream)
                             : no_error;
    return error->result;
}

IN_CALL CUresult pool_join(Pool *pool, PoolBlock *block, CUstream other, PoolError *error)
{
    *error = order_after(pool, block->stream, other);
    return error->result;
}

IN_CALL CUresult pool_record(Pool *pool, PoolBlock *block, PoolError *error)
{
    *error = no_error;
    PoolEvent *event = record_event(pool, block->stream, error);
    if (!event) return error->result;
    drop_event(pool, block);
    block->ready = event;
    return CUDA_SUCCESS;
}

IN_CALL CUresult pool_seal(Pool *pool, PoolBlock *block, PoolError *error)
{
    if (pool_record(pool, block, error) == CUDA_SUCCESS) block->stream = POOL_NO_STREAM;
    return error->result;
}

/* ---- Returning blocks ---- */

bool pool_put(Pool *pool, PoolBlock *block)
{
    if (pool->cpu_marks) pool->cpu_marks->end(block->cpu_mark);
    lock_pool(pool);
    bool held = !pool->stopped;
    if (held) hold_locked(pool, block);
    unlock_pool(pool);
    return held;
}

/* Removes a block that is in no bin from the pool's list and its statistics. */
static void forget_locked(Pool *pool, PoolBlock *block)
{
    drop_event_locked(pool, block);
    pool->now.managed_bytes -= block->capacity;
    if (block->after) block->after->before = block->before;
    if (block->before)
        block->before->after = block->after;
    else
        pool->blocks = block->after;
}

/* ---- Streams on which memory was freed to the driver's pool ---- */

static PoolPendingFree *find_pending_locked(const Pool *pool, CUstream stream)
{
    for (size_t i = 0; i < pool->pending_count; i++)
        if (pool->pending[i].stream == stream) return &pool->pending[i];
    return NULL;
}

/* Adds an entry. If out of memory it is dropped, and a later trim may free less. */
static void add_pending_locked(Pool *pool, PoolPendingFree one)
{
    if (pool->pending_count == pool->pending_capacity) {
        size_t capacity = 2 * pool->pending_capacity + 4;
        PoolPendingFree *larger = realloc(pool->pending, capacity * sizeof *larger);
        if (!larger) {
            unuse_event_locked(pool, one.ready);
            return;
        }
        pool->pending = larger;
        pool->pending_capacity = capacity;
    }
    pool->pending[pool->pending_count++] = one;
}

static void note_pending_free(Pool *pool, CUstream stream)
{
    lock_pool(pool);
    if (!find_pending_locked(pool, stream)) add_pending_locked(pool, (PoolPendingFree){stream, NULL});
    unlock_pool(pool);
}

/* Removes the oldest; false if there is none. */
static bool pop_pending(Pool *pool, PoolPendingFree *out)
{
    lock_pool(pool);
    bool some = pool->pending_count;
    if (some) {
        *out = pool->pending[0];
        memmove(pool->pending, pool->pending + 1, --pool->pending_count * sizeof *pool->pending);
    }
    unlock_pool(pool);
    return some;
}

/* Called after the wait for an entry that was removed. If the work is not done the entry is added again,
 * unless there is a newer one for its stream. */
static void settle_pending(Pool *pool, PoolPendingFree one, bool done)
{
    lock_pool(pool);
    if (done)
        unuse_event_locked(pool, one.ready);
    else if (one.stream == POOL_NO_STREAM || !find_pending_locked(pool, one.stream))
        add_pending_locked(pool, one);
    unlock_pool(pool);
}

static size_t count_pending(Pool *pool)
{
    lock_pool(pool);
    size_t count = pool->pending_count;
    unlock_pool(pool);
    return count;
}

/* Drops entries of destroyed streams whose work is done: they would accumulate if the pool is never
 * trimmed. */
IN_CALL static void drop_done_pending(Pool *pool)
{
    PoolPendingFree one;
    for (size_t left = count_pending(pool); left-- && pop_pending(pool, &one);) {
        bool destroyed = one.stream == POOL_NO_STREAM;
        settle_pending(pool, one,
                       destroyed && (!one.ready || driver.cuEventQuery(one.ready->event) == CUDA_SUCCESS));
    }
}

/* Each entry is removed before the wait, so that a free on its stream during the wait adds a new one.
 * `streams` is held so that no stream is destroyed meanwhile. */
IN_CALL CUresult pool_await_pending_frees(Pool *pool)
{
    CUresult first = CUDA_SUCCESS;
    PoolPendingFree one;
    bool captured;
    pthread_mutex_lock(&pool->streams);
    for (size_t left = count_pending(pool); left-- && pop_pending(pool, &one);) {
        CUresult result = await_work(one.stream, one.ready, &captured);
        settle_pending(pool, one, result == CUDA_SUCCESS && !captured);
        if (first == CUDA_SUCCESS) first = result;
    }
    pthread_mutex_unlock(&pool->streams);
    return first;
}

IN_CALL static CUresult trim_source(Pool *pool, size_t keep)
{
    if (!pool->source->trim) return CUDA_SUCCESS;
    CUresult result = pool_await_pending_frees(pool);
    return result == CUDA_SUCCESS ? pool->source->trim(pool, keep) : result;
}

/* ---- Releasing memory to the source ---- */

IN_CALL static CUresult release_block(Pool *pool, PoolBlock *block, bool with_driver)
{
    CUresult result = with_driver ? pool->source->release(pool, block) : CUDA_SUCCESS;
    if (!with_driver && pool->source->free_later) pool->source->free_later(block);
    if (with_driver && pool->driver_pool) note_pending_free(pool, block->stream);
    if (pool->cpu_marks) pool->cpu_marks->drop(block->cpu_mark);
    free(block);
    return result;
}

IN_CALL CUresult pool_leave_event(PoolBlock *block)
{
    CUresult result = CUDA_SUCCESS;
    if (block->stream != POOL_NO_STREAM) return result;
    if (block->ready)
        result = pool_default_stream_is_barred() ? driver.cuEventSynchronize(block->ready->event)
                                                 : wait_event(NULL, block->ready).result;
    if (result != CUDA_SUCCESS) result = driver.cuCtxSynchronize();
    block->stream = NULL;
    return result;
}

IN_CALL CUresult pool_drop(Pool *pool, PoolBlock *block, bool with_driver)
{
    if (with_driver && pool->source->ordered) (void)pool_leave_event(block);
    lock_pool(pool);
    deactivate_locked(pool, block);
    forget_locked(pool, block);
    unlock_pool(pool);
    return release_block(pool, block, with_driver);
}

/* Removes the newest held block from its bin, which has one, and from the pool. */
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

/* Takes out all held blocks and returns them as a list. */
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

IN_CALL static CUresult release_blocks(Pool *pool, bool with_driver)
{
    CUresult first = CUDA_SUCCESS;
    for (PoolBlock *block = unhold_all(pool), *next; block; block = next) {
        next = block->next;
        CUresult result = release_block(pool, block, with_driver);
        if (first == CUDA_SUCCESS) first = result;
    }
    return first;
}

IN_CALL CUresult pool_release_held(Pool *pool, bool with_driver)
{
    CUresult result = release_blocks(pool, with_driver);
    return result == CUDA_SUCCESS && with_driver ? trim_source(pool, 0) : result;
}

IN_CALL CUresult pool_trim_to(Pool *pool, size_t keep)
{
    CUresult result = CUDA_SUCCESS;
    bool found = true;
    while (result == CUDA_SUCCESS && found && pool_statistics(pool).managed_bytes > keep)
        result = pool_release_largest(pool, &found);
    return result == CUDA_SUCCESS ? trim_source(pool, keep) : result;
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
    CUresult result = release_blocks(pool, with_driver);
    for (PoolPendingFree one; pop_pending(pool, &one);) settle_pending(pool, one, true);
    free_events(pool, with_driver);
    free(pool->pending);
    free(pool->bins);
    pthread_mutex_destroy(&pool->streams);
    return result;
}

IN_CALL CUresult pool_end_source(Pool *pool)
{
    CUresult result = CUDA_SUCCESS;
    size_t count;
    if (!pool->source->end) return result;
    PoolBlock *blocks = pool_copy_blocks(pool, &count);
    if (!blocks) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        blocks[i].stream = NULL; /* its own may be destroyed */
        result = pool->source->release(pool, &blocks[i]);
    }
    free(blocks);
    if (count && result == CUDA_SUCCESS) result = driver.cuCtxSynchronize();
    return result == CUDA_SUCCESS ? pool->source->end(pool) : result;
}

/* ---- A stream ends ---- */

/* Whether the block's last work is on the stream, without an event for it. */
static bool is_after(const PoolBlock *block, CUstream stream)
{
    return block->stream == stream && !block->ready;
}

/* Whether any held block is_after() the stream. */
static bool any_after_locked(const Pool *pool, CUstream stream)
{
    unsigned count = pool->now.held_blocks ? pool_bin_count(pool->bits) : 0;
    for (unsigned bin = 0; bin < count; bin++)
        for (const PoolBlock *block = pool->bins[bin]; block; block = block->next)
            if (is_after(block, stream)) return true;
    return false;
}

/* Replaces the stream by the event in held blocks and in the entry of pending frees. NULL: the stream's work
 * is done. */
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
    PoolPendingFree *pending = find_pending_locked(pool, stream);
    if (!pending) return;
    *pending = (PoolPendingFree){POOL_NO_STREAM, event};
    if (event) event->users++;
}

/* No more work is queued on the stream, so the event is also right for blocks that are freed to it meanwhile.
 * Requests that take such blocks wait for the lock `streams`. */
IN_CALL CUresult pool_stream_destroyed(Pool *pool, CUstream stream)
{
    PoolError error;
    PoolEvent *event = NULL;
    pthread_mutex_lock(&pool->streams);
    drop_done_pending(pool);
    lock_pool(pool);
    bool needs_event = any_after_locked(pool, stream) || find_pending_locked(pool, stream);
    unlock_pool(pool);
    if (needs_event && !(event = record_event(pool, stream, &error))) driver.cuStreamSynchronize(stream);
    lock_pool(pool);
    replace_stream_locked(pool, stream, event);
    if (event && --event->users == 0) push_event_locked(pool, event);
    unlock_pool(pool);
    pthread_mutex_unlock(&pool->streams);
    return CUDA_SUCCESS;
}
