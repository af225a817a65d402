/* Runs a grid: the blocks of a launch over the calling thread and a pool of worker threads, in ascending
 * order. */
#ifndef DEVICE_EXEC_STATE_LAUNCH_H
#define DEVICE_EXEC_STATE_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/code/code.h"
#include "exec/state/fault.h"

enum { MAX_CLUSTER = 16 }; /* blocks of a cluster */

typedef struct WorkerPool WorkerPool;
typedef struct DeviceHeap DeviceHeap;
struct MemoryMap;
struct MemoryRange;
struct Texture;

/* What kernels ask about: of the device, of a limit by its number, of a kernel. */
typedef enum RuntimeSubject {
    ASK_DEVICE,
    ASK_DEVICE_COUNT,
    ASK_VERSION,
    ASK_CACHE_CONFIG,
    ASK_SHARED_CONFIG,
    ASK_ATTRIBUTE,              /* of the device with that number */
    ASK_LIMIT,
    ASK_FUNCTION,               /* an attribute by its number */
    ASK_OCCUPANCY               /* with blocks of `number` threads and that much dynamic shared memory */
} RuntimeSubject;

typedef struct RuntimeQuestion {
    RuntimeSubject subject;
    int number, device;
    uint64_t function, shared;
} RuntimeQuestion;

/* What kernels need to launch kernels: one for a launch of the host and all that comes from it. */
typedef struct DeviceRuntime {
    void *closure;
    /* Whether that is a kernel that may be launched so: 0, or the error as CUDA's runtime numbers it. Called
     * from any worker; function may be any address. */
    int (*accept)(void *closure, const CodeFunction *function, const uint32_t grid[3],
                  const uint32_t block[3], uint32_t shared);
    DeviceHeap *(*buffers)(void *closure); /* where kernels put parameters; NULL if out of memory */
    uint64_t (*next_grid_id)(void *closure);
    int (*answer)(void *closure, const RuntimeQuestion *question, uint64_t *answer); /* 0 or the error */
    bool (*set_condition)(uint64_t handle, uint32_t value); /* of a graph; false when there is none */
    uint32_t max_pending; /* launches at a time that are not done with all that they launch */
    _Atomic uint32_t pending;
    _Atomic uint64_t handles; /* streams and events made so far */
} DeviceRuntime;

/* Kernels may ask for the addresses of their parameters: none is aligned more than a tensor map. */
enum { PARAMS_ALIGN = 64 };
/* Bytes to allocate for that many: whole lines, and 16 more, which a wide load of the last may read. */
static inline size_t params_room(size_t bytes)
{
    return (bytes + 16 + PARAMS_ALIGN - 1) & ~(size_t)(PARAMS_ALIGN - 1);
}

struct GridLaunch {
    const CodeFunction *function; /* an entry, bound by exec_bind */
    uint32_t grid[3], block[3]; /* each at least 1; the caller has checked the limits */
    uint32_t dynamic_shared; /* bytes */
    const void *params; /* param_size bytes at a multiple of PARAMS_ALIGN, alive until grid_run returns */
    uint32_t cluster[3]; /* blocks of a cluster along each axis, which divide the grid; 0 counts as 1 */
    bool explicit_cluster; /* the launch or the kernel names a cluster */
    bool cooperative; /* every block is resident: grid-wide waiting is allowed */
    uint64_t grid_id;
    uint32_t stack_limit; /* bytes of local memory a thread may use; 0 for the default */
    uint32_t multiprocessors; /* on which it runs, for %smid; 0 counts as 1 */
    uint32_t device_multiprocessors; /* %nsmid; 0 counts as 1 */
    struct MemoryMap *memory; /* what addresses are valid */
    /* NULL when the launch may touch that range of the map, else why not, in words. NULL: it may touch
     * all. */
    const char *(*refusal)(const void *closure, const struct MemoryRange *range, bool write);
    const void *refusal_closure;
    DeviceRuntime *runtime; /* NULL where code that launches kernels is never run */
    DeviceHeap *heap; /* malloc of device code; NULL: malloc returns 0 */
    /* The live texture or surface object of a handle, copied; false when there is none. NULL: there are
     * none. */
    bool (*find_texture)(uint64_t handle, bool surface, struct Texture *out);
    /* One for each reference of the module (CodeModule.references), alive until the launch and all that it
     * launches are done. */
    const struct TextureBinding *bindings;
    void (*print)(void *closure, const char *bytes, size_t count); /* printf's output; called from any worker,
                                      never by two at once */
    void *print_closure;
    const _Atomic uint32_t *stop; /* words of GridStop from outside, heeded between turns; NULL: none come */
    /* How many blocks of the launch the device holds at a time; asked when they seem to wait for each other.
     * NULL: all. */
    uint64_t (*resident)(const GridLaunch *launch);
};

static inline uint32_t launch_cluster_size(const GridLaunch *launch, unsigned axis)
{
    return launch->cluster[axis] ? launch->cluster[axis] : 1;
}

/* Sets the cluster of a launch: that which its kernel requires, else the one given (0: none). */
void grid_set_cluster(GridLaunch *launch, const uint32_t given[3]);

typedef enum GridStop {
    GRID_CANCEL = 1, /* the grid ends with a fault that says so */
    GRID_LEAVE = 2 /* the thread that runs it is wanted elsewhere */
} GridStop;

/* Runs the grid to its end. Returns 0, or the fault's code with *fault filled. Several threads may run
 * grids on one pool at a time. */
int grid_run(WorkerPool *pool, const GridLaunch *launch, ExecFault *fault);

/* As grid_run(), in pieces, each by any thread. What they are given must live until the end. grid_start
 * gives NULL after a fault. grid_resume returns true at the end, when the run is gone and *fault filled;
 * false when the thread was asked to leave, which only one that may leave heeds. */
typedef struct GridRun GridRun;
GridRun *grid_start(WorkerPool *pool, const GridLaunch *launch, ExecFault *fault);
bool grid_resume(GridRun *run, bool may_leave);

/* threads: workers in all, the thread that calls grid_run counted; 0: one for each CPU. NULL without
 * memory. */
WorkerPool *worker_pool_create(int threads);
void worker_pool_destroy(WorkerPool *pool);
/* Reads what PYCUDA_CPU_SCHEDULE may be: random:SEED. The seed becomes no 0. */
bool worker_schedule_seed(const char *text, uint64_t *seed);
int worker_pool_threads(const WorkerPool *pool);

/* The heap of device-side malloc over [base, base + size), memory the caller owns and has registered. */
DeviceHeap *device_heap_create(uint64_t base, uint64_t size);
void device_heap_destroy(DeviceHeap *heap);

#endif
