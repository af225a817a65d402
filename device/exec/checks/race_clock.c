/* Vector clocks of threads: joined where threads synchronize, released and acquired at barriers and words. */
#include <stdlib.h>
#include <string.h>

#include "exec/checks/race.h"
#include "exec/state/warp.h"

/* A clock of zeros with one owner; NULL if out of memory. */
static VectorClock *clock_new(Clocks *c)
{
    VectorClock *clock = c->free;
    if (clock)
        c->free = clock->next;
    else
        clock = malloc(sizeof *clock + c->threads * sizeof *clock->at);
    if (!clock) {
        c->failed = true;
        return NULL;
    }
    clock->owners = 1;
    memset(clock->at, 0, c->threads * sizeof *clock->at);
    return clock;
}

/* Gives up the ownership of the clock at `place`, which becomes NULL. */
static void clock_drop(Clocks *c, VectorClock **place)
{
    VectorClock *clock = *place;
    *place = NULL;
    if (!clock || --clock->owners) return;
    clock->next = c->free;
    c->free = clock;
}

/* Each time in `into` becomes the maximum of both clocks. from: NULL counts as zeros. */
static void clock_join(const Clocks *c, VectorClock *into, const VectorClock *from)
{
    if (!from || from == into) return;
    for (uint32_t t = 0; t < c->threads; t++)
        into->at[t] = into->at[t] > from->at[t] ? into->at[t] : from->at[t];
}

/* The clock at `place`, to be changed: if other places share it, it is copied first. NULL if out of
 * memory. */
static VectorClock *clock_own(Clocks *c, VectorClock **place)
{
    if (*place && (*place)->owners == 1) return *place;
    VectorClock *own = clock_new(c);
    if (!own) return NULL;
    clock_join(c, own, *place);
    clock_drop(c, place);
    return *place = own;
}

bool clocks_open(Clocks *c, uint32_t warps, uint32_t words)
{
    c->warps = warps;
    c->threads = warps * WARP_LANES;
    c->words = words;
    c->of_thread = calloc(c->threads, sizeof *c->of_thread);
    c->now = calloc(warps, sizeof *c->now);
    c->of_word = calloc(words + 1, sizeof *c->of_word);
    c->used = calloc(words + 1, sizeof *c->used);
    return c->of_thread && c->now && c->of_word && c->used;
}

void clocks_forget(Clocks *c)
{
    for (uint32_t t = 0; t < c->threads; t++) clock_drop(c, &c->of_thread[t]);
    while (c->used_count) clock_drop(c, &c->of_word[c->used[--c->used_count]]);
    for (int b = 0; b < CLOCK_BARRIERS; b++) clock_drop(c, &c->of_barrier[b]);
    for (uint32_t w = 0; w < c->warps; w++) c->now[w] = 1;
}

void clocks_close(Clocks *c)
{
    if (c->of_thread && c->now && c->of_word && c->used) clocks_forget(c);
    while (c->free) {
        VectorClock *next = c->free->next;
        free(c->free);
        c->free = next;
    }
    free(c->of_thread);
    free(c->now);
    free(c->of_word);
    free(c->used);
}

/* Joins a thread's clock, with its own time, into the clock at a place. */
static void release_clock(Clocks *c, uint32_t thread, VectorClock **place)
{
    VectorClock *clock = clock_own(c, place);
    if (!clock) return;
    clock_join(c, clock, c->of_thread[thread]);
    clock->at[thread] = c->now[thread / WARP_LANES];
}

static uint32_t thread_of(const Warp *warp, int lane) { return warp->index * WARP_LANES + (uint32_t)lane; }

void clocks_release(Clocks *c, const Warp *warp, int lane, uint32_t word)
{
    if (!c->of_word[word]) c->used[c->used_count++] = word;
    release_clock(c, thread_of(warp, lane), &c->of_word[word]);
    if (!c->of_word[word]) c->used_count--;
}

void clocks_acquire(Clocks *c, const Warp *warp, int lane, uint32_t word)
{
    if (!c->of_word[word]) return;
    VectorClock *own = clock_own(c, &c->of_thread[thread_of(warp, lane)]);
    if (own) clock_join(c, own, c->of_word[word]);
}

void clocks_arrive(Clocks *c, const Warp *warp, uint32_t barrier)
{
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1)
        release_clock(c, thread_of(warp, __builtin_ctz(rest)), &c->of_barrier[barrier]);
}

void clocks_drop_barrier(Clocks *c, uint32_t barrier) { clock_drop(c, &c->of_barrier[barrier]); }

void clocks_cluster_phase(Clocks *c)
{
    clock_drop(c, &c->of_barrier[CLUSTER_BARRIER_COMPLETE]);
    c->of_barrier[CLUSTER_BARRIER_COMPLETE] = c->of_barrier[CLUSTER_BARRIER_OPEN];
    c->of_barrier[CLUSTER_BARRIER_OPEN] = NULL;
}

void clocks_cluster_wait(Clocks *c, const Warp *warp, uint32_t lanes)
{
    const VectorClock *phase = c->of_barrier[CLUSTER_BARRIER_COMPLETE];
    for (uint32_t rest = phase ? lanes : 0; rest; rest &= rest - 1) {
        VectorClock *own = clock_own(c, &c->of_thread[thread_of(warp, __builtin_ctz(rest))]);
        if (own) clock_join(c, own, phase);
    }
}

/* --- synchronization ------------------------------------------------------------------------------ */

/* The clock that all threads of the rendezvous share, and no others; NULL if there is none. */
static VectorClock *common_clock(const Clocks *c, const Rendezvous *m)
{
    VectorClock *first = NULL;
    uint32_t count = 0;
    for (uint32_t w = 0; w < c->warps; w++) {
        for (uint32_t rest = m->lanes[w]; rest; rest &= rest - 1) {
            VectorClock *clock = c->of_thread[w * WARP_LANES + (uint32_t)__builtin_ctz(rest)];
            if (!clock || (count && clock != first)) return NULL;
            first = clock;
            count++;
        }
    }
    return first && first->owners == count ? first : NULL;
}

/* Joins into one clock those of all threads of the rendezvous, with their own times. */
static void join_clocks(Clocks *c, const Rendezvous *m, VectorClock *into)
{
    const VectorClock *last = NULL;
    for (uint32_t w = 0; w < c->warps; w++) {
        for (uint32_t rest = m->lanes[w]; rest; rest &= rest - 1) {
            uint32_t thread = w * WARP_LANES + (uint32_t)__builtin_ctz(rest);
            if (c->of_thread[thread] != last) clock_join(c, into, last = c->of_thread[thread]);
            into->at[thread] = c->now[w];
        }
    }
}

void clocks_synchronize(Clocks *c, const Rendezvous *m)
{
    VectorClock *clock = common_clock(c, m);
    bool fresh = !clock;
    if (fresh && !(clock = clock_new(c))) return;
    join_clocks(c, m, clock);
    clock_join(c, clock, m->published);
    for (uint32_t w = 0; w < c->warps; w++) {
        if (!m->lanes[w]) continue;
        c->now[w]++;
        for (uint32_t rest = m->lanes[w]; fresh && rest; rest &= rest - 1) {
            VectorClock **place = &c->of_thread[w * WARP_LANES + (uint32_t)__builtin_ctz(rest)];
            clock_drop(c, place);
            *place = clock;
            clock->owners++;
        }
    }
    if (fresh) clock_drop(c, &clock);
}
