/* What the library exports, from the rows of functions.def: each call makes what it needs, runs, and keeps
 * its error for cudaGetLastError. */
#include "runtime/runtime.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

_Thread_local bool runtime_null_is_per_thread;

static cudaError_t need_NOTHING(void) { return cudaSuccess; }
static cudaError_t need_DRIVER(void) { return runtime_need_driver(); }
static cudaError_t need_CONTEXT(void) { return runtime_need_context(); }

/* The error of what the call needs, or else that of the call. */
#define CALL(needs, call) \
    cudaError_t error = need_##needs(); \
    return runtime_return(error ? error : (cudaError_t)call);

#define FORWARD_NONE(name, needs, params, driver, args)
#define FORWARD_PTSZ(name, needs, params, driver, args) \
    RT_API cudaError_t name##_ptsz params { CALL(needs, driver##_ptsz args) }
#define FORWARD_PTDS(name, needs, params, driver, args) \
    RT_API cudaError_t name##_ptds params { CALL(needs, driver##_ptds args) }

/* The function itself, while the NULL stream is the per-thread one. */
#define FUNCTION_VARIANT(name, suffix, params, args) \
    RT_API cudaError_t name##suffix params \
    { \
        bool before = runtime_null_is_per_thread; \
        runtime_null_is_per_thread = true; \
        cudaError_t error = name args; \
        runtime_null_is_per_thread = before; \
        return error; \
    }
#define FUNCTION_NONE(name, params, args)
#define FUNCTION_PTSZ(name, params, args) FUNCTION_VARIANT(name, _ptsz, params, args)
#define FUNCTION_PTDS(name, params, args) FUNCTION_VARIANT(name, _ptds, params, args)

#define MISSING(name, reason) \
    RT_API cudaError_t name(void) { return runtime_refuse(#name, why_##reason); }
#define MISSING_NONE(name, reason)
#define MISSING_PTSZ(name, reason) MISSING(name##_ptsz, reason)

#define RT_REASON(reason, text) __attribute__((unused)) static const char why_##reason[] = text;
#include "runtime/functions.def"

#define RT_FORWARD(name, per_thread, needs, params, driver, args) \
    RT_API cudaError_t name params{CALL(needs, driver args)} FORWARD_##per_thread(name, needs, params, \
                                                                                  driver, args)
#define RT_FUNCTION(name, per_thread, needs, params, args) \
    RT_API cudaError_t name params{CALL(needs, run_##name args)} FUNCTION_##per_thread(name, params, args)
#define RT_MISSING(name, per_thread, reason) MISSING(name, reason) MISSING_##per_thread(name, reason)
#include "runtime/functions.def"
