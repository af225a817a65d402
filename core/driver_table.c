/* See driver_table.h. */
#include "core/driver_table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/driver_locate.h"
#include "core/fault_injection.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

typedef void (*AnyFn)(void);

typedef struct Row {
    const char *name, *symbol;
    int version;
    size_t field;   /* offset in DriverTable */
} Row;

static const Row rows[] = {
#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    {#name, #symbol, version, offsetof(DriverTable, name)},
#include "abi/cuda_functions.def"
#undef CU_FN
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

enum {
#define CU_FN(name, symbol, version, per_thread, waits, params, args) ROW_##name,
#include "abi/cuda_functions.def"
#undef CU_FN
};

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static CUresult load_result = CUDA_ERROR_NOT_INITIALIZED;
static char load_problem[1024];     /* why loading failed */
static int loaded_version;          /* cuDriverGetVersion */
static const CpuDeviceTable *cpu_device; /* NULL: another driver, or none */
static bool present[ROW_COUNT];     /* the driver has the function */
static _Thread_local char problem[1200]; /* for driver_problem() */
static _Thread_local bool has_problem;

/* Called instead of a function that the loaded driver lacks, or of any function if there is no driver: sets
 * the thread's problem and returns the error. */
static CUresult call_missing(int row)
{
    has_problem = true;
    if (load_result != CUDA_SUCCESS) {
        snprintf(problem, sizeof problem, "%s", load_problem);
        return load_result;
    }
    snprintf(problem, sizeof problem, "this driver (CUDA %d.%d) has no %s, which came with CUDA %d.%d",
             loaded_version / 1000, loaded_version % 1000 / 10, rows[row].name, rows[row].version / 1000,
             rows[row].version % 1000 / 10);
    return CUDA_ERROR_NOT_SUPPORTED;
}

#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    static CUresult missing_##name params { return call_missing(ROW_##name); }
#include "abi/cuda_functions.def"
#undef CU_FN

#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    static CUresult first_##name params \
    { \
        driver_load(); \
        return driver.name args; \
    }
#include "abi/cuda_functions.def"
#undef CU_FN

DriverTable driver = {
#define CU_FN(name, symbol, version, per_thread, waits, params, args) .name = first_##name,
#include "abi/cuda_functions.def"
#undef CU_FN
};

static const DriverTable missing = {
#define CU_FN(name, symbol, version, per_thread, waits, params, args) .name = missing_##name,
#include "abi/cuda_functions.def"
#undef CU_FN
};

static AnyFn *slot(DriverTable *table, int row) { return (AnyFn *)((char *)table + rows[row].field); }

/* The pointer for one row: by cuGetProcAddress with the version of the row, else by its exported symbol. */
static AnyFn find_function(const DriverLibrary *library, int row)
{
    void *found = NULL;
    CUdriverProcAddressQueryResult status;
    if (library->get_proc_address) {
        if (library->get_proc_address(rows[row].name, &found, rows[row].version, 0, &status) == CUDA_SUCCESS
            && found)
            return (AnyFn)found;
    }
    return rows[row].version <= library->version ? (AnyFn)dlsym(library->handle, rows[row].symbol) : NULL;
}

/* Fills in `driver`: functions of the library, stubs for those that it lacks. */
static void load(void)
{
    DriverLibrary library;
    DriverTable table = missing;
    load_result = driver_locate(&library, load_problem, sizeof load_problem);
    if (load_result == CUDA_SUCCESS) {
        loaded_version = library.version;
        cpu_device = library.cpu_device;
        for (int row = 0; row < ROW_COUNT; row++) {
            AnyFn function = injection_hides(rows[row].name) ? NULL : find_function(&library, row);
            present[row] = function != NULL;
            if (function) *slot(&table, row) = function;
        }
        injection_install(&table);
    }
    driver = table;
}

CUresult driver_load(void)
{
    pthread_once(&load_once, load);
    if (load_result != CUDA_SUCCESS) call_missing(0); /* any row: sets the problem of this thread */
    return load_result;
}

bool driver_has(size_t field_offset)
{
    driver_load();
    for (int row = 0; row < ROW_COUNT; row++)
        if (rows[row].field == field_offset) return present[row];
    return false;
}

const char *driver_problem(void)
{
    bool had = has_problem;
    has_problem = false;
    return had ? problem : NULL;
}

IN_CALL const char *driver_init_problem(void)
{
    const char *text = cpu_device ? cpu_device->init_problem() : "";
    return *text ? text : NULL;
}

const char *driver_fault_advice(void) { return cpu_device ? cpu_device->fault_advice : NULL; }

const char *const *driver_settings_read(void)
{
    pthread_once(&load_once, load);
    return cpu_device ? cpu_device->settings : NULL;
}

const CpuLaunchNumbers *driver_launch_numbers(void) { return cpu_device ? cpu_device->launch_numbers : NULL; }

const CpuMemoryMarks *driver_memory_marks(void) { return cpu_device ? cpu_device->memory_marks : NULL; }

bool driver_is_cpu_device(void) { return cpu_device != NULL; }

void driver_note_host_write(CUdeviceptr address, size_t size)
{
    if (cpu_device) cpu_device->host_writes(address, size);
}

bool driver_knows_parameter_types(void) { return cpu_device != NULL; }

IN_CALL CUresult driver_parameter_kind(CUfunction function, size_t index, CpuParameterKind *kind)
{
    *kind = cpu_device ? cpu_device->parameter_kind(function, index) : CPU_PARAMETER_UNKNOWN;
    return CUDA_SUCCESS;
}
