// Complex numbers for kernels: pycuda::complex<float> and pycuda::complex<double>, two components each.
//
// May stand inside an extern "C" block. Functions are found by argument-dependent lookup: abs(z).
#ifndef PYCUDA_COMPLEX_HPP
#define PYCUDA_COMPLEX_HPP

#define PYCUDA_CALLABLE __device__ inline

extern "C++" {
namespace pycuda {

template <class T> class complex;
template <class T> PYCUDA_CALLABLE complex<T> operator*(const complex<T> &a, const complex<T> &b);
template <class T> PYCUDA_CALLABLE complex<T> operator/(const complex<T> &a, const complex<T> &b);

// complex<float> becomes complex<double> by itself, the other way only when asked.
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

// What both classes have, written once: constructors and assignments are not inherited.
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

#include "pycuda-complex-impl.hpp"

}
}

#undef PYCUDA_CALLABLE

// Kernels made here say themselves when they need more than arithmetic: it is what takes time to compile.
#ifndef PYCUDA_COMPLEX_ARITHMETIC_ONLY
#include "pycuda-complex-functions.hpp"
#endif

#endif
