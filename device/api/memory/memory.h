/* Device memory: counted against the size of its device. */
#ifndef DEVICE_API_MEMORY_MEMORY_H
#define DEVICE_API_MEMORY_MEMORY_H

#include "api/context/context.h"

/* New memory of the context; CUDA_ERROR_OUT_OF_MEMORY (with a log entry) when the device is full. */
CUresult memory_allocate(Context *context, const MemoryRequest *request, CUdeviceptr *out);
/* For the driver's own needs: also while captures forbid the program to allocate. The caller keeps the
 * context open, or is a task of it. */
CUresult memory_allocate_inside(Context *context, const MemoryRequest *request, CUdeviceptr *out);
/* Frees what memory_allocate or a pool gave; false when no such live range starts there. */
bool memory_release(CUdeviceptr address);
/* As memory_release(), for memory that an object has in its context. It was freed with the context when that
 * is destroyed, and the address may belong to another allocation by now. */
void memory_release_of(const Object *object, CUdeviceptr address);
/* Waits for the context that owns the range, if it still exists: its kernels may be using the memory.
 * `current`: a context that the caller knows to exist. */
CUresult memory_wait(const MemoryRange *range, Context *current);
/* New memory, counted as that many bytes of the device, without a word in the log; when they count no
 * more. */
CUresult memory_try(Device *device, const MemoryRequest *request, uint64_t charge, CUdeviceptr *out);
/* Counts bytes of that kind without memory of the map; false when the device is full. */
bool memory_charge(Device *device, MemoryKind kind, uint64_t bytes);
void memory_uncharge(Device *device, MemoryKind kind, uint64_t bytes);
/* Tells the log that there is no memory for that many bytes. */
void memory_log_shortage(Device *device, uint64_t size);

/* Work of the context needs reserved addresses that have lost their memory since it was requested: the
 * context fails, with the error that is returned. */
CUresult memory_fail_closed(Context *context, const char *what);

/* NULL when kernels of the context may touch the range, else why not. */
const char *memory_refusal(const void *context, const MemoryRange *range, bool write);

#endif
