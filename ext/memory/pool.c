/* What all kinds of memory pools share: life, blocks, what is done when memory is short. */
#include "ext/memory/pool.h"

#include <stdlib.h>
#include <string.h>

#include "ext/convert/convert.h"
#include "ext/deferred.h"
#include "ext/memory/device_memory.h"
#include "ext/errors.h"
#include "ext/stream/stream.h"

/* ---- The list of pools ---- */

static void link_pool(MemoryPool *pool)
{
    state_lock(pool->state);
    pool->next = pool->state->pools;
    pool->state->pools = pool;
    state_unlock(pool->state);
}

static void unlink_pool(MemoryPool *pool)
{
    state_lock(pool->state);
    MemoryPool **link = &pool->state->pools;
    while (*link != pool) link = &(*link)->next;
    *link = pool->next;
    state_unlock(pool->state);
}

/* A pool whose last reference went is in the list until its end gets the lock, and a default pool whose
 * context had its last. */
static bool hold_if_alive(MemoryPool *pool)
{
    long count = atomic_load(&pool->references);
    while (count > 0 && !atomic_load(&pool->context->unreferenced)) {
        if (!atomic_compare_exchange_weak(&pool->references, &count, count + 1)) continue;
        context_hold(pool->context);
        return true;
    }
    return false;
}

/* The pool after this one, which must be held and is dropped, or the first one. Held; NULL at the end. */
static MemoryPool *next_pool(ModuleState *state, MemoryPool *before)
{
    state_lock(state);
    MemoryPool *pool = before ? before->next : state->pools;
    while (pool && !hold_if_alive(pool)) pool = pool->next;
    state_unlock(state);
    if (before) memory_pool_drop(before);
    return pool;
}

/* ---- Life ---- */

/* core/settings.def has the row. */
static bool is_switched_off(void)
{
    const char *text = getenv("PYCUDA_POOL");
    return text && strcmp(text, "0") == 0;
}

MemoryPool *memory_pool_new(ContextObject *context, const PoolForm *form)
{
    MemoryPool *pool = PyMem_RawCalloc(1, sizeof *pool);
    if (!pool || !pool_init(&pool->core, form->source, form->flags, form->bits)) {
        PyMem_RawFree(pool);
        PyErr_NoMemory();
        return NULL;
    }
    atomic_init(&pool->references, 1);
    pool->state = context->state;
    pool->context = context;
    pool->core.driver_pool = form->driver_pool;
    pool->resource = Py_XNewRef(form->resource);
    if (is_switched_off()) pool_pass_through(&pool->core);
    link_pool(pool);
    return pool;
}

void memory_pool_hold(MemoryPool *pool)
{
    context_hold(pool->context);
    atomic_fetch_add(&pool->references, 1);
}

void memory_pool_release(MemoryPool *pool, CUresult (*how)(Pool *, bool with_driver))
{
    ContextScope scope;
    CUresult result = CUDA_SUCCESS;
    if (context_enter(pool->context, &scope)) {
        CALL_UNLOCKED(result, how(&pool->core, true));
        context_leave(&scope);
        report_driver(pool->state, result, pool->core.source->release_name);
    } else if (!context_forked()) {
        CALL_UNLOCKED(result, how(&pool->core, false));
    }
}

void memory_pool_trim(MemoryPool *pool, size_t keep)
{
    ContextScope scope;
    CUresult result;
    if (!context_enter(pool->context, &scope)) return;
    CALL_UNLOCKED(result, pool_trim_to(&pool->core, keep));
    context_leave(&scope);
    report_driver(pool->state, result, pool->core.source->release_name);
}

static void end_if_last(MemoryPool *pool)
{
    if (atomic_fetch_sub(&pool->references, 1) != 1) return;
    if (pool->counted) LIVE_LESS(pool->state, MemoryPool);
    unlink_pool(pool);
    memory_pool_release(pool, pool_clear);
    Py_XDECREF(pool->resource);
    PyMem_RawFree(pool);
}

void memory_pool_drop(MemoryPool *pool)
{
    ContextObject *context = pool->context;
    end_if_last(pool);
    context_drop(context);
}

void memory_pool_leave(MemoryPool *pool)
{
    if (!pool->counted) memory_pool_release(pool, pool_stop);
    end_if_last(pool);
}

int pool_read_bits(PyObject *value, unsigned *bits)
{
    *bits = POOL_DEFAULT_BITS;
    if (convert_unsigned(value, "leading_bits_in_bin_id", bits) < 0) return -1;
    if (*bits <= POOL_MAX_BITS) return 0;
    PyErr_Format(PyExc_ValueError, "leading_bits_in_bin_id is %u: it may be at most %d", *bits,
                 POOL_MAX_BITS);
    return -1;
}

int pool_start(PyObject *self, const PoolForm *form)
{
    MemoryPool *before = pool_cast(self)->pool;
    ContextObject *context = context_hold_current(state_of_type(Py_TYPE(self)));
    if (!context) return -1;
    MemoryPool *pool = memory_pool_new(context, form);
    if (!pool) {
        context_drop(context);
        return -1;
    }
    pool->counted = true;
    LIVE_MORE(pool->state, MemoryPool);
    pool_cast(self)->pool = pool;
    if (before) memory_pool_drop(before);
    return 0;
}

/* ---- Blocks ---- */

int pool_stream(MemoryPool *pool, PyObject *stream, CUstream *out)
{
    if (convert_stream(pool->state, stream, out) < 0) return -1;
    if (!stream || !PyObject_TypeCheck(stream, pool->state->Stream_type)
        || stream_cast(stream)->context->handle == pool->context->handle)
        return 0;
    raise_logic(pool->state, "the stream belongs to another context than the pool");
    return -1;
}

/* in_order: after the work on the block's stream, which is all. Else after all work of the context, for which
 * the driver waits when it frees memory that is not ordered. */
static void drop_block(MemoryPool *pool, PoolBlock *block, bool in_order)
{
    ContextScope scope;
    CUresult result;
    if (context_enter(pool->context, &scope)) {
        if (!in_order && pool->core.source->ordered) CALL_UNLOCKED(result, driver.cuCtxSynchronize());
        if (pool->resource) external_memory_give(pool, block);
        CALL_UNLOCKED(result, pool_drop(&pool->core, block, !pool->resource));
        context_leave(&scope);
        report_driver(pool->state, result, pool->core.source->release_name);
    } else if (!context_forked()) {
        CALL_UNLOCKED(result, pool_drop(&pool->core, block, false));
    }
}

void memory_pool_discard(MemoryPool *pool, PoolBlock *block) { drop_block(pool, block, false); }

void memory_pool_give(MemoryPool *pool, PoolBlock *block)
{
    if (context_forked() || pool_put(&pool->core, block)) return;
    drop_block(pool, block, true);
}

/* A held block, after its last work. The context is current. NULL with an exception when that failed, without
 * when there is none. */
static PoolBlock *take_after(MemoryPool *pool, size_t size, CUstream stream)
{
    PoolBlock *block = NULL;
    PoolOrder order = {CUDA_ERROR_NOT_PERMITTED, "cuStreamWaitEvent"};
    CUresult result;
    CALL_UNLOCKED(result, pool_take_after(&pool->core, size, stream, &block, &order));
    if (result == CUDA_SUCCESS) return block;
    raise_driver(pool->state, order.result, order.call, "while a pool handed memory on to another stream");
    if (block) memory_pool_discard(pool, block);
    return NULL;
}

static CUresult add_block(MemoryPool *pool, size_t size, CUstream stream, PoolBlock **block)
{
    CUresult result;
    CALL_UNLOCKED(result, pool_add(&pool->core, size, stream, block));
    return result;
}

void memory_pools_release_held(ModuleState *state, CUdevice device)
{
    ContextScope scope;
    CUresult result;
    for (MemoryPool *pool = next_pool(state, NULL); pool; pool = next_pool(state, pool)) {
        if (pool->context->device != device || !context_enter(pool->context, &scope)) continue;
        CALL_UNLOCKED(result, pool_release_held(&pool->core, true));
        context_leave(&scope);
        report_driver(state, result, pool->core.source->release_name);
    }
}

/* Gives back step by step, until the driver has enough again or the limit allows it. */
static CUresult add_after_release(MemoryPool *pool, size_t size, CUstream stream, PoolBlock **block)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY, released;
    bool found = true;
    while (result == CUDA_ERROR_OUT_OF_MEMORY && found) {
        CALL_UNLOCKED(released, pool_release_largest(&pool->core, &found));
        report_driver(pool->state, released, pool->core.source->release_name);
        if (found) result = add_block(pool, size, stream, block);
    }
    return result;
}

static CUresult add_after_shortage(MemoryPool *pool, size_t size, CUstream stream, PoolBlock **block)
{
    CUresult result = add_after_release(pool, size, stream, block);
    if (result != CUDA_ERROR_OUT_OF_MEMORY || pool_is_beyond_limit(&pool->core, size)) return result;
    memory_pools_release_held(pool->state, pool->context->device);
    return add_block(pool, size, stream, block);
}

static void raise_beyond_limit(MemoryPool *pool, const char *routine, size_t size)
{
    char asked[32], used[32], limit[32];
    device_memory_format(size, asked, sizeof asked);
    device_memory_format(pool_statistics(&pool->core).managed_bytes, used, sizeof used);
    device_memory_format(pool_get_limit(&pool->core), limit, sizeof limit);
    raise_driver(pool->state, CUDA_ERROR_OUT_OF_MEMORY, routine,
                 "%s asked, %s of the pool's limit of %s in use", asked, used, limit);
}

PoolBlock *memory_pool_raise_shortage(MemoryPool *pool, CUresult result, size_t size)
{
    static const char routine[] = "memory_pool::allocate";
    if (result == CUDA_ERROR_OUT_OF_MEMORY && pool_is_beyond_limit(&pool->core, size))
        raise_beyond_limit(pool, routine, size);
    else if (pool->core.source == &pool_host_memory)
        raise_driver(pool->state, result, routine, "%zu bytes asked", size);
    else
        device_memory_raise(pool->state, result, routine, size);
    return NULL;
}

/* New memory. The context is current. */
static PoolBlock *allocate_new(MemoryPool *pool, size_t size, CUstream stream)
{
    PoolBlock *block = NULL;
    CUresult result = add_block(pool, size, stream, &block);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && pool_is_beyond_limit(&pool->core, size))
        result = add_after_release(pool, size, stream, &block);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        device_memory_collect(pool->state);
        block = take_after(pool, size, stream);
        if (block || PyErr_Occurred()) return block;
        result = add_after_shortage(pool, size, stream, &block);
    }
    return result == CUDA_SUCCESS ? block : memory_pool_raise_shortage(pool, result, size);
}

/* What needs the driver: a block of another stream, or a new one. */
static PoolBlock *allocate_slowly(MemoryPool *pool, size_t size, CUstream stream)
{
    ContextScope scope;
    if (!context_enter(pool->context, &scope))
        return (PoolBlock *)raise_driver(pool->state, CUDA_ERROR_INVALID_CONTEXT, "memory_pool::allocate",
                                         "the context of the pool cannot be made current");
    PoolBlock *block =
        pool->resource ? external_memory_allocate(pool, size, stream) : take_after(pool, size, stream);
    if (!block && !PyErr_Occurred()) block = allocate_new(pool, size, stream);
    context_leave(&scope);
    return block;
}

PoolBlock *memory_pool_allocate(MemoryPool *pool, size_t size, CUstream stream)
{
    if (context_forked())
        return (PoolBlock *)raise_driver(pool->state, CUDA_ERROR_NOT_INITIALIZED, "memory_pool::allocate",
                                         NULL);
    deferred_release(pool->state);
    if (host_function_refuses(pool->state, "memory_pool::allocate")
        || !context_check(pool->context, "memory_pool::allocate"))
        return NULL;
    PoolBlock *block = pool_take(&pool->core, size, stream);
    return block ? block : allocate_slowly(pool, size, stream);
}

/* ---- Shortage and streams ---- */

static void give_back(ModuleState *state)
{
    CUdevice device;
    CUresult result;
    CALL_NEAR(state, result, driver.cuCtxGetDevice(&device));
    if (result == CUDA_SUCCESS) memory_pools_release_held(state, device);
}

void memory_pools_stream_gone(ModuleState *state, const ContextObject *context, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (MemoryPool *pool = next_pool(state, NULL); pool; pool = next_pool(state, pool))
        if (pool->context->handle == context->handle)
            CALL_UNLOCKED(result, pool_stream_gone(&pool->core, stream));
    (void)result; /* never fails */
}

int pool_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    return device_memory_on_shortage(state, give_back);
}
