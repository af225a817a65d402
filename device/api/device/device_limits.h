/* The size of a multiprocessor: what launches are checked against and occupancy is computed from. What all
 * compute capabilities share is a constant here; the rest is a row of device_limits.def. */
#ifndef DEVICE_API_DEVICE_DEVICE_LIMITS_H
#define DEVICE_API_DEVICE_DEVICE_LIMITS_H

#include "lower/lower.h"

enum {
    DEVICE_MAX_THREADS = 1024,           /* of a block */
    DEVICE_MAX_BLOCK_Z = 64,
    DEVICE_MAX_GRID_YZ = 65535,
    DEVICE_CLUSTER_CAPABILITY = 90,      /* from which on there are clusters */
    DEVICE_CLUSTER_PORTABLE = 8,         /* blocks of a cluster, without asking for more */
    DEVICE_SHARED_PER_BLOCK = MAX_STATIC_SHARED, /* without asking */
    DEVICE_REGISTERS_PER_SM = 65536,
    DEVICE_REGISTER_UNIT = 256           /* a warp gets a multiple of it */
};

typedef struct DeviceLimits {
    int capability;
    int threads, blocks;                 /* of a multiprocessor */
    int shared;                          /* bytes of a multiprocessor */
    int shared_optin; /* of a block, with cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES) */
    int shared_unit, shared_reserved; /* what it is handed out in; what the system takes of each block */
} DeviceLimits;

/* The limits of the devices' compute capability. */
const DeviceLimits *device_limits(void);

#endif
