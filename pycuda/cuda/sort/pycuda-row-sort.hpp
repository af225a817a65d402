// Short rows sorted in registers. A row has a power of two of slots, of which each thread holds ITEMS
// neighbors. A block has as many rows as fit.
//
// A bitonic network compares cells: keys, or pairs (key, position in the row), which make the sort stable.
// Cells that compare equal have the same bits, so that the result is unique. The two cells of a comparison
// are in one thread, in lanes of a warp, or in different warps, which exchange them through shared memory.
// Rows are padded with cells that are not less than any other.
#ifndef PYCUDA_ROW_SORT_HPP
#define PYCUDA_ROW_SORT_HPP

#include "sort/pycuda-order.hpp"

namespace pycuda {

enum { ROW_THREADS = 256 };

// ---- cells

template <class Bits> struct Ranked {
    Bits bits;
    unsigned place;
};

template <class Bits> __device__ __forceinline__ bool operator<(const Ranked<Bits> &a, const Ranked<Bits> &b)
{
    return a.bits < b.bits || (a.bits == b.bits && a.place < b.place);
}

// Keys alone, by an order in which keys of different bits are not equal.
template <int BYTES> struct Register { typedef unsigned type; };
template <> struct Register<8> { typedef u64 type; };

template <class Order> struct KeysAlone {
    typedef typename Register<sizeof(typename Order::Raw)>::type Cell;
    enum { PLACES = 0 };
    static __device__ __forceinline__ Cell of(typename Order::Raw key, unsigned) { return Order::total(key); }
    static __device__ __forceinline__ Cell none() { return ~Cell(0); }
    static __device__ __forceinline__ typename Order::Raw key(Cell cell)
    {
        return Order::from_total((typename Order::Bits)cell);
    }
};

// Keys with their places. ONE_WORD: both fit into a word of 64 bits.
template <class Order, bool ONE_WORD = sizeof(typename Order::Raw) <= 4> struct KeysWithPlaces {
    typedef typename Order::Bits Bits;
    typedef Ranked<Bits> Cell;
    enum { PLACES = 1 };
    static __device__ __forceinline__ Cell of(const typename Order::Raw &key, unsigned place)
    {
        return {Order::bits(key), place};
    }
    static __device__ __forceinline__ Cell none() { return {~Bits(), ~0u}; }
    static __device__ __forceinline__ unsigned place(const Cell &cell) { return cell.place; }
};

template <class Order> struct KeysWithPlaces<Order, true> {
    typedef u64 Cell;
    enum { PLACES = 1 };
    static __device__ __forceinline__ Cell of(typename Order::Raw key, unsigned place)
    {
        return joined((unsigned)Order::bits(key), place);
    }
    static __device__ __forceinline__ Cell none() { return ~Cell(0); }
    static __device__ __forceinline__ unsigned place(Cell cell) { return (unsigned)cell; }
};

// a or b, chosen member by member: a choice between whole structures would place them in local memory.
template <class T> __device__ __forceinline__ T chosen(bool first, const T &a, const T &b)
{
    return first ? a : b;
}
__device__ __forceinline__ Wide chosen(bool first, const Wide &a, const Wide &b)
{
    return Wide(first ? a.high : b.high, first ? a.low : b.low);
}
template <class Bits>
__device__ __forceinline__ Ranked<Bits> chosen(bool first, const Ranked<Bits> &a, const Ranked<Bits> &b)
{
    return {chosen(first, a.bits, b.bits), chosen(first, a.place, b.place)};
}

template <class T> __device__ __forceinline__ T of_lane_xor(const T &x, int mask)
{
    return __shfl_xor_sync(0xffffffffu, x, mask);
}
__device__ __forceinline__ Wide of_lane_xor(const Wide &x, int mask)
{
    return Wide(of_lane_xor(x.high, mask), of_lane_xor(x.low, mask));
}
template <class Bits> __device__ __forceinline__ Ranked<Bits> of_lane_xor(const Ranked<Bits> &x, int mask)
{
    return {of_lane_xor(x.bits, mask), of_lane_xor(x.place, mask)};
}

__device__ __forceinline__ void put_in_order(unsigned &low, unsigned &high)
{
    const unsigned smaller = min(low, high);
    high = max(low, high);
    low = smaller;
}
template <class Cell> __device__ __forceinline__ void put_in_order(Cell &low, Cell &high)
{
    const bool swaps = high < low;
    const Cell smaller = chosen(swaps, high, low);
    high = chosen(swaps, low, high);
    low = smaller;
}

// The cell that a thread keeps, of its own and its partner's: the greater or the lesser one.
template <class Cell> __device__ __forceinline__ Cell kept(const Cell &own, const Cell &other, bool greater)
{
    return chosen((other < own) != greater, other, own);
}

// ---- the network within a thread, made of templates because nested loops are not always unrolled

// Sorts each 2 * APART cells, which are a bitonic sequence.
template <int ITEMS, int APART> struct Merge {
    template <class Cell> static __device__ __forceinline__ void run(Cell (&cells)[ITEMS])
    {
#pragma unroll
        for (int k = 0; k < ITEMS / 2; k++) {
            const int low = 2 * k - (k & (APART - 1));
            put_in_order(cells[low], cells[low + APART]);
        }
        Merge<ITEMS, APART / 2>::run(cells);
    }
};
template <int ITEMS> struct Merge<ITEMS, 0> {
    template <class Cell> static __device__ __forceinline__ void run(Cell (&)[ITEMS]) {}
};

// Sorts each SIZE cells.
template <int ITEMS, int SIZE> struct Sort {
    template <class Cell> static __device__ __forceinline__ void run(Cell (&cells)[ITEMS])
    {
        Sort<ITEMS, SIZE / 2>::run(cells);
#pragma unroll
        for (int k = 0; k < ITEMS / 2; k++) {
            const int low = 2 * k - (k & (SIZE / 2 - 1));
            put_in_order(cells[low], cells[low ^ (SIZE - 1)]);
        }
        Merge<ITEMS, SIZE / 4>::run(cells);
    }
};
template <int ITEMS> struct Sort<ITEMS, 1> {
    template <class Cell> static __device__ __forceinline__ void run(Cell (&)[ITEMS]) {}
};

// ---- between threads. MIRRORED: item k is compared with the partner's item ITEMS - 1 - k

template <bool MIRRORED, int ITEMS, class Cell>
__device__ __forceinline__ void exchange_in_warp(Cell (&cells)[ITEMS], int mask, bool greater)
{
#pragma unroll
    for (int k = 0; k < ITEMS / 2; k++) {
        const int j = ITEMS - 1 - k;
        const Cell first = of_lane_xor(cells[MIRRORED ? j : k], mask);
        const Cell second = of_lane_xor(cells[MIRRORED ? k : j], mask);
        cells[k] = kept(cells[k], first, greater);
        cells[j] = kept(cells[j], second, greater);
    }
}

template <bool MIRRORED, int ITEMS, class Cell>
__device__ __forceinline__ void exchange_in_block(Cell (&cells)[ITEMS], int mask, bool greater, Cell *memory)
{
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) memory[k * ROW_THREADS + threadIdx.x] = cells[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const int item = MIRRORED ? ITEMS - 1 - k : k;
        cells[k] = kept(cells[k], memory[item * ROW_THREADS + (threadIdx.x ^ mask)], greater);
    }
}

template <bool MIRRORED, int ITEMS, class Cell>
__device__ __forceinline__ void exchange(Cell (&cells)[ITEMS], int mask, bool greater, Cell *memory)
{
    if (mask < 32)
        exchange_in_warp<MIRRORED>(cells, mask, greater);
    else
        exchange_in_block<MIRRORED>(cells, mask, greater, memory);
}

// Sorts the cells of each `threads` threads.
template <int ITEMS, class Cell>
__device__ __forceinline__ void sort_cells(Cell (&cells)[ITEMS], int threads, Cell *memory)
{
    Sort<ITEMS, ITEMS>::run(cells);
#pragma unroll 1
    for (int size = 2; size <= threads; size *= 2) {
        exchange<true>(cells, size - 1, threadIdx.x & (size / 2), memory);
#pragma unroll 1
        for (int offset = size / 4; offset; offset /= 2)
            exchange<false>(cells, offset, threadIdx.x & offset, memory);
        Merge<ITEMS, ITEMS / 2>::run(cells);
    }
}

// ---- rows

// The slots of a block. One is left free after those of each thread, so that threads access different banks.
template <class Order, class Cells, int ITEMS> struct RowSlots {
    enum { SLOTS = ROW_THREADS * (ITEMS + 1) };
    typename Order::Raw keys[SLOTS];
    unsigned short places[Cells::PLACES ? SLOTS : 1];
};

template <class Order, class Cells, int ITEMS> struct RowShared {
    enum { EXCHANGED = ROW_THREADS * ITEMS * sizeof(typename Cells::Cell) };
    enum { MOVED = sizeof(RowSlots<Order, Cells, ITEMS>) };
    alignas(16) unsigned char memory[(int)EXCHANGED > (int)MOVED ? (int)EXCHANGED : (int)MOVED];
};

struct RowPlan {
    index_t rows;
    unsigned length, bits; // a row has 1 << bits slots
};

// Calls move(slot, begin, place) for the elements that a thread moves between global and shared memory: the
// slot in shared memory, where the element's row begins in the array, and its place in the row.
template <int ITEMS, class Move> __device__ __forceinline__ void each_slot(const RowPlan &plan, Move move)
{
    const index_t first = ((index_t)blockIdx.x * (ROW_THREADS * ITEMS)) >> plan.bits;
#pragma unroll 4
    for (unsigned k = threadIdx.x; k < ROW_THREADS * ITEMS; k += ROW_THREADS) {
        const index_t row = first + (k >> plan.bits);
        const unsigned place = k & ((1u << plan.bits) - 1);
        if (place < plan.length && row < plan.rows) move(k + k / ITEMS, row * plan.length, place);
    }
}

// Cells is KeysAlone or KeysWithPlaces. In and out may be the same; one of out and places_out may be null.
template <class Order, class Cells, int ITEMS, class Place>
__device__ __forceinline__ void sort_rows(const typename Order::Raw *in, typename Order::Raw *out,
                                          Place *places_out, const RowPlan &plan)
{
    typedef typename Cells::Cell Cell;
    __shared__ RowShared<Order, Cells, ITEMS> shared;
    auto &slots = *reinterpret_cast<RowSlots<Order, Cells, ITEMS> *>(shared.memory);
    const unsigned mine = threadIdx.x * ITEMS, stored = threadIdx.x * (ITEMS + 1);
    const unsigned place = mine & ((1u << plan.bits) - 1);
    const index_t row = ((index_t)blockIdx.x * (ROW_THREADS * ITEMS) + mine) >> plan.bits;
    const unsigned length = row < plan.rows ? plan.length : 0;
    each_slot<ITEMS>(plan, [&](unsigned slot, index_t begin, unsigned place) {
        slots.keys[slot] = in[begin + place];
    });
    __syncthreads();
    Cell cells[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        cells[k] = place + k < length ? Cells::of(slots.keys[stored + k], place + k) : Cells::none();
    sort_cells(cells, (1 << plan.bits) / ITEMS, reinterpret_cast<Cell *>(shared.memory));
    __syncthreads();
    if constexpr (Cells::PLACES) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) slots.places[stored + k] = (unsigned short)Cells::place(cells[k]);
        __syncthreads();
        if (out)
            each_slot<ITEMS>(plan, [&](unsigned slot, index_t begin, unsigned) {
                slots.keys[slot] = in[begin + slots.places[slot]];
            });
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) slots.keys[stored + k] = Cells::key(cells[k]);
    }
    __syncthreads();
    each_slot<ITEMS>(plan, [&](unsigned slot, index_t begin, unsigned place) {
        if (out) out[begin + place] = slots.keys[slot];
        if (Cells::PLACES && places_out) places_out[begin + place] = slots.places[slot];
    });
}

} // namespace pycuda

#endif
