/* Launches: by the host (launch.c) and by kernels (device_runtime.c). */
#ifndef DEVICE_API_LAUNCH_LAUNCH_H
#define DEVICE_API_LAUNCH_LAUNCH_H

#include "api/code/module.h"
#include "api/stream/queue.h"
#include "exec/state/launch.h"

/* What a launch says of how the kernel runs: its shape and the attributes that are used. */
typedef struct LaunchConfig {
    uint32_t grid[3], block[3]; /* blocks, threads along x, y, z */
    unsigned dynamic_shared;    /* bytes of a block */
    bool cooperative;
    unsigned multiprocessors; /* how many it runs on: those of a green context; 0: all of the device */
    uint32_t cluster[3];      /* blocks along x, y, z; zeros: the launch names no cluster */
    bool programmatic; /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: the kernel may begin once the
                        * one before has triggered it. Of a captured launch it becomes the edge's type */
} LaunchConfig;

/* Grid, block and dynamic shared memory of a configuration; its attributes are not read. */
static inline LaunchConfig launch_config_shape(const CUlaunchConfig *config)
{
    return (LaunchConfig){.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                          .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                          .dynamic_shared = config->sharedMemBytes};
}

/* An error if the kernel cannot be launched in that shape; the log says what is wrong. */
CUresult launch_check_shape(const Function *function, const LaunchConfig *shape);

/* Launches the kernel in the stream, or captures the launch. `pointers` and `extra` are those of
 * cuLaunchKernel: the parameters are given by one of them. */
CUresult launch_function(Function *function, CUstream stream, const LaunchConfig *shape, void **pointers,
                         void **extra);

/* --- api/launch/cluster.c --- */
/* The part of launch_check_shape() that is about clusters. */
CUresult launch_check_cluster(const Function *function, const LaunchConfig *shape);
/* The cluster of a launch: what the kernel requires, else what the launch names, else what was set of the
 * function. Zeros: there is none. */
void launch_find_cluster(const Function *function, const LaunchConfig *shape, uint32_t cluster[3]);

/* Writes to the log that `what` of a launch is `asked`, and beyond the limit. Returns `error`. */
CUresult launch_refuse(const CodeFunction *code, CUresult error, const char *what, unsigned long long asked,
                       unsigned long long limit);

/* An error if the blocks of a cooperative launch cannot all be resident at a time. */
CUresult launch_check_cooperative(const Function *function, const LaunchConfig *shape);
/* Copies the parameters, given one by one (pointers) or in a buffer (extra), to code->param_size bytes. */
CUresult launch_copy_params(const CodeFunction *code, void **pointers, void **extra, uint8_t *params);

/* --- api/launch/occupancy.c --- */
/* How many blocks with that many threads and bytes of dynamic shared memory a multiprocessor holds at a
 * time. */
int occupancy_blocks(const CodeFunction *code, int threads, size_t dynamic_shared);

/* --- api/launch/launch.c --- */
/* Fills in what is known of a launch before it begins. The caller keeps the function and `params` until it
 * ends. */
void launch_prepare(GridLaunch *launch, const Function *function, const LaunchConfig *shape,
                    const uint8_t *params);

/* A launch in progress. Before the first launch_go_on() `grid` is NULL, and `bindings` may be set. */
typedef struct KernelRun {
    GridRun *grid; /* NULL: it has not begun, or is done */
    TextureBinding
        *bindings; /* owned: what the module's texture and surface references are bound to; or NULL */
    void *graph_launches; /* DeviceRuntime.graph_launches */
    uint64_t current_graph; /* DeviceRuntime.current_graph */
    GridLaunch launch;
    DeviceRuntime runtime;
    ExecFault fault;
} KernelRun;

/* Begins the launch at the first call, and continues it at later ones. True when the launch is done; if the
 * kernel had a fault its context has failed. False when the thread's timeout ended first: the stream's worker
 * then continues the launch. If run->bindings is NULL the bindings are looked up when the launch begins. */
bool launch_go_on(KernelRun *run, const GridLaunch *prepared, Function *function, Stream *stream);

/* Fills in the functions by which the kernel, and the kernels that it launches, call the driver. The caller
 * keeps the function while they run. */
void device_runtime_init(DeviceRuntime *runtime, Function *function);
/* Defined in graph/condition.c: sets the value of a conditional node, as a kernel asks. False if there is no
 * such handle. */
bool condition_set(CUgraphConditionalHandle handle, unsigned value);
/* Defined in graph/device_launch.c: DeviceRuntime.launch_graph. */
int graph_launch_by_kernel(void *launches, uint64_t graph, uint64_t stream);
/* The context's heap for device-side malloc, made at the first call. NULL if out of memory. */
DeviceHeap *context_heap(Context *context);

#endif
