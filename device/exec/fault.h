/* A fault of a running kernel: recorded once per launch, first one wins, told to the user whole. */
#ifndef DEVICE_EXEC_FAULT_H
#define DEVICE_EXEC_FAULT_H

#include <stdint.h>

typedef struct ExecFault {
    int code; /* CUresult: 700 illegal address, 716 misaligned, 710 assert, 719 launch failed ... */
    char text[1024]; /* kernel, block, thread, source or PTX line, access, address, nearest allocation */
} ExecFault;

#endif
