/* Which bytes of device memory nothing has written, where that is watched. See unwritten.h. */
#include "exec/memory/memory_map_inside.h"

bool memory_map_watch(MemoryMap *map)
{
    return unwritten_open(&map->own.unwritten, map->own.start, map->own.size)
           && unwritten_open(&map->shared.unwritten, map->shared.start, map->shared.size);
}

/* The record of the region that has the address; of addresses in no region any one, which ignores them. */
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

/* The byte that discarded memory is filled with at that address: a hash of the address, so that each word has
 * another value. */
static uint8_t fill_pattern(uint64_t address)
{
    return (uint8_t)((address / 4 + 1) * UINT64_C(0x9e3779b97f4a7c15) >> (32 + address % 4 * 8));
}

void memory_map_discarded(MemoryMap *map, uint64_t address, uint64_t size)
{
    const Unwritten *unwritten = unwritten_of(map, address);
    if (!unwritten->bits) return;
    atomic_store(&map->has_discarded, true);
    for (uint64_t at = address; at < address + size; at++) *(uint8_t *)(uintptr_t)at = fill_pattern(at);
    unwritten_set(unwritten, address, size);
}

/* Whether the byte is in a word of discarded memory that the host has written: an unwritten byte of the
 * word differs from the pattern. */
static bool host_wrote(MemoryMap *map, uint64_t address)
{
    MemoryRange range;
    uint64_t word = address & ~UINT64_C(3), unused;
    bool found = atomic_load(&map->has_discarded) && memory_map_find(map, address, &range);
    if (!found || !memory_is_managed(range.kind)) return false;
    for (uint64_t at = word; at < word + 4; at++) {
        bool unwritten = unwritten_find(unwritten_of(map, at), at, 1, &unused);
        if (unwritten && *(const uint8_t *)(uintptr_t)at != fill_pattern(at)) return true;
    }
    return false;
}

bool memory_map_unwritten(MemoryMap *map, uint64_t address, uint64_t size, uint64_t *first)
{
    const Unwritten *unwritten = unwritten_of(map, address);
    while (unwritten_find(unwritten, address, size, first)) {
        if (!host_wrote(map, *first)) return true;
        unwritten_clear(unwritten, *first & ~UINT64_C(3), 4);
    }
    return false;
}

void memory_map_copied(MemoryMap *map, uint64_t to, uint64_t from, uint64_t size)
{
    uint64_t end = from + size, first;
    const Unwritten *target = unwritten_of(map, to);
    unwritten_clear(target, to, size);
    for (uint64_t at = from; at < end && memory_map_unwritten(map, at, end - at, &first); at = first + 1)
        unwritten_set(target, to + (first - from), 1);
}
