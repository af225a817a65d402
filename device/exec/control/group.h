/* Groups of lanes of a warp that are at one instruction: divergence and reconvergence. */
#ifndef DEVICE_EXEC_CONTROL_GROUP_H
#define DEVICE_EXEC_CONTROL_GROUP_H

#include "exec/state/warp.h"

/* Those that return an instruction: the one to go on with, or NULL when the warp must leave the run loop. */
const Insn *group_split(Warp *warp, const Insn *here, const Insn *other, uint32_t other_mask);
const Insn *group_reach(Warp *warp, const Insn *label);
const Insn *group_rejoin(Warp *warp, const Insn *next);
const Insn *group_yield(Warp *warp, const Insn *pc);
const Insn *group_next(Warp *warp);
const Insn *group_exit(Warp *warp, uint32_t lanes, const Insn *rest);
void group_start(Warp *warp, uint32_t mask);
Group *group_divide(Warp *warp, uint32_t mask, const Insn *pc);
void group_fork(Warp *warp, uint32_t mask, const Insn *pc);
void group_refresh(Warp *warp);
const Insn *group_preempt(Warp *warp, const Insn *pc);

#endif
