/* Names and texts of the errors of CUDA's runtime, at addresses that kernels can read. */
#ifndef DEVICE_EXEC_RUNTIME_ERRORS_H
#define DEVICE_EXEC_RUNTIME_ERRORS_H

#include <stdint.h>

struct MemoryMap;

/* "cudaErrorInvalidValue", "invalid argument"; 0 when the text cannot be entered into the map. */
uint64_t runtime_error_name(struct MemoryMap *memory, int error);
uint64_t runtime_error_text(struct MemoryMap *memory, int error);

#endif
