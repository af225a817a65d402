/* Shadow memory of what all blocks of a grid reach: pages of cells that appear when their memory is accessed,
 * in tables by address with a lock each, so that workers seldom wait for each other. */
#include "exec/checks/global_race.h"
#include "exec/state/grid.h"

#include <stdlib.h>
#include <string.h>

/* COVERED_BYTES: of memory, that a page of cells stands for. MAX_PAGES: of cells, that are kept; memory
 * beyond is not checked. SLOTS_FIRST: the first capacity of a table. */
enum {
    WORD_BYTES = 4,
    COVERED_BYTES = 1024,
    MAX_PAGES = 1 << 16,
    TABLES = 64,
    SLOTS_FIRST = 16,
    READERS = 2
};

typedef struct GlobalCell {
    GlobalMark write, strong, reads[READERS];
    uint32_t released; /* time; 0: nothing was released there */
} GlobalCell;

typedef struct GlobalPage {
    uint64_t number; /* address / COVERED_BYTES */
    GlobalCell cells[COVERED_BYTES / WORD_BYTES];
} Page;

typedef struct GlobalTable {
    pthread_mutex_t lock;
    Page **slots; /* open addressing */
    uint32_t capacity, count;
} Table;

struct GlobalRace {
    GlobalOrder *order;
    pthread_mutex_t strong; /* taken before a table's */
    _Atomic uint32_t pages;
    Table tables[TABLES];
};

GlobalRace *global_race_create(uint64_t units)
{
    GlobalRace *race = calloc(1, sizeof *race);
    if (!race) return NULL;
    pthread_mutex_init(&race->strong, NULL);
    for (int t = 0; t < TABLES; t++) pthread_mutex_init(&race->tables[t].lock, NULL);
    race->order = global_order_create(units);
    if (race->order) return race;
    global_race_destroy(race);
    return NULL;
}

void global_race_destroy(GlobalRace *race)
{
    if (!race) return;
    for (int t = 0; t < TABLES; t++) {
        Table *table = &race->tables[t];
        for (uint32_t s = 0; s < table->capacity; s++) free(table->slots[s]);
        free(table->slots);
        pthread_mutex_destroy(&table->lock);
    }
    pthread_mutex_destroy(&race->strong);
    global_order_destroy(race->order);
    free(race);
}

/* --- pages ------------------------------------------------------------------------------------------ */

static uint64_t hash(uint64_t number) { return number * UINT64_C(0x9e3779b97f4a7c15) >> 32; }

static Table *table_of(GlobalRace *race, uint64_t number) { return &race->tables[hash(number) % TABLES]; }

/* The slot that has the page with that number, or the free slot for it. */
static Page **slot_of(Page **slots, uint32_t capacity, uint64_t number)
{
    uint64_t at = hash(number) / TABLES;
    while (slots[at % capacity] && slots[at % capacity]->number != number) at++;
    return &slots[at % capacity];
}

static bool table_grow(Table *table)
{
    uint32_t capacity = table->capacity ? 2 * table->capacity : SLOTS_FIRST;
    Page **slots = calloc(capacity, sizeof *slots);
    if (!slots) return false;
    for (uint32_t s = 0; s < table->capacity; s++)
        if (table->slots[s]) *slot_of(slots, capacity, table->slots[s]->number) = table->slots[s];
    free(table->slots);
    table->slots = slots;
    table->capacity = capacity;
    return true;
}

/* The page with that number; NULL: the table does not have it. */
static Page *page_find(const Table *table, uint64_t number)
{
    return table->capacity ? *slot_of(table->slots, table->capacity, number) : NULL;
}

/* The page with that number, which is created if it is missing. NULL: too many pages, or out of memory. */
static Page *page_take(GlobalRace *race, Table *table, uint64_t number)
{
    Page *page = page_find(table, number);
    if (page) return page;
    if (2 * table->count >= table->capacity && !table_grow(table)) return NULL;
    if (atomic_load(&race->pages) >= MAX_PAGES || !(page = calloc(1, sizeof *page))) return NULL;
    atomic_fetch_add(&race->pages, 1);
    page->number = number;
    table->count++;
    return *slot_of(table->slots, table->capacity, number) = page;
}

/* --- marks ------------------------------------------------------------------------------------------ */

static const Grid *grid_of(const GlobalAccess *access) { return access->warp->block->grid; }

static uint32_t unit_of(const Warp *warp)
{
    return (uint32_t)(warp->block->linear / warp->block->grid->cluster_size);
}

/* The mark of an access, without its mask; more bytes than the field can hold count as its maximum. */
static GlobalMark mark_of(const GlobalAccess *access)
{
    const Warp *warp = access->warp;
    const CodeFunction *function = warp->current->function;
    uint32_t unit = unit_of(warp);
    return (GlobalMark){.unit = unit,
                        .interval = global_order_now(grid_of(access)->global_race->order, unit),
                        .place = function->first_insn + (uint32_t)(access->insn - function->insns),
                        .thread = (warp->index * WARP_LANES + (uint32_t)access->lane) & 1023,
                        .rank = warp->block->rank & 15,
                        .kind = access->kind & 7,
                        .bytes = access->bytes < 2047 ? (unsigned)access->bytes & 2047 : 2047};
}

/* Replaces the mark at `at`. Accesses of a unit in one interval to different bytes of the word are united. */
static void mark_set(GlobalMark *at, GlobalMark mark)
{
    if (at->bytes && at->unit == mark.unit && at->interval == mark.interval && at->kind == mark.kind)
        mark.mask |= at->mask;
    *at = mark;
}

/* Removes a mark all of whose bytes have been written since. */
static void mark_cover(GlobalMark *at, unsigned mask)
{
    if (!(at->mask & ~mask)) *at = (GlobalMark){0};
}

/* Keeps the first unit that reads the word, and the last other one. */
static void mark_reader(GlobalCell *cell, GlobalMark mark)
{
    GlobalMark *first = &cell->reads[0];
    mark_set(!first->bytes || first->unit == mark.unit ? first : &cell->reads[1], mark);
}

/* --- one access to a word --------------------------------------------------------------------------- */

typedef struct WordAccess {
    const GlobalAccess *access;
    GlobalMark mark;
    uint8_t *place; /* of the first byte that is accessed */
    const uint8_t *value; /* of it */
    uint32_t bytes;
} WordAccess;

static bool is_plain_write(GlobalKind kind) { return kind == GLOBAL_WRITE || kind == GLOBAL_FLAG; }

/* [kind of the later access][kind of the earlier one]: whether two accesses of these kinds may race. */
static const bool against[GLOBAL_KINDS][GLOBAL_KINDS] = {
    [GLOBAL_READ] = {[GLOBAL_WRITE] = true, [GLOBAL_FLAG] = true},
    [GLOBAL_WRITE] = {true, true, true, true, true},
    [GLOBAL_FLAG] = {[GLOBAL_READ] = true, [GLOBAL_WRITE] = true},
    [GLOBAL_STRONG_READ] = {[GLOBAL_WRITE] = true},
    [GLOBAL_STRONG] = {[GLOBAL_WRITE] = true}};

/* Whether the access races with an earlier one: they have bytes in common and may race by their kinds,
 * and the earlier one does not happen before. */
static bool is_race(const WordAccess *word, const GlobalMark *other)
{
    GlobalOrder *order = grid_of(word->access)->global_race->order;
    return other->bytes && other->mask & word->mark.mask && against[word->access->kind][other->kind]
           && !global_order_holds(order, other->unit, other->interval, word->mark.unit);
}

/* The earlier access to the cell that this one races with; NULL: there is none. */
static const GlobalMark *find_race(const WordAccess *word, const GlobalCell *cell)
{
    if (is_race(word, &cell->write)) return &cell->write;
    if (!is_plain_write(word->access->kind)) return NULL;
    if (is_race(word, &cell->strong)) return &cell->strong;
    for (int r = 0; r < READERS; r++)
        if (is_race(word, &cell->reads[r])) return &cell->reads[r];
    return NULL;
}

/* Records the access in the cell; a flag or strong write also releases what its unit has done before its
 * fences. */
static void record_access(const WordAccess *word, GlobalCell *cell)
{
    const GlobalAccess *access = word->access;
    bool write = is_plain_write(access->kind);
    if (write) mark_set(&cell->write, word->mark);
    if (access->kind == GLOBAL_READ) mark_reader(cell, word->mark);
    if (!write && access->kind != GLOBAL_READ) mark_set(&cell->strong, word->mark);
    for (int r = 0; write && r < READERS; r++) mark_cover(&cell->reads[r], word->mark.mask);
    if (write) mark_cover(&cell->strong, word->mark.mask);
    if (access->kind != GLOBAL_FLAG && access->kind != GLOBAL_STRONG) return;
    uint32_t time = global_order_release(grid_of(access)->global_race->order, word->mark.unit);
    if (cell->released < time) cell->released = time;
}

/* Checks and records an access to a word or a part of it. A write of the value that is there already is
 * silent: it does not race, and is not recorded if it would. False: a race, and the fault is recorded. */
static bool access_word(const WordAccess *word, GlobalCell *cell)
{
    const GlobalMark *other = find_race(word, cell);
    bool silent = other && word->value && memcmp(word->place, word->value, word->bytes) == 0;
    if (other && !silent) {
        global_race_report(word->access, (uintptr_t)word->place, other);
        return false;
    }
    if (!silent) record_access(word, cell);
    if (word->value && word->access->kind == GLOBAL_WRITE) memcpy(word->place, word->value, word->bytes);
    return true;
}

/* Checks and records an access to the bytes [from, end) of a page, which is NULL if it is not checked.
 * False: a race, recorded. */
static bool access_page(Page *page, const GlobalAccess *access, uint64_t from, uint64_t end)
{
    WordAccess word = {.access = access, .mark = mark_of(access)};
    for (uint64_t next; page && from < end; from = next) {
        next = (from / WORD_BYTES + 1) * WORD_BYTES;
        word.place = (uint8_t *)(uintptr_t)from;
        word.bytes = (uint32_t)((next < end ? next : end) - from);
        word.mark.mask = ((1u << word.bytes) - 1) << from % WORD_BYTES & 15;
        word.value = access->value ? access->value + (from - access->address) : NULL;
        if (!access_word(&word, &page->cells[from % COVERED_BYTES / WORD_BYTES])) return false;
    }
    return true;
}

void global_race_leave(GlobalCursor *cursor)
{
    if (cursor->table) pthread_mutex_unlock(&cursor->table->lock);
    cursor->table = NULL;
}

/* Moves the cursor to a page, with its table locked; the lock of the previous table is released. */
static void go_to(GlobalCursor *cursor, GlobalRace *race, uint64_t number)
{
    if (cursor->table && cursor->number == number) return;
    global_race_leave(cursor);
    cursor->table = table_of(race, number);
    pthread_mutex_lock(&cursor->table->lock);
    cursor->page = page_take(race, cursor->table, number);
    cursor->number = number;
}

bool global_race_access(GlobalCursor *cursor, const GlobalAccess *access)
{
    uint64_t end = access->address + access->bytes, next;
    for (uint64_t from = access->address; from < end; from = next) {
        next = (from / COVERED_BYTES + 1) * COVERED_BYTES;
        go_to(cursor, grid_of(access)->global_race, from / COVERED_BYTES);
        if (!access_page(cursor->page, access, from, next < end ? next : end)) return false;
    }
    return true;
}

/* --- order ------------------------------------------------------------------------------------------ */

void global_race_begin_strong(GlobalRace *race) { pthread_mutex_lock(&race->strong); }

void global_race_end_strong(GlobalRace *race) { pthread_mutex_unlock(&race->strong); }

void global_race_acquire(const Warp *warp, uint64_t address)
{
    GlobalRace *race = warp->block->grid->global_race;
    Table *table = table_of(race, address / COVERED_BYTES);
    pthread_mutex_lock(&table->lock);
    const Page *page = page_find(table, address / COVERED_BYTES);
    uint32_t time = page ? page->cells[address % COVERED_BYTES / WORD_BYTES].released : 0;
    pthread_mutex_unlock(&table->lock);
    global_order_acquire(race->order, unit_of(warp), time);
}

void global_race_fence(const Warp *warp)
{
    global_order_fence(warp->block->grid->global_race->order, unit_of(warp));
}

void global_race_forget(GlobalRace *race, uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address / WORD_BYTES * WORD_BYTES; at < address + bytes; at += WORD_BYTES) {
        Table *table = table_of(race, at / COVERED_BYTES);
        pthread_mutex_lock(&table->lock);
        Page *page = page_find(table, at / COVERED_BYTES);
        if (page) page->cells[at % COVERED_BYTES / WORD_BYTES] = (GlobalCell){0};
        pthread_mutex_unlock(&table->lock);
    }
}
