/* See pooled_allocation.h. */
#include "ext/memory/pooled_allocation.h"

#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/elsewhere.h"
#include "ext/memory/gpuarray_object.h"
#include "ext/stream/copy_streams.h"

typedef struct UsedStream {
    CUstream handle;
    PyObject *object;       /* owned; NULL for the default stream */
} UsedStream;

typedef struct PooledAllocationObject {
    DeviceAllocationObject memory;      /* memory.context is the pool's, borrowed */
    MemoryPool *pool;                   /* a reference */
    PoolBlock *block;                   /* the allocation's, until memory.freed is set */
    PyObject *stream;                   /* owned: the block's stream; NULL is the default stream */
    bool chosen;                        /* the block's stream was named by the user, or used */
    bool lent;                          /* pooled_lend() was called */
    bool arrived;                       /* pooled_arrives() was called: its event is the block's */
    bool passed_on; /* the block's stream waits for a copy (pooled_pass_on), or for work elsewhere */
    int used_count;
    UsedStream *used; /* owned: other streams on which the memory was used */
} PooledAllocationObject;

static PooledAllocationObject *pooled_cast(PyObject *object) { return (PooledAllocationObject *)object; }

static PyObject *stream_or_null(PyObject *stream) { return stream == Py_None ? NULL : stream; }

/* ---- Making ---- */

PyObject *pooled_allocation_new(MemoryPool *pool, size_t size, PyObject *stream, CUstream handle)
{
    ModuleState *state = pool->state;
    PooledAllocationObject *allocation =
        pooled_cast(free_list_new(&state->free_pooled, state->PooledDeviceAllocation_type));
    if (!allocation) {
        memory_pool_drop(pool);
        return NULL;
    }
    allocation->memory.state = state;
    allocation->pool = pool;
    atomic_init(&allocation->memory.freed, true);
    allocation->block = memory_pool_allocate(pool, size, stream, handle);
    if (!allocation->block) {
        Py_DECREF((PyObject *)allocation);
        return NULL;
    }
    allocation->stream = Py_XNewRef(stream_or_null(stream));
    allocation->chosen = allocation->stream != NULL;
    allocation->memory.context = pool->context;
    allocation->memory.pointer = allocation->block->pointer;
    allocation->memory.size = size;
    allocation->memory.pooled = true;
    allocation->memory.managed = pool->core.source == &pool_managed_memory;
    atomic_store_explicit(&allocation->memory.freed, false, memory_order_release);
    LIVE_MORE(state, PooledDeviceAllocation);
    return (PyObject *)allocation;
}

/* ---- Streams ---- */

CUstream pooled_stream(const DeviceAllocationObject *allocation)
{
    if (!allocation || !allocation->pooled || atomic_load(&allocation->freed)) return NULL;
    return ((const PooledAllocationObject *)allocation)->block->stream;
}

void pooled_lend(DeviceAllocationObject *allocation)
{
    if (allocation && allocation->pooled) pooled_cast((PyObject *)allocation)->lent = true;
}

bool pooled_had_owner(const DeviceAllocationObject *allocation)
{
    if (!allocation->pooled || atomic_load(&allocation->freed)) return false;
    const PoolBlock *block = ((const PooledAllocationObject *)allocation)->block;
    return block->ready || block->reused;
}

bool pooled_used_stream(const DeviceAllocationObject *allocation, int i, CUstream *out)
{
    const PooledAllocationObject *pooled = (const PooledAllocationObject *)allocation;
    if (atomic_load(&allocation->freed) || i >= pooled->used_count) return false;
    *out = pooled->used[i].handle;
    return true;
}

/* Whether the stream is another library's: its end is not noticed. */
static bool is_foreign(ModuleState *state, PyObject *stream)
{
    return stream && !PyObject_TypeCheck(stream, state->Stream_type);
}

/* Whether the stream is ordered with the default stream, as blocking streams are: the work of both is done
 * in the order in which it was queued. */
static bool follows_default_stream(ModuleState *state, PyObject *stream)
{
    return stream && !is_foreign(state, stream) && !stream_cast(stream)->non_blocking;
}

static void forget_streams(PooledAllocationObject *allocation)
{
    if (!allocation->used && !allocation->stream) return;
    for (int i = 0; allocation->used && i < allocation->used_count; i++)
        Py_XDECREF(allocation->used[i].object);
    PyMem_Free(allocation->used);
    allocation->used = NULL;
    allocation->used_count = 0;
    Py_CLEAR(allocation->stream);
}

static bool is_used(const PooledAllocationObject *allocation, CUstream handle)
{
    for (int i = 0; i < allocation->used_count; i++)
        if (allocation->used[i].handle == handle) return true;
    return false;
}

static int add_used(PooledAllocationObject *allocation, PyObject *stream, CUstream handle)
{
    size_t bytes = (size_t)(allocation->used_count + 1) * sizeof(UsedStream);
    UsedStream *used = PyMem_Realloc(allocation->used, bytes);
    if (!used) {
        PyErr_NoMemory();
        return -1;
    }
    allocation->used = used;
    used[allocation->used_count++] = (UsedStream){handle, Py_XNewRef(stream)};
    return 0;
}

/* Makes the stream `handle` wait for a block whose own stream, `stream`, is captured: for the work that was
 * queued there before the capture. -1 with LogicError when that is not known. */
static int follow_captured(const MemoryPool *pool, CUstream stream, CUstream handle)
{
    ModuleState *state = pool->state;
    PyObject *event = captured_before(state, stream);
    if (!event) {
        raise_logic(state, "pool memory cannot be used on a second stream while the stream of its earlier "
                           "work is being captured: nothing can wait for that");
        return -1;
    }
    CUresult result = try_cuStreamWaitEvent(state, handle, event_cast(event)->handle, 0);
    Py_DECREF(event);
    if (result == CUDA_SUCCESS) return 0;
    raise_driver(state, result, "cuStreamWaitEvent", "for earlier work on pool memory");
    return -1;
}

/* Called before the first use on a stream that is not the block's: makes that stream wait for the block's
 * previous use. Other threads may use or free the allocation meanwhile: so the driver gets a copy of the
 * block, and a reference holds the block's stream. -1 with an exception. */
static int wait_for_previous_use(PooledAllocationObject *allocation, PyObject *stream, CUstream handle)
{
    MemoryPool *pool = allocation->pool;
    const PoolBlock block = *allocation->block;
    ContextScope scope;
    PoolError order = {CUDA_ERROR_NOT_PERMITTED, "cuStreamWaitEvent"};
    CUresult result;
    if (host_function_refuses(pool->state, "cuStreamWaitEvent")) return -1;
    bool is_ordered = !block.ready && !block.stream && follows_default_stream(pool->state, stream);
    if (is_ordered || (!block.ready && !block.reused)) return 0; /* nothing to wait for */
    if (!block.ready && captured_holds(pool->state, block.stream))
        return follow_captured(pool, block.stream, handle);
    if (!context_enter_scope(pool->context, &scope)) {
        raise_driver(pool->state, CUDA_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent",
                     "the context of the pool cannot be made current");
        return -1;
    }
    PyObject *owner = Py_XNewRef(allocation->stream);
    CALL_CORE(pool->state, result, HOW_WAITS(ON_QUEUE(handle, 1)),
              pool_follow(&pool->core, &block, handle, &order));
    context_leave_scope(&scope);
    Py_XDECREF(owner);
    if (result == CUDA_SUCCESS) return 0;
    raise_driver(pool->state, order.result, order.call, "for earlier work on pool memory");
    return -1;
}

/* Whether the block may change to this stream: none was chosen, or the block's is the default stream, with
 * which this one is ordered. */
static bool may_move(const PooledAllocationObject *allocation, PyObject *stream)
{
    return !allocation->chosen
           || (!allocation->block->stream && follows_default_stream(allocation->memory.state, stream));
}

/* Whether a use on this stream needs no note: the stream is known to use the block, or the memory was freed.
 * If it is the block's own stream, that counts as chosen from now on. */
static bool is_noted(PooledAllocationObject *allocation, CUstream handle)
{
    if (atomic_load(&allocation->memory.freed)) return true;
    if (allocation->block->stream == handle) {
        allocation->chosen = true;
        return true;
    }
    return (!handle && follows_default_stream(allocation->memory.state, allocation->stream))
           || is_used(allocation, handle);
}

/* Notes a first use of the allocation on this stream, which is put after the block's previous use. The block
 * changes to this stream if it may, else the stream is added to the used ones. -1 with an exception. */
static int note_first_use(PooledAllocationObject *allocation, PyObject *stream, CUstream handle)
{
    Py_INCREF((PyObject *)allocation);
    int status = wait_for_previous_use(allocation, stream, handle);
    PyObject *old = NULL;
    if (status == 0 && !is_noted(allocation, handle)) {
        if (may_move(allocation, stream)) {
            old = allocation->stream;
            allocation->stream = Py_XNewRef(stream);
            allocation->block->stream = handle;
            allocation->chosen = true;
        } else {
            status = add_used(allocation, stream, handle);
        }
    }
    Py_XDECREF(old);
    Py_DECREF((PyObject *)allocation);
    return status;
}

/* The allocation that an object is, or that of a GPUArray, borrowed; NULL when there is none or the object is
 * NULL. Numbers are recognized at once: their types are static, those of this module are not. */
static DeviceAllocationObject *allocation_of(ModuleState *state, PyObject *object)
{
    if (!object || !PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) return NULL;
    if (Py_TYPE(object) == state->PooledDeviceAllocation_type) return device_allocation_cast(object);
    if (Py_TYPE(object) == state->GPUArray_type) return gpuarray_cast(object)->allocation;
    return allocation_under(state, object);
}

bool pooled_is_ordered(ModuleState *state, PyObject *object)
{
    DeviceAllocationObject *allocation = allocation_of(state, object);
    return allocation && allocation->pooled && !pooled_cast((PyObject *)allocation)->lent;
}

bool pooled_is_used_by_one(const DeviceAllocationObject *allocation, Py_ssize_t references,
                           const ContextObject *context, CUstream stream)
{
    const PooledAllocationObject *pooled = (const PooledAllocationObject *)allocation;
    return allocation->pooled && !atomic_load(&allocation->freed) && allocation->context == context
           && !allocation->elsewhere && !allocation->weak_references
           && Py_REFCNT((PyObject *)allocation) == references && !pooled->lent && !pooled->arrived
           && !pooled->used_count && pooled->block->stream == stream;
}

/* Notes a use on a stream of the memory's own context. -1 with an exception. */
static inline int note_at_home(DeviceAllocationObject *allocation, PyObject *stream, CUstream handle)
{
    PooledAllocationObject *pooled = pooled_cast((PyObject *)allocation);
    return !allocation->pooled || is_noted(pooled, handle) ? 0 : note_first_use(pooled, stream, handle);
}

/* The memory of an object, as allocation_of(), or under a host array. That of host arrays counts where there
 * are several contexts only: the free of managed memory waits for the work in its own. */
static DeviceAllocationObject *any_allocation_of(ModuleState *state, PyObject *object)
{
    DeviceAllocationObject *allocation = allocation_of(state, object);
    return allocation || !object ? allocation : managed_memory_of(state, object);
}

/* pooled_note_objects() where there are several contexts. */
static int note_between_contexts(ModuleState *state, PyObject *const *objects, Py_ssize_t count,
                                 PyObject *stream, CUstream handle)
{
    int failed = 0;
    ContextObject *context = elsewhere_find_context(state, stream, handle);
    if (!context) return -1;
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        DeviceAllocationObject *allocation = any_allocation_of(state, objects[i]);
        int noted = allocation ? elsewhere_note(allocation, context, stream, handle) : 1;
        failed = noted < 0 || (!noted && note_at_home(allocation, stream, handle) < 0);
    }
    Py_DECREF((PyObject *)context);
    return failed ? -1 : 0;
}

int pooled_note_allocation(DeviceAllocationObject *allocation, PyObject *stream, CUstream handle)
{
    PyObject *object = (PyObject *)allocation;
    int captured = captured_keep(allocation->state, handle, &object, 1);
    if (captured) return captured < 0 ? -1 : 0;
    stream = stream_or_null(stream);
    if (elsewhere_is_possible(allocation->state))
        return note_between_contexts(allocation->state, &object, 1, stream, handle);
    return note_at_home(allocation, stream, handle);
}

int pooled_note_objects(ModuleState *state, PyObject *const *objects, Py_ssize_t count, PyObject *stream,
                        CUstream handle)
{
    int captured = captured_keep(state, handle, objects, count);
    if (captured) return captured < 0 ? -1 : 0; /* each launch of the graph notes the objects */
    stream = stream_or_null(stream);
    if (elsewhere_is_possible(state)) return note_between_contexts(state, objects, count, stream, handle);
    for (Py_ssize_t i = 0; i < count; i++) {
        DeviceAllocationObject *allocation = allocation_of(state, objects[i]);
        if (allocation && note_at_home(allocation, stream, handle) < 0) return -1;
    }
    return 0;
}

/* ---- Copies that arrive ---- */

int pooled_arrives(DeviceAllocationObject *allocation, CUevent *done)
{
    PooledAllocationObject *pooled = pooled_cast((PyObject *)allocation);
    PoolError error = {CUDA_ERROR_NOT_PERMITTED, "cuEventRecord"};
    CUresult result;
    CALL_CORE(allocation->state, result, HOW_WAITS(ON_QUEUE(pooled->block->stream, 1)),
              pool_record(&pooled->pool->core, pooled->block, &error));
    if (result != CUDA_SUCCESS) {
        raise_driver(allocation->state, error.result, error.call, "after a copy to pool memory");
        return -1;
    }
    *done = pooled->block->ready->event;
    allocation->arriving = pooled->arrived = true;
    return 0;
}

CUevent pooled_pass_on(DeviceAllocationObject *allocation)
{
    if (!allocation || !allocation->pooled || atomic_load(&allocation->freed)) return NULL;
    PooledAllocationObject *pooled = pooled_cast((PyObject *)allocation);
    pooled->passed_on = pooled->arrived;
    return pooled->arrived ? pooled->block->ready->event : NULL;
}

/* Waits for the copy, where the default stream cannot: a capture holds it. */
static CUresult await_arrival(PooledAllocationObject *allocation)
{
    ModuleState *state = allocation->memory.state;
    ContextScope scope;
    if (!context_enter_scope(allocation->pool->context, &scope)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = end_cuEventSynchronize(state, allocation->block->ready->event);
    context_leave_scope(&scope);
    return result;
}

/* Waits for the copy, and notes that the default stream uses the memory. -1 with an exception. */
static int await_and_note(PooledAllocationObject *allocation)
{
    CUresult result = await_arrival(allocation);
    if (result == CUDA_SUCCESS) return is_used(allocation, NULL) ? 0 : add_used(allocation, NULL, NULL);
    raise_driver(allocation->memory.state, result, "cuEventSynchronize", "for a copy to pool memory");
    return -1;
}

static int expose_arriving(DeviceAllocationObject *allocation)
{
    PooledAllocationObject *pooled = pooled_cast((PyObject *)allocation);
    int status =
        captured_some(allocation->state) ? await_and_note(pooled) : note_at_home(allocation, NULL, NULL);
    if (status == 0) allocation->arriving = false;
    return status;
}

int pooled_expose_slowly(DeviceAllocationObject *allocation)
{
    if (atomic_load(&allocation->freed) || host_function_runs() || forked_after_init()) return 0;
    int elsewhere = captured_some(allocation->state) ? 0 : elsewhere_note_current(allocation);
    if (elsewhere || !allocation->arriving) return elsewhere < 0 ? -1 : 0;
    return expose_arriving(allocation);
}

/* ---- Giving back ---- */

/* Makes the block's own stream wait for the other streams that used it, so that it can be freed there.
 * foreign: the stream's destruction will not be reported, so an event takes its place. So it does where one
 * stream used what a copy brought: that came after the copy, and copies to come need not wait. */
IN_CALL static CUresult join_used_streams(PooledAllocationObject *allocation, bool foreign, PoolError *order)
{
    Pool *pool = &allocation->pool->core;
    CUresult result = CUDA_SUCCESS;
    if (allocation->arrived && !allocation->passed_on && allocation->used_count == 1) {
        allocation->block->stream = allocation->used[0].handle;
        return pool_seal(pool, allocation->block, order);
    }
    for (int i = 0; i < allocation->used_count && result == CUDA_SUCCESS; i++)
        result = pool_join(pool, allocation->block, allocation->used[i].handle, order);
    return foreign && result == CUDA_SUCCESS ? pool_seal(pool, allocation->block, order) : result;
}

/* Orders the block's own stream, or an event in its place, after all streams that used the block. False when
 * that failed, which is reported. The allocation counts as freed: no use is noted in it anymore. */
static bool gather_streams(PooledAllocationObject *allocation)
{
    MemoryPool *pool = allocation->pool;
    ContextScope scope;
    PoolError order = {CUDA_SUCCESS, NULL};
    CUresult result;
    if (!allocation->used_count && !allocation->stream) return true;
    bool foreign = is_foreign(pool->state, allocation->stream);
    if (!allocation->used_count && !foreign) return true;
    if (!context_enter_scope(pool->context, &scope)) return false;
    CALL_CORE(pool->state, result, RELEASES, join_used_streams(allocation, foreign, &order));
    context_leave_scope(&scope);
    report_driver(pool->state, result, order.call);
    return result == CUDA_SUCCESS;
}

/* Gives the block to a stream that only copies use, so that only those who get the memory wait for the work
 * elsewhere. On failure it stays with its own. */
static void leave_stream(PooledAllocationObject *allocation)
{
    ContextObject *context = allocation->pool->context;
    PyObject *type, *value, *trace, *stream = NULL;
    ContextScope scope;
    PyErr_Fetch(&type, &value, &trace);
    if (context_lend(context, &scope)) {
        stream = copy_stream(context, context->device);
        context_lend_end(&scope);
    }
    if (stream && add_used(allocation, allocation->stream, allocation->block->stream) == 0) {
        Py_XSETREF(allocation->stream, Py_NewRef(stream));
        allocation->block->stream = stream_cast(stream)->handle;
    }
    Py_XDECREF(stream);
    PyErr_Restore(type, value, trace);
}

/* Orders the block's own stream after the work elsewhere. */
static void gather_elsewhere(PooledAllocationObject *allocation)
{
    leave_stream(allocation);
    elsewhere_end(&allocation->memory, allocation->block->stream);
    allocation->passed_on = true;
}

static void return_block(PyObject *self)
{
    PooledAllocationObject *allocation = pooled_cast(self);
    LIVE_LESS(allocation->memory.state, PooledDeviceAllocation);
    if (allocation->memory.elsewhere) gather_elsewhere(allocation);
    if (!allocation->lent && gather_streams(allocation))
        memory_pool_return(allocation->pool, allocation->block);
    else
        memory_pool_discard(allocation->pool, allocation->block);
    allocation->block = NULL;
    forget_streams(allocation);
}

/* Makes this the only stream after whose work the block returns: the caller of free() vouches for that. */
static void name_last_stream(PooledAllocationObject *allocation, PyObject *stream, CUstream handle)
{
    allocation->block->stream = handle;
    forget_streams(allocation);
    elsewhere_forget(&allocation->memory);
    allocation->stream = Py_NewRef(stream);
}

/* Frees the allocation. last: the stream that was named as the last to use it, or NULL. False when it was
 * already freed. */
static bool release_allocation(PooledAllocationObject *allocation, PyObject *last, CUstream handle)
{
    if (atomic_load(&allocation->memory.freed)) return false; /* the GIL keeps others away until it is set */
    atomic_store_explicit(&allocation->memory.freed, true, memory_order_release);
    if (last) name_last_stream(allocation, last, handle);
    deferred_free(allocation->memory.state, return_block, (PyObject *)allocation);
    return true;
}

static void allocation_dealloc(PyObject *self)
{
    PooledAllocationObject *allocation = pooled_cast(self);
    ModuleState *state = allocation->memory.state;
    if (allocation->memory.weak_references) PyObject_ClearWeakRefs(self);
    if (deferred_dealloc(state, allocation_dealloc, self)) return;
    if (allocation->pool) {
        release_allocation(allocation, NULL, NULL);
        memory_pool_drop(allocation->pool);
    }
    free_list_end(&state->free_pooled, state->PooledDeviceAllocation_type, self);
}

/* ---- Methods ---- */

PyDoc_STRVAR(free_doc,
             "free($self, stream=None)\n--\n\n"
             "Give the memory back to its pool now and not with the last reference.\n"
             "\nParameters\n----------\n"
             "stream : Stream\n"
             "    It is used again after the work on this stream, and the caller vouches that no\n"
             "    other uses it; without one, after the work on the stream it was allocated on and\n"
             "    on those on which launches used it.\n"
             "\nRaises\n------\n"
             "LogicError\n    The second time.");

static PyObject *allocation_free(PyObject *self, FAST_PARAMETERS)
{
    PooledAllocationObject *allocation = pooled_cast(self);
    ModuleState *state = allocation->memory.state;
    PyObject *given[1];
    CUstream handle;
    if (convert_arguments(free_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || pool_stream(allocation->pool, given[0], &handle) < 0)
        return NULL;
    if (release_allocation(allocation, given[0] ? stream_or_null(given[0]) : NULL, handle)) Py_RETURN_NONE;
    return raise_driver(state, CUDA_ERROR_INVALID_HANDLE, "pooled_device_allocation::free",
                        "it was already freed");
}

static Py_ssize_t allocation_length(PyObject *self) { return (Py_ssize_t)device_allocation_cast(self)->size; }

static PyMethodDef allocation_methods[] = {
    {"free", AS_METHOD(allocation_free), FAST_KEYWORDS, free_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(allocation_doc,
             "Device memory from a DeviceMemoryPool, returned to it with the last reference.\n\n"
             "int() is its address, len() the bytes that were requested. It is taken wherever a\n"
             "DeviceAllocation is.");

const TypeSpec PooledDeviceAllocation_spec = {
    TYPE_OF("pycuda.tools.PooledDeviceAllocation", PooledAllocationObject, 0, allocation_doc),
    .tp_dealloc = allocation_dealloc,
    .sq_length = allocation_length,
    TYPE_TABLES(allocation_methods, NULL, NULL),
};
