/* cuInit, the settings of the environment, and what a fork makes of the driver. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/device_limits.h"
#include "api/driver.h"
#include "api/log.h"

typedef struct Driver {
    _Atomic int initialised, forked;
    MemoryMap *memory;
    Device devices[DRIVER_MAX_DEVICES];
    Chunks chunks;
} Driver;

static Driver driver = {.chunks = CHUNKS_INITIALIZER};
static DriverSettings settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t driver_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool inside_callback;

static int number_of(const char *name, int fallback, int low, int high)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (!text || !*text) return fallback;
    long value = strtol(text, &end, 10);
    if (!*end && value >= low && value <= high) return (int)value;
    log_warning("%s=%s is not a number from %d to %d: %d is used", name, text, low, high, fallback);
    return fallback;
}

uint64_t driver_parse_size(const char *text, uint64_t fallback)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    if (!text || !*text || *text == '-') return fallback;
    double value = strtod(text, &end);
    int shift = 0;
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    if (unit && *unit) {
        shift = 10 * (int)(unit - units + 1);
        end++;
        if (end[0] == 'i' && end[1] == 'B') end++;
        if (*end == 'B' || *end == 'b') end++;
    }
    double bytes = value * (double)(UINT64_C(1) << shift);
    return *end || !(bytes >= 1) || bytes > 0x1p40 ? fallback : (uint64_t)bytes;
}

static uint64_t default_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t half = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : UINT64_C(1) << 30;
    uint64_t most = UINT64_C(8) << 30;
    return (half < most ? half : most) & ~UINT64_C(0xfffff);
}

/* "7.5" or "75" as 75. */
static int capability_of(const char *text)
{
    if (!text || !*text) return 75;
    char *end = NULL;
    long major = strtol(text, &end, 10), minor = 0;
    if (*end == '.')
        minor = strtol(end + 1, &end, 10);
    else
        minor = major % 10, major /= 10;
    if (!*end && major >= 5 && major <= 12 && minor >= 0 && minor <= 9) return (int)(10 * major + minor);
    log_warning("PYCUDA_CPU_COMPUTE_CAPABILITY=%s is none (7.5 is one): 7.5 is used", text);
    return 75;
}

/* A list of checks; false where a word is none. */
static bool checks_of(const char *text, unsigned *checks)
{
    static const struct {
        const char *word;
        unsigned bit;
    } rows[] = {{"racecheck", CHECK_RACE},
                {"initcheck", CHECK_INIT},
                {"initcheck-shared", CHECK_INIT_SHARED},
                {"synccheck", CHECK_SYNC}};
    enum { ROWS = sizeof rows / sizeof *rows };
    bool known = true;
    for (const char *at = text; at && *(at += strspn(at, ", ")); at += strcspn(at, ", ")) {
        size_t length = strcspn(at, ", ");
        int k = 0;
        while (k < ROWS && (strlen(rows[k].word) != length || strncmp(rows[k].word, at, length) != 0)) k++;
        if (k < ROWS)
            *checks |= rows[k].bit;
        else
            known = false;
    }
    return known;
}

/* Not the number of threads: what fits on a device is the same wherever a program runs. 0: no such number. */
static int multiprocessors_of(const char *text)
{
    char *end = NULL;
    if (!text || !*text) return DEVICE_MULTIPROCESSORS;
    long value = strtol(text, &end, 10);
    return !*end && value >= 1 && value <= DEVICE_MOST_MULTIPROCESSORS ? (int)value : 0;
}

static int processors(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static void read_settings(void)
{
    settings.version = number_of("PYCUDA_CPU_DRIVER_VERSION", 13000, 10000, 99999);
    settings.devices = number_of("PYCUDA_CPU_DEVICES", 1, 0, DRIVER_MAX_DEVICES);
    settings.threads = number_of("PYCUDA_CPU_THREADS", 0, 0, 1024);
    if (!settings.threads) settings.threads = processors(); /* reads a file: not for every launch */
    settings.capability = capability_of(getenv("PYCUDA_CPU_COMPUTE_CAPABILITY"));
    settings.memory = driver_parse_size(getenv("PYCUDA_CPU_MEMORY"), default_memory());
    settings.checks_known = checks_of(getenv("PYCUDA_CPU_CHECK"), &settings.checks);
    settings.multiprocessors = multiprocessors_of(getenv("PYCUDA_CPU_MULTIPROCESSORS"));
    settings.log_known = log_word_known(getenv("PYCUDA_CPU_LOG"));
}

const DriverSettings *driver_settings(void)
{
    pthread_once(&settings_once, read_settings);
    return &settings;
}

int driver_threads(void) { return driver_settings()->threads; }

int driver_multiprocessors(void) { return driver_settings()->multiprocessors; }

/* The workers do not exist in the child: nothing may be called there. */
static void mark_forked(void)
{
    if (atomic_load(&driver.initialised)) atomic_store(&driver.forked, 1);
}

static MemoryMap *make_memory(unsigned checks)
{
    MemoryMap *map = memory_map_create();
    if (!map || !(checks & CHECK_INIT) || memory_map_watch(map)) return map;
    memory_map_destroy(map);
    return NULL;
}

static CUresult refuse_setting(const char *variable, const char *may_be)
{
    log_error("%s is \"%s\": it may be %s", variable, getenv(variable), may_be);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult check_settings(const DriverSettings *wanted)
{
    if (!wanted->multiprocessors)
        return refuse_setting("PYCUDA_CPU_MULTIPROCESSORS", "a number from 1 to 1024");
    if (!wanted->log_known) return refuse_setting("PYCUDA_CPU_LOG", "stderr");
    if (wanted->checks_known) return CUDA_SUCCESS;
    log_error("PYCUDA_CPU_CHECK=%s: it is a list of racecheck, initcheck, initcheck-shared and synccheck",
              getenv("PYCUDA_CPU_CHECK"));
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult initialise_locked(void)
{
    if (atomic_load(&driver.initialised)) return CUDA_SUCCESS;
    const DriverSettings *wanted = driver_settings();
    TRY(check_settings(wanted));
    if (!wanted->devices) return CUDA_ERROR_NO_DEVICE;
    driver.memory = make_memory(wanted->checks);
    if (!driver.memory) return CUDA_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < wanted->devices; i++) {
        driver.devices[i].ordinal = i;
        driver.devices[i].memory_size = wanted->memory;
    }
    pthread_atfork(NULL, NULL, mark_forked);
    atomic_store(&driver.initialised, 1);
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&driver.forked)) return CUDA_ERROR_NOT_INITIALIZED;
    driver_lock();
    CUresult result = initialise_locked();
    driver_unlock();
    return result;
}

CUresult cuDriverGetVersion(int *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = driver_settings()->version;
    return CUDA_SUCCESS;
}

CUresult driver_check(void)
{
    if (!atomic_load_explicit(&driver.initialised, memory_order_acquire)) return CUDA_ERROR_NOT_INITIALIZED;
    if (atomic_load_explicit(&driver.forked, memory_order_relaxed)) return CUDA_ERROR_NOT_INITIALIZED;
    return inside_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

bool driver_enter_callback(bool inside)
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

/* The profiler's switches have nothing to switch. */
CUresult cuProfilerInitialize(const char *config, const char *output, CUoutput_mode mode)
{
    (void)config, (void)output, (void)mode;
    return CUDA_SUCCESS;
}

CUresult cuProfilerStart(void) { return driver_check(); }

CUresult cuProfilerStop(void) { return driver_check(); }
