// The incomplete gamma functions and Hurwitz's zeta function, included by pycuda-special.hpp.
#ifndef PYCUDA_SPECIAL_GAMMA_HPP
#define PYCUDA_SPECIAL_GAMMA_HPP

#include "pycuda-special-gamma-float.hpp"
#include "pycuda-special-gamma-uniform.hpp"

namespace pycuda {

// x^a exp(-x) / Gamma(a + 1). For large a by DLMF 5.11.1, where the powers and Gamma cancel.
static __device__ double gamma_power(double a, double x)
{
    if (a >= 10) {
        const double u = (x - a) / a;
        return exp(a * log1p_less_x(u, x / a) - stirling_rest(a)) * 0.39894228040143267794 / sqrt(a);
    }
    if (x < 700) return pow(x, a) * exp(-x) / gamma_called(a + 1);
    return exp(a * log(x) - x - log_gamma_called(a + 1));
}

// Q(a, x) for x up to about 1, DLMF 8.7.3: 1 - x^a / Gamma(a + 1) less a sum, both without cancellation. As 1
// + a is rounded, lgamma(1 + a) is corrected by its derivative times the rounding error.
static __device__ double upper_gamma_series(double a, double x)
{
    double term = 1, sum = 0;
    for (int n = 1; n <= 100; n++) {
        term *= -x / n;
        sum += term / (a + n);
        if (fabs(term) <= 1e-17 * fabs(sum)) break;
    }
    const double plus_one = 1 + a, lost = a - (plus_one - 1);
    const double power = a * log(x) - (log_gamma_called(plus_one) + lost * digamma(plus_one));
    return -expm1(power) - a * exp(power) * sum;
}

// P(a, x) or Q(a, x) for positive finite a and x, one of the two by the region, the other as 1 less that: for
// a >= 20 and x near it by the uniform expansion.
static __device__ __noinline__ double incomplete_gamma(double a, double x, bool wants_upper)
{
    bool upper = x >= a;
    double value;
    const double ratio = x / a, exponent = a < 20 ? -1 : log1p_less_x((x - a) / a, ratio);
    if (exponent > -0.5) {
        value = uniform_gamma_tail(a, upper, exponent);
    } else {
        upper = x > a && x > (wants_upper ? 1.1 : 1.0);
        if (wants_upper && x <= 1.1 && upper_gamma_is_direct(a, x)) return upper_gamma_series(a, x);
        value = gamma_power(a, x) * (upper ? upper_gamma_sum(a, x) : lower_gamma_sum(a, x));
    }
    return upper == wants_upper ? value : 1 - value;
}

// Whether `lower`, P(a, x), is known without computation: at the limits of a and x, or NaN outside of them.
template <class T> PYCUDA_INLINE bool incomplete_gamma_is_special(T a, T x, T &lower)
{
    lower = T(NAN);
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return true;
    lower = a == 0 || isinf(x) ? 1 : 0;
    return a == 0 || x == 0 || isinf(a) || isinf(x);
}

template <class T> PYCUDA_INLINE T lower_gamma(T a, T x)
{
    T lower;
    return incomplete_gamma_is_special(a, x, lower) ? lower : incomplete_gamma(a, x, false);
}

template <class T> PYCUDA_INLINE T upper_gamma(T a, T x)
{
    T lower;
    return incomplete_gamma_is_special(a, x, lower) ? 1 - lower : incomplete_gamma(a, x, true);
}

// B_2k / (2 k)!, DLMF 24.2.1
static __device__ const double bernoulli_over_factorial[] = {
    1. / 12,         -1. / 720,       1. / 30240,      -1. / 1209600,
    1. / 47900160,   -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13,
    8.5860620562778446e-15, -2.1748686985580619e-16, 5.5090028283602295e-18, -1.3954464685812523e-19,
};

// The sum of (k + q)^-s over k >= 0, DLMF 25.11.5: at least nine terms, and the others by Euler-Maclaurin.
static __device__ double sum_of_powers(double s, double q)
{
    double sum = 0;
    for (int k = 0; k < 9 || q <= 9; k++, q += 1) {
        const double term = pow(q, -s);
        sum += term;
        if (q > 0 && fabs(term) < 1e-17 * fabs(sum)) return sum;
    }
    const double power = pow(q, -s);
    sum += power * q / (s - 1) + power / 2;
    double factor = s, term = power / q;
    for (int k = 0; k < 12; k++) {
        const double part = bernoulli_over_factorial[k] * factor * term;
        sum += part;
        if (fabs(part) <= 1e-17 * fabs(sum)) break;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2);
        term /= q * q;
    }
    return sum;
}

// Hurwitz's zeta function for s >= 1. NaN for q below -SPECIAL_MAX_STEPS, which would take too many steps.
static __device__ double hurwitz_zeta(double s, double q)
{
    if (s == 1) return INFINITY;
    if (s < 1 || q != q) return NAN;
    if (q <= 0 && q == floor(q)) return INFINITY;
    if (s != s || (q <= 0 && s != floor(s)) || q < -SPECIAL_MAX_STEPS) return NAN;
    if (q > 1e8) return (1 / (s - 1) + 1 / (2 * q)) * pow(q, 1 - s);
    return sum_of_powers(s, q);
}

static __device__ __noinline__ float zeta_in_double(float s, float q)
{
    return (float)hurwitz_zeta((double)s, (double)q);
}

// Riemann's zeta function; for negative s by the reflection DLMF 25.4.1.
static __device__ double riemann_zeta(double s)
{
    if (isinf(s)) return s > 0 ? 1 : NAN;
    if (s != s || s >= 0) return s == 1 ? INFINITY : sum_of_powers(s, 1);
    if (s == 2 * floor(s / 2)) return 0;
    const double power = pow(6.283185307179586477, s / 2);  // twice: (2 pi)^s may be subnormal
    const double reflected = sinpi(s / 2) * sum_of_powers(1 - s, 1) * 0.31830988618379067154;
    return reflected * power * gamma_called(1 - s) * power;
}

}  // namespace pycuda

#endif
