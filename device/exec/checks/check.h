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

/* What the grid's blocks access in memory that all reach, if that is to be checked; NULL if not, or if
 * out of memory. */
GlobalRace *check_grid(const Grid *grid);
/* A checker that fits the block and its grid, if that is checked; false if out of memory. */
bool checker_take(Block *block);
void checker_begin(Block *block);
void checker_free(Checker *checker);

static inline bool check_is_on(const Block *block, unsigned check)
{
    return block->checker && block->checker->checks & check;
}

/* Bytes of a lane that an operation is about to read, write or both: false when that is an error, recorded.
 */
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

/* The copies of a block; NULL if out of memory. */
AsyncCopies *async_copies_create(uint32_t warps, uint32_t shared_size);
void async_copies_destroy(AsyncCopies *copies);
bool async_copies_fit(const AsyncCopies *copies, uint32_t warps, uint32_t shared_size);
/* Forgets all copies: they are complete. */
void async_copies_forget(AsyncCopies *copies);
/* False when an access overlaps a copy that is in flight: a fault is recorded. */
bool async_copies_access(const AsyncCopies *copies, const RaceAccess *access);

/* A lane has issued a copy to shared memory; false if out of memory, with a fault. */
bool check_copy(const Warp *warp, const Insn *insn, int lane, const void *to, uint32_t bytes);
/* Lanes have waited for their copies, but for that many groups; or begin a new group. */
#define COPIES_ALL UINT32_MAX
#define COPIES_COMMIT (UINT32_MAX - 1)
void check_copies_end(const Warp *warp, uint32_t lanes, uint32_t kept);

/* --- exec/checks/sync.c -------------------------------------------------------------------------------- */

/* The executing lanes arrive at a barrier; false: a fault is recorded. */
bool check_arrival(Warp *warp, const Insn *insn);
/* A barrier is complete, the waiting threads are not yet released. */
void check_complete(Block *block, uint32_t barrier);

/* --- exec/checks/report.c ------------------------------------------------------------------------------ */

/* A lane reads that many bytes; that one was never written (an offset in shared memory). */
void check_report_unwritten(Warp *warp, const Insn *insn, int lane, bool shared, uint64_t bytes,
                            uint64_t first);
/* An access overlaps a copy of that thread, which has not waited for it. */
void check_report_copy(const RaceAccess *access, uint32_t offset, const Insn *copy, uint32_t thread);
/* A group waits at a barrier, other lanes of its warp do not: "did not" come to it, and the like. */
void check_report_divergence(const Warp *warp, const Group *waiting, uint32_t others, const char *what);

#endif
