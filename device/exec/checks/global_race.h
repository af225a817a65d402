/* Data races between the blocks of a grid, in memory that all of them reach.
 *
 * Order is tracked per unit: a block, or all blocks of a cluster. What a unit does is counted in
 * intervals; a fence of one of its threads (__threadfence()) ends one. The atomic or volatile write after it
 * releases the intervals that have ended, at a time of the grid's clock, and the word that it wrote
 * remembers that time; a unit that reads the word by an atomic or volatile access has then acquired all that
 * was released until that time. An access happens before those of a unit that has acquired the time at which
 * its interval was released. That is less than vector clocks know (units are ordered by one clock, threads
 * of a block not at all), so that some races are missed, but takes a word for a unit, and errs on one side
 * only: what it reports is no order of fences and atomics.
 *
 * The shadow cell of a word keeps its last plain write, its last strong access (atomic, volatile) and two
 * readers. Two accesses race when one is a plain write, they are by two units, and the earlier one does not
 * happen before the later one; but not when that one writes what is there already, nor a write just after a
 * fence with a strong access: so do flags and locks from before there were atomic stores.
 */
#ifndef DEVICE_EXEC_CHECKS_GLOBAL_RACE_H
#define DEVICE_EXEC_CHECKS_GLOBAL_RACE_H

#include "exec/state/warp.h"

typedef struct GlobalRace GlobalRace;

typedef enum GlobalKind {
    GLOBAL_READ,
    GLOBAL_WRITE,
    GLOBAL_FLAG, /* a plain write just after a fence */
    GLOBAL_STRONG_READ,
    GLOBAL_STRONG, /* atomic, or a strong write */
    GLOBAL_KINDS
} GlobalKind;

/* Bytes that a lane accesses. */
typedef struct GlobalAccess {
    Warp *warp;
    const Insn *insn;
    int lane;
    uint64_t address, bytes;
    GlobalKind kind;
    const uint8_t *value; /* what a write stores; NULL: unknown */
} GlobalAccess;

/* An access that was recorded; bytes 0: none. */
typedef struct GlobalMark {
    uint32_t unit, interval;
    uint32_t place; /* number of the instruction in its module */
    unsigned thread : 10, rank : 4, mask : 4, kind : 3, bytes : 11;
} GlobalMark;

/* NULL if out of memory. */
GlobalRace *global_race_create(uint64_t units);
void global_race_destroy(GlobalRace *race);

/* The part of the shadow memory that a warp's instruction is at, locked. Begins as zeros. */
typedef struct GlobalCursor {
    struct GlobalTable *table;
    struct GlobalPage *page; /* NULL: there is none, and none can be allocated */
    uint64_t number;
} GlobalCursor;

/* Checks and records an access before it is made; false: it races, and the fault is recorded. A plain write
 * of a known value is made at once, so that others see what is there. */
bool global_race_access(GlobalCursor *cursor, const GlobalAccess *access);
void global_race_leave(GlobalCursor *cursor);
/* Strong accesses are checked and made one after another, so that the last one recorded of a word is the
 * last one made. */
void global_race_begin_strong(GlobalRace *race);
void global_race_end_strong(GlobalRace *race);
/* Notes a strong read: the unit acquires what the word at that address releases. */
void global_race_acquire(const Warp *warp, uint64_t address);
void global_race_fence(const Warp *warp);
/* The memory is new: no thread has accessed it. */
void global_race_forget(GlobalRace *race, uint64_t address, uint64_t bytes);

/* --- global_order.c ---------------------------------------------------------------------------------- */

typedef struct GlobalOrder GlobalOrder;

GlobalOrder *global_order_create(uint64_t units);
void global_order_destroy(GlobalOrder *order);
/* The interval in which a unit is. */
uint32_t global_order_now(const GlobalOrder *order, uint32_t unit);
void global_order_fence(GlobalOrder *order, uint32_t unit);
/* The time of the release; 0: the unit has made no fence. */
uint32_t global_order_release(GlobalOrder *order, uint32_t unit);
void global_order_acquire(GlobalOrder *order, uint32_t unit, uint32_t time);
/* Whether `interval` of the unit `first` happens before what the unit `second` does now. */
bool global_order_holds(GlobalOrder *order, uint32_t first, uint32_t interval, uint32_t second);

/* --- exec/checks/report.c ------------------------------------------------------------------------------ */

void global_race_report(const GlobalAccess *access, uint64_t address, const GlobalMark *other);

#endif
