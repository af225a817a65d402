/* Launches: by the host (launch.c) and by kernels (device_runtime.c). */
#ifndef DEVICE_API_LAUNCH_LAUNCH_H
#define DEVICE_API_LAUNCH_LAUNCH_H

#include "api/code/module.h"
#include "api/stream/queue.h"
#include "exec/state/launch.h"

typedef struct LaunchConfig {
    uint32_t grid[3], block[3];
    unsigned dynamic_shared;
    bool cooperative;
    unsigned multiprocessors; /* that it runs on: those of a green context; 0: all */
    uint32_t cluster[3];        /* blocks of a cluster; 0: the launch names none */
    bool programmatic; /* may begin when the kernel before has called for it: an edge of a capture */
} LaunchConfig;

/* The shape of a configuration, without its attributes. */
static inline LaunchConfig launch_config_shape(const CUlaunchConfig *config)
{
    return (LaunchConfig){.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                          .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                          .dynamic_shared = config->sharedMemBytes};
}

/* An error if the kernel cannot be launched in that shape; the log says what is wrong. */
CUresult launch_check_shape(const Function *function, const LaunchConfig *shape);

/* Launches the kernel in the stream, or captures the launch. Parameters come by `pointers` or by `extra`. */
CUresult launch_function(Function *function, CUstream stream, const LaunchConfig *shape, void **pointers,
                         void **extra);

/* --- api/launch/cluster.c --- */
/* The part of launch_check_shape() that is about clusters. */
CUresult launch_check_cluster(const Function *function, const LaunchConfig *shape);
/* The cluster of a launch: what the launch names, else what was set of the function. */
void launch_find_cluster(const Function *function, const LaunchConfig *shape, uint32_t cluster[3]);

/* Writes to the log that `what` of a launch is beyond its limit. Returns `error`. */
CUresult launch_refuse(const CodeFunction *code, CUresult error, const char *what, unsigned long long asked,
                       unsigned long long limit);

/* An error if the blocks of a cooperative launch cannot all be resident at a time. */
CUresult launch_check_cooperative(const Function *function, const LaunchConfig *shape);
/* Copies the parameters, given one by one or in a buffer, to param_size bytes. */
CUresult launch_copy_params(const CodeFunction *code, void **pointers, void **extra, uint8_t *params);

/* --- api/launch/occupancy.c --- */
/* Blocks of that shape that a multiprocessor holds at a time. */
int occupancy_blocks(const CodeFunction *code, int threads, size_t dynamic_shared);

/* --- api/launch/launch.c --- */
/* Fills in all of a launch that is known before it begins. The function and `params` must live until it
 * ends. */
void launch_prepare(GridLaunch *launch, const Function *function, const LaunchConfig *shape,
                    const uint8_t *params);

/* A launch in progress. */
typedef struct KernelRun {
    GridRun *grid; /* NULL: it has not begun */
    TextureBinding *bindings; /* owned: of the module's references, or NULL */
    GridLaunch launch;
    DeviceRuntime runtime;
    ExecFault fault;
} KernelRun;

/* Begins the launch at the first call, and continues it at later ones. True when it is done: then a fault of
 * it has ended the context. False when the thread, which has a timeout, leaves it half way to the stream's
 * worker. What the module's references are bound to is looked up when it begins, unless run->bindings says
 * it. */
bool launch_go_on(KernelRun *run, const GridLaunch *prepared, Function *function, Stream *stream);

/* Fills in what a launch of the function, and what its kernels launch, need of the driver. The function must
 * live as long as they run. */
void device_runtime_init(DeviceRuntime *runtime, Function *function);
/* Sets the value of a conditional node, for a kernel (graph/condition.c). False when there is no such
 * handle. */
bool condition_set(CUgraphConditionalHandle handle, unsigned value);
/* The context's heap for device-side malloc, made at the first call. NULL if out of memory. */
DeviceHeap *context_heap(Context *context);

#endif
