/* Products of matrices: fragments to arrays, sums of products, arrays to fragments.
 *
 * Products of halves, bfloat16 and tf32 are exact. Up to GROUP products and the number that they are added
 * to are summed as tensor cores do it: all are aligned to the largest exponent among them, truncated two
 * bits below the last one of a float, and added; the sum is truncated to a float, or rounded to a half.
 *
 * FP8 numbers (e4m3, e5m2) are multiplied as on sm_90, which has no instruction for them: by two products of
 * halves, first of the lower two bytes of each register, then of the upper two; c is added last, rounded to
 * nearest. wgmma multiplies them as they are: 32 products and c are summed at a time, all truncated 13 bits
 * below the first one, and a sum that is a float keeps 13 bits of its fraction.
 */
#include "exec/collective/product.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#include "exec/numbers/half.h"

enum { MAX_COLUMNS = 32, MAX_RESULTS = 512 }; /* of a product */
enum { NO_EXPONENT = -4096 }; /* of zero: less than the sum of any two others */
#define F16_NEGATIVE_ZERO 0x8000u
#define F32_NEGATIVE_ZERO 0x80000000u

/* --- values -------------------------------------------------------------------------------------------- */

static double power_of_2(int exponent) { return f64_from((uint64_t)(1023 + exponent) << 52); }

static bool is_narrow(MatrixType type) { return type == MATRIX_E4M3 || type == MATRIX_E5M2; }

/* The exponent that a number is stored with: subnormal numbers have the minimum. FP8 numbers have been
 * converted to halves. */
static int32_t exponent_of(double x, MatrixType type)
{
    int min = type == MATRIX_F16 || is_narrow(type) ? -14 : -126, exponent;
    if (x == 0) return NO_EXPONENT;
    exponent = (int)(f64_bits(x) >> 52 & 2047) - 1023;
    return exponent < min ? min : exponent;
}

/* The bits are moved to the places that they have in a half, whose exponent has a bias of 15 instead of
 * 7: the factor 2^8 corrects that, exactly. */
static double e4m3_to_f32(uint32_t byte)
{
    uint32_t magnitude = byte & 0x7f, half = (byte & 0x80) << 8 | magnitude << 7;
    return magnitude == 0x7f ? NAN : f16_to_f32(half) * 0x1p8;
}

/* The bits of a number rounded towards zero to a float; beyond the range of floats it becomes infinite. */
static uint32_t to_f32(double x)
{
    float f = (float)x;
    uint32_t bits = f32_bits(f);
    if (x != x) return F32_NAN;
    if (fabs(x) >= 0x1p128 || fabs((double)f) <= fabs(x)) return bits;
    return bits - 1;
}

/* The bits of a number rounded to nearest even to a half. */
static uint32_t to_f16(double x)
{
    uint32_t sign = signbit(x) ? 0x8000 : 0, bits;
    double a = fabs(x);
    if (x != x) return HALF_NAN;
    if (a < 0x1p-14) return sign | (uint32_t)rint(a * 0x1p24);
    if (a >= 0x1p16) return sign | F16_INF;
    int exponent = ilogb(a);
    bits = ((uint32_t)(exponent + 14) << 10) + (uint32_t)rint(a * power_of_2(10 - exponent));
    return sign | bits;
}

/* --- fragments ----------------------------------------------------------------------------------------- */

static int64_t integer_element(MatrixType type, uint32_t word, unsigned element)
{
    unsigned bits = matrix_type_bits(type);
    if (type == MATRIX_S32) return (int32_t)word;
    uint32_t raw = word >> bits * element & ((1u << bits) - 1);
    bool negative = (type == MATRIX_S8 || type == MATRIX_S4) && raw >> (bits - 1);
    return (int64_t)raw - (negative ? (int64_t)1 << bits : 0);
}

static double real_element(MatrixType type, uint32_t word, unsigned element)
{
    switch (type) {
    case MATRIX_F16: return f16_to_f32(word >> 16 * (element & 1) & 0xffff);
    case MATRIX_BF16: return bf16_to_f32(word >> 16 * (element & 1) & 0xffff);
    case MATRIX_TF32: return f32_from(word & 0xffffe000);
    case MATRIX_E4M3: return e4m3_to_f32(word >> 8 * (element & 3) & 0xff);
    case MATRIX_E5M2: return f16_to_f32((word >> 8 * (element & 3) & 0xff) << 8);
    default: return f32_from(word);
    }
}

/* Stores element e of a register's word as element `index` of the matrix. For elements of one bit see
 * take_bits(). */
static void take_element(const Fragment *f, Matrix *m, unsigned index, unsigned e, uint64_t word)
{
    if (f->type == MATRIX_F64) {
        memcpy(&m->value[index], &word, sizeof word);
    } else if (matrix_is_real(f->type)) {
        m->value[index] = real_element((MatrixType)f->type, (uint32_t)word, e);
        m->exponent[index] = exponent_of(m->value[index], (MatrixType)f->type);
    } else {
        m->integer[index] = integer_element((MatrixType)f->type, (uint32_t)word, e);
    }
}

/* Stores a word of bits along k, the first of which is the element at that place. They stay in one word:
 * `integer` has the words of a by rows, those of b by columns. */
static void take_bits(const Fragment *f, Matrix *m, MatrixPlace at, uint32_t word)
{
    unsigned depth = (f->role == MATRIX_A ? f->columns : f->rows) / 32u;
    unsigned line = f->role == MATRIX_A ? at.row : at.column,
             along = f->role == MATRIX_A ? at.column : at.row;
    m->integer[line * depth + along / 32] = word;
}

void matrix_take_word(const Fragment *f, Matrix *m, MatrixPlace first, bool down, uint32_t word)
{
    unsigned packed = fragment_packed(f), index = first.row * f->columns + first.column;
    if (f->type == MATRIX_B1) {
        take_bits(f, m, first, word);
        return;
    }
    for (unsigned e = 0; e < packed; e++) take_element(f, m, index + e * (down ? f->columns : 1u), e, word);
}

void matrix_clear(const Fragment *f, Matrix *m)
{
    for (unsigned k = 0; k < (unsigned)f->rows * f->columns; k++) take_element(f, m, k, 0, 0);
}

/* A lane's register r, in the order of matrix_refs(). */
static uint64_t lane_word(const Collective *collective, const Fragment *f, unsigned lane, unsigned r)
{
    const uint8_t *row = collective_rows(collective, lane, matrix_refs(collective, lane)[r]);
    return f->type == MATRIX_F64 ? ((const uint64_t *)(const void *)row)[lane]
                                 : ((const uint32_t *)(const void *)row)[lane];
}

/* The index of an element in a matrix, row by row. */
static unsigned index_of(const Fragment *f, unsigned packed, MatrixPlace start, unsigned lane, unsigned e)
{
    MatrixPlace at = fragment_lane(f, packed, lane, e);
    return (start.row + at.row) * f->columns + start.column + at.column;
}

void matrix_read_fragment(const Collective *collective, const Fragment *f, unsigned first, Matrix *m)
{
    unsigned packed = fragment_packed(f), registers = fragment_needed(f);
    for (unsigned r = 0; r < registers; r++) {
        MatrixPlace start = fragment_register(f, r);
        for (unsigned l = 0; l < WARP_LANES; l++) {
            uint64_t word = lane_word(collective, f, l, first + r);
            if (f->type == MATRIX_B1) take_bits(f, m, fragment_place(f, l, r, 0), (uint32_t)word);
            for (unsigned e = 0; f->type != MATRIX_B1 && e < packed; e++)
                take_element(f, m, index_of(f, packed, start, l, e), e, word);
        }
    }
}

/* A sum is never a negative zero, not even if it becomes zero by rounding. */
static uint64_t result_bits(const Fragment *f, const Matrix *m, unsigned index)
{
    uint64_t bits;
    switch (f->type) {
    case MATRIX_F64: memcpy(&bits, &m->value[index], sizeof bits); return bits;
    case MATRIX_S32: return (uint32_t)m->integer[index];
    case MATRIX_F16: bits = to_f16(m->value[index]); return bits == F16_NEGATIVE_ZERO ? 0 : bits;
    default: bits = to_f32(m->value[index]); return bits == F32_NEGATIVE_ZERO ? 0 : bits;
    }
}

void matrix_write_fragment(const Collective *collective, const Fragment *f, unsigned first, const Matrix *m)
{
    unsigned packed = fragment_packed(f);
    for (unsigned r = 0; r < f->registers; r++) {
        MatrixPlace start = fragment_register(f, r);
        for (unsigned l = 0; l < WARP_LANES; l++) {
            Ref ref = matrix_refs(collective, l)[first + r];
            uint64_t word = 0;
            if (ref == REF_ABSENT) continue;
            for (unsigned e = 0; e < packed; e++)
                word |= result_bits(f, m, index_of(f, packed, start, l, e)) << 16 * e;
            uint8_t *row = collective_rows(collective, l, ref);
            if (f->type == MATRIX_F64)
                ((uint64_t *)(void *)row)[l] = word;
            else
                ((uint32_t *)(void *)row)[l] = (uint32_t)word;
        }
    }
}

/* --- products ------------------------------------------------------------------------------------------ */

/* Sums of a row of results. */
typedef struct Sums {
    double value[MAX_COLUMNS];
    int32_t exponent[MAX_COLUMNS];
} Sums;

/* How products are summed: so many at a time, with so many bits kept below the first one. */
typedef struct Summation {
    unsigned group;
    int below;
} Summation;

static Summation summation_of(const MatrixProduct *p)
{
    enum { FLOAT_BITS = 23 + 2, NARROW_BITS = 13 };
    if (is_narrow((MatrixType)p->a.type)) return (Summation){32, NARROW_BITS};
    return (Summation){p->a.type == MATRIX_TF32 ? 8 : 16, FLOAT_BITS};
}

/* Adds to each sum of a row the products of `count` elements of a (exponents ea) with those of b's
 * columns (exponents eb), all truncated `below` bits below the first one. n: columns. */
static void add_group(Sums *s, const double *a, const int32_t *ea, const double *b, const int32_t *eb,
                      unsigned count, unsigned n, int below)
{
    int32_t top[MAX_COLUMNS];
    double scale[MAX_COLUMNS], sum[MAX_COLUMNS];
    for (unsigned j = 0; j < n; j++) top[j] = s->exponent[j];
    for (unsigned k = 0; k < count; k++) {
        for (unsigned j = 0; j < n; j++) {
            int32_t e = ea[k] + eb[k * n + j];
            top[j] = e > top[j] ? e : top[j];
        }
    }
    for (unsigned j = 0; j < n; j++) {
        top[j] = top[j] > NO_EXPONENT / 2 ? top[j] : 0;
        scale[j] = power_of_2(below - top[j]);
        sum[j] = (int32_t)(s->value[j] * scale[j]);
    }
    for (unsigned k = 0; k < count; k++) {
        for (unsigned j = 0; j < n; j++) sum[j] += (int32_t)(a[k] * b[k * n + j] * scale[j]);
    }
    for (unsigned j = 0; j < n; j++) s->value[j] = sum[j] * power_of_2(top[j] - below);
}

/* If some element is infinite or NaN, `nonfinite` gets the whole product by plain sums, these elements
 * become zeros, and the result is true. */
static bool separate_nonfinite(const MatrixProduct *p, Matrix *a, Matrix *b, Matrix *c, double *nonfinite)
{
    unsigned m = p->a.rows, k = p->a.columns, n = p->b.columns;
    bool finite = true;
    Matrix *parts[] = {a, b, c};
    unsigned sizes[] = {m * k, k * n, m * n};
    for (int part = 0; part < 3; part++) {
        const double *value = parts[part]->value;
        /* All elements have values; the compiler does not know that no dimension is 0. */
        for (unsigned x = 0; x < sizes[part]; x++) {
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
            finite &= value[x] - value[x] == 0;
        }
    }
    if (finite) return false;
    for (unsigned i = 0; i < m; i++) {
        for (unsigned j = 0; j < n; j++) {
            nonfinite[i * n + j] = c->value[i * n + j];
            for (unsigned x = 0; x < k; x++)
                nonfinite[i * n + j] += a->value[i * k + x] * b->value[x * n + j];
        }
    }
    for (int part = 0; part < 3; part++) {
        for (unsigned x = 0; x < sizes[part]; x++) {
            if (parts[part]->value[x] - parts[part]->value[x] == 0) continue;
            parts[part]->value[x] = 0;
            parts[part]->exponent[x] = NO_EXPONENT;
        }
    }
    return true;
}

static void multiply_reals(const MatrixProduct *p, Matrix *a, Matrix *b, Matrix *c)
{
    unsigned m = p->a.rows, depth = p->a.columns, n = p->b.columns;
    const Summation summation = summation_of(p);
    double nonfinite[MAX_RESULTS];
    bool any_nonfinite = separate_nonfinite(p, a, b, c, nonfinite);
    for (unsigned i = 0; i < m; i++) {
        Sums s;
        memcpy(s.value, c->value + i * n, n * sizeof(double));
        memcpy(s.exponent, c->exponent + i * n, n * sizeof(int32_t));
        for (unsigned k = 0; k < depth; k += summation.group) {
            unsigned count = depth - k < summation.group ? depth - k : summation.group;
            for (unsigned j = 0; k && j < n; j++) {
                s.value[j] = f32_from(to_f32(s.value[j]));
                s.exponent[j] = exponent_of(s.value[j], MATRIX_F32);
            }
            add_group(&s, a->value + i * depth + k, a->exponent + i * depth + k, b->value + k * n,
                      b->exponent + k * n, count, n, summation.below);
        }
        memcpy(c->value + i * n, s.value, n * sizeof(double));
    }
    for (unsigned x = 0; any_nonfinite && x < m * n; x++)
        if (nonfinite[x] - nonfinite[x] != 0) c->value[x] = nonfinite[x];
}

/* Rounds a sum to the type of the result. */
static double rounded(double x, unsigned type)
{
    return type == MATRIX_F16 ? f16_to_f32(to_f16(x)) : f32_from(to_f32(x));
}

/* Copies the first two (pair 0) or the last two (pair 1) of every four columns of a to x, and of rows of
 * b to y. */
static void select_columns(const MatrixProduct *p, const Matrix *a, const Matrix *b, unsigned pair, Matrix *x,
                           Matrix *y)
{
    unsigned m = p->a.rows, depth = p->a.columns, n = p->b.columns, selected = depth / 2;
    for (unsigned k = 0; k < selected; k++) {
        unsigned from = k / 2 * 4 + 2 * pair + k % 2;
        for (unsigned i = 0; i < m; i++) {
            x->value[i * selected + k] = a->value[i * depth + from];
            x->exponent[i * selected + k] = a->exponent[i * depth + from];
        }
        memcpy(y->value + k * n, b->value + from * n, n * sizeof(double));
        memcpy(y->exponent + k * n, b->exponent + from * n, n * sizeof(int32_t));
    }
}

/* The product of FP8 numbers: see the file's head. */
static void multiply_narrow(const MatrixProduct *p, const Matrix *a, const Matrix *b, Matrix *c)
{
    unsigned size = (unsigned)p->d.rows * p->d.columns;
    MatrixProduct product = *p;
    Matrix x, y, sum;
    product.a.type = product.b.type = MATRIX_F16;
    product.a.columns = product.b.rows = p->a.columns / 2;
    for (unsigned k = 0; k < size; k++) {
        sum.value[k] = 0;
        sum.exponent[k] = NO_EXPONENT;
    }
    for (unsigned pair = 0; pair < 2; pair++) {
        select_columns(p, a, b, pair, &x, &y);
        multiply_reals(&product, &x, &y, &sum);
        for (unsigned k = 0; k < size; k++) {
            sum.value[k] = rounded(sum.value[k], p->d.type);
            sum.exponent[k] = exponent_of(sum.value[k], (MatrixType)p->d.type);
        }
    }
    for (unsigned k = 0; k < size; k++)
        c->value[k] = p->d.type == MATRIX_F16 ? c->value[k] + sum.value[k]
                                              : (double)((float)c->value[k] + (float)sum.value[k]);
}

/* The product of FP8 numbers by wgmma. */
static void multiply_native(const MatrixProduct *p, Matrix *a, Matrix *b, Matrix *c)
{
    enum { DROPPED = (1 << 10) - 1 };
    multiply_reals(p, a, b, c);
    for (unsigned k = 0; p->d.type == MATRIX_F32 && k < (unsigned)p->d.rows * p->d.columns; k++)
        if (c->value[k] - c->value[k] == 0) c->value[k] = f32_from(to_f32(c->value[k]) & ~(uint32_t)DROPPED);
}

/* Where c has halves and d floats, c's elements get the exponents of floats. */
static void take_as_floats(const MatrixProduct *p, Matrix *c)
{
    for (unsigned k = 0; k < (unsigned)p->d.rows * p->d.columns; k++)
        c->exponent[k] = exponent_of(c->value[k], MATRIX_F32);
}

/* Sums of floats, for a d of halves, become floats, which are rounded when d is written. With .satfinite
 * they are truncated to halves instead, so that finite sums stay finite; on sm_90 that is all it does. */
static void make_halves(const MatrixProduct *p, Matrix *c)
{
    for (unsigned k = 0; k < (unsigned)p->d.rows * p->d.columns; k++) {
        float sum = f32_from(to_f32(c->value[k]));
        c->value[k] = p->saturated ? f16_to_f32(f32_to_f16_round(sum, MODS_RZ)) : sum;
    }
}

static void multiply_floats(const MatrixProduct *p, Matrix *a, Matrix *b, Matrix *c)
{
    if (p->d.type == MATRIX_F32 && p->c.type == MATRIX_F16) take_as_floats(p, c);
    multiply_reals(p, a, b, c);
    if (p->d.type == MATRIX_F16 && p->c.type == MATRIX_F32) make_halves(p, c);
}

/* A function of its own, so that no arithmetic moves across the change of mode. */
static __attribute__((noinline)) void multiply_doubles(const MatrixProduct *p, const Matrix *a,
                                                       const Matrix *b, Matrix *c)
{
    static const int modes[] = {
        [MODS_RN] = FE_TONEAREST, [MODS_RZ] = FE_TOWARDZERO, [MODS_RM] = FE_DOWNWARD, [MODS_RP] = FE_UPWARD};
    unsigned m = p->a.rows, depth = p->a.columns, n = p->b.columns;
    fesetround(modes[p->round]);
    for (unsigned x = 0; x < m * n; x++) {
        double sum = c->value[x];
        for (unsigned k = 0; k < depth; k++)
            sum = fma(a->value[x / n * depth + k], b->value[k * n + x % n], sum);
        c->value[x] = sum;
    }
    fesetround(FE_TONEAREST);
}

static void multiply_integers(const MatrixProduct *p, const Matrix *a, const Matrix *b, Matrix *c)
{
    unsigned m = p->a.rows, depth = p->a.columns, n = p->b.columns;
    for (unsigned x = 0; x < m * n; x++) {
        int64_t sum = c->integer[x];
        for (unsigned k = 0; k < depth; k++) sum += a->integer[x / n * depth + k] * b->integer[k * n + x % n];
        if (p->saturated) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        c->integer[x] = sum;
    }
}

static void multiply_bits(const MatrixProduct *p, const Matrix *a, const Matrix *b, Matrix *c)
{
    unsigned m = p->a.rows, words = p->a.columns / 32u, n = p->b.columns;
    for (unsigned x = 0; x < m * n; x++) {
        for (unsigned k = 0; k < words; k++) {
            uint32_t u = (uint32_t)a->integer[x / n * words + k], v = (uint32_t)b->integer[x % n * words + k];
            c->integer[x] += __builtin_popcount(p->conjunction ? u & v : u ^ v);
        }
    }
}

void matrix_multiply_values(const MatrixProduct *p, Matrix *a, Matrix *b, Matrix *c)
{
    if (p->a.type == MATRIX_B1)
        multiply_bits(p, a, b, c);
    else if (p->a.type == MATRIX_F64)
        multiply_doubles(p, a, b, c);
    else if (is_narrow((MatrixType)p->a.type) && p->warpgroup)
        multiply_native(p, a, b, c);
    else if (is_narrow((MatrixType)p->a.type))
        multiply_narrow(p, a, b, c);
    else if (matrix_is_real(p->a.type))
        multiply_floats(p, a, b, c);
    else
        multiply_integers(p, a, b, c);
}

void matrix_metadata(const Collective *collective, unsigned r, uint32_t *metadata)
{
    for (unsigned l = 0; l < WARP_LANES; l++)
        metadata[l] = ((const uint32_t *)(const void *)collective_rows(collective, l,
                                                                       matrix_refs(collective, l)[r]))[l];
}

void matrix_multiply(const Collective *collective)
{
    const MatrixProduct *p = collective->insn[0]->pointer;
    Matrix a = {0}, b = {0}, c = {0};
    unsigned at_a = p->d.registers, at_b = at_a + p->a.registers, at_c = at_b + p->b.registers;
    if (p->quads) {
        matrix_multiply_quads(collective, p);
        return;
    }
    matrix_read_fragment(collective, &p->a, at_a, &a);
    matrix_read_fragment(collective, &p->b, at_b, &b);
    matrix_read_fragment(collective, &p->c, at_c, &c);
    if (p->sparse) {
        uint32_t metadata[WARP_LANES];
        matrix_metadata(collective, at_c + p->c.registers, metadata);
        matrix_multiply_sparse(p, metadata, &a, &b, &c);
    } else {
        matrix_multiply_values(p, &a, &b, &c);
    }
    matrix_write_fragment(collective, &p->d, 0, &c);
}
