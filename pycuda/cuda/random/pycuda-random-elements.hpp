// The distributions of numpy.random.Generator. A number depends on the seed (the key of Philox), the number
// of the call and the element's index alone. Where a distribution takes a known number of bits, a block of
// Philox makes two doubles or four floats. Otherwise each element has a sequence of blocks of its own, from
// which it may draw as often as it needs.
#ifndef PYCUDA_RANDOM_ELEMENTS_HPP
#define PYCUDA_RANDOM_ELEMENTS_HPP

#include "random/pycuda-random-philox.hpp"

namespace pycuda {

__device__ __forceinline__ u64 joined_words(u32 low, u32 high) { return low | (u64)high << 32; }
// uniform_of() is in [0, 1), unit_of() in (0, 1).
__device__ __forceinline__ double uniform_of(u64 bits) { return (double)(bits >> 11) * 0x1p-53; }
__device__ __forceinline__ double unit_of(u64 bits) { return fma((double)(bits >> 11), 0x1p-53, 0x1p-54); }

// The random bits of one element.
struct element_words {
    u32 key0, key1, call, number; // number: that of the next block
    u64 place, kept;              // the element's index; the second half of the last block
    bool has_kept;                // whether this half has not been used yet

    __device__ __forceinline__ element_words(u32 key0, u32 key1, u32 call, u64 place)
        : key0(key0), key1(key1), call(call), number(0), place(place), has_kept(false)
    {
    }

    // The next 64 bits, half a block.
    __device__ __forceinline__ u64 bits()
    {
        has_kept = !has_kept;
        if (!has_kept) return kept;
        uint4 x = philox(make_uint4((u32)place, (u32)(place >> 32), call, number++), key0, key1);
        kept = joined_words(x.z, x.w);
        return joined_words(x.x, x.y);
    }

    __device__ __forceinline__ double uniform() { return uniform_of(bits()); }
    __device__ __forceinline__ double unit() { return unit_of(bits()); }

    __device__ __forceinline__ double normal()
    {
        double pair[2], angle = 2 * uniform();
        box_muller(unit(), angle, pair);
        return pair[1];
    }

    // The logarithm of a number of the gamma distribution with scale 1 (Marsaglia, Tsang 2000). For a shape
    // below 1 a number with shape + 1 is drawn and multiplied by u to the power 1 / shape, where u is
    // uniform.
    __device__ __forceinline__ double log_gamma_number(double shape)
    {
        double more = 0;
        if (shape < 1) {
            more = log(unit()) / shape;
            shape += 1;
        }
        double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
        for (;;) {
            double x = normal(), v = 1 + c * x, u = unit();
            if (v <= 0) continue;
            v = v * v * v;
            if (log(u) < 0.5 * x * x + d - d * v + d * log(v)) return log(d * v) + more;
        }
    }
};

namespace elements {

// ---- distributions that need a known number of bits: make() takes a block of Philox, placed() parameters

struct Uniform {
    static __device__ __forceinline__ void make(const u32 (&x)[4], double (&v)[2])
    {
        for (int k = 0; k < 2; k++) v[k] = uniform_of(joined_words(x[2 * k], x[2 * k + 1]));
    }
    static __device__ __forceinline__ void make(const u32 (&x)[4], float (&v)[4])
    {
        for (int k = 0; k < 4; k++) v[k] = (float)(x[k] >> 8) * 0x1p-24f;
    }
    template <class T> static __device__ __forceinline__ T placed(T v, T low, T range)
    {
        return low + range * v;
    }
};

struct Normal {
    static __device__ __forceinline__ void make(const u32 (&x)[4], double (&v)[2])
    {
        box_muller(unit_of(joined_words(x[0], x[1])), 2 * uniform_of(joined_words(x[2], x[3])), v);
    }
    static __device__ __forceinline__ void make(const u32 (&x)[4], float (&v)[4])
    {
        const float turn = 0x1p-32f * 6.2831855f;
        for (int k = 0; k < 4; k += 2)
            box_muller(unit_float(x[k]), fmaf((float)x[k + 1], turn, turn / 2), v + k);
    }
    template <class T> static __device__ __forceinline__ T placed(T v, T loc, T scale)
    {
        return loc + scale * v;
    }
};

struct Exponential {
    static __device__ __forceinline__ void make(const u32 (&x)[4], double (&v)[2])
    {
        for (int k = 0; k < 2; k++) v[k] = -log(unit_of(joined_words(x[2 * k], x[2 * k + 1])));
    }
    static __device__ __forceinline__ void make(const u32 (&x)[4], float (&v)[4])
    {
        for (int k = 0; k < 4; k++) v[k] = -log_of_unit(unit_float(x[k]));
    }
    template <class T> static __device__ __forceinline__ T placed(T v, T scale, T) { return scale * v; }
};

// ---- distributions that draw until they accept a number: from() takes the two parameters

struct Gamma {
    static __device__ __forceinline__ double from(element_words &r, double shape, double scale)
    {
        if (!(shape > 0)) return shape == 0 ? 0 : nan("");
        return scale * exp(r.log_gamma_number(shape));
    }
};

struct Beta {
    static __device__ __forceinline__ double from(element_words &r, double a, double b)
    {
        if (!(a > 0 && b > 0)) return nan("");
        double x = r.log_gamma_number(a), y = r.log_gamma_number(b);
        return 1 / (1 + exp(y - x));
    }
};

struct Poisson {
    static __device__ __forceinline__ double from(element_words &r, double mean, double)
    {
        return poisson(r.unit(), mean);
    }
};

// ---- binomial numbers for p <= 1/2

// For small means: by adding probabilities until their sum exceeds a uniform number.
__device__ __forceinline__ double binomial_small(element_words &r, double n, double p)
{
    double odds = p / (1 - p), first = exp(n * log1p(-p)), bound = fmin(n, 110.0);
    for (;;) {
        double u = r.uniform(), each = first, k = 0;
        while (u > each && k <= bound) {
            u -= each;
            k += 1;
            each *= (n - k + 1) / k * odds;
        }
        if (k <= bound) return k;
    }
}

// For means of 10 or more: by transformed rejection (Hormann 1993).
__device__ __forceinline__ double binomial_large(element_words &r, double n, double p)
{
    double root = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * root, a = -0.0873 + 0.0248 * b + 0.01 * p;
    double center = n * p + 0.5, enough = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * root;
    double mode = floor((n + 1) * p), log_odds = log(p / (1 - p));
    double top = lgamma(mode + 1) + lgamma(n - mode + 1);
    for (;;) {
        double v = r.unit(), u = r.unit() - 0.5, side = 0.5 - fabs(u);
        double k = floor((2 * a / side + b) * u + center);
        if (side >= 0.07 && v <= enough) return k;
        if (k < 0 || k > n) continue;
        v = log(v * alpha / (a / (side * side) + b));
        if (v <= top - lgamma(k + 1) - lgamma(n - k + 1) + (k - mode) * log_odds) return k;
    }
}

struct Binomial {
    static __device__ __forceinline__ double from(element_words &r, double n, double p)
    {
        if (!(p > 0) || n <= 0) return 0;
        if (p >= 1) return n;
        double less = p > 0.5 ? 1 - p : p;
        double k = n * less < 10 ? binomial_small(r, n, less) : binomial_large(r, n, less);
        return p > 0.5 ? n - k : k;
    }
};

}

// ---- launches

// Changes the key for each launch of a graph, whose number is in *launch; 0, or a null pointer, leaves it as
// it is.
__device__ __forceinline__ void next_key(const u32 *launch, u32 call, u32 &key0, u32 &key1)
{
    if (!launch || !*launch) return;
    uint4 key = philox(make_uint4(*launch, 0, call, ~0u), key0, key1);
    key0 = key.x;
    key1 = key.y;
}

// Fills an array by distributions that have make(). Block c of Philox makes the EACH elements from c * EACH
// on.
template <class D, class T>
__device__ __forceinline__ void fill_blocks(T *out, index_t count, u32 key0, u32 key1, u32 call,
                                            const u32 *launch, const double *as, double a, const double *bs,
                                            double b)
{
    enum { EACH = 16 / sizeof(T) };
    next_key(launch, call, key0, key1);
    index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t c = (index_t)blockIdx.x * blockDim.x + threadIdx.x; EACH * c < count; c += step) {
        uint4 y = philox(make_uint4((u32)c, (u32)(c >> 32), call, 0), key0, key1);
        u32 x[4] = {y.x, y.y, y.z, y.w};
        T v[EACH];
        D::make(x, v);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            index_t i = EACH * c + k;
            if (i < count) out[i] = D::placed(v[k], (T)(as ? as[i] : a), (T)(bs ? bs[i] : b));
        }
    }
}

// Fills an array by distributions that have from(). The parameters are a and b or, for each element, as[i]
// and bs[i] where these are not null.
template <class D, class T>
__device__ __forceinline__ void fill_elements(T *out, index_t count, u32 key0, u32 key1, u32 call,
                                              const u32 *launch, const double *as, double a, const double *bs,
                                              double b)
{
    next_key(launch, call, key0, key1);
    index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        element_words words(key0, key1, call, (u64)i);
        out[i] = (T)D::from(words, as ? as[i] : a, bs ? bs[i] : b);
    }
}

// Fills an array with integers from low to low + range - 1, without bias (Lemire 2019). A range of 0 stands
// for 2^64.
template <class T>
__device__ __forceinline__ void fill_integers(T *out, index_t count, u32 key0, u32 key1, u32 call,
                                              const u32 *launch, const u64 *lows, u64 low, const u64 *ranges,
                                              u64 range)
{
    next_key(launch, call, key0, key1);
    index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        element_words words(key0, key1, call, (u64)i);
        u64 n = ranges ? ranges[i] : range, x = words.bits(), first = lows ? lows[i] : low;
        if (n && x * n < n)
            for (u64 least = (0 - n) % n; x * n < least;) x = words.bits();
        out[i] = (T)(first + (n ? __umul64hi(x, n) : x));
    }
}

}

#endif
