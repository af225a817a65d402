/* Data races in a block's shared memory, by happens-before: vector clocks of threads, shadow memory of
 * accesses.
 *
 * A barrier that all threads of the block wait at starts a new interval: it orders everything before it.
 * Within an interval each thread has a vector clock: for each other thread, up to which time its accesses
 * happen before what this thread does now. Barriers of some threads, __syncwarp(), atomics and mbarriers
 * synchronize: they join clocks. Time is counted by warps, so that lanes that run together share a record; it
 * advances when one of them has released its clock. The shadow cell of a word (of each byte, where parts of
 * words are used) keeps the accesses of the interval that no later write has covered: reads, writes, atomics.
 * Two accesses race when one is a write (or one is atomic and the other is not), they are by two threads, and
 * neither happens before the other.
 *
 * A write of the value that is there already does not race with writes: threads that all set one flag are no
 * error.
 */
#ifndef DEVICE_EXEC_CHECKS_RACE_H
#define DEVICE_EXEC_CHECKS_RACE_H

#include "exec/state/block.h"

typedef enum AccessKind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC, ACCESS_KINDS } AccessKind;

/* Bytes that some lanes access at once. */
typedef struct RaceAccess {
    Warp *warp;
    const Insn *insn;
    uint32_t lanes;
    uint32_t offset, bytes; /* inside the block's shared memory */
    AccessKind kind;
    const uint8_t *value; /* what a write stores; NULL: unknown */
} RaceAccess;

typedef struct Race Race;
enum { RACE_WARPS = 32 }; /* of a block, at most */

/* NULL if out of memory. For blocks of up to that many warps with that much shared memory. */
Race *race_create(uint32_t warps, uint32_t shared_size);
void race_destroy(Race *race);
bool race_fits(const Race *race, uint32_t warps, uint32_t shared_size);
/* A new barrier interval: all accesses so far happen before what follows. */
void race_new_interval(Race *race);

/* Checks and records an access; false: it races, and the fault is recorded. */
bool race_access(Race *race, const RaceAccess *access);

/* Acquire and release at an address in shared memory. */
void race_acquire(Race *race, const Warp *warp, int lane, uint32_t offset);
void race_release(Race *race, const Warp *warp, int lane, uint32_t offset);
/* Advances the time of a warp that has released clocks. Called before its next read or write: atomic
 * operations up to then count as of one time, so that a histogram is one record a warp. */
void race_tick(Race *race, const Warp *warp);
/* bar.arrive: the executing lanes release their clocks. */
void race_arrive(Race *race, const Warp *warp, uint32_t barrier);
/* When a barrier is complete, before the waiting threads are released. */
void race_barrier(Race *race, const Block *block, uint32_t barrier);
/* The cluster's barrier, as far as it orders threads of the block: a phase is complete; lanes have waited
 * for it. */
void race_cluster_phase(Race *race);
void race_cluster_wait(Race *race, const Warp *warp, uint32_t lanes);
/* __syncwarp() of these lanes. */
void race_warp(Race *race, const Warp *warp, uint32_t lanes);

/* --- race_clock.c ----------------------------------------------------------------------------------- */

/* The block's barriers, then the cluster's: its phase that is open, and the last that is complete. */
enum { CLUSTER_BARRIER_OPEN = BARRIER_COUNT, CLUSTER_BARRIER_COMPLETE, CLOCK_BARRIERS };

/* For each thread, the time up to which its accesses happen before what the owner does now. Several
 * threads or places may own one clock: before a change it is copied (clock_own in race_clock.c). */
typedef struct VectorClock {
    uint32_t owners;
    struct VectorClock *next; /* in the list of free ones */
    uint32_t at[];
} VectorClock;

typedef struct Clocks {
    uint32_t warps, threads, words;
    VectorClock **of_thread; /* NULL: of no other thread */
    uint32_t *now; /* of each warp, from 1 on */
    VectorClock **of_word; /* what was released at each word of shared memory */
    uint32_t *used; /* the words that have one */
    uint32_t used_count;
    VectorClock *of_barrier[CLOCK_BARRIERS];
    VectorClock *free;
    bool failed; /* out of memory */
} Clocks;

/* False if out of memory; clocks_close() frees what was allocated in any case. */
bool clocks_open(Clocks *clocks, uint32_t warps, uint32_t words);
void clocks_close(Clocks *clocks);
/* Back to the start: no thread knows of another, and nothing is released. */
void clocks_forget(Clocks *clocks);
/* A lane releases at a word, acquires from it; the executing lanes release at a barrier; the barrier is
 * idle again. */
void clocks_release(Clocks *clocks, const Warp *warp, int lane, uint32_t word);
void clocks_acquire(Clocks *clocks, const Warp *warp, int lane, uint32_t word);
void clocks_arrive(Clocks *clocks, const Warp *warp, uint32_t barrier);
void clocks_drop_barrier(Clocks *clocks, uint32_t barrier);
void clocks_cluster_phase(Clocks *clocks);
void clocks_cluster_wait(Clocks *clocks, const Warp *warp, uint32_t lanes);

/* Threads that synchronize, by warps; and what others have released to them (bar.arrive), or NULL. */
typedef struct Rendezvous {
    uint32_t lanes[RACE_WARPS];
    const VectorClock *published;
} Rendezvous;
void clocks_synchronize(Clocks *clocks, const Rendezvous *rendezvous);

static inline const VectorClock *clock_of(const Clocks *clocks, const Warp *warp, int lane)
{
    return clocks->of_thread[warp->index * WARP_LANES + (uint32_t)lane];
}

/* --- exec/checks/report.c ------------------------------------------------------------------------------ */

/* A recorded access of some lanes of a warp. */
typedef struct RaceRecord {
    const Insn *insn;
    uint32_t time, lanes;
    uint32_t next; /* record of the same cell; 0: none */
    uint16_t warp;
    uint16_t bytes;
} RaceRecord;

/* Records the fault: `lane` of the access, at the byte `offset`, races with `other_lane` of the record. */
void race_report(const RaceAccess *access, int lane, uint32_t offset, const RaceRecord *other, int other_lane,
                 AccessKind other_kind);

#endif
