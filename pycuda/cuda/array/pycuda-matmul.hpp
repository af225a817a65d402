// Batched products of matrices with any strides: tiles of 64 x 64 results a block, 4 x 4 a thread, operands
// staged in shared memory. Each result is summed in the order of the inner axis.
#ifndef PYCUDA_MATMUL_HPP
#define PYCUDA_MATMUL_HPP

#include "reduce/pycuda-reduce-ops.hpp"

namespace pycuda {

enum { MATMUL_SIDE = 64, MATMUL_DEPTH = 16, MATMUL_THREADS = 256, MATMUL_EACH = 4 };

template <int D> struct Matmul {
    index_t rows, columns, inner, batches;
    index_t a_row, a_inner, b_inner, b_column, c_row, c_column; // bytes
    index_t length[D], a_batch[D], b_batch[D], c_batch[D];      // of the axes before these, innermost last
};

template <class A> struct Product {
    static __device__ __forceinline__ A add(const A &sum, const A &a, const A &b) { return A(sum + a * b); }
};

template <> struct Product<bool> {
    static __device__ __forceinline__ bool add(bool sum, bool a, bool b) { return sum || (a && b); }
};

// A tile of an operand: MATMUL_SIDE lines of MATMUL_DEPTH numbers; neighbors in memory for neighboring
// threads.
template <class T, class A>
__device__ __forceinline__ void fetch(A (*tile)[MATMUL_SIDE + 1], const char *from, index_t line,
                                      index_t lines, index_t line_step, index_t depth, index_t depths,
                                      index_t depth_step)
{
    bool by_depth = (depth_step < 0 ? -depth_step : depth_step) < (line_step < 0 ? -line_step : line_step);
#pragma unroll
    for (int i = threadIdx.x; i < MATMUL_SIDE * MATMUL_DEPTH; i += MATMUL_THREADS) {
        int l = by_depth ? i / MATMUL_DEPTH : i % MATMUL_SIDE,
            d = by_depth ? i % MATMUL_DEPTH : i / MATMUL_SIDE;
        bool there = line + l < lines && depth + d < depths;
        tile[d][l] = A(0);
        if (there)
            tile[d][l] = To<A>::from(value(
                *reinterpret_cast<const T *>(from + (line + l) * line_step + (depth + d) * depth_step)));
    }
}

template <class TA, class TB, class TC, class A, int D>
__device__ __forceinline__ void multiply_batch(const char *a, const char *b, char *c, const Matmul<D> &plan,
                                               A (*rows)[MATMUL_SIDE + 1], A (*columns)[MATMUL_SIDE + 1])
{
    index_t row = (index_t)blockIdx.x * MATMUL_SIDE, column = (index_t)blockIdx.y * MATMUL_SIDE;
    int down = threadIdx.x / 16, across = threadIdx.x % 16;
    A sum[MATMUL_EACH][MATMUL_EACH];
#pragma unroll
    for (int i = 0; i < MATMUL_EACH * MATMUL_EACH; i++) sum[i / MATMUL_EACH][i % MATMUL_EACH] = A(0);
#pragma unroll 1
    for (index_t k = 0; k < plan.inner; k += MATMUL_DEPTH) {
        __syncthreads(); // all threads have read the previous tiles
        fetch<TA>(rows, a, row, plan.rows, plan.a_row, k, plan.inner, plan.a_inner);
        fetch<TB>(columns, b, column, plan.columns, plan.b_column, k, plan.inner, plan.b_inner);
        __syncthreads();
        int depth = (int)min((index_t)MATMUL_DEPTH, plan.inner - k);
#pragma unroll 1
        for (int d = 0; d < depth; d++)
#pragma unroll
            for (int i = 0; i < MATMUL_EACH; i++)
#pragma unroll
                for (int j = 0; j < MATMUL_EACH; j++)
                    sum[i][j] =
                        Product<A>::add(sum[i][j], rows[d][down + 16 * i], columns[d][across + 16 * j]);
    }
#pragma unroll
    for (int i = 0; i < MATMUL_EACH; i++)
#pragma unroll
        for (int j = 0; j < MATMUL_EACH; j++) {
            index_t y = row + down + 16 * i, x = column + across + 16 * j;
            if (y < plan.rows && x < plan.columns)
                put(*reinterpret_cast<TC *>(c + y * plan.c_row + x * plan.c_column), sum[i][j]);
        }
}

// Grid: tiles of rows, tiles of columns, matrices.
template <class TA, class TB, class TC, class A, int D>
__device__ __forceinline__ void matmul(const char *a, const char *b, char *c, const Matmul<D> &plan)
{
    __shared__ alignas(16) char raw[2 * MATMUL_DEPTH * (MATMUL_SIDE + 1) * sizeof(A)];
    typedef A Line[MATMUL_SIDE + 1];
    Line *rows = reinterpret_cast<Line *>(raw), *columns = rows + MATMUL_DEPTH;
#pragma unroll 1
    for (index_t batch = blockIdx.z; batch < plan.batches; batch += gridDim.z) {
        const char *here_a = a, *here_b = b;
        char *here_c = c;
        index_t i = batch;
#pragma unroll
        for (int d = D - 1; d >= 0; d--) {
            index_t rest = quotient(i, plan.length[d]), at = i - rest * plan.length[d];
            here_a += at * plan.a_batch[d];
            here_b += at * plan.b_batch[d];
            here_c += at * plan.c_batch[d];
            i = rest;
        }
        multiply_batch<TA, TB, TC, A>(here_a, here_b, here_c, plan, rows, columns);
    }
}

}

#endif
