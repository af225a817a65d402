/* Conversions: between integers, between integers and floats (saturating), between float formats. */
#include "exec/numbers/half.h"

LANES_1(cvt_b16_b32, b16, b32, a)
LANES_1(cvt_b16_b64, b16, b64, a)
LANES_1(cvt_b32_b64, b32, b64, a)

/* Signed and unsigned extension; the 8-bit types are the low bytes of 16-bit rows. */
#define EXTEND(to_s, to_u, from_s, from_u, row) \
    LANES_1(cvt_##to_s##_##from_s, to_s, row, (from_s)a) \
    LANES_1(cvt_##to_u##_##from_u, to_u, row, (from_u)a)
EXTEND(s16, u16, s8, u8, b16)
EXTEND(s32, u32, s8, u8, b16)
EXTEND(s64, u64, s8, u8, b16)
EXTEND(s32, u32, s16, u16, b16)
EXTEND(s64, u64, s16, u16, b16)
EXTEND(s64, u64, s32, u32, b32)

/* Truncation to an integer: the value is clamped to the range first, so that every cast is defined. NaN
 * gives 0; from f64, and to 64 bits, it gives the number whose top bit alone is set. IF64: SAME where the
 * source is f64, else ZERO. */
#define CLAMPED(F, x, low, high, nan) \
    ((x) < (low) ? (F)(low) : (x) > (high) ? (F)(high) : (x) == (x) ? (x) : (F)(nan))
#define TO_SMALL(F, IF64) \
    LANES_1(cvt_s8_##F, s16, F, (s32)CLAMPED(F, a, -128, 127, IF64(-128))) \
    LANES_1(cvt_u8_##F, u16, F, (s32)CLAMPED(F, a, 0, 255, IF64(128))) \
    LANES_1(cvt_s16_##F, s16, F, (s32)CLAMPED(F, a, -32768, 32767, IF64(-32768))) \
    LANES_1(cvt_u16_##F, u16, F, (s32)CLAMPED(F, a, 0, 65535, IF64(32768)))
#define ZERO(x) 0
#define SAME(x) (x)
TO_SMALL(f32, ZERO)
TO_SMALL(f64, SAME)

/* The greatest value of a float type that is not above x, an integer of 31 or 32 one bits. */
#define BELOW_f32(x) ((f32)((x) >> 24 == 0xff ? (x) & 0xffffff00u : (x) & 0xffffff80u))
#define BELOW_f64(x) ((f64)(x))
#define TO_INTEGER(F, IF64) \
    LANE_FN s32 F##_to_s32(F x) \
    { \
        F y = x < (F)-0x1p31 ? (F)-0x1p31 : x; \
        y = y > BELOW_##F(0x7fffffff) ? BELOW_##F(0x7fffffff) : y; \
        s32 r = (s32)(x == x ? y : 0); \
        return r | (s32)(ALL_IF(x >= (F)0x1p31) & 0x7fffffff) | (s32)IF64(ALL_IF(x != x) & 0x80000000u); \
    } \
    LANE_FN u32 F##_to_u32(F x) \
    { \
        F y = x > 0 ? x : 0; /* NaN too */ \
        y = y > BELOW_##F(0xffffffff) ? BELOW_##F(0xffffffff) : y; \
        y = y >= (F)0x1p31 ? (F)__builtin_trunc(y) - (F)0x1p32 : y; \
        return (u32)(s32)y | ALL_IF(x >= (F)0x1p32) | IF64(ALL_IF(x != x) & 0x80000000u); \
    } \
    LANE_FN s64 F##_to_s64(F x) \
    { \
        s64 r = (s64)(x >= (F)-0x1p63 && x < (F)0x1p63 ? x : 0); \
        return x >= (F)0x1p63 ? INT64_MAX : x >= (F)-0x1p63 ? r : INT64_MIN; \
    } \
    LANE_FN u64 F##_to_u64(F x) \
    { \
        bool high = x >= (F)0x1p63; \
        F y = high ? x - (F)0x1p63 : x; \
        u64 r = (u64)(s64)(y > 0 && y < (F)0x1p63 ? y : 0) + (high ? (u64)1 << 63 : 0); \
        return x != x ? (u64)1 << 63 : x >= (F)0x1p64 ? UINT64_MAX : r; \
    } \
    LANES_1(cvt_s32_##F, s32, F, F##_to_s32(a)) \
    LANES_1(cvt_u32_##F, u32, F, F##_to_u32(a)) \
    LANES_1(cvt_s64_##F, s64, F, F##_to_s64(a)) \
    LANES_1(cvt_u64_##F, u64, F, F##_to_u64(a))
TO_INTEGER(f32, ZERO)
TO_INTEGER(f64, SAME)
LANES_1(cvt_rni_s32_f32, s32, f32, f32_to_s32(__builtin_rintf(a)))

/* These run under directed rounding too (exec/ops/round.c), where the code that compilers make for u64, a
 * sum of two parts, would give -0 for 0. So a number with the top bit set is halved, its last bit kept as
 * a sticky bit, converted, and doubled. */
#define TO_FLOAT(F, x) ((x) >> 63 ? 2 * (F)(s64)((x) >> 1 | ((x) & 1)) : (F)(s64)(x))
LANES_1(cvt_f32_s32, f32, s32, a)
#ifdef __clang__ /* it converts u32 that way, too */
LANES_1(cvt_f32_u32, f32, u32, a >> 31 ? 2 * (f32)(s32)(a >> 1 | (a & 1)) : (f32)(s32)a)
#else
LANES_1(cvt_f32_u32, f32, u32, a)
#endif
LANES_1(cvt_f32_s64, f32, s64, a)
LANES_1(cvt_f32_u64, f32, u64, TO_FLOAT(f32, a))
LANES_1(cvt_f64_s32, f64, s32, a)
LANES_1(cvt_f64_u32, f64, u32, a)
LANES_1(cvt_f64_s64, f64, s64, a)
LANES_1(cvt_f64_u64, f64, u64, TO_FLOAT(f64, a))

/* Rounded to odd. An integer of more than 53 bits is first shifted to fit a double: its last bit is set
 * if one of those that were shifted out was. */
LANE_FN f64 odd_f64(u64 x)
{
    return x >> 53 ? (f64)(s64)(x >> 11 | ((x & 0x7ff) != 0)) * 0x1p11 : (f64)(s64)x;
}
LANE_FN f64 odd_f64_signed(s64 x) { return x < 0 ? -odd_f64(0 - (u64)x) : odd_f64((u64)x); }
LANES_1(cvt_odd_f32_s32, f32, s32, f32_odd((f64)a))
LANES_1(cvt_odd_f32_u32, f32, u32, f32_odd((f64)a))
LANES_1(cvt_odd_f32_s64, f32, s64, f32_odd(odd_f64_signed(a)))
LANES_1(cvt_odd_f32_u64, f32, u64, f32_odd(odd_f64(a)))
LANES_1(cvt_odd_f32_f64, f32, f64, f32_odd(a))

LANES_1(cvt_f32_f64, f32, f64, a)
LANES_1(cvt_f64_f32, f64, f32, a)
LANES_1(cvt_f32_f16, f32, b16, canonical(f16_to_f32(a)))
LANES_1(cvt_f64_f16, f64, b16, f16_to_f32(a)) /* a NaN keeps its payload */
LANES_1(cvt_f32_bf16, f32, b16, bf16_to_f32(a))
LANES_1(cvt_f16_f32, b16, f32, f32_to_f16(a))
LANES_1(cvt_bf16_f32, b16, f32, f32_to_bf16(a))
LANES_1(cvt_round_f16_f32, b16, f32, f32_to_f16_round(a, mods))
LANES_1(cvt_round_bf16_f32, b16, f32, f32_to_bf16_round(a, mods))

/* From f64 a NaN keeps its sign and the top of its payload. nan: a quiet NaN of type F; shift: by which
 * the top of a double's fraction becomes that of F. */
#define FROM_DOUBLE(F, nan, shift) \
    LANE_FN b32 f64_to_##F(f64 x, unsigned mods) \
    { \
        b32 payload = (b32)(f64_bits(x) >> shift & 0x7fff) | nan | (b32)(f64_bits(x) >> 48 & 0x8000); \
        return x != x ? payload : f32_to_##F##_round(f32_odd(x), mods); \
    } \
    LANES_1(cvt_##F##_f64, b16, f64, f64_to_##F(a, mods))
FROM_DOUBLE(f16, 0x7e00, 42)
FROM_DOUBLE(bf16, 0x7fc0, 45)

/* .relu: negative numbers become +0; NaN stays. */
LANE_FN f32 relu(f32 x, unsigned mods) { return mods & MODS_RELU && x <= 0 ? 0.0f : x; }

/* .satfinite: larger numbers become the largest finite one. infinite: the bits of F's infinity. */
#define PAIR(F, infinite) \
    LANE_FN b32 f32_to_##F##_held(f32 x, unsigned mods) \
    { \
        b32 h = f32_to_##F##_round(relu(x, mods), mods); \
        return mods & MODS_SATFINITE && (h & 0x7fff) == infinite ? h - 1 : h; \
    } \
    LANES_2(cvt_##F##x2_f32, b32, f32, f32, f32_to_##F##_held(a, mods) << 16 | f32_to_##F##_held(b, mods))
PAIR(f16, F16_INF)
PAIR(bf16, BF16_INF)

/* tf32 keeps 10 bits of the mantissa: the lower 13 bits are zeros. */
LANE_FN b32 f32_to_tf32(f32 f, unsigned mods)
{
    const b32 kept = 0xffffe000, largest = 0x7f7fe000;
    b32 bits = f32_bits(f), magnitude = bits & ~F32_SIGN, mode = mods & MODS_ROUND;
    b32 half = mode == MODS_RZ ? 0 : mode == MODS_RNA ? 0x1000 : 0xfff + (bits >> 13 & 1);
    b32 r = (bits + half) & kept;
    if (mods & MODS_SATFINITE && (r & ~F32_SIGN) >= F32_INF) r = (bits & F32_SIGN) | largest;
    b32 nan = mode == MODS_RNA ? bits & kept : F32_NAN & kept;
    return magnitude > F32_INF ? nan : r;
}
LANES_1(cvt_tf32_f32, b32, f32, f32_to_tf32(relu(a, mods), mods))

/* To a floating-point number of 8 bits: m bits of mantissa; bias: of its exponent; greatest: the bits of
 * the largest finite number, which larger ones become. NaN becomes 0x7f. */
LANE_FN b32 f32_to_8bits(f32 f, s32 m, s32 bias, b32 greatest)
{
    b32 sign = f32_bits(f) >> 24 & 0x80;
    f32 x = fabs_f32(f) < 0x1p17f ? fabs_f32(f) : 0x1p17f; /* NaN too: replaced below */
    s32 e = (s32)(f32_bits(x) >> 23) - 127;
    e = e < 1 - bias ? 1 - bias : e;
    s32 steps = (s32)__builtin_rintf(x * f32_from((u32)(m - e + 127) << 23));
    b32 code = (b32)(((e + bias - 1) << m) + steps);
    return f != f ? 0x7f : (code > greatest ? greatest : code) | sign;
}
LANE_FN b32 f32_to_e4m3(f32 f) { return f32_to_8bits(f, 3, 7, 0x7e); }
LANE_FN b32 f32_to_e5m2(f32 f) { return f32_to_8bits(f, 2, 15, 0x7b); }
LANE_FN b32 e5m2_to_f16(b32 x) { return (x & 0x7f) > 0x7c ? HALF_NAN : x << 8; }
LANE_FN b32 e4m3_to_f16(b32 x)
{
    f32 tiny = (f32)(s32)(x & 7) * 0x1p-9f;
    b32 normal = (x & 0x7f) << 20;
    f32 value = (x & 0x78) == 0 ? tiny : f32_from(normal + (120u << 23));
    return (x & 0x7f) == 0x7f ? HALF_NAN : f32_to_f16(value) | (x & 0x80) << 8;
}

#define EIGHT_BITS(F) \
    LANES_2(cvt_##F##x2_f32, b16, f32, f32, f32_to_##F(relu(a, mods)) << 8 | f32_to_##F(relu(b, mods))) \
    LANES_1(cvt_##F##x2_f16x2, b16, b32, f32_to_##F(relu(f16_to_f32(a >> 16), mods)) << 8 | \
                                             f32_to_##F(relu(f16_to_f32(a & 0xffff), mods))) \
    LANE_FN b32 F##_to_f16_relu(b32 x, unsigned mods) \
    { \
        b32 h = F##_to_f16(x); \
        return mods & MODS_RELU && h & 0x8000 ? 0 : h; \
    } \
    LANES_1(cvt_f16x2_##F##x2, b32, b16, \
            F##_to_f16_relu(a >> 8, mods) << 16 | F##_to_f16_relu(a & 0xff, mods))
EIGHT_BITS(e4m3)
EIGHT_BITS(e5m2)
