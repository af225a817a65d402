/* Calls, returns and jumps through tables. Functions return the instruction to go on with, or NULL when the
 * warp must leave the run loop: after a fault, without fuel, when all lanes have exited or wait. `lanes` are
 * those of the running group whose guard holds; its other lanes go on after the instruction. */
#ifndef DEVICE_EXEC_CONTROL_CALLS_H
#define DEVICE_EXEC_CONTROL_CALLS_H

#include "exec/state/warp.h"

const Insn *call_enter(Warp *warp, const Insn *insn, const CodeFunction *callee, uint32_t lanes);
const Insn *call_indirect(Warp *warp, const Insn *insn, uint32_t lanes);
/* ret; from the kernel itself it is an exit. */
const Insn *call_return(Warp *warp, const Insn *insn, uint32_t lanes);
/* brx.idx for all lanes of the running group. */
const Insn *call_table(Warp *warp, const Insn *insn);

#endif
