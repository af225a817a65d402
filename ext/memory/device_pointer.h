/* What is accepted where a device address is expected. */
#ifndef EXT_MEMORY_DEVICE_POINTER_H
#define EXT_MEMORY_DEVICE_POINTER_H

#include "ext/base/ext.h"

/* A device address: DeviceAllocation, ManagedAllocation, PointerHolderBase, GPUArray, integers, objects with
 * __index__ or __cuda_array_interface__, host arrays in managed memory. LogicError when it was freed. */
int convert_pointer(ModuleState *state, PyObject *value, CUdeviceptr *out);

/* As convert_pointer(), for a copy or fill of `size` bytes that starts there: ValueError when the allocation
 * is known to be smaller. */
int convert_range(ModuleState *state, PyObject *value, const char *what, size_t size, CUdeviceptr *out);
/* As convert_range(), for a copy or fill that is queued on `consumer`: it is ordered after the work of the
 * owner of another library's array. The two functions above wait for that work. */
int convert_range_on(ModuleState *state, PyObject *value, const char *what, size_t size, CUstream consumer,
                     CUdeviceptr *out);

#endif
