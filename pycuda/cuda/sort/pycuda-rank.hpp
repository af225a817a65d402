// Elements of given ranks in long rows, as sorting would bring them there (radix select), and rows that are
// partitioned by such an element.
//
// A pass counts how often a digit has each value, the highest digit first, in all keys whose earlier digits
// are those of an element that is sought. The last block to finish finds the element's digit from the counts.
// The second pass also copies the keys whose first digit is right, and later passes read only these. The
// counts are sums of integers, so the result does not depend on timing.
#ifndef PYCUDA_RANK_HPP
#define PYCUDA_RANK_HPP

#include "sort/pycuda-radix-sort.hpp"

namespace pycuda {

enum { RANK_THREADS = 512, RANK_BITS = 11, RANK_VALUES = 1 << RANK_BITS, MAX_RANKS = 4, RANK_LOADS = 4 };
enum { RANK_SHARED = MAX_RANKS * RANK_VALUES }; // counters of a block

// What passes have found out about a row. All members are 0 before the first pass.
template <class Bits> struct RankState {
    Bits found[MAX_RANKS]; // of each element that is sought: the digits found so far, other digits 0
    unsigned before[MAX_RANKS]; // how many keys are less than all keys with these digits
    unsigned equal[MAX_RANKS];  // how many keys have these digits
    unsigned rank[MAX_RANKS];   // the element's rank among these
    unsigned copied, blocks, nan; // keys copied, blocks that have finished, whether a key is NaN
};

struct RankPlan {
    unsigned length, ranks[MAX_RANKS];
    int sought, shift, bits; // the digit is `bits` wide
};

enum RankPass { FIRST_DIGIT, SECOND_DIGIT, LATER_DIGIT };

template <class Bits> __device__ __forceinline__ unsigned digit_at(Bits key, const RankPlan &plan)
{
    return (unsigned)(key >> plan.shift) & ((1u << plan.bits) - 1);
}

// The counters of a block. The first digit is counted once for all ranks; MAX_RANKS counters next to each
// other share this count.
template <class Order, RankPass PASS> struct RankCounter {
    typedef typename Order::Bits Bits;
    unsigned *counters;
    const RankPlan &plan;
    Bits found[MAX_RANKS];

    // Counts the key's digit for each sought element with whose known digits the key agrees. Returns whether
    // there is one.
    __device__ __forceinline__ bool count(Bits key)
    {
        if (PASS == FIRST_DIGIT) {
            atomicAdd(counters + digit_at(key, plan) * MAX_RANKS + threadIdx.x % MAX_RANKS, 1u);
            return true;
        }
        bool agrees = false;
#pragma unroll
        for (int k = 0; k < MAX_RANKS; k++)
            if (k < plan.sought && key >> (plan.shift + plan.bits) == found[k] >> (plan.shift + plan.bits)) {
                agrees = true;
                atomicAdd(counters + k * RANK_VALUES + digit_at(key, plan), 1u);
            }
        return agrees;
    }
};

// Appends the marked ones of a thread's keys to the copies: keys[k] where bit k of `marks` is set. All
// threads of the block must call this.
template <class Raw, int ITEMS>
__device__ __forceinline__ void copy_marked(const Raw (&keys)[ITEMS], unsigned marks, Raw *copies,
                                            unsigned *copied)
{
    __shared__ unsigned warps[RANK_THREADS / 32], start;
    const unsigned own = __popc(marks), sum = inclusive_sum_of_lanes(own), warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 31) warps[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned total = 0;
        for (int k = 0; k < RANK_THREADS / 32; k++) {
            const unsigned here = warps[k];
            warps[k] = total;
            total += here;
        }
        start = total ? atomicAdd(copied, total) : 0;
    }
    __syncthreads();
    unsigned at = start + warps[warp] + sum - own;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (marks >> k & 1) copies[at++] = keys[k];
}

// Finds the next digit of sought element k, and its rank among the keys that have this digit, too.
template <class Bits>
__device__ __forceinline__ void find_digit(RankState<Bits> &state, const unsigned *counts, int k,
                                           const RankPlan &plan)
{
    enum { OWN = RANK_VALUES / RANK_THREADS };
    __shared__ unsigned warps[RANK_THREADS / 32];
    unsigned own[OWN], total = 0;
#pragma unroll
    for (int v = 0; v < OWN; v++) total += own[v] = __ldcg(counts + threadIdx.x * OWN + v);
    const unsigned sum = inclusive_sum_of_lanes(total), warp = threadIdx.x / 32, rank = state.rank[k];
    if (threadIdx.x % 32 == 31) warps[warp] = sum;
    __syncthreads();
    unsigned before = sum - total;
    for (unsigned other = 0; other < warp; other++) before += warps[other];
#pragma unroll
    for (int v = 0; v < OWN; v++) {
        if (before <= rank && rank < before + own[v]) {
            state.found[k] |= Bits(Bits(threadIdx.x * OWN + v) << plan.shift);
            state.before[k] += before;
            state.equal[k] = own[v];
            state.rank[k] = rank - before;
        }
        before += own[v];
    }
    __syncthreads();
}

// One pass: finds one more digit of each sought element. The grid has blocks for a row along x, rows along y.
// copies: memory of the size of the rows, to which the second pass copies the keys that later passes look at.
// V keys are loaded together. counts: for each row and rank the counts of a digit, 0 before and after. out:
// after the last pass, for each row, the elements found and then NaN, if the row has one.
template <class Order, RankPass PASS, int V>
__device__ __forceinline__ void rank_pass(const typename Order::Raw *keys, typename Order::Raw *copies,
                                          RankState<typename Order::Bits> *states, unsigned *counts,
                                          typename Order::Raw *out, const RankPlan &plan)
{
    typedef typename Order::Raw Raw;
    typedef typename Order::Bits Bits;
    enum { ITEMS = RANK_LOADS * V, STEP = RANK_THREADS * V };
    __shared__ unsigned counters[RANK_SHARED];
    __shared__ bool is_last;
    const unsigned thread = threadIdx.x;
    RankState<Bits> &state = states[blockIdx.y];
    for (unsigned k = thread; k < RANK_SHARED; k += RANK_THREADS) counters[k] = 0;
    RankCounter<Order, PASS> counter = {counters, plan};
#pragma unroll
    for (int k = 0; k < MAX_RANKS; k++) counter.found[k] = state.found[k];
    __syncthreads();
    keys += blockIdx.y * (index_t)plan.length;
    copies += blockIdx.y * (index_t)plan.length;
    counts += blockIdx.y * (index_t)RANK_SHARED;
    const index_t length = PASS == LATER_DIGIT ? state.copied : plan.length;
    bool nan = false;
    for (index_t begin = blockIdx.x * (index_t)(RANK_THREADS * ITEMS); begin < length;
         begin += gridDim.x * (index_t)(RANK_THREADS * ITEMS)) {
        alignas(16) Raw loaded[ITEMS];
        unsigned marks = 0;
        const index_t mine = begin + thread * V;
        const bool whole = begin + RANK_THREADS * ITEMS <= length;
#pragma unroll
        for (int k = 0; k < RANK_LOADS; k++)
            if (whole)
                load_packed<V>(loaded + k * V, reinterpret_cast<const char *>(keys + mine + k * STEP));
            else
#pragma unroll
                for (int v = 0; v < V; v++)
                    if (mine + k * STEP + v < length) loaded[k * V + v] = keys[mine + k * STEP + v];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (!whole && mine + k / V * STEP + k % V >= length) continue;
            const Bits key = Order::total(loaded[k]);
            if (PASS == FIRST_DIGIT) nan |= Order::is_nan(Order::bits(loaded[k]));
            if (counter.count(key) && PASS == SECOND_DIGIT) marks |= 1u << k;
        }
        if (PASS == SECOND_DIGIT && plan.shift) copy_marked(loaded, marks, copies, &state.copied);
    }
    if (nan) state.nan = 1;
    __syncthreads();
    const int counted = PASS == FIRST_DIGIT ? 1 : plan.sought;
    for (unsigned k = thread; k < counted * RANK_VALUES; k += RANK_THREADS) {
        enum { COPIES = PASS == FIRST_DIGIT ? MAX_RANKS : 1 };
        unsigned sum = 0;
#pragma unroll
        for (int copy = 0; copy < COPIES; copy++) sum += counters[k * COPIES + copy];
        if (sum) atomicAdd(counts + k, sum);
    }
    __threadfence();
    __syncthreads();
    if (thread == 0) is_last = atomicAdd(&state.blocks, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    if (PASS == FIRST_DIGIT && thread < MAX_RANKS) state.rank[thread] = plan.ranks[thread];
    __syncthreads();
    for (int k = 0; k < plan.sought; k++)
        find_digit(state, counts + (PASS == FIRST_DIGIT ? 0 : k * RANK_VALUES), k, plan);
    for (unsigned k = thread; k < RANK_SHARED; k += RANK_THREADS) counts[k] = 0;
    if (thread == 0) state.blocks = 0;
    if (plan.shift || thread > plan.sought) return;
    const bool none = thread == plan.sought && *(volatile unsigned *)&state.nan;
    out[blockIdx.y * (plan.sought + 1) + thread] =
        Order::from_total(none ? Bits(~Bits(0)) : state.found[thread == plan.sought ? 0 : thread]);
}

// ---- rows partitioned by the first element found: keys before it, keys equal to it, keys after it, each in
// their old order

enum { PARTITION_THREADS = 256, PARTITION_ITEMS = 16, PARTITION_TILE = PARTITION_THREADS * PARTITION_ITEMS };

// The grid has a block for each tile of each row. states: what tiles publish, the number of their keys before
// the element and after it.
template <class Order>
__device__ __forceinline__ void partition_tile(const typename Order::Raw *keys, typename Order::Raw *out,
                                               const RankState<typename Order::Bits> *found, u64 *states,
                                               unsigned *counter, unsigned length, unsigned tiles)
{
    typedef typename Order::Raw Raw;
    typedef typename Order::Bits Bits;
    enum { SIDES = 2, WARPS = PARTITION_THREADS / 32 };
    __shared__ unsigned warps[SIDES][WARPS], earlier[SIDES], taken;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) taken = atomicAdd(counter, 1u);
    __syncthreads();
    const index_t row = quotient(taken, tiles);
    const unsigned place = (unsigned)(taken - row * tiles);
    const RankState<Bits> &state = found[row];
    const Bits middle = state.found[0];
    const unsigned first = place * PARTITION_TILE + warp * 32 * PARTITION_ITEMS + lane;
    keys += row * length;
    out += row * length;
    Raw key[PARTITION_ITEMS];
    unsigned votes[SIDES], totals[SIDES] = {0, 0};
#pragma unroll
    for (int k = 0; k < PARTITION_ITEMS; k++)
        key[k] = first + k * 32 < length ? keys[first + k * 32] : Raw();
    // Finds the lanes whose key k is before the element, and those whose key is after it.
    const auto vote = [&](int k) {
        const Bits bits = first + k * 32 < length ? Order::total(key[k]) : middle;
        votes[0] = __ballot_sync(0xffffffffu, bits < middle);
        votes[1] = __ballot_sync(0xffffffffu, middle < bits);
    };
#pragma unroll
    for (int k = 0; k < PARTITION_ITEMS; k++) {
        vote(k);
#pragma unroll
        for (int side = 0; side < SIDES; side++) totals[side] += __popc(votes[side]);
    }
    if (lane == 0)
#pragma unroll
        for (int side = 0; side < SIDES; side++) warps[side][warp] = totals[side];
    __syncthreads();
    if (threadIdx.x < SIDES) {
        u64 own = 0;
        for (int k = 0; k < WARPS; k++) {
            const unsigned here = warps[threadIdx.x][k];
            warps[threadIdx.x][k] = (unsigned)own;
            own += here;
        }
        u64 *const side = states + threadIdx.x;
        *(volatile u64 *)(side + (index_t)taken * SIDES) =
            (place ? TileCount<u64>::TILE : TileCount<u64>::ALL) | own;
        earlier[threadIdx.x] = (unsigned)look_back<u64, SIDES>(side, taken, place, own);
    }
    __syncthreads();
    const unsigned before = state.before[0], not_after = before + state.equal[0];
    unsigned counted[SIDES];
#pragma unroll
    for (int side = 0; side < SIDES; side++) counted[side] = earlier[side] + warps[side][warp];
#pragma unroll
    for (int k = 0; k < PARTITION_ITEMS; k++) {
        const unsigned below = (1u << lane) - 1, i = first + k * 32;
        vote(k);
        const unsigned less = counted[0] + __popc(votes[0] & below);
        const unsigned more = counted[1] + __popc(votes[1] & below);
        if (i < length) {
            const bool is_less = votes[0] >> lane & 1, is_more = votes[1] >> lane & 1;
            out[is_less ? less : is_more ? not_after + more : before + i - less - more] = key[k];
        }
#pragma unroll
        for (int side = 0; side < SIDES; side++) counted[side] += __popc(votes[side]);
    }
}

} // namespace pycuda

#endif
