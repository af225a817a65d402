/* ExternalMemoryPool: memory of another library's allocator, with a pool's account and order of streams.
 *
 * The allocator is a Python object (pycuda/_base/allocators.py makes of it what is called here). It is called
 * with the GIL and with the pool's context current, but in no scope of it: the thread that ends the context
 * waits for scopes, and the allocator may block on anything. */
#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/context/keep_alive.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/pool.h"

/* ---- Asking for memory ---- */

/* Calls the resource's allocate(), for one byte if size is 0. -1 with an exception. */
static int call_allocate(MemoryPool *pool, size_t size, CUstream stream, CUdeviceptr *pointer)
{
    ContextScope scope;
    if (!context_lend(pool->context, &scope)) {
        raise_driver(pool->state, CUDA_ERROR_INVALID_CONTEXT, "memory_pool::allocate",
                     "the context of the pool cannot be made current");
        return -1;
    }
    PyObject *answer = PyObject_CallMethod(pool->resource, "allocate", "nK", (Py_ssize_t)(size ? size : 1),
                                           (unsigned long long)(uintptr_t)stream);
    context_lend_end(&scope);
    if (!answer) return -1;
    *pointer = PyLong_AsUnsignedLongLong(answer);
    Py_DECREF(answer);
    return PyErr_Occurred() ? -1 : 0;
}

/* call_allocate(). If the allocator raises MemoryError it is called again after a garbage collection, and
 * after all pools have freed what they hold. */
static int allocate_or_collect(MemoryPool *pool, size_t size, CUstream stream, CUdeviceptr *pointer)
{
    if (call_allocate(pool, size, stream, pointer) == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_MemoryError) && !PyErr_ExceptionMatches(pool->state->MemoryError))
        return -1;
    PyErr_Clear();
    device_memory_reclaim(pool->state);
    return call_allocate(pool, size, stream, pointer);
}

/* Calls pool_begin_uncaptured(), or if not `begin` pool_end_uncaptured(). -1 with an exception. */
static int make_or_end_uncaptured(MemoryPool *pool, bool begin, CUstream *stream)
{
    ContextScope scope;
    CUresult result = CUDA_ERROR_INVALID_CONTEXT;
    if (context_enter_scope(pool->context, &scope)) {
        CALL_CORE(pool->state, result, BLOCKS_ONCE,
                  begin ? pool_begin_uncaptured(stream) : pool_end_uncaptured(*stream));
        context_leave_scope(&scope);
    }
    return raise_unless(pool->state, result, begin ? "cuStreamCreate" : "cuStreamSynchronize");
}

/* Used when the stream is captured: allocates on a new stream, as an allocation on the captured one could
 * become a part of the graph. -1 with an exception, the first one if both calls fail. */
static int allocate_uncaptured(MemoryPool *pool, size_t size, CUdeviceptr *pointer)
{
    CaptureMode before;
    CUstream uncaptured = NULL;
    captured_relax(pool->state, &before);
    int failed = make_or_end_uncaptured(pool, true, &uncaptured);
    if (!failed) {
        failed = allocate_or_collect(pool, size, uncaptured, pointer);
        if (make_or_end_uncaptured(pool, false, &uncaptured) < 0) failed = -1;
    }
    captured_restore(pool->state, &before);
    return failed;
}

/* ---- Deallocation ---- */

/* Calls the resource's deallocate(), whose exception is reported. Returns the object that owns the memory
 * until the stream's work is done, a new reference; NULL, without an exception, if there is none. */
static PyObject *call_deallocate(MemoryPool *pool, CUdeviceptr pointer, size_t size, CUstream stream)
{
    ContextScope scope;
    PyObject *type, *value, *trace;
    if (!context_lend(pool->context, &scope)) return NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *owner = PyObject_CallMethod(pool->resource, "deallocate", "KnK", (unsigned long long)pointer,
                                          (Py_ssize_t)size, (unsigned long long)(uintptr_t)stream);
    if (!owner) PyErr_WriteUnraisable(pool->resource);
    context_lend_end(&scope);
    if (owner == Py_None) Py_CLEAR(owner);
    PyErr_Restore(type, value, trace);
    return owner;
}

/* Whether the stream still runs work that the program has abandoned: nothing waits for that. */
static bool is_still_running(ModuleState *state, CUstream stream)
{
    if (!atomic_load(&state->left_running)) return false;
    CUresult result = once_cuStreamQuery(state, stream);
    return result == CUDA_ERROR_NOT_READY;
}

/* Releases the owner after the work on the stream. */
static void release_owner(MemoryPool *pool, PyObject *owner, CUstream stream)
{
    ContextScope scope;
    CUresult result = CUDA_SUCCESS;
    PyObject *type, *value, *trace;
    if (owner && context_enter_scope(pool->context, &scope)) {
        bool still_running = is_still_running(pool->state, stream);
        if (!still_running) result = end_cuStreamSynchronize(pool->state, stream);
        context_leave_scope(&scope);
        report_driver(pool->state, result, "cuStreamSynchronize");
        PyErr_Fetch(&type, &value, &trace);
        if (still_running && keep_alive(pool->state, pool->context, stream, owner, NULL) < 0)
            PyErr_WriteUnraisable(owner);
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(owner);
}

/* Prepares the release of the block: afterwards it may be released after the work on block->stream. in_order:
 * the streams that used it were put in order before; if false, this function waits for all work of the
 * context. False if the context was destroyed. */
static bool order_release(MemoryPool *pool, PoolBlock *block, bool in_order)
{
    ContextScope scope;
    CUresult result = CUDA_SUCCESS;
    const char *routine = "cuStreamWaitEvent";
    if (!context_enter_scope(pool->context, &scope)) return false;
    if (!in_order) result = wait_for_release(pool->state, &routine);
    if (result == CUDA_SUCCESS) CALL_CORE(pool->state, result, BLOCKS_ONCE, pool_leave_event(block));
    context_leave_scope(&scope);
    report_driver(pool->state, result, routine);
    return true;
}

/* If the context was destroyed so was the memory, and the allocator is not called. */
void external_memory_return(MemoryPool *pool, PoolBlock *block, bool in_order)
{
    CUresult result;
    if (order_release(pool, block, in_order)) {
        CUstream stream = block->stream == POOL_NO_STREAM ? NULL : block->stream;
        release_owner(pool, call_deallocate(pool, block->pointer, block->capacity, stream), stream);
    }
    CALL_CORE(pool->state, result, BLOCKS_ONCE, pool_drop(&pool->core, block, false));
    (void)result; /* without the driver pool_drop() makes no call that could fail */
}

PoolBlock *external_memory_allocate(MemoryPool *pool, size_t size, CUstream stream)
{
    CUdeviceptr pointer;
    if (pool_is_beyond_limit(&pool->core, size)) {
        device_memory_collect(pool->state);
        if (pool_is_beyond_limit(&pool->core, size)) return memory_pool_raise_beyond_limit(pool, size);
    }
    int failed = captured_holds(pool->state, stream) ? allocate_uncaptured(pool, size, &pointer)
                                                     : allocate_or_collect(pool, size, stream, &pointer);
    if (failed) return NULL;
    if (!context_check(pool->context, "memory_pool::allocate")) return NULL; /* it has ended meanwhile */
    PoolBlock *block = pool_adopt(&pool->core, pointer, size, stream);
    if (block) return block;
    release_owner(pool, call_deallocate(pool, pointer, size ? size : 1, stream), stream);
    return memory_pool_raise_beyond_limit(pool, size);
}

/* ---- The type ---- */

PyDoc_STRVAR(external_pool_doc,
             "ExternalMemoryPool(resource)\n--\n\n"
             "Device memory of another library's allocator, in the current context.\n\n"
             "``allocate`` may be the allocator of a GPUArray; set_allocator() makes it that of all arrays.\n"
             "Memory is freed in the order of the streams that used it.\n"
             "\nParameters\n----------\n"
             "resource : object\n"
             "    With ``allocate(nbytes, stream)``, and ``deallocate(address, nbytes, stream)`` when\n"
             "    ``allocate`` returns an address: a memory resource of RMM or cuda.core, or any other.");

static int external_pool_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *given[1];
    PoolForm form = {.source = &pool_external_memory, .bits = POOL_DEFAULT_BITS};
    if (convert_call(external_pool_doc, args, kwargs, GIVEN(given)) < 0) return -1;
    PyObject *module = PyImport_ImportModule("pycuda._base.allocators");
    if (!module) return -1;
    form.resource = PyObject_CallMethod(module, "Resource", "O", given[0]);
    Py_DECREF(module);
    int status = form.resource ? pool_start(self, &form) : -1;
    Py_XDECREF(form.resource);
    return status;
}

static PyObject *get_resource(PyObject *self, void *Py_UNUSED(closure))
{
    MemoryPool *pool = pool_of(self);
    return pool ? PyObject_GetAttrString(pool->resource, "resource") : NULL;
}

static PyGetSetDef external_pool_properties[] = {
    {"resource", get_resource, NULL, "The other library's allocator.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const TypeSpec ExternalMemoryPool_spec = {
    TYPE_OF("pycuda.tools.ExternalMemoryPool", PoolObject, Py_TPFLAGS_BASETYPE, external_pool_doc),
    .tp_init = external_pool_init,
    TYPE_TABLES(NULL, external_pool_properties, NULL),
};
