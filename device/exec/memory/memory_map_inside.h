/* The structures of the memory map, for the files that implement it: memory_map.c, marks.c, written.c. */
#ifndef DEVICE_EXEC_MEMORY_MEMORY_MAP_INSIDE_H
#define DEVICE_EXEC_MEMORY_MEMORY_MAP_INSIDE_H

#include <pthread.h>

#include "exec/memory/memory_map.h"
#include "exec/memory/shared_file.h"
#include "exec/memory/unwritten.h"

enum {
    ALIGN = 512,
    FINE_BINS = 64, /* slots up to 32 KiB: one bin for each multiple of 512 */
    BINS = FINE_BINS + 8 * 48 /* then eight for each power of two */
};

typedef struct Entry {
    MemoryRange range; /* as kernels find it */
    MemoryRange call_range; /* as calls find it: ahead of `range` while a stream lags */
    uint64_t full_size; /* of a range of a pool, or a marked one: its size when all is in use; else 0 */
    bool marked; /* by memory_map_mark */
    struct Region *region; /* NULL for registered memory */
    uint64_t slot, slot_size; /* 0 for registered memory */
    struct Entry *next; /* in the quarantine or in a bin */
} Entry;

/* A reservation: addresses below `top` have been handed out in slots, those below `committed` are
 * accessible. Slots smaller than a huge page are cut from slabs, so that they leave no holes between the
 * large ones. */
typedef struct Region {
    uint64_t start, size, top, committed;
    uint64_t slab, slab_end; /* what is left of the newest slab */
    Entry *bins[BINS];
    Unwritten unwritten; /* of new device memory, when that is watched */
} Region;

/* The entry that starts at base, or NULL. */
Entry *memory_map_entry_locked(const struct MemoryMap *map, uint64_t base);

struct MemoryMap {
    pthread_rwlock_t lock;
    uint64_t *bases; /* sorted; entries[i] starts at bases[i] */
    Entry **entries;
    size_t count, capacity;
    Region own, shared; /* private, and over `file`; shared.size is 0 where the system provides no file */
    SharedFile file; /* of `shared` */
    Entry *oldest, *newest; /* the quarantine */
    uint64_t quarantined; /* bytes of its ranges up to POISON_LIMIT, which keep their pages */
    size_t quarantine_count;
    uint64_t last_id;
    _Atomic uint64_t generation;
    _Atomic bool has_discarded;
    _Atomic bool has_reserved; /* addresses that the program reserved, ever */
};

#endif
