/* A fault of a running kernel: recorded once per launch, first one wins, told to the user whole. */
#ifndef DEVICE_EXEC_STATE_FAULT_H
#define DEVICE_EXEC_STATE_FAULT_H

#include <stdint.h>

#include "abi/cuda_abi.h"

typedef struct ExecFault {
    CUresult code; /* CUDA_SUCCESS: none */
    char text[1024]; /* kernel, block, thread, source or PTX line, access, address, nearest allocation */
} ExecFault;

#endif
