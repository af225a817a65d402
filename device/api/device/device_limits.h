/* The size of a multiprocessor: what launches are checked against and occupancy is computed from. What all
 * compute capabilities share is a constant here; the rest is a row of device_limits.def. */
#ifndef DEVICE_API_DEVICE_DEVICE_LIMITS_H
#define DEVICE_API_DEVICE_DEVICE_LIMITS_H

#include "lower/lower.h"

enum {
    DEVICE_MAX_THREADS = 1024,           /* of a block */
    DEVICE_MAX_BLOCK_Z = 64,
    DEVICE_MAX_GRID_YZ = 65535,
    DEVICE_CLUSTER_CAPABILITY = 90,      /* the lowest compute capability that has clusters */
    DEVICE_CLUSTER_PORTABLE = 8,         /* blocks of a cluster, unless the function allows more */
    DEVICE_SHARED_PER_BLOCK = MAX_STATIC_SHARED, /* bytes, unless the function allows more (shared_optin) */
    DEVICE_REGISTERS_PER_SM = 65536,
    DEVICE_REGISTER_UNIT = 256           /* a warp gets a multiple of it */
};

typedef struct DeviceLimits {
    int capability;
    int threads, blocks; /* maximum of a multiprocessor */
    int shared;          /* bytes of shared memory of a multiprocessor */
    int shared_optin; /* maximum bytes of a block, with cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES) */
    int shared_unit; /* bytes: shared memory is allocated in multiples of it */
    int shared_reserved; /* bytes that the system reserves in each block */
} DeviceLimits;

/* The limits of the devices' compute capability. */
const DeviceLimits *device_limits(void);

#endif
