// Exponentials, logarithms, roots, powers, circular and hyperbolic functions of pycuda::complex, with the
// special values of C99's annex G (NumPy's where those differ) and branch cuts that depend on the sign of
// zero.
//
// A part of pycuda-complex.hpp for users' kernels; the package's own kernels include it only if they use it.
#ifndef PYCUDA_COMPLEX_FUNCTIONS_HPP
#define PYCUDA_COMPLEX_FUNCTIONS_HPP

#define PYCUDA_CALLABLE __device__ inline
#define PYCUDA_FUNCTION template <class T> PYCUDA_CALLABLE

extern "C++" {
namespace pycuda {
namespace complex_parts {

// Constants that differ between float and double.
template <class T> struct Format;
template <> struct Format<float> {
    static PYCUDA_CALLABLE float epsilon() { return 1.1920929e-7f; }
    static PYCUDA_CALLABLE float largest() { return 3.40282347e38f; }
    static PYCUDA_CALLABLE float least_normal() { return 1.17549435e-38f; }
    static PYCUDA_CALLABLE float root_of_least() { return 1.0842022e-19f; } // its square is normal
    static PYCUDA_CALLABLE float exponent_limit() { return 88; }            // exp of it is finite
    static PYCUDA_CALLABLE float small() { return 2e-4f; }                  // asin(x) is x, up to rounding
    static PYCUDA_CALLABLE float up() { return 1.8446744e19f; }             // 2^64
    static PYCUDA_CALLABLE float down() { return 5.4210109e-20f; }
    static PYCUDA_CALLABLE float log_of_up() { return 44.361420f; }
};
template <> struct Format<double> {
    static PYCUDA_CALLABLE double epsilon() { return 2.220446049250313e-16; }
    static PYCUDA_CALLABLE double largest() { return 1.7976931348623157e308; }
    static PYCUDA_CALLABLE double least_normal() { return 2.2250738585072014e-308; }
    static PYCUDA_CALLABLE double root_of_least() { return 1.4916681462400413e-154; }
    static PYCUDA_CALLABLE double exponent_limit() { return 709; }
    static PYCUDA_CALLABLE double small() { return 9e-9; }
    static PYCUDA_CALLABLE double up() { return 1.3407807929942597e154; } // 2^512
    static PYCUDA_CALLABLE double down() { return 7.458340731200207e-155; }
    static PYCUDA_CALLABLE double log_of_up() { return 354.89135644669201; }
};

#define PYCUDA_LN2 T(0.69314718055994530942)
#define PYCUDA_HALF_PI T(1.57079632679489661923)

PYCUDA_FUNCTION bool is_nan(T x) { return x != x; }
PYCUDA_FUNCTION bool is_infinite(T x) { return ::fabs(x) > Format<T>::largest(); }
PYCUDA_FUNCTION bool is_finite(T x) { return ::fabs(x) <= Format<T>::largest(); }
PYCUDA_FUNCTION bool is_negative(T x) { return ::copysign(T(1), x) < 0; }
PYCUDA_FUNCTION T not_a_number() { return (T)__int_as_float(0x7fffffff); }
PYCUDA_FUNCTION T infinity() { return (T)__int_as_float(0x7f800000); }

// Products and sums that the compiler must not fuse.
PYCUDA_CALLABLE float product(float a, float b) { return __fmul_rn(a, b); }
PYCUDA_CALLABLE double product(double a, double b) { return __dmul_rn(a, b); }
PYCUDA_CALLABLE float sum(float a, float b) { return __fadd_rn(a, b); }
PYCUDA_CALLABLE double sum(double a, double b) { return __dadd_rn(a, b); }

// a becomes a + b, rounded. Returns the rounding error.
PYCUDA_FUNCTION T add_exactly(T &a, T b)
{
    const T whole = sum(a, b), part = sum(whole, -a);
    const T rest = sum(sum(a, -sum(whole, -part)), sum(b, -part));
    a = whole;
    return rest;
}

// first + a*a + b*b, accurate even under cancellation.
PYCUDA_FUNCTION T plus_squares(T first, T a, T b)
{
    const T p = product(a, a), q = product(b, b);
    T total = first;
    T rest = add_exactly(total, p);
    rest += add_exactly(total, q);
    T more = add_exactly(total, ::fma(a, a, -p));
    more += add_exactly(total, ::fma(b, b, -q));
    more += add_exactly(total, rest);
    return total + more;
}

// log(hypot(x, y))
PYCUDA_FUNCTION T log_of_modulus(T x, T y)
{
    typedef Format<T> F;
    if (is_infinite(x) || is_infinite(y)) return infinity<T>();
    if (is_nan(x) || is_nan(y)) return not_a_number<T>();
    const T a = ::fmax(::fabs(x), ::fabs(y)), b = ::fmin(::fabs(x), ::fabs(y));
    if (a > T(0.125) * F::up())
        return ::log(::hypot(a * F::down(), b * F::down())) + F::log_of_up();
    if (a < T(8) * F::down())
        return ::log(::hypot(a * F::up(), b * F::up())) - F::log_of_up();
    const T squares = a * a + b * b;
    if (squares < T(0.5) || squares > T(3)) return ::log(squares) / 2;
    return ::log1p(plus_squares(T(-1), a, b)) / 2;
}

// exp(x) * scale * (re + i im), without overflow where only exp(x) overflows: its factors are multiplied one
// by one.
PYCUDA_FUNCTION complex<T> times_exp(T x, T scale, T re, T im)
{
    const T limit = Format<T>::exponent_limit();
#pragma unroll 1
    for (int steps = 0; steps < 2 && x > limit; steps++) {
        const T factor = ::exp(limit) * scale;
        re *= factor;
        im *= factor;
        x -= limit;
        scale = T(1);
    }
    const T factor = ::exp(x) * scale;
    return complex<T>(re * factor, im * factor);
}

} // namespace complex_parts

// ---- exponentials and logarithms

PYCUDA_FUNCTION complex<T> exp(const complex<T> &z)
{
    using namespace complex_parts;
    const T x = z._M_re, y = z._M_im;
    if (y == 0) return complex<T>(::exp(x), y);
    if (!is_finite(y)) {
        if (is_infinite(x))
            return x > 0 ? complex<T>(x, not_a_number<T>()) : complex<T>(T(0), ::copysign(T(0), y));
        return complex<T>(not_a_number<T>(), not_a_number<T>());
    }
    T s, c;
    ::sincos(y, &s, &c);
    return times_exp(x, T(1), c, s);
}

PYCUDA_FUNCTION complex<T> expm1(const complex<T> &z)
{
    using namespace complex_parts;
    const T x = z._M_re, y = z._M_im;
    if (y == 0) return complex<T>(::expm1(x), y);
    if (!is_finite(y) || x > Format<T>::exponent_limit()) {
        const complex<T> power = exp(z);
        return complex<T>(power._M_re - 1, power._M_im);
    }
    const T half = ::sin(y / 2);
    T s, c;
    ::sincos(y, &s, &c);
    return complex<T>(::expm1(x) * c - 2 * half * half, ::exp(x) * s);
}

PYCUDA_FUNCTION complex<T> log(const complex<T> &z)
{
    return complex<T>(complex_parts::log_of_modulus(z._M_re, z._M_im), ::atan2(z._M_im, z._M_re));
}

PYCUDA_FUNCTION complex<T> log10(const complex<T> &z) { return log(z) * T(0.43429448190325182765); }

PYCUDA_FUNCTION complex<T> log1p(const complex<T> &z)
{
    using namespace complex_parts;
    const T x = z._M_re, y = z._M_im, squares = (1 + x) * (1 + x) + y * y;
    const T real = squares > T(0.5) && squares < T(3) ? ::log1p(plus_squares(2 * x, x, y)) / 2
                                                       : log_of_modulus(1 + x, y);
    return complex<T>(real, ::atan2(y, 1 + x));
}

// ---- roots and powers

// The root with a real part that is not negative; its imaginary part has the sign of z's.
PYCUDA_FUNCTION complex<T> sqrt(const complex<T> &z)
{
    using namespace complex_parts;
    T x = z._M_re, y = z._M_im, unscale = 1;
    if (is_infinite(y)) return complex<T>(infinity<T>(), y);
    if (is_nan(x)) return complex<T>(x, x);
    if (is_infinite(x)) {
        const T other = is_nan(y) ? y : T(0);
        return x > 0 ? complex<T>(x, ::copysign(other, y)) : complex<T>(::fabs(other), ::copysign(x, y));
    }
    if (is_nan(y)) return complex<T>(y, y);
    if (y == 0) return x < 0 ? complex<T>(T(0), ::copysign(::sqrt(-x), y)) : complex<T>(::sqrt(::fabs(x)), y);
    const T larger = ::fmax(::fabs(x), ::fabs(y));
    if (larger > Format<T>::largest() / 4) {
        x /= 16;
        y /= 16;
        unscale = 4;
    } else if (larger < Format<T>::least_normal() * 16) {
        x *= T(1ll << 60);
        y *= T(1ll << 60);
        unscale = T(1) / T(1 << 30);
    }
    const T root = ::sqrt((::fabs(x) + ::hypot(x, y)) / 2), other = y / (2 * root) * unscale;
    if (x >= 0) return complex<T>(root * unscale, other);
    return complex<T>(::fabs(other), ::copysign(root * unscale, y));
}

namespace complex_parts {

// The product as in annex G of C99: infinite if a factor is infinite, where z * w may be NaN.
PYCUDA_FUNCTION complex<T> annex_g_product(complex<T> z, complex<T> w)
{
    const complex<T> plain = z * w;
    if (!is_nan(plain._M_re) || !is_nan(plain._M_im)) return plain;
    T a = z._M_re, b = z._M_im, c = w._M_re, d = w._M_im;
    const bool first = is_infinite(a) || is_infinite(b), second = is_infinite(c) || is_infinite(d);
    const bool between = is_infinite(a * c) || is_infinite(b * d) || is_infinite(a * d) || is_infinite(b * c);
    if (!first && !second && !between) return plain;
    if (first) {
        a = ::copysign(T(is_infinite(a) ? 1 : 0), a);
        b = ::copysign(T(is_infinite(b) ? 1 : 0), b);
    }
    if (second) {
        c = ::copysign(T(is_infinite(c) ? 1 : 0), c);
        d = ::copysign(T(is_infinite(d) ? 1 : 0), d);
    }
    if (first || !second) {
        if (is_nan(c)) c = ::copysign(T(0), c);
        if (is_nan(d)) d = ::copysign(T(0), d);
    }
    if (second || !first) {
        if (is_nan(a)) a = ::copysign(T(0), a);
        if (is_nan(b)) b = ::copysign(T(0), b);
    }
    return complex<T>(infinity<T>() * (a * c - b * d), infinity<T>() * (a * d + b * c));
}

// z to the power of n, for 0 < |n| < 100, by squaring, in NumPy's order.
PYCUDA_FUNCTION complex<T> whole_power(const complex<T> &z, int n)
{
    if (n == 1) return z;
    if (n == 2) return z * z;
    if (n == 3) return z * (z * z);
    complex<T> result(T(1)), factor = z;
#pragma unroll 1
    for (int rest = n < 0 ? -n : n;;) {
        if (rest & 1) result = result * factor;
        rest >>= 1;
        if (rest == 0) break;
        factor = factor * factor;
    }
    return n < 0 ? complex<T>(T(1)) / result : result;
}

} // namespace complex_parts

PYCUDA_FUNCTION complex<T> pow(const complex<T> &a, const complex<T> &b)
{
    using namespace complex_parts;
    if (b == T(0)) return complex<T>(T(1));
    if (a == T(0))
        return b._M_re > 0 ? complex<T>() : complex<T>(not_a_number<T>(), not_a_number<T>());
    if (b._M_im == 0 && ::fabs(b._M_re) < 100 && b._M_re == ::trunc(b._M_re))
        return whole_power(a, (int)b._M_re);
    return exp(annex_g_product(b, log(a)));
}

PYCUDA_WITH_REAL(complex<T>) pow(const complex<T> &a, const U &b) { return pow(a, complex<T>(T(b))); }
PYCUDA_WITH_REAL(complex<T>) pow(const U &a, const complex<T> &b) { return pow(complex<T>(T(a)), b); }
PYCUDA_MIXED(pow, complex<double>)

// ---- hyperbolic and circular functions: f(z) is -i g(i z)

PYCUDA_FUNCTION complex<T> sinh(const complex<T> &z)
{
    using namespace complex_parts;
    const T x = z._M_re, y = z._M_im;
    if (y == 0) return complex<T>(::sinh(x), y);
    if (!is_finite(y))
        return complex<T>(x == 0 || is_infinite(x) ? x : not_a_number<T>(), not_a_number<T>());
    T s, c;
    ::sincos(y, &s, &c);
    if (::fabs(x) > Format<T>::exponent_limit()) return times_exp(::fabs(x), T(0.5), x < 0 ? -c : c, s);
    return complex<T>(::sinh(x) * c, ::cosh(x) * s);
}

PYCUDA_FUNCTION complex<T> cosh(const complex<T> &z)
{
    using namespace complex_parts;
    const T x = z._M_re, y = z._M_im;
    if (y == 0) return complex<T>(::cosh(x), y * ::copysign(T(1), x));
    if (!is_finite(y))
        return complex<T>(is_infinite(x) ? ::fabs(x) : not_a_number<T>(), x == 0 ? T(0) : not_a_number<T>());
    T s, c;
    ::sincos(y, &s, &c);
    if (::fabs(x) > Format<T>::exponent_limit()) return times_exp(::fabs(x), T(0.5), c, x < 0 ? -s : s);
    return complex<T>(::cosh(x) * c, ::sinh(x) * s);
}

PYCUDA_FUNCTION complex<T> tanh(const complex<T> &z)
{
    using namespace complex_parts;
    const T x = z._M_re, y = z._M_im;
    if (y == 0) return complex<T>(::tanh(x), y);
    if (!is_finite(y)) {
        if (is_infinite(x)) return complex<T>(::copysign(T(1), x), ::copysign(T(0), y));
        return complex<T>(x == 0 ? x : not_a_number<T>(), not_a_number<T>());
    }
    T s, c;
    ::sincos(y, &s, &c);
    if (::fabs(x) > Format<T>::exponent_limit() / 2) {
        const T small = ::exp(-::fabs(x));
        return complex<T>(::copysign(T(1), x), 4 * s * c * small * small);
    }
    const T sh = ::sinh(x), divisor = sh * sh + c * c;
    return complex<T>(sh * ::cosh(x) / divisor, s * c / divisor);
}

PYCUDA_FUNCTION complex<T> sin(const complex<T> &z)
{
    const complex<T> w = sinh(complex<T>(-z._M_im, z._M_re));
    return complex<T>(w._M_im, -w._M_re);
}

PYCUDA_FUNCTION complex<T> cos(const complex<T> &z) { return cosh(complex<T>(-z._M_im, z._M_re)); }

PYCUDA_FUNCTION complex<T> tan(const complex<T> &z)
{
    const complex<T> w = tanh(complex<T>(-z._M_im, z._M_re));
    return complex<T>(w._M_im, -w._M_re);
}

// ---- their inverses, after Hull, Fairgrieve and Tang: Implementing the complex arcsine and arccosine
// functions using exception handling, ACM TOMS 23 (1997)

namespace complex_parts {

// (hypot(a, b) - b) / 2, given the hypotenuse.
PYCUDA_FUNCTION T half_excess(T a, T b, T hypotenuse)
{
    if (b < 0) return (hypotenuse - b) / 2;
    if (b == 0) return a / 2;
    return a * a / (hypotenuse + b) / 2;
}

// asinh(x + i y) for x, y >= 0 that are not both small, and neither of which is large. `real` is its real
// part. Its imaginary part is asin(sine) if by_sine, otherwise, as that would be less exact, the angle of
// (cosine, sine). acos(y + i x) is computed from the same numbers.
template <class T> struct Ellipse {
    T real, sine, cosine;
    bool by_sine;

    // r and s are the distances from the two foci, i and -i; a is half the major axis of the ellipse through
    // the point.
    PYCUDA_CALLABLE Ellipse(T x, T y)
    {
        const T r = ::hypot(x, y + 1), s = ::hypot(x, y - 1);
        T a = (r + s) / 2;
        if (a < 1) a = 1;
        find_real(x, y, r, s, a);
        find_imaginary(x, y, r, s, a);
    }

    PYCUDA_CALLABLE void find_real(T x, T y, T r, T s, T a)
    {
        const T e = Format<T>::epsilon();
        if (a >= 10)
            real = ::log(a + ::sqrt(a * a - 1));
        else if (y == 1 && x < e * e / 128)
            real = ::sqrt(x);
        else if (x >= e * ::fabs(y - 1)) {
            const T beyond = half_excess(x, 1 + y, r) + half_excess(x, 1 - y, s);
            real = ::log1p(beyond + ::sqrt(beyond * (a + 1)));
        } else if (y < 1)
            real = x / ::sqrt((1 - y) * (1 + y));
        else
            real = ::log1p((y - 1) + ::sqrt((y - 1) * (y + 1)));
    }

    PYCUDA_CALLABLE void find_imaginary(T x, T y, T r, T s, T a)
    {
        const T e = Format<T>::epsilon();
        by_sine = false;
        sine = y;
        if (y < 4 * Format<T>::root_of_least()) {
            cosine = a * (2 / e); // y / a would underflow
            sine = y * (2 / e);
        } else if (y / a <= T(0.6417)) {
            sine = y / a;
            by_sine = true;
        } else if (y == 1 && x < e * e / 128)
            cosine = ::sqrt(x) * ::sqrt((a + y) / 2);
        else if (x >= e * ::fabs(y - 1))
            cosine = ::sqrt((half_excess(x, y + 1, r) + half_excess(x, y - 1, s)) * (a + y));
        else if (y > 1) {
            cosine = x * (4 / e / e) * y / ::sqrt((y + 1) * (y - 1));
            sine = y * (4 / e / e);
        } else
            cosine = ::sqrt((1 - y) * (1 + y));
    }
};

} // namespace complex_parts

PYCUDA_FUNCTION complex<T> asinh(const complex<T> &z)
{
    using namespace complex_parts;
    const T x = z._M_re, y = z._M_im, ax = ::fabs(x), ay = ::fabs(y);
    if (is_nan(x) || is_nan(y)) {
        if (is_infinite(x)) return complex<T>(x, y);
        if (is_infinite(y)) return complex<T>(::copysign(y, x), x);
        return complex<T>(not_a_number<T>(), y == 0 ? y : not_a_number<T>());
    }
    if (ax < Format<T>::small() && ay < Format<T>::small()) return z;
    T real, imaginary;
    if (ax > 1 / Format<T>::epsilon() || ay > 1 / Format<T>::epsilon()) {
        real = log_of_modulus(ax, ay) + PYCUDA_LN2;
        imaginary = ::atan2(ay, ax);
    } else {
        const Ellipse<T> found(ax, ay);
        real = found.real;
        imaginary = found.by_sine ? ::asin(found.sine) : ::atan2(found.sine, found.cosine);
    }
    return complex<T>(::copysign(real, x), ::copysign(imaginary, y));
}

PYCUDA_FUNCTION complex<T> asin(const complex<T> &z)
{
    const complex<T> w = asinh(complex<T>(-z._M_im, z._M_re));
    return complex<T>(w._M_im, -w._M_re);
}

PYCUDA_FUNCTION complex<T> acos(const complex<T> &z)
{
    using namespace complex_parts;
    const T x = z._M_re, y = z._M_im, ax = ::fabs(x), ay = ::fabs(y);
    if (is_nan(x) || is_nan(y)) {
        if (is_infinite(x)) return complex<T>(y, infinity<T>());
        if (is_infinite(y)) return complex<T>(x, -y);
        return complex<T>(x == 0 ? PYCUDA_HALF_PI : not_a_number<T>(), not_a_number<T>());
    }
    if (ax < Format<T>::small() && ay < Format<T>::small()) return complex<T>(PYCUDA_HALF_PI - x, -y);
    T real, imaginary;
    if (ax > 1 / Format<T>::epsilon() || ay > 1 / Format<T>::epsilon()) {
        real = ::atan2(ay, x);
        imaginary = log_of_modulus(ax, ay) + PYCUDA_LN2;
    } else {
        const Ellipse<T> found(ay, ax);
        const T turned = ::copysign(found.sine, x);
        real = found.by_sine ? ::acos(turned) : ::atan2(found.cosine, turned);
        imaginary = found.real;
    }
    return complex<T>(real, is_negative(y) ? imaginary : -imaginary);
}

PYCUDA_FUNCTION complex<T> acosh(const complex<T> &z)
{
    const complex<T> w = acos(z);
    if (complex_parts::is_nan(w._M_im)) // a part that is not NaN stays: infinity, half of pi
        return complex<T>(w._M_im, w._M_re);
    return complex<T>(::fabs(w._M_im), ::copysign(w._M_re, z._M_im));
}

PYCUDA_FUNCTION complex<T> atanh(const complex<T> &z)
{
    using namespace complex_parts;
    typedef Format<T> F;
    const T x = z._M_re, y = z._M_im, ax = ::fabs(x), ay = ::fabs(y);
    if (y == 0 && ax <= 1) return complex<T>(::atanh(x), y);
    if (x == 0) return complex<T>(x, ::atan(y));
    if (is_infinite(x) || is_infinite(y))
        return complex<T>(::copysign(T(0), x), is_nan(y) ? y : ::copysign(PYCUDA_HALF_PI, y));
    if (is_nan(x) || is_nan(y)) return complex<T>(not_a_number<T>(), not_a_number<T>());
    if (ax < F::small() && ay < F::small()) return z;
    if (ax > 1 / F::epsilon() || ay > 1 / F::epsilon()) { // x / (x*x + y*y), without overflow
        const T larger = ::fmax(ax, ay), a = ax / larger, b = ay / larger;
        return complex<T>(::copysign(a / (a * a + b * b) / larger, x), ::copysign(PYCUDA_HALF_PI, y));
    }
    const T square = ay < F::root_of_least() ? T(0) : ay * ay;
    T real, imaginary;
    if (ax == 1 && ay < F::epsilon())
        real = (PYCUDA_LN2 - ::log(ay)) / 2;
    else
        real = ::log1p(4 * ax / ((ax - 1) * (ax - 1) + square)) / 4;
    if (ax == 1)
        imaginary = ::atan2(T(2), -ay) / 2;
    else
        imaginary = ::atan2(2 * ay, (1 - ax) * (1 + ax) - (ay < F::epsilon() ? T(0) : square)) / 2;
    return complex<T>(::copysign(real, x), ::copysign(imaginary, y));
}

PYCUDA_FUNCTION complex<T> atan(const complex<T> &z)
{
    const complex<T> w = atanh(complex<T>(-z._M_im, z._M_re));
    return complex<T>(w._M_im, -w._M_re);
}

#undef PYCUDA_HALF_PI
#undef PYCUDA_LN2

}
}

#undef PYCUDA_FUNCTION
#undef PYCUDA_CALLABLE

#endif
