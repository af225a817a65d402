/* The functions of CUDA's device runtime, by number: what Insn.imm of call_runtime says. */
#ifndef DEVICE_EXEC_RUNTIME_H
#define DEVICE_EXEC_RUNTIME_H

typedef enum RuntimeFunction {
#define RUNTIME(name, bits, arguments) RUNTIME_##name,
#include "exec/runtime.def"
#undef RUNTIME
    RUNTIME_COUNT
} RuntimeFunction;

enum { RUNTIME_VALUES = 8 }; /* of the arguments of one call, a dim3 counted as three */

/* Errors as CUDA's runtime numbers them (cudaError_t). */
enum {
    RUNTIME_INVALID_VALUE = 1,
    RUNTIME_OUT_OF_MEMORY = 2,
    RUNTIME_INVALID_CONFIGURATION = 9,
    RUNTIME_TOO_MANY_PENDING = 69,
    RUNTIME_INVALID_FUNCTION = 98,
    RUNTIME_INVALID_HANDLE = 400
};

#endif
