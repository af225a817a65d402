/* Stream-ordered allocation: blocks, which streams may reuse a freed one, and when they return to the
 * device. */
#include <stdlib.h>

#include "api/base/log.h"
#include "api/memory/memory.h"
#include "api/memory/pool.h"
#include "api/stream/capture.h"
#include "api/stream/stream.h"

struct MemoryBlock {
    MemoryBlock *next, **link; /* in a list of its pool: used, or a bin */
    Pool *pool;             /* a reference */
    CUdeviceptr base;
    uint64_t capacity;      /* its bytes */
    uint64_t size;          /* requested bytes, while in use */
    const Context *context; /* the one that has allocated it */
    unsigned tasks;         /* allocations and frees of the block that have not run in their streams */
    bool in_bin;            /* it is unused, in a bin */
    bool observed;          /* the host has waited for its free: any stream may reuse it */
    bool bound;             /* to a graph, whose launches alone use it */
    bool launched;          /* of a bound block: its graph has been launched */
    bool handed;            /* of a bound block: a launch has kept it for the program */
    bool ceded;             /* its bytes are no longer counted: another block has them from its free on */
    Stream *stream;         /* of its last free, a reference; NULL: none that could have to be waited for */
    uint64_t number;        /* of that free's task in the stream */
};

/* A task by which kernels find the range of a block from now on (run_begin), or no longer (run_end). */
typedef struct RangeTask {
    Task task;
    MemoryRange range;
} RangeTask;

static const MemoryKind memory_kinds[POOL_KINDS] =
    {[POOL_DEVICE] = MEMORY_DEVICE, [POOL_MANAGED] = MEMORY_MANAGED, [POOL_HOST] = MEMORY_HOST_PINNED};

static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static Pool *holders;       /* the pools that have blocks */
static _Atomic size_t idle; /* blocks in bins */

/* ---- Lists and bins ---- */

static void list_add(MemoryBlock *block, MemoryBlock **list)
{
    block->next = *list;
    block->link = list;
    if (block->next) block->next->link = &block->next;
    *list = block;
}

static void list_remove(MemoryBlock *block)
{
    *block->link = block->next;
    if (block->next) block->next->link = block->link;
}

/* Eight bins for each power of two: by the position of the highest bit, and the three bits below it. */
static int bin_of(uint64_t capacity)
{
    enum { BIN_BITS = 3 };
    int power = 63 - __builtin_clzll(capacity);
    return (power << BIN_BITS) + (int)(capacity >> (power - BIN_BITS) & ((1 << BIN_BITS) - 1));
}

/* A bound block stays with its graph, in no bin. */
static void put_in_bin_locked(MemoryBlock *block)
{
    if (block->bound) return;
    block->in_bin = true;
    list_add(block, &block->pool->bins[bin_of(block->capacity)]);
    atomic_fetch_add(&idle, 1);
}

static void take_from_bin_locked(MemoryBlock *block)
{
    block->in_bin = false;
    list_remove(block);
    atomic_fetch_sub(&idle, 1);
}

/* The size rounded up to 512 bytes, above 1 MiB to 2 MiB: blocks of similar sizes can be reused for each
 * other. */
static uint64_t capacity_for(uint64_t size)
{
    const uint64_t large = UINT64_C(1) << 20, unit = size > large ? 2 * large : 512;
    return (size + unit - 1) & ~(unit - 1);
}

/* ---- Blocks ---- */

/* Sets the pool's bytes in use and reserved. A pool with reserved bytes is in the list `holders`. */
static void set_counts_locked(Pool *pool, uint64_t in_use, uint64_t reserved)
{
    if (!pool->reserved && reserved) {
        pool->next = holders;
        holders = pool;
    }
    pool->in_use = in_use;
    pool->reserved = reserved;
    if (in_use > pool->in_use_high) pool->in_use_high = in_use;
    if (reserved > pool->reserved_high) pool->reserved_high = reserved;
    if (reserved) return;
    Pool **link = &holders;
    while (*link && *link != pool) link = &(*link)->next;
    if (*link) *link = pool->next;
}

static MemoryRequest request_of(MemoryBlock *block, Context *context)
{
    return (MemoryRequest){
        .size = block->size,
        .capacity = block->capacity,
        .kind = memory_kinds[block->pool->kind],
        .shared = block->pool->share != NULL,
        .device = block->pool->device->ordinal,
        .owner = context,
        .tag = block->pool,
        .block = block,
    };
}

/* A new block in no list; NULL when the device or the host is short of memory. */
static MemoryBlock *block_new_locked(Pool *pool, Context *context, uint64_t size)
{
    MemoryBlock *block = calloc(1, sizeof *block);
    if (!block) return NULL;
    block->pool = pool;
    block->size = size;
    block->capacity = capacity_for(size);
    MemoryRequest request = request_of(block, context);
    if (memory_try(pool->device, &request, block->capacity, &block->base)) {
        free(block);
        return NULL;
    }
    if (pool->share) memory_map_written(driver_memory(), block->base, size);
    object_hold(OBJECT(pool));
    set_counts_locked(pool, pool->in_use, pool->reserved + block->capacity);
    return block;
}

/* The block's bytes no longer count as reserved, neither in its pool nor of the device. */
static void uncount_locked(const MemoryBlock *block)
{
    Pool *pool = block->pool;
    memory_uncharge(pool->device, memory_kinds[pool->kind], block->capacity);
    set_counts_locked(pool, pool->in_use, pool->reserved - block->capacity);
}

/* Frees a block that is in no list, and its memory. Releases its reference to the pool, which may be the
 * last. */
static void block_free_locked(MemoryBlock *block)
{
    Pool *pool = block->pool;
    memory_map_free(driver_memory(), block->base, NULL);
    if (!block->ceded) uncount_locked(block);
    if (block->stream) PUT(block->stream);
    free(block);
    PUT(pool);
}

/* Frees unused blocks, the largest first, until no more than `keep` bytes are reserved. */
static void trim_locked(Pool *pool, uint64_t keep)
{
    for (int b = POOL_BINS; b-- > 0;)
        for (MemoryBlock *block = pool->bins[b], *next; block; block = next) {
            next = block->next;
            if (pool->reserved <= keep) return;
            if (block->tasks) continue;
            bool last = pool->reserved == block->capacity; /* then the pool may be freed with the block */
            take_from_bin_locked(block);
            block_free_locked(block);
            if (last) return;
        }
}

/* ---- Reuse of freed blocks ---- */

/* Whether an allocation in this stream may reuse the block without waiting, by the pool's settings. */
static bool may_reuse(const MemoryBlock *block, Stream *stream)
{
    const _Atomic uint64_t *settings = block->pool->settings;
    if (block->observed || block->stream == stream) return true;
    if (atomic_load(&settings[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC - 1]) && !block->tasks) return true;
    return atomic_load(&settings[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES - 1])
           && queue_follows(stream, block->stream, block->number);
}

/* An unused block of at least that many bytes, and at most twice as many, that the stream may reuse without
 * waiting: one from the lowest bin, in it the one freed last. With `wait`: a block of any larger size, for
 * which the stream may have to wait. NULL if there is none. */
static MemoryBlock *find_unused_locked(const Pool *pool, Stream *stream, uint64_t size, bool wait)
{
    uint64_t need = capacity_for(size), max = wait || need > UINT64_MAX / 2 ? UINT64_MAX : 2 * need;
    for (int b = bin_of(need), last = bin_of(max); b <= last; b++)
        for (MemoryBlock *block = pool->bins[b]; block; block = block->next)
            if (block->capacity >= need && block->capacity <= max && (wait || may_reuse(block, stream)))
                return block;
    return NULL;
}

/* Trims the device's pools to their release thresholds; with `reclaim` frees all unused blocks. */
static void trim_device_locked(const Device *device, bool reclaim)
{
    for (Pool *pool = holders, *next; pool; pool = next) {
        next = pool->next;
        uint64_t keep = atomic_load(&pool->settings[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD - 1]);
        if (pool->device == device) trim_locked(pool, reclaim || pool->destroyed ? 0 : keep);
    }
}

/* Finds a free that has not run yet, of a block in any pool of the device: *out, with a reference to its
 * stream. False if there is none. */
static bool find_pending_free_locked(const Device *device, Dependency *out)
{
    for (Pool *pool = holders; pool; pool = pool->next)
        for (int b = 0; b < POOL_BINS && pool->device == device; b++)
            for (MemoryBlock *block = pool->bins[b]; block; block = block->next) {
                if (!block->stream || queue_reached(block->stream, block->number)) continue;
                *out = (Dependency){block->stream, block->number};
                object_hold(OBJECT(block->stream));
                return true;
            }
    return false;
}

/* A new block; NULL if the pool's maximum would be exceeded, or memory is short. */
static MemoryBlock *make_locked(Pool *pool, Context *context, uint64_t size)
{
    uint64_t left = pool->max > pool->reserved ? pool->max - pool->reserved : 0;
    return pool->max && size > left ? NULL : block_new_locked(pool, context, size);
}

/* An unused block, of any pool of the device, whose free has not run, but will run before any new task of the
 * stream; NULL if there is none. */
static MemoryBlock *find_freed_later_locked(const Device *device, Stream *stream)
{
    for (Pool *pool = holders; pool; pool = pool->next)
        for (int b = 0; b < POOL_BINS && pool->device == device; b++)
            for (MemoryBlock *block = pool->bins[b]; block; block = block->next)
                if (block->tasks && may_reuse(block, stream)) return block;
    return NULL;
}

/* A new block that gets the bytes of such blocks. They are no longer counted, because their frees run before
 * the new block is used. NULL if they are not enough. */
static MemoryBlock *make_from_freed_later_locked(Pool *pool, Stream *stream, uint64_t size)
{
    MemoryBlock *made = NULL;
    for (MemoryBlock *block; !made && (block = find_freed_later_locked(pool->device, stream)) != NULL;) {
        take_from_bin_locked(block);
        block->ceded = true;
        uncount_locked(block);
        made = make_locked(pool, stream->object.context, size);
    }
    return made;
}

/* A block for an allocation in the stream, by the first of these steps that has one: an unused block that
 * needs no wait; new memory; new memory after the device's unused blocks were released; new memory in place
 * of blocks that queued tasks will free; an unused block for which the stream has to wait. A reused block is
 * still in its bin. NULL if there is none. */
static MemoryBlock *find_or_make_locked(Pool *pool, Stream *stream, uint64_t size)
{
    if (size > pool->device->memory_size && pool->kind != POOL_HOST) return NULL;
    const _Atomic uint64_t *may_wait = &pool->settings[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES - 1];
    MemoryBlock *block = find_unused_locked(pool, stream, size, false);
    if (!block) block = make_locked(pool, stream->object.context, size);
    if (block) return block;
    trim_device_locked(pool->device, true);
    block = make_locked(pool, stream->object.context, size);
    if (!block) block = make_from_freed_later_locked(pool, stream, size);
    if (block || !atomic_load(may_wait)) return block;
    return find_unused_locked(pool, stream, size, true);
}

/* Takes the block out of its bin. Returns the free that its new owner has to wait for, with the block's
 * reference to the stream; the stream is NULL if no wait is necessary. */
static Dependency reuse_locked(MemoryBlock *block, Stream *stream)
{
    Dependency wait = {NULL, 0};
    take_from_bin_locked(block);
    if (block->stream && may_reuse(block, stream))
        PUT(block->stream);
    else if (block->stream)
        wait = (Dependency){block->stream, block->number};
    block->stream = NULL;
    return wait;
}

/* ---- Ranges of blocks ---- */

/* Frees a block without tasks if its pool was destroyed, or if it no longer counts. */
static void free_if_done_locked(MemoryBlock *block)
{
    bool last = block->in_bin && block->pool->destroyed;
    if (block->tasks || !(last || block->ceded)) return;
    if (last) take_from_bin_locked(block);
    block_free_locked(block);
}

/* Kernels find the range from now on. Shared memory counts as written, because writes of other processes are
 * not seen here. */
static void begin_range(const MemoryRange *range)
{
    const Pool *pool = range->tag;
    memory_map_begin(driver_memory(), range);
    if (pool->share) memory_map_written(driver_memory(), range->base, range->size);
}

static void run_begin(Task *self, Stream *stream)
{
    const MemoryRange *range = &((RangeTask *)self)->range;
    MemoryBlock *block = range->block;
    (void)stream;
    begin_range(range);
    pthread_mutex_lock(&blocks_lock);
    block->tasks--;
    free_if_done_locked(block);
    pthread_mutex_unlock(&blocks_lock);
}

/* A range without a block is memory of cuMemAlloc or cuMemAllocManaged that is freed in a stream. */
static void run_end(Task *self, Stream *stream)
{
    const MemoryRange *range = &((RangeTask *)self)->range;
    MemoryBlock *block = range->block;
    (void)stream;
    if (!block) {
        memory_release(range->base);
        return;
    }
    memory_map_end(driver_memory(), range);
    pthread_mutex_lock(&blocks_lock);
    block->tasks--;
    free_if_done_locked(block);
    pthread_mutex_unlock(&blocks_lock);
}

static void free_task(Task *self) { free(self); }

static RangeTask *task_new(void (*run)(Task *self, Stream *stream))
{
    RangeTask *task = calloc(1, sizeof *task);
    if (task) task->task = (Task){.run = run, .release = free_task, .always = true};
    return task;
}

/* Makes the reused block's range visible: to calls at once, to kernels by the task in the stream, or at once
 * if the stream is idle. Owns the task and the reference in `wait`. */
static void hand_out(MemoryBlock *block, Stream *stream, RangeTask *task, Dependency wait)
{
    MemoryRequest request = request_of(block, stream->object.context);
    task->range = memory_map_grant(driver_memory(), block->base, &request);
    pthread_mutex_lock(&blocks_lock);
    bool now = !wait.stream && !block->tasks && queue_reached(stream, queue_last(stream));
    if (!now) block->tasks++;
    pthread_mutex_unlock(&blocks_lock);
    if (now) {
        begin_range(&task->range);
        free(task);
    } else {
        queue_submit(stream, &task->task, wait.stream ? &wait : NULL);
    }
}

/* The caller keeps the context open. If memory is short this waits for frees that have not run. */
static CUresult allocate_in_open_context(Pool *pool, Stream *stream, size_t size, CUdeviceptr *out)
{
    Dependency pending, wait = {NULL, 0};
    RangeTask *task = task_new(run_begin);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&blocks_lock);
    MemoryBlock *block = find_or_make_locked(pool, stream, size);
    while (!block && size <= pool->device->memory_size && find_pending_free_locked(pool->device, &pending)) {
        pthread_mutex_unlock(&blocks_lock);
        queue_wait(pending.stream, pending.number);
        PUT(pending.stream);
        pthread_mutex_lock(&blocks_lock);
        block = find_or_make_locked(pool, stream, size);
    }
    bool reused = block && block->in_bin;
    if (reused) wait = reuse_locked(block, stream);
    if (block) {
        block->size = size;
        block->context = stream->object.context;
        block->observed = false;
        *out = block->base;
        list_add(block, &pool->used);
        set_counts_locked(pool, pool->in_use + size, pool->reserved);
    }
    pthread_mutex_unlock(&blocks_lock);
    if (reused)
        hand_out(block, stream, task, wait);
    else
        free(task);
    if (!block) memory_log_shortage(pool->device, size);
    return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult allocate_block(Pool *pool, Stream *stream, size_t size, CUdeviceptr *out)
{
    Context *context = stream->object.context;
    if (!context_keep_open(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = allocate_in_open_context(pool, stream, size, out);
    context_allow_close(context);
    return result;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool handle, CUstream stream_handle)
{
    Pool *pool;
    Stream *stream;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(stream_enter_to_submit(stream_handle, &stream));
    CUresult result = pool_enter(handle, &pool);
    if (!result) {
        *out = 0;
        if (pool_is_imported(pool))
            result = CUDA_ERROR_INVALID_VALUE;
        else if (size)
            result = stream_is_captured(stream) ? capture_add_alloc(stream, pool, size, out)
                                                : allocate_block(pool, stream, size, out);
        PUT(pool);
    }
    PUT(stream);
    return result;
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream handle)
{
    Stream *stream;
    CUmemoryPool pool;
    TRY(stream_enter_to_submit(handle, &stream));
    CUresult result = cuDeviceGetMemPool(&pool, stream->object.context->device->ordinal);
    PUT(stream);
    return result ? result : cuMemAllocFromPoolAsync(out, size, pool, handle);
}

/* Looks up the range that calls find at that address: *range, which is filled in even if it begins elsewhere.
 * Returns its block, or NULL if it has none or begins elsewhere. */
static const MemoryBlock *host_block_locked(CUdeviceptr address, MemoryRange *range)
{
    bool found = memory_map_find_for_call(driver_memory(), address, 1, range) && range->base == address;
    return found ? range->block : NULL;
}

/* Whether the block belongs to a graph which has not kept it for the program: then the program cannot free
 * it. */
static bool is_kept(const MemoryBlock *block) { return block && block->bound && !block->handed; }

/* Ends an allocation for calls, which no longer find it; kernels find it until memory_map_end(range). Its
 * block is no longer in use. False if no allocation begins at that address. */
static bool withdraw_locked(CUdeviceptr address, MemoryRange *range)
{
    bool found = memory_map_withdraw(driver_memory(), address, range);
    MemoryBlock *block = found ? range->block : NULL;
    if (block) {
        list_remove(block);
        block->handed = false;
        set_counts_locked(block->pool, block->pool->in_use - block->size, block->pool->reserved);
        block->tasks++;
    }
    return found;
}

bool pool_withdraw(CUdeviceptr address, MemoryRange *range)
{
    MemoryRange host = {0};
    pthread_mutex_lock(&blocks_lock);
    const MemoryBlock *block = host_block_locked(address, &host);
    bool can_be_freed = host.base == address && !is_kept(block)
                        && (host.kind == MEMORY_DEVICE || host.kind == MEMORY_MANAGED || host.tag);
    bool found = can_be_freed && withdraw_locked(address, range);
    pthread_mutex_unlock(&blocks_lock);
    return found;
}

/* The error for an address that cannot be freed in a stream. For imported memory it is the error of an H100's
 * driver (580.159). */
static CUresult why_not_freed(CUdeviceptr address)
{
    MemoryRange range = {0};
    pthread_mutex_lock(&blocks_lock);
    host_block_locked(address, &range);
    pthread_mutex_unlock(&blocks_lock);
    bool imported = range.base == address && range.kind == MEMORY_IMPORTED;
    return imported ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

/* Frees memory in the order of the stream: calls no longer find it, kernels find it until the task has
 * run. */
static CUresult free_in(Stream *stream, CUdeviceptr address)
{
    RangeTask *task = task_new(run_end);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!pool_withdraw(address, &task->range)) {
        free(task);
        return why_not_freed(address);
    }
    MemoryBlock *block = task->range.block;
    uint64_t number = queue_submit(stream, &task->task, NULL);
    if (!block) return CUDA_SUCCESS;
    pthread_mutex_lock(&blocks_lock);
    object_hold(OBJECT(stream));
    block->stream = stream;
    block->number = number;
    put_in_bin_locked(block);
    free_if_done_locked(block);
    pthread_mutex_unlock(&blocks_lock);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    Stream *stream;
    TRY(stream_enter_to_submit(handle, &stream));
    CUresult result = CUDA_SUCCESS;
    if (address)
        result = stream_is_captured(stream) ? capture_add_free(stream, address) : free_in(stream, address);
    PUT(stream);
    return result;
}

/* ---- Without a stream ---- */

/* Ends the range at once: the program knows that nothing uses it. */
static void end_now(const MemoryRange *range)
{
    MemoryBlock *block = range->block;
    memory_map_end(driver_memory(), range);
    pthread_mutex_lock(&blocks_lock);
    block->tasks--;
    block->observed = true;
    put_in_bin_locked(block);
    trim_device_locked(block->pool->device, false);
    pthread_mutex_unlock(&blocks_lock);
}

bool pool_release(CUdeviceptr address)
{
    MemoryRange range;
    pthread_mutex_lock(&blocks_lock);
    const MemoryBlock *block = host_block_locked(address, &range);
    bool mine = block && !is_kept(block) && withdraw_locked(address, &range);
    pthread_mutex_unlock(&blocks_lock);
    if (mine) end_now(&range);
    return mine;
}

/* The address of some block that the context has in use; 0 if there is none. */
static CUdeviceptr used_by(const Context *context)
{
    CUdeviceptr found = 0;
    pthread_mutex_lock(&blocks_lock);
    for (const Pool *pool = holders; pool && !found; pool = pool->next)
        for (const MemoryBlock *block = pool->used; block && !found; block = block->next)
            if (block->context == context) found = block->base;
    pthread_mutex_unlock(&blocks_lock);
    return found;
}

void pools_leave(const Context *context)
{
    for (CUdeviceptr address; (address = used_by(context)) != 0;)
        if (!pool_release(address)) return;
    pools_observe(context->device, NULL);
}

void pools_observe(Device *device, const Stream *stream)
{
    if (!atomic_load(&idle)) return;
    pthread_mutex_lock(&blocks_lock);
    for (const Pool *pool = holders; pool; pool = pool->next)
        for (int b = 0; b < POOL_BINS && pool->device == device; b++)
            for (MemoryBlock *block = pool->bins[b]; block; block = block->next)
                if (!block->tasks && (!stream || block->stream == stream)) block->observed = true;
    trim_device_locked(device, false);
    pthread_mutex_unlock(&blocks_lock);
}

void pools_reclaim(Device *device)
{
    if (!atomic_load(&idle)) return;
    pthread_mutex_lock(&blocks_lock);
    trim_device_locked(device, true);
    pthread_mutex_unlock(&blocks_lock);
}

void pool_trim(Pool *pool, uint64_t keep)
{
    pthread_mutex_lock(&blocks_lock);
    trim_locked(pool, keep);
    pthread_mutex_unlock(&blocks_lock);
}

void pool_stop_keeping(Pool *pool)
{
    pthread_mutex_lock(&blocks_lock);
    pool->destroyed = true;
    trim_locked(pool, 0);
    pthread_mutex_unlock(&blocks_lock);
}

/* ---- Blocks of graphs ---- */

CUresult pool_bind(Pool *pool, Context *context, uint64_t size, MemoryBlock **out, CUdeviceptr *address)
{
    MemoryRange range;
    pthread_mutex_lock(&blocks_lock);
    MemoryBlock *block = block_new_locked(pool, context, size);
    if (block) {
        block->bound = true;
        block->context = context;
        block->observed = true;
        memory_map_find_for_call(driver_memory(), block->base, 1, &range);
        memory_map_end(driver_memory(), &range); /* kernels do not find it yet */
        *address = block->base;
    }
    pthread_mutex_unlock(&blocks_lock);
    if (!block) memory_log_shortage(pool->device, size);
    *out = block;
    return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void pool_unbind(MemoryBlock *block)
{
    pthread_mutex_lock(&blocks_lock);
    block->bound = false;
    if (!block->handed && !block->tasks)
        block_free_locked(block);
    else if (!block->handed)
        put_in_bin_locked(block); /* freed when its last task has run: a graph's pool keeps nothing */
    pthread_mutex_unlock(&blocks_lock);
}

bool pool_bound_in_use(const MemoryBlock *block)
{
    pthread_mutex_lock(&blocks_lock);
    bool in_use = block->handed;
    pthread_mutex_unlock(&blocks_lock);
    return in_use;
}

MemoryRange pool_bound_take(MemoryBlock *block, bool keep)
{
    MemoryRequest request = request_of(block, (Context *)(uintptr_t)block->context);
    pthread_mutex_lock(&blocks_lock);
    MemoryRange range = memory_map_grant(driver_memory(), block->base, &request);
    Stream *freed_in = block->stream;
    block->stream = NULL;
    block->tasks++;
    block->launched = true;
    if (keep) {
        block->handed = true;
        list_add(block, &block->pool->used);
        set_counts_locked(block->pool, block->pool->in_use + block->size, block->pool->reserved);
    }
    pthread_mutex_unlock(&blocks_lock);
    if (freed_in) PUT(freed_in);
    return range;
}

bool pool_is_bound(CUdeviceptr address)
{
    MemoryRange range;
    pthread_mutex_lock(&blocks_lock);
    const MemoryBlock *block = host_block_locked(address, &range);
    bool bound = block && block->bound;
    pthread_mutex_unlock(&blocks_lock);
    return bound;
}

bool pool_awaits_launch(CUdeviceptr address)
{
    MemoryRange range;
    pthread_mutex_lock(&blocks_lock);
    bool found = memory_map_find_for_call(driver_memory(), address, 1, &range);
    const MemoryBlock *block = found ? range.block : NULL;
    bool awaits = block && block->bound && !block->launched;
    pthread_mutex_unlock(&blocks_lock);
    return awaits;
}

void pool_range_begin(const MemoryRange *range) { begin_range(range); }

void pool_range_end(const MemoryRange *range, bool settle)
{
    MemoryBlock *block = range->block;
    memory_map_end(driver_memory(), range);
    if (settle && block) pool_range_settle(range);
}

void pool_range_settle(const MemoryRange *range)
{
    MemoryBlock *block = range->block;
    pthread_mutex_lock(&blocks_lock);
    block->tasks--;
    free_if_done_locked(block);
    pthread_mutex_unlock(&blocks_lock);
}

/* ---- Counts ---- */

void pool_counts(Pool *pool, PoolCounts *out)
{
    pthread_mutex_lock(&blocks_lock);
    *out = (PoolCounts){pool->in_use, pool->in_use_high, pool->reserved, pool->reserved_high};
    pthread_mutex_unlock(&blocks_lock);
}

void pool_reset_high(Pool *pool, bool reserved)
{
    pthread_mutex_lock(&blocks_lock);
    if (reserved)
        pool->reserved_high = pool->reserved;
    else
        pool->in_use_high = pool->in_use;
    pthread_mutex_unlock(&blocks_lock);
}
