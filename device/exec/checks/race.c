/* Shadow memory: the recorded accesses to shared memory, and which of them race. */
#include "exec/checks/race.h"
#include "exec/state/grid.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 4, RECORDS_FIRST = 1024 };

/* The shadow cell of a word, or of a byte: a list of records of each kind. */
typedef struct SharedCell {
    uint32_t interval : 31, divided : 1; /* divided: its bytes have cells of their own */
    uint32_t lists[ACCESS_KINDS];
} SharedCell;
#define INTERVAL_LAST ((UINT32_C(1) << 31) - 1)

struct Race {
    Clocks clocks;
    uint32_t interval;
    uint32_t due;          /* bit w: the time of warp w advances before its next read or write */
    SharedCell *words, *bytes;   /* bytes: NULL until the first word is divided */
    RaceRecord *records;   /* lists link them by index; [0] stands for none */
    uint32_t count, capacity, free; /* free: the list of unused ones */
};

Race *race_create(uint32_t warps, uint32_t shared_size)
{
    Race *race = calloc(1, sizeof *race);
    uint32_t words = (shared_size + WORD_BYTES - 1) / WORD_BYTES;
    if (!race) return NULL;
    race->words = calloc(words + 1, sizeof *race->words);
    race->records = malloc(RECORDS_FIRST * sizeof *race->records);
    race->capacity = RECORDS_FIRST;
    if (clocks_open(&race->clocks, warps, words) && race->words && race->records) return race;
    race_destroy(race);
    return NULL;
}

void race_destroy(Race *race)
{
    if (!race) return;
    clocks_close(&race->clocks);
    free(race->words);
    free(race->bytes);
    free(race->records);
    free(race);
}

bool race_fits(const Race *race, uint32_t warps, uint32_t shared_size)
{
    return race && race->clocks.warps >= warps && (uint64_t)race->clocks.words * WORD_BYTES >= shared_size;
}

void race_new_interval(Race *race)
{
    clocks_forget(&race->clocks);
    race->due = 0;
    race->count = 1;
    race->free = 0;
    if (race->interval++ < INTERVAL_LAST) return;
    memset(race->words, 0, race->clocks.words * sizeof *race->words);
    race->interval = 1;
}

/* --- records ---------------------------------------------------------------------------------------- */

/* The index of an unused record; 0 if out of memory. */
static uint32_t record_new(Race *race)
{
    uint32_t index = race->free;
    if (index) {
        race->free = race->records[index].next;
        return index;
    }
    if (race->count == race->capacity) {
        RaceRecord *grown = realloc(race->records, 2 * (size_t)race->capacity * sizeof *grown);
        if (!grown) {
            race->clocks.failed = true;
            return 0;
        }
        race->records = grown;
        race->capacity *= 2;
    }
    return race->count++;
}

/* Empties a list. */
static void list_drop(Race *race, uint32_t *list)
{
    uint32_t last = *list;
    if (!last) return;
    while (race->records[last].next) last = race->records[last].next;
    race->records[last].next = race->free;
    race->free = *list;
    *list = 0;
}

/* A copy of a list, in reverse order. */
static uint32_t list_copy(Race *race, uint32_t list)
{
    uint32_t copy = 0;
    for (; list; list = race->records[list].next) {
        uint32_t index = record_new(race);
        if (!index) break;
        race->records[index] = race->records[list];
        race->records[index].next = copy;
        copy = index;
    }
    return copy;
}

/* Adds an access to a list of accesses of its kind, in place of earlier ones of the same lanes. */
static void list_add(Race *race, uint32_t *list, const RaceAccess *access)
{
    uint32_t warp = access->warp->index, now = race->clocks.now[warp], *place = list, found = 0;
    while (*place) {
        RaceRecord *r = &race->records[*place];
        bool same = r->warp == warp && r->time == now && r->insn == access->insn;
        if (same)
            found = *place;
        else if (r->warp == warp)
            r->lanes &= ~access->lanes;
        if (r->lanes) {
            place = &r->next;
            continue;
        }
        uint32_t empty = *place;
        *place = r->next;
        r->next = race->free;
        race->free = empty;
    }
    if (!found && (found = record_new(race)) != 0) {
        race->records[found] =
            (RaceRecord){.insn = access->insn, .time = now, .warp = (uint16_t)warp, .next = *list};
        *list = found;
    }
    if (!found) return;
    race->records[found].lanes |= access->lanes;
    race->records[found].bytes = (uint16_t)access->bytes;
}

/* --- cells ------------------------------------------------------------------------------------------ */

/* A lane of the record, other than the thread itself, whose access does not happen before that of `lane`;
 * -1: there is none. */
static int unordered_lane(const Race *race, const RaceRecord *r, const RaceAccess *access, int lane)
{
    uint32_t others = r->lanes & ~(r->warp == access->warp->index ? 1u << lane : 0);
    const VectorClock *clock = clock_of(&race->clocks, access->warp, lane);
    for (; others; others &= others - 1) {
        int other = __builtin_ctz(others);
        if (!clock || clock->at[r->warp * WARP_LANES + (uint32_t)other] < r->time) return other;
    }
    return -1;
}

/* Whether an access writes the value that is there already. */
static bool is_silent(const RaceAccess *access, uint32_t offset, uint32_t bytes)
{
    const uint8_t *shared = access->warp->block->shared;
    return access->kind == ACCESS_WRITE && access->value
           && memcmp(shared + offset, access->value + (offset - access->offset), bytes) == 0;
}

typedef struct CellAccess {
    const RaceAccess *access;
    uint32_t offset, bytes; /* of the cell */
    bool overlaps; /* a write of the same value that some other may not come before */
} CellAccess;

/* Checks an access of one lane against a list of records, all of one kind. False: it races, and the fault is
 * recorded. A write of the value that is there already does not race with writes: part->overlaps notes it. */
static bool check_lane(const Race *race, CellAccess *part, int lane, uint32_t list, AccessKind kind)
{
    for (; list; list = race->records[list].next) {
        const RaceRecord *r = &race->records[list];
        int other = unordered_lane(race, r, part->access, lane);
        if (other < 0) continue;
        if (kind != ACCESS_WRITE || !is_silent(part->access, part->offset, part->bytes)) {
            race_report(part->access, lane, part->offset, r, other, kind);
            return false;
        }
        part->overlaps = true;
    }
    return true;
}

/* Checks and records an access to a cell. A write covers all earlier accesses, except writes that it
 * overlaps. False: it races, and the fault is recorded. */
static bool access_cell(Race *race, SharedCell *cell, CellAccess *part)
{
    static const bool against[ACCESS_KINDS][ACCESS_KINDS] = {
        [ACCESS_READ] = {[ACCESS_WRITE] = true, [ACCESS_ATOMIC] = true},
        [ACCESS_WRITE] = {[ACCESS_READ] = true, [ACCESS_WRITE] = true, [ACCESS_ATOMIC] = true},
        [ACCESS_ATOMIC] = {[ACCESS_READ] = true, [ACCESS_WRITE] = true}};
    const RaceAccess *access = part->access;
    part->overlaps = false;
    for (int kind = 0; kind < ACCESS_KINDS; kind++) {
        if (!cell->lists[kind] || !against[access->kind][kind]) continue;
        for (uint32_t rest = access->lanes; rest; rest &= rest - 1)
            if (!check_lane(race, part, __builtin_ctz(rest), cell->lists[kind], (AccessKind)kind))
                return false;
    }
    for (int kind = 0; access->kind == ACCESS_WRITE && kind < ACCESS_KINDS; kind++)
        if (kind != ACCESS_WRITE || !part->overlaps) list_drop(race, &cell->lists[kind]);
    list_add(race, &cell->lists[access->kind], access);
    return true;
}

/* Gives each byte of a word a cell of its own, with the word's records. False if out of memory. */
static bool divide_word(Race *race, uint32_t word)
{
    SharedCell *whole = &race->words[word];
    if (!race->bytes) race->bytes = calloc((size_t)race->clocks.words * WORD_BYTES, sizeof *race->bytes);
    if (!race->bytes) return false;
    for (uint32_t b = 0; b < WORD_BYTES; b++)
        for (int kind = 0; kind < ACCESS_KINDS; kind++)
            race->bytes[word * WORD_BYTES + b].lists[kind] = list_copy(race, whole->lists[kind]);
    whole->divided = true;
    return true;
}

/* Checks and records an access to a word, or to a part of it. False: it races. */
static bool access_word(Race *race, const RaceAccess *access, uint32_t offset, uint32_t bytes)
{
    SharedCell *cell = &race->words[offset / WORD_BYTES];
    if (cell->interval != race->interval) *cell = (SharedCell){.interval = race->interval & INTERVAL_LAST};
    if (bytes == WORD_BYTES && !cell->divided)
        return access_cell(race, cell,
                           &(CellAccess){.access = access, .offset = offset, .bytes = WORD_BYTES});
    if (!cell->divided && !divide_word(race, offset / WORD_BYTES)) {
        race->clocks.failed = true;
        return true;
    }
    for (uint32_t b = offset; b < offset + bytes; b++)
        if (!access_cell(race, &race->bytes[b], &(CellAccess){.access = access, .offset = b, .bytes = 1}))
            return false;
    return true;
}

/* False when records could not be allocated: then the check cannot go on. */
static bool has_memory(const Race *race, const Warp *warp)
{
    if (!race->clocks.failed) return true;
    exec_fault_plain(warp->block->grid, CUDA_ERROR_OUT_OF_MEMORY,
                     "kernel %s: no memory for what racecheck keeps of a block",
                     warp->block->grid->function->name);
    return false;
}

/* The fast path: records a read of a word that no thread has written in this interval. False for other
 * accesses. */
static bool read_quickly(Race *race, const RaceAccess *access)
{
    SharedCell *cell = &race->words[access->offset / WORD_BYTES];
    if (access->kind != ACCESS_READ || access->bytes != WORD_BYTES) return false;
    if (cell->interval != race->interval) *cell = (SharedCell){.interval = race->interval & INTERVAL_LAST};
    if (cell->divided || cell->lists[ACCESS_WRITE] || cell->lists[ACCESS_ATOMIC]) return false;
    list_add(race, &cell->lists[ACCESS_READ], access);
    return true;
}

bool race_access(Race *race, const RaceAccess *access)
{
    uint32_t bit = 1u << access->warp->index;
    if (race->due & bit && access->kind != ACCESS_ATOMIC) {
        race->clocks.now[access->warp->index]++;
        race->due &= ~bit;
    }
    if (read_quickly(race, access)) return has_memory(race, access->warp);
    uint32_t end = access->offset + access->bytes, bytes;
    for (uint32_t at = access->offset; at < end; at += bytes) {
        bytes = WORD_BYTES - at % WORD_BYTES < end - at ? WORD_BYTES - at % WORD_BYTES : end - at;
        if (!access_word(race, access, at, bytes)) return false;
    }
    return has_memory(race, access->warp);
}

/* --- synchronization ----------------------------------------------------------------------------- */

void race_acquire(Race *race, const Warp *warp, int lane, uint32_t offset)
{
    clocks_acquire(&race->clocks, warp, lane, offset / WORD_BYTES);
}

void race_release(Race *race, const Warp *warp, int lane, uint32_t offset)
{
    clocks_release(&race->clocks, warp, lane, offset / WORD_BYTES);
}

void race_tick(Race *race, const Warp *warp) { race->due |= 1u << warp->index; }

void race_arrive(Race *race, const Warp *warp, uint32_t barrier)
{
    clocks_arrive(&race->clocks, warp, barrier);
    race_tick(race, warp);
}

void race_barrier(Race *race, const Block *block, uint32_t barrier)
{
    Rendezvous rendezvous = {.published = race->clocks.of_barrier[barrier]};
    uint32_t threads = 0;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        const Warp *warp = &block->warps[w];
        for (uint32_t n = 0; warp->started && !warp->done && n < warp->group_count; n++) {
            const Group *g = &warp->groups[n];
            if (g->state == GROUP_BARRIER && g->barrier == barrier) rendezvous.lanes[w] |= g->mask;
        }
        threads += lane_count(rendezvous.lanes[w]);
    }
    if (threads == (block->barriers[barrier].expected ? block->threads : block->live))
        race_new_interval(race); /* without a count, threads that have ended count as arrived */
    else
        clocks_synchronize(&race->clocks, &rendezvous);
    clocks_drop_barrier(&race->clocks, barrier);
}

void race_warp(Race *race, const Warp *warp, uint32_t lanes)
{
    Rendezvous rendezvous = {0};
    rendezvous.lanes[warp->index] = lanes;
    clocks_synchronize(&race->clocks, &rendezvous);
}

void race_cluster_phase(Race *race) { clocks_cluster_phase(&race->clocks); }

void race_cluster_wait(Race *race, const Warp *warp, uint32_t lanes)
{
    clocks_cluster_wait(&race->clocks, warp, lanes);
}
