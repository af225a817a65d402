/* Tells a memory checker which bytes of a pool's blocks are in use.
 *
 * compute-sanitizer sees the allocations of the driver. A block of a pool is one of them, but larger than
 * what was requested and handed out again and again: accesses to the rest of it, or after it was given back,
 * would look right. By NVTX's extension for memory (abi/nvtx_memory.h) each block becomes a heap, of which
 * only regions may be accessed: the bytes in use are one. A heap ends when the driver frees it.
 *
 * Only a tool that is in the process already is asked: those that watch memory are loaded before the
 * program. The functions are IN_CALL because a tool may hold its locks while it waits for the GPU.
 */
#ifndef CORE_MEMORY_MARKS_H
#define CORE_MEMORY_MARKS_H

#include "core/driver_table.h"

/* Whether a tool wants to be told; found out once, for which a context must have been made. */
bool memory_marks_wanted(void);

/* This memory is a heap with nothing in use. What identifies it. */
IN_CALL void *memory_marks_block(CUdeviceptr pointer, size_t room);

/* The first `size` bytes, at most the heap's, are in use, until the end of that. */
IN_CALL void memory_marks_use(void *heap, CUdeviceptr pointer, size_t size);
IN_CALL void memory_marks_end(CUdeviceptr pointer);

#endif
