// Elements picked by number: gather, scatter, and where something is true.
#ifndef PYCUDA_INDEXING_HPP
#define PYCUDA_INDEXING_HPP

#include "pycuda-reduce-ops.hpp"
#include "pycuda-axis-scan.hpp"

namespace pycuda {

// What becomes of a number that no element has.
enum Mode { RAISE, WRAP, CLIP, OFFSET }; // OFFSET: numbers are bytes, and were checked

template <class I> __device__ __forceinline__ bool negative(const I &i) { return i < I(0); }
__device__ __forceinline__ bool negative(unsigned char) { return false; }
__device__ __forceinline__ bool negative(unsigned short) { return false; }
__device__ __forceinline__ bool negative(unsigned) { return false; }
__device__ __forceinline__ bool negative(unsigned long long) { return false; }

// Where element number i of `length` is, negative ones counted from the end; -1 for none.
template <Mode MODE, class I> __device__ __forceinline__ index_t element_number(I number, index_t length, int *error)
{
    if (MODE == OFFSET) return (index_t)number;
    if (MODE == WRAP) {
        if (negative(number)) {
            index_t rest = (index_t)number % length;
            return rest < 0 ? rest + length : rest;
        }
        return (index_t)((unsigned long long)number % (unsigned long long)length);
    }
    if (MODE == CLIP) {
        if (negative(number)) return 0;
        return (unsigned long long)number < (unsigned long long)length ? (index_t)number : length - 1;
    }
    index_t at = negative(number) ? (index_t)number + length : (index_t)number;
    if ((unsigned long long)at < (unsigned long long)length) return at;
    *error = 1;
    return -1;
}

// D axes with a stride in each of three arrays, the innermost last.
template <int D> struct Walk {
    index_t length[D], stride[3][D];
};

template <int D> __device__ __forceinline__ void walk_to(const Walk<D> &walk, index_t i, index_t (&at)[3])
{
    at[0] = at[1] = at[2] = 0;
#pragma unroll
    for (int d = D - 1; d >= 0; d--) {
        index_t rest = d ? quotient(i, walk.length[d]) : 0, here = i - rest * walk.length[d];
#pragma unroll
        for (int k = 0; k < 3; k++) at[k] += here * walk.stride[k][d];
        i = rest;
    }
}

template <int D> struct Picking {
    index_t count;        // elements moved
    index_t length, step; // of the axis that is picked from: elements, bytes
    Walk<D> walk;         // in the array, in the numbers, in the other array
};

// PUT: array[number] = other; otherwise other = array[number], 0 where there is no such element.
template <class T, class I, Mode MODE, bool PUT, int D>
__device__ __forceinline__ void pick(char *array, const char *numbers, char *other, int *error,
                                     const Picking<D> &plan)
{
    index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < plan.count; i += stride) {
        index_t at[3];
        walk_to<D>(plan.walk, i, at);
        index_t number = element_number<MODE>(*reinterpret_cast<const I *>(numbers + at[1]), plan.length, error);
        T *there = reinterpret_cast<T *>(array + at[0] + number * plan.step);
        T *here = reinterpret_cast<T *>(other + at[2]);
        if (MODE == RAISE && number < 0) {
            if (!PUT) *here = T();
        } else if (PUT) {
            *there = *here;
        } else {
            *here = *there;
        }
    }
}

// offsets[i] is `step` times a number, plus what was there before.
template <class I, Mode MODE, bool ADD, int D>
__device__ __forceinline__ void add_offsets(index_t *offsets, const char *numbers, int *error, const Picking<D> &plan)
{
    index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < plan.count; i += stride) {
        index_t at[3];
        walk_to<D>(plan.walk, i, at);
        index_t number = element_number<MODE>(*reinterpret_cast<const I *>(numbers + at[1]), plan.length, error);
        if (MODE == RAISE && number < 0) number = 0;
        offsets[i] = (ADD ? offsets[i] : 0) + number * plan.step;
    }
}

// ---- where something is true: the tiles counted, then the places written

enum { TRUE_ITEMS = 8, TRUE_TILE = SCAN_THREADS * TRUE_ITEMS };

struct CountOp {
    typedef int Acc;
    static __device__ __forceinline__ int neutral() { return 0; }
    static __device__ __forceinline__ int combine(int a, int b) { return a + b; }
};

template <class T, int D>
__device__ __forceinline__ unsigned truths(const char *in, index_t first, index_t count, const Axes<D> &axes)
{
    unsigned bits = 0;
#pragma unroll
    for (int k = 0; k < TRUE_ITEMS; k++)
        if (first + k < count
            && is_true(value(*reinterpret_cast<const T *>(in + place<D>(axes, first + k).offset))))
            bits |= 1u << k;
    return bits;
}

template <class T, int D>
__device__ __forceinline__ void count_true(const char *in, index_t *counts, index_t count, const Axes<D> &axes)
{
    index_t first = (index_t)blockIdx.x * TRUE_TILE + threadIdx.x * TRUE_ITEMS;
    int before, all = scan_block<CountOp>(__popc(truths<T>(in, first, count, axes)), before);
    if (threadIdx.x == 0) counts[blockIdx.x] = all;
}

// COORDINATES: the index along each axis, one array of `total` after the other. Otherwise the sum of these by
// `axes.other`. ends: how many are true up to the end of each tile.
template <class T, bool COORDINATES, int D>
__device__ __forceinline__ void write_true(const char *in, const index_t *ends, index_t *out, index_t count,
                                           index_t total, const Axes<D> &axes)
{
    index_t first = (index_t)blockIdx.x * TRUE_TILE + threadIdx.x * TRUE_ITEMS;
    unsigned bits = truths<T>(in, first, count, axes);
    int before;
    scan_block<CountOp>(__popc(bits), before);
    out += (blockIdx.x ? ends[blockIdx.x - 1] : 0) + before;
    for (; bits; bits &= bits - 1) {
        index_t i = first + __ffs(bits) - 1;
        if (!COORDINATES) {
            *out++ = place<D>(axes, i).other;
        } else {
#pragma unroll
            for (int d = D - 1; d >= 0; d--) {
                index_t rest = d ? quotient(i, axes.length[d]) : 0, here = i - rest * axes.length[d];
                // Padding axes, whose length is 1, come first and have no array.
                if (axes.other[d] >= 0) out[axes.other[d] * total] = here;
                i = rest;
            }
            out++;
        }
    }
}

}

#endif
