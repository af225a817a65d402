/* Launches: by the host (launch.c) and by kernels (device_runtime.c). */
#ifndef DEVICE_API_LAUNCH_H
#define DEVICE_API_LAUNCH_H

#include "api/module.h"
#include "exec/grid.h"

typedef struct LaunchShape {
    uint32_t grid[3], block[3];
    unsigned dynamic_shared;
    bool cooperative;
} LaunchShape;

/* Whether the kernel can be launched so; the log says what is wrong. */
CUresult launch_check_shape(const Function *function, const LaunchShape *shape);

/* What that launch of the function and those that come from it need of the driver. The function stays alive
 * as long. */
void device_runtime_init(DeviceRuntime *runtime, Function *function);
/* The heap of device-side malloc; NULL where there is no room. */
DeviceHeap *context_heap(Context *context);

#endif
