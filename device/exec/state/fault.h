/* A fault of a running kernel: recorded once per launch, the first one wins, reported in full. */
#ifndef DEVICE_EXEC_STATE_FAULT_H
#define DEVICE_EXEC_STATE_FAULT_H

#include <stdint.h>

#include "abi/cuda_abi.h"
#include "exec/code/code.h"

typedef struct ExecFault {
    CUresult code; /* CUDA_SUCCESS: none */
    char text[1024]; /* kernel, block, thread, source or PTX line, access, address, nearest allocation */
} ExecFault;

typedef struct GridLaunch GridLaunch;

/* Records a fault of one lane; the first of a launch wins. Always returns NULL. */
const Insn *exec_fault(Warp *warp, const Insn *insn, int lane, CUresult code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Records a fault by a text that names the kernel and, if there is one, the place; nothing is added to it. */
void exec_fault_plain(Grid *grid, CUresult code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Record that a lane's access, `size` bytes at a generic address, is misaligned or not valid; and the
 * same for an offset in the memory of a state space, which has `limit` bytes. Always return NULL. */
const Insn *exec_fault_access(Warp *warp, const Insn *insn, int lane, uint64_t address, uint32_t size,
                              bool write);
const Insn *exec_fault_window(Warp *warp, const Insn *insn, int lane, const char *space, uint64_t offset,
                              uint32_t size, uint64_t limit, bool write);
/* Writes to `out` where the address is in relation to the nearest allocation, for example "12 bytes past
 * the end of the device memory at 0x... of 4096 bytes". */
void exec_describe_nearest(const GridLaunch *launch, uint64_t address, uint64_t size, bool write, char *out,
                           size_t capacity);
/* Writes to `out` the place of an instruction: "file:line (PTX line n)", without debug lines "PTX line n", in
 * code without lines "instruction n". Returns out. */
const char *exec_place(const CodeFunction *function, const Insn *insn, char *out, size_t size);

#endif
