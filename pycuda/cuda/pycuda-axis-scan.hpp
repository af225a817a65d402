// Scans along one axis of arrays with any strides: element i of the result combines elements 0 to i.
//
// A long axis is cut into segments of a length that follows from the shape alone. Three launches then scan it:
// totals of segments, the scan of these, and the segments again, each from what precedes it. So sums of floats
// have the same bits on every device. An operation is a type Op: Element, Result, Acc, neutral(), map(Element),
// combine(Acc, Acc), finish(Result &, Acc).
#ifndef PYCUDA_AXIS_SCAN_HPP
#define PYCUDA_AXIS_SCAN_HPP

#include "pycuda-elements.hpp"

namespace pycuda {

enum { SCAN_THREADS = 256, SCAN_ITEMS = 8, SCAN_TILE = SCAN_THREADS * SCAN_ITEMS };
enum Phase { WHOLE, TOTALS, BETWEEN, REST }; // BETWEEN: exclusive, of the totals

template <int KD> struct AxisScan {
    index_t rows;              // kept elements
    index_t length, step, out; // of the axis, in bytes
    index_t segment, splits;   // elements of a block; blocks of a row
    index_t groups;            // columns: blocks side by side
    Axes<KD> kept;
};

// Inclusive scan over the threads of a block; `before` gets what the threads before have together, and the
// result is what all have.
template <class Op>
__device__ __forceinline__ typename Op::Acc scan_block(typename Op::Acc mine, typename Op::Acc &before)
{
    typedef typename Op::Acc Acc;
    __shared__ alignas(16) char raw[(SCAN_THREADS / 32 + 1) * sizeof(Acc)];
    Acc *warps = reinterpret_cast<Acc *>(raw);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Acc sum = mine;
#pragma unroll 1
    for (int apart = 1; apart < 32; apart *= 2) {
        Acc lower = from_lane(sum, lane - apart);
        if (lane >= apart) sum = Op::combine(lower, sum);
    }
    Acc left = from_lane(sum, lane - 1);
    __syncthreads(); // those of the tile before are read
    if (lane == 31) warps[warp + 1] = sum;
    if (threadIdx.x == 0) warps[0] = Op::neutral();
    __syncthreads();
    if (threadIdx.x == 0)
#pragma unroll 1
        for (int k = 1; k <= SCAN_THREADS / 32; k++) warps[k] = Op::combine(warps[k - 1], warps[k]);
    __syncthreads();
    before = lane ? Op::combine(warps[warp], left) : warps[warp];
    return warps[SCAN_THREADS / 32];
}

// A block for each segment of each row. Grid: rows, segments.
template <class Op, Phase PHASE, bool ALIGNED, int KD>
__device__ __forceinline__ void scan_rows(const char *in, char *out, typename Op::Acc *totals,
                                          const AxisScan<KD> &plan)
{
    typedef typename Op::Acc Acc;
    typedef typename Op::Element Element;
    typedef typename Op::Result Result;
    index_t row = blockIdx.x, first = blockIdx.y * plan.segment, end = min(first + plan.segment, plan.length);
    Place kept = place<KD>(plan.kept, row);
    Acc carry = PHASE == REST ? totals[row * plan.splits + blockIdx.y] : Op::neutral();
    in += kept.offset;
    out += kept.other;
#pragma unroll 1
    for (; first < end; first += SCAN_TILE) {
        index_t i = first + threadIdx.x * SCAN_ITEMS;
        alignas(16) Element items[SCAN_ITEMS];
        Acc part[SCAN_ITEMS], before;
        if (ALIGNED && i + SCAN_ITEMS <= end)
            load_packed<SCAN_ITEMS>(items, in + i * (index_t)sizeof(Element));
        else
#pragma unroll
            for (int k = 0; k < SCAN_ITEMS; k++)
                if (i + k < end) items[k] = *reinterpret_cast<const Element *>(in + (i + k) * plan.step);
#pragma unroll
        for (int k = 0; k < SCAN_ITEMS; k++) {
            part[k] = i + k < end ? Op::map(items[k]) : Op::neutral();
            if (k) part[k] = Op::combine(part[k - 1], part[k]);
        }
        Acc all = scan_block<Op>(part[SCAN_ITEMS - 1], before);
        before = Op::combine(carry, before);
        if (PHASE != TOTALS)
#pragma unroll
            for (int k = 0; k < SCAN_ITEMS; k++)
                if (i + k < end) {
                    Acc here = PHASE != BETWEEN ? Op::combine(before, part[k])
                                                : k ? Op::combine(before, part[k ? k - 1 : 0]) : before;
                    Op::finish(*reinterpret_cast<Result *>(out + (i + k) * plan.out), here);
                }
        carry = Op::combine(carry, all);
    }
    if (PHASE == TOTALS && threadIdx.x == 0) totals[row * plan.splits + blockIdx.y] = carry;
}

// A thread for each segment of each column, columns side by side. Grid: columns, segments.
template <class Op, Phase PHASE, int KD>
__device__ __forceinline__ void scan_columns(const char *in, char *out, typename Op::Acc *totals,
                                             const AxisScan<KD> &plan)
{
    typedef typename Op::Acc Acc;
    typedef typename Op::Element Element;
    typedef typename Op::Result Result;
    index_t outer = quotient(blockIdx.x, plan.groups), inner = plan.kept.length[KD - 1];
    index_t column = (blockIdx.x - outer * plan.groups) * SCAN_THREADS + threadIdx.x;
    index_t i = blockIdx.y * plan.segment, end = min(i + plan.segment, plan.length);
    if (column >= inner) return;
    Place kept = place<KD - 1>(plan.kept, outer);
    in += kept.offset + column * plan.kept.stride[KD - 1];
    out += kept.other + column * plan.kept.other[KD - 1];
    totals += blockIdx.y * plan.rows + outer * inner + column;
    Acc carry = PHASE == REST ? *totals : Op::neutral();
#pragma unroll 1
    for (; i < end; i += SCAN_ITEMS) {
        Element items[SCAN_ITEMS];
#pragma unroll
        for (int k = 0; k < SCAN_ITEMS; k++)
            if (i + k < end) items[k] = *reinterpret_cast<const Element *>(in + (i + k) * plan.step);
#pragma unroll
        for (int k = 0; k < SCAN_ITEMS; k++)
            if (i + k < end) {
                Acc before = carry;
                carry = Op::combine(carry, Op::map(items[k]));
                if (PHASE != TOTALS)
                    Op::finish(*reinterpret_cast<Result *>(out + (i + k) * plan.out),
                               PHASE == BETWEEN ? before : carry);
            }
    }
    if (PHASE == TOTALS) *totals = carry;
}

}

#endif
