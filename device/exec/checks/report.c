/* Reports of the checks: the thread, the place, both accesses, and what to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/checks/check.h"
#include "exec/state/grid.h"
#include "exec/memory/memory_map.h"

static const char *source_place(const Block *block, const Insn *insn, char *out, size_t capacity)
{
    return exec_place_in(block->grid->function->module, insn, out, capacity);
}

/* The name of a variable without C++'s mangling: "tile" for _ZZ6kernelE4tile. *length becomes the name's
 * length: it is not ended by a zero. */
static const char *plain_name(const char *name, size_t *length)
{
    *length = strlen(name);
    const char *end = name + *length;
    for (const char *at = name; strncmp(name, "_Z", 2) == 0 && at < end; at++) {
        char *rest;
        if (*at < '1' || *at > '9' || (at[-1] >= '0' && at[-1] <= '9')) continue;
        unsigned long count = strtoul(at, &rest, 10);
        if (count > (size_t)(end - rest) || (rest + count != end && rest[count] != '_')) continue;
        *length = count;
        return rest;
    }
    return name;
}

/* Writes to `out` which variable is at that offset of shared memory, for example " (tile + 64)"; "" if
 * there is none. */
static void describe_variable(const Block *block, uint64_t offset, char *out, size_t capacity)
{
    const CodeFunction *kernel = block->grid->function;
    out[0] = '\0';
    for (uint32_t v = 0; v < kernel->shared_count; v++) {
        const CodeShared *shared = &kernel->shared[v];
        if (offset - shared->offset >= shared->size) continue;
        size_t length;
        const char *name = plain_name(shared->name, &length);
        snprintf(out, capacity, " (%.*s + %llu)", (int)length, name,
                 (unsigned long long)(offset - shared->offset));
        return;
    }
    if (offset >= block->grid->shared_used)
        snprintf(out, capacity, " (reserved shared memory)");
    else if (offset >= kernel->shared_size)
        snprintf(out, capacity, " (byte %llu of the dynamic shared memory)",
                 (unsigned long long)(offset - kernel->shared_size));
}

static void describe_thread(const Warp *warp, int lane, char *out, size_t capacity)
{
    const SpecialRow *tid = &warp->rows[WARP_ROW_TID];
    snprintf(out, capacity, "(%u,%u,%u)", tid[0].lane[lane], tid[1].lane[lane], tid[2].lane[lane]);
}

/* Writes to `out` where an address is, for example ", 16 bytes into the device memory at 0x... of 4096
 * bytes", or which variable is there. */
static void describe_range(const Block *block, uint64_t address, char *out, size_t capacity)
{
    const CodeModule *module = block->grid->function->module;
    MemoryRange range;
    out[0] = '\0';
    for (uint32_t g = 0; g < module->global_count; g++) {
        const CodeGlobal *global = &module->globals[g];
        if (address - global->address >= global->size) continue;
        snprintf(out, capacity, " (%s + %llu)", global->name,
                 (unsigned long long)(address - global->address));
        return;
    }
    if (!memory_map_find(block->grid->launch->memory, address, &range)) return;
    snprintf(out, capacity, ", %llu bytes into the %s at 0x%llx of %llu bytes",
             (unsigned long long)(address - range.base), memory_kind_name(range.kind),
             (unsigned long long)range.base, (unsigned long long)range.size);
}

/* --- races ------------------------------------------------------------------------------------------ */

static const char *const kinds[ACCESS_KINDS] =
    {[ACCESS_READ] = "read", [ACCESS_WRITE] = "write", [ACCESS_ATOMIC] = "atomic operation"};

void race_report(const RaceAccess *access, int lane, uint32_t offset, const RaceRecord *other, int other_lane,
                 AccessKind other_kind)
{
    Block *block = access->warp->block;
    char variable[128], thread[48], place[256];
    bool same_warp = other->warp == access->warp->index;
    bool at_once = same_warp && other->insn == access->insn && other_kind == ACCESS_WRITE;
    describe_variable(block, offset, variable, sizeof variable);
    describe_thread(&block->warps[other->warp], other_lane, thread, sizeof thread);
    source_place(block, other->insn, place, sizeof place);
    exec_violation(
        access->warp, access->insn, lane, CUDA_ERROR_LAUNCH_FAILED,
        "race at offset 0x%x of shared memory%s: this %u-byte %s, and %s %u-byte %s by thread %s, %s: %s",
        offset, variable, access->bytes, kinds[access->kind], other->bytes == 8 ? "an" : "a", other->bytes,
        kinds[other_kind], thread, place,
        at_once     ? "threads of a warp write different values to one place"
        : same_warp ? "no __syncwarp() or __syncthreads() lies between them"
                    : "no __syncthreads() lies between them");
}

/* The instruction with that number in its module. */
static const Insn *insn_at(const CodeModule *module, uint32_t number)
{
    uint32_t f = 0;
    while (f + 1 < module->function_count && module->functions[f + 1]->first_insn <= number) f++;
    return module->functions[f]->insns + (number - module->functions[f]->first_insn);
}

/* Writes to `out` which thread made the marked access, for example "block (1,0,0), thread (2,0,0)". */
static void describe_other(const Grid *grid, const GlobalMark *mark, char *out, size_t capacity)
{
    const uint32_t *blocks = grid->launch->grid, *threads = grid->launch->block;
    uint64_t block = (uint64_t)mark->unit * grid->cluster_size + mark->rank;
    uint32_t thread = mark->thread;
    snprintf(out, capacity, "block (%u,%u,%u), thread (%u,%u,%u)", (uint32_t)(block % blocks[0]),
             (uint32_t)(block / blocks[0] % blocks[1]), (uint32_t)(block / blocks[0] / blocks[1]),
             thread % threads[0], thread / threads[0] % threads[1], thread / threads[0] / threads[1]);
}

static const char *global_name(GlobalKind kind, bool atomic)
{
    static const char *const names[GLOBAL_KINDS] = {[GLOBAL_READ] = "read",
                                                    [GLOBAL_WRITE] = "write",
                                                    [GLOBAL_FLAG] = "write",
                                                    [GLOBAL_STRONG_READ] = "volatile or atomic read",
                                                    [GLOBAL_STRONG] = "volatile or atomic write"};
    return atomic ? kinds[ACCESS_ATOMIC] : names[kind];
}

void global_race_report(const GlobalAccess *access, uint64_t address, const GlobalMark *other)
{
    Block *block = access->warp->block;
    const Insn *insn = insn_at(block->grid->function->module, other->place);
    char where[192], other_thread[112], place[256];
    describe_range(block, address, where, sizeof where);
    describe_other(block->grid, other, other_thread, sizeof other_thread);
    source_place(block, insn, place, sizeof place);
    exec_violation(
        access->warp, access->insn, access->lane, CUDA_ERROR_LAUNCH_FAILED,
        "race between blocks at 0x%llx%s: this %llu-byte %s, and %s %u-byte %s by %s, %s: blocks run in "
        "any order; a fence (__threadfence()) and an atomic operation order them, or two launches",
        (unsigned long long)address, where, (unsigned long long)access->bytes,
        global_name(access->kind, check_is_atomic(access->insn)), other->bytes == 8 ? "an" : "a",
        other->bytes, global_name(other->kind, check_is_atomic(insn)), other_thread, place);
}

void check_report_copy(const RaceAccess *access, uint32_t offset, const Insn *copy, uint32_t thread)
{
    Block *block = access->warp->block;
    char variable[128], name[48], place[256];
    describe_variable(block, offset, variable, sizeof variable);
    describe_thread(&block->warps[thread / WARP_LANES], (int)(thread % WARP_LANES), name, sizeof name);
    source_place(block, copy, place, sizeof place);
    exec_violation(
        access->warp, access->insn, __builtin_ctz(access->lanes), CUDA_ERROR_LAUNCH_FAILED,
        "race at offset 0x%x of shared memory%s: this %u-byte %s, and an asynchronous copy by thread %s, %s: "
        "that thread has not waited for it (cp.async.wait_group, __pipeline_wait_prior())",
        offset, variable, access->bytes, kinds[access->kind], name, place);
}

/* --- uninitialized memory ----------------------------------------------------------------------- */

void check_report_unwritten(Warp *warp, const Insn *insn, int lane, bool shared, uint64_t bytes,
                            uint64_t first)
{
    char where[192];
    if (shared)
        describe_variable(warp->block, first, where, sizeof where);
    else
        describe_range(warp->block, first, where, sizeof where);
    exec_violation(warp, insn, lane, CUDA_ERROR_LAUNCH_FAILED,
                   "%llu-byte read of uninitialized memory: %s 0x%llx%s%s: %s", (unsigned long long)bytes,
                   shared ? "offset" : "the byte at", (unsigned long long)first,
                   shared ? " of shared memory" : "", where,
                   shared ? "a thread of the block must write it first"
                          : "a kernel, a copy or a fill must write it first");
}

/* --- barriers --------------------------------------------------------------------------------------- */

void check_report_divergence(const Warp *warp, const Group *waiting, uint32_t others, const char *what)
{
    const Block *block = warp->block;
    char place[256];
    source_place(block, waiting->pc, place, sizeof place);
    exec_violation_plain(
        block->grid, waiting->pc, CUDA_ERROR_LAUNCH_FAILED,
        "kernel %s, block (%u,%u,%u), warp %u, %s: divergent threads at a barrier: lanes 0x%08x "
        "arrived, lanes 0x%08x %s; all threads of a warp must reach the same __syncthreads()",
        block->grid->function->name, block->id[0], block->id[1], block->id[2], warp->index, place,
        waiting->mask, others, what);
}
