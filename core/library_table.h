/* NVIDIA's mathematical libraries as a table of function pointers: one per row of abi/library_functions.def.
 * A library is loaded from a path that the caller chooses, and stays loaded for the life of the process.
 */
#ifndef CORE_LIBRARY_TABLE_H
#define CORE_LIBRARY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names of NVIDIA's headers, if those are not included. */
#ifndef CUBLAS_VERSION
typedef struct cublasContext *cublasHandle_t;
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverDnParams *cusolverDnParams_t;
typedef struct gesvdjInfo *gesvdjInfo_t;
typedef struct cusparseContext *cusparseHandle_t;
typedef struct cusparseSpMatDescr *cusparseSpMatDescr_t;
typedef struct cusparseDnVecDescr *cusparseDnVecDescr_t;
typedef struct cusparseDnMatDescr *cusparseDnMatDescr_t;
typedef const struct cusparseSpMatDescr *cusparseConstSpMatDescr_t;
typedef const struct cusparseDnVecDescr *cusparseConstDnVecDescr_t;
typedef const struct cusparseDnMatDescr *cusparseConstDnMatDescr_t;
typedef int cufftHandle;
typedef int cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t, cudaDataType;
typedef int cusparseIndexBase_t, cusparseIndexType_t, cusparseOperation_t, cusparseOrder_t;
typedef int cusparseSpMMAlg_t, cusparseSpMVAlg_t;
typedef int cublasDiagType_t, cublasFillMode_t, cublasSideMode_t, cusolverEigMode_t;
typedef struct float2 cuComplex;
typedef struct double2 cuDoubleComplex;
typedef struct CUstream_st *cudaStream_t;
#endif

typedef enum LibraryId {
#define LIBRARY(library, name) LIBRARY_##library,
#define LIB_STATUS(library, code, name)
#include "abi/libraries.def"
#undef LIBRARY
#undef LIB_STATUS
    LIBRARY_COUNT
} LibraryId;

typedef enum LibraryFn {
#define LIB_FN(library, name, params, args) LIB_FN_##name,
#include "abi/library_functions.def"
#undef LIB_FN
    LIB_FN_COUNT
} LibraryFn;

typedef struct LibraryRow {
    const char *name, *params; /* "(cublasHandle_t handle, int *version)" */
    LibraryId library;
} LibraryRow;
extern const LibraryRow library_rows[LIB_FN_COUNT];

typedef void (*LibraryAddress)(void);

typedef struct LibraryTable {
    void *handles[LIBRARY_COUNT]; /* from dlopen, never closed; NULL: not loaded */
    LibraryAddress functions[LIB_FN_COUNT]; /* NULL: not loaded, or the library has no such function */
} LibraryTable;

/* The LibraryId of a library, the LibraryFn of a function; -1 if there is none of this name. */
int library_find(const char *name);
int library_find_function(const char *name);

/* Loads the library at `path` into its part of the table. False, with the reason in `problem`, when it cannot
 * be loaded or has none of the functions. */
bool library_load(LibraryTable *table, LibraryId library, const char *path, char *problem,
                  size_t problem_size);

/* "CUBLAS_STATUS_ALLOC_FAILED"; NULL for a status that is in no row. */
const char *library_status_name(LibraryId library, int status);

#endif
