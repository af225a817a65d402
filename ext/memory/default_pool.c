/* The default pool: where arrays get their memory that are given no allocator. A context has one, from the
 * first such array on; it ends with the context. */
#include "ext/convert/convert.h"
#include "ext/deferred.h"
#include "ext/errors.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

/* The context's pool, held; NULL when there is none. */
static MemoryPool *hold_pool(ContextObject *context)
{
    state_lock(context->state);
    MemoryPool *pool = context->default_pool;
    if (pool) memory_pool_hold(pool);
    state_unlock(context->state);
    return pool;
}

/* Makes this the context's pool unless another thread was first. */
static void offer_pool(ContextObject *context, MemoryPool *pool)
{
    state_lock(context->state);
    bool first = !context->default_pool;
    if (first) context->default_pool = pool;
    state_unlock(context->state);
    if (!first) memory_pool_leave(pool);
}

/* A reference; NULL with an exception. */
static MemoryPool *pool_of_context(ContextObject *context)
{
    MemoryPool *pool = hold_pool(context);
    if (pool) return pool;
    static const PoolForm form = {.source = &pool_device_memory, .bits = POOL_DEFAULT_BITS};
    pool = memory_pool_new(context, &form);
    if (!pool) return NULL;
    pool->core.shares_bins = true; /* PyCUDA has no such pool, whose counts this one would have to follow */
    offer_pool(context, pool);
    return hold_pool(context);
}

static void end_pool(ContextObject *context)
{
    state_lock(context->state);
    MemoryPool *pool = context->default_pool;
    context->default_pool = NULL;
    state_unlock(context->state);
    if (pool) memory_pool_leave(pool);
}

/* That of the current context: a reference; NULL with an exception. */
static MemoryPool *current_pool(ModuleState *state)
{
    ContextObject *context = context_current(state);
    if (!context) return NULL;
    MemoryPool *pool = pool_of_context(context);
    Py_DECREF((PyObject *)context);
    return pool;
}

PyObject *default_pool_allocate(ModuleState *state, size_t size, PyObject *stream)
{
    CUstream handle = NULL;
    stream = stream_or_current(state, stream);
    deferred_release(state);
    MemoryPool *pool = current_pool(state);
    if (!pool) return NULL;
    PyObject *memory =
        pool_stream(pool, stream, &handle) < 0 ? NULL : pooled_allocation_new(pool, size, stream, handle);
    memory_pool_drop(pool);
    return memory;
}

PyDoc_STRVAR(allocate_doc, "default_allocate(size, stream=None)\n--\n\n"
                           "Allocate device memory from the default pool of the current context.\n\n"
                           "What arrays do that are given no allocator.\n"
                           "\nParameters\n----------\n"
                           "size : int\n    Bytes, 0 included.\n"
                           "stream : Stream\n"
                           "\nReturns\n-------\n"
                           "PooledDeviceAllocation\n"
                           "\nRaises\n------\n"
                           "MemoryError\n    There is too little; the message says how much is free.\n"
                           "\nNotes\n-----\n"
                           "Calls cuMemAlloc when no block of the size is held.");

static PyObject *allocate(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[2];
    size_t size = 0;
    if (convert_arguments(allocate_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_size(given[0], "size", &size) < 0)
        return NULL;
    return default_pool_allocate(module_state(module), size, given[1]);
}

PyDoc_STRVAR(pool_doc,
             "default_memory_pool()\n--\n\n"
             "The pool that arrays of the current context get their memory from when they are given\n"
             "no allocator.\n\n"
             "``free_held()`` gives what waits for reuse back to the driver. After ``stop_holding()``\n"
             "every array gets its memory from the driver and gives it back there.\n"
             "\nReturns\n-------\n"
             "DeviceMemoryPool");

static PyObject *default_memory_pool(PyObject *module, PyObject *Py_UNUSED(none))
{
    ModuleState *state = module_state(module);
    PyTypeObject *type = state->DeviceMemoryPool_type;
    MemoryPool *pool = current_pool(state);
    PoolObject *object = pool ? pool_cast(type->tp_alloc(type, 0)) : NULL;
    if (object)
        object->pool = pool;
    else if (pool)
        memory_pool_drop(pool);
    return (PyObject *)object;
}

static PyMethodDef functions[] = {
    {"default_allocate", AS_METHOD(allocate), FAST_KEYWORDS, allocate_doc},
    {"default_memory_pool", default_memory_pool, METH_NOARGS, pool_doc},
    {NULL, NULL, 0, NULL},
};

int default_pool_setup(PyObject *module, ModuleState *state)
{
    if (context_on_end(state, end_pool) < 0 || PyModule_AddFunctions(module, functions) < 0) return -1;
    state->default_allocate = PyObject_GetAttrString(module, "default_allocate");
    return state->default_allocate ? 0 : -1;
}
