// Batched products of matrices with any strides. A block computes a tile of the result, a thread some quads
// of it, each of 4 x 4 neighbors. Operands are staged in shared memory: while one part of the inner axis is
// multiplied, the next is loaded. Each result is summed in the order of the inner axis, whatever the tile.
#ifndef PYCUDA_MATMUL_HPP
#define PYCUDA_MATMUL_HPP

#include "reduce/pycuda-reduce-ops.hpp"

namespace pycuda
{

enum { MATMUL_QUAD = 4 };

template <int D> struct Matmul {
    index_t rows, columns, inner, batches;
    index_t a_row, a_inner, b_inner, b_column, c_row, c_column; // bytes
    index_t length[D], a_batch[D], b_batch[D], c_batch[D];      // the axes before these, innermost last
};

template <class A> struct Product {
    static __device__ __forceinline__ A add(const A &sum, const A &a, const A &b) { return A(sum + a * b); }
};

template <> struct Product<bool> {
    static __device__ __forceinline__ bool add(bool sum, bool a, bool b) { return sum || (a && b); }
};

// COUNT neighbors that one instruction moves, or as many instructions of 16 bytes as they need.
template <class A, int COUNT = MATMUL_QUAD>
struct alignas(COUNT * sizeof(A) > 16 ? 16 : COUNT * sizeof(A)) Neighbors {
    A item[COUNT];
};

// How an operand is read: by elements of any strides, or by vectors of neighbors along its lines (rows of a,
// columns of b) or along the inner axis.
enum Reading { BY_ELEMENTS, ALONG_LINES, ALONG_INNER };

// Where a thread's vectors, each of WIDTH neighbors, are in a part of an operand. A part is DEPTH places of
// the inner axis of each of SIDE lines. If the operand has fewer lines, the last ones are read again, and the
// results for them are not stored. No vector crosses the end of the inner axis, as plan_matmul() reads by
// vectors only if the axis is a multiple of WIDTH.
template <Reading READING, int THREADS, int SIDE, int DEPTH, int WIDTH> struct OperandVectors {
    enum { SHARERS = (READING == ALONG_INNER ? DEPTH : SIDE) / WIDTH, APART = THREADS / SHARERS };
    enum { VECTORS = SIDE * DEPTH / THREADS / WIDTH };
    // The distance from a thread's vector to its next one.
    enum { LINE_STEP = READING == ALONG_INNER ? APART : 0, DEPTH_STEP = READING == ALONG_INNER ? 0 : APART };
    const char *from[VECTORS];
    index_t next; // bytes to the next part
    int line, depth; // of the first vector

    __device__ __forceinline__ OperandVectors(const char *where, index_t first, index_t count,
                                              index_t line_bytes, index_t depth_bytes)
        : next(DEPTH * depth_bytes)
    {
        line = READING == ALONG_INNER ? threadIdx.x / SHARERS : threadIdx.x % SHARERS * WIDTH;
        depth = READING == ALONG_INNER ? threadIdx.x % SHARERS * WIDTH : threadIdx.x / SHARERS;
        index_t last = count - (READING == ALONG_INNER ? 1 : WIDTH);
#pragma unroll
        for (int e = 0; e < VECTORS; e++)
            from[e] = where + min(first + line + e * LINE_STEP, last) * line_bytes
                      + (depth + e * DEPTH_STEP) * depth_bytes;
    }
};

// WIDTH is the number of elements of a vector if a thread has EACH elements of a part: at most a quad, and at
// most 16 bytes.
template <class T, int EACH> struct PartWidth {
    enum { LARGEST = 16 / (int)sizeof(T), NEEDED = EACH < MATMUL_QUAD ? EACH : (int)MATMUL_QUAD };
    enum { WIDTH = NEEDED < LARGEST ? (int)NEEDED : (int)LARGEST };
};

// A part of an operand on its way to shared memory, in the registers of the block's threads.
template <class T, class A, int THREADS, int SIDE, int DEPTH, Reading READING>
struct Part : OperandVectors<READING, THREADS, SIDE, DEPTH, PartWidth<T, SIDE * DEPTH / THREADS>::WIDTH> {
    enum { WIDTH = PartWidth<T, SIDE * DEPTH / THREADS>::WIDTH, STEP = SIDE + MATMUL_QUAD };
    typedef OperandVectors<READING, THREADS, SIDE, DEPTH, WIDTH> Vectors;
    using Vectors::depth;
    using Vectors::from;
    using Vectors::line;
    using Vectors::Vectors;
    enum { VECTORS = Vectors::VECTORS, LINE_STEP = Vectors::LINE_STEP, DEPTH_STEP = Vectors::DEPTH_STEP };
    struct alignas(WIDTH * sizeof(T)) Vector {
        T item[WIDTH];
    };
    Vector kept[VECTORS];

    // depths: the places of the inner axis from this part on.
    __device__ __forceinline__ void load(index_t depths)
    {
        int there = (int)min((index_t)DEPTH, depths);
#pragma unroll
        for (int e = 0; e < VECTORS; e++) {
            if (depth + e * DEPTH_STEP < there) kept[e] = *reinterpret_cast<const Vector *>(from[e]);
            from[e] += this->next;
        }
    }

    __device__ __forceinline__ void store(A *tile) const
    {
#pragma unroll
        for (int e = 0; e < VECTORS; e++) {
            A *to = tile + (depth + e * DEPTH_STEP) * STEP + line + e * LINE_STEP;
            Neighbors<A> converted;
#pragma unroll
            for (int i = 0; i < WIDTH; i++) converted.item[i] = To<A>::from(value(kept[e].item[i]));
            if (READING == ALONG_LINES && WIDTH == MATMUL_QUAD)
                *reinterpret_cast<Neighbors<A> *>(to) = converted;
            else
#pragma unroll
                for (int i = 0; i < WIDTH; i++) to[READING == ALONG_LINES ? i : i * STEP] = converted.item[i];
        }
    }
};

// The same for operands of any strides. A thread has EACH elements, equal distances apart; neighboring
// threads have elements that are near each other in memory.
template <class T, class A, int THREADS, int SIDE, int DEPTH>
struct Part<T, A, THREADS, SIDE, DEPTH, BY_ELEMENTS> {
    enum { EACH = SIDE * DEPTH / THREADS, STEP = SIDE + MATMUL_QUAD };
    const char *operand, *from; // the operand, the thread's first element of the next part
    index_t step, next;         // bytes to the thread's next element, to the next part
    int line, depth, line_step, depth_step, lines; // the same within the tile; lines that exist
    A kept[EACH];

    __device__ __forceinline__ Part(const char *where, index_t first, index_t count, index_t line_bytes,
                                    index_t depth_bytes)
        : operand(where)
    {
        bool by_depth =
            (depth_bytes < 0 ? -depth_bytes : depth_bytes) < (line_bytes < 0 ? -line_bytes : line_bytes);
        line = by_depth ? threadIdx.x / DEPTH : threadIdx.x % SIDE;
        depth = by_depth ? threadIdx.x % DEPTH : threadIdx.x / SIDE;
        line_step = by_depth ? THREADS / DEPTH : 0;
        depth_step = by_depth ? 0 : THREADS / SIDE;
        lines = (int)min((index_t)SIDE, count - first);
        from = operand + (first + line) * line_bytes + depth * depth_bytes;
        step = line_step * line_bytes + depth_step * depth_bytes;
        next = DEPTH * depth_bytes;
    }

    // depths: the places of the inner axis from this part on.
    __device__ __forceinline__ void load(index_t depths)
    {
        int there = (int)min((index_t)DEPTH, depths);
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            bool is_there = line + e * line_step < lines && depth + e * depth_step < there;
            // Without a branch the loads of a thread overlap, so that what is not there reads the first
            // element.
            const char *at = is_there ? from + e * step : operand;
            A loaded = To<A>::from(value(*reinterpret_cast<const T *>(at)));
            kept[e] = is_there ? loaded : A(0);
        }
        from += next;
    }

    __device__ __forceinline__ void store(A *tile) const
    {
#pragma unroll
        for (int e = 0; e < EACH; e++) tile[(depth + e * depth_step) * STEP + line + e * line_step] = kept[e];
    }
};

// Adds the products of one place of the inner axis to the thread's sums.
template <class A, int DOWN, int ACROSS, int APART>
__device__ __forceinline__ void multiply_quads(A (*sum)[ACROSS * MATMUL_QUAD], const A *rows,
                                               const A *columns)
{
    Neighbors<A> a[DOWN], b[ACROSS];
#pragma unroll
    for (int q = 0; q < DOWN; q++) a[q] = *reinterpret_cast<const Neighbors<A> *>(rows + q * APART);
#pragma unroll
    for (int q = 0; q < ACROSS; q++) b[q] = *reinterpret_cast<const Neighbors<A> *>(columns + q * APART);
#pragma unroll
    for (int i = 0; i < DOWN * MATMUL_QUAD; i++)
#pragma unroll
        for (int j = 0; j < ACROSS * MATMUL_QUAD; j++)
            sum[i][j] = Product<A>::add(sum[i][j], a[i / MATMUL_QUAD].item[i % MATMUL_QUAD],
                                        b[j / MATMUL_QUAD].item[j % MATMUL_QUAD]);
}

// Stores COUNT results of a row of the product, from column x on: at once where strides and alignment allow
// it.
template <int COUNT, class TC, class A>
__device__ __forceinline__ void put_neighbors(char *row, index_t x, index_t columns, index_t step,
                                              const A *sum)
{
    typedef Neighbors<TC, COUNT> Results;
    char *at = row + x * step;
    if (step == sizeof(TC) && x + COUNT <= columns && (size_t)at % alignof(Results) == 0) {
        Results results;
#pragma unroll
        for (int j = 0; j < COUNT; j++) put(results.item[j], sum[j]);
        *reinterpret_cast<Results *>(at) = results;
        return;
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++)
        if (x + j < columns) put(*reinterpret_cast<TC *>(at + j * step), sum[j]);
}

// How a block divides its tile. It has SIDE_THREADS x SIDE_THREADS threads. A thread has QUADS_DOWN x
// QUADS_ACROSS quads, APART elements from each other. A part of the inner axis has DEPTH places.
template <int SIDE_THREADS, int QUADS_DOWN, int QUADS_ACROSS, int PART, Reading OF_A, Reading OF_B>
struct MatmulShape {
    enum { SIDE = SIDE_THREADS, DOWN = QUADS_DOWN, ACROSS = QUADS_ACROSS, DEPTH = PART };
    enum { THREADS = SIDE * SIDE, APART = SIDE * MATMUL_QUAD, ROWS = DOWN * APART, COLUMNS = ACROSS * APART };
    static const Reading READING_A = OF_A, READING_B = OF_B;
};

// Stores a warp's results, which are in fragments of mma of 16 rows and 8 columns each. row, column: where
// the first fragment begins.
template <class TC, class A, int ROWS, int COLUMNS, int D>
__device__ __forceinline__ void put_fragments(char *c, const Matmul<D> &plan, index_t row, index_t column,
                                              const A (&sum)[ROWS][COLUMNS][4])
{
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
#pragma unroll
            for (int r = 0; r < 2; r++) {
                index_t y = row + i * 16 + r * 8 + threadIdx.x % 32 / 4,
                        x = column + j * 8 + threadIdx.x % 4 * 2;
                if (y < plan.rows)
                    put_neighbors<2, TC>(c + y * plan.c_row, x, plan.columns, plan.c_column,
                                         sum[i][j] + r * 2);
            }
}

struct TilePlace {
    unsigned row, column;
};

// The tile of the result that a block computes. Tiles are numbered in groups of GROUP columns, so that blocks
// that run at the same time have tiles near each other and read the same lines of the operands.
__device__ __forceinline__ TilePlace tile_of_block()
{
    enum { GROUP = 16 };
    unsigned block = blockIdx.y * gridDim.x + blockIdx.x, of_group = GROUP * gridDim.x;
    unsigned first = block / of_group * GROUP, columns = min((unsigned)GROUP, gridDim.y - first);
    block %= of_group;
    return {block / columns, first + block % columns};
}

// Computes one tile of one product. rows, columns: shared memory for two parts of each operand.
template <class TA, class TB, class TC, class A, class Shape, int D>
__device__ __forceinline__ void multiply_tile(const char *a, const char *b, char *c, const Matmul<D> &plan,
                                              A *rows, A *columns)
{
    enum { DOWN = Shape::DOWN, ACROSS = Shape::ACROSS, DEPTH = Shape::DEPTH };
    typedef Part<TA, A, Shape::THREADS, Shape::ROWS, DEPTH, Shape::READING_A> Rows;
    typedef Part<TB, A, Shape::THREADS, Shape::COLUMNS, DEPTH, Shape::READING_B> Columns;
    TilePlace tile = tile_of_block();
    index_t row = (index_t)tile.row * Shape::ROWS, column = (index_t)tile.column * Shape::COLUMNS;
    // A warp has 4 x 8 quads, so that it reads as few different words of shared memory as possible.
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int down = (warp / (Shape::SIDE / 8) * 4 + lane / 8) * MATMUL_QUAD,
        across = (warp % (Shape::SIDE / 8) * 8 + lane % 8) * MATMUL_QUAD;
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
    int half = 0; // the half of the shared memory that has this part; the halves take turns
#pragma unroll 1
    for (index_t k = 0; k < plan.inner; k += DEPTH, half ^= 1) {
        A *here = rows + half * DEPTH * Rows::STEP, *there = columns + half * DEPTH * Columns::STEP;
        first.store(here);
        second.store(there);
        __syncthreads(); // this half is filled, and all threads have read the other one
        if (k + DEPTH < plan.inner) {
            first.load(plan.inner - k - DEPTH);
            second.load(plan.inner - k - DEPTH);
        }
        here += down;
        there += across;
        if (k + DEPTH <= plan.inner) {
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                multiply_quads<A, DOWN, ACROSS, Shape::APART>(sum, here + d * Rows::STEP,
                                                              there + d * Columns::STEP);
        } else {
#pragma unroll 1
            for (int d = 0; d < (int)(plan.inner - k); d++)
                multiply_quads<A, DOWN, ACROSS, Shape::APART>(sum, here + d * Rows::STEP,
                                                              there + d * Columns::STEP);
        }
    }
    asm volatile("" : "+l"(row), "+l"(column)); // addresses of results are computed here, not before the loop
#pragma unroll
    for (int i = 0; i < DOWN * MATMUL_QUAD; i++) {
        index_t y = row + down + i / MATMUL_QUAD * Shape::APART + i % MATMUL_QUAD;
#pragma unroll
        for (int q = 0; q < ACROSS; q++)
            if (y < plan.rows)
                put_neighbors<MATMUL_QUAD, TC>(c + y * plan.c_row, column + across + q * Shape::APART,
                                               plan.columns, plan.c_column, sum[i] + q * MATMUL_QUAD);
    }
}

// Calls multiply(a, b, c) for each pair of matrices of a block, after all of its threads have read what the
// previous pair left in shared memory. The grid has tiles of rows along x, tiles of columns along y, pairs of
// matrices along z.
template <int D, class Multiply>
__device__ __forceinline__ void for_matrices(const char *a, const char *b, char *c, const Matmul<D> &plan,
                                             Multiply multiply)
{
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
        __syncthreads();
        multiply(here_a, here_b, here_c);
    }
}

template <class TA, class TB, class TC, class A, class Shape, int D>
__device__ __forceinline__ void matmul(const char *a, const char *b, char *c, const Matmul<D> &plan)
{
    enum { ROWS = 2 * Shape::DEPTH * (Shape::ROWS + MATMUL_QUAD) };
    enum { COLUMNS = 2 * Shape::DEPTH * (Shape::COLUMNS + MATMUL_QUAD) };
    __shared__ alignas(16) char raw[(ROWS + COLUMNS) * sizeof(A)];
    A *rows = reinterpret_cast<A *>(raw), *columns = rows + ROWS;
    for_matrices(a, b, c, plan, [&](const char *here_a, const char *here_b, char *here_c) {
        multiply_tile<TA, TB, TC, A, Shape>(here_a, here_b, here_c, plan, rows, columns);
    });
}

} // namespace pycuda

#endif
