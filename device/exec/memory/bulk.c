/* cp.async.bulk: a lane copies many bytes between global and shared memory. Done when it is issued, like
 * cp.async. */
#include <string.h>

#include "exec/checks/check.h"
#include "exec/memory/mbarrier.h"

enum { BULK_UNIT = 16 };

static bool copy_lane(Warp *warp, const Insn *insn, int lane)
{
    uint32_t bytes = ROW(const uint32_t, warp, insn->c)[lane];
    if (bytes % BULK_UNIT) {
        exec_fault(warp, insn, lane, CUDA_ERROR_LAUNCH_FAILED,
                   "a copy of %u bytes, which is no multiple of %d", bytes, BULK_UNIT);
        return false;
    }
    if (bytes) {
        const Reach source = {.address = ROW(const uint64_t, warp, insn->a)[lane],
                              .bytes = bytes,
                              .unit = BULK_UNIT,
                              .shared = insn->mods & BULK_FROM_SHARED};
        const Reach target = {.address = ROW(const uint64_t, warp, insn->b)[lane],
                              .bytes = bytes,
                              .unit = BULK_UNIT,
                              .shared = insn->mods & BULK_TO_SHARED,
                              .write = true};
        const uint8_t *from = range_reach(warp, insn, lane, &source);
        uint8_t *to = from ? range_reach(warp, insn, lane, &target) : NULL;
        if (!to) return false;
        if (warp->block->checker
            && (!check_reach(warp, insn, lane, from, bytes, ACCESS_READ)
                || !check_reach(warp, insn, lane, to, bytes, ACCESS_WRITE)))
            return false;
        memmove(to, from, bytes);
    }
    if (insn->e == REF_ABSENT) return true;
    return mbarrier_receive(warp, insn, lane, ROW(const uint64_t, warp, insn->e)[lane], bytes);
}

const Insn *bulk_copy(Warp *warp, const Insn *insn)
{
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1)
        if (!copy_lane(warp, insn, __builtin_ctz(rest))) return NULL;
    return insn + 1;
}
