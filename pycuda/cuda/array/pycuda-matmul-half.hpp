// Products of matrices of float16 or bfloat16 by tensor cores (compute capability 8.0 and later), summed in
// float. How many products a tensor core adds at a time differs between generations of GPUs, so that results
// do not have the same bits on all of them. PTX ISA 9.7.14.5.
#ifndef PYCUDA_MATMUL_HALF_HPP
#define PYCUDA_MATMUL_HALF_HPP

#include "array/pycuda-matmul.hpp"

namespace pycuda
{

// A vector of 16 bytes has HALF_WIDTH elements. A warp has HALF_WARP x HALF_WARP results.
enum { HALF_WIDTH = 8, HALF_WARP = 64 };

// A block has a tile of ROWS x COLUMNS results. Parts of the operands, of DEPTH places of the inner axis
// each, are copied to shared memory ahead of their use; STAGES of them fit there. OF_A, OF_B: how the
// operands are read.
template <int ROWS_, int COLUMNS_, int DEPTH_, int STAGES_, Reading OF_A, Reading OF_B> struct HalfShape {
    enum { ROWS = ROWS_, COLUMNS = COLUMNS_, DEPTH = DEPTH_, STAGES = STAGES_ };
    enum { WARPS_ACROSS = COLUMNS / HALF_WARP, THREADS = ROWS / HALF_WARP * WARPS_ACROSS * 32 };
    enum { BYTES_OF_A = ROWS * DEPTH * 2, BYTES = BYTES_OF_A + COLUMNS * DEPTH * 2 }; // of a part
    static const Reading READING_A = OF_A, READING_B = OF_B;
};

// The tile of an operand in shared memory. Its rows run as in global memory: along the inner axis, or along
// lines. The vectors of a row are permuted, so that the eight that are loaded at once are in different banks.
template <Reading READING, int SIDE, int DEPTH> struct HalfTile {
    enum { PER_ROW = (READING == ALONG_INNER ? DEPTH : SIDE) / HALF_WIDTH };

    // The place of the vector that begins with this element.
    static __device__ __forceinline__ int place(int line, int depth)
    {
        int row = READING == ALONG_INNER ? line : depth,
            vector = (READING == ALONG_INNER ? depth : line) / HALF_WIDTH;
        return (row * PER_ROW + (vector ^ (PER_ROW == 4 ? row / 2 % 4 : row % 8))) * HALF_WIDTH;
    }
};

// Reads the fragments of a warp from a tile. One instruction reads four matrices of 8 x 8, which together are
// 16 lines x 16 places of the inner axis.
template <Reading READING, int SIDE, int DEPTH> struct HalfReader {
    typedef HalfTile<READING, SIDE, DEPTH> Tile;
    unsigned at[READING == ALONG_INNER ? DEPTH / 16 : HALF_WARP / 16]; // bytes from the tile's begin

    // line, depth: where in the first fragment the row of 8 elements begins that the lane gives the address
    // of.
    __device__ __forceinline__ HalfReader(int line, int depth)
    {
#pragma unroll
        for (int n = 0; n < sizeof at / sizeof *at; n++)
            at[n] = 2
                    * (READING == ALONG_INNER ? Tile::place(line, depth + n * 16)
                                              : Tile::place(line + n * 16, depth));
    }

    // Loads the fragment that is i * 16 lines and k * 16 places from the first one into registers of mma.
    __device__ __forceinline__ void load(unsigned (&fragment)[4], unsigned tile, int i, int k) const
    {
        unsigned from = tile + (READING == ALONG_INNER ? at[k] + i * (32 * DEPTH) : at[i] + k * (32 * SIDE));
        if (READING == ALONG_INNER)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                         : "r"(from)
                         : "memory");
        else
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                         : "r"(from)
                         : "memory");
    }
};

// The vectors of an operand that a thread copies to shared memory, part after part. In place of lines beyond
// the last one the last is read; elements beyond the inner axis become zeros.
template <Reading READING, int THREADS, int SIDE, int DEPTH>
struct HalfPart : OperandVectors<READING, THREADS, SIDE, DEPTH, HALF_WIDTH> {
    typedef OperandVectors<READING, THREADS, SIDE, DEPTH, HALF_WIDTH> Vectors;
    typedef HalfTile<READING, SIDE, DEPTH> Tile;
    using Vectors::depth;
    using Vectors::from;
    using Vectors::line;
    using Vectors::Vectors;
    enum { VECTORS = Vectors::VECTORS, LINE_STEP = Vectors::LINE_STEP, DEPTH_STEP = Vectors::DEPTH_STEP };

    // Copies a part to a tile in shared memory. depths: the places of the inner axis from this part on.
    __device__ __forceinline__ void copy(unsigned tile, index_t depths)
    {
        int there = (int)min((index_t)DEPTH, depths);
#pragma unroll
        for (int e = 0; e < VECTORS; e++) {
            int line_here = line + e * LINE_STEP, depth_here = depth + e * DEPTH_STEP;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                             tile + 2 * Tile::place(line_here, depth_here)),
                         "l"(from[e]), "r"(depth_here < there ? 16 : 0) // 0: stores zeros
                         : "memory");
            from[e] += this->next;
        }
    }
};

template <bool IS_BFLOAT>
__device__ __forceinline__ void multiply_fragments(float (&sum)[4], const unsigned (&a)[4], unsigned b0,
                                                   unsigned b1)
{
    if (IS_BFLOAT)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The fragments that a warp multiplies at once: 16 places of the inner axis.
struct HalfFragments {
    unsigned a[HALF_WARP / 16][4], b[HALF_WARP / 16][4];

    // Loads the k-th 16 places of a part whose tiles are at these addresses.
    template <class Rows, class Columns>
    __device__ __forceinline__ void load(const Rows &rows, const Columns &columns, unsigned tile_of_a,
                                         unsigned tile_of_b, int k)
    {
#pragma unroll
        for (int i = 0; i < HALF_WARP / 16; i++) rows.load(a[i], tile_of_a, i, k);
#pragma unroll
        for (int j = 0; j < HALF_WARP / 16; j++) columns.load(b[j], tile_of_b, j, k);
    }

    template <bool IS_BFLOAT> __device__ __forceinline__ void multiply(float (*sum)[HALF_WARP / 8][4]) const
    {
#pragma unroll
        for (int i = 0; i < HALF_WARP / 16; i++)
#pragma unroll
            for (int j = 0; j < HALF_WARP / 8; j++)
                multiply_fragments<IS_BFLOAT>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
};

// Computes one tile of one product.
template <class TC, bool IS_BFLOAT, class Shape, int D>
__device__ __forceinline__ void multiply_tile_of_halves(const char *a, const char *b, char *c,
                                                        const Matmul<D> &plan, unsigned shared)
{
    enum { ROWS = Shape::ROWS, COLUMNS = Shape::COLUMNS, DEPTH = Shape::DEPTH, STAGES = Shape::STAGES };
    const Reading of_a = Shape::READING_A, of_b = Shape::READING_B;
    TilePlace tile = tile_of_block();
    index_t first_row = (index_t)tile.row * ROWS, first_column = (index_t)tile.column * COLUMNS;
    int warp = threadIdx.x / 32, row = warp / Shape::WARPS_ACROSS * HALF_WARP,
        column = warp % Shape::WARPS_ACROSS * HALF_WARP;
    HalfPart<of_a, Shape::THREADS, ROWS, DEPTH> rows(a, first_row, plan.rows, plan.a_row, plan.a_inner);
    HalfPart<of_b, Shape::THREADS, COLUMNS, DEPTH> columns(b, first_column, plan.columns, plan.b_column,
                                                           plan.b_inner);
    // The four matrices of a fragment are two along lines times two along the inner axis, in the order of
    // mma.
    int matrix = threadIdx.x % 32 / 8, lane = threadIdx.x % 8;
    int in_line = of_a == ALONG_INNER ? lane : 0, in_depth = of_a == ALONG_INNER ? 0 : lane;
    HalfReader<of_a, ROWS, DEPTH> read_rows(row + matrix % 2 * 8 + in_line, matrix / 2 * 8 + in_depth);
    in_line = of_b == ALONG_INNER ? lane : 0, in_depth = of_b == ALONG_INNER ? 0 : lane;
    HalfReader<of_b, COLUMNS, DEPTH> read_columns(column + matrix / 2 * 8 + in_line,
                                                  matrix % 2 * 8 + in_depth);
    float sum[HALF_WARP / 16][HALF_WARP / 8][4] = {};
    unsigned parts = (unsigned)((plan.inner + DEPTH - 1) / DEPTH);
    auto at = [&](unsigned part) { return shared + part % STAGES * Shape::BYTES; };
    auto copy = [&](unsigned part) {
        if (part < parts) {
            rows.copy(at(part), plan.inner - (index_t)part * DEPTH);
            columns.copy(at(part) + Shape::BYTES_OF_A, plan.inner - (index_t)part * DEPTH);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    auto wait = [&] {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads(); // the part is there, and all threads have read what the next copy overwrites
    };
    auto load = [&](HalfFragments &fragments, unsigned part, int k) {
        fragments.load(read_rows, read_columns, part, part + Shape::BYTES_OF_A, k);
    };
#pragma unroll
    for (unsigned part = 0; part < STAGES - 1; part++) copy(part);
    // Fragments are loaded while the previous ones are multiplied.
    HalfFragments even, odd;
    wait();
    if (parts) load(even, shared, 0);
#pragma unroll 1
    for (unsigned part = 0; part < parts; part++) {
        const unsigned here = at(part);
        load(odd, here, 1);
        copy(part + STAGES - 1);
        even.multiply<IS_BFLOAT>(sum);
#pragma unroll
        for (int k = 2; k < DEPTH / 16; k += 2) {
            load(even, here, k);
            odd.multiply<IS_BFLOAT>(sum);
            load(odd, here, k + 1);
            even.multiply<IS_BFLOAT>(sum);
        }
        wait();
        if (part + 1 < parts) load(even, at(part + 1), 0);
        odd.multiply<IS_BFLOAT>(sum);
    }
    put_fragments<TC>(c, plan, first_row + row, first_column + column, sum);
}

template <class TC, bool IS_BFLOAT, class Shape, int D>
__device__ __forceinline__ void matmul_of_halves(const char *a, const char *b, char *c, const Matmul<D> &plan)
{
    extern __shared__ uint4 tiles[]; // Shape::STAGES * Shape::BYTES bytes
    unsigned shared = (unsigned)__cvta_generic_to_shared(tiles);
    for_matrices(a, b, c, plan, [&](const char *here_a, const char *here_b, char *here_c) {
        multiply_tile_of_halves<TC, IS_BFLOAT, Shape>(here_a, here_b, here_c, plan, shared);
    });
}

} // namespace pycuda

#endif
