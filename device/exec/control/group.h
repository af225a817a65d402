/* Groups of lanes of a warp that are at one instruction: divergence and reconvergence. */
#ifndef DEVICE_EXEC_CONTROL_GROUP_H
#define DEVICE_EXEC_CONTROL_GROUP_H

#include "exec/state/warp.h"

/* Functions that return an instruction: the one to go on with, or NULL when the warp must leave the run
 * loop. */

/* A divergent branch of the running group: the lanes of other_mask go on at other, the rest at here. */
const Insn *group_split(Warp *warp, const Insn *here, const Insn *other, uint32_t other_mask);
/* The running group comes to a label at or past next_pc: groups at it join the running one, or a group at a
 * lower pc runs first. */
const Insn *group_reach(Warp *warp, const Insn *label);
/* As group_reach(), after an instruction that may have split the group: the lanes that have executed it
 * already wait at next. */
const Insn *group_rejoin(Warp *warp, const Insn *next);
/* The fuel is used up: the running group waits at pc, and the warp's turn ends. Returns NULL. */
const Insn *group_yield(Warp *warp, const Insn *pc);
/* The running group waits (its pc and state are set): runs the next one, or parks the warp. */
const Insn *group_next(Warp *warp);
/* Lanes of the running group exit; the group's other lanes go on at rest. */
const Insn *group_exit(Warp *warp, uint32_t lanes, const Insn *rest);
/* Makes the lanes of mask the only group of a new warp, at the kernel's first instruction. */
void group_start(Warp *warp, uint32_t mask);
/* Makes some lanes of the running group a group of their own, ready at pc, and returns that. The warp's
 * executing lanes (warp_set_mask) are the caller's to set, here and in group_fork(). */
Group *group_divide(Warp *warp, uint32_t mask, const Insn *pc);
/* As group_divide(), but the lanes join a group that waits at pc already, if there is one. */
void group_fork(Warp *warp, uint32_t mask, const Insn *pc);
/* Sets next_pc: after groups have become ready, or some were split off the running one. */
void group_refresh(Warp *warp);
/* Random scheduler: the running group waits at pc, any ready one runs next. */
const Insn *group_preempt(Warp *warp, const Insn *pc);

#endif
