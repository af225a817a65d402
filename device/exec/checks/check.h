/* Checks that a module's code is run with when it is asked for them (PYCUDA_CPU_CHECK): races in shared memory,
 * reads of what nothing has written, barriers that only part of a warp comes to.
 *
 * They cost nothing where they are off: check_bind puts a handler of its own before those of the
 * instructions that are looked at. Where threads meet, and in what is slow anyway, a block is asked whether
 * it has a checker.
 */
#ifndef DEVICE_EXEC_CHECKS_CHECK_H
#define DEVICE_EXEC_CHECKS_CHECK_H

#include "exec/checks/race.h"
#include "exec/checks/unwritten.h"

typedef struct Copies Copies;

/* Of a block whose kernel is checked. */
typedef struct Checker {
    unsigned checks; /* CHECK_* of code.h */
    Race *race; /* NULL when shared memory is not looked at so */
    Copies *copies; /* NULL until the first one */
    Unwritten unwritten; /* of shared memory, by offset */
    uint32_t missed[RACE_WARPS]; /* of each warp: lanes that were elsewhere when others came to a barrier */
} Checker;

/* Puts the checks before the handlers of a module that is bound. */
void check_bind(CodeModule *module);

/* A checker that fits the block and its grid, if that is checked; false without memory. */
bool checker_take(Block *block);
void checker_begin(Block *block);
void checker_free(Checker *checker);

static inline bool check_is_on(const Block *block, unsigned check)
{
    return block->checker && block->checker->checks & check;
}

/* Bytes of a lane that an operation is about to read, write or both: false when that is an error, recorded. */
bool check_reach(Warp *warp, const Insn *insn, int lane, const void *host, uint64_t bytes, AccessKind kind);

/* barrier.c, groups.c, collective_ops.c and mbarrier.c tell where threads meet, and when they end. */
void check_publish(const Warp *warp, uint32_t barrier);
void check_barrier(Block *block, uint32_t barrier);
void check_warp_sync(const Warp *warp, uint32_t lanes);
void check_exit(const Warp *warp, uint32_t lanes);
void check_release(const Warp *warp, int lane, uint64_t offset);
void check_acquire(const Warp *warp, uint32_t lanes, uint64_t offset);

/* --- exec/checks/copies.c ---------------------------------------------------------------------------------- */

/* Of a block; NULL without memory. */
Copies *copies_create(uint32_t warps, uint32_t shared_size);
void copies_destroy(Copies *copies);
bool copies_fit(const Copies *copies, uint32_t warps, uint32_t shared_size);
/* All are over. */
void copies_forget(Copies *copies);
/* False when the bytes of an access are those of a copy that is not over: a fault is recorded. */
bool copies_access(const Copies *copies, const RaceAccess *access);

/* A lane has issued a copy to shared memory; false without memory, with a fault. */
bool check_copy(const Warp *warp, const Insn *insn, int lane, const void *to, uint32_t bytes);
/* Lanes have waited for their copies, but for so many groups; or begin a new group. */
#define COPIES_ALL UINT32_MAX
#define COPIES_COMMIT (UINT32_MAX - 1)
void check_copies_end(const Warp *warp, uint32_t lanes, uint32_t kept);

/* --- exec/checks/sync.c ----------------------------------------------------------------------------------- */

/* The executing lanes come to a barrier; false: a fault is recorded. */
bool check_arrival(Warp *warp, const Insn *insn);
/* A barrier is complete, those who wait are not yet set free. */
void check_complete(Block *block, uint32_t barrier);

/* --- exec/checks/report.c --------------------------------------------------------------------------------- */

/* A lane reads so many bytes, of which that one was never written: an offset where it is shared memory. */
void check_report_unwritten(Warp *warp, const Insn *insn, int lane, bool shared, uint64_t bytes,
                            uint64_t first);
/* Bytes at that offset are touched, to which that thread copies and has not waited. */
void check_report_copy(const RaceAccess *access, uint32_t offset, const Insn *copy, uint32_t thread);
/* A group waits at a barrier, other lanes of its warp do not: "did not" come to it, and the like. */
void check_report_divergence(const Warp *warp, const Group *waiting, uint32_t others, const char *what);

#endif
