/* cuInit, why it failed, and what a fork makes of the driver. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#include "abi/loaded_cpu_device.h"
#include "api/base/driver.h"
#include "api/base/log.h"

typedef struct Driver {
    _Atomic int initialized, forked;
    MemoryMap *memory;
    Device devices[DRIVER_MAX_DEVICES];
    Chunks chunks;
} Driver;

static Driver driver = {.chunks = CHUNKS_INITIALIZER};
static pthread_mutex_t driver_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool inside_callback;
static atomic_bool stderr_is_muted; /* by driver_mute_stderr() */
static char init_problem[1024];     /* written under the driver's mutex */

int driver_threads(void) { return driver_settings()->threads; }

int driver_multiprocessors(void) { return driver_settings()->multiprocessors; }

/* Runs in a forked child, where no worker thread exists: from now on driver_check() refuses all calls. */
static void mark_forked(void)
{
    if (atomic_load(&driver.initialized)) atomic_store(&driver.forked, 1);
}

/* Returns `result`, and reports why cuInit fails: in the log, in driver_init_message(), and on stderr unless
 * the program asked to show the message itself or the log is printed there anyway. */
__attribute__((format(printf, 2, 3))) static CUresult refuse_locked(CUresult result, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(init_problem, sizeof init_problem, format, list);
    va_end(list);
    log_error("%s", init_problem);
    if (!atomic_load(&stderr_is_muted) && !driver_settings()->log_printed)
        fprintf(stderr, "CPU device: %s\n", init_problem);
    return result;
}

/* The memory map of all devices; NULL if there is not enough address space. It has twice the addresses of the
 * devices' memory: the second half is for managed and host memory, and for freed ranges in quarantine. */
static MemoryMap *make_memory(const DriverSettings *wanted)
{
    MemoryMap *map = memory_map_create_min(2 * wanted->memory * (uint64_t)wanted->devices);
    if (!map || !(wanted->checks & CHECK_INIT) || memory_map_watch(map)) return map;
    memory_map_destroy(map);
    return NULL;
}

static CUresult refuse_for_memory_locked(const DriverSettings *wanted)
{
    struct rlimit limit;
    char within[128] = "";
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(within, sizeof within,
                 " within this process's limit of %llu MiB: raise that (ulimit -v), or",
                 (unsigned long long)(limit.rlim_cur >> 20));
    return refuse_locked(
        CUDA_ERROR_OUT_OF_MEMORY,
        "no address space for the memory of %d devices of %llu MiB%s set PYCUDA_CPU_MEMORY to less, "
        "for example PYCUDA_CPU_MEMORY=256M",
        wanted->devices, (unsigned long long)(wanted->memory >> 20), *within ? within : ":");
}

/* Writes the path of the CPU device that the process has loaded before this one, and returns it; NULL: none.
 */
static const char *device_before(char path[PATH_MAX])
{
    static const char here; /* its address is in this library */
    Dl_info own;
    return first_cpu_device(path) && dladdr(&here, &own) && strcmp(own.dli_fname, path) ? path : NULL;
}

/* `other`: what device_before() returns. */
static CUresult initialize_locked(const char *other)
{
    if (atomic_load(&driver.initialized)) return CUDA_SUCCESS;
    const DriverSettings *wanted = driver_settings();
    init_problem[0] = '\0';
    if (other)
        return refuse_locked(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                             "this process has a CPU device already, %.400s, and there can be no second one: "
                             "start the program by cuda-cpu, or let it open only that one",
                             other);
    if (*wanted->problem) return refuse_locked(CUDA_ERROR_INVALID_VALUE, "%s", wanted->problem);
    if (!wanted->devices) return CUDA_ERROR_NO_DEVICE;
    driver.memory = make_memory(wanted);
    if (!driver.memory) return refuse_for_memory_locked(wanted);
    for (int i = 0; i < wanted->devices; i++) {
        driver.devices[i].ordinal = i;
        driver.devices[i].memory_size = wanted->memory;
    }
    pthread_atfork(NULL, NULL, mark_forked);
    atomic_store(&driver.initialized, 1);
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&driver.forked)) return CUDA_ERROR_NOT_INITIALIZED;
    char path[PATH_MAX];
    const char *other = atomic_load(&driver.initialized) ? NULL : device_before(path);
    driver_lock();
    CUresult result = initialize_locked(other);
    driver_unlock();
    return result;
}

/* Read without the lock: the cuInit that failed has written it before it returned. */
const char *driver_init_message(void) { return init_problem; }

void driver_mute_stderr(void) { atomic_store(&stderr_is_muted, true); }

CUresult cuDriverGetVersion(int *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = driver_settings()->version;
    return CUDA_SUCCESS;
}

CUresult driver_check(void)
{
    if (!atomic_load_explicit(&driver.initialized, memory_order_acquire)) return CUDA_ERROR_NOT_INITIALIZED;
    if (atomic_load_explicit(&driver.forked, memory_order_relaxed)) return CUDA_ERROR_NOT_INITIALIZED;
    return inside_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

bool driver_set_in_callback(bool inside)
{
    bool before = inside_callback;
    inside_callback = inside;
    return before;
}

Device *driver_device(CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < driver_settings()->devices ? &driver.devices[ordinal] : NULL;
}

MemoryMap *driver_memory(void) { return driver.memory; }

Chunks *driver_chunks(void) { return &driver.chunks; }

void driver_lock(void) { pthread_mutex_lock(&driver_mutex); }

void driver_unlock(void) { pthread_mutex_unlock(&driver_mutex); }

WorkerPool *driver_workers(Device *device)
{
    driver_lock();
    if (!device->workers) device->workers = worker_pool_create(driver_threads());
    WorkerPool *workers = device->workers;
    driver_unlock();
    return workers;
}

/* There is no profiler: the arguments are ignored, and there is nothing to start or stop. */
CUresult cuProfilerInitialize(const char *config, const char *output, CUoutput_mode mode)
{
    (void)config, (void)output, (void)mode;
    return CUDA_SUCCESS;
}

CUresult cuProfilerStart(void) { return driver_check(); }

CUresult cuProfilerStop(void) { return driver_check(); }
