// Elements in memory, and the values with which kernels compute: half and bfloat16 are 16 bits in memory and
// float in registers, a NumPy bool is a byte. No CUDA header is needed, so that generated kernels compile
// quickly. Complex numbers are supported if pycuda-complex.hpp is included before.
#ifndef PYCUDA_ELEMENTS_HPP
#define PYCUDA_ELEMENTS_HPP

namespace pycuda {

typedef long long index_t;

struct alignas(2) half_bits { unsigned short bits; };
struct alignas(2) bfloat16_bits { unsigned short bits; };
struct boolean { unsigned char byte; };
// Elements that are only moved, of a size that no number type has.
template <int N, class Word> struct Bytes { Word words[N]; };

// value(stored) is the value of an element.
template <class T> __device__ __forceinline__ const T &value(const T &x) { return x; }

__device__ __forceinline__ float value(half_bits x)
{
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
}

__device__ __forceinline__ float value(bfloat16_bits x) { return __uint_as_float((unsigned)x.bits << 16); }

__device__ __forceinline__ bool value(boolean x) { return x.byte != 0; }

// ---- NumPy's casts: nonzero is true, a complex number becomes its real part, integers wrap

template <class X> __device__ __forceinline__ bool is_true(const X &x) { return x != X(0); }

template <class A> struct To {
    template <class X> static __device__ __forceinline__ A from(const X &x) { return A(x); }
#ifdef PYCUDA_COMPLEX_HPP
    template <class R> static __device__ __forceinline__ A from(const complex<R> &x)
    {
        return To<A>::from(x.real());
    }
#endif
};

// Narrow integers by way of a wide one: the conversion instructions from floats saturate.
template <class A> struct ToNarrow {
    template <class X> static __device__ __forceinline__ A from(const X &x) { return A(x); }
    static __device__ __forceinline__ A from(float x) { return A((int)x); }
    static __device__ __forceinline__ A from(double x) { return A((int)x); }
#ifdef PYCUDA_COMPLEX_HPP
    template <class R> static __device__ __forceinline__ A from(const complex<R> &x)
    {
        return A((int)x.real());
    }
#endif
};
template <> struct To<signed char> : ToNarrow<signed char> {};
template <> struct To<unsigned char> : ToNarrow<unsigned char> {};
template <> struct To<short> : ToNarrow<short> {};
template <> struct To<unsigned short> : ToNarrow<unsigned short> {};

template <> struct To<bool> {
    template <class X> static __device__ __forceinline__ bool from(const X &x) { return is_true(x); }
};

#ifdef PYCUDA_COMPLEX_HPP
template <class R> __device__ __forceinline__ bool is_true(const complex<R> &x)
{
    return x.real() != 0 || x.imag() != 0;
}

// One product of each sum is fused explicitly, as in NumPy's loops for processors with FMA.
template <class R> __device__ __forceinline__ complex<R> product(const complex<R> &a, const complex<R> &b)
{
    return complex<R>(::fma(a._M_re, b._M_re, -(a._M_im * b._M_im)),
                      ::fma(a._M_re, b._M_im, a._M_im * b._M_re));
}

template <class R> struct To<complex<R> > {
    template <class X> static __device__ __forceinline__ complex<R> from(const X &x)
    {
        return complex<R>(R(x), R(0));
    }
    template <class X> static __device__ __forceinline__ complex<R> from(const complex<X> &x)
    {
        return complex<R>(R(x.real()), R(x.imag()));
    }
};
#endif

// ---- put(stored, x) casts x and rounds it, to nearest even, to what is stored

template <class T, class X> __device__ __forceinline__ void put(T &to, const X &x) { to = To<T>::from(x); }

__device__ __forceinline__ void put(half_bits &to, float x)
{
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
}

__device__ __forceinline__ void put(half_bits &to, double x)
{
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(to.bits) : "d"(x));
}

template <class X> __device__ __forceinline__ void put(half_bits &to, const X &x)
{
    put(to, To<float>::from(x));
}

// A bfloat16 is the upper half of a float: adding 0x7fff and the lowest bit that stays rounds to nearest
// even. A NaN becomes the quiet NaN 0x7fc0 with its sign.
__device__ __forceinline__ void put(bfloat16_bits &to, float x)
{
    unsigned bits = __float_as_uint(x);
    to.bits =
        x != x ? 0x7fc0 | (bits >> 16 & 0x8000) : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class X> __device__ __forceinline__ void put(bfloat16_bits &to, const X &x)
{
    put(to, To<float>::from(x));
}

template <class X> __device__ __forceinline__ void put(boolean &to, const X &x)
{
    to.byte = To<bool>::from(x);
}

#ifdef PYCUDA_COMPLEX_HPP
template <class R> __device__ __forceinline__ void put(half_bits &to, const complex<R> &x)
{
    put(to, x.real());
}
#endif

// Integer division, in 32 bits where both operands fit.
__device__ __forceinline__ index_t quotient(index_t a, index_t b)
{
    return ((a | b) >> 32) == 0 ? (index_t)((unsigned)a / (unsigned)b) : a / b;
}

// x / divisor for x < 2^31
struct Divider {
    unsigned divisor, factor, shift;
    __device__ __forceinline__ unsigned divide(unsigned x) const
    {
        return (__umulhi(x, factor) + x) >> shift;
    }
};

// D nested axes, the innermost last, with strides in two arrays: in bytes in the first, in the unit of
// `other` in the second.
template <int D> struct Axes {
    index_t length[D], stride[D], other[D];
};

// The distance of an element from the first one, in each of the two arrays of Axes.
struct Place {
    index_t offset, other;
};

// The place of element i, in C order, along the first `axes` axes.
template <int axes, int D> __device__ __forceinline__ Place place(const Axes<D> &in, index_t i)
{
    Place at = {0, 0};
#pragma unroll
    for (int d = axes - 1; d > 0; d--) {
        index_t rest = quotient(i, in.length[d]), here = i - rest * in.length[d];
        at.offset += here * in.stride[d];
        at.other += here * in.other[d];
        i = rest;
    }
    if (axes > 0) {
        at.offset += i * in.stride[0];
        at.other += i * in.other[0];
    }
    return at;
}

// The type of an access of so many bytes.
template <int bytes> struct Chunk;
template <> struct Chunk<16> { typedef uint4 type; };
template <> struct Chunk<8> { typedef uint2 type; };
template <> struct Chunk<4> { typedef unsigned type; };
template <> struct Chunk<2> { typedef unsigned short type; };
template <> struct Chunk<1> { typedef unsigned char type; };

// Loads N consecutive elements by accesses of 16 bytes, or by one of all if they have fewer, for which `from`
// must be aligned.
template <int N, class T> __device__ __forceinline__ void load_packed(T *to, const char *from)
{
    typedef typename Chunk<(N * sizeof(T) > 16 ? 16 : N * sizeof(T))>::type Words;
#pragma unroll
    for (int i = 0; i < (int)(N * sizeof(T) / sizeof(Words)); i++)
        reinterpret_cast<Words *>(to)[i] = reinterpret_cast<const Words *>(from)[i];
}

// Stores N consecutive elements by accesses as of load_packed().
template <int N, class T> __device__ __forceinline__ void store_packed(char *to, const T *from)
{
    typedef typename Chunk<(N * sizeof(T) > 16 ? 16 : N * sizeof(T))>::type Words;
#pragma unroll
    for (int i = 0; i < (int)(N * sizeof(T) / sizeof(Words)); i++)
        reinterpret_cast<Words *>(to)[i] = reinterpret_cast<const Words *>(from)[i];
}

}

#endif
