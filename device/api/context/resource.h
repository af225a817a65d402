/* Parts of a device, as green contexts have them: a number of its multiprocessors. Which ones they are is not
 * recorded, as no call reports it. */
#ifndef DEVICE_API_CONTEXT_RESOURCE_H
#define DEVICE_API_CONTEXT_RESOURCE_H

#include "api/base/driver.h"

typedef struct SmRange {
    int device; /* ordinal */
    unsigned count; /* of multiprocessors */
    unsigned groups_of_8; /* how many groups of 8 in one processing cluster they can make */
} SmRange;

/* What cuDevResourceGenerateDesc makes; never freed, the driver API has no call for that. */
struct CUdevResourceDesc_st {
    struct CUdevResourceDesc_st *next;
    SmRange range;
};

/* The CUdevResource for that part of a device; a program may split it. */
CUdevResource resource_of_range(SmRange range);
/* All multiprocessors of the device. */
SmRange resource_of_device(const Device *device);
/* Whether cuDevResourceGenerateDesc made that descriptor. */
bool resource_is_descriptor(CUdevResourceDesc handle);

#endif
