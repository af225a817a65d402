/* What both kinds of memory pools share: life, shortage, statistics. */
#include "ext/memory/pool.h"

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

MemoryPool *memory_pool_new(ContextObject *context, const PoolSource *source, unsigned flags, unsigned bits)
{
    MemoryPool *pool = PyMem_RawCalloc(1, sizeof *pool);
    if (!pool || !pool_init(&pool->core, source, flags, bits)) {
        PyMem_RawFree(pool);
        PyErr_NoMemory();
        return NULL;
    }
    atomic_init(&pool->references, 1);
    pool->state = context->state;
    pool->context = context;
    link_pool(pool);
    return pool;
}

void memory_pool_hold(MemoryPool *pool)
{
    context_hold(pool->context);
    atomic_fetch_add(&pool->references, 1);
}

/* how: an IN_CALL function. In a forked child nobody may release the lock: what is in the pool stays. */
static void release(MemoryPool *pool, CUresult (*how)(Pool *, bool with_driver))
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

static void end_if_last(MemoryPool *pool)
{
    if (atomic_fetch_sub(&pool->references, 1) != 1) return;
    if (pool->counted) LIVE_LESS(pool->state, MemoryPool);
    unlink_pool(pool);
    release(pool, pool_clear);
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
    release(pool, pool_stop);
    end_if_last(pool);
}

static int read_bits(PyObject *value, unsigned *bits)
{
    if (convert_unsigned(value, "leading_bits_in_bin_id", bits) < 0) return -1;
    if (*bits <= POOL_MAX_BITS) return 0;
    PyErr_Format(PyExc_ValueError, "leading_bits_in_bin_id is %u: it may be at most %d", *bits,
                 POOL_MAX_BITS);
    return -1;
}

int pool_start(PyObject *self, const PoolSource *source, unsigned flags, PyObject *given_bits)
{
    unsigned bits = POOL_DEFAULT_BITS;
    if (read_bits(given_bits, &bits) < 0) return -1;
    MemoryPool *before = pool_cast(self)->pool;
    ContextObject *context = context_hold_current(state_of_type(Py_TYPE(self)));
    if (!context) return -1;
    MemoryPool *pool = memory_pool_new(context, source, flags, bits);
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

MemoryPool *pool_of(PyObject *self)
{
    MemoryPool *pool = pool_cast(self)->pool;
    if (!pool)
        raise_logic(state_of_type(Py_TYPE(self)), "%s.__init__ was not called", Py_TYPE(self)->tp_name);
    return pool;
}

static void pool_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    MemoryPool *pool = pool_cast(self)->pool;
    if (pool_cast(self)->weak_references) PyObject_ClearWeakRefs(self);
    if (pool && deferred_dealloc(pool->state, pool_dealloc, self)) return;
    if (pool) memory_pool_drop(pool);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
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

void memory_pool_discard(MemoryPool *pool, PoolBlock *block)
{
    ContextScope scope;
    CUresult result;
    if (context_enter(pool->context, &scope)) {
        CALL_UNLOCKED(result, pool_drop(&pool->core, block, true));
        context_leave(&scope);
        report_driver(pool->state, result, pool->core.source->release_name);
    } else if (!context_forked()) {
        CALL_UNLOCKED(result, pool_drop(&pool->core, block, false));
    }
}

void memory_pool_give(MemoryPool *pool, PoolBlock *block)
{
    if (context_forked() || pool_put(&pool->core, block)) return;
    memory_pool_discard(pool, block);
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

/* All that the pools of this device hold goes back to the driver. */
static void release_all_held(ModuleState *state, CUdevice device)
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

/* Gives back step by step, until the driver has enough again. */
static CUresult add_after_shortage(MemoryPool *pool, size_t size, CUstream stream, PoolBlock **block)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY, released;
    bool found = true;
    while (result == CUDA_ERROR_OUT_OF_MEMORY && found) {
        CALL_UNLOCKED(released, pool_release_largest(&pool->core, &found));
        report_driver(pool->state, released, pool->core.source->release_name);
        if (found) result = add_block(pool, size, stream, block);
    }
    if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
    release_all_held(pool->state, pool->context->device);
    return add_block(pool, size, stream, block);
}

static PoolBlock *raise_shortage(MemoryPool *pool, CUresult result, size_t size)
{
    static const char routine[] = "memory_pool::allocate";
    if (pool->core.source == &pool_device_memory)
        device_memory_raise(pool->state, result, routine, size);
    else
        raise_driver(pool->state, result, routine, "%zu bytes asked", size);
    return NULL;
}

/* New memory. The context is current. */
static PoolBlock *allocate_new(MemoryPool *pool, size_t size, CUstream stream)
{
    PoolBlock *block = NULL;
    CUresult result = add_block(pool, size, stream, &block);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        device_memory_collect(pool->state);
        block = take_after(pool, size, stream);
        if (block || PyErr_Occurred()) return block;
        result = add_after_shortage(pool, size, stream, &block);
    }
    return result == CUDA_SUCCESS ? block : raise_shortage(pool, result, size);
}

/* What needs the driver: a block of another stream, or a new one. */
static PoolBlock *allocate_slowly(MemoryPool *pool, size_t size, CUstream stream)
{
    ContextScope scope;
    if (!context_enter(pool->context, &scope))
        return (PoolBlock *)raise_driver(pool->state, CUDA_ERROR_INVALID_CONTEXT, "memory_pool::allocate",
                                         "the context of the pool cannot be made current");
    PoolBlock *block = take_after(pool, size, stream);
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
    if (result == CUDA_SUCCESS) release_all_held(state, device);
}

void memory_pools_stream_gone(ModuleState *state, const ContextObject *context, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (MemoryPool *pool = next_pool(state, NULL); pool; pool = next_pool(state, pool))
        if (pool->context->handle == context->handle)
            CALL_UNLOCKED(result, pool_stream_gone(&pool->core, stream));
    (void)result; /* never fails */
}

/* ---- Methods ---- */

/* What waits for reuse, by an IN_CALL function. */
static PyObject *release_held(PyObject *self, CUresult (*how)(Pool *, bool with_driver))
{
    MemoryPool *pool = pool_of(self);
    if (!pool || host_function_refuses(pool->state, pool->core.source->release_name)) return NULL;
    release(pool, how);
    Py_RETURN_NONE;
}

static PyObject *pool_free_held(PyObject *self, PyObject *Py_UNUSED(none))
{
    return release_held(self, pool_release_held);
}

static PyObject *pool_stop_holding(PyObject *self, PyObject *Py_UNUSED(none))
{
    return release_held(self, pool_stop);
}

static PyObject *pool_get_bin_number(PyObject *self, PyObject *value)
{
    const MemoryPool *pool = pool_of(self);
    size_t size = 0;
    if (!pool || convert_size(value, "size", &size) < 0) return NULL;
    return PyLong_FromUnsignedLong(pool_bin_number(pool->core.bits, size));
}

static PyObject *pool_get_alloc_size(PyObject *self, PyObject *value)
{
    const MemoryPool *pool = pool_of(self);
    unsigned bin = 0;
    if (!pool || convert_unsigned(value, "bin", &bin) < 0) return NULL;
    if (bin < pool_bin_count(pool->core.bits))
        return PyLong_FromSize_t(pool_alloc_size(pool->core.bits, bin));
    return PyErr_Format(PyExc_ValueError, "bin is %u: this pool has %u bins", bin,
                        pool_bin_count(pool->core.bits));
}

static PyObject *pool_statistic(PyObject *self, void *closure)
{
    MemoryPool *pool = pool_of(self);
    if (!pool) return NULL;
    PoolStatistics now = context_forked() ? pool->core.now : pool_statistics(&pool->core);
    return PyLong_FromSize_t(*(size_t *)((char *)&now + (uintptr_t)closure));
}

PyDoc_STRVAR(free_held_doc, "free_held($self)\n--\n\n"
                            "Free the blocks that wait for reuse.\n"
                            "\nNotes\n-----\n"
                            "Calls cuMemFree, cuMemFreeHost.");
PyDoc_STRVAR(stop_holding_doc,
             "stop_holding($self)\n--\n\n"
             "Free the blocks that wait for reuse, and from now on every block that is given back.\n"
             "\nNotes\n-----\n"
             "Calls cuMemFree, cuMemFreeHost.");
PyDoc_STRVAR(bin_number_doc, "bin_number($self, size, /)\n--\n\n"
                             "The bin for requests of a size: a block serves requests of its own bin.\n"
                             "\nParameters\n----------\n"
                             "size : int\n    Bytes.\n"
                             "\nReturns\n-------\n"
                             "int");
PyDoc_STRVAR(alloc_size_doc, "alloc_size($self, bin, /)\n--\n\n"
                             "The size of the blocks of a bin, the largest request in it.\n"
                             "\nParameters\n----------\n"
                             "bin : int\n"
                             "\nReturns\n-------\n"
                             "int\n    Bytes.\n"
                             "\nRaises\n------\n"
                             "ValueError\n    There is no such bin.");

static PyMethodDef pool_methods[] = {
    {"free_held", pool_free_held, METH_NOARGS, free_held_doc},
    {"stop_holding", pool_stop_holding, METH_NOARGS, stop_holding_doc},
    {"bin_number", pool_get_bin_number, METH_O, bin_number_doc},
    {"alloc_size", pool_get_alloc_size, METH_O, alloc_size_doc},
    {NULL, NULL, 0, NULL},
};

#define STATISTIC(name, doc) {#name, pool_statistic, NULL, doc, (void *)offsetof(PoolStatistics, name)}
static PyGetSetDef pool_properties[] = {
    STATISTIC(held_blocks, "Blocks that wait for reuse."),
    STATISTIC(active_blocks, "Blocks in use."),
    STATISTIC(managed_bytes, "Bytes of both, as they were allocated."),
    STATISTIC(active_bytes, "Bytes in use, as they were asked for."),
    {NULL, NULL, NULL, NULL, NULL},
};
#undef STATISTIC

static PyMemberDef pool_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PoolObject, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot pool_slots[] = {
    {Py_tp_doc, "What DeviceMemoryPool and PageLockedMemoryPool share."},
    {Py_tp_dealloc, AS_SLOT(pool_dealloc)},
    {Py_tp_methods, pool_methods},
    {Py_tp_getset, pool_properties},
    {Py_tp_members, pool_members},
    {0, NULL},
};

static PyType_Spec pool_spec = {
    .name = "pycuda._driver.MemoryPool",
    .basicsize = sizeof(PoolObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = pool_slots,
};

PyDoc_STRVAR(bitlog2_doc, "bitlog2(n, /)\n--\n\n"
                          "The logarithm to base 2, rounded down.\n"
                          "\nParameters\n----------\n"
                          "n : int\n"
                          "\nReturns\n-------\n"
                          "int\n    0 for 0.");

static PyObject *bitlog2(PyObject *Py_UNUSED(module), PyObject *value)
{
    unsigned long long n = 0;
    return convert_bits(value, "n", 64, &n) < 0 ? NULL : PyLong_FromUnsignedLong(pool_log2((size_t)n));
}

static PyMethodDef functions[] = {
    {"bitlog2", bitlog2, METH_O, bitlog2_doc},
    {NULL, NULL, 0, NULL},
};

int pool_setup(PyObject *module, ModuleState *state)
{
    if (state_add_type(module, &state->MemoryPool_type, &pool_spec, NULL) < 0
        || device_memory_on_shortage(state, give_back) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
