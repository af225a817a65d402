// Sparse matrix times vector for PyCUDA's operators where the columns of a row are scattered: the cost is
// then the number of cache lines of x that are requested. A tile has as many elements as fit a block's
// shared memory, sorted by column, so that the lanes of a warp read neighboring elements of x. Products are
// stored in shared memory in the order of rows and summed there. The order of a row's sum depends on its
// length alone, not on the size of tiles, which depends on the device.
//
// A long row is cut into pieces, each of which is treated as a row and has a partial sum.
#ifndef PYCUDA_SPARSE_SORTED_HPP
#define PYCUDA_SPARSE_SORTED_HPP

#include "sparse/pycuda-sparse.hpp"

namespace pycuda {

enum { SORTED_CHUNK = 256, SORTED_AHEAD = 8 };

// Written by pycuda._kernels.sparse.column_sorted.
struct __align__(16) SortedTile {
    int chunk, chunks; // SORTED_CHUNK elements stored together, which share the first column
    int row, rows; // of `starts`
};

// The sum of a row's products, in lane 0.
template <class T> __device__ __forceinline__ T sum_of_warp(const T *products, int begin, int end, int lane)
{
    typedef Element<T> E;
    T sum = E::zero();
    for (int i = begin + lane; i < end; i += 32) sum = E::plus(sum, products[bank(i)]);
    return sum_of_lanes(sum);
}

// The rows of a tile, the first of which begins at starts[0]: where the products of row `row` are.
template <class Offset> struct WholeRows {
    const Offset *starts;
    const int count;
    const Offset first;
    int begin, end;

    __device__ __forceinline__ WholeRows(const Offset *starts, int count)
        : starts(starts), count(count), first(__ldg(starts)), begin(0), end(0)
    {
    }

    __device__ __forceinline__ int go_to(int row)
    {
        begin = end = 0;
        if (row < count) {
            begin = (int)(__ldg(starts + row) - first);
            end = (int)(__ldg(starts + row + 1) - first);
        }
        return end - begin;
    }
};

// The rows of more than `most` elements, by a warp each: neighboring ones go to different warps, so that a
// few of them keep all warps busy.
template <int THREADS, class T, class Rows, class Put>
__device__ __forceinline__ void sum_longer_rows(const T *products, Rows rows, int most, Put put)
{
    enum { WARPS = THREADS / 32 };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int base = warp; base < rows.count; base += THREADS) {
        unsigned longer = __ballot_sync(0xffffffffu, rows.go_to(base + lane * WARPS) > most);
        for (; longer; longer &= longer - 1) {
            const int from = __ffs(longer) - 1;
            const T sum = sum_of_warp(products, __shfl_sync(0xffffffffu, rows.begin, from),
                                      __shfl_sync(0xffffffffu, rows.end, from), lane);
            if (lane == 0) put(base + from * WARPS, sum);
        }
    }
}

// A row of up to 32 elements is summed by a lane, a longer one by a warp.
template <int THREADS, class T, class Rows, class Put>
__device__ __forceinline__ void sum_rows(const T *products, Rows rows, Put put)
{
    typedef Element<T> E;
    bool some_longer = false;
    for (int row = threadIdx.x; row < rows.count; row += THREADS) {
        if (rows.go_to(row) > 32) {
            some_longer = true;
            continue;
        }
        T sum = E::zero();
        for (int i = rows.begin; i < rows.end; i++) sum = E::plus(sum, products[bank(i)]);
        put(row, sum);
    }
    if (__syncthreads_or(some_longer)) sum_longer_rows<THREADS>(products, rows, 32, put);
}

// SORTED_AHEAD elements of a tile, THREADS apart. ALL: none is beyond the last one, `count`.
template <int THREADS, bool ALL, class T>
__device__ __forceinline__ void put_products(T *products, const int *__restrict__ bases,
                                             const unsigned *__restrict__ places,
                                             const T *__restrict__ values, const T *__restrict__ x, int at,
                                             int count)
{
    unsigned place[SORTED_AHEAD];
    int column[SORTED_AHEAD];
    T value[SORTED_AHEAD], factor[SORTED_AHEAD];
#pragma unroll
    for (int k = 0; k < SORTED_AHEAD; k++) {
        const int i = at + k * THREADS;
        const bool is_there = ALL || i < count;
        place[k] = is_there ? __ldcs(places + i) : 0;
        column[k] = is_there ? __ldg(bases + i / SORTED_CHUNK) : 0;
        value[k] = is_there ? __ldcs(values + i) : Element<T>::zero();
    }
#pragma unroll
    for (int k = 0; k < SORTED_AHEAD; k++) factor[k] = __ldg(x + column[k] + (place[k] & 0xffff));
#pragma unroll
    for (int k = 0; k < SORTED_AHEAD; k++)
        if (ALL || at + k * THREADS < count)
            products[bank(place[k] >> 16)] = Element<T>::times(value[k], factor[k]);
}

// y = A x or y += A x. places: column after the first one of the chunk, and 2^16 times the place in the
// order of rows; a chunk is padded with its first element. targets: for each row of `starts` the row of y, or
// -1 - number of a piece; null where they are the same. Grid: a block a tile.
template <int THREADS, class T, class Offset>
__device__ __forceinline__ void multiply_sorted(const SortedTile *tiles, const Offset *__restrict__ starts,
                                                const int *__restrict__ targets,
                                                const int *__restrict__ bases,
                                                const unsigned *__restrict__ places,
                                                const T *__restrict__ values, const T *__restrict__ x, T *y,
                                                T *pieces, bool add)
{
    extern __shared__ __align__(16) char memory[];
    T *products = (T *)memory;
    const int4 read = __ldg((const int4 *)tiles + blockIdx.x);
    const int first_row = read.z, rows = read.w, count = read.y * SORTED_CHUNK;
    bases += read.x;
    places += (long long)read.x * SORTED_CHUNK;
    values += (long long)read.x * SORTED_CHUNK;
    int at = threadIdx.x;
    for (; at + (SORTED_AHEAD - 1) * THREADS < count; at += SORTED_AHEAD * THREADS)
        put_products<THREADS, true>(products, bases, places, values, x, at, count);
    if (at < count) put_products<THREADS, false>(products, bases, places, values, x, at, count);
    __syncthreads();
    sum_rows<THREADS>(products, WholeRows<Offset>(starts + first_row, rows), [&](int row, T sum) {
        const int target = targets ? targets[first_row + row] : first_row + row;
        if (target < 0)
            pieces[-1 - target] = sum;
        else
            put_sum(y + target, sum, add);
    });
}

} // namespace pycuda

#endif
