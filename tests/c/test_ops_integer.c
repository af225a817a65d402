/* Integer ops against the C compiler's arithmetic and slow definitions, on many random operands. */
#include "check.h"
#include "ops_run.h"

static OpsRun run;
__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

static uint64_t binary(enum Op op, int size, uint64_t a, uint64_t b)
{
    return ops_value(&run, op, 0, size, size, a, b, 0);
}

/* Random numbers of random length, so that quotients of all sizes occur. */
static uint64_t number(unsigned k) { return ops_mix(k) >> (ops_mix(k + 1000003) & 63); }

static void test_division(unsigned k)
{
    uint32_t a = (uint32_t)number(k), b = (uint32_t)number(k + 50000), q = b ? a / b : 0;
    if (b) CHECK(binary(OP_div_u32, 32, a, b) == q && binary(OP_rem_u32, 32, a, b) == a % b);
    /* at a multiple and just below it: where a wrongly rounded quotient shows */
    if (b && q) CHECK(binary(OP_div_u32, 32, q * b - 1, b) == (q * b - 1) / b && binary(OP_div_u32, 32,
        q * b, b) == q);
    int32_t s = (int32_t)a, t = (int32_t)b;
    if (t != 0 && !(s == INT32_MIN && t == -1)) {
        CHECK(binary(OP_div_s32, 32, a, b) == (uint32_t)(s / t) && binary(OP_rem_s32, 32, a,
            b) == (uint32_t)(s % t));
    }
    uint64_t c = number(k + 100000), d = number(k + 150000);
    if (d) CHECK(binary(OP_div_u64, 64, c, d) == c / d && binary(OP_rem_u64, 64, c, d) == c % d);
    int16_t e = (int16_t)c, f = (int16_t)d;
    if (f) CHECK(binary(OP_div_s16, 16, (uint16_t)e, (uint16_t)f) == (uint16_t)(e / f));
}

static void test_division_edges(void)
{
    CHECK(binary(OP_div_u32, 32, 5, 0) == 0xffffffff && binary(OP_rem_u32, 32, 5, 0) == 0xffffffff);
    CHECK(binary(OP_div_s32, 32, 0x80000000, 0xffffffff) == 0x80000000);
    CHECK(binary(OP_rem_s32, 32, 0x80000000, 0xffffffff) == 0);
    CHECK(binary(OP_div_s64, 64, (uint64_t)1 << 63, ~(uint64_t)0) == (uint64_t)1 << 63);
    CHECK(binary(OP_rem_s64, 64, (uint64_t)1 << 63, ~(uint64_t)0) == 0);
    CHECK(binary(OP_div_s64, 64, 7, 0) == ~(uint64_t)0 && binary(OP_div_s16, 16, 0x8000, 0xffff) == 0x8000);
}

static void test_products(unsigned k)
{
    uint64_t a = number(k), b = number(k + 50000), c = number(k + 100000);
    CHECK(binary(OP_mul_hi_u64, 64, a, b) == (uint64_t)((Wide)a * b >> 64));
    CHECK(binary(OP_mul_hi_s64, 64, a, b) == (uint64_t)((SignedWide)(int64_t)a * (int64_t)b >> 64));
    CHECK(binary(OP_mul_lo_b64, 64, a, b) == a * b);
    CHECK(binary(OP_mul_hi_u32, 32, a, b) == (uint64_t)(uint32_t)a * (uint32_t)b >> 32);
    CHECK(ops_value(&run, OP_mul_wide_s32, 0, 64, 32, a, b,
        0) == (uint64_t)((int64_t)(int32_t)a * (int32_t)b));
    CHECK(ops_value(&run, OP_mad_lo_b32, 0, 32, 32, a, b, c) == (uint32_t)a * (uint32_t)b + (uint32_t)c);
}

/* The result of one 32-bit op, which may use and set the carry. */
static uint32_t step(enum Op op, uint32_t a, uint32_t b, uint32_t c)
{
    return (uint32_t)ops_value(&run, op, 0, 32, 32, a, b, c);
}

/* 128-bit sums and differences, and a product with a sum, in 32-bit steps through the carry. */
static void test_carry(unsigned k)
{
    Wide x = (Wide)number(k) << 64 | ops_mix(k + 1), y = (Wide)number(k + 7777) << 64 | ops_mix(k + 2);
    Wide sum = 0, difference = 0;
    if (k % 5 == 0) y = ~x;
    if (k % 7 == 0) y = x;
    for (int part = 0; part < 4; part++) {
        uint32_t a = (uint32_t)(x >> 32 * part), b = (uint32_t)(y >> 32 * part);
        enum Op op = part == 0 ? OP_add_cc_b32 : part == 3 ? OP_addc_b32 : OP_addc_cc_b32;
        sum |= (Wide)step(op, a, b, 0) << 32 * part;
    }
    for (int part = 0; part < 4; part++) {
        uint32_t a = (uint32_t)(x >> 32 * part), b = (uint32_t)(y >> 32 * part);
        enum Op op = part == 0 ? OP_sub_cc_b32 : part == 3 ? OP_subc_b32 : OP_subc_cc_b32;
        difference |= (Wide)step(op, a, b, 0) << 32 * part;
    }
    CHECK(sum == x + y && difference == x - y);
    uint32_t a0 = (uint32_t)x, a1 = (uint32_t)(x >> 32), b0 = (uint32_t)y;
    uint32_t c0 = (uint32_t)(y >> 64), c1 = (uint32_t)(y >> 96);
    uint64_t low = step(OP_mad_lo_cc_b32, a0, b0, c0);
    uint64_t high = step(OP_madc_hi_u32, a0, b0, c1) + step(OP_mad_lo_b32, a1, b0, 0);
    CHECK((low | high << 32) == ((uint64_t)x * b0 + ((uint64_t)c1 << 32 | c0)));
}

/* bfe and bfi by definition: one bit at a time. */
static uint64_t slow_field(uint64_t a, unsigned position, unsigned length, unsigned width, bool is_signed)
{
    uint64_t r = 0;
    unsigned top = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
    bool fill = is_signed && length && (a >> top & 1);
    for (unsigned k = 0; k < width; k++) {
        bool bit = k < length && position + k < width ? a >> (position + k) & 1 : fill;
        r |= (uint64_t)bit << k;
    }
    return r;
}

static uint64_t slow_insert(uint64_t a, uint64_t b, unsigned position, unsigned length, unsigned width)
{
    for (unsigned k = 0; k < length && position + k < width; k++) {
        uint64_t bit = (uint64_t)1 << (position + k);
        b = (b & ~bit) | (a >> k & 1 ? bit : 0);
    }
    return b;
}

/* The n-th set bit from base upwards (n > 0) or downwards. */
static uint32_t slow_nth(uint32_t mask, int base, int n)
{
    if (n == 0) return mask >> base & 1 ? (uint32_t)base : 0xffffffff;
    for (int p = base, seen = 0; p >= 0 && p < 32; p += n > 0 ? 1 : -1) {
        if (mask >> p & 1) seen++;
        if (seen == abs(n)) return (uint32_t)p;
    }
    return 0xffffffff;
}

static uint64_t insert(enum Op op, int size, uint64_t a, uint64_t b, unsigned position, unsigned length)
{
    Insn insn = ops_insn(op, 0, 0);
    ops_set(&run, ROW_A, size, 3, a);
    ops_set(&run, ROW_B, size, 3, b);
    ops_set(&run, ROW_C, 32, 3, position);
    ops_set(&run, ROW_E, 32, 3, length);
    CHECK(ops_run_insn(&run, &insn, FULL_MASK));
    return ops_get(&run, ROW_D, size, 3);
}

static uint64_t field(enum Op op, int size, uint64_t a, unsigned position, unsigned length)
{
    Insn insn = ops_insn(op, 0, 0);
    ops_set(&run, ROW_A, size, 3, a);
    ops_set(&run, ROW_B, 32, 3, position);
    ops_set(&run, ROW_C, 32, 3, length);
    CHECK(ops_run_insn(&run, &insn, FULL_MASK));
    return ops_get(&run, ROW_D, size, 3);
}

static void test_bits(unsigned k)
{
    uint64_t a = ops_mix(k), b = ops_mix(k + 1);
    unsigned position = (unsigned)(ops_mix(k + 2) % 70), length = (unsigned)(ops_mix(k + 3) % 70);
    CHECK(field(OP_bfe_u32, 32, a, position, length) == slow_field((uint32_t)a, position, length, 32, false));
    CHECK(field(OP_bfe_s32, 32, a, position, length) == slow_field((uint32_t)a, position, length, 32, true));
    CHECK(field(OP_bfe_u64, 64, a, position, length) == slow_field(a, position, length, 64, false));
    CHECK(field(OP_bfe_s64, 64, a, position, length) == slow_field(a, position, length, 64, true));
    CHECK(insert(OP_bfi_b32, 32, a, b, position, length) == slow_insert((uint32_t)a, (uint32_t)b, position,
        length, 32));
    CHECK(insert(OP_bfi_b64, 64, a, b, position, length) == slow_insert(a, b, position, length, 64));
    uint32_t mask = (uint32_t)(a & b), base = position & 31;
    int n = (int)(length % 20) - 10;
    CHECK(ops_value(&run, OP_fns_b32, 0, 32, 32, mask, base, (uint32_t)n) == slow_nth(mask, (int)base, n));
    CHECK(ops_value(&run, OP_popc_b64, 0, 32, 64, a, 0, 0) == (uint64_t)__builtin_popcountll(a));
}

/* Every table of lop3 on operands whose low 8 bits are all combinations, so that the result is the table. */
static void test_tables(void)
{
    for (int table = 0; table < 256; table++) {
        Insn insn = ops_insn(OP_lop3_b32, 0, table);
        ops_set(&run, ROW_A, 32, 0, 0xf0);
        ops_set(&run, ROW_B, 32, 0, 0xcc);
        ops_set(&run, ROW_C, 32, 0, 0xaa);
        CHECK(ops_run_insn(&run, &insn, FULL_MASK));
        CHECK((ops_get(&run, ROW_D, 32, 0) & 0xff) == (uint64_t)table);
    }
}

int main(void)
{
    for (int isa = 0; isa < OPS_ISA_COUNT; isa++) {
        if (!ops_choose(ops_isas[isa])) continue;
        for (unsigned k = 0; k < 5000; k++) {
            test_division(k);
            test_products(k);
            test_carry(k);
            test_bits(k);
        }
        test_division_edges();
        test_tables();
    }
    return check_done();
}
