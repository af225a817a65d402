/* The default pool: where arrays get their memory that are given no allocator. A context has one, from the
 * first such array on, or the one that a user has put there. It ends with the context. */
#include "ext/base/deferred.h"
#include "ext/base/errors.h"
#include "ext/convert/convert.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

/* The context's pool, held; NULL when there is none. The GIL guards which one that is. */
static MemoryPool *hold_pool(ContextObject *context)
{
    MemoryPool *pool = context->default_pool;
    if (pool) memory_pool_hold(pool);
    return pool;
}

/* Makes this the context's pool, unless another thread was first: then drops it. Takes a reference that does
 * not hold the context. */
static void offer_pool(ContextObject *context, MemoryPool *pool)
{
    if (context->default_pool)
        memory_pool_leave(pool);
    else
        context->default_pool = pool;
}

/* The context's default pool, made if there is none. Held; NULL with an exception. */
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

/* Makes this the context's pool. Takes a reference that does not hold the context; NULL: none. */
static void replace_pool(ContextObject *context, MemoryPool *pool)
{
    MemoryPool *before = context->default_pool;
    context->default_pool = pool;
    if (before) memory_pool_leave(before);
}

static void end_pool(ContextObject *context) { replace_pool(context, NULL); }

/* The default pool of the current context, made if there is none. Held; NULL with an exception. */
static MemoryPool *current_pool(ModuleState *state)
{
    ContextObject *context = context_current(state);
    if (!context) return NULL;
    MemoryPool *pool = pool_of_context(context);
    Py_DECREF((PyObject *)context);
    return pool;
}

PyObject *default_pool_allocate(ModuleState *state, ContextObject *context, size_t size, PyObject *stream)
{
    CUstream handle = NULL;
    stream = stream_or_current(state, stream);
    deferred_release(state);
    MemoryPool *pool = context ? pool_of_context(context) : current_pool(state);
    if (!pool) return NULL;
    if (stream && pool_stream(pool, stream, &handle) < 0) {
        memory_pool_drop(pool);
        return NULL;
    }
    return pooled_allocation_new(pool, size, stream, handle);
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

static PyObject *allocate_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *stream;
    size_t size = 0;
    if (READ_ARGUMENTS(allocate_doc, INTO(&size), INTO(&stream)) < 0) return NULL;
    return default_pool_allocate(module_state(module), NULL, size, stream);
}

PyDoc_STRVAR(pool_doc,
             "default_memory_pool()\n--\n\n"
             "The pool that arrays of the current context get their memory from when they are given\n"
             "no allocator.\n\n"
             "``free_held()`` gives what waits for reuse back to the driver. After ``stop_holding()``\n"
             "every array gets its memory from the driver and gives it back there.\n"
             "\nReturns\n-------\n"
             "DeviceMemoryPool\n    Or one of its subclasses, after set_default_memory_pool():\n"
             "    equal to what was set.");

static PyTypeObject *type_of_pool(const MemoryPool *pool)
{
    const PoolSource *source = pool->core.source;
    if (source == &pool_managed_memory) return pool->state->ManagedMemoryPool_type;
    if (source == &pool_ordered_memory) return pool->state->StreamOrderedMemoryPool_type;
    if (source == &pool_external_memory) return pool->state->ExternalMemoryPool_type;
    return pool->state->DeviceMemoryPool_type;
}

static PyObject *default_memory_pool(PyObject *module, PyObject *Py_UNUSED(none))
{
    MemoryPool *pool = current_pool(module_state(module));
    PyTypeObject *type = pool ? type_of_pool(pool) : NULL;
    PoolObject *object = pool ? pool_cast(type->tp_alloc(type, 0)) : NULL;
    if (object)
        object->pool = pool;
    else if (pool)
        memory_pool_drop(pool);
    return (PyObject *)object;
}

PyDoc_STRVAR(set_pool_doc,
             "set_default_memory_pool(pool)\n--\n\n"
             "Let arrays of the current context that are given no allocator get their memory from this\n"
             "pool. Arrays that are there keep theirs.\n"
             "\nParameters\n----------\n"
             "pool : DeviceMemoryPool\n"
             "    Any of its kinds, made in the current context. None is a new one, as at first.\n"
             "\nRaises\n------\n"
             "LogicError\n    The pool is of another context.");

/* The pool of the argument `pool`, borrowed. NULL with an exception when it is no pool of this context. */
static MemoryPool *pool_for(ContextObject *context, PyObject *value)
{
    ModuleState *state = context->state;
    if (!PyObject_TypeCheck(value, state->DeviceMemoryPool_type)) {
        PyErr_Format(PyExc_TypeError, "pool must be a DeviceMemoryPool or None, not %s",
                     Py_TYPE(value)->tp_name);
        return NULL;
    }
    MemoryPool *pool = pool_of(value);
    if (!pool || pool->context == context) return pool;
    raise_logic(state, "the pool does not belong to the current context");
    return NULL;
}

static PyObject *set_default_memory_pool(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[1];
    MemoryPool *pool = NULL;
    if (convert_arguments(set_pool_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    ContextObject *context = context_current(module_state(module));
    if (!context) return NULL;
    bool is_valid = given[0] == Py_None || (pool = pool_for(context, given[0]));
    if (pool) gil_count(&pool->references, 1); /* the context's reference, which does not hold it */
    if (is_valid) replace_pool(context, pool);
    Py_DECREF((PyObject *)context);
    return none_unless(!is_valid);
}

PyMethodDef default_pool_functions[] = {
    {"default_allocate", AS_METHOD(allocate_py), FAST_KEYWORDS, allocate_doc},
    {"default_memory_pool", default_memory_pool, METH_NOARGS, pool_doc},
    {"set_default_memory_pool", AS_METHOD(set_default_memory_pool), FAST_KEYWORDS, set_pool_doc},
    {NULL, NULL, 0, NULL},
};

int default_pool_setup(PyObject *module, ModuleState *state)
{
    if (context_on_end(state, end_pool) < 0) return -1;
    state->default_allocate = PyObject_GetAttrString(module, "default_allocate");
    return state->default_allocate ? 0 : -1;
}
