/* Selects the kernel of an elementwise loop and packs the parameter block of its launch. */
#ifndef CORE_LAYOUT_ELEMENTWISE_LAYOUT_H
#define CORE_LAYOUT_ELEMENTWISE_LAYOUT_H

#include "core/layout/loop_plan.h"

enum {
    LAYOUT_SLOT = WIDEST_ACCESS, /* bytes of a slot */
    LAYOUT_THREADS = 256, /* of a block: kernels are written for it */
};

typedef enum LayoutKind { LAYOUT_VECTOR, LAYOUT_FLAT, LAYOUT_ROWS, LAYOUT_TILES, LAYOUT_STRIDED } LayoutKind;

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

/* The row of elementwise_layouts for a collapsed loop that has elements. For tiles the plan's axes are
 * exchanged. Bit k of *marked: what a kernel of that layout must know of operand k. */
int layout_choose(LoopPlan *plan, uint64_t *marked);

/* Blocks of a launch; `elements`: of a block, or of one side of a tile. */
ptrdiff_t layout_blocks(const LoopPlan *plan, int layout, ptrdiff_t elements);

/* Bytes of a parameter block. */
size_t layout_size(int operands, int layout);

/* Fills the parameter block of a launch with `operands` slots. `block` is aligned for a slot. Slots of
 * operands that the plan does not have become 0. */
void layout_pack(const LoopPlan *plan, int operands, int layout, uint64_t marked, unsigned char *block);

unsigned char *layout_slot(unsigned char *block, int operand);

#endif
