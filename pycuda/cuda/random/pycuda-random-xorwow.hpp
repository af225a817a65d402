// XORWOW (Marsaglia 2003): a linear recurrence of 160 bits, plus a counter.
#ifndef PYCUDA_RANDOM_XORWOW_HPP
#define PYCUDA_RANDOM_XORWOW_HPP

#include "random/pycuda-random.hpp"

namespace pycuda {

struct xorwow_words {
    enum { jumps_freely = 0 };
    static __device__ __forceinline__ bool at_group() { return true; }
    u32 v[5], d;

    // Makes the state of a seed as cuRAND does.
    __device__ __forceinline__ void seed(u64 number)
    {
        u32 low = 1099087573u * ((u32)number ^ 0xaad26b49u);
        u32 high = 2591861531u * ((u32)(number >> 32) ^ 0xf7dcefddu);
        v[0] = 123456789u + low;
        v[1] = 362436069u ^ low;
        v[2] = 521288629u + high;
        v[3] = 88675123u ^ high;
        v[4] = 5783321u + low;
        d = 6615241u + high + low;
    }

    __device__ __forceinline__ void load(const u32 *at, u32 step)
    {
#pragma unroll
        for (int k = 0; k < 5; k++) v[k] = at[k * step];
        d = at[5 * step];
    }

    __device__ __forceinline__ void save(u32 *at, u32 step) const
    {
#pragma unroll
        for (int k = 0; k < 5; k++) at[k * step] = v[k];
        at[5 * step] = d;
    }

    // Multiplies the state by a matrix, which has the image of each of the 160 bits, in five words.
    __device__ __forceinline__ void times(const u32 *matrix)
    {
        u32 sum[5] = {};
#pragma unroll 1
        for (int k = 0; k < 5; k++) {
            u32 word = v[0]; // the words rotate: a dynamic index would place them in local memory
            v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
#pragma unroll 4
            for (int bit = 0; bit < 32; bit++, matrix += 5) {
                u32 mask = 0u - (word >> bit & 1u);
#pragma unroll
                for (int j = 0; j < 5; j++) sum[j] ^= mask & matrix[j];
            }
        }
#pragma unroll
        for (int k = 0; k < 5; k++) v[k] = sum[k];
    }

    // Jumps by the one matrix if bits is 0. Otherwise there is a matrix for each nonzero value of each
    // hexadecimal digit of n. A sequence is 2^67 steps, after which the counter has its first value again.
    __device__ __forceinline__ void jump(const u32 *matrices, int bits, u64 n, int kind)
    {
        if (kind == STEPS) d += 362437u * (u32)n;
        if (bits == 0) bits = 4, n = 1;
#pragma unroll 1
        for (int k = 0; k < bits; k += 4, n >>= 4, matrices += 15 * 800)
            if (n & 15) times(matrices + 800 * ((n & 15) - 1));
    }

    __device__ __forceinline__ u32 next()
    {
        u32 t = v[0] ^ v[0] >> 2;
        v[0] = v[1];
        v[1] = v[2];
        v[2] = v[3];
        v[3] = v[4];
        v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
        d += 362437u;
        return v[4] + d;
    }

    __device__ __forceinline__ void words(u32 (&x)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; k++) x[k] = next();
    }
};

typedef from_words<xorwow_words> xorwow_generator;

}

#endif
