/* Virtual memory: reserved addresses, what is mapped there, which devices have access.
 *
 * A reservation is address space of the process without pages. Physical memory (physical.h) is mapped to
 * parts of it, the same memory at any number of addresses. Each device has access to whole mappings or not.
 * In the memory map a reservation is a sequence of parts. Adjacent mappings with the same access are one
 * part, so that a copy or an array may extend over several mappings.
 */
#ifndef DEVICE_API_MEMORY_VIRTUAL_H
#define DEVICE_API_MEMORY_VIRTUAL_H

#include "api/memory/physical.h"

/* What is known of a reserved address. */
typedef struct VirtualFacts {
    uint64_t base, size;               /* of the reservation */
    uint64_t mapping_base, mapping_size; /* size 0: nothing is mapped there */
    int device;                        /* ordinal of the one that has the memory */
    CUmemAllocationHandleType handle_types;
    uint64_t id;                       /* of the memory */
    uint64_t readers, writers;         /* bit d: device d may read, write */
} VirtualFacts;

/* False when the address is not reserved. */
bool virtual_find(uint64_t address, VirtualFacts *out);

#endif
