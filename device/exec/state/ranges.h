/* Which memory a launch may access, and what workers remember of that. */
#ifndef DEVICE_EXEC_STATE_RANGES_H
#define DEVICE_EXEC_STATE_RANGES_H

#include "exec/memory/memory_map.h"
#include "exec/state/grid.h"

/* Whether a lane may access size bytes at a generic address, in the memory map or in memory of the launch
 * itself (find_own in ranges.c). If so, the worker remembers the range for this instruction. */
bool range_find(Warp *warp, const Insn *insn, uint64_t address, uint64_t size, bool write);
/* Looks in the memory map alone. If the launch may access the bytes, *out becomes their range. */
bool range_find_map(const GridLaunch *launch, uint64_t address, uint64_t size, bool write, RangeEntry *out);
/* Why the launch may not access that range, in words; NULL when it may (GridLaunch.refusal). */
const char *range_refusal(const GridLaunch *launch, const MemoryRange *range, bool write);
/* Whether the launch may read or write there by an address: false for CUDA arrays and physical memory,
 * for writes to read-only memory, and for what is refused. */
bool range_is_open(const GridLaunch *launch, const MemoryRange *range, bool write);

/* Bytes that a lane accesses outside of plain loads and stores. The address must be a multiple of `unit`,
 * a power of two. */
typedef struct Reach {
    uint64_t address; /* generic, or an offset in shared memory */
    uint64_t bytes; /* at least 1 */
    uint32_t unit;
    bool shared, write;
    const char *what; /* names them in messages: "a row of the tensor"; NULL: so many bytes */
} Reach;
/* The host address of the bytes; NULL if the lane may not access all of them: range_reach() then has
 * recorded a fault, range_look() has not. In a launch that survives the fault range_reach() returns a
 * sink. */
uint8_t *range_reach(Warp *warp, const Insn *insn, int lane, const Reach *reach);
uint8_t *range_look(Warp *warp, const Insn *insn, const Reach *reach);
/* Empties the worker's caches of ranges: always, or if ranges of the map have gone since they were filled. */
void range_forget(Worker *worker);
void range_check_generation(Worker *worker, struct MemoryMap *memory);

/* The entry of Worker.loads and .stores that an instruction uses. */
static inline uint32_t range_slot(const Insn *insn)
{
    return (uint32_t)((uintptr_t)insn / _Alignof(Insn)) % RANGE_SLOTS;
}

static inline bool range_has(const RangeEntry *entry, uint64_t address, uint64_t size)
{
    uint64_t offset = address - entry->base;
    return offset < entry->size && offset + size <= entry->size;
}

/* Whether the block may access all of the bytes, for an instruction that is run once for all its threads. */
static inline bool range_has_block(const Block *block, Worker *worker, const Insn *insn, uint64_t address,
                                   uint64_t bytes, bool write)
{
    RangeEntry *range = &(write ? worker->stores : worker->loads)[range_slot(insn)];
    return range_has(range, address, bytes)
           || range_find_map(block->grid->launch, address, bytes, write, range);
}

#endif
