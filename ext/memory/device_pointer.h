/* What is accepted where a device address is expected. */
#ifndef EXT_MEMORY_DEVICE_POINTER_H
#define EXT_MEMORY_DEVICE_POINTER_H

#include "ext/base/ext.h"

/* *out: the device address that an argument means: a DeviceAllocation, ManagedAllocation, PointerHolderBase
 * or GPUArray, an integer or object with __index__, another library's array, a host array in managed memory.
 * -1 with an exception: TypeError for other objects, LogicError when the memory was freed. Waits for the work
 * of the owner of another library's array. */
int convert_pointer(ModuleState *state, PyObject *value, CUdeviceptr *out);

/* As convert_pointer(), for a copy or fill of `size` bytes from the address on: ValueError when the
 * allocation is known to have fewer. what: the parameter's name. */
int convert_range(ModuleState *state, PyObject *value, const char *what, size_t size, CUdeviceptr *out);
/* As convert_range(), for a copy or fill that is queued on the stream `consumer`: instead of waiting for the
 * work of the owner of another library's array, orders the stream after it. */
int convert_range_on(ModuleState *state, PyObject *value, const char *what, size_t size, CUstream consumer,
                     CUdeviceptr *out);

#endif
