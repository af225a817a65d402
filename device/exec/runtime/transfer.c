/* Copies and fills that kernels ask for. */
#include "exec/runtime/transfer.h"

#include <stdio.h>
#include <string.h>

#include "exec/state/ranges.h"

/* *span becomes the number of bytes from the first to the last one of a side. False if that, or the end's
 * address, overflows. */
static bool span_of(const Transfer *transfer, const TransferSide *side, uint64_t *span)
{
    uint64_t layers, rows, end;
    return !__builtin_mul_overflow(transfer->depth - 1, side->layer, &layers)
           && !__builtin_mul_overflow(transfer->height - 1, side->pitch, &rows)
           && !__builtin_add_overflow(layers, rows, span)
           && !__builtin_add_overflow(*span, transfer->width, span)
           && !__builtin_add_overflow(*span, side->address, &end);
}

bool transfer_is_valid(const Transfer *transfer)
{
    uint64_t span;
    return span_of(transfer, &transfer->to, &span)
           && (transfer->fill || span_of(transfer, &transfer->from, &span));
}

/* Whether the launch may access all bytes of a side; if not, *fault is filled. */
static bool may_access(const Transfer *transfer, const TransferSide *side, const GridLaunch *launch,
                       bool write, ExecFault *fault)
{
    MemoryRange range;
    uint64_t span = 0;
    char near[384];
    span_of(transfer, side, &span);
    if (launch->memory && memory_map_find_span(launch->memory, side->address, span, &range)
        && range_is_open(launch, &range, write))
        return true;
    exec_describe_nearest(launch, side->address, span, write, near, sizeof near);
    fault->code = CUDA_ERROR_ILLEGAL_ADDRESS;
    snprintf(fault->text, sizeof fault->text, "%s called by kernel %s: invalid %s %llu bytes at 0x%llx: %s",
             transfer->name, transfer->kernel, write ? "write of" : "read of", (unsigned long long)span,
             (unsigned long long)side->address, near);
    return false;
}

static void move_row(const Transfer *transfer, struct MemoryMap *memory, uint64_t y, uint64_t z)
{
    const TransferSide *to = &transfer->to, *from = &transfer->from;
    uint64_t target = to->address + z * to->layer + y * to->pitch;
    uint64_t source = from->address + z * from->layer + y * from->pitch;
    if (transfer->fill) {
        memset((void *)(uintptr_t)target, transfer->value, transfer->width);
        memory_map_written(memory, target, transfer->width);
    } else {
        memory_map_copied(memory, target, source, transfer->width);
        memmove((void *)(uintptr_t)target, (const void *)(uintptr_t)source, transfer->width);
    }
}

void transfer_run(const Transfer *transfer, const GridLaunch *launch, ExecFault *fault)
{
    fault->code = CUDA_SUCCESS;
    fault->text[0] = '\0';
    if (!transfer->fill && !may_access(transfer, &transfer->from, launch, false, fault)) return;
    if (!may_access(transfer, &transfer->to, launch, true, fault)) return;
    for (uint64_t z = 0; z < transfer->depth; z++)
        for (uint64_t y = 0; y < transfer->height; y++) move_row(transfer, launch->memory, y, z);
}
