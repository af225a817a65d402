// Elements chosen by a test, in order, in one pass: for results with room for as many as there may be. Blocks
// tell each other how many they have chosen, as in pycuda-scan.hpp.
#ifndef PYCUDA_SELECT_ONCE_HPP
#define PYCUDA_SELECT_ONCE_HPP

#include "pycuda-scan.hpp"
#include "pycuda-select.hpp"

namespace pycuda {

enum { ONCE_SLOTS = 3 };

struct once_room {
    unsigned bits[ONCE_SLOTS][SELECT_THREADS], at[ONCE_SLOTS][SELECT_THREADS]; // chosen by the warp before
    unsigned short chosen[SELECT_TILE];
};

template <class Test, class Write> struct SelectOnce {
    once_room &room;
    const index_t count;
    index_t *const total;
    const Test test;
    const Write write;
    unsigned bits;

    __device__ __forceinline__ SelectOnce(once_room &room, index_t count, index_t *total, Test test,
                                          Write write)
        : room(room), count(count), total(total), test(test), write(write)
    {
    }

    __device__ __forceinline__ void load(unsigned, unsigned tile) { bits = bits_chosen(tile, count, test); }

    __device__ __forceinline__ index_t sum(int slot)
    {
        const unsigned own = __popc(bits);
        const unsigned up_to = scan_lanes(own, [](unsigned a, unsigned b) { return a + b; });
        room.bits[slot][threadIdx.x] = bits;
        room.at[slot][threadIdx.x] = up_to - own;
        return up_to;
    }

    __device__ __forceinline__ void finish(int slot, unsigned, unsigned tile, bool has, index_t before)
    {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        unsigned kept = room.bits[slot][threadIdx.x], at = room.at[slot][threadIdx.x];
        unsigned short *const chosen = room.chosen + warp * 1024;
        const unsigned all = __shfl_sync(0xffffffffu, at + __popc(kept), 31);
        const index_t first = (index_t)tile * SELECT_TILE + warp * 1024;
        before = has ? before : 0;
        for (; kept; kept &= kept - 1) chosen[at++] = (unsigned short)(lane * 32 + __ffs(kept) - 1);
        __syncwarp();
        for (unsigned k = lane; k < all; k += 32) write(before + k, first + chosen[k]);
        __syncwarp();
        // The last warp of the last tile, though there may be nothing left for it.
        if (threadIdx.x == SELECT_THREADS - 1 && first + 1024 >= count) *total = before + all;
    }
};

// write(k, i) for the k-th i where test(i); *total gets how many there are.
template <class Test, class Write>
__device__ __forceinline__ void write_where(const scan_state &state, index_t count, unsigned tiles,
                                            index_t *total, Test test, Write write)
{
    __shared__ once_room room;
    SelectOnce<Test, Write> work(room, count, total, test, write);
    scan_tiles<SELECT_THREADS, ONCE_SLOTS, index_t>(state, 1, tiles, work,
                                                    [](index_t a, index_t b) { return a + b; });
}

} // namespace pycuda

#endif
