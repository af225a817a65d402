// LU and Cholesky factorizations of small matrices, and systems of linear equations that are solved by their
// triangles. A block has one matrix in shared memory. Matrices are contiguous, column by column, as in
// LAPACK.
#ifndef PYCUDA_FACTORIZE_HPP
#define PYCUDA_FACTORIZE_HPP

#include "base/pycuda-elements.hpp"

namespace pycuda
{

// Functions of a number. size() is |re| + |im|, by which LAPACK chooses pivots.
template <class T> struct Number {
    typedef T Real;
    static __device__ __forceinline__ T real(T x) { return x; }
    static __device__ __forceinline__ T conj(T x) { return x; }
    static __device__ __forceinline__ T size(T x) { return ::fabs(x); }
    static __device__ __forceinline__ T nan() { return T(__int_as_float(0x7fffffff)); }
};

#ifdef PYCUDA_COMPLEX_HPP
template <class R> struct Number<complex<R>> {
    typedef R Real;
    static __device__ __forceinline__ R real(const complex<R> &z) { return z._M_re; }
    static __device__ __forceinline__ complex<R> conj(const complex<R> &z)
    {
        return complex<R>(z._M_re, -z._M_im);
    }
    static __device__ __forceinline__ R size(const complex<R> &z)
    {
        return ::fabs(z._M_re) + ::fabs(z._M_im);
    }
    static __device__ __forceinline__ complex<R> nan()
    {
        return complex<R>(Number<R>::nan(), Number<R>::nan());
    }
};
#endif

enum { WARP = 32 };

// Loops over a matrix: a lane takes every 32nd row, from number lane() on; a warp takes every warps()-th
// column.
__device__ __forceinline__ int lane() { return threadIdx.x % WARP; }
__device__ __forceinline__ int warp() { return threadIdx.x / WARP; }
__device__ __forceinline__ int warps() { return blockDim.x / WARP; }

// The distance of columns in shared memory. It is odd, so that the elements of a row are in different banks,
// as those of a column are.
__device__ __forceinline__ int leading(int rows) { return rows | 1; }

template <class T> __device__ __forceinline__ T *shared_memory()
{
    extern __shared__ double2 memory[];
    return reinterpret_cast<T *>(memory);
}

// Copies a matrix from global to shared memory; the caller synchronizes.
template <class T> __device__ void load(T *to, const T *from, int rows, int columns)
{
    for (int j = warp(); j < columns; j += warps())
        for (int i = lane(); i < rows; i += WARP) to[i + j * leading(rows)] = from[i + (index_t)j * rows];
}

// Copies a matrix from shared to global memory.
template <class T> __device__ void store(T *to, const T *from, int rows, int columns)
{
    for (int j = warp(); j < columns; j += warps())
        for (int i = lane(); i < rows; i += WARP) to[i + (index_t)j * rows] = from[i + j * leading(rows)];
}

template <class T> __device__ __forceinline__ void exchange(T &a, T &b)
{
    T kept = a;
    a = b;
    b = kept;
}

// Each of LANES neighboring lanes has the number of a row and a size. Returns, in all of them, the row of the
// largest size, the first one if several are equal.
template <int LANES, class R> __device__ __forceinline__ int row_of_largest(R size, int row)
{
#pragma unroll
    for (int step = LANES / 2; step; step /= 2) {
        R other = __shfl_xor_sync(~0u, size, step);
        int at = __shfl_xor_sync(~0u, row, step);
        if (other > size || (other == size && at < row)) {
            size = other;
            row = at;
        }
    }
    return row;
}

// Finds, by one warp, the row of the largest number of a column from row k on, the first one if several are
// equal. A NaN is chosen only if it is in row k.
template <class T> __device__ int find_pivot(const T *column, int k, int rows)
{
    typedef typename Number<T>::Real R;
    int best = k;
    R largest = Number<T>::size(column[k]);
    if (largest != largest) return k;
    for (int i = k + 1 + lane(); i < rows; i += WARP) {
        R size = Number<T>::size(column[i]);
        if (size > largest) {
            largest = size;
            best = i;
        }
    }
    return row_of_largest<WARP>(largest, best);
}

// Gaussian elimination with partial pivoting, in shared memory. Returns the number, from 1, of the first
// pivot that is 0, or 0 if there is none. pivots: becomes the row, counted from 1, with which each row was
// exchanged; may be NULL.
template <class T> __device__ int eliminate(T *s, index_t *pivots, int rows, int columns)
{
    __shared__ int found;
    const int step = leading(rows), count = rows < columns ? rows : columns;
    int failed = 0;
    for (int k = 0; k < count; k++) {
        __syncthreads();
        if (threadIdx.x < WARP) {
            int pivot = find_pivot(s + k * step, k, rows);
            if (threadIdx.x == 0) {
                found = pivot;
                if (pivots) pivots[k] = pivot + 1;
            }
        }
        __syncthreads();
        const int pivot = found;
        for (int j = threadIdx.x; j < columns && pivot != k; j += blockDim.x)
            exchange(s[k + j * step], s[pivot + j * step]);
        __syncthreads();
        const T divisor = s[k + k * step];
        if (divisor == T(0)) {
            failed = failed ? failed : k + 1;
            continue;
        }
        for (int i = k + 1 + threadIdx.x; i < rows; i += blockDim.x)
            s[i + k * step] = s[i + k * step] / divisor;
        __syncthreads();
        for (int j = k + 1 + warp(); j < columns; j += warps()) {
            const T factor = s[k + j * step];
            for (int i = k + 1 + lane(); i < rows; i += WARP)
                s[i + j * step] = s[i + j * step] - s[i + k * step] * factor;
        }
    }
    __syncthreads();
    return failed;
}

// Replaces each matrix a = P L U by the lower triangle of L, whose diagonal is 1, and the upper triangle U.
// info: what eliminate() returns.
template <class T> __device__ void factor_lu(T *a, index_t *pivots, int *info, int rows, int columns)
{
    T *s = shared_memory<T>();
    a += (index_t)blockIdx.x * rows * columns;
    load(s, a, rows, columns);
    pivots += (index_t)blockIdx.x * (rows < columns ? rows : columns);
    int failed = eliminate(s, pivots, rows, columns);
    store(a, s, rows, columns);
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

// Bytes from one row, column and matrix of an operand to the next.
struct Steps {
    index_t row, column, matrix;
};

// Hermitian matrices of any strides, of which the lower triangle is read. Where `upper`, what is taken for
// the lower triangle is the transposed upper one: a.row and a.column are interchanged.
struct StridedCholesky {
    Steps a;
    int side, upper, count;
};

// Computes the factor of each matrix, a = L L' or U' U, contiguous row by row, with zeros in the other
// triangle. It is NaN where a leading minor is not positive; then *error is set, unless that is NULL, and
// info[matrix], unless that is NULL, becomes the size of the first such minor, otherwise 0.
template <class T>
__device__ void cholesky_strided(const char *a, int *error, int *info, T *factor, const StridedCholesky &plan)
{
    typedef typename Number<T>::Real R;
    T *s = shared_memory<T>();
    const int side = plan.side, step = leading(side);
    int failed = 0;
    a += (index_t)blockIdx.x * plan.a.matrix;
    factor += (index_t)blockIdx.x * side * side;
    for (int j = warp(); j < side; j += warps()) // s becomes the lower triangle
        for (int i = j + lane(); i < side; i += WARP) {
            const T value = *reinterpret_cast<const T *>(a + i * plan.a.row + j * plan.a.column);
            s[i + j * step] = plan.upper ? Number<T>::conj(value) : value;
        }
    for (int k = 0; k < side && !failed; k++) {
        __syncthreads();
        const R square = Number<T>::real(s[k + k * step]);
        if (!(square > 0)) {
            failed = k + 1;
            continue;
        }
        const R root = ::sqrt(square);
        __syncthreads();
        for (int i = k + threadIdx.x; i < side; i += blockDim.x)
            s[i + k * step] = i == k ? T(root) : s[i + k * step] / T(root);
        __syncthreads();
        for (int j = k + 1 + warp(); j < side; j += warps()) {
            const T other = Number<T>::conj(s[j + k * step]);
            for (int i = j + lane(); i < side; i += WARP)
                s[i + j * step] = s[i + j * step] - s[i + k * step] * other;
        }
    }
    __syncthreads();
    for (int i = warp(); i < side; i += warps())
        for (int j = lane(); j < side; j += WARP) {
            const int row = plan.upper ? j : i, column = plan.upper ? i : j; // of L
            const T value = failed ? Number<T>::nan() : column <= row ? s[row + column * step] : T(0);
            factor[i * side + j] = plan.upper ? Number<T>::conj(value) : value;
        }
    if (threadIdx.x == 0 && info) info[blockIdx.x] = failed;
    if (threadIdx.x == 0 && failed && error) *error = 1;
}

struct Triangle {
    int upper, unit; // whether it is the upper one, and whether its diagonal is 1
};

// Systems that are solved by one triangle of each matrix, or by one and then another.
struct Systems {
    index_t columns; // right-hand sides
    int side, tile; // of a matrix; right-hand sides of a block
    int transposed; // 0: triangles as they are, 1: transposed, 2: transposed and conjugated
    int exchanged, count; // rows are exchanged by pivots before (1), after (-1) or never (0); triangles
    Triangle triangles[2];
};

// Element (i, j) of a triangle, or of its transpose.
template <class T> __device__ __forceinline__ T element(const T *s, int i, int j, int step, int transposed)
{
    if (!transposed) return s[i + j * step];
    return transposed == 1 ? s[j + i * step] : Number<T>::conj(s[j + i * step]);
}

// Solves by a triangle for the right-hand sides in x, which is overwritten. The solutions are written to y.
template <class T>
__device__ void solve_triangle(const T *s, T *x, T *y, int side, int columns, Triangle triangle,
                               int transposed)
{
    const int step = leading(side);
    const bool from_last = (triangle.upper != 0) != (transposed != 0);
    for (int n = 0; n < side; n++) {
        const int k = from_last ? side - 1 - n : n, first = from_last ? 0 : k + 1;
        __syncthreads();
        for (int j = warp(); j < columns; j += warps()) {
            T solved = x[k + j * step];
            if (!triangle.unit) solved = solved / element(s, k, k, step, transposed);
            if (lane() == 0) y[k + j * step] = solved;
            for (int i = first + lane(); i < (from_last ? k : side); i += WARP)
                x[i + j * step] = x[i + j * step] - element(s, i, k, step, transposed) * solved;
        }
    }
    __syncthreads();
}

// Exchanges rows by pivots. One thread exchanges the elements of a column.
template <class T>
__device__ void exchange_rows(T *x, const index_t *pivots, int side, int columns, bool from_last)
{
    __syncthreads();
    for (int j = threadIdx.x; j < columns; j += blockDim.x)
        for (int n = 0; n < side; n++) {
            const int k = from_last ? side - 1 - n : n, other = (int)pivots[k] - 1;
            if (other != k) exchange(x[k + j * leading(side)], x[other + j * leading(side)]);
        }
    __syncthreads();
}

// Replaces right-hand sides b by solutions. A block has a tile of right-hand sides of one matrix: matrices
// along x, tiles along y.
template <class T> __device__ void solve(const T *a, const index_t *pivots, T *b, const Systems &systems)
{
    const int side = systems.side;
    const index_t first = (index_t)blockIdx.y * systems.tile, left = systems.columns - first;
    const int columns = left < systems.tile ? (int)left : systems.tile;
    T *s = shared_memory<T>(), *x = s + side * leading(side), *y = x + systems.tile * leading(side);
    a += (index_t)blockIdx.x * side * side;
    b += ((index_t)blockIdx.x * systems.columns + first) * side;
    pivots += (index_t)blockIdx.x * side;
    load(s, a, side, side);
    load(x, b, side, columns);
    if (systems.exchanged > 0) exchange_rows(x, pivots, side, columns, false);
    for (int i = 0; i < systems.count; i++) {
        solve_triangle(s, x, y, side, columns, systems.triangles[i], systems.transposed);
        exchange(x, y);
    }
    if (systems.exchanged < 0) exchange_rows(x, pivots, side, columns, true);
    store(b, x, side, columns);
}

// Systems a x = b of operands of any strides.
struct StridedSystems {
    Steps a, b;
    int side, columns; // of a matrix; right-hand sides
    int identity, count; // whether b is the identity, which is not read; matrices
};

// Copies a matrix of any strides to shared memory; the caller synchronizes.
template <class T>
__device__ void load_strided(T *to, const char *from, const Steps &steps, int rows, int columns)
{
    const bool by_row =
        (steps.row < 0 ? -steps.row : steps.row) <= (steps.column < 0 ? -steps.column : steps.column);
    const int near = by_row ? rows : columns, far = by_row ? columns : rows;
    for (int n = warp(); n < far; n += warps())
        for (int m = lane(); m < near; m += WARP) { // lanes read along the shorter stride
            const int i = by_row ? m : n, j = by_row ? n : m;
            to[i + j * leading(rows)] = *reinterpret_cast<const T *>(from + i * steps.row + j * steps.column);
        }
}

// Computes the solutions x, contiguous row by row. They are NaN for a singular matrix; then *error is set,
// unless that is NULL. In shared memory s is a, and the next columns are the right-hand sides: elimination
// makes s the triangle U. y are the solutions.
template <class T>
__device__ void solve_strided(const char *a, const char *b, int *error, T *x, const StridedSystems &plan)
{
    const int side = plan.side, columns = plan.columns, step = leading(side);
    T *s = shared_memory<T>(), *right = s + side * step, *y = right + columns * step;
    load_strided(s, a + blockIdx.x * plan.a.matrix, plan.a, side, side);
    x += (index_t)blockIdx.x * side * columns;
    if (plan.identity) {
        for (int j = warp(); j < columns; j += warps())
            for (int i = lane(); i < side; i += WARP) right[i + j * step] = T(i == j);
    } else {
        load_strided(right, b + blockIdx.x * plan.b.matrix, plan.b, side, columns);
    }
    const int failed = eliminate(s, (index_t *)0, side, side + columns);
    const Triangle upper = {1, 0}; // whose diagonal is not 1
    solve_triangle(s, right, y, side, columns, upper, 0);
    for (int i = warp(); i < side; i += warps())
        for (int j = lane(); j < columns; j += WARP)
            x[i * columns + j] = failed ? Number<T>::nan() : y[i + j * step];
    if (threadIdx.x == 0 && failed && error) *error = 1;
}

} // namespace pycuda

#endif
