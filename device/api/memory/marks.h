/* Which bytes of its blocks a pool of the program has in use (CpuMemoryMarks of abi/cpu_device.h): kernels
 * find only these.
 *
 * Kernels run later than the calls that allocate and free for them. So a block's bytes are shown to kernels
 * as soon as it is used. They are hidden after the end of the use, when all work is done that the context
 * had at that time, because a kernel among it may still use the block. If the block is used again before
 * that, with as many bytes, nothing changes for kernels. */
#ifndef DEVICE_API_MEMORY_MARKS_H
#define DEVICE_API_MEMORY_MARKS_H

#include "abi/cuda_abi.h"

/* The functions of CpuMemoryMarks, which has their comments. */
void *marks_make(CUdeviceptr allocation);
void marks_use(void *mark, size_t size);
void marks_end(void *mark);
void marks_drop(void *mark);

/* Called before the kernel with that ticket runs. Hides blocks whose use ended before the kernel was queued,
 * if all earlier work is done. */
void marks_settle(cuuint64_t ticket);

/* CpuDeviceTable.host_writes: the bytes count as written from now on. An address that is not in the memory
 * map is ignored. */
void marks_host_writes(CUdeviceptr address, size_t size);

#endif
