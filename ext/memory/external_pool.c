/* ExternalMemoryPool: memory of another library's allocator, with a pool's account and order of streams.
 *
 * The allocator is a Python object (pycuda/_allocators.py makes of it what is called here), so it is called
 * with the GIL, outside of the macros around driver calls, and with the pool's context current. */
#include "ext/convert/convert.h"
#include "ext/errors.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/pool.h"

/* ---- Memory ---- */

static int ask(MemoryPool *pool, size_t size, CUstream stream, CUdeviceptr *pointer)
{
    PyObject *answer = PyObject_CallMethod(pool->resource, "allocate", "nK", (Py_ssize_t)(size ? size : 1),
                                           (unsigned long long)(uintptr_t)stream);
    if (!answer) return -1;
    *pointer = PyLong_AsUnsignedLongLong(answer);
    Py_DECREF(answer);
    return PyErr_Occurred() ? -1 : 0;
}

/* When the allocator has no more, garbage is collected and all pools give back what they hold. */
static int ask_twice(MemoryPool *pool, size_t size, CUstream stream, CUdeviceptr *pointer)
{
    if (ask(pool, size, stream, pointer) == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_MemoryError) && !PyErr_ExceptionMatches(pool->state->MemoryError))
        return -1;
    PyErr_Clear();
    device_memory_make_room(pool->state);
    return ask(pool, size, stream, pointer);
}

static void give(MemoryPool *pool, CUdeviceptr pointer, size_t size, CUstream stream)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *done = PyObject_CallMethod(pool->resource, "deallocate", "KnK", (unsigned long long)pointer,
                                         (Py_ssize_t)size, (unsigned long long)(uintptr_t)stream);
    if (!done) PyErr_WriteUnraisable(pool->resource);
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace);
}

static PoolBlock *refuse(MemoryPool *pool, size_t size)
{
    memory_pool_raise_shortage(pool, CUDA_ERROR_OUT_OF_MEMORY, size);
    return NULL;
}

PoolBlock *external_memory_allocate(MemoryPool *pool, size_t size, CUstream stream)
{
    CUdeviceptr pointer;
    if (pool_is_beyond_limit(&pool->core, size)) {
        device_memory_collect(pool->state);
        if (pool_is_beyond_limit(&pool->core, size)) return refuse(pool, size);
    }
    if (ask_twice(pool, size, stream, &pointer) < 0) return NULL;
    PoolBlock *block = pool_adopt(&pool->core, pointer, size, stream);
    if (block) return block;
    give(pool, pointer, size ? size : 1, stream);
    return refuse(pool, size);
}

void external_memory_give(MemoryPool *pool, PoolBlock *block)
{
    CUresult result;
    CALL_UNLOCKED(result, pool_leave_event(block));
    report_driver(pool->state, result, "cuCtxSynchronize");
    give(pool, block->pointer, block->room, block->stream);
}

/* ---- The type ---- */

PyDoc_STRVAR(external_pool_doc,
             "ExternalMemoryPool(resource)\n--\n\n"
             "Device memory of another library's allocator, in the current context.\n\n"
             "``allocate`` may be the allocator of a GPUArray; set_allocator() makes it that of all arrays.\n"
             "Memory is given back in the order of the streams that used it.\n"
             "\nParameters\n----------\n"
             "resource : object\n"
             "    With ``allocate(nbytes, stream)``, and ``deallocate(address, nbytes, stream)`` when\n"
             "    ``allocate`` returns an address: a memory resource of RMM or cuda.core, or any other.");

static int external_pool_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *given[1];
    PoolForm form = {.source = &pool_external_memory, .bits = POOL_DEFAULT_BITS};
    if (convert_call(external_pool_doc, args, kwargs, GIVEN(given)) < 0) return -1;
    PyObject *module = PyImport_ImportModule("pycuda._allocators");
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

static PyType_Slot external_pool_slots[] = {
    {Py_tp_doc, (void *)external_pool_doc},
    {Py_tp_init, AS_SLOT(external_pool_init)},
    {Py_tp_getset, external_pool_properties},
    {0, NULL},
};

static PyType_Spec external_pool_spec = {
    .name = "pycuda._driver.ExternalMemoryPool",
    .basicsize = sizeof(PoolObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = external_pool_slots,
};

int external_pool_setup(PyObject *module, ModuleState *state)
{
    return state_add_type(module, &state->ExternalMemoryPool_type, &external_pool_spec,
                          state->DeviceMemoryPool_type);
}
