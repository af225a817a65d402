/* Integer arithmetic: wraps unless it says otherwise, and division never traps. */
#include "exec/numbers/lanes.h"

BINARY(add_b16, b16, a + b)
BINARY(add_b32, b32, a + b)
BINARY(add_b64, b64, a + b)
BINARY(sub_b16, b16, a - b)
BINARY(sub_b32, b32, a - b)
BINARY(sub_b64, b64, a - b)

/* Saturated sums and differences. overflow: its sign bit says whether r, the wrapped result, is not the
 * exact one: the operands' signs are equal (for a difference: differ), and r's is not that of a. */
LANE_FN b32 saturated(b32 r, b32 overflow, b32 a) { return (s32)overflow < 0 ? 0x7fffffffu + (a >> 31) : r; }
LANE_FN b32 add_sat(b32 a, b32 b) { return saturated(a + b, ~(a ^ b) & (a ^ (a + b)), a); }
LANE_FN b32 sub_sat(b32 a, b32 b) { return saturated(a - b, (a ^ b) & (a ^ (a - b)), a); }
BINARY(add_sat_s32, b32, add_sat(a, b))
BINARY(sub_sat_s32, b32, sub_sat(a, b))

/* Two halves in one word: the high halves are computed without carries from the low ones. */
LANE_FN b32 halves(b32 low, b32 high) { return (low & 0xffff) | high << 16; }
#define LOW_HIGH(T, x, y) halves((b32)(x((T)a, (T)b)), (b32)(y((T)(a >> 16), (T)(b >> 16))))
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
BINARY(add_b16x2, b32, halves(a + b, (a >> 16) + (b >> 16)))
BINARY(sub_b16x2, b32, halves(a - b, (a >> 16) - (b >> 16)))
BINARY(min_u16x2, b32, LOW_HIGH(u16, MIN, MIN))
BINARY(max_u16x2, b32, LOW_HIGH(u16, MAX, MAX))
BINARY(min_s16x2, b32, LOW_HIGH(s16, MIN, MIN))
BINARY(max_s16x2, b32, LOW_HIGH(s16, MAX, MAX))

#define MIN_MAX(T) BINARY(min_##T, T, MIN(a, b)) BINARY(max_##T, T, MAX(a, b))
MIN_MAX(s16)
MIN_MAX(u16)
MIN_MAX(s32)
MIN_MAX(u32)
MIN_MAX(s64)
MIN_MAX(u64)

#define NEGATE(T, S) UNARY(neg_##T, T, (T)0 - a) UNARY(abs_##S, T, (S)a < 0 ? (T)0 - a : a)
NEGATE(b16, s16)
NEGATE(b32, s32)
NEGATE(b64, s64)

/* Products. */
__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;
#define HIGH_s16(a, b) ((s32)(a) * (b) >> 16)
#define HIGH_u16(a, b) ((u32)(a) * (b) >> 16)
#define HIGH_s32(a, b) ((s64)(a) * (b) >> 32)
#define HIGH_u32(a, b) ((u64)(a) * (b) >> 32)
#define HIGH_s64(a, b) ((s128)(a) * (b) >> 64)
#define HIGH_u64(a, b) ((u128)(a) * (b) >> 64)

#define LOW_PRODUCT(T, U) BINARY(mul_lo_##T, T, (U)a * b) TERNARY(mad_lo_##T, T, (U)a * b + c)
LOW_PRODUCT(b16, u32)
LOW_PRODUCT(b32, u32)
LOW_PRODUCT(b64, u64)

#define HIGH_PRODUCT(T, U) \
    BINARY(mul_hi_##T, T, HIGH_##T(a, b)) \
    TERNARY(mad_hi_##T, T, (U)HIGH_##T(a, b) + (U)c)
HIGH_PRODUCT(s16, u32)
HIGH_PRODUCT(u16, u32)
HIGH_PRODUCT(s32, u32)
HIGH_PRODUCT(u32, u32)
HIGH_PRODUCT(s64, u64)
HIGH_PRODUCT(u64, u64)
TERNARY(mad_hi_sat_s32, s32, add_sat((b32)HIGH_s32(a, b), (b32)c))

#define WIDE_PRODUCT(T, W, U) \
    LANES_2(mul_wide_##T, W, T, T, (W)a * (W)b) \
    LANES_3(mad_wide_##T, W, T, T, W, (U)((W)a * (W)b) + (U)c)
WIDE_PRODUCT(s16, s32, u32)
WIDE_PRODUCT(u16, u32, u32)
WIDE_PRODUCT(s32, s64, u64)
WIDE_PRODUCT(u32, u64, u64)

/* 24-bit sources in 32-bit rows, a 48-bit product. */
LANE_FN s64 product24_s(s32 a, s32 b) { return (s64)((s32)((u32)a << 8) >> 8) * ((s32)((u32)b << 8) >> 8); }
LANE_FN u64 product24_u(u32 a, u32 b) { return (u64)(a & 0xffffff) * (b & 0xffffff); }
#define PRODUCT24(T, product) \
    BINARY(mul24_lo_##T, T, product(a, b)) \
    BINARY(mul24_hi_##T, T, product(a, b) >> 16) \
    TERNARY(mad24_lo_##T, T, (u32)product(a, b) + (u32)c) \
    TERNARY(mad24_hi_##T, T, (u32)(product(a, b) >> 16) + (u32)c)
PRODUCT24(s32, product24_s)
PRODUCT24(u32, product24_u)
TERNARY(mad24_hi_sat_s32, s32, add_sat((b32)(product24_s(a, b) >> 16), (b32)c))

#define SAD(T, U) TERNARY(sad_##T, T, (U)c + (a > b ? (U)a - (U)b : (U)b - (U)a))
SAD(s16, u32)
SAD(u16, u32)
SAD(s32, u32)
SAD(u32, u32)
SAD(s64, u64)
SAD(u64, u64)

/* Quotients and remainders by zero are all ones, as on a GPU. Quotients of 32 bits are computed in
 * double, which is exact: a quotient that is not an integer is nearer to its nearest double than to the
 * next integer. Conversions by the bits of 2^52 + x stay in vector registers on every instruction set. */
LANE_FN f64 f64_of_u32(u32 x) { return f64_from(0x4330000000000000u | x) - 0x1p52; }
LANE_FN u32 quotient(u32 a, u32 b)
{
    f64 q = __builtin_trunc(f64_of_u32(a) / f64_of_u32(b));
    return b == 0 ? 0xffffffffu : (u32)f64_bits(q + 0x1p52); /* the low bits of anything are not used */
}
LANE_FN u32 remainder_u(u32 a, u32 b) { return b == 0 ? 0xffffffffu : a - quotient(a, b) * b; }
LANE_FN u32 magnitude(s32 x) { return x < 0 ? 0u - (u32)x : (u32)x; }
LANE_FN u32 quotient_s(s32 a, s32 b)
{
    u32 q = quotient(magnitude(a), magnitude(b));
    return b == 0 ? 0xffffffffu : (a ^ b) < 0 ? 0u - q : q;
}
LANE_FN u32 remainder_s(s32 a, s32 b)
{
    u32 r = remainder_u(magnitude(a), magnitude(b));
    return b == 0 ? 0xffffffffu : a < 0 ? 0u - r : r;
}
BINARY(div_u16, u16, quotient(a, b))
BINARY(div_u32, u32, quotient(a, b))
BINARY(div_s16, s16, quotient_s(a, b))
BINARY(div_s32, s32, quotient_s(a, b))
BINARY(rem_u16, u16, remainder_u(a, b))
BINARY(rem_u32, u32, remainder_u(a, b))
BINARY(rem_s16, s16, remainder_s(a, b))
BINARY(rem_s32, s32, remainder_s(a, b))
BINARY(div_u64, u64, b == 0 ? ~(u64)0 : a / b)
BINARY(rem_u64, u64, b == 0 ? ~(u64)0 : a % b)
BINARY(div_s64, s64, b == 0 ? -1 : b == -1 ? (s64)(0 - (u64)a) : a / b)
BINARY(rem_s64, s64, b == 0 ? -1 : b == -1 ? 0 : a % b)

/* Dot products of bytes, and of halves of a with two bytes of b. */
#define BYTE_s32(x, k) ((s32)(s8)((x) >> 8 * (k)))
#define BYTE_u32(x, k) ((s32)(u8)((x) >> 8 * (k)))
#define SHORT_s32(x, k) ((s32)(s16)((x) >> 16 * (k)))
#define SHORT_u32(x, k) ((s32)(u16)((x) >> 16 * (k)))
#define DOT(A, B) \
    TERNARY(dp4a_##A##_##B, b32, c + (b32)(BYTE_##A(a, 0) * BYTE_##B(b, 0) + BYTE_##A(a, 1) * BYTE_##B(b, \
        1) + \
                                           BYTE_##A(a, 2) * BYTE_##B(b, 2) + BYTE_##A(a, 3) * BYTE_##B(b, \
                                               3))) \
    TERNARY(dp2a_lo_##A##_##B, b32, \
            c + (b32)(SHORT_##A(a, 0) * BYTE_##B(b, 0) + SHORT_##A(a, 1) * BYTE_##B(b, 1))) \
    TERNARY(dp2a_hi_##A##_##B, b32, \
            c + (b32)(SHORT_##A(a, 0) * BYTE_##B(b, 2) + SHORT_##A(a, 1) * BYTE_##B(b, 3)))
DOT(s32, s32)
DOT(s32, u32)
DOT(u32, s32)
DOT(u32, u32)

/* --- elements in memory -------------------------------------------------------------------------------- */

WIDE_OP(add_b32, b32, a + b)
WIDE_OP(sub_b32, b32, a - b)
WIDE_OP(mul_lo_b32, b32, a * b)
WIDE_OP(mad_lo_b32, b32, a * b + c)
WIDE_OP(add_b64, b64, a + b)
WIDE_OP(sub_b64, b64, a - b)
