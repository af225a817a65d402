/* Host memory that the driver knows (page-locked, registered) or that is merely aligned. */
#ifndef EXT_MEMORY_HOST_MEMORY_H
#define EXT_MEMORY_HOST_MEMORY_H

#include "ext/context/owner.h"

typedef enum HostKind { HOST_PAGELOCKED, HOST_ALIGNED, HOST_REGISTERED } HostKind;

typedef struct HostMemoryObject {
    OWNER_HEAD
    HostKind kind;
    void *memory;
    size_t size;
    PyObject *base;             /* owned: the object whose memory is registered; NULL for other kinds */
} HostMemoryObject;

static inline HostMemoryObject *host_memory_cast(PyObject *object) { return (HostMemoryObject *)object; }

/* Each returns a new reference, or NULL with an exception. Sizes of 0 give one byte. */
PyObject *host_memory_pagelocked(ModuleState *state, size_t size, unsigned flags);
PyObject *host_memory_aligned(ModuleState *state, size_t size, size_t alignment);
PyObject *host_memory_register(ModuleState *state, PyObject *base, void *memory, size_t size, unsigned flags);

#endif
