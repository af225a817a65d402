// The order of rows after the interchanges of an LU factorization.
#ifndef PYCUDA_ROW_ORDER_HPP
#define PYCUDA_ROW_ORDER_HPP

#include "base/pycuda-elements.hpp"

namespace pycuda
{

enum { ROW_ORDER_THREADS = 256 };

// Interchanges order[k] and order[pivots[k] - 1] for k = 0, 1, ... count - 1. Pivots outside of the matrix
// are clamped.
__device__ __forceinline__ void interchange(int *order, int rows, const index_t *pivots, int count)
{
    __shared__ int others[ROW_ORDER_THREADS];
    for (int first = 0; first < count; first += ROW_ORDER_THREADS) {
        const int here = min((int)ROW_ORDER_THREADS, count - first);
        if ((int)threadIdx.x < here)
            others[threadIdx.x] = (int)min(max(pivots[first + threadIdx.x], index_t(1)), index_t(rows)) - 1;
        __syncthreads();
        if (threadIdx.x == 0)
            for (int k = 0; k < here; k++) {
                const int other = others[k], row = order[first + k];
                order[first + k] = order[other];
                order[other] = row;
            }
        __syncthreads();
    }
}

// Finds the order of the rows of a matrix, by one block. order[i] becomes the row that is moved to place i;
// with `inverse`, the place to which row i is moved. work: memory of one element for each row.
__device__ __forceinline__ void find_row_order(const index_t *pivots, int *order, int *work, int rows,
                                               int count, bool inverse)
{
    for (int i = threadIdx.x; i < rows; i += ROW_ORDER_THREADS) work[i] = i;
    __syncthreads();
    interchange(work, rows, pivots, count);
    for (int i = threadIdx.x; i < rows; i += ROW_ORDER_THREADS) {
        if (inverse)
            order[work[i]] = i;
        else
            order[i] = work[i];
    }
}

} // namespace pycuda

#endif
