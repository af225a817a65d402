/* Finds the library that is the CUDA driver: the only place that chooses between NVIDIA's and the CPU device.
 */
#ifndef CORE_DRIVER_LOCATE_H
#define CORE_DRIVER_LOCATE_H

#include <stdbool.h>
#include "abi/cpu_device.h"

typedef CUresult (*GetProcAddressFn)(const char *, void **, int, cuuint64_t,
                                     CUdriverProcAddressQueryResult *);

typedef struct DriverLibrary {
    void *handle; /* from dlopen, never closed */
    int version; /* cuDriverGetVersion */
    const CpuDeviceTable *cpu_device; /* NULL when it is another driver */
    GetProcAddressFn
        get_proc_address; /* cuGetProcAddress_v2 or an adapter of its first form; NULL before 11.3 */
} DriverLibrary;

/* Opens the driver that the environment selects:
 *   PYCUDA_DRIVER=PATH   that library
 *   PYCUDA_DEVICE=gpu    NVIDIA's driver, which must have a device
 *   PYCUDA_DEVICE=cpu    the CPU device
 *   otherwise            NVIDIA's driver if it loads and has a device, else the CPU device and a notice
 * On failure returns the CUresult for all later calls and writes the reason. */
CUresult driver_locate(DriverLibrary *library, char *problem, size_t problem_size);

/* A notice for the user (the CPU device is used instead of a GPU), or NULL. Returned once. */
const char *driver_take_notice(void);

#endif
