/* Physical memory: what cuMemCreate makes, to be mapped to reserved addresses (virtual.h).
 *
 * Its pages are a part of a file in memory, so that they can be mapped at several places. What other
 * processes may have is a file of its own, whose descriptor is the shareable handle; after the pages the file
 * says what they are. All other memory is in the file of the memory map: a descriptor each would be too many.
 *
 * The memory lives as long as the program has a handle, or something is mapped to it.
 */
#ifndef DEVICE_API_MEMORY_PHYSICAL_H
#define DEVICE_API_MEMORY_PHYSICAL_H

#include "api/base/driver.h"
#include "exec/memory/shared_file.h"

/* The granularity of sizes and addresses, the minimal and the recommended one, as on a GPU. */
#define PHYSICAL_GRANULARITY (UINT64_C(2) << 20)

typedef struct Physical {
    Object object;              /* in the registry while the program has a handle */
    unsigned handles;           /* how many releases the program owes; under the lock of physical.c */
    Device *device;
    uint64_t size, id;
    CUmemAllocationHandleType handle_types;
    unsigned short usage;       /* CU_MEM_CREATE_USAGE_TILE_POOL: for the tiles of sparse arrays, or 0 */
    bool imported;              /* counted by the process that made it */
    CUdeviceptr hidden;         /* its place in the memory map; 0: it has a file of its own, */
    SharedFile file;            /* this one */
} Physical;

/* Whether the system has memory that can be mapped twice. */
bool physical_is_there(void);
/* The bits of CUmemAllocationHandleType for which handles can be made. */
int physical_handle_types(void);
/* The memory of a handle with a reference, or CUDA_ERROR_INVALID_VALUE. */
CUresult physical_enter(CUmemGenericAllocationHandle handle, Physical **out);
/* One handle more of memory that the caller has a reference to; false if out of memory. */
bool physical_retain(Physical *physical);
/* The memory of a file descriptor, which stays the caller's, with a reference; CUDA_ERROR_INVALID_VALUE when
 * the descriptor is of anything else. */
CUresult physical_import(int descriptor, Physical **out);
/* Maps its pages at an address that the caller has reserved. */
bool physical_map(const Physical *physical, uint64_t address);
/* Copies a part of its pages from or to a buffer. */
void physical_pass(const Physical *physical, uint64_t offset, void *buffer, uint64_t bytes, bool from_buffer);

#endif
