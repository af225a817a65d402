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

/* A virtual device. All devices share one memory map; each has its own worker threads, size of memory,
 * primary context and pools. */
typedef struct Device {
    int ordinal;
    uint64_t memory_size;
    _Atomic uint64_t memory_used;
    WorkerPool *workers; /* made at the first launch */
    Context *primary; /* made at the first retain */
    unsigned primary_flags;
    DevicePools pools[POOL_KINDS];
    struct CUmemPoolHandle_st
        *graph_pools[POOL_KINDS]; /* the memory of graphs; each made when first needed */
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
/* The device's worker threads, which the first call starts; NULL if out of memory. */
WorkerPool *driver_workers(Device *device);

/* Why cuInit failed, in words, or "". */
const char *driver_init_message(void);
/* From now on that text is not written to stderr: the program shows it itself. */
void driver_mute_stderr(void);

/* Sets whether the calling thread runs a stream callback, in which it may make no driver call. Returns the
 * value from before, which the caller sets again at the end. */
bool driver_set_in_callback(bool inside);

/* How many threads a device uses. */
int driver_threads(void);
/* How many multiprocessors a device shows: programs choose grids by them, cooperative grids are bounded by
 * them. */
int driver_multiprocessors(void);

/* Returns from the calling function with the result of the call if that is an error. */
#define TRY(call) \
    do { \
        CUresult try_result = (call); \
        if (try_result) return try_result; \
    } while (0)

#endif
