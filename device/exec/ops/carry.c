/* Extended-precision arithmetic: ops that read and write the carry of each lane, Warp.carry.
 *
 * Each is a sum x + y + carry in, where x is a row or half of a product and y is a row; those with .cc store
 * the carry out. Sums and differences share the carry: a difference is the sum x + ~y + carry in, as on
 * hardware, so that a carry means "no borrow", and sub.cc has a carry in of 1.
 */
#include "exec/numbers/lanes.h"

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

/* Flags: the carry of before comes in (CARRY_IN), or a 1 (CARRY_ONE), or neither; CARRY_OUT: the carry is
 * stored. */
enum { CARRY_IN = 1, CARRY_OUT = 2, CARRY_ONE = 4 };

/* The body of a handler: stores the sum X + Y + carry in of the executing lanes, and with CARRY_OUT their
 * carries. X and Y are expressions in a, b, c. A sum carries if it is less than X, or equal to X with a
 * carry in. */
#define CARRY_LOOP(T, flow, X, Y) \
    { \
        T *d = ROW(T, w, i->d); \
        const T *a_ = ROW(const T, w, i->a), *b_ = ROW(const T, w, i->b); \
        const T *c_ = (i->c >> REF_BASE_SHIFT) == REF_NONE ? b_ : ROW(const T, w, i->c); \
        const uint32_t carry = (flow) & CARRY_ONE ? UINT32_MAX : (flow) & CARRY_IN ? w->carry : 0; \
        uint32_t word = 0; \
        LANES_LOOP { \
            const T a = a_[l], b = b_[l], c = c_[l], in = (carry & lane_bit[l]) != 0; \
            const T x = (T)(X), y = (T)(Y), r = (T)(x + y + in); \
            (void)a; (void)b; (void)c; \
            word |= r < x || (in && r == x) ? lane_bit[l] : 0; \
            d[l] = w->lanes[l] ? r : d[l]; \
        } \
        if ((flow) & CARRY_OUT) w->carry = (w->carry & ~w->mask) | (word & w->mask); \
        return i + 1; \
    }
#define SUM(name, T, flow, X, Y) \
    HANDLER(name, full) CARRY_LOOP(T, flow, X, Y) \
    HANDLER(name, part) CARRY_LOOP(T, flow, X, Y)
#define DIFFERENCE(name, T, flow) SUM(name, T, flow, a, ~b)

#define HIGH_s32(a, b) ((s64)(s32)(a) * (s32)(b) >> 32)
#define HIGH_u32(a, b) ((u64)(a) * (b) >> 32)
#define HIGH_s64(a, b) ((s128)(s64)(a) * (s64)(b) >> 64)
#define HIGH_u64(a, b) ((u128)(a) * (b) >> 64)

#define CARRY_OPS(n) \
    SUM(add_cc_b##n, b##n, CARRY_OUT, a, b) \
    SUM(addc_b##n, b##n, CARRY_IN, a, b) \
    SUM(addc_cc_b##n, b##n, CARRY_IN | CARRY_OUT, a, b) \
    DIFFERENCE(sub_cc_b##n, b##n, CARRY_ONE | CARRY_OUT) \
    DIFFERENCE(subc_b##n, b##n, CARRY_IN) \
    DIFFERENCE(subc_cc_b##n, b##n, CARRY_IN | CARRY_OUT) \
    SUM(mad_lo_cc_b##n, b##n, CARRY_OUT, a * b, c) \
    SUM(mad_hi_cc_s##n, b##n, CARRY_OUT, HIGH_s##n(a, b), c) \
    SUM(mad_hi_cc_u##n, b##n, CARRY_OUT, HIGH_u##n(a, b), c) \
    SUM(madc_lo_b##n, b##n, CARRY_IN, a * b, c) \
    SUM(madc_lo_cc_b##n, b##n, CARRY_IN | CARRY_OUT, a * b, c) \
    SUM(madc_hi_s##n, b##n, CARRY_IN, HIGH_s##n(a, b), c) \
    SUM(madc_hi_u##n, b##n, CARRY_IN, HIGH_u##n(a, b), c) \
    SUM(madc_hi_cc_s##n, b##n, CARRY_IN | CARRY_OUT, HIGH_s##n(a, b), c) \
    SUM(madc_hi_cc_u##n, b##n, CARRY_IN | CARRY_OUT, HIGH_u##n(a, b), c)
CARRY_OPS(32)
CARRY_OPS(64)
