/* Registers and local memory of warps. */
#include "exec/state/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "exec/state/grid.h"

enum { REGISTERS_FIRST = 32768 }; /* the minimum size of a register file, in bytes */

static size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

void store_free(WarpStore *store)
{
    if (store->local) munmap(store->local, store->local_size);
    free(store->registers);
    free(store);
}

bool store_grow(Warp *warp, size_t registers)
{
    size_t size = round_up(registers + registers / 2, 4096), offset = 0;
    uint8_t *grown = aligned_alloc(64, size);
    if (!grown) return false;
    if (warp->registers) {
        offset = (size_t)(warp->base[REF_FRAME] - warp->registers);
        memcpy(grown, warp->registers, warp->registers_size);
        free(warp->registers);
    }
    warp->store->registers = warp->registers = grown;
    warp->store->registers_size = warp->registers_size = size;
    warp->base[REF_FRAME] = grown + offset;
    return true;
}

/* Maps local memory of that size in place of what there was. False if out of memory. */
static bool store_map_local(WarpStore *store, size_t size)
{
    void *map;
    if (store->local) munmap(store->local, store->local_size);
    store->local = NULL;
    store->local_size = 0;
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return false;
    store->local = map;
    store->local_size = size;
    return true;
}

bool store_borrow(Warp *warp, Worker *worker)
{
    const Grid *grid = warp->block->grid;
    size_t registers = (size_t)grid->function->frame_size + WARP_CALL_HEADER + WARP_CALL_ROWS;
    size_t local = grid->local_stride * WARP_LANES;
    WarpStore *store = worker->free_stores;
    if (store)
        worker->free_stores = store->next;
    else
        store = calloc(1, sizeof *store);
    if (!store) return false;
    warp->store = store;
    warp->registers = store->registers;
    warp->registers_size = store->registers_size;
    if (store->registers_size < registers
        && !store_grow(warp, registers < REGISTERS_FIRST ? REGISTERS_FIRST : registers))
        return false;
    if (store->local_size < local && !store_map_local(store, local)) return false;
    warp->local = store->local;
    warp->local_stride = grid->local_stride;
    return true;
}

void store_return(Warp *warp, Worker *worker)
{
    if (!warp->store) return;
    warp->store->next = worker->free_stores;
    worker->free_stores = warp->store;
    warp->store = NULL;
}
