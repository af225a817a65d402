// Systems of linear equations and Cholesky factorizations of small matrices. LANES threads of a warp have one
// matrix, each of them a row in registers. Where the matrix has fewer rows and columns than LANES, it is
// continued by those of the identity.
#ifndef PYCUDA_FACTORIZE_LANES_HPP
#define PYCUDA_FACTORIZE_LANES_HPP

#include "array/pycuda-factorize.hpp"
#include "base/pycuda-exchange.hpp"

namespace pycuda
{

enum { LANES_THREADS = 128 };

// A thread's row of its matrix. Threads for which there is no matrix compute the last one once more.
template <int LANES> struct Row {
    index_t matrix;
    int mine, first; // the row, and the lane that has row 0
    bool exists;

    __device__ __forceinline__ explicit Row(int count)
    {
        matrix = ((index_t)blockIdx.x * LANES_THREADS + threadIdx.x) / LANES;
        mine = threadIdx.x % LANES;
        first = lane() - mine;
        exists = matrix < count;
        matrix = exists ? matrix : count - 1;
    }
};

// The functions that follow assign by conditional expressions, without branches: with branches the compiler
// keeps the arrays in local memory.

// Gaussian elimination with partial pivoting of the first `side` rows. Rows are not interchanged but stay in
// their threads. `place` becomes the place where the thread's row would be, order[k] the lane of the row that
// would be at place k. Returns whether a pivot is 0; then the results are of no use. The other rows take no
// part: 0 times an infinity is a NaN.
template <class T, int LANES>
__device__ __forceinline__ bool eliminate_rows(T (&row)[LANES], int (&order)[LANES], int &place, int side,
                                               const Row<LANES> &at)
{
    typedef typename Number<T>::Real R;
    enum { NOT_YET = LANES }; // the place of a row that was no pivot so far
    bool has_failed = false;
    place = at.mine < side ? (int)NOT_YET : at.mine;
#pragma unroll
    for (int k = 0; k < LANES; k++) {
        R size = Number<T>::size(row[k]);
        size = size != size ? R(1) / R(0) : size; // a NaN becomes the pivot, so that the results are NaN
        const int largest = row_of_largest<LANES>(place == NOT_YET ? size : R(-1), at.mine);
        const int pivot = k < side ? largest : k;
        order[k] = at.first + pivot;
        place = at.mine == pivot ? k : place;
        const T divisor = from_lane(row[k], order[k]);
        has_failed = has_failed || divisor == T(0);
        const T factor = row[k] / divisor;
        row[k] = place == NOT_YET ? factor : row[k];
#pragma unroll
        for (int j = k + 1; j < LANES; j++) {
            const T rest = row[j] - factor * from_lane(row[j], order[k]);
            row[j] = place == NOT_YET ? rest : row[j];
        }
    }
    return has_failed;
}

// Solves for N right-hand sides by what eliminate_rows() left of `side` rows. x: the thread's elements of
// them. They become the elements of the solutions at `place`.
template <class T, int LANES, int N>
__device__ __forceinline__ void solve_by_rows(const T (&row)[LANES], const int (&order)[LANES], int place,
                                              int side, T (&x)[N])
{
#pragma unroll
    for (int k = 0; k < LANES; k++)
#pragma unroll
        for (int n = 0; n < N; n++) {
            const T rest = x[n] - row[k] * from_lane(x[n], order[k]);
            x[n] = place > k ? rest : x[n];
        }
#pragma unroll
    for (int k = LANES - 1; k >= 0; k--)
#pragma unroll
        for (int n = 0; n < N; n++) {
            const T quotient = x[n] / row[k];
            x[n] = place == k ? quotient : x[n];
            const T rest = x[n] - row[k] * from_lane(x[n], order[k]);
            x[n] = place < k && k < side ? rest : x[n];
        }
}

// As solve_strided(), for systems of up to LANES rows, N right-hand sides at a time.
template <class T, int LANES, int N>
__device__ __forceinline__ void solve_by_lanes(const char *a, const char *b, int *error, T *x,
                                               const StridedSystems &plan)
{
    const Row<LANES> at(plan.count);
    const int side = plan.side, columns = plan.columns, mine = at.mine;
    T row[LANES];
    int order[LANES], place;
    a += at.matrix * plan.a.matrix + mine * plan.a.row;
    b += at.matrix * plan.b.matrix + mine * plan.b.row;
    x += at.matrix * side * columns;
#pragma unroll
    for (int j = 0; j < LANES; j++) {
        row[j] = T(mine == j);
        if (mine < side && j < side) row[j] = *reinterpret_cast<const T *>(a + j * plan.a.column);
    }
    const bool has_failed = eliminate_rows(row, order, place, side, at);
#pragma unroll 1
    for (int c = 0; c < columns; c += N) {
        T solved[N];
#pragma unroll
        for (int n = 0; n < N; n++) {
            solved[n] = T(plan.identity && mine == c + n);
            if (!plan.identity && mine < side && c + n < columns)
                solved[n] = *reinterpret_cast<const T *>(b + (c + n) * plan.b.column);
        }
        solve_by_rows(row, order, place, side, solved);
#pragma unroll
        for (int n = 0; n < N; n++)
            if (at.exists && place < side && c + n < columns)
                x[place * columns + c + n] = has_failed ? Number<T>::nan() : solved[n];
    }
    if (has_failed && error) *error = 1;
}

// As cholesky_strided(), for matrices of up to LANES rows.
template <class T, int LANES>
__device__ __forceinline__ void cholesky_by_lanes(const char *a, int *error, int *info, T *factor,
                                                  const StridedCholesky &plan)
{
    typedef typename Number<T>::Real R;
    const Row<LANES> at(plan.count);
    const int mine = at.mine, side = plan.side;
    T row[LANES];
    int failed = 0;
    a += at.matrix * plan.a.matrix + mine * plan.a.row;
    factor += at.matrix * side * side;
#pragma unroll
    for (int j = 0; j < LANES; j++) {
        row[j] = T(mine == j);
        if (mine < side && j <= mine) row[j] = *reinterpret_cast<const T *>(a + j * plan.a.column);
        row[j] = plan.upper ? Number<T>::conj(row[j]) : row[j];
    }
#pragma unroll
    for (int k = 0; k < LANES; k++) {
        const R square = Number<T>::real(from_lane(row[k], at.first + k));
        failed = !failed && !(square > 0) ? k + 1 : failed;
        const T root = T(::sqrt(square)), quotient = row[k] / root;
        row[k] = mine == k ? root : quotient;
#pragma unroll
        for (int j = k + 1; j < LANES; j++)
            row[j] = row[j] - row[k] * Number<T>::conj(from_lane(row[k], at.first + j));
    }
#pragma unroll
    for (int j = 0; j < LANES; j++)
        if (at.exists && mine < side && j < side) {
            const T value = failed ? Number<T>::nan() : j <= mine ? row[j] : T(0);
            factor[plan.upper ? j * side + mine : mine * side + j] =
                plan.upper ? Number<T>::conj(value) : value;
        }
    if (at.exists && mine == 0 && info) info[at.matrix] = failed;
    if (failed && error) *error = 1;
}

} // namespace pycuda

#endif
