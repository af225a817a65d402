// The beta functions of floats, included by pycuda-special.hpp. As in pycuda-special-gamma-float.hpp, only
// exponents are computed in double.
#ifndef PYCUDA_SPECIAL_BETA_FLOAT_HPP
#define PYCUDA_SPECIAL_BETA_FLOAT_HPP

#include "pycuda-special-gamma-float.hpp"

namespace pycuda {

// e in x^a y^b / (a B(a, b)) = beta_power_factor(a, b) exp(-e), where y = 1 - x: the powers of a, b and a + b
// in Gamma (DLMF 5.11.3) are in it for those that are at least 1. `excess`: a - x (a + b).
PYCUDA_INLINE double beta_power_exponent(double a, double b, double x, double excess)
{
    const double y = 1 - x, sum = a + b < 1 ? 1 : a + b;
    const double base_a = a < 1 ? 1 : a, base_b = b < 1 ? 1 : b;
    const double part_a = a < 1 ? fma(x, sum, -1.0) : -excess, part_b = b < 1 ? fma(y, sum, -1.0) : excess;
    const double r_a = near_reciprocal(base_a), r_b = near_reciprocal(base_b);
    double e = a * less_log_of_one_plus(part_a * r_a, x * sum * r_a);
    e = fma(b, less_log_of_one_plus(part_b * r_b, y * sum * r_b), e);
    if (a >= 1 && b >= 1) return e;
    const double linear = (a < 1 ? a : 1) * part_a + (b < 1 ? b : 1) * part_b;
    return a + b < 1 ? e - linear : e - linear + ((a < 1 ? a : 0) + (b < 1 ? b : 0));
}

PYCUDA_INLINE float beta_power_factor(float a, float b)
{
    const float sum = a + b;
    return b * (gamma_power_factor(a) * gamma_power_factor(b)) / (sum * gamma_power_factor(sum));
}

// ---- B(a, b)

// B(a, b) = beta_factor(a, b) exp(-e) for positive a and b, DLMF 5.12.1: in e are the powers of those of a, b
// and a + b in Gamma that are at least 1.
PYCUDA_INLINE double beta_exponent(double a, double b)
{
    const double sum = a + b, rest = sum < 1 ? 0 : sum - 1;
    const double u_a = a < 1 ? rest : b * near_reciprocal(a), u_b = b < 1 ? rest : a * near_reciprocal(b);
    const double e = fma(a, log_of_one_plus(u_a, 1 + u_a), b * log_of_one_plus(u_b, 1 + u_b));
    return sum < 1 ? e : e - ((a < 1 ? a : 0) + (b < 1 ? b : 0));
}

PYCUDA_INLINE float beta_factor(float a, float b)
{
    const float sum = a + b, ratio = sum * reciprocal(fmaxf(a, b)) * reciprocal(fminf(a, b));
    return gamma_power_factor(sum) * reciprocal(gamma_power_factor(a) * gamma_power_factor(b)) * ratio;
}

PYCUDA_INLINE bool beta_is_ordinary(float a, float b) { return fminf(a, b) > 1e-37f && fmaxf(a, b) < 1e36f; }

static __device__ __noinline__ float beta_in_double(float a, float b);
static __device__ __noinline__ float log_beta_in_double(float a, float b);

PYCUDA_INLINE float beta(float a, float b)
{
    if (!beta_is_ordinary(a, b)) return beta_in_double(a, b);
    return exp_of_negative(beta_exponent(a, b)) * beta_factor(a, b);
}

PYCUDA_INLINE float log_beta(float a, float b)
{
    if (!beta_is_ordinary(a, b)) return log_beta_in_double(a, b);
    return (float)(logf(beta_factor(a, b)) - beta_exponent(a, b));
}

// ---- I_x(a, b)

// The continued fraction of DLMF 8.17.22, two of its steps in one, for x up to the mean, where `excess` is
// a - x (a + b). It is the sum of the steps' changes, by Steed's method (DLMF 3.10.14), but for large
// parameters, where the sum's digits cancel, a product, by Lentz's (3.10.13). It takes fewer steps than the
// square root of a or b, or up to 15 for floats and 30 for doubles. NaN if it does not converge.
template <class T> static __device__ T beta_fraction(T a, T b, T x, T excess)
{
    T r = reciprocal(a + T(1)), value = (excess + T(1)) * r, d = reciprocal(value), e = 0;
    T change = d, sum = d;
    for (int n = 1; n <= SPECIAL_MAX_STEPS; n++) {
        const T m = n, more = a + m, left = n == 1 ? T(1) : more - T(1);
        const T across = (b - m) * x * r, term = ((more - T(1) + b) * x * r) * (left * (m * across));
        r = reciprocal(more + m + T(1));
        const T part = fma(more * r, fma(m, T(2) - x, excess + T(1)), fma(m, across, m));
        const T c = fma(term, d, part);
        d = reciprocal(c);
        e = reciprocal(fma(term, e, part));
        value *= c * e;
        change *= fma(part, d, T(-1));
        sum += change;
        if (fabs(change * value) <= least_weight<T>()) return a < T(500) ? sum : reciprocal(value);
    }
    return T(NAN);
}

static __device__ __noinline__ float incomplete_beta_in_double(float a, float b, float x);

// I_x(a, b), DLMF 8.17.2, for 0 < x < 1 and positive a and b: up to the mean by beta_fraction(), else by
// the symmetry 8.17.4, except where that loses digits: b < 1, whose fraction converges for every x, though
// slowly near 1.
static __device__ float incomplete_beta_inside(float a, float b, float x)
{
    const double excess = fma(-(double)x, (double)a + b, (double)a);
    const double e = beta_power_exponent(a, b, x, excess);
    if (e > 110) return excess < 0 ? 1.0f : 0.0f;
    const float distance = (float)excess, power = exp_of_negative(e);
    const bool slow = b < 1.0f && x > 0.99f && excess < 0.5;
    const bool above = excess < -0.5 || (excess < 0 && x > 0.5f);
    if (slow || (above && !(b < 1.0f && x < 0.9f))) {
        const float tail = power * beta_power_factor(b, a) * beta_fraction(b, a, 1.0f - x, -distance);
        if (b >= 1.0f || tail < 0.7f) return tail > 1.0f ? 0.0f : 1.0f - tail;
        if (slow) return incomplete_beta_in_double(a, b, x);
    }
    return power * beta_power_factor(a, b) * beta_fraction(a, b, x, distance);
}

// Whether `value`, I_x(a, b), is known without computation, as in incomplete_gamma_is_special(). y: 1 - x.
template <class T> PYCUDA_INLINE bool incomplete_beta_is_special(T a, T b, T x, T y, T &value)
{
    value = T(NAN);
    if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0) || (isinf(a) && isinf(b))) return true;
    value = x != 0 && (y == 0 || a == 0 || isinf(b)) ? 1 : 0;
    return x == 0 || y == 0 || a == 0 || b == 0 || isinf(a) || isinf(b);
}

static __device__ float incomplete_beta(float a, float b, float x)
{
    float value;
    return incomplete_beta_is_special(a, b, x, 1 - x, value) ? value : incomplete_beta_inside(a, b, x);
}

}  // namespace pycuda

#endif
