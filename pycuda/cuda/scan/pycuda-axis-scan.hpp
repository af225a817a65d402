// Scans along one axis of arrays with any strides, in one pass: element i of the result combines elements 0
// to i.
//
// A long axis is cut into tiles of a length that depends on the types alone. A block scans its tile, finds
// the total of all previous tiles (pycuda-scan.hpp) and combines it with its own elements, which are still in
// registers or shared memory. Everything is combined in a fixed order, so that sums of floats have the same
// bits on every device. An operation is a type Op: Element, Result, Acc, neutral(), map(Element),
// combine(Acc, Acc), finish(Result &, Acc).
#ifndef PYCUDA_AXIS_SCAN_HPP
#define PYCUDA_AXIS_SCAN_HPP

#include "base/pycuda-elements.hpp"
#include "scan/pycuda-scan.hpp"

namespace pycuda {

// SCAN_CHUNKS: vectors that a thread has of a short row.
enum { SCAN_THREADS = 256, SCAN_WARPS = SCAN_THREADS / 32, SCAN_CHUNKS = 4 };

enum ScanShape {
    ROW_WARPS,     // some warps of a block scan a row
    ROW_TILES,     // blocks take the tiles of rows
    ROW_BLOCKS,    // one block scans a row
    COLUMN_THREAD, // a thread scans a column
    COLUMN_BLOCK,  // a block scans 32 columns
    COLUMN_TILES   // blocks take the tiles of 32 columns
};

template <int KD> struct AxisScan {
    index_t rows;              // how many rows, or columns, there are
    index_t length, step, out; // scanned axis: elements; their stride in bytes in the array, in the result
    index_t tiles;             // of a row or column
    index_t groups;            // for rows: warps of each. For columns: blocks side by side
    Axes<KD> kept;
};

// ---- rows

// The part of a short row that a thread has. A warp has SCAN_CHUNKS chunks, each of 32 vectors side by side;
// a thread has one vector, of V elements, of each chunk.
template <class Op> struct Chunks {
    typedef typename Op::Acc Acc;
    typedef typename Op::Element Element;
    typedef typename Op::Result Result;
    enum {
        LARGER = sizeof(Element) > sizeof(Result) ? sizeof(Element) : sizeof(Result),
        V = LARGER >= 16 ? 1 : 16 / LARGER,
        OF_WARP = 32 * V * SCAN_CHUNKS
    };
    Acc part[SCAN_CHUNKS][V];

    // The number of elements from this thread's first one to the end of the warp's part, or of the row if
    // that is nearer.
    static __device__ __forceinline__ int left(index_t first, index_t length)
    {
        const index_t count = length - first;
        return (count < OF_WARP ? (int)count : OF_WARP) - (int)(threadIdx.x % 32) * V;
    }

    template <bool ALIGNED>
    __device__ __forceinline__ void load(const char *in, index_t first, index_t length, index_t step)
    {
        const char *from = in + (first + (int)(threadIdx.x % 32) * V) * step;
        const int count = left(first, length);
        alignas(16) Element items[SCAN_CHUNKS][V];
        if (ALIGNED && first + OF_WARP <= length) {
#pragma unroll
            for (int c = 0; c < SCAN_CHUNKS; c++)
                load_packed<V>(items[c], from + c * (32 * V * (int)sizeof(Element)));
        } else {
#pragma unroll
            for (int c = 0; c < SCAN_CHUNKS; c++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    if (c * (32 * V) + v < count)
                        items[c][v] = *reinterpret_cast<const Element *>(from + (c * (32 * V) + v) * step);
        }
#pragma unroll
        for (int c = 0; c < SCAN_CHUNKS; c++)
#pragma unroll
            for (int v = 0; v < V; v++)
                part[c][v] = c * (32 * V) + v < count ? Op::map(items[c][v]) : Op::neutral();
    }

    // Scans the warp's part of the row and returns its total.
    __device__ __forceinline__ Acc scan()
    {
        const int lane = threadIdx.x % 32;
        Acc carry = Op::neutral();
#pragma unroll
        for (int c = 0; c < SCAN_CHUNKS; c++) {
#pragma unroll
            for (int v = 1; v < V; v++) part[c][v] = Op::combine(part[c][v - 1], part[c][v]);
            Acc sum = part[c][V - 1];
#pragma unroll
            for (int offset = 1; offset < 32; offset *= 2) {
                const Acc lower = from_lane_below(sum, offset);
                if (lane >= offset) sum = Op::combine(lower, sum);
            }
            const Acc left = from_lane_below(sum, 1);
            const Acc before = lane ? Op::combine(carry, left) : carry;
#pragma unroll
            for (int v = 0; v < V; v++) part[c][v] = Op::combine(before, part[c][v]);
            carry = Op::combine(carry, from_lane(sum, 31));
        }
        return carry;
    }

    template <bool ALIGNED>
    __device__ __forceinline__ void store(char *out, index_t first, index_t length, index_t step,
                                          const Acc &before)
    {
        char *to = out + (first + (int)(threadIdx.x % 32) * V) * step;
        const int count = left(first, length);
        const bool whole = ALIGNED && first + OF_WARP <= length;
#pragma unroll
        for (int c = 0; c < SCAN_CHUNKS; c++) {
            alignas(16) Result results[V];
#pragma unroll
            for (int v = 0; v < V; v++) Op::finish(results[v], Op::combine(before, part[c][v]));
            if (whole)
                store_packed<V>(to + c * (32 * V * (int)sizeof(Result)), results);
            else
#pragma unroll
                for (int v = 0; v < V; v++)
                    if (c * (32 * V) + v < count)
                        *reinterpret_cast<Result *>(to + (c * (32 * V) + v) * step) = results[v];
        }
    }
};

// Combines `before` with the totals of the warps from `first` to the one before this thread's.
template <class Op>
__device__ __forceinline__ typename Op::Acc scan_warps_before(typename Op::Acc before, const void *of_warps,
                                                              unsigned first)
{
    typedef typename Op::Acc Acc;
#pragma unroll 1
    for (unsigned k = first; k < threadIdx.x / 32; k++)
        before = Op::combine(before, load_shared((const Acc *)of_warps + k));
    return before;
}

template <class Op, bool ALIGNED, int KD>
__device__ __forceinline__ void scan_short_rows(const char *in, char *out, const AxisScan<KD> &plan)
{
    typedef typename Op::Acc Acc;
    PYCUDA_SHARED(Acc, of_warps, SCAN_WARPS);
    const unsigned warp = threadIdx.x / 32, warps = (unsigned)plan.groups, place_in_row = warp % warps;
    const index_t row = (index_t)blockIdx.x * (SCAN_WARPS / warps) + warp / warps;
    const Place kept = place<KD>(plan.kept, row);
    const index_t first = place_in_row * Chunks<Op>::OF_WARP, length = row < plan.rows ? plan.length : 0;
    Chunks<Op> mine;
    mine.template load<ALIGNED>(in + kept.offset, first, length, plan.step);
    const Acc sum = mine.scan();
    if (threadIdx.x % 32 == 31) store_shared(of_warps + warp, sum);
    __syncthreads();
    const Acc before = scan_warps_before<Op>(Op::neutral(), of_warps, warp - place_in_row);
    mine.template store<ALIGNED>(out + kept.other, first, length, plan.out, before);
}

enum { TILED_THREADS = 128 };

// The work that scan_tiles() calls for a tile of a long row. The tile is divided among threads as Chunks are,
// but its elements are mapped only when they are used, not when they are loaded.
template <class Op, bool ALIGNED, int SLOTS, int KD> struct TiledRow {
    typedef typename Op::Acc Acc;
    typedef typename Op::Element Element;
    typedef typename Op::Result Result;
    enum {
        V = Chunks<Op>::V,
        // A thread has at most 112 bytes of a tile, so that three tiles fit into the shared memory of a
        // block. axis_scan_tile() of pycuda/_kernels/builtin/axis_scan.py computes the same.
        OF_CHUNK = V * sizeof(Element) + sizeof(Acc),
        CHUNKS = 112 / OF_CHUNK < 4 ? 112 / OF_CHUNK : 4
    };
    typedef scan_shared<TILED_THREADS, SLOTS, CHUNKS, V, Element, Acc> Shared;

    Shared &shared;
    const char *in;
    char *out;
    const AxisScan<KD> &plan;
    alignas(16) Element mine[CHUNKS][V];

    __device__ __forceinline__ TiledRow(Shared &shared, const char *in, char *out, const AxisScan<KD> &plan)
        : shared(shared), in(in), out(out), plan(plan)
    {
    }

    static __device__ __forceinline__ Acc read(const Element &e) { return Op::map(e); }
    static __device__ __forceinline__ Acc combine(const Acc &a, const Acc &b) { return Op::combine(a, b); }

    // The thread's first element in its row.
    static __device__ __forceinline__ index_t first(unsigned tile)
    {
        return (index_t)tile * Shared::TILE + threadIdx.x / 32 * Shared::OF_WARP + threadIdx.x % 32 * V;
    }
    // Whether the warp's part of the tile is inside the row. at: the thread's first element.
    __device__ __forceinline__ bool whole(index_t at) const
    {
        return at - (index_t)(threadIdx.x % 32 * V) + Shared::OF_WARP <= plan.length;
    }

    __device__ __forceinline__ void load(unsigned row, unsigned tile)
    {
        const index_t at = first(tile);
        const char *from = in + place<KD>(plan.kept, row).offset;
        if (ALIGNED && whole(at)) {
            from += at * (index_t)sizeof(Element);
#pragma unroll
            for (int c = 0; c < CHUNKS; c++)
                load_packed<V>(mine[c], from + c * (32 * V * (int)sizeof(Element)));
        } else {
#pragma unroll
            for (int c = 0; c < CHUNKS; c++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    mine[c][v] = *reinterpret_cast<const Element *>(
                        from + min(at + c * (32 * V) + v, plan.length - 1) * plan.step);
        }
    }

    __device__ __forceinline__ Acc sum(int slot)
    {
        return scan_sum<Acc>(shared, slot, mine, read, combine);
    }

    __device__ __forceinline__ void finish(int slot, unsigned row, unsigned tile, bool has, const Acc &before)
    {
        const index_t at = first(tile);
        const bool all = ALIGNED && whole(at);
        char *to = out + place<KD>(plan.kept, row).other + at * plan.out;
        alignas(16) Result results[V];
        scan_finish<CHUNKS, V>(
            shared, slot, has, before, read, combine,
            [&](int, int v, bool, const Acc &, const Acc &, const Acc &with) {
                Op::finish(results[v], with);
            },
            [&](int c) {
                if (all)
                    store_packed<V>(to + c * (32 * V * (int)sizeof(Result)), results);
                else
#pragma unroll
                    for (int v = 0; v < V; v++)
                        if (at + c * (32 * V) + v < plan.length)
                            *reinterpret_cast<Result *>(to + (c * (32 * V) + v) * plan.out) = results[v];
            });
    }
};

template <class Op, bool ALIGNED, int KD>
__device__ __forceinline__ void scan_tiled_rows(const char *in, char *out, const AxisScan<KD> &plan,
                                                const scan_state &state)
{
    enum { SLOTS = 3 };
    typedef TiledRow<Op, ALIGNED, SLOTS, KD> Work;
    __shared__ typename Work::Shared shared;
    Work work(shared, in, out, plan);
    scan_tiles<TILED_THREADS, SLOTS, typename Op::Acc>(state, (unsigned)plan.rows, (unsigned)plan.tiles, work,
                                                       Work::combine);
}

template <class Op, bool ALIGNED, int KD>
__device__ __forceinline__ void scan_block_rows(const char *in, char *out, const AxisScan<KD> &plan)
{
    typedef TiledRow<Op, ALIGNED, 1, KD> Work;
    __shared__ typename Work::Shared shared;
    Work work(shared, in, out, plan);
    scan_whole_rows<TILED_THREADS, typename Op::Acc>((unsigned)plan.rows, (unsigned)plan.tiles, work,
                                                     Work::combine);
}

// ---- columns

// Takes the next tile that no block has taken, and returns its number.
__device__ __forceinline__ index_t scan_take_tile(const scan_state &state)
{
    __shared__ unsigned taken;
    if (threadIdx.x == 0) {
        taken = atomicAdd(state.counter, 1u);
        if (taken == gridDim.x - 1) *state.counter = 0;
    }
    __syncthreads();
    return taken;
}

// The part of the state that belongs to one row, which has `values` of them.
template <class Acc>
__device__ __forceinline__ scan_state scan_part(const scan_state &state, index_t row, index_t values)
{
    scan_state part = state;
    part.entries += row * values * mailbox<Acc>::ENTRIES;
    part.values = (char *)state.values + row * values * (index_t)sizeof(Acc);
    return part;
}

// Finds the total before tile `number`, for a column in each lane of a warp, and publishes the tile's own
// total (`own`) and prefix. Each tile has an entry for its total and, after it, one for its prefix, the total
// up to its end. The nearest published prefix is combined with the totals of the tiles after it, from left to
// right. The prefixes between are made in the same way, so that the result has the same bits whichever prefix
// is found.
template <class Op>
__device__ __forceinline__ typename Op::Acc scan_column_before(const scan_state &state, index_t number,
                                                               index_t tiles, const typename Op::Acc &own)
{
    typedef typename Op::Acc Acc;
    typedef mailbox<Acc> box;
    const unsigned lane = threadIdx.x % 32;
    const size_t at = (size_t)number * 64 + 2 * lane;
    if (number == 0) {
        if (tiles > 1) box::post(state, at + 1, own);
        return Op::neutral();
    }
    if (number + 1 < tiles) box::post(state, at, own);
    parcel<Acc> found(own);
    index_t distance = 1;
    bool there = false;
    for (;;) {
        while (!there) {
            there = box::look(state, at - (size_t)distance * 64 + 1, found);
            parcel<Acc> skipped;
            if (there || !box::look(state, at - (size_t)distance * 64, skipped)) break;
            distance++;
        }
        if (__all_sync(0xffffffffu, there)) break;
        scan_pause();
    }
    Acc sum = found.value();
    for (index_t k = distance - 1; k > 0; k--) {
        box::look(state, at - (size_t)k * 64, found);
        sum = Op::combine(sum, found.value());
    }
    if (number + 1 < tiles) box::post(state, at + 1, Op::combine(sum, own));
    return sum;
}

// Scans columns. A thread has ITEMS consecutive elements of a column; in the same lane of the next warp are
// the elements that follow.
template <class Op, ScanShape SHAPE, int KD>
__device__ __forceinline__ void scan_columns(const char *in, char *out, const AxisScan<KD> &plan,
                                             const scan_state &state)
{
    typedef typename Op::Acc Acc;
    typedef typename Op::Element Element;
    enum {
        ITEMS = sizeof(Acc) > 4 ? 128 / sizeof(Acc) : 32,
        SIDE = SHAPE == COLUMN_THREAD ? SCAN_THREADS : 32
    };
    PYCUDA_SHARED(Acc, of_warps, 32 * (SCAN_WARPS + 1));
    const int lane = threadIdx.x % 32, warp = SHAPE == COLUMN_THREAD ? 0 : threadIdx.x / 32;
    const index_t taken = SHAPE == COLUMN_TILES ? scan_take_tile(state) : (index_t)blockIdx.x;
    const index_t inner = plan.kept.length[KD - 1], blocks = gridDim.x / (unsigned)plan.tiles;
    const index_t number = SHAPE == COLUMN_TILES ? quotient(taken, blocks) : 0,
                  block = taken - number * blocks;
    const index_t outer = quotient(block, plan.groups);
    const index_t column = (block - outer * plan.groups) * SIDE + threadIdx.x % SIDE;
    const index_t first = (number * SCAN_WARPS + warp) * ITEMS;
    const index_t end = column < inner ? min(first + ITEMS, plan.length) : first;
    const Place kept = place<KD - 1>(plan.kept, outer);
    in += kept.offset + column * plan.kept.stride[KD - 1] + first * plan.step;
    out += kept.other + column * plan.kept.other[KD - 1] + first * plan.out;
    const int count = end > first ? (int)(end - first) : 0;
    const bool whole = count == ITEMS; // without a condition a thread's accesses are issued back to back
    Acc part[ITEMS];
    {
        Element items[ITEMS];
        if (whole) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) items[k] = *reinterpret_cast<const Element *>(in + k * plan.step);
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                if (k < count) items[k] = *reinterpret_cast<const Element *>(in + k * plan.step);
        }
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            part[k] = k < count ? Op::map(items[k]) : Op::neutral();
            if (k) part[k] = Op::combine(part[k - 1], part[k]);
        }
    }
    Acc before = Op::neutral();
    if (SHAPE != COLUMN_THREAD) {
        store_shared(of_warps + 32 * warp + lane, part[ITEMS - 1]);
        __syncthreads();
        if (SHAPE == COLUMN_TILES) {
            if (warp == 0) {
                Acc whole = load_shared(of_warps + lane);
#pragma unroll 1
                for (int k = 1; k < SCAN_WARPS; k++)
                    whole = Op::combine(whole, load_shared(of_warps + 32 * k + lane));
                store_shared(of_warps + 32 * SCAN_WARPS + lane,
                             scan_column_before<Op>(scan_part<Acc>(state, block, plan.tiles * 64), number,
                                                    plan.tiles, whole));
            }
            __syncthreads();
            before = load_shared(of_warps + 32 * SCAN_WARPS + lane);
        }
#pragma unroll 1
        for (int k = 0; k < warp; k++) before = Op::combine(before, load_shared(of_warps + 32 * k + lane));
    }
    if (whole) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            Op::finish(*reinterpret_cast<typename Op::Result *>(out + k * plan.out),
                       Op::combine(before, part[k]));
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (k < count)
                Op::finish(*reinterpret_cast<typename Op::Result *>(out + k * plan.out),
                           Op::combine(before, part[k]));
    }
}

}

#endif
