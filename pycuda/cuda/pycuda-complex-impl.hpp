// Operators and functions of pycuda::complex; included by pycuda-complex.hpp inside namespace pycuda.

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

// Scaled by the larger component of the divisor (Smith), so that no square overflows.
PYCUDA_FUNCTION complex<T> operator/(const complex<T> &a, const complex<T> &b)
{
    if (::fabs(b._M_re) >= ::fabs(b._M_im)) {
        const T ratio = b._M_im / b._M_re, scale = b._M_re + b._M_im * ratio;
        return complex<T>((a._M_re + a._M_im * ratio) / scale, (a._M_im - a._M_re * ratio) / scale);
    }
    const T ratio = b._M_re / b._M_im, scale = b._M_re * ratio + b._M_im;
    return complex<T>((a._M_re * ratio + a._M_im) / scale, (a._M_im * ratio - a._M_re) / scale);
}

PYCUDA_FUNCTION complex<T> operator+(const complex<T> &a, const T &b)
{
    return complex<T>(a._M_re + b, a._M_im);
}

PYCUDA_FUNCTION complex<T> operator+(const T &a, const complex<T> &b)
{
    return complex<T>(a + b._M_re, b._M_im);
}

PYCUDA_FUNCTION complex<T> operator-(const complex<T> &a, const T &b)
{
    return complex<T>(a._M_re - b, a._M_im);
}

PYCUDA_FUNCTION complex<T> operator-(const T &a, const complex<T> &b)
{
    return complex<T>(a - b._M_re, -b._M_im);
}

PYCUDA_FUNCTION complex<T> operator*(const complex<T> &a, const T &b)
{
    return complex<T>(a._M_re * b, a._M_im * b);
}

PYCUDA_FUNCTION complex<T> operator*(const T &a, const complex<T> &b)
{
    return complex<T>(a * b._M_re, a * b._M_im);
}

PYCUDA_FUNCTION complex<T> operator/(const complex<T> &a, const T &b)
{
    return complex<T>(a._M_re / b, a._M_im / b);
}

PYCUDA_FUNCTION complex<T> operator/(const T &a, const complex<T> &b) { return complex<T>(a, T()) / b; }

PYCUDA_FUNCTION bool operator==(const complex<T> &a, const complex<T> &b)
{
    return a._M_re == b._M_re && a._M_im == b._M_im;
}

PYCUDA_FUNCTION bool operator==(const complex<T> &a, const T &b) { return a._M_re == b && a._M_im == T(); }
PYCUDA_FUNCTION bool operator==(const T &a, const complex<T> &b) { return b == a; }
PYCUDA_FUNCTION bool operator!=(const complex<T> &a, const complex<T> &b) { return !(a == b); }
PYCUDA_FUNCTION bool operator!=(const complex<T> &a, const T &b) { return !(a == b); }
PYCUDA_FUNCTION bool operator!=(const T &a, const complex<T> &b) { return !(a == b); }

PYCUDA_FUNCTION complex<T> exp(const complex<T> &z) { return polar(T(::exp(z._M_re)), z._M_im); }
PYCUDA_FUNCTION complex<T> log(const complex<T> &z) { return complex<T>(::log(abs(z)), arg(z)); }
PYCUDA_FUNCTION complex<T> log10(const complex<T> &z) { return log(z) / T(2.302585092994045684); }

// The half of the plane with positive real part; the sign of the imaginary part stays.
PYCUDA_FUNCTION complex<T> sqrt(const complex<T> &z)
{
    const T x = z._M_re, y = z._M_im;
    if (x == T() && y == T())
        return complex<T>(T(), y);
    const T root = ::sqrt((::fabs(x) + abs(z)) / 2);
    if (x >= T())
        return complex<T>(root, y / (2 * root));
    return complex<T>(::fabs(y) / (2 * root), ::copysign(root, y));
}

PYCUDA_FUNCTION complex<T> pow(const complex<T> &a, const complex<T> &b)
{
    if (a == T())
        return b == T() ? complex<T>(T(1)) : complex<T>();
    return exp(b * log(a));
}

PYCUDA_FUNCTION complex<T> pow(const complex<T> &a, const T &b) { return pow(a, complex<T>(b)); }
PYCUDA_FUNCTION complex<T> pow(const T &a, const complex<T> &b) { return pow(complex<T>(a), b); }

PYCUDA_FUNCTION complex<T> sinh(const complex<T> &z)
{
    return complex<T>(::sinh(z._M_re) * ::cos(z._M_im), ::cosh(z._M_re) * ::sin(z._M_im));
}

PYCUDA_FUNCTION complex<T> cosh(const complex<T> &z)
{
    return complex<T>(::cosh(z._M_re) * ::cos(z._M_im), ::sinh(z._M_re) * ::sin(z._M_im));
}

// With t = tanh(x) and u = tan(y): (t + i u) / (1 + i t u), which does not overflow.
PYCUDA_FUNCTION complex<T> tanh(const complex<T> &z)
{
    const T t = ::tanh(z._M_re), u = ::tan(z._M_im);
    return complex<T>(t, u) / complex<T>(T(1), t * u);
}

PYCUDA_FUNCTION complex<T> sin(const complex<T> &z)
{
    return complex<T>(::sin(z._M_re) * ::cosh(z._M_im), ::cos(z._M_re) * ::sinh(z._M_im));
}

PYCUDA_FUNCTION complex<T> cos(const complex<T> &z)
{
    return complex<T>(::cos(z._M_re) * ::cosh(z._M_im), -::sin(z._M_re) * ::sinh(z._M_im));
}

PYCUDA_FUNCTION complex<T> tan(const complex<T> &z)
{
    const complex<T> turned = tanh(complex<T>(-z._M_im, z._M_re));
    return complex<T>(turned._M_im, -turned._M_re);
}

#undef PYCUDA_FUNCTION
