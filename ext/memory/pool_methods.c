/* MemoryPool, the base of all kinds of pools: its methods and properties. */
#include <stdlib.h>

#include "ext/base/deferred.h"
#include "ext/base/errors.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/pool.h"

/* ---- Life ---- */

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

/* default_memory_pool() makes an object for the context's pool each time: objects of one pool are equal. */
static PyObject *pool_compare(PyObject *left, PyObject *right, int operation)
{
    bool alike = PyObject_TypeCheck(right, state_of_type(Py_TYPE(left))->MemoryPool_type);
    const MemoryPool *pool = pool_cast(left)->pool;
    bool same = left == right || (alike && pool && pool == pool_cast(right)->pool);
    return type_compare(alike, same, operation);
}

static Py_hash_t pool_hash(PyObject *self)
{
    const void *identity = pool_cast(self)->pool ? (const void *)pool_cast(self)->pool : self;
    return (Py_hash_t)((uintptr_t)identity >> 4); /* addresses are aligned: never -1 */
}

/* ---- Held memory ---- */

/* Releases the held blocks by `how`, an IN_CALL function of core/pool.h. */
static PyObject *release_held(PyObject *self, CUresult (*how)(Pool *, bool with_driver))
{
    MemoryPool *pool = pool_of(self);
    if (!pool || host_function_refuses(pool->state, pool->core.source->release_name)) return NULL;
    memory_pool_release(pool, how);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(trim_doc, "trim($self, bytes=0)\n--\n\n"
                       "Free blocks that wait for reuse, the largest first, until the pool manages no more\n"
                       "bytes than these. Blocks in use stay.\n"
                       "\nParameters\n----------\n"
                       "bytes : int\n"
                       "\nNotes\n-----\n"
                       "Calls cuMemFree, cuMemFreeHost.");

static PyObject *pool_free_held(PyObject *self, PyObject *Py_UNUSED(none))
{
    return release_held(self, pool_release_held);
}

static PyObject *pool_stop_holding(PyObject *self, PyObject *Py_UNUSED(none))
{
    return release_held(self, pool_stop);
}

static PyObject *trim_pool(PyObject *self, FAST_PARAMETERS)
{
    MemoryPool *pool = pool_of(self);
    size_t keep = 0;
    if (!pool || READ_ARGUMENTS(trim_doc, INTO(&keep)) < 0
        || host_function_refuses(pool->state, pool->core.source->release_name))
        return NULL;
    memory_pool_trim(pool, keep);
    Py_RETURN_NONE;
}

/* ---- Bins ---- */

PyDoc_STRVAR(bin_number_doc, "bin_number($self, size)\n--\n\n"
                             "The bin for requests of a size: a block serves requests of its own bin.\n"
                             "\nParameters\n----------\n"
                             "size : int\n    Bytes.\n"
                             "\nReturns\n-------\n"
                             "int");
PyDoc_STRVAR(alloc_size_doc, "alloc_size($self, bin)\n--\n\n"
                             "The size of the blocks of a bin, the largest request in it.\n"
                             "\nParameters\n----------\n"
                             "bin : int\n"
                             "\nReturns\n-------\n"
                             "int\n    Bytes.\n"
                             "\nRaises\n------\n"
                             "ValueError\n    There is no such bin.");

static PyObject *pool_get_bin_number(PyObject *self, FAST_PARAMETERS)
{
    const MemoryPool *pool = pool_of(self);
    size_t size;
    if (!pool || READ_ARGUMENTS(bin_number_doc, INTO(&size)) < 0) return NULL;
    return PyLong_FromUnsignedLong(pool_bin_number(pool->core.bits, size));
}

static PyObject *pool_get_alloc_size(PyObject *self, FAST_PARAMETERS)
{
    const MemoryPool *pool = pool_of(self);
    unsigned bin;
    if (!pool || READ_ARGUMENTS(alloc_size_doc, INTO(&bin)) < 0) return NULL;
    if (bin < pool_bin_count(pool->core.bits))
        return PyLong_FromSize_t(pool_alloc_size(pool->core.bits, bin));
    return PyErr_Format(PyExc_ValueError, "bin is %u: this pool has %u bins", bin,
                        pool_bin_count(pool->core.bits));
}

/* ---- Statistics ---- */

/* closure: the offset of the statistic in PoolStatistics. */
static PyObject *pool_statistic(PyObject *self, void *closure)
{
    MemoryPool *pool = pool_of(self);
    if (!pool) return NULL;
    /* In a forked child the pool's lock may be locked forever. */
    PoolStatistics now = forked_after_init() ? pool->core.now : pool_statistics(&pool->core);
    return PyLong_FromSize_t(*(size_t *)((char *)&now + (uintptr_t)closure));
}

static PyObject *pool_reset_high_marks(PyObject *self, PyObject *Py_UNUSED(none))
{
    MemoryPool *pool = pool_of(self);
    if (!pool) return NULL;
    if (!forked_after_init()) pool_reset_peaks(&pool->core);
    Py_RETURN_NONE;
}

static PyObject *pool_limit(PyObject *self, void *Py_UNUSED(closure))
{
    MemoryPool *pool = pool_of(self);
    if (!pool) return NULL;
    size_t limit = forked_after_init() ? pool->core.limit : pool_get_limit(&pool->core);
    return limit ? PyLong_FromSize_t(limit) : Py_NewRef(Py_None);
}

static int pool_limit_set(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    MemoryPool *pool = pool_of(self);
    size_t limit = 0;
    if (!pool) return -1;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "limit cannot be deleted: None removes the limit");
        return -1;
    }
    if (value != Py_None && convert_size(value, "limit", &limit) < 0) return -1;
    if (value != Py_None && !limit) {
        PyErr_SetString(PyExc_ValueError, "limit must be 1 byte or more, or None, not 0");
        return -1;
    }
    if (!forked_after_init()) pool_set_limit(&pool->core, limit);
    return 0;
}

/* ---- The snapshot ---- */

/* A new tuple (address, size, capacity, bin, active, stream): what PoolSnapshot takes (pool_snapshot.py). */
static PyObject *describe_block(const PoolBlock *block)
{
    PyObject *stream =
        block->stream == POOL_NO_STREAM ? Py_NewRef(Py_None) : PyLong_FromVoidPtr(block->stream);
    if (!stream) return NULL;
    return Py_BuildValue("(KnnION)", (unsigned long long)block->pointer,
                         (Py_ssize_t)(block->active ? block->size : 0), (Py_ssize_t)block->capacity,
                         block->bin, block->active ? Py_True : Py_False, stream);
}

static PyObject *describe_blocks(Pool *core)
{
    if (forked_after_init()) return PyList_New(0);
    size_t count;
    PoolBlock *blocks = pool_copy_blocks(core, &count);
    if (!blocks) return PyErr_NoMemory();
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *entry = describe_block(&blocks[i]);
        if (entry)
            PyList_SET_ITEM(list, (Py_ssize_t)i, entry);
        else
            Py_CLEAR(list);
    }
    free(blocks);
    return list;
}

PyDoc_STRVAR(snapshot_doc, "snapshot($self)\n--\n\n"
                           "What the pool has now, block by block. print() shows it bin by bin.\n"
                           "\nReturns\n-------\n"
                           "pycuda.tools.PoolSnapshot");

static PyObject *pool_snapshot(PyObject *self, PyObject *Py_UNUSED(none))
{
    MemoryPool *pool = pool_of(self);
    PyObject *blocks = pool ? describe_blocks(&pool->core) : NULL;
    PyObject *module = blocks ? PyImport_ImportModule("pycuda._base.pool_snapshot") : NULL;
    PyObject *snapshot = module ? PyObject_CallMethod(module, "take", "OO", self, blocks) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(blocks);
    return snapshot;
}

/* ---- The type ---- */

PyDoc_STRVAR(reset_high_doc,
             "reset_high($self)\n--\n\n"
             "Forget what the pool had at most: ``managed_bytes_high`` and ``active_bytes_high``\n"
             "begin with what it has now.");
PyDoc_STRVAR(free_held_doc, "free_held($self)\n--\n\n"
                            "Free the blocks that wait for reuse.\n"
                            "\nNotes\n-----\n"
                            "Calls cuMemFree, cuMemFreeHost.");
PyDoc_STRVAR(stop_holding_doc,
             "stop_holding($self)\n--\n\n"
             "Free the blocks that wait for reuse, and from now on every block that is returned.\n"
             "\nNotes\n-----\n"
             "Calls cuMemFree, cuMemFreeHost.");

static PyMethodDef pool_methods[] = {
    {"free_held", pool_free_held, METH_NOARGS, free_held_doc},
    {"stop_holding", pool_stop_holding, METH_NOARGS, stop_holding_doc},
    {"trim", AS_METHOD(trim_pool), FAST_KEYWORDS, trim_doc},
    {"reset_high", pool_reset_high_marks, METH_NOARGS, reset_high_doc},
    {"snapshot", pool_snapshot, METH_NOARGS, snapshot_doc},
    {"bin_number", AS_METHOD(pool_get_bin_number), FAST_KEYWORDS, bin_number_doc},
    {"alloc_size", AS_METHOD(pool_get_alloc_size), FAST_KEYWORDS, alloc_size_doc},
    {NULL, NULL, 0, NULL},
};

#define STATISTIC(name, doc) {#name, pool_statistic, NULL, doc, (void *)offsetof(PoolStatistics, name)}
static PyGetSetDef pool_properties[] = {
    STATISTIC(held_blocks, "Blocks that wait for reuse."),
    STATISTIC(active_blocks, "Blocks in use."),
    STATISTIC(managed_bytes, "Bytes of both, as they were allocated."),
    STATISTIC(active_bytes, "Bytes in use, as they were requested."),
    STATISTIC(managed_bytes_high, "The maximum of managed_bytes so far."),
    STATISTIC(active_bytes_high, "The maximum of active_bytes so far."),
    {"limit", pool_limit, pool_limit_set,
     "How many bytes managed_bytes may be, or None.\n\n"
     "A request beyond it frees the blocks that wait for reuse, and raises MemoryError when that is\n"
     "not enough. Blocks that are there when it is set stay.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
#undef STATISTIC

const TypeSpec MemoryPool_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.tools.MemoryPool", PoolObject, Py_TPFLAGS_BASETYPE,
                              "What all memory pools share."),
    .tp_dealloc = pool_dealloc,
    .tp_richcompare = pool_compare,
    .tp_hash = pool_hash,
    TYPE_TABLES(pool_methods, pool_properties, NULL),
};

PyDoc_STRVAR(bitlog2_doc, "bitlog2(n)\n--\n\n"
                          "The logarithm to base 2, rounded down.\n"
                          "\nParameters\n----------\n"
                          "n : int\n"
                          "\nReturns\n-------\n"
                          "int\n    0 for 0.");

static PyObject *bitlog2(PyObject *Py_UNUSED(module), FAST_PARAMETERS)
{
    unsigned long long n;
    return READ_ARGUMENTS(bitlog2_doc, INTO(&n)) < 0 ? NULL : PyLong_FromUnsignedLong(pool_log2((size_t)n));
}

PyMethodDef pool_methods_functions[] = {
    {"bitlog2", AS_METHOD(bitlog2), FAST_KEYWORDS, bitlog2_doc},
    {NULL, NULL, 0, NULL},
};
