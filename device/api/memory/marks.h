/* What of its blocks a pool of the program has handed out (CpuMemoryMarks of abi/cpu_device.h).
 *
 * Kernels run in the order of streams, while the program is ahead of them. So what they find of a block grows
 * at once, and becomes less when all work of the context that was queued before the use ended is done: a
 * kernel may use what it was given. Which streams used the block is not asked. A block that is in use again
 * by then, as far as before, was never less. */
#ifndef DEVICE_API_MEMORY_MARKS_H
#define DEVICE_API_MEMORY_MARKS_H

#include "abi/cuda_abi.h"

void *marks_make(CUdeviceptr allocation);
void marks_use(void *mark, size_t size);
void marks_end(void *mark);
void marks_drop(void *mark);

/* Before the kernel with that ticket runs: of the uses that ended before it was queued, hides from kernels
 * those before whose end all work is done. */
void marks_settle(cuuint64_t ticket);

/* The host is about to write there; does nothing where the memory map has no range. */
void marks_host_writes(CUdeviceptr address, size_t size);

#endif
