// The discrete correlation of two vectors, one result a thread. At the ends, where they overlap in part, only
// the overlap is summed: padding with zeros would turn a NaN or an infinity into NaN.
#ifndef PYCUDA_SLIDING_HPP
#define PYCUDA_SLIDING_HPP

#include "array/pycuda-matmul.hpp"

namespace pycuda
{

template <class T, class A> __device__ __forceinline__ A element(const char *from, index_t offset)
{
    return To<A>::from(value(*reinterpret_cast<const T *>(from + offset)));
}

// c[i] is the sum of a[i - before + k] * v[k] over all k with both in bounds; steps are in bytes.
template <class TA, class TV, class TC, class A>
__device__ __forceinline__ void slide(const char *a, index_t a_step, index_t a_size, const char *v,
                                      index_t v_step, index_t v_size, TC *c, index_t count, index_t before)
{
    index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        index_t begin = i - before, end = min(v_size, a_size - begin);
        A sum = A(0);
#pragma unroll 1
        for (index_t k = max((index_t)0, -begin); k < end; k++)
            sum =
                Product<A>::add(sum, element<TA, A>(a, (begin + k) * a_step), element<TV, A>(v, k * v_step));
        put(c[i], sum);
    }
}

} // namespace pycuda

#endif
