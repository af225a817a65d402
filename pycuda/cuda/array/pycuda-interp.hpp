// Functions that are linear between given points, in NumPy's steps: np.interp.
#ifndef PYCUDA_INTERP_HPP
#define PYCUDA_INTERP_HPP

#include "base/pycuda-elements.hpp"

namespace pycuda {

// INTERP_ROUNDS: positions that a thread loads at a time.
enum { INTERP_THREADS = 512, INTERP_ROUNDS = 4, INTERP_BUCKETS = 2048 };

// A real value, or the two parts of a complex one.
template <int P> struct Parts { double at[P]; };

// `count` points (xp, fp), whose xp increase, and the values to the left of the first and to the right of the
// last.
template <int P> struct Points {
    const double *xp;
    const Parts<P> *fp, *left, *right;
    index_t count;
};

// The slope between points j and j + 1. As in NumPy, no product is fused with a sum.
template <int P> __device__ __forceinline__ Parts<P> slope_after(const Points<P> &in, index_t j)
{
    const double step = in.xp[j + 1] - in.xp[j];
    Parts<P> slope;
#pragma unroll
    for (int p = 0; p < P; p++) {
        const double rise = in.fp[j + 1].at[p] - in.fp[j].at[p];
        slope.at[p] = P == 1 ? rise / step : __dmul_rn(rise, 1.0 / step);
    }
    return slope;
}

__device__ __forceinline__ double on_line(double slope, double x, double xp, double fp)
{
    return __dadd_rn(__dmul_rn(slope, x - xp), fp);
}

// low + the number of points xp[low] to xp[high - 1] that are at most x.
__device__ __forceinline__ index_t end_of_lower(const double *xp, index_t low, index_t high, double x)
{
    while (low < high) {
        const index_t middle = (low + high) >> 1;
        if (xp[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The value at x. slopes(j) is the slope after point j, lower(x) the number of points whose xp is at most x.
// If the xp do not increase, it is the value on the line between some two neighboring points.
template <int P, class Slopes, class Lower>
__device__ __forceinline__ Parts<P> value_at(const Points<P> &in, double x, Slopes slopes, Lower lower)
{
    if (x != x && in.count > 1) return Parts<P>{{x}};
    if (x > in.xp[in.count - 1]) return *in.right;
    if (x < in.xp[0]) return *in.left;
    const index_t end = lower(x), j = end > 0 ? end - 1 : 0;
    const Parts<P> low = in.fp[j];
    const double begin = in.xp[j];
    if (j == in.count - 1 || begin == x) return low;
    const Parts<P> slope = slopes(j);
    Parts<P> result;
#pragma unroll
    for (int p = 0; p < P; p++) {
        result.at[p] = on_line(slope.at[p], x, begin, low.at[p]);
        if (result.at[p] == result.at[p]) continue;
        // NaN may come from an infinity at this end, so the value is computed from the other end.
        const double high = in.fp[j + 1].at[p];
        result.at[p] = on_line(slope.at[p], x, in.xp[j + 1], high);
        if (result.at[p] != result.at[p] && low.at[p] == high) result.at[p] = high;
    }
    return result;
}

// out[i] = value_of(x[i]) for all positions, INTERP_ROUNDS of which a thread loads at a time.
template <class X, int P, class Value>
__device__ __forceinline__ void for_positions(const X *x, Parts<P> *out, index_t size, Value value_of)
{
    const index_t tile = INTERP_THREADS * INTERP_ROUNDS;
    for (index_t first = blockIdx.x * tile + threadIdx.x; first < size; first += gridDim.x * tile) {
        X loaded[INTERP_ROUNDS];
#pragma unroll
        for (int u = 0; u < INTERP_ROUNDS; u++)
            if (first + u * INTERP_THREADS < size) loaded[u] = x[first + u * INTERP_THREADS];
#pragma unroll
        for (int u = 0; u < INTERP_ROUNDS; u++)
            if (first + u * INTERP_THREADS < size)
                out[first + u * INTERP_THREADS] = value_of((double)value(loaded[u]));
    }
}

// Interpolates with any number of points, in global memory.
template <class X, int P>
__device__ __forceinline__ void interp(const X *x, Parts<P> *out, index_t size, const Points<P> &in)
{
    for_positions(x, out, size, [&](double at) {
        return value_at(
            in, at, [&](index_t j) { return slope_after(in, j); },
            [&](double at) { return end_of_lower(in.xp, 0, in.count, at); });
    });
}

// The number of the bucket of x: buckets are parts of equal width between the first and the last point. The
// number never decreases as x increases, rounding included. So all points of lower buckets are before x, and
// all points of higher buckets are after it.
struct Buckets {
    double first, scale;

    __device__ __forceinline__ Buckets(double first, double last) : first(first)
    {
        scale = INTERP_BUCKETS / (last - first);
        if (!(scale > 0 && scale < 1e300)) scale = 0;
    }
    __device__ __forceinline__ int operator()(double x) const
    {
        return min(max((int)((x - first) * scale), 0), INTERP_BUCKETS - 1);
    }
};

// Interpolates with points and slopes in shared memory. For each bucket it has where the points of the bucket
// begin and end, so that only these are searched.
template <class X, int P>
__device__ __forceinline__ void interp_shared(const X *x, Parts<P> *out, index_t size, const Points<P> &in)
{
    extern __shared__ double shared[];
    const int count = (int)in.count;
    double *const xp = shared;
    Parts<P> *const fp = (Parts<P> *)(xp + count), *const slopes = fp + count;
    ushort2 *const ranges = (ushort2 *)(slopes + count);
    for (int k = threadIdx.x; k < count; k += INTERP_THREADS) {
        xp[k] = in.xp[k];
        fp[k] = in.fp[k];
        if (k + 1 < count) slopes[k] = slope_after(in, k);
    }
    __syncthreads();
    const Buckets bucket(xp[0], xp[count - 1]);
    for (int b = threadIdx.x; b <= INTERP_BUCKETS; b += INTERP_THREADS) {
        int low = 0, high = b < INTERP_BUCKETS ? count : 0;
        while (low < high) {
            const int middle = (low + high) >> 1;
            if (bucket(xp[middle]) < b)
                low = middle + 1;
            else
                high = middle;
        }
        if (b < INTERP_BUCKETS) ranges[b].x = low;
        if (b > 0) ranges[b - 1].y = b < INTERP_BUCKETS ? low : count;
    }
    __syncthreads();
    const Points<P> near = {xp, fp, in.left, in.right, count};
    for_positions(x, out, size, [&](double at) {
        return value_at(
            near, at, [&](index_t j) { return slopes[j]; },
            [&](double at) {
                const ushort2 range = ranges[bucket(at)];
                return end_of_lower(xp, range.x, range.y, at);
            });
    });
}

}

#endif
