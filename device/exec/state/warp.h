/* The state of a running warp: what every handler sees.
 *
 * Registers are rows of 32 lanes. A warp is a short list of groups of lanes, each with its own pc, call depth
 * and frame; the group that runs is kept unpacked in the warp (mask, lanes, base), the others wait in the
 * list.
 */
#ifndef DEVICE_EXEC_STATE_WARP_H
#define DEVICE_EXEC_STATE_WARP_H

#include "exec/code/code.h"

#define FULL_MASK 0xffffffffu

/* Time slices (Warp.fuel), in backward branches: of plain loops, of loops with atomic operations, of
 * loops that seem to wait for a value, of a loop that sleeps. */
enum { FUEL_PLAIN = 16384, FUEL_ATOMIC = 64, FUEL_SPIN = 16, FUEL_SLEEP = 1 };

typedef struct Block Block;
typedef struct Worker Worker;

typedef enum {
    GROUP_READY,    /* may run */
    GROUP_BARRIER,  /* waits at a block barrier */
    GROUP_SYNC,     /* waits at a .sync collective for the lanes of its member mask */
    GROUP_MBARRIER, /* waits for a phase of an mbarrier in shared memory */
    GROUP_CLUSTER,  /* waits at the cluster's barrier */
    GROUP_SLEEP     /* waits until a time: nanosleep */
} GroupState;

/* Lanes of a warp that are at one instruction, in one frame. A group runs, is ready, or waits as its
 * state says; what it waits for makes it GROUP_READY again. */
typedef struct Group {
    const Insn *pc;
    uint32_t mask;         /* lanes, never 0 */
    uint32_t depth;        /* call depth */
    uint32_t frame;        /* byte offset of its frame in the warp's register file */
    uint32_t local;        /* byte offset of its frame in each lane's local memory */
    uint32_t dynamic;      /* bytes of alloca, taken from the top of each lane's local memory */
    const CodeFunction *function;
    GroupState state;
    union {                /* what it waits for, by its state */
        uint32_t member_mask; /* GROUP_SYNC: of the collective */
        uint32_t barrier;     /* GROUP_BARRIER: the barrier's number */
        uint32_t mbarrier;    /* GROUP_MBARRIER: the offset of the mbarrier in shared memory */
        uint64_t wake_at;     /* GROUP_SLEEP: the time */
    };
    uint32_t waited;       /* Warp.turn when it began to wait: the least has waited longest */
} Group;

struct Warp {
    /* hot: read by every handler */
    uint8_t *base[REF_BASES]; /* by REF_*, less that number's bits in a Ref: see warp_set_base */
    uint32_t mask; /* lanes that execute now */
    uint32_t full; /* mask == FULL_MASK: index into Insn.run */
    _Alignas(64) int32_t lanes[WARP_LANES]; /* mask expanded: -1 for a lane that executes, else 0 */

    Block *block;
    Worker *worker;
    Group *current; /* its mask is the group's whole mask, also inside a guarded instruction */
    uint32_t live; /* lanes that have not exited */
    uint32_t index; /* %warpid within the block */
    uint32_t carry; /* CC.CF of each lane (add.cc, addc, sub.cc, madc ...) */
    uint32_t arrived, complete; /* lanes between arrival and wait at the cluster's barrier: the phase is open,
                                   or complete */
    uint32_t fuel; /* time slice: backward branches left before another group or warp gets its turn */
    uintptr_t next_pc; /* lowest pc of the waiting groups at this depth: labels compare with it */
    uint32_t turn; /* counts switches, for Group.waited */
    bool pinned; /* the current group keeps running although another has a lower pc: fairness */
    bool randomized; /* random scheduler: every lane is a group of its own, never merged, picked at random */
    bool started; /* has run */
    bool parked; /* no group is ready: what releases one clears this */
    bool done; /* all lanes have exited */
    bool spinning; /* gave its turn up in a spin wait */
    bool watching; /* in this turn, read memory that others may write */
    Group groups[WARP_LANES];
    uint32_t group_count;
    uint32_t erred; /* lanes with an error of the device runtime that has not been read yet */
    uint16_t last_error[WARP_LANES]; /* of those lanes */
    struct WarpStore *store; /* lends registers and local memory while the warp lives */
    uint8_t *registers;
    size_t registers_size; /* the register file, grows with the call depth */
    uint8_t *local;
    size_t local_stride; /* lane l's local memory starts at local + l * local_stride */
    _Alignas(64) SpecialRow rows[WARP_ROWS]; /* by enum WarpRow */
};

/* Calls. A callee's frame starts WARP_CALL_HEADER bytes after the end of its caller's; the header keeps the
 * lanes' return addresses. Scalar arguments and results may be kept in rows at fixed offsets from the
 * callee's frame start: the caller addresses row r of the callee as REF_FRAME offset (own frame_size +
 * WARP_CALL_HEADER + r), before the call (arguments) and right after it (results). The first WARP_CALL_ROWS
 * bytes of a callee's frame may be addressed so. The callee's local frame starts at the end of the caller's
 * (local_size), so byte k of it is the caller's ld_local/st_local offset local_size + k: arguments in memory
 * go there. */
enum { WARP_CALL_HEADER = 768, WARP_CALL_ROWS = 16384 };

/* Keeps the base less the bits that choose it in a Ref, so that an operand's address is one addition. */
static inline void warp_set_base(Warp *warp, uint32_t base, const void *rows)
{
    warp->base[base] = (uint8_t *)((uintptr_t)rows - REF_MAKE(base, 0));
}
static inline uint8_t *warp_base(const Warp *warp, uint32_t base)
{
    return (uint8_t *)((uintptr_t)warp->base[base] + REF_MAKE(base, 0));
}

/* The row of an operand, or its rows (128 bits have two, 16-bit vectors more). */
static inline void *ref_rows(const Warp *warp, Ref ref)
{
    return (void *)((uintptr_t)warp->base[ref >> REF_BASE_SHIFT] + ref);
}
#define ROW(type, warp, ref) ((type *)__builtin_assume_aligned(ref_rows(warp, ref), 64))
#define PRED(warp, ref) (*(uint32_t *)ref_rows(warp, ref))

/* Most masks are full, and not every processor this is built for counts bits in one instruction. */
static inline uint32_t lane_count(uint32_t mask)
{
    return mask == FULL_MASK ? WARP_LANES : (uint32_t)__builtin_popcount(mask);
}

/* Makes mask the executing lanes: sets mask, full and lanes. */
static inline void warp_set_mask(Warp *warp, uint32_t mask)
{
    warp->mask = mask;
    warp->full = mask == FULL_MASK;
    for (int l = 0; l < WARP_LANES; l++) warp->lanes[l] = -(int32_t)((mask >> l) & 1);
}

/* The lanes for which the predicate operand holds. */
static inline uint32_t pred_lanes(const Warp *warp, Ref ref, uint32_t mods)
{
    uint32_t word = PRED(warp, ref);
    return (mods & MODS_NEGATE) ? ~word : word;
}

/* The running loop may be a spin wait: its time slice ends sooner. */
static inline void warp_rest(Warp *warp, uint32_t fuel)
{
    if (warp->fuel > fuel) warp->fuel = fuel;
    warp->spinning = true;
}

/* As warp_rest(), for a loop that reads memory which another thread may write. */
static inline void warp_may_spin(Warp *warp, uint32_t fuel)
{
    warp_rest(warp, fuel);
    warp->watching = true;
}

#endif
