/* See fault_details.h. A parameter's type is what the PTX text says of it: a pointer is known by its value.
 */
#include "exec/state/fault_details.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exec/memory/memory_map.h"
#include "exec/state/grid.h"
#include "exec/state/block.h"

enum { MAX_ARGUMENTS = 16, MAX_REGISTERS = 16 };

static void append(char *text, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t capacity, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
}

/* The bits of a value of up to 8 bytes as a signed integer. */
static int64_t as_signed(uint64_t bits, uint32_t size)
{
    const unsigned unused = 64 - 8 * size;
    return (int64_t)(bits << unused) >> unused;
}

static void append_float(char *text, size_t capacity, uint64_t bits, uint32_t size)
{
    double value;
    float narrow;
    const uint32_t low = (uint32_t)bits;
    memcpy(&value, &bits, sizeof value);
    memcpy(&narrow, &low, sizeof narrow);
    append(text, capacity, "%g", size == sizeof value ? value : (double)narrow);
}

/* A number of 64 bits: an address, with the bytes from there to the end of its memory, or an integer. */
static void append_long(const GridLaunch *launch, char *text, size_t capacity, uint64_t value)
{
    MemoryRange range;
    if (launch->memory && memory_map_find(launch->memory, value, &range))
        append(text, capacity, "0x%" PRIx64 " (%" PRIu64 " bytes of %s)", value,
               range.base + range.size - value, memory_kind_name(range.kind));
    else if (value >> 32)
        append(text, capacity, "0x%" PRIx64, value);
    else
        append(text, capacity, "%" PRIu64, value);
}

static void append_argument(const GridLaunch *launch, const CodeParam *param, char *text, size_t capacity)
{
    uint64_t bits = 0;
    if (param->is_structure || param->size > sizeof bits) {
        append(text, capacity, "a structure of %u bytes", param->size);
        return;
    }
    memcpy(&bits, (const uint8_t *)launch->params + param->offset, param->size);
    if (param->is_float && param->size >= sizeof(float))
        append_float(text, capacity, bits, param->size);
    else if (param->size == sizeof bits)
        append_long(launch, text, capacity, bits);
    else /* of a byte the text does not say whether it has a sign */
        append(text, capacity, "%" PRId64, param->size == 1 ? (int64_t)bits : as_signed(bits, param->size));
}

void fault_add_arguments(const GridLaunch *launch, char *text, size_t capacity)
{
    const CodeFunction *function = launch->function;
    for (uint32_t k = 0; k < function->param_count && k < MAX_ARGUMENTS; k++) {
        append(text, capacity, "%s", k ? ", " : "; arguments: ");
        append_argument(launch, &function->params[k], text, capacity);
    }
    if (function->param_count > MAX_ARGUMENTS)
        append(text, capacity, " and %u more", function->param_count - MAX_ARGUMENTS);
}

/* The low 64 bits of a lane's value in the register. */
static uint64_t lane_bits(const Warp *warp, const CodeRegister *named, int lane)
{
    void *row = ref_rows(warp, named->row);
    if (named->bits == 1) return *(const uint32_t *)row >> lane & 1;
    if (named->affine && affine_of(row)->valid) {
        const Affine *affine = affine_of(row);
        const uint64_t base = (uint64_t)(lane < WARP_LANES / 2 ? affine->low : affine->high);
        return base + (uint64_t)affine->stride * (uint64_t)(lane % (WARP_LANES / 2));
    }
    if (named->bits <= 16) return ((const uint16_t *)row)[lane];
    if (named->bits == 32) return ((const uint32_t *)row)[lane];
    return ((const uint64_t *)row)[lane];
}

static void append_register(const Warp *warp, const CodeRegister *named, int lane, char *text,
                            size_t capacity)
{
    const uint64_t bits = lane_bits(warp, named, lane);
    append(text, capacity, "%s", named->name);
    if (named->number != UINT32_MAX) append(text, capacity, "%u", named->number);
    append(text, capacity, " = ");
    if (named->is_float && (named->bits == 32 || named->bits == 64))
        append_float(text, capacity, bits, named->bits / 8);
    else if (named->bits == 1)
        append(text, capacity, "%s", bits ? "true" : "false");
    else if (named->bits >= 64)
        append(text, capacity, "0x%" PRIx64, bits);
    else
        append(text, capacity, "%" PRId64, as_signed(bits, named->bits <= 16 ? 2 : 4));
}

/* The register whose value is the newest of those older than `before`: of the ones that were set by one
 * instruction the first, after it the next ones. NULL if there is none. */
static const CodeRegister *next_register(const CodeFunction *function, uint32_t at,
                                         const CodeRegister *before)
{
    const CodeRegister *found = NULL;
    for (uint32_t r = 0; r < function->register_count; r++) {
        const CodeRegister *each = &function->registers[r];
        if (each->first >= at || each->last < at) continue;
        if (before && (each->first > before->first || (each->first == before->first && each <= before)))
            continue;
        if (!found || each->first > found->first) found = each;
    }
    return found;
}

void fault_add_registers(const Warp *warp, const Insn *insn, int lane, char *text, size_t capacity)
{
    const CodeFunction *function = warp->current ? warp->current->function : warp->block->grid->function;
    const CodeRegister *named = NULL;
    if (insn < function->insns || insn >= function->insns + function->insn_count) return;
    const uint32_t at = (uint32_t)(insn - function->insns);
    for (int shown = 0; shown < MAX_REGISTERS; shown++) {
        named = next_register(function, at, named);
        if (!named) return;
        append(text, capacity, "%s", shown ? ", " : "; registers: ");
        append_register(warp, named, lane, text, capacity);
    }
}
