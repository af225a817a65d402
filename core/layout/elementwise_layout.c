/* See elementwise_layout.h. */
#include "core/layout/elementwise_layout.h"

#include <string.h>

#define LAYOUT(kind, axes, wide) {LAYOUT_##kind, #kind, axes, wide},
const ElementwiseLayout elementwise_layouts[LAYOUT_COUNT] = {
#include "core/layout/elementwise_layouts.def"
};

#define HEAD_FIELD(type, device_type, name) type name;
typedef struct Head {
#include "core/layout/elementwise_layouts.def"
} Head;
_Static_assert(sizeof(Head) % LAYOUT_SLOT == 0, "slots are aligned");

/* Granlund and Montgomery's division by multiplication: shift = ceil(log2(divisor)), and the multiplier is
 * 2^32 + factor. */
Divider divider_of(uint32_t divisor)
{
    uint32_t shift = 0;
    while (shift < 31 && (UINT32_C(1) << shift) < divisor) shift++;
    uint64_t power = UINT64_C(1) << shift;
    uint32_t factor = (uint32_t)(((power - divisor) << 32) / divisor + 1);
    return (Divider){divisor, factor, shift};
}

/* ---- The choice ---- */

/* Whether every operand is dense or a single element. Bit k of *uniform: operand k is a single element. */
static bool is_flat(const LoopPlan *plan, uint64_t *uniform)
{
    *uniform = 0;
    if (plan->ndim > 1) return false;
    for (int k = 0; k < plan->count && plan->ndim; k++) {
        const LoopOperand *operand = &plan->operands[k];
        if (operand->strides[0] == 0)
            *uniform |= UINT64_C(1) << operand->number;
        else if (operand->strides[0] != operand->itemsize)
            return false;
    }
    return true;
}

/* Whether all operands are aligned to the bytes that a thread moves at once. */
static bool is_aligned(const LoopPlan *plan)
{
    uint64_t bits = 0; /* all addresses are aligned if and only if their bitwise OR is */
    for (int k = 0; k < plan->count; k++) bits |= plan->operands[k].address;
    return bits % WIDEST_ACCESS == 0;
}

/* Whether every operand has, along the last axis, either rows that begin aligned and consist of whole vectors
 * of elements, or one element for a whole row. Bit k of *uniform: operand k has one element for a row. */
static bool is_in_rows(const LoopPlan *plan, uint64_t *uniform)
{
    int last = plan->ndim - 1;
    *uniform = 0;
    if (last < 1 || plan->shape[last] % WIDEST_ACCESS) return false;
    for (int k = 0; k < plan->count; k++) {
        const LoopOperand *operand = &plan->operands[k];
        uint64_t bits = operand->address;
        for (int i = 0; i < last; i++) bits |= (uint64_t)operand->strides[i];
        if (operand->strides[last] == 0)
            *uniform |= UINT64_C(1) << operand->number;
        else if (operand->strides[last] != operand->itemsize || bits % WIDEST_ACCESS)
            return false;
    }
    return true;
}

/* Whether an element's index, or its bytes along an axis, needs more than 31 bits. */
static bool is_wide(const LoopPlan *plan)
{
    bool wide = plan->size > INT32_MAX;
    for (int k = 0; k < plan->count; k++)
        for (int i = 0; i < plan->ndim; i++) {
            ptrdiff_t stride = plan->operands[k].strides[i];
            wide = wide || stride > INT32_MAX || stride < -INT32_MAX;
        }
    return wide;
}

/* The first row of elementwise_layouts of that kind and width that has at least ndim axes; -1: there is
 * none. */
static int find_layout(LayoutKind kind, int ndim, bool wide)
{
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        const ElementwiseLayout *row = &elementwise_layouts[i];
        if (row->kind == kind && row->axes >= ndim && row->wide == wide) return i;
    }
    return -1;
}

int layout_choose(LoopPlan *plan, uint64_t *marked)
{
    if (is_flat(plan, marked))
        return find_layout(!*marked && is_aligned(plan) ? LAYOUT_VECTOR : LAYOUT_FLAT, 0, false);
    int rows = is_wide(plan) ? -1 : find_layout(LAYOUT_ROWS, plan->ndim, false);
    if (rows >= 0 && is_in_rows(plan, marked)) return rows;
    *marked = 0;
    int tiles = find_layout(LAYOUT_TILES, plan->ndim, false);
    if (tiles >= 0 && loop_tile(plan, marked)) return tiles;
    return find_layout(LAYOUT_STRIDED, plan->ndim, is_wide(plan));
}

ptrdiff_t layout_blocks(const LoopPlan *plan, int layout, ptrdiff_t elements)
{
    if (elementwise_layouts[layout].kind != LAYOUT_TILES)
        return plan->size / elements + (plan->size % elements != 0);
    ptrdiff_t blocks = 1;
    for (int i = 0; i < plan->ndim; i++)
        blocks *= i < plan->ndim - 2 ? plan->shape[i] : (plan->shape[i] - 1) / elements + 1;
    return blocks;
}

/* ---- The parameter block ---- */

unsigned char *layout_slot(unsigned char *block, int operand)
{
    return block + sizeof(Head) + (size_t)operand * LAYOUT_SLOT;
}

size_t layout_size(int operands, int layout)
{
    size_t axes = (size_t)elementwise_layouts[layout].axes, count = (size_t)operands;
    size_t size = sizeof(Head) + count * LAYOUT_SLOT;
#define AXES_FIELD(type, device_type, name, per_operand) \
    size += sizeof(type) * axes * (per_operand ? count : 1);
#include "core/layout/elementwise_layouts.def"
    return (size + LAYOUT_SLOT - 1) / LAYOUT_SLOT * LAYOUT_SLOT;
}

/* Writes the arrays of AXES_FIELD one after another to `at`, each with `axes` entries (for each of `count`
 * operands, if it is per operand). Outer axes that the plan lacks have length 1 and stride 0. */
static void pack_axes(const LoopPlan *plan, size_t count, size_t axes, void *at)
{
    size_t missing = axes - (size_t)plan->ndim;
#define AXES_FIELD(type, device_type, name, per_operand) \
    type *name = at; \
    at = name + axes * (per_operand ? count : 1);
#include "core/layout/elementwise_layouts.def"
    memset(strides, 0, axes * count * sizeof *strides);
    for (size_t i = 0; i < axes; i++) {
        shape[i] = i < missing ? 1 : (uint64_t)plan->shape[i - missing];
        dividers[i] = divider_of(shape[i] > INT32_MAX ? 1 : (uint32_t)shape[i]);
    }
    for (int k = 0; k < plan->count; k++) {
        const LoopOperand *operand = &plan->operands[k];
        memcpy(strides + (size_t)operand->number * axes + missing, operand->strides,
               (size_t)plan->ndim * sizeof *strides);
    }
}

void layout_pack(const LoopPlan *plan, int operands, int layout, uint64_t marked, unsigned char *block)
{
    Head head = {.size = (uint64_t)plan->size, .marked = marked};
    int axes = elementwise_layouts[layout].axes;
    memcpy(block, &head, sizeof head);
    for (int k = 0; k < operands; k++) memset(layout_slot(block, k), 0, LAYOUT_SLOT);
    for (int k = 0; k < plan->count; k++)
        memcpy(layout_slot(block, plan->operands[k].number), &plan->operands[k].address, sizeof(uint64_t));
    if (axes) pack_axes(plan, (size_t)operands, (size_t)axes, layout_slot(block, operands));
}
