// The discrete correlation of two vectors. At the ends, where the vectors overlap in part, only the overlap
// is summed, because padding with zeros would turn an infinity into NaN and spread NaNs. Each result is
// summed in the order of the shorter vector.
#ifndef PYCUDA_CONVOLVE_HPP
#define PYCUDA_CONVOLVE_HPP

#include "array/pycuda-matmul.hpp"

namespace pycuda {

// A thread has SLIDE_EACH neighboring results, an odd number, so that threads read different banks.
// SLIDE_TAPS elements of the shorter vector are in shared memory at a time.
enum { SLIDE_THREADS = 128, SLIDE_EACH = 9, SLIDE_TAPS = 14 * SLIDE_EACH };
enum { SLIDE_TILE = SLIDE_THREADS * SLIDE_EACH };

// c[i] is the sum of a[i - before + k] * v[k] over all k for which both indices are in bounds. Steps are in
// bytes. The first `tiles` blocks compute the results in the middle, for which all k are in bounds; the other
// blocks compute those at the ends. Without tiles the other blocks compute all results.
struct Slide {
    index_t a_step, a_size, v_step, v_size, count, before, tiles;

    __device__ __forceinline__ index_t middle() const { return tiles ? a_size - v_size + 1 : 0; }
};

template <class T, class A> __device__ __forceinline__ A element(const char *from, index_t offset)
{
    return To<A>::from(value(*reinterpret_cast<const T *>(from + offset)));
}

// The results at the ends, each by one thread.
template <class TA, class TV, class TC, class A>
__device__ void slide_ends(const char *a, const char *v, TC *c, const Slide &plan)
{
    index_t ends = plan.count - plan.middle(), stride = (gridDim.x - plan.tiles) * blockDim.x;
    for (index_t e = (blockIdx.x - plan.tiles) * blockDim.x + threadIdx.x; e < ends; e += stride) {
        index_t i = e < plan.before || !plan.tiles ? e : e + plan.middle();
        index_t begin = i - plan.before, end = min(plan.v_size, plan.a_size - begin);
        A sum = A(0);
#pragma unroll 1
        for (index_t k = max((index_t)0, -begin); k < end; k++)
            sum = Product<A>::add(sum, element<TA, A>(a, (begin + k) * plan.a_step),
                                  element<TV, A>(v, k * plan.v_step));
        put(c[i], sum);
    }
}

// Adds the next `count` products to each of a thread's results. window: the elements of `a` that they need,
// as a ring: product k of result r takes element (k + r) % SLIDE_EACH. After product k of all results,
// element k of the ring is no longer needed and replaced by next[k].
template <class A>
__device__ __forceinline__ void slide_window(A *sum, A *window, const A *next, const A *taps, int count)
{
#pragma unroll
    for (int k = 0; k < SLIDE_EACH; k++) {
        if (k >= count) break;
#pragma unroll
        for (int r = 0; r < SLIDE_EACH; r++)
            sum[r] = Product<A>::add(sum[r], window[(k + r) % SLIDE_EACH], taps[k]);
        window[k] = next[k];
    }
}

// The results of a block's tile, in the middle. numbers, taps: shared memory for elements of `a` and of v.
template <class TA, class TV, class TC, class A>
__device__ void slide_tile(const char *a, const char *v, TC *c, const Slide &plan, A *numbers, A *taps)
{
    index_t first = (index_t)blockIdx.x * SLIDE_TILE; // where in `a` the tile's first result begins
    A sum[SLIDE_EACH], window[SLIDE_EACH];
#pragma unroll
    for (int r = 0; r < SLIDE_EACH; r++) sum[r] = A(0);
#pragma unroll 1
    for (index_t done = 0; done < plan.v_size; done += SLIDE_TAPS) {
        __syncthreads(); // all threads have read the previous numbers
        for (int i = threadIdx.x; i < SLIDE_TILE + SLIDE_TAPS; i += SLIDE_THREADS) {
            index_t at = first + done + i;
            numbers[i] = at < plan.a_size ? element<TA, A>(a, at * plan.a_step) : A(0);
        }
        int count = (int)min((index_t)SLIDE_TAPS, plan.v_size - done);
        for (int k = threadIdx.x; k < count; k += SLIDE_THREADS)
            taps[k] = element<TV, A>(v, (done + k) * plan.v_step);
        __syncthreads();
        const A *mine = numbers + threadIdx.x * SLIDE_EACH, *tap = taps;
#pragma unroll
        for (int r = 0; r < SLIDE_EACH; r++) window[r] = mine[r];
        mine += SLIDE_EACH;
#pragma unroll 1
        for (; count >= SLIDE_EACH; count -= SLIDE_EACH, tap += SLIDE_EACH, mine += SLIDE_EACH)
            slide_window(sum, window, mine, tap, SLIDE_EACH);
        if (count) slide_window(sum, window, mine, tap, count);
    }
    index_t result = first + threadIdx.x * SLIDE_EACH;
#pragma unroll
    for (int r = 0; r < SLIDE_EACH; r++)
        if (result + r < plan.middle()) put(c[plan.before + result + r], sum[r]);
}

template <class TA, class TV, class TC, class A>
__device__ __forceinline__ void slide(const char *a, const char *v, TC *c, const Slide &plan)
{
    __shared__ alignas(16) char raw[(SLIDE_TILE + 2 * SLIDE_TAPS) * sizeof(A)];
    A *numbers = reinterpret_cast<A *>(raw), *taps = numbers + SLIDE_TILE + SLIDE_TAPS;
    if (blockIdx.x < plan.tiles) slide_tile<TA, TV, TC, A>(a, v, c, plan, numbers, taps);
    else slide_ends<TA, TV, TC, A>(a, v, c, plan);
}

}

#endif
