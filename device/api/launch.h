/* Launches: by the host (launch.c) and by kernels (device_runtime.c). */
#ifndef DEVICE_API_LAUNCH_H
#define DEVICE_API_LAUNCH_H

#include "api/module.h"
#include "api/queue.h"
#include "exec/grid.h"

typedef struct LaunchShape {
    uint32_t grid[3], block[3];
    unsigned dynamic_shared;
    bool cooperative;
    unsigned multiprocessors; /* that it runs on: those of a green context; 0: all */
} LaunchShape;

/* Whether the kernel can be launched so; the log says what is wrong. */
CUresult launch_check_shape(const Function *function, const LaunchShape *shape);

/* Whether all blocks of a cooperative launch are resident at a time. */
CUresult launch_check_cooperative(const Function *function, const LaunchShape *shape);
/* Copies the parameters, given one by one or in a buffer, to param_size bytes. */
CUresult launch_copy_params(const CodeFunction *code, void **pointers, void **extra, uint8_t *params);

/* All of a launch that is known before it begins; what it is given must live until it ends. */
void launch_prepare(GridLaunch *launch, const Function *function, const LaunchShape *shape,
                    const uint8_t *params);

/* A launch in progress. */
typedef struct KernelRun {
    GridRun *grid;              /* NULL: it has not begun */
    GridLaunch launch;
    DeviceRuntime runtime;
    ExecFault fault;
} KernelRun;

/* Begins or goes on. true when it is done; the context knows of its fault. A thread of limited patience may
 * leave it half way to the stream's worker. */
bool launch_go_on(KernelRun *run, const GridLaunch *prepared, Function *function, Stream *stream);

/* What that launch of the function and those that come from it need of the driver. The function stays alive
 * as long. */
void device_runtime_init(DeviceRuntime *runtime, Function *function);
/* The heap of device-side malloc; NULL where there is no room. */
DeviceHeap *context_heap(Context *context);

#endif
