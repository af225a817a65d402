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

/* A resource that may be split: of a device or a context. */
CUdevResource resource_of_range(SmRange range);
SmRange resource_of_device(const Device *device);
/* Whether the descriptor was made. */
bool resource_is_descriptor(CUdevResourceDesc handle);

#endif
