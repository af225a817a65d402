// Batched products of matrices with any strides. A block has a tile of the result, a thread quads of it: 4 x
// 4 neighbors. Operands are staged in shared memory, the next part while this one is multiplied. Each result
// is summed in the order of the inner axis, whatever the tile.
#ifndef PYCUDA_MATMUL_HPP
#define PYCUDA_MATMUL_HPP

#include "reduce/pycuda-reduce-ops.hpp"

namespace pycuda {

enum { MATMUL_THREADS = 256, MATMUL_QUAD = 4, MATMUL_QUADS = 64 }; // from one quad of a thread to the next

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

// MATMUL_QUAD neighbors, which are loaded at once.
template <class A> struct alignas(MATMUL_QUAD * sizeof(A) > 16 ? 16 : MATMUL_QUAD * sizeof(A)) Quad {
    A item[MATMUL_QUAD];
};

// DEPTH numbers of each of SIDE lines of an operand, on their way to shared memory. A thread has EACH of
// them, equal distances apart, and its neighbors have neighbors in memory.
template <class T, class A, int SIDE, int DEPTH> struct Part {
    enum { EACH = SIDE * DEPTH / MATMUL_THREADS, STEP = SIDE + MATMUL_QUAD };
    const char *operand, *from; // the next part
    index_t step, next;
    int line, depth, line_step, depth_step, lines; // within the tile
    A kept[EACH];

    __device__ __forceinline__ Part(const char *where, index_t first, index_t count, index_t line_bytes,
                                    index_t depth_bytes)
        : operand(where)
    {
        bool by_depth =
            (depth_bytes < 0 ? -depth_bytes : depth_bytes) < (line_bytes < 0 ? -line_bytes : line_bytes);
        line = by_depth ? threadIdx.x / DEPTH : threadIdx.x % SIDE;
        depth = by_depth ? threadIdx.x % DEPTH : threadIdx.x / SIDE;
        line_step = by_depth ? MATMUL_THREADS / DEPTH : 0;
        depth_step = by_depth ? 0 : MATMUL_THREADS / SIDE;
        lines = (int)min((index_t)SIDE, count - first);
        from = operand + (first + line) * line_bytes + depth * depth_bytes;
        step = line_step * line_bytes + depth_step * depth_bytes;
        next = DEPTH * depth_bytes;
    }

    // depths: how many there are from here on.
    __device__ __forceinline__ void load(index_t depths)
    {
        int there = (int)min((index_t)DEPTH, depths);
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            bool is_there = line + e * line_step < lines && depth + e * depth_step < there;
            const char *at = is_there ? from + e * step : operand; // no branch keeps loads from overlapping
            A loaded = To<A>::from(value(*reinterpret_cast<const T *>(at)));
            kept[e] = is_there ? loaded : A(0);
        }
        from += next;
    }

    __device__ __forceinline__ void store(A *tile) const
    {
#pragma unroll
        for (int e = 0; e < EACH; e++)
            tile[(depth + e * depth_step) * STEP + line + e * line_step] = kept[e];
    }
};

// Adds the products of one place of the inner axis.
template <class A, int DOWN, int ACROSS>
__device__ __forceinline__ void multiply_quads(A (*sum)[ACROSS * MATMUL_QUAD], const A *rows,
                                               const A *columns)
{
    Quad<A> a[DOWN], b[ACROSS];
#pragma unroll
    for (int q = 0; q < DOWN; q++) a[q] = *reinterpret_cast<const Quad<A> *>(rows + q * MATMUL_QUADS);
#pragma unroll
    for (int q = 0; q < ACROSS; q++) b[q] = *reinterpret_cast<const Quad<A> *>(columns + q * MATMUL_QUADS);
#pragma unroll
    for (int i = 0; i < DOWN * MATMUL_QUAD; i++)
#pragma unroll
        for (int j = 0; j < ACROSS * MATMUL_QUAD; j++)
            sum[i][j] = Product<A>::add(sum[i][j], a[i / MATMUL_QUAD].item[i % MATMUL_QUAD],
                                        b[j / MATMUL_QUAD].item[j % MATMUL_QUAD]);
}

// One tile of one product. DOWN and ACROSS: quads of a thread.
template <class TA, class TB, class TC, class A, int DOWN, int ACROSS, int DEPTH, int D>
__device__ __forceinline__ void multiply_batch(const char *a, const char *b, char *c, const Matmul<D> &plan,
                                               A *rows, A *columns)
{
    typedef Part<TA, A, DOWN * MATMUL_QUADS, DEPTH> Rows;
    typedef Part<TB, A, ACROSS * MATMUL_QUADS, DEPTH> Columns;
    index_t row = (index_t)blockIdx.x * DOWN * MATMUL_QUADS,
            column = (index_t)blockIdx.y * ACROSS * MATMUL_QUADS;
    int down = threadIdx.x / 16 * MATMUL_QUAD, across = threadIdx.x % 16 * MATMUL_QUAD;
    Rows first(a, row, plan.rows, plan.a_row, plan.a_inner);
    Columns second(b, column, plan.columns, plan.b_column, plan.b_inner);
    A sum[DOWN * MATMUL_QUAD][ACROSS * MATMUL_QUAD];
#pragma unroll
    for (int i = 0; i < DOWN * MATMUL_QUAD; i++)
#pragma unroll
        for (int j = 0; j < ACROSS * MATMUL_QUAD; j++) sum[i][j] = A(0);
    if (plan.inner) {
        first.load(plan.inner);
        second.load(plan.inner);
    }
    int half = 0; // of the shared memory, in turns
#pragma unroll 1
    for (index_t k = 0; k < plan.inner; k += DEPTH, half ^= 1) {
        A *here = rows + half * DEPTH * Rows::STEP, *there = columns + half * DEPTH * Columns::STEP;
        first.store(here);
        second.store(there);
        __syncthreads(); // and all threads have read the other half
        if (k + DEPTH < plan.inner) {
            first.load(plan.inner - k - DEPTH);
            second.load(plan.inner - k - DEPTH);
        }
        here += down;
        there += across;
        if (k + DEPTH <= plan.inner) {
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                multiply_quads<A, DOWN, ACROSS>(sum, here + d * Rows::STEP, there + d * Columns::STEP);
        } else {
#pragma unroll 1
            for (int d = 0; d < (int)(plan.inner - k); d++)
                multiply_quads<A, DOWN, ACROSS>(sum, here + d * Rows::STEP, there + d * Columns::STEP);
        }
    }
    asm volatile("" : "+l"(row), "+l"(column)); // no address is computed before the loop
#pragma unroll
    for (int i = 0; i < DOWN * MATMUL_QUAD; i++)
#pragma unroll
        for (int j = 0; j < ACROSS * MATMUL_QUAD; j++) {
            index_t y = row + down + i / MATMUL_QUAD * MATMUL_QUADS + i % MATMUL_QUAD,
                    x = column + across + j / MATMUL_QUAD * MATMUL_QUADS + j % MATMUL_QUAD;
            if (y < plan.rows && x < plan.columns)
                put(*reinterpret_cast<TC *>(c + y * plan.c_row + x * plan.c_column), sum[i][j]);
        }
}

// Grid: tiles of rows, tiles of columns, matrices.
template <class TA, class TB, class TC, class A, int DOWN, int ACROSS, int DEPTH, int D>
__device__ __forceinline__ void matmul(const char *a, const char *b, char *c, const Matmul<D> &plan)
{
    enum { ROWS = 2 * DEPTH * (DOWN * MATMUL_QUADS + MATMUL_QUAD) };
    enum { COLUMNS = 2 * DEPTH * (ACROSS * MATMUL_QUADS + MATMUL_QUAD) };
    __shared__ alignas(16) char raw[(ROWS + COLUMNS) * sizeof(A)];
    A *rows = reinterpret_cast<A *>(raw), *columns = rows + ROWS;
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
        __syncthreads(); // all threads have read what the product before had there
        multiply_batch<TA, TB, TC, A, DOWN, ACROSS, DEPTH>(here_a, here_b, here_c, plan, rows, columns);
    }
}

}

#endif
