// Complex numbers for kernels: pycuda::complex<float> and pycuda::complex<double>, two components each.
//
// May be included inside an extern "C" block. Functions are found by argument-dependent lookup: abs(z).
#ifndef PYCUDA_COMPLEX_HPP
#define PYCUDA_COMPLEX_HPP

#define PYCUDA_CALLABLE __device__ inline

extern "C++" {
namespace pycuda {

template <class T> class complex;
template <class T> PYCUDA_CALLABLE complex<T> operator*(const complex<T> &a, const complex<T> &b);
template <class T> PYCUDA_CALLABLE complex<T> operator/(const complex<T> &a, const complex<T> &b);

// complex<float> converts to complex<double> implicitly, the other way only explicitly.
template <class T> class complex_base {
  public:
    typedef T value_type;
    T _M_re, _M_im;

    PYCUDA_CALLABLE complex_base() : _M_re(), _M_im() {}
    PYCUDA_CALLABLE complex_base(T re, T im) : _M_re(re), _M_im(im) {}

    PYCUDA_CALLABLE T real() const { return _M_re; }
    PYCUDA_CALLABLE T imag() const { return _M_im; }
    PYCUDA_CALLABLE T real() const volatile { return _M_re; }
    PYCUDA_CALLABLE T imag() const volatile { return _M_im; }
    PYCUDA_CALLABLE void real(T re) { _M_re = re; }
    PYCUDA_CALLABLE void imag(T im) { _M_im = im; }
};

// Members of both classes: constructors and assignments are not inherited.
#define PYCUDA_COMPLEX_MEMBERS(T)                                                                        \
    PYCUDA_CALLABLE complex() {}                                                                         \
    PYCUDA_CALLABLE complex(T re, T im = T()) : complex_base<T>(re, im) {}                               \
    PYCUDA_CALLABLE complex(const complex &z) : complex_base<T>(z._M_re, z._M_im) {}                     \
    PYCUDA_CALLABLE complex(const volatile complex &z) : complex_base<T>(z._M_re, z._M_im) {}            \
    PYCUDA_CALLABLE complex &operator=(const complex &z)                                                 \
    { _M_re = z._M_re; _M_im = z._M_im; return *this; }                                                  \
    PYCUDA_CALLABLE complex &operator=(const volatile complex &z)                                        \
    { _M_re = z._M_re; _M_im = z._M_im; return *this; }                                                  \
    PYCUDA_CALLABLE void operator=(const complex &z) volatile { _M_re = z._M_re; _M_im = z._M_im; }      \
    PYCUDA_CALLABLE complex &operator=(T re) { _M_re = re; _M_im = T(); return *this; }                  \
    PYCUDA_CALLABLE void operator=(T re) volatile { _M_re = re; _M_im = T(); }                           \
    PYCUDA_CALLABLE complex &operator+=(T re) { _M_re += re; return *this; }                             \
    PYCUDA_CALLABLE complex &operator-=(T re) { _M_re -= re; return *this; }                             \
    PYCUDA_CALLABLE complex &operator*=(T re) { _M_re *= re; _M_im *= re; return *this; }                \
    PYCUDA_CALLABLE complex &operator/=(T re) { _M_re /= re; _M_im /= re; return *this; }                \
    template <class U> PYCUDA_CALLABLE complex &operator=(const complex<U> &z)                           \
    { _M_re = T(z._M_re); _M_im = T(z._M_im); return *this; }                                            \
    template <class U> PYCUDA_CALLABLE complex &operator+=(const complex<U> &z)                          \
    { _M_re += z._M_re; _M_im += z._M_im; return *this; }                                                \
    template <class U> PYCUDA_CALLABLE complex &operator-=(const complex<U> &z)                          \
    { _M_re -= z._M_re; _M_im -= z._M_im; return *this; }                                                \
    template <class U> PYCUDA_CALLABLE complex &operator*=(const complex<U> &z)                          \
    { return *this = *this * complex(z); }                                                               \
    template <class U> PYCUDA_CALLABLE complex &operator/=(const complex<U> &z)                          \
    { return *this = *this / complex(z); }

template <> class complex<float> : public complex_base<float> {
  public:
    PYCUDA_COMPLEX_MEMBERS(float)
    PYCUDA_CALLABLE explicit complex(const complex<double> &z);
};

template <> class complex<double> : public complex_base<double> {
  public:
    PYCUDA_COMPLEX_MEMBERS(double)
    PYCUDA_CALLABLE complex(const complex<float> &z) : complex_base<double>(z._M_re, z._M_im) {}
};

PYCUDA_CALLABLE complex<float>::complex(const complex<double> &z)
    : complex_base<float>((float)z._M_re, (float)z._M_im) {}

#undef PYCUDA_COMPLEX_MEMBERS

namespace complex_parts {

// Result if U is a number: an operation on a complex and a real number has the type of the complex one.
template <class U, class Result> struct if_real {};
#define PYCUDA_REAL(U) template <class Result> struct if_real<U, Result> { typedef Result type; };
PYCUDA_REAL(bool)
PYCUDA_REAL(char)
PYCUDA_REAL(signed char)
PYCUDA_REAL(unsigned char)
PYCUDA_REAL(short)
PYCUDA_REAL(unsigned short)
PYCUDA_REAL(int)
PYCUDA_REAL(unsigned)
PYCUDA_REAL(long)
PYCUDA_REAL(unsigned long)
PYCUDA_REAL(long long)
PYCUDA_REAL(unsigned long long)
PYCUDA_REAL(float)
PYCUDA_REAL(double)
#undef PYCUDA_REAL

// Result if T and U differ.
template <class T, class U, class Result> struct if_mixed {};
template <class Result> struct if_mixed<float, double, Result> { typedef Result type; };
template <class Result> struct if_mixed<double, float, Result> { typedef Result type; };

} // namespace complex_parts

// Declarations of a function of a complex and a real number, and of one of complex numbers of different
// types. pycuda-complex-functions.hpp uses these macros too.
#define PYCUDA_WITH_REAL(Result)                                                                         \
    template <class T, class U> PYCUDA_CALLABLE typename complex_parts::if_real<U, Result>::type
#define PYCUDA_MIXED(name, Result)                                                                       \
    template <class T, class U> PYCUDA_CALLABLE typename complex_parts::if_mixed<T, U, Result>::type     \
    name(const complex<T> &a, const complex<U> &b) { return name(complex<double>(a), complex<double>(b)); }

#include "pycuda-complex-impl.hpp"

}
}

#undef PYCUDA_CALLABLE

// The package's own kernels include the functions only if they use them, as these take long to compile.
#ifndef PYCUDA_COMPLEX_ARITHMETIC_ONLY
#include "complex/pycuda-complex-functions.hpp"
#endif

#endif
