// Prefix sums of any associative operation, in one pass over memory.
//
// A row is cut into tiles. A block scans a tile. To finish the tile it needs the total of all tiles before
// it. Usual single-pass scans combine what the previous tiles have published by then, in an order that
// depends on timing, so that sums of floats differ from run to run. Here every published value is a fixed
// expression, whichever block computes it:
//
//     A(t)  the total of tile t, computed from its elements alone
//     G(g)  the total of group g of 32 tiles, a warp's scan of their A, which is always the same tree
//     S(s)  the total of 32 groups, a warp's scan of their G
//     P(s)  the total of all groups up to those of S(s), P(s-1) . S(s), from left to right
//
// The total before tile t is P(s-1) . (scan of the G before its group) . (scan of the A before it in its
// group). The block that publishes the last A of a group also publishes its G, and the block that publishes
// the last G of 32 groups also publishes their P.
//
// Blocks are persistent. While a block loads a tile, it finishes one that it loaded some tiles ago. By then
// the values that this one needs have long been published, so that blocks hardly wait for each other and
// loads never stop. In between a tile is kept in shared memory, in one of SLOTS places.
//
// Blocks take tiles in order, by an atomic counter. So every tile that a block waits for is done, or a
// running block has it and publishes its A before it waits for a later one.
//
// An entry is ready when it has the number of this launch, so that the memory is cleared once, not before
// each launch.
#ifndef PYCUDA_SCAN_HPP
#define PYCUDA_SCAN_HPP

#include "base/pycuda-exchange.hpp"

extern "C++" {
namespace pycuda {

// The number of tiles of a group, and of groups whose total is an S.
enum { SCAN_GROUP = 32 };

// The memory by which blocks exchange values. pycuda/_kernels/plans/scratch.py allocates it.
struct scan_state {
    unsigned *counter;           // the next tile to take; 0 before and after a launch
    unsigned long long *counts;  // of arrivals, with the number of the launch in the upper half
    unsigned long long *entries; // parts of values, with the number of the launch in the lower half
    void *values;                // values of more than 16 bytes
    unsigned launch;             // the number of this launch
};

// Values of up to 16 bytes are stored in entries, 32 bits in each, so that no fence is needed. Larger ones
// are stored in scan_state::values, and have one entry each, which says that the value is there.
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

    // Whether entry `at` is published; if so, loads it into `value`.
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
        if (there) memcpy(value.words, bits, sizeof(T));
        return there;
    }
};

template <class T> struct mailbox<T, false> {
    enum { ENTRIES = 1 };
    static __device__ __forceinline__ void post(const scan_state &state, size_t at, const T &value)
    {
        store_volatile((T *)state.values + at, value);
        __threadfence();
        ((volatile unsigned long long *)state.entries)[at] = state.launch;
    }

    static __device__ __forceinline__ bool look(const scan_state &state, size_t at, parcel<T> &value)
    {
        if ((unsigned)((volatile unsigned long long *)state.entries)[at] != state.launch) return false;
        __threadfence();
        value = parcel<T>(load_volatile((const T *)state.values + at));
        return true;
    }
};

__device__ __forceinline__ void scan_pause() { __nanosleep(20); }

// The combination of the values of all lanes up to this one. In each step the first `distance` lanes keep
// theirs.
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

// ---- the exchange between the tiles of one row; each function is called by one warp

template <class T> struct scan_row {
    typedef mailbox<T> box;
    scan_state state; // the part of it that belongs to the row
    unsigned tiles, groups, supers;

    // For row number `row` of rows of `number` tiles. partials_of_tiles() of pycuda/_kernels/plans/scratch.py
    // computes the same.
    __device__ __forceinline__ scan_row(const scan_state &all, size_t row, size_t number)
        : state(all), tiles((unsigned)number), groups((tiles + SCAN_GROUP - 1) / SCAN_GROUP),
          supers((groups + SCAN_GROUP - 1) / SCAN_GROUP)
    {
        const size_t first = row * (tiles + groups + supers);
        state.entries += first * box::ENTRIES;
        state.values = (T *)state.values + first;
        state.counts += row * (groups + supers);
    }

    // Counts an arrival at counter `at`. Returns whether it is the last of 32.
    __device__ __forceinline__ bool arrive(unsigned at) const
    {
        unsigned long long before = 0;
        if (threadIdx.x % 32 == 0) {
            // A count of an earlier launch is smaller than this launch's 0, and so is reset.
            atomicMax(state.counts + at, (unsigned long long)state.launch << 32);
            before = atomicAdd(state.counts + at, 1ull);
        }
        return __shfl_sync(0xffffffffu, (unsigned)before, 0) == SCAN_GROUP - 1;
    }

    // Waits until entry `at` is published, and loads it into `value`.
    __device__ __forceinline__ void wait(size_t at, parcel<T> &value) const
    {
        while (!box::look(state, at, value)) scan_pause();
    }

    // Waits for 32 neighboring entries and returns the lane's element of their scan. any: any value, as T may
    // not have a default constructor.
    template <class Combine>
    __device__ __forceinline__ T scan_from(size_t first, const T &any, Combine combine) const
    {
        parcel<T> value(any);
        wait(first + threadIdx.x % 32, value);
        __syncwarp();
        return scan_lanes(value.value(), combine);
    }

    // Publishes A(tile), `own` in every lane, and the G and P that it completes, except those that no later
    // tile needs.
    template <class Combine>
    __device__ __forceinline__ void publish(unsigned tile, const T &own, Combine combine)
    {
        const unsigned lane = threadIdx.x % 32, group = tile / SCAN_GROUP, super = group / SCAN_GROUP;
        if (tile + 1 == tiles) return;
        if (lane == 0) box::post(state, tile, own);
        if (group + 1 == groups || !arrive(group)) return;
        const T of_group = scan_from((size_t)group * SCAN_GROUP, own, combine);
        if (lane == 31) box::post(state, (size_t)tiles + group, of_group);
        if (super + 1 == supers || !arrive(groups + super)) return;
        T all = scan_from((size_t)tiles + (size_t)super * SCAN_GROUP, own, combine);
        if (lane != 31) return;
        const size_t at = (size_t)tiles + groups + super;
        if (super) {
            parcel<T> before(own);
            wait(at - 1, before);
            all = combine(before.value(), all);
        }
        box::post(state, at, all);
    }

    // Waits for the total of all tiles before this one and returns it. For tile 0, which has none before it,
    // the result is `any`.
    template <class Combine>
    __device__ __forceinline__ T before(unsigned tile, const T &any, Combine combine) const
    {
        const unsigned lane = threadIdx.x % 32, group = tile / SCAN_GROUP, super = group / SCAN_GROUP;
        const unsigned place = tile % SCAN_GROUP, place_of_group = group % SCAN_GROUP;
        const size_t of_group = (size_t)tiles + super * SCAN_GROUP + lane;
        // What the lane needs: an A of this group, a G of the groups before it, and, in lane 0, the last P.
        parcel<T> a(any), g(any), p(any);
        bool has_a = lane >= place, has_g = lane >= place_of_group, has_p = lane || !super;
        for (;;) {
            if (!has_a) has_a = box::look(state, (size_t)group * SCAN_GROUP + lane, a);
            if (!has_g) has_g = box::look(state, of_group, g);
            if (!has_p) has_p = box::look(state, (size_t)tiles + groups + super - 1, p);
            if (__all_sync(0xffffffffu, has_a && has_g && has_p)) break;
            scan_pause();
        }
        T sum = from_lane(p.value(), 0);
        if (place_of_group) {
            const T some = from_lane(scan_lanes(g.value(), combine), place_of_group - 1);
            sum = super ? combine(sum, some) : some;
        }
        if (place) {
            const T some = from_lane(scan_lanes(a.value(), combine), place - 1);
            sum = group ? combine(sum, some) : some;
        }
        return sum;
    }
};

// ---- blocks that take tiles until there are none left

// For every tile of every row a block calls, in this order,
//     work.load(row, tile)                           loads it into registers
//     work.sum(slot)                                 stores it there; returns the warp's total, in lane 31
//     work.finish(slot, row, tile, has, before)      `before` is the total before the warp's part, if `has`
// and it loads other tiles between sum() and finish(). The first tiles of all rows come before the second
// ones: ticket t stands for tile t / rows of row t % rows.
template <int THREADS, int SLOTS, class Item, class Work, class Combine>
__device__ __forceinline__ void scan_tiles(const scan_state &state, unsigned rows, unsigned tiles, Work &work,
                                           Combine combine)
{
    enum { WARPS = THREADS / 32 };
    const unsigned none = 0xffffffffu, warp = threadIdx.x / 32, lane = threadIdx.x % 32, all = rows * tiles;
    PYCUDA_SHARED(Item, of_warps, SLOTS * WARPS);
    PYCUDA_SHARED(Item, of_tiles, 2);
    __shared__ unsigned tickets[2];
    unsigned held[SLOTS]; // the tickets of tiles in shared memory, first that of the slot that is used next
#pragma unroll
    for (int k = 0; k < SLOTS; k++) held[k] = none;
    if (threadIdx.x == 0) tickets[1] = atomicAdd(state.counter, 1u);
    __syncthreads();
    unsigned ticket = tickets[1], slot = 0, turn = 0;
    for (;;) {
        const bool more = ticket < all;
        const unsigned old = held[0];
        if (!more) {
            bool some = false;
#pragma unroll
            for (int k = 0; k < SLOTS; k++) some = some || held[k] != none;
            if (!some) break;
        }
        unsigned next = ticket;
        if (more) {
            if (threadIdx.x == 0) next = atomicAdd(state.counter, 1u);
            const unsigned tile = rows == 1 ? ticket : ticket / rows;
            work.load(ticket - tile * rows, tile);
        }
        Item *const sums = of_warps + slot * WARPS;
        if (old != none) {
            const unsigned tile = rows == 1 ? old : old / rows, row = old - tile * rows;
            if (warp == 0) {
                const Item found = scan_row<Item>(state, row, tiles).before(tile, load_shared(sums), combine);
                if (lane == 0) store_shared(of_tiles + turn, found);
            }
            __syncthreads();
            bool has = tile > 0;
            Item before = load_shared(of_tiles + turn);
#pragma unroll 1
            for (unsigned k = 0; k < warp; k++) {
                const Item sum = load_shared(sums + k);
                before = has ? combine(before, sum) : sum;
                has = true;
            }
            work.finish(slot, row, tile, has, before);
        }
        if (more) {
            const Item sum = work.sum(slot);
            __syncthreads();
            if (lane == 31) store_shared(sums + warp, sum);
            if (threadIdx.x == 0) tickets[turn] = next;
            __syncthreads();
            if (warp == 0) {
                Item whole = load_shared(sums);
#pragma unroll 1
                for (int k = 1; k < WARPS; k++) whole = combine(whole, load_shared(sums + k));
                const unsigned tile = rows == 1 ? ticket : ticket / rows;
                scan_row<Item>(state, ticket - tile * rows, tiles).publish(tile, whole, combine);
            }
        }
#pragma unroll
        for (int k = 0; k + 1 < SLOTS; k++) held[k] = held[k + 1];
        held[SLOTS - 1] = more ? ticket : none;
        if (more) ticket = tickets[turn];
        slot = slot + 1 == SLOTS ? 0 : slot + 1;
        turn ^= 1;
    }
    // The last block that finds no tile left resets the counter, as no block will take another ticket.
    if (threadIdx.x == 0 && ticket == all + gridDim.x - 1) *state.counter = 0;
}

// The same as scan_tiles(), except that one block scans a whole row, so that blocks exchange nothing. Only
// slot 0 is used.
template <int THREADS, class Item, class Work, class Combine>
__device__ __forceinline__ void scan_whole_rows(unsigned rows, unsigned tiles, Work &work, Combine combine)
{
    enum { WARPS = THREADS / 32 };
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    PYCUDA_SHARED(Item, of_warps, 2 * WARPS);
    parcel<Item> before_tile;
    unsigned row = blockIdx.x, tile = 0, old_row = 0, old_tile = 0, turn = 0;
    bool held = false;
    for (;;) {
        const bool more = row < rows;
        if (more) work.load(row, tile);
        if (held) {
            const Item *const sums = of_warps + (turn ^ 1) * WARPS;
            bool has = old_tile > 0;
            const Item all = has ? before_tile.value() : load_shared(sums);
            Item before = all, whole = load_shared(sums);
#pragma unroll
            for (unsigned k = 0; k < WARPS; k++) {
                const Item sum = load_shared(sums + k);
                if (k) whole = combine(whole, sum);
                if (k >= warp) continue;
                before = has ? combine(before, sum) : sum;
                has = true;
            }
            work.finish(0, old_row, old_tile, has, before);
            before_tile = parcel<Item>(old_tile ? combine(all, whole) : whole);
        }
        if (!more) break;
        const Item sum = work.sum(0);
        if (lane == 31) store_shared(of_warps + turn * WARPS + warp, sum);
        __syncthreads();
        held = true;
        old_row = row;
        old_tile = tile++;
        if (tile == tiles) {
            tile = 0;
            row += gridDim.x;
        }
        turn ^= 1;
    }
}

// ---- a tile of consecutive elements: a warp has CHUNKS chunks, each of its threads a vector of V in each

template <int THREADS, int SLOTS, int CHUNKS, int V, class Raw, class Item> struct scan_shared {
    enum { TILE = THREADS * CHUNKS * V, OF_WARP = 32 * CHUNKS * V };
    struct __align__(sizeof(Raw) * V % 16 ? 4 : 16) Vector { parcel<Raw> items[V]; };
    Vector raw[SLOTS][CHUNKS][THREADS];
    parcel<Item> below[SLOTS][CHUNKS][THREADS]; // the warp's total before each vector but its first
};

// Moves a tile to shared memory and returns the warp's total, in every lane. read(raw) converts a loaded
// element to an item. Beyond the end of the row the tile has copies of the row's last element; their
// results are not used.
template <class Item, class Shared, int CHUNKS, int V, class Raw, class Read, class Combine>
__device__ __forceinline__ Item scan_sum(Shared &shared, int slot, const Raw (&mine)[CHUNKS][V], Read read,
                                         Combine combine)
{
    const int lane = threadIdx.x % 32;
    parcel<Item> carry;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        Item sum = read(mine[c][0]);
        typename Shared::Vector kept;
        kept.items[0] = parcel<Raw>(mine[c][0]);
#pragma unroll
        for (int v = 1; v < V; v++) {
            sum = combine(sum, read(mine[c][v]));
            kept.items[v] = parcel<Raw>(mine[c][v]);
        }
        shared.raw[slot][c][threadIdx.x] = kept;
        const Item up_to = scan_lanes(sum, combine), left = from_lane_below(up_to, 1);
        const Item whole = from_lane(up_to, 31);
        if (c == 0) {
            shared.below[slot][c][threadIdx.x] = parcel<Item>(left);
            carry = parcel<Item>(whole);
        } else {
            const Item before = carry.value();
            shared.below[slot][c][threadIdx.x] =
                parcel<Item>(choose(lane > 0, combine(before, left), before));
            carry = parcel<Item>(combine(before, whole));
        }
    }
    return carry.value();
}

// Calls give(c, v, has, before, item, with) for each item: `before` is the total of all items before it, if
// there are any (`has`), `with` the total including it. After vector c it calls done(c).
template <int CHUNKS, int V, class Shared, class Item, class Read, class Combine, class Give, class Done>
__device__ __forceinline__ void scan_finish(Shared &shared, int slot, bool has, const Item &before, Read read,
                                            Combine combine, Give give, Done done)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        const bool first = c == 0 && lane == 0;
        const Item below = shared.below[slot][c][threadIdx.x].value();
        const typename Shared::Vector kept = shared.raw[slot][c][threadIdx.x];
        Item sum = choose(first, before, choose(has, combine(before, below), below));
#pragma unroll
        for (int v = 0; v < V; v++) {
            const Item item = read(kept.items[v].value());
            const bool some = has || !first || v > 0;
            const Item with = c || v ? combine(sum, item) : choose(some, combine(sum, item), item);
            give(c, v, some, sum, item, with);
            sum = with;
        }
        done(c);
    }
}

}
}

#endif
