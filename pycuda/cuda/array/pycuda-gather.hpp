// Gather and scatter: elements selected by index.
#ifndef PYCUDA_GATHER_HPP
#define PYCUDA_GATHER_HPP

#include "base/pycuda-elements.hpp"
#include "base/pycuda-streaming.hpp"

namespace pycuda {

// How an index that is out of bounds is handled.
enum Mode { RAISE, WRAP, CLIP, OFFSET }; // OFFSET: indices are offsets in bytes, checked before

template <class I> __device__ __forceinline__ bool negative(const I &i) { return i < I(0); }
__device__ __forceinline__ bool negative(unsigned char) { return false; }
__device__ __forceinline__ bool negative(unsigned short) { return false; }
__device__ __forceinline__ bool negative(unsigned) { return false; }
__device__ __forceinline__ bool negative(unsigned long long) { return false; }

// The position of element i of `length`, negative i counted from the end; -1 if out of bounds.
template <Mode MODE, class I>
__device__ __forceinline__ index_t element_number(I number, index_t length, int *error)
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
    index_t length, step; // of the indexed axis: elements, bytes
    Walk<D> walk;         // in the array, in the indices, in the other array
};

// PUT: array[index] = other; otherwise other = array[index], 0 where the index is out of bounds.
template <class T, class I, Mode MODE, bool PUT, int D>
__device__ __forceinline__ void pick(char *array, const char *numbers, char *other, int *error,
                                     const Picking<D> &plan)
{
    index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < plan.count; i += stride) {
        index_t at[3];
        walk_to<D>(plan.walk, i, at);
        index_t number =
            element_number<MODE>(*reinterpret_cast<const I *>(numbers + at[1]), plan.length, error);
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

// out[i] = element numbers[i] of an array whose elements are `step` bytes apart, 0 where that is out of
// bounds. Indices and results are contiguous; a thread moves V of them and issues their loads together.
template <class T, class I, Mode MODE, int V>
__device__ __forceinline__ void gather(const char *array, const I *numbers, T *out, int *error, index_t count,
                                       index_t length, index_t step)
{
    const index_t all = (index_t)blockDim.x * V, begin = blockIdx.x * all;
    const index_t end = begin + all < count ? begin + all : count;
    int wrong = 0;
    const auto element = [=, &wrong](const I &number) {
        const index_t at = element_number<MODE>(number, length, &wrong);
        return MODE == RAISE && at < 0 ? T() : *reinterpret_cast<const T *>(array + at * step);
    };
    if (begin + all <= count && lanes<I, V, 1>::fit(numbers) && lanes<T, V, 1>::fit(out)) {
        const index_t first = begin + threadIdx.x * V;
        lanes<I, V, 1> at;
        lanes<T, V, 1> values;
        at.load(numbers + first, 0);
#pragma unroll
        for (int v = 0; v < V; v++) values(v) = element(at(v));
        values.store(out + first, 0);
    } else {
        for (index_t i = begin + threadIdx.x; i < end; i += blockDim.x) out[i] = element(numbers[i]);
    }
    if (MODE == RAISE && wrong) *error = 1;
}

// offsets[i] is set to `step` times an index, or incremented by it (ADD).
template <class I, Mode MODE, bool ADD, int D>
__device__ __forceinline__ void add_offsets(index_t *offsets, const char *numbers, int *error,
                                            const Picking<D> &plan)
{
    index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < plan.count; i += stride) {
        index_t at[3];
        walk_to<D>(plan.walk, i, at);
        index_t number =
            element_number<MODE>(*reinterpret_cast<const I *>(numbers + at[1]), plan.length, error);
        if (MODE == RAISE && number < 0) number = 0;
        offsets[i] = (ADD ? offsets[i] : 0) + number * plan.step;
    }
}

}

#endif
