/* The memory map: one sorted array of ranges over two reservations of address space.
 *
 * Looking up is a binary search over base addresses under a reader's lock. Addresses are handed out in slots
 * of rounded size, kept in bins when free; a freed slot passes through the quarantine first. Physical memory
 * is the kernel's business: pages appear at the first touch, and large freed slots give theirs back at once.
 * One reservation is private to the process. The other lies over an unnamed file, so that another process
 * can map the same pages; where the system gives none, its ranges come from the private one.
 */
#define _GNU_SOURCE
#include "exec/memory/memory_map_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum {
    QUARANTINE_RANGES = 4096
}; /* freed ranges in the quarantine: messages about late accesses name them */
#define COMMIT_STEP (32 * MIB) /* addresses become accessible in steps of this size */
#define HUGE_PAGE (2 * MIB)
#define SMALL_PAGE (4 * KIB)
#define LARGE_BYTES MIB /* larger ranges start at a huge page, as a GPU's memory does */
#define SLAB (32 * MIB) /* slots smaller than a huge page are cut from slabs of this size */
#define POISON_LIMIT (256 * KIB) /* larger ranges are not poisoned: their pages are returned to the system */
#define QUARANTINE_SMALL (32 * MIB) /* the quarantine's limit for the bytes of ranges that keep their pages */
/* Sizes of a reservation: tried first; enough unless the caller says less; the minimum in any case. */
#define ARENA_LARGEST (UINT64_C(1) << 40)
#define ARENA_USUAL (4 * GIB)
#define ARENA_SMALLEST (64 * MIB)
#ifdef __x86_64__
#define OS_PAGE_BYTES SMALL_PAGE
#else
#define OS_PAGE_BYTES (64 * KIB) /* the largest that Linux has on ARM, where the kernel's build decides */
#endif

static uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

/* The bin of slots for `need` bytes; *slot_size becomes the size of a new slot: need rounded up to a size
 * for which the bin is the same. */
static int bin_of(uint64_t need, uint64_t *slot_size)
{
    if (need >= HUGE_PAGE) need = align_up(need, HUGE_PAGE);
    if (need <= FINE_BINS * ALIGN) {
        uint64_t units = (need + ALIGN - 1) / ALIGN;
        *slot_size = units * ALIGN;
        return (int)units - 1;
    }
    int power = 63 - __builtin_clzll(need);
    uint64_t step = (UINT64_C(1) << power) / 8;
    uint64_t eighths = (need - (UINT64_C(1) << power) + step - 1) / step;
    *slot_size = (UINT64_C(1) << power) + eighths * step;
    return FINE_BINS + (power - 15) * 8 + (int)eighths;
}

/* Bytes of a slot after the range, so that an access past the range's end hits no other one. */
static uint64_t gap_after(uint64_t size)
{
    if (size < 64 * KIB) return ALIGN;
    return size < MIB ? SMALL_PAGE : 64 * KIB;
}

static void region_open(Region *region, void *start, uint64_t size)
{
    region->start = (uint64_t)(uintptr_t)start;
    region->size = size;
    region->top = region->committed = align_up(region->start, HUGE_PAGE);
}

static bool reserve_own(Region *region, uint64_t min)
{
    if (min > ARENA_USUAL) min = ARENA_USUAL;
    if (min < ARENA_SMALLEST) min = ARENA_SMALLEST;
    for (uint64_t size = ARENA_LARGEST; size >= min; size /= 2) {
        void *start = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED) continue;
        region_open(region, start, size);
        return true;
    }
    return false;
}

/* Leaves region->size 0 if the system provides no file. The file has the region's length from the
 * beginning. */
static void reserve_shared(Region *region, SharedFile *file, uint64_t size)
{
    if (!shared_file_create(file, "cuda-device-memory", size)) return;
    void *start = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file->descriptor, 0);
    if (start == MAP_FAILED)
        shared_file_close(file);
    else
        region_open(region, start, size);
}

MemoryMap *memory_map_create(void) { return memory_map_create_min(ARENA_USUAL); }

MemoryMap *memory_map_create_min(uint64_t min)
{
    MemoryMap *map = calloc(1, sizeof *map);
    if (!map) return NULL;
    if (!reserve_own(&map->own, min)) {
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
        if (map->entries[i]->range.state != MEMORY_FREED) free(map->entries[i]);
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

/* Functions named _locked: the caller has map->lock, for writing if they change anything. */

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

/* Makes room in the arrays for that many more entries. False if out of memory. */
static bool reserve_locked(MemoryMap *map, size_t more)
{
    size_t capacity = map->capacity ? map->capacity : 256;
    while (capacity < map->count + more) capacity *= 2;
    if (capacity == map->capacity) return true;
    uint64_t *bases = realloc(map->bases, capacity * sizeof *bases);
    if (!bases) return false;
    map->bases = bases;
    Entry **entries = realloc(map->entries, capacity * sizeof *entries);
    if (!entries) return false;
    map->entries = entries;
    map->capacity = capacity;
    return true;
}

/* Only after reserve_locked(), which makes sure of the capacity. */
static void insert_locked(MemoryMap *map, Entry *entry)
{
    size_t at = count_upto_locked(map, entry->range.base), later = map->count - at;
    memmove(map->bases + at + 1, map->bases + at, later * sizeof *map->bases);
    memmove(map->entries + at + 1, map->entries + at, later * sizeof *map->entries);
    map->bases[at] = entry->range.base;
    map->entries[at] = entry;
    map->count++;
}

static void remove_locked(MemoryMap *map, const Entry *entry)
{
    size_t at = count_upto_locked(map, entry->range.base) - 1, later = map->count - at - 1;
    memmove(map->bases + at, map->bases + at + 1, later * sizeof *map->bases);
    memmove(map->entries + at, map->entries + at + 1, later * sizeof *map->entries);
    map->count--;
}

/* The first range that starts in [base, end), or NULL. */
static Entry *entry_at_or_after_locked(const MemoryMap *map, uint64_t base, uint64_t end)
{
    size_t at = count_upto_locked(map, base - 1);
    return at < map->count && map->bases[at] < end ? map->entries[at] : NULL;
}

/* The range that contains address, or NULL. */
static Entry *entry_at_locked(const MemoryMap *map, uint64_t address)
{
    size_t upto = count_upto_locked(map, address);
    if (!upto) return NULL;
    Entry *entry = map->entries[upto - 1];
    return address - entry->range.base < entry->range.size ? entry : NULL;
}

/* Makes the addresses below end accessible. False if the system refuses. */
static bool commit_locked(Region *region, uint64_t end)
{
    if (end <= region->committed) return true;
    uint64_t limit = region->start + region->size;
    uint64_t target = align_up(end, COMMIT_STEP);
    if (target > limit) target = align_up(end, OS_PAGE_BYTES);
    if (target > limit) return false;
    if (mprotect((void *)(uintptr_t)region->committed, target - region->committed, PROT_READ | PROT_WRITE))
        return false;
    region->committed = target;
    return true;
}

/* Addresses from the top, a multiple of huge pages; 0 when the reservation is used up. */
static uint64_t cut_locked(Region *region, uint64_t size)
{
    uint64_t start = region->top;
    if (size > region->start + region->size - start || !commit_locked(region, start + size)) return 0;
    region->top = start + size;
    return start;
}

/* A small slot: from the rest of the last slab, or from a new one. */
static uint64_t cut_small_locked(Region *region, uint64_t size)
{
    if (size > region->slab_end - region->slab) {
        uint64_t slab = cut_locked(region, SLAB), length = SLAB;
        if (!slab) slab = cut_locked(region, length = HUGE_PAGE);
        if (!slab) return 0;
        region->slab = slab;
        region->slab_end = slab + length;
    }
    region->slab += size;
    return region->slab - size;
}

static Entry *new_slot_locked(Region *region, uint64_t slot_size)
{
    Entry *entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    entry->region = region;
    entry->slot = slot_size < HUGE_PAGE ? cut_small_locked(region, slot_size) : cut_locked(region, slot_size);
    entry->slot_size = slot_size;
    if (entry->slot) return entry;
    free(entry);
    return NULL;
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

/* Puts the entry into the bin of its slot's size. */
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

/* Adds a freed range to the quarantine, and releases the oldest ones beyond its limits. */
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

static MemoryRange range_of_request(MemoryMap *map, uint64_t base, const MemoryRequest *request)
{
    return (MemoryRange){
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
        .block = request->block,
    };
}

/* The bytes that a slot needs for a range of that size and alignment. Slots from the size of a huge page
 * on start at a huge page, others at a multiple of ALIGN. */
static uint64_t slot_for(uint64_t size, uint64_t align)
{
    uint64_t need = size + gap_after(size);
    if (size > LARGE_BYTES && need < HUGE_PAGE) need = HUGE_PAGE;
    return align > (need < HUGE_PAGE ? ALIGN : HUGE_PAGE) ? need + align : need;
}

uint64_t memory_map_alloc(MemoryMap *map, const MemoryRequest *request)
{
    uint64_t align = request->align > ALIGN ? request->align : ALIGN;
    Region *region = request->shared && map->shared.size ? &map->shared : &map->own;
    if (!request->size || request->size > region->size || align > region->size) return 0;
    uint64_t max = request->capacity > request->size ? request->capacity : request->size;
    uint64_t need = slot_for(max, align);
    uint64_t base = 0;
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = reserve_locked(map, 1) ? take_slot_locked(region, need) : NULL;
    while (!entry && map->oldest) {
        release_oldest_locked(map);
        entry = take_slot_locked(region, need);
    }
    if (entry) {
        base = align_up(entry->slot, align);
        entry->range = range_of_request(map, base, request);
        entry->range.shared = region == &map->shared;
        entry->call_range = entry->range;
        entry->full_size = request->block ? max : 0;
        insert_locked(map, entry);
    }
    pthread_rwlock_unlock(&map->lock);
    if (base && request->kind == MEMORY_DEVICE) unwritten_set(&region->unwritten, base, request->size);
    return base;
}

/* Poisons a freed range. Of a large one whole pages are returned to the system instead (those of the
 * shared file are removed from the file), and only the bytes up to them, or the first small page, are
 * poisoned. */
static void discard_contents(const MemoryRange *range)
{
    uint8_t *start = (uint8_t *)(uintptr_t)range->base;
    if (range->size <= POISON_LIMIT) {
        memset(start, MEMORY_POISON, range->size);
        return;
    }
    uint64_t first = align_up(range->base, OS_PAGE_BYTES),
             end = (range->base + range->size) & ~(OS_PAGE_BYTES - 1);
    madvise((void *)(uintptr_t)first, end - first, range->shared ? MADV_REMOVE : MADV_DONTNEED);
    memset(start, MEMORY_POISON, first - range->base > SMALL_PAGE ? first - range->base : SMALL_PAGE);
}

bool memory_map_free(MemoryMap *map, uint64_t base, MemoryRange *freed)
{
    MemoryRange range = {0};
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = entry_at_locked(map, base);
    bool found = entry && entry->range.base == base && entry->slot_size
                 && (entry->range.state == MEMORY_LIVE || entry->full_size);
    if (found) {
        range = entry->range;
        if (entry->full_size) range.size = entry->full_size;
        entry->full_size = 0;
        entry->marked = false;
        entry->range.state = MEMORY_FREED;
        entry->range.owner = entry->range.tag = entry->range.block = NULL;
        entry->call_range = entry->range;
        atomic_fetch_add(&map->generation, 1);
    }
    pthread_rwlock_unlock(&map->lock);
    if (!found) return false;
    discard_contents(&range);
    memory_map_written(map, range.base, range.size); /* an access is then reported as one to freed memory */
    pthread_rwlock_wrlock(&map->lock);
    quarantine_locked(map, entry);
    pthread_rwlock_unlock(&map->lock);
    if (freed) *freed = range;
    return true;
}

/* Whether a range that has not been freed has one of the bytes. */
static bool overlaps_locked(const MemoryMap *map, uint64_t address, uint64_t size)
{
    for (size_t i = count_upto_locked(map, address + size - 1); i-- > 0;) {
        const MemoryRange *range = &map->entries[i]->range;
        if (range->base + range->size <= address) return false;
        if (range->state != MEMORY_FREED) return true;
    }
    return false;
}

static bool overlaps_region(const Region *region, uint64_t base, uint64_t size)
{
    return base < region->start + region->size && base + size > region->start;
}

bool memory_map_register(MemoryMap *map, uint64_t base, const MemoryRequest *request)
{
    if (!request->size || base + request->size - 1 < base) return false;
    Entry *entry = calloc(1, sizeof *entry);
    if (!entry) return false;
    pthread_rwlock_wrlock(&map->lock);
    bool reserved =
        overlaps_region(&map->own, base, request->size) || overlaps_region(&map->shared, base, request->size);
    bool ok = !reserved && reserve_locked(map, 1) && !overlaps_locked(map, base, request->size);
    if (ok) {
        entry->range = entry->call_range = range_of_request(map, base, request);
        insert_locked(map, entry);
    }
    pthread_rwlock_unlock(&map->lock);
    if (!ok) free(entry);
    return ok;
}

/* --- addresses that the program reserves --------------------------------------------------------------- */

static bool is_reserved(const MemoryRange *range)
{
    return range->kind == MEMORY_MAPPED || range->kind == MEMORY_RESERVED;
}

/* A chain of new entries for the parts, owned by the caller; NULL if out of memory or without parts. */
static Entry *new_parts(const MemoryRange *parts, size_t count)
{
    Entry *chain = NULL;
    for (size_t i = count; i-- > 0;) {
        Entry *entry = calloc(1, sizeof *entry);
        if (!entry) {
            free_chain(chain);
            return NULL;
        }
        entry->range = entry->call_range = parts[i];
        entry->next = chain;
        chain = entry;
    }
    return chain;
}

/* Whether all ranges there are reserved addresses of the program, and there is room for `count` more
 * entries. */
static bool can_divide_locked(MemoryMap *map, uint64_t base, uint64_t size, size_t count)
{
    if (overlaps_region(&map->own, base, size) || overlaps_region(&map->shared, base, size)
        || !reserve_locked(map, count))
        return false;
    for (size_t i = count_upto_locked(map, base + size - 1); i-- > 0;) {
        const MemoryRange *range = &map->entries[i]->range;
        if (range->base + range->size <= base) break;
        if (!is_reserved(range)) return false;
    }
    return true;
}

bool memory_map_divide(MemoryMap *map, uint64_t base, uint64_t size, MemoryRange *parts, size_t count)
{
    atomic_store(&map->has_reserved, true);
    pthread_rwlock_wrlock(&map->lock);
    for (size_t i = 0; i < count; i++)
        if (!parts[i].id) parts[i].id = ++map->last_id;
    Entry *chain = new_parts(parts, count), *previous;
    bool ok = (chain || !count) && can_divide_locked(map, base, size, count);
    while (ok && (previous = entry_at_or_after_locked(map, base, base + size)) != NULL) {
        remove_locked(map, previous);
        free(previous);
    }
    while (ok && chain) {
        Entry *entry = chain;
        chain = entry->next;
        entry->next = NULL;
        insert_locked(map, entry);
    }
    if (ok) atomic_fetch_add(&map->generation, 1);
    pthread_rwlock_unlock(&map->lock);
    free_chain(chain);
    return ok;
}

bool memory_map_is_closed(MemoryMap *map, uint64_t address, uint64_t size)
{
    bool closed = false;
    if (!atomic_load(&map->has_reserved)) return false;
    pthread_rwlock_rdlock(&map->lock);
    for (size_t i = count_upto_locked(map, address + (size ? size : 1) - 1); i-- > 0 && !closed;) {
        const MemoryRange *range = &map->entries[i]->range;
        if (range->base + range->size <= address) break;
        closed = range->state == MEMORY_CLOSED;
    }
    pthread_rwlock_unlock(&map->lock);
    return closed;
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

/* Finds the live range of that owner with the highest base below *limit: *out, and its base becomes *limit.
 * *registered: whether it is the program's own memory. False if there is none. */
static bool find_owned(MemoryMap *map, const void *owner, uint64_t *limit, MemoryRange *out, bool *registered)
{
    bool found = false;
    pthread_rwlock_rdlock(&map->lock);
    for (size_t i = count_upto_locked(map, *limit - 1); i-- > 0 && !found;) {
        const Entry *entry = map->entries[i];
        found = (entry->range.state == MEMORY_LIVE || entry->marked) && entry->range.owner == owner;
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
        bool gone = registered ? memory_map_unregister(map, range.base, NULL)
                               : memory_map_free(map, range.base, NULL);
        if (gone) bytes[range.kind] += range.size;
    }
}

/* Whether a live range has the bytes, whose address is in it. Mapped memory may continue in the next
 * ranges, which differ in the devices that have access. */
static bool has_locked(const MemoryMap *map, const MemoryRange *range, uint64_t address, uint64_t size)
{
    uint64_t available = range->size - (address - range->base);
    size_t next = count_upto_locked(map, range->base);
    while (size > available && range->kind == MEMORY_MAPPED && next < map->count) {
        const MemoryRange *after = &map->entries[next++]->range;
        if (after->base != range->base + range->size || after->state != MEMORY_LIVE) return false;
        range = after;
        available += range->size;
    }
    return size <= available;
}

bool memory_map_find_span(MemoryMap *map, uint64_t address, uint64_t size, MemoryRange *out)
{
    pthread_rwlock_rdlock(&map->lock);
    const Entry *entry = entry_at_locked(map, address);
    bool found = entry && entry->range.state == MEMORY_LIVE
                 && has_locked(map, &entry->range, address, size ? size : 1);
    if (found) *out = entry->range;
    pthread_rwlock_unlock(&map->lock);
    return found;
}

bool memory_map_find(MemoryMap *map, uint64_t address, MemoryRange *out)
{
    return memory_map_find_span(map, address, 1, out);
}

/* --- ranges that live in the order of a stream --------------------------------------------------------- */

Entry *memory_map_entry_locked(const MemoryMap *map, uint64_t base)
{
    size_t upto = count_upto_locked(map, base);
    return upto && map->bases[upto - 1] == base ? map->entries[upto - 1] : NULL;
}

bool memory_map_find_for_call(MemoryMap *map, uint64_t address, uint64_t size, MemoryRange *out)
{
    pthread_rwlock_rdlock(&map->lock);
    size_t upto = count_upto_locked(map, address);
    const MemoryRange *call_range = upto ? &map->entries[upto - 1]->call_range : NULL;
    bool found = call_range && call_range->state == MEMORY_LIVE
                 && address - call_range->base < call_range->size
                 && has_locked(map, call_range, address, size ? size : 1);
    if (found) *out = *call_range;
    pthread_rwlock_unlock(&map->lock);
    return found;
}

bool memory_map_withdraw(MemoryMap *map, uint64_t base, MemoryRange *out)
{
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = memory_map_entry_locked(map, base);
    bool found = entry && entry->call_range.state == MEMORY_LIVE;
    if (found) {
        *out = entry->call_range;
        entry->call_range.state = MEMORY_FREED;
    }
    pthread_rwlock_unlock(&map->lock);
    return found;
}

MemoryRange memory_map_grant(MemoryMap *map, uint64_t base, const MemoryRequest *request)
{
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = memory_map_entry_locked(map, base);
    bool shared = entry->call_range.shared;
    entry->call_range = range_of_request(map, base, request);
    entry->call_range.shared = shared;
    MemoryRange call_range = entry->call_range;
    pthread_rwlock_unlock(&map->lock);
    return call_range;
}

void memory_map_begin(MemoryMap *map, const MemoryRange *range)
{
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = memory_map_entry_locked(map, range->base);
    bool later = entry && entry->full_size && entry->range.id < range->id;
    if (later) {
        entry->range = *range;
        atomic_fetch_add(&map->generation, 1);
    }
    pthread_rwlock_unlock(&map->lock);
    if (later && range->kind == MEMORY_DEVICE) memory_map_renewed(map, range->base, range->size);
}

void memory_map_end(MemoryMap *map, const MemoryRange *range)
{
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = memory_map_entry_locked(map, range->base);
    bool current = entry && entry->full_size && entry->range.id <= range->id;
    if (current) {
        entry->range = *range;
        entry->range.state = MEMORY_FREED;
        atomic_fetch_add(&map->generation, 1);
    }
    pthread_rwlock_unlock(&map->lock);
    if (!current) return;
    memset((void *)(uintptr_t)range->base, MEMORY_POISON,
           range->size < POISON_LIMIT ? range->size : SMALL_PAGE);
    memory_map_written(map, range->base, range->size);
}

bool memory_map_reserves(MemoryMap *map, uint64_t address)
{
    if (address - map->own.start < map->own.size || address - map->shared.start < map->shared.size)
        return true;
    pthread_rwlock_rdlock(&map->lock);
    const Entry *entry = entry_at_locked(map, address);
    bool reserved = entry && is_reserved(&entry->range);
    pthread_rwlock_unlock(&map->lock);
    return reserved;
}

bool memory_map_file(const MemoryMap *map, MemoryExport *out)
{
    if (!map->shared.size || !shared_file_is_open(&map->file)) return false;
    *out = (MemoryExport){.descriptor = map->file.descriptor, .inode = (uint64_t)map->file.inode};
    return true;
}

bool memory_map_export(const MemoryMap *map, const MemoryRange *range, MemoryExport *out)
{
    if (!range->shared || !memory_map_file(map, out)) return false;
    out->offset = range->base - map->shared.start;
    return true;
}

static uint64_t distance_to(const MemoryRange *range, uint64_t address)
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
    if (below && above && distance_to(&above->range, address) < distance_to(&below->range, address))
        best = above;
    *found = best != NULL;
    if (best) *out = best->range;
    pthread_rwlock_unlock(&map->lock);
}

_Atomic uint64_t *memory_map_generation(MemoryMap *map) { return &map->generation; }

const char *memory_kind_name(MemoryKind kind)
{
    static const char *const names[] = {
        [MEMORY_DEVICE] = "device memory",
        [MEMORY_HOST_PINNED] = "page-locked host memory",
        [MEMORY_MANAGED] = "managed memory",
        [MEMORY_REGISTERED] = "registered host memory",
        [MEMORY_GLOBAL] = "global variable",
        [MEMORY_GLOBAL_MANAGED] = "managed variable",
        [MEMORY_CONST] = "constant variable",
        [MEMORY_PARAMS] = "kernel parameters",
        [MEMORY_ARRAY] = "array",
        [MEMORY_HEAP] = "device heap",
        [MEMORY_IMPORTED] = "memory of another process",
        [MEMORY_PHYSICAL] = "physical memory",
        [MEMORY_MAPPED] = "mapped memory",
        [MEMORY_RESERVED] = "reserved addresses",
    };
    return names[kind];
}
