/* cp.async.bulk and cp.reduce.async.bulk: a lane moves many bytes between global and shared memory, to
 * several blocks of the cluster at once, or combines them with what is there. Done when it is issued, like
 * cp.async. */
#include "exec/async/bulk.h"

#include <string.h>

#include "exec/async/mbarrier.h"
#include "exec/checks/check.h"
#include "exec/numbers/atomic.h"
#include "exec/state/ranges.h"

enum { BULK_UNIT_BYTES = 16 };

/* --- elements ------------------------------------------------------------------------------------------ */

/* Each element is replaced atomically, because other workers may combine with the same global memory. */
#define COMBINE_FN(name, T, value) \
    static void combine_##name(uint8_t *to, const uint8_t *from, uint32_t bytes) \
    { \
        const bool shared = \
            true; /* unlike red on global memory it keeps subnormal numbers, as an H200 does */ \
        (void)shared; \
        for (uint32_t at = 0; at < bytes; at += sizeof(T)) { \
            T *place = (T *)(void *)(to + at), x = __atomic_load_n(place, __ATOMIC_RELAXED), b; \
            memcpy(&b, from + at, sizeof b); \
            while (!__atomic_compare_exchange_n(place, &x, (T)(value), true, __ATOMIC_ACQ_REL, \
                                                __ATOMIC_RELAXED)) {} \
        } \
    }
#define ATOMIC(name, bits, value) COMBINE_FN(name, uint##bits##_t, value)
#include "exec/numbers/atomic.def"
#undef ATOMIC

void bulk_combine(unsigned op, uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    switch (op) {
#define ATOMIC(name, bits, value) \
    case OP_atom_##name: combine_##name(to, from, bytes); break;
#include "exec/numbers/atomic.def"
    default: memmove(to, from, bytes);
    }
}

bool bulk_combines(unsigned op)
{
    switch (op) {
#undef ATOMIC
#define ATOMIC(name, bits, value) case OP_atom_##name:
#include "exec/numbers/atomic.def"
        return true;
    default: return false;
    }
}

/* --- copies -------------------------------------------------------------------------------------------- */

static bool copy_or_reduce(const Bulk *bulk)
{
    const Reach source = {.address = bulk->source,
                          .bytes = bulk->bytes,
                          .unit = BULK_UNIT_BYTES,
                          .shared = bulk->insn->mods & BULK_FROM_SHARED};
    const Reach target = {.address = bulk->target,
                          .bytes = bulk->bytes,
                          .unit = BULK_UNIT_BYTES,
                          .shared = bulk->insn->mods & BULK_TO_SHARED,
                          .write = true};
    bool combines = bulk->insn->op == OP_cp_bulk_reduce;
    const uint8_t *from = range_reach(bulk->warp, bulk->insn, bulk->lane, &source);
    uint8_t *to = from ? range_reach(bulk->warp, bulk->insn, bulk->lane, &target) : NULL;
    if (!to) return false;
    if (bulk->warp->block->checker
        && (!check_reach(bulk->warp, bulk->insn, bulk->lane, from, bulk->bytes, ACCESS_READ)
            || !check_reach(bulk->warp, bulk->insn, bulk->lane, to, bulk->bytes,
                            combines ? ACCESS_ATOMIC : ACCESS_WRITE)))
        return false;
    bulk_combine(combines ? (unsigned)bulk->insn->imm : OP_cp_bulk, to, from, bulk->bytes);
    return true;
}

/* Copies to one place and counts the bytes at the mbarrier. */
static bool deliver_at(const Bulk *bulk)
{
    if (bulk->bytes && !bulk->move(bulk)) return false;
    return bulk->insn->e == REF_ABSENT
           || mbarrier_receive(bulk->warp, bulk->insn, bulk->lane, bulk->barrier, bulk->bytes);
}

/* Copies to the same offsets in the shared memory of each block in `ranks`, and counts the bytes at the
 * mbarrier at the same offset in that block. */
static bool deliver_to_blocks(const Bulk *bulk, uint32_t ranks)
{
    const Cluster *cluster = bulk->warp->block->cluster;
    uint64_t target, barrier;
    for (; ranks; ranks &= ranks - 1) {
        Bulk one = *bulk;
        uint32_t rank = (uint32_t)__builtin_ctz(ranks);
        if (rank >= cluster->size) {
            exec_fault(bulk->warp, bulk->insn, bulk->lane, CUDA_ERROR_LAUNCH_FAILED,
                       "a copy to block %u of a cluster of %u", rank, cluster->size);
            return false;
        }
        if (cluster_block_of(bulk->warp->block, bulk->target, &target))
            one.target = cluster_address(cluster->blocks[rank], target);
        if (cluster_block_of(bulk->warp->block, bulk->barrier, &barrier))
            one.barrier = cluster_address(cluster->blocks[rank], barrier);
        if (!deliver_at(&one)) return false;
    }
    return true;
}

bool bulk_deliver(const Bulk *bulk, uint32_t ranks)
{
    enum { RANKS = (1 << MAX_CLUSTER) - 1 };
    return bulk->insn->mods & BULK_TO_BLOCKS ? deliver_to_blocks(bulk, ranks & RANKS) : deliver_at(bulk);
}

static bool copy_lane(Warp *warp, const Insn *insn, int lane)
{
    uint32_t bytes = ROW(const uint32_t, warp, insn->c)[lane];
    if (bytes % BULK_UNIT_BYTES) {
        exec_fault(warp, insn, lane, CUDA_ERROR_LAUNCH_FAILED,
                   "a copy of %u bytes, which is not a multiple of %d", bytes, BULK_UNIT_BYTES);
        return false;
    }
    const Bulk x = {.warp = warp,
                    .insn = insn,
                    .lane = lane,
                    .bytes = bytes,
                    .source = ROW(const uint64_t, warp, insn->a)[lane],
                    .target = ROW(const uint64_t, warp, insn->b)[lane],
                    .barrier = ROW(const uint64_t, warp, insn->e)[lane],
                    .move = copy_or_reduce};
    bool several = insn->mods & BULK_TO_BLOCKS;
    Ref ranks = several ? warp->current->function->refs[insn->more] : REF_ABSENT;
    return bulk_deliver(&x, several ? ROW(const uint32_t, warp, ranks)[lane] : 0);
}

const Insn *bulk_copy(Warp *warp, const Insn *insn)
{
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1)
        if (!copy_lane(warp, insn, __builtin_ctz(rest))) return NULL;
    return insn + 1;
}
