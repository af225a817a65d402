/* Compares abi/ with NVIDIA's own headers, as facts.h describes. The compiler compares the signatures of
 * functions. */
#ifdef CHECK_REAL
#define ABI_USE_CUDA_H
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cudaGLTypedefs.h>
#endif

#include "abi/cuda_abi.h"
#include "facts.h"

const Fact LIST[] = {
#include "abi_structs.def"
#define CU_ERROR(name, code, cls, text) {#name, name},
#include "abi/cuda_errors.def"
#define CU_ENUM(cls, doc)
#define CU_ENUM_END(cls)
#define CU_ALIAS(py, name, value)
#define CU_GONE(py, name, value)
#ifdef CHECK_REAL
#define CU_VALUE(py, name, value) {#name, name},
#else
#define CU_VALUE(py, name, value) {#name, value},
#endif
#include "abi/cuda_enums.def"
    {NULL, 0},
};

#ifdef CHECK_REAL
/* A row's parameters must be those of the header's typedef for the same name and version. The three profiler
 * functions have no typedef there, so they are declared here. */
#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    _Static_assert(__builtin_types_compatible_p(CUresult(*) params, PFN_##name##_v##version), \
                   #name ": parameters differ from NVIDIA's header");
typedef CUresult (*PFN_cuProfilerInitialize_v4000)(const char *, const char *, CUoutput_mode);
typedef CUresult (*PFN_cuProfilerStart_v4000)(void);
typedef CUresult (*PFN_cuProfilerStop_v4000)(void);
#include "abi/cuda_functions.def"
#endif
