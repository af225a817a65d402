/* The checks of PYCUDA_CPU_CHECK, as compute-sanitizer has them: racecheck (data races in shared memory),
 * initcheck (reads of uninitialized memory), synccheck (divergent barriers).
 *
 * They cost nothing where they are off: check_bind wraps the handlers of the instructions that are checked.
 * Where threads synchronize, and on slow paths, a block is asked whether it has a checker.
 */
#ifndef DEVICE_EXEC_CHECKS_CHECK_H
#define DEVICE_EXEC_CHECKS_CHECK_H

#include "exec/checks/global_race.h"
#include "exec/checks/race.h"
#include "exec/memory/unwritten.h"

typedef struct AsyncCopies AsyncCopies;

/* The state of the checks for one block. */
typedef struct Checker {
    unsigned checks; /* CHECK_* of code.h */
    Race *race; /* NULL without racecheck */
    AsyncCopies *copies; /* NULL until the first one */
    Unwritten unwritten; /* of shared memory, by offset */
    uint32_t fenced[RACE_WARPS]; /* of each warp: lanes that have written no global memory since a fence */
    uint32_t missed[RACE_WARPS]; /* of each warp: lanes that were elsewhere while others were at a barrier */
} Checker;

/* Wraps the handlers of a module that is bound. */
void check_bind(CodeModule *module);

/* A record of what the grid's blocks access in global memory. NULL if that is not checked, or if out of
 * memory. */
GlobalRace *check_grid(const Grid *grid);
/* Gives the block a checker that fits it, or none if its grid is not checked. False if out of memory. */
bool checker_take(Block *block);
void checker_begin(Block *block);
void checker_free(Checker *checker);

static inline bool check_is_on(const Block *block, unsigned check)
{
    return block->checker && block->checker->checks & check;
}

/* Checks an access of a lane before it is made. False when it is an error: then a fault is recorded. */
bool check_reach(Warp *warp, const Insn *insn, int lane, const void *host, uint64_t bytes, AccessKind kind);

bool check_is_atomic(const Insn *insn);

/* Called where threads synchronize and end: by barrier.c, groups.c, collective_ops.c and mbarrier.c. */
void check_publish(const Warp *warp, uint32_t barrier);
void check_barrier(Block *block, uint32_t barrier);
void check_warp_sync(const Warp *warp, uint32_t lanes);
void check_exit(const Warp *warp, uint32_t lanes);
void check_release(const Warp *warp, int lane, const Block *at, uint64_t offset);
void check_acquire(const Warp *warp, uint32_t lanes, const Block *at, uint64_t offset);

/* The cluster's barrier: the executing lanes arrive, a phase is complete, lanes have waited for it. */
void check_cluster_arrive(const Warp *warp);
void check_cluster_phase(const Block *block);
void check_cluster_wait(const Warp *warp, uint32_t lanes);

/* --- exec/checks/copies.c ------------------------------------------------------------------------------ */

/* The copies of a block: none yet. NULL if out of memory. */
AsyncCopies *async_copies_create(uint32_t warps, uint32_t shared_size);
void async_copies_destroy(AsyncCopies *copies);
bool async_copies_fit(const AsyncCopies *copies, uint32_t warps, uint32_t shared_size);
/* Forgets all copies: they are complete. */
void async_copies_forget(AsyncCopies *copies);
/* Checks an access. False when it overlaps a copy that is in flight: then a fault is recorded. */
bool async_copies_access(const AsyncCopies *copies, const RaceAccess *access);

/* Notes, for racecheck, that a lane has issued a copy of `bytes` bytes to `to` in its block's shared memory,
 * which is in flight until check_copies_end(). Checks nothing: check_reach() does. False only if out of
 * memory: then a fault is recorded. */
bool check_note_copy(const Warp *warp, const Insn *insn, int lane, const void *to, uint32_t bytes);
/* Notes that lanes have waited for their copies, except for the `kept` newest groups (COPIES_ALL: without
 * exception). COPIES_COMMIT: that they begin a new group. */
#define COPIES_ALL UINT32_MAX
#define COPIES_COMMIT (UINT32_MAX - 1)
void check_copies_end(const Warp *warp, uint32_t lanes, uint32_t kept);

/* --- exec/checks/sync.c -------------------------------------------------------------------------------- */

/* Before the executing lanes arrive at a barrier. False when that is an error: then a fault is recorded. */
bool check_arrival(Warp *warp, const Insn *insn);
/* When a barrier is complete, before the waiting threads are released. */
void check_complete(Block *block, uint32_t barrier);

/* --- exec/checks/report.c ------------------------------------------------------------------------------ */

/* A lane reads `bytes` bytes, of which the one at `first` (an address, or an offset in shared memory) was
 * never written. */
void check_report_unwritten(Warp *warp, const Insn *insn, int lane, bool shared, uint64_t bytes,
                            uint64_t first);
/* An access overlaps a copy by `thread`, which that thread has not waited for. */
void check_report_copy(const RaceAccess *access, uint32_t offset, const Insn *copy, uint32_t thread);
/* A group waits at a barrier and `others`, lanes of its warp, do not. what: a phrase for what these did. */
void check_report_divergence(const Warp *warp, const Group *waiting, uint32_t others, const char *what);

#endif
