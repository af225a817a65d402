/* A weak definition of every export, which returns CUDA_ERROR_NOT_SUPPORTED and writes the function's name
 * to the log. For functions that are implemented the linker takes their strong definition. */
#include "abi/cuda_abi.h"
#include "api/base/log.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define WEAK_EXPORT __attribute__((weak, visibility("protected")))

static CUresult log_unsupported(const char *symbol)
{
    log_error("%s is not supported by the CPU device", symbol);
    return CUDA_ERROR_NOT_SUPPORTED;
}

#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    WEAK_EXPORT CUresult symbol params { return log_unsupported(#symbol); }
#define CU_EXPORT(name, symbol, version, per_thread) \
    WEAK_EXPORT CUresult symbol(void) { return log_unsupported(#symbol); }
#include "abi/cuda_functions.def"
#include "abi/cuda_exports.def"
#undef CU_FN
#undef CU_EXPORT
