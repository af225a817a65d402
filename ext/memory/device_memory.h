/* Device memory owned by Python objects. */
#ifndef EXT_MEMORY_DEVICE_MEMORY_H
#define EXT_MEMORY_DEVICE_MEMORY_H

#include "ext/context/owner.h"

typedef struct DeviceAllocationObject {
    OWNER_HEAD
    bool managed;               /* from cuMemAllocManaged */
    bool pooled;                /* a PooledDeviceAllocation (pool.h) */
    bool arriving;              /* its address was not read yet (pooled_arrives) */
    struct UsesElsewhere *elsewhere; /* owned: its uses in other contexts (elsewhere.h); NULL: none */
    CUdeviceptr pointer;
    size_t size;
} DeviceAllocationObject;

static inline DeviceAllocationObject *device_allocation_cast(PyObject *object)
{
    return (DeviceAllocationObject *)object;
}

/* DeviceAllocation or a subclass (ManagedAllocation, PooledDeviceAllocation). */
static inline bool device_allocation_check(ModuleState *state, PyObject *object)
{
    return Py_TYPE(object) == state->DeviceAllocation_type
           || PyType_IsSubtype(Py_TYPE(object), state->DeviceAllocation_type);
}

/* A new allocation of `size` bytes in the current context, as mem_alloc makes it: on shortage everything that
 * is held for reuse is freed and the driver asked once more. NULL with an exception. */
PyObject *device_allocation_new(ModuleState *state, size_t size);

/* managed_memory.c: a new ManagedAllocation of `size` bytes; a size of 0 gives one byte. NULL with an
 * exception. */
PyObject *managed_memory_new(ModuleState *state, size_t size, unsigned flags);

/* device_pointer.c: the managed allocation under a host array or a view of one, borrowed; NULL when there is
 * none. */
DeviceAllocationObject *managed_memory_of(ModuleState *state, PyObject *array);

/* *out: the address. -1 with LogicError when the memory was freed or its context is gone. */
int device_allocation_address(DeviceAllocationObject *allocation, CUdeviceptr *out);

/* For pools: cuMemAlloc with the second attempt of mem_alloc. Raises nothing. Needs the GIL. */
CUresult device_memory_allocate(ModuleState *state, size_t size, CUdeviceptr *out);
/* Raises the error of an allocation, with how much memory is free in the context (NULL: the current one).
 * Returns NULL. */
PyObject *device_memory_raise(ModuleState *state, ContextObject *context, CUresult result,
                              const char *routine, size_t size);

/* Writes a number of bytes as messages have it: "1.5 GiB", "12 bytes". */
void device_memory_format(size_t size, char *text, size_t text_size);

/* Collects Python's garbage and releases what finished work kept alive. */
void device_memory_collect(ModuleState *state);

/* device_memory_collect(), then calls the functions in ModuleState.give_back. */
void device_memory_reclaim(ModuleState *state);

/* result: of a call that allocates. If there was too little memory it is made again after
 * device_memory_reclaim(). */
#define ALLOCATE(state, result, call) \
    do { \
        (result) = (call); \
        if ((result) == CUDA_ERROR_OUT_OF_MEMORY) { \
            device_memory_reclaim(state); \
            (result) = (call); \
        } \
    } while (0)

/* During set-up: registers a function that frees memory held for reuse. -1 with an exception when there are
 * too many. */
int device_memory_on_shortage(ModuleState *state, GiveBackFn give_back);

/* The tp_dealloc of DeviceAllocation and ManagedAllocation. */
void device_allocation_dealloc(PyObject *self);

#endif
