/* Lockstep: the first instructions of a kernel, run for all warps of a block at once until these diverge.
 *
 * While all threads of a block branch alike, an instruction on affine values (block_affine.h) is run once for
 * all of them, and one on elements by one loop over the rows of all warps. Nothing is written to memory
 * meanwhile: at the first instruction that does not fit, each warp gets the registers that it would have, and
 * continues alone. That pays where kernels sum in loops: lower/passes/lockstep.c looks for these.
 */
#ifndef DEVICE_EXEC_CODE_LOCKSTEP_H
#define DEVICE_EXEC_CODE_LOCKSTEP_H

#include "exec/code/code.h"

typedef enum LockstepClass {
    LOCKSTEP_NONE,
    LOCKSTEP_AFFINE,
    LOCKSTEP_COMPARE,
    LOCKSTEP_ACCESS, /* stores do not fit */
    LOCKSTEP_ELEMENTS,
    LOCKSTEP_SKIP, /* nothing to do */
    LOCKSTEP_JUMP,
    LOCKSTEP_BRANCH,
    LOCKSTEP_MOVE,
    LOCKSTEP_CHOOSE,
    LOCKSTEP_EXCHANGE
} LockstepClass;
extern const uint8_t lockstep_classes[OP_COUNT];

enum { LOCKSTEP_ROWS = 256, LOCKSTEP_UNIT_BYTES = 64 }; /* the largest frame, in units of that many bytes */

/* For each unit of the frame: 1 + the index of the last instruction that may read the row there; in a
 * loop that is at least the loop's last instruction. */
typedef struct CodeLockstep {
    uint32_t needed_before[LOCKSTEP_ROWS];
} CodeLockstep;

#endif
