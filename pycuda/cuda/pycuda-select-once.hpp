// Elements chosen by a test, in order, in one pass: for results with room for as many as there may be. Blocks
// tell each other how many they have chosen, as in pycuda-scan.hpp.
#ifndef PYCUDA_SELECT_ONCE_HPP
#define PYCUDA_SELECT_ONCE_HPP

#include "pycuda-scan.hpp"
#include "pycuda-select.hpp"

namespace pycuda {

// write(k, i) for the k-th i where test(i); *total gets how many there are. Grid: a block a tile.
template <class Test, class Write>
__device__ __forceinline__ void write_where(const scan_state &state, index_t count, index_t *total, Test test,
                                            Write write)
{
    __shared__ index_t before;
    const size_t tile = scan_take_tile(state), tiles = gridDim.x;
    const unsigned bits = bits_chosen((index_t)tile, count, test);
    unsigned all;
    const unsigned at = sum_before(__popc(bits), all);
    if (threadIdx.x < 32) {
        const index_t own = all;
        if (threadIdx.x == 0) scan_tell(state, tile, tiles, own);
        const index_t sum =
            scan_before(state, tile, tiles, own, [](index_t a, index_t b) { return a + b; });
        if (threadIdx.x == 0) before = tile ? sum : 0;
        if (threadIdx.x == 0 && tile == tiles - 1) *total = before + own;
    }
    __syncthreads();
    write_bits(bits, at, all, (index_t)tile, before, write);
}

} // namespace pycuda

#endif
