/* The memory map: every range of addresses that a kernel or a copy may touch.
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
    MEMORY_CONST,       /* a module's .const variable */
    MEMORY_PARAMS,      /* kernel parameters, read by address */
    MEMORY_ARRAY,       /* storage of an array (texture memory): copies reach it, kernels' loads do not */
    MEMORY_HEAP,        /* the heap of device-side malloc */
    MEMORY_IMPORTED,    /* an allocation of another process, mapped here */
    MEMORY_PHYSICAL,    /* of cuMemCreate: reached by the addresses that it is mapped to */
    MEMORY_MAPPED,      /* reserved addresses that memory of cuMemCreate is mapped to */
    MEMORY_RESERVED,    /* reserved addresses without */
    MEMORY_KINDS
} MemoryKind;

/* Closed ranges are reserved, inaccessible addresses. No lookup finds them; messages name them. */
typedef enum MemoryState { MEMORY_LIVE, MEMORY_FREED, MEMORY_CLOSED } MemoryState;

typedef struct MemoryRange {
    uint64_t base, size;  /* exactly what was requested */
    MemoryKind kind;
    MemoryState state;
    bool read_only;       /* for kernels */
    bool shared;          /* may be exported to other processes */
    int device;           /* ordinal of the device it belongs to */
    unsigned flags;       /* of the call that made it */
    uint64_t readers, writers; /* of mapped memory: bit d is set where device d may */
    uint64_t id;          /* unique in the process, never used twice */
    void *owner;          /* the driver's: its context or module */
    void *tag;            /* the driver's: the object behind the range, or NULL */
    void *block;          /* the driver's: how a pool keeps the range, or NULL */
} MemoryRange;

/* What a new range is to be. */
typedef struct MemoryRequest {
    uint64_t size;        /* at least 1 */
    uint64_t align;       /* a power of two; at least 512 is given, and 2 MiB for more than 1 MiB */
    MemoryKind kind;
    bool read_only;
    bool shared;          /* exportable, where the system can */
    int device;
    unsigned flags;
    void *owner, *tag, *block;
    uint64_t capacity;    /* how far memory_map_grant may extend the range; 0: not beyond size */
} MemoryRequest;

/* Reserves the address space. NULL when the system gives none. */
MemoryMap *memory_map_create(void);
/* As memory_map_create(), where address space is scarce: `min` bytes of it will do, if that is less than
 * usual. */
MemoryMap *memory_map_create_min(uint64_t min);
/* Unmaps everything; the map and its memory must not be used afterwards. */
void memory_map_destroy(MemoryMap *map);

/* A new range, readable and writable by the host, its content undefined. 0 when no gap is large enough. */
uint64_t memory_map_alloc(MemoryMap *map, const MemoryRequest *request);
/* Ends the live range that starts at base (made by memory_map_alloc), or returns what a pool kept there to
 * the system; *freed (may be NULL) is what it was. false when no live range of the map's own starts
 * there. */
bool memory_map_free(MemoryMap *map, uint64_t base, MemoryRange *freed);
/* Enters the program's own memory. false when it overlaps a live range or memory is short. */
bool memory_map_register(MemoryMap *map, uint64_t base, const MemoryRequest *request);
/* Divides reserved addresses, none of them the map's own, into these parts, which follow each other
 * without gaps. At every moment either the previous parts or these are found, because a kernel may be
 * using them. Parts without an id get a new one, written back. false when that is not possible: something
 * else is there, or memory is short. */
bool memory_map_divide(MemoryMap *map, uint64_t base, uint64_t size, MemoryRange *parts, size_t count);
/* Whether one of the bytes has a reserved address that is inaccessible now. */
bool memory_map_is_closed(MemoryMap *map, uint64_t address, uint64_t size);
/* Removes a registered range that starts at base. */
bool memory_map_unregister(MemoryMap *map, uint64_t base, MemoryRange *removed);
/* Ends every range (freed or unregistered) of that owner and returns how many bytes each kind had. */
void memory_map_free_owner(MemoryMap *map, const void *owner, uint64_t bytes[MEMORY_KINDS]);

/* The live range that contains address. Thread safe; a writer never holds the lock for longer than it takes
 * to move an array of pointers. */
bool memory_map_find(MemoryMap *map, uint64_t address, MemoryRange *out);
/* The live range that contains [address, address + size); size 0 counts as 1. Of mapped memory it is the
 * first of the ranges that do together. */
bool memory_map_find_span(MemoryMap *map, uint64_t address, uint64_t size, MemoryRange *out);

/* A pool's memory is freed and handed out again in the order of streams, while the program is ahead of them.
 * So there are two views of a range: that of the program's calls, and that of its kernels when they run.
 * The functions above give the second; for all other memory both are the same. */
/* The range that contains [address, address + size) as calls see it; size 0 counts as 1, mapped memory as
 * above. */
bool memory_map_find_for_call(MemoryMap *map, uint64_t address, uint64_t size, MemoryRange *out);
/* Calls no longer find the range that starts at base (*out). false when they did not find it. */
bool memory_map_withdraw(MemoryMap *map, uint64_t base, MemoryRange *out);
/* Calls find a new range at base, where a pool's range was withdrawn. Returns it. */
MemoryRange memory_map_grant(MemoryMap *map, uint64_t base, const MemoryRequest *request);
/* The stream has reached the point from which kernels find that range (unless one of the same place has come
 * since), and the point from which they no longer find it. */
void memory_map_begin(MemoryMap *map, const MemoryRange *range);
void memory_map_end(MemoryMap *map, const MemoryRange *range);

/* --- marks.c: what of an allocation the program's own pool has handed out ------------------------------ */
/* From now on memory_map_show says what kernels find of the allocation at base, which *out is; false when it
 * is not an allocation that the map has made. */
bool memory_map_mark(MemoryMap *map, uint64_t base, MemoryRange *out);
/* Kernels find the first `size` bytes of it; 0: freed memory. */
void memory_map_show(MemoryMap *map, const MemoryRange *marked, uint64_t size);

/* Whether the address lies in a reservation, the map's own or the program's, where only ranges may be
 * touched. */
bool memory_map_reserves(MemoryMap *map, uint64_t address);
/* How another process finds a range: this process's descriptor of the file behind it, the file's inode, by
 * which distinguishes it from another of the same number, and the place in the file. */
typedef struct MemoryExport {
    int descriptor;
    uint64_t inode, offset;
} MemoryExport;
/* false when the range is not in the file, or the program has closed the file's descriptor. */
bool memory_map_export(const MemoryMap *map, const MemoryRange *range, MemoryExport *out);

/* The file itself, without a place in it. false when there is none (any more). */
bool memory_map_file(const MemoryMap *map, MemoryExport *out);

/* For messages: the range nearest to address, freed ones included. *found is 0 when the map is empty. */
void memory_map_nearest(MemoryMap *map, uint64_t address, MemoryRange *out, int *found);

/* Remembers from now on which bytes of new device memory nothing has written. false without address space. */
bool memory_map_watch(MemoryMap *map);
/* Note, if unwritten bytes are tracked, that bytes were written, are new, or were copied with their marks. */
void memory_map_written(MemoryMap *map, uint64_t address, uint64_t size);
void memory_map_renewed(MemoryMap *map, uint64_t address, uint64_t size);
void memory_map_copied(MemoryMap *map, uint64_t to, uint64_t from, uint64_t size);
/* Managed memory was discarded: unwritten, until a call or a kernel writes it, or the host, which shows in
 * the bytes that are put there. */
void memory_map_discarded(MemoryMap *map, uint64_t address, uint64_t size);
/* True when nothing has written some of these bytes; *first is the first of them. */
bool memory_map_unwritten(MemoryMap *map, uint64_t address, uint64_t size, uint64_t *first);

/* Grows by one whenever a range goes away: callers that keep ranges look here before using them. */
_Atomic uint64_t *memory_map_generation(MemoryMap *map);

/* Freed memory is filled with this byte, as far as it stays mapped. */
enum { MEMORY_POISON = 0xdb };

/* "device memory", "managed memory" ... */
const char *memory_kind_name(MemoryKind kind);

#endif
