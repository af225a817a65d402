// How often numbers occur: bins of a block in its shared memory, then one addition a bin and block.
//
// Counts are integers, so the order of the additions does not matter. Sums of weights are floats: for these
// elements are sorted by bin first, and each bin summed by a block in a fixed order.
#ifndef PYCUDA_COUNTING_HPP
#define PYCUDA_COUNTING_HPP

#include "pycuda-elements.hpp"

namespace pycuda {

enum { COUNT_THREADS = 256, COUNT_LOADS = 4 };

// body(element) for those of a block, V loaded at a time.
template <class T, int V, class Body>
__device__ __forceinline__ void for_elements(const char *in, index_t count, index_t chunk, Body body)
{
    const index_t begin = (index_t)blockIdx.x * chunk, end = min(begin + chunk, count);
    const T *const elements = reinterpret_cast<const T *>(in);
    index_t at = begin + threadIdx.x * V;
    for (; at + (COUNT_LOADS - 1) * COUNT_THREADS * V + V <= end; at += COUNT_LOADS * COUNT_THREADS * V) {
        alignas(16) T loaded[COUNT_LOADS][V];
#pragma unroll
        for (int k = 0; k < COUNT_LOADS; k++)
            load_packed<V>(loaded[k], reinterpret_cast<const char *>(elements + at + k * COUNT_THREADS * V));
#pragma unroll
        for (int k = 0; k < COUNT_LOADS; k++)
#pragma unroll
            for (int v = 0; v < V; v++) body(loaded[k][v]);
    }
    for (; at < end; at += COUNT_THREADS * V)
#pragma unroll 1
        for (int v = 0; v < V && at + v < end; v++) body(elements[at + v]);
}

__device__ __forceinline__ void clear_bins(unsigned *bins, int used)
{
    for (int k = threadIdx.x; k < used; k += COUNT_THREADS) bins[k] = 0;
    __syncthreads();
}

__device__ __forceinline__ void add_bins(const unsigned *bins, unsigned long long *counts, int used)
{
    __syncthreads();
    for (int k = threadIdx.x; k < used; k += COUNT_THREADS)
        if (bins[k]) atomicAdd(counts + k, (unsigned long long)bins[k]);
}

// ---- bins by number

template <class T> __device__ __forceinline__ bool below_zero(const T &x) { return x < T(0); }
__device__ __forceinline__ bool below_zero(bool) { return false; }
__device__ __forceinline__ bool below_zero(unsigned char) { return false; }
__device__ __forceinline__ bool below_zero(unsigned short) { return false; }
__device__ __forceinline__ bool below_zero(unsigned) { return false; }
__device__ __forceinline__ bool below_zero(unsigned long long) { return false; }

// Numbers below `used` are counted. greatest[0] gets the greatest number plus 1, greatest[1] whether one is
// negative.
template <class T, int V, int BINS>
__device__ __forceinline__ void count_numbers(const char *in, index_t count, index_t chunk, int used,
                                              unsigned long long *counts, unsigned long long *greatest)
{
    __shared__ unsigned bins[BINS];
    __shared__ unsigned long long most;
    __shared__ int negative;
    if (threadIdx.x == 0) {
        most = 0;
        negative = 0;
    }
    clear_bins(bins, used);
    unsigned long long end = 0;
    bool wrong = false;
    for_elements<T, V>(in, count, chunk, [&](const T &element) {
        const auto x = value(element);
        const unsigned long long number = (unsigned long long)x;
        if (below_zero(x)) {
            wrong = true;
        } else {
            end = max(end, number + 1);
            if (number < (unsigned long long)used) atomicAdd(bins + number, 1u);
        }
    });
    if (wrong) negative = 1;
    atomicMax(&most, end);
    add_bins(bins, counts, used);
    if (threadIdx.x == 0) {
        atomicMax(greatest, most);
        if (negative) greatest[1] = 1;
    }
}

// More bins than shared memory has. The lanes of a warp that have the same number add once: a number that is
// everywhere is no hot spot.
template <class T>
__device__ __forceinline__ void count_many(const char *in, index_t count, unsigned long long *counts)
{
    const index_t stride = (index_t)gridDim.x * blockDim.x;
    const unsigned lane = threadIdx.x % 32;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i - lane < count; i += stride) {
        const unsigned there = __ballot_sync(0xffffffffu, i < count);
        if (i >= count) continue;
        const unsigned long long number = value(reinterpret_cast<const T *>(in)[i]);
        const unsigned alike = __match_any_sync(there, number);
        if (lane == __ffs(alike) - 1) atomicAdd(counts + number, (unsigned long long)__popc(alike));
    }
}

// ---- bins by edges

// Edges of C; bin i holds edges[i] <= x < edges[i + 1], the last one also its upper edge. -1 for no bin.
template <class C> __device__ __forceinline__ int bin_of(const C *edges, int bins, C x)
{
    if (!(x >= edges[0] && x <= edges[bins])) return -1;
    int low = 0, high = bins;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (x < edges[middle])
            high = middle;
        else
            low = middle;
    }
    return low;
}

// The same where edges are as far apart from each other, but for rounding: one of them is looked at only
// where x is near it. `near` bounds what is rounded, in bins.
template <class C>
__device__ __forceinline__ int even_bin_of(const C *edges, int bins, C x, C first, C last, C scale, C near)
{
    if (!(x >= first && x <= last)) return -1;
    const C place = (x - first) * scale;
    int bin = min(max((int)place, 0), bins - 1);
    const C inside = place - C(bin);
    if (inside >= near && inside <= C(1) - near) return bin;
    while (bin > 0 && x < edges[bin]) bin--;
    while (bin < bins - 1 && x >= edges[bin + 1]) bin++;
    return bin;
}

template <class C> struct Even {
    C first, last, scale, near;
};

// EVEN: by even.scale, otherwise by search. Edges and bins are in shared memory, up to LARGEST bins.
template <class T, class C, int V, int LARGEST, bool EVEN>
__device__ __forceinline__ void count_between(const char *in, index_t count, index_t chunk, const C *edges,
                                              int bins, const Even<C> &even, unsigned long long *counts)
{
    __shared__ unsigned counted[LARGEST];
    __shared__ C near_edges[LARGEST + 1];
    for (int k = threadIdx.x; k <= bins; k += COUNT_THREADS) near_edges[k] = edges[k];
    clear_bins(counted, bins);
    for_elements<T, V>(in, count, chunk, [&](const T &element) {
        const C x = C(value(element));
        const int bin = EVEN ? even_bin_of(near_edges, bins, x, even.first, even.last, even.scale, even.near)
                             : bin_of(near_edges, bins, x);
        if (bin >= 0) atomicAdd(counted + bin, 1u);
    });
    add_bins(counted, counts, bins);
}

// The bins of all elements, -1 as `bins`.
template <class T, class C>
__device__ __forceinline__ void bins_of(const char *in, index_t count, const C *edges, int bins,
                                        unsigned *out)
{
    const index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        const int bin = bin_of(edges, bins, C(value(reinterpret_cast<const T *>(in)[i])));
        out[i] = bin < 0 ? bins : bin;
    }
}

// ---- sums of bins: weights sorted by bin, keys beside them. Grid: some blocks, each of which takes bins.

template <class K>
__device__ __forceinline__ index_t first_not_below(const K *keys, index_t count, index_t key)
{
    index_t low = 0, high = count;
    while (low < high) {
        const index_t middle = low + (high - low) / 2;
        if ((index_t)keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A bin of few weights is summed by a warp, whose lanes take every 32nd, one of many by a block, whose
// threads take every 256th; then halves are added.
enum { WARPS = COUNT_THREADS / 32, OF_A_WARP = 1024 };

template <class K>
__device__ __forceinline__ void sum_bins(const K *keys, const double *weights, index_t count, double *sums,
                                         index_t bins)
{
    __shared__ double parts[COUNT_THREADS];
    __shared__ index_t ends[WARPS + 1];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (index_t first = (index_t)blockIdx.x * WARPS; first < bins; first += (index_t)gridDim.x * WARPS) {
        __syncthreads();
        if (threadIdx.x <= WARPS) ends[threadIdx.x] = first_not_below(keys, count, first + threadIdx.x);
        __syncthreads();
        double sum = 0;
        if (ends[warp + 1] - ends[warp] <= OF_A_WARP)
            for (index_t i = ends[warp] + lane; i < ends[warp + 1]; i += 32) sum += weights[i];
        for (int apart = 16; apart; apart /= 2) sum += __shfl_down_sync(0xffffffffu, sum, apart);
        if (lane == 0 && first + warp < bins) sums[first + warp] = sum;
        for (int bin = 0; bin < WARPS; bin++) {
            const index_t begin = ends[bin], end = ends[bin + 1];
            if (end - begin <= OF_A_WARP) continue;
            sum = 0;
            for (index_t i = begin + threadIdx.x; i < end; i += COUNT_THREADS) sum += weights[i];
            parts[threadIdx.x] = sum;
            __syncthreads();
            for (int apart = COUNT_THREADS / 2; apart; apart /= 2) {
                if (threadIdx.x < apart) parts[threadIdx.x] += parts[threadIdx.x + apart];
                __syncthreads();
            }
            if (threadIdx.x == 0 && first + bin < bins) sums[first + bin] = parts[0];
        }
    }
}

} // namespace pycuda

#endif
