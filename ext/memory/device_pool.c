/* DeviceMemoryPool and ManagedMemoryPool: what Python sees of pools of device and of managed memory. */
#include "ext/base/errors.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

PyDoc_STRVAR(device_pool_doc,
             "DeviceMemoryPool(leading_bits_in_bin_id=4)\n--\n\n"
             "Keep device memory that is no longer used for later requests, in the current context.\n\n"
             "``allocate`` may be the allocator of a GPUArray.\n"
             "\nParameters\n----------\n"
             "leading_bits_in_bin_id : int\n"
             "    Sizes with the same leading bits share memory: with n bits, at most 8, a block is\n"
             "    larger than asked for by less than one part in 2**n.");

static int device_pool_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *given[1];
    PoolForm form = {.source = &pool_device_memory};
    if (convert_call(device_pool_doc, args, kwargs, GIVEN(given)) < 0
        || pool_read_bits(given[0], &form.bits) < 0)
        return -1;
    return pool_start(self, &form);
}

PyDoc_STRVAR(managed_pool_doc,
             "ManagedMemoryPool(leading_bits_in_bin_id=4)\n--\n\n"
             "Keep managed memory, which host and device use at one address.\n\n"
             "As the host may use what it gets at once, memory is taken again only after the work on it:\n"
             "``allocate`` waits for that.\n"
             "\nParameters\n----------\n"
             "leading_bits_in_bin_id : int\n    As for DeviceMemoryPool.\n"
             "\nNotes\n-----\n"
             "Its memory comes from cuMemAllocManaged.");

static int managed_pool_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *given[1];
    PoolForm form = {.source = &pool_managed_memory, .flags = CU_MEM_ATTACH_GLOBAL};
    if (convert_call(managed_pool_doc, args, kwargs, GIVEN(given)) < 0
        || pool_read_bits(given[0], &form.bits) < 0)
        return -1;
    return pool_start(self, &form);
}

PyDoc_STRVAR(allocate_doc,
             "allocate($self, size, stream=None)\n--\n\n"
             "Allocate device memory for use on a stream.\n\n"
             "Memory that was freed on the same stream can be used at once; otherwise the\n"
             "stream first waits for the work on it. When there is too little, the pool frees what\n"
             "it holds, the largest blocks first, then the other pools of the device do.\n"
             "\nParameters\n----------\n"
             "size : int\n    Bytes, 0 included (the keyword may be ``bytes``).\n"
             "stream : Stream\n"
             "\nReturns\n-------\n"
             "PooledDeviceAllocation\n"
             "\nRaises\n------\n"
             "MemoryError\n"
             "    There is too little; the message says how much is free, or used of the pool's limit.\n"
             "\nNotes\n-----\n"
             "Calls cuMemAlloc, or what the kind of the pool calls.");

static PyObject *device_pool_allocate(PyObject *self, FAST_PARAMETERS)
{
    MemoryPool *pool = pool_of(self);
    PyObject *given[2] = {NULL};
    size_t size = 0;
    CUstream handle = NULL;
    if (!pool) return NULL;
    if (arg_count == 1 && !keywords)
        given[0] = args[0];
    else if (convert_arguments(allocate_doc, args, arg_count, keywords, GIVEN(given)) < 0
             || pool_stream(pool, given[1], &handle) < 0)
        return NULL;
    if (convert_size(given[0], "size", &size) < 0) return NULL;
    memory_pool_hold(pool);
    return pooled_allocation_new(pool, size, given[1], handle);
}

/* The stream (NULL: the default one), or NULL for a stream of another context, whose end is not reported to
 * the pool. */
static PyObject *usable_stream(const MemoryPool *pool, PyObject *stream)
{
    if (!stream || !PyObject_TypeCheck(stream, pool->state->Stream_type)) return stream;
    return contexts_share_memory(stream_cast(stream)->context, pool->context) ? stream : NULL;
}

enum { POOL_ALLOCATE }; /* the row of device_pool_methods */
static PyMethodDef device_pool_methods[] = {
    [POOL_ALLOCATE] = {"allocate", AS_METHOD(device_pool_allocate), FAST_KEYWORDS, allocate_doc},
    {NULL, NULL, 0, NULL},
};

int pool_allocate_if_pool_method(ModuleState *state, PyObject *allocate, size_t size, PyObject *stream,
                                 PyObject **memory)
{
    CUstream handle = NULL;
    /* The row is compared, not its function, in whose place the section may have put an entry. */
    if (!PyCFunction_CheckExact(allocate)
        || ((PyCFunctionObject *)allocate)->m_ml != &device_pool_methods[POOL_ALLOCATE])
        return 0;
    MemoryPool *pool = pool_cast(PyCFunction_GET_SELF(allocate))->pool;
    if (!pool) return 0;
    memory_pool_hold(pool);
    stream = usable_stream(pool, stream_or_current(state, stream));
    bool known = pool_stream(pool, stream, &handle) == 0;
    if (!known) memory_pool_drop(pool);
    *memory = known ? pooled_allocation_new(pool, size, stream, handle) : NULL;
    return *memory ? 1 : -1;
}

const TypeSpec DeviceMemoryPool_spec = {
    TYPE_OF("pycuda.tools.DeviceMemoryPool", PoolObject, Py_TPFLAGS_BASETYPE, device_pool_doc),
    .tp_new = PyType_GenericNew,
    .tp_init = device_pool_init,
    TYPE_TABLES(device_pool_methods, NULL, NULL),
};

const TypeSpec ManagedMemoryPool_spec = {
    TYPE_OF("pycuda.tools.ManagedMemoryPool", PoolObject, Py_TPFLAGS_BASETYPE, managed_pool_doc),
    .tp_init = managed_pool_init,
};
