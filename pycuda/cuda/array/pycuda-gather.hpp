// Gather and scatter: elements selected by index.
#ifndef PYCUDA_GATHER_HPP
#define PYCUDA_GATHER_HPP

#include "base/pycuda-elements.hpp"
#include "base/pycuda-streaming.hpp"

namespace pycuda {

// What happens to an index that is out of bounds. With OFFSET, `indices` are offsets in bytes, which were
// checked before.
enum Mode { RAISE, WRAP, CLIP, OFFSET };

template <class I> __device__ __forceinline__ bool negative(const I &i) { return i < I(0); }
__device__ __forceinline__ bool negative(unsigned char) { return false; }
__device__ __forceinline__ bool negative(unsigned short) { return false; }
__device__ __forceinline__ bool negative(unsigned) { return false; }
__device__ __forceinline__ bool negative(unsigned long long) { return false; }

// The position among `length` elements that an index stands for, negative ones counted from the end. With
// RAISE -1 if it is out of bounds, and *error is set.
template <Mode MODE, class I>
__device__ __forceinline__ index_t resolved_index(I number, index_t length, int *error)
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

// Sets `at` to the offsets of element i, in C order, in the three arrays.
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
    Walk<D> walk;         // strides in the array, in the indices, in the other array
};

// Calls some(integer<N>, i) for the thread's elements: for the N elements i, i + blockDim.x, ... together. N
// is U if the block has U elements for each thread; otherwise `some` is called for each element, with N = 1.
template <int N> struct integer { enum { value = N }; };

template <int U, class Some> __device__ __forceinline__ void for_elements_of_thread(index_t count, Some some)
{
    const index_t begin = (index_t)blockIdx.x * blockDim.x * U, end = begin + blockDim.x * U;
    if (end <= count) {
        some(integer<U>(), begin + threadIdx.x);
    } else {
        for (index_t i = begin + threadIdx.x; i < count; i += blockDim.x) some(integer<1>(), i);
    }
}

// Loads the index of each of N elements, and finds the element's offsets in the three arrays.
template <class I, int D, int N>
__device__ __forceinline__ void find_indices(const char *from, const Picking<D> &plan, index_t first,
                                             I (&indices)[N], index_t (&at)[N][3])
{
#pragma unroll
    for (int u = 0; u < N; u++) {
        walk_to<D>(plan.walk, first + u * blockDim.x, at[u]);
        indices[u] = load_once(reinterpret_cast<const I *>(from + at[u][1]));
    }
}

// With PUT, array[index] = other for each index; nothing is stored if *error is set. Otherwise other =
// array[index], or 0 for an index that is out of bounds, which sets *error if `error` is not null. All loads
// of a thread come before its stores.
template <class T, class I, Mode MODE, bool PUT, int D, int U>
__device__ __forceinline__ void pick(char *array, const char *indices, int *error, char *other,
                                     const Picking<D> &plan)
{
    int wrong = 0;
    const bool refused = PUT && error && *error;
    for_elements_of_thread<U>(plan.count, [&](auto count, index_t first) {
        enum { N = decltype(count)::value };
        I loaded[N];
        index_t at[N][3];
        T moved[N];
        find_indices(indices, plan, first, loaded, at);
#pragma unroll
        for (int u = 0; u < N; u++) {
            const index_t number = resolved_index<MODE>(loaded[u], plan.length, &wrong);
            at[u][0] += number * (MODE == OFFSET ? 1 : plan.step);
            at[u][1] = MODE != RAISE || number >= 0; // from here on: whether the index is valid
        }
#pragma unroll
        for (int u = 0; u < N; u++) {
            if (PUT)
                moved[u] = load_once(reinterpret_cast<const T *>(other + at[u][2]));
            else
                moved[u] = at[u][1] ? *reinterpret_cast<const T *>(array + at[u][0]) : T();
        }
#pragma unroll
        for (int u = 0; u < N; u++) {
            if (!PUT)
                store_once(reinterpret_cast<T *>(other + at[u][2]), moved[u]);
            else if (at[u][1] && !refused)
                *reinterpret_cast<T *>(array + at[u][0]) = moved[u];
        }
    });
    if (MODE == RAISE && !PUT && wrong && error) *error = 1;
}

// How rows of `words` words of 16 bytes are moved, with one index for each row.
struct RowMove {
    index_t words, length, step; // step: bytes from row to row of the array
    index_t in_indices, in_other;
};

// Moves rows as pick() moves elements. The grid has a block for each row along x, segments of rows along y.
// Blocks start in the order of x first, so that the same segment of all rows is moved at about the same time:
// a row that several indices select is then read from the cache.
template <class I, Mode MODE, bool PUT>
__device__ __forceinline__ void move_rows(char *array, const char *indices, int *error, char *other,
                                          const RowMove &plan)
{
    int wrong = 0;
    if (PUT && error && *error) return;
    const I index = *reinterpret_cast<const I *>(indices + blockIdx.x * plan.in_indices);
    const index_t number = resolved_index<MODE>(index, plan.length, &wrong);
    const bool is_valid = MODE != RAISE || number >= 0;
    uint4 *const in_array = (uint4 *)(array + number * (MODE == OFFSET ? 1 : plan.step));
    uint4 *const in_other = (uint4 *)(other + blockIdx.x * plan.in_other);
    for (index_t i = (index_t)blockIdx.y * blockDim.x + threadIdx.x; i < plan.words;
         i += (index_t)gridDim.y * blockDim.x) {
        if (!PUT)
            store_once(in_other + i, is_valid ? load_once(in_array + i) : make_uint4(0, 0, 0, 0));
        else if (is_valid)
            store_once(in_array + i, load_once(in_other + i));
    }
    if (MODE == RAISE && !PUT && wrong && error) *error = 1;
}

// Reports an index that is out of bounds: to the host by *error, and to later kernels by *refused if that is
// not null.
template <class I, int D, int U>
__device__ __forceinline__ void check(const char *indices, int *error, int *refused, const Picking<D> &plan)
{
    int wrong = 0;
    for_elements_of_thread<U>(plan.count, [&](auto count, index_t first) {
        I loaded[decltype(count)::value];
        index_t at[decltype(count)::value][3];
        find_indices(indices, plan, first, loaded, at);
#pragma unroll
        for (int u = 0; u < decltype(count)::value; u++)
            resolved_index<RAISE>(loaded[u], plan.length, &wrong);
    });
    if (wrong) *error = 1;
    if (wrong && refused) *refused = 1;
}

// Rows that are gathered from: how many, and the bytes from one to the next in the array and in the indices.
struct Rows {
    index_t count, in_array, in_indices;
};

// out[r][i] = element number indices[r][i] of row r of an array, or 0 where this index is out of bounds. The
// elements of a row are `step` bytes apart. The indices of a row are contiguous, and so are all results. A
// thread gathers V elements of each of R rows and issues their loads together; where R is not 1, the rows
// have the same indices.
template <class T, class I, Mode MODE, int V, int R>
__device__ __forceinline__ void gather(const char *array, const char *indices, int *error, T *out,
                                       index_t count, index_t length, index_t step, const Rows &rows)
{
    const index_t all = (index_t)blockDim.x * V, tiles = (count + all - 1) / all;
    const index_t row = quotient(blockIdx.x, tiles), begin = (blockIdx.x - row * tiles) * all;
    const index_t end = min(begin + all, count);
    const I *const own = (const I *)(indices + row * R * rows.in_indices);
    array += row * R * rows.in_array;
    out += row * R * count;
    int wrong = 0;
    const auto number = [=, &wrong](const I &index) { return resolved_index<MODE>(index, length, &wrong); };
    const auto element = [=](int r, index_t number) {
        const char *const at = array + r * rows.in_array + number * (MODE == OFFSET ? 1 : step);
        return MODE == RAISE && number < 0 ? T() : *reinterpret_cast<const T *>(at);
    };
    const bool whole = begin + all <= count && (R == 1 || count % V == 0);
    if (whole && lanes<I, V, 1>::fit(own) && lanes<T, V, 1>::fit(out)) {
        const index_t first = begin + threadIdx.x * V;
        lanes<I, V, 1> loaded;
        lanes<T, V, 1> values[R];
        index_t at[V];
        loaded.template load<true>(own + first, 0);
#pragma unroll
        for (int v = 0; v < V; v++) at[v] = number(loaded(v));
#pragma unroll
        for (int r = 0; r < R; r++)
            if (R == 1 || row * R + r < rows.count)
#pragma unroll
                for (int v = 0; v < V; v++) values[r](v) = element(r, at[v]);
#pragma unroll
        for (int r = 0; r < R; r++)
            if (R == 1 || row * R + r < rows.count)
                values[r].template store<true>(out + r * count + first, 0);
    } else {
        for (index_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
            const index_t at = number(load_once(own + i));
            for (int r = 0; r < R && row * R + r < rows.count; r++)
                store_once(out + r * count + i, element(r, at));
        }
    }
    if (MODE == RAISE && wrong && error) *error = 1;
}

enum { STAGED_THREADS = 512, STAGED_ROUNDS = 4 };

// Copies a row to shared memory, 16 bytes at a time where it is aligned.
template <class T> __device__ __forceinline__ void stage_row(T *to, const char *from, index_t length)
{
    const index_t words = length * sizeof(T) / sizeof(uint4);
    if (((size_t)from | length * sizeof(T)) % sizeof(uint4) == 0) {
#pragma unroll 4
        for (index_t k = threadIdx.x; k < words; k += STAGED_THREADS)
            ((uint4 *)to)[k] = ((const uint4 *)from)[k];
    } else {
        for (index_t k = threadIdx.x; k < length; k += STAGED_THREADS) to[k] = ((const T *)from)[k];
    }
    __syncthreads();
}

// The same as gather(), for rows of contiguous elements of which many are taken. A block loads one row into
// shared memory, from which elements at random places are read much faster.
template <class T, class I, Mode MODE, int BYTES>
__device__ __forceinline__ void gather_staged(const char *array, const char *indices, int *error, T *out,
                                              index_t count, index_t length, const Rows &rows)
{
    __shared__ uint4 staged[BYTES / sizeof(uint4)];
    const T *const row = (const T *)staged;
    stage_row((T *)staged, array + blockIdx.x * rows.in_array, length);
    const I *const own = (const I *)(indices + blockIdx.x * rows.in_indices);
    out += blockIdx.x * count;
    int wrong = 0;
    for (index_t first = threadIdx.x; first < count; first += STAGED_THREADS * STAGED_ROUNDS) {
        I loaded[STAGED_ROUNDS];
#pragma unroll
        for (int u = 0; u < STAGED_ROUNDS; u++)
            if (first + u * STAGED_THREADS < count) loaded[u] = own[first + u * STAGED_THREADS];
#pragma unroll
        for (int u = 0; u < STAGED_ROUNDS; u++) {
            if (first + u * STAGED_THREADS >= count) break;
            const index_t at = resolved_index<MODE>(loaded[u], length, &wrong);
            out[first + u * STAGED_THREADS] = MODE == RAISE && at < 0 ? T() : row[at];
        }
    }
    if (MODE == RAISE && wrong && error) *error = 1;
}

// Sets offsets[i] to `step` times an index. ADD: adds this to offsets[i].
template <class I, Mode MODE, bool ADD, int D>
__device__ __forceinline__ void add_offsets(index_t *offsets, const char *indices, int *error,
                                            const Picking<D> &plan)
{
    index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < plan.count; i += stride) {
        index_t at[3];
        walk_to<D>(plan.walk, i, at);
        index_t number =
            resolved_index<MODE>(*reinterpret_cast<const I *>(indices + at[1]), plan.length, error);
        if (MODE == RAISE && number < 0) number = 0;
        offsets[i] = (ADD ? offsets[i] : 0) + number * (MODE == OFFSET ? 1 : plan.step);
    }
}

}

#endif
