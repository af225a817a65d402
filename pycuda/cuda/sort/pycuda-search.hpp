// Places of values in a sorted table.
//
// A block has keys of the table in shared memory as a complete binary tree, level by level, so that keys of
// one level are in different banks. If the table is longer, the tree has every `step`-th key, and the search
// goes on in the table, between two such keys.
#ifndef PYCUDA_SEARCH_HPP
#define PYCUDA_SEARCH_HPP

#include "sort/pycuda-order.hpp"

namespace pycuda {

// SEARCHED: the values that a thread searches at a time. NEIGHBORS: how many of them are neighbors in memory,
// so that the results of a warp, of 8 bytes each, fill whole sectors.
enum { SEARCH_THREADS = 512, SEARCHED = 4, NEIGHBORS = 2 };

// The sorter, if it is not null, has the places of the keys in sorted order. There is at least one key.
template <class Order> struct SearchTable {
    const typename Order::Raw *keys;
    const index_t *sorter;
    index_t length;

    // Key i in sorted order; beyond the end the last key.
    __device__ __forceinline__ typename Order::Bits at(index_t i) const
    {
        i = min(i, length - 1);
        return Order::bits(keys[sorter ? sorter[i] : i]);
    }
};

struct SearchPlan {
    index_t count;        // values
    int levels, step_log; // of the tree; (1 << levels) * step is more than the table's length
};

// Fills the tree. Node 1 is the root; below node n are 2 * n and 2 * n + 1.
template <class Order>
__device__ __forceinline__ void fill_tree(typename Order::Bits *tree, const SearchTable<Order> &table,
                                          const SearchPlan &plan)
{
    for (unsigned node = 1 + threadIdx.x; node < 1u << plan.levels; node += SEARCH_THREADS) {
        const int level = 31 - __clz(node);
        const index_t last = (index_t)(2 * (node - (1u << level)) + 1) << (plan.levels - level - 1);
        tree[node] = table.at((last << plan.step_log) - 1);
    }
    __syncthreads();
}

// Whether the place of the value is after this key; for an equal key only with RIGHT.
template <bool RIGHT, class Bits> __device__ __forceinline__ bool goes_on(const Bits &key, const Bits &value)
{
    return RIGHT ? !(value < key) : key < value;
}

// Finds how many keys are before each value; with RIGHT, how many are before it or equal to it. Without
// RIGHT, `found` becomes whether a key equals the value.
template <bool RIGHT, class Order>
__device__ __forceinline__ void find_places(const typename Order::Bits (&values)[SEARCHED],
                                            index_t (&places)[SEARCHED], bool (&found)[SEARCHED],
                                            const typename Order::Bits *tree,
                                            const SearchTable<Order> &table, const SearchPlan &plan)
{
    unsigned node[SEARCHED];
#pragma unroll
    for (int k = 0; k < SEARCHED; k++) node[k] = 1, found[k] = false;
    for (int level = 0; level < plan.levels; level++)
#pragma unroll
        for (int k = 0; k < SEARCHED; k++) {
            const auto key = tree[node[k]];
            node[k] = 2 * node[k] + goes_on<RIGHT>(key, values[k]);
            found[k] |= key == values[k];
        }
#pragma unroll
    for (int k = 0; k < SEARCHED; k++)
        places[k] = (index_t)(node[k] - (1u << plan.levels)) << plan.step_log;
    for (index_t half = (index_t(1) << plan.step_log) / 2; half; half /= 2)
#pragma unroll
        for (int k = 0; k < SEARCHED; k++) {
            const auto key = table.at(places[k] + half - 1);
            places[k] += goes_on<RIGHT>(key, values[k]) ? half : 0;
            found[k] |= key == values[k];
        }
#pragma unroll
    for (int k = 0; k < SEARCHED; k++) places[k] = min(places[k], table.length);
}

// out[i] = result(value, place, found) for each value. ALIGNED: NEIGHBORS values can be loaded together.
template <class Order, bool RIGHT, bool ALIGNED, class Out, class Result>
__device__ __forceinline__ void search_values(const SearchTable<Order> &table,
                                              const typename Order::Raw *values, Out *out,
                                              const SearchPlan &plan, Result result)
{
    enum { GROUP = SEARCH_THREADS * NEIGHBORS, STEP = SEARCH_THREADS * SEARCHED };
    extern __shared__ ulonglong2 tree_memory[];
    auto *const tree = reinterpret_cast<typename Order::Bits *>(tree_memory);
    fill_tree(tree, table, plan);
    for (index_t begin = blockIdx.x * (index_t)STEP; begin < plan.count; begin += gridDim.x * (index_t)STEP) {
        const index_t mine = begin + threadIdx.x * NEIGHBORS;
        const bool whole = begin + STEP <= plan.count;
        alignas(16) typename Order::Raw raw[SEARCHED];
#pragma unroll
        for (int k = 0; k < SEARCHED; k += NEIGHBORS) {
            const index_t i = mine + k / NEIGHBORS * GROUP;
            if (ALIGNED && whole)
                load_packed<NEIGHBORS>(raw + k, reinterpret_cast<const char *>(values + i));
            else
#pragma unroll
                for (int j = 0; j < NEIGHBORS; j++) raw[k + j] = values[min(i + j, plan.count - 1)];
        }
        typename Order::Bits bits[SEARCHED];
        index_t places[SEARCHED];
        bool found[SEARCHED];
#pragma unroll
        for (int k = 0; k < SEARCHED; k++) bits[k] = Order::bits(raw[k]);
        find_places<RIGHT>(bits, places, found, tree, table, plan);
        alignas(16) Out results[SEARCHED];
#pragma unroll
        for (int k = 0; k < SEARCHED; k++) results[k] = result(bits[k], places[k], found[k]);
#pragma unroll
        for (int k = 0; k < SEARCHED; k += NEIGHBORS) {
            const index_t i = mine + k / NEIGHBORS * GROUP;
            if (whole)
                store_packed<NEIGHBORS>(reinterpret_cast<char *>(out + i), results + k);
            else
#pragma unroll
                for (int j = 0; j < NEIGHBORS; j++)
                    if (i + j < plan.count) out[i + j] = results[k + j];
        }
    }
}

} // namespace pycuda

#endif
