/* The functions PTX leaves approximate, in float steps without table or branch, good to about one last bit.
 *
 * No fused steps: every instruction set gives the same bits. Polynomials are minimax fits on the reduced
 * ranges.
 */
#ifndef DEVICE_EXEC_APPROX_H
#define DEVICE_EXEC_APPROX_H

#include "exec/float.h"

LANE_FN f32 power_of_two(s32 n) { return f32_from((u32)(n + 127) << 23); }

/* 2^x = 2^n 2^r with |r| <= 1/2; the power is applied in two halves, so that subnormal results round once. */
LANE_FN f32 approx_ex2(f32 x)
{
    f32 t = x < -160.0f ? -160.0f : x < 160.0f ? x : 160.0f;
    f32 whole = __builtin_rintf(t), r = t - whole;
    f32 p = 0x1.00dc4ap-16f;
    p = p * r + 0x1.444004p-13f;
    p = p * r + 0x1.5d874cp-10f;
    p = p * r + 0x1.3b2a1cp-7f;
    p = p * r + 0x1.c6b08ep-5f;
    p = p * r + 0x1.ebfbe0p-3f;
    p = p * r + 0x1.62e430p-1f;
    s32 n = (s32)(x == x ? whole : 0.0f);
    return x != x ? f32_from(F32_NAN) : (1.0f + r * p) * power_of_two(n >> 1) * power_of_two(n - (n >> 1));
}

/* log2(x) = n + log2(m), m within sqrt(1/2) and sqrt(2). */
LANE_FN f32 approx_lg2(f32 x)
{
    bool small = x < 0x1p-126f;
    b32 bits = f32_bits(small ? x * 0x1p24f : x) - 0x3f3504f3;
    s32 n = ((s32)bits >> 23) - (small ? 24 : 0);
    f32 t = f32_from((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
    f32 p = -0x1.c25868p-4f;
    p = p * t + 0x1.7d48bcp-3f;
    p = p * t - 0x1.874c10p-3f;
    p = p * t + 0x1.a305c0p-3f;
    p = p * t - 0x1.eabc86p-3f;
    p = p * t + 0x1.277e36p-2f;
    p = p * t - 0x1.715a76p-2f;
    p = p * t + 0x1.ec7096p-2f;
    p = p * t - 0x1.715470p-1f;
    p = p * t + 0x1.715476p+0f;
    f32 r = (f32)n + t * p;
    r = x == 0 ? -__builtin_inff() : x == __builtin_inff() ? x : r;
    return x >= 0 ? r : f32_from(F32_NAN);
}

/* x = n pi/2 + r in double; sin and cos of r, chosen by the quadrant. Beyond 2^30 the result only stays
 * bounded. */
LANE_FN f32 approx_sin_quadrant(f32 x, u32 quadrant)
{
    f64 shifted = (f64)x * 0x1.45f306dc9c883p-1 + 0x1.8p52, n = shifted - 0x1.8p52;
    f64 far = ((f64)x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34;
    f32 r = (f32)(far < -0.8 ? -0.8 : far > 0.8 ? 0.8 : far), z = r * r;
    quadrant += (u32)f64_bits(shifted);
    f32 p = ((0x1.6b8f3cp-19f * z - 0x1.a00bdep-13f) * z + 0x1.111108p-7f) * z - 0x1.555556p-3f;
    f32 s = r * (1.0f + z * p);
    f32 c = 1.0f - (0.5f * z - z * z * ((0x1.9c2eeep-16f * z - 0x1.6c13d6p-10f) * z + 0x1.555556p-5f));
    f32 value = f32_from(f32_bits(quadrant & 1 ? c : s) ^ (quadrant & 2) << 30);
    return (f32_bits(x) & F32_INF) == F32_INF ? f32_from(F32_NAN) : value;
}

/* tanh: a polynomial near zero, else 1 - 2 / (e^2x + 1). */
LANE_FN f32 approx_tanh(f32 x)
{
    f32 a = fabs_f32(x), z = a * a;
    f32 p = 0x1.2d55bcp-9f;
    p = p * z - 0x1.119d80p-7f;
    p = p * z + 0x1.64b248p-6f;
    p = p * z - 0x1.ba0964p-5f;
    p = p * z + 0x1.1110ecp-3f;
    p = p * z - 0x1.555556p-2f;
    f32 near = a + a * z * p;
    f32 far = 1.0f - 2.0f / (approx_ex2(a * 0x1.715476p+1f) + 1.0f);
    f32 r = a < 0.625f ? near : far;
    return x != x ? f32_from(F32_NAN) : f32_from(f32_bits(r) | (f32_bits(x) & F32_SIGN));
}

#endif
