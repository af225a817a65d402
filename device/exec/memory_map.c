/* The memory map: one sorted array of ranges over two reservations of address space.
 *
 * Looking up is a binary search over base addresses under a reader's lock. Addresses are handed out in slots
 * of rounded size, kept in bins when free; a freed slot passes through the quarantine first. Physical memory
 * is the kernel's business: pages appear at the first touch, and large freed slots give theirs back at once.
 * One reservation is private to the process. The other lies over an unnamed file, so that another process
 * can map the same pages; where the system gives none, its ranges come from the private one.
 */
#define _GNU_SOURCE
#include "exec/memory_map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "exec/shared_file.h"
#include "exec/unwritten.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum {
    ALIGN = 512,
    FINE_BINS = 64,                   /* slots up to 32 KiB: one bin for each multiple of 512 */
    BINS = FINE_BINS + 8 * 48,        /* then eight for each power of two */
    QUARANTINE_RANGES = 4096
};
#define COMMIT_STEP (32 * MIB)
#define HUGE_PAGE (2 * MIB)
#define PAGE (4 * KIB)
#define POISON_LIMIT (256 * KIB)      /* larger ranges give their pages back instead */
#define QUARANTINE_SMALL (32 * MIB)   /* bytes of ranges that keep their pages */
#define ARENA_LARGEST (UINT64_C(1) << 40)
#define ARENA_USUAL (4 * GIB)
#define ARENA_SMALLEST (64 * MIB)

typedef struct Entry {
    MemoryRange range;
    struct Region *region;            /* NULL for registered memory */
    uint64_t slot, slot_size;         /* 0 for registered memory */
    struct Entry *next;               /* in the quarantine or in a bin */
} Entry;

/* A reservation: what lies below `top` has been handed out, what lies below `committed` may be touched. */
typedef struct Region {
    uint64_t start, size, top, committed;
    Entry *bins[BINS];
    Unwritten unwritten;              /* of new device memory, when that is watched */
} Region;

struct MemoryMap {
    pthread_rwlock_t lock;
    uint64_t *bases;                  /* sorted; entries[i] starts at bases[i] */
    Entry **entries;
    size_t count, capacity;
    Region own, shared;               /* shared.size is 0 where the system gives no file */
    SharedFile file;                  /* of `shared` */
    Entry *oldest, *newest;           /* the quarantine */
    uint64_t quarantined;             /* bytes in it that keep their pages */
    size_t quarantine_count;
    uint64_t last_id;
    _Atomic uint64_t generation;
};

static uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

/* The bin for slots of at least need bytes; *slot_size becomes the size of its slots. */
static int bin_of(uint64_t need, uint64_t *slot_size)
{
    if (need <= FINE_BINS * ALIGN) {
        uint64_t units = (need + ALIGN - 1) / ALIGN;
        *slot_size = units * ALIGN;
        return (int)units - 1;
    }
    int power = 63 - __builtin_clzll(need);
    uint64_t step = (UINT64_C(1) << power) / 8;
    uint64_t eighths = (need - (UINT64_C(1) << power) + step - 1) / step;
    *slot_size = (UINT64_C(1) << power) + eighths * step;
    if (*slot_size >= HUGE_PAGE) *slot_size = align_up(*slot_size, HUGE_PAGE);
    return FINE_BINS + (power - 15) * 8 + (int)eighths;
}

static uint64_t gap_behind(uint64_t size)
{
    if (size < 64 * KIB) return ALIGN;
    return size < MIB ? PAGE : 64 * KIB;
}

static void region_open(Region *region, void *start, uint64_t size)
{
    region->start = (uint64_t)(uintptr_t)start;
    region->size = size;
    region->top = region->committed = align_up(region->start, HUGE_PAGE);
}

static bool reserve_own(Region *region, uint64_t least)
{
    if (least > ARENA_USUAL) least = ARENA_USUAL;
    if (least < ARENA_SMALLEST) least = ARENA_SMALLEST;
    for (uint64_t size = ARENA_LARGEST; size >= least; size /= 2) {
        void *start = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED) continue;
        region_open(region, start, size);
        return true;
    }
    return false;
}

/* The file is as long as the region from the start: it never grows. */
static void reserve_shared(Region *region, SharedFile *file, uint64_t size)
{
    if (!shared_file_create(file, "cuda-device-memory", size)) return;
    void *start = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file->descriptor, 0);
    if (start == MAP_FAILED)
        shared_file_close(file);
    else
        region_open(region, start, size);
}

MemoryMap *memory_map_create(void) { return memory_map_create_least(ARENA_USUAL); }

MemoryMap *memory_map_create_least(uint64_t least)
{
    MemoryMap *map = calloc(1, sizeof *map);
    if (!map) return NULL;
    if (!reserve_own(&map->own, least)) {
        free(map);
        return NULL;
    }
    reserve_shared(&map->shared, &map->file, map->own.size);
    pthread_rwlock_init(&map->lock, NULL);
    return map;
}

static void free_chain(Entry *entry)
{
    while (entry) {
        Entry *next = entry->next;
        free(entry);
        entry = next;
    }
}

static void region_close(Region *region)
{
    for (int b = 0; b < BINS; b++) free_chain(region->bins[b]);
    munmap((void *)(uintptr_t)region->start, region->size);
    unwritten_close(&region->unwritten);
}

void memory_map_destroy(MemoryMap *map)
{
    if (!map) return;
    for (size_t i = 0; i < map->count; i++)
        if (map->entries[i]->range.state == MEMORY_LIVE) free(map->entries[i]);
    free_chain(map->oldest);
    region_close(&map->own);
    if (map->shared.size) {
        region_close(&map->shared);
        shared_file_close(&map->file);
    }
    pthread_rwlock_destroy(&map->lock);
    free(map->bases);
    free(map->entries);
    free(map);
}

/* How many ranges start at or before address. */
static size_t count_upto_locked(const MemoryMap *map, uint64_t address)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->bases[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool reserve_locked(MemoryMap *map)
{
    if (map->count < map->capacity) return true;
    size_t capacity = map->capacity ? 2 * map->capacity : 256;
    uint64_t *bases = realloc(map->bases, capacity * sizeof *bases);
    if (!bases) return false;
    map->bases = bases;
    Entry **entries = realloc(map->entries, capacity * sizeof *entries);
    if (!entries) return false;
    map->entries = entries;
    map->capacity = capacity;
    return true;
}

/* There is room: reserve_locked was asked. */
static void insert_locked(MemoryMap *map, Entry *entry)
{
    size_t at = count_upto_locked(map, entry->range.base), behind = map->count - at;
    memmove(map->bases + at + 1, map->bases + at, behind * sizeof *map->bases);
    memmove(map->entries + at + 1, map->entries + at, behind * sizeof *map->entries);
    map->bases[at] = entry->range.base;
    map->entries[at] = entry;
    map->count++;
}

static void remove_locked(MemoryMap *map, const Entry *entry)
{
    size_t at = count_upto_locked(map, entry->range.base) - 1, behind = map->count - at - 1;
    memmove(map->bases + at, map->bases + at + 1, behind * sizeof *map->bases);
    memmove(map->entries + at, map->entries + at + 1, behind * sizeof *map->entries);
    map->count--;
}

/* The range that contains address, or NULL. */
static Entry *entry_at_locked(const MemoryMap *map, uint64_t address)
{
    size_t upto = count_upto_locked(map, address);
    if (!upto) return NULL;
    Entry *entry = map->entries[upto - 1];
    return address - entry->range.base < entry->range.size ? entry : NULL;
}

/* Makes the pages below end usable. */
static bool commit_locked(Region *region, uint64_t end)
{
    if (end <= region->committed) return true;
    uint64_t limit = region->start + region->size;
    uint64_t target = align_up(end, COMMIT_STEP);
    if (target > limit) target = align_up(end, PAGE);
    if (target > limit) return false;
    if (mprotect((void *)(uintptr_t)region->committed, target - region->committed, PROT_READ | PROT_WRITE))
        return false;
    region->committed = target;
    return true;
}

static Entry *new_slot_locked(Region *region, uint64_t slot_size)
{
    uint64_t slot = slot_size >= HUGE_PAGE ? align_up(region->top, HUGE_PAGE) : region->top;
    if (slot_size > region->start + region->size - slot) return NULL;
    if (!commit_locked(region, slot + slot_size)) return NULL;
    Entry *entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    entry->region = region;
    entry->slot = slot;
    entry->slot_size = slot_size;
    region->top = slot + slot_size;
    return entry;
}

/* A free slot of at least need bytes: of its own bin, new, or of a larger bin once the reservation is used
 * up. */
static Entry *take_slot_locked(Region *region, uint64_t need)
{
    uint64_t slot_size;
    int bin = bin_of(need, &slot_size);
    Entry *entry = region->bins[bin] ? NULL : new_slot_locked(region, slot_size);
    for (int b = bin; !entry && b < BINS; b++) {
        entry = region->bins[b];
        if (entry && entry->slot_size < need) entry = NULL;
        if (entry) region->bins[b] = entry->next;
    }
    return entry;
}

static void give_slot_locked(Entry *entry)
{
    uint64_t slot_size;
    int bin = bin_of(entry->slot_size, &slot_size);
    entry->next = entry->region->bins[bin];
    entry->region->bins[bin] = entry;
}

/* The oldest freed range becomes a free slot. */
static void release_oldest_locked(MemoryMap *map)
{
    Entry *entry = map->oldest;
    map->oldest = entry->next;
    if (!map->oldest) map->newest = NULL;
    map->quarantine_count--;
    if (entry->range.size <= POISON_LIMIT) map->quarantined -= entry->slot_size;
    remove_locked(map, entry);
    give_slot_locked(entry);
}

static void quarantine_locked(MemoryMap *map, Entry *entry)
{
    entry->next = NULL;
    if (map->newest)
        map->newest->next = entry;
    else
        map->oldest = entry;
    map->newest = entry;
    map->quarantine_count++;
    if (entry->range.size <= POISON_LIMIT) map->quarantined += entry->slot_size;
    while (map->oldest && (map->quarantined > QUARANTINE_SMALL || map->quarantine_count > QUARANTINE_RANGES))
        release_oldest_locked(map);
}

static void describe(MemoryMap *map, MemoryRange *range, uint64_t base, const MemoryRequest *request)
{
    *range = (MemoryRange){
        .base = base,
        .size = request->size,
        .kind = request->kind,
        .state = MEMORY_LIVE,
        .read_only = request->read_only,
        .device = request->device,
        .flags = request->flags,
        .id = ++map->last_id,
        .owner = request->owner,
        .tag = request->tag,
    };
}

uint64_t memory_map_alloc(MemoryMap *map, const MemoryRequest *request)
{
    uint64_t align = request->align > ALIGN ? request->align : ALIGN;
    Region *region = request->shared && map->shared.size ? &map->shared : &map->own;
    if (!request->size || request->size > region->size || align > region->size) return 0;
    uint64_t need = request->size + gap_behind(request->size) + (align > ALIGN ? align : 0);
    uint64_t base = 0;
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = reserve_locked(map) ? take_slot_locked(region, need) : NULL;
    while (!entry && map->oldest) {
        release_oldest_locked(map);
        entry = take_slot_locked(region, need);
    }
    if (entry) {
        base = align_up(entry->slot, align);
        describe(map, &entry->range, base, request);
        entry->range.shared = region == &map->shared;
        insert_locked(map, entry);
    }
    pthread_rwlock_unlock(&map->lock);
    if (base && request->kind == MEMORY_DEVICE) unwritten_set(&region->unwritten, base, request->size);
    return base;
}

/* Poisons a freed range, or gives the pages of a large one back: those of a file by cutting them out of it. */
static void spoil(const MemoryRange *range)
{
    uint8_t *start = (uint8_t *)(uintptr_t)range->base;
    if (range->size <= POISON_LIMIT) {
        memset(start, MEMORY_POISON, range->size);
        return;
    }
    uint64_t first = align_up(range->base, PAGE), end = (range->base + range->size) & ~(PAGE - 1);
    madvise((void *)(uintptr_t)first, end - first, range->shared ? MADV_REMOVE : MADV_DONTNEED);
    memset(start, MEMORY_POISON, PAGE);
}

bool memory_map_free(MemoryMap *map, uint64_t base, MemoryRange *freed)
{
    MemoryRange range = {0};
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = entry_at_locked(map, base);
    bool found = entry && entry->range.base == base && entry->slot_size && entry->range.state == MEMORY_LIVE;
    if (found) {
        range = entry->range;
        entry->range.state = MEMORY_FREED;
        entry->range.owner = entry->range.tag = NULL;
        atomic_fetch_add(&map->generation, 1);
    }
    pthread_rwlock_unlock(&map->lock);
    if (!found) return false;
    spoil(&range);
    memory_map_written(map, range.base, range.size); /* that it is freed is what accesses are told */
    pthread_rwlock_wrlock(&map->lock);
    quarantine_locked(map, entry);
    pthread_rwlock_unlock(&map->lock);
    if (freed) *freed = range;
    return true;
}

static bool overlaps_locked(const MemoryMap *map, uint64_t address, uint64_t size)
{
    for (size_t i = count_upto_locked(map, address + size - 1); i-- > 0;) {
        const MemoryRange *range = &map->entries[i]->range;
        if (range->base + range->size <= address) return false;
        if (range->state == MEMORY_LIVE) return true;
    }
    return false;
}

bool memory_map_overlaps(MemoryMap *map, uint64_t address, uint64_t size)
{
    pthread_rwlock_rdlock(&map->lock);
    bool overlaps = overlaps_locked(map, address, size ? size : 1);
    pthread_rwlock_unlock(&map->lock);
    return overlaps;
}

static bool meets(const Region *region, uint64_t base, uint64_t size)
{
    return base < region->start + region->size && base + size > region->start;
}

bool memory_map_register(MemoryMap *map, uint64_t base, const MemoryRequest *request)
{
    if (!request->size || base + request->size - 1 < base) return false;
    Entry *entry = calloc(1, sizeof *entry);
    if (!entry) return false;
    pthread_rwlock_wrlock(&map->lock);
    bool reserved = meets(&map->own, base, request->size) || meets(&map->shared, base, request->size);
    bool ok = !reserved && reserve_locked(map) && !overlaps_locked(map, base, request->size);
    if (ok) {
        describe(map, &entry->range, base, request);
        insert_locked(map, entry);
    }
    pthread_rwlock_unlock(&map->lock);
    if (!ok) free(entry);
    return ok;
}

bool memory_map_unregister(MemoryMap *map, uint64_t base, MemoryRange *removed)
{
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = entry_at_locked(map, base);
    if (entry && (entry->range.base != base || entry->slot_size)) entry = NULL;
    if (entry) {
        remove_locked(map, entry);
        atomic_fetch_add(&map->generation, 1);
    }
    pthread_rwlock_unlock(&map->lock);
    if (!entry) return false;
    if (removed) *removed = entry->range;
    free(entry);
    return true;
}

/* The live range of that owner with the highest base below *limit, which becomes the new limit. */
static bool find_owned(MemoryMap *map, const void *owner, uint64_t *limit, MemoryRange *out, bool *registered)
{
    bool found = false;
    pthread_rwlock_rdlock(&map->lock);
    for (size_t i = count_upto_locked(map, *limit - 1); i-- > 0 && !found;) {
        const Entry *entry = map->entries[i];
        found = entry->range.state == MEMORY_LIVE && entry->range.owner == owner;
        if (found) *out = entry->range, *registered = !entry->slot_size, *limit = out->base;
    }
    pthread_rwlock_unlock(&map->lock);
    return found;
}

void memory_map_free_owner(MemoryMap *map, const void *owner, uint64_t bytes[MEMORY_KINDS])
{
    MemoryRange range;
    bool registered;
    uint64_t limit = UINT64_MAX;
    memset(bytes, 0, MEMORY_KINDS * sizeof *bytes);
    while (find_owned(map, owner, &limit, &range, &registered)) {
        bool gone =
            registered ? memory_map_unregister(map, range.base, NULL) : memory_map_free(map, range.base, NULL);
        if (gone) bytes[range.kind] += range.size;
    }
}

bool memory_map_find_span(MemoryMap *map, uint64_t address, uint64_t size, MemoryRange *out)
{
    pthread_rwlock_rdlock(&map->lock);
    const Entry *entry = entry_at_locked(map, address);
    bool found = entry && entry->range.state == MEMORY_LIVE
                 && (size ? size : 1) <= entry->range.size - (address - entry->range.base);
    if (found) *out = entry->range;
    pthread_rwlock_unlock(&map->lock);
    return found;
}

bool memory_map_find(MemoryMap *map, uint64_t address, MemoryRange *out)
{
    return memory_map_find_span(map, address, 1, out);
}

bool memory_map_reserves(const MemoryMap *map, uint64_t address)
{
    return address - map->own.start < map->own.size || address - map->shared.start < map->shared.size;
}

bool memory_map_export(const MemoryMap *map, const MemoryRange *range, MemoryExport *out)
{
    if (!range->shared || !shared_file_is_open(&map->file)) return false;
    *out = (MemoryExport){
        .descriptor = map->file.descriptor,
        .inode = (uint64_t)map->file.inode,
        .offset = range->base - map->shared.start,
    };
    return true;
}

/* --- what nothing has written ----------------------------------------------------------------------------- */

bool memory_map_watch(MemoryMap *map)
{
    return unwritten_open(&map->own.unwritten, map->own.start, map->own.size)
           && unwritten_open(&map->shared.unwritten, map->shared.start, map->shared.size);
}

/* An address lies in one of the regions or in none. */
static const Unwritten *unwritten_of(const MemoryMap *map, uint64_t address)
{
    return address - map->own.start < map->own.size ? &map->own.unwritten : &map->shared.unwritten;
}

void memory_map_written(MemoryMap *map, uint64_t address, uint64_t size)
{
    unwritten_clear(unwritten_of(map, address), address, size);
}

void memory_map_renewed(MemoryMap *map, uint64_t address, uint64_t size)
{
    unwritten_set(unwritten_of(map, address), address, size);
}

bool memory_map_unwritten(const MemoryMap *map, uint64_t address, uint64_t size, uint64_t *first)
{
    return unwritten_find(unwritten_of(map, address), address, size, first);
}

void memory_map_moved(MemoryMap *map, uint64_t to, uint64_t from, uint64_t size)
{
    uint64_t end = from + size, first;
    const Unwritten *there = unwritten_of(map, to);
    unwritten_clear(there, to, size);
    for (uint64_t at = from; at < end && memory_map_unwritten(map, at, end - at, &first); at = first + 1)
        unwritten_set(there, to + (first - from), 1);
}

static uint64_t distance(const MemoryRange *range, uint64_t address)
{
    if (address < range->base) return range->base - address;
    uint64_t offset = address - range->base;
    return offset < range->size ? 0 : offset - range->size + 1;
}

void memory_map_nearest(MemoryMap *map, uint64_t address, MemoryRange *out, int *found)
{
    pthread_rwlock_rdlock(&map->lock);
    size_t upto = count_upto_locked(map, address);
    const Entry *below = upto ? map->entries[upto - 1] : NULL;
    const Entry *above = upto < map->count ? map->entries[upto] : NULL;
    const Entry *best = below ? below : above;
    if (below && above && distance(&above->range, address) < distance(&below->range, address)) best = above;
    *found = best != NULL;
    if (best) *out = best->range;
    pthread_rwlock_unlock(&map->lock);
}

_Atomic uint64_t *memory_map_generation(MemoryMap *map) { return &map->generation; }

const char *memory_kind_name(MemoryKind kind)
{
    static const char *const names[] = {
        [MEMORY_DEVICE] = "device memory",     [MEMORY_HOST_PINNED] = "page-locked host memory",
        [MEMORY_MANAGED] = "managed memory",   [MEMORY_REGISTERED] = "registered host memory",
        [MEMORY_GLOBAL] = "global variable",   [MEMORY_CONST] = "constant variable",
        [MEMORY_PARAMS] = "kernel parameters", [MEMORY_ARRAY] = "array",
        [MEMORY_HEAP] = "device heap",         [MEMORY_IMPORTED] = "memory of another process",
    };
    return names[kind];
}
