// Passes values of any type between threads: between the lanes of a warp, by shared memory, between blocks.
//
// Values are copied as bytes: a user's type may have constructors, which are not called for shared memory,
// and assignment operators.
#ifndef PYCUDA_EXCHANGE_HPP
#define PYCUDA_EXCHANGE_HPP

extern "C++" {
namespace pycuda {

template <int BYTES> struct unit;
template <> struct unit<1> { typedef unsigned char type; };
template <> struct unit<2> { typedef unsigned short type; };
template <> struct unit<4> { typedef unsigned type; };

// A value as a row of integers of at most 32 bits.
template <class T> struct parcel {
    enum { size = sizeof(T) % 4 == 0 ? 4 : sizeof(T) % 2 == 0 ? 2 : 1, count = sizeof(T) / size };
    typedef typename unit<size>::type word;
    word words[count];

    __device__ __forceinline__ parcel() {}
    __device__ __forceinline__ explicit parcel(const T &value) { memcpy(words, &value, sizeof(T)); }
    __device__ __forceinline__ T value() const
    {
        __align__(16) unsigned char raw[sizeof(T)];
        memcpy(raw, words, sizeof(T));
        return *(const T *)raw;
    }
};

// `a` if `first`, otherwise `b`. Chosen word by word, as a choice between two objects would place both in
// local memory.
template <class T> __device__ __forceinline__ T choose(bool first, const T &a, const T &b)
{
    parcel<T> out(a);
    const parcel<T> other(b);
#pragma unroll
    for (int k = 0; k < parcel<T>::count; k++) out.words[k] = first ? out.words[k] : other.words[k];
    return out.value();
}

// The values of another lane: of the lane whose number is this one's ^ mask, of lane `lane`, and of the lane
// that is `distance` below. For a lane without one below, from_lane_below() returns its own value.
template <class T> __device__ __forceinline__ T from_lane_xor(const T &value, int mask)
{
    parcel<T> out(value);
#pragma unroll
    for (int k = 0; k < parcel<T>::count; k++)
        out.words[k] = (typename parcel<T>::word)__shfl_xor_sync(0xffffffffu, (unsigned)out.words[k], mask);
    return out.value();
}

template <class T> __device__ __forceinline__ T from_lane(const T &value, int lane)
{
    parcel<T> out(value);
#pragma unroll
    for (int k = 0; k < parcel<T>::count; k++)
        out.words[k] = (typename parcel<T>::word)__shfl_sync(0xffffffffu, (unsigned)out.words[k], lane);
    return out.value();
}

template <class T> __device__ __forceinline__ T from_lane_below(const T &value, int distance)
{
    parcel<T> out(value);
#pragma unroll
    for (int k = 0; k < parcel<T>::count; k++)
        out.words[k] =
            (typename parcel<T>::word)__shfl_up_sync(0xffffffffu, (unsigned)out.words[k], distance);
    return out.value();
}

// To and from memory that other blocks access: volatile accesses bypass the L1 cache.
template <class T> __device__ __forceinline__ void store_volatile(T *to, const T &value)
{
    const parcel<T> moved(value);
    volatile typename parcel<T>::word *at = (volatile typename parcel<T>::word *)to;
#pragma unroll
    for (int k = 0; k < parcel<T>::count; k++) at[k] = moved.words[k];
}

template <class T> __device__ __forceinline__ T load_volatile(const T *from)
{
    parcel<T> moved;
    const volatile typename parcel<T>::word *at = (const volatile typename parcel<T>::word *)from;
#pragma unroll
    for (int k = 0; k < parcel<T>::count; k++) moved.words[k] = at[k];
    return moved.value();
}

// To and from shared memory; the caller synchronizes.
template <class T> __device__ __forceinline__ void store_shared(T *to, const T &value)
{
    *(parcel<T> *)to = parcel<T>(value);
}
template <class T> __device__ __forceinline__ T load_shared(const T *from)
{
    return ((const parcel<T> *)from)->value();
}

// Room for COUNT values in shared memory, without their constructors.
#define PYCUDA_SHARED(T, name, COUNT)                                                                    \
    __shared__ __align__(16) unsigned char name##_bytes[(COUNT) * sizeof(T)];                            \
    T *const name = (T *)name##_bytes

}
}

#endif
