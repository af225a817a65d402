/* cp.async: the copy is carried out when it is issued, which an asynchronous copy allows, so that waiting
 * for it does nothing. */
#include "exec/async/bulk.h"
#include "exec/async/mbarrier.h"
#include "exec/async/tensor_map.h"
#include "exec/checks/check.h"
#include "exec/ops/addresses.h"

#define BOTH(name, body) \
    HANDLER(name, full) { body } \
    HANDLER(name, part) { body }

/* How many bytes a lane reads; the rest of its element becomes zeros. */
LANE_FN uint32_t bytes_read(const Access *access, int l)
{
    const Insn *i = access->i;
    if (i->e != REF_ABSENT && PRED(access->w, i->e) >> l & 1) return 0;
    return i->c == REF_ABSENT ? access->size : ROW(const uint32_t, access->w, i->c)[l];
}

/* One lane's copy; false after a fault. */
LANE_FN bool copy_lane(const Access *access, int l)
{
    const uint64_t from = ROW(const uint64_t, access->w, access->i->a)[l];
    const uint64_t to = access->i->mods & MEM_ADDR32 ? ROW(const uint32_t, access->w, access->i->b)[l]
                                                : ROW(const uint64_t, access->w, access->i->b)[l];
    const uint32_t count = bytes_read(access, l);
    uint8_t element[16] = {0};
    if (count > access->size) {
        exec_fault(access->w, access->i, l, CUDA_ERROR_LAUNCH_FAILED, "cp.async of %u bytes reads %u",
                   access->size, count);
        return false;
    }
    if (count) {
        const uint8_t *p = at_generic(access, from, count);
        if (!p && !(p = fault_generic(access, l, from))) return false;
        if (access->w->block->checker && !check_reach(access->w, access->i, l, p, count, ACCESS_READ))
            return false;
        memcpy(element, p, count);
    }
    const Reach reach = {
        .address = to, .bytes = access->size, .unit = access->size, .shared = true, .write = true};
    uint8_t *place = range_reach(access->w, access->i, l, &reach);
    if (place && access->w->block->checker
        && !(check_reach(access->w, access->i, l, place, access->size, ACCESS_WRITE)
             && check_note_copy(access->w, access->i, l, place, access->size)))
        return false;
    if (place) memcpy(place, element, access->size);
    return place != NULL;
}

static const Insn *copy_lanes(Warp *w, const Insn *i)
{
    const Access x = {w, i, 1u << (i->mods & MEM_COUNT), false};
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        if (!copy_lane(&x, __builtin_ctz(rest))) return NULL;
    }
    return i + 1;
}

BOTH(cp_async, return copy_lanes(w, i);)
BOTH(cp_async_end, check_copies_end(w, w->mask, (uint32_t)i->imm); return i + 1;)
BOTH(cp_bulk, return bulk_copy(w, i);)
BOTH(cp_bulk_reduce, return bulk_copy(w, i);)
BOTH(cp_tensor, return tensor_copy(w, i);)
BOTH(tensormap_replace, return tensor_map_replace(w, i);)
BOTH(tensormap_copy, return tensor_map_copy(w, i);)
BOTH(mbarrier_init, return mbarrier_init(w, i);)
BOTH(mbarrier_inval, return mbarrier_inval(w, i);)
BOTH(mbarrier_tx, return mbarrier_tx(w, i);)
BOTH(mbarrier_arrive, return mbarrier_arrive(w, i);)
BOTH(mbarrier_wait, return mbarrier_wait(w, i);)
BOTH(mbarrier_pending, return mbarrier_pending(w, i);)
