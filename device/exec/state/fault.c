/* Fault texts: what happened, which thread did it, where in the source, and which allocation is nearest
 * to the address. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void exec_fault_plain(Grid *grid, CUresult code, const char *format, ...)
{
    va_list arguments;
    if (!claim_fault(grid)) return;
    grid->fault->code = code;
    va_start(arguments, format);
    vsnprintf(grid->fault->text, sizeof grid->fault->text, format, arguments);
    va_end(arguments);
}

const Insn *exec_fault(Warp *warp, const Insn *insn, int lane, CUresult code, const char *format, ...)
{
    const Block *block = warp->block;
    const CodeFunction *function = warp->current ? warp->current->function : block->grid->function;
    bool called = function != block->grid->function;
    char what[640], place[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    exec_place(function, insn, place, sizeof place);
    exec_fault_plain(block->grid, code, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u), %s%s%s%s: %s",
                     block->grid->function->name, block->id[0], block->id[1], block->id[2],
                     warp->rows[WARP_ROW_TID].lane[lane], warp->rows[WARP_ROW_TID + 1].lane[lane],
                     warp->rows[WARP_ROW_TID + 2].lane[lane], called ? "in " : "",
                     called ? function->name : "", called ? ", " : "", place, what);
    return NULL;
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

const Insn *exec_fault_access(Warp *warp, const Insn *insn, int lane, uint64_t address, uint32_t size,
                              bool write)
{
    char near[384];
    if (address & (size - 1))
        return exec_fault(warp, insn, lane, CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned %s %u bytes at 0x%llx",
                          access_verb(insn, write), size, (unsigned long long)address);
    exec_describe_nearest(warp->block->grid->launch, address, size, write, near, sizeof near);
    return exec_fault(warp, insn, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "invalid %s %u bytes at 0x%llx: %s",
                      access_verb(insn, write), size, (unsigned long long)address, near);
}

const Insn *exec_fault_window(Warp *warp, const Insn *insn, int lane, const char *space, uint64_t offset,
                              uint32_t size, uint64_t limit, bool write)
{
    if (offset & (size - 1))
        return exec_fault(warp, insn, lane, CUDA_ERROR_MISALIGNED_ADDRESS,
                          "misaligned %s %u bytes of %s memory at offset 0x%llx", access_verb(insn, write),
                          size, space, (unsigned long long)offset);
    return exec_fault(warp, insn, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                      "invalid %s %u bytes of %s memory at offset 0x%llx: it has %llu bytes",
                      access_verb(insn, write), size, space, (unsigned long long)offset,
                      (unsigned long long)limit);
}
