/* cuGetProcAddress: the newest function of a name whose version is not above the one asked for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/base/api.h"
#include "api/base/driver.h"
#include "api/base/log.h"
#include "api/entry/one_lock.h"

typedef struct ProcRow {
    const char *name, *symbol;
    int version;
    bool variant;  /* the row is the per-thread variant of another row */
    AnyFn function;
} ProcRow;

/* Exports without a prototype in api.h are declared by their symbol, under a name that cannot clash. */
#define CU_EXPORT(name, symbol, version, per_thread) extern CUresult symbol##_any(void) __asm__(#symbol);
#include "abi/cuda_exports.def"
#undef CU_EXPORT

enum {
    ANY_VERSION = -1, /* as a version that is asked for: the driver's */
    FIRST_PER_THREAD = 7000
};

/* The values of the column per_thread of abi/cuda_exports.def, as ProcRow.variant. */
enum { NONE = 0, PTSZ = 1, PTDS = 1 };

#define VARIANT_NONE(name, symbol, version)
#define VARIANT_PTSZ(name, symbol, version) {#name, #symbol "_ptsz", version, true, (AnyFn)symbol##_ptsz},
#define VARIANT_PTDS(name, symbol, version) {#name, #symbol "_ptds", version, true, (AnyFn)symbol##_ptds},

static const ProcRow proc_rows[] = {
#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    {#name, #symbol, version, false, (AnyFn)symbol}, VARIANT_##per_thread(name, symbol, version)
#define CU_EXPORT(name, symbol, version, per_thread) \
    {#name, #symbol, version, per_thread, (AnyFn)symbol##_any},
#include "abi/cuda_functions.def"
#include "abi/cuda_exports.def"
#undef CU_FN
#undef CU_EXPORT
};

/* The newest row of that name up to version; *exists: whether the name exists in any version. */
static const ProcRow *newest_row(const char *name, int version, bool *exists)
{
    const ProcRow *best = NULL;
    *exists = false;
    for (size_t i = 0; i < sizeof proc_rows / sizeof *proc_rows; i++) {
        const ProcRow *row = &proc_rows[i];
        if (row->variant || strcmp(row->name, name)) continue;
        *exists = true;
        if (row->version <= version && (!best || row->version > best->version)) best = row;
    }
    return best;
}

/* The per-thread variant of that row, or the row itself if it has none. */
static const ProcRow *per_thread_variant(const ProcRow *base)
{
    size_t length = strlen(base->symbol);
    for (size_t i = 0; i < sizeof proc_rows / sizeof *proc_rows; i++) {
        const ProcRow *row = &proc_rows[i];
        if (!row->variant || strncmp(row->symbol, base->symbol, length)) continue;
        if (!strcmp(row->symbol + length, "_ptsz") || !strcmp(row->symbol + length, "_ptds")) return row;
    }
    return base;
}

/* What a program gets instead of that row if it asks for the default stream of each thread; NULL: nothing in
 * that version, as such streams came with CUDA 7. */
static const ProcRow *row_for_per_thread(const ProcRow *row, int version)
{
    bool exists;
    const ProcRow *newest = newest_row(row->name, INT32_MAX, &exists);
    if (per_thread_variant(newest) == newest) return row;
    return version < FIRST_PER_THREAD ? NULL : per_thread_variant(row);
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    int ours = driver_settings()->version;
    if (version == ANY_VERSION) version = ours;
    if (!name || !function || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM || version > ours)
        return CUDA_ERROR_INVALID_VALUE;
    bool exists;
    const ProcRow *row = newest_row(name, version, &exists);
    if (row && flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) row = row_for_per_thread(row, version);
    *function = NULL;
    if (status)
        *status = row      ? CU_GET_PROC_ADDRESS_SUCCESS
                  : exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                           : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!row) return CUDA_SUCCESS; /* with a status or without one */
    AnyFn found = driver_settings()->one_lock ? one_lock_around(row->function) : row->function;
    memcpy(function, &found, sizeof *function);
    return CUDA_SUCCESS;
}

/* The first version of the function has no status: a name that is not found is an error. */
CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = cuGetProcAddress_v2(name, function, version, flags, &status);
    return !result && status != CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_ERROR_NOT_FOUND : result;
}

/* Whether the code at this address is NVRTC's: it has a CUDA runtime in it, which it can do without. */
static bool is_in_nvrtc(void *code)
{
    static const char file[] = "libnvrtc.";
    Dl_info found;
    if (!dladdr(code, &found) || !found.dli_fname) return false;
    const char *slash = strrchr(found.dli_fname, '/');
    return !strncmp(slash ? slash + 1 : found.dli_fname, file, strlen(file));
}

/* NVIDIA's own libraries ask for tables that are not documented, by which the driver and CUDA's runtime
 * authenticate each other. Programs show only the number of the error, so the cure is printed, once. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    static const char text[] =
        "NVIDIA's CUDA runtime asks the driver for internal tables, which the CPU device does not have; link "
        "the program with nvcc -cudart shared (not the static default) and run it by cuda-cpu, which has a "
        "libcudart.so.12 and a libcudart.so.13 of its own";
    static atomic_flag printed = ATOMIC_FLAG_INIT;
    if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    if (!is_in_nvrtc(__builtin_return_address(0)) && !atomic_flag_test_and_set(&printed)) {
        log_error("%s", text);
        if (!driver_settings()->log_printed) fprintf(stderr, "CPU device: %s\n", text);
    }
    return CUDA_ERROR_NOT_FOUND;
}
