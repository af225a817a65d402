// Building blocks of the kernels of elementwise operations: parameter structures, and functions that C++
// lacks or whose results differ from NumPy's. Elements and their conversions are in pycuda-elements.hpp.
#ifndef PYCUDA_ELEMENTWISE_HPP
#define PYCUDA_ELEMENTWISE_HPP

#include "base/pycuda-elements.hpp"

#define PYCUDA_INLINE __device__ __forceinline__

namespace pycuda {

template <class T, int N> struct alignas(N == 1 ? alignof(T) : sizeof(T) * N) Vector { T at[N]; };

// N operands over D axes, the innermost last; strides in bytes. The fields are those of the launch,
// which core/layout/elementwise_layouts.def lists.
template <int N, int D> struct OperandAxes {
    PYCUDA_OPERAND_AXES
};

// The offset of element i in each operand, in bytes.
template <int N, int D>
PYCUDA_INLINE void find_offsets(const OperandAxes<N, D> &p, unsigned long long i, long long (&offsets)[N])
{
#pragma unroll
    for (int k = 0; k < N; k++) offsets[k] = 0;
#pragma unroll
    for (int d = D - 1; d >= 0; d--) {
        unsigned long long q = d == 0 ? 0 : i / p.shape[d];
        unsigned long long at = i - q * p.shape[d];
#pragma unroll
        for (int k = 0; k < N; k++) offsets[k] += (long long)at * p.strides[k][d];
        i = q;
    }
}

// The same for arrays whose number of elements and strides fit into 31 bits.
template <int N, int D>
PYCUDA_INLINE void find_offsets(const OperandAxes<N, D> &p, unsigned i, long long (&offsets)[N])
{
#pragma unroll
    for (int k = 0; k < N; k++) offsets[k] = 0;
#pragma unroll
    for (int d = D - 1; d >= 0; d--) {
        unsigned q = d == 0 ? 0 : p.dividers[d].divide(i);
        int at = (int)(i - q * p.dividers[d].divisor);
#pragma unroll
        for (int k = 0; k < N; k++)
            asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(offsets[k]) : "r"(at), "r"((int)p.strides[k][d]));
        i = q;
    }
}

// ---- tiles of the last two axes, SIDE elements along both

// Where a block's tile begins in each operand, and how many rows and columns it has.
template <int SIDE, int N, int D>
PYCUDA_INLINE void find_tile(const OperandAxes<N, D> &p, long long (&at)[N], long long &rows,
                             long long &columns)
{
    const unsigned long long wide = (p.shape[D - 1] + SIDE - 1) / SIDE,
                             high = (p.shape[D - 2] + SIDE - 1) / SIDE;
    unsigned long long outer = blockIdx.x / wide;
    const unsigned long long x = (blockIdx.x - outer * wide) * SIDE;
    unsigned long long q = outer / high;
    const unsigned long long y = (outer - q * high) * SIDE;
    rows = min((long long)(p.shape[D - 2] - y), (long long)SIDE);
    columns = min((long long)(p.shape[D - 1] - x), (long long)SIDE);
#pragma unroll
    for (int k = 0; k < N; k++)
        at[k] = (long long)y * p.strides[k][D - 2] + (long long)x * p.strides[k][D - 1];
#pragma unroll
    for (int d = D - 3; d >= 0; d--) {
        const unsigned long long rest = d == 0 ? 0 : q / p.shape[d];
#pragma unroll
        for (int k = 0; k < N; k++) at[k] += (long long)(q - rest * p.shape[d]) * p.strides[k][d];
        q = rest;
    }
}

// Loads U elements of an operand for a thread: those of its column of the tile. A transposed operand is
// staged in shared memory, whose rows are padded by one element against bank conflicts.
template <int SIDE, int U, class T>
PYCUDA_INLINE void load_tile(T (&v)[U], T *tile, bool transposed, const char *from, long long row_stride,
                             long long column_stride, long long rows, long long columns)
{
    const int fast = threadIdx.x % SIDE, slow = threadIdx.x / SIDE, step = SIDE * SIDE / U / SIDE;
#pragma unroll
    for (int u = 0; u < U; u++) {
        const int other = slow + u * step, y = transposed ? fast : other, x = transposed ? other : fast;
        if (y < rows && x < columns) v[u] = *(const T *)(from + y * row_stride + x * column_stride);
    }
    if (!transposed) return;
#pragma unroll
    for (int u = 0; u < U; u++) tile[fast * (SIDE + 1) + slow + u * step] = v[u];
}

// Loads the U elements of a thread's column of the tile from shared memory, where load_tile() has staged
// them.
template <int SIDE, int U, class T> PYCUDA_INLINE void transpose_tile(T (&v)[U], const T *tile)
{
    const int step = SIDE * SIDE / U / SIDE;
#pragma unroll
    for (int u = 0; u < U; u++)
        v[u] = tile[(threadIdx.x / SIDE + u * step) * (SIDE + 1) + threadIdx.x % SIDE];
}

// Converts an element to a number, or a number to an element, of any types.
template <class T, class From> PYCUDA_INLINE T convert(const From &x)
{
    T result;
    put(result, value(x));
    return result;
}

template <int V, class T> PYCUDA_INLINE Vector<T, V> &vector_at(T *at) { return *(Vector<T, V> *)at; }
template <int V, class T> PYCUDA_INLINE const Vector<T, V> &vector_at(const T *at)
{
    return *(const Vector<T, V> *)at;
}

// Loads V elements of a row. is_one: the operand has one element for the whole row, which is repeated.
template <class T, int V> PYCUDA_INLINE void load_of_row(Vector<T, V> &to, const char *from, bool is_one)
{
    if (!is_one) {
        to = vector_at<V>((const T *)from);
        return;
    }
    const T one = *(const T *)from;
#pragma unroll
    for (int v = 0; v < V; v++) to.at[v] = one;
}

// ---- integers

template <class T> struct is_signed { static const bool value = T(-1) < T(0); };

template <class T> PYCUDA_INLINE T absolute(T a) { return is_signed<T>::value && a < T(0) ? (T)-a : a; }

template <class T> PYCUDA_INLINE T floor_divide(T a, T b)
{
    if (b == 0) return 0;
    if (is_signed<T>::value && b == T(-1)) return (T)(0ull - (unsigned long long)a);
    T q = a / b;
    return is_signed<T>::value && a % b != 0 && (a < 0) != (b < 0) ? (T)(q - 1) : q;
}
template <class T> PYCUDA_INLINE T modulo(T a, T b)
{
    if (b == 0 || (is_signed<T>::value && b == T(-1))) return 0;
    T r = a % b;
    return is_signed<T>::value && r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
template <class T> PYCUDA_INLINE T truncated_modulo(T a, T b)
{
    return b == 0 || (is_signed<T>::value && b == T(-1)) ? T(0) : (T)(a % b);
}
template <class T> PYCUDA_INLINE T integer_power(T base, T exponent)
{
    if (is_signed<T>::value && exponent < 0)
        return base == 1 ? T(1) : base == T(-1) ? (exponent % 2 == 0 ? T(1) : T(-1)) : T(0);
    T result = 1;
    while (exponent) {
        if (exponent & 1) result = (T)((unsigned long long)result * (unsigned long long)base);
        base = (T)((unsigned long long)base * (unsigned long long)base);
        exponent = (T)(exponent >> 1);
    }
    return result;
}
// Exponents of ldexp are clamped to this range, beyond which every result is infinite or 0.
template <class T> PYCUDA_INLINE int exponent(T n)
{
    return n > T(9999) ? 9999 : n < T(-9999) ? -9999 : (int)n;
}
template <class T> PYCUDA_INLINE T shift_left(T a, T count)
{
    return (unsigned long long)count < sizeof(T) * 8 ? (T)((unsigned long long)a << count) : T(0);
}
template <class T> PYCUDA_INLINE T shift_right(T a, T count)
{
    return (unsigned long long)count < sizeof(T) * 8 ? (T)(a >> count)
           : is_signed<T>::value && a < 0            ? T(-1)
                                                     : T(0);
}
// The greatest common divisor is computed from magnitudes, in unsigned types: signed ones cannot hold the
// magnitude of the lowest number. Results that do not fit wrap around.
template <bool Wide> struct Magnitude { typedef unsigned type; };
template <> struct Magnitude<true> { typedef unsigned long long type; };

template <class U, class T> PYCUDA_INLINE U magnitude(T a)
{
    return is_signed<T>::value && a < T(0) ? 0 - (U)a : (U)a;
}

template <class U> PYCUDA_INLINE U gcd_of(U a, U b)
{
    while (a != 0) {
        U c = a;
        a = b % a;
        b = c;
    }
    return b;
}
template <class T> PYCUDA_INLINE T gcd(T a, T b)
{
    typedef typename Magnitude<(sizeof(T) > 4)>::type U;
    return (T)gcd_of<U>(magnitude<U>(a), magnitude<U>(b));
}
template <class T> PYCUDA_INLINE T lcm(T a, T b)
{
    typedef typename Magnitude<(sizeof(T) > 4)>::type U;
    const U x = magnitude<U>(a), y = magnitude<U>(b), divisor = gcd_of<U>(x, y);
    return divisor == 0 ? T(0) : (T)(x / divisor * y);
}
template <class T> PYCUDA_INLINE int bit_count(T a)
{
    return __popcll(magnitude<typename Magnitude<(sizeof(T) > 4)>::type>(a));
}

// ---- comparisons: integers of different signs as numbers, complex numbers by real part, then imaginary part

template <class A, class B> struct Order {
    static PYCUDA_INLINE bool less(const A &a, const B &b) { return a < b; }
    static PYCUDA_INLINE bool less_equal(const A &a, const B &b) { return a <= b; }
    static PYCUDA_INLINE bool equal(const A &a, const B &b) { return a == b; }
};
template <> struct Order<long long, unsigned long long> {
    typedef unsigned long long U;
    static PYCUDA_INLINE bool less(long long a, U b) { return a < 0 || (U)a < b; }
    static PYCUDA_INLINE bool less_equal(long long a, U b) { return a < 0 || (U)a <= b; }
    static PYCUDA_INLINE bool equal(long long a, U b) { return a >= 0 && (U)a == b; }
};
template <> struct Order<unsigned long long, long long> {
    typedef unsigned long long U;
    static PYCUDA_INLINE bool less(U a, long long b) { return b >= 0 && a < (U)b; }
    static PYCUDA_INLINE bool less_equal(U a, long long b) { return b >= 0 && a <= (U)b; }
    static PYCUDA_INLINE bool equal(U a, long long b) { return b >= 0 && a == (U)b; }
};
#ifdef PYCUDA_COMPLEX_HPP
template <class T> struct Order<complex<T>, complex<T> > {
    typedef const complex<T> &Z;
    static PYCUDA_INLINE bool less(Z a, Z b)
    {
        return (a._M_re < b._M_re && a._M_im == a._M_im && b._M_im == b._M_im)
               || (a._M_re == b._M_re && a._M_im < b._M_im);
    }
    static PYCUDA_INLINE bool less_equal(Z a, Z b)
    {
        return (a._M_re < b._M_re && a._M_im == a._M_im && b._M_im == b._M_im)
               || (a._M_re == b._M_re && a._M_im <= b._M_im);
    }
    static PYCUDA_INLINE bool equal(Z a, Z b) { return a._M_re == b._M_re && a._M_im == b._M_im; }
};
template <class T> PYCUDA_INLINE bool is_nan(const complex<T> &z)
{
    return z._M_re != z._M_re || z._M_im != z._M_im;
}
#endif

template <class A, class B> PYCUDA_INLINE bool less(const A &a, const B &b)
{
    return Order<A, B>::less(a, b);
}
template <class A, class B> PYCUDA_INLINE bool less_equal(const A &a, const B &b)
{
    return Order<A, B>::less_equal(a, b);
}
template <class A, class B> PYCUDA_INLINE bool equal(const A &a, const B &b)
{
    return Order<A, B>::equal(a, b);
}

PYCUDA_INLINE bool is_nan(float x) { return x != x; }
PYCUDA_INLINE bool is_nan(double x) { return x != x; }
template <class T> PYCUDA_INLINE bool is_nan(const T &) { return false; }

// The maximum and the minimum; NaN if an operand is NaN, the first one that is.
template <class T> PYCUDA_INLINE T maximum(const T &a, const T &b)
{
    return is_nan(a) || less_equal(b, a) ? a : b;
}
template <class T> PYCUDA_INLINE T minimum(const T &a, const T &b)
{
    return is_nan(a) || less_equal(a, b) ? a : b;
}
// The maximum and the minimum of the operands that are not NaN.
template <class T> PYCUDA_INLINE T fmaximum(const T &a, const T &b)
{
    return is_nan(b) || less_equal(b, a) ? a : b;
}
template <class T> PYCUDA_INLINE T fminimum(const T &a, const T &b)
{
    return is_nan(b) || less_equal(a, b) ? a : b;
}

// ---- floats

// The hypotenuse. An operand too small to affect the result is dropped, as CUDA's hypot may round the result
// up to infinity where the other operand is one of the largest numbers.
template <class T> PYCUDA_INLINE T hypotenuse(T a, T b)
{
    const T x = ::fabs(a), y = ::fabs(b), lost = sizeof(T) == 4 ? T(1e-4) : T(3e-9);
    if (x <= y * lost) return y;
    return y <= x * lost ? x : ::hypot(x, y);
}
// The number after a towards b, among those that Stored can hold.
template <class Stored> PYCUDA_INLINE float next_number(float a, float b)
{
    Stored next;
    put(next, a);
    if (a == b || a != a || b != b) return a == b ? b : a + b;
    if (a == 0)
        next.bits = b < 0 ? 0x8001 : 1;
    else
        next.bits += (a < b) == (a > 0) ? 1 : -1;
    return value(next);
}
template <> PYCUDA_INLINE float next_number<float>(float a, float b) { return ::nextafter(a, b); }
template <class Stored> PYCUDA_INLINE double next_number(double a, double b) { return ::nextafter(a, b); }
// The distance to the next number away from zero. As in NumPy, in half precision it is the distance to the
// next larger number, and in bfloat16 the spacing of -0 is taken downward.
template <class Stored> PYCUDA_INLINE bool is_spaced_downward(double a) { return a < 0; }
template <> PYCUDA_INLINE bool is_spaced_downward<half_bits>(double) { return false; }
template <> PYCUDA_INLINE bool is_spaced_downward<bfloat16_bits>(double a) { return signbit(a); }
template <class Stored, class T> PYCUDA_INLINE T spacing(T a)
{
    return next_number<Stored>(a, is_spaced_downward<Stored>(a) ? -T(INFINITY) : T(INFINITY)) - a;
}
// As Python's divmod: the remainder has the sign of the divisor, and the quotient is an integer.
template <class T> PYCUDA_INLINE T float_divmod(T a, T b, T &remainder)
{
    T mod = fmod(a, b);
    if (b == 0) {
        remainder = mod;
        return a / b;
    }
    T quotient = (a - mod) / b;
    if (mod != 0) {
        if ((b < 0) != (mod < 0)) {
            mod += b;
            quotient -= T(1);
        }
    } else {
        mod = copysign(T(0), b);
    }
    remainder = mod;
    if (quotient == 0) return copysign(T(0), a / b);
    T whole = floor(quotient);
    return quotient - whole > T(0.5) ? whole + T(1) : whole;
}
template <class T> PYCUDA_INLINE T float_floor_divide(T a, T b)
{
    T remainder;
    return float_divmod(a, b, remainder);
}
template <class T> PYCUDA_INLINE T float_modulo(T a, T b)
{
    T remainder;
    float_divmod(a, b, remainder);
    return remainder;
}
template <class T> PYCUDA_INLINE T log_sum_exp(T a, T b)
{
    if (a == b) return a + T(0.69314718055994530942);
    T d = a - b;
    return d > 0 ? a + log1p(exp(-d)) : d <= 0 ? b + log1p(exp(d)) : d;
}
template <class T> PYCUDA_INLINE T log_sum_exp2(T a, T b)
{
    const T log2_e = T(1.44269504088896340736);
    if (a == b) return a + T(1);
    T d = a - b;
    return d > 0 ? a + log2_e * log1p(exp2(-d)) : d <= 0 ? b + log2_e * log1p(exp2(d)) : d;
}
template <class T> PYCUDA_INLINE T sign(const T &a)
{
    if (is_nan(a)) return a;
    return a > T(0) ? T(1) : is_signed<T>::value && a < T(0) ? T(-1) : T(0);
}

// ---- complex numbers, in NumPy's steps

#ifdef PYCUDA_COMPLEX_HPP
// z / |z|; NaN where a part is NaN or both are infinite.
template <class T> PYCUDA_INLINE complex<T> sign(const complex<T> &z)
{
    const T x = z._M_re, y = z._M_im, length = hypotenuse(x, y);
    if (is_nan(x) || is_nan(y)) return complex<T>(x + y, x + y);
    if (length == 0) return complex<T>();
    if (!isinf(length)) return complex<T>(x / length, y / length);
    if (isinf(x) && isinf(y)) return complex<T>(x - x, x - x);
    return isinf(x) ? complex<T>(::copysign(T(1), x), T(0)) : complex<T>(T(0), ::copysign(T(1), y));
}
template <class T> PYCUDA_INLINE complex<T> reciprocal(const complex<T> &z)
{
    if (::fabs(z._M_im) <= ::fabs(z._M_re)) {
        const T ratio = z._M_im / z._M_re, scale = z._M_re + z._M_im * ratio;
        return complex<T>(T(1) / scale, -ratio / scale);
    }
    const T ratio = z._M_re / z._M_im, scale = z._M_re * ratio + z._M_im;
    return complex<T>(ratio / scale, T(-1) / scale);
}
#endif

} // namespace pycuda

#endif
