/* Which memory a launch may access, as a worker found out. */
#ifndef DEVICE_EXEC_STATE_RANGES_H
#define DEVICE_EXEC_STATE_RANGES_H

#include "exec/memory/memory_map.h"
#include "exec/state/grid.h"

/* True when the lane may access size bytes at address; remembers the range for this instruction. */
bool range_find(Warp *warp, const Insn *insn, uint64_t address, uint64_t size, bool write);
/* As range_find(), in memory that is not the launch's own. */
bool range_find_map(const GridLaunch *launch, uint64_t address, uint64_t size, bool write, RangeEntry *out);
/* Why the launch may not touch that range, in words; NULL when it may. */
const char *range_refusal(const GridLaunch *launch, const MemoryRange *range, bool write);
/* Whether kernels of the launch may read, or write, there: not arrays, constants, nor what is refused. */
bool range_is_open(const GridLaunch *launch, const MemoryRange *range, bool write);

/* Many bytes of a lane, aligned for `unit`, a power of two. */
typedef struct Reach {
    uint64_t address; /* generic, or an offset in shared memory */
    uint64_t bytes; /* at least 1 */
    uint32_t unit;
    bool shared, write;
} Reach;
/* The host's address of them; NULL where they are not all there, with a fault or without. */
uint8_t *range_reach(Warp *warp, const Insn *insn, int lane, const Reach *reach);
uint8_t *range_look(Warp *warp, const Insn *insn, const Reach *reach);
void range_forget(Worker *worker);
void range_check_generation(Worker *worker, struct MemoryMap *memory);

static inline uint32_t range_slot(const Insn *insn)
{
    return (uint32_t)((uintptr_t)insn / _Alignof(Insn)) % RANGE_SLOTS;
}

static inline bool range_has(const RangeEntry *entry, uint64_t address, uint64_t size)
{
    uint64_t offset = address - entry->base;
    return offset < entry->size && offset + size <= entry->size;
}

/* Whether all of a block's bytes are there, for an instruction that all its threads run. */
static inline bool range_has_block(const Block *block, Worker *worker, const Insn *insn, uint64_t address,
                                   uint64_t bytes, bool write)
{
    RangeEntry *range = &(write ? worker->stores : worker->loads)[range_slot(insn)];
    return range_has(range, address, bytes)
           || range_find_map(block->grid->launch, address, bytes, write, range);
}

#endif
