// Selects, in one pass, the elements of an array that differ from the one before, in their order. The result
// has memory for all elements. Blocks exchange their counts as in pycuda-scan.hpp. The elements selected in a
// tile stay in shared memory until their offset is known, while the next tile is loaded.
#ifndef PYCUDA_CHANGES_HPP
#define PYCUDA_CHANGES_HPP

#include "base/pycuda-elements.hpp"
#include "scan/pycuda-scan.hpp"

namespace pycuda {

enum { CHANGES_THREADS = 256, CHANGES_SLOTS = 2 };

// The elements selected in a tile, and the number of those of each warp. A warp has 32 * ROWS consecutive
// elements of a tile, each lane every 32nd of them.
template <class T, int ROWS> struct changes_shared {
    T kept[CHANGES_SLOTS][CHANGES_THREADS * ROWS];
    unsigned counts[CHANGES_SLOTS][CHANGES_THREADS / 32];
};

template <class T, int ROWS, class Same> struct Changes {
    enum { WARP = 32 * ROWS, TILE = CHANGES_THREADS * ROWS };

    changes_shared<T, ROWS> &shared;
    const T *const in;
    const index_t count;
    T *const out;
    index_t *const total;
    const Same same;
    const unsigned lane, warp;
    index_t first; // the warp's first element in the tile that was loaded last
    T value[ROWS]; // the thread's elements of this tile
    T before_first; // in lane 0: the element before `first`

    __device__ __forceinline__ Changes(changes_shared<T, ROWS> &shared, const T *in, index_t count, T *out,
                                       index_t *total, Same same)
        : shared(shared), in(in), count(count), out(out), total(total), same(same), lane(threadIdx.x % 32),
          warp(threadIdx.x / 32), first(0), before_first()
    {
    }

    __device__ __forceinline__ void load(unsigned, unsigned tile)
    {
        first = (index_t)tile * TILE + warp * WARP;
        const T *const mine = in + first + lane;
        if (lane == 0 && first > 0 && first < count) before_first = mine[-1];
        if (first + WARP <= count) {
#pragma unroll
            for (int k = 0; k < ROWS; k++) value[k] = mine[k * 32];
        } else {
#pragma unroll
            for (int k = 0; k < ROWS; k++)
                if (first + lane + k * 32 < count) value[k] = mine[k * 32];
        }
    }

    __device__ __forceinline__ index_t sum(int slot)
    {
        T *const kept = shared.kept[slot] + warp * WARP;
        const unsigned below = (1u << lane) - 1;
        unsigned has = 0;
        T last = before_first; // in lane 0 the element before this row of 32
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            const T above = from_lane_below(value[k], 1);
            const index_t i = first + lane + k * 32;
            const bool changes = i < count && (i == 0 || !same(lane ? above : last, value[k]));
            const unsigned votes = __ballot_sync(0xffffffffu, changes);
            if (changes) kept[has + __popc(votes & below)] = value[k];
            has += __popc(votes);
            last = from_lane(value[k], 31);
        }
        if (lane == 0) shared.counts[slot][warp] = has;
        return has;
    }

    __device__ __forceinline__ void finish(int slot, unsigned, unsigned tile, bool has, index_t before)
    {
        const T *const kept = shared.kept[slot] + warp * WARP;
        const unsigned all = shared.counts[slot][warp];
        before = has ? before : 0;
        for (unsigned k = lane; k < all; k += 32) out[before + k] = kept[k];
        __syncwarp();
        // The last warp of the last tile writes the total, also if it has selected nothing.
        const bool is_last = ((index_t)tile + 1) * TILE >= count;
        if (threadIdx.x == CHANGES_THREADS - 1 && is_last) *total = before + all;
    }
};

// Selects the elements and sets *total to their number. A tile has CHANGES_THREADS * ROWS elements.
template <int ROWS, class T, class Same>
__device__ __forceinline__ void keep_changes(const scan_state &state, const T *in, index_t count,
                                             unsigned tiles, T *out, index_t *total, Same same)
{
    __shared__ changes_shared<T, ROWS> shared;
    Changes<T, ROWS, Same> work(shared, in, count, out, total, same);
    scan_tiles<CHANGES_THREADS, CHANGES_SLOTS, index_t>(state, 1, tiles, work,
                                                        [](index_t a, index_t b) { return a + b; });
}

} // namespace pycuda

#endif
