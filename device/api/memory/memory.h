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
/* As memory_release(), for memory that an object has in its context. Does nothing if the context was closed:
 * that freed the memory, and the address may belong to another allocation by now. */
void memory_release_of(const Object *object, CUdeviceptr address);
/* Waits for the work of the context that owns the range, which may use the memory; not if that context is
 * gone. `current`: a context that the caller knows to exist. */
CUresult memory_wait(const MemoryRange *range, Context *current);
/* New memory, of which `charge` bytes are counted as used by the device. An error is not written to the log,
 * and nothing is counted then. */
CUresult memory_try(Device *device, const MemoryRequest *request, uint64_t charge, CUdeviceptr *out);
/* Counts bytes as used by the device, without allocating them; kinds of memory that are not the device's
 * count as nothing. False when the device is full. */
bool memory_charge(Device *device, MemoryKind kind, uint64_t bytes);
void memory_uncharge(Device *device, MemoryKind kind, uint64_t bytes);
/* Writes to the log that there is no memory for that many bytes. */
void memory_log_shortage(Device *device, uint64_t size);

/* For work whose reserved addresses have lost their memory since it was requested: the context fails. Returns
 * the error. `what` names the work, for the message. */
CUresult memory_fail_closed(Context *context, const char *what);

/* NULL when kernels of the context may touch the range, else why not. */
const char *memory_refusal(const void *context, const MemoryRange *range, bool write);

#endif
