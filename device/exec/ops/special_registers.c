/* Special registers as rows. */
#include "exec/numbers/lanes.h"
#include "exec/state/clock.h"
#include "exec/state/grid.h"

/* name, element type, value: an expression in w, i and the lane l */
#define SREG(name, T, value) \
    HANDLER(sreg_##name, full) \
    { \
        T *d = ROW(T, w, i->d); \
        LANES_LOOP d[l] = (T)(value); \
        (void)w; \
        return i + 1; \
    } \
    HANDLER(sreg_##name, part) \
    { \
        T *d = ROW(T, w, i->d); \
        LANES_LOOP d[l] = w->lanes[l] ? (T)(value) : d[l]; \
        return i + 1; \
    }

/* Uniform: read once. */
#define SREG_UNIFORM(name, T, value) \
    HANDLER(sreg_##name, full) \
    { \
        T *d = ROW(T, w, i->d); \
        const T v = (T)(value); \
        LANES_LOOP d[l] = v; \
        return i + 1; \
    } \
    HANDLER(sreg_##name, part) \
    { \
        T *d = ROW(T, w, i->d); \
        const T v = (T)(value); \
        LANES_LOOP d[l] = w->lanes[l] ? v : d[l]; \
        return i + 1; \
    }

SREG(tid, uint32_t, w->rows[WARP_ROW_TID + i->imm].lane[l])
SREG(laneid, uint32_t, l)
SREG(lanemask_eq, uint32_t, lane_bit[l])
SREG(lanemask_le, uint32_t, lane_bit[l] | (lane_bit[l] - 1))
SREG(lanemask_lt, uint32_t, lane_bit[l] - 1)
SREG(lanemask_ge, uint32_t, ~(lane_bit[l] - 1))
SREG(lanemask_gt, uint32_t, ~(lane_bit[l] | (lane_bit[l] - 1)))

static const GridLaunch *launch_of(const Warp *w)
{
    return w->block->grid->launch;
}

static uint32_t at_least_one(uint32_t count) { return count ? count : 1; }

/* %envreg1 and %envreg2 are the halves of the address of a cooperative grid's workspace; the others are 0. */
static uint32_t envreg(const Warp *w, int64_t number)
{
    uint64_t address = launch_of(w)->cooperative ? (uintptr_t)w->block->grid->workspace : 0;
    return number == 1 ? (uint32_t)(address >> 32) : number == 2 ? (uint32_t)address : 0;
}

SREG_UNIFORM(ntid, uint32_t, launch_of(w)->block[i->imm])
SREG_UNIFORM(ctaid, uint32_t, w->block->id[i->imm])
SREG_UNIFORM(nctaid, uint32_t, launch_of(w)->grid[i->imm])
SREG_UNIFORM(cluster, uint32_t, cluster_place(w->block, (unsigned)i->imm))
SREG_UNIFORM(warpid, uint32_t, w->index)
SREG_UNIFORM(nwarpid, uint32_t, w->block->warp_count)
SREG_UNIFORM(smid, uint32_t, w->worker->index % at_least_one(launch_of(w)->multiprocessors))
SREG_UNIFORM(nsmid, uint32_t, at_least_one(launch_of(w)->device_multiprocessors))
SREG_UNIFORM(gridid, uint64_t, launch_of(w)->grid_id)
SREG_UNIFORM(current_graph_exec, uint64_t, launch_of(w)->runtime ? launch_of(w)->runtime->current_graph : 0)
SREG_UNIFORM(clock, uint32_t, exec_now_ns())
SREG_UNIFORM(clock_hi, uint32_t, exec_now_ns() >> 32)
SREG_UNIFORM(clock64, uint64_t, exec_now_ns())
SREG_UNIFORM(globaltimer, uint64_t, exec_now_ns())
SREG_UNIFORM(globaltimer_lo, uint32_t, exec_now_ns())
SREG_UNIFORM(globaltimer_hi, uint32_t, exec_now_ns() >> 32)
SREG_UNIFORM(dynamic_smem_size, uint32_t, launch_of(w)->dynamic_shared)
SREG_UNIFORM(total_smem_size, uint32_t, w->block->grid->shared_used)
SREG_UNIFORM(reserved_smem, uint32_t, w->block->shared_size - RESERVED_SHARED + (uint32_t)i->imm)
SREG_UNIFORM(envreg, uint32_t, envreg(w, i->imm))

static const Insn *is_explicit(Warp *w, const Insn *i)
{
    pred_store(w, i->d, cluster_place(w->block, CLUSTER_EXPLICIT) ? w->mask : 0);
    return i + 1;
}
HANDLER(sreg_is_explicit_cluster, full) { return is_explicit(w, i); }
HANDLER(sreg_is_explicit_cluster, part) { return is_explicit(w, i); }
