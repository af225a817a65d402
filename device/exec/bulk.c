/* cp.async.bulk: a lane copies many bytes between global and shared memory. Done at once, like all copies that a
 * program takes for asynchronous. */
#include <string.h>

#include "exec/mbarrier.h"

enum { BULK_UNIT = 16 };

/* The host's address of one end of the copy; NULL and a fault where there is none. */
static uint8_t *end_of(Warp *warp, const Insn *insn, int lane, Ref row, uint32_t bytes, bool shared, bool write)
{
    const Block *block = warp->block;
    uint64_t address = ROW(const uint64_t, warp, row)[lane];
    bool aligned = address % BULK_UNIT == 0;
    if (shared) {
        if (aligned && address <= block->shared_size && address + bytes <= block->shared_size)
            return block->shared + address;
        exec_fault_window(warp, insn, lane, "shared", address, BULK_UNIT, block->shared_size, write);
        return NULL;
    }
    if (aligned && range_find(warp, insn, address, bytes, write)) return (uint8_t *)(uintptr_t)address;
    exec_fault_access(warp, insn, lane, address, BULK_UNIT, write);
    return NULL;
}

static bool copy_lane(Warp *warp, const Insn *insn, int lane)
{
    uint32_t bytes = ROW(const uint32_t, warp, insn->c)[lane];
    if (bytes % BULK_UNIT) {
        exec_fault(warp, insn, lane, 719, "a copy of %u bytes, which is no multiple of %d", bytes, BULK_UNIT);
        return false;
    }
    if (bytes) {
        const uint8_t *from =
            end_of(warp, insn, lane, insn->a, bytes, (insn->mods & BULK_FROM_SHARED) != 0, false);
        uint8_t *to =
            from ? end_of(warp, insn, lane, insn->b, bytes, (insn->mods & BULK_TO_SHARED) != 0, true) : NULL;
        if (!to) return false;
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
