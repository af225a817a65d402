/* Physical memory: what cuMemCreate makes, to be mapped to reserved addresses (virtual.h).
 *
 * Its pages are in a file in memory, so that they can be mapped at several addresses. Memory that other
 * processes may import has a file of its own, whose descriptor is the shareable handle; a trailer says what
 * the file is. All other memory is in the file of the memory map, because a file for each would need too
 * many descriptors.
 *
 * The memory lives as long as the program has a handle, or it is mapped somewhere.
 */
#ifndef DEVICE_API_MEMORY_PHYSICAL_H
#define DEVICE_API_MEMORY_PHYSICAL_H

#include "api/base/driver.h"
#include "exec/memory/shared_file.h"

/* The granularity of sizes and addresses, the minimal and the recommended one, as on a GPU. */
#define PHYSICAL_GRANULARITY (UINT64_C(2) << 20)

typedef struct Physical {
    Object object;              /* in the registry while the program has a handle */
    unsigned handles; /* handles that the program has not released; under the lock of physical.c */
    Device *device;
    uint64_t size, id;
    CUmemAllocationHandleType handle_types;
    unsigned short usage; /* CU_MEM_CREATE_USAGE_TILE_POOL: for the tiles of sparse arrays, or 0 */
    bool imported; /* made by another process, or counted for another object, by a descriptor */
    CUdeviceptr hidden; /* its address in the memory map; 0: it has a file of its own */
    SharedFile file; /* that file */
} Physical;

/* Whether physical memory is supported: the memory map is in a file. */
bool physical_is_there(void);
/* The bits of CUmemAllocationHandleType for which handles can be made. */
int physical_handle_types(void);
/* The memory of a handle with a reference, or CUDA_ERROR_INVALID_VALUE. */
CUresult physical_enter(CUmemGenericAllocationHandle handle, Physical **out);
/* Counts one more handle of memory that the caller has a reference to; false if out of memory. */
bool physical_retain(Physical *physical);
/* The memory of a file descriptor, with a reference. The descriptor still belongs to the caller.
 * CUDA_ERROR_INVALID_VALUE if it is not one of physical memory. */
CUresult physical_import(int descriptor, Physical **out);
/* Maps its pages at an address that the caller has reserved; false if the system or a closed file prevents
 * it. */
bool physical_map(const Physical *physical, uint64_t address);
/* Copies a part of its pages from a buffer (from_buffer) or to it. */
void physical_pass(const Physical *physical, uint64_t offset, void *buffer, uint64_t bytes, bool from_buffer);

#endif
