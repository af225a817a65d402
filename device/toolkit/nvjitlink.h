/* The interface of NVIDIA's nvJitLink: its types, and what this library exports. */
#ifndef DEVICE_TOOLKIT_NVJITLINK_H
#define DEVICE_TOOLKIT_NVJITLINK_H

#include <stddef.h>
#include <stdint.h>

typedef enum nvJitLinkResult {
    NVJITLINK_SUCCESS,
    NVJITLINK_ERROR_UNRECOGNIZED_OPTION,
    NVJITLINK_ERROR_MISSING_ARCH,
    NVJITLINK_ERROR_INVALID_INPUT,
    NVJITLINK_ERROR_PTX_COMPILE,
    NVJITLINK_ERROR_NVVM_COMPILE,
    NVJITLINK_ERROR_INTERNAL,
    NVJITLINK_ERROR_THREADPOOL,
    NVJITLINK_ERROR_UNRECOGNIZED_INPUT,
    NVJITLINK_ERROR_FINALIZE,
    /* From version 13 on. */
    NVJITLINK_ERROR_NULL_INPUT,
    NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS,
    NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
    NVJITLINK_ERROR_UNRECOGNIZED_ARCH = 16,
    NVJITLINK_ERROR_LTO_NOT_ENABLED = 18
} nvJitLinkResult;

typedef enum nvJitLinkInputType {
    NVJITLINK_INPUT_NONE,
    NVJITLINK_INPUT_CUBIN,
    NVJITLINK_INPUT_PTX,
    NVJITLINK_INPUT_LTOIR,
    NVJITLINK_INPUT_FATBIN,
    NVJITLINK_INPUT_OBJECT,
    NVJITLINK_INPUT_LIBRARY,
    NVJITLINK_INPUT_INDEX,
    NVJITLINK_INPUT_ANY = 10
} nvJitLinkInputType;

typedef struct nvJitLink *nvJitLinkHandle;

/* The major version that this library stands in for: CUDA_MAJOR of the build. Each function is exported under
 * its own name, and under one for each minor version. Protected: NVIDIA's library may be in the program. */
#define NVJITLINK_NAME_(name, major, minor) __nvJitLink##name##_##major##_##minor
#define NVJITLINK_NAME(name, major, minor) NVJITLINK_NAME_(name, major, minor)
#define NVJITLINK_API __attribute__((visibility("protected"))) nvJitLinkResult

#define NVJITLINK_FN(name, params) NVJITLINK_API nvJitLink##name params;
#include "toolkit/nvjitlink_functions.def"
#undef NVJITLINK_FN
NVJITLINK_API nvJitLinkVersion(unsigned *major, unsigned *minor);

/* libcuda-preload.so says where the program has found NVIDIA's library. */
__attribute__((visibility("protected"))) void cpuDeviceLtoLibrary(const char *path);

#endif
