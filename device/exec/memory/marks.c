/* Allocations that a pool of the program hands out in part: kernels find the bytes in use only. Calls of the
 * program see all of it. */
#include "exec/memory/memory_map_inside.h"

/* Whether the range is of a kind that a pool of the program can divide. */
static bool may_be_marked(const Entry *entry)
{
    const MemoryRange *range = &entry->range;
    bool kind =
        range->kind == MEMORY_DEVICE || range->kind == MEMORY_MANAGED || range->kind == MEMORY_HOST_PINNED;
    return kind && range->state == MEMORY_LIVE && entry->slot_size && !range->block && !range->tag;
}

bool memory_map_mark(MemoryMap *map, uint64_t base, MemoryRange *out)
{
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = memory_map_entry_locked(map, base);
    bool can_mark = entry && may_be_marked(entry);
    if (can_mark) {
        *out = entry->range;
        entry->full_size = entry->range.size;
        entry->marked = true;
    }
    pthread_rwlock_unlock(&map->lock);
    return can_mark;
}

void memory_map_show(MemoryMap *map, const MemoryRange *marked, uint64_t size)
{
    pthread_rwlock_wrlock(&map->lock);
    Entry *entry = memory_map_entry_locked(map, marked->base);
    if (entry && entry->marked && entry->range.id == marked->id) {
        MemoryRange *range = &entry->range;
        bool less = range->state == MEMORY_LIVE && size < range->size;
        range->state = size ? MEMORY_LIVE : MEMORY_FREED;
        if (size) range->size = size; /* messages about freed memory give its size */
        if (less) atomic_fetch_add(&map->generation, 1);
    }
    pthread_rwlock_unlock(&map->lock);
}
