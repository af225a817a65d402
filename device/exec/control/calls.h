/* Calls of functions. */
#ifndef DEVICE_EXEC_CONTROL_CALLS_H
#define DEVICE_EXEC_CONTROL_CALLS_H

#include "exec/state/warp.h"

const Insn *call_enter(Warp *warp, const Insn *insn, const CodeFunction *callee, uint32_t lanes);
const Insn *call_indirect(Warp *warp, const Insn *insn, uint32_t lanes);
const Insn *call_return(Warp *warp, const Insn *insn, uint32_t lanes);
const Insn *call_table(Warp *warp, const Insn *insn);

#endif
