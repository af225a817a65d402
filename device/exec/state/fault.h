/* A fault of a running kernel: recorded once per launch, the first one wins, reported in full. */
#ifndef DEVICE_EXEC_STATE_FAULT_H
#define DEVICE_EXEC_STATE_FAULT_H

#include <stdint.h>

#include "abi/cuda_abi.h"
#include "exec/code/code.h"

enum { FAULT_TEXT = 2048 };

typedef struct ExecFault {
    CUresult code; /* CUDA_SUCCESS: none */
    char text
        [FAULT_TEXT]; /* kernel, block, thread, source line, access, address, nearest allocation, arguments,
                              registers */
} ExecFault;

typedef struct GridLaunch GridLaunch;

/* Records a fault of one lane; the first of a launch wins. Always returns NULL. */
const Insn *exec_fault(Warp *warp, const Insn *insn, int lane, CUresult code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Records a fault by a text that names the kernel and, if there is one, the place; nothing is added to it. */
void exec_fault_plain(Grid *grid, CUresult code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Record a fault that a launch survives if it has GridLaunch.name_fault: an access that is not valid, or what
 * a check has found. True: it was named or counted, and the lane goes on. False: the launch fails. */
bool exec_violation(Warp *warp, const Insn *insn, int lane, CUresult code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool exec_violation_plain(Grid *grid, const Insn *insn, CUresult code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether the launch must stop after a check has found something. */
bool exec_has_failed(const Warp *warp);
/* Record, as exec_violation(), that a lane's access, `size` bytes at a generic address, is misaligned or not
 * valid; and the same for an offset in the memory of a state space, which has `limit` bytes. */
bool exec_fault_access(Warp *warp, const Insn *insn, int lane, uint64_t address, uint32_t size, bool write);
bool exec_fault_window(Warp *warp, const Insn *insn, int lane, const char *space, uint64_t offset,
                       uint32_t size, uint64_t limit, bool write);
/* The same for the bytes of a Reach (ranges.h). */
struct Reach;
bool exec_fault_reach(Warp *warp, const Insn *insn, int lane, const struct Reach *reach);
/* Bytes for an access that is not valid, in a launch that survives it: zeros, to which writes are lost. They
 * are the worker's until its next call with the same `write`. NULL if out of memory: then the launch has
 * failed. */
uint8_t *exec_sink(Warp *warp, uint64_t bytes, bool write);
/* Writes to `out` where the address is in relation to the nearest allocation, for example "12 bytes past
 * the end of the device memory at 0x... of 4096 bytes". */
void exec_describe_nearest(const GridLaunch *launch, uint64_t address, uint64_t size, bool write, char *out,
                           size_t capacity);
/* Writes to `out` the place of an instruction: "file:line (PTX line n)", without debug lines "PTX line n", in
 * code without lines "instruction n". Returns out. */
const char *exec_place(const CodeFunction *function, const Insn *insn, char *out, size_t size);
/* The same for an instruction of any function of the module. */
const char *exec_place_in(const CodeModule *module, const Insn *insn, char *out, size_t size);

#endif
