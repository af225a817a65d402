// Sparse matrix in compressed rows (CSR) times a vector or a dense matrix, for csr_array and similar classes,
// whose arrays the kernels read without conversion.
//
// Work is counted in steps: one for each element, and one for the end of each row. It is cut into tiles of
// the same number of steps, so that blocks are done at about the same time whatever the lengths of rows. A
// tile that would begin within a row of up to `longest` elements begins with that row. A longer row is cut
// where tiles begin or, if tiles are smaller than `longest`, after each `longest` elements; in the second
// case some tiles within such a row have no element. A tile that ends within a row stores the sum of its part
// of the row, a carry. add_carries() then adds the carries of a row to the sum that the tile with the row's
// end has stored. Where tiles begin depends on the matrix alone, so that sums have the same order, and the
// same bits, on every run and device.
//
// An element's value may be elsewhere: with `order`, element i has values[order[i]].
#ifndef PYCUDA_SPARSE_ROWS_HPP
#define PYCUDA_SPARSE_ROWS_HPP

#include "sparse/pycuda-sparse-sorted.hpp"

namespace pycuda {

enum { CARRY_THREADS = 1024 };

// Where a tile begins: how many rows end before it, and how many elements are before it.
template <class Index> struct __align__(2 * sizeof(Index)) Bound {
    Index row, element;
};

// Whether a tile that begins at `bound` begins within a row.
template <class Index>
__device__ __forceinline__ bool is_within_row(const Bound<Index> &bound, const Index *starts)
{
    return bound.element > starts[bound.row];
}

// How a matrix is cut: the number of tiles, the steps of a tile, and the elements of a row that is not cut.
// Longer rows are cut into pieces of `longest` elements if longest >= size, otherwise where tiles begin.
struct Cuts {
    long long tiles, size, longest;
};

// Finds bounds[number] for the thread's number, from 0 to `tiles`; bounds[tiles] is the end of the last tile.
// The grid has a thread for each bound.
template <class Index>
__device__ __forceinline__ void find_bound(const Index *__restrict__ starts, long long rows, const Cuts &cuts,
                                           Bound<Index> *bounds)
{
    const long long number = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (number > cuts.tiles) return;
    const long long step = number * cuts.size;
    long long low = number == cuts.tiles ? rows : 0, high = rows;
    while (low < high) {
        const long long middle = (low + high) / 2;
        if (starts[middle + 1] + middle < step)
            low = middle + 1;
        else
            high = middle;
    }
    Bound<Index> found;
    found.row = (Index)low;
    found.element = low < rows ? (Index)(step - low) : starts[rows];
    if (low < rows) {
        const Index start = starts[low], before = found.element - start;
        if (starts[low + 1] - start <= cuts.longest)
            found.element = start;
        else if (cuts.longest >= cuts.size)
            found.element -= before % (Index)cuts.longest;
    }
    bounds[number] = found;
}

// The rows of a tile, of which the first and the last may be parts of rows. go_to(row) sets begin and end to
// where the elements of the row are in the tile, and returns how many there are.
template <class Index> struct TileRows {
    const Index *starts;
    Bound<Index> from, to;
    int ending, count; // rows that end in the tile; these and the row that goes on after it, if there is one
    int begin, end;

    __device__ __forceinline__ TileRows(const Index *starts, const Bound<Index> *tile)
        : starts(starts), from(tile[0]), to(tile[1]), ending((int)(to.row - from.row)),
          count(ending + is_within_row(to, starts)), begin(0), end(0)
    {
    }

    __device__ __forceinline__ int go_to(int row)
    {
        begin = end = 0;
        if (row < count) {
            const Index first = starts[from.row + row], last = row < ending ? starts[from.row + row + 1]
                                                                           : to.element;
            begin = first > from.element ? (int)(first - from.element) : 0;
            end = (int)(last - from.element);
        }
        return end - begin;
    }
};

// Loads a value that is read only once. For types that have such instructions, the load does not evict x from
// the cache.
template <class T> __device__ __forceinline__ T read_once(const T *place) { return *place; }
__device__ __forceinline__ int read_once(const int *place) { return __ldcs(place); }
__device__ __forceinline__ long long read_once(const long long *place) { return __ldcs(place); }
__device__ __forceinline__ float read_once(const float *place) { return __ldcs(place); }
__device__ __forceinline__ double read_once(const double *place) { return __ldcs(place); }
__device__ __forceinline__ float2 read_once(const float2 *place) { return __ldcs(place); }
__device__ __forceinline__ double2 read_once(const double2 *place) { return __ldcs(place); }

template <bool ORDERED, class T, class Index>
__device__ __forceinline__ T value_of(const T *__restrict__ values, const Index *__restrict__ order,
                                      Index element)
{
    return values[ORDERED ? order[element] : element];
}

// Stores the products of a tile's elements with elements of x in `products`; if `columns` is null, the
// elements themselves.
template <int AHEAD, bool ORDERED, class T, class Index>
__device__ __forceinline__ void store_products(T *products, const Index *__restrict__ columns,
                                               const Index *__restrict__ order,
                                               const T *__restrict__ values, const T *__restrict__ x,
                                               long long stride, Index first, int count)
{
    for (int base = threadIdx.x; base < count; base += SPARSE_THREADS * AHEAD) {
        T value[AHEAD];
        Index column[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const Index i = first + min(base + k * SPARSE_THREADS, count - 1);
            column[k] = columns ? read_once(columns + i) : 0;
            value[k] = ORDERED ? values[read_once(order + i)] : read_once(values + i);
        }
        if (columns) {
            T factor[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) factor[k] = x[column[k] * stride];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) value[k] = Element<T>::times(value[k], factor[k]);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (base + k * SPARSE_THREADS < count) products[bank(base + k * SPARSE_THREADS)] = value[k];
    }
}

// Sums a tile's rows. Each row has a power of two of lanes, as many as the block has for all rows, at most
// `most_lanes`. A row of more than 32 elements for each of its lanes is summed by a warp instead.
template <class T, class Rows, class Put>
__device__ __forceinline__ void sum_tile(const T *products, Rows rows, int most_lanes, Put put)
{
    typedef Element<T> E;
    int shift = 0;
    while (1 << shift < most_lanes && rows.count << (shift + 1) <= SPARSE_THREADS) shift++;
    const int lanes = 1 << shift, lane = threadIdx.x & (lanes - 1), most = 32 << shift;
    bool some_longer = false;
    for (int base = 0; base < rows.count; base += SPARSE_THREADS >> shift) {
        const int row = base + (threadIdx.x >> shift);
        const bool is_short = rows.go_to(row) <= most;
        T sum = E::zero();
        if (is_short)
            for (int i = rows.begin + lane; i < rows.end; i += lanes) sum = E::plus(sum, products[bank(i)]);
        for (int apart = lanes / 2; apart; apart /= 2) sum = E::plus(sum, E::from_lane(sum, apart));
        if (is_short && lane == 0 && row < rows.count) put(row, sum);
        some_longer |= !is_short;
    }
    if (__syncthreads_or(some_longer)) sum_longer_rows<SPARSE_THREADS>(products, rows, most, put);
}

// y = A x. If `columns` is null, y = the sums of the rows, and a row of up to 32 elements is summed one
// element after another. Tiles have at most SIZE steps and then the rest of a row of LONGEST elements. The
// grid has a block for each tile.
template <int SIZE, int LONGEST, bool ORDERED, class T, class Index>
__device__ __forceinline__ void
multiply_vector(const Bound<Index> *bounds, const Index *__restrict__ starts,
                const Index *__restrict__ columns, const Index *__restrict__ order,
                const T *__restrict__ values, const T *__restrict__ x, long long stride, T *y, T *carries)
{
    enum { CAPACITY = SIZE + LONGEST };
    __shared__ T products[CAPACITY + CAPACITY / 32];
    const TileRows<Index> rows(starts, bounds + blockIdx.x);
    const int count = (int)(rows.to.element - rows.from.element);
    store_products<SIZE / SPARSE_THREADS, ORDERED>(products, columns, order, values, x, stride,
                                                   rows.from.element, count);
    __syncthreads();
    sum_tile(products, rows, columns ? 32 : 1, [&](int row, T sum) {
        if (row < rows.ending)
            y[rows.from.row + row] = sum;
        else
            carries[blockIdx.x] = sum;
    });
}

// Adds the products of elements `at` to end - 1 to the sums of a thread's columns, in order. AHEAD elements
// are loaded at a time.
template <int AHEAD, int EACH, bool ORDERED, class T, class Index>
__device__ __forceinline__ void
add_products(T (&sums)[EACH], const int (&places)[EACH], Index at, Index end,
             const Index *__restrict__ columns, const Index *__restrict__ order,
             const T *__restrict__ values, const T *__restrict__ x, long long pitch)
{
    typedef Element<T> E;
    for (; at < end; at += AHEAD) {
        Index column[AHEAD];
        T value[AHEAD], factor[AHEAD][EACH];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            column[k] = at + k < end ? columns[at + k] : 0;
            value[k] = at + k < end ? value_of<ORDERED>(values, order, at + k) : E::zero();
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
#pragma unroll
            for (int j = 0; j < EACH; j++)
                factor[k][j] = at + k < end ? x[column[k] * pitch + places[j]] : E::zero();
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
#pragma unroll
            for (int j = 0; j < EACH; j++)
                if (at + k < end) sums[j] = E::plus(sums[j], E::times(value[k], factor[k][j]));
    }
}

// y = A x for matrices x and y whose rows are contiguous, `pitch` and `y_pitch` elements apart. A tile is
// taken by LANES threads, each of which has EACH columns of y, LANES apart. Long rows are cut into pieces
// (longest >= size). The grid has tiles along x, columns along y.
template <int LANES, int EACH, int AHEAD, bool ORDERED, class T, class Index>
__device__ __forceinline__ void
multiply_matrix(const Bound<Index> *bounds, const Cuts &cuts, const Index *__restrict__ starts,
                const Index *__restrict__ columns, const Index *__restrict__ order,
                const T *__restrict__ values, const T *__restrict__ x, long long pitch, T *y,
                long long y_pitch, T *carries, long long carry_pitch, int width)
{
    const long long tile = blockIdx.x * (long long)(SPARSE_THREADS / LANES) + threadIdx.x / LANES;
    const int left = blockIdx.y * (LANES * EACH) + threadIdx.x % LANES;
    if (tile >= cuts.tiles) return;
    int places[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) places[k] = min(left + k * LANES, width - 1);
    const Bound<Index> from = bounds[tile], to = bounds[tile + 1];
    Index at = from.element;
    for (Index row = from.row; row < to.row || at < to.element; row++) {
        const bool ends = row < to.row;
        const Index end = ends ? starts[row + 1] : to.element;
        T sums[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) sums[k] = Element<T>::zero();
        add_products<AHEAD, EACH, ORDERED>(sums, places, at, end, columns, order, values, x, pitch);
        at = end;
        T *into = ends ? y + row * y_pitch : carries + (end - 1) / cuts.longest * carry_pitch;
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (left + k * LANES < width) into[left + k * LANES] = sums[k];
    }
}

// The carries of a long row have the numbers `first` to first + count - 1. If rows are cut where tiles begin,
// the number of a carry is that of its tile. If they are cut into pieces, it is the index of the last element
// in it (among the matrix's elements) divided by `longest`.
template <class Index> struct Carries {
    long long first, count;
    Index row;

    // The carries of the row within which tile `number` begins, if no earlier tile begins within it;
    // otherwise none.
    __device__ __forceinline__ Carries(const Bound<Index> *bounds, const Cuts &cuts, const Index *starts,
                                       long long number)
        : first(number - 1), count(0), row(0)
    {
        if (number < 1 || number >= cuts.tiles) return;
        const Bound<Index> bound = bounds[number], before = bounds[number - 1];
        if (!is_within_row(bound, starts)) return;
        if (before.row == bound.row && is_within_row(before, starts)) return;
        row = bound.row;
        const long long start = starts[row], last = (starts[row + 1] + (long long)row) / cuts.size;
        count = last - first;
        if (cuts.longest < cuts.size) return;
        first = (start + cuts.longest - 1) / cuts.longest;
        count = (last * cuts.size - row - start) / cuts.longest;
    }
};

// The sum of every `step`-th carry of a column, from number `at` on.
template <class T>
__device__ __forceinline__ T sum_of_carries(const T *__restrict__ carries, long long pitch, long long count,
                                            int at, int step)
{
    T sum = Element<T>::zero();
#pragma unroll 8
    for (long long i = at; i < count; i += step) sum = Element<T>::plus(sum, carries[i * pitch]);
    return sum;
}

// Returns the sum over the lanes of a warp whose numbers are equal modulo LANES; only lanes 0 to LANES - 1
// have it.
template <int LANES, class T> __device__ __forceinline__ T sum_of_strands(T sum)
{
#pragma unroll
    for (int apart = 16; apart >= LANES; apart /= 2)
        sum = Element<T>::plus(sum, Element<T>::from_lane(sum, apart));
    return sum;
}

// Adds the carries to rows of which several tiles have parts. Up to 32 carries of a row are added by a warp,
// more by the block; among the 32 tiles of a warp at most one row with more than 32 carries begins. The grid
// has a thread for each tile along x, LANES columns for each block along y.
template <int LANES, class T, class Index>
__device__ __forceinline__ void add_carries(const Bound<Index> *bounds, const Cuts &cuts,
                                            const Index *__restrict__ starts, const T *__restrict__ carries,
                                            long long carry_pitch, T *y, long long y_pitch, int width)
{
    typedef Element<T> E;
    enum { WARPS = CARRY_THREADS / 32 };
    __shared__ long long longer[WARPS];
    __shared__ T sums[WARPS][LANES];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, strand = lane / LANES;
    const int column = blockIdx.y * LANES + threadIdx.x % LANES, place = min(column, width - 1);
    const long long first = blockIdx.x * (long long)CARRY_THREADS + warp * 32;
    const Carries<Index> own(bounds, cuts, starts, first + lane);
    const unsigned many = __ballot_sync(0xffffffffu, own.count > 32);
    if (lane == 0) longer[warp] = many ? first + __ffs(many) - 1 : 0;
    for (unsigned few = __ballot_sync(0xffffffffu, own.count > 0 && own.count <= 32); few; few &= few - 1) {
        const Carries<Index> of_row(bounds, cuts, starts, first + __ffs(few) - 1);
        const T *from = carries + of_row.first * carry_pitch + place;
        const T part = sum_of_carries(from, carry_pitch, of_row.count, strand, 32 / LANES);
        const T sum = sum_of_strands<LANES>(part);
        T *into = y + of_row.row * y_pitch + column;
        if (strand == 0 && column < width) *into = E::plus(sum, *into);
    }
    __syncthreads();
    for (int k = 0; k < WARPS; k++) {
        if (!longer[k]) continue;
        const Carries<Index> of_row(bounds, cuts, starts, longer[k]);
        const T *from = carries + of_row.first * carry_pitch + place;
        const T part = sum_of_strands<LANES>(sum_of_carries(from, carry_pitch, of_row.count,
                                                            threadIdx.x / LANES, CARRY_THREADS / LANES));
        if (strand == 0) sums[warp][lane % LANES] = part;
        __syncthreads();
        if (threadIdx.x < LANES && column < width) {
            T sum = sums[0][threadIdx.x];
            for (int i = 1; i < WARPS; i++) sum = E::plus(sum, sums[i][threadIdx.x]);
            T *into = y + of_row.row * y_pitch + column;
            *into = E::plus(sum, *into);
        }
        __syncthreads();
    }
}

} // namespace pycuda

#endif
