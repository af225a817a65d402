/* Half formats by brute force: every f16 and bf16 through conversion and back, roundings against exact
 * arithmetic. */
#include "check.h"
#include "ops_run.h"

#include <fenv.h>
#include <math.h>

static OpsRun run;

static uint32_t bits_of(float x) { uint32_t r; memcpy(&r, &x, 4); return r; }
static float float_of(uint64_t x) { uint32_t low = (uint32_t)x; float r; memcpy(&r, &low, 4); return r; }

/* A format by its definition: mantissa bits, minimum exponent, exponent bits, maximum finite value; and the
 * ops on it. */
typedef struct Format {
    int mantissa, min_exponent, width;
    double greatest;
    enum Op to_f32, from_f32, from_f32_round, fma, add, mul;
} Format;

static const Format formats[] = {
    {10, -14, 5, 65504, OP_cvt_f32_f16, OP_cvt_f16_f32, OP_cvt_round_f16_f32, OP_fma_f16, OP_add_f16,
        OP_mul_f16},
    {7, -126, 8, 0x1.fep127, OP_cvt_f32_bf16, OP_cvt_bf16_f32, OP_cvt_round_bf16_f32, OP_fma_bf16,
        OP_add_bf16, OP_mul_bf16},
};

/* The number with the bits h, also for exponents of infinities. */
static long double value_of(const Format *f, uint32_t h)
{
    int exponent = (int)(h >> f->mantissa & ((1u << f->width) - 1)), bias = 1 - f->min_exponent;
    long double m = h & ((1u << f->mantissa) - 1), sign = h & 0x8000 ? -1 : 1;
    if (exponent) m += 1u << f->mantissa;
    return sign * ldexpl(m, (exponent ? exponent : 1) - bias - f->mantissa);
}

static bool is_finite(const Format *f, uint32_t h) { return value_of(f, h & 0x7fff) <= f->greatest; }

/* x, exact, to the format under the current rounding mode of rintl. */
static long double rounded(const Format *f, long double x, int mode)
{
    int e;
    frexpl(x, &e);
    e = e - 1 < f->min_exponent ? f->min_exponent : e - 1;
    long double r = ldexpl(rintl(ldexpl(x, f->mantissa - e)), e - f->mantissa);
    if (fabsl(r) <= f->greatest) return r;
    bool keeps = mode == FE_TOWARDZERO || (mode == FE_DOWNWARD && x > 0) || (mode == FE_UPWARD && x < 0);
    return copysignl(keeps ? f->greatest : (long double)INFINITY, x);
}

/* As value_of(), with infinities. */
static long double decoded(const Format *f, uint64_t h)
{
    if (is_finite(f, (uint32_t)h)) return value_of(f, (uint32_t)h);
    return h & 0x8000 ? -(long double)INFINITY : (long double)INFINITY;
}

/* Every finite half becomes its exact float, and that becomes the same half. */
static void test_conversions(const Format *f)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        if (!is_finite(f, h)) continue;
        uint64_t x = ops_value(&run, f->to_f32, 0, 32, 16, h, 0, 0);
        CHECK(float_of(x) == (float)value_of(f, h) && (x >> 31) == h >> 15);
        CHECK(ops_value(&run, f->from_f32, 0, 16, 32, x, 0, 0) == h);
        CHECK(ops_value(&run, f->from_f32_round, MODS_RP, 16, 32, x, 0, 0) == h);
    }
}

static const struct { unsigned mods; int mode; } modes[] = {
    {MODS_RN, FE_TONEAREST}, {MODS_RZ, FE_TOWARDZERO}, {MODS_RM, FE_DOWNWARD}, {MODS_RP, FE_UPWARD}};

/* A float next to a value of the format or next to a midpoint of two, or any float. */
static float near_value(const Format *f, unsigned k)
{
    uint32_t h = (uint32_t)ops_mix(k) & 0xffff;
    if (k % 3 == 0 || !is_finite(f, h & 0x7fff)) return float_of(ops_mix(k + 1) & 0xff7fffff);
    uint32_t below = bits_of((float)value_of(f, h)), half = k % 2 ? 1u << (22 - f->mantissa) : 0;
    return float_of(below + half + (uint32_t)(ops_mix(k + 2) % 3) - 1);
}

static void test_rounding(const Format *f)
{
    for (unsigned k = 0; k < 20000; k++) {
        float x = near_value(f, k);
        if (!isfinite(x)) continue;
        for (int m = 0; m < 4; m++) {
            uint64_t h = ops_value(&run, f->from_f32_round, modes[m].mods, 16, 32, bits_of(x), 0, 0);
            fesetround(modes[m].mode);
            long double expected = rounded(f, x, modes[m].mode);
            fesetround(FE_TONEAREST);
            CHECK(decoded(f, h) == expected);
        }
    }
}

/* fma, add and mul against exact results rounded once. Exact results fit in a long double; for bf16 only if
 * the exponents of the operands are close, as they are made here. */
static void test_arithmetic(const Format *f)
{
    for (unsigned k = 0; k < 60000; k++) {
        uint32_t a = (uint32_t)ops_mix(k) & 0xffff, b = (uint32_t)ops_mix(k + 70000) & 0xffff,
            c = (uint32_t)ops_mix(k + 140000) & 0xffff;
        if (f->width == 8) {
            a = (a & 0x80ff) | 0x3f00;
            b = (b & 0x81ff) | 0x3e00;
            c = (c & 0x87ff) | 0x3c00;
        }
        if (!is_finite(f, a) || !is_finite(f, b) || !is_finite(f, c)) continue;
        long double x = value_of(f, a), y = value_of(f, b), z = value_of(f, c);
        CHECK(decoded(f, ops_value(&run, f->fma, 0, 16, 16, a, b, c)) == rounded(f, x * y + z, FE_TONEAREST));
        CHECK(decoded(f, ops_value(&run, f->add, 0, 16, 16, a, b, 0)) == rounded(f, x + y, FE_TONEAREST));
        CHECK(decoded(f, ops_value(&run, f->mul, 0, 16, 16, a, b, 0)) == rounded(f, x * y, FE_TONEAREST));
    }
}

int main(void)
{
    for (int isa = 0; isa < OPS_ISA_COUNT; isa++) {
        if (!ops_choose(ops_isas[isa])) continue;
        for (int k = 0; k < 2; k++) {
            test_conversions(&formats[k]);
            test_rounding(&formats[k]);
            test_arithmetic(&formats[k]);
        }
    }
    return check_done();
}
