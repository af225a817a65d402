// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011): the output is a function of a counter and a key.
#ifndef PYCUDA_RANDOM_PHILOX_HPP
#define PYCUDA_RANDOM_PHILOX_HPP

#include "random/pycuda-random.hpp"

namespace pycuda {

__device__ __forceinline__ uint4 philox(uint4 counter, u32 key0, u32 key1)
{
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u64 x = (u64)counter.x * 0xd2511f53u, z = (u64)counter.z * 0xcd9e8d57u;
        u32 high = (u32)(z >> 32) ^ counter.y ^ key0, low = (u32)(x >> 32) ^ counter.w ^ key1;
        counter = make_uint4(high, (u32)z, low, (u32)x);
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return counter;
}

// A generator by Philox: the key is the seed; the upper half of the counter is the number of the sequence,
// the lower half the position in the sequence divided by 4.
struct philox_words {
    enum { jumps_freely = 1 };
    u32 key0, key1, shift; // shift: how many outputs of the next block were used already
    u64 sequence, number;  // number: that of the next block

    __device__ __forceinline__ void seed(u64 number)
    {
        key0 = (u32)number;
        key1 = (u32)(number >> 32);
        sequence = 0;
        go_to(0);
    }

    __device__ __forceinline__ void load(const u32 *at, u32 step)
    {
        key0 = at[0];
        key1 = at[step];
        sequence = at[2 * step] | (u64)at[3 * step] << 32;
        go_to(at[4 * step] | (u64)at[5 * step] << 32);
    }

    __device__ __forceinline__ void save(u32 *at, u32 step) const
    {
        at[0] = key0;
        at[step] = key1;
        at[2 * step] = (u32)sequence;
        at[3 * step] = (u32)(sequence >> 32);
        u64 place = here();
        at[4 * step] = (u32)place;
        at[5 * step] = (u32)(place >> 32);
    }

    __device__ __forceinline__ void jump(const u32 *, int, u64 n, int kind)
    {
        if (kind == STEPS)
            go_to(here() + n);
        else
            sequence += n;
    }

    __device__ __forceinline__ u64 here() const { return 4 * number + shift; }
    __device__ __forceinline__ void go_to(u64 place)
    {
        number = place / 4;
        shift = place % 4;
    }

    __device__ __forceinline__ bool at_group() const { return shift == 0; }

    __device__ __forceinline__ uint4 block(u64 number) const
    {
        uint4 counter = make_uint4((u32)number, (u32)(number >> 32), (u32)sequence, (u32)(sequence >> 32));
        return philox(counter, key0, key1);
    }

    __device__ __forceinline__ void words(u32 (&v)[4])
    {
        uint4 x = block(number++);
        if (shift) {
            uint4 y = block(number);
            if (shift & 1) x = make_uint4(x.y, x.z, x.w, y.x), y = make_uint4(y.y, y.z, y.w, 0);
            if (shift & 2) x = make_uint4(x.z, x.w, y.x, y.y);
        }
        v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
    }
};

typedef from_words<philox_words> philox_generator;

// ---- rand(): one sequence for the whole array, of which each counter gives 16 bytes

struct Bits {
    static __device__ __forceinline__ uint4 from(uint4 x) { return x; }
};

// Numbers in [0, 1), of as many bits as can be converted without rounding up to 1.
struct Float {
    static __device__ __forceinline__ u32 one(u32 x) { return __float_as_uint((float)(x >> 8) * 0x1p-24f); }
    static __device__ __forceinline__ uint4 from(uint4 x)
    {
        return make_uint4(one(x.x), one(x.y), one(x.z), one(x.w));
    }
};

struct Double {
    static __device__ __forceinline__ u64 one(u32 x, u32 y)
    {
        return __double_as_longlong((double)(((u64)y << 32 | x) >> 11) * 0x1p-53);
    }
    static __device__ __forceinline__ uint4 from(uint4 x)
    {
        u64 a = one(x.x, x.y), b = one(x.z, x.w);
        return make_uint4((u32)a, (u32)(a >> 32), (u32)b, (u32)(b >> 32));
    }
};

struct Half {
    // A multiple of 2^-11, which float16 holds exactly. It is computed as a float, whose bits are then those
    // of the float16 but for the bias of the exponent.
    static __device__ __forceinline__ u32 one(u32 x)
    {
        u32 bits = __float_as_uint((float)(x >> 5) * 0x1p-11f);
        return bits ? (bits >> 13) - (112 << 10) : 0;
    }
    static __device__ __forceinline__ u32 two(u32 x) { return one(x & 0xffff) | one(x >> 16) << 16; }
    static __device__ __forceinline__ uint4 from(uint4 x)
    {
        return make_uint4(two(x.x), two(x.y), two(x.z), two(x.w));
    }
};

enum { RAND_THREADS = 256, RAND_EACH = 4 };

// Fills an array of `bytes` bytes whose address is a multiple of 16. Each value of `round` gives different
// numbers.
template <class D>
__device__ __forceinline__ void rand(unsigned char *out, index_t bytes, u32 key0, u32 key1, u32 round = 0)
{
    index_t tile = (index_t)blockIdx.x * (RAND_THREADS * RAND_EACH), c = tile + threadIdx.x;
    if (16 * (tile + RAND_THREADS * RAND_EACH) <= bytes) {
        uint4 x[RAND_EACH];
#pragma unroll
        for (int k = 0; k < RAND_EACH; k++) {
            index_t counter = c + k * RAND_THREADS;
            x[k] = D::from(philox(make_uint4((u32)counter, (u32)(counter >> 32), round, 0), key0, key1));
        }
#pragma unroll
        for (int k = 0; k < RAND_EACH; k++) ((uint4 *)out)[c + k * RAND_THREADS] = x[k];
        return;
    }
    // The last block of an array.
#pragma unroll 1
    for (; 16 * c < bytes; c += RAND_THREADS) {
        uint4 x = D::from(philox(make_uint4((u32)c, (u32)(c >> 32), round, 0), key0, key1));
        unsigned char raw[16];
        memcpy(raw, &x, 16);
        for (int b = 0; b < 16; b++)
            if (16 * c + b < bytes) out[16 * c + b] = raw[b];
    }
}

}

#endif
