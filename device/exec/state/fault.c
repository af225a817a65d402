/* Fault texts: what happened, which thread did it, where in the source, and which allocation is nearest
 * to the address. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/state/fault_details.h"
#include "exec/state/ranges.h"

/* Whether the caller is to record the launch's fault: true for the first one only. */
static bool claim_fault(Grid *grid)
{
    bool first;
    pthread_mutex_lock(grid->fault_lock);
    first = !atomic_load(&grid->faulted);
    if (first) atomic_store(&grid->faulted, true);
    pthread_mutex_unlock(grid->fault_lock);
    return first;
}

const char *exec_place(const CodeFunction *function, const Insn *insn, char *out, size_t size)
{
    const CodeLine *line = insn->line < function->line_count ? &function->lines[insn->line] : NULL;
    const CodeModule *module = function->module;
    if (!line)
        snprintf(out, size, "instruction %zu", (size_t)(insn - function->insns));
    else if (line->file && line->file < module->file_count)
        snprintf(out, size, "%s:%u (PTX line %u)", module->files[line->file], line->source_line,
                 line->ptx_line);
    else
        snprintf(out, size, "PTX line %u", line->ptx_line);
    return out;
}

const char *exec_place_in(const CodeModule *module, const Insn *insn, char *out, size_t size)
{
    for (uint32_t f = 0; f < module->function_count; f++) {
        const CodeFunction *function = module->functions[f];
        if (insn >= function->insns && insn < function->insns + function->insn_count)
            return exec_place(function, insn, out, size);
    }
    snprintf(out, size, "an unknown place");
    return out;
}

void exec_fault_plain(Grid *grid, CUresult code, const char *format, ...)
{
    va_list arguments;
    if (!claim_fault(grid)) return;
    grid->fault->code = code;
    va_start(arguments, format);
    vsnprintf(grid->fault->text, sizeof grid->fault->text, format, arguments);
    va_end(arguments);
}

/* Writes to `out` the kernel, the thread and the place before the text of a fault. */
static void describe(const Warp *warp, const Insn *insn, int lane, const char *format, va_list arguments,
                     char *out, size_t capacity)
{
    const Block *block = warp->block;
    const CodeFunction *function = warp->current ? warp->current->function : block->grid->function;
    bool called = function != block->grid->function;
    char what[640], place[256];
    vsnprintf(what, sizeof what, format, arguments);
    exec_place(function, insn, place, sizeof place);
    snprintf(out, capacity, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u), %s%s%s%s: %s",
             block->grid->function->name, block->id[0], block->id[1], block->id[2],
             warp->rows[WARP_ROW_TID].lane[lane], warp->rows[WARP_ROW_TID + 1].lane[lane],
             warp->rows[WARP_ROW_TID + 2].lane[lane], called ? "in " : "", called ? function->name : "",
             called ? ", " : "", place, what);
}

/* Records the fault of a lane, described by `text`, which has FAULT_TEXT bytes, and ends the launch. */
static void end_launch(const Warp *warp, const Insn *insn, int lane, CUresult code, char *text)
{
    Grid *grid = warp->block->grid;
    fault_add_arguments(grid->launch, text, FAULT_TEXT);
    fault_add_registers(warp, insn, lane, text, FAULT_TEXT);
    exec_fault_plain(grid, code, "%s", text);
}

const Insn *exec_fault(Warp *warp, const Insn *insn, int lane, CUresult code, const char *format, ...)
{
    char text[FAULT_TEXT];
    va_list arguments;
    va_start(arguments, format);
    describe(warp, insn, lane, format, arguments, text, sizeof text);
    va_end(arguments);
    end_launch(warp, insn, lane, code, text);
    return NULL;
}

/* --- faults that a launch survives --------------------------------------------------------------------- */

/* Counts a fault at a place that the launch has named. False if it has not, or no longer knows. */
static bool count_known(Grid *grid, const Insn *insn, CUresult code)
{
    FaultPlaces *places = &grid->places;
    bool known = false;
    pthread_mutex_lock(grid->fault_lock);
    for (uint32_t k = 0; k < places->count && !known; k++) {
        known = places->at[k].insn == insn && places->at[k].code == code;
        if (known) atomic_fetch_add_explicit(places->at[k].faults, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(grid->fault_lock);
    return known;
}

/* Names a fault, unless another thread just did, and counts it. */
static void name_fault(Grid *grid, const Insn *insn, CUresult code, const char *text)
{
    FaultPlaces *places = &grid->places;
    const GridLaunch *launch = grid->launch;
    char place[256];
    exec_place_in(grid->function->module, insn, place, sizeof place);
    _Atomic uint64_t *faults =
        launch->name_fault(launch->ticket, grid->function->name, place, (int)code, text);
    if (!faults) return;
    atomic_fetch_add_explicit(faults, 1, memory_order_relaxed);
    pthread_mutex_lock(grid->fault_lock);
    if (places->count < FAULT_PLACES)
        places->at[places->count++] = (FaultPlace){.insn = insn, .code = code, .faults = faults};
    pthread_mutex_unlock(grid->fault_lock);
}

bool exec_violation(Warp *warp, const Insn *insn, int lane, CUresult code, const char *format, ...)
{
    Grid *grid = warp->block->grid;
    char text[FAULT_TEXT];
    va_list arguments;
    bool survives = grid->launch->name_fault;
    if (survives && count_known(grid, insn, code)) return true;
    va_start(arguments, format);
    describe(warp, insn, lane, format, arguments, text, sizeof text);
    va_end(arguments);
    if (survives)
        name_fault(grid, insn, code, text);
    else
        end_launch(warp, insn, lane, code, text);
    return survives;
}

bool exec_violation_plain(Grid *grid, const Insn *insn, CUresult code, const char *format, ...)
{
    char text[FAULT_TEXT];
    va_list arguments;
    bool survives = grid->launch->name_fault;
    if (survives && count_known(grid, insn, code)) return true;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (survives)
        name_fault(grid, insn, code, text);
    else
        exec_fault_plain(grid, code, "%s", text);
    return survives;
}

bool exec_has_failed(const Warp *warp)
{
    return atomic_load_explicit(&warp->block->grid->faulted, memory_order_relaxed);
}

uint8_t *exec_sink(Warp *warp, uint64_t bytes, bool write)
{
    enum { ALIGN = 64 };
    Sink *sink = &warp->worker->sinks[write];
    uint64_t room = (bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    if (room > sink->size) {
        free(sink->bytes);
        sink->bytes = room >= bytes ? aligned_alloc(ALIGN, room) : NULL;
        sink->size = sink->bytes ? room : 0;
    }
    if (sink->bytes)
        memset(sink->bytes, 0, bytes);
    else
        exec_fault_plain(warp->block->grid, CUDA_ERROR_OUT_OF_MEMORY,
                         "kernel %s: no memory for an access that is not valid",
                         warp->block->grid->function->name);
    return sink->bytes;
}

/* Why the range is not accessible, or NULL. */
static const char *why_inaccessible(const MemoryRange *range)
{
    if (range->state != MEMORY_CLOSED) return NULL;
    return range->kind == MEMORY_MAPPED ? "no device has access to it (cuMemSetAccess)"
                                        : "nothing is mapped there (cuMemMap)";
}

void exec_describe_nearest(const GridLaunch *launch, uint64_t address, uint64_t size, bool write, char *out,
                           size_t capacity)
{
    struct MemoryMap *memory = launch->memory;
    MemoryRange near;
    int found = 0;
    uint64_t end;
    enum { NULL_PAGES = 65536 }; /* addresses that are taken for a null pointer with an offset */
    if (address < NULL_PAGES) {
        snprintf(out, capacity, address ? "a null pointer with an offset" : "a null pointer");
        return;
    }
    const char *refusal = NULL;
    if (memory && memory_map_find(memory, address, &near)) refusal = range_refusal(launch, &near, write);
    if (memory) memory_map_nearest(memory, address, &near, &found);
    if (!found) {
        snprintf(out, capacity, "there is no allocation near it");
        return;
    }
    end = near.base + near.size;
    if (refusal)
        snprintf(out, capacity, "%llu bytes into", (unsigned long long)(address - near.base));
    else if (address == near.base && near.state == MEMORY_FREED)
        snprintf(out, capacity, "at the start of");
    else if (address >= near.base && address < end && near.state != MEMORY_LIVE)
        snprintf(out, capacity, "%llu bytes into", (unsigned long long)(address - near.base));
    else if (address >= near.base && address < end && near.read_only && write)
        snprintf(out, capacity, "%llu bytes into read-only", (unsigned long long)(address - near.base));
    else if (address >= near.base && address < end)
        snprintf(out, capacity, "%llu of its bytes past the end of",
                 (unsigned long long)(address + size > end ? address + size - end : 0));
    else if (address == end)
        snprintf(out, capacity, "just past the end of");
    else if (address > end)
        snprintf(out, capacity, "%llu bytes past the end of", (unsigned long long)(address - end));
    else
        snprintf(out, capacity, "%llu bytes before", (unsigned long long)(near.base - address));
    snprintf(out + strlen(out), capacity - strlen(out), " the %s%s at 0x%llx of %llu bytes",
             near.state == MEMORY_FREED ? "freed " : "", memory_kind_name(near.kind),
             (unsigned long long)near.base, (unsigned long long)near.size);
    if (!refusal && address - near.base < near.size) refusal = why_inaccessible(&near);
    if (refusal) snprintf(out + strlen(out), capacity - strlen(out), ": %s", refusal);
}

/* How a message names the access: "write of" and so on. */
static const char *access_verb(const Insn *insn, bool write)
{
    const char *name = exec_op_names[insn->op];
    if (strncmp(name, "atom", 4) == 0) return "atomic operation on";
    return write ? "write of" : "read of";
}

bool exec_fault_access(Warp *warp, const Insn *insn, int lane, uint64_t address, uint32_t size, bool write)
{
    Grid *grid = warp->block->grid;
    char near[384];
    if (address & (size - 1))
        return exec_violation(warp, insn, lane, CUDA_ERROR_MISALIGNED_ADDRESS,
                              "misaligned %s %u bytes at 0x%llx", access_verb(insn, write), size,
                              (unsigned long long)address);
    if (grid->launch->name_fault && count_known(grid, insn, CUDA_ERROR_ILLEGAL_ADDRESS)) return true;
    exec_describe_nearest(grid->launch, address, size, write, near, sizeof near);
    return exec_violation(warp, insn, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "invalid %s %u bytes at 0x%llx: %s",
                          access_verb(insn, write), size, (unsigned long long)address, near);
}

bool exec_fault_window(Warp *warp, const Insn *insn, int lane, const char *space, uint64_t offset,
                       uint32_t size, uint64_t limit, bool write)
{
    if (offset & (size - 1))
        return exec_violation(warp, insn, lane, CUDA_ERROR_MISALIGNED_ADDRESS,
                              "misaligned %s %u bytes of %s memory at offset 0x%llx",
                              access_verb(insn, write), size, space, (unsigned long long)offset);
    return exec_violation(warp, insn, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                          "invalid %s %u bytes of %s memory at offset 0x%llx: it has %llu bytes",
                          access_verb(insn, write), size, space, (unsigned long long)offset,
                          (unsigned long long)limit);
}

bool exec_fault_reach(Warp *warp, const Insn *insn, int lane, const Reach *reach)
{
    char what[96], near[384];
    const char *verb = access_verb(insn, reach->write),
               *at = reach->shared ? "of shared memory at offset" : "at";
    const unsigned long long address = reach->address, bytes = reach->bytes;
    if (reach->what)
        snprintf(what, sizeof what, "%s (%llu bytes)", reach->what, bytes);
    else
        snprintf(what, sizeof what, "%llu bytes", bytes);
    if (address & (reach->unit - 1))
        return exec_violation(warp, insn, lane, CUDA_ERROR_MISALIGNED_ADDRESS,
                              "misaligned %s %s %s 0x%llx, which is not a multiple of %u", verb, what, at,
                              address, reach->unit);
    if (reach->shared)
        snprintf(near, sizeof near, "the block has %llu bytes of it",
                 (unsigned long long)warp->block->shared_size);
    else
        exec_describe_nearest(warp->block->grid->launch, address, bytes, reach->write, near, sizeof near);
    return exec_violation(warp, insn, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "invalid %s %s %s 0x%llx: %s", verb,
                          what, at, address, near);
}
