/* PageLockedMemoryPool, the PageLockedAllocator it takes its memory from, and the PooledHostAllocation
 * that is the base of its arrays. A host array that an asynchronous copy uses is kept alive until the copy
 * is done (keep_alive.h), so the memory needs no order of streams. */
#include "ext/base/errors.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/host_memory.h"
#include "ext/memory/pool.h"

/* ---- PageLockedAllocator ---- */

typedef struct AllocatorObject {
    PyObject_HEAD
    unsigned flags;
} AllocatorObject;

PyDoc_STRVAR(allocator_doc, "PageLockedAllocator(flags=0)\n--\n\n"
                            "Where a PageLockedMemoryPool gets its memory from.\n"
                            "\nParameters\n----------\n"
                            "flags : host_alloc_flags\n"
                            "\nNotes\n-----\n"
                            "Calls cuMemHostAlloc.");

static PyObject *allocator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    unsigned flags = 0;
    if (READ_CALL(allocator_doc, INTO(&flags)) < 0) return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self) ((AllocatorObject *)self)->flags = flags;
    return self;
}

static PyMemberDef allocator_members[] = {
    {"flags", T_UINT, offsetof(AllocatorObject, flags), READONLY, "The host_alloc_flags."},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec PageLockedAllocator_spec = {
    TYPE_OF("pycuda.tools.PageLockedAllocator", AllocatorObject, Py_TPFLAGS_BASETYPE, allocator_doc),
    .tp_new = allocator_new,
    TYPE_TABLES(NULL, NULL, allocator_members),
};

/* ---- PooledHostAllocation ---- */

typedef struct PooledHostObject {
    HostMemoryObject memory; /* memory.context is the pool's */
    MemoryPool *pool; /* a reference; NULL until the object has a block */
    PoolBlock *block; /* the object's, until memory.freed is set */
} PooledHostObject;

static PooledHostObject *pooled_host_cast(PyObject *object) { return (PooledHostObject *)object; }

static PyObject *new_pooled_host(MemoryPool *pool, size_t size)
{
    PyTypeObject *type = pool->state->PooledHostAllocation_type;
    PooledHostObject *allocation = pooled_host_cast(type->tp_alloc(type, 0));
    if (!allocation) return NULL;
    allocation->memory.state = pool->state;
    allocation->memory.kind = HOST_PAGELOCKED;
    atomic_init(&allocation->memory.freed, true);
    allocation->block = memory_pool_allocate(pool, size, NULL, NULL);
    if (!allocation->block) {
        Py_DECREF((PyObject *)allocation);
        return NULL;
    }
    memory_pool_hold(pool);
    allocation->pool = pool;
    allocation->memory.context = context_hold(pool->context);
    allocation->memory.memory = (void *)(uintptr_t)allocation->block->pointer;
    allocation->memory.size = size;
    atomic_store(&allocation->memory.freed, false);
    LIVE_MORE(pool->state, PooledHostAllocation);
    return (PyObject *)allocation;
}

static void return_block(PyObject *self)
{
    PooledHostObject *allocation = pooled_host_cast(self);
    LIVE_LESS(allocation->memory.state, PooledHostAllocation);
    memory_pool_return(allocation->pool, allocation->block);
    allocation->block = NULL;
}

static void pooled_host_dealloc(PyObject *self)
{
    PooledHostObject *allocation = pooled_host_cast(self);
    if (!owner_dealloc_begin(self, pooled_host_dealloc, return_block)) return;
    if (allocation->pool) memory_pool_drop(allocation->pool);
    owner_dealloc_end(self);
}

static int pooled_host_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static PyObject *pooled_host_free(PyObject *self, PyObject *Py_UNUSED(none))
{
    if (owner_release(self, return_block)) Py_RETURN_NONE;
    return raise_driver(host_memory_cast(self)->state, CUDA_ERROR_INVALID_HANDLE,
                        "pooled_host_allocation::free", "it was already freed");
}

static Py_ssize_t pooled_host_length(PyObject *self) { return (Py_ssize_t)host_memory_cast(self)->size; }

static PyMethodDef pooled_host_methods[] = {
    {"free", pooled_host_free, METH_NOARGS,
     "free($self)\n--\n\n"
     "Give the memory back to its pool now; its arrays must not be used again.\n"
     "\nRaises\n------\n"
     "LogicError\n    The second time."},
    {NULL, NULL, 0, NULL},
};

const TypeSpec PooledHostAllocation_spec = {
    TYPE_OF("pycuda.tools.PooledHostAllocation", PooledHostObject, 0,
            "Page-locked memory from a PageLockedMemoryPool, the base of its arrays. len() is the bytes."),
    .tp_dealloc = pooled_host_dealloc,
    .tp_traverse = pooled_host_traverse,
    .sq_length = pooled_host_length,
    TYPE_TABLES(pooled_host_methods, NULL, NULL),
};

/* ---- PageLockedMemoryPool ---- */

PyDoc_STRVAR(host_pool_doc,
             "PageLockedMemoryPool(allocator=None, leading_bits_in_bin_id=4)\n--\n\n"
             "Keep page-locked memory that is no longer used for later requests, in the current\n"
             "context.\n"
             "\nParameters\n----------\n"
             "allocator : PageLockedAllocator\n    None is one without flags.\n"
             "leading_bits_in_bin_id : int\n    As for DeviceMemoryPool.");

static int host_pool_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyTypeObject *wanted = state_of_type(Py_TYPE(self))->PageLockedAllocator_type;
    PyObject *given[2];
    PoolForm form = {.source = &pool_host_memory};
    if (convert_call(host_pool_doc, args, kwargs, GIVEN(given)) < 0) return -1;
    if (given[0] && given[0] != Py_None) {
        if (!PyObject_TypeCheck(given[0], wanted)) {
            PyErr_Format(PyExc_TypeError, "allocator must be a PageLockedAllocator, not %s",
                         Py_TYPE(given[0])->tp_name);
            return -1;
        }
        form.flags = ((AllocatorObject *)given[0])->flags;
    }
    return pool_read_bits(given[1], &form.bits) < 0 ? -1 : pool_start(self, &form);
}

PyDoc_STRVAR(allocate_doc, "allocate($self, shape, dtype, order=\"C\")\n--\n\n"
                           "Allocate an array in page-locked memory.\n"
                           "\nParameters\n----------\n"
                           "shape : int or sequence of int\n"
                           "dtype : dtype-like\n"
                           "order : {\"C\", \"F\"}\n"
                           "\nReturns\n-------\n"
                           "numpy.ndarray\n    Its base is a PooledHostAllocation.\n"
                           "\nRaises\n------\n"
                           "MemoryError\n    The host has no more, or the pool's limit does not allow it.\n"
                           "\nNotes\n-----\n"
                           "Calls cuMemHostAlloc.");

static PyObject *host_pool_allocate(PyObject *self, FAST_PARAMETERS)
{
    MemoryPool *pool = pool_of(self);
    PyObject *given[3], *array = NULL;
    HostArrayLayout layout;
    if (!pool || convert_arguments(allocate_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_layout(pool->state, given[0], given[1], given[2], &layout) < 0)
        return NULL;
    PyObject *memory = new_pooled_host(pool, layout.bytes);
    if (memory) array = convert_make_array(&layout, host_memory_cast(memory)->memory, memory);
    convert_layout_clear(&layout);
    return array;
}

static PyMethodDef host_pool_methods[] = {
    {"allocate", AS_METHOD(host_pool_allocate), FAST_KEYWORDS, allocate_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec PageLockedMemoryPool_spec = {
    TYPE_OF("pycuda.tools.PageLockedMemoryPool", PoolObject, Py_TPFLAGS_BASETYPE, host_pool_doc),
    .tp_new = PyType_GenericNew,
    .tp_init = host_pool_init,
    TYPE_TABLES(host_pool_methods, NULL, NULL),
};

/* ---- The pool for host copies that outlive what they were copied in ---- */

PyDoc_STRVAR(registered_pool_doc,
             "_registered_pool()\n--\n\n"
             "A new PageLockedMemoryPool in the current context whose arrays stay readable when the\n"
             "context has ended, and in a forked child: their memory is the process's own, page-locked\n"
             "by cuMemHostRegister for all contexts. _live_objects() does not count it.");

static PyObject *registered_pool(PyObject *module, PyObject *Py_UNUSED(none))
{
    static const PoolForm form = {
        .source = &pool_registered_memory, .flags = CU_MEMHOSTREGISTER_PORTABLE, .bits = POOL_DEFAULT_BITS};
    PyTypeObject *type = module_state(module)->PageLockedMemoryPool_type;
    PyObject *self = type->tp_alloc(type, 0);
    ContextObject *context = self ? context_hold_current(module_state(module)) : NULL;
    if (context && !(pool_cast(self)->pool = memory_pool_new(context, &form))) context_drop(context);
    if (self && !pool_cast(self)->pool) Py_CLEAR(self);
    return self;
}

PyMethodDef host_pool_functions[] = {
    {"_registered_pool", registered_pool, METH_NOARGS, registered_pool_doc},
    {NULL, NULL, 0, NULL},
};
