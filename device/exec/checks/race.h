/* Races in a block's shared memory, found by what happens before what.
 *
 * Time goes in eras: a barrier that all threads of the block wait at ends one, and orders whatever was before.
 * Within an era a thread has a clock: of each other thread, up to when its accesses are known to be over. Clocks
 * are handed on by barriers of some threads, by __syncwarp(), by atomics and by barriers in shared memory. Time is
 * counted by warps, so that lanes that run together share a record; it goes on whenever one of them hands its clock
 * on. Of each word of memory (of each byte, where parts of words are used) the accesses of the era are kept that
 * no later write has covered: reads, writes, atomics. Two of them are a race when one is a write (or
 * an atomic operation and the other is none), they are of two threads and neither clock knows the other.
 *
 * Writes of what is there already do not race with writes: threads that all set one flag are no error.
 */
#ifndef DEVICE_EXEC_CHECKS_RACE_H
#define DEVICE_EXEC_CHECKS_RACE_H

#include "exec/state.h"

typedef enum TouchKind { TOUCH_READ, TOUCH_WRITE, TOUCH_ATOMIC, TOUCH_KINDS } TouchKind;

/* Bytes that some lanes access at once. */
typedef struct RaceTouch {
    Warp *warp;
    const Insn *insn;
    uint32_t lanes;
    uint32_t offset, bytes; /* inside the block's shared memory */
    TouchKind kind;
    const uint8_t *value;   /* what a write will put there; NULL: not known */
} RaceTouch;

typedef struct Race Race;
enum { RACE_WARPS = 32 }; /* of a block, at most */

/* NULL without memory. For blocks of up to so many warps with so much shared memory. */
Race *race_create(uint32_t warps, uint32_t shared_size);
void race_destroy(Race *race);
bool race_fits(const Race *race, uint32_t warps, uint32_t shared_size);
/* Everything so far is over. */
void race_new_era(Race *race);

/* Notes an access; false: it races, and the fault is recorded. */
bool race_touch(Race *race, const RaceTouch *touch);

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
typedef struct Clock {
    uint32_t owners;
    struct Clock *next; /* in the list of free ones */
    uint32_t at[];
} Clock;

typedef struct Clocks {
    uint32_t warps, threads, words;
    Clock **of_thread; /* NULL: knows of nothing but itself */
    uint32_t *now; /* of each warp, from 1 on */
    Clock **of_word; /* what was handed on at each word of shared memory */
    uint32_t *used; /* the words that have one */
    uint32_t used_count;
    Clock *of_barrier[BARRIER_COUNT];
    Clock *free;
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
typedef struct Meeting {
    uint32_t lanes[RACE_WARPS];
    const Clock *handed_on;
} Meeting;
void clocks_meet(Clocks *clocks, const Meeting *meeting);

static inline const Clock *clock_of(const Clocks *clocks, const Warp *warp, int lane)
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

/* Records the fault: lane of the touch, at that byte, against a thread of the record. */
void race_report(const RaceTouch *touch, int lane, uint32_t offset, const RaceRecord *other, int other_lane,
                 TouchKind other_kind);

#endif
