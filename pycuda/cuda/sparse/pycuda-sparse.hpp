// Sparse matrix (CSR) times vector for PyCUDA's operators, whose matrix the host has prepared. (For csr_array
// and similar classes see pycuda-sparse-rows.hpp.) The host cuts the matrix once into tiles of about the same
// number of elements and rows, and a block takes one tile. Some tiles have neighboring short rows: their
// products go to shared memory, where 1 to 32 lanes sum each row. Other tiles have one piece of a long row,
// which the whole block sums. A row of several pieces has a partial sum for each, and a second kernel adds
// these. Where a tile begins and how many lanes take a row depend on the matrix alone, so that sums have the
// same order, and the same bits, on every run and device.
//
// The product is limited by memory bandwidth, so columns are stored in as few bytes as possible.
#ifndef PYCUDA_SPARSE_HPP
#define PYCUDA_SPARSE_HPP

namespace pycuda {

enum { SPARSE_THREADS = 256 };

// Operations on elements. Complex numbers are vector types here, which one instruction loads. from_lane(a,
// apart) is the value of the lane that is `apart` above.
template <class T> struct Element {
    static __device__ __forceinline__ T zero() { return T(0); }
    static __device__ __forceinline__ T times(T a, T b) { return a * b; }
    static __device__ __forceinline__ T plus(T a, T b) { return a + b; }
    static __device__ __forceinline__ T from_lane(T a, int apart)
    {
        return __shfl_down_sync(0xffffffffu, a, apart);
    }
};

template <class P> struct PairElement {
    static __device__ __forceinline__ P make(decltype(P().x) re, decltype(P().x) im)
    {
        P result;
        result.x = re;
        result.y = im;
        return result;
    }
    static __device__ __forceinline__ P zero() { return make(0, 0); }
    static __device__ __forceinline__ P times(P a, P b)
    {
        return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
    }
    static __device__ __forceinline__ P plus(P a, P b) { return make(a.x + b.x, a.y + b.y); }
    static __device__ __forceinline__ P from_lane(P a, int apart)
    {
        return make(__shfl_down_sync(0xffffffffu, a.x, apart),
                    __shfl_down_sync(0xffffffffu, a.y, apart));
    }
};

template <> struct Element<float2> : PairElement<float2> {};
template <> struct Element<double2> : PairElement<double2> {};

// A tile has either whole rows, or a piece of a long row. Written by pycuda._kernels.sparse.spmv.
struct __align__(16) Tile {
    long long first; // number of its first element
    int row;         // its first row; for a piece of a row that has several, -1 - number of the piece
    unsigned packed; // from the lowest bit: rows, 0 for a piece (12 bits); logarithm of lanes (4); elements
};

struct __align__(16) LongRow {
    int row, begin, end, unused; // it has the pieces begin to end - 1
};

// ---- the columns of a tile's elements: operator()(i) is the column of element i of the tile

// Columns as 16-bit offsets from the tile's first column, for matrices whose tiles each span at most 65,536
// columns.
struct NearColumns {
    const unsigned short *beyond;
    int base;
    __device__ __forceinline__ NearColumns(const void *low, const void *bases, long long first)
        : beyond((const unsigned short *)low + first), base(__ldg((const int *)bases + blockIdx.x))
    {
    }
    __device__ __forceinline__ int operator()(int i) const { return base + __ldcs(beyond + i); }
};

// Columns of 24 bits, for matrices of up to 2^24 columns: the lower 16 bits in one array, the upper 8 in
// another.
struct SplitColumns {
    const unsigned short *low;
    const unsigned char *high;
    __device__ __forceinline__ SplitColumns(const void *low, const void *high, long long first)
        : low((const unsigned short *)low + first), high((const unsigned char *)high + first)
    {
    }
    __device__ __forceinline__ int operator()(int i) const
    {
        return __ldcs(high + i) << 16 | __ldcs(low + i);
    }
};

struct WholeColumns {
    const int *columns;
    __device__ __forceinline__ WholeColumns(const void *columns, const void *, long long first)
        : columns((const int *)columns + first)
    {
    }
    __device__ __forceinline__ int operator()(int i) const { return __ldcs(columns + i); }
};

// The place of product i in shared memory. One word is left free after each 32, as rows whose length is a
// power of two would have bank conflicts otherwise.
__device__ __forceinline__ unsigned bank(unsigned i) { return i + i / 32; }

// *y = sum, or *y += sum if `add`.
template <class T> __device__ __forceinline__ void put_sum(T *y, T sum, bool add)
{
    *y = add ? Element<T>::plus(*y, sum) : sum;
}

// Returns the sum of the warp's numbers, in lane 0 only.
template <class T> __device__ __forceinline__ T sum_of_lanes(T sum)
{
#pragma unroll
    for (int apart = 16; apart; apart /= 2) sum = Element<T>::plus(sum, Element<T>::from_lane(sum, apart));
    return sum;
}

// Returns the sum of the block's numbers, in every thread.
template <class T> __device__ __forceinline__ T sum_of_block(T sum)
{
    typedef Element<T> E;
    __shared__ T warps[SPARSE_THREADS / 32];
    sum = sum_of_lanes(sum);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = warps[0];
#pragma unroll
    for (int k = 1; k < SPARSE_THREADS / 32; k++) sum = E::plus(sum, warps[k]);
    return sum;
}

// Calls take(i, product) for this thread's elements of a tile, in order. Each element of the matrix is read
// once, by loads that do not evict x from the cache. AHEAD elements are loaded at a time.
template <int AHEAD, class T, class Columns, class Take>
__device__ __forceinline__ void products(const T *__restrict__ values, const Columns &columns,
                                         const T *__restrict__ x, int count, Take take)
{
    for (int base = threadIdx.x; base < count; base += SPARSE_THREADS * AHEAD) {
        const T none = Element<T>::zero();
        const int left = count - base;
        int column[AHEAD];
        T value[AHEAD], factor[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            column[k] = k * SPARSE_THREADS < left ? columns(base + k * SPARSE_THREADS) : 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            value[k] = k * SPARSE_THREADS < left ? __ldcs(values + base + k * SPARSE_THREADS) : none;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            factor[k] = k * SPARSE_THREADS < left ? __ldg(x + column[k]) : none;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (k * SPARSE_THREADS < left)
                take(base + k * SPARSE_THREADS, Element<T>::times(value[k], factor[k]));
    }
}

// y = A x, or y += A x if `add`. A tile of short rows has at most WINDOW elements and then the rest of its
// last row, of at most LONGEST elements. pieces: where the partial sums of long rows are stored. The grid has
// a block for each tile.
template <class T, class Offset, class Columns, int WINDOW, int LONGEST>
__device__ __forceinline__ void multiply(const Tile *tiles, const Offset *__restrict__ starts,
                                         const void *low, const void *high, const T *__restrict__ values,
                                         const T *__restrict__ x, T *y, T *pieces, bool add)
{
    typedef Element<T> E;
    enum { AHEAD = WINDOW / SPARSE_THREADS, CAPACITY = WINDOW + LONGEST };
    __shared__ T shared[CAPACITY + CAPACITY / 32];
    const int4 read = __ldg((const int4 *)tiles + blockIdx.x);
    const long long first = (long long)((unsigned long long)(unsigned)read.y << 32 | (unsigned)read.x);
    const unsigned packed = (unsigned)read.w;
    const int row = read.z, rows = packed & 4095, count = packed >> 16;
    const Columns columns(low, high, first);
    if (rows == 0) {
        T sum = E::zero();
        products<AHEAD>(values + first, columns, x, count,
                        [&](int, T product) { sum = E::plus(sum, product); });
        sum = sum_of_block(sum);
        if (threadIdx.x == 0) {
            if (row < 0)
                pieces[-1 - row] = sum;
            else
                put_sum(y + row, sum, add);
        }
        return;
    }
    const int shift = packed >> 12 & 15, lanes = 1 << shift, step = SPARSE_THREADS >> shift;
    const int lane = threadIdx.x & (lanes - 1);
    int mine = threadIdx.x >> shift, begin = 0, end = 0;
    if (mine < rows) { // these loads overlap with those of the products
        begin = (int)(starts[row + mine] - first);
        end = (int)(starts[row + mine + 1] - first);
    }
    products<AHEAD>(values + first, columns, x, count,
                    [&](int i, T product) { shared[bank(i)] = product; });
    __syncthreads();
    // All lanes make the same number of rounds, as they exchange sums in each.
    for (int round = 0; round < rows; round += step) {
        T sum = E::zero();
        for (int i = begin + lane; i < end; i += lanes) sum = E::plus(sum, shared[bank(i)]);
        for (int apart = lanes / 2; apart; apart /= 2) sum = E::plus(sum, E::from_lane(sum, apart));
        if (lane == 0 && mine < rows) put_sum(y + row + mine, sum, add);
        mine += step;
        begin = end = 0;
        if (mine < rows) {
            begin = (int)(starts[row + mine] - first);
            end = (int)(starts[row + mine + 1] - first);
        }
    }
}

// Sums the pieces of each row that has several. The grid has a block for each such row.
template <class T>
__device__ __forceinline__ void sum_pieces(const LongRow *rows, const T *pieces, T *y, bool add)
{
    typedef Element<T> E;
    const LongRow row = rows[blockIdx.x];
    T sum = E::zero();
    for (int i = row.begin + threadIdx.x; i < row.end; i += SPARSE_THREADS) sum = E::plus(sum, pieces[i]);
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) put_sum(y + row.row, sum, add);
}

} // namespace pycuda

#endif
