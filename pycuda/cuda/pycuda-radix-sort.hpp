// Rows sorted by bytes of their keys, the lowest byte first (LSD radix sort), each byte in one pass over memory.
//
// One pass over the keys counts all bytes of all of them. From then on it is known where in its row each value
// of a byte begins. A pass over a byte cuts rows into tiles. A block takes a tile, counts its 256 values,
// publishes the counts, orders its elements in shared memory, so that what goes to one place in memory is
// written together, and meanwhile learns from the tiles before it what they have of each value (decoupled
// look-back: of a tile the counts alone, or with all before it). The order of equal elements is kept. Blocks take
// tiles by a counter: every tile that one waits for is done, or another running block has it.
//
// The result does not depend on timing: where an element goes depends on the keys alone.
#ifndef PYCUDA_RADIX_SORT_HPP
#define PYCUDA_RADIX_SORT_HPP

#include "pycuda-order.hpp"

namespace pycuda {

enum { DIGITS = 256, COUNT_THREADS = 256, COUNT_LOADS = 4, TOGETHER = 4 };

// ---- how often each byte has each value: counts[row][pass][value]

// Several counters of a value, next to each other, for threads that count the same one.
template <class Raw> struct Copies {
    enum { number = sizeof(Raw) <= 4 ? 4 : sizeof(Raw) == 8 ? 2 : 1 };
};

template <class Order, int PASSES>
__device__ __forceinline__ void count_digits(unsigned *counters, const typename Order::Raw &key, int passes)
{
    enum { COPIES = Copies<typename Order::Raw>::number };
    const typename Order::Bits bits = Order::bits(key);
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++)
        if (pass < passes)
            atomicAdd(counters + (pass * DIGITS + digit(bits, pass)) * COPIES + threadIdx.x % COPIES, 1u);
}

// Grid: `splits` blocks for each row, each of `chunk` keys. V keys are loaded together.
template <class Order, class Count, int PASSES, int V>
__device__ __forceinline__ void count_all_digits(const typename Order::Raw *keys, Count *counts, index_t length,
                                                 index_t splits, index_t chunk, int passes)
{
    typedef typename Order::Raw Raw;
    enum { COPIES = Copies<Raw>::number };
    __shared__ unsigned counters[PASSES * DIGITS * COPIES];
    const index_t row = quotient(blockIdx.x, splits);
    const index_t begin = (blockIdx.x - row * splits) * chunk, end = min(begin + chunk, length);
    for (int k = threadIdx.x; k < PASSES * DIGITS * COPIES; k += COUNT_THREADS) counters[k] = 0;
    __syncthreads();
    keys += row * length;
    index_t at = begin + threadIdx.x * V;
    for (; at + (COUNT_LOADS - 1) * COUNT_THREADS * V + V <= end; at += COUNT_LOADS * COUNT_THREADS * V) {
        alignas(16) Raw loaded[COUNT_LOADS][V];
#pragma unroll
        for (int k = 0; k < COUNT_LOADS; k++)
            load_packed<V>(loaded[k], reinterpret_cast<const char *>(keys + at + k * COUNT_THREADS * V));
#pragma unroll
        for (int k = 0; k < COUNT_LOADS; k++)
#pragma unroll
            for (int v = 0; v < V; v++) count_digits<Order, PASSES>(counters, loaded[k][v], passes);
    }
    for (; at < end; at += COUNT_THREADS * V)
#pragma unroll 1
        for (int v = 0; v < V && at + v < end; v++) count_digits<Order, PASSES>(counters, keys[at + v], passes);
    __syncthreads();
    counts += row * passes * DIGITS;
    for (int k = threadIdx.x; k < passes * DIGITS; k += COUNT_THREADS) {
        unsigned sum = 0;
#pragma unroll
        for (int copy = 0; copy < COPIES; copy++) sum += counters[k * COPIES + copy];
        if (sum) atomicAdd(counts + k, (Count)sum);
    }
}

// The sum over the lanes up to this one.
template <class T> __device__ __forceinline__ T sum_of_lanes(T value)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
        const T below = __shfl_up_sync(0xffffffffu, value, apart);
        if (lane >= apart) value += below;
    }
    return value;
}

// Counts to what is before each value. Grid: rows times passes blocks of 256 threads.
template <class Count> __device__ __forceinline__ void starts_of_digits(Count *counts)
{
    __shared__ Count warps[DIGITS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    counts += (index_t)blockIdx.x * DIGITS + threadIdx.x;
    const Count own = *counts, sum = sum_of_lanes(own);
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    Count before = sum - own;
    for (int k = 0; k < warp; k++) before += warps[k];
    *counts = before;
}

// ---- a pass over one byte

// The lanes that have the same digit. In PTX it is half as many instructions as the compiler makes of C++.
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

// *counter += number, in shared memory; what it was. A predicated instruction, where the compiler would branch.
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

// What blocks tell each other of a value in a tile: a count, and in the two upper bits what it is of.
template <class Count> struct Told {
    static constexpr Count TILE = Count(1) << (8 * sizeof(Count) - 2), ALL = Count(1) << (8 * sizeof(Count) - 1);
    static constexpr Count NUMBER = TILE - 1;
};

// Of all tiles of the row before this one; tells the later tiles. `states` are those of the digit.
template <class Count>
__device__ __forceinline__ Count look_back(volatile Count *states, index_t tile, unsigned place, Count own)
{
    typedef Told<Count> told;
    Count before = 0;
    for (unsigned back = 1; back <= place; back++) {
        Count there;
        while (!(there = states[(tile - back) * DIGITS])) __nanosleep(20);
        before += there & told::NUMBER;
        if (there & told::ALL) break;
    }
    if (place) states[tile * DIGITS] = told::ALL | (before + own);
    return before;
}

struct RadixPlan {
    index_t length; // of a row
    unsigned tiles; // of a row
    int pass, passes;
};

struct NoValue {};
template <class V> struct Carries {
    enum { values = 1, numbers = sizeof(V) == 4 || sizeof(V) == 8 };
};
template <> struct Carries<NoValue> {
    enum { values = 0, numbers = 0 };
};

// From (keys, values) to (keys_out, values_out). Without `values` an element's value is its number in its row;
// keys_out may be null. Grid: the tiles of all rows.
template <class Order, class V, class Out, class Count, int THREADS, int ITEMS>
__device__ __forceinline__ void radix_pass(const typename Order::Raw *keys, typename Order::Raw *keys_out,
                                           const V *values, Out *values_out, const Count *starts, Count *states,
                                           unsigned *counter, const RadixPlan &plan)
{
    typedef typename Order::Raw Raw;
    typedef Told<Count> told;
    enum { TILE = THREADS * ITEMS, WARPS = THREADS / 32 };
    enum { LARGER = sizeof(Raw) > sizeof(V) ? sizeof(Raw) : sizeof(V), COUNTERS = WARPS * DIGITS * 4 };
    enum { BYTES = TILE * LARGER > COUNTERS ? TILE * LARGER : COUNTERS };
    __shared__ alignas(16) unsigned char memory[BYTES];
    __shared__ Count targets[DIGITS];
    __shared__ unsigned warps[DIGITS / 32], taken;
    unsigned *const counters = reinterpret_cast<unsigned *>(memory);
    const unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    if (thread == 0) taken = atomicAdd(counter, 1u);
    for (int k = thread; k < WARPS * DIGITS; k += THREADS) counters[k] = 0;
    __syncthreads();
    const index_t tile = taken, row = quotient(tile, plan.tiles);
    const unsigned place = (unsigned)(tile - row * plan.tiles);
    const index_t first = (index_t)place * TILE, base = row * plan.length + first;
    const unsigned count = (unsigned)min(plan.length - first, (index_t)TILE);
    const unsigned mine = warp * 32 * ITEMS + lane;

    // Lane by lane: the order of a tile is warp, item, lane. What is beyond the end comes last.
    Raw key[ITEMS];
    unsigned rank[ITEMS]; // the digit at first
    if (count == TILE) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) key[k] = keys[base + mine + k * 32];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) rank[k] = digit(Order::bits(key[k]), plan.pass);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const bool there = mine + k * 32 < count;
            key[k] = there ? keys[base + mine + k * 32] : Raw();
            rank[k] = there ? digit(Order::bits(key[k]), plan.pass) : DIGITS - 1;
        }
    }

    // How many of each value, early, for those who wait.
    unsigned *const of_warp = counters + warp * DIGITS;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) atomicAdd(of_warp + rank[k], 1u);
    __syncthreads();
    Count *const state = states + thread;
    unsigned own = 0, before = 0;
    if (thread < DIGITS) {
#pragma unroll
        for (int k = 0; k < WARPS; k++) {
            const unsigned here = counters[k * DIGITS + thread];
            counters[k * DIGITS + thread] = own;
            own += here;
        }
        *(volatile Count *)(state + tile * DIGITS) = (place ? told::TILE : told::ALL) | (Count)own;
        before = sum_of_lanes(own);
        if (lane == 31) warps[warp] = before;
        before -= own;
    }
    __syncthreads();
    if (thread < DIGITS) {
        for (unsigned k = 0; k < warp; k++) before += warps[k];
#pragma unroll
        for (int k = 0; k < WARPS; k++) counters[k * DIGITS + thread] += before;
    }
    __syncthreads();

    // Where in the sorted tile each element is.
    // Some items at a time: the counters answer while the next digits are compared.
    const unsigned lanes_below = (1u << lane) - 1;
#pragma unroll
    for (int first = 0; first < ITEMS; first += TOGETHER) {
        unsigned start[TOGETHER], last[TOGETHER];
#pragma unroll
        for (int k = first; k < first + TOGETHER && k < ITEMS; k++) {
            const unsigned alike = lanes_alike(rank[k]), below = __popc(alike & lanes_below);
            last[k - first] = 31 - __clz(alike);
            start[k - first] = add_if(lane == last[k - first], of_warp + rank[k], below + 1);
            rank[k] = below;
        }
#pragma unroll
        for (int k = first; k < first + TOGETHER && k < ITEMS; k++)
            rank[k] += __shfl_sync(0xffffffffu, start[k - first], last[k - first]);
    }
    __syncthreads();
    Raw *const sorted = reinterpret_cast<Raw *>(memory);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) sorted[rank[k]] = key[k];
    if (thread < DIGITS) {
        const Count earlier = look_back<Count>(state, tile, place, own);
        const Count start = starts[(row * plan.passes + plan.pass) * DIGITS + thread];
        targets[thread] = (Count)(row * plan.length) + start + earlier - before;
    }
    __syncthreads();

    // What a thread writes is not what it read: digits of the one join ranks of the other. Most tiles are whole,
    // and without a condition a thread's accesses follow each other at once.
    const bool whole = count == TILE;
    if (whole && keys_out) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const Raw moved = sorted[thread + k * THREADS];
            const unsigned value = digit(Order::bits(moved), plan.pass);
            keys_out[(Count)(targets[value] + thread + k * THREADS)] = moved;
            rank[k] |= value << 16;
        }
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const Raw moved = sorted[thread + k * THREADS];
            const unsigned value = digit(Order::bits(moved), plan.pass);
            rank[k] |= value << 16;
            if (keys_out && thread + k * THREADS < count)
                keys_out[(Count)(targets[value] + thread + k * THREADS)] = moved;
        }
    }
    if constexpr (Carries<V>::values) {
        V value[ITEMS];
        if (values && whole) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) value[k] = values[base + mine + k * 32];
        } else if (values) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) value[k] = mine + k * 32 < count ? values[base + mine + k * 32] : V();
        } else if constexpr (Carries<V>::numbers) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) value[k] = V(first + mine + k * 32);
        }
        __syncthreads();
        V *const carried = reinterpret_cast<V *>(memory);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) carried[rank[k] & 0xffff] = value[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const Count to = targets[rank[k] >> 16] + thread + k * THREADS;
            const Out moved = Out(carried[thread + k * THREADS]);
            if (whole || thread + k * THREADS < count) values_out[to] = moved;
        }
    }
}

}

#endif
