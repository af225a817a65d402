/* Races against a model, in which each thread knows how many accesses of each other thread happened
 * before. */
#include "check.h"

#include <stdlib.h>

#include "exec/checks/race.h"
#include "exec/state/grid.h"

enum { WARPS = 2, THREADS = 64, BYTES = 16, TRACES = 3000, STEPS = 60, HISTORY = STEPS * THREADS };

static unsigned long long random_state = 88172645463325252ull;
static uint32_t below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 11) % limit;
}

/* --- the model: every access of the trace, and for each thread how many accesses of each thread it knows
 * -- */

typedef struct Past {
    uint32_t thread, time, offset, bytes;
    AccessKind kind;
} Past;

static Past history[HISTORY];
static uint32_t history_count, knows[THREADS][THREADS], times[THREADS];
static uint32_t at_place[BYTES][THREADS], at_barrier[THREADS];

/* `into` learns everything that `from` knows. */
static void join(uint32_t *into, const uint32_t *from)
{
    for (int t = 0; t < THREADS; t++)
        if (from[t] > into[t]) into[t] = from[t];
}

static void model_clear(void)
{
    history_count = 0;
    memset(knows, 0, sizeof knows);
    memset(times, 0, sizeof times);
    memset(at_place, 0, sizeof at_place);
    memset(at_barrier, 0, sizeof at_barrier);
}

static bool conflict(AccessKind a, AccessKind b)
{
    return a == ACCESS_WRITE || b == ACCESS_WRITE || (a != b);
}

/* Adds the access; returns whether it races. Sets *plainly if it races with an access that is not atomic. */
static bool model_touch(uint32_t thread, uint32_t offset, uint32_t bytes, AccessKind kind, bool *plainly)
{
    bool races = false;
    for (uint32_t n = 0; n < history_count; n++) {
        const Past *p = &history[n];
        if (p->thread == thread || p->offset + p->bytes <= offset || offset + bytes <= p->offset) continue;
        if (!conflict(p->kind, kind) || (p->kind == ACCESS_READ && kind == ACCESS_READ)) continue;
        if (knows[thread][p->thread] >= p->time) continue;
        races = true;
        *plainly |= p->kind != ACCESS_ATOMIC;
    }
    history[history_count++] = (Past){thread, ++times[thread], offset, bytes, kind};
    knows[thread][thread] = times[thread];
    return races;
}

/* The lanes synchronize: each then knows what all of them knew, and what others published by arriving. */
static void model_meet(const uint32_t lanes[WARPS], const uint32_t *published)
{
    uint32_t all[THREADS] = {0};
    if (published) join(all, published);
    for (uint32_t t = 0; t < THREADS; t++)
        if (lanes[t / 32] >> t % 32 & 1) join(all, knows[t]);
    for (uint32_t t = 0; t < THREADS; t++)
        if (lanes[t / 32] >> t % 32 & 1) join(knows[t], all);
}

/* --- a block that runs nothing ---------------------------------------------------------------------- */

static uint8_t shared[BYTES];
static ExecFault fault;
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static CodeLine line;
static CodeModule module;
static CodeFunction function = {.name = "k", .module = &module, .lines = &line, .line_count = 1};
static Insn insns[4];
static const GridLaunch launch = {.function = &function}; /* a fault ends it */
static Grid grid = {.launch = &launch, .function = &function, .fault = &fault, .fault_lock = &fault_lock};
static Block block = {.grid = &grid,
                      .shared = shared,
                      .warp_count = WARPS,
                      .threads = THREADS,
                      .live = THREADS};
static _Alignas(64) Warp warps[WARPS];

static void make_block(void)
{
    block.warps = warps;
    for (uint32_t w = 0; w < WARPS; w++) {
        warps[w].block = &block;
        warps[w].index = w;
        warps[w].started = true;
        warps[w].group_count = 1;
    }
}

/* --- random traces ---------------------------------------------------------------------------------- */

/* An access of one or two lanes, compared with the model; false if it raced, which ends the trace. */
static bool step_touch(Race *race)
{
    static const uint32_t sizes[] = {1, 2, 4, 4, 4, 8};
    Warp *warp = &warps[below(WARPS)];
    uint32_t bytes = sizes[below(6)], offset = below(BYTES / bytes) * bytes, lanes = 1u << below(4);
    AccessKind kind = (AccessKind)below(3);
    bool races = false, plainly = false, found;
    if (kind == ACCESS_READ && below(2)) lanes |= 1u << below(4);
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        races |= model_touch(warp->index * 32 + (uint32_t)__builtin_ctz(rest), offset, bytes, kind, &plainly);
    atomic_store(&grid.faulted, false);
    found = !race_access(race, &(RaceAccess){.warp = warp,
                                             .insn = &insns[below(4)],
                                             .lanes = lanes,
                                             .offset = offset,
                                             .bytes = bytes,
                                             .kind = kind});
    if (found) CHECK(races && fault.code == CUDA_ERROR_LAUNCH_FAILED);
    if (plainly) CHECK(found); /* a race with only atomic operations may be missed */
    return !races;
}

/* Some lanes of a warp synchronize. */
static void step_warp(Race *race)
{
    uint32_t lanes[WARPS] = {0}, w = below(WARPS);
    lanes[w] = below(15) + 1;
    model_meet(lanes, NULL);
    race_warp(race, &warps[w], lanes[w]);
}

/* Lanes of one warp arrive at a barrier without waiting, or lanes of all warps wait at it and meet. */
static void step_barrier(Race *race)
{
    uint32_t lanes[WARPS] = {0};
    Warp *arriving = &warps[below(WARPS)];
    if (below(2)) {
        arriving->mask = below(15) + 1;
        for (uint32_t rest = arriving->mask; rest; rest &= rest - 1)
            join(at_barrier, knows[arriving->index * 32 + (uint32_t)__builtin_ctz(rest)]);
        race_arrive(race, arriving, 3);
        return;
    }
    for (uint32_t w = 0; w < WARPS; w++) {
        lanes[w] = below(4) ? below(15) + 1 : ~0u;
        warps[w].groups[0] = (Group){.mask = lanes[w], .state = GROUP_BARRIER, .barrier = 3};
    }
    block.barriers[3].expected = below(2) ? 64 : 0;
    model_meet(lanes, at_barrier);
    memset(at_barrier, 0, sizeof at_barrier);
    race_barrier(race, &block, 3);
}

/* A lane releases or acquires a word of shared memory. */
static void step_place(Race *race)
{
    uint32_t word = below(BYTES / 4);
    Warp *warp = &warps[below(WARPS)];
    int lane = (int)below(4);
    uint32_t thread = warp->index * 32 + (uint32_t)lane;
    if (below(2)) {
        join(at_place[word], knows[thread]);
        race_release(race, warp, lane, 4 * word);
        race_tick(race, warp);
    } else {
        join(knows[thread], at_place[word]);
        race_acquire(race, warp, lane, 4 * word);
    }
}

static void run_trace(Race *race)
{
    model_clear();
    race_new_interval(race);
    for (int step = 0; step < STEPS; step++) {
        switch (below(6)) {
        case 0: step_warp(race); break;
        case 1: step_barrier(race); break;
        case 2: step_place(race); break;
        default:
            if (!step_touch(race)) return;
        }
    }
}

static void test_traces(void)
{
    Race *race = race_create(WARPS, BYTES);
    CHECK(race && race_fits(race, WARPS, BYTES) && !race_fits(race, WARPS + 1, BYTES));
    make_block();
    for (int trace = 0; race && trace < TRACES; trace++) run_trace(race);
    race_destroy(race);
}

/* Writing the value that the memory already holds does not race; writing another value and reading do. */
static void test_silent_writes(void)
{
    Race *race = race_create(WARPS, BYTES);
    uint8_t ones[4] = {1, 0, 0, 0}, twos[4] = {2, 0, 0, 0};
    RaceAccess access = {.warp = &warps[0], .insn = insns, .lanes = 1, .bytes = 4, .kind = ACCESS_WRITE};
    race_new_interval(race);
    access.value = ones;
    CHECK(race_access(race, &access));
    memcpy(shared, ones, 4);
    access.warp = &warps[1];
    CHECK(race_access(race, &access));
    access.warp = &warps[0], access.lanes = 2, access.value = twos;
    CHECK(!race_access(race, &access));
    access.lanes = 1, access.kind = ACCESS_READ, access.value = NULL;
    CHECK(!race_access(race, &access)); /* the value was written by this thread, and by another one */
    race_destroy(race);
}

int main(void)
{
    CHECK_GROUP(test_traces);
    CHECK_GROUP(test_silent_writes);
    return check_done();
}
