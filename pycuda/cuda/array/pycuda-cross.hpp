// Vector products along an axis of three elements, or two, in NumPy's steps. It must be compiled without
// fused multiply-adds, as both products are rounded before their difference is.
#ifndef PYCUDA_CROSS_HPP
#define PYCUDA_CROSS_HPP

#include "base/pycuda-elements.hpp"

namespace pycuda {

enum { CROSS_THREADS = 256 };

// `count` pairs of vectors. steps: bytes from one component to the next in each array; axes: where vectors
// begin.
template <int D> struct Vectors {
    index_t count, steps[2];
    Axes<D> axes;
};

// A computed value rounded to the stored type T.
template <class T, class C> __device__ __forceinline__ C rounded(const C &x)
{
    T stored;
    put(stored, x);
    return value(stored);
}

template <class C> __device__ __forceinline__ C product_of(const C &a, const C &b) { return C(a * b); }
#ifdef PYCUDA_COMPLEX_HPP
template <class R> __device__ __forceinline__ complex<R> product_of(const complex<R> &a, const complex<R> &b)
{
    return product(a, b);
}
#endif

// Loads the N components of a vector.
template <int N, class T, class C>
__device__ __forceinline__ void load_components(C (&to)[3], const char *from, index_t step)
{
#pragma unroll
    for (int n = 0; n < N; n++) to[n] = value(*(const T *)(from + n * step));
}

// to = a[I] * b[J] - a[J] * b[I]. A product is left out if a vector of two components lacks a factor of it.
template <class T, class C, int NA, int NB, int I, int J>
__device__ __forceinline__ void difference(T &to, const C (&a)[3], const C (&b)[3])
{
    if (I < NA && J < NB && J < NA && I < NB)
        put(to, C(rounded<T>(product_of(a[I], b[J])) - rounded<T>(product_of(a[J], b[I]))));
    else if (I < NA && J < NB)
        put(to, product_of(a[I], b[J]));
    else
        put(to, C(-rounded<T>(product_of(a[J], b[I]))));
}

// The vector products. Their components are contiguous; a block collects its results in shared memory and
// stores them together.
template <class T, class C, int NA, int NB, int D>
__device__ __forceinline__ void cross(const char *a, const char *b, T *out, const Vectors<D> &plan)
{
    enum { N = NA == 2 && NB == 2 ? 1 : 3 };
    __shared__ __align__(16) unsigned char raw[CROSS_THREADS * N * sizeof(T)];
    T *const results = (T *)raw + threadIdx.x * N;
    const index_t first = (index_t)blockIdx.x * CROSS_THREADS;
    if (first + threadIdx.x < plan.count) {
        const Place at = place<D>(plan.axes, first + threadIdx.x);
        C left[3], right[3];
        load_components<NA, T>(left, a + at.offset, plan.steps[0]);
        load_components<NB, T>(right, b + at.other, plan.steps[1]);
        difference<T, C, NA, NB, 0, 1>(results[N - 1], left, right);
        if (N == 3) {
            difference<T, C, NA, NB, 1, 2>(results[0], left, right);
            difference<T, C, NA, NB, 2, 0>(results[1 % N], left, right);
        }
    }
    __syncthreads();
    const index_t count = min(plan.count - first, (index_t)CROSS_THREADS) * N;
    for (index_t k = threadIdx.x; k < count; k += CROSS_THREADS) out[first * N + k] = ((const T *)raw)[k];
}

}

#endif
