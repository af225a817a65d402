// Elements that are moved or replaced according to their place: triangles of matrices, padding, joined
// arrays.
#ifndef PYCUDA_REARRANGE_HPP
#define PYCUDA_REARRANGE_HPP

#include "base/pycuda-elements.hpp"
#include "base/pycuda-streaming.hpp"

namespace pycuda {

enum { REARRANGE_THREADS = 256, REARRANGE_ROUNDS = 4 };

// at(u) is the element, or vector, of the result that a thread has in round u; has(u) is whether there is
// one.
struct Rounds {
    index_t first, count;

    __device__ __forceinline__ explicit Rounds(index_t count)
        : first((index_t)blockIdx.x * (REARRANGE_THREADS * REARRANGE_ROUNDS) + threadIdx.x), count(count)
    {
    }
    __device__ __forceinline__ index_t at(int u) const { return first + u * REARRANGE_THREADS; }
    __device__ __forceinline__ bool has(int u) const { return at(u) < count; }
};

// out[i] = source(i) for `count` elements; all loads of a thread come before its stores.
template <class T, class Source>
__device__ __forceinline__ void move_elements(T *out, index_t count, Source source)
{
    const Rounds rounds(count);
    T moved[REARRANGE_ROUNDS];
#pragma unroll
    for (int u = 0; u < REARRANGE_ROUNDS; u++)
        if (rounds.has(u)) moved[u] = source(rounds.at(u));
#pragma unroll
    for (int u = 0; u < REARRANGE_ROUNDS; u++)
        if (rounds.has(u)) out[rounds.at(u)] = moved[u];
}

// ---- triangles

// Matrices whose rows have contiguous elements.
template <int D> struct Triangle {
    index_t columns, units; // elements of a row, units of V elements in all
    index_t diagonal;       // the one that bounds what is kept, as numpy.tril numbers it
    // Strides in bytes. `other` is 1 for the axis that numbers the rows of a matrix, 0 for axes before it.
    Axes<D> rows;
};

// Copies a triangle of each matrix and writes zeros elsewhere, where nothing is read.
template <class T, int V, bool LOWER, int D>
__device__ __forceinline__ void triangle(const char *in, T *out, const Triangle<D> &plan)
{
    typedef lanes<T, V, 1> Unit;
    const Rounds rounds(plan.units);
    const index_t width = plan.columns / V;
    Unit moved[REARRANGE_ROUNDS];
#pragma unroll
    for (int u = 0; u < REARRANGE_ROUNDS; u++) {
        if (!rounds.has(u)) break;
        const index_t row = quotient(rounds.at(u), width), column = (rounds.at(u) - row * width) * V;
        const Place at = place<D>(plan.rows, row);
        const index_t edge = at.other + plan.diagonal;
        const T *const from = (const T *)(in + at.offset) + column;
        if (LOWER ? column + V - 1 <= edge : column >= edge) {
            moved[u].load(from, 0);
        } else {
#pragma unroll
            for (int v = 0; v < V; v++)
                moved[u](v) = (LOWER ? column + v <= edge : column + v >= edge) ? from[v] : T();
        }
    }
#pragma unroll
    for (int u = 0; u < REARRANGE_ROUNDS; u++) {
        if (!rounds.has(u)) break;
        if (Unit::fit(out))
            moved[u].store(out + rounds.at(u) * V, 0);
        else // a user's allocator may give memory that is not aligned
            for (int v = 0; v < V; v++) out[rounds.at(u) * V + v] = moved[u](v);
    }
}

// ---- padding

// An axis of the result: its length; the elements of the array along it, how many are padded before them, and
// their stride in bytes.
struct PaddedAxis {
    index_t length, inside, before, stride;
    Divider divider; // by the length
};

template <int D> struct PaddedAxes { PaddedAxis at[D]; };

__device__ __forceinline__ unsigned divided(unsigned i, const PaddedAxis &axis)
{
    return axis.divider.divide(i);
}
__device__ __forceinline__ index_t divided(index_t i, const PaddedAxis &axis)
{
    return quotient(i, axis.length);
}

// The offset in the array of element i of the result. Where the array has no index x along axis d, outside(d,
// x) is the index to take.
template <class N, int D, class Outside>
__device__ __forceinline__ index_t find_padded(const PaddedAxes<D> &axes, N i, Outside outside)
{
    index_t offset = 0;
#pragma unroll
    for (int d = D - 1; d >= 0; d--) {
        const PaddedAxis &axis = axes.at[d];
        const N rest = d ? divided(i, axis) : 0;
        index_t x = (index_t)(i - rest * (N)axis.length) - axis.before;
        if (x < 0 || x >= axis.inside) x = outside(d, x);
        offset += x * axis.stride;
        i = rest;
    }
    return offset;
}

// The elements that pad each axis, before and after it. An element in the padding of several axes is that of
// the last of these axes.
template <class T, int D> struct PadValues { T at[D][2]; };

template <class T, class N, int D>
__device__ __forceinline__ void pad_with(const char *in, T *out, index_t count, const PaddedAxes<D> &axes,
                                         const PadValues<T, D> &values)
{
    move_elements(out, count, [&](index_t i) -> T {
        bool outside = false;
        T value;
        const index_t offset = find_padded(axes, (N)i, [&](int d, index_t x) -> index_t {
            const T before = values.at[d][0], after = values.at[d][1];
            if (!outside) value = x < 0 ? before : after;
            outside = true;
            return 0;
        });
        return outside ? value : *(const T *)(in + offset);
    });
}

enum PadMode { PAD_EDGE, PAD_WRAP, PAD_REFLECT, PAD_SYMMETRIC };

__device__ __forceinline__ index_t modulo(index_t x, index_t period)
{
    const index_t rest = x % period;
    return rest < 0 ? rest + period : rest;
}

// The index, below `length`, of the element that is repeated at x, which is outside.
__device__ __forceinline__ index_t repeated(int mode, index_t x, index_t length)
{
    if (mode == PAD_WRAP) return modulo(x, length);
    if (mode == PAD_EDGE || length == 1) return x < 0 ? 0 : length - 1;
    const index_t twice = mode == PAD_SYMMETRIC; // whether the edge is repeated
    const index_t period = 2 * length - 2 + 2 * twice, at = modulo(x, period);
    return at < length ? at : period - twice - at;
}

template <class T, class N, int D>
__device__ __forceinline__ void pad_repeating(const char *in, T *out, index_t count,
                                              const PaddedAxes<D> &axes, int mode)
{
    move_elements(out, count, [&](index_t i) -> T {
        const index_t offset = find_padded(
            axes, (N)i, [&](int d, index_t x) { return repeated(mode, x, axes.at[d].inside); });
        return *(const T *)(in + offset);
    });
}

// ---- arrays joined

// The result has `count` elements in rows of `width`. In each row, elements begin[k] to begin[k + 1] - 1 are
// those of array k.
template <int COUNT> struct Join {
    index_t count, width, begin[COUNT + 1];
};

template <class T, int COUNT>
__device__ __forceinline__ void join(const T *const (&from)[COUNT], T *out, const Join<COUNT> &plan)
{
    move_elements(out, plan.count, [&](index_t i) -> T {
        const index_t row = quotient(i, plan.width), column = i - row * plan.width;
        const T *at = from[0] + row * plan.begin[1] + column;
#pragma unroll
        for (int k = 1; k < COUNT; k++)
            if (column >= plan.begin[k])
                at = from[k] + row * (plan.begin[k + 1] - plan.begin[k]) + column - plan.begin[k];
        return *at;
    });
}

}

#endif
