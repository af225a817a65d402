/* What copies of many bytes by one lane have in common (bulk.c), of bytes and of tensors
 * (tensor_copy.c): they go to one place or to the same place of several blocks, and arrive at a barrier. */
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
    uint64_t barrier; /* where the bytes are counted, if insn->e is one */
    bool (*move)(const struct Bulk *x); /* to one place; false after a fault */
    const struct TensorCopy *tensor; /* NULL for bytes */
} Bulk;

/* `ranks`: with BULK_TO_BLOCKS the blocks of the cluster; false after a fault. */
bool bulk_deliver(const Bulk *bulk, uint32_t ranks);
/* Combines elements with what is there, by that atomic operation; OP_cp_bulk: copies them. */
void bulk_combine(unsigned op, uint8_t *to, const uint8_t *from, uint32_t bytes);
/* Whether bytes may be combined by that atomic operation. */
bool bulk_combines(unsigned op);

/* cp.async.bulk, cp.reduce.async.bulk: copies or combines, then complete_tx at an mbarrier, if given. */
const Insn *bulk_copy(Warp *warp, const Insn *insn);

#endif
