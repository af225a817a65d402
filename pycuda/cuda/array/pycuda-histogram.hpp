// Histograms: each block counts into bins in shared memory and then adds each bin to global memory once.
//
// Counts are integers, so the order of the additions does not matter. It matters for sums of weights, which
// are floats: there elements are sorted by bin first, and each bin is summed in a fixed order.
#ifndef PYCUDA_HISTOGRAM_HPP
#define PYCUDA_HISTOGRAM_HPP

#include "base/pycuda-elements.hpp"

namespace pycuda {

// Threads of a block, and vectors that a thread loads at a time.
enum { COUNT_THREADS = 256, COUNT_LOADS = 4 };

// Elements that are loaded together.
template <class T, int N> struct Bunch {
    alignas(N * sizeof(T) > 16 ? 16 : N * sizeof(T)) T items[N];
    static constexpr int count = N;
};

// Calls body(bunch) for all elements of a block, `chunk` of the `count` elements, in vectors of V or one at a
// time.
template <class T, int V, class Body>
__device__ __forceinline__ void for_elements(const char *in, index_t count, index_t chunk, Body body)
{
    const index_t begin = (index_t)blockIdx.x * chunk, end = min(begin + chunk, count);
    const T *const elements = reinterpret_cast<const T *>(in);
    index_t at = begin + threadIdx.x * V;
    for (; at + (COUNT_LOADS - 1) * COUNT_THREADS * V + V <= end; at += COUNT_LOADS * COUNT_THREADS * V) {
        Bunch<T, V> loaded[COUNT_LOADS];
#pragma unroll
        for (int k = 0; k < COUNT_LOADS; k++)
            load_packed<V>(loaded[k].items,
                           reinterpret_cast<const char *>(elements + at + k * COUNT_THREADS * V));
#pragma unroll
        for (int k = 0; k < COUNT_LOADS; k++) body(loaded[k]);
    }
#pragma unroll 1
    for (; at + V <= end; at += COUNT_THREADS * V) {
        Bunch<T, V> loaded;
        load_packed<V>(loaded.items, reinterpret_cast<const char *>(elements + at));
        body(loaded);
    }
    for (; at < end; at += COUNT_THREADS * V)
#pragma unroll 1
        for (int v = 0; v < V && at + v < end; v++) body(Bunch<T, 1>{{elements[at + v]}});
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

template <class X> struct Extremes {
    X maximum, minimum; // of the elements and 0
    __device__ __forceinline__ void add(X x)
    {
        maximum = x > maximum ? x : maximum;
        minimum = x < minimum ? x : minimum;
    }
};

__device__ __forceinline__ unsigned positive(int x) { return (unsigned)x; }
__device__ __forceinline__ unsigned positive(unsigned x) { return x; }
__device__ __forceinline__ unsigned long long positive(long long x) { return (unsigned long long)x; }
__device__ __forceinline__ unsigned long long positive(unsigned long long x) { return x; }

// Counts numbers below `used`; bins[used] counts the rest. extremes[0] becomes the greatest number, or 0 if
// all are negative; extremes[1] becomes 1 if one is negative.
template <class T, int V, int BINS>
__device__ __forceinline__ void count_numbers(const char *in, index_t count, index_t chunk, unsigned used,
                                              unsigned long long *counts, unsigned long long *extremes)
{
    typedef decltype(value(T()) + 0) Number; // T after integer promotion
    __shared__ unsigned bins[BINS + 1];
    __shared__ unsigned long long maximum;
    __shared__ int negative;
    if (threadIdx.x == 0) {
        maximum = 0;
        negative = 0;
    }
    clear_bins(bins, used + 1);
    Extremes<Number> extreme = {0, 0};
    for_elements<T, V>(in, count, chunk, [&](const auto &bunch) {
#pragma unroll
        for (int k = 0; k < bunch.count; k++) {
            const Number x = value(bunch.items[k]);
            extreme.add(x);
            const auto number = positive(x);
            atomicAdd(bins + (number < used ? (unsigned)number : used), 1u);
        }
    });
    if (extreme.minimum != 0) negative = 1;
    atomicMax(&maximum, (unsigned long long)extreme.maximum);
    add_bins(bins, counts, used);
    if (threadIdx.x == 0) {
        atomicMax(extremes, maximum);
        if (negative) extremes[1] = 1;
    }
}

// Counts numbers in global memory, for more bins than fit in shared memory. The lanes of a warp that have the
// same number add once for all of them, so that a frequent number causes less contention.
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

// The number of the bin of x, or `bins` if it is in none. Bin i holds edges[i] <= x < edges[i + 1], the last
// one also its upper edge.
template <class C> __device__ __forceinline__ int bin_of(const C *edges, int bins, C x)
{
    if (!(x >= edges[0] && x <= edges[bins])) return bins;
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

// Edges that are equidistant up to rounding. The interval from half a bin before the first edge to half a bin
// after the last one is `parts` bins long, one more than there are; x * scale + shift is the position of x in
// it, from 0 to 1. An x at most `sure` bins from the middle of a bin is in that bin, whatever the rounding of
// its position and of the edges.
template <class C> struct Even {
    C scale, shift, parts, sure;
};

// x clamped to 0 ... 1; a double may stay above 1 by a millionth. A NaN becomes one of the limits.
__device__ __forceinline__ float saturated(float x) { return __saturatef(x); }
__device__ __forceinline__ double saturated(double x)
{
    return __hiloint2double(min(max(__double2hiint(x), 0), 0x3ff00000), __double2loint(x));
}

// Adding ADDED to a small number rounds it to an integer, as the sum has no bits after the binary point. The
// low 32 bits of the sum are this integer plus ZERO.
template <class C> struct Rounding;
template <> struct Rounding<float> {
    static constexpr float ADDED = 12582912;
    static constexpr unsigned ZERO = 0x4b400000;
    static __device__ __forceinline__ unsigned bits(float x) { return __float_as_uint(x); }
};
template <> struct Rounding<double> {
    static constexpr double ADDED = 6755399441055744;
    static constexpr unsigned ZERO = 0;
    static __device__ __forceinline__ unsigned bits(double x) { return (unsigned)__double2loint(x); }
};

// Where x is among the edges: its slot, as the bits of Rounding, and its distance from the middle of its bin.
template <class C> struct Spot {
    unsigned bits;
    C off;

    __device__ __forceinline__ Spot(const Even<C> &even, C x)
    {
        const C gone = saturated(fma(x, even.scale, even.shift));
        const C added = fma(gone, even.parts, Rounding<C>::ADDED);
        bits = Rounding<C>::bits(added);
        off = fma(gone, even.parts, Rounding<C>::ADDED - added);
    }
    __device__ __forceinline__ bool sure(const Even<C> &even) const { return fabs(off) <= even.sure; }
};

// The slot of x, found by comparing with the edges: the number of edges that are at most x, without the last
// edge if x equals it. slot: an estimate that may be off by one.
template <class C> __device__ __forceinline__ int corrected(const C *edges, int bins, int slot, C x)
{
    if (slot > 0 && x < edges[slot - 1]) return slot - 1;
    if (slot <= bins && x >= edges[slot]) slot++;
    return slot > bins && x == edges[bins] ? bins : slot;
}

// Counters in shared memory, COPIES of each next to each other. With 32 copies a warp has no bank conflicts.
// Slot 0 is before all edges, slot bins + 1 after them.
template <int COPIES, class C> struct Slots {
    // The address of this thread's counter of slot -ZERO, modulo 2^32. From it and the bits of a slot one
    // instruction finds the address of the slot's counter.
    unsigned address;

    __device__ __forceinline__ explicit Slots(const unsigned *counters)
        : address((unsigned)__cvta_generic_to_shared(counters + threadIdx.x % COPIES) -
                  Rounding<C>::ZERO * (4 * COPIES))
    {
        asm volatile("" : "+r"(address)); // computes the address once, not again before each use
    }
    __device__ __forceinline__ void count(unsigned bits) const
    {
        asm volatile("red.shared.add.u32 [%0], 1;" : : "r"(address + bits * (4 * COPIES)) : "memory");
    }
};

// Counts a bunch. Edges are read only if rounding may matter for one of its elements.
template <int COPIES, class C, class T, int N>
__device__ __forceinline__ void count_evenly(const Slots<COPIES, C> &slots, const C *edges, int bins,
                                             const Even<C> &even, const Bunch<T, N> &bunch)
{
    bool sure = true;
    unsigned found[N];
#pragma unroll
    for (int k = 0; k < N; k++) {
        const Spot<C> spot(even, C(value(bunch.items[k])));
        sure &= spot.sure(even);
        found[k] = spot.bits;
    }
    if (sure) {
#pragma unroll
        for (int k = 0; k < N; k++) slots.count(found[k]);
        return;
    }
#pragma unroll 1
    for (int k = 0; k < N; k++) {
        T item = bunch.items[0]; // a dynamic index would place the array in local memory
#pragma unroll
        for (int other = 1; other < N; other++)
            if (k == other) item = bunch.items[other];
        const C x = C(value(item));
        const int slot = (int)(Spot<C>(even, x).bits - Rounding<C>::ZERO);
        slots.count(corrected(edges, bins, slot, x) + Rounding<C>::ZERO);
    }
}

// Counts elements by bins of equal width, of which there are at most LARGEST. Edges and slots are in shared
// memory.
template <class T, class C, int V, int LARGEST, int COPIES>
__device__ __forceinline__ void count_between_even(const char *in, index_t count, index_t chunk,
                                                   const C *edges, int bins, const Even<C> &even,
                                                   unsigned long long *counts)
{
    __shared__ unsigned counters[(LARGEST + 2) * COPIES];
    __shared__ C near_edges[LARGEST + 1];
    for (int k = threadIdx.x; k <= bins; k += COUNT_THREADS) near_edges[k] = edges[k];
    clear_bins(counters, (bins + 2) * COPIES);
    const Slots<COPIES, C> slots(counters);
    for_elements<T, V>(in, count, chunk,
                       [&](const auto &bunch) { count_evenly(slots, near_edges, bins, even, bunch); });
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += COUNT_THREADS) {
        unsigned sum = 0;
#pragma unroll 8
        for (int k = 0; k < COPIES; k++) sum += counters[(bin + 1) * COPIES + (bin + k) % COPIES];
        if (sum) atomicAdd(counts + bin, (unsigned long long)sum);
    }
}

// Counts elements by searching the edges, for at most LARGEST bins of any widths.
template <class T, class C, int V, int LARGEST>
__device__ __forceinline__ void count_between(const char *in, index_t count, index_t chunk, const C *edges,
                                              int bins, unsigned long long *counts)
{
    __shared__ unsigned counted[LARGEST + 1];
    __shared__ C near_edges[LARGEST + 1];
    for (int k = threadIdx.x; k <= bins; k += COUNT_THREADS) near_edges[k] = edges[k];
    clear_bins(counted, bins + 1);
    for_elements<T, V>(in, count, chunk, [&](const auto &bunch) {
#pragma unroll
        for (int k = 0; k < bunch.count; k++)
            atomicAdd(counted + bin_of(near_edges, bins, C(value(bunch.items[k]))), 1u);
    });
    add_bins(counted, counts, bins);
}

// Writes the number of each element's bin, `bins` for elements in none.
template <class T, class C>
__device__ __forceinline__ void bins_of(const char *in, index_t count, const C *edges, int bins,
                                        unsigned *out)
{
    const index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        out[i] = bin_of(edges, bins, C(value(reinterpret_cast<const T *>(in)[i])));
}

// ---- sums of weights that are sorted by bin

// How many of the sorted keys are less than `key`.
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

// Sums the weights of each bin. A block takes as many bins at a time as it has warps. A bin of up to
// OF_A_WARP weights is summed by a warp, each lane adding every 32nd weight; a larger one by the block, each
// thread adding every 256th. Then the partial sums are added pairwise.
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
        for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (lane == 0 && first + warp < bins) sums[first + warp] = sum;
        for (int bin = 0; bin < WARPS; bin++) {
            const index_t begin = ends[bin], end = ends[bin + 1];
            if (end - begin <= OF_A_WARP) continue;
            sum = 0;
            for (index_t i = begin + threadIdx.x; i < end; i += COUNT_THREADS) sum += weights[i];
            parts[threadIdx.x] = sum;
            __syncthreads();
            for (int offset = COUNT_THREADS / 2; offset; offset /= 2) {
                if (threadIdx.x < offset) parts[threadIdx.x] += parts[threadIdx.x + offset];
                __syncthreads();
            }
            if (threadIdx.x == 0 && first + bin < bins) sums[first + bin] = parts[0];
        }
    }
}

} // namespace pycuda

#endif
