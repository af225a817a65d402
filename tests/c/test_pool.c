/* Memory pools with a driver that only counts calls: bins, statistics, order of streams, limits and lack of
 * memory, destroyed streams and pools. */
#include "check.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/pool.c"
#include "core/pool_bins.c"
#include "core/pool_sources.c"

/* ---- A memory checker that records its calls, in place of core/memory_marks.c ---- */

static bool has_checker;
static size_t heap_bytes, bytes_in_use;

bool memory_marks_wanted(void) { return has_checker; }
const CpuMemoryMarks *driver_memory_marks(void) { return NULL; }

IN_CALL void *memory_marks_block(CUdeviceptr pointer, size_t bytes)
{
    heap_bytes = bytes;
    return (void *)(uintptr_t)pointer;
}

IN_CALL void memory_marks_use(void *heap, CUdeviceptr pointer, size_t size)
{
    CHECK(heap == (void *)(uintptr_t)pointer && bytes_in_use == 0 && size <= heap_bytes);
    bytes_in_use = size;
}

IN_CALL void memory_marks_end(CUdeviceptr pointer)
{
    CHECK(pointer && bytes_in_use);
    bytes_in_use = 0;
}

/* ---- A driver that counts and records its calls ---- */

enum { EVENTS = 64 };
static size_t memory_live, memory_left, events_live, waits, records, synchronized, event_waits;
static CUresult record_result, wait_result, event_result;
static CUstream recorded_on[EVENTS], last_waiter, last_waited_for;
static uintptr_t next_event;

/* The pointer is to a note of the size, for fake_free(); no memory of that size is allocated. */
static CUresult fake_alloc(CUdeviceptr *pointer, size_t size)
{
    if (size > memory_left) return CUDA_ERROR_OUT_OF_MEMORY;
    char *memory = malloc(1 + sizeof size);
    memcpy(memory, &size, sizeof size);
    memory_left -= size;
    memory_live++;
    *pointer = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

static CUresult fake_free(CUdeviceptr pointer)
{
    size_t size;
    memcpy(&size, (void *)(uintptr_t)pointer, sizeof size);
    memory_left += size;
    memory_live--;
    free((void *)(uintptr_t)pointer);
    return CUDA_SUCCESS;
}

static CUresult fake_event_create(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (CUevent)(next_event++ % EVENTS + 1);
    events_live++;
    return CUDA_SUCCESS;
}

static CUresult fake_event_destroy(CUevent event)
{
    (void)event;
    events_live--;
    return CUDA_SUCCESS;
}

static CUresult fake_record(CUevent event, CUstream stream)
{
    records++;
    if (record_result == CUDA_SUCCESS) recorded_on[(uintptr_t)event - 1] = stream;
    return record_result;
}

static CUresult fake_wait(CUstream stream, CUevent event, unsigned flags)
{
    (void)flags;
    waits++;
    last_waiter = stream;
    last_waited_for = recorded_on[(uintptr_t)event - 1];
    return wait_result;
}

static CUresult fake_synchronize(CUstream stream)
{
    (void)stream;
    synchronized++;
    return CUDA_SUCCESS;
}

static CUresult fake_synchronize_context(void)
{
    synchronized++;
    return CUDA_SUCCESS;
}

static CUresult fake_synchronize_event(CUevent event)
{
    (void)event;
    event_waits++;
    return event_result;
}

static CUstreamCaptureStatus capture_status;

static CUresult fake_is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = capture_status;
    return CUDA_SUCCESS;
}

static CUresult fake_exchange_mode(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}

DriverTable driver = {
    .cuMemAlloc = fake_alloc,
    .cuMemFree = fake_free,
    .cuEventCreate = fake_event_create,
    .cuEventDestroy = fake_event_destroy,
    .cuEventRecord = fake_record,
    .cuStreamWaitEvent = fake_wait,
    .cuStreamSynchronize = fake_synchronize,
    .cuCtxSynchronize = fake_synchronize_context,
    .cuEventSynchronize = fake_synchronize_event,
    .cuStreamIsCapturing = fake_is_capturing,
    .cuThreadExchangeStreamCaptureMode = fake_exchange_mode,
};

static const PoolSource host_uses = {.allocate = allocate_device,
                                     .release = release_device,
                                     .release_name = "cuMemFree",
                                     .host_uses = true};

static size_t ends;

static CUresult fake_end(Pool *pool)
{
    (void)pool;
    CHECK_EQUAL(memory_live, 0);
    ends++;
    return CUDA_SUCCESS;
}

static const PoolSource with_end = {.allocate = allocate_device,
                                    .release = release_device,
                                    .end = fake_end,
                                    .release_name = "cuMemFree",
                                    .ordered = true};

static const CUstream stream_a = (CUstream)0xa0, stream_b = (CUstream)0xb0;

/* A new pool of device memory, with all counters at 0. */
static void start(Pool *pool)
{
    memory_live = waits = records = synchronized = event_waits = 0;
    memory_left = (size_t)1 << 40;
    record_result = wait_result = CUDA_SUCCESS;
    CHECK(pool_init(pool, &pool_device_memory, 0, POOL_DEFAULT_BITS));
}

/* Clears the pool and checks that all memory and events were released. */
static void end(Pool *pool)
{
    CHECK_EQUAL(pool_clear(pool, true), CUDA_SUCCESS);
    CHECK_EQUAL(memory_live, 0);
    CHECK_EQUAL(events_live, 0);
}

static void check_statistics(Pool *pool, size_t held, size_t active, size_t managed, size_t used)
{
    PoolStatistics now = pool_statistics(pool);
    CHECK_EQUAL(now.held_blocks, held);
    CHECK_EQUAL(now.active_blocks, active);
    CHECK_EQUAL(now.managed_bytes, managed);
    CHECK_EQUAL(now.active_bytes, used);
}

/* Gets a block as callers of the pool do: held, held after a wait, or new; NULL if there is no memory. */
static PoolBlock *get(Pool *pool, size_t size, CUstream stream)
{
    PoolError order;
    PoolBlock *block = pool_take(pool, size, stream);
    if (!block) CHECK_EQUAL(pool_take_after(pool, size, stream, &block, &order), CUDA_SUCCESS);
    if (!block) return pool_add(pool, size, stream, &block) == CUDA_SUCCESS ? block : NULL;
    return block;
}

/* ---- Bins ---- */

static void check_bins_of(unsigned bits)
{
    for (unsigned exponent = 0; exponent < 64; exponent++) {
        for (int nudge = -1; nudge <= 1; nudge++) {
            size_t size = ((size_t)1 << exponent) + (size_t)nudge;
            unsigned bin = pool_bin_number(bits, size);
            size_t bytes = pool_alloc_size(bits, bin);
            CHECK(bin < pool_bin_count(bits));
            CHECK(bytes >= size && bytes >= 1);
            CHECK(size == 0 || bytes - size <= size >> bits);
            CHECK_EQUAL(pool_bin_number(bits, bytes), bin);
            if (bytes != SIZE_MAX) CHECK(pool_bin_number(bits, bytes + 1) > bin);
        }
    }
}

static void test_bins(void)
{
    for (unsigned bits = 0; bits <= POOL_MAX_BITS; bits++) check_bins_of(bits);
    CHECK_EQUAL(pool_bin_number(4, 0), 0);
    CHECK_EQUAL(pool_alloc_size(4, 0), 1);
    CHECK_EQUAL(pool_bin_number(4, 4096), 12 << 4);
    CHECK_EQUAL(pool_alloc_size(4, 12 << 4), 4096 + 255);
    CHECK_EQUAL(pool_bin_number(4, SIZE_MAX), (63 << 4) + 15);
    CHECK(pool_alloc_size(4, (63 << 4) + 15) == SIZE_MAX);
    CHECK_EQUAL(pool_log2(0), 0);
    CHECK_EQUAL(pool_log2(1), 0);
    CHECK_EQUAL(pool_log2(1023), 9);
    CHECK_EQUAL(pool_log2(SIZE_MAX), 63);
}

/* ---- Statistics, limits, ends ---- */

static void test_statistics(void)
{
    Pool pool;
    start(&pool);
    check_statistics(&pool, 0, 0, 0, 0);
    PoolBlock *block = get(&pool, 1000, NULL), *none = get(&pool, 0, NULL);
    size_t bytes = pool_alloc_size(4, pool_bin_number(4, 1000));
    check_statistics(&pool, 0, 2, bytes + 1, 1000);
    CHECK(pool_put(&pool, block) && pool_put(&pool, none));
    check_statistics(&pool, 2, 0, bytes + 1, 0);
    CHECK(get(&pool, 1001, NULL) == block);
    check_statistics(&pool, 1, 1, bytes + 1, 1001);
    CHECK_EQUAL(memory_live, 2);
    CHECK_EQUAL(pool_release_held(&pool, true), CUDA_SUCCESS);
    check_statistics(&pool, 0, 1, bytes, 1001);
    CHECK_EQUAL(pool_stop(&pool, true), CUDA_SUCCESS);
    CHECK(!pool_put(&pool, block));
    CHECK_EQUAL(pool_drop(&pool, block, true), CUDA_SUCCESS);
    check_statistics(&pool, 0, 0, 0, 0);
    CHECK_EQUAL(waits + records, 0);
    end(&pool);
}

static void test_other_bins_are_not_touched(void)
{
    Pool pool;
    start(&pool);
    PoolBlock *small = get(&pool, 100, NULL);
    CHECK(pool_put(&pool, small));
    CHECK(!pool_take(&pool, 200, NULL));
    CHECK(!pool_take(&pool, 50, NULL));
    CHECK(pool_take(&pool, 101, NULL) == small);
    CHECK(pool_put(&pool, small));
    end(&pool);
}

static void test_the_largest_goes_first(void)
{
    Pool pool;
    PoolBlock *blocks[3];
    const size_t sizes[] = {5000, 70, 800000};
    bool found;
    start(&pool);
    for (int i = 0; i < 3; i++) blocks[i] = get(&pool, sizes[i], NULL);
    for (int i = 0; i < 3; i++) CHECK(pool_put(&pool, blocks[i]));
    size_t left = memory_left;
    CHECK(pool_release_largest(&pool, &found) == CUDA_SUCCESS && found && memory_left - left >= 800000);
    left = memory_left;
    CHECK(pool_release_largest(&pool, &found) == CUDA_SUCCESS && found);
    CHECK(memory_left - left >= 5000 && memory_left - left < 6000);
    CHECK(pool_release_largest(&pool, &found) == CUDA_SUCCESS && found);
    CHECK(pool_release_largest(&pool, &found) == CUDA_SUCCESS && !found);
    check_statistics(&pool, 0, 0, 0, 0);
    end(&pool);
}

static void test_shortage_changes_nothing(void)
{
    Pool pool;
    PoolBlock *block = NULL;
    start(&pool);
    memory_left = 100;
    CHECK_EQUAL(pool_add(&pool, 1000, NULL, &block), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(!block);
    check_statistics(&pool, 0, 0, 0, 0);
    end(&pool);
}

static void test_a_limit(void)
{
    Pool pool;
    PoolBlock *block = NULL;
    start(&pool);
    PoolBlock *first = get(&pool, 1000, NULL), *second = get(&pool, 500, NULL);
    pool_set_limit(&pool, first->capacity + second->capacity + 500);
    CHECK_EQUAL(pool_get_limit(&pool), first->capacity + second->capacity + 500);
    CHECK(!pool_is_beyond_limit(&pool, 400) && pool_is_beyond_limit(&pool, 600));
    CHECK_EQUAL(pool_add(&pool, 600, NULL, &block), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(!block && memory_live == 2);
    CHECK(pool_is_beyond_limit(&pool, SIZE_MAX));
    CHECK_EQUAL(pool_add(&pool, SIZE_MAX, NULL, &block), CUDA_ERROR_OUT_OF_MEMORY);
    check_statistics(&pool, 0, 2, first->capacity + second->capacity, 1500);
    pool_set_limit(&pool, 1);
    CHECK(pool_is_beyond_limit(&pool, 0));
    CHECK(pool_put(&pool, second) && pool_take(&pool, 500, NULL) == second && pool_put(&pool, second));
    pool_set_limit(&pool, 0);
    CHECK(!pool_is_beyond_limit(&pool, 600));
    CHECK(pool_put(&pool, first));
    CHECK_EQUAL(pool_statistics(&pool).active_bytes_high, 1500);
    end(&pool);
}

static void test_trim(void)
{
    Pool pool;
    PoolBlock *blocks[4], seen[4];
    start(&pool);
    for (int i = 0; i < 4; i++) blocks[i] = get(&pool, (size_t)1000 << i, NULL);
    size_t max = pool_statistics(&pool).managed_bytes, largest = blocks[3]->capacity;
    for (int i = 0; i < 3; i++) CHECK(pool_put(&pool, blocks[i]));
    CHECK_EQUAL(pool_list_blocks(&pool, seen, 2), 4);
    CHECK(pool_list_blocks(&pool, seen, 4) == 4 && seen[0].active && !seen[1].active);
    CHECK_EQUAL(pool_trim_to(&pool, max - 1), CUDA_SUCCESS);
    CHECK(pool_list_blocks(&pool, seen, 4) == 3 && seen[1].size == 2000 && seen[2].size == 1000);
    CHECK_EQUAL(pool_trim_to(&pool, 0), CUDA_SUCCESS);
    check_statistics(&pool, 0, 1, largest, 8000);
    CHECK_EQUAL(pool_statistics(&pool).managed_bytes_high, max);
    pool_reset_peaks(&pool);
    CHECK_EQUAL(pool_statistics(&pool).managed_bytes_high, largest);
    CHECK(pool_put(&pool, blocks[3]));
    end(&pool);
}

static void test_requests_that_pass_through(void)
{
    Pool pool;
    start(&pool);
    pool_pass_through(&pool);
    PoolBlock *block = get(&pool, 1000, NULL), *none = get(&pool, 0, NULL);
    CHECK(block->capacity == 1000 && none->capacity == 1);
    check_statistics(&pool, 0, 2, 1001, 1000);
    CHECK(!pool_put(&pool, block) && !pool_put(&pool, none));
    CHECK_EQUAL(pool_drop(&pool, block, true), CUDA_SUCCESS);
    CHECK_EQUAL(pool_drop(&pool, none, true), CUDA_SUCCESS);
    end(&pool);
}

static void test_adopted_memory(void)
{
    Pool pool;
    memory_live = events_live = 0;
    CHECK(pool_init(&pool, &pool_external_memory, 0, POOL_DEFAULT_BITS));
    PoolBlock *block = pool_adopt(&pool, 4096, 100, stream_a);
    CHECK(block && block->pointer == 4096 && block->capacity == 100 && block->reused
          && block->stream == stream_a);
    pool_set_limit(&pool, 150);
    CHECK(!pool_adopt(&pool, 8192, 51, stream_a));
    check_statistics(&pool, 0, 1, 100, 100);
    CHECK(!pool_put(&pool, block));
    CHECK_EQUAL(pool_drop(&pool, block, false), CUDA_SUCCESS);
    end(&pool);
}

/* If the source ends before the pool, the memory of blocks in use is released first and the host waits for
 * that; their owners drop the blocks later. */
static void test_the_source_ends_before_the_pool(void)
{
    Pool pool;
    ends = 0;
    start(&pool);
    pool.source = &with_end;
    pool_pass_through(&pool);
    PoolBlock *first = get(&pool, 100, stream_a), *second = get(&pool, 200, NULL);
    CHECK_EQUAL(pool_end_source(&pool), CUDA_SUCCESS);
    CHECK_EQUAL(ends, 1);
    CHECK_EQUAL(synchronized, 1);
    check_statistics(&pool, 0, 2, 300, 300);
    CHECK_EQUAL(pool_drop(&pool, first, false), CUDA_SUCCESS);
    CHECK_EQUAL(pool_drop(&pool, second, false), CUDA_SUCCESS);
    end(&pool);
    CHECK_EQUAL(ends, 1);
}

/* A pool that is cleared without calls of the driver (it may be gone) leaves its memory allocated. */
static void test_without_the_driver(void)
{
    Pool pool;
    start(&pool);
    PoolBlock *held = get(&pool, 100, NULL), *active = get(&pool, 100, NULL);
    void *memory[] = {(void *)(uintptr_t)held->pointer, (void *)(uintptr_t)active->pointer};
    CHECK(pool_put(&pool, held));
    CHECK_EQUAL(pool_drop(&pool, active, false), CUDA_SUCCESS);
    CHECK_EQUAL(pool_clear(&pool, false), CUDA_SUCCESS);
    CHECK_EQUAL(memory_live, 2);
    free(memory[0]);
    free(memory[1]);
}

/* ---- Streams ---- */

/* A block is used again at once by its own stream, without waits. */
static void test_same_stream_at_once(void)
{
    Pool pool;
    start(&pool);
    PoolBlock *block = get(&pool, 100, stream_a);
    CHECK(pool_put(&pool, block));
    CHECK(get(&pool, 100, stream_a) == block);
    CHECK_EQUAL(waits + records, 0);
    CHECK(pool_put(&pool, block));
    end(&pool);
}

/* Another stream waits for the stream that used the block before. */
static void test_other_stream_waits(void)
{
    Pool pool;
    start(&pool);
    PoolBlock *block = get(&pool, 100, stream_a);
    CHECK(pool_put(&pool, block));
    CHECK(get(&pool, 100, stream_b) == block);
    CHECK(waits == 1 && last_waiter == stream_b && last_waited_for == stream_a);
    CHECK(pool_put(&pool, block));
    CHECK(get(&pool, 100, stream_b) == block);
    CHECK_EQUAL(waits, 1);
    CHECK(pool_put(&pool, block));
    CHECK(get(&pool, 100, NULL) == block);
    CHECK(waits == 2 && last_waiter == NULL && last_waited_for == stream_b);
    CHECK_EQUAL(events_live, 1);
    CHECK(pool_put(&pool, block));
    end(&pool);
}

static void test_the_own_stream_is_preferred(void)
{
    Pool pool;
    PoolBlock *blocks[MAX_BLOCKS_SEARCHED + 1];
    start(&pool);
    for (int i = 0; i <= MAX_BLOCKS_SEARCHED; i++) blocks[i] = get(&pool, 100, i == 1 ? stream_b : stream_a);
    for (int i = 0; i <= MAX_BLOCKS_SEARCHED; i++) CHECK(pool_put(&pool, blocks[i]));
    CHECK(get(&pool, 100, stream_b) == blocks[1]);
    CHECK_EQUAL(waits, 0);
    CHECK(get(&pool, 100, stream_b) == blocks[0]);
    CHECK_EQUAL(waits, 1);
    CHECK(pool_put(&pool, blocks[0]) && pool_put(&pool, blocks[1]));
    end(&pool);
}

/* With shared bins, a held block that is somewhat larger than its size requires is taken as well. */
static void test_shared_bins(void)
{
    Pool pool;
    PoolError order;
    PoolBlock *taken = NULL;
    start(&pool);
    PoolBlock *large = get(&pool, 1000, stream_a), *own = get(&pool, 600, stream_a);
    CHECK(pool_put(&pool, large) && pool_put(&pool, own));
    pool.shares_bins = true;
    CHECK(pool_take(&pool, 600, stream_a) == own);
    CHECK(!pool_take(&pool, 1100, stream_a) && !pool_take(&pool, 400, stream_a));
    CHECK(pool_take(&pool, 590, stream_a) == large && large->size == 590 && large->capacity == 1023);
    check_statistics(&pool, 0, 2, own->capacity + 1023, 1190);
    CHECK(pool_put(&pool, large) && pool_put(&pool, own));
    /* On another stream: its own bin's block, after its work, comes before a larger one's. */
    CHECK(!pool_take(&pool, 600, stream_b));
    CHECK_EQUAL(pool_take_after(&pool, 600, stream_b, &taken, &order), CUDA_SUCCESS);
    CHECK(taken == own && waits == 1);
    CHECK_EQUAL(pool_take_after(&pool, 600, stream_b, &taken, &order), CUDA_SUCCESS);
    CHECK(taken == large && waits == 2 && last_waited_for == stream_a);
    CHECK(pool_put(&pool, large) && pool_put(&pool, own));
    CHECK(pool_take(&pool, 1000, stream_b) == large && pool_put(&pool, large));
    end(&pool);
}

/* No more than MAX_BLOCKS_SEARCHED blocks are looked at, in all bins together. */
static void test_shared_bins_are_not_searched_for_long(void)
{
    Pool pool;
    PoolBlock *blocks[2 * MAX_BLOCKS_SEARCHED], *last;
    start(&pool);
    for (int i = 0; i < 2 * MAX_BLOCKS_SEARCHED; i++)
        blocks[i] = get(&pool, i < MAX_BLOCKS_SEARCHED ? 1000 : 1100, stream_a);
    last = get(&pool, 1200, stream_b);
    for (int i = 0; i < 2 * MAX_BLOCKS_SEARCHED; i++) CHECK(pool_put(&pool, blocks[i]));
    CHECK(pool_put(&pool, last));
    pool.shares_bins = true;
    CHECK(!pool_take(&pool, 700, stream_b));
    CHECK(pool_take(&pool, 1200, stream_b) == last && pool_put(&pool, last));
    end(&pool);
}

/* pool_follow() makes a stream wait for the block's earlier work, pool_join() the block's stream for a
 * stream. */
static void test_follow_and_join(void)
{
    Pool pool;
    PoolError order;
    start(&pool);
    PoolBlock *block = get(&pool, 100, stream_a);
    CHECK_EQUAL(pool_follow(&pool, block, stream_b, &order), CUDA_SUCCESS);
    CHECK_EQUAL(waits, 0);
    CHECK_EQUAL(pool_join(&pool, block, stream_b, &order), CUDA_SUCCESS);
    CHECK(waits == 1 && last_waiter == stream_a && last_waited_for == stream_b);
    CHECK(pool_put(&pool, block));
    CHECK(get(&pool, 100, stream_a) == block);
    CHECK_EQUAL(pool_follow(&pool, block, stream_b, &order), CUDA_SUCCESS);
    CHECK(waits == 2 && last_waiter == stream_b && last_waited_for == stream_a);
    CHECK(pool_put(&pool, block));
    CHECK(get(&pool, 100, NULL) == block);
    CHECK_EQUAL(pool_follow(&pool, block, stream_b, &order), CUDA_SUCCESS);
    CHECK(waits == 4 && last_waiter == stream_b && last_waited_for == stream_a);
    CHECK(pool_put(&pool, block));
    end(&pool);
}

/* After pool_record() other streams wait for its event, not for later work of the block's stream. Given back,
 * the block is its stream's as before. */
static void test_record(void)
{
    Pool pool;
    PoolError order;
    start(&pool);
    PoolBlock *block = get(&pool, 100, stream_a);
    CHECK_EQUAL(pool_record(&pool, block, &order), CUDA_SUCCESS);
    CHECK_EQUAL(records, 1);
    for (size_t i = 1; i <= 2; i++) {
        CHECK_EQUAL(pool_follow(&pool, block, i == 1 ? NULL : stream_b, &order), CUDA_SUCCESS);
        CHECK(waits == i && records == 1 && last_waited_for == stream_a);
    }
    CHECK(pool_put(&pool, block));
    CHECK(pool_take(&pool, 100, stream_a) == block);
    CHECK(pool_put(&pool, block));
    end(&pool);
}

/* When a stream is destroyed, one event stands for all blocks that it used. */
static void test_a_stream_ends(void)
{
    Pool pool;
    start(&pool);
    PoolBlock *first = get(&pool, 100, stream_a), *second = get(&pool, 9000, stream_a);
    PoolBlock *other = get(&pool, 100, stream_b);
    CHECK(pool_put(&pool, first) && pool_put(&pool, second) && pool_put(&pool, other));
    pool_stream_destroyed(&pool, stream_a);
    CHECK_EQUAL(records, 1);
    CHECK(get(&pool, 9000, stream_a) == second);
    CHECK(waits == 1 && last_waiter == stream_a && last_waited_for == stream_a);
    CHECK(get(&pool, 100, stream_b) == other);
    CHECK_EQUAL(waits, 1);
    CHECK(get(&pool, 100, NULL) == first);
    CHECK(waits == 2 && last_waiter == NULL);
    CHECK_EQUAL(records, 1);
    CHECK(pool_put(&pool, first) && pool_put(&pool, second) && pool_put(&pool, other));
    CHECK_EQUAL(events_live, 1);
    end(&pool);
}

static void test_a_stream_ends_without_an_event(void)
{
    Pool pool;
    start(&pool);
    PoolBlock *block = get(&pool, 100, stream_a);
    CHECK(pool_put(&pool, block));
    record_result = CUDA_ERROR_UNKNOWN;
    pool_stream_destroyed(&pool, stream_a);
    CHECK_EQUAL(synchronized, 1);
    CHECK(get(&pool, 100, stream_b) == block);
    CHECK_EQUAL(waits, 0);
    CHECK(pool_put(&pool, block));
    end(&pool);
}

/* A sealed block has an event after its last work, for which even its own stream waits. */
static void test_seal(void)
{
    Pool pool;
    PoolError order;
    start(&pool);
    PoolBlock *block = get(&pool, 100, stream_a);
    CHECK_EQUAL(pool_seal(&pool, block, &order), CUDA_SUCCESS);
    CHECK(pool_put(&pool, block));
    CHECK_EQUAL(waits, 0);
    CHECK(get(&pool, 100, stream_a) == block);
    CHECK(waits == 1 && last_waited_for == stream_a);
    CHECK(pool_put(&pool, block));
    end(&pool);
}

/* Memory that the host may use at once: the host waits for the last work on it, and no stream does. */
static void test_memory_that_the_host_uses(void)
{
    Pool pool;
    start(&pool);
    pool.source = &host_uses;
    PoolBlock *block = get(&pool, 100, stream_a);
    CHECK(pool_put(&pool, block));
    CHECK(!pool_take(&pool, 100, stream_a));
    CHECK(get(&pool, 100, stream_a) == block && !block->ready);
    CHECK(records == 1 && event_waits == 1 && waits == 0);
    CHECK(pool_put(&pool, block));
    event_result = CUDA_ERROR_UNKNOWN;
    PoolError order;
    CHECK_EQUAL(pool_take_after(&pool, 100, stream_b, &block, &order), CUDA_ERROR_UNKNOWN);
    CHECK_TEXT(order.call, "cuEventSynchronize");
    event_result = CUDA_SUCCESS;
    CHECK_EQUAL(pool_drop(&pool, block, true), CUDA_SUCCESS);
    end(&pool);
}

/* A checked pool reports to the memory checker how many bytes of a block are in use, and waits for the work
 * on a block before it reports that the use has ended (except during capture). */
static void test_marks(void)
{
    Pool pool;
    PoolError order;
    PoolBlock *block;
    has_checker = true;
    start(&pool);
    CHECK(pool.checked);
    CHECK_EQUAL(pool_add(&pool, 100, stream_a, &block), CUDA_SUCCESS);
    CHECK_EQUAL(bytes_in_use, 100);
    CHECK_EQUAL(heap_bytes, block->capacity);
    pool_end_use(block);
    CHECK_EQUAL(bytes_in_use, 0);
    CHECK_EQUAL(synchronized, 1);
    CHECK(pool_put(&pool, block));
    CHECK(!pool_take(&pool, 100, stream_a));
    CHECK_EQUAL(pool_take_after(&pool, 102, stream_a, &block, &order), CUDA_SUCCESS);
    CHECK_EQUAL(bytes_in_use, 102);
    CHECK_EQUAL(pool_seal(&pool, block, &order), CUDA_SUCCESS);
    pool_end_use(block);
    CHECK(event_waits == 1 && synchronized == 1);
    CHECK(pool_put(&pool, block));
    CHECK_EQUAL(pool_add(&pool, 0, stream_a, &block), CUDA_SUCCESS);
    capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    pool_end_use(block);
    capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    CHECK_EQUAL(synchronized, 1);
    CHECK_EQUAL(pool_drop(&pool, block, true), CUDA_SUCCESS);
    pool_pass_through(&pool);
    CHECK(!pool.checked);
    end(&pool);
    CHECK(pool_init(&pool, &pool_managed_memory, 0, POOL_DEFAULT_BITS));
    CHECK(!pool.checked);
    end(&pool);
    has_checker = false;
}

/* pool_leave_event() makes the null stream wait instead of the block's event; if that fails, the host
 * waits. */
static void test_leaving_an_event(void)
{
    Pool pool;
    PoolError order;
    start(&pool);
    PoolBlock *block = get(&pool, 100, stream_a);
    CHECK_EQUAL(pool_seal(&pool, block, &order), CUDA_SUCCESS);
    CHECK_EQUAL(pool_leave_event(block), CUDA_SUCCESS);
    CHECK(waits == 1 && last_waiter == NULL && last_waited_for == stream_a && block->stream == NULL);
    CHECK_EQUAL(pool_seal(&pool, block, &order), CUDA_SUCCESS);
    wait_result = CUDA_ERROR_UNKNOWN;
    CHECK_EQUAL(pool_leave_event(block), CUDA_SUCCESS);
    CHECK_EQUAL(synchronized, 1);
    CHECK_EQUAL(pool_drop(&pool, block, true), CUDA_SUCCESS);
    end(&pool);
}

/* If recording or waiting fails, the block is returned with the name of the call that failed. */
static void test_order_that_fails(void)
{
    Pool pool;
    start(&pool);
    for (int i = 0; i < 2; i++) {
        PoolBlock *block = get(&pool, 100, stream_a);
        CHECK(pool_put(&pool, block));
        PoolBlock *taken = NULL;
        PoolError order;
        CHECK(!pool_take(&pool, 100, stream_b));
        *(i ? &wait_result : &record_result) = CUDA_ERROR_UNKNOWN;
        CHECK_EQUAL(pool_take_after(&pool, 100, stream_b, &taken, &order), CUDA_ERROR_UNKNOWN);
        CHECK(taken == block);
        CHECK(!strcmp(order.call, i ? "cuStreamWaitEvent" : "cuEventRecord"));
        CHECK_EQUAL(pool_drop(&pool, block, true), CUDA_SUCCESS);
        check_statistics(&pool, 0, 0, 0, 0);
        record_result = wait_result = CUDA_SUCCESS;
    }
    end(&pool);
}

/* ---- Threads ---- */

enum { THREADS = 4, TURNS = 20000 };

/* Each thread writes its mark to its blocks. Returns how often the mark changed: two threads had the
 * block. */
static void *take_and_put(void *data)
{
    Pool *pool = data;
    size_t clashes = 0;
    unsigned random_state = (unsigned)(uintptr_t)&clashes | 1;
    for (int i = 0; i < TURNS; i++) {
        random_state = random_state * 1664525u + 1013904223u;
        size_t size = 1 + (random_state >> 16) % 500;
        PoolBlock *block = pool_take(pool, size, NULL);
        if (!block && pool_add(pool, size, NULL, &block) != CUDA_SUCCESS) return (void *)1;
        block->size = (size_t)(uintptr_t)&clashes;
        for (volatile int spin = 0; spin < 10;) spin = spin + 1;
        clashes += block->size != (size_t)(uintptr_t)&clashes;
        block->size = size;
        if (!pool_put(pool, block)) return (void *)1;
    }
    return (void *)clashes;
}

static CUresult plain_alloc(const Pool *pool, CUdeviceptr *pointer, size_t size, CUstream stream)
{
    (void)pool;
    (void)stream;
    *pointer = (CUdeviceptr)(uintptr_t)malloc(size);
    return CUDA_SUCCESS;
}

static CUresult plain_free(const Pool *pool, const PoolBlock *block)
{
    (void)pool;
    free((void *)(uintptr_t)block->pointer);
    return CUDA_SUCCESS;
}

static void test_threads(void)
{
    static const PoolSource plain = {.allocate = plain_alloc, .release = plain_free, .release_name = "free"};
    Pool pool;
    pthread_t threads[THREADS];
    void *problem;
    CHECK(pool_init(&pool, &plain, 0, POOL_DEFAULT_BITS));
    for (int i = 0; i < THREADS; i++) CHECK_EQUAL(pthread_create(&threads[i], NULL, take_and_put, &pool), 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], &problem) == 0 && !problem);
    PoolStatistics now = pool_statistics(&pool);
    CHECK(now.active_blocks == 0 && now.active_bytes == 0 && now.held_blocks >= 1);
    CHECK_EQUAL(pool_release_held(&pool, true), CUDA_SUCCESS);
    check_statistics(&pool, 0, 0, 0, 0);
    CHECK_EQUAL(pool_clear(&pool, true), CUDA_SUCCESS);
}

int main(void)
{
    CHECK_GROUP(test_bins);
    CHECK_GROUP(test_statistics);
    CHECK_GROUP(test_other_bins_are_not_touched);
    CHECK_GROUP(test_the_largest_goes_first);
    CHECK_GROUP(test_shortage_changes_nothing);
    CHECK_GROUP(test_a_limit);
    CHECK_GROUP(test_trim);
    CHECK_GROUP(test_requests_that_pass_through);
    CHECK_GROUP(test_adopted_memory);
    CHECK_GROUP(test_the_source_ends_before_the_pool);
    CHECK_GROUP(test_without_the_driver);
    CHECK_GROUP(test_same_stream_at_once);
    CHECK_GROUP(test_other_stream_waits);
    CHECK_GROUP(test_the_own_stream_is_preferred);
    CHECK_GROUP(test_shared_bins);
    CHECK_GROUP(test_shared_bins_are_not_searched_for_long);
    CHECK_GROUP(test_follow_and_join);
    CHECK_GROUP(test_record);
    CHECK_GROUP(test_a_stream_ends);
    CHECK_GROUP(test_a_stream_ends_without_an_event);
    CHECK_GROUP(test_seal);
    CHECK_GROUP(test_memory_that_the_host_uses);
    CHECK_GROUP(test_marks);
    CHECK_GROUP(test_leaving_an_event);
    CHECK_GROUP(test_order_that_fails);
    CHECK_GROUP(test_threads);
    return check_done();
}
