/* Finds the library that is the CUDA driver: NVIDIA's or the CPU device. No other file chooses between
 * them. */
#ifndef CORE_DRIVER_LOCATE_H
#define CORE_DRIVER_LOCATE_H

#include <stdbool.h>
#include "abi/cpu_device.h"

typedef CUresult (*GetProcAddressFn)(const char *, void **, int, cuuint64_t,
                                     CUdriverProcAddressQueryResult *);

typedef struct DriverLibrary {
    void *handle; /* from dlopen, never closed */
    int version; /* cuDriverGetVersion */
    const CpuDeviceTable *cpu_device; /* NULL if it is another driver */
    /* cuGetProcAddress_v2, or an adapter for drivers with its first version only; NULL before CUDA 11.3. */
    GetProcAddressFn get_proc_address;
} DriverLibrary;

/* Opens the driver that the environment selects:
 *   PYCUDA_DRIVER=PATH   that library
 *   PYCUDA_DEVICE=gpu    NVIDIA's driver, which must have a device
 *   PYCUDA_DEVICE=cpu    the CPU device: the one that the process has loaded already, else that of pycuda
 *   otherwise            NVIDIA's driver if it loads and has a device, else the CPU device and a notice
 * On failure returns the error for all later driver calls, and writes the reason to `problem`. */
CUresult driver_locate(DriverLibrary *library, char *problem, size_t problem_size);

/* A notice for the user that the CPU device is used instead of a GPU; NULL if there is none, or if it was
 * returned before. */
const char *driver_take_notice(void);

#endif
