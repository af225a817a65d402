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

/* What code of a kernel asks about. `number`, `device`, `function` and `shared` are RuntimeQuestion's. */
typedef enum RuntimeSubject {
    ASK_DEVICE,
    ASK_DEVICE_COUNT,
    ASK_VERSION,
    ASK_CACHE_CONFIG,
    ASK_SHARED_CONFIG,
    ASK_ATTRIBUTE,              /* the attribute `number` (CUdevice_attribute) of `device` */
    ASK_LIMIT,                  /* the limit `number` (CUlimit) */
    ASK_FUNCTION,               /* the attribute `number` (CUfunction_attribute) of `function` */
    ASK_OCCUPANCY               /* blocks of `function` with `number` threads and `shared` dynamic bytes */
} RuntimeSubject;

typedef struct RuntimeQuestion {
    RuntimeSubject subject;
    int number, device;
    uint64_t function, shared;
} RuntimeQuestion;

/* What kernels need to launch kernels: one for a launch of the host and all that comes from it. */
typedef struct DeviceRuntime {
    void *closure;
    /* Whether a kernel may be launched with these dimensions and this much dynamic shared memory: 0, or the
     * error code of CUDA's runtime. Called from any worker; function may be any address. */
    int (*accept)(void *closure, const CodeFunction *function, const uint32_t grid[3],
                  const uint32_t block[3], uint32_t shared);
    DeviceHeap *(*buffers)(void *closure); /* where kernels put parameters; NULL if out of memory */
    uint64_t (*next_grid_id)(void *closure);
    int (*answer)(void *closure, const RuntimeQuestion *question, uint64_t *answer); /* 0, or CUDA runtime's
                                                                                        error code */
    bool (*set_condition)(uint64_t handle, uint32_t value); /* of a graph; false when there is none */
    /* Launches the executable graph with that handle; `stream` says when it runs (cudaStreamGraphTailLaunch,
     * for example). `launches` is graph_launches. 0, or a RUNTIME_ error. */
    int (*launch_graph)(void *launches, uint64_t graph, uint64_t stream);
    void *graph_launches; /* of the graph that the launch is a node of; NULL: of none */
    uint64_t current_graph; /* %current_graph_exec */
    uint32_t max_pending; /* of `pending`: launches that are not done with all that they launch */
    _Atomic uint32_t pending;
    _Atomic uint64_t handles; /* streams and events made so far */
} DeviceRuntime;

/* Kernels may ask for the addresses of their parameters: none is aligned more than a tensor map. */
enum { PARAMS_ALIGN = 64 };
/* The size to allocate for that many bytes of parameters: whole cache lines, with 16 bytes to spare because a
 * vector load of the last parameter may read beyond it. */
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
    /* Returns why the launch may not access that range of the map, in words, or NULL if it may. The pointer
     * itself is NULL if it may access all. */
    const char *(*refusal)(const void *closure, const struct MemoryRange *range, bool write);
    const void *refusal_closure;
    DeviceRuntime *runtime; /* NULL where code that launches kernels is never run */
    DeviceHeap *heap; /* malloc of device code; NULL: malloc returns 0 */
    /* Copies the texture or surface object of a handle to *out; false when there is none. The pointer
     * itself is NULL if no handle is valid. */
    bool (*find_texture)(uint64_t handle, bool surface, struct Texture *out);
    /* One for each reference of the module (CodeModule.references), alive until the launch and all that it
     * launches are done. */
    const struct TextureBinding *bindings;
    void (*print)(void *closure, const char *bytes, size_t count); /* printf's output; called from any worker,
                                      never by two at once */
    void *print_closure;
    /* Where invalid accesses and what the checks find do not end the launch: names a fault, unless one of its
     * kind (code, a CUresult) is named for that place of the kernel, and returns the count of such faults,
     * which lives as long as the process; NULL if out of memory. Called from any worker. The pointer itself
     * is NULL where a fault ends the launch. */
    _Atomic uint64_t *(*name_fault)(uint64_t ticket, const char *kernel, const char *place, int code,
                                    const char *text);
    uint64_t ticket; /* for name_fault */
    const _Atomic uint32_t *stop; /* GridStop bits that others set, heeded between turns; NULL: never set */
    /* The number of the launch's blocks that the device holds at a time; called when they seem to wait
     * for each other. NULL: all. */
    uint64_t (*resident)(const GridLaunch *launch);
};

static inline uint32_t launch_cluster_size(const GridLaunch *launch, unsigned axis)
{
    return launch->cluster[axis] ? launch->cluster[axis] : 1;
}

/* Sets the cluster of a launch to the one that its kernel requires, else to `given` (0: no cluster).
 * Where the kernel says that a launch counts clusters, launch->grid becomes the number of blocks. */
void grid_set_cluster(GridLaunch *launch, const uint32_t given[3]);

typedef enum GridStop {
    GRID_CANCEL = 1, /* the grid ends with a fault that says so */
    GRID_LEAVE = 2 /* the thread that runs it is wanted elsewhere */
} GridStop;

/* Runs the grid to its end. Returns 0, or the fault's code with *fault filled. Several threads may run
 * grids on one pool at a time. */
int grid_run(WorkerPool *pool, const GridLaunch *launch, ExecFault *fault);

/* grid_run() in pieces, each of which any thread may run. pool, launch and fault must live until the end.
 * grid_start() returns NULL after a fault, which is in *fault. grid_resume() returns true at the end:
 * then *run is freed and *fault filled. With may_leave it returns false when GRID_LEAVE was set: call it
 * again. */
typedef struct GridRun GridRun;
GridRun *grid_start(WorkerPool *pool, const GridLaunch *launch, ExecFault *fault);
bool grid_resume(GridRun *run, bool may_leave);

/* threads: the number of workers, with the thread that calls grid_run(); 0: one for each CPU. NULL if out of
 * memory. */
WorkerPool *worker_pool_create(int threads);
void worker_pool_destroy(WorkerPool *pool);
/* Reads a value of PYCUDA_CPU_SCHEDULE, random:SEED. False for other texts. *seed is never 0, which
 * stands for no random scheduler. */
bool worker_schedule_seed(const char *text, uint64_t *seed);
int worker_pool_threads(const WorkerPool *pool);

/* The heap of device-side malloc over [base, base + size), memory the caller owns and has registered. */
DeviceHeap *device_heap_create(uint64_t base, uint64_t size);
void device_heap_destroy(DeviceHeap *heap);

#endif
