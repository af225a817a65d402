// Functions of pycuda-special.hpp for floats, computed in float: polynomials instead of series, and few
// branches. tools/special_polynomials.py computes the polynomials' coefficients.
#ifndef PYCUDA_SPECIAL_FLOAT_HPP
#define PYCUDA_SPECIAL_FLOAT_HPP

#include "array/pycuda-elementwise.hpp"

namespace pycuda {

// ---- building blocks

// The maximum number of terms of a series or steps of a continued fraction: then the result is NaN.
enum { SPECIAL_MAX_STEPS = 20000 };

// The sum of c x^0 + ..., coefficients in ascending order.
template <class T> PYCUDA_INLINE T polynomial(T, T c) { return c; }

template <class T, class... More> PYCUDA_INLINE T polynomial(T x, T c, More... more)
{
    return fma(polynomial(x, more...), x, c);
}

// 1 / x within an ulp; of 0 and infinity, too.
PYCUDA_INLINE float approximate_reciprocal(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

// 1 / x, rounded to nearest, for x whose absolute value is from 2^-126 to 2^126.
PYCUDA_INLINE float reciprocal(float x)
{
    const float r = approximate_reciprocal(x);
    return fmaf(r, fmaf(-x, r, 1.0f), r);
}

// 1 / x within 1e-12, and within an ulp, for x whose reciprocal is normal.
PYCUDA_INLINE double near_reciprocal(double x)
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return fma(r, fma(-x, r, 1.0), r);
}

PYCUDA_INLINE double reciprocal(double x)
{
    const double r = near_reciprocal(x);
    return fma(r, fma(-x, r, 1.0), r);
}

// What a term of a sum must exceed, as a fraction of the sum, to be of weight.
template <class T> PYCUDA_INLINE constexpr T least_weight() { return sizeof(T) == 4 ? T(2e-8f) : T(3e-17); }

// ln(u + rest) for a normal u > 0, where the rest is at most a rounding error of u.
PYCUDA_INLINE float log_of_sum(float u, float rest)
{
    const int bits = __float_as_int(u), exponent = (bits - 0x3f2aaaab) & 0xff800000;  // u / 2^n: 2/3 to 4/3
    const float scale = __int_as_float(0x3f800000 - exponent);
    const float f = fmaf(rest, scale, __int_as_float(bits - exponent) - 1.0f), s = f * f;
    const float p = polynomial(f, 0.33333215f, -0.24999805f, 0.20010443f, -0.1668018f, 0.1400538f,
                               -0.1218839f, 0.13986468f, -0.1287418f);
    const float log_f = fmaf(s, fmaf(p, f, -0.5f), f);
    return fmaf(exponent * 1.1920929e-7f, 0.693147182f, log_f);
}

// ln(1 + v) for v from -1/2 on, not infinite.
PYCUDA_INLINE float log_of_one_plus(float v)
{
    const float u = 1.0f + v;
    return log_of_sum(u, v - (u - 1.0f));
}

// ---- error functions, the normal distribution

// `scale` exp(z^2) erfc(z) for z = 4 `quarter` y >= 0: times z + 2 it is a polynomial of (z - 2) / (z + 2).
PYCUDA_INLINE float scaled_erfcx(float y, float quarter, double scale)
{
    const float r = reciprocal(fmaf(y, quarter, 0.5f)), part = (float)(scale / 4);
    const float p = polynomial(1.0f - r, 1.0215827f * part, -0.6871607f * part, 0.27947134f * part,
                               -0.03644301f * part, -0.021502754f * part, 0.0064858487f * part,
                               0.0030576405f * part, -0.0008600116f * part, -0.00059850566f * part,
                               7.263251e-05f * part, 8.4360756e-05f * part);
    return r * p;
}

// exp(x y) without the product's rounding error, where that is finite.
PYCUDA_INLINE float exp_of_product(float x, float y)
{
    const float product = x * y, e = expf(product);
    return fmaf(e, fmaf(x, y, -product), e);
}

PYCUDA_INLINE double complementary_error(double x) { return erfc(x); }

PYCUDA_INLINE float complementary_error(float x)
{
    const float z = fabsf(x) > 11.0f ? 11.0f : fabsf(x);
    const float tail = exp_of_product(-z, z) * scaled_erfcx(z, 0.25f, 1);
    return x < 0.0f ? 2.0f - tail : tail;
}

PYCUDA_INLINE double scaled_complementary_error(double x) { return erfcx(x); }

// For x < 0 as 2 exp(x^2) less the function of -x.
PYCUDA_INLINE float scaled_complementary_error(float x)
{
    const float z = fabsf(x), near = z > 9.4f ? 9.4f : z;
    const float tail = isinf(z) ? 0.0f : scaled_erfcx(z, 0.25f, 1);
    return x < 0.0f ? 2.0f * exp_of_product(near, near) - tail : tail;
}

// exp(y^2 / 2) Phi(-y) for y >= 0, at most 2^100: DLMF 7.2.2, where z is y / sqrt(2).
PYCUDA_INLINE float scaled_normal_tail(float y) { return scaled_erfcx(y, 0.176776695f, 0.5); }

PYCUDA_INLINE double normal_cdf(double x) { return normcdf(x); }

PYCUDA_INLINE float normal_cdf(float x)
{
    const float y = fabsf(x) > 15.0f ? 15.0f : fabsf(x);
    const float tail = exp_of_product(-0.5f * y, y) * scaled_normal_tail(y);
    return x > 0.0f ? 1.0f - tail : tail;
}

// For x > 0 as ln(1 - Phi(-x)).
PYCUDA_INLINE float log_normal_cdf(float x)
{
    const float y = fabsf(x), scaled = scaled_normal_tail(y > 1e18f ? 1e18f : y);
    const float near = y > 15.0f ? 15.0f : y, tail = exp_of_product(-0.5f * near, near) * scaled;
    const float one_less = 1.0f - tail;
    const bool above = x > 0.0f;
    const float log_u = log_of_sum(above ? one_less : scaled, above ? (1.0f - one_less) - tail : 0.0f);
    return above ? -fabsf(log_u) : fmaf(-0.5f * y, y, log_u);  // -0 for large x
}

// ---- logistic functions and entropies

// Near 1/2 as 2 atanh(2 x - 1).
PYCUDA_INLINE float logit(float x)
{
    const float s = fmaf(2.0f, x, -1.0f), q = s * s;
    if (q < 0.16f)
        return s
               * polynomial(q, 2.0f, 0.6666666f, 0.4000046f, 0.28553826f, 0.22529241f, 0.15528381f,
                            0.26095387f);
    return logf(x * approximate_reciprocal(1.0f - x));  // 1 - x may be 0
}

template <class T> PYCUDA_INLINE T x_log_ratio(T x, T y);

static __device__ __noinline__ float x_log_any_ratio(float x, float y) { return x_log_ratio<float>(x, y); }

// x ln(x / y) for positive x and y.
PYCUDA_INLINE float x_log_ratio(float x, float y)
{
    const float low = fminf(x, y), high = fmaxf(x, y);
    if (!(low > 1e-18f && high < 1e18f)) return x_log_any_ratio(x, y);
    const float log_ratio = log_of_one_plus((high - low) * reciprocal(low));
    return x < y ? -x * log_ratio : x * log_ratio;
}

// x ln(x / y) - x + y for positive x and y. If they are near each other, with w = (x - y) / (x + y) and
// ln(x / y) = 2 atanh(w) (DLMF 4.6.4), without cancellation.
PYCUDA_INLINE float positive_kl_divergence(float x, float y)
{
    const float difference = x - y, sum = x + y;
    if (fabsf(difference) > 0.333f * sum || !(sum > 1e-30f && sum < 1e30f))
        return x_log_ratio(x, y) - difference;
    const float w = difference * reciprocal(sum), q = w * w;
    const float p = polynomial(q, 0.33333334f, 0.1999964f, 0.14306514f, 0.10695964f, 0.123506226f);
    return difference * w * fmaf(p, fmaf(w, w, w), 1.0f);
}

// ---- psi

// -1 / x, for negative x -pi cot(pi x): what the recurrence DLMF 5.5.2 and the reflection 5.5.4 add to psi of
// 1 + x and 1 - x.
PYCUDA_INLINE float digamma_pole(float x)
{
    if (x >= 0.0f) return -1.0f / x;
    const float r = x - rintf(x);
    const float p = polynomial(r * r, 3.289868f, 2.164638f, 2.0354297f, 1.988584f, 2.2290285f,
                               0.7271943f, 5.197989f);
    return r == 0.0f ? NAN : fmaf(r, p, -1.0f / r);
}

// From 2 on by DLMF 5.11.2, near the positive root by a multiple of the distance from it.
PYCUDA_INLINE float digamma(float x)
{
    if (x == 0.0f) return copysignf(INFINITY, -x);
    const float y = x < 0.0f ? 1.0f - x : x < 1.0f ? 1.0f + x : x;
    float value;
    if (y < 2.0f) {
        const float p =
            polynomial(y - 1.5f, 0.9510559f, -0.42362747f, 0.24053909f, -0.14840047f, 0.09510717f,
                       -0.062033277f, 0.039417125f, -0.025906589f, 0.023825169f, -0.016162325f);
        value = ((y - 1.46163213f) - 1.24381499e-08f) * p;
    } else {
        const float r = approximate_reciprocal(y);  // y may be infinite
        const float p = polynomial(r * r, 0.08333239f, -0.008300078f, 0.0035611105f, -0.0018281937f);
        value = logf(y) - r * fmaf(r, p, 0.5f);
    }
    return x < 1.0f ? value + digamma_pole(x) : value;
}

}  // namespace pycuda

#endif
