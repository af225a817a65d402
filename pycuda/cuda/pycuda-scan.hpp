// Prefix sums of any associative operation, in one pass over memory.
//
// A block scans a tile. To go on it needs what all tiles before it come to. Usual scans take that together
// from whatever predecessors have published by then, in an order that depends on timing; sums of floats
// then differ from run to run. Here every published value is one fixed expression, whoever computes it and
// whenever:
//
//     A(t)  of a tile: from its elements alone
//     G(g)  of a group of 32 tiles: a warp's scan of their A, always the same tree
//     P(g)  of all groups to g: P(g-1) . G(g), from left to right
//
// A tile waits for the A of its group, which come from tiles that are running beside it, and takes the
// nearest P that is there and the G after it, one by one: the same operations that made the P that are not
// there yet. So the result has the same bits at every run.
//
// Blocks take tiles by a counter: every tile that one waits for is done, or another running block has it.
//
// An entry is ready when it carries the number of this launch. The memory is therefore cleared once, not
// each time.
#ifndef PYCUDA_SCAN_HPP
#define PYCUDA_SCAN_HPP

#include "pycuda-exchange.hpp"

extern "C++" {
namespace pycuda {

enum { SCAN_GROUP = 32 };

// Where blocks leave what others need: entries of 64 bits with the launch's number in the lower half.
struct scan_state {
    unsigned *counter;
    unsigned long long *entries;
    void *values;
    unsigned launch;
};

// Values of up to 16 bytes travel in entries, 32 bits in each, which no fence need keep together; larger ones
// lie beside an entry. pycuda/_kernels/scratch.py makes the room.
template <class T, bool IN_ENTRIES = sizeof(T) <= 16> struct mailbox;

template <class T> struct mailbox<T, true> {
    enum { ENTRIES = (sizeof(T) + 3) / 4 };
    static __device__ __forceinline__ void post(const scan_state &state, size_t at, const T &value)
    {
        volatile unsigned long long *entries = state.entries + at * ENTRIES;
        unsigned bits[ENTRIES] = {};
        memcpy(bits, &value, sizeof(T));
#pragma unroll
        for (int k = 0; k < ENTRIES; k++) entries[k] = (unsigned long long)bits[k] << 32 | state.launch;
    }

    // Whether it is there; then it is in `value`.
    static __device__ __forceinline__ bool look(const scan_state &state, size_t at, parcel<T> &value)
    {
        const volatile unsigned long long *entries = state.entries + at * ENTRIES;
        unsigned bits[ENTRIES];
        bool there = true;
#pragma unroll
        for (int k = 0; k < ENTRIES; k++) {
            const unsigned long long entry = entries[k];
            bits[k] = (unsigned)(entry >> 32);
            there = there && (unsigned)entry == state.launch;
        }
        memcpy(value.words, bits, sizeof(T));
        return there;
    }
};

template <class T> struct mailbox<T, false> {
    enum { ENTRIES = 1 };
    static __device__ __forceinline__ void post(const scan_state &state, size_t at, const T &value)
    {
        put((T *)state.values + at, value);
        __threadfence();
        ((volatile unsigned long long *)state.entries)[at] = state.launch;
    }

    static __device__ __forceinline__ bool look(const scan_state &state, size_t at, parcel<T> &value)
    {
        if ((unsigned)((volatile unsigned long long *)state.entries)[at] != state.launch) return false;
        __threadfence();
        value = parcel<T>(get((const T *)state.values + at));
        return true;
    }
};

__device__ __forceinline__ void scan_pause() { __nanosleep(20); }

// The number of this block's tile: one that no other block has, and the next after those that are taken.
__device__ __forceinline__ size_t scan_take_tile(const scan_state &state)
{
    __shared__ unsigned taken;
    if (threadIdx.x == 0) {
        taken = atomicAdd(state.counter, 1u);
        if (taken == gridDim.x - 1) *state.counter = 0;
    }
    __syncthreads();
    return taken;
}

// The value of all lanes up to this one; the first `distance` lanes of each step keep theirs.
template <class T, class Combine> __device__ __forceinline__ T scan_lanes(T value, Combine combine)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const T below = from_lane_below(value, distance);
        value = choose(lane >= distance, combine(below, value), value);
    }
    return value;
}

// P(g - 1), by one warp: from the nearest P that is there, over the G after it. A lane asks for one group.
template <class T> struct scan_groups_before {
    typedef mailbox<T> box;
    parcel<T> of_group, up_to;
    bool has_group = false, has_all = false;

    __device__ __forceinline__ void look(const scan_state &state, size_t first, size_t group)
    {
        const size_t lane = threadIdx.x % 32, at = first + 2 * (group - 1 - lane);
        if (lane < group && !has_all) has_all = box::look(state, at + 1, up_to);
        if (lane < group && !has_group) has_group = box::look(state, at, of_group);
    }

    template <class Combine>
    __device__ __forceinline__ T wait(const scan_state &state, size_t first, size_t group, Combine combine)
    {
        unsigned nearest;
        for (;;) {
            const unsigned groups = __ballot_sync(0xffffffffu, has_group);
            const unsigned all = __ballot_sync(0xffffffffu, has_all);
            nearest = all ? __ffs(all) - 1 : 32;
            const unsigned between = nearest < 32 ? (1u << nearest) - 1 : 0xffffffffu;
            if (nearest < 32 && (groups & between) == between) break;
            scan_pause();
            look(state, first, group);
        }
        T sum = from_lane(up_to.value(), nearest);
        for (int k = (int)nearest - 1; k >= 0; k--) sum = combine(sum, from_lane(of_group.value(), k));
        return sum;
    }
};

// A(tile), by one thread, for the tiles after it.
template <class T>
__device__ __forceinline__ void scan_tell(const scan_state &state, size_t tile, size_t tiles, const T &own)
{
    if (tile + 1 < tiles) mailbox<T>::post(state, tile, own);
}

// What precedes a tile, by one warp; `own` is A(tile), which has been told. For tile 0 it means nothing.
template <class T, class Combine>
__device__ __forceinline__ T scan_before(const scan_state &state, size_t tile, size_t tiles, const T &own,
                                         Combine combine)
{
    typedef mailbox<T> box;
    const unsigned lane = threadIdx.x % 32, place = tile % SCAN_GROUP;
    const size_t group = tile / SCAN_GROUP, start = group * SCAN_GROUP, first_group = tiles;
    const bool ends_group = place == SCAN_GROUP - 1 && tile + 1 < tiles;
    parcel<T> of_tile(own);
    bool there = lane >= place;
    scan_groups_before<T> groups;
    groups.look(state, first_group, group);
    for (;;) {
        if (!there) there = box::look(state, start + lane, of_tile);
        if (__all_sync(0xffffffffu, there)) break;
        scan_pause();
    }
    const T up_to = scan_lanes(of_tile.value(), combine);
    const T whole = from_lane(up_to, 31);
    if (ends_group && lane == 0) {
        box::post(state, first_group + 2 * group, whole);
        if (group == 0) box::post(state, first_group + 1, whole);
    }
    const T within = from_lane(up_to, place ? place - 1 : 0);
    if (group == 0) return within;
    const T before = groups.wait(state, first_group, group, combine);
    if (ends_group && lane == 0) box::post(state, first_group + 2 * group + 1, combine(before, whole));
    return place ? combine(before, within) : before;
}

// load(k) gives item k; emit(has, before, item, with) what is stored for an item, `before` being all items
// before it where `has`, `with` those and itself; store(k, out) stores it. grid: one block a tile.
template <int THREADS, int ITEMS, class Item, class Out, class Load, class Combine, class Emit, class Store>
__device__ __forceinline__ void scan(size_t n, const scan_state &state, Load load, Combine combine, Emit emit,
                                     Store store)
{
    enum { TILE = THREADS * ITEMS, WARPS = THREADS / 32 };
    enum { LARGEST = sizeof(Item) > sizeof(Out) ? sizeof(Item) : sizeof(Out) };
    __shared__ __align__(16) unsigned char raw[TILE * LARGEST];
    PYCUDA_SHARED(Item, of_warps, WARPS + 1);
    Item *const items = (Item *)raw;
    Out *const outs = (Out *)raw;
    const size_t tiles = gridDim.x, tile = scan_take_tile(state), start = tile * TILE;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Item mine[ITEMS];
    // Past the end the last item is taken again: nothing reads what becomes of it.
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const size_t at = start + k * THREADS + threadIdx.x;
        mine[k] = load(at < n ? at : n - 1);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) place(items + k * THREADS + threadIdx.x, mine[k]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) mine[k] = fetch(items + threadIdx.x * ITEMS + k);
    Item sum = mine[0];
#pragma unroll
    for (int k = 1; k < ITEMS; k++) sum = combine(sum, mine[k]);
    const Item up_to = scan_lanes(sum, combine);
    if (lane == 31) place(of_warps + warp, up_to);
    __syncthreads();
    if (warp == 0) {
        Item whole = fetch(of_warps);
#pragma unroll 1
        for (int k = 1; k < WARPS; k++) whole = combine(whole, fetch(of_warps + k));
        if (lane == 0) scan_tell(state, tile, tiles, whole);
        const Item before = scan_before(state, tile, tiles, whole, combine);
        if (lane == 0) place(of_warps + WARPS, before);
    }
    __syncthreads();
    bool has = tile > 0;
    Item before = fetch(of_warps + WARPS);
#pragma unroll 1
    for (unsigned k = 0; k < warp; k++) {
        const Item next = fetch(of_warps + k);
        before = has ? combine(before, next) : next;
        has = true;
    }
    const Item below = from_lane_below(up_to, 1);
    if (lane > 0) {
        before = has ? combine(before, below) : below;
        has = true;
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const Item with = has ? combine(before, mine[k]) : mine[k];
        place(outs + threadIdx.x * ITEMS + k, Out(emit(has, before, mine[k], with)));
        before = with;
        has = true;
    }
    __syncthreads();
    Out done[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) done[k] = fetch(outs + k * THREADS + threadIdx.x);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const size_t at = start + k * THREADS + threadIdx.x;
        if (at < n) store(at, done[k]);
    }
}

}
}

#endif
