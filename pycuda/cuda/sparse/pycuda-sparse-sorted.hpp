// Sparse matrix times vector for PyCUDA's operators where the columns of a row are scattered. The cost is
// then determined by the number of cache lines of x that are requested. A tile has as many elements as fit
// into a block's shared memory. They are sorted by column, so that the lanes of a warp read elements of x
// near each other. Their products are stored in shared memory in the order of rows and summed there. The
// order in which a row is summed depends on its length alone, so that results do not depend on the size of
// tiles, which depends on the device.
//
// A long row is cut into pieces, each of which is treated as a row and has a partial sum.
#ifndef PYCUDA_SPARSE_SORTED_HPP
#define PYCUDA_SPARSE_SORTED_HPP

#include "sparse/pycuda-sparse.hpp"

namespace pycuda {

// SORTED_CHUNK: elements of a chunk. SORTED_AHEAD: elements that a thread loads at a time.
enum { SORTED_CHUNK = 256, SORTED_AHEAD = 8 };

// Written by pycuda._kernels.sparse.column_sorted.
struct __align__(16) SortedTile {
    // Its first chunk, and how many it has. A chunk is SORTED_CHUNK elements whose columns are stored as
    // differences from the first of them.
    int chunk, chunks;
    int row, rows; // its first row of `starts`, and how many it has
};

// Returns the sum of a row's products, in lane 0 only.
template <class T> __device__ __forceinline__ T sum_of_warp(const T *products, int begin, int end, int lane)
{
    typedef Element<T> E;
    T sum = E::zero();
    for (int i = begin + lane; i < end; i += 32) sum = E::plus(sum, products[bank(i)]);
    return sum_of_lanes(sum);
}

// The rows of a tile, the first of which begins at starts[0]. go_to(row) sets begin and end to where the
// products of the row are, and returns how many there are.
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

// Sums the rows of more than `most` elements, each by a warp. Neighboring rows go to different warps, so that
// a few long rows keep all warps busy.
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

// Sums the rows of a tile: a row of up to 32 elements by one thread, a longer one by a warp.
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

// Stores the products of SORTED_AHEAD elements of a tile, which are THREADS apart. ALL: all of them are among
// the `count` elements of the tile.
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

// y = A x or y += A x. places: for each element the difference of its column from the first one of the chunk,
// plus 2^16 times its place in the order of rows. A chunk is padded with copies of its first element.
// targets: for each row of `starts` the row of y, or -1 - number of a piece; null where row i of `starts` is
// row i of y. The grid has a block for each tile.
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
