// NumPy's sort order: each element is mapped to an unsigned integer, its key, whose order is that of the
// elements. Zeros of both signs are equal; a NaN of any sign and payload is greater than all numbers.
//
// Elements are moved as words of their size, Raw. An order is a type with Raw, Bits, bits(Raw), is_nan(Bits).
// Orders of real numbers have two more functions. total(Raw) gives keys that differ for all elements of
// different bits, zeros and NaNs included; from_total() is its inverse.
#ifndef PYCUDA_ORDER_HPP
#define PYCUDA_ORDER_HPP

#include "base/pycuda-elements.hpp"

namespace pycuda {

typedef unsigned long long u64;

// 128 bits: a complex number of doubles in memory, and its place in the order.
struct alignas(16) Wide {
    u64 low, high;
    Wide() = default;
    __device__ __forceinline__ Wide(u64 high, u64 low) : low(low), high(high) {}
};

__device__ __forceinline__ bool operator<(const Wide &a, const Wide &b)
{
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}
__device__ __forceinline__ bool operator==(const Wide &a, const Wide &b)
{
    return a.high == b.high && a.low == b.low;
}
__device__ __forceinline__ bool operator<=(const Wide &a, const Wide &b) { return !(b < a); }
__device__ __forceinline__ Wide operator~(const Wide &a) { return Wide(~a.high, ~a.low); }

// Byte number k, the lowest first.
template <class U> __device__ __forceinline__ unsigned digit(U bits, int k)
{
    return (unsigned)(bits >> (8 * k)) & 255;
}
__device__ __forceinline__ unsigned digit(const Wide &bits, int k)
{
    return k < 8 ? digit(bits.low, k) : digit(bits.high, k - 8);
}

struct BoolOrder {
    typedef unsigned char Raw, Bits;
    static __device__ __forceinline__ Bits bits(Raw x) { return x != 0; }
    static __device__ __forceinline__ bool is_nan(Bits) { return false; }
};

template <class U> struct UnsignedOrder {
    typedef U Raw, Bits;
    static __device__ __forceinline__ Bits bits(Raw x) { return x; }
    static __device__ __forceinline__ bool is_nan(Bits) { return false; }
    static __device__ __forceinline__ Bits total(Raw x) { return x; }
    static __device__ __forceinline__ Raw from_total(Bits bits) { return bits; }
};

template <class U> struct SignedOrder {
    typedef U Raw, Bits;
    static __device__ __forceinline__ Bits bits(Raw x) { return U(x ^ (U(1) << (8 * sizeof(U) - 1))); }
    static __device__ __forceinline__ bool is_nan(Bits) { return false; }
    static __device__ __forceinline__ Bits total(Raw x) { return bits(x); }
    static __device__ __forceinline__ Raw from_total(Bits x) { return bits(x); }
};

// Floats of a format with MANTISSA bits after the binary point.
template <class U, int MANTISSA> struct FloatOrder {
    typedef U Raw, Bits;
    static constexpr U SIGN = U(U(1) << (8 * sizeof(U) - 1)), NEGATIVE_NANS = U((U(1) << MANTISSA) - 1);
    static __device__ __forceinline__ Bits bits(Raw x)
    {
        const U size = U(x & U(~SIGN)), infinity = U((SIGN >> MANTISSA) - 1) << MANTISSA;
        if (size == 0) return SIGN;
        if (size > infinity) return U(~U(0));
        return U(x & SIGN ? ~x : x | SIGN);
    }
    static __device__ __forceinline__ bool is_nan(Bits bits) { return bits == U(~U(0)); }

    // The bits of negative NaNs would be less than those of all numbers. Subtracting their count, modulo 2^n,
    // moves them to the end.
    static __device__ __forceinline__ Bits total(Raw x)
    {
        return U(U(x & SIGN ? ~x : x | SIGN) - NEGATIVE_NANS);
    }
    static __device__ __forceinline__ Raw from_total(Bits bits)
    {
        const U x = U(bits + NEGATIVE_NANS);
        return U(x & SIGN ? x ^ SIGN : ~x);
    }
};

__device__ __forceinline__ unsigned high_part(u64 x) { return (unsigned)(x >> 32); }
__device__ __forceinline__ unsigned low_part(u64 x) { return (unsigned)x; }
__device__ __forceinline__ u64 high_part(const Wide &x) { return x.high; }
__device__ __forceinline__ u64 low_part(const Wide &x) { return x.low; }
__device__ __forceinline__ u64 joined(unsigned high, unsigned low) { return (u64)high << 32 | low; }
__device__ __forceinline__ Wide joined(u64 high, u64 low) { return Wide(high, low); }

// Complex numbers are ordered by the real part, then by the imaginary part. Those with a NaN come last: first
// those whose imaginary part alone is NaN, by their real part; then those whose real part alone is NaN, by
// their imaginary part; then those of two NaNs. The high words of these three groups are greater than any
// number's.
template <class Whole, class Part> struct ComplexOrder {
    typedef Whole Raw, Bits;
    typedef typename Part::Bits Half;
    static __device__ __forceinline__ Bits bits(const Raw &x)
    {
        const Half none = ~Half(0), real = Part::bits(low_part(x)), imaginary = Part::bits(high_part(x));
        if (real == none) return imaginary == none ? joined(none, none) : joined(Half(none - 1), imaginary);
        if (imaginary == none) return joined(Half(none - 2), real);
        return joined(real, imaginary);
    }
    static __device__ __forceinline__ bool is_nan(const Bits &bits)
    {
        return high_part(bits) >= Half(~Half(0) - 2);
    }
};

// The reverse of an order: the greatest element comes first.
template <class Order> struct Reversed {
    typedef typename Order::Raw Raw;
    typedef typename Order::Bits Bits;
    static __device__ __forceinline__ Bits bits(const Raw &x) { return Bits(~Order::bits(x)); }
    static __device__ __forceinline__ bool is_nan(const Bits &bits) { return Order::is_nan(Bits(~bits)); }
    static __device__ __forceinline__ Bits total(const Raw &x) { return Bits(~Order::total(x)); }
    static __device__ __forceinline__ Raw from_total(const Bits &x) { return Order::from_total(Bits(~x)); }
};

// An order's total() as its keys.
template <class Order> struct TotalOrder {
    typedef typename Order::Raw Raw;
    typedef typename Order::Bits Bits;
    static __device__ __forceinline__ Bits bits(Raw x) { return Order::total(x); }
};

} // namespace pycuda

#endif
