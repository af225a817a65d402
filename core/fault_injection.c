/* See fault_injection.h. */
#include "core/fault_injection.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static DriverTable real;            /* the driver's functions */
static bool installed;
static atomic_ulong calls, fail_at; /* calls so far; the one that is to fail, 0: none */
static _Atomic(int) fail_code;       /* the result of that call */
static _Atomic(int) failed_row = -1; /* the row of the call that has failed; -1: none */

enum {
#define CU_FN(name, symbol, version, per_thread, waits, params, args) ROW_##name,
#include "abi/cuda_functions.def"
#undef CU_FN
    ROW_COUNT
};

static const char *const names[ROW_COUNT] = {
#define CU_FN(name, symbol, version, per_thread, waits, params, args) #name,
#include "abi/cuda_functions.def"
#undef CU_FN
};
static atomic_uint delays[ROW_COUNT]; /* milliseconds */
static atomic_long successes[ROW_COUNT];

static void wait_out(unsigned milliseconds)
{
    struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    if (milliseconds) nanosleep(&time, NULL);
}

/* Counts the call. Returns the error to inject into it, or CUDA_SUCCESS. */
static CUresult injected_error(int row)
{
    wait_out(atomic_load(&delays[row]));
    unsigned long call = atomic_fetch_add(&calls, 1) + 1;
    if (call != atomic_load(&fail_at)) return CUDA_SUCCESS;
    atomic_store(&failed_row, row);
    return (CUresult)atomic_load(&fail_code);
}

/* Whether the function releases its argument. Such a function may report an earlier error and still do
 * that. */
static bool is_release(int row)
{
    static const char *const words[] = {"Destroy", "Free", "Unload", "Unregister", "Release", "MemUnmap"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(names[row], words[i])) return true;
    return false;
}

/* Counts the call if it was successful; returns its result. */
static CUresult count_success(int row, CUresult result)
{
    if (result == CUDA_SUCCESS) atomic_fetch_add(&successes[row], 1);
    return result;
}

#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    static CUresult faulty_##name params \
    { \
        CUresult injected = injected_error(ROW_##name); \
        if (injected && is_release(ROW_##name)) (void)count_success(ROW_##name, real.name args); \
        return injected ? injected : count_success(ROW_##name, real.name args); \
    }
#include "abi/cuda_functions.def"
#undef CU_FN

bool injection_hides(const char *name)
{
    const char *hidden = getenv("PYCUDA_FAULT_HIDES");
    size_t length = strlen(name);
    for (const char *at = hidden; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return true;
    return false;
}

/* Functions whose calls are neither counted nor fail: error messages are made with some of them, and how
 * often the others are called, for slices of a wait, varies from run to run. */
static void keep_uncounted(DriverTable *table)
{
    table->cuPycudaSetTimeout = real.cuPycudaSetTimeout;
    table->cuPycudaCancel = real.cuPycudaCancel;
    table->cuGetErrorName = real.cuGetErrorName;
    table->cuGetErrorString = real.cuGetErrorString;
}

void injection_install(DriverTable *table)
{
    const char *call = getenv("PYCUDA_FAULT_CALL"), *code = getenv("PYCUDA_FAULT_CODE");
    if (!call) return;
    real = *table;
    installed = true;
    injection_arm(strtoul(call, NULL, 10), code ? (CUresult)atoi(code) : CUDA_ERROR_OUT_OF_MEMORY);
    *table = (DriverTable){
#define CU_FN(name, symbol, version, per_thread, waits, params, args) .name = faulty_##name,
#include "abi/cuda_functions.def"
#undef CU_FN
    };
    keep_uncounted(table);
}

unsigned long injection_calls(void) { return atomic_load(&calls); }

const char *injection_failed(void)
{
    int row = atomic_load(&failed_row);
    return row < 0 ? NULL : names[row];
}

bool injection_arm(unsigned long n, CUresult code)
{
    if (!installed) return false;
    if (n) atomic_store(&failed_row, -1);
    atomic_store(&fail_code, (int)code);
    atomic_store(&fail_at, n ? atomic_load(&calls) + n : 0);
    return true;
}

/* The row of that name; -1 if there is none, or fault injection is not installed. */
static int find_row(const char *name)
{
    for (int row = 0; installed && row < ROW_COUNT; row++)
        if (!strcmp(names[row], name)) return row;
    return -1;
}

long injection_count(const char *name)
{
    int row = find_row(name);
    return row < 0 ? -1 : atomic_load(&successes[row]);
}

bool injection_delay(const char *name, unsigned milliseconds)
{
    int row = find_row(name);
    if (row < 0) return false;
    atomic_store(&delays[row], milliseconds);
    return true;
}
