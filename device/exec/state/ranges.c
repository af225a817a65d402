/* Which addresses a lane may access: the memory map's ranges, and what belongs to the launch itself.
 *
 * Workers remember the range that each load or store hit last; other accesses come here. These caches are
 * emptied when a range of the map has gone away, and when the worker runs another block.
 */
#include <string.h>

#include "exec/state/ranges.h"

void range_forget(Worker *worker)
{
    memset(worker->loads, 0, sizeof worker->loads);
    memset(worker->stores, 0, sizeof worker->stores);
}

void range_check_generation(Worker *worker, struct MemoryMap *memory)
{
    uint64_t now = memory ? atomic_load_explicit(memory_map_generation(memory), memory_order_acquire) : 0;
    if (now == worker->generation) return;
    worker->generation = now;
    range_forget(worker);
}

static bool is_inside(uint64_t base, uint64_t limit, uint64_t address, uint64_t size)
{
    RangeEntry range = {base, limit};
    return range_has(&range, address, size);
}

/* Finds the memory of the launch itself that has the bytes: shared memory of the cluster, local memory of
 * the warp, the workspace, or (to read) the parameters. False if none has. */
static bool find_own(Warp *warp, uint64_t address, uint64_t size, bool write, RangeEntry *out)
{
    const Block *block = warp->block;
    const Grid *grid = block->grid;
    RangeEntry own[] = {
        {(uintptr_t)block->shared, block->shared_size},
        {(uintptr_t)warp->local, warp->local ? warp->local_stride * WARP_LANES : 0},
        {(uintptr_t)grid->workspace, sizeof grid->workspace},
        {(uintptr_t)grid->launch->params, write ? 0 : grid->function->param_size},
    };
    for (size_t k = 0; k < sizeof own / sizeof *own; k++) {
        if (!is_inside(own[k].base, own[k].size, address, size)) continue;
        *out = own[k];
        return true;
    }
    const Block *holder = block->cluster->size > 1 ? cluster_holder(block, address) : NULL;
    if (!holder || !is_inside((uintptr_t)holder->shared, holder->shared_size, address, size)) return false;
    *out = (RangeEntry){(uintptr_t)holder->shared, holder->shared_size};
    return true;
}

const char *range_refusal(const GridLaunch *launch, const MemoryRange *range, bool write)
{
    return launch->refusal ? launch->refusal(launch->refusal_closure, range, write) : NULL;
}

bool range_is_open(const GridLaunch *launch, const MemoryRange *range, bool write)
{
    return !(write && range->read_only) && range->kind != MEMORY_ARRAY && range->kind != MEMORY_PHYSICAL
           && !range_refusal(launch, range, write);
}

bool range_find_map(const GridLaunch *launch, uint64_t address, uint64_t size, bool write, RangeEntry *out)
{
    MemoryRange found;
    if (!launch->memory || !memory_map_find(launch->memory, address, &found)
        || !is_inside(found.base, found.size, address, size) || !range_is_open(launch, &found, write))
        return false;
    *out = (RangeEntry){found.base, found.size};
    return true;
}

bool range_find(Warp *warp, const Insn *insn, uint64_t address, uint64_t size, bool write)
{
    Worker *worker = warp->worker;
    RangeEntry *slot = &(write ? worker->stores : worker->loads)[range_slot(insn)];
    return find_own(warp, address, size, write, slot)
           || range_find_map(warp->block->grid->launch, address, size, write, slot);
}

uint8_t *range_look(Warp *warp, const Insn *insn, const Reach *reach)
{
    if (reach->shared) return block_shared_at(warp->block, reach->address, reach->bytes, reach->unit);
    bool aligned = (reach->address & (reach->unit - 1)) == 0;
    bool accessible = aligned && range_find(warp, insn, reach->address, reach->bytes, reach->write);
    return accessible ? (uint8_t *)(uintptr_t)reach->address : NULL;
}

uint8_t *range_reach(Warp *warp, const Insn *insn, int lane, const Reach *reach)
{
    uint8_t *place = range_look(warp, insn, reach);
    if (place) return place;
    if (!exec_fault_reach(warp, insn, lane, reach)) return NULL;
    return exec_sink(warp, reach->bytes, reach->write);
}
