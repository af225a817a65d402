// Top-k: the first k elements of long rows in an order, for small k, in one pass over memory.
//
// Elements are compared as pairs (key, position in the row), which all differ, so equal elements need no
// special case. A sample of the row gives a limit: a pair that with high probability is preceded by k others
// and not many more. One pass collects all pairs before the limit, in any order. One block then sorts the
// first k of them. If the sample misled, so that too few or too many were collected, each of several blocks
// takes the first k of its part of the row instead: the result is the same, and the host is not involved.
#ifndef PYCUDA_TOPK_HPP
#define PYCUDA_TOPK_HPP

#include "sort/pycuda-order.hpp"

namespace pycuda {

// The pass over memory: threads of a block, bytes that each of them reads.
enum { TOP_THREADS = 256, TOP_BYTES = 64 };
// A block that keeps the first k pairs: its threads (k is at most that many), the pairs that it sorts at a
// time.
enum { FIRST_THREADS = 1024, FIRST_SLOTS = 2 * FIRST_THREADS };
// Groups of sampled elements. Each gives the sample one pair.
enum { TOP_GROUPS = FIRST_SLOTS };

template <class Bits> struct Pair {
    Bits bits;
    unsigned place;
    static __device__ __forceinline__ Pair none() { return {Bits(~Bits()), 0xffffffffu}; } // after all pairs
};

template <class Bits> __device__ __forceinline__ bool before(const Pair<Bits> &a, const Pair<Bits> &b)
{
    return a.bits < b.bits || (a.bits == b.bits && a.place < b.place);
}

template <class Order>
__device__ __forceinline__ Pair<typename Order::Bits> pair(const typename Order::Raw *keys, unsigned place)
{
    return {Order::bits(keys[place]), place};
}

// ---- the first k pairs of many, by one block

template <class Bits> struct FirstSlots {
    Bits bits[FIRST_SLOTS];
    unsigned places[FIRST_SLOTS], used;

    __device__ __forceinline__ Pair<Bits> get(unsigned k) const { return {bits[k], places[k]}; }
    __device__ __forceinline__ void put(unsigned k, const Pair<Bits> &pair)
    {
        bits[k] = pair.bits;
        places[k] = pair.place;
    }

    // A bitonic network over the slots in use and those that follow, up to a power of two.
    __device__ __forceinline__ void sort(unsigned in_use)
    {
        for (unsigned size = 2; size < 2 * in_use; size *= 2)
            for (unsigned offset = size / 2; offset; offset /= 2) {
                const unsigned low = 2 * threadIdx.x - (threadIdx.x & (offset - 1));
                const unsigned high = offset == size / 2 ? low ^ (size - 1) : low + offset;
                const Pair<Bits> first = get(low), second = get(high);
                if (before(second, first)) {
                    put(low, second);
                    put(high, first);
                }
                __syncthreads();
            }
    }
};

// Moves the first k of the pairs fetch(0) to fetch(count - 1) to the first k slots, in order; missing ones
// are none(). A pair that is not before the k-th of the last sort is dropped; others are collected until the
// next sort.
template <class Bits, class Fetch>
__device__ __forceinline__ void keep_first(FirstSlots<Bits> &slots, unsigned count, unsigned k, Fetch fetch)
{
    const auto at = [&](unsigned i) { return i < count ? fetch(i) : Pair<Bits>::none(); };
    Pair<Bits> last = Pair<Bits>::none(), mine = at(threadIdx.x);
    slots.put(threadIdx.x, last);
    slots.put(threadIdx.x + FIRST_THREADS, last);
    if (threadIdx.x == 0) slots.used = 0;
    __syncthreads();
    for (unsigned begin = 0; begin < count; begin += FIRST_THREADS) {
        const Pair<Bits> next = at(begin + FIRST_THREADS + threadIdx.x); // prefetch
        if (before(mine, last)) slots.put(atomicAdd(&slots.used, 1u), mine);
        mine = next;
        __syncthreads();
        const unsigned used = slots.used;
        if (used > FIRST_SLOTS - FIRST_THREADS || count - begin <= FIRST_THREADS) {
            slots.sort(used);
            last = slots.get(k - 1);
            for (unsigned other = k + threadIdx.x; other < used; other += FIRST_THREADS)
                slots.put(other, Pair<Bits>::none());
            if (threadIdx.x == 0 && used > k) slots.used = k;
        }
        __syncthreads();
    }
}

// ---- the limit

// Each thread loads a group of `group_size` elements spread over the row and keeps the first of them. An
// element is taken from each stretch of `step`, its position in the stretch from multiples of the golden
// ratio, so that the positions do not follow a period of the row. The grid has TOP_GROUPS threads along x and
// a block along y for each row.
template <class Order>
__device__ __forceinline__ void sample(const typename Order::Raw *keys, index_t length, unsigned group_size,
                                       unsigned step, Pair<typename Order::Bits> *samples)
{
    const unsigned number = blockIdx.x * TOP_THREADS + threadIdx.x;
    keys += blockIdx.y * length;
    auto first = Pair<typename Order::Bits>::none();
#pragma unroll 8
    for (unsigned k = 0; k < group_size; k++) {
        const unsigned stretch = k * TOP_GROUPS + number;
        const auto found = pair<Order>(keys, stretch * step + __umulhi(stretch * 0x9e3779b1u, step));
        if (before(found, first)) first = found;
    }
    samples[blockIdx.y * TOP_GROUPS + number] = first;
}

template <class Order> struct Limit {
    typename Order::Raw key;
    unsigned place;
    unsigned collected; // how many pairs collect() has found before the limit; above its capacity: too many
};

// The limit is pair number `rank`, from 1, of the sorted sample. The grid has one block for each row, along
// y.
template <class Order>
__device__ __forceinline__ void find_limit(const typename Order::Raw *keys, index_t length,
                                           const Pair<typename Order::Bits> *samples, unsigned rank,
                                           Limit<Order> *limits)
{
    __shared__ alignas(16) unsigned char memory[sizeof(FirstSlots<typename Order::Bits>)];
    auto &slots = *reinterpret_cast<FirstSlots<typename Order::Bits> *>(memory);
    samples += blockIdx.y * TOP_GROUPS;
    keep_first(slots, TOP_GROUPS, rank, [&](unsigned i) { return samples[i]; });
    const unsigned place = slots.places[rank - 1];
    if (threadIdx.x == 0) limits[blockIdx.y] = {keys[blockIdx.y * length + place], place, 0};
}

// ---- the pass over memory

// An element as a number that the GPU compares in one instruction. Except for NaNs, the order of these
// numbers is that of `Order`.
template <class Order> struct Number {
    static __device__ __forceinline__ auto of(const typename Order::Raw &x) { return Order::bits(x); }
};
template <> struct Number<SignedOrder<unsigned> > {
    static __device__ __forceinline__ int of(unsigned x) { return (int)x; }
};
template <> struct Number<SignedOrder<u64> > {
    static __device__ __forceinline__ long long of(u64 x) { return (long long)x; }
};
template <> struct Number<SignedOrder<unsigned short> > {
    static __device__ __forceinline__ short of(unsigned short x) { return (short)x; }
};
template <> struct Number<SignedOrder<unsigned char> > {
    static __device__ __forceinline__ signed char of(unsigned char x) { return (signed char)x; }
};
template <> struct Number<FloatOrder<unsigned, 23> > {
    static __device__ __forceinline__ float of(unsigned x) { return __uint_as_float(x); }
};
template <> struct Number<FloatOrder<u64, 52> > {
    static __device__ __forceinline__ double of(u64 x) { return __longlong_as_double((long long)x); }
};
template <> struct Number<FloatOrder<unsigned short, 10> > {
    static __device__ __forceinline__ float of(unsigned short x) { return value(half_bits{x}); }
};
template <> struct Number<FloatOrder<unsigned short, 7> > {
    static __device__ __forceinline__ float of(unsigned short x) { return value(bfloat16_bits{x}); }
};

// Whether an element is after the limit, which is not NaN; with EQUAL also whether it equals the limit.
template <class Order, bool EQUAL> struct After {
    typedef typename Order::Raw Raw;
    static __device__ __forceinline__ bool test(const Raw &x, const Raw &limit)
    {
        const auto a = Number<Order>::of(x), b = Number<Order>::of(limit);
        return EQUAL ? !(a < b) : !(a <= b); // true for a NaN, which is after all numbers
    }
};
template <class Order, bool EQUAL> struct After<Reversed<Order>, EQUAL> {
    typedef typename Order::Raw Raw;
    static __device__ __forceinline__ bool test(const Raw &x, const Raw &limit)
    {
        const auto a = Number<Order>::of(x), b = Number<Order>::of(limit);
        return EQUAL ? a <= b : a < b; // false for a NaN, which is before all numbers
    }
};

template <class Order, bool EQUAL, int COUNT>
__device__ __forceinline__ bool all_after(const typename Order::Raw *keys, const typename Order::Raw &limit)
{
    bool result = true;
#pragma unroll
    for (int k = 0; k < COUNT; k++) result &= After<Order, EQUAL>::test(keys[k], limit);
    return result;
}

// Collects the pairs before the limit, V elements loaded together. `collected` becomes their number if they
// fit, any number above `capacity` otherwise. A block reads TOP_THREADS * TOP_BYTES bytes; the grid has
// blocks for a row along x, rows along y.
template <class Order, int V>
__device__ __forceinline__ void collect(const typename Order::Raw *keys, index_t length, Limit<Order> *limits,
                                        Pair<typename Order::Bits> *pairs, unsigned capacity)
{
    typedef typename Order::Raw Raw;
    typedef typename Order::Bits Bits;
    enum { ITEMS = TOP_BYTES / sizeof(Raw), STEP = TOP_THREADS * V };
    const index_t begin = (index_t)blockIdx.x * (TOP_THREADS * ITEMS), mine = begin + threadIdx.x * V;
    keys += blockIdx.y * length;
    Limit<Order> *const there = limits + blockIdx.y;
    const Raw key = there->key;
    const Pair<Bits> limit = {Order::bits(key), there->place};
    if (begin + TOP_THREADS * ITEMS <= length) {
        alignas(16) Raw loaded[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k += V)
            load_packed<V>(loaded + k, reinterpret_cast<const char *>(keys + mine + k / V * STEP));
        // All elements of this block follow the limit's position (`beyond`), so those equal to it are after
        // it. This keeps a row of equal elements as quick as others.
        const bool beyond = begin > limit.place, number = !Order::is_nan(limit.bits);
        if (beyond && limit.bits == Bits()) return;
        if (number && (beyond ? all_after<Order, true, ITEMS>(loaded, key)
                              : all_after<Order, false, ITEMS>(loaded, key)))
            return;
    }
    if (*(volatile unsigned *)&there->collected > capacity) return;
    pairs += (index_t)blockIdx.y * capacity;
#pragma unroll 1
    for (int k = 0; k < ITEMS; k++) {
        const index_t i = mine + k / V * STEP + k % V;
        if (i >= length) break;
        const auto found = pair<Order>(keys, (unsigned)i);
        if (!before(found, limit)) continue;
        const unsigned number = atomicAdd(&there->collected, 1u);
        if (number < capacity) pairs[number] = found;
    }
}

// Whether the sample misled: the pairs before the limit are too few, or did not fit.
__device__ __forceinline__ bool misled(unsigned collected, unsigned k, unsigned capacity)
{
    return collected < k || collected > capacity;
}

// If the sample misled, replaces the collected pairs by the first k of each part of the row. The grid has a
// block for each part along x, rows along y.
template <class Order>
__device__ __forceinline__ void collect_fallback(const typename Order::Raw *keys, index_t length,
                                               const Limit<Order> *limits,
                                               Pair<typename Order::Bits> *pairs, unsigned capacity,
                                               unsigned k)
{
    __shared__ alignas(16) unsigned char memory[sizeof(FirstSlots<typename Order::Bits>)];
    if (!misled(limits[blockIdx.y].collected, k, capacity)) return;
    auto &slots = *reinterpret_cast<FirstSlots<typename Order::Bits> *>(memory);
    const index_t part = quotient(length - 1, gridDim.x) + 1, begin = min(part * blockIdx.x, length);
    keys += blockIdx.y * length;
    keep_first(slots, (unsigned)min(part, length - begin), k,
               [&](unsigned i) { return pair<Order>(keys, (unsigned)begin + i); });
    if (threadIdx.x < k)
        pairs[(index_t)blockIdx.y * capacity + blockIdx.x * k + threadIdx.x] = slots.get(threadIdx.x);
}

// Writes the first k of the collected pairs of each row. The grid has one block for each row, along y.
template <class Order>
__device__ __forceinline__ void finish(const typename Order::Raw *keys, index_t length,
                                       const Limit<Order> *limits, const Pair<typename Order::Bits> *pairs,
                                       unsigned capacity, unsigned k, unsigned parts,
                                       typename Order::Raw *values, index_t *indices)
{
    __shared__ alignas(16) unsigned char memory[sizeof(FirstSlots<typename Order::Bits>)];
    auto &slots = *reinterpret_cast<FirstSlots<typename Order::Bits> *>(memory);
    const index_t row = blockIdx.y;
    const unsigned collected = limits[row].collected;
    keep_first(slots, misled(collected, k, capacity) ? parts * k : collected, k,
               [&](unsigned i) { return pairs[row * capacity + i]; });
    if (threadIdx.x >= k) return;
    const unsigned place = slots.places[threadIdx.x];
    values[row * k + threadIdx.x] = keys[row * length + place];
    indices[row * k + threadIdx.x] = place;
}

} // namespace pycuda

#endif
