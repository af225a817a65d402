/* Addresses as values: conversion between spaces, parameters, and the stack of local memory. */
#include "exec/numbers/lanes.h"
#include "exec/state/grid.h"
#include "exec/memory/memory_map.h"

/* An op with a destination of 64 bits. value: an expression in w, i, the lane l and a, the address operand
 * widened to 64 bits with the immediate added. */
#define ADDRESS_OP(name, value) \
    LANE_FN uint64_t value_##name(Warp *w, const Insn *i, int l, uint64_t a) \
    { \
        (void)w, (void)i, (void)l, (void)a; \
        return value; \
    } \
    HANDLER(name, part) \
    { \
        uint64_t *d = ROW(uint64_t, w, i->d); \
        const uint64_t *wide = ROW(const uint64_t, w, i->a); \
        const uint32_t *narrow = ROW(const uint32_t, w, i->a); \
        uint64_t out[WARP_LANES]; \
        for (int l = 0; l < WARP_LANES; l++) \
            out[l] = value_##name(w, i, l, (i->mods & MEM_ADDR32 ? narrow[l] : wide[l]) + (uint64_t)i->imm); \
        for (int l = 0; l < WARP_LANES; l++) d[l] = w->lanes[l] ? out[l] : d[l]; \
        return i + 1; \
    } \
    HANDLER(name, full) { return EXEC_NAME(op_##name##_part)(w, i); }

/* The host address of byte 0 of lane l's local memory. */
LANE_FN uint64_t local_base(const Warp *w, int l)
{
    return (uintptr_t)w->local + (uint64_t)l * w->local_stride;
}

/* Without an address operand the immediate counts from the running frame. */
LANE_FN uint64_t frame_if_absent(const Warp *w, const Insn *i)
{
    return i->a == REF_ABSENT ? w->current->local : 0;
}

ADDRESS_OP(local_address, (uint64_t)i->imm + w->current->local)
ADDRESS_OP(param_address, (uint64_t)i->imm + (uintptr_t)w->block->grid->launch->params)
/* The generic address of an address in shared memory, which may be that of another block of the cluster
 * (cluster.h); and the reverse. Offsets outside both are only moved with the block's memory. */
LANE_FN uint64_t from_shared(const Block *block, uint64_t a)
{
    uint64_t offset;
    const Block *holder = a >> CLUSTER_SHIFT ? cluster_block_of(block, a, &offset) : NULL;
    return holder ? offset + (uintptr_t)holder->shared : a + (uintptr_t)block->shared;
}
LANE_FN uint64_t to_shared(const Block *block, uint64_t a)
{
    const uint64_t offset = a - (uintptr_t)block->shared;
    const Block *holder =
        offset >= block->shared_size && block->cluster->size > 1 ? cluster_holder(block, a) : NULL;
    return holder ? cluster_address(holder, a - (uintptr_t)holder->shared) : offset;
}

ADDRESS_OP(cvta_shared, from_shared(w->block, a))
ADDRESS_OP(cvta_to_shared, to_shared(w->block, a))
ADDRESS_OP(cvta_local, a + local_base(w, l) + frame_if_absent(w, i))
ADDRESS_OP(cvta_to_local, a - local_base(w, l))

/* --- isspacep ------------------------------------------------------------------------------------------ */

typedef enum { IN_GLOBAL, IN_SHARED, IN_CLUSTER, IN_LOCAL, IN_CONST, IN_PARAM } Window;

/* Whether a generic address is one of constant memory. */
static bool is_const(const Warp *w, uint64_t address)
{
    struct MemoryMap *memory = w->block->grid->launch->memory;
    MemoryRange range;
    return memory && memory_map_find(memory, address, &range) && range.kind == MEMORY_CONST;
}

/* Whether a generic address is in the window of a state space; global is what no other window has. */
static bool in_window(const Warp *w, uint64_t address, Window window)
{
    const Block *block = w->block;
    bool shared = address - (uintptr_t)block->shared < block->shared_size;
    bool cluster = shared || cluster_holder(block, address);
    bool local = w->local && address - (uintptr_t)w->local < w->local_stride * WARP_LANES;
    bool param = address - (uintptr_t)block->grid->launch->params < block->grid->function->param_size;
    switch (window) {
    case IN_SHARED: return shared;
    case IN_CLUSTER: return cluster;
    case IN_LOCAL: return local;
    case IN_PARAM: return param;
    case IN_CONST: return !cluster && !local && is_const(w, address);
    default: return !cluster && !local && !param && !is_const(w, address);
    }
}

static const Insn *test_window(Warp *w, const Insn *i, Window window)
{
    const uint64_t *a = ROW(const uint64_t, w, i->a);
    uint32_t word = 0;
    for (int l = 0; l < WARP_LANES; l++) word |= (uint32_t)(w->lanes[l] && in_window(w, a[l], window)) << l;
    pred_store(w, i->d, word);
    return i + 1;
}

#define ISSPACEP(name, window) \
    HANDLER(isspacep_##name, full) { return test_window(w, i, window); } \
    HANDLER(isspacep_##name, part) { return test_window(w, i, window); }
ISSPACEP(global, IN_GLOBAL)
ISSPACEP(shared, IN_SHARED)
ISSPACEP(cluster, IN_CLUSTER)
ISSPACEP(local, IN_LOCAL)
ISSPACEP(const, IN_CONST)
ISSPACEP(param, IN_PARAM)

/* --- mapa, getctarank ---------------------------------------------------------------------------------- */

/* The block whose shared memory has lane l's address operand; *offset becomes the offset there. NULL after a
 * fault. */
static const Block *find_block(Warp *w, const Insn *i, int l, uint64_t *offset)
{
    const bool shared = i->mods & MEM_SHARED;
    const uint64_t a =
        i->mods & MEM_ADDR32 ? ROW(const uint32_t, w, i->a)[l] : ROW(const uint64_t, w, i->a)[l];
    const Block *found = shared ? cluster_block_of(w->block, a, offset) : cluster_holder(w->block, a);
    if (found && !shared) *offset = a - (uintptr_t)found->shared;
    if (!found)
        exec_fault(w, i, l, CUDA_ERROR_LAUNCH_FAILED,
                   "0x%llx is not an address in the cluster's shared memory", (unsigned long long)a);
    return found;
}

/* mapa: the same place in the memory of the cluster's block of rank b. */
static const Insn *map_address(Warp *w, const Insn *i)
{
    const Cluster *cluster = w->block->cluster;
    const uint32_t *rank = ROW(const uint32_t, w, i->b);
    uint64_t out[WARP_LANES];
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        uint64_t offset;
        if (rank[l] >= cluster->size)
            return exec_fault(w, i, l, CUDA_ERROR_LAUNCH_FAILED, "block %u of a cluster of %u", rank[l],
                              cluster->size);
        if (!find_block(w, i, l, &offset)) return NULL;
        const Block *block = cluster->blocks[rank[l]];
        out[l] = i->mods & MEM_SHARED ? cluster_address(block, offset) : (uintptr_t)block->shared + offset;
    }
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        if (i->mods & MEM_ADDR32) ROW(uint32_t, w, i->d)[l] = (uint32_t)out[l];
        else ROW(uint64_t, w, i->d)[l] = out[l];
    }
    return i + 1;
}

/* getctarank: the rank of the block that has the address. */
static const Insn *find_rank(Warp *w, const Insn *i)
{
    uint32_t out[WARP_LANES] = {0}, *d = ROW(uint32_t, w, i->d);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        uint64_t offset;
        const Block *block = find_block(w, i, l, &offset);
        if (!block) return NULL;
        out[l] = block->rank;
    }
    for (int l = 0; l < WARP_LANES; l++) d[l] = w->lanes[l] ? out[l] : d[l];
    return i + 1;
}

HANDLER(mapa, full) { return map_address(w, i); }
HANDLER(mapa, part) { return map_address(w, i); }
HANDLER(getctarank, full) { return find_rank(w, i); }
HANDLER(getctarank, part) { return find_rank(w, i); }

/* --- the stack ----------------------------------------------------------------------------------------- */

/* alloca: takes memory from the top of each lane's local memory downwards. Group.dynamic is one number
 * for all lanes of the group, so each lane takes as much as the one that asks for most. */
static const Insn *take_stack(Warp *w, const Insn *i)
{
    const uint64_t *wide = ROW(const uint64_t, w, i->a);
    const uint32_t *narrow = ROW(const uint32_t, w, i->a);
    uint64_t align = i->imm > 16 ? (uint64_t)i->imm : 16, max = 0, limit = w->block->grid->local_size, top;
    uint64_t *d = ROW(uint64_t, w, i->d);
    Group *g = w->current;
    for (int l = 0; l < WARP_LANES; l++) {
        uint64_t size = w->lanes[l] ? (i->mods & MEM_ADDR32 ? narrow[l] : wide[l]) : 0;
        if (size > max) max = size;
    }
    top = limit - g->dynamic;
    if (max > top || ((top - max) & ~(align - 1)) < g->local + g->function->local_size)
        return exec_fault(w, i, __builtin_ctz(w->mask), CUDA_ERROR_LAUNCH_FAILED,
                          "stack overflow: alloca of %llu bytes, a thread has %llu in all (see the stack "
                          "size limit)", (unsigned long long)max, (unsigned long long)limit);
    top = (top - max) & ~(align - 1);
    g->dynamic = (uint32_t)(limit - top);
    for (int l = 0; l < WARP_LANES; l++) d[l] = w->lanes[l] ? top : d[l];
    return i + 1;
}

/* stacksave: the value is the number of bytes in use, not an address. */
static const Insn *save_stack(Warp *w, const Insn *i)
{
    uint64_t *wide = ROW(uint64_t, w, i->d);
    uint32_t *narrow = ROW(uint32_t, w, i->d);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (i->mods & MEM_ADDR32) narrow[l] = w->current->dynamic;
        else wide[l] = w->current->dynamic;
    }
    return i + 1;
}

/* stackrestore: to the largest number of bytes that a lane had in use; never to more than are in use now. */
static const Insn *restore_stack(Warp *w, const Insn *i)
{
    const uint64_t *wide = ROW(const uint64_t, w, i->a);
    const uint32_t *narrow = ROW(const uint32_t, w, i->a);
    uint64_t max = 0;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        uint64_t saved = i->mods & MEM_ADDR32 ? narrow[l] : wide[l];
        if (saved > max) max = saved;
    }
    if (max <= w->current->dynamic) w->current->dynamic = (uint32_t)max;
    return i + 1;
}

HANDLER(alloca, full) { return take_stack(w, i); }
HANDLER(alloca, part) { return take_stack(w, i); }
HANDLER(stacksave, full) { return save_stack(w, i); }
HANDLER(stacksave, part) { return save_stack(w, i); }
HANDLER(stackrestore, full) { return restore_stack(w, i); }
HANDLER(stackrestore, part) { return restore_stack(w, i); }
