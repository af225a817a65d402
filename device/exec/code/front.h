/* Fronts: the first instructions of a kernel, run for all warps of a block at once.
 *
 * Where all threads of a block take the same way, an instruction on lines (lines.h) is run once for all of
 * them, and one on elements by one loop over the rows of all warps. Nothing is written to memory on the way:
 * at the first instruction that does not fit, each warp gets its registers as if it had come there by itself,
 * and goes on. That pays where kernels gather sums in loops: lower/passes/front.c looks for these.
 */
#ifndef DEVICE_EXEC_CODE_FRONT_H
#define DEVICE_EXEC_CODE_FRONT_H

#include "exec/code/code.h"

typedef enum FrontClass {
    FRONT_NONE,
    FRONT_LINE,
    FRONT_COMPARE,
    FRONT_ACCESS, /* stores do not fit */
    FRONT_ELEMENTS,
    FRONT_SKIP, /* nothing to do */
    FRONT_JUMP,
    FRONT_BRANCH,
    FRONT_MOVE,
    FRONT_CHOOSE,
    FRONT_EXCHANGE
} FrontClass;
extern const uint8_t front_classes[OP_COUNT];

enum { FRONT_ROWS = 256, FRONT_UNIT = 64 }; /* in that unit, the largest frame that is run so */

/* By FRONT_UNIT of the frame: 1 + the last instruction at which the row there may be read, loops looked
 * through. */
typedef struct CodeFront {
    uint32_t needed_before[FRONT_ROWS];
} CodeFront;

#endif
