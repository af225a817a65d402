/* Reports to a memory checker which bytes of a pool's blocks are in use.
 *
 * compute-sanitizer sees the allocations of the driver. A pool's block is such an allocation, but larger
 * than the request, and reused: accesses past the request, or after the block was freed, would look valid.
 * With NVTX's memory extension (abi/nvtx_memory.h) each block is registered as a heap, of which only
 * registered regions may be accessed: the bytes in use are a region. A heap ends when the driver frees the
 * allocation.
 *
 * Only a tool that is already in the process is used: memory checkers are loaded before the program. The
 * functions are IN_CALL because a tool may hold its locks while it waits for the GPU.
 */
#ifndef CORE_MEMORY_MARKS_H
#define CORE_MEMORY_MARKS_H

#include "core/driver_table.h"

/* Whether a tool wants these reports; determined once, after a context was created. */
bool memory_marks_wanted(void);

/* Registers this memory as a heap with nothing in use; returns its handle. This function and those below may
 * be called only after memory_marks_wanted() was true. */
IN_CALL void *memory_marks_block(CUdeviceptr pointer, size_t bytes);

/* Marks the first `size` bytes of the heap as in use, until memory_marks_end(). size: at most the heap's. */
IN_CALL void memory_marks_use(void *heap, CUdeviceptr pointer, size_t size);
IN_CALL void memory_marks_end(CUdeviceptr pointer);

#endif
