// Scans of values that a user's expression computes (pycuda/_kernels/user/generic_scan.py).
#ifndef PYCUDA_SCAN_GENERIC_HPP
#define PYCUDA_SCAN_GENERIC_HPP

#include "scan/pycuda-scan.hpp"

extern "C++" {
namespace pycuda {

// The work that scan_tiles() calls, for items 0 to n-1. make(k) is item k. For each item there is one call
// give(k, has, before, item, with): `with` is the total of all items up to and including it, `before` that of
// the items before it, if there are any (`has`).
template <int THREADS, int SLOTS, int CHUNKS, class Item, class Make, class Combine, class Give>
struct GenericScan {
    typedef scan_shared<THREADS, SLOTS, CHUNKS, 1, Item, Item> Shared;

    Shared &shared;
    const size_t n;
    const Make make;
    const Combine combine;
    const Give give;
    Item mine[CHUNKS][1];

    __device__ __forceinline__ GenericScan(Shared &shared, size_t n, Make make, Combine combine, Give give)
        : shared(shared), n(n), make(make), combine(combine), give(give)
    {
    }

    static __device__ __forceinline__ Item read(const Item &item) { return item; }

    // The thread's first item of a tile.
    static __device__ __forceinline__ size_t first(unsigned tile)
    {
        return (size_t)tile * Shared::TILE + threadIdx.x / 32 * Shared::OF_WARP + threadIdx.x % 32;
    }

    __device__ __forceinline__ void load(unsigned, unsigned tile)
    {
        const size_t at = first(tile);
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) mine[c][0] = make(min(at + c * 32, n - 1));
    }

    __device__ __forceinline__ Item sum(int slot)
    {
        return scan_sum<Item>(shared, slot, mine, read, combine);
    }

    __device__ __forceinline__ void finish(int slot, unsigned, unsigned tile, bool has, const Item &before)
    {
        const size_t at = first(tile);
        scan_finish<CHUNKS, 1>(
            shared, slot, has, before, read, combine,
            [&](int c, int, bool has, const Item &before, const Item &item, const Item &with) {
                const size_t k = at + c * 32;
                if (k < n) give(k, has, before, item, with);
            },
            [](int) {});
    }
};

template <int THREADS, int SLOTS, int CHUNKS, class Item, class Make, class Combine, class Give>
__device__ __forceinline__ void generic_scan(size_t n, unsigned tiles, const scan_state &state, Make make,
                                             Combine combine, Give give)
{
    typedef GenericScan<THREADS, SLOTS, CHUNKS, Item, Make, Combine, Give> Work;
    __shared__ typename Work::Shared shared;
    Work work(shared, n, make, combine, give);
    scan_tiles<THREADS, SLOTS, Item>(state, 1, tiles, work, combine);
}

}
}

#endif
