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

// Gaussian elimination with partial pivoting. Rows are not interchanged but stay in their threads: `place` is
// where the thread's row would be (LANES until its row is chosen as pivot), order[k] the lane of the row that
// would be at place k.
template <class T, int LANES> struct Elimination {
    T row[LANES];
    int place, order[LANES];
    int failed; // the first pivot that is 0, counted from 1, or 0

    __device__ __forceinline__ void eliminate(const Row<LANES> &at)
    {
        typedef typename Number<T>::Real R;
        place = LANES;
        failed = 0;
#pragma unroll
        for (int k = 0; k < LANES; k++) {
            R size = Number<T>::size(row[k]);
            size = size != size ? R(1) / R(0) : size; // a NaN becomes the pivot, so that the results are NaN
            const int pivot = row_of_largest<LANES>(place == LANES ? size : R(-1), at.mine);
            order[k] = at.first + pivot;
            if (at.mine == pivot) place = k;
            const T divisor = from_lane(row[k], order[k]);
            if (divisor == T(0)) {
                failed = failed ? failed : k + 1;
            } else if (place == LANES) {
                row[k] = row[k] / divisor;
            }
#pragma unroll
            for (int j = k + 1; j < LANES; j++) {
                const T above = from_lane(row[j], order[k]);
                if (place == LANES) row[j] = row[j] - row[k] * above;
            }
        }
    }

    // x: the thread's element of a right-hand side. It becomes the element of the solution at `place`.
    template <int N> __device__ __forceinline__ void solve(T (&x)[N]) const
    {
#pragma unroll
        for (int k = 0; k < LANES; k++)
#pragma unroll
            for (int n = 0; n < N; n++) {
                const T solved = from_lane(x[n], order[k]);
                if (place > k) x[n] = x[n] - row[k] * solved;
            }
#pragma unroll
        for (int k = LANES - 1; k >= 0; k--)
#pragma unroll
            for (int n = 0; n < N; n++) {
                if (place == k) x[n] = x[n] / row[k];
                const T solved = from_lane(x[n], order[k]);
                if (place < k) x[n] = x[n] - row[k] * solved;
            }
    }
};

// Replaces b by x, as solve_strided() does.
template <class T, int LANES>
__device__ __forceinline__ void solve_by_lanes(const char *a, T *b, int *info, const Strided &plan)
{
    enum { N = 2 }; // right-hand sides at a time
    const Row<LANES> at(plan.count);
    const int side = plan.side, columns = plan.columns;
    Elimination<T, LANES> e;
    a += at.matrix * plan.matrix + at.mine * plan.row;
    b += at.matrix * side * columns;
#pragma unroll
    for (int j = 0; j < LANES; j++)
        e.row[j] =
            at.mine < side && j < side ? *reinterpret_cast<const T *>(a + j * plan.column) : T(at.mine == j);
    e.eliminate(at);
#pragma unroll 1
    for (int c = 0; c < columns; c += N) {
        T x[N];
#pragma unroll
        for (int n = 0; n < N; n++) {
            const bool is_there = at.mine < side && c + n < columns;
            x[n] = plan.identity ? T(at.mine == c + n) : is_there ? b[at.mine + (c + n) * side] : T(0);
        }
        e.solve(x);
#pragma unroll
        for (int n = 0; n < N; n++)
            if (at.exists && e.place < side && c + n < columns) b[e.place + (c + n) * side] = x[n];
    }
    if (at.exists && at.mine == 0) info[at.matrix] = e.failed;
}

// Replaces a triangle of each matrix by its factor, as factor_cholesky() does.
template <class T, int LANES>
__device__ __forceinline__ void cholesky_by_lanes(T *a, int *info, int side, int upper, int count)
{
    typedef typename Number<T>::Real R;
    const Row<LANES> at(count);
    const int mine = at.mine;
    T row[LANES];
    int failed = 0;
    a += at.matrix * side * side;
#pragma unroll
    for (int j = 0; j < LANES; j++) {
        row[j] = T(mine == j);
        if (mine < side && j <= mine)
            row[j] = upper ? Number<T>::conj(a[j + mine * side]) : a[mine + j * side];
    }
#pragma unroll
    for (int k = 0; k < LANES; k++) {
        const R square = Number<T>::real(from_lane(row[k], at.first + k));
        if (!(square > 0) && !failed) failed = k + 1;
        const T root = T(::sqrt(square));
        if (!failed) row[k] = mine == k ? root : row[k] / root;
#pragma unroll
        for (int j = k + 1; j < LANES; j++) {
            const T factor = Number<T>::conj(from_lane(row[k], at.first + j));
            if (!failed && mine >= j) row[j] = row[j] - row[k] * factor;
        }
    }
#pragma unroll
    for (int j = 0; j < LANES; j++)
        if (at.exists && mine < side && j <= mine) {
            if (upper)
                a[j + mine * side] = Number<T>::conj(row[j]);
            else
                a[mine + j * side] = row[j];
        }
    if (at.exists && mine == 0) info[at.matrix] = failed;
}

} // namespace pycuda

#endif
