/* Video instructions on the four bytes or two halves of words, without selectors or masks. */
#include "exec/numbers/lanes.h"

/* PART_n_T: part k of a word of n parts, signed or unsigned. */
#define PART_4_u32(x, k) ((s32)(u8)((x) >> 8 * (k)))
#define PART_4_s32(x, k) ((s32)(s8)((x) >> 8 * (k)))
#define PART_2_u32(x, k) ((s32)(u16)((x) >> 16 * (k)))
#define PART_2_s32(x, k) ((s32)(s16)((x) >> 16 * (k)))

/* APPLY: part k of op(a, b). JOIN: all parts in one word. SUM: their sum. */
#define APPLY_4(op, T, k) op(PART_4_##T(a, k), PART_4_##T(b, k))
#define APPLY_2(op, T, k) op(PART_2_##T(a, k), PART_2_##T(b, k))
#define JOIN_4(op, T) \
    ((b32)(u8)APPLY_4(op, T, 0) | (b32)(u8)APPLY_4(op, T, 1) << 8 | (b32)(u8)APPLY_4(op, T, 2) << 16 | \
     (b32)(u8)APPLY_4(op, T, 3) << 24)
#define JOIN_2(op, T) ((b32)(u16)APPLY_2(op, T, 0) | (b32)(u16)APPLY_2(op, T, 1) << 16)
#define SUM_4(op, T) (b32)(APPLY_4(op, T, 0) + APPLY_4(op, T, 1) + APPLY_4(op, T, 2) + APPLY_4(op, T, 3))
#define SUM_2(op, T) (b32)(APPLY_2(op, T, 0) + APPLY_2(op, T, 1))

#define DISTANCE(x, y) ((x) > (y) ? (x) - (y) : (y) - (x))
#define PLUS(x, y) ((x) + (y))
#define MINUS(x, y) ((x) - (y))
#define EQ(x, y) ((x) == (y))
#define NE(x, y) ((x) != (y))
#define LT(x, y) ((x) < (y))
#define LE(x, y) ((x) <= (y))
#define GT(x, y) ((x) > (y))
#define GE(x, y) ((x) >= (y))

#define PARTS(n, T) \
    BINARY(vabsdiff##n##_##T, b32, JOIN_##n(DISTANCE, T)) \
    TERNARY(vabsdiff##n##_add_##T, b32, c + SUM_##n(DISTANCE, T)) \
    BINARY(vset##n##_eq_##T, b32, JOIN_##n(EQ, T)) \
    BINARY(vset##n##_ne_##T, b32, JOIN_##n(NE, T)) \
    BINARY(vset##n##_lt_##T, b32, JOIN_##n(LT, T)) \
    BINARY(vset##n##_le_##T, b32, JOIN_##n(LE, T)) \
    BINARY(vset##n##_gt_##T, b32, JOIN_##n(GT, T)) \
    BINARY(vset##n##_ge_##T, b32, JOIN_##n(GE, T))
PARTS(2, u32)
PARTS(2, s32)
PARTS(4, u32)
PARTS(4, s32)

BINARY(vadd2_b32, b32, JOIN_2(PLUS, u32))
BINARY(vadd4_b32, b32, JOIN_4(PLUS, u32))
BINARY(vsub2_b32, b32, JOIN_2(MINUS, u32))
BINARY(vsub4_b32, b32, JOIN_4(MINUS, u32))
