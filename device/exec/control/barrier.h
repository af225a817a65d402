/* Barriers of a block and of a cluster. */
#ifndef DEVICE_EXEC_CONTROL_BARRIER_H
#define DEVICE_EXEC_CONTROL_BARRIER_H

#include "exec/state/block.h"

const Insn *barrier_arrive(Warp *warp, const Insn *insn);
void barrier_exit(Block *block);

const Insn *cluster_arrive(Warp *warp, const Insn *insn);
const Insn *cluster_wait(Warp *warp, const Insn *insn);
/* Lanes of a warp end. */
void cluster_exit(Warp *warp, uint32_t lanes);

#endif
