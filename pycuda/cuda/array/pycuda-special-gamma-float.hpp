// Gamma, ln Gamma, the incomplete gamma functions and Hurwitz's zeta function of floats, included by
// pycuda-special.hpp. Only exponents are computed in double: a float's rounding error there would be many of
// the result's.
#ifndef PYCUDA_SPECIAL_GAMMA_FLOAT_HPP
#define PYCUDA_SPECIAL_GAMMA_FLOAT_HPP

#include "pycuda-special-float.hpp"

namespace pycuda {

// ln(1 + u) = n ln(2) + f - part, where 1 + u = 2^n (1 + f). DLMF 4.6.4: with s = f / (2 + f), ln(1 + f) is
// 2 atanh(s) = f - s (f - rest), here within 1e-11 of itself.
struct LogParts {
    int n;
    double f, part;

    // plus_one: 1 + u, normal and > 0.
    PYCUDA_INLINE LogParts(double u, double plus_one)
    {
        const int high = __double2hiint(plus_one);
        n = (high - 0x3fe6a09e) >> 20;
        f = n ? __hiloint2double(high - (n << 20), __double2loint(plus_one)) - 1 : u;
        const double s = f * near_reciprocal(2 + f), q = s * s;
        const double rest = polynomial(q, 0.6666666666739809, 0.3999999876689086, 0.2857176062460418,
                                       0.22191020317817733, 0.1936995421690642);
        part = s * fma(-q, rest, f);
    }
};

// u - ln(1 + u), and ln(1 + u)
PYCUDA_INLINE double less_log_of_one_plus(double u, double plus_one)
{
    const LogParts log(u, plus_one);
    return log.n ? fma((double)log.n, -0.69314718055994531, (u - log.f) + log.part) : log.part;
}

PYCUDA_INLINE double log_of_one_plus(double u, double plus_one)
{
    const LogParts log(u, plus_one);
    return fma((double)log.n, 0.69314718055994531, log.f - log.part);
}

// exp(-x), without the rounding error of x as a float.
PYCUDA_INLINE float exp_of_negative(double x)
{
    x = fmin(x, 200.0);  // then 0
    const float high = (float)x, e = expf(-high);
    return isinf(e) ? e : fmaf(-e, (float)(x - high), e);
}

// e in x^a exp(-x) / Gamma(a + 1) = gamma_power_factor(a) exp(-e), e >= 0: for a >= 1 with the powers in
// Gamma (DLMF 5.11.3), which cancel x^a exp(-x). `u`: x / a - 1, for a < 1 x - 1. `ratio`: 1 + u.
PYCUDA_INLINE double gamma_power_exponent(float a, float x, double &u, double &ratio)
{
    const double base = a < 1.0f ? 1.0 : (double)a, r = near_reciprocal(base);
    u = (x - base) * r;
    ratio = x * r;
    const double e = a * less_log_of_one_plus(u, ratio);
    return a < 1.0f ? e + (x - a * u) : e;
}

PYCUDA_INLINE float gamma_power_factor(float a)
{
    if (a < 1.0f)
        return polynomial(a, 1.0f, 0.57721555f, -0.6558745f, -0.042041212f, 0.16673663f, -0.04274543f,
                          -0.008787748f, 0.0065939054f, -0.0010972099f);
    return rsqrtf(a)
           * polynomial(reciprocal(a), 0.3989423f, -0.03324626f, 0.0014019011f, 0.00097063545f,
                        0.00019908465f, -0.00079750153f, 0.0005503356f, -0.00014105586f);
}

// Q(a, x) for x >= a and else P(a, x), for a >= 6, without the factor exp(-e). DLMF 8.12.3, 8.12.7: the
// polynomials are for |eta| < 1.6. `phi`: u - ln(1 + u).
PYCUDA_INLINE float uniform_gamma_tail(float a, bool upper, float phi)
{
    const float size = sqrtf(2.0f * phi), eta = upper ? size : -size, r = reciprocal(a);
    const float s0 = polynomial(eta, -0.33333334f, 0.083333164f, -0.014814723f, 0.001157703f,
                                0.0003526447f, -0.00017887403f, 3.9171955e-05f, -2.325779e-06f,
                                -1.7719716e-06f, 9.74079e-07f, -2.2572016e-07f, -3.742327e-08f,
                                2.1288935e-08f);
    const float s1 = polynomial(eta, -0.0018537393f, -0.0034619095f, 0.002641972f, -0.0010022956f,
                                0.000212554f, 6.7260885e-06f, -2.2648906e-05f, 5.689186e-06f,
                                -2.0501285e-07f);
    const float s2 = polynomial(eta, 0.0041928166f, -0.0028200129f, 0.00078309496f, 8.9594614e-05f,
                                -0.00014044583f, 3.715143e-05f);
    const float s3 = polynomial(eta, 0.00021613261f, 0.00089099f, -0.00050615595f);
    const float sum = polynomial(r, s0, s1, s2, s3) * (0.398942280f * rsqrtf(a));
    const float half = scaled_erfcx(sqrtf(phi * a), 0.25f, 0.5);
    return upper ? half + sum : half - sum;
}

// The sum of DLMF 8.11.4 without the power. Floats take up to 30 terms where it is used, doubles 80.
template <class T> PYCUDA_INLINE T lower_gamma_sum(T a, T x)
{
    T term = 1, sum = 1;
    for (int n = 1; n <= 200 && term > least_weight<T>() * sum; n++) {
        term *= x * reciprocal(a + T(n));
        sum += term;
    }
    return sum;
}

// The continued fraction of DLMF 8.9.2 without the power, by Steed's method (DLMF 3.10.14). Floats take up to
// 30 steps where it is used, doubles 100.
template <class T> PYCUDA_INLINE T upper_gamma_sum(T a, T x)
{
    T b = x + T(1) - a, d = reciprocal(b), change = d, sum = d;
    for (int n = 1; n <= 200 && fabs(change) > least_weight<T>() * sum; n++) {
        const T term = T(n) * (a - T(n));
        b += T(2);
        d = reciprocal(fma(term, d, b));
        change *= fma(b, d, T(-1));
        sum += change;
    }
    return a * sum;
}

// Q(a, x) for small a and x < 1, DLMF 8.7.3: 1 - x^a / Gamma(a + 1) less a sum.
PYCUDA_INLINE float small_upper_gamma(float a, float x)
{
    float term = 1.0f, sum = 0.0f;
    for (int n = 1; n <= 20 && fabsf(term) > 1e-9f; n++) {
        term *= -x * reciprocal((float)n);
        sum = fmaf(term, reciprocal(a + n), sum);
    }
    const float log_gamma = polynomial(a, -0.5772157f, 0.8224652f, -0.40061268f, 0.26965368f,
                                       -0.20158908f, 0.14841336f, -0.09444874f, 0.044966698f,
                                       -0.013493613f, 0.0018608466f);  // of 1 + a, by a
    const float power = expm1f(a * (logf(x) - log_gamma));
    return -power - a * fmaf(power, sum, sum);
}

// Whether Q(a, x), for x up to about 1, is computed by itself, not as 1 - P(a, x).
template <class T> PYCUDA_INLINE bool upper_gamma_is_direct(T a, T x)
{
    return a < (x > T(0.5) ? T(1.1) * x : T(-0.4) / log(x));
}

// P(a, x) or Q(a, x) for positive finite a and x: one of the two by the region, the other as 1 less that.
static __device__ float incomplete_gamma(float a, float x, bool wants_upper)
{
    double u, ratio;
    const double e = gamma_power_exponent(a, x, u, ratio);
    bool upper = x >= a;
    float value;
    if (wants_upper && x < 0.85f && upper_gamma_is_direct(a, x)) {
        return small_upper_gamma(a, x);
    } else if (a >= 6.0f && ratio > 0.12 && ratio < 3.6) {
        value = exp_of_negative(e) * uniform_gamma_tail(a, upper, (float)(e * near_reciprocal(a)));
    } else {
        upper = x > a && x > (wants_upper ? 0.85f : 1.0f);
        const float power = gamma_power_factor(a) * exp_of_negative(e);
        value = power * (upper ? upper_gamma_sum(a, x) : lower_gamma_sum(a, x));
    }
    return upper == wants_upper ? value : 1.0f - value;
}

// ---- Gamma(x)

PYCUDA_INLINE double gamma_function(double x) { return tgamma(x); }

// high + low = z (ln(z) - 1) for z from 1 to 1e30, with about 9 digits behind the point for z < 50: ln as in
// LogParts, where s, ln(z), ln(z) - 1 and the product are sums of two floats.
PYCUDA_INLINE void stirling_exponent(float z, float &high, float &low)
{
    const int bits = __float_as_int(z), exponent = (bits - 0x3f3504f3) & 0xff800000;
    const float m = __int_as_float(bits - exponent), n = exponent * 1.1920929e-7f;
    const float f = m - 1.0f, t = m + 1.0f, r = reciprocal(t), s = f * r, q = s * s;
    const float s_low = fmaf(-s, m - (t - 1.0f), fmaf(-s, t, f)) * r;
    const float rest = q * polynomial(q, 0.666666667f, 0.4f, 0.285717606f, 0.22191020f, 0.19369954f);
    const float part = fmaf(s, rest, 2.0f * s);
    const float part_low = fmaf(s, rest, fmaf(2.0f, s, -part)) + 2.0f * s_low;
    const float log_high = fmaf(n, 0.693145752f, part);  // the constant's product is exact
    const float log_low = (fmaf(n, 0.693145752f, -log_high) + part) + fmaf(n, 1.42860677e-6f, part_low);
    const float less = log_high - 1.0f, less_low = (log_high - (less + 1.0f)) + log_low;
    high = z * less;
    low = fmaf(z, less_low, fmaf(z, less, -high));
}

// Gamma(z) = exp(e) / (z gamma_power_factor(z)), where e = z ln(z) - z for z >= 1 and else 0; for x < 0 by
// the reflection DLMF 5.5.3. Where exp(e) could overflow, or exp(-e) be subnormal, it is exp(32) times that.
PYCUDA_INLINE float gamma_function(float x)
{
    const float z = fabsf(x), factor = gamma_power_factor(z);
    float e = 0, rest = 0;
    if (z >= 1.0f) stirling_exponent(z, e, rest);
    const bool large = e > 32.0f;
    e = large ? e - 32.0f : e;
    float below = x * factor, scale = 7.89629602e13f, above = 1;
    if (x < 0.0f) {
        e = -e;
        rest = -rest;
        above = -3.14159265f * factor;
        below = sinpif(z);
        if (below == 0.0f) return NAN;
        scale = 1.26641655e-14f;
    }
    const float power = expf(e), value = above * fmaf(power, rest, power) / below;
    return x > 36.0f ? INFINITY : large ? value * scale : value;
}

// ---- ln |Gamma(x)|

// For x < 0 what the reflection DLMF 5.5.3 adds to ln |Gamma(-x)|, without its sign: ln |x sin(pi x) / pi|.
// Not for x near 0, whose square underflows.
PYCUDA_INLINE float log_of_reflection(float x) { return logf(fabsf(x * (sinpif(x) * 0.318309886f))); }

PYCUDA_INLINE double log_gamma(double x) { return x == -INFINITY ? x : lgamma(x); }

// From 3 on by DLMF 5.11.1; before that by a polynomial, divided by the roots, for x < 1 of x + 1.
PYCUDA_INLINE float log_gamma(float x)
{
    const float z = fabsf(x), log_z = logf(z);
    float value;
    if (z < 3.0f) {
        const float y = z < 1.0f ? z - 1.0f : z - 2.0f;
        const float p = polynomial(y, 0.42278433f, -0.10031728f, 0.032965582f, -0.012384917f,
                                   0.004991802f, -0.002102339f, 0.0009437543f, -0.00042500242f,
                                   0.00013116776f, -5.2946118e-05f, 7.798308e-05f, -3.855353e-05f);
        value = fmaf(p * y, 1.0f + y, z < 1.0f ? -log_z : 0.0f);
    } else {
        const float r = approximate_reciprocal(z);  // z may be infinite
        const float p = polynomial(r * r, 0.08333327f, -0.0027728085f, 0.0006972338f);
        value = fmaf(z - 0.5f, log_z - 1.0f, fmaf(r, p, 0.418938533f));
    }
    if (x > -1e-10f || x != x) return value;
    if (isinf(x)) return x;
    return x == rintf(x) ? INFINITY : -value - log_of_reflection(x);
}

// ---- Hurwitz's zeta function

static __device__ __noinline__ float zeta_in_double(float s, float q);

// (1 + v)^-s for 0 <= v < 1e30
PYCUDA_INLINE float power_of_one_plus(float v, float s) { return expf(-s * log_of_one_plus(v)); }

// The sum of (k + q)^-s over k >= 0, DLMF 25.11.5, for s > 1 and q > 0: three terms, and the others by
// Euler-Maclaurin. q^(1-s) is a factor, so that rounding errors of the other exponents have little weight.
PYCUDA_INLINE float zeta_of_positive(float s, float q)
{
    const float r_q = reciprocal(q), r = fminf(r_q, 1e29f);
    const float w = q + 3.0f, r_w = reciprocal(w), ratio = s * r_w;
    const float s1 = (s + 1.0f) * r_w, s2 = (s + 2.0f) * r_w, s3 = (s + 3.0f) * r_w, s4 = (s + 4.0f) * r_w;
    const float s5 = (s + 5.0f) * r_w, s6 = (s + 6.0f) * r_w, s7 = (s + 7.0f) * r_w, s8 = (s + 8.0f) * r_w;
    float rest = fmaf(2.08767570e-8f * s7, s8, -8.26719577e-7f);
    rest = fmaf(rest * s5, s6, 3.30687831e-5f);
    rest = fmaf(rest * s3, s4, -1.38888889e-3f);
    rest = fmaf(rest * s1, s2, 8.33333333e-2f);
    const float tail = fmaf(w, reciprocal(s - 1.0f), fmaf(ratio, rest, 0.5f));
    float sum = power_of_one_plus(3.0f * r, s) * (ratio < 150.0f ? tail : 0.0f);
    sum += power_of_one_plus(2.0f * r, s);
    sum += power_of_one_plus(r, s);
    sum += 1.0f;
    return exp_of_negative((s - 1.0) * log_of_one_plus(q - 1.0, q)) * (sum * r_q);
}

PYCUDA_INLINE float hurwitz_zeta(float s, float q)
{
    if (s > 1 && s < 1e30f && q > 1e-30f && q < 1e30f) return zeta_of_positive(s, q);
    return zeta_in_double(s, q);
}

}  // namespace pycuda

#endif
