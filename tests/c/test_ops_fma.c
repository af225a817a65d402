/* Fused multiply-adds, which one instruction set computes from products and sums, against the C library's:
 * millions of ties that a tiny part breaks, results that are subnormal, huge or canceled, zeros with signs,
 * NaNs.
 *
 * A row has hard cases in some lanes, or in none, and easy ones in the others, so that the code for rows of
 * easy cases runs too. */
#include "check.h"
#include "exec/code/affine.h"
#include "exec/code/fused.h"
#include "exec/state/block.h"
#include "ops_run.h"

#include <fenv.h>
#include <math.h>

enum { ROWS = 20000 };
#ifdef __x86_64__
enum { FUSES = 1 };
#else
enum { FUSES = 0 }; /* fused sums of products are for x86: elsewhere their instructions run one by one */
#endif
static OpsRun run;

static uint32_t bits_of(float x) { uint32_t r; memcpy(&r, &x, 4); return r; }
static float float_of(uint64_t x) { uint32_t low = (uint32_t)x; float r; memcpy(&r, &low, 4); return r; }
static uint64_t bits_of_double(double x) { uint64_t r; memcpy(&r, &x, 8); return r; }
static double double_of(uint64_t x) { double r; memcpy(&r, &x, 8); return r; }

/* The PTX modifiers of rounding, and the same for the C library. */
static const struct { unsigned mods; int mode; } modes[] = {
    {MODS_RN, FE_TONEAREST}, {MODS_RZ, FE_TOWARDZERO}, {MODS_RM, FE_DOWNWARD}, {MODS_RP, FE_UPWARD}};

/* The NaN that every f32 operation of a GPU returns; the one that an f64 operation returns when no operand
 * is a NaN; the bit that is set in a quiet NaN of f64. */
static const uint32_t f32_nan = 0x7fffffff;
static const uint64_t f64_invalid = 0xfff8000000000000, f64_quiet = 0x0008000000000000;

/* --- operands ------------------------------------------------------------------------------------------ */

typedef struct Three {
    double a, b, c;
} Three;

static uint64_t state;
static uint64_t draw(void) { return ops_mix(state++); }
static unsigned below(unsigned n) { return (unsigned)(draw() >> 33) % n; }
static double sign(void) { return draw() & 1 ? -1 : 1; }

/* A random odd number of so many bits, scaled to [2^exponent, 2^(exponent + 1)). */
static double odd(unsigned bits, int exponent)
{
    uint64_t top = (uint64_t)1 << (bits - 1);
    return ldexp((double)((draw() & (top - 1)) | top | 1), exponent - (int)bits + 1);
}

/* A format: bits of the significand, minimum exponent of normal numbers, maximum exponent. */
typedef struct Format {
    unsigned bits;
    int min, greatest;
} Format;
static const Format floats = {24, -126, 127}, doubles = {53, -1022, 1023};

/* From -range to range. */
static int around(int range) { return (int)below(2 * (unsigned)range + 1) - range; }

/* Few bits each, so that the exact product or sum is a tie; then something small is added, or nothing. */
static Three tie_of_product(const Format *f)
{
    unsigned half = f->bits / 2 + below(2);
    double a = sign() * odd(half, around(9)), b = sign() * odd(f->bits + 1 - half, around(9));
    double smaller = ldexp(fabs(a * b), -(int)below(3 * f->bits) - (int)f->bits);
    return (Three){a, b, below(4) ? sign() * (f == &floats ? (double)(float)smaller : smaller) : 0};
}

/* A sum whose exact product is half a unit of c's last place, or a little less or more; c may be
 * subnormal. */
static Three tie_of_sum(const Format *f)
{
    const int bits = (int)f->bits, e = below(3) ? around(20) : f->min - 1 - (int)below(4);
    const int last = (e < f->min ? f->min : e) - bits + 1;
    double c = ldexp((double)(draw() >> (64 - bits + (e < f->min ? f->min - e : 0))), last);
    double little = ldexp(1, -(int)below(f->bits)), a = 1 + little, b = below(2) ? 1 - little : 1 + little;
    if (below(3) == 0) a = b = 1;
    a = f == &floats ? (double)(float)a : a, b = f == &floats ? (double)(float)b : b;
    return (Three){sign() * ldexp(a, last / 2), ldexp(b, last - last / 2 - 1), sign() * c};
}

/* Just below the smallest normal number, or above. */
static Three edge(const Format *f)
{
    const int last = f->min - (int)f->bits - (int)below(4);
    return (Three){sign() * ldexp(below(2) ? 1 : odd(2 + below(9), 0), last / 2), ldexp(1, last - last / 2),
                   sign() * ldexp(1, f->min)};
}

/* A product near the smallest subnormal number, and a subnormal number. */
static Three subnormal(const Format *f)
{
    int e = f->min - (int)f->bits - 4 + (int)below(f->bits + 6), half = e / 2;
    double a = sign() * odd(1 + below(f->bits - 1), half), b = sign() * odd(1 + below(f->bits - 1), e - half);
    double unit = ldexp(1, f->min - (int)f->bits + 1);
    return (Three){a, b, sign() * unit * (double)(draw() >> (64 - 1 - below(f->bits)))};
}

/* Near the largest number: the product is too large, and c may cancel the excess; or c is huge and the
 * product a fraction of a unit of its last place. */
static Three huge(const Format *f)
{
    int half = f->greatest / 2;
    double a = odd(f->bits, half + (int)below(2)), b = odd(f->bits, f->greatest - half),
           max = ldexp(1, f->greatest);
    double c =
        below(2) ? max + (max - ldexp(1, f->greatest - (int)f->bits + 1)) : odd(f->bits, f->greatest);
    if (below(2)) a = ldexp(odd(2, 0), f->greatest - (int)f->bits - 3), b = odd(2, 1);
    return (Three){sign() * a, b, sign() * c};
}

/* c is the product with the sign changed, rounded, or one or two of the next numbers. */
static Three canceled(const Format *f)
{
    int e = below(4) ? around(20) : f->min / 2 + (int)below(f->bits);
    double a = sign() * odd(1 + below(f->bits), e), b = sign() * odd(1 + below(f->bits), e), c = -(a * b);
    if (f == &floats) c = (float)c;
    double to = below(2) ? INFINITY : -INFINITY;
    for (unsigned n = below(3); n; n--)
        c = f == &floats ? (double)nextafterf((float)c, (float)to) : nextafter(c, to);
    return (Three){a, b, c};
}

/* Zeros, ones, infinities, NaN, and the limits of the format. */
static Three special(const Format *f)
{
    const double max = f == &floats ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    const double min = ldexp(1, f->min - (int)f->bits + 1), normal = ldexp(1, f->min);
    const double values[] = {0,     -0.0,  1,      -1,     INFINITY, -INFINITY,      NAN, max,
                             -max, min, -min, normal, -normal,  normal - min, 0.5, -2};
    return (Three){values[below(16)], values[below(16)], values[below(16)]};
}

/* A number of random bits. */
static double any(const Format *f) { return f == &floats ? (double)float_of(draw()) : double_of(draw()); }

/* A number of moderate size. */
static double tame(const Format *f) { return sign() * odd(f->bits, around(3)); }

static Three hard(const Format *f)
{
    switch (below(9)) {
    case 0: return tie_of_product(f);
    case 1: return tie_of_sum(f);
    case 2: return subnormal(f);
    case 3: return huge(f);
    case 4: return canceled(f);
    case 5: return special(f);
    case 6: return edge(f);
    case 7: return (Three){any(f), any(f), any(f)};
    default: return (Three){ldexp(tame(f), f->min / 2 - 9), ldexp(tame(f), f->min / 2 - 9), tame(f)};
    }
}

static Three operands[WARP_LANES];

/* Hard cases in a quarter of the lanes or fewer, tame ones in the others. */
static void draw_row(const Format *f)
{
    uint32_t mask = (uint32_t)(draw() & draw());
    if (below(4) == 0) mask &= (uint32_t)(draw() & draw());
    for (int l = 0; l < WARP_LANES; l++)
        operands[l] = mask >> l & 1 ? hard(f) : (Three){tame(f), tame(f), tame(f)};
}

/* --- an op on a row ------------------------------------------------------------------------------------ */

static void set_row(int size)
{
    for (int l = 0; l < WARP_LANES; l++) {
        const double x[] = {operands[l].a, operands[l].b, operands[l].c};
        for (int k = 0; k < 3; k++)
            ops_set(&run, ROW_A + k, size, l, size == 32 ? bits_of((float)x[k]) : bits_of_double(x[k]));
        ops_set(&run, ROW_D, size, l, 0x123456789abcdef0);
    }
}

/* Runs the op for all lanes or some, into any of the rows ROW_D, ROW_A, ROW_B, ROW_C (the last three are its
 * sources): lanes that execute it get the expected value, the others keep theirs. */
static void check_row(enum Op op, unsigned mods, int size, uint64_t (*expected)(int lane))
{
    Insn insn = ops_insn(op, mods, 0);
    uint32_t mask = below(3) ? FULL_MASK : (uint32_t)draw();
    uint64_t before[WARP_LANES];
    const int d = (int)below(4);
    set_row(size);
    insn.d = (Ref)(d * ROW_BYTES);
    for (int l = 0; l < WARP_LANES; l++) before[l] = ops_get(&run, d, size, l);
    ops_run_insn(&run, &insn, mask);
    for (int l = 0; l < WARP_LANES; l++) {
        uint64_t wanted = mask >> l & 1 ? expected(l) : before[l], got = ops_get(&run, d, size, l);
        if (got != wanted)
            printf("op %d mods %x: %a * %a + %a: %llx, not %llx\n", op, mods, operands[l].a, operands[l].b,
                   operands[l].c, (unsigned long long)got, (unsigned long long)wanted);
        CHECK(got == wanted);
    }
}

/* --- floats -------------------------------------------------------------------------------------------- */

static int mode = FE_TONEAREST; /* of rounding the expected values */

static float rounded(float a, float b, float c)
{
    volatile float x = a, y = b, z = c;
    fesetround(mode);
    float r = fmaf(x, y, z);
    fesetround(FE_TONEAREST);
    return r;
}

static uint64_t expected_f32(int l)
{
    float r = rounded((float)operands[l].a, (float)operands[l].b, (float)operands[l].c);
    return isnan(r) ? f32_nan : bits_of(r);
}

/* .ftz: an operand or a result that is subnormal becomes a zero of its sign. */
static float flushed(double x) { return fabs(x) < 0x1p-126 ? copysignf(0, (float)x) : (float)x; }

/* Whether a * b + c, rounded to 24 bits with any exponent, would lie below the normal numbers: a GPU flushes
 * such results. The bound is half a unit below 2^-126. Where c is small, fma() has the sign of the exact sum
 * less the bound; elsewhere the sum in f64 is exact when it is near the bound. */
static bool is_tiny(float a, float b, float c)
{
    const double bound = 0x1.ffffffp-127, sum = (double)a * b + c, s = copysign(1, sum);
    return fabsf(c) < 0x1p-99f ? fma(s * a, b, s * c - bound) < 0 : fabs(sum) < bound;
}

static uint64_t expected_ftz(int l)
{
    const float a = flushed(operands[l].a), b = flushed(operands[l].b), c = flushed(operands[l].c);
    float r = fmaf(a, b, c);
    if (isnan(r)) return f32_nan;
    return bits_of(is_tiny(a, b, c) ? copysignf(0, r) : r);
}

static void test_floats(void)
{
    for (unsigned n = 0; n < ROWS; n++) {
        draw_row(&floats);
        check_row(OP_fma_f32, 0, 32, expected_f32);
        check_row(OP_fma_ftz_f32, 0, 32, expected_ftz);
        mode = modes[n % 4].mode;
        check_row(OP_fma_round_f32, modes[n % 4].mods, 32, expected_f32);
        mode = FE_TONEAREST;
    }
}

/* --- doubles ------------------------------------------------------------------------------------------- */

/* A GPU returns the first NaN of b, c, a, quieted; where none of them is one (infinity less infinity, zero
 * times infinity), the NaN of invalid operations. */
static uint64_t expected_f64(int l)
{
    volatile double a = operands[l].a, b = operands[l].b, c = operands[l].c;
    if (isnan(b)) return bits_of_double(b) | f64_quiet;
    if (isnan(c)) return bits_of_double(c) | f64_quiet;
    if (isnan(a)) return bits_of_double(a) | f64_quiet;
    fesetround(mode);
    double r = fma(a, b, c);
    fesetround(FE_TONEAREST);
    return isnan(r) ? f64_invalid : bits_of_double(r);
}

static void test_doubles(void)
{
    for (unsigned n = 0; n < ROWS; n++) {
        draw_row(&doubles);
        check_row(OP_fma_f64, 0, 64, expected_f64);
        mode = modes[n % 4].mode;
        check_row(OP_fma_round_f64, modes[n % 4].mods, 64, expected_f64);
        mode = FE_TONEAREST;
    }
}

/* --- sums of products in shared memory ----------------------------------------------------------------- */

enum { PRODUCTS = 5, STEP = 64 };
/* Shared memory: the first factors, then the second ones, STEP of each for a product. */
static _Alignas(64) float shared[2][PRODUCTS * STEP];

/* Sets the row to addresses in shared memory: `low` is that of lane 0, `high` that of lane 16, and those of
 * the next lanes of each half follow in steps of `step` bytes. */
static void set_addresses(int row, int64_t low, int64_t high, int64_t step)
{
    *affine_of(run.rows[row]) = (Affine){.low = low, .high = high, .stride = step, .valid = 1};
}

/* The fused operation and the instructions that it stands for: for each product two loads and an fma.
 * swapped: the second factor is loaded first. */
static void fuse(Insn *insns, bool swapped)
{
    const FusedDot offsets = {0, 4 * STEP * (PRODUCTS - 1), 0, 4 * STEP * (PRODUCTS - 1)};
    insns[0] = ops_insn(OP_fused_dot_shared_f32, PRODUCTS, fused_dot_pack(offsets));
    for (int k = 0; k < PRODUCTS; k++) {
        insns[3 * k + 1] = insns[3 * k + 2] = ops_insn(OP_affine_ld_shared_b32_32, 0, 4 * STEP * k);
        insns[3 * k + 1 + swapped].a = ROW_A * ROW_BYTES;
        insns[3 * k + 2 - swapped].a = ROW_B * ROW_BYTES;
        insns[3 * k + 3] = ops_insn(OP_fma_f32, 0, 0);
    }
}

/* Factors for all products. Those before product `own` are zeros, so that the first product that counts was
 * drawn together with the start of the sum. */
static void set_factors(void)
{
    const unsigned own = below(PRODUCTS);
    for (unsigned k = 0; k < PRODUCTS; k++) {
        if (k > own) draw_row(&floats);
        for (int l = 0; l < STEP; l++) {
            shared[0][STEP * k + l] = k < own ? 0 : (float)operands[l % WARP_LANES].a;
            shared[1][STEP * k + l] = k < own ? 1 : (float)operands[l % WARP_LANES].b;
        }
    }
}

/* The sum of a lane after all products. The second factors of lanes 16 to 31 start at element `upper`; dense:
 * each lane of a half has its own, otherwise they share one. */
static float sum_of_lane(int l, float sum, int upper, bool dense)
{
    for (int k = 0; k < PRODUCTS; k++)
        sum = fmaf(shared[0][STEP * k + l], shared[1][STEP * k + (dense ? l % 16 : 0) + upper * (l / 16)],
                   sum);
    return sum;
}

static void test_sums(void)
{
    static Block block;
    block.shared = (uint8_t *)shared;
    block.shared_size = sizeof shared;
    run.warp.block = &block;
    for (unsigned n = 0; n < ROWS / 2; n++) {
        Insn insns[1 + 3 * PRODUCTS];
        float start[WARP_LANES];
        const bool dense = n & 1, swapped = n & 4, ties = n & 8;
        const int upper = n & 2 ? 16 : 32;
        draw_row(&floats);
        for (int l = 0; ties && l < WARP_LANES; l++) operands[l] = tie_of_sum(&floats);
        for (int l = 0; l < WARP_LANES; l++)
            ops_set(&run, ROW_C, 32, l, bits_of(start[l] = (float)operands[l].c));
        set_factors();
        set_addresses(ROW_A, 0, 64, 4);
        set_addresses(ROW_B, sizeof shared[0], (int64_t)sizeof shared[0] + 4 * upper, dense ? 4 : 0);
        fuse(insns, swapped);
        run.warp.base[REF_FRAME] = run.rows[0];
        warp_set_mask(&run.warp, FULL_MASK);
        CHECK(exec_op_handlers(OP_fused_dot_shared_f32)[1](&run.warp, insns) == insns + 1 + 3 * PRODUCTS);
        for (int l = 0; l < WARP_LANES; l++) {
            float sum = sum_of_lane(l, start[l], upper, dense);
            CHECK(ops_get(&run, ROW_D, 32, l) == (isnan(sum) ? f32_nan : bits_of(sum)));
        }
    }
}

/* --- halves: exact in integers ------------------------------------------------------------------------- */

/* A finite half in units of 2^-24. */
static int64_t units_of(uint32_t h)
{
    int64_t e = h >> 10 & 31, m = (h & 0x3ff) | (e ? 0x400 : 0);
    return (h & 0x8000 ? -m : m) * ((int64_t)1 << (e ? e - 1 : 0));
}

/* Units of 2^-48 as a half. */
static uint32_t half_of(__int128 x)
{
    const uint32_t negative = x < 0 ? 0x8000 : 0;
    unsigned __int128 size = (unsigned __int128)(x < 0 ? -x : x);
    int top = 127;
    while (top > 0 && !(size >> top & 1)) top--;
    const int drop = (top < 34 ? 34 : top) - 10; /* 2^34 units are the smallest normal number */
    const unsigned __int128 rest = size & (((unsigned __int128)1 << drop) - 1),
                            tie = (unsigned __int128)1 << (drop - 1);
    uint64_t kept = (uint64_t)(size >> drop);
    kept += rest > tie || (rest == tie && (kept & 1));
    const uint64_t bits = kept + ((uint64_t)(drop - 24) << 10);
    return (bits >= 0x7c00 ? 0x7c00 : (uint32_t)bits) | negative;
}

static uint32_t drawn_half(void) { return (uint32_t)draw() & 0xfbff; }

static void test_halves(void)
{
    for (unsigned n = 0; n < ROWS; n++) {
        uint32_t a[WARP_LANES], b[WARP_LANES], c[WARP_LANES];
        Insn insn = ops_insn(OP_fma_f16, 0, 0);
        for (int l = 0; l < WARP_LANES; l++) {
            a[l] = drawn_half(), b[l] = drawn_half(), c[l] = drawn_half();
            if (l & 1)
                b[l] = (b[l] & 0x8000) | (15 + below(3)) << 10; /* a power of two: c makes or breaks ties */
            if (l & 2) c[l] = half_of(-(__int128)units_of(a[l]) * units_of(b[l])) & 0xfbff;
            if (l & 4) c[l] = (c[l] & 0x8000) | below(64);
            ops_set(&run, ROW_A, 16, l, a[l]);
            ops_set(&run, ROW_B, 16, l, b[l]);
            ops_set(&run, ROW_C, 16, l, c[l]);
        }
        ops_run_insn(&run, &insn, FULL_MASK);
        for (int l = 0; l < WARP_LANES; l++) {
            __int128 sum = (__int128)units_of(a[l]) * units_of(b[l]) + (__int128)units_of(c[l]) * (1 << 24);
            const bool minus = (a[l] ^ b[l]) & c[l] & 0x8000;
            const uint32_t wanted = sum ? half_of(sum) : minus ? 0x8000 : 0;
            CHECK(ops_get(&run, ROW_D, 16, l) == wanted);
        }
    }
}

int main(void)
{
    for (int isa = 0; isa < OPS_ISA_COUNT; isa++) {
        if (!ops_choose(ops_isas[isa])) continue;
        state = 0;
        CHECK_GROUP(test_floats);
        CHECK_GROUP(test_doubles);
        if (FUSES) {
            CHECK_GROUP(test_sums);
        }
        CHECK_GROUP(test_halves);
    }
    return check_done();
}
