// MRG32k3a (L'Ecuyer 1999): the difference of two linear recurrences modulo primes below 2^32.
#ifndef PYCUDA_RANDOM_MRG32K3A_HPP
#define PYCUDA_RANDOM_MRG32K3A_HPP

#include "pycuda-random.hpp"

namespace pycuda {

#define PYCUDA_MRG_1 4294967087u
#define PYCUDA_MRG_2 4294944443u

// 2^32 is a small number modulo M: the upper half of x times that number comes to the lower half. Twice is
// enough for every x, once for x below 2^53 and the first modulus.
template <u32 M, int FOLDS = 2> __device__ __forceinline__ u32 modulo(u64 x)
{
#pragma unroll
    for (int k = 0; k < FOLDS; k++) x = (x >> 32) * (0u - M) + (u32)x;
    return (u32)(x >= M ? x - M : x);
}

template <u32 M> __device__ __forceinline__ void product(const u32 *matrix, u32 (&s)[3])
{
    u32 sum[3];
#pragma unroll
    for (int row = 0; row < 3; row++) {
        u64 x = 0;
#pragma unroll
        for (int k = 0; k < 3; k++) x += modulo<M>((u64)matrix[3 * row + k] * s[k]);
        sum[row] = modulo<M>(x);
    }
#pragma unroll
    for (int k = 0; k < 3; k++) s[k] = sum[k];
}

struct mrg32k3a_generator {
    enum { jumps_freely = 0 };
    u32 a[3], b[3];

    // How a seed becomes a state is cuRAND's.
    __device__ __forceinline__ void seed(u64 number)
    {
        u32 low = (u32)number ^ 0x55555555u, high = (u32)(number >> 32) ^ 0xaaaaaaaau;
#pragma unroll
        for (int k = 0; k < 3; k++) {
            u32 even = k % 2 ? high : low, odd = k % 2 ? low : high;
            a[k] = number ? modulo<PYCUDA_MRG_1>(12345ull * even) : 12345u;
            b[k] = number ? modulo<PYCUDA_MRG_2>(12345ull * odd) : 12345u;
        }
    }

    __device__ __forceinline__ void load(const u32 *at, u32 step)
    {
#pragma unroll
        for (int k = 0; k < 3; k++) a[k] = at[k * step], b[k] = at[(3 + k) * step];
    }

    __device__ __forceinline__ void save(u32 *at, u32 step) const
    {
#pragma unroll
        for (int k = 0; k < 3; k++) at[k * step] = a[k], at[(3 + k) * step] = b[k];
    }

    // One pair of matrices for the whole way when bits is 0; else a pair for each bit of n.
    __device__ __forceinline__ void jump(const u32 *matrices, int bits, u64 n, int)
    {
#pragma unroll 1
        for (int k = 0; k < (bits ? bits : 1); k++)
            if (!bits || n >> k & 1) {
                product<PYCUDA_MRG_1>(matrices + 18 * k, a);
                product<PYCUDA_MRG_2>(matrices + 18 * k + 9, b);
            }
    }

    // 1 ... PYCUDA_MRG_1
    __device__ __forceinline__ u32 next()
    {
        u32 p = modulo<PYCUDA_MRG_1, 1>(1403580ull * a[1] + 810728ull * (PYCUDA_MRG_1 - a[0]));
        a[0] = a[1], a[1] = a[2], a[2] = p;
        u32 q = modulo<PYCUDA_MRG_2>(527612ull * b[2] + 1370589ull * (PYCUDA_MRG_2 - b[0]));
        b[0] = b[1], b[1] = b[2], b[2] = q;
        return p - q + (p <= q ? PYCUDA_MRG_1 : 0u);
    }

    // cuRAND's constants: 1 / (modulus + 1), and one that stretches outputs to 32 bits.
    __device__ __forceinline__ double unit() { return next() * 2.3283065498378288e-10; }

    __device__ __forceinline__ void raw(u32 (&v)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = (u32)(next() * 1.000000048662);
    }

    template <class T> __device__ __forceinline__ void uniform(T (&v)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = (T)unit();
    }

    __device__ __forceinline__ void normal(float (&v)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; k += 2) {
            float u = (float)unit();
            box_muller(u, (float)unit() * 6.2831855f, v + k);
        }
    }

    __device__ __forceinline__ void normal(double (&v)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; k += 2) {
            double u = unit();
            box_muller(u, unit() * 2.0, v + k);
        }
    }
};

}

#endif
