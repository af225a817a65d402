// Rows sorted by bytes of their keys, the lowest byte first (LSD radix sort), each byte in one pass over
// memory.
//
// One pass over the keys makes histograms of all their bytes, which give the offset in the row of each value
// of each byte. A pass over a byte cuts rows into tiles. A block takes a tile, counts its 256 digits,
// publishes the counts, sorts its elements by digit in shared memory, so that stores are coalesced, and reads
// the counts of the tiles before it (decoupled look-back: each has published either its own counts or those
// of all tiles up to and including it). The sort is stable. Blocks take tiles in order, by an atomic counter,
// so that every tile that a block waits for is done or held by a running block.
//
// The result is the same whatever the timing, as where an element goes depends on the keys alone.
#ifndef PYCUDA_RADIX_SORT_HPP
#define PYCUDA_RADIX_SORT_HPP

#include "sort/pycuda-order.hpp"

namespace pycuda {

// DIGITS: values of a byte. COUNT_LOADS: vectors that a thread loads before it counts. TOGETHER: items of a
// thread whose ranks are found at a time. LOOK_BACK: tiles whose counts are read at a time.
enum { DIGITS = 256, COUNT_LOADS = 4, TOGETHER = 4, LOOK_BACK = 4 };

// ---- how often each byte has each value: counts[row][pass][value]

// Each value has COPIES counters next to each other, so that threads that count the same value do not wait
// for each other. With 32 copies each lane has its own bank of shared memory.
template <class Order, int PASSES, int COPIES>
__device__ __forceinline__ void count_digits(unsigned *counters, const typename Order::Raw &key, int passes)
{
    const typename Order::Bits bits = Order::bits(key);
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++)
        if (pass < passes)
            atomicAdd(counters + (pass * DIGITS + digit(bits, pass)) * COPIES + threadIdx.x % COPIES, 1u);
}

// Adds to `counts` how often each byte has each value. The grid has `splits` blocks for each row, each of
// which counts `chunk` keys. V keys are loaded together. The counters are in dynamic shared memory.
template <class Order, class Count, int PASSES, int V, int THREADS, int COPIES>
__device__ __forceinline__ void count_all_digits(const typename Order::Raw *keys, Count *counts,
                                                 index_t length, index_t splits, index_t chunk, int passes)
{
    typedef typename Order::Raw Raw;
    extern __shared__ unsigned counters[];
    const index_t row = quotient(blockIdx.x, splits);
    const index_t begin = (blockIdx.x - row * splits) * chunk, end = min(begin + chunk, length);
    for (int k = threadIdx.x; k < PASSES * DIGITS * COPIES; k += THREADS) counters[k] = 0;
    __syncthreads();
    keys += row * length;
    index_t at = begin + threadIdx.x * V;
    for (; at + (COUNT_LOADS - 1) * THREADS * V + V <= end; at += COUNT_LOADS * THREADS * V) {
        alignas(16) Raw loaded[COUNT_LOADS][V];
#pragma unroll
        for (int k = 0; k < COUNT_LOADS; k++)
            load_packed<V>(loaded[k], reinterpret_cast<const char *>(keys + at + k * THREADS * V));
#pragma unroll
        for (int k = 0; k < COUNT_LOADS; k++)
#pragma unroll
            for (int v = 0; v < V; v++) count_digits<Order, PASSES, COPIES>(counters, loaded[k][v], passes);
    }
#pragma unroll 1
    for (; at + V <= end; at += THREADS * V) {
        alignas(16) Raw loaded[V];
        load_packed<V>(loaded, reinterpret_cast<const char *>(keys + at));
#pragma unroll
        for (int v = 0; v < V; v++) count_digits<Order, PASSES, COPIES>(counters, loaded[v], passes);
    }
    for (; at < end; at += THREADS * V)
#pragma unroll 1
        for (int v = 0; v < V && at + v < end; v++)
            count_digits<Order, PASSES, COPIES>(counters, keys[at + v], passes);
    __syncthreads();
    counts += row * passes * DIGITS;
    for (int k = threadIdx.x; k < passes * DIGITS; k += THREADS) {
        unsigned sum = 0;
#pragma unroll
        for (int copy = 0; copy < COPIES; copy++) sum += counters[k * COPIES + (copy + k) % COPIES];
        if (sum) atomicAdd(counts + k, (Count)sum);
    }
}

// The sum over the lanes up to this one.
template <class T> __device__ __forceinline__ T inclusive_sum_of_lanes(T value)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        const T below = __shfl_up_sync(0xffffffffu, value, offset);
        if (lane >= offset) value += below;
    }
    return value;
}

// Turns counts into offsets, by an exclusive scan. The grid has a block of DIGITS threads for each row and
// pass.
template <class Count> __device__ __forceinline__ void starts_of_digits(Count *counts)
{
    __shared__ Count warps[DIGITS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    counts += (index_t)blockIdx.x * DIGITS + threadIdx.x;
    const Count own = *counts, sum = inclusive_sum_of_lanes(own);
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    Count before = sum - own;
    for (int k = 0; k < warp; k++) before += warps[k];
    *counts = before;
}

// ---- a pass over one byte

// The lanes that have the same digit, as a mask. Written in PTX, which takes half as many instructions as
// compiled C++.
__device__ __forceinline__ unsigned lanes_alike(unsigned digit)
{
    unsigned alike = 0xffffffffu;
#pragma unroll
    for (int bit = 0; bit < 8; bit++)
        asm volatile("{\n\t.reg .pred set;\n\t.reg .b32 votes;\n\t"
                     "and.b32 votes, %1, %2;\n\t"
                     "setp.ne.u32 set, votes, 0;\n\t"
                     "vote.sync.ballot.b32 votes, set, 0xffffffff;\n\t"
                     "@!set not.b32 votes, votes;\n\t"
                     "and.b32 %0, %0, votes;\n\t}"
                     : "+r"(alike)
                     : "r"(digit), "r"(1 << bit));
    return alike;
}

// If `wanted`, adds `number` to *counter in shared memory and returns the old value; otherwise returns 0.
// This is one predicated instruction, where the compiler would branch.
__device__ __forceinline__ unsigned add_if(bool wanted, unsigned *counter, unsigned number)
{
    unsigned before;
    asm volatile("{\n\t.reg .pred wanted;\n\t"
                 "setp.ne.u32 wanted, %1, 0;\n\t"
                 "mov.b32 %0, 0;\n\t"
                 "@wanted atom.shared.add.u32 %0, [%2], %3;\n\t}"
                 : "=r"(before)
                 : "r"((unsigned)wanted), "r"((unsigned)__cvta_generic_to_shared(counter)), "r"(number)
                 : "memory");
    return before;
}

// What a block publishes for a digit in a tile: a count and, in the two upper bits, whether it covers the
// tile alone (TILE) or all tiles of the row up to it (ALL).
template <class Count> struct TileCount {
    static constexpr Count TILE = Count(1) << (8 * sizeof(Count) - 2), ALL = Count(1)
                                                                             << (8 * sizeof(Count) - 1);
    static constexpr Count NUMBER = TILE - 1;
};

// Returns the count in all tiles of the row before this one, number `tile` of all and `place` of its row.
// Publishes it, with the tile's `own` count added, for later tiles. states: what tiles have published for
// this digit. Several tiles are read at a time to hide the latency. The search ends at the latest at the
// first tile of the row, which publishes ALL.
template <class Count, int STRIDE = DIGITS>
__device__ __forceinline__ Count look_back(volatile Count *states, index_t tile, unsigned place, Count own)
{
    typedef TileCount<Count> tile_count;
    Count before = 0;
    for (unsigned back = 1; back <= place;) {
        Count there[LOOK_BACK];
#pragma unroll
        for (unsigned k = 0; k < LOOK_BACK; k++)
            there[k] = back + k <= place ? states[(tile - back - k) * STRIDE] : Count(0);
        unsigned known = 0;
#pragma unroll
        for (unsigned k = 0; k < LOOK_BACK; k++) {
            if (known != k || !there[k]) continue;
            before += there[k] & tile_count::NUMBER;
            known = there[k] & tile_count::ALL ? LOOK_BACK + 1 : k + 1;
        }
        if (known > LOOK_BACK) break;
        if (known == 0) __nanosleep(20);
        back += known;
    }
    if (place) states[tile * STRIDE] = tile_count::ALL | (before + own);
    return before;
}

// How a pass converts the keys that it reads, or that it writes.
struct AsTheyAre {
    template <class Raw> static __device__ __forceinline__ const Raw &of(const Raw &x) { return x; }
};
template <class Order> struct ToTotal {
    static __device__ __forceinline__ typename Order::Bits of(typename Order::Raw x)
    {
        return Order::total(x);
    }
};
template <class Order> struct FromTotal {
    static __device__ __forceinline__ typename Order::Raw of(typename Order::Raw x)
    {
        return Order::from_total(x);
    }
};

struct RadixPlan {
    index_t length; // of a row
    unsigned tiles; // of a row
    int pass, passes;
};

// The type of values when keys are sorted alone.
struct NoValue {};
// values: whether keys have values. numbers: whether a value may be the number of an element.
template <class V> struct Carries {
    enum { values = 1, numbers = sizeof(V) == 4 || sizeof(V) == 8 };
};
template <> struct Carries<NoValue> {
    enum { values = 0, numbers = 0 };
};

// The shared memory of a block. `memory` holds counters of each warp for each digit, then sorted keys, then
// their values.
template <class Raw, class V, class Count, int THREADS, int ITEMS> struct RadixShared {
    enum { TILE = THREADS * ITEMS, COUNTERS = THREADS / 32 * DIGITS * 4 };
    enum { LARGER = sizeof(Raw) > sizeof(V) ? sizeof(Raw) : sizeof(V) };
    alignas(16) unsigned char memory[TILE * LARGER > COUNTERS ? TILE * LARGER : COUNTERS];
    Count targets[DIGITS]; // of a digit: an element's target, less its place in the sorted tile
    unsigned warps[DIGITS / 32], taken;
};

// A tile, of which each thread has ITEMS elements: first those it reads (the order of a tile is warp, item,
// lane), in the end those it writes.
template <class Order, class V, class Count, int THREADS, int ITEMS> struct RadixTile {
    typedef typename Order::Raw Raw;
    typedef RadixShared<Raw, V, Count, THREADS, ITEMS> Shared;
    enum { TILE = THREADS * ITEMS, WARPS = THREADS / 32 };

    Shared &shared;
    const RadixPlan &plan;
    const unsigned thread, lane, warp, mine; // mine: the thread's first element in the tile
    index_t number, row;   // of the tile among all tiles; of its row
    index_t first, base;   // the tile's first element in its row, in the array
    unsigned place, count; // the tile's number in its row, its elements
    Raw key[ITEMS];
    unsigned rank[ITEMS];         // an item's digit, later its place in the sorted tile
    unsigned own = 0, before = 0; // how many of the tile have the digit `thread`; how many a lower one

    __device__ __forceinline__ RadixTile(Shared &shared, const RadixPlan &plan)
        : shared(shared), plan(plan), thread(threadIdx.x), lane(thread % 32), warp(thread / 32),
          mine(warp * 32 * ITEMS + lane)
    {
    }

    __device__ __forceinline__ unsigned *counters() { return reinterpret_cast<unsigned *>(shared.memory); }

    __device__ __forceinline__ void take(unsigned *counter)
    {
        if (thread == 0) shared.taken = atomicAdd(counter, 1u);
        for (int k = thread; k < WARPS * DIGITS; k += THREADS) counters()[k] = 0;
        __syncthreads();
        number = shared.taken;
        row = quotient(number, plan.tiles);
        place = (unsigned)(number - row * plan.tiles);
        first = (index_t)place * TILE;
        base = row * plan.length + first;
        count = (unsigned)min(plan.length - first, (index_t)TILE);
    }

    // Items beyond the end of the row are padding, which is sorted last.
    template <class Read> __device__ __forceinline__ void load(const Raw *keys)
    {
        if (count == TILE) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) key[k] = keys[base + mine + k * 32];
#pragma unroll
            for (int k = 0; k < ITEMS; k++) {
                key[k] = Read::of(key[k]);
                rank[k] = digit(Order::bits(key[k]), plan.pass);
            }
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) {
                const bool there = mine + k * 32 < count;
                key[k] = there ? Read::of(keys[base + mine + k * 32]) : Raw();
                rank[k] = there ? digit(Order::bits(key[k]), plan.pass) : DIGITS - 1;
            }
        }
    }

    // Counts the digits and publishes the counts early, for the blocks that wait for them. The counters
    // become, for each warp and digit, the place in the sorted tile of the warp's first element with that
    // digit.
    __device__ __forceinline__ void count_digits(Count *states)
    {
        typedef TileCount<Count> tile_count;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) atomicAdd(counters() + warp * DIGITS + rank[k], 1u);
        __syncthreads();
        unsigned *const of_digit = counters() + thread;
        if (thread < DIGITS) {
#pragma unroll
            for (int k = 0; k < WARPS; k++) {
                const unsigned here = of_digit[k * DIGITS];
                of_digit[k * DIGITS] = own;
                own += here;
            }
            *(volatile Count *)(states + number * DIGITS + thread) =
                (place ? tile_count::TILE : tile_count::ALL) | (Count)own;
            before = inclusive_sum_of_lanes(own);
            if (lane == 31) shared.warps[warp] = before;
            before -= own;
        }
        __syncthreads();
        if (thread < DIGITS) {
            for (unsigned k = 0; k < warp; k++) before += shared.warps[k];
#pragma unroll
            for (int k = 0; k < WARPS; k++) of_digit[k * DIGITS] += before;
        }
        __syncthreads();
    }

    // Finds each item's place in the sorted tile, TOGETHER items at a time: while the counters of one are
    // read, the digits of the next are compared.
    __device__ __forceinline__ void find_ranks()
    {
        const unsigned lanes_below = (1u << lane) - 1;
#pragma unroll
        for (int begin = 0; begin < ITEMS; begin += TOGETHER) {
            unsigned start[TOGETHER], last[TOGETHER];
#pragma unroll
            for (int k = begin; k < begin + TOGETHER && k < ITEMS; k++) {
                const unsigned alike = lanes_alike(rank[k]), below = __popc(alike & lanes_below);
                last[k - begin] = 31 - __clz(alike);
                start[k - begin] =
                    add_if(lane == last[k - begin], counters() + warp * DIGITS + rank[k], below + 1);
                rank[k] = below;
            }
#pragma unroll
            for (int k = begin; k < begin + TOGETHER && k < ITEMS; k++)
                rank[k] += __shfl_sync(0xffffffffu, start[k - begin], last[k - begin]);
        }
        __syncthreads();
    }

    // Sorts the keys into shared memory and finds where the elements with each digit go.
    __device__ __forceinline__ void sort(const Count *starts, Count *states)
    {
        Raw *const sorted = reinterpret_cast<Raw *>(shared.memory);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) sorted[rank[k]] = key[k];
        if (thread < DIGITS) {
            const Count start = starts[(row * plan.passes + plan.pass) * DIGITS + thread];
            const Count earlier = look_back<Count>(states + thread, number, place, own);
            shared.targets[thread] = (Count)(row * plan.length) + start + earlier - before;
        }
        __syncthreads();
    }

    __device__ __forceinline__ Count target(unsigned digit, int k) const
    {
        return shared.targets[digit] + thread + k * THREADS;
    }

    // Writes the sorted keys. A thread stores other elements than it loaded, so it takes their digits from
    // the keys again. ALL: the tile is full, as most are; without a condition a thread's stores are issued
    // back to back.
    template <bool ALL, class Write> __device__ __forceinline__ void write_keys(Raw *out)
    {
        const Raw *const sorted = reinterpret_cast<const Raw *>(shared.memory);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const Raw moved = sorted[thread + k * THREADS];
            const unsigned value = digit(Order::bits(moved), plan.pass);
            rank[k] |= value << 16;
            if (ALL || (out && thread + k * THREADS < count)) out[target(value, k)] = Write::of(moved);
        }
    }

    // Moves the values as the keys. Without `values` the value of an element is its number in its row.
    template <class Out> __device__ __forceinline__ void carry(const V *values, Out *out)
    {
        const bool whole = count == TILE;
        V value[ITEMS];
        if (values && whole) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) value[k] = values[base + mine + k * 32];
        } else if (values) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                value[k] = mine + k * 32 < count ? values[base + mine + k * 32] : V();
        } else if constexpr (Carries<V>::numbers) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) value[k] = V(first + mine + k * 32);
        }
        __syncthreads();
        V *const sorted = reinterpret_cast<V *>(shared.memory);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) sorted[rank[k] & 0xffff] = value[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const Out moved = Out(sorted[thread + k * THREADS]);
            if (whole || thread + k * THREADS < count) out[target(rank[k] >> 16, k)] = moved;
        }
    }
};

// Sorts (keys, values) by one byte into (keys_out, values_out). Without `values` an element's value is its
// number in its row; keys_out may be null. The grid has a block for each tile of each row.
template <class Order, class V, class Out, class Count, int THREADS, int ITEMS, class Read, class Write>
__device__ __forceinline__ void radix_pass(const typename Order::Raw *keys, typename Order::Raw *keys_out,
                                           const V *values, Out *values_out, const Count *starts,
                                           Count *states, unsigned *counter, const RadixPlan &plan)
{
    typedef RadixTile<Order, V, Count, THREADS, ITEMS> Tile;
    __shared__ typename Tile::Shared shared;
    Tile tile(shared, plan);
    tile.take(counter);
    tile.template load<Read>(keys);
    tile.count_digits(states);
    tile.find_ranks();
    tile.sort(starts, states);
    if (keys_out && tile.count == Tile::TILE)
        tile.template write_keys<true, Write>(keys_out);
    else
        tile.template write_keys<false, Write>(keys_out);
    if constexpr (Carries<V>::values) tile.carry(values, values_out);
}

} // namespace pycuda

#endif
