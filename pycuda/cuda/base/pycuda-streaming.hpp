// Elements of an array that one thread loads or stores together: V neighbors at a time, ROUNDS times.
#ifndef PYCUDA_STREAMING_HPP
#define PYCUDA_STREAMING_HPP

extern "C++" {
namespace pycuda {

// The type of so many bytes that one instruction moves.
template <int BYTES> struct word;
template <> struct word<1> { typedef unsigned char type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned type; };
template <> struct word<8> { typedef uint2 type; };
template <> struct word<16> { typedef uint4 type; };

// How memory of so many bytes is accessed: `size` is the largest power of two up to 16 that divides BYTES.
template <int BYTES> struct access {
    enum {
        even = BYTES % 2 == 0 ? 2 : 1,
        four = BYTES % 4 == 0 ? 4 : even,
        eight = BYTES % 8 == 0 ? 8 : four
    };
    enum { size = BYTES % 16 == 0 ? 16 : eight };
    typedef typename word<size>::type type;
};

// An element as words as large as its alignment allows.
template <class T> struct words_of {
    enum { largest = access<sizeof(T)>::size, aligned = alignof(T) };
    enum { bytes = (int)largest < (int)aligned ? (int)largest : (int)aligned, count = sizeof(T) / bytes };
    typedef typename word<bytes>::type type;
};

// Loads an element of global memory that is not read again: its line is the first to leave the caches.
template <class T> __device__ __forceinline__ T load_once(const T *from)
{
    typedef words_of<T> words;
    T loaded;
#pragma unroll
    for (int k = 0; k < words::count; k++) {
        const typename words::type moved = __ldcs((const typename words::type *)from + k);
        memcpy((char *)&loaded + k * words::bytes, &moved, words::bytes);
    }
    return loaded;
}

// Stores an element to global memory that is not read soon: its line is the first to leave the caches.
template <class T> __device__ __forceinline__ void store_once(T *to, const T &value)
{
    typedef words_of<T> words;
#pragma unroll
    for (int k = 0; k < words::count; k++) {
        typename words::type moved;
        memcpy(&moved, (const char *)&value + k * words::bytes, words::bytes);
        __stcs((typename words::type *)to + k, moved);
    }
}

// The elements, in registers: element k is k % V of round k / V.
template <class T, int V, int ROUNDS> class lanes {
    enum { bytes = V * (int)sizeof(T), unit_bytes = access<bytes>::size, units = bytes / unit_bytes };
    typedef typename access<bytes>::type unit;
    __align__(16) unsigned char raw[ROUNDS * bytes];

  public:
    // Whether an array that begins at `at` is aligned for load() and store(): views may have any address.
    static __device__ __forceinline__ bool fit(const T *at) { return (size_t)at % unit_bytes == 0; }

    // The first round's elements begin at `from`, each further round's `step` elements later. ONCE: they are
    // not read again, or not soon: as load_once() and store_once().
    template <bool ONCE = false> __device__ __forceinline__ void load(const T *from, size_t step)
    {
#pragma unroll
        for (int k = 0; k < ROUNDS * units; k++) {
            const unit *const at = (const unit *)(from + k / units * step) + k % units;
            const unit moved = ONCE ? __ldcs(at) : *at;
            memcpy(raw + k * unit_bytes, &moved, unit_bytes);
        }
    }

    template <bool ONCE = false> __device__ __forceinline__ void store(T *to, size_t step) const
    {
#pragma unroll
        for (int k = 0; k < ROUNDS * units; k++) {
            unit *const at = (unit *)(to + k / units * step) + k % units;
            unit moved;
            memcpy(&moved, raw + k * unit_bytes, unit_bytes);
            if (ONCE)
                __stcs(at, moved);
            else
                *at = moved;
        }
    }

    __device__ __forceinline__ T &operator()(int k) { return ((T *)raw)[k]; }
};

// x[i] for one index i: the element that the thread has in registers.
template <class T> class here {
    T &value;

  public:
    __device__ __forceinline__ explicit here(T &value) : value(value) {}
    __device__ __forceinline__ T &operator[](size_t) const { return value; }
};

}
}

#endif
