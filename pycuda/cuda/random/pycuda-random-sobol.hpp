// Sobol's sequences: number i of a dimension is the sum, modulo 2, of the dimension's direction vectors for
// the bits of i's Gray code.
//
// Element e of an array belongs to dimension e % SOBOL_DIMENSIONS. A thread has four neighboring dimensions
// and every SOBOL_POINTS-th point of them. From one of its points to the next only two bits of the Gray code
// change: bit SOBOL_LOG_POINTS - 1 and one above it.
#ifndef PYCUDA_RANDOM_SOBOL_HPP
#define PYCUDA_RANDOM_SOBOL_HPP

#include "random/pycuda-random.hpp"

namespace pycuda {

enum { SOBOL_DIMENSIONS = 256, SOBOL_LOG_POINTS = 10, SOBOL_POINTS = 1 << SOBOL_LOG_POINTS };

// ---- from an output to a number

__device__ __forceinline__ float normal_float(u32 x)
{
    bool upper = x > 0x80000000u;
    float p = unit_float(upper ? 0xffffffffu - x : x);
    return (upper ? 1.4142135f : -1.4142135f) * erfcinvf(2.0f * p);
}

struct sobol_number32 {
    u32 x;
    __device__ __forceinline__ void raw(u32 &v) const { v = x; }
    __device__ __forceinline__ void uniform(float &v) const { v = unit_float(x); }
    __device__ __forceinline__ void uniform(double &v) const { v = fma((double)x, 0x1p-32, 0x1p-32); }
    __device__ __forceinline__ void normal(float &v) const { v = normal_float(x); }
    __device__ __forceinline__ void normal(double &v) const
    {
        bool upper = x > 0x80000000u;
        double p = fma((double)(upper ? 0xffffffffu - x : x), 0x1p-32, 0x1p-33);
        v = (upper ? 1.4142135623730951 : -1.4142135623730951) * erfcinv(2.0 * p);
    }
};

struct sobol_number64 {
    u64 x;
    __device__ __forceinline__ void raw(u32 &v) const { v = (u32)(x >> 32); }
    __device__ __forceinline__ void raw(u64 &v) const { v = x; }
    __device__ __forceinline__ void uniform(float &v) const { v = unit_float((u32)(x >> 32)); }
    __device__ __forceinline__ void uniform(double &v) const { v = unit_double(x >> 11); }
    __device__ __forceinline__ void normal(float &v) const { v = normal_float((u32)(x >> 32)); }
    __device__ __forceinline__ void normal(double &v) const
    {
        u64 y = x >> 11;
        bool upper = y > 0x10000000000000ull;
        double p = unit_double(upper ? 0x1fffffffffffffull - y : y);
        v = (upper ? 1.4142135623730951 : -1.4142135623730951) * erfcinv(2.0 * p);
    }
};

struct sobol32 {
    typedef u32 word;
    typedef sobol_number32 number;
    static __device__ __forceinline__ int zeros(u32 x) { return __ffs(x) - 1; }
};
struct sobol64 {
    typedef u64 word;
    typedef sobol_number64 number;
    static __device__ __forceinline__ int zeros(u64 x) { return __ffsll(x) - 1; }
};

// ---- four dimensions

template <class S> struct sobol_quad {
    typedef typename S::word word;
    enum { bits = 8 * sizeof(word) };
    word index[4], x[4], low[4];
    const word *vectors; // of the first dimension; those of the next bit are SOBOL_DIMENSIONS words further

    // The vectors of the four dimensions for a bit. Their address is a multiple of their size, so that memcpy
    // becomes one wide load.
    __device__ __forceinline__ void row(int bit, word (&v)[4]) const
    {
        const uint4 *from = (const uint4 *)(vectors + bit * SOBOL_DIMENSIONS);
        uint4 moved[sizeof(word) / 4];
#pragma unroll
        for (int k = 0; k < (int)sizeof(word) / 4; k++) moved[k] = from[k];
        memcpy(v, moved, sizeof(v));
    }

    // Whether the four dimensions are at the same index.
    __device__ __forceinline__ bool have_one_index() const
    {
        return index[0] == index[1] && index[0] == index[2] && index[0] == index[3];
    }

    __device__ __forceinline__ void begin(const word *directions, const word *scramble, const u64 *indices,
                                          u32 dimension, u32 point)
    {
        vectors = directions + dimension;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            index[k] = (word)indices[dimension + k] + point;
            x[k] = scramble ? scramble[dimension + k] : 0;
        }
        row(SOBOL_LOG_POINTS - 1, low);
        word used = (index[0] ^ index[0] >> 1) | (index[1] ^ index[1] >> 1) | (index[2] ^ index[2] >> 1) |
                    (index[3] ^ index[3] >> 1);
        for (int bit = 0; bit < bits && used >> bit; bit++) {
            word v[4];
            row(bit, v);
#pragma unroll
            for (int k = 0; k < 4; k++) x[k] ^= v[k] & ((word)0 - ((index[k] ^ index[k] >> 1) >> bit & 1));
        }
    }

    // The bit of the Gray code above SOBOL_LOG_POINTS - 1 that changes from this index to the thread's next
    // one.
    static __device__ __forceinline__ int flipped(word index)
    {
        int zeros = S::zeros(~(index >> SOBOL_LOG_POINTS));
        return min(SOBOL_LOG_POINTS + zeros, bits - 1); // after the last number comes the first
    }

    __device__ __forceinline__ void next()
    {
        word v[4];
        if (have_one_index()) {
            row(flipped(index[0]), v);
        } else {
#pragma unroll
            for (int k = 0; k < 4; k++) v[k] = vectors[flipped(index[k]) * SOBOL_DIMENSIONS + k];
        }
#pragma unroll
        for (int k = 0; k < 4; k++) x[k] ^= v[k] ^ low[k], index[k] += SOBOL_POINTS;
    }
};

template <class S, class T, class D>
__device__ __forceinline__ void fill_sobol(const u64 *indices, const typename S::word *directions,
                                           const typename S::word *scramble, T *out, index_t count, double a,
                                           double b)
{
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    u32 dimension = 4 * (thread % (SOBOL_DIMENSIONS / 4)), point = thread / (SOBOL_DIMENSIONS / 4);
    index_t e = (index_t)point * SOBOL_DIMENSIONS + dimension;
    if (e >= count) return;
    sobol_quad<S> quad;
    quad.begin(directions, scramble, indices, dimension, point);
    index_t fours = in_fours(out, count);
    for (; e < count; e += (index_t)SOBOL_POINTS * SOBOL_DIMENSIONS) {
        T v[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            typename S::number number = {quad.x[k]};
            v[k] = D::from(number, D::reads && e + k < count ? out[e + k] : T(), a, b);
        }
        if (e < fours)
            store_four(out + e, v);
        else
            store_some(out + e, v, count - e);
        quad.next();
    }
}

// Advances each dimension by the numbers that an array of `count` elements has taken.
__device__ __forceinline__ void advance_sobol(u64 *indices, index_t count)
{
    index_t d = threadIdx.x;
    if (d < count) indices[d] += (count - d + SOBOL_DIMENSIONS - 1) / SOBOL_DIMENSIONS;
}

__device__ __forceinline__ void skip_sobol(u64 *indices, const u64 *times, u64 time)
{
    indices[threadIdx.x] += times ? times[threadIdx.x] : time;
}

}

#endif
