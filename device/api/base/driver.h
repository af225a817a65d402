/* The driver as a whole: initialization, fork, the virtual devices. */
#ifndef DEVICE_API_BASE_DRIVER_H
#define DEVICE_API_BASE_DRIVER_H

#include <stdatomic.h>

#include "api/base/api.h"
#include "api/base/objects.h"
#include "api/base/settings.h"
#include "exec/memory/memory_map.h"
#include "exec/state/launch.h"
#include "ptx/chunks.h"

/* The kind of memory that a pool has. */
typedef enum { POOL_DEVICE, POOL_MANAGED, POOL_HOST, POOL_KINDS } PoolKind;

typedef struct DevicePools {
    struct CUmemPoolHandle_st *standard, *current; /* made when first requested */
} DevicePools;

/* A virtual device. They share the host's memory map; each has its own workers, size and primary context. */
typedef struct Device {
    int ordinal;
    uint64_t memory_size;
    _Atomic uint64_t memory_used;
    WorkerPool *workers;        /* made at the first launch */
    Context *primary;           /* made at the first retain */
    unsigned primary_flags;
    DevicePools pools[POOL_KINDS];
    struct CUmemPoolHandle_st *graph_pool; /* the memory of graphs; made at the first */
} Device;

/* CUDA_ERROR_NOT_INITIALIZED before cuInit and in a forked child, CUDA_ERROR_NOT_PERMITTED inside a stream
 * callback. */
CUresult driver_check(void);
/* The device of that ordinal, or NULL. */
Device *driver_device(CUdevice ordinal);
MemoryMap *driver_memory(void);
/* Memory of module loads. */
Chunks *driver_chunks(void);
/* The lock for making things lazily (worker pools, primary contexts, default pools). */
void driver_lock(void);
void driver_unlock(void);
/* NULL if out of memory. */
WorkerPool *driver_workers(Device *device);

/* Why cuInit failed, in words, or "". */
const char *driver_init_message(void);
/* The program reads that text itself: from now on it is not written to stderr. */
void driver_texts_are_read(void);

/* Sets whether the calling thread runs a stream callback. Returns whether it did before. */
bool driver_enter_callback(bool inside);

/* How many threads a device uses. */
int driver_threads(void);
/* How many multiprocessors a device shows: programs choose grids by them, cooperative grids are bounded by
 * them. */
int driver_multiprocessors(void);

#define TRY(call) \
    do { \
        CUresult try_result = (call); \
        if (try_result) return try_result; \
    } while (0)

#endif
