/* Selects the kernel of an elementwise loop and packs the parameter block of its launch. */
#ifndef CORE_LAYOUT_ELEMENTWISE_LAYOUT_H
#define CORE_LAYOUT_ELEMENTWISE_LAYOUT_H

#include "core/layout/loop_plan.h"

enum {
    LAYOUT_SLOT = WIDEST_ACCESS, /* bytes of an operand's slot in the parameter block */
    LAYOUT_THREADS = 256, /* threads of a block: kernels are written for it */
};

typedef enum LayoutKind { LAYOUT_VECTOR, LAYOUT_FLAT, LAYOUT_ROWS, LAYOUT_TILES, LAYOUT_STRIDED } LayoutKind;

/* A row of elementwise_layouts.def, which describes kinds, axes and wide. */
typedef struct ElementwiseLayout {
    LayoutKind kind;
    const char *name; /* of the kind */
    int axes;
    bool wide;
} ElementwiseLayout;

#define LAYOUT(kind, axes, wide) +1
enum {
    LAYOUT_COUNT = 0
#include "core/layout/elementwise_layouts.def"
};

extern const ElementwiseLayout elementwise_layouts[LAYOUT_COUNT];

/* Division of 0 <= x < 2^31 by a constant d > 0: (umulhi(x, factor) + x) >> shift. Kernels divide by the
 * structure of the same name in pycuda-elementwise.hpp, which has the same fields. */
typedef struct Divider {
    uint32_t divisor, factor, shift;
} Divider;

Divider divider_of(uint32_t divisor);

/* The index in elementwise_layouts for a collapsed loop that has elements. For the kind
 * TILES the plan's axes are reordered by loop_tile(). Bit k of *marked: FLAT, operand k is a single element;
 * ROWS, it has one element for each row; TILES, it is transposed. */
int layout_choose(LoopPlan *plan, uint64_t *marked);

/* The number of blocks of a launch. elements: those of a block; for TILES, of one side of a tile. */
ptrdiff_t layout_blocks(const LoopPlan *plan, int layout, ptrdiff_t elements);

/* Bytes of a parameter block for that many operands. */
size_t layout_size(int operands, int layout);

/* Fills in the parameter block of a launch, which has `operands` slots and is aligned to LAYOUT_SLOT. Slots
 * of operands that the plan does not have become 0. */
void layout_pack(const LoopPlan *plan, int operands, int layout, uint64_t marked, unsigned char *block);

/* The slot of that operand in a parameter block. */
unsigned char *layout_slot(unsigned char *block, int operand);

#endif
