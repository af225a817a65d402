// The structure of a sparse matrix: whether it is valid, whether rows are sorted and without duplicates, the
// row of each element, and the dense matrix of the elements.
#ifndef PYCUDA_SPARSE_STRUCTURE_HPP
#define PYCUDA_SPARSE_STRUCTURE_HPP

namespace pycuda {

enum { STRUCTURE_THREADS = 256 };

// Counts over all elements, 0 before the kernel. Read by pycuda._kernels.sparse.structure.
struct StructureFacts {
    long long bad_starts, bad_places; // rows that end before they begin, elements outside of the matrix
    long long not_rising, falling; // neighbors in a row whose columns do not rise, of these those that fall
    long long longest, count; // elements of the longest row, of all
};

__device__ __forceinline__ void add_over_warp(long long *total, long long value)
{
#pragma unroll
    for (int apart = 16; apart; apart /= 2) value += __shfl_down_sync(0xffffffffu, value, apart);
    if (threadIdx.x % 32 == 0 && value) atomicAdd((unsigned long long *)total, (unsigned long long)value);
}

__device__ __forceinline__ void greatest_over_warp(long long *greatest, long long value)
{
#pragma unroll
    for (int apart = 16; apart; apart /= 2)
        value = max(value, __shfl_down_sync(0xffffffffu, value, apart));
    if (threadIdx.x % 32 == 0 && value > 0) atomicMax(greatest, value);
}

// Counts the facts about compressed rows with `size` elements. Each element is compared with the next one,
// even if that is in another row; the thread of each row subtracts what this counts at the beginning of its
// row.
template <class Index>
__device__ __forceinline__ void look_at_rows(const Index *__restrict__ starts, long long rows,
                                             const Index *__restrict__ columns, long long size,
                                             long long width, StructureFacts *facts)
{
    const long long step = (long long)gridDim.x * STRUCTURE_THREADS;
    const long long end_of_all = starts[rows], count = min(max(end_of_all, 0ll), size);
    long long bad_starts = 0, bad_places = 0, not_rising = 0, falling = 0, longest = 0;
    for (long long i = blockIdx.x * (long long)STRUCTURE_THREADS + threadIdx.x; i < max(rows, count);
         i += step) {
        if (i < rows) {
            const long long begin = starts[i], end = starts[i + 1];
            bad_starts += end < begin || (i == 0 && begin != 0);
            longest = max(longest, end - begin);
            if (begin > 0 && begin < end && begin < count) {
                not_rising -= columns[begin] <= columns[begin - 1];
                falling -= columns[begin] < columns[begin - 1];
            }
        }
        if (i < count) {
            const long long column = columns[i];
            bad_places += column < 0 || column >= width;
            if (i + 1 < count) {
                not_rising += columns[i + 1] <= column;
                falling += columns[i + 1] < column;
            }
        }
    }
    add_over_warp(&facts->bad_starts, bad_starts);
    add_over_warp(&facts->bad_places, bad_places);
    add_over_warp(&facts->not_rising, not_rising);
    add_over_warp(&facts->falling, falling);
    greatest_over_warp(&facts->longest, longest);
    if (blockIdx.x == 0 && threadIdx.x == 0) facts->count = end_of_all;
}

// Counts the facts about elements that have a row and a column each and are sorted by row.
template <class Index>
__device__ __forceinline__ void look_at_places(const Index *__restrict__ rows,
                                               const Index *__restrict__ columns, long long count,
                                               long long height, long long width, StructureFacts *facts)
{
    const long long step = (long long)gridDim.x * STRUCTURE_THREADS;
    long long bad_places = 0, not_rising = 0, falling = 0;
    for (long long i = blockIdx.x * (long long)STRUCTURE_THREADS + threadIdx.x; i < count; i += step) {
        const Index row = rows[i], column = columns[i];
        bad_places += row < 0 || row >= height || column < 0 || column >= width;
        if (i + 1 < count) {
            const Index next_row = rows[i + 1], next = columns[i + 1];
            not_rising += next_row < row || (next_row == row && next <= column);
            falling += next_row < row || (next_row == row && next < column);
        }
    }
    add_over_warp(&facts->bad_places, bad_places);
    add_over_warp(&facts->not_rising, not_rising);
    add_over_warp(&facts->falling, falling);
    if (blockIdx.x == 0 && threadIdx.x == 0) facts->count = count;
}

// Writes the row of each element.
template <class Index>
__device__ __forceinline__ void number_rows(const Index *__restrict__ starts, long long rows, long long count,
                                            Index *numbers)
{
    const long long i = blockIdx.x * (long long)STRUCTURE_THREADS + threadIdx.x;
    if (i >= count) return;
    long long low = 0, high = rows;
    while (low + 1 < high) {
        const long long middle = (low + high) / 2;
        if (starts[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    numbers[i] = (Index)low;
}

// dense[row, column] = value of each element, which are in different places.
template <class T, class Index>
__device__ __forceinline__ void fill_dense(const Index *__restrict__ rows, const Index *__restrict__ columns,
                                           const T *__restrict__ values, long long count, T *dense,
                                           long long row_step, long long column_step)
{
    const long long i = blockIdx.x * (long long)STRUCTURE_THREADS + threadIdx.x;
    if (i < count) dense[rows[i] * row_step + columns[i] * column_step] = values[i];
}

// diagonal[number] = value of each element whose column is its row + k; all are in different places.
template <class T, class Index>
__device__ __forceinline__ void fill_diagonal(const Index *__restrict__ rows,
                                              const Index *__restrict__ columns,
                                              const T *__restrict__ values, long long count, long long k,
                                              T *diagonal)
{
    const long long i = blockIdx.x * (long long)STRUCTURE_THREADS + threadIdx.x;
    if (i < count && (long long)columns[i] - rows[i] == k) diagonal[rows[i] + min(k, 0ll)] = values[i];
}

} // namespace pycuda

#endif
