// Short rows sorted in shared memory: as many rows a block as fit, each in a power of two of slots.
//
// A bitonic network of pairs (key, position in the row): all pairs differ, so the sort is stable and the
// result unique. Rows are padded with a pair greater than all others.
#ifndef PYCUDA_ROW_SORT_HPP
#define PYCUDA_ROW_SORT_HPP

#include "sort/pycuda-order.hpp"

namespace pycuda {

enum { ROW_THREADS = 256, ROW_SLOTS = 2048 };

template <class Order> struct RowSlots {
    typename Order::Raw keys[ROW_SLOTS];
    unsigned short places[ROW_SLOTS];

    __device__ __forceinline__ bool out_of_order(unsigned low, unsigned high, unsigned length) const
    {
        const unsigned first = places[low], second = places[high];
        const bool first_there = first < length, second_there = second < length;
        if (!first_there || !second_there) return first > second;
        const typename Order::Bits a = Order::bits(keys[low]), b = Order::bits(keys[high]);
        return b < a || (a == b && first > second);
    }

    __device__ __forceinline__ void swap(unsigned low, unsigned high)
    {
        const typename Order::Raw key = keys[low];
        const unsigned short place = places[low];
        keys[low] = keys[high];
        places[low] = places[high];
        keys[high] = key;
        places[high] = place;
    }
};

// In and out may be the same; one of out and places_out may be null. Grid: rows, as many a block as fit in
// `used` slots, 1 << bits each.
template <class Order, class Place>
__device__ __forceinline__ void sort_rows(const typename Order::Raw *in, typename Order::Raw *out,
                                          Place *places_out, index_t rows, unsigned length, unsigned bits,
                                          unsigned used)
{
    typedef typename Order::Raw Raw;
    __shared__ alignas(16) unsigned char memory[sizeof(RowSlots<Order>)];
    RowSlots<Order> &slots = *reinterpret_cast<RowSlots<Order> *>(memory);
    const unsigned inside = (1u << bits) - 1;
    const index_t first = (index_t)blockIdx.x * (used >> bits);
    for (unsigned k = threadIdx.x; k < used; k += ROW_THREADS) {
        const index_t row = first + (k >> bits);
        const unsigned place = k & inside;
        slots.places[k] = (unsigned short)place;
        slots.keys[k] = place < length && row < rows ? in[row * length + place] : Raw();
    }
    __syncthreads();
    for (unsigned size = 2; size <= inside + 1; size *= 2)
        for (unsigned apart = size / 2; apart; apart /= 2) {
            for (unsigned k = threadIdx.x; k < used / 2; k += ROW_THREADS) {
                const unsigned low = 2 * k - (k & (apart - 1));
                const unsigned high = apart == size / 2 ? low ^ (size - 1) : low + apart;
                if (slots.out_of_order(low, high, length)) slots.swap(low, high);
            }
            __syncthreads();
        }
    for (unsigned k = threadIdx.x; k < used; k += ROW_THREADS) {
        const index_t row = first + (k >> bits);
        const unsigned place = k & inside;
        if (place >= length || row >= rows) continue;
        if (out) out[row * length + place] = slots.keys[k];
        if (places_out) places_out[row * length + place] = slots.places[k];
    }
}

} // namespace pycuda

#endif
