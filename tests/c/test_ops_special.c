/* The approximate functions against the C library's in double: error bounds of the PTX manual, and special
 * values. */
#include "check.h"
#include "ops_run.h"

#include <math.h>
#include <stdio.h>

static OpsRun run;

static uint32_t bits_of(float x) { uint32_t r; memcpy(&r, &x, 4); return r; }
static float float_of(uint64_t x) { uint32_t low = (uint32_t)x; float r; memcpy(&r, &low, 4); return r; }
static uint64_t bits_of_double(double x) { uint64_t r; memcpy(&r, &x, 8); return r; }
static double double_of(uint64_t x) { double r; memcpy(&r, &x, 8); return r; }
static float apply(enum Op op, float x) { return float_of(ops_value(&run, op, 0, 32, 32, bits_of(x), 0, 0)); }

static double reciprocal(double x) { return 1 / x; }
static double inverse_root(double x) { return 1 / sqrt(x); }

/* Least and greatest argument; bounds on the error: absolute, or relative (where the result is normal). */
typedef struct Bound {
    enum Op op;
    double (*exact)(double);
    float low, high;
    double absolute, relative;
} Bound;

static const Bound bounds[] = {
    {OP_ex2_f32, exp2, -126, 127.99f, 0, 0x1p-22},
    {OP_ex2_f32, exp2, -149, -126, 0x1.2p-148, 0},
    {OP_ex2_ftz_f32, exp2, -126, 127.99f, 0, 0x1p-22},
    {OP_lg2_f32, log2, 0x1p-149f, 0.5f, 0, 0x1p-22},
    {OP_lg2_f32, log2, 0.5f, 2, 0x1p-22, 0},
    {OP_lg2_f32, log2, 2, 3e38f, 0, 0x1p-22},
    {OP_sin_f32, sin, -6.2831853f, 6.2831853f, 0x1p-20, 0},
    {OP_cos_f32, cos, -6.2831853f, 6.2831853f, 0x1p-20, 0},
    {OP_tanh_f32, tanh, -12, 12, 0, 0x1p-11},
    {OP_tanh_f32, tanh, -1e-3f, 1e-3f, 0, 0x1p-11},
    {OP_rcp_approx_f32, reciprocal, 0x1p-126f, 0x1p125f, 0, 0x1p-23},
    {OP_rsqrt_f32, inverse_root, 0x1p-149f, 3e38f, 0, 0x1.2p-23},
    {OP_sqrt_approx_f32, sqrt, 0x1p-149f, 3e38f, 0, 0x1p-23},
};

/* A random argument within the bounds, on a logarithmic scale if they are far apart. */
static float argument(const Bound *b, unsigned k)
{
    double part = (double)(ops_mix(k) >> 11) * 0x1p-53;
    double ratio = (double)b->high / b->low;
    if (b->low > 0 && ratio > 100) return (float)(b->low * pow(ratio, part));
    return (float)(b->low + (b->high - b->low) * part);
}

static void test_bounds(void)
{
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        const Bound *b = &bounds[k];
        double worst = 0;
        for (unsigned n = 0; n < 20000; n++) {
            float x = argument(b, n);
            double exact = b->exact(x), allowed = fmax(b->absolute, b->relative * fabs(exact));
            double error = fabs(apply(b->op, x) - exact) / allowed;
            if (!(error <= worst)) worst = error;
        }
        if (!(worst <= 1)) printf("bound %zu: %.3f times the allowed error\n", k, worst);
        CHECK(worst <= 1);
    }
}

static bool is_bits(enum Op op, uint32_t x, uint32_t expected)
{
    uint64_t r = ops_value(&run, op, 0, 32, 32, x, 0, 0);
    if (r != expected) printf("op %d of %08x: %08x\n", op, x, (uint32_t)r);
    return r == expected;
}

/* The tables of special values of the PTX manual. */
enum { NAN_BITS = 0x7fffffff, INFINITE = 0x7f800000, SIGN = 1u << 31, ONE = 0x3f800000 };
static const struct {
    enum Op op;
    uint32_t x, expected;
} specials[] = {
    {OP_ex2_f32, SIGN | INFINITE, 0},
    {OP_ex2_f32, INFINITE, INFINITE},
    {OP_ex2_f32, SIGN, ONE},
    {OP_ex2_f32, 0, ONE},
    {OP_ex2_f32, 1, ONE},
    {OP_ex2_f32, 0xffc00001, NAN_BITS},
    {OP_ex2_f32, 0xc3160000, 0},
    {OP_ex2_f32, 0x43000000, INFINITE},
    {OP_ex2_f32, 0xc3150000, 1},
    {OP_ex2_ftz_f32, 0xc3000000, 0},
    {OP_lg2_f32, SIGN | INFINITE, NAN_BITS},
    {OP_lg2_f32, SIGN | ONE, NAN_BITS},
    {OP_lg2_f32, SIGN, SIGN | INFINITE},
    {OP_lg2_f32, 0, SIGN | INFINITE},
    {OP_lg2_f32, INFINITE, INFINITE},
    {OP_lg2_f32, 0x7f800001, NAN_BITS},
    {OP_lg2_f32, 1, 0xc3150000},
    {OP_lg2_ftz_f32, 1, SIGN | INFINITE},
    {OP_lg2_f32, ONE, 0},
    {OP_sin_f32, INFINITE, NAN_BITS},
    {OP_sin_f32, SIGN | INFINITE, NAN_BITS},
    {OP_sin_f32, SIGN, SIGN},
    {OP_sin_f32, 0, 0},
    {OP_cos_f32, INFINITE, NAN_BITS},
    {OP_cos_f32, SIGN, ONE},
    {OP_cos_f32, 0, ONE},
    {OP_cos_f32, 0x7fc00000, NAN_BITS},
    {OP_rcp_approx_f32, SIGN | INFINITE, SIGN},
    {OP_rcp_approx_f32, SIGN, SIGN | INFINITE},
    {OP_rcp_approx_f32, 0, INFINITE},
    {OP_rcp_approx_f32, INFINITE, 0},
    {OP_rcp_approx_ftz_f32, SIGN | 1, SIGN | INFINITE},
    {OP_rcp_approx_ftz_f32, 0x7f000000, 0},
    {OP_rsqrt_f32, SIGN | ONE, NAN_BITS},
    {OP_rsqrt_f32, SIGN, SIGN | INFINITE},
    {OP_rsqrt_f32, 0, INFINITE},
    {OP_rsqrt_f32, INFINITE, 0},
    {OP_rsqrt_ftz_f32, SIGN | 1, SIGN | INFINITE},
    {OP_rsqrt_ftz_f32, 1, INFINITE},
    {OP_sqrt_approx_f32, SIGN, SIGN},
    {OP_sqrt_approx_f32, SIGN | 1, NAN_BITS},
    {OP_sqrt_approx_ftz_f32, SIGN | 1, SIGN},
    {OP_tanh_f32, INFINITE, ONE},
    {OP_tanh_f32, SIGN | INFINITE, SIGN | ONE},
    {OP_tanh_f32, SIGN, SIGN},
    {OP_tanh_f32, 0x7fc00000, NAN_BITS},
    {OP_tanh_f32, 1, 1},
};

static void test_specials(void)
{
    for (size_t k = 0; k < sizeof specials / sizeof *specials; k++) {
        CHECK(is_bits(specials[k].op, specials[k].x, specials[k].expected));
    }
    CHECK(ops_value(&run, OP_div_approx_f32, 0, 32, 32, ONE, 0x7e800001, 0) == 0);
    CHECK(ops_value(&run, OP_div_approx_f32, 0, 32, 32, INFINITE, 0x7f000000, 0) == NAN_BITS);
    CHECK(ops_value(&run, OP_div_approx_f32, 0, 32, 32, SIGN | ONE, INFINITE, 0) == SIGN);
    CHECK(ops_value(&run, OP_div_full_f32, 0, 32, 32, 0x7e800000, 0x7e800000, 0) == ONE);
    CHECK(ops_value(&run, OP_div_full_ftz_f32, 0, 32, 32, 0x7f000000, 0x7f000000, 0) == ONE);
    CHECK(fabsf(apply(OP_sin_f32, 1e30f)) <= 1 && fabsf(apply(OP_cos_f32, -3e38f)) <= 1);
}

static void test_doubles(void)
{
    double worst_root = 0, worst_rcp = 0, worst_high_root = 0;
    for (unsigned n = 0; n < 20000; n++) {
        double x = ldexp(1 + (double)(ops_mix(n) >> 12) * 0x1p-52, (int)(ops_mix(n + 99) % 2000) - 1000);
        double root = double_of(ops_value(&run, OP_rsqrt_f64, 0, 64, 64, bits_of_double(x), 0, 0));
        uint64_t high = ops_value(&run, OP_rcp_approx_ftz_f64, 0, 64, 64, bits_of_double(x), 0, 0);
        uint64_t high_root = ops_value(&run, OP_rsqrt_approx_ftz_f64, 0, 64, 64, bits_of_double(x), 0, 0);
        CHECK((uint32_t)high == 0 && (uint32_t)high_root == 0);
        worst_root = fmax(worst_root, fabs(root * sqrt(x) - 1));
        worst_rcp = fmax(worst_rcp, fabs(double_of(high) * x - 1));
        worst_high_root = fmax(worst_high_root, fabs(double_of(high_root) * sqrt(x) - 1));
    }
    CHECK(worst_root <= 0x1p-51 && worst_rcp <= 0x1p-19 && worst_high_root <= 0x1p-19);
    CHECK(ops_value(&run, OP_rcp_approx_ftz_f64, 0, 64, 64, 1, 0, 0) == 0x7ff0000000000000);
    CHECK(ops_value(&run, OP_rcp_approx_ftz_f64, 0, 64, 64, 0xfff0000000000000, 0, 0) == 0x8000000000000000);
    CHECK(ops_value(&run, OP_rsqrt_approx_ftz_f64, 0, 64, 64, 0, 0, 0) == 0x7ff0000000000000);
}

static float half_value(uint32_t h) { return float_of(ops_value(&run, OP_cvt_f32_f16, 0, 32, 16, h, 0, 0)); }

/* The f16 forms on every non-negative finite argument (ex2 on its negative), within about a unit of the last
 * place. */
static void test_halves(void)
{
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float x = half_value(h);
        float t = half_value((uint32_t)ops_value(&run, OP_tanh_f16, 0, 16, 16, h, 0, 0));
        CHECK(fabs(t - tanh(x)) <= fmax(fabs(tanh(x)) * 0x1.8p-10, 0x1p-24));
        float e = half_value((uint32_t)ops_value(&run, OP_ex2_f16, 0, 16, 16, h | 0x8000, 0, 0));
        CHECK(fabs(e - exp2(-x)) <= fmax(exp2(-x) * 0x1p-10, 0x1p-24) * 1.01);
    }
}

int main(void)
{
    for (int isa = 0; isa < OPS_ISA_COUNT; isa++) {
        if (!ops_choose(ops_isas[isa])) continue;
        test_bounds();
        test_specials();
        test_doubles();
        test_halves();
    }
    return check_done();
}
