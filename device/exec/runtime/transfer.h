/* Copies and fills that kernels ask for: bytes in rows and layers, done like a launch when its turn comes. */
#ifndef DEVICE_EXEC_RUNTIME_TRANSFER_H
#define DEVICE_EXEC_RUNTIME_TRANSFER_H

#include "exec/state/launch.h"

typedef struct TransferSide {
    uint64_t address, pitch, layer; /* bytes from row to row and from layer to layer */
} TransferSide;

typedef struct Transfer {
    const char *name, *kernel; /* which function was called by which kernel */
    TransferSide to, from; /* a fill has no `from` */
    bool fill;
    uint8_t value;
    uint64_t width, height, depth; /* in bytes, rows and layers; at least 1 each */
} Transfer;

/* Whether the extent of both sides is within the range of addresses. */
bool transfer_is_valid(const Transfer *transfer);
/* Moves the bytes. When the launch may not touch them, fills *fault and moves none. */
void transfer_run(const Transfer *transfer, const GridLaunch *launch, ExecFault *fault);

#endif
