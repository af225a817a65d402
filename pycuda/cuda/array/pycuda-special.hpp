// Functions that SciPy has and CUDA's headers do not, with SciPy's results at the limits of their domains.
// Formulas are those of the NIST Digital Library of Mathematical Functions (DLMF), whose sections are named.
// If a function has only a form for double, floats are computed in double. Forms for float, and parts that
// both have, are in pycuda-special*-float.hpp.
#ifndef PYCUDA_SPECIAL_HPP
#define PYCUDA_SPECIAL_HPP

#include "pycuda-special-bessel-float.hpp"
#include "pycuda-special-beta-float.hpp"

namespace pycuda {

// ---- logistic functions and entropies

template <class T> PYCUDA_INLINE T logistic(T x)
{
    const T e = exp(-fabs(x));
    return (x < T(0) ? e : T(1)) / (T(1) + e);
}

template <class T> PYCUDA_INLINE T log_logistic(T x)
{
    return x < T(0) ? x - log1p(exp(x)) : -log1p(exp(-x));
}

// log(x / (1 - x)). Near 1/2, where the quotient is near 1, by log1p.
template <class T> PYCUDA_INLINE T logit(T x)
{
    if (x < T(0.3) || x > T(0.65)) return log(x / (T(1) - x));
    const T s = T(2) * (x - T(0.5));
    return log1p(s) - log1p(-s);
}

template <class T> PYCUDA_INLINE T entropy(T x)
{
    if (x != x) return x;
    return x > T(0) ? -x * log(x) : x == T(0) ? T(0) : -T(INFINITY);
}

// x log(x / y). If the quotient overflows or is subnormal, by the logarithms of x and y; if it is near 1, by
// log1p.
template <class T> PYCUDA_INLINE T x_log_ratio(T x, T y)
{
    const T smallest = sizeof(T) == 4 ? T(1.17549435e-38f) : T(2.2250738585072014e-308);
    const T ratio = x / y;
    if (ratio > T(0.5) && ratio < T(2)) return x * log1p((x - y) / y);
    return x * (ratio >= smallest && ratio < T(INFINITY) ? log(ratio) : log(x) - log(y));
}

template <class T> PYCUDA_INLINE T relative_entropy(T x, T y)
{
    if (x != x || y != y) return T(NAN);
    if (x > T(0) && y > T(0)) return x_log_ratio(x, y);
    return x == T(0) && y >= T(0) ? T(0) : T(INFINITY);
}

PYCUDA_INLINE double positive_kl_divergence(double x, double y) { return x_log_ratio(x, y) - x + y; }

template <class T> PYCUDA_INLINE T kl_divergence(T x, T y)
{
    if (x != x || y != y) return T(NAN);
    if (x > T(0) && y > T(0)) return positive_kl_divergence(x, y);
    return x == T(0) && y >= T(0) ? y : T(INFINITY);
}

// DLMF 7.2.2, 7.2.3: Phi(x) = erfc(-x / sqrt(2)) / 2.
PYCUDA_INLINE double log_normal_cdf(double x)
{
    const double t = x * 0.70710678118654752440;
    return x < -1 ? log(erfcx(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}

// ---- Bessel functions

// exp(-|x|) I_N(x), N 0 or 1: for large x by DLMF 10.40.1.
template <int N> PYCUDA_INLINE double scaled_bessel_i(double x)
{
    const double y = fabs(x);
    if (y <= 30) return exp(-y) * (N ? cyl_bessel_i1(x) : cyl_bessel_i0(x));
    double term = 1, sum = 1;
    for (int k = 1; k <= 16; k++) {
        const double odd = 2 * k - 1;
        term *= (odd * odd - 4 * N) / (8 * k * y);
        sum += term;
    }
    const double value = sum / sqrt(6.28318530717958647693 * y);
    return N && x < 0 ? -value : value;
}

// Y_n(x) for a whole number n, of which a fraction is dropped; for negative ones by DLMF 10.4.1.
PYCUDA_INLINE double bessel_y(double n, double x)
{
    if (n != n || fabs(n) > 2147483647) return NAN;
    const int order = (int)fabs(n);
    const double value = yn(order, x);
    return n < 0 && order % 2 ? -value : value;
}

// ---- gamma and beta functions

// CUDA's functions, compiled once instead of wherever they are called.
static __device__ __noinline__ double gamma_called(double x) { return tgamma(x); }

static __device__ __noinline__ double log_gamma_called(double x) { return lgamma(x); }

// DLMF 5.11.1: ln Gamma(x) less (x - 1/2) ln x - x + ln(2 pi) / 2, for x >= 10.
PYCUDA_INLINE double stirling_rest(double x)
{
    const double r = 1 / x;
    return r
           * polynomial(r * r, 1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360, 1. / 156,
                        -3617. / 122400);
}

// DLMF 5.15.1, 5.7.6: the Taylor series of psi at its positive root, whose coefficients are Hurwitz's zeta
// function there.
static __device__ const double digamma_series[] = {
    0.9676722454476212, -0.4427631689835921, 0.258499760955651, -0.16394270544240652,
    0.10782405069126237, -0.07219956125645471, 0.04880428816414311, -0.03316112647484736,
    0.022597648232218104, -0.01542476590494896, 0.010538791616612175, -0.007204534386356869,
    0.004926781395729853, -0.003369801655439328, 0.002305126326734928, -0.0015769367714301972,
    0.0010788252019162967, -0.0007380709389960052, 0.000504953265834602, -0.0003454680251063077,
    0.00023635601564027053, -0.00016170622091974803, 0.0001106337276874741, -7.569179582195066e-05,
    5.178575795222081e-05};

// psi(x). Near its root by the Taylor series; from 10 on by DLMF 5.11.2, and for smaller x by the recurrence
// 5.5.2 that leads there; for negative x by the reflection 5.5.4.
static __device__ double digamma(double x)
{
    if (x == 0) return copysign((double)INFINITY, -x);
    double sum = 0;
    if (x < 0) {
        const double r = x - rint(x);
        if (!(r != 0)) return NAN;
        sum = -3.14159265358979323846 * cospi(r) / sinpi(r);
        x = 1 - x;
    }
    const double root = 1.4616321449683622, low = 9.549995429965697e-17;
    const double t = (x - root) - low;
    if (fabs(t) < 0.3) {
        double series = digamma_series[24];
        for (int k = 23; k >= 0; k--) series = fma(series, t, digamma_series[k]);
        return sum + series * t;
    }
    for (; x < 10; x++) sum -= 1 / x;
    if (x > 1e17) return sum + log(x);
    const double r = 1 / x, s = r * r;
    const double rest =
        polynomial(s, 1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12);
    return sum + (log(x) - r / 2 - rest * s);
}

// ln(Gamma(b) / Gamma(a + b)) for 0 < a < 10 <= b, by DLMF 5.11.1, without its cancellation.
PYCUDA_INLINE double log_gamma_ratio(double a, double b)
{
    const double sum = a + b;
    return a - (sum - 0.5) * log1p(a / b) - a * log(b) + (stirling_rest(b) - stirling_rest(sum));
}

// ln B(a, b) for 10 <= a <= b.
PYCUDA_INLINE double log_beta_of_large(double a, double b)
{
    const double rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(a + b), ratio = a / b;
    return 0.91893853320467274178 - 0.5 * log(b) + (a - 0.5) * log(ratio / (1 + ratio)) - b * log1p(ratio)
           + rest;
}

PYCUDA_INLINE bool is_pole(double x) { return x <= 0 && x == rint(x); }

PYCUDA_INLINE double sign_of_gamma(double x)
{
    return x > 0 || fmod(floor(x), 2.0) == 0 ? 1.0 : -1.0;
}

static __device__ __noinline__ double log_beta_of_positive(double a, double b)
{
    const double low = fmin(a, b), high = fmax(a, b);
    if (low >= 10) return log_beta_of_large(low, high);
    if (high >= 10) return log_gamma_called(low) + log_gamma_ratio(low, high);
    return log(gamma_called(low)) + log(gamma_called(high) / gamma_called(low + high));
}

// Whether B(a, b) (DLMF 5.12.1) is not finite or an argument is not; then `value` is the result. Otherwise a,
// b and `sign` are changed so that the result is sign * B(a, b) without a pole of Gamma. Gamma's pole at an
// integer a <= 0 is cancelled by that at a + b if b is an integer and a + b < 1: B(a, b) is (-1)^b B(1 - a -
// b, b).
PYCUDA_INLINE bool beta_is_special(double &a, double &b, double &sign, double &value)
{
    sign = 1;
    value = NAN;
    if (a != a || b != b) return true;
    if (is_pole(b)) {
        const double swapped = a;
        a = b;
        b = swapped;
    }
    if (isinf(a) || isinf(b)) {
        if (is_pole(a) && a == 0) value = INFINITY;
        if (a > 0 && b > 0) value = 0;
        return true;
    }
    if (!is_pole(a)) return false;
    value = INFINITY;
    if (is_pole(b) || b != rint(b) || 1 - a - b <= 0) return true;
    sign = fmod(b, 2.0) == 0 ? 1 : -1;
    a = 1 - a - b;
    return false;
}

static __device__ double beta(double a, double b)
{
    double sign, value;
    if (beta_is_special(a, b, sign, value)) return value;
    const double low = fmin(a, b), high = fmax(a, b);
    if (low > 0) {
        if (low >= 10 && high > 60) return sign * exp(log_beta_of_large(low, high));
        if (high >= 60) return sign * gamma_called(low) * exp(log_gamma_ratio(low, high));
        return sign * gamma_called(low) * (gamma_called(high) / gamma_called(low + high));
    }
    if (is_pole(a + b)) return 0;
    if (fabs(low) < 80 && fabs(high) < 80)
        return gamma_called(low) * (gamma_called(high) / gamma_called(low + high));
    sign = sign_of_gamma(low) * sign_of_gamma(high) * sign_of_gamma(low + high);
    return sign * exp(log_gamma_called(low) + log_gamma_called(high) - log_gamma_called(low + high));
}

// ln |B(a, b)|
static __device__ double log_beta(double a, double b)
{
    double sign, value;
    if (beta_is_special(a, b, sign, value)) return log(value);
    if (a > 0 && b > 0) return log_beta_of_positive(a, b);
    return log_gamma_called(a) + log_gamma_called(b) - log_gamma_called(a + b);
}

static __device__ __noinline__ float beta_in_double(float a, float b)
{
    return (float)beta((double)a, (double)b);
}

static __device__ __noinline__ float log_beta_in_double(float a, float b)
{
    return (float)log_beta((double)a, (double)b);
}

// log1p(u) - u. plus_one: 1 + u, as the caller computes it. For small u by DLMF 4.6.4: ln(1 + u) =
// 2 atanh(s), where s = u / (2 + u).
PYCUDA_INLINE double log1p_less_x(double u, double plus_one)
{
    if (u < -0.3 || u > 0.4) return log(plus_one) - u;
    const double s = u / (2 + u), q = s * s;
    double sum = 1. / 27;
#pragma unroll
    for (int k = 25; k >= 3; k -= 2) sum = fma(sum, q, 1. / k);
    return s * (2 * q * sum - u);
}

// x^a y^b / B(a, b), where y = 1 - x. For large a and b, where the powers and B cancel, by DLMF 5.11.1.
static __device__ __noinline__ double beta_power(double a, double b, double x, double y)
{
    if (fmin(a, b) < 10) {
        const double log_x = x < 0.5 ? log(x) : log1p(-y), log_y = x < 0.5 ? log1p(-x) : log(y);
        return exp(a * log_x + b * log_y - log_beta_of_positive(a, b));
    }
    const double sum = a + b, t = x < y ? fma(x, sum, -a) : fma(-y, sum, b);
    const double rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(sum);
    return sqrt(a / sum * b * 0.15915494309189533577)
           * exp(a * log1p_less_x(t / a, x * (sum / a)) + b * log1p_less_x(-t / b, y * (sum / b)) - rest);
}

// I_x(a, b), DLMF 8.17.2: for x up to the mean of the distribution by beta_fraction(), for larger x by the
// symmetry 8.17.4; near the mean by the one that converges fast. y: 1 - x, which may have digits that x, near
// 1, does not.
static __device__ double incomplete_beta(double a, double b, double x, double y)
{
    double known;
    if (incomplete_beta_is_special(a, b, x, y, known)) return known;
    const double excess = x < y ? fma(-x, a + b, a) : fma(y, a + b, -b);
    const bool upper = fabs(excess) > 0.5 ? excess < 0 : excess < 0 ? x > 0.5 : y < 1e-3;
    const double distance = upper ? -excess : excess;
    const double fraction = beta_fraction(upper ? b : a, upper ? a : b, upper ? y : x, distance);
    const double value = beta_power(a, b, x, y) * fraction / (upper ? b : a);
    if (!upper) return value;
    return value > 1 ? 0 : 1 - value;
}

PYCUDA_INLINE double incomplete_beta(double a, double b, double x) { return incomplete_beta(a, b, x, 1 - x); }

static __device__ __noinline__ float incomplete_beta_in_double(float a, float b, float x)
{
    return (float)incomplete_beta((double)a, (double)b, (double)x);
}

// Snedecor's F distribution or its tail: DLMF 8.17.2 of the ratio of the degrees of freedom.
PYCUDA_INLINE double f_probability(double a, double b, double x, bool wants_upper)
{
    if (!(a > 0 && b > 0 && x >= 0)) return NAN;
    const double ratio = a / b * x, below = isinf(ratio) ? 1 : ratio / (1 + ratio), above = 1 / (1 + ratio);
    return wants_upper ? incomplete_beta(b / 2, a / 2, above, below)
                       : incomplete_beta(a / 2, b / 2, below, above);
}

PYCUDA_INLINE double f_distribution(double a, double b, double x) { return f_probability(a, b, x, false); }

PYCUDA_INLINE double f_tail(double a, double b, double x) { return f_probability(a, b, x, true); }

}  // namespace pycuda

#include "pycuda-special-gamma.hpp"

#endif
