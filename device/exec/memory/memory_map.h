/* The memory map: every range of addresses that a kernel or a copy may access.
 *
 * Allocations come from large reservations of address space, with their exact sizes remembered and a gap
 * after each, so that an access one element past the end is found. Freed ranges are poisoned and kept in
 * quarantine before their addresses are used again. Host memory that the program registers is entered under
 * its own addresses. One map serves all virtual devices of the process (unified addressing):
 * MemoryRange.device distinguishes them.
 */
#ifndef DEVICE_EXEC_MEMORY_MEMORY_MAP_H
#define DEVICE_EXEC_MEMORY_MEMORY_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct MemoryMap MemoryMap;

typedef enum MemoryKind {
    MEMORY_DEVICE,      /* cuMemAlloc and its relatives */
    MEMORY_HOST_PINNED, /* page-locked host memory made by the driver */
    MEMORY_MANAGED,     /* managed memory */
    MEMORY_REGISTERED,  /* the program's own host memory, registered */
    MEMORY_GLOBAL,      /* a module's .global variable */
    MEMORY_GLOBAL_MANAGED, /* one that the host may use, too */
    MEMORY_CONST,       /* a module's .const variable */
    MEMORY_PARAMS,      /* kernel parameters, read by address */
    MEMORY_ARRAY, /* the storage of a CUDA array: copies reach it, loads and stores of kernels do not */
    MEMORY_HEAP, /* the heap of device-side malloc */
    MEMORY_IMPORTED, /* an allocation of another process, mapped here */
    MEMORY_PHYSICAL, /* of cuMemCreate: reached by the addresses that it is mapped to */
    MEMORY_MAPPED, /* reserved addresses that memory of cuMemCreate is mapped to */
    MEMORY_RESERVED, /* reserved addresses that nothing is mapped to */
    MEMORY_KINDS
} MemoryKind;

/* Whether host and devices use the memory under one address. */
static inline bool memory_is_managed(MemoryKind kind)
{
    return kind == MEMORY_MANAGED || kind == MEMORY_GLOBAL_MANAGED;
}

/* Closed ranges are reserved, inaccessible addresses. No lookup finds them; messages name them. */
typedef enum MemoryState { MEMORY_LIVE, MEMORY_FREED, MEMORY_CLOSED } MemoryState;

typedef struct MemoryRange {
    uint64_t base, size; /* exactly what was requested */
    MemoryKind kind;
    MemoryState state;
    bool read_only; /* for kernels */
    bool shared; /* may be exported to other processes */
    int device; /* ordinal of the device it belongs to */
    unsigned flags; /* of the call that made it */
    uint64_t readers, writers; /* of mapped memory: bit d is set if device d may read or write it */
    uint64_t id; /* unique in the process, never used twice */
    void *owner; /* the driver's: its context or module */
    void *tag; /* the driver's object that owns the range, or NULL */
    void *block; /* the driver's: how a pool keeps the range, or NULL */
} MemoryRange;

/* The properties of a new range; those that MemoryRange has too mean the same. */
typedef struct MemoryRequest {
    uint64_t size; /* at least 1 */
    uint64_t align; /* a power of two; the range gets at least 512, and 2 MiB if larger than 1 MiB */
    MemoryKind kind;
    bool read_only;
    bool shared; /* may be exported, if the system provides the file for that */
    int device;
    unsigned flags;
    void *owner, *tag, *block;
    uint64_t capacity; /* how far memory_map_grant may extend the range; 0: not beyond size */
} MemoryRequest;

/* Reserves the address space. NULL when the system gives none. */
MemoryMap *memory_map_create(void);
/* As memory_map_create(), but `min` bytes of address space suffice, if that is less than usual. */
MemoryMap *memory_map_create_min(uint64_t min);
/* Unmaps everything; the map and its memory must not be used afterwards. */
void memory_map_destroy(MemoryMap *map);

/* The address of a new range, which the host can read and write, with undefined contents. 0 when no free
 * part of the address space is large enough. */
uint64_t memory_map_alloc(MemoryMap *map, const MemoryRequest *request);
/* Frees the live range that starts at base, made by memory_map_alloc(); or a pool's range there, whether its
 * memory is in use or held. *freed becomes the range as it was; freed may be NULL. false when no such range
 * starts there. */
bool memory_map_free(MemoryMap *map, uint64_t base, MemoryRange *freed);
/* Enters the program's own memory. false when it overlaps a live range or a reservation, or if out of
 * memory. */
bool memory_map_register(MemoryMap *map, uint64_t base, const MemoryRequest *request);
/* Divides addresses that the program has reserved (none of the map's own) into these parts, which are
 * consecutive and without gaps, in place of the previous ones. The change is atomic: a kernel may be
 * using the addresses. Parts whose id is 0 get a new id, written to parts[]. false, and nothing changed,
 * when something else is there or if out of memory. */
bool memory_map_divide(MemoryMap *map, uint64_t base, uint64_t size, MemoryRange *parts, size_t count);
/* Whether one of the bytes is at a reserved address that is not accessible (MEMORY_CLOSED). */
bool memory_map_is_closed(MemoryMap *map, uint64_t address, uint64_t size);
/* Removes the registered range that starts at base; *removed (unless NULL) becomes what it was. false
 * when there is none. */
bool memory_map_unregister(MemoryMap *map, uint64_t base, MemoryRange *removed);
/* Frees or unregisters every range of that owner; bytes[kind] becomes their sum for each kind. */
void memory_map_free_owner(MemoryMap *map, const void *owner, uint64_t bytes[MEMORY_KINDS]);

/* The live range that contains address. Thread safe; a writer never holds the lock for longer than it takes
 * to move an array of pointers. */
bool memory_map_find(MemoryMap *map, uint64_t address, MemoryRange *out);
/* The live range that contains [address, address + size); size 0 counts as 1. Several consecutive ranges
 * of mapped memory may contain it together: then *out is the first of them. */
bool memory_map_find_span(MemoryMap *map, uint64_t address, uint64_t size, MemoryRange *out);

/* A pool's memory is freed and handed out again in the order of streams, while the program is ahead of them.
 * So there are two views of a range: that of the program's calls, and that of its kernels when they run.
 * The functions above give the second; for all other memory both are the same. */
/* memory_map_find_span() as calls see the map. */
bool memory_map_find_for_call(MemoryMap *map, uint64_t address, uint64_t size, MemoryRange *out);
/* From now on calls do not find the range that starts at base, which *out becomes. false when they did
 * not find it before. */
bool memory_map_withdraw(MemoryMap *map, uint64_t base, MemoryRange *out);
/* From now on calls find a new range at base, where a pool's range was withdrawn before. Returns that
 * range. */
MemoryRange memory_map_grant(MemoryMap *map, uint64_t base, const MemoryRequest *request);
/* The stream has reached the point from which kernels find that range, and the point from which they no
 * longer find it. Neither has an effect if a newer range at the same base has begun. */
void memory_map_begin(MemoryMap *map, const MemoryRange *range);
void memory_map_end(MemoryMap *map, const MemoryRange *range);

/* --- marks.c: what of an allocation the program's own pool has handed out ------------------------------ */
/* From now on memory_map_show() decides what kernels find of the allocation at base, which *out becomes.
 * false when no allocation starts there that a pool of the program can divide. */
bool memory_map_mark(MemoryMap *map, uint64_t base, MemoryRange *out);
/* Kernels find only the first `size` bytes of a marked allocation; with 0 they find freed memory. */
void memory_map_show(MemoryMap *map, const MemoryRange *marked, uint64_t size);

/* Whether the address is in a reservation, the map's own or the program's: there only ranges may be
 * accessed. */
bool memory_map_reserves(MemoryMap *map, uint64_t address);
/* How another process finds a range: this process's descriptor of the file that has its pages, the file's
 * inode, which distinguishes it from another file that got the same descriptor, and the offset in the
 * file. */
typedef struct MemoryExport {
    int descriptor;
    uint64_t inode, offset;
} MemoryExport;
/* false when the range is not in the file, or the program has closed the file's descriptor. */
bool memory_map_export(const MemoryMap *map, const MemoryRange *range, MemoryExport *out);

/* The file itself: offset is 0. false when there is none, or the program has closed its descriptor. */
bool memory_map_file(const MemoryMap *map, MemoryExport *out);

/* For messages: the range nearest to address, freed ones included. *found is 0 when the map is empty. */
void memory_map_nearest(MemoryMap *map, uint64_t address, MemoryRange *out, int *found);

/* From now on tracks which bytes of new device memory nothing has written. false without address space. */
bool memory_map_watch(MemoryMap *map);
/* If unwritten bytes are tracked: the bytes were written; are unwritten again; were copied, and are
 * unwritten where those they were copied from are. */
void memory_map_written(MemoryMap *map, uint64_t address, uint64_t size);
void memory_map_renewed(MemoryMap *map, uint64_t address, uint64_t size);
void memory_map_copied(MemoryMap *map, uint64_t to, uint64_t from, uint64_t size);
/* Managed memory was discarded: its bytes are unwritten until a call, a kernel or the host writes them.
 * Writes of the host are found by changed contents: the memory is filled with a known pattern. */
void memory_map_discarded(MemoryMap *map, uint64_t address, uint64_t size);
/* True when nothing has written some of these bytes; *first is the first of them. */
bool memory_map_unwritten(MemoryMap *map, uint64_t address, uint64_t size, uint64_t *first);

/* A counter that grows by one whenever a range goes away: callers that keep ranges compare it before they use
 * them. */
_Atomic uint64_t *memory_map_generation(MemoryMap *map);

/* Freed memory is filled with this byte, as far as it stays mapped. */
enum { MEMORY_POISON = 0xdb };

/* "device memory", "managed memory" ... */
const char *memory_kind_name(MemoryKind kind);

#endif
