// MRG32k3a (L'Ecuyer 1999): the difference of two linear recurrences modulo primes below 2^32.
#ifndef PYCUDA_RANDOM_MRG32K3A_HPP
#define PYCUDA_RANDOM_MRG32K3A_HPP

#include "random/pycuda-random.hpp"

namespace pycuda {

#define PYCUDA_MRG_1 4294967087u
#define PYCUDA_MRG_2 4294944443u

// x modulo M. As 2^32 modulo M is small, the upper half of x is multiplied by it and added to the lower half.
// Two rounds of this suffice for every x; one suffices for x below 2^53 and the first modulus.
template <u32 M, int FOLDS = 2> __device__ __forceinline__ u32 modulo(u64 x)
{
#pragma unroll
    for (int k = 0; k < FOLDS; k++) x = (x >> 32) * (0u - M) + (u32)x;
    return (u32)(x >= M ? x - M : x);
}

// s becomes the matrix, of 3 x 3, times s, modulo M.
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

// The next number of a recurrence, x[n] = A * x[n - 3 + K] - B * x[n - 3] modulo M. It is computed exactly,
// in doubles on GPUs that have half as many units for doubles as for floats, where integers take twice as
// long; elsewhere in integers.
#if __CUDA_ARCH__ == 600 || __CUDA_ARCH__ == 700 || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || \
    __CUDA_ARCH__ == 1000
typedef double mrg_number;

template <u32 M, u32 A, u32 B, int K> __device__ __forceinline__ double following(const double (&x)[3])
{
    // The sum is below 2^53. The nearest multiple of M is subtracted from it; adding `whole` rounds the
    // quotient to an integer.
    const double whole = 0x1.8p52;
    double sum = fma(-(double)B, x[0], __dmul_rn((double)A, x[K]));
    double multiple = __dsub_rn(fma(sum, 1.0 / M, whole), whole);
    double rest = fma(-multiple, (double)M, sum);
    return __double2hiint(rest) < 0 ? rest + M : rest;
}
#else
typedef u32 mrg_number;

template <u32 M, u32 A, u32 B, int K> __device__ __forceinline__ u32 following(const u32 (&x)[3])
{
    return modulo<M, M == PYCUDA_MRG_1 ? 1 : 2>((u64)A * x[K] + (u64)B * (M - x[0]));
}
#endif

template <u32 M, u32 A, u32 B, int K> struct mrg_recurrence {
    mrg_number x[3];

    __device__ __forceinline__ mrg_number next()
    {
        mrg_number y = following<M, A, B, K>(x);
        x[0] = x[1], x[1] = x[2], x[2] = y;
        return y;
    }

    __device__ __forceinline__ void load(const u32 *at, u32 step)
    {
#pragma unroll
        for (int k = 0; k < 3; k++) x[k] = at[k * step];
    }

    __device__ __forceinline__ void save(u32 *at, u32 step) const
    {
#pragma unroll
        for (int k = 0; k < 3; k++) at[k * step] = (u32)x[k];
    }

    __device__ __forceinline__ void multiply(const u32 *matrix)
    {
        u32 s[3];
        save(s, 1);
        product<M>(matrix, s);
        load(s, 1);
    }
};

struct mrg32k3a_generator {
    enum { jumps_freely = 0 };
    static __device__ __forceinline__ bool at_group() { return true; }
    mrg_recurrence<PYCUDA_MRG_1, 1403580, 810728, 1> a;
    mrg_recurrence<PYCUDA_MRG_2, 527612, 1370589, 2> b;

    // Makes the state of a seed as cuRAND does.
    __device__ __forceinline__ void seed(u64 number)
    {
        u32 low = (u32)number ^ 0x55555555u, high = (u32)(number >> 32) ^ 0xaaaaaaaau;
#pragma unroll
        for (int k = 0; k < 3; k++) {
            u32 even = k % 2 ? high : low, odd = k % 2 ? low : high;
            a.x[k] = number ? modulo<PYCUDA_MRG_1>(12345ull * even) : 12345u;
            b.x[k] = number ? modulo<PYCUDA_MRG_2>(12345ull * odd) : 12345u;
        }
    }

    __device__ __forceinline__ void load(const u32 *at, u32 step)
    {
        a.load(at, step);
        b.load(at + 3 * step, step);
    }

    __device__ __forceinline__ void save(u32 *at, u32 step) const
    {
        a.save(at, step);
        b.save(at + 3 * step, step);
    }

    // Jumps by the one pair of matrices if bits is 0, otherwise by a pair for each bit of n that is 1.
    __device__ __forceinline__ void jump(const u32 *matrices, int bits, u64 n, int)
    {
#pragma unroll 1
        for (int k = 0; k < (bits ? bits : 1); k++)
            if (!bits || n >> k & 1) {
                a.multiply(matrices + 18 * k);
                b.multiply(matrices + 18 * k + 9);
            }
    }

    // The next output, from 1 to PYCUDA_MRG_1.
    __device__ __forceinline__ mrg_number next()
    {
        mrg_number p = a.next(), q = b.next();
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
