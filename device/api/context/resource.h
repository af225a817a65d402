/* Parts of a device as green contexts have them: that many of its multiprocessors. Which, nothing shows. */
#ifndef DEVICE_API_CONTEXT_RESOURCE_H
#define DEVICE_API_CONTEXT_RESOURCE_H

#include "api/base/driver.h"

typedef struct SmRange {
    int device;
    unsigned count, groups_of_8; /* groups_of_8: of neighbors among them */
} SmRange;

/* What cuDevResourceGenerateDesc makes; never freed, the driver API has no call for that. */
struct CUdevResourceDesc_st {
    struct CUdevResourceDesc_st *next;
    SmRange range;
};

/* The CUdevResource for that part of a device. It may be split. */
CUdevResource resource_of_range(SmRange range);
/* All multiprocessors of the device. */
SmRange resource_of_device(const Device *device);
/* Whether cuDevResourceGenerateDesc made that descriptor. */
bool resource_is_descriptor(CUdevResourceDesc handle);

#endif
