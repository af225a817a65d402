// Products of matrices of doubles by tensor cores (compute capability 8.0 and later), with any strides. Their
// sums are fused multiply-adds in ascending order of the inner axis, so that results have the bits of
// pycuda::matmul. PTX ISA 9.7.14.5.
#ifndef PYCUDA_MATMUL_DOUBLE_HPP
#define PYCUDA_MATMUL_DOUBLE_HPP

#include "array/pycuda-matmul.hpp"

namespace pycuda
{

// A block has a tile of DOUBLE_SIDE x DOUBLE_SIDE results, a warp DOUBLE_WARP x DOUBLE_WARP of them. Four
// blocks of a multiprocessor keep its tensor cores busier than one with larger tiles.
enum { DOUBLE_SIDE = 64, DOUBLE_WARP = 32, DOUBLE_THREADS = 128 };
enum { DOUBLE_DEPTH = 8, DOUBLE_STAGES = 3, DOUBLE_TILE = DOUBLE_SIDE * DOUBLE_DEPTH };

// The place of an element of an operand in its tile in shared memory. Elements that are neighbors in global
// memory are neighbors there, and the elements that a warp loads as a fragment are in different banks.
template <Reading READING> __device__ __forceinline__ int double_place(int line, int depth)
{
    return READING == ALONG_INNER ? line * DOUBLE_DEPTH + (depth ^ (line / 2 % 2 * 4))
                                  : depth * DOUBLE_SIDE + (line ^ (depth % 4 * 4));
}

// Copies BYTES to shared memory. Copies of 16 bytes bypass the first-level cache, as nothing is read again.
template <int BYTES> __device__ __forceinline__ void copy_async(void *to, const void *from)
{
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES)
                     : "memory");
}

// The vectors of WIDTH elements of an operand that a thread copies to shared memory, part after part. Lines
// beyond the last one are read as the last ones; elements beyond the inner axis are padding.
template <Reading READING, int WIDTH>
struct DoublePart : OperandVectors<READING, DOUBLE_THREADS, DOUBLE_SIDE, DOUBLE_DEPTH, WIDTH> {
    typedef OperandVectors<READING, DOUBLE_THREADS, DOUBLE_SIDE, DOUBLE_DEPTH, WIDTH> Vectors;
    using Vectors::depth;
    using Vectors::from;
    using Vectors::line;
    using Vectors::Vectors;
    enum { VECTORS = Vectors::VECTORS, LINE_STEP = Vectors::LINE_STEP, DEPTH_STEP = Vectors::DEPTH_STEP };

    // depths: the places of the inner axis from this part on.
    __device__ __forceinline__ void copy(double *tile, index_t depths, double padding)
    {
        int there = (int)min((index_t)DOUBLE_DEPTH, depths);
#pragma unroll
        for (int e = 0; e < VECTORS; e++) {
            int depth_here = depth + e * DEPTH_STEP;
            double *to = tile + double_place<READING>(line + e * LINE_STEP, depth_here);
            if (depth_here < there)
                copy_async<WIDTH * sizeof(double)>(to, from[e]);
            else
#pragma unroll
                for (int i = 0; i < WIDTH; i++) to[i] = padding;
            from[e] += this->next;
        }
    }
};

// sum += a * b for fragments of 16 rows, 8 columns and DOUBLE_DEPTH places of the inner axis. sum[0] and
// sum[1] are in one row, sum[2] and sum[3] in the row 8 below it.
__device__ __forceinline__ void multiply_fragments(double (&sum)[4], const double (&a)[4],
                                                   const double (&b)[2])
{
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
    for (int i = 0; i < 4; i++)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[i % 2 * 2]), "+d"(sum[i % 2 * 2 + 1])
            : "d"(a[i]), "d"(b[i / 2]));
#endif
}

// Adds the products of one part of the inner axis to a warp's results.
template <Reading OF_A, Reading OF_B>
__device__ __forceinline__ void multiply_doubles(double (*sum)[DOUBLE_WARP / 8][4], const double *rows,
                                                 const double *columns, int row, int column)
{
    int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
    double a[DOUBLE_WARP / 16][4], b[DOUBLE_WARP / 8][2];
#pragma unroll
    for (int i = 0; i < DOUBLE_WARP / 16; i++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            a[i][k] = rows[double_place<OF_A>(row + i * 16 + k % 2 * 8 + group, member + k / 2 * 4)];
#pragma unroll
    for (int j = 0; j < DOUBLE_WARP / 8; j++)
#pragma unroll
        for (int k = 0; k < 2; k++)
            b[j][k] = columns[double_place<OF_B>(column + j * 8 + group, member + k * 4)];
#pragma unroll
    for (int i = 0; i < DOUBLE_WARP / 16; i++)
#pragma unroll
        for (int j = 0; j < DOUBLE_WARP / 8; j++) multiply_fragments(sum[i][j], a[i], b[j]);
}

// Computes one tile of one product.
template <Reading OF_A, int WIDTH_A, Reading OF_B, int WIDTH_B, int D>
__device__ __forceinline__ void multiply_tile_of_doubles(const char *a, const char *b, char *c,
                                                         const Matmul<D> &plan, double *shared)
{
    TilePlace tile = tile_of_block();
    index_t first_row = (index_t)tile.row * DOUBLE_SIDE, first_column = (index_t)tile.column * DOUBLE_SIDE;
    int warp = threadIdx.x / 32, row = warp / (DOUBLE_SIDE / DOUBLE_WARP) * DOUBLE_WARP,
        column = warp % (DOUBLE_SIDE / DOUBLE_WARP) * DOUBLE_WARP;
    DoublePart<OF_A, WIDTH_A> rows(a, first_row, plan.rows, plan.a_row, plan.a_inner);
    DoublePart<OF_B, WIDTH_B> columns(b, first_column, plan.columns, plan.b_column, plan.b_inner);
    double sum[DOUBLE_WARP / 16][DOUBLE_WARP / 8][4] = {};
    unsigned parts = (unsigned)((plan.inner + DOUBLE_DEPTH - 1) / DOUBLE_DEPTH);
    // The padding of one operand is 0, that of the other -0: adding 0 * -0 leaves every sum as it is, also
    // -0.
    auto copy = [&](unsigned part) {
        double *to = shared + part % DOUBLE_STAGES * 2 * DOUBLE_TILE;
        if (part < parts) {
            rows.copy(to, plan.inner - (index_t)part * DOUBLE_DEPTH, 0.0);
            columns.copy(to + DOUBLE_TILE, plan.inner - (index_t)part * DOUBLE_DEPTH, -0.0);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
#pragma unroll
    for (unsigned part = 0; part < DOUBLE_STAGES - 1; part++) copy(part);
#pragma unroll 1
    for (unsigned part = 0; part < parts; part++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(DOUBLE_STAGES - 2) : "memory");
        __syncthreads(); // the part is there, and all threads have read what the next copy overwrites
        copy(part + DOUBLE_STAGES - 1);
        const double *here = shared + part % DOUBLE_STAGES * 2 * DOUBLE_TILE;
        multiply_doubles<OF_A, OF_B>(sum, here, here + DOUBLE_TILE, row, column);
    }
    put_fragments<double>(c, plan, first_row + row, first_column + column, sum);
}

template <Reading OF_A, int WIDTH_A, Reading OF_B, int WIDTH_B, int D>
__device__ __forceinline__ void matmul_of_doubles(const char *a, const char *b, char *c,
                                                  const Matmul<D> &plan)
{
    __shared__ alignas(16) double shared[DOUBLE_STAGES * 2 * DOUBLE_TILE];
    for_matrices(a, b, c, plan, [&](const char *here_a, const char *here_b, char *here_c) {
        multiply_tile_of_doubles<OF_A, WIDTH_A, OF_B, WIDTH_B>(here_a, here_b, here_c, plan, shared);
    });
}

} // namespace pycuda

#endif
