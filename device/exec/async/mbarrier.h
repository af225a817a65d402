/* mbarrier objects in shared memory, 64 bits each: the pending count and the pending bytes (tx-count) of the
 * current phase, the expected count of a phase, and the phase's parity.
 *
 * A thread that waits for a phase is parked like one at a block's barrier, and released by the arrival that
 * completes it. Waits time out, as try_wait may: where nothing else can run they return false. Only a block
 * that has done nothing but time out for long is deadlocked. */
#ifndef DEVICE_EXEC_ASYNC_MBARRIER_H
#define DEVICE_EXEC_ASYNC_MBARRIER_H

#include "exec/state/warp.h"

/* Insn.mods. */
enum {
    MBARRIER_DROP = 1 << 8, /* arrive: the threads take no part in later phases */
    MBARRIER_NO_COMPLETE = 1 << 9, /* arrive: the phase does not end by this */
    MBARRIER_EXPECT = 1 << 10, /* arrive: of one thread, after it expects bytes */
    MBARRIER_COMPLETE = 1 << 8, /* tx */
    MBARRIER_PARITY = 1 << 8, /* wait */
    BULK_FROM_SHARED = 1 << 8, /* cp_bulk: offsets in shared memory, else generic addresses */
    BULK_TO_SHARED = 1 << 9,
    BULK_TO_BLOCKS = 1 << 10 /* to blocks of the cluster: refs[more] is a row with a mask of ranks */
};

const Insn *mbarrier_init(Warp *warp, const Insn *insn);
const Insn *mbarrier_inval(Warp *warp, const Insn *insn);
const Insn *mbarrier_tx(Warp *warp, const Insn *insn);
const Insn *mbarrier_arrive(Warp *warp, const Insn *insn);
const Insn *mbarrier_wait(Warp *warp, const Insn *insn);
const Insn *mbarrier_pending(Warp *warp, const Insn *insn);

/* complete_tx: counts bytes of a lane's copy as arrived at the mbarrier, which any block of the cluster may
 * have. False after a fault. */
bool mbarrier_receive(Warp *warp, const Insn *insn, int lane, uint64_t address, uint32_t bytes);

/* Times out the waits of the block's parked groups; true when there were any. */
bool mbarrier_expire(Block *block);

#endif
