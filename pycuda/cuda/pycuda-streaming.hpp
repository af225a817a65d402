// Elements of an array that one thread reads or writes together, V neighbours at a time, ROUNDS times.
#ifndef PYCUDA_STREAMING_HPP
#define PYCUDA_STREAMING_HPP

extern "C++" {
namespace pycuda {

// What one instruction moves.
template <int BYTES> struct word;
template <> struct word<1> { typedef unsigned char type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned type; };
template <> struct word<8> { typedef uint2 type; };
template <> struct word<16> { typedef uint4 type; };

// The largest power of two up to 16 that divides a number of bytes.
template <int BYTES> struct access {
    enum { size = (BYTES % 16 == 0) ? 16 : (BYTES % 8 == 0) ? 8 : (BYTES % 4 == 0) ? 4 : (BYTES % 2 == 0) ? 2 : 1 };
    typedef typename word<size>::type type;
};

template <class T, int V, int ROUNDS> class lanes {
    enum { bytes = V * (int)sizeof(T), words = bytes / access<bytes>::size };
    typedef typename access<bytes>::type unit;
    union {
        unsigned char raw[ROUNDS * bytes];
        unit units[ROUNDS * words];
    };

  public:
    // The first round's elements begin at `from`, each further round's `step` elements later.
    __device__ __forceinline__ void load(const T *__restrict__ from, size_t step)
    {
#pragma unroll
        for (int r = 0; r < ROUNDS; r++)
#pragma unroll
            for (int w = 0; w < words; w++) units[r * words + w] = ((const unit *)(from + r * step))[w];
    }

    __device__ __forceinline__ void store(T *to, size_t step) const
    {
#pragma unroll
        for (int r = 0; r < ROUNDS; r++)
#pragma unroll
            for (int w = 0; w < words; w++) ((unit *)(to + r * step))[w] = units[r * words + w];
    }

    __device__ __forceinline__ T &operator()(int k) { return ((T *)raw)[k]; }
};

// What x[i] means while i is one index: the element that the thread holds.
template <class T> class here {
    T &value;

  public:
    __device__ __forceinline__ explicit here(T &value) : value(value) {}
    __device__ __forceinline__ T &operator[](size_t) const { return value; }
};

}
}

#endif
