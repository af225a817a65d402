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

/* Whether the kernel can be launched so; the log says what is wrong. */
CUresult launch_check_shape(const Function *function, const LaunchConfig *shape);

/* Launches it in the stream, or captures that. */
CUresult launch_function(Function *function, CUstream stream, const LaunchConfig *shape, void **pointers,
                         void **extra);

/* --- api/launch/cluster.c --- */
/* Whether the kernel can be launched so as far as clusters go. */
CUresult launch_check_cluster(const Function *function, const LaunchConfig *shape);
/* The cluster of a launch: what the launch names, else what was set of the function. */
void launch_find_cluster(const Function *function, const LaunchConfig *shape, uint32_t cluster[3]);

/* Says in the log what is wrong with a launch. */
CUresult launch_refuse(const CodeFunction *code, CUresult error, const char *what, unsigned long long asked,
                       unsigned long long limit);

/* Whether all blocks of a cooperative launch are resident at a time. */
CUresult launch_check_cooperative(const Function *function, const LaunchConfig *shape);
/* Copies the parameters, given one by one or in a buffer, to param_size bytes. */
CUresult launch_copy_params(const CodeFunction *code, void **pointers, void **extra, uint8_t *params);

/* --- api/launch/occupancy.c --- */
/* Blocks of that shape that a multiprocessor holds at a time. */
int occupancy_blocks(const CodeFunction *code, int threads, size_t dynamic_shared);

/* --- api/launch/launch.c --- */
/* All of a launch that is known before it begins; what it is given must live until it ends. */
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

/* Begins or goes on. true when it is done; the context knows of its fault. A thread with a timeout may
 * leave it half way to the stream's worker. What references are bound to is looked up when it begins, if it
 * was not before. */
bool launch_go_on(KernelRun *run, const GridLaunch *prepared, Function *function, Stream *stream);

/* What that launch of the function and those that come from it need of the driver. The function stays alive
 * as long. */
void device_runtime_init(DeviceRuntime *runtime, Function *function);
/* What a kernel sets of a conditional node (graph/condition.c); false when there is no such handle. */
bool condition_set(CUgraphConditionalHandle handle, unsigned value);
/* The heap of device-side malloc; NULL if out of memory. */
DeviceHeap *context_heap(Context *context);

#endif
