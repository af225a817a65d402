// Operators and parts of pycuda::complex: a part of pycuda-complex.hpp, inside namespace pycuda.

#define PYCUDA_FUNCTION template <class T> PYCUDA_CALLABLE

PYCUDA_FUNCTION T real(const complex<T> &z) { return z._M_re; }
PYCUDA_FUNCTION T imag(const complex<T> &z) { return z._M_im; }
PYCUDA_FUNCTION T abs(const complex<T> &z) { return ::hypot(z._M_re, z._M_im); }
PYCUDA_FUNCTION T arg(const complex<T> &z) { return ::atan2(z._M_im, z._M_re); }
PYCUDA_FUNCTION T norm(const complex<T> &z) { return z._M_re * z._M_re + z._M_im * z._M_im; }
PYCUDA_FUNCTION complex<T> conj(const complex<T> &z) { return complex<T>(z._M_re, -z._M_im); }
PYCUDA_FUNCTION complex<T> polar(const T &rho, const T &phi = T())
{
    return complex<T>(rho * ::cos(phi), rho * ::sin(phi));
}

PYCUDA_FUNCTION complex<T> operator+(const complex<T> &z) { return z; }
PYCUDA_FUNCTION complex<T> operator-(const complex<T> &z) { return complex<T>(-z._M_re, -z._M_im); }

PYCUDA_FUNCTION complex<T> operator+(const complex<T> &a, const complex<T> &b)
{
    return complex<T>(a._M_re + b._M_re, a._M_im + b._M_im);
}

PYCUDA_FUNCTION complex<T> operator-(const complex<T> &a, const complex<T> &b)
{
    return complex<T>(a._M_re - b._M_re, a._M_im - b._M_im);
}

PYCUDA_FUNCTION complex<T> operator*(const complex<T> &a, const complex<T> &b)
{
    return complex<T>(a._M_re * b._M_re - a._M_im * b._M_im, a._M_re * b._M_im + a._M_im * b._M_re);
}

// Scaled by the larger component of the divisor (Smith's method), so that no square overflows. The steps are
// NumPy's.
PYCUDA_FUNCTION complex<T> operator/(const complex<T> &a, const complex<T> &b)
{
    const T x = ::fabs(b._M_re), y = ::fabs(b._M_im);
    if (x == T() && y == T())
        return complex<T>(a._M_re / x, a._M_im / x);
    if (x >= y) {
        const T ratio = b._M_im / b._M_re, scale = T(1) / (b._M_re + b._M_im * ratio);
        return complex<T>((a._M_re + a._M_im * ratio) * scale, (a._M_im - a._M_re * ratio) * scale);
    }
    const T ratio = b._M_re / b._M_im, scale = T(1) / (b._M_im + b._M_re * ratio);
    return complex<T>((a._M_re * ratio + a._M_im) * scale, (a._M_im * ratio - a._M_re) * scale);
}

PYCUDA_WITH_REAL(complex<T>) operator+(const complex<T> &a, const U &b)
{
    return complex<T>(a._M_re + T(b), a._M_im);
}

PYCUDA_WITH_REAL(complex<T>) operator+(const U &a, const complex<T> &b)
{
    return complex<T>(T(a) + b._M_re, b._M_im);
}

PYCUDA_WITH_REAL(complex<T>) operator-(const complex<T> &a, const U &b)
{
    return complex<T>(a._M_re - T(b), a._M_im);
}

PYCUDA_WITH_REAL(complex<T>) operator-(const U &a, const complex<T> &b)
{
    return complex<T>(T(a) - b._M_re, -b._M_im);
}

PYCUDA_WITH_REAL(complex<T>) operator*(const complex<T> &a, const U &b)
{
    return complex<T>(a._M_re * T(b), a._M_im * T(b));
}

PYCUDA_WITH_REAL(complex<T>) operator*(const U &a, const complex<T> &b)
{
    return complex<T>(T(a) * b._M_re, T(a) * b._M_im);
}

PYCUDA_WITH_REAL(complex<T>) operator/(const complex<T> &a, const U &b)
{
    return complex<T>(a._M_re / T(b), a._M_im / T(b));
}

PYCUDA_WITH_REAL(complex<T>) operator/(const U &a, const complex<T> &b) { return complex<T>(T(a)) / b; }

PYCUDA_FUNCTION bool operator==(const complex<T> &a, const complex<T> &b)
{
    return a._M_re == b._M_re && a._M_im == b._M_im;
}

PYCUDA_WITH_REAL(bool) operator==(const complex<T> &a, const U &b) { return a._M_re == b && a._M_im == T(); }
PYCUDA_WITH_REAL(bool) operator==(const U &a, const complex<T> &b) { return b == a; }
PYCUDA_FUNCTION bool operator!=(const complex<T> &a, const complex<T> &b) { return !(a == b); }
PYCUDA_WITH_REAL(bool) operator!=(const complex<T> &a, const U &b) { return !(a == b); }
PYCUDA_WITH_REAL(bool) operator!=(const U &a, const complex<T> &b) { return !(a == b); }

PYCUDA_MIXED(operator+, complex<double>)
PYCUDA_MIXED(operator-, complex<double>)
PYCUDA_MIXED(operator*, complex<double>)
PYCUDA_MIXED(operator/, complex<double>)
PYCUDA_MIXED(operator==, bool)
PYCUDA_MIXED(operator!=, bool)

#undef PYCUDA_FUNCTION
