/* Device memory: counted against the size of its device. */
#ifndef DEVICE_API_MEMORY_MEMORY_H
#define DEVICE_API_MEMORY_MEMORY_H

#include "api/context/context.h"

/* New memory of the context, which is its owner. CUDA_ERROR_OUT_OF_MEMORY (with a log entry) if the device is
 * full; an error if captures forbid the thread to allocate, or the context closes. */
CUresult memory_allocate(Context *context, const MemoryRequest *request, CUdeviceptr *out);
/* As memory_allocate(), for the driver's own needs: captures do not forbid it, and the caller keeps the
 * context open (context_keep_open) or is a task of it. */
CUresult memory_allocate_inside(Context *context, const MemoryRequest *request, CUdeviceptr *out);
/* Frees memory of memory_allocate(), of a pool or of ipc_map(); false if no such live range starts there. */
bool memory_release(CUdeviceptr address);
/* As memory_release(), for memory that an object has in its context. Does nothing if the context was closed
 * since the object was made: the close has freed the memory, and the address may be another allocation's by
 * now. */
void memory_release_of(const Object *object, CUdeviceptr address);
/* Waits for the work of the context that owns the range, which may use the memory, unless that context no
 * longer exists. `current`: the current context, which is compared first as it needs no look-up. */
CUresult memory_wait(const MemoryRange *range, Context *current);
/* New memory for which `charge` bytes are counted as used by the device. After an error nothing is counted,
 * and nothing is written to the log. */
CUresult memory_try(Device *device, const MemoryRequest *request, uint64_t charge, CUdeviceptr *out);
/* Counts bytes as used by the device, without allocating them. Kinds of memory that are not the device's are
 * not counted. False if the device is full. */
bool memory_charge(Device *device, MemoryKind kind, uint64_t bytes);
/* The opposite of memory_charge(). */
void memory_uncharge(Device *device, MemoryKind kind, uint64_t bytes);
/* Writes to the log that there is no memory for that many bytes. */
void memory_log_shortage(Device *device, uint64_t size);

/* Makes the context fail, because reserved addresses had no memory anymore when the work ran that uses them.
 * Returns the error. `what` names the work, for the message. */
CUresult memory_fail_closed(Context *context, const char *what);

/* Whether the memory is the host's: page-locked by this process, or of another one's pool of host memory. */
bool memory_is_of_host(const MemoryRange *range);
/* Whether it is memory of a pool in host memory, to which kernels and fills need access (cuMemPoolSetAccess),
 * and which no call takes that names device memory, as an H200's driver has it. */
bool memory_is_of_host_pool(const MemoryRange *range);
/* GridLaunch.refusal: why kernels of the context may not read or (`write`) write the range; NULL if they
 * may. */
const char *memory_refusal(const void *context, const MemoryRange *range, bool write);

#endif
