/* Asynchronous copies to shared memory (cp.async) in flight. Here they are done when they are issued, but a
 * program must not count on that: until the thread that issued one has waited for it, no thread may access
 * its target.
 *
 * The numbers of a thread's groups of copies grow from block to block, so that copies of a block count as
 * complete in the next.
 */
#include "exec/checks/check.h"
#include "exec/state/grid.h"

#include <stdlib.h>

enum { WORD_BYTES = 4 };

/* The newest copy to a word. */
typedef struct AsyncCopy {
    const Insn *insn;
    uint32_t thread, group;
} AsyncCopy;

struct AsyncCopies {
    uint32_t words, threads;
    AsyncCopy *to; /* of each word of shared memory: the newest copy to it */
    uint32_t *open; /* of each thread: the number of the group that its next copy will be in */
    uint32_t *done; /* of each thread: its groups with lower numbers are complete */
};

AsyncCopies *async_copies_create(uint32_t warps, uint32_t shared_size)
{
    AsyncCopies *copies = calloc(1, sizeof *copies);
    if (!copies) return NULL;
    copies->words = shared_size / WORD_BYTES + 1;
    copies->threads = warps * WARP_LANES;
    copies->to = calloc(copies->words, sizeof *copies->to);
    copies->open = calloc(copies->threads, sizeof *copies->open);
    copies->done = calloc(copies->threads, sizeof *copies->done);
    if (copies->to && copies->open && copies->done) return copies;
    async_copies_destroy(copies);
    return NULL;
}

void async_copies_destroy(AsyncCopies *copies)
{
    if (!copies) return;
    free(copies->to);
    free(copies->open);
    free(copies->done);
    free(copies);
}

bool async_copies_fit(const AsyncCopies *copies, uint32_t warps, uint32_t shared_size)
{
    return copies->threads >= warps * WARP_LANES && copies->words > shared_size / WORD_BYTES;
}

void async_copies_forget(AsyncCopies *copies)
{
    for (uint32_t t = 0; t < copies->threads; t++) copies->done[t] = ++copies->open[t];
}

static uint32_t thread_of(const Warp *warp, int lane) { return warp->index * WARP_LANES + (uint32_t)lane; }

bool async_copies_access(const AsyncCopies *copies, const RaceAccess *access)
{
    for (uint32_t w = access->offset / WORD_BYTES; w <= (access->offset + access->bytes - 1) / WORD_BYTES;
         w++) {
        const AsyncCopy *copy = &copies->to[w];
        if (!copy->insn || copy->group < copies->done[copy->thread]) continue;
        check_report_copy(access, w * WORD_BYTES, copy->insn, copy->thread);
        return false;
    }
    return true;
}

bool check_note_copy(const Warp *warp, const Insn *insn, int lane, const void *to, uint32_t bytes)
{
    const Block *block = warp->block;
    Checker *checker = block->checker;
    uint32_t offset = (uint32_t)((uintptr_t)to - (uintptr_t)block->shared), thread = thread_of(warp, lane);
    if (!(checker->checks & CHECK_RACE)) return true;
    if (!checker->copies) {
        checker->copies = async_copies_create(block->warp_count, block->shared_size);
        if (!checker->copies) {
            exec_fault_plain(block->grid, CUDA_ERROR_OUT_OF_MEMORY,
                             "kernel %s: no memory for what racecheck keeps of copies",
                             block->grid->function->name);
            return false;
        }
    }
    for (uint32_t w = offset / WORD_BYTES; w < (offset + bytes) / WORD_BYTES; w++)
        checker->copies->to[w] = (AsyncCopy){insn, thread, checker->copies->open[thread]};
    return true;
}

void check_copies_end(const Warp *warp, uint32_t lanes, uint32_t kept)
{
    AsyncCopies *copies = check_is_on(warp->block, CHECK_RACE) ? warp->block->checker->copies : NULL;
    for (uint32_t rest = copies ? lanes : 0; rest; rest &= rest - 1) {
        uint32_t thread = thread_of(warp, __builtin_ctz(rest));
        if (kept == COPIES_COMMIT || kept == COPIES_ALL) copies->open[thread]++;
        if (kept == COPIES_COMMIT) continue;
        uint32_t left = kept == COPIES_ALL ? 0 : kept, open = copies->open[thread];
        if (left <= open && open - left > copies->done[thread]) copies->done[thread] = open - left;
    }
}
