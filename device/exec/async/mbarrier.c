/* mbarrier objects. Lanes arrive one after another; the memory belongs to the cluster's worker alone. */
#include "exec/async/mbarrier.h"
#include "exec/checks/check.h"
#include "exec/control/group.h"
#include "exec/state/ranges.h"

#include <string.h>

/* The word of an mbarrier, from the lowest bit: threads of a phase, threads that have not arrived, bytes
 * that have not (signed), a validity bit, the phase's parity. */
enum { COUNT_BITS = 20, TX_BITS = 22, PENDING_SHIFT = COUNT_BITS, TX_SHIFT = 2 * COUNT_BITS };
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)
#define TX_MASK ((UINT64_C(1) << TX_BITS) - 1)
#define VALID (UINT64_C(1) << 62)
#define PHASE (UINT64_C(1) << 63)
enum { MAX_COUNT = (1 << 20) - 1 };

typedef struct Mbarrier {
    uint32_t threads, pending;
    int32_t tx;
    bool valid, parity;
} Mbarrier;

static Mbarrier unpack_state(uint64_t word)
{
    int32_t tx = (int32_t)(word >> TX_SHIFT & TX_MASK);
    return (Mbarrier){.threads = (uint32_t)(word & COUNT_MASK),
                      .pending = (uint32_t)(word >> PENDING_SHIFT & COUNT_MASK),
                      .tx = tx >> (TX_BITS - 1) ? tx - (1 << TX_BITS) : tx,
                      .valid = word & VALID,
                      .parity = word & PHASE};
}

static uint64_t pack_state(const Mbarrier *m)
{
    return m->threads | (uint64_t)m->pending << PENDING_SHIFT
           | ((uint64_t)(int64_t)m->tx & TX_MASK) << TX_SHIFT | (m->valid ? VALID : 0)
           | (m->parity ? PHASE : 0);
}

/* The mbarrier that a lane's instruction addresses: the block that has it, its offset in that block's
 * shared memory, and its state between fetch() and store_state(). */
typedef struct Place {
    Warp *warp;
    const Insn *insn;
    int lane;
    Block *block;
    uint64_t offset;
    Mbarrier state;
} Place;

/* A lane's address operand as an address in the cluster's shared memory (cluster.h). */
static uint64_t mbarrier_address(const Warp *warp, const Insn *insn, int lane)
{
    uint64_t address = insn->mods & MEM_ADDR32 ? ROW(const uint32_t, warp, insn->a)[lane]
                                               : ROW(const uint64_t, warp, insn->a)[lane];
    address = memory_offset(insn, address);
    if (insn->mods & MEM_SHARED) return address;
    const Block *holder = cluster_holder(warp->block, address);
    if (!holder || holder == warp->block) return address - (uintptr_t)warp->block->shared;
    return cluster_address(holder, address - (uintptr_t)holder->shared);
}

/* Finds the block and the offset of an mbarrier at that address. False after a fault: none can be there. */
static bool find_place(Place *p, uint64_t address)
{
    enum { BARRIER_BYTES = sizeof(uint64_t) };
    const Reach reach = {
        .address = address, .bytes = BARRIER_BYTES, .unit = BARRIER_BYTES, .shared = true, .write = true};
    if (!range_look(p->warp, p->insn, &reach)) {
        if (range_reach(p->warp, p->insn, p->lane, &reach))
            exec_fault(p->warp, p->insn, p->lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                       "without its mbarrier the kernel cannot go on");
        return false;
    }
    p->block = cluster_block_of(p->warp->block, address, &p->offset);
    return true;
}

static bool locate(Place *p) { return find_place(p, mbarrier_address(p->warp, p->insn, p->lane)); }

static bool read_state(Place *p)
{
    uint64_t word;
    memcpy(&word, p->block->shared + p->offset, sizeof word);
    p->state = unpack_state(word);
    if (p->state.valid) return true;
    exec_fault(p->warp, p->insn, p->lane, CUDA_ERROR_LAUNCH_FAILED,
               "the mbarrier at offset 0x%llx of shared memory was not initialized, or overwritten",
               (unsigned long long)p->offset);
    return false;
}

/* Checks the access for races and the like, if the block is checked. False after a fault. */
static bool check_access_to(const Place *p, AccessKind kind)
{
    const Block *block = p->block;
    return !block->checker
           || check_reach(p->warp, p->insn, p->lane, block->shared + p->offset, sizeof(uint64_t), kind);
}

/* Reads the mbarrier that the lane addresses. False after a fault. */
static bool fetch(Place *p) { return locate(p) && read_state(p) && check_access_to(p, ACCESS_ATOMIC); }

/* Release: what the lane did before happens before what follows a wait for the phase. */
static void release_clock(const Place *p)
{
    if (p->block->checker) check_release(p->warp, p->lane, p->block, p->offset);
}

static void store_state(const Place *p)
{
    uint64_t word = pack_state(&p->state);
    memcpy(p->block->shared + p->offset, &word, sizeof word);
}

/* --- waits --------------------------------------------------------------------------------------------- */

/* Ends the wait of a group: its lanes get the result, and go on after the instruction. */
static void release_group(Warp *warp, Group *g, bool result)
{
    uint32_t *word = (uint32_t *)(void *)(warp->registers + g->frame + (g->pc->d & REF_OFFSET_MASK));
    if (result && warp->block->checker) check_acquire(warp, g->mask, warp->block, g->mbarrier);
    *word = (*word & ~g->mask) | (result ? g->mask : 0);
    g->state = GROUP_READY;
    g->pc++;
    warp->parked = false;
}

/* Ends the waits of the block's groups for the mbarrier at `offset`, or (every) for all. *any becomes
 * true if there were any; it is never set to false. */
static void release_all(Block *block, uint64_t offset, bool every, bool result, bool *any)
{
    for (uint32_t k = 0; k < block->warp_count; k++) {
        Warp *warp = &block->warps[k];
        if (!warp->started || warp->done) continue;
        for (uint32_t n = 0; n < warp->group_count; n++) {
            Group *g = &warp->groups[n];
            if (g->state != GROUP_MBARRIER || (!every && g->mbarrier != offset)) continue;
            release_group(warp, g, result);
            *any = true;
        }
    }
}

bool mbarrier_expire(Block *block)
{
    bool any = false;
    if (block->mbarrier_waits) release_all(block, 0, true, false, &any);
    block->mbarrier_waits = false;
    return any;
}

/* Ends the waits for the lane's mbarrier with a result: true if the phase is complete, false to test
 * again. */
static void release_waiters(const Place *p, bool result)
{
    bool any = false;
    if (!p->block->mbarrier_waits) return;
    release_all(p->block, p->offset, false, result, &any);
    if (any && p->warp->current) group_refresh(p->warp);
}

/* Stores the state; if no thread and no bytes are pending the phase is complete, and the next one begins. */
static void complete_phase_if_done(Place *p)
{
    Mbarrier *m = &p->state;
    bool over = m->pending == 0 && m->tx == 0;
    if (over) {
        m->parity = !m->parity;
        m->pending = m->threads;
        cluster_advance(p->block->cluster);
    }
    store_state(p);
    if (over) release_waiters(p, true);
}

/* True when the phase that the lane waits for is complete. */
static bool is_over(const Place *p)
{
    if (p->insn->mods & MBARRIER_PARITY)
        return p->state.parity != (ROW(const uint32_t, p->warp, p->insn->b)[p->lane] & 1);
    return p->state.parity != unpack_state(ROW(const uint64_t, p->warp, p->insn->b)[p->lane]).parity;
}

/* The group is parked if no lane's phase is complete and all lanes wait for one mbarrier of their own
 * block. In other cases each lane gets its result at once. */
const Insn *mbarrier_wait(Warp *warp, const Insn *insn)
{
    uint32_t over = 0, *d = &PRED(warp, insn->d);
    Place p = {.warp = warp, .insn = insn};
    uint64_t first = 0;
    bool together = true;
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1) {
        p.lane = __builtin_ctz(rest);
        if (!fetch(&p)) return NULL;
        if (rest == warp->mask) first = p.offset;
        if (is_over(&p)) {
            over |= 1u << p.lane;
            if (warp->block->checker) check_acquire(warp, 1u << p.lane, p.block, p.offset);
        }
        together &= p.offset == first && p.block == warp->block;
    }
    if (!over && together) {
        Group *g = warp->current;
        g->pc = insn;
        g->state = GROUP_MBARRIER;
        g->mbarrier = (uint32_t)first;
        g->waited = ++warp->turn;
        warp->fuel = FUEL_PLAIN; /* for its next turn */
        warp->block->mbarrier_waits = true;
        return group_next(warp);
    }
    if (over != warp->mask) warp_rest(warp, FUEL_SLEEP);
    *d = (*d & ~warp->mask) | over;
    return insn + 1;
}

/* --- arrivals ------------------------------------------------------------------------------------------ */

/* Whether a number of arriving threads is 1 to max; else a fault is recorded. */
static bool check_count(const Place *p, uint32_t count, uint32_t max)
{
    if (count >= 1 && count <= max) return true;
    exec_fault(p->warp, p->insn, p->lane, CUDA_ERROR_LAUNCH_FAILED,
               "%u threads at the mbarrier at offset 0x%llx of shared memory, where 1 to %u are possible",
               count, (unsigned long long)p->offset, max);
    return false;
}

/* Changes the number of bytes to come. False after a fault: it leaves its range. */
static bool add_bytes(Place *p, int64_t bytes)
{
    int64_t sum = p->state.tx + bytes;
    p->state.tx = (int32_t)sum;
    if (sum >= -MAX_COUNT && sum <= MAX_COUNT) return true;
    exec_fault(p->warp, p->insn, p->lane, CUDA_ERROR_LAUNCH_FAILED,
               "the mbarrier at offset 0x%llx of shared memory would wait for %lld bytes: it counts to %d",
               (unsigned long long)p->offset, (long long)sum, MAX_COUNT);
    return false;
}

/* Runs a step for each lane in turn. */
static const Insn *each_lane(Warp *warp, const Insn *insn, bool (*step)(Place *))
{
    Place p = {.warp = warp, .insn = insn};
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1) {
        p.lane = __builtin_ctz(rest);
        if (!step(&p)) return NULL;
    }
    return insn + 1;
}

static bool init_step(Place *p)
{
    uint32_t count = ROW(const uint32_t, p->warp, p->insn->b)[p->lane];
    if (!locate(p) || !check_count(p, count, MAX_COUNT) || !check_access_to(p, ACCESS_WRITE)) return false;
    p->state = (Mbarrier){.threads = count, .pending = count, .valid = true};
    store_state(p);
    release_waiters(p, false);
    return true;
}

static bool inval_step(Place *p)
{
    if (!fetch(p)) return false;
    p->state = (Mbarrier){0};
    store_state(p);
    release_waiters(p, false);
    return true;
}

static bool tx_step(Place *p)
{
    int64_t bytes = ROW(const uint32_t, p->warp, p->insn->b)[p->lane];
    bool complete = p->insn->mods & MBARRIER_COMPLETE;
    if (!fetch(p) || !add_bytes(p, complete ? -bytes : bytes)) return false;
    release_clock(p);
    if (complete)
        complete_phase_if_done(p);
    else
        store_state(p);
    return true;
}

static bool arrive_step(Place *p)
{
    const Insn *insn = p->insn;
    uint32_t count = insn->b == REF_ABSENT ? 1 : ROW(const uint32_t, p->warp, insn->b)[p->lane];
    if (!fetch(p)) return false;
    if (insn->d != REF_ABSENT) ROW(uint64_t, p->warp, insn->d)[p->lane] = pack_state(&p->state);
    if (insn->mods & MBARRIER_EXPECT) {
        if (!add_bytes(p, count)) return false;
        count = 1;
    }
    uint32_t max = p->state.pending - (insn->mods & MBARRIER_NO_COMPLETE && p->state.pending ? 1 : 0);
    if (!check_count(p, count, max)) return false;
    release_clock(p);
    p->state.pending -= count;
    if (insn->mods & MBARRIER_DROP) p->state.threads -= count;
    complete_phase_if_done(p);
    return true;
}

bool mbarrier_receive(Warp *warp, const Insn *insn, int lane, uint64_t address, uint32_t bytes)
{
    Place p = {.warp = warp, .insn = insn, .lane = lane};
    if (!find_place(&p, address) || !read_state(&p) || !check_access_to(&p, ACCESS_ATOMIC)
        || !add_bytes(&p, -(int64_t)bytes))
        return false;
    release_clock(&p);
    complete_phase_if_done(&p);
    return true;
}

const Insn *mbarrier_init(Warp *warp, const Insn *insn) { return each_lane(warp, insn, init_step); }
const Insn *mbarrier_inval(Warp *warp, const Insn *insn) { return each_lane(warp, insn, inval_step); }
const Insn *mbarrier_tx(Warp *warp, const Insn *insn) { return each_lane(warp, insn, tx_step); }
const Insn *mbarrier_arrive(Warp *warp, const Insn *insn) { return each_lane(warp, insn, arrive_step); }

const Insn *mbarrier_pending(Warp *warp, const Insn *insn)
{
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        ROW(uint32_t, warp, insn->d)[l] = unpack_state(ROW(const uint64_t, warp, insn->a)[l]).pending;
    }
    return insn + 1;
}
