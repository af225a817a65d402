// Arrays with strides, accessed as if they were C-contiguous: x[k] is element k in C order.
#ifndef PYCUDA_STRIDED_HPP
#define PYCUDA_STRIDED_HPP

extern "C++" {
namespace pycuda {

// One axis: its length, and the constants that divide by it with a multiplication (for numbers below 2^31).
struct axis {
    long long length, magic, shift;
};

// ND axes, the innermost last, in the layout that the host writes.
template <int ND> struct extent {
    axis axes[ND];
};

// The strides of an array along these axes.
template <int ND> struct steps {
    long long bytes[ND];
};

// k / length of an axis. WIDE: whether indices need 64 bits; otherwise they are below 2^31.
template <bool WIDE> struct quotient {
    typedef unsigned index;
    static __device__ __forceinline__ unsigned of(unsigned k, const axis &a)
    {
        return (__umulhi(k, (unsigned)a.magic) + k) >> (unsigned)a.shift;
    }
};

template <> struct quotient<true> {
    typedef unsigned long long index;
    static __device__ __forceinline__ unsigned long long of(unsigned long long k, const axis &a)
    {
        return k / (unsigned long long)a.length;
    }
};

template <class T, int ND, bool WIDE> class strided {
    T *base;
    extent<ND> shape;
    steps<ND> along;

  public:
    __device__ __forceinline__ strided(T *base, const extent<ND> &shape, const steps<ND> &along)
        : base(base), shape(shape), along(along) {}

    __device__ __forceinline__ T &operator[](unsigned long long index) const
    {
        typedef typename quotient<WIDE>::index number;
        number k = (number)index;
        long long bytes = 0;
#pragma unroll
        for (int d = ND - 1; d > 0; d--) {
            const number rest = quotient<WIDE>::of(k, shape.axes[d]);
            bytes += (long long)(k - rest * (number)shape.axes[d].length) * along.bytes[d];
            k = rest;
        }
        return *(T *)((char *)base + bytes + (long long)k * along.bytes[0]);
    }
};

}
}

#endif
