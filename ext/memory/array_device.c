/* See array_device.h. */
#include "ext/memory/array_device.h"

#include "ext/base/driver_calls.h"
#include "ext/base/errors.h"
#include "ext/base/peer_access.h"

MemoryKind memory_kind_at(ModuleState *state, CUdeviceptr address, CUdevice *device)
{
    unsigned type = CU_MEMORYTYPE_DEVICE, managed = 0;
    CUdevice number = -1;
    CUresult result = once_cuPointerGetAttribute(state, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (result != CUDA_SUCCESS) return MEMORY_UNKNOWN;
    result = once_cuPointerGetAttribute(state, &managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    bool is_managed = result == CUDA_SUCCESS && managed;
    if (!is_managed && type == CU_MEMORYTYPE_HOST) return MEMORY_OF_HOST;
    result = once_cuPointerGetAttribute(state, &number, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    bool has_number = result == CUDA_SUCCESS && number >= 0;
    if (has_number) *device = number;
    if (is_managed) return MEMORY_MANAGED;
    return has_number ? MEMORY_OF_DEVICE : MEMORY_UNKNOWN;
}

CUdevice array_device_number(GPUArrayObject *array, CUdevice otherwise)
{
    const DeviceAllocationObject *allocation = array->allocation;
    if (allocation)
        return allocation->managed || !allocation->context ? otherwise : allocation->context->device;
    if (array->place == PLACE_UNKNOWN && array->size) {
        CUdevice number = 0;
        bool found = memory_kind_at(array->state, array->pointer, &number) == MEMORY_OF_DEVICE;
        array->place = found ? PLACE_ON + number : PLACE_ANYWHERE;
    }
    return array->place >= PLACE_ON ? array->place - PLACE_ON : otherwise;
}

ContextObject *array_device_hold_context(GPUArrayObject *array)
{
    ModuleState *state = array->state;
    if (array->allocation && array->allocation->context) return context_hold(array->allocation->context);
    CUdevice device = array_device_number(array, -1);
    return device < 0 ? context_hold_current(state) : context_hold_primary(state, device);
}

static bool is_open(const GPUArrayObject *array, CUdevice device)
{
    const ContextObject *peer = array->allocation ? array->allocation->context : NULL;
    return peer_access_is_open(array->state, peer ? peer->handle : NULL, device, array->pointer);
}

int array_device_check(GPUArrayObject *array, const ContextObject *context)
{
    if (!array->size) return 0;
    if (gpuarray_check_memory(array) < 0) return -1;
    CUdevice device = array_device_number(array, context->device);
    if (device == context->device || is_open(array, device)) return 0;
    PyErr_Format(PyExc_ValueError,
                 "an array is on device %d, but the current context is on device %d: copy the array with "
                 "to_device(%d), or make a context of device %d current (with context:)",
                 (int)device, (int)context->device, (int)context->device, (int)device);
    return -1;
}
