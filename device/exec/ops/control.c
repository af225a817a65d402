/* Branches, calls, exits, guards, barriers: the ops that choose what runs next.
 *
 * A branch that all lanes take alike is a jump. All other cases are handled in exec/control/.
 */
#include <stdatomic.h>

#include "exec/numbers/lanes.h"
#include "exec/control/barrier.h"
#include "exec/control/calls.h"
#include "exec/control/group.h"
#include "exec/control/sleep.h"
#include "exec/runtime/runtime.h"
#include "exec/state/grid.h"

#define BOTH(name, body) \
    HANDLER(name, full) { body } \
    HANDLER(name, part) { body }

/* The executing lanes for which an optional predicate operand holds; all of them if it is absent. */
LANE_FN uint32_t guarded_lanes(const Warp *w, const Insn *i, Ref ref)
{
    return ref == REF_ABSENT ? w->mask : pred_lanes(w, ref, i->mods) & w->mask;
}

/* Runs the next instruction for `lanes` of the executing lanes. */
static const Insn *run_guarded(Warp *w, const Insn *i, uint32_t lanes)
{
    uint32_t mask = w->mask;
    const Insn *next;
    if (lanes == mask) return i[1].run[w->full](w, i + 1);
    if (!lanes) return i + 2;
    warp_set_mask(w, lanes);
    next = i[1].run[0](w, i + 1);
    warp_set_mask(w, mask);
    return next;
}

BOTH(guard, return run_guarded(w, i, pred_lanes(w, i->a, i->mods) & w->mask);)

BOTH(label, return (uintptr_t)i < w->next_pc ? i + 1 : group_reach(w, i);)

BOTH(bra, (void)w; return i->target;)

BOTH(bra_back, return --w->fuel == 0 ? group_yield(w, i->target) : i->target;)

/* A branch that some of the executing lanes take (`taken`). Where only a few instructions are jumped over
 * (BRA_OVER), the other lanes run these at once, as if they were guarded, and the group is not divided. */
static const Insn *diverge_lanes(Warp *w, const Insn *i, uint32_t taken)
{
    const uint32_t mask = w->mask;
    const Insn *next = i + 1;
    if (!(i->mods & BRA_OVER)) return group_split(w, next, i->target, taken);
    warp_set_mask(w, mask & ~taken);
    while (next && next < i->target) next = next->run[0](w, next);
    warp_set_mask(w, mask);
    return next;
}

HANDLER(bra_p, full)
{
    uint32_t taken = pred_lanes(w, i->a, i->mods);
    if (taken == 0) return i + 1;
    if (taken == FULL_MASK) return i->target;
    return diverge_lanes(w, i, taken);
}

HANDLER(bra_p, part)
{
    uint32_t taken = pred_lanes(w, i->a, i->mods) & w->mask;
    if (taken == 0) return i + 1;
    if (taken == w->mask) return i->target;
    return diverge_lanes(w, i, taken);
}

static const Insn *branch_back(Warp *w, const Insn *i)
{
    uint32_t taken = pred_lanes(w, i->a, i->mods) & w->mask;
    const Insn *next = i->target;
    if (taken == 0) return i + 1;
    if (taken != w->mask) next = group_split(w, i + 1, i->target, taken);
    return --w->fuel == 0 ? group_yield(w, next) : next;
}

BOTH(bra_p_back, return branch_back(w, i);)

BOTH(brx_idx, return call_table(w, i);)

static const Insn *call_some(Warp *w, const Insn *i)
{
    uint32_t lanes = guarded_lanes(w, i, i->a);
    return lanes ? call_enter(w, i, i->pointer, lanes) : i + 1;
}

static const Insn *call_address(Warp *w, const Insn *i)
{
    uint32_t lanes = guarded_lanes(w, i, i->b);
    return lanes ? call_indirect(w, i, lanes) : i + 1;
}

static const Insn *return_some(Warp *w, const Insn *i)
{
    uint32_t lanes = guarded_lanes(w, i, i->a);
    return lanes ? call_return(w, i, lanes) : i + 1;
}

static const Insn *exit_some(Warp *w, const Insn *i)
{
    uint32_t lanes = guarded_lanes(w, i, i->a);
    return lanes ? group_exit(w, lanes, i + 1) : i + 1;
}

BOTH(call, return call_some(w, i);)
BOTH(call_indirect, return call_address(w, i);)
BOTH(ret, return return_some(w, i);)
BOTH(exit, return exit_some(w, i);)

BOTH(trap, return exec_fault(w, i, __builtin_ctz(w->mask), CUDA_ERROR_LAUNCH_FAILED, "trap");)
BOTH(brkpt, return exec_fault(w, i, __builtin_ctz(w->mask), CUDA_ERROR_LAUNCH_FAILED,
                              "brkpt, and no debugger is attached");)

BOTH(nanosleep, return sleep_enter(w, i);)

BOTH(bar_sync, return barrier_arrive(w, i);)
BOTH(bar_arrive, return barrier_arrive(w, i);)
BOTH(bar_red_popc, return barrier_arrive(w, i);)
BOTH(bar_red_and, return barrier_arrive(w, i);)
BOTH(bar_red_or, return barrier_arrive(w, i);)
BOTH(cluster_arrive, return cluster_arrive(w, i);)
BOTH(cluster_wait, return cluster_wait(w, i);)

BOTH(fence, (void)w; atomic_thread_fence(memory_order_acq_rel); return i + 1;)
BOTH(fence_sc, (void)w; atomic_thread_fence(memory_order_seq_cst); return i + 1;)

BOTH(prefetch, (void)w; return i + 1;)

BOTH(call_vprintf, return print_formatted(w, i);)
BOTH(call_assertfail, return print_assert(w, i);)

static const Insn *malloc_lanes(Warp *w, const Insn *i)
{
    DeviceHeap *heap = w->block->grid->launch->heap;
    const uint64_t *size = ROW(const uint64_t, w, i->a), *align = ROW(const uint64_t, w, i->b);
    uint64_t *d = ROW(uint64_t, w, i->d);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        d[l] = heap ? device_heap_alloc(heap, size[l], i->b == REF_ABSENT ? 16 : align[l]) : 0;
    }
    return i + 1;
}

static const Insn *free_lanes(Warp *w, const Insn *i)
{
    DeviceHeap *heap = w->block->grid->launch->heap;
    const uint64_t *address = ROW(const uint64_t, w, i->a);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (address[l] && !(heap && device_heap_free(heap, address[l])))
            return exec_fault(w, i, l, CUDA_ERROR_LAUNCH_FAILED,
                              "free of 0x%llx, which malloc did not return or which is free already",
                              (unsigned long long)address[l]);
    }
    return i + 1;
}

BOTH(call_malloc, return malloc_lanes(w, i);)
BOTH(call_free, return free_lanes(w, i);)
BOTH(call_runtime, return runtime_call(w, i);)
