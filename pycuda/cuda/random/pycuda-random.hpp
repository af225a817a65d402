// From random bits to numbers of a distribution, and how a launch divides an array among generators.
//
// A generator produces groups of four outputs. Group c of an array belongs to generator c % generators, so an
// element's value depends on its index alone, not on the device or the shape of the launch. Values are the
// same bit for bit as those of cuRAND's device interface.
#ifndef PYCUDA_RANDOM_HPP
#define PYCUDA_RANDOM_HPP

namespace pycuda {

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long index_t;

// ---- one number from one output

// A number in (0, 1]: the middle of one of 2^32 intervals, rounded.
__device__ __forceinline__ float unit_float(u32 x) { return fmaf((float)x, 0x1p-32f, 0x1p-33f); }

// unit_double() is a number in (0, 1) of 53 bits from two outputs.
__device__ __forceinline__ u64 joined(u32 x, u32 y) { return (u64)x ^ ((u64)y << 21); }
__device__ __forceinline__ double unit_double(u64 bits) { return fma((double)bits, 0x1p-53, 0x1p-54); }

// ---- normal numbers, two at a time: the method of Box and Muller

// Logarithm and square root with the bits of logf() and sqrtf(), without their special cases: u is a normal
// number in (0, 1], x is -0 or in [2^-24, 2^6].
__device__ __forceinline__ float log_of_unit(float u)
{
    // u = m * 2^e, m in [2/3, 4/3)
    int bits = __float_as_int(u), e = (bits - 0x3f2aaaab) & 0xff800000;
    float m = __int_as_float(bits - e), f = m - 1.0f, r = -0.13018857f;
    r = fmaf(r, f, 0.1408461f);
    r = fmaf(r, f, -0.12148628f);
    r = fmaf(r, f, 0.1398061f);
    r = fmaf(r, f, -0.16684236f);
    r = fmaf(r, f, 0.200123f);
    r = fmaf(r, f, -0.24999669f);
    r = fmaf(r, f, 0.33333182f);
    r = fmaf(r, f, -0.5f);
    r = fmaf(__fmul_rn(r, f), f, f);
    return fmaf(__fmul_rn((float)e, 0x1p-23f), 0.6931472f, r);
}

// sqrtf(x), with the same bits.
__device__ __forceinline__ float root_of(float x)
{
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    float root = __fmul_rn(x, inverse);
    root = fmaf(fmaf(-root, root, x), __fmul_rn(inverse, 0.5f), root);
    return x > 0 ? root : x;
}

// Sets `pair` to two independent normal numbers. u is uniform in (0, 1], the angle uniform in radians.
__device__ __forceinline__ void box_muller(float u, float angle, float *pair)
{
    float radius = root_of(-2.0f * log_of_unit(u));
    __sincosf(angle, pair, pair + 1);
    pair[0] *= radius;
    pair[1] *= radius;
}

// The same in doubles. The angle is in half turns.
__device__ __forceinline__ void box_muller(double u, double angle, double *pair)
{
    double radius = sqrt(-2.0 * log(u));
    sincospi(angle, pair, pair + 1);
    pair[0] *= radius;
    pair[1] *= radius;
}

// ---- Poisson numbers: the inverse of the distribution function of one uniform number

// For large means (Giles 2016): a normal number, corrected for the skewness and kurtosis of the distribution.
__device__ __forceinline__ double poisson_large(double u, double mean)
{
    double w = normcdfinv(u), w2 = w * w, root = sqrt(mean);
    double x = mean + root * w + (1.0 / 3 + w2 / 6);
    x += (-1.0 / 36 - w2 / 72) * w / root;
    x += (-8.0 / 405 + (7.0 / 810 + w2 / 270) * w2) / mean;
    return fmax(floor(x), 0.0);
}

// For means below POISSON_LARGE_MEAN the probabilities of 0, 1, 2 and so on are added until their sum reaches
// u. Those of counts above POISSON_MAX_COUNT are too small to change the sum.
enum { POISSON_LARGE_MEAN = 64, POISSON_MAX_COUNT = 512 };

__device__ __forceinline__ double poisson(double u, double mean)
{
    if (!(mean > 0) || isinf(mean)) return 0;
    u = fmin(u, 1 - 0x1p-53);
    if (mean >= POISSON_LARGE_MEAN) return poisson_large(u, mean);
    double count = 0, each = exp(-mean), sum = each;
    while (u > sum && count < POISSON_MAX_COUNT) {
        count += 1;
        each *= mean / count;
        sum += each;
    }
    return count;
}

// ---- generators whose outputs are 32 random bits: G has words(), the next four of them

template <class G> struct from_words : G {
    __device__ __forceinline__ void raw(u32 (&v)[4]) { this->words(v); }

    __device__ __forceinline__ void uniform(float (&v)[4])
    {
        u32 x[4];
        this->words(x);
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = unit_float(x[k]);
    }

    __device__ __forceinline__ void uniform(double (&v)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; k += 2) {
            u32 x[4];
            this->words(x);
            v[k] = unit_double(joined(x[0], x[1]));
            v[k + 1] = unit_double(joined(x[2], x[3]));
        }
    }

    __device__ __forceinline__ void normal(float (&v)[4])
    {
        u32 x[4];
        this->words(x);
        const float turn = 0x1p-32f * 6.2831855f;
#pragma unroll
        for (int k = 0; k < 4; k += 2)
            box_muller(unit_float(x[k]), fmaf((float)x[k + 1], turn, turn / 2), v + k);
    }

    __device__ __forceinline__ void normal(double (&v)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; k += 2) {
            u32 x[4];
            this->words(x);
            double angle = fma((double)joined(x[2], x[3]), 0x1p-52, 0x1p-53);
            box_muller(unit_double(joined(x[0], x[1])), angle, v + k);
        }
    }
};

// ---- distributions: draw() makes four numbers by a generator of groups, from() one by other generators

// reads: whether the array's old elements are arguments. outputs: the outputs of 32 bits that a number takes.

// A distribution whose numbers are made by a member function of the generator.
#define PYCUDA_DRAWN(Name, function) \
    struct Name { \
        enum { reads = 0, outputs = 1 }; \
        template <class G, class T> \
        static __device__ __forceinline__ void draw(G &r, T (&v)[4], double, double) \
        { \
            r.function(v); \
        } \
        template <class G, class T> \
        static __device__ __forceinline__ T from(const G &r, T, double, double) \
        { \
            T v; \
            r.function(v); \
            return v; \
        } \
    };
PYCUDA_DRAWN(Raw, raw)
PYCUDA_DRAWN(Uniform, uniform)
PYCUDA_DRAWN(Normal, normal)
#undef PYCUDA_DRAWN

// The log-normal number that belongs to the normal number v.
__device__ __forceinline__ float log_normal_of(float v, double mean, double stddev)
{
    return expf(fmaf((float)stddev, v, (float)mean));
}
__device__ __forceinline__ double log_normal_of(double v, double mean, double stddev)
{
    return exp(fma(stddev, v, mean));
}

struct LogNormal {
    enum { reads = 0, outputs = 1 };
    template <class G, class T>
    static __device__ __forceinline__ void draw(G &r, T (&v)[4], double mean, double stddev)
    {
        r.normal(v);
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = log_normal_of(v[k], mean, stddev);
    }
    template <class G, class T>
    static __device__ __forceinline__ T from(const G &r, T, double mean, double stddev)
    {
        T v;
        r.normal(v);
        return log_normal_of(v, mean, stddev);
    }
};

struct Poisson {
    enum { reads = 0, outputs = 2 };
    template <class G, class T>
    static __device__ __forceinline__ void draw(G &r, T (&v)[4], double mean, double)
    {
        double u[4];
        r.uniform(u);
#pragma unroll 1
        for (int k = 0; k < 4; k++) v[k] = (T)poisson(u[k], mean);
    }
    template <class G, class T> static __device__ __forceinline__ T from(const G &r, T, double mean, double)
    {
        double u;
        r.uniform(u);
        return (T)poisson(u, mean);
    }
};

// Each element of the array is the mean of the Poisson number that replaces it.
struct PoissonEach {
    enum { reads = 1, outputs = 2 };
    template <class G, class T> static __device__ __forceinline__ void draw(G &r, T (&v)[4], double, double)
    {
        double u[4];
        r.uniform(u);
#pragma unroll 1
        for (int k = 0; k < 4; k++) v[k] = (T)poisson(u[k], (double)v[k]);
    }
    template <class G, class T> static __device__ __forceinline__ T from(const G &r, T v, double, double)
    {
        double u;
        r.uniform(u);
        return (T)poisson(u, (double)v);
    }
};

// ---- memory and jumps

enum { STEPS, SEQUENCES, SUBSEQUENCES };

// The outputs of 32 bits that a group of four numbers takes.
template <class T, class D> __device__ __forceinline__ int group_words()
{
    return D::outputs == 2 || sizeof(T) == 8 ? 8 : 4;
}

// How many elements are stored four at a time, by instructions of 16 bytes. None if the array's address is
// not a multiple of 16.
template <class T> __device__ __forceinline__ index_t in_fours(const T *out, index_t count)
{
    return (size_t)out % 16 == 0 ? count & ~(index_t)3 : 0;
}

// Streaming stores, as nothing is read again: Philox fills an array 10% faster on an H100.
template <class T> __device__ __forceinline__ void store_four(T *out, const T (&v)[4])
{
    uint4 moved[sizeof(T) / 4];
    memcpy(moved, v, sizeof(moved));
#pragma unroll
    for (int k = 0; k < (int)sizeof(T) / 4; k++) __stcs((uint4 *)out + k, moved[k]);
}

template <class T> __device__ __forceinline__ void store_some(T *out, const T (&v)[4], index_t count)
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (k < count) out[k] = v[k];
}

// Makes one group and stores the first `count` numbers of it.
template <class D, class G, class T>
__device__ __forceinline__ void draw_some(G &r, T *out, index_t count, double a, double b)
{
    T v[4] = {};
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (D::reads && k < count) v[k] = out[k];
    D::draw(r, v, a, b);
    store_some(out, v, count);
}

// Makes `groups` groups of four, `step` numbers apart: two at a time, so that their instructions overlap.
template <class D, class G, class T>
__device__ __forceinline__ void draw_groups(G &r, T *out, int groups, u32 step, double a, double b)
{
#pragma unroll 1
    for (; !D::reads && groups > 1; groups -= 2, out += 2 * (size_t)step) {
        T v[4] = {}, w[4] = {};
        D::draw(r, v, a, b);
        D::draw(r, w, a, b);
        store_four(out, v);
        store_four(out + step, w);
    }
#pragma unroll 1
    for (; groups > 0; groups--, out += step) {
        T v[4] = {};
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (D::reads) v[k] = out[k];
        D::draw(r, v, a, b);
        store_four(out, v);
    }
}

// Fills an array. Each thread runs one generator and keeps its state in registers for `rounds` groups. A
// generator whose jumps cost nothing (G::jumps_freely) may be run by several rows of blocks, each of which
// makes other groups of it; in this case another kernel, advance(), updates the states.
template <class G, class T, class D>
__device__ __forceinline__ void fill(u32 *states, u32 generators, T *out, index_t count, index_t rounds,
                                     double a, double b)
{
    u32 g = blockIdx.x * blockDim.x + threadIdx.x;
    index_t step = 4 * (index_t)generators, first = blockIdx.y * rounds * step + 4 * (index_t)g;
    if (g >= generators || first >= count) return;
    G r;
    r.load(states + g, generators);
    if (G::jumps_freely) r.jump(0, 0, blockIdx.y * rounds * group_words<T, D>(), STEPS);
    index_t end = min(count, first + rounds * step), fours = min(in_fours(out, count), end), at = first;
    if (at < fours) {
        int groups = (int)((fours - at + step - 1) / step);
        if (r.at_group()) // the same loop twice, so that the compiler removes this condition from the first
            draw_groups<D>(r, out + at, groups, step, a, b);
        else
            draw_groups<D>(r, out + at, groups, step, a, b);
        at += groups * step;
    }
    for (; at < end; at += step) draw_some<D>(r, out + at, count - at, a, b);
    if (gridDim.y == 1) r.save(states + g, generators);
}

// Updates the states after fill() by several rows of blocks.
template <class G>
__device__ __forceinline__ void advance(u32 *states, u32 generators, index_t count, int words)
{
    u32 g = blockIdx.x * blockDim.x + threadIdx.x;
    index_t step = 4 * (index_t)generators, groups = (count - 4 * (index_t)g + step - 1) / step;
    if (g >= generators || 4 * (index_t)g >= count) return;
    G r;
    r.load(states + g, generators);
    r.jump(0, 0, groups * words, STEPS);
    r.save(states + g, generators);
}

// ---- initial states and jumps

// Makes the initial states of generators `first` to last - 1. Seeds are 32-bit integers, which are extended
// to 64 bits with their sign. Generator g begins at sequence g, which by_sequence (of `bits` bits) jumps to,
// and `offset` steps into it, which by_offset jumps to.
template <class G>
__device__ __forceinline__ void prepare(u32 *states, u32 generators, const int *seeds, u32 first, u32 last,
                                        const u32 *by_sequence, int bits, const u32 *by_offset, u64 offset)
{
    u32 g = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= last) return;
    G r;
    r.seed((u64)(long long)seeds[g]);
    r.jump(by_sequence, bits, g, SEQUENCES);
    if (offset) r.jump(by_offset, 0, offset, STEPS);
    r.save(states + g, generators);
}

// Lets each generator jump times[g] steps, sequences or subsequences, by the matrices `jumps`. If `times` is
// null, all jump `time`, and `jumps` is the one matrix of that.
template <class G>
__device__ __forceinline__ void skip(u32 *states, u32 generators, const u32 *jumps, const u64 *times,
                                     u64 time, int kind)
{
    u32 g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= generators) return;
    G r;
    r.load(states + g, generators);
    r.jump(jumps, times ? 64 : 0, times ? times[g] : time, kind);
    r.save(states + g, generators);
}

}

#endif
