/* Options of cuModuleLoadDataEx, cuLibraryLoadData and cuLinkCreate. Those for the log buffers, the time
 * taken, the number of registers and unoptimized code are used; the others are accepted and change
 * nothing. */
#include <string.h>
#include <time.h>

#include "api/base/log.h"
#include "api/code/module.h"

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

CUresult jit_options_read(JitOptions *options, unsigned count, const CUjit_option *names, void **values)
{
    *options = (JitOptions){.started = clock_seconds()};
    if (count && (!names || !values)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        switch (names[i]) {
        case CU_JIT_INFO_LOG_BUFFER: options->info = values[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER: options->error = values[i]; break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            options->info_size = (unsigned)(uintptr_t)values[i];
            options->info_size_out = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            options->error_size = (unsigned)(uintptr_t)values[i];
            options->error_size_out = &values[i];
            break;
        case CU_JIT_WALL_TIME: options->wall_time_out = &values[i]; break;
        case CU_JIT_OPTIMIZATION_LEVEL:
            options->code.as_written |= (unsigned)(uintptr_t)values[i] == 0;
            break;
        case CU_JIT_GENERATE_DEBUG_INFO: options->code.as_written |= (int)(uintptr_t)values[i] != 0; break;
        case CU_JIT_MAX_REGISTERS:
            options->code.max_registers = (unsigned)(uintptr_t)values[i];
            if (!options->code.max_registers) return CUDA_ERROR_INVALID_VALUE;
            break;
        default:
            if (names[i] > CU_JIT_SPLIT_COMPILE) return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

/* Writes as much of the text as fits, with a NUL; *size_out, which may be absent, becomes the length. */
static void fill_log_buffer(char *buffer, size_t size, void **size_out, const char *text)
{
    size_t length = strlen(text);
    if (!buffer || !size)
        length = 0;
    else {
        if (length > size - 1) length = size - 1;
        memcpy(buffer, text, length);
        buffer[length] = '\0';
    }
    if (size_out) *size_out = (void *)(uintptr_t)length;
}

void jit_options_answer(JitOptions *options, CUresult result, const PtxLog *log)
{
    const char *text = ptx_log_text(log);
    fill_log_buffer(options->info, options->info_size, options->info_size_out, result ? "" : text);
    fill_log_buffer(options->error, options->error_size, options->error_size_out, result ? text : "");
    float milliseconds = (float)((clock_seconds() - options->started) * 1e3);
    if (options->wall_time_out) memcpy(options->wall_time_out, &milliseconds, sizeof milliseconds);
    if (result && *text) log_error("%s", text);
}
