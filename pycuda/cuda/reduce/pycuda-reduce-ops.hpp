// The operations of reductions, except + and *. The rows of pycuda/_kernels/builtin/reduction.py name them.
// Complex numbers are supported if pycuda-complex.hpp is included before.
#ifndef PYCUDA_REDUCE_OPS_HPP
#define PYCUDA_REDUCE_OPS_HPP

#include "base/pycuda-elements.hpp"

namespace pycuda {

struct Nothing {};

// The neutral element of addition: -0.0 for floats, as -0.0 + 0.0 would be 0.0.
template <class A> struct Zero {
    static __device__ __forceinline__ A value() { return A(-0.0f); }
};

template <class A> __device__ __forceinline__ A zero() { return Zero<A>::value(); }

template <class X> __device__ __forceinline__ bool is_nan(const X &x) { return x != x; }
template <class X> __device__ __forceinline__ bool less(const X &a, const X &b) { return a < b; }
// magnitude() is the absolute value, square() its square.
template <class X> __device__ __forceinline__ X magnitude(const X &x) { return ::fabs(x); }
template <class X> __device__ __forceinline__ X square(const X &x) { return x * x; }
// The square times a weight, in an order in which a weight of 0 gives 0 even if the square overflows.
template <class X> __device__ __forceinline__ X weighted_square(const X &x, X weight)
{
    return x * weight * x;
}

template <class X> __device__ __forceinline__ X times(const X &a, const X &b) { return a * b; }

// The mean of `count` elements whose sum this is. Integers are converted to double.
template <class A> __device__ __forceinline__ A mean(A sum, index_t count)
{
    return A((double)sum / (double)count);
}
__device__ __forceinline__ float mean(float sum, index_t count) { return sum / (float)count; }

#ifdef PYCUDA_COMPLEX_HPP
template <class R> struct Zero<complex<R> > {
    static __device__ __forceinline__ complex<R> value() { return complex<R>(R(-0.0f), R(-0.0f)); }
};

template <class R> __device__ __forceinline__ complex<R> times(const complex<R> &a, const complex<R> &b)
{
    return product(a, b);
}

template <class R> __device__ __forceinline__ complex<R> mean(const complex<R> &sum, index_t count)
{
    return complex<R>(sum.real() / R(count), sum.imag() / R(count));
}

template <class R> __device__ __forceinline__ bool is_nan(const complex<R> &x)
{
    return is_nan(x.real()) || is_nan(x.imag());
}

template <class R> __device__ __forceinline__ bool less(const complex<R> &a, const complex<R> &b)
{
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

template <class R> __device__ __forceinline__ R square(const complex<R> &x)
{
    return x.real() * x.real() + x.imag() * x.imag();
}

template <class R> __device__ __forceinline__ R magnitude(const complex<R> &x)
{
    return ::hypot(x.real(), x.imag());
}

template <class R> __device__ __forceinline__ R weighted_square(const complex<R> &x, R weight)
{
    return weighted_square(x.real(), weight) + weighted_square(x.imag(), weight);
}
#endif

// The maximum, where a NaN is greater than all numbers. Complex numbers are in NumPy's order.
template <class X> __device__ __forceinline__ X maximum(const X &a, const X &b)
{
    return less(a, b) || (is_nan(b) && !is_nan(a)) ? b : a;
}

template <class X> __device__ __forceinline__ X minimum(const X &a, const X &b)
{
    return less(b, a) || (is_nan(b) && !is_nan(a)) ? b : a;
}

// The maximum, where a NaN is less than all numbers.
template <class X> __device__ __forceinline__ X maximum_number(const X &a, const X &b)
{
    return less(a, b) || is_nan(a) ? b : a;
}

template <class X> __device__ __forceinline__ X minimum_number(const X &a, const X &b)
{
    return less(b, a) || is_nan(a) ? b : a;
}

// ---- argmax and argmin: the first of equal elements

// An element's key is an unsigned integer. Keys have the order of the elements for argmax (GREATEST), and the
// reverse order for argmin, so that the greatest key wins. A NaN has the greatest key in both.
template <int bytes> struct Unsigned { typedef unsigned type; };
template <> struct Unsigned<8> { typedef unsigned long long type; };

template <bool GREATEST, class X>
__device__ __forceinline__ typename Unsigned<sizeof(X)>::type order_key(const X &x)
{
    typedef typename Unsigned<sizeof(X)>::type Key;
    const Key key = (Key)x ^ (X(-1) < X(0) ? Key(1) << (8 * sizeof(Key) - 1) : Key(0));
    return GREATEST ? key : ~key;
}

template <bool GREATEST> __device__ __forceinline__ unsigned order_key(bool x) { return x == GREATEST; }

template <bool GREATEST> __device__ __forceinline__ unsigned order_key(float x)
{
    const unsigned bits = __float_as_uint(x + 0.0f); // adding 0 turns -0 into 0
    const unsigned key = bits ^ ((unsigned)((int)bits >> 31) | 0x80000000u);
    return is_nan(x) ? 0xffffffffu : GREATEST ? key : ~key;
}

template <bool GREATEST> __device__ __forceinline__ unsigned long long order_key(double x)
{
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x + 0.0);
    const unsigned long long key = bits ^ ((unsigned long long)((long long)bits >> 63) | 1ull << 63);
    return is_nan(x) ? ~0ull : GREATEST ? key : ~key;
}

// An element's key and its number in the result; number -1, as an unsigned number the largest one, stands for
// no element. Of equal keys that with the lower number is taken.
template <class K> struct Keyed {
    K key;
    index_t number;
};

template <bool GREATEST, class K>
__device__ __forceinline__ Keyed<K> best(const Keyed<K> &a, const Keyed<K> &b)
{
    return b.key > a.key || (b.key == a.key && (unsigned long long)b.number < (unsigned long long)a.number)
               ? b
               : a;
}

// The same for elements that have no key, which are compared themselves. The first NaN is taken before all
// numbers.
template <class X> struct Numbered {
    X x;
    index_t number;
};

// What argmax and argmin of elements of type X keep: `type`, of() an element, none() for no element.
template <class X> struct Best {
    typedef Keyed<typename Unsigned<sizeof(X)>::type> type;
    template <bool GREATEST> static __device__ __forceinline__ type of(const X &x, index_t number)
    {
        return type{order_key<GREATEST>(x), number};
    }
    static __device__ __forceinline__ type none() { return type{0, -1}; }
};

#ifdef PYCUDA_COMPLEX_HPP
template <class R> struct Best<complex<R> > {
    typedef Numbered<complex<R> > type;
    template <bool GREATEST> static __device__ __forceinline__ type of(const complex<R> &x, index_t number)
    {
        return type{x, number};
    }
    static __device__ __forceinline__ type none() { return type{complex<R>(), -1}; }
};
#endif

template <bool GREATEST, class X>
__device__ __forceinline__ Numbered<X> best(const Numbered<X> &a, const Numbered<X> &b)
{
    if (b.number < 0) return a;
    if (a.number < 0) return b;
    bool a_nan = is_nan(a.x), b_nan = is_nan(b.x);
    bool ahead = a_nan ? !b_nan : !b_nan && (GREATEST ? less(b.x, a.x) : less(a.x, b.x));
    bool behind = b_nan ? !a_nan : !a_nan && (GREATEST ? less(a.x, b.x) : less(b.x, a.x));
    return ahead || (!behind && a.number < b.number) ? a : b;
}

// ---- variances, in one pass

// The mean of some elements, the sum of their squared distances from it, and their number, which is rounded
// if R cannot hold it. of(x, false) are the moments of no element, as for one that a mask leaves out.
template <class A, class R> struct Moments {
    A mean;
    R squares, count;
    static __device__ __forceinline__ Moments of(const A &x, bool counts = true)
    {
        return {counts ? x : A(0), R(0), R(counts)};
    }
    static __device__ __forceinline__ Moments none() { return {A(0), R(0), R(0)}; }
};

// The moments of the elements of both (Chan, Golub, LeVeque 1979). Elements are measured from one of them,
// which origin() chooses. No mean is further from it than sqrt(count) standard deviations, so that the
// rounding of means costs few bits of the variance.
template <class A, class R>
__device__ __forceinline__ Moments<A, R> merged(const Moments<A, R> &a, const Moments<A, R> &b)
{
    const R count = a.count + b.count, share = b.count / ::fmax(count, R(1));
    const A delta = b.mean - a.mean;
    return {a.mean + delta * share, a.squares + b.squares + weighted_square(delta, a.count * share), count};
}

// The variance, from the sum of squared distances. Without elements it is 0 / 0, which is NaN, whatever the
// correction.
template <class R> __device__ __forceinline__ R variance(R squares, double count, double correction)
{
    return squares / R(::fmax(count - correction, 0.0));
}

// The variance of the elements that were counted; NaN if they are too few.
template <class A, class R>
__device__ __forceinline__ R variance_of_counted(const Moments<A, R> &a, double correction)
{
    return a.count > correction ? variance(a.squares, a.count, correction) : R(__int_as_float(0x7fc00000));
}

}

#endif
