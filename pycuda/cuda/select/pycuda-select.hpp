// Stream compaction, for boolean masks, nonzero and similar functions. The first kernel writes a bit for each
// element that a test selects and a count for each tile; the counts are then summed and the total is copied
// to the host; the second kernel reads the bits and writes the selected elements in order.
#ifndef PYCUDA_SELECT_HPP
#define PYCUDA_SELECT_HPP

#include "base/pycuda-elements.hpp"

namespace pycuda {

enum { SELECT_THREADS = 256, SELECT_TILE = SELECT_THREADS * 32, SELECT_LOADS = 8 };

// The sum of `own` over the threads before this one. `all` becomes the sum over all threads of the block.
__device__ __forceinline__ unsigned sum_before(unsigned own, unsigned &all)
{
    __shared__ unsigned warps[SELECT_THREADS / 32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = own;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        const unsigned below = __shfl_up_sync(0xffffffffu, sum, offset);
        if (lane >= offset) sum += below;
    }
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    sum -= own;
    all = 0;
#pragma unroll
    for (unsigned k = 0; k < SELECT_THREADS / 32; k++) {
        if (k < warp) sum += warps[k];
        all += warps[k];
    }
    return sum;
}

// The thread's bits of a tile: bit n of thread t is test(32 t + n) of the tile.
template <class Test> __device__ __forceinline__ unsigned bits_chosen(index_t tile, index_t count, Test test)
{
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const index_t first = tile * SELECT_TILE + warp * 1024 + lane;
    unsigned word = 0;
    for (int k = 0; k < 32; k += SELECT_LOADS) {
        bool chosen[SELECT_LOADS];
#pragma unroll
        for (int n = 0; n < SELECT_LOADS; n++) {
            const index_t i = first + (k + n) * 32;
            chosen[n] = i < count && test(i);
        }
#pragma unroll
        for (int n = 0; n < SELECT_LOADS; n++) {
            const unsigned votes = __ballot_sync(0xffffffffu, chosen[n]);
            if (lane == k + n) word = votes;
        }
    }
    return word;
}

// Sets bit i % 32 of words[i / 32] to test(i), and counts[tile] to the number of bits that are 1. The grid
// has a block for each tile.
template <class Test>
__device__ __forceinline__ void mark_chosen(unsigned *words, index_t *counts, index_t count, Test test)
{
    const unsigned word = bits_chosen(blockIdx.x, count, test);
    words[(index_t)blockIdx.x * SELECT_THREADS + threadIdx.x] = word;
    unsigned all;
    sum_before(__popc(word), all);
    if (threadIdx.x == 0) counts[blockIdx.x] = all;
}

// Calls write(k, i) for the k-th selected element i. ends: how many elements are selected up to the end of
// each tile.
template <class Write>
__device__ __forceinline__ void write_chosen(const unsigned *words, const index_t *ends, Write write)
{
    __shared__ unsigned short chosen[SELECT_TILE];
    unsigned bits = words[(index_t)blockIdx.x * SELECT_THREADS + threadIdx.x], all;
    unsigned at = sum_before(__popc(bits), all);
    const index_t before = blockIdx.x ? ends[blockIdx.x - 1] : 0, first = (index_t)blockIdx.x * SELECT_TILE;
    for (; bits; bits &= bits - 1) chosen[at++] = (unsigned short)(threadIdx.x * 32 + __ffs(bits) - 1);
    __syncthreads();
    for (unsigned k = threadIdx.x; k < all; k += SELECT_THREADS) write(before + k, first + chosen[k]);
}

// Calls write(i, k) for every element i. k is the number, among the selected elements, of the last one up to
// i.
template <class Write>
__device__ __forceinline__ void number_all(const unsigned *words, const index_t *ends, index_t count,
                                           Write write)
{
    __shared__ unsigned before[SELECT_THREADS], bits[SELECT_THREADS];
    unsigned all;
    const unsigned word = words[(index_t)blockIdx.x * SELECT_THREADS + threadIdx.x];
    before[threadIdx.x] = sum_before(__popc(word), all);
    bits[threadIdx.x] = word;
    __syncthreads();
    const index_t base = blockIdx.x ? ends[blockIdx.x - 1] : 0, first = (index_t)blockIdx.x * SELECT_TILE;
    for (unsigned k = threadIdx.x; k < SELECT_TILE && first + k < count; k += SELECT_THREADS)
        write(first + k, base + before[k / 32] + __popc(bits[k / 32] & (2u << k % 32) - 1) - 1);
}

// Writes the index of an element along each axis of an array. out has an array of `total` elements for each
// axis.
template <int D>
__device__ __forceinline__ void write_coordinates(index_t *out, index_t total, index_t i, const Axes<D> &axes)
{
#pragma unroll
    for (int d = D - 1; d >= 0; d--) {
        const index_t rest = d ? quotient(i, axes.length[d]) : 0;
        // Padding axes, whose length is 1, come first and have no array.
        if (axes.other[d] >= 0) out[axes.other[d] * total] = i - rest * axes.length[d];
        i = rest;
    }
}

} // namespace pycuda

#endif
