/* mbarrier objects in shared memory, 64 bits each: the pending count and the pending bytes (tx-count) of the
 * current phase, the expected count of a phase, and the phase's parity.
 *
 * A group that waits for a phase is parked like one at a block's barrier, and released by the arrival
 * that completes the phase. Waits may time out, as the PTX manual allows for try_wait: when nothing else
 * can run they return false. A block is deadlocked only if for a long time nothing has happened in it but
 * such timeouts. */
#ifndef DEVICE_EXEC_ASYNC_MBARRIER_H
#define DEVICE_EXEC_ASYNC_MBARRIER_H

#include "exec/state/warp.h"

/* Insn.mods of mbarrier_arrive. */
enum {
    MBARRIER_DROP = 1 << 8, /* the threads take no part in later phases */
    MBARRIER_NO_COMPLETE = 1 << 9, /* it is a fault if this would complete the phase */
    MBARRIER_EXPECT = 1 << 10 /* the operand is a number of bytes to expect; then one thread arrives */
};
/* Insn.mods of mbarrier_tx. */
enum { MBARRIER_COMPLETE = 1 << 8 /* complete_tx, else expect_tx */ };
/* Insn.mods of mbarrier_wait. */
enum { MBARRIER_PARITY = 1 << 8 /* the phase is given by its parity, else by a state */ };
/* Insn.mods of cp_bulk, cp_bulk_reduce and cp_tensor. */
enum {
    BULK_FROM_SHARED = 1 << 8, /* the source is an offset in shared memory, else a generic address */
    BULK_TO_SHARED = 1 << 9, /* the same for the target */
    BULK_TO_BLOCKS = 1 << 10 /* to blocks of the cluster: refs[more] is a row with a mask of ranks */
};

/* The handlers of the operations with these names. */
const Insn *mbarrier_init(Warp *warp, const Insn *insn);
const Insn *mbarrier_inval(Warp *warp, const Insn *insn);
const Insn *mbarrier_tx(Warp *warp, const Insn *insn);
const Insn *mbarrier_arrive(Warp *warp, const Insn *insn);
const Insn *mbarrier_wait(Warp *warp, const Insn *insn);
const Insn *mbarrier_pending(Warp *warp, const Insn *insn);

/* complete_tx: counts the bytes of a lane's copy at the mbarrier at that address, which may be in the
 * shared memory of any block of the cluster. False after a fault. */
bool mbarrier_receive(Warp *warp, const Insn *insn, int lane, uint64_t address, uint32_t bytes);

/* Lets all waits of the block's groups time out; true when there were any. */
bool mbarrier_expire(Block *block);

#endif
