/* Barriers of a block and of a cluster. Functions that return an instruction: the one to go on with, or NULL
 * when the warp must wait or an instruction faulted. */
#ifndef DEVICE_EXEC_CONTROL_BARRIER_H
#define DEVICE_EXEC_CONTROL_BARRIER_H

#include "exec/state/block.h"

/* bar.sync, bar.red and bar.arrive for the running group. */
const Insn *barrier_arrive(Warp *warp, const Insn *insn);
/* After threads of the block have exited: completes the barriers that waited for these alone. */
void barrier_exit(Block *block);

/* barrier.cluster.arrive and barrier.cluster.wait for the running group. */
const Insn *cluster_arrive(Warp *warp, const Insn *insn);
const Insn *cluster_wait(Warp *warp, const Insn *insn);
/* After lanes of the warp have exited: the cluster's barrier no longer counts them. */
void cluster_exit(Warp *warp, uint32_t lanes);

#endif
