/* See driver_locate.h. */
#define _GNU_SOURCE
#include "core/driver_locate.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/loaded_cpu_device.h"
#include "core/settings.h"

static const char *const nvidia_names[] = {"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"};

/* The CPU device's library, relative to this library's folder: where it is installed, where it is built. */
static const char *const cpu_places[] = {"cpu/lib/libcuda.so.1", "../device/libcuda.so.1"};

static atomic_bool notice_waits; /* `notice` was not returned yet */
static char notice[512];

typedef CUresult (*OldGetProcAddressFn)(const char *, void **, int, cuuint64_t);
static OldGetProcAddressFn old_get_proc_address;

/* cuGetProcAddress_v2 for drivers of CUDA 11.3 to 11.8, whose function returns no status. */
static CUresult adapt_get_proc_address(const char *name, void **function, int version, cuuint64_t flags,
                                       CUdriverProcAddressQueryResult *status)
{
    CUresult result = old_get_proc_address(name, function, version, flags);
    *status = result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return result;
}

/* Fills in the table; false, with the reason, if the library is a CPU device with a shorter one. */
static bool describe_cpu_device(DriverLibrary *library, char *problem, size_t problem_size)
{
    CpuDeviceTableFn get_table = (CpuDeviceTableFn)dlsym(library->handle, "cpuDeviceTable");
    library->cpu_device = get_table ? get_table() : NULL;
    if (!library->cpu_device || library->cpu_device->size >= sizeof *library->cpu_device) return true;
    snprintf(
        problem, problem_size,
        "this CPU device is of an older version than pycuda: install pycuda-cpu and pycuda of one version");
    return false;
}

/* Fills in all but the handle; false, with the reason, if the library is not a CUDA driver for pycuda. */
static bool describe(DriverLibrary *library, char *problem, size_t problem_size)
{
    CUresult (*get_version)(int *) = (CUresult(*)(int *))dlsym(library->handle, "cuDriverGetVersion");
    if (!get_version || get_version(&library->version) != CUDA_SUCCESS) {
        snprintf(problem, problem_size,
                 "cuDriverGetVersion is missing or fails in this library: it is not a CUDA driver");
        return false;
    }
    if (!describe_cpu_device(library, problem, problem_size)) return false;
    library->get_proc_address = (GetProcAddressFn)dlsym(library->handle, "cuGetProcAddress_v2");
    if (!library->get_proc_address) {
        old_get_proc_address = (OldGetProcAddressFn)dlsym(library->handle, "cuGetProcAddress");
        library->get_proc_address = old_get_proc_address ? adapt_get_proc_address : NULL;
    }
    return true;
}

static bool open_library(const char *path, DriverLibrary *library, char *problem, size_t problem_size)
{
    char reason[512];
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library->handle && describe(library, reason, sizeof reason)) return true;
    if (library->handle)
        snprintf(problem, problem_size, "%.200s: %.180s", path, reason);
    else
        snprintf(problem, problem_size, "%s", dlerror()); /* names the path itself */
    return false;
}

/* Tries NVIDIA's names one after another. The reason of a failure is that of the first name. */
static bool open_nvidia(DriverLibrary *library, char *problem, size_t problem_size)
{
    char first[512] = "";
    for (size_t i = 0; i < sizeof nvidia_names / sizeof nvidia_names[0]; i++) {
        if (open_library(nvidia_names[i], library, problem, problem_size)) return true;
        if (i == 0) snprintf(first, sizeof first, "%s", problem);
    }
    snprintf(problem, problem_size, "NVIDIA's driver was not found (%s)", first);
    return false;
}

/* Initializes the driver and asks for its number of devices; false, with the reason, if there are none. */
static bool has_device(const DriverLibrary *library, char *problem, size_t problem_size)
{
    CUresult (*init)(unsigned) = (CUresult(*)(unsigned))dlsym(library->handle, "cuInit");
    CUresult (*get_count)(int *) = (CUresult(*)(int *))dlsym(library->handle, "cuDeviceGetCount");
    int count = 0;
    CUresult result = init && get_count ? init(0) : CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_SUCCESS) result = get_count(&count);
    if (result == CUDA_SUCCESS && count > 0) return true;
    snprintf(problem, problem_size,
             "NVIDIA's driver is installed but reports no device (cuInit returned error %d)", (int)result);
    return false;
}

/* The folder of the file that contains this code, with a trailing slash. */
static bool own_folder(char *folder, size_t size)
{
    Dl_info info;
    char resolved[PATH_MAX];
    if (!dladdr((void *)&own_folder, &info) || !info.dli_fname || !realpath(info.dli_fname, resolved))
        return false;
    char *slash = strrchr(resolved, '/');
    if (!slash || (size_t)(slash - resolved) + 2 > size) return false;
    slash[1] = '\0';
    memcpy(folder, resolved, (size_t)(slash - resolved) + 2);
    return true;
}

/* The CPU device that the process has already, that of pycuda-cpu for one; else that of this package. */
static bool open_cpu(DriverLibrary *library, char *problem, size_t problem_size)
{
    char folder[PATH_MAX], path[PATH_MAX + 64];
    if (first_cpu_device(folder)) return open_library(folder, library, problem, problem_size);
    if (!own_folder(folder, sizeof folder)) {
        snprintf(problem, problem_size, "the folder of the CPU device is unknown");
        return false;
    }
    for (size_t i = 0; i < sizeof cpu_places / sizeof cpu_places[0]; i++) {
        snprintf(path, sizeof path, "%s%s", folder, cpu_places[i]);
        if (open_library(path, library, problem, problem_size)) return true;
    }
    return false;
}

static CUresult locate_default(DriverLibrary *library, char *problem, size_t problem_size)
{
    char reason[400];
    if (open_nvidia(library, reason, sizeof reason) && has_device(library, reason, sizeof reason))
        return CUDA_SUCCESS;
    if (!open_cpu(library, problem, problem_size)) return CUDA_ERROR_NO_DEVICE;
    snprintf(notice, sizeof notice,
             "%s: kernels run on the CPU device. PYCUDA_DEVICE=cpu silences this warning, PYCUDA_DEVICE=gpu "
             "makes it an error.",
             reason);
    atomic_store(&notice_waits, true);
    return CUDA_SUCCESS;
}

CUresult driver_locate(DriverLibrary *library, char *problem, size_t problem_size)
{
    const char *path = getenv("PYCUDA_DRIVER"), *device = getenv("PYCUDA_DEVICE");
    if (path && *path)
        return open_library(path, library, problem, problem_size) ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
    if (!device || !*device) return locate_default(library, problem, problem_size);
    if (strcmp(device, "cpu") == 0)
        return open_cpu(library, problem, problem_size) ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
    if (strcmp(device, "gpu") == 0)
        return open_nvidia(library, problem, problem_size) && has_device(library, problem, problem_size)
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_NO_DEVICE;
    setting_is_valid("PYCUDA_DEVICE", problem, problem_size); /* writes the reason */
    return CUDA_ERROR_INVALID_VALUE;
}

const char *driver_take_notice(void) { return atomic_exchange(&notice_waits, false) ? notice : NULL; }
