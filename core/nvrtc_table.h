/* NVRTC, NVIDIA's run-time compiler, as a table of function pointers: one per row of abi/nvrtc_functions.def.
 *
 * The library is loaded from a path that the caller chooses. Several may be loaded at once; each stays
 * loaded for the life of the process, since NVRTC cannot be unloaded safely.
 */
#ifndef CORE_NVRTC_TABLE_H
#define CORE_NVRTC_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct NvrtcProgram_st *NvrtcProgram;

/* The few results that are distinguished here; their text comes from nvrtcGetErrorString. */
enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_COMPILATION = 6
};

typedef struct NvrtcTable {
    void *handle; /* from dlopen, never closed */
    int major, minor;
#define NVRTC_FN(returns, name, needed, params) returns(*name) params;
#include "abi/nvrtc_functions.def"
#undef NVRTC_FN
} NvrtcTable;

/* Loads the library at `path` into the table. False, with the reason in `problem`, when it cannot be loaded
 * or is not an NVRTC. Loading the same path again is cheap. */
bool nvrtc_load(NvrtcTable *table, const char *path, char *problem, size_t problem_size);

typedef enum NvrtcOutput { NVRTC_PTX, NVRTC_CUBIN } NvrtcOutput;

/* What to compile. All strings end with NUL and belong to the caller. */
typedef struct NvrtcJob {
    const char *source, *name;
    int option_count;
    const char *const *options;
    int expression_count;
    const char *const *expressions; /* C++ names, whose lowered names are wanted */
    NvrtcOutput want;
    atomic_bool *abandoned; /* becomes true once the result is no longer wanted; NULL: it is always wanted */
} NvrtcJob;

/* The result; to be freed by nvrtc_product_free. */
typedef struct NvrtcProduct {
    int result; /* the error of the first call that failed */
    const char *failed; /* that call's name; NULL: none failed */
    char *code, *log; /* owned; code is NULL on failure, log may be NULL */
    size_t code_size; /* without the NUL that follows PTX */
    char **lowered; /* owned with its strings: a name for each expression of the job */
    int lowered_count;
} NvrtcProduct;

/* True on success. Blocks until the compiler is done and may be called from several threads. */
bool nvrtc_compile(const NvrtcTable *table, const NvrtcJob *job, NvrtcProduct *product);
void nvrtc_product_free(NvrtcProduct *product);

#endif
