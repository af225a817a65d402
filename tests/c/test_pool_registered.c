/* Pools of the process's own memory, which the driver only page-locks: the memory is there until its block
 * goes, whether or not the context is. */
#include "check.h"

#include <stdint.h>
#include <sys/mman.h>

#include "core/pool.c"
#include "core/pool_bins.c"
#include "core/pool_sources.c"

bool memory_marks_wanted(void) { return false; }
const CpuMemoryMarks *driver_memory_marks(void) { return NULL; }

/* Not called without a checker. */
IN_CALL void *memory_marks_block(CUdeviceptr pointer, size_t bytes)
{
    CHECK(!pointer && !bytes);
    return NULL;
}
IN_CALL void memory_marks_use(void *heap, CUdeviceptr pointer, size_t size)
{
    CHECK(!heap && !pointer && !size);
}
IN_CALL void memory_marks_end(CUdeviceptr pointer) { CHECK(!pointer); }

/* ---- A driver that counts page-locks ---- */

static size_t page_locks;
static CUresult lock_result;

static CUresult fake_register(void *memory, size_t size, unsigned flags)
{
    CHECK(memory && size && flags == CU_MEMHOSTREGISTER_PORTABLE);
    page_locks += lock_result == CUDA_SUCCESS;
    return lock_result;
}

static CUresult fake_unregister(void *memory)
{
    CHECK(memory != NULL);
    page_locks--;
    return CUDA_SUCCESS;
}

DriverTable driver = {.cuMemHostRegister = fake_register, .cuMemHostUnregister = fake_unregister};

/* ---- The tests ---- */

static bool is_mapped(CUdeviceptr pointer)
{
    unsigned char resident;
    return mincore((void *)(uintptr_t)pointer, 1, &resident) == 0;
}

static void start(Pool *pool)
{
    CHECK(pool_init(pool, &pool_registered_memory, CU_MEMHOSTREGISTER_PORTABLE, POOL_DEFAULT_BITS));
}

static PoolBlock *get(Pool *pool, size_t size)
{
    PoolBlock *block = NULL;
    CHECK_EQUAL(pool_add(pool, size, NULL, &block), CUDA_SUCCESS);
    memset((void *)(uintptr_t)block->pointer, 1, block->capacity);
    return block;
}

static void test_a_block_is_reused(void)
{
    Pool pool;
    start(&pool);
    PoolBlock *block = get(&pool, 100000);
    CUdeviceptr pointer = block->pointer;
    CHECK(pool_put(&pool, block) && is_mapped(pointer));
    CHECK(pool_take(&pool, 100000, NULL) == block && block->pointer == pointer);
    CHECK_EQUAL(page_locks, 1);
    CHECK_EQUAL(pool_drop(&pool, block, true), CUDA_SUCCESS);
    CHECK(!is_mapped(pointer));
    CHECK_EQUAL(page_locks, 0);
    CHECK_EQUAL(pool_clear(&pool, true), CUDA_SUCCESS);
}

/* A block in use and a held one, whose page-locks ended with the context. */
static void test_after_the_context(void)
{
    Pool pool;
    start(&pool);
    PoolBlock *used = get(&pool, 100000), *held = get(&pool, 5000);
    CUdeviceptr of_used = used->pointer, of_held = held->pointer;
    CHECK(pool_put(&pool, held));
    CHECK_EQUAL(pool_release_held(&pool, false), CUDA_SUCCESS);
    CHECK(is_mapped(of_used) && !is_mapped(of_held));
    CHECK_EQUAL(pool_drop(&pool, used, false), CUDA_SUCCESS);
    CHECK(!is_mapped(of_used));
    CHECK_EQUAL(page_locks, 2);
    CHECK_EQUAL(pool_clear(&pool, false), CUDA_SUCCESS);
    page_locks = 0;
}

static void test_memory_that_cannot_be_locked(void)
{
    Pool pool;
    PoolBlock *block = NULL;
    start(&pool);
    lock_result = CUDA_ERROR_NOT_SUPPORTED;
    CHECK_EQUAL(pool_add(&pool, 100000, NULL, &block), CUDA_ERROR_NOT_SUPPORTED);
    lock_result = CUDA_SUCCESS;
    CHECK(!block && pool_statistics(&pool).managed_bytes == 0);
    CHECK_EQUAL(pool_clear(&pool, true), CUDA_SUCCESS);
}

int main(void)
{
    CHECK_GROUP(test_a_block_is_reused);
    CHECK_GROUP(test_after_the_context);
    CHECK_GROUP(test_memory_that_cannot_be_locked);
    return check_done();
}
