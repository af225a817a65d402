/* nanosleep: lanes that sleep are parked until their time has come; other lanes, warps and blocks run
 * meanwhile.
 *
 * A worker whose blocks are all asleep sleeps too. For the last COARSE_NS it polls instead, because the host
 * may wake a thread that much too late.
 */
#include <sched.h>
#include <time.h>

#include "exec/control/group.h"
#include "exec/control/sleep.h"
#include "exec/state/clock.h"

enum { MAX_NS = 1000000, COARSE_NS = 100000 }; /* the PTX manual limits a nanosleep to 1 ms */

/* The longest duration that a running lane asks for, in nanoseconds: the group sleeps as a whole. */
static uint64_t longest_duration(const Warp *warp, const Insn *insn)
{
    const uint32_t *wanted = ROW(const uint32_t, warp, insn->a);
    uint32_t longest = 0;
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1) {
        uint32_t lane = wanted[__builtin_ctz(rest)];
        if (lane > longest) longest = lane;
    }
    return longest < MAX_NS ? longest : MAX_NS;
}

/* The block must be woken at that time, or earlier. */
static void set_wake_time(Block *block, uint64_t until)
{
    if (!block->wake_at || until < block->wake_at) block->wake_at = until;
}

const Insn *sleep_enter(Warp *warp, const Insn *insn)
{
    Group *g = warp->current;
    uint64_t wanted = longest_duration(warp, insn);
    /* Also for 0 ns: a loop with a nanosleep is a spin wait, and its turns do not count as progress. */
    warp->spinning = true;
    if (!wanted) return group_yield(warp, insn + 1);
    g->pc = insn + 1;
    g->state = GROUP_SLEEP;
    g->wake_at = exec_now_ns() + wanted;
    g->waited = ++warp->turn;
    warp->fuel = FUEL_PLAIN; /* for its next turn */
    set_wake_time(warp->block, g->wake_at);
    return group_next(warp);
}

void sleep_wake(Block *block)
{
    uint64_t now = exec_now_ns();
    if (now < block->wake_at) return;
    block->wake_at = 0;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        Warp *warp = &block->warps[k];
        for (uint32_t n = 0; warp->started && !warp->done && n < warp->group_count; n++) {
            Group *g = &warp->groups[n];
            if (g->state != GROUP_SLEEP) continue;
            if (g->wake_at > now) {
                set_wake_time(block, g->wake_at);
                continue;
            }
            g->state = GROUP_READY;
            warp->parked = false;
        }
    }
}

void sleep_worker(const Worker *worker)
{
    uint64_t first = UINT64_MAX, now = exec_now_ns();
    for (const Block *block = worker->live; block; block = block->next) {
        if (!block->asleep) return;
        if (block->wake_at < first) first = block->wake_at;
    }
    if (first == UINT64_MAX || first <= now) return;
    if (first - now <= COARSE_NS) {
        sched_yield();
        return;
    }
    struct timespec pause = {.tv_nsec = (long)(first - now - COARSE_NS / 2)};
    nanosleep(&pause, NULL);
}
