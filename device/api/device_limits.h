/* The size of a multiprocessor, as compute capability 7.5 has it: what launches are checked against and
 * occupancy is computed from. */
#ifndef DEVICE_API_DEVICE_LIMITS_H
#define DEVICE_API_DEVICE_LIMITS_H

enum {
    DEVICE_MAX_THREADS = 1024,           /* of a block */
    DEVICE_MAX_BLOCK_Z = 64,
    DEVICE_CLUSTER_CAPABILITY = 90,      /* from which on there are clusters */
    DEVICE_CLUSTER_PORTABLE = 8,         /* blocks of a cluster, without asking for more */
    DEVICE_MAX_GRID_YZ = 65535,
    DEVICE_SHARED_PER_BLOCK = 48 * 1024, /* without asking */
    DEVICE_SHARED_OPTIN = 64 * 1024,     /* with cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES) */
    DEVICE_SHARED_PER_SM = 64 * 1024,
    DEVICE_SHARED_UNIT = 256,
    DEVICE_THREADS_PER_SM = 1024,
    DEVICE_BLOCKS_PER_SM = 16,
    DEVICE_REGISTERS_PER_SM = 65536,
    DEVICE_REGISTER_UNIT = 256           /* a warp gets a multiple of it */
};

#endif
