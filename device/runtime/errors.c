/* The last error of each thread, the names and texts of errors, and versions. */
#include <stdio.h>

#include "runtime/runtime.h"

#pragma weak cpuDeviceLog /* another driver has no such function */

typedef struct ErrorText {
    int code;
    const char *text;
} ErrorText;

static const ErrorText names[] = {
#define RUNTIME_ERROR(name, code) {code, #name},
#include "exec/runtime/errors.def"
#undef RUNTIME_ERROR
};

static const ErrorText texts[] = {
#define CU_ERROR(name, code, cls, text) {code, text},
#define RUNTIME_TEXT(code, text) {code, text},
#include "abi/cuda_errors.def"
#include "exec/runtime/errors.def"
#undef CU_ERROR
#undef RUNTIME_TEXT
};

static _Thread_local cudaError_t last_error;

/* cudaErrorNotReady answers a question: it is not kept. */
cudaError_t runtime_return(cudaError_t error)
{
    if (error && error != cudaErrorNotReady) last_error = error;
    return error;
}

cudaError_t runtime_refuse(const char *function, const char *reason)
{
    char text[256];
    snprintf(text, sizeof text, "%s is not supported by the CPU device: %s", function, reason);
    if (cpuDeviceLog) cpuDeviceLog(text);
    return runtime_return(cudaErrorNotSupported);
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) { return last_error; }

static const char *find_text(const ErrorText *rows, size_t count, int code)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].code == code) return rows[i].text;
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t error)
{
    return find_text(names, sizeof names / sizeof *names, (int)error);
}

const char *cudaGetErrorString(cudaError_t error)
{
    return find_text(texts, sizeof texts / sizeof *texts, (int)error);
}

cudaError_t run_cudaRuntimeGetVersion(int *out)
{
    if (!out) return cudaErrorInvalidValue;
    *out = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t run_cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version,
                                                 unsigned long long flags, unsigned int *status)
{
    if (flags == CU_GET_PROC_ADDRESS_DEFAULT && runtime_null_is_per_thread)
        flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return (cudaError_t)cuGetProcAddress_v2(symbol, function, (int)version, flags, status);
}

cudaError_t run_cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                        unsigned int *status)
{
    return run_cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}

/* Tables between NVIDIA's own libraries. */
cudaError_t run_cudaGetExportTable(const void **table, const cudaUUID_t *id)
{
    (void)id;
    if (table) *table = NULL;
    return cudaErrorInvalidValue;
}
