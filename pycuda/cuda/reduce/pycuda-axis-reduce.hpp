// Reductions of arrays with any strides, along some of their axes.
//
// There is a result for each index along the kept axes, made of the elements at all indices along the reduced
// axes. An operation is a type Op:
//   Element, Second     the types of the arrays' elements; Op::second: whether there is a second array
//   Acc                 the type of partial results
//   Acc neutral()       combine(x, neutral()) has the bits of x
//   Local local(const char *first element, count, Axes, parameter)
//                       what map() needs to know of a result, such as the element that others are measured
// from   Acc map(Element, Second, index_t other, Local)
//   Acc combine(Acc, Acc)
//   void finish(char *result, Acc, index_t count, double parameter)
// The order in which elements are combined depends on shapes and item sizes alone, so that sums of floats
// have the same bits on every device and for every alignment.
#ifndef PYCUDA_AXIS_REDUCE_HPP
#define PYCUDA_AXIS_REDUCE_HPP

#include "base/pycuda-elements.hpp"
#include "base/pycuda-exchange.hpp"
#include "reduce/pycuda-reduce-ops.hpp"

namespace pycuda {

enum { THREADS = 256 };

// The parameters of a launch besides addresses. pycuda/_kernels/builtin/reduction.py makes them.
template <int KD, int RD> struct Reduction {
    index_t start;          // bytes from the array's first element to where the kernel starts
    index_t results, count; // results, elements of each
    index_t tile;           // elements of a result that one block reduces
    index_t splits;         // blocks that share a result; if more than one, they write partial results
    index_t groups;         // for columns: blocks side by side
    index_t threads_log;    // logarithm of the threads for a result (rows), or side by side (columns)
    double parameter;       // for local() and finish()
    Axes<KD> kept;          // stride in the array; `other`: stride in the result
    Axes<RD> reduced;       // stride in the array; `other`: step of the number, or stride in `second`
};

// The element of a result from which the others are measured: the first of elements 0, 1, 3, 7 and so on that
// is not NaN; 0 if all of them are NaN. first: the address of element 0.
template <class Op, int RD>
__device__ __forceinline__ typename Op::A origin(const char *first, index_t count, const Axes<RD> &reduced)
{
#pragma unroll 1
    for (index_t i = 0; i < count; i = 2 * i + 1) {
        const char *at = first + place<RD>(reduced, i).offset;
        auto x = To<typename Op::A>::from(value(*reinterpret_cast<const typename Op::Element *>(at)));
        if (!is_nan(x)) return x;
    }
    return typename Op::A(0);
}

// N loaded elements. other: the number of each in its result, or its offset in the second array, as the
// plan's reduced axes have it.
template <class Op, int N> struct Items {
    alignas(16) typename Op::Element first[N];
    alignas(16) typename Op::Second second[Op::second ? N : 1];
    index_t other[N];
};

// Loads V elements of a result, from element i on, to items at to at + V - 1. ALIGNED: by one vector access,
// for which they are contiguous and aligned.
template <class Op, int V, bool ALIGNED, int N, int RD>
__device__ __forceinline__ void read(Items<Op, N> &items, int at, const char *in, const char *second,
                                     index_t i, const Axes<RD> &reduced)
{
    if (ALIGNED) {
        Place from = place<RD>(reduced, i);
        load_packed<V>(items.first + at, in + from.offset);
        if (Op::second) load_packed<V>(items.second + at, second + from.other);
#pragma unroll
        for (int k = 0; k < V; k++) items.other[at + k] = from.other + k * reduced.other[RD - 1];
    } else {
#pragma unroll
        for (int k = 0; k < V; k++) {
            Place from = place<RD>(reduced, i + k);
            items.first[at + k] = *reinterpret_cast<const typename Op::Element *>(in + from.offset);
            if (Op::second)
                items.second[at + k] = *reinterpret_cast<const typename Op::Second *>(second + from.other);
            items.other[at + k] = from.other;
        }
    }
}

// Combines N partial results to one, pairwise. Recursive, as nested loops are not always unrolled.
template <class Op, int N> struct Tree {
    static __device__ __forceinline__ typename Op::Acc of(const typename Op::Acc *part)
    {
        return Op::combine(Tree<Op, N / 2>::of(part), Tree<Op, N / 2>::of(part + N / 2));
    }
};

template <class Op> struct Tree<Op, 1> {
    static __device__ __forceinline__ typename Op::Acc of(const typename Op::Acc *part) { return *part; }
};

// Combines acc with the N partial results of a thread. number_of(k) is the number of element k in its result.
// ASCENDING: these numbers increase with k.
template <class Op, bool ASCENDING, int N, class Acc, class NumberOf>
__device__ __forceinline__ Acc fold(const Acc &acc, const Acc (&part)[N], NumberOf)
{
    return Op::combine(acc, Tree<Op, N>::of(part));
}

// The same for argmax and argmin. An element's number is computed only if it may replace the best so far,
// which is rare.
template <class Op, bool ASCENDING, int N, class K, class NumberOf>
__device__ __forceinline__ Keyed<K> fold(const Keyed<K> &acc, const Keyed<K> (&part)[N], NumberOf number_of)
{
    K largest = part[0].key;
#pragma unroll
    for (int k = 1; k < N; k++) largest = max(largest, part[k].key);
    if (ASCENDING && acc.number >= 0 ? largest <= acc.key : largest < acc.key) return acc;
    unsigned where = 0;
#pragma unroll
    for (int k = 0; k < N; k++) where |= part[k].key == largest ? 1u << k : 0;
    Keyed<K> result = acc;
#pragma unroll 1
    for (; where; where = ASCENDING ? 0 : where & (where - 1))
        result = Op::combine(result, Keyed<K>{largest, number_of(__ffs(where) - 1)});
    return result;
}

template <class Op, int N>
__device__ __forceinline__ typename Op::Acc mapped(const Items<Op, N> &items, int k,
                                                   const typename Op::Local &local)
{
    return Op::map(items.first[k], items.second[Op::second ? k : 0], items.other[k], local);
}

// Loads ITEMS elements, maps them and combines them with acc. They are vectors of V consecutive elements, the
// first at element i of the result, the next ones `stride` elements apart.
template <class Op, int V, bool ALIGNED, int ITEMS, int RD>
__device__ __forceinline__ typename Op::Acc row_step(const typename Op::Acc &acc, const char *in,
                                                     const char *second, index_t i, int stride,
                                                     const Axes<RD> &reduced, const typename Op::Local &local)
{
    Items<Op, ITEMS> items;
    typename Op::Acc part[ITEMS];
#pragma unroll
    for (int j = 0; j < ITEMS / V; j++)
        read<Op, V, ALIGNED>(items, j * V, in, second, i + (index_t)j * stride, reduced);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) part[k] = mapped<Op>(items, k, local);
    return fold<Op, RD == 1>(
        acc, part, [&](int k) { return place<RD>(reduced, i + (index_t)(k / V) * stride + k % V).other; });
}

// Combines acc with the last elements of a thread before `end`, fewer than row_step() takes at a time.
template <class Op, int V, bool ALIGNED, int RD>
__device__ __forceinline__ typename Op::Acc row_end(typename Op::Acc acc, const char *in, const char *second,
                                                    index_t i, int stride, index_t end,
                                                    const Axes<RD> &reduced, const typename Op::Local &local)
{
#pragma unroll 1
    for (; i + V <= end; i += stride)
        acc = row_step<Op, V, ALIGNED, V>(acc, in, second, i, stride, reduced, local);
#pragma unroll 1
    for (index_t last = min(i + V, end); i < last; i++)
        acc = row_step<Op, 1, false, 1>(acc, in, second, i, stride, reduced, local);
    return acc;
}

// Combines the values of groups of `threads` consecutive threads. For a power of two up to 32 every thread
// returns the total of its group. Otherwise `threads` must be THREADS, and thread 0 alone returns the total.
// All threads of the block must call this.
template <class Op>
__device__ __forceinline__ typename Op::Acc combine_consecutive(typename Op::Acc acc, int threads)
{
    typedef typename Op::Acc Acc;
    __shared__ alignas(16) char raw[THREADS / 32 * sizeof(Acc)];
    Acc *warps = reinterpret_cast<Acc *>(raw);
#pragma unroll
    for (int offset = 16; offset; offset /= 2) {
        Acc other = from_lane_xor(acc, offset);
        if (offset < threads) acc = Op::combine(acc, other);
    }
    if (threads <= 32) return acc;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = acc;
    __syncthreads();
    if (threadIdx.x == 0)
#pragma unroll 1
        for (int k = 1; k < THREADS / 32; k++) acc = Op::combine(acc, warps[k]);
    return acc;
}

// Reduces where the reduced axis is contiguous: 2^threads_log consecutive threads share a result. The grid
// has results along x, splits along y. PARTIAL: `out` gets partial results, which combine_partials()
// combines.
template <class Op, int V, bool ALIGNED, int ITEMS, bool PARTIAL, int KD, int RD>
__device__ __forceinline__ void reduce_rows(const char *in, const char *second, char *out,
                                            const Reduction<KD, RD> &plan)
{
    typedef typename Op::Acc Acc;
    int log = (int)plan.threads_log, threads = 1 << log;
    int thread = threadIdx.x & (threads - 1), stride = threads * V;
    index_t result = (index_t)blockIdx.x * (THREADS >> log) + (threadIdx.x >> log);
    index_t first = blockIdx.y * plan.tile, end = min(first + plan.tile, plan.count);
    Place kept = place<KD>(plan.kept, result);
    Acc acc = Op::neutral();
    if (result < plan.results) {
        in += plan.start + kept.offset;
        typename Op::Local local = Op::local(in, plan.count, plan.reduced, plan.parameter);
        index_t i = first + thread * V, step = (index_t)threads * ITEMS;
#pragma unroll 1
        for (; first + step <= end; first += step, i += step)
            acc = row_step<Op, V, ALIGNED, ITEMS>(acc, in, second, i, stride, plan.reduced, local);
        acc = row_end<Op, V, ALIGNED>(acc, in, second, i, stride, end, plan.reduced, local);
    }
    acc = combine_consecutive<Op>(acc, threads);
    if (thread != 0 || result >= plan.results) return;
    if (PARTIAL)
        reinterpret_cast<Acc *>(out)[result * plan.splits + blockIdx.y] = acc;
    else
        Op::finish(out + kept.other, acc, plan.count, plan.parameter);
}

// Combines the values of threads whose numbers are equal modulo `threads`, a power of two. The first
// `threads` threads then have the totals in acc. All threads of the block must call this.
template <class Op, int V>
__device__ __forceinline__ void combine_modulo(typename Op::Acc (&acc)[V], int threads)
{
    typedef typename Op::Acc Acc;
    __shared__ alignas(16) char raw[THREADS * V * sizeof(Acc)];
    Acc *mine = reinterpret_cast<Acc *>(raw) + threadIdx.x;
    if (threads == THREADS) return;
#pragma unroll
    for (int k = 0; k < V; k++) mine[k * THREADS] = acc[k];
#pragma unroll 1
    for (int offset = THREADS / 2; offset >= threads; offset /= 2) {
        __syncthreads();
        if (threadIdx.x < offset)
#pragma unroll
            for (int k = 0; k < V; k++)
                mine[k * THREADS] = acc[k] = Op::combine(acc[k], mine[k * THREADS + offset]);
    }
}

// Loads elements of ROWS rows, the first of which is `row` and the next ones `stride` apart, in the V columns
// of a thread, of which the first `columns` exist. Maps them and combines them with acc. step: bytes from
// column to column.
template <class Op, int V, bool ALIGNED, int ROWS, int RD>
__device__ __forceinline__ void column_step(typename Op::Acc (&acc)[V], const char *in, const char *second,
                                            index_t step, int columns, index_t row, int stride,
                                            const Axes<RD> &reduced, const typename Op::Local (&local)[V])
{
    typedef typename Op::Element Element;
    alignas(16) Element items[ROWS][V];
    typename Op::Second factor[ROWS]; // the same for all columns
    index_t other[ROWS];
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
        Place from = place<RD>(reduced, row + (index_t)j * stride);
        other[j] = from.other;
        if (Op::second) factor[j] = *reinterpret_cast<const typename Op::Second *>(second + from.other);
        if (ALIGNED && columns == V)
            load_packed<V>(items[j], in + from.offset);
        else
#pragma unroll
            for (int k = 0; k < V; k++)
                if (k < columns)
                    items[j][k] = *reinterpret_cast<const Element *>(in + from.offset + k * step);
    }
#pragma unroll
    for (int k = 0; k < V; k++) {
        typename Op::Acc part[ROWS];
#pragma unroll
        for (int j = 0; j < ROWS; j++)
            part[j] = Op::map(items[j][k], factor[j], other[j], local[k]);
        acc[k] = fold<Op, RD == 1>(acc[k], part, [&](int j) {
            return place<RD>(reduced, row + (index_t)j * stride).other;
        });
    }
}

// Reduces where a kept axis is contiguous: 2^threads_log threads side by side have V columns each. The grid
// has columns along x, splits along y. PARTIAL: `out` gets partial results, which combine_partials()
// combines.
template <class Op, int V, bool ALIGNED, int ROWS, bool PARTIAL, int KD, int RD>
__device__ __forceinline__ void reduce_columns(const char *in, const char *second, char *out,
                                               const Reduction<KD, RD> &plan)
{
    typedef typename Op::Acc Acc;
    int log = (int)plan.threads_log, threads = 1 << log, rows = THREADS >> log;
    index_t outer = quotient(blockIdx.x, plan.groups), inner = plan.kept.length[KD - 1];
    index_t column = ((blockIdx.x - outer * plan.groups) * threads + (threadIdx.x & (threads - 1))) * V;
    index_t first = blockIdx.y * plan.tile, end = min(first + plan.tile, plan.count);
    int columns = (int)max((index_t)0, min((index_t)V, inner - column));
    index_t step = plan.kept.stride[KD - 1];
    Place kept = place<KD - 1>(plan.kept, outer);
    Acc acc[V];
#pragma unroll
    for (int k = 0; k < V; k++) acc[k] = Op::neutral();
    in += plan.start + kept.offset + column * step;
    index_t row = first + (threadIdx.x >> log);
    if (columns > 0) {
        typename Op::Local local[V];
#pragma unroll
        for (int k = 0; k < V; k++)
            local[k] = Op::local(in + min(k, columns - 1) * step, plan.count, plan.reduced, plan.parameter);
#pragma unroll 1
        for (; row + (ROWS - 1) * rows < end; row += rows * ROWS)
            column_step<Op, V, ALIGNED, ROWS>(acc, in, second, step, columns, row, rows, plan.reduced, local);
#pragma unroll 1
        for (; row < end; row += rows)
            column_step<Op, V, ALIGNED, 1>(acc, in, second, step, columns, row, rows, plan.reduced, local);
    }
    combine_modulo<Op, V>(acc, threads);
    if (threadIdx.x >= threads) return;
#pragma unroll
    for (int k = 0; k < V; k++) {
        if (k >= columns) continue;
        if (PARTIAL)
            reinterpret_cast<Acc *>(out)[blockIdx.y * plan.results + outer * inner + column + k] = acc[k];
        else
            Op::finish(out + kept.other + (column + k) * plan.kept.other[KD - 1], acc[k], plan.count,
                       plan.parameter);
    }
}

// How the partial results of the first launch are combined. A block has 2^threads_log results side by side,
// and its threads share the splits of each. Partial results are stored result by result after reduce_rows(),
// split by split after reduce_columns().
template <int KD> struct Combination {
    index_t results, count, splits;
    index_t result_step, split_step; // in partial results
    index_t threads_log;
    double parameter;
    Axes<KD> kept;
};

template <class Op, int KD>
__device__ __forceinline__ void combine_partials(const char *partial, char *out, const Combination<KD> &plan)
{
    typedef typename Op::Acc Acc;
    int log = (int)plan.threads_log, threads = 1 << log, rows = THREADS >> log;
    index_t result = (index_t)blockIdx.x * threads + (threadIdx.x & (threads - 1));
    const Acc *from = reinterpret_cast<const Acc *>(partial) + result * plan.result_step;
    Acc acc[1] = {Op::neutral()};
    if (result < plan.results)
        for (index_t i = (threadIdx.x >> log); i < plan.splits; i += rows)
            acc[0] = Op::combine(acc[0], from[i * plan.split_step]);
    combine_modulo<Op, 1>(acc, threads);
    if (threadIdx.x < threads && result < plan.results)
        Op::finish(out + place<KD>(plan.kept, result).other, acc[0], plan.count, plan.parameter);
}

}

#endif
