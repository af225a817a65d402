/* Races in a block's shared memory, found by what happens before what.
 *
 * Time goes in eras: a barrier that all threads of the block wait at ends one, and orders whatever was before.
 * Within an interval a thread has a clock: of each other thread, up to when its accesses are known to be over. Clocks
 * are handed on by barriers of some threads, by __syncwarp(), by atomics and by barriers in shared memory. Time is
 * counted by warps, so that lanes that run together share a record; it goes on whenever one of them hands its clock
 * on. Of each word of memory (of each byte, where parts of words are used) the accesses of the interval are kept that
 * no later write has covered: reads, writes, atomics. Two of them are a race when one is a write (or
 * an atomic operation and the other is none), they are of two threads and neither clock knows the other.
 *
 * Writes of what is there already do not race with writes: threads that all set one flag are no error.
 */
#ifndef DEVICE_EXEC_CHECKS_RACE_H
#define DEVICE_EXEC_CHECKS_RACE_H

#include "exec/state.h"

typedef enum AccessKind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC, ACCESS_KINDS } AccessKind;

/* Bytes that some lanes access at once. */
typedef struct RaceAccess {
    Warp *warp;
    const Insn *insn;
    uint32_t lanes;
    uint32_t offset, bytes; /* inside the block's shared memory */
    AccessKind kind;
    const uint8_t *value;   /* what a write will put there; NULL: not known */
} RaceAccess;

typedef struct Race Race;
enum { RACE_WARPS = 32 }; /* of a block, at most */

/* NULL without memory. For blocks of up to so many warps with so much shared memory. */
Race *race_create(uint32_t warps, uint32_t shared_size);
void race_destroy(Race *race);
bool race_fits(const Race *race, uint32_t warps, uint32_t shared_size);
/* Everything so far is over. */
void race_new_interval(Race *race);

/* Notes an access; false: it races, and the fault is recorded. */
bool race_access(Race *race, const RaceAccess *access);

/* Takes over, and hands on, clocks at a place in shared memory. */
void race_acquire(Race *race, const Warp *warp, int lane, uint32_t offset);
void race_release(Race *race, const Warp *warp, int lane, uint32_t offset);
/* Time goes on for a warp that has handed on clocks: before its next read or write. Atomic operations before
 * that count as of the same time, so that a histogram is one record a warp. */
void race_tick(Race *race, const Warp *warp);
/* bar.arrive: the executing lanes hand on their clocks. */
void race_arrive(Race *race, const Warp *warp, uint32_t barrier);
/* A barrier is complete, those who wait at it are not yet set free. */
void race_barrier(Race *race, const Block *block, uint32_t barrier);
/* __syncwarp() of these lanes. */
void race_warp(Race *race, const Warp *warp, uint32_t lanes);

/* --- race_clock.c ----------------------------------------------------------------------------------- */

/* Of each thread: up to when its accesses are known to be over. Shared by threads until one changes it. */
typedef struct VectorClock {
    uint32_t owners;
    struct VectorClock *next; /* in the list of free ones */
    uint32_t at[];
} VectorClock;

typedef struct Clocks {
    uint32_t warps, threads, words;
    VectorClock **of_thread; /* NULL: knows of nothing but itself */
    uint32_t *now; /* of each warp, from 1 on */
    VectorClock **of_word; /* what was handed on at each word of shared memory */
    uint32_t *used; /* the words that have one */
    uint32_t used_count;
    VectorClock *of_barrier[BARRIER_COUNT];
    VectorClock *free;
    bool failed; /* there was no memory for something */
} Clocks;

bool clocks_open(Clocks *clocks, uint32_t warps, uint32_t words);
void clocks_close(Clocks *clocks);
void clocks_forget(Clocks *clocks);
void clocks_release(Clocks *clocks, const Warp *warp, int lane, uint32_t word);
void clocks_acquire(Clocks *clocks, const Warp *warp, int lane, uint32_t word);
void clocks_arrive(Clocks *clocks, const Warp *warp, uint32_t barrier);
void clocks_drop_barrier(Clocks *clocks, uint32_t barrier);

/* Threads that wait for each other, by warps; and what others have handed on to them, or NULL. */
typedef struct Rendezvous {
    uint32_t lanes[RACE_WARPS];
    const VectorClock *published;
} Rendezvous;
void clocks_synchronize(Clocks *clocks, const Rendezvous *rendezvous);

static inline const VectorClock *clock_of(const Clocks *clocks, const Warp *warp, int lane)
{
    return clocks->of_thread[warp->index * WARP_LANES + (uint32_t)lane];
}

/* --- exec/checks/report.c --------------------------------------------------------------------------------- */

/* An access of some lanes of a warp that is kept. */
typedef struct RaceRecord {
    const Insn *insn;
    uint32_t time, lanes;
    uint32_t next; /* record of the same cell; 0: none */
    uint16_t warp;
    uint16_t bytes;
} RaceRecord;

/* Records the fault: lane of the access, at that byte, against a thread of the record. */
void race_report(const RaceAccess *access, int lane, uint32_t offset, const RaceRecord *other, int other_lane,
                 AccessKind other_kind);

#endif
