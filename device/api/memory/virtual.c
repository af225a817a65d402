/* Reservations and mappings. See virtual.h.
 *
 * One lock guards all of them. A running kernel may have cached a range of addresses that is unmapped
 * meanwhile, and waiting for all contexts could deadlock. So unmapped addresses get scratch pages. A freed
 * reservation is parked, and its addresses are unmapped when no context has work.
 */
#define _GNU_SOURCE
#include "api/memory/virtual.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "api/base/log.h"
#include "api/context/context.h"
#include "api/stream/queue.h"

typedef struct Mapping {
    struct Mapping *next;       /* by address */
    uint64_t base, size;
    Physical *physical;         /* a reference */
    uint64_t readers, writers;  /* bit d: device d may read, write */
} Mapping;

typedef struct Reservation {
    struct Reservation *next;
    uint64_t base, size;
    uint64_t id;                /* of its parts in the memory map */
    Mapping *mappings;          /* in order of their addresses */
    bool used;                  /* memory was mapped to it once */
} Reservation;

static _Thread_local bool some_busy; /* the result of context_each_busy(note_busy) */
static pthread_mutex_t virtual_lock = PTHREAD_MUTEX_INITIALIZER;
static Reservation *reservations, *parked; /* live ones; freed ones whose addresses are still mapped */

static bool is_multiple(uint64_t value) { return value % PHYSICAL_GRANULARITY == 0; }

static Reservation *reservation_at_locked(uint64_t address)
{
    Reservation *r = reservations;
    while (r && address - r->base >= r->size) r = r->next;
    return r;
}

/* The reservation that contains the whole range. */
static Reservation *reservation_of_locked(uint64_t address, uint64_t size)
{
    Reservation *r = reservation_at_locked(address);
    return r && size && size <= r->size - (address - r->base) ? r : NULL;
}

static Mapping *mapping_at_locked(const Reservation *r, uint64_t address)
{
    Mapping *mapping = r->mappings;
    while (mapping && address - mapping->base >= mapping->size) mapping = mapping->next;
    return mapping;
}

/* The first of the mappings that fill exactly [address, address + size); NULL if none do. */
static Mapping *whole_mappings_locked(const Reservation *r, uint64_t address, uint64_t size)
{
    Mapping *first = mapping_at_locked(r, address), *last = first;
    if (!first || first->base != address) return NULL;
    for (uint64_t at = address; last; last = last->next) {
        if (last->base != at || last->size > address + size - at) return NULL;
        at += last->size;
        if (at == address + size) return first;
    }
    return NULL;
}

/* ---- What the memory map knows ---- */

/* Adds a part, or makes the last one longer if it is of the same kind with the same access. */
static void add_part(MemoryRange *parts, size_t *count, const MemoryRange *part)
{
    MemoryRange *last = *count ? &parts[*count - 1] : NULL;
    bool same = last && last->kind == part->kind && last->readers == part->readers
                && last->writers == part->writers && last->device == part->device;
    if (!part->size) return;
    if (same)
        last->size += part->size;
    else
        parts[(*count)++] = *part;
}

/* The part of the memory map for a mapping; it is closed if no device has access. */
static MemoryRange part_of(const Mapping *mapping, uint64_t id)
{
    MemoryRange part = {.base = mapping->base, .size = mapping->size, .kind = MEMORY_MAPPED, .id = id};
    part.state = MEMORY_CLOSED;
    part.device = mapping->physical->device->ordinal;
    part.readers = mapping->readers;
    part.writers = mapping->writers;
    if (mapping->readers) part.state = MEMORY_LIVE;
    return part;
}

/* Updates the memory map: gaps and mappings of the reservation become its parts. False if out of memory. */
static bool show_locked(Reservation *r)
{
    size_t count = 0, max = 1;
    uint64_t at = r->base;
    for (const Mapping *mapping = r->mappings; mapping; mapping = mapping->next) max += 2;
    MemoryRange *parts = calloc(max, sizeof *parts), gap = {.kind = MEMORY_RESERVED, .state = MEMORY_CLOSED};
    if (!parts) return false;
    for (const Mapping *mapping = r->mappings;; mapping = mapping->next) {
        gap.base = at;
        gap.size = (mapping ? mapping->base : r->base + r->size) - at;
        gap.id = r->id;
        add_part(parts, &count, &gap);
        if (!mapping) break;
        MemoryRange part = part_of(mapping, r->id);
        add_part(parts, &count, &part);
        at = mapping->base + mapping->size;
    }
    bool ok = memory_map_divide(driver_memory(), r->base, r->size, parts, count);
    if (ok) r->id = parts[0].id;
    free(parts);
    return ok;
}

/* ---- Reserving ---- */

/* Reserves aligned addresses without pages, at the hint if that is free. 0 if the system has none. */
static uint64_t take_addresses(uint64_t size, uint64_t align, uint64_t hint)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint64_t padded;
    if (hint && hint % align == 0) {
        void *mapped = mmap((void *)(uintptr_t)hint, size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
        if (mapped == (void *)(uintptr_t)hint) return hint;
        if (mapped != MAP_FAILED) munmap(mapped, size);
    }
    if (__builtin_add_overflow(size, align, &padded)) return 0;
    void *start = mmap(NULL, padded, PROT_NONE, flags, -1, 0);
    if (start == MAP_FAILED) return 0;
    uint64_t first = (uint64_t)(uintptr_t)start, base = (first + align - 1) & ~(align - 1);
    if (base > first) munmap(start, base - first);
    munmap((void *)(uintptr_t)(base + size), first + padded - base - size);
    return base;
}

static void note_busy(Context *context)
{
    (void)context;
    some_busy = true;
}

/* Unmaps parked reservations: all if no context has work, else those that no memory was ever mapped to. */
static void drop_parked_locked(void)
{
    some_busy = false;
    if (parked) context_each_busy(note_busy);
    for (Reservation **link = &parked; *link;) {
        Reservation *r = *link;
        if (r->used && some_busy) {
            link = &r->next;
            continue;
        }
        *link = r->next;
        munmap((void *)(uintptr_t)r->base, r->size);
        free(r);
    }
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags)
{
    uint64_t align = alignment > PHYSICAL_GRANULARITY ? alignment : PHYSICAL_GRANULARITY;
    TRY(driver_check());
    if (!out || flags || !size || !is_multiple(size) || alignment & (alignment - 1)) {
        log_error("the size of reserved addresses must be a multiple of %llu bytes, the alignment a power of "
                  "two",
                  (unsigned long long)PHYSICAL_GRANULARITY);
        return CUDA_ERROR_INVALID_VALUE;
    }
    Reservation *r = calloc(1, sizeof *r);
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    r->size = size;
    r->base = take_addresses(size, align, hint);
    pthread_mutex_lock(&virtual_lock);
    drop_parked_locked();
    bool ok = r->base && show_locked(r);
    if (ok) {
        r->next = reservations;
        reservations = r;
        *out = r->base;
    }
    pthread_mutex_unlock(&virtual_lock);
    if (ok) return CUDA_SUCCESS;
    if (r->base) munmap((void *)(uintptr_t)r->base, size);
    free(r);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
    TRY(driver_check());
    pthread_mutex_lock(&virtual_lock);
    Reservation **link = &reservations, *r;
    while (*link && ((*link)->base != address || (*link)->size != size)) link = &(*link)->next;
    r = *link && !(*link)->mappings ? *link : NULL;
    if (r) {
        *link = r->next;
        memory_map_divide(driver_memory(), r->base, r->size, NULL, 0);
        r->next = parked;
        parked = r;
    }
    drop_parked_locked();
    pthread_mutex_unlock(&virtual_lock);
    if (!r) log_error("no reservation of that size starts there, or something is still mapped to it");
    return r ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Mapping ---- */

/* Adds the mapping in order; false if it overlaps another one. */
static bool insert_locked(Reservation *r, Mapping *mapping)
{
    Mapping **link = &r->mappings;
    while (*link && (*link)->base < mapping->base) {
        if ((*link)->base + (*link)->size > mapping->base) return false;
        link = &(*link)->next;
    }
    if (*link && (*link)->base < mapping->base + mapping->size) return false;
    mapping->next = *link;
    *link = mapping;
    return true;
}

static void remove_locked(Reservation *r, const Mapping *mapping)
{
    Mapping **link = &r->mappings;
    while (*link != mapping) link = &(*link)->next;
    *link = mapping->next;
}

/* Replaces the pages of the addresses by scratch pages, for accesses that come too late, or, if the system
 * has no memory for these, by none. The addresses stay reserved. */
static void take_pages_away(uint64_t address, uint64_t size)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    void *place = (void *)(uintptr_t)address;
    if (mmap(place, size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED
        && mmap(place, size, PROT_NONE, flags, -1, 0) == MAP_FAILED)
        log_warning("the system could not unmap %llu bytes", (unsigned long long)size);
}

/* After a success the reservation owns the mapping with its reference; after an error the caller does. */
static CUresult map_locked(Mapping *mapping)
{
    Reservation *r = reservation_of_locked(mapping->base, mapping->size);
    if (!r || !insert_locked(r, mapping)) {
        log_error(r ? "something is already mapped there" : "the addresses are not reserved");
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!physical_map(mapping->physical, mapping->base)) {
        remove_locked(r, mapping);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r->used = true;
    if (show_locked(r)) return CUDA_SUCCESS;
    take_pages_away(mapping->base, mapping->size);
    remove_locked(r, mapping);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    Physical *physical;
    TRY(physical_enter(handle, &physical));
    Mapping *mapping = calloc(1, sizeof *mapping);
    CUresult result = mapping ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!is_multiple(address) || flags || physical->usage) result = CUDA_ERROR_INVALID_VALUE;
    if (offset || size != physical->size) {
        log_error("physical memory can only be mapped as a whole: %llu bytes from offset 0",
                  (unsigned long long)physical->size);
        result = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (!result) {
        *mapping = (Mapping){.base = address, .size = size, .physical = physical};
        pthread_mutex_lock(&virtual_lock);
        result = map_locked(mapping);
        pthread_mutex_unlock(&virtual_lock);
    }
    if (!result) return CUDA_SUCCESS;
    free(mapping);
    PUT(physical);
    return result;
}

/* Takes the mappings that fill the range out of the list; returns them, to be released without the lock, or
 * NULL. */
static Mapping *unmap_locked(uint64_t address, uint64_t size)
{
    Reservation *r = reservation_of_locked(address, size);
    Mapping *first = r ? whole_mappings_locked(r, address, size) : NULL;
    if (!first) return NULL;
    Mapping **link = &r->mappings, *last = first;
    while (*link != first) link = &(*link)->next;
    while (last->base + last->size != address + size) last = last->next;
    *link = last->next;
    last->next = NULL;
    if (show_locked(r)) {
        take_pages_away(address, size);
        return first;
    }
    last->next = *link;
    *link = first;
    return NULL;
}

/* Whether the range is reserved and nothing is mapped to it. */
static bool is_empty_locked(uint64_t address, uint64_t size)
{
    const Reservation *r = reservation_of_locked(address, size);
    const Mapping *mapping = r ? r->mappings : NULL;
    while (mapping && mapping->base + mapping->size <= address) mapping = mapping->next;
    return r && (!mapping || mapping->base >= address + size);
}

/* Waits for the work of the current context, which may use the memory. Succeeds if nothing is mapped
 * there. */
CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
    Context *context;
    TRY(driver_check());
    if (!size || !is_multiple(address) || !is_multiple(size)) return CUDA_ERROR_INVALID_VALUE;
    if (!context_enter_any(&context)) TRY(queue_wait_context_despite_capture(context));
    pthread_mutex_lock(&virtual_lock);
    bool empty = is_empty_locked(address, size);
    Mapping *gone = empty ? NULL : unmap_locked(address, size);
    pthread_mutex_unlock(&virtual_lock);
    if (!gone && !empty) {
        log_error("the addresses are not those of whole, adjacent mappings");
        return CUDA_ERROR_INVALID_VALUE;
    }
    while (gone) {
        Mapping *mapping = gone;
        gone = mapping->next;
        PUT(mapping->physical);
        free(mapping);
    }
    return CUDA_SUCCESS;
}

/* ---- Access ---- */

static CUresult check_location(const CUmemLocation *location)
{
    if (location->type == CU_MEM_LOCATION_TYPE_HOST) {
        log_error("the host has no access to memory of a device");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE && driver_device(location->id)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_access(const CUmemAccessDesc *wanted)
{
    bool known = wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE
                 || wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READ
                 || wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return known ? check_location(&wanted->location) : CUDA_ERROR_INVALID_VALUE;
}

static void set_mapping_access(Mapping *mapping, const CUmemAccessDesc *wanted)
{
    uint64_t bit = UINT64_C(1) << wanted->location.id;
    mapping->readers &= ~bit;
    mapping->writers &= ~bit;
    if (wanted->flags & CU_MEM_ACCESS_FLAGS_PROT_READ) mapping->readers |= bit;
    if (wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) mapping->writers |= bit;
}

static CUresult set_access_locked(uint64_t address, uint64_t size, const CUmemAccessDesc *wanted,
                                  size_t count)
{
    Reservation *r = reservation_of_locked(address, size);
    Mapping *first = r ? whole_mappings_locked(r, address, size) : NULL;
    if (!first) {
        log_error("the addresses are not those of whole, adjacent mappings");
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (Mapping *m = first; m && m->base < address + size; m = m->next)
        for (size_t i = 0; i < count; i++) set_mapping_access(m, &wanted[i]);
    return show_locked(r) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *wanted, size_t count)
{
    TRY(driver_check());
    if (!wanted || !count || !size || !is_multiple(address) || !is_multiple(size))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) TRY(check_access(&wanted[i]));
    pthread_mutex_lock(&virtual_lock);
    CUresult result = set_access_locked(address, size, wanted, count);
    pthread_mutex_unlock(&virtual_lock);
    return result;
}

/* ---- What is known of an address ---- */

bool virtual_find(uint64_t address, VirtualFacts *out)
{
    pthread_mutex_lock(&virtual_lock);
    const Reservation *r = reservation_at_locked(address);
    const Mapping *mapping = r ? mapping_at_locked(r, address) : NULL;
    if (r) *out = (VirtualFacts){.base = r->base, .size = r->size, .device = CU_DEVICE_INVALID};
    if (mapping) {
        out->mapping_base = mapping->base;
        out->mapping_size = mapping->size;
        out->device = mapping->physical->device->ordinal;
        out->handle_types = mapping->physical->handle_types;
        out->id = mapping->physical->id;
        out->readers = mapping->readers;
        out->writers = mapping->writers;
    }
    pthread_mutex_unlock(&virtual_lock);
    return r != NULL;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
    VirtualFacts facts;
    TRY(driver_check());
    if (!flags || !location) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_location(location));
    if (!virtual_find(address, &facts) || !facts.mapping_size) return CUDA_ERROR_INVALID_VALUE;
    bool reads = facts.readers >> location->id & 1, writes = facts.writers >> location->id & 1;
    *flags = writes  ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : reads ? CU_MEM_ACCESS_FLAGS_PROT_READ
                     : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *pointer)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    TRY(driver_check());
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&virtual_lock);
    const Reservation *r = reservation_at_locked(address);
    const Mapping *mapping = r ? mapping_at_locked(r, address) : NULL;
    bool mapped = mapping != NULL, ok = mapped && physical_retain(mapping->physical);
    if (ok) *out = (CUmemGenericAllocationHandle)(uintptr_t)mapping->physical;
    pthread_mutex_unlock(&virtual_lock);
    return ok ? CUDA_SUCCESS : mapped ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
}
