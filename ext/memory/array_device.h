/* On which device an array's memory is, and whether kernels of a context may use it.
 *
 * Memory that this module allocated is on the device of its context. Where other memory is (of another
 * library or process, or given as a number) the driver is asked, once for each array. Managed memory and the
 * host's are on no device in particular. */
#ifndef EXT_MEMORY_ARRAY_DEVICE_H
#define EXT_MEMORY_ARRAY_DEVICE_H

#include "ext/memory/gpuarray_object.h"

/* What the driver knows of an address. */
typedef enum MemoryKind { MEMORY_UNKNOWN, MEMORY_OF_HOST, MEMORY_MANAGED, MEMORY_OF_DEVICE } MemoryKind;

/* The kind of the memory at this address. *device: the one that MEMORY_OF_DEVICE is on, or that
 * MEMORY_MANAGED was allocated for; otherwise unchanged. */
MemoryKind memory_kind_at(ModuleState *state, CUdeviceptr address, CUdevice *device);

/* GPUArrayObject.place of an array without an allocation: PLACE_ON + the number of the device. */
enum { PLACE_UNKNOWN, PLACE_ANYWHERE, PLACE_ON };

/* Whether the array is known to be on the device of this context. False needs array_device_check(). */
static inline bool array_device_is(const GPUArrayObject *array, const ContextObject *context)
{
    return array->allocation ? array->allocation->context == context
                             : array->place == PLACE_ON + context->device;
}

/* -1 with ValueError if kernels of this context, which is the current one, must not use the array: it is on
 * another device, and the user has not enabled peer access. With LogicError if its memory was freed. */
int array_device_check(GPUArrayObject *array, const ContextObject *context);

/* The number of the device that the array is on; `otherwise` if it is on none in particular. */
CUdevice array_device_number(GPUArrayObject *array, CUdevice otherwise);

/* The context that the array was allocated in, or the primary one of its device if that is not known, held
 * (context_hold). NULL with an exception. */
ContextObject *array_device_hold_context(GPUArrayObject *array);

static inline int array_device_require(GPUArrayObject *array, const ContextObject *context)
{
    return array_device_is(array, context) ? 0 : array_device_check(array, context);
}

#endif
