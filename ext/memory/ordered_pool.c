/* StreamOrderedMemoryPool: a pool of the driver, whose memory comes and goes in the order of streams. What is
 * not used is held by the driver, so the pool of core/pool.h holds none. */
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/pool.h"

/* ---- Making ---- */

PyDoc_STRVAR(ordered_pool_doc,
             "StreamOrderedMemoryPool(release_threshold=None, max_size=0)\n--\n\n"
             "A memory pool of the driver, on the current context's device.\n\n"
             "Memory is allocated and freed in the order of streams, and what is not used is the\n"
             "driver's to hold: ``held_blocks`` is 0, and ``managed_bytes`` what the driver has reserved.\n"
             "``limit`` counts what is in use. The end of the pool, and trim(), wait for the\n"
             "streams on which memory was freed.\n"
             "\nParameters\n----------\n"
             "release_threshold : int\n"
             "    Bytes that the driver keeps when streams or contexts are synchronized. None is all.\n"
             "max_size : int\n    Bytes that the driver lets the pool grow to; 0 is its own limit.\n"
             "\nNotes\n-----\n"
             "Calls cuMemPoolCreate, cuMemPoolDestroy; its memory comes from cuMemAllocFromPoolAsync.");

/* *pool: a new pool of the driver on the current context's device, which the caller owns. */
static CUresult create_driver_pool(ModuleState *state, CUmemoryPool *pool, size_t max_size,
                                   cuuint64_t threshold)
{
    CUdevice device;
    CUresult result = try_cuCtxGetDevice(state, &device);
    if (result != CUDA_SUCCESS) return result;
    CUmemPoolProps form = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
        .maxSize = max_size,
    };
    result = try_cuMemPoolCreate(state, pool, &form);
    if (result != CUDA_SUCCESS) return result;
    result = try_cuMemPoolSetAttribute(state, *pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    if (result != CUDA_SUCCESS) once_cuMemPoolDestroy(state, *pool);
    return result;
}

static int ordered_pool_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(Py_TYPE(self));
    PyObject *given[2];
    unsigned long long threshold = UINT64_MAX;
    PoolForm form = {.source = &pool_ordered_memory, .bits = POOL_DEFAULT_BITS};
    size_t max_size = 0;
    if (convert_call(ordered_pool_doc, args, kwargs, GIVEN(given)) < 0) return -1;
    PyObject *asked = given[0] == Py_None ? NULL : given[0];
    if ((asked && convert_bits(asked, "release_threshold", 64, &threshold) < 0)
        || convert_size(given[1], "max_size", &max_size) < 0)
        return -1;
    CUresult result = create_driver_pool(state, &form.driver_pool, max_size, threshold);
    if (result != CUDA_SUCCESS) {
        raise_driver(state, result, "cuMemPoolCreate", NULL);
        return -1;
    }
    if (pool_start(self, &form) == 0) return 0;
    report_driver(state, once_cuMemPoolDestroy(state, form.driver_pool), "cuMemPoolDestroy");
    return -1;
}

/* ---- Attributes of the driver's pool ---- */

/* Whether the attribute is one of the reuse policies, whose values are ints; other attributes have 64 bits.
 */
static bool is_policy(CUmemPool_attribute attribute) { return attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD; }

static CUmemPool_attribute attribute_of(void *closure) { return (CUmemPool_attribute)(uintptr_t)closure; }

/* Reads *value, or writes it if `write`, in the pool's context, which the driver's pool does not outlive. -1
 * with an exception. */
static int use_attribute(MemoryPool *pool, const char *routine, bool write, CUmemPool_attribute attribute,
                         void *value)
{
    ContextScope scope;
    CUresult result = CUDA_ERROR_INVALID_CONTEXT;
    if (host_function_refuses(pool->state, routine) || !context_check(pool->context, routine)) return -1;
    if (forked_after_init()) result = CUDA_ERROR_NOT_INITIALIZED;
    if (context_enter_scope(pool->context, &scope)) {
        if (write)
            result = once_cuMemPoolSetAttribute(pool->state, pool->core.driver_pool, attribute, value);
        else
            result = once_cuMemPoolGetAttribute(pool->state, pool->core.driver_pool, attribute, value);
        context_leave_scope(&scope);
    }
    return raise_unless(pool->state, result, routine);
}

static PyObject *read_attribute(PyObject *self, void *closure)
{
    MemoryPool *pool = pool_of(self);
    cuuint64_t value = 0;
    if (!pool || use_attribute(pool, "cuMemPoolGetAttribute", false, attribute_of(closure), &value) < 0)
        return NULL;
    return is_policy(attribute_of(closure)) ? PyBool_FromLong((int)value)
                                            : PyLong_FromUnsignedLongLong(value);
}

static int set_value(PyObject *self, CUmemPool_attribute attribute, cuuint64_t value)
{
    MemoryPool *pool = pool_of(self);
    int policy = value != 0;
    void *given = is_policy(attribute) ? (void *)&policy : (void *)&value;
    return pool ? use_attribute(pool, "cuMemPoolSetAttribute", true, attribute, given) : -1;
}

static int write_attribute(PyObject *self, PyObject *value, void *closure)
{
    unsigned long long number = 0;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "attributes of a memory pool cannot be deleted");
        return -1;
    }
    if (convert_bits(value, "the attribute", 64, &number) < 0) return -1;
    return set_value(self, attribute_of(closure), number);
}

#define READS(name, attribute, doc) {#name, read_attribute, NULL, doc, (void *)CU_MEMPOOL_ATTR_##attribute}
#define WRITES(name, attribute, doc) \
    {#name, read_attribute, write_attribute, doc, (void *)CU_MEMPOOL_ATTR_##attribute}
static PyGetSetDef ordered_pool_properties[] = {
    READS(managed_bytes, RESERVED_MEM_CURRENT, "Bytes that the driver has reserved, in use or not."),
    READS(managed_bytes_high, RESERVED_MEM_HIGH, "The maximum of managed_bytes so far."),
    READS(reserved_mem_current, RESERVED_MEM_CURRENT, "Bytes that the driver has reserved, in use or not."),
    READS(reserved_mem_high, RESERVED_MEM_HIGH, "The maximum of reserved_mem_current so far."),
    READS(used_mem_current, USED_MEM_CURRENT, "Bytes in use, as the driver counts them."),
    READS(used_mem_high, USED_MEM_HIGH, "The maximum of used_mem_current so far."),
    WRITES(release_threshold, RELEASE_THRESHOLD,
           "Bytes that the driver keeps when streams or contexts are synchronized."),
    WRITES(reuse_follow_event_dependencies, REUSE_FOLLOW_EVENT_DEPENDENCIES,
           "Whether memory is used again on a stream that waits for an event after it was freed."),
    WRITES(reuse_allow_opportunistic, REUSE_ALLOW_OPPORTUNISTIC,
           "Whether memory is used again on another stream once the work on it is done."),
    WRITES(reuse_allow_internal_dependencies, REUSE_ALLOW_INTERNAL_DEPENDENCIES,
           "Whether the driver makes a stream wait so that it can use memory of another one again."),
    {NULL, NULL, NULL, NULL, NULL},
};
#undef READS
#undef WRITES

/* ---- Methods ---- */

PyDoc_STRVAR(reset_high_doc,
             "reset_high($self)\n--\n\n"
             "Forget what the pool had at most: the driver's counts and the pool's begin with\n"
             "what it has now.\n"
             "\nNotes\n-----\n"
             "Calls cuMemPoolSetAttribute.");

static PyObject *ordered_pool_reset_high(PyObject *self, PyObject *Py_UNUSED(none))
{
    if (set_value(self, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0) < 0
        || set_value(self, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0) < 0)
        return NULL;
    pool_reset_peaks(&pool_of(self)->core);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(stop_holding_doc, "stop_holding($self)\n--\n\n"
                               "Set the release threshold to 0, and free what is not in use.\n"
                               "\nNotes\n-----\n"
                               "Calls cuMemPoolSetAttribute, cuMemPoolTrimTo.");

static PyObject *ordered_pool_stop_holding(PyObject *self, PyObject *Py_UNUSED(none))
{
    if (set_value(self, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0) < 0) return NULL;
    memory_pool_release(pool_of(self), pool_release_held);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(trim_to_doc, "trim_to($self, min_bytes_to_keep=0)\n--\n\n"
                          "The same as trim(), by the driver's name for it.\n"
                          "\nParameters\n----------\n"
                          "min_bytes_to_keep : int\n"
                          "\nNotes\n-----\n"
                          "Calls cuMemPoolTrimTo.");

static PyObject *ordered_pool_trim_to(PyObject *self, FAST_PARAMETERS)
{
    MemoryPool *pool = pool_of(self);
    PyObject *given[1];
    size_t keep = 0;
    if (!pool || convert_arguments(trim_to_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_size(given[0], "min_bytes_to_keep", &keep) < 0
        || host_function_refuses(pool->state, "cuMemPoolTrimTo"))
        return NULL;
    memory_pool_trim(pool, keep);
    Py_RETURN_NONE;
}

static PyMethodDef ordered_pool_methods[] = {
    {"reset_high", ordered_pool_reset_high, METH_NOARGS, reset_high_doc},
    {"stop_holding", ordered_pool_stop_holding, METH_NOARGS, stop_holding_doc},
    {"trim_to", AS_METHOD(ordered_pool_trim_to), FAST_KEYWORDS, trim_to_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec StreamOrderedMemoryPool_spec = {
    TYPE_OF("pycuda.tools.StreamOrderedMemoryPool", PoolObject, Py_TPFLAGS_BASETYPE, ordered_pool_doc),
    .tp_init = ordered_pool_init,
    TYPE_TABLES(ordered_pool_methods, ordered_pool_properties, NULL),
};
