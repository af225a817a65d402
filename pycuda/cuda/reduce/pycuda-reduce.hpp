// Reductions with an operation that is associative but need not be commutative: only neighbors are combined,
// with the earlier one on the left.
//
// The result depends on the elements and their number alone. A block reduces one tile, whose length depends
// on the number of elements. Each of its warps reduces a consecutive part of the tile; each lane loads ROWS
// rows of V elements at a time. The last block to finish combines the partial results in the order of the
// blocks.
#ifndef PYCUDA_REDUCE_HPP
#define PYCUDA_REDUCE_HPP

#include "base/pycuda-exchange.hpp"

extern "C++" {
namespace pycuda {

enum { REDUCE_THREADS = 256, REDUCE_WARPS = REDUCE_THREADS / 32, REDUCE_ROWS = 4 };

// Combines this lane's value with another lane's, that of the lower lane on the left. upper: whether this
// lane is the upper one. Only one call of reduce(), as two would repeat the code of the operation.
template <class T, class Reduce>
__device__ __forceinline__ T in_order(const T &others, const T &own, bool upper, Reduce reduce)
{
    return reduce(choose(upper, others, own), choose(upper, own, others));
}

// Combines the values of the two lanes whose numbers differ by the bit `mask`, that of the lower lane on the
// left. Both lanes return the result. upper: whether this lane is the upper one.
template <class T, class Reduce>
__device__ __forceinline__ T with_lane(const T &value, int mask, bool upper, Reduce reduce)
{
    return in_order(from_lane_xor(value, mask), value, upper, reduce);
}

// Combines the values of all lanes in the order of the lanes. Every lane returns the result.
template <class T, class Reduce> __device__ __forceinline__ T reduce_lanes(T value, Reduce reduce)
{
#pragma unroll 1
    for (int mask = 1; mask < 32; mask *= 2) value = with_lane(value, mask, threadIdx.x & mask, reduce);
    return value;
}

// Combines four rows, each of one value of every lane, row after row. The first two exchanges halve the
// number of values that each lane holds, so that 8 exchanges suffice where four calls of reduce_lanes() would
// take 20.
template <class T, class Reduce> __device__ __forceinline__ T reduce_rows(const T *rows, Reduce reduce)
{
    const bool odd = threadIdx.x & 1, second = threadIdx.x & 2;
    // Odd lanes keep rows 2 and 3, even lanes 0 and 1.
    const T a = from_lane_xor(choose(odd, rows[0], rows[2]), 1);
    const T b = from_lane_xor(choose(odd, rows[1], rows[3]), 1);
    const T first = in_order(a, choose(odd, rows[2], rows[0]), odd, reduce);
    const T last = in_order(b, choose(odd, rows[3], rows[1]), odd, reduce);
    const T c = from_lane_xor(choose(second, first, last), 2);
    T value = in_order(c, choose(second, last, first), second, reduce);
#pragma unroll
    for (int mask = 4; mask < 32; mask *= 2) value = with_lane(value, mask, threadIdx.x & mask, reduce);
    value = with_lane(value, 2, second, reduce);
    return with_lane(value, 1, odd, reduce);
}

// Combines the values of the warps in their order. Thread 0 returns the result.
template <class T, class Reduce> __device__ __forceinline__ T reduce_warps(const T &value, Reduce reduce)
{
    PYCUDA_SHARED(T, parts, REDUCE_WARPS);
    if (threadIdx.x % 32 == 0) store_shared(parts + threadIdx.x / 32, value);
    __syncthreads();
    T total = value;
    if (threadIdx.x == 0)
#pragma unroll 1
        for (int k = 1; k < REDUCE_WARPS; k++) total = reduce(total, load_shared(parts + k));
    __syncthreads();
    return total;
}

// Reduces the values of all blocks to *out. value: the total of the thread's warp, which lane 0 has. counter:
// 0 before and after the launch; it counts blocks that are done. parts: memory for one value of each block.
template <class T, class Result, class Reduce>
__device__ __forceinline__ void reduce_blocks(const T &value, const T &neutral, Result *out,
                                              unsigned *counter, T *parts, Reduce reduce)
{
    __shared__ bool is_last;
    T total = reduce_warps(value, reduce);
    if (gridDim.x == 1) {
        if (threadIdx.x == 0) *out = Result(total);
        return;
    }
    if (threadIdx.x == 0) {
        store_volatile(parts + blockIdx.x, total);
        __threadfence();
        is_last = atomicAdd(counter, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    const unsigned share = (gridDim.x + REDUCE_THREADS - 1) / REDUCE_THREADS;
    const unsigned from = threadIdx.x * share, to = min(from + share, gridDim.x);
    T mine = neutral;
#pragma unroll 1
    for (unsigned k = from; k < to; k++) mine = reduce(mine, load_volatile(parts + k));
    total = reduce_warps(reduce_lanes(mine, reduce), reduce);
    if (threadIdx.x == 0) {
        *out = Result(total);
        *counter = 0;
    }
}

}
}

#endif
