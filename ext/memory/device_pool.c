/* DeviceMemoryPool: what Python sees of a pool of device memory. */
#include "ext/convert/convert.h"
#include "ext/errors.h"
#include "ext/memory/pooled_allocation.h"

static int device_pool_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"leading_bits_in_bin_id", NULL};
    PyObject *given[1];
    if (convert_call("DeviceMemoryPool", names, 0, args, kwargs, given) < 0) return -1;
    return pool_start(self, &pool_device_memory, 0, given[0]);
}

PyDoc_STRVAR(
    allocate_doc,
    "allocate(size, stream=None) -> PooledDeviceAllocation\n--\n\n"
    "Device memory of `size` bytes, 0 included, for use on the stream. Memory that was given back on the "
    "same stream can\n"
    "be used at once; otherwise the stream first waits for the work on it. When there is too little, the "
    "pool gives back\n"
    "what it holds, the largest blocks first, then the other pools of the device; then MemoryError says how "
    "much is\n"
    "free (cuMemAlloc).");

static PyObject *device_pool_allocate(PyObject *self, FAST_PARAMETERS)
{
    static const char *const names[] = {"size|bytes", "stream", NULL};
    MemoryPool *pool = pool_of(self);
    PyObject *given[2] = {NULL};
    size_t size = 0;
    CUstream handle = NULL;
    if (!pool) return NULL;
    if (arg_count == 1 && !keywords)
        given[0] = args[0];
    else if (convert_arguments("allocate", names, 1, args, arg_count, keywords, given) < 0
             || pool_stream(pool, given[1], &handle) < 0)
        return NULL;
    if (convert_size(given[0], "size", &size) < 0) return NULL;
    return pooled_allocation_new(pool, size, given[1], handle);
}

static PyMethodDef device_pool_methods[] = {
    {"allocate", AS_METHOD(device_pool_allocate), FAST_KEYWORDS, allocate_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(
    device_pool_doc,
    "DeviceMemoryPool(leading_bits_in_bin_id=4)\n--\n\n"
    "Keeps device memory that is no longer used for the next request, in the current context. allocate "
    "may be the\n"
    "allocator of a GPUArray. Sizes with the same leading bits share memory: with n bits, a block is larger "
    "than asked for\n"
    "by less than one part in 2**n (n is at most 8).");

static PyType_Slot device_pool_slots[] = {
    {Py_tp_doc, (void *)device_pool_doc},
    {Py_tp_new, AS_SLOT(PyType_GenericNew)},
    {Py_tp_init, AS_SLOT(device_pool_init)},
    {Py_tp_methods, device_pool_methods},
    {0, NULL},
};

static PyType_Spec device_pool_spec = {
    .name = "pycuda._driver.DeviceMemoryPool",
    .basicsize = sizeof(PoolObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = device_pool_slots,
};

int device_pool_setup(PyObject *module, ModuleState *state)
{
    return state_add_type(module, &state->DeviceMemoryPool_type, &device_pool_spec, state->MemoryPool_type);
}
