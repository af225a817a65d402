/* Physical memory of a device: it has no address until it is mapped to one (address_range.c).
 *
 * It belongs to no context, so none is held: what maps it, and the driver, keep it alive. The handle is
 * released from any thread at any time, also when contexts are gone.
 */
#ifndef EXT_MEMORY_PHYSICAL_MEMORY_H
#define EXT_MEMORY_PHYSICAL_MEMORY_H

#include "ext/base/ext.h"
#include "ext/base/usage.h"

typedef struct PhysicalMemoryObject {
    PyObject_HEAD
    ModuleState *state;
    CUmemGenericAllocationHandle handle;
    size_t size;
    CUdevice device;
    CUmemAllocationHandleType handle_type;
    Usage usage;
    PyObject *weak_references;
} PhysicalMemoryObject;

static inline PhysicalMemoryObject *physical_memory_cast(PyObject *object)
{
    return (PhysicalMemoryObject *)object;
}

/* Called before and after driver calls with the handle of physical memory. physical_memory_enter() returns
 * NULL with TypeError for other objects, with LogicError for memory that was freed. */
PhysicalMemoryObject *physical_memory_enter(ModuleState *state, PyObject *value);
void physical_memory_leave(PhysicalMemoryObject *memory);

/* *out: the handle of a Device; for NULL and None, that of the current context's device. -1 with an
 * exception. */
int physical_memory_device(ModuleState *state, PyObject *value, CUdevice *out);

/* Whether releases that need no context can still be made: not in a forked child, nor when the interpreter
 * ends or the program has given up unfinished work. */
bool physical_memory_releases(ModuleState *state);

#endif
