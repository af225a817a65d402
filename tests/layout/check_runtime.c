/* Compares device/runtime/ with NVIDIA's headers of CUDA's runtime API, as facts.h describes. The compiler
 * compares the signatures: each row of functions.def is declared once more, after the headers have declared
 * it. */
#ifdef CHECK_REAL
#define RUNTIME_USE_CUDA_H
#else
#define CU_API
#endif
#include "runtime/types.h"
#include "facts.h"

#ifdef CHECK_REAL
#if __has_include(<cuda_profiler_api.h>) /* of a package of its own */
#include <cuda_profiler_api.h>
#endif
/* The headers give programs newer versions under these names. */
#undef cudaGetDeviceProperties
#undef cudaStreamGetCaptureInfo
#endif

#define RT_OTHER(type, name, params) type name params;
#define RT_FORWARD(name, per_thread, needs, params, driver, args) cudaError_t name params;
#define RT_FUNCTION(name, per_thread, needs, params, args) cudaError_t name params;
#include "runtime/functions.def"

const Fact LIST[] = {
#include "runtime_structs.def"
#undef SIZE
/* The rows of struct cudaDeviceProp. */
#define INT(name, attribute) FIELD(struct cudaDeviceProp, name)
#define INTS(name, count, ...) FIELD(struct cudaDeviceProp, name)
#define SIZE(name, attribute) FIELD(struct cudaDeviceProp, name)
#define SPECIAL(type, name, bound) FIELD(struct cudaDeviceProp, name)
#include "runtime/properties.def"
#define RUNTIME_ERROR(name, code) {#name, name},
#include "exec/runtime/errors.def"
    {"cudaMemcpyDefault", cudaMemcpyDefault},
    {"cudaChannelFormatKindNone", cudaChannelFormatKindNone},
    {NULL, 0},
};
