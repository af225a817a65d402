/* What all kinds of memory pools share: life, blocks, what happens when memory is short. */
#include "ext/memory/pool.h"

#include <stdlib.h>
#include <string.h>

#include "ext/base/captured.h"
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
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

/* Holds a pool of the list. False when its end has begun: until that takes the lock the list still contains a
 * pool without references, or a default pool whose context lost its last reference. */
static bool hold_if_alive(MemoryPool *pool)
{
    if (atomic_load(&pool->references) == 0 || atomic_load(&pool->context->unreferenced)) return false;
    memory_pool_hold(pool);
    return true;
}

/* The pool after `before`, held, or the first one if `before` is NULL. Drops `before`. NULL at the end. */
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

/* Whether PYCUDA_POOL=0 is set: pools then hold no memory for reuse (core/settings.def). */
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
    gil_count(&pool->references, 1);
}

void memory_pool_release(MemoryPool *pool, CUresult (*how)(Pool *, bool with_driver))
{
    ContextScope scope;
    CUresult result = CUDA_SUCCESS;
    if (context_enter_scope(pool->context, &scope)) {
        CALL_CORE(pool->state, result, BLOCKS_ONCE, how(&pool->core, true));
        context_leave_scope(&scope);
        report_driver(pool->state, result, pool->core.source->release_name);
    } else if (!forked_after_init()) {
        CALL_CORE(pool->state, result, BLOCKS_ONCE, how(&pool->core, false));
    }
}

void memory_pool_trim(MemoryPool *pool, size_t keep)
{
    ContextScope scope;
    CUresult result;
    if (!context_enter_scope(pool->context, &scope)) return;
    CALL_CORE(pool->state, result, BLOCKS_ONCE, pool_trim_to(&pool->core, keep));
    context_leave_scope(&scope);
    report_driver(pool->state, result, pool->core.source->release_name);
}

/* Destroys the driver's pool, in a scope of its context, once the work on its memory is done (all work of the
 * context if blocks are in use). After an error, or while abandoned work still runs, the driver's pool is
 * kept until the process ends. *routine: the call that failed. */
static CUresult end_in_driver(MemoryPool *pool, const char **routine)
{
    CUresult result = CUDA_SUCCESS;
    if (atomic_load(&pool->state->left_running)) result = once_cuStreamQuery(pool->state, CU_STREAM_LEGACY);
    if (result == CUDA_ERROR_NOT_READY) return CUDA_SUCCESS;
    *routine = "cuStreamSynchronize";
    if (pool_statistics(&pool->core).active_blocks)
        result = wait_for_release(pool->state, routine);
    else
        CALL_CORE(pool->state, result, RELEASES, pool_await_pending_frees(&pool->core));
    if (result != CUDA_SUCCESS) return result;
    *routine = "cuMemPoolDestroy";
    CALL_CORE(pool->state, result, BLOCKS_ONCE, pool_end_source(&pool->core));
    return result;
}

static void end_driver_pool(MemoryPool *pool)
{
    ContextScope scope;
    const char *routine;
    if (!pool->core.driver_pool || !context_enter_scope(pool->context, &scope)) return;
    CUresult result = end_in_driver(pool, &routine);
    context_leave_scope(&scope);
    report_driver(pool->state, result, routine);
}

/* Drops a reference; without one the pool ends and is freed. */
static void end_if_last(MemoryPool *pool)
{
    if (gil_count(&pool->references, -1) > 0) return;
    if (pool->counted) LIVE_LESS(pool->state, MemoryPool);
    unlink_pool(pool);
    end_driver_pool(pool);
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
    PyErr_Format(PyExc_ValueError, "leading_bits_in_bin_id is %u: it must be at most %d", *bits,
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
        || contexts_share_memory(stream_cast(stream)->context, pool->context))
        return 0;
    raise_logic(pool->state, "the stream and the pool belong to different contexts");
    return -1;
}

/* Frees a block. in_order: after the work on the block's stream, when no other stream uses it. If false:
 * after all work of the context, for which the driver itself waits when it frees memory that is not
 * stream-ordered. */
static void drop_block(MemoryPool *pool, PoolBlock *block, bool in_order)
{
    ContextScope scope;
    CUresult result, waited = CUDA_SUCCESS;
    const char *routine = NULL;
    if (pool->resource && !forked_after_init()) {
        external_memory_return(pool, block, in_order);
        return;
    }
    if (context_enter_scope(pool->context, &scope)) {
        if (!in_order && pool->core.source->ordered) waited = wait_for_release(pool->state, &routine);
        CALL_CORE(pool->state, result, BLOCKS_ONCE, pool_drop(&pool->core, block, true));
        context_leave_scope(&scope);
        if (result == CUDA_SUCCESS) report_driver(pool->state, waited, routine);
        report_driver(pool->state, result, pool->core.source->release_name);
    } else if (!forked_after_init()) {
        CALL_CORE(pool->state, result, BLOCKS_ONCE, pool_drop(&pool->core, block, false));
    }
}

void memory_pool_discard(MemoryPool *pool, PoolBlock *block) { drop_block(pool, block, false); }

/* Ends the use of a block for a memory checker. A failure is ignored: the program's next call fails, too, and
 * raises. */
static void end_use(MemoryPool *pool, PoolBlock *block)
{
    ContextScope scope;
    CUresult result;
    if (!context_enter_scope(pool->context, &scope)) return;
    CALL_CORE(pool->state, result, BLOCKS_ONCE, pool_end_use(block));
    context_leave_scope(&scope);
    (void)result;
}

void memory_pool_return(MemoryPool *pool, PoolBlock *block)
{
    if (pool->core.checked) end_use(pool, block);
    if (forked_after_init() || pool_put(&pool->core, block)) return;
    drop_block(pool, block, true);
}

/* ---- Requests ---- */

/* Frees all held blocks of the pools of this device. Called outside of any scope: dropping a pool may run
 * Python code. */
static void release_all_held(ModuleState *state, CUdevice device)
{
    ContextScope scope;
    CUresult result;
    for (MemoryPool *pool = next_pool(state, NULL); pool; pool = next_pool(state, pool)) {
        if (pool->context->device != device || !context_enter_scope(pool->context, &scope)) continue;
        CALL_CORE(state, result, BLOCKS_ONCE, pool_release_held(&pool->core, true));
        context_leave_scope(&scope);
        report_driver(state, result, pool->core.source->release_name);
    }
}

/* A request for a block: what is wanted, the block once there is one, and the errors on the way. */
typedef struct BlockRequest {
    size_t size;
    CUstream stream;
    PoolBlock *block;
    PoolError order; /* why the stream could not be ordered after a held block's last work */
    CUresult released; /* the first error of freeing held blocks for this request */
} BlockRequest;

/* Takes a held block, or adds a new one. */
IN_CALL static CUresult take_or_add(Pool *pool, BlockRequest *asked)
{
    CUresult result = pool_take_after(pool, asked->size, asked->stream, &asked->block, &asked->order);
    if (result != CUDA_SUCCESS || asked->block) return result;
    return pool_add(pool, asked->size, asked->stream, &asked->block);
}

IN_CALL static CUresult add_new(Pool *pool, BlockRequest *asked)
{
    return pool_add(pool, asked->size, asked->stream, &asked->block);
}

/* Allocates stream-ordered memory on a stream outside of the capture, which waits until it is there. */
IN_CALL static CUresult add_uncaptured(Pool *pool, BlockRequest *asked)
{
    CUstream uncaptured;
    CUresult result = pool_begin_uncaptured(&uncaptured);
    if (result != CUDA_SUCCESS) return result;
    result = pool_add(pool, asked->size, uncaptured, &asked->block);
    CUresult ended = pool_end_uncaptured(uncaptured);
    if (result != CUDA_SUCCESS) return result;
    asked->block->stream = asked->stream;
    if (ended != CUDA_SUCCESS) asked->order = (PoolError){ended, "cuStreamSynchronize"};
    return ended;
}

/* Frees held memory step by step, until the driver has enough again or the limit allows it. */
IN_CALL static CUresult add_after_release(Pool *pool, BlockRequest *asked)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY, released;
    bool found = true;
    while (result == CUDA_ERROR_OUT_OF_MEMORY && found) {
        released = pool_release_largest(pool, &found);
        if (asked->released == CUDA_SUCCESS) asked->released = released;
        if (found) result = pool_add(pool, asked->size, asked->stream, &asked->block);
    }
    return result;
}

/* Makes one attempt, `how`, in the pool's context. A thread that detaches the context waits until the attempt
 * ends. So Python code runs between two attempts and not within one, except signal handlers while an attempt
 * waits for a full queue. */
static CUresult run_in_context(MemoryPool *pool, CUresult (*how)(Pool *, BlockRequest *), BlockRequest *asked)
{
    ContextScope scope;
    CUresult result;
    if (!context_enter_scope(pool->context, &scope)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (how == take_or_add)
        CALL_CORE(pool->state, result, HOW_WAITS(ON_QUEUE(asked->stream, 0)), how(&pool->core, asked));
    else
        CALL_CORE(pool->state, result, BLOCKS_ONCE, how(&pool->core, asked));
    context_leave_scope(&scope);
    return result;
}

static bool is_beyond_limit(MemoryPool *pool, const BlockRequest *asked)
{
    return pool_is_beyond_limit(&pool->core, asked->size);
}

/* Allocates when the driver has no more memory, or the pool's limit is reached. Before each attempt more
 * memory is freed: if the limit is reached, held blocks of this pool; then garbage; then held blocks of this
 * pool; at last, unless the limit is the obstacle, those of all pools of the device. */
static CUresult allocate_in_shortage(MemoryPool *pool, BlockRequest *asked)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (is_beyond_limit(pool, asked)) result = run_in_context(pool, add_after_release, asked);
    if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
    device_memory_collect(pool->state);
    result = run_in_context(pool, take_or_add, asked);
    if (result != CUDA_ERROR_OUT_OF_MEMORY || asked->block) return result;
    result = run_in_context(pool, add_after_release, asked);
    if (result != CUDA_ERROR_OUT_OF_MEMORY || is_beyond_limit(pool, asked)) return result;
    release_all_held(pool->state, pool->context->device);
    return run_in_context(pool, take_or_add, asked);
}

static const char allocate_name[] = "memory_pool::allocate";

PoolBlock *memory_pool_raise_beyond_limit(MemoryPool *pool, size_t size)
{
    char asked[32], used[32], limit[32];
    device_memory_format(size, asked, sizeof asked);
    device_memory_format(pool_statistics(&pool->core).managed_bytes, used, sizeof used);
    device_memory_format(pool_get_limit(&pool->core), limit, sizeof limit);
    raise_driver(pool->state, CUDA_ERROR_OUT_OF_MEMORY, allocate_name,
                 "%s requested, %s of the pool's limit of %s in use", asked, used, limit);
    return NULL;
}

static PoolBlock *raise_failure(MemoryPool *pool, CUresult result, const BlockRequest *asked)
{
    ModuleState *state = pool->state;
    if (asked->order.result != CUDA_SUCCESS) {
        raise_driver(state, asked->order.result, asked->order.call,
                     "while a pool passed memory on to another stream");
        if (asked->block) memory_pool_discard(pool, asked->block);
        return NULL;
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY && is_beyond_limit(pool, asked))
        return memory_pool_raise_beyond_limit(pool, asked->size);
    if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        raise_driver(state, CUDA_ERROR_INVALID_CONTEXT, allocate_name,
                     "the context of the pool cannot be made current");
    else if (pool->core.source->of_host)
        raise_driver(state, result, allocate_name, "%zu bytes requested", asked->size);
    else
        device_memory_raise(state, pool->context, result, allocate_name, asked->size);
    return NULL;
}

/* Allocates a block that needs driver calls: one that another stream used, or a new one. */
static PoolBlock *allocate_slowly(MemoryPool *pool, size_t size, CUstream stream)
{
    BlockRequest asked = {.size = size, .stream = stream};
    CUresult result = run_in_context(pool, take_or_add, &asked);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && !asked.block) /* with a block, its order has failed */
        result = allocate_in_shortage(pool, &asked);
    report_driver(pool->state, asked.released, pool->core.source->release_name);
    return result == CUDA_SUCCESS ? asked.block : raise_failure(pool, result, &asked);
}

/* Allocates while a capture is in progress: new memory only, as a stream under capture cannot wait for the
 * previous work on a held block, and no stream can wait for one under capture. Stream-ordered memory that is
 * allocated on a captured stream would belong to the graph: it is allocated on another stream. */
static PoolBlock *allocate_under_capture(MemoryPool *pool, size_t size, CUstream stream)
{
    BlockRequest asked = {.size = size, .stream = stream};
    bool uncaptured = pool->core.source->ordered && captured_holds(pool->state, stream);
    CUresult result = run_in_context(pool, uncaptured ? add_uncaptured : add_new, &asked);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && !uncaptured)
        result = run_in_context(pool, add_after_release, &asked);
    report_driver(pool->state, asked.released, pool->core.source->release_name);
    return result == CUDA_SUCCESS ? asked.block : raise_failure(pool, result, &asked);
}

PoolBlock *memory_pool_allocate(MemoryPool *pool, size_t size, PyObject *object, CUstream stream)
{
    if (forked_after_init())
        return (PoolBlock *)raise_driver(pool->state, CUDA_ERROR_NOT_INITIALIZED, allocate_name, NULL);
    deferred_release(pool->state);
    if (host_function_runs() && host_function_refuses(pool->state, allocate_name)) return NULL;
    if (!context_check(pool->context, allocate_name)) return NULL;
    if (pool->resource) return external_memory_allocate(pool, size, stream);
    PoolBlock *block = pool_take(&pool->core, size, stream);
    if (block) return block;
    if (captured_notice(pool->state, object, stream) < 0) return NULL;
    return captured_some(pool->state) ? allocate_under_capture(pool, size, stream)
                                      : allocate_slowly(pool, size, stream);
}

/* ---- Shortage, streams and contexts ---- */

static void release_held_of_device(ModuleState *state)
{
    CUdevice device;
    CUresult result = once_cuCtxGetDevice(state, &device);
    if (result == CUDA_SUCCESS) release_all_held(state, device);
}

/* StreamGoneFn: reports the stream's end to all pools that may have used it, also those of green contexts of
 * one primary context. Each pool gets a scope of its own, as dropping a pool, which may run Python code, must
 * be outside of scopes. */
static bool note_stream_destroyed(ContextObject *context, CUstream stream)
{
    ModuleState *state = context->state;
    ContextScope scope;
    CUresult result;
    bool noted = true;
    for (MemoryPool *pool = next_pool(state, NULL); pool; pool = next_pool(state, pool)) {
        if (!contexts_share_memory(pool->context, context)) continue;
        if (!context_enter_scope(context, &scope) && !context_enter_scope(pool->context, &scope)) {
            noted = false;
            continue;
        }
        CALL_CORE(state, result, BLOCKS_ONCE, pool_stream_destroyed(&pool->core, stream));
        context_leave_scope(&scope);
        (void)result; /* pool_stream_destroyed() never fails */
    }
    return noted;
}

/* A pool of this context that still has a pool of the driver, borrowed; NULL when there is none. It cannot be
 * freed meanwhile: a thread that drops it waits until the context is over. */
static MemoryPool *find_driver_pool(ContextObject *context)
{
    state_lock(context->state);
    MemoryPool *pool = context->state->pools;
    while (pool && !(pool->context == context && pool->core.driver_pool)) pool = pool->next;
    state_unlock(context->state);
    return pool;
}

/* ContextLastFn: destroys the driver's pools of a context that is destroyed or released next; blocks in use
 * lose their memory. The first error is reported. */
static void end_driver_pools(ContextObject *context)
{
    ContextScope scope;
    CUresult result, first = CUDA_SUCCESS;
    const char *routine = NULL, *first_routine = NULL;
    MemoryPool *pool = find_driver_pool(context);
    if (!pool || !context_enter_last(context, &scope)) return;
    for (; pool; pool = find_driver_pool(context)) {
        result = end_in_driver(pool, &routine);
        pool->core.driver_pool = NULL;
        if (first != CUDA_SUCCESS) continue;
        first = result;
        first_routine = routine;
    }
    context_leave_scope(&scope);
    report_driver(context->state, first, first_routine);
}

int pool_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    state->stream_gone = note_stream_destroyed;
    if (context_on_last(state, end_driver_pools) < 0) return -1;
    return device_memory_on_shortage(state, release_held_of_device);
}
