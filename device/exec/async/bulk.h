/* Bulk copies: many bytes by one lane, consecutive ones (bulk.c) or a box of a tensor (tensor_copy.c).
 * Both go to one place, or to the same offset in the shared memory of several blocks, and are counted by
 * an mbarrier. */
#ifndef DEVICE_EXEC_ASYNC_BULK_H
#define DEVICE_EXEC_ASYNC_BULK_H

#include "exec/state/warp.h"

/* One lane's copy. */
typedef struct Bulk {
    Warp *warp;
    const Insn *insn;
    int lane;
    uint32_t bytes;
    uint64_t source, target;
    uint64_t barrier; /* address of the mbarrier that counts the bytes; unused if insn->e is absent */
    bool (*move)(const struct Bulk *x); /* copies to x->target; false after a fault */
    const struct TensorCopy *tensor; /* NULL for bytes */
} Bulk;

/* Makes the copy and counts its bytes at the mbarrier. ranks, with BULK_TO_BLOCKS: bit r is set for a
 * copy to block r of the cluster. False after a fault. */
bool bulk_deliver(const Bulk *bulk, uint32_t ranks);
/* Combines the elements of `from` with those of `to` by the atomic operation op; copies them if op is
 * OP_cp_bulk. */
void bulk_combine(unsigned op, uint8_t *to, const uint8_t *from, uint32_t bytes);
/* Whether bulk_combine() has that atomic operation. */
bool bulk_combines(unsigned op);

/* cp.async.bulk, cp.reduce.async.bulk: copies or combines, then complete_tx at an mbarrier, if given. */
const Insn *bulk_copy(Warp *warp, const Insn *insn);

#endif
