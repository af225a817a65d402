// Scans of one row by a user's operation (pycuda/_kernels/user/scan.py).
#ifndef PYCUDA_SCAN_USER_HPP
#define PYCUDA_SCAN_USER_HPP

#include "scan/pycuda-scan.hpp"

extern "C++" {
namespace pycuda {

// The work that scan_tiles() calls. Elements are moved in vectors of 16 bytes where possible. make(value, k)
// is item k. What is stored for an item is emit(has, before, item, with): `with` is the total of all items up
// to and including it, `before` that of the items before it, if there are any (`has`).
template <int THREADS, int SLOTS, int CHUNKS, int V, class Item, class Value, class Make, class Combine,
          class Emit>
struct UserScan {
    typedef scan_shared<THREADS, SLOTS, CHUNKS, V, Item, Item> Shared;
    enum { PACKED = V * sizeof(Value) == 16 };
    union Vector { // of values, which may have constructors
        uint4 whole;
        parcel<Value> values[V];
        __device__ __forceinline__ Vector() {}
    };

    Shared &shared;
    const Value *const in;
    const long long in_step;
    Value *const out;
    const long long out_step;
    const size_t n;
    const Make make;
    const Combine combine;
    const Emit emit;
    Item mine[CHUNKS][V];

    __device__ __forceinline__ UserScan(Shared &shared, const Value *in, long long in_step, Value *out,
                                        long long out_step, size_t n, Make make, Combine combine, Emit emit)
        : shared(shared), in(in), in_step(in_step), out(out), out_step(out_step), n(n), make(make),
          combine(combine), emit(emit)
    {
    }

    static __device__ __forceinline__ Item read(const Item &item) { return item; }

    // The thread's first element of a tile.
    static __device__ __forceinline__ size_t first(unsigned tile)
    {
        return (size_t)tile * Shared::TILE + threadIdx.x / 32 * Shared::OF_WARP + threadIdx.x % 32 * V;
    }
    // Whether the warp's part of a tile is moved in vectors. at: the thread's first element.
    __device__ __forceinline__ bool packed(const Value *where, long long step, size_t at) const
    {
        return PACKED && step == 1 && (size_t)where % 16 == 0 &&
               at - threadIdx.x % 32 * V + Shared::OF_WARP <= n;
    }

    __device__ __forceinline__ void load(unsigned, unsigned tile)
    {
        const size_t at = first(tile);
        if (packed(in, in_step, at)) {
            Vector moved[CHUNKS];
#pragma unroll
            for (int c = 0; c < CHUNKS; c++) moved[c].whole = *(const uint4 *)(in + at + c * (32 * V));
#pragma unroll
            for (int c = 0; c < CHUNKS; c++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    mine[c][v] = make(moved[c].values[v].value(), at + c * (32 * V) + v);
        } else {
#pragma unroll
            for (int c = 0; c < CHUNKS; c++)
#pragma unroll
                for (int v = 0; v < V; v++) {
                    const size_t k = min(at + c * (32 * V) + v, n - 1);
                    mine[c][v] = make(in[(long long)k * in_step], k);
                }
        }
    }

    __device__ __forceinline__ Item sum(int slot)
    {
        return scan_sum<Item>(shared, slot, mine, read, combine);
    }

    __device__ __forceinline__ void finish(int slot, unsigned, unsigned tile, bool has, const Item &before)
    {
        const size_t at = first(tile);
        const bool together = packed(out, out_step, at);
        Vector moved;
        scan_finish<CHUNKS, V>(
            shared, slot, has, before, read, combine,
            [&](int c, int v, bool has, const Item &before, const Item &item, const Item &with) {
                const size_t k = at + c * (32 * V) + v;
                const Value value = emit(has, before, item, with);
                if (together)
                    moved.values[v] = parcel<Value>(value);
                else if (k < n)
                    out[(long long)k * out_step] = value;
            },
            [&](int c) {
                if (together) *(uint4 *)(out + at + c * (32 * V)) = moved.whole;
            });
    }
};

template <int THREADS, int SLOTS, int CHUNKS, int V, class Item, class Value, class Make, class Combine,
          class Emit>
__device__ __forceinline__ void scan(const Value *in, long long in_step, Value *out, long long out_step,
                                     size_t n, unsigned tiles, const scan_state &state, Make make,
                                     Combine combine, Emit emit)
{
    typedef UserScan<THREADS, SLOTS, CHUNKS, V, Item, Value, Make, Combine, Emit> Work;
    __shared__ typename Work::Shared shared;
    Work work(shared, in, in_step, out, out_step, n, make, combine, emit);
    scan_tiles<THREADS, SLOTS, Item>(state, 1, tiles, work, combine);
}

}
}

#endif
