/* Virtual memory: reserved addresses, what is mapped there, which devices have access.
 *
 * A reservation is address space of the process without pages. Mapping puts the pages of physical memory
 * (physical.h) there, at any number of places; access is given to whole mappings, device by device.
 * The memory map knows a reservation as parts that follow each other: a part that some device may access is
 * one range, however many mappings it has, so that a copy or an array may lie across them.
 */
#ifndef DEVICE_API_MEMORY_VIRTUAL_H
#define DEVICE_API_MEMORY_VIRTUAL_H

#include "api/memory/physical.h"

/* What is known of a reserved address. */
typedef struct VirtualFacts {
    uint64_t base, size;               /* of the reservation */
    uint64_t mapping_base, mapping_size; /* size 0: nothing is mapped there */
    int device;                        /* that has the memory */
    CUmemAllocationHandleType handle_types;
    uint64_t id;                       /* of the memory */
    uint64_t readers, writers;         /* bit d: device d may */
} VirtualFacts;

/* False when the address is not reserved. */
bool virtual_find(uint64_t address, VirtualFacts *out);

#endif
