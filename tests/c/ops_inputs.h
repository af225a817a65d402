/* The operands for which a GPU's results are recorded in test_ops_gpu.def, lane by lane.
 *
 * The first lanes have all pairs of special values of the type, the others random values, many of them with
 * exponents near each other. After any change here the results must be recorded again.
 */
#ifndef TESTS_OPS_INPUTS_H
#define TESTS_OPS_INPUTS_H

#include "ops_run.h"

/* The lanes of an operation; how many of them have special values as operands: of 16-bit floats, of other
 * types. */
enum { INPUT_LANES = 4096, SPECIAL_16_BIT = 900, SPECIAL = 2500 };
/* What an operand holds: SHIFT is a count in 32 bits, BIT a predicate. */
typedef enum Kind { NONE, I16, I32, I64, SHIFT, F16, BF16, F32, F64, F16X2, BF16X2, FP8, BIT } Kind;

static const uint64_t special_integers[] = {
    0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x8001, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001,
    0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0xffffffffffffffff,
    0xfffffffffffffffe, 0xfffffffffffffff9, 7, 0x5555555555555555};
static const uint64_t special_f32[] = {
    0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x807fffff, 0x800000, 0x80800000, 0x3f800000, 0xbf800000,
    0x3f7fffff, 0x3f800001, 0x40000000, 0x40490fdb, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7fc00000, 0xffc00000, 0x7f800001, 0xff923456, 0x7fffffff, 0x7e800000, 0x7e800001, 0x7f000000,
    0x4b000000, 0x4b800001, 0x4f000000, 0xcf000000, 0x5f000000, 0xdf000000, 0x3f000000, 0x3fc00000,
    0xbf000000, 0x477fe000, 0x477ff000, 0x33800000, 0x33000000, 0x33000001, 0x387fe000, 0x43e00000,
    0x43e80000, 0x0d800000, 0x40200000, 0x4b7fffff, 0x4effffff, 0x4f7fffff, 0x4f800000};
static const uint64_t special_f64[] = {
    0, 0x8000000000000000, 1, 0x8000000000000001, 0xfffffffffffff, 0x10000000000000, 0x8010000000000000,
    0x3ff0000000000000, 0xbff0000000000000, 0x3fefffffffffffff, 0x3ff0000000000001, 0x7fefffffffffffff,
    0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000,
    0x7ff0000000000001, 0xfff0123456789abc, 0x7ff8123456789abc, 0xfff8000000000001, 0x7fffffffffffffff,
    0x3fe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0xc004000000000000, 0x41dfffffffc00000,
    0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000, 0x41f0000000000000,
    0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000, 0x47efffffe0000000, 0x47effffff0000000,
    0x36a0000000000000, 0x3690000000000000, 0x3690000000000001, 0x380fffffffffffff, 0x3810000000000000,
    0x40effc0000000000, 0x40effe0000000000, 0x3e60000000000000};
static const uint64_t special_f16[] = {
    0, 0x8000, 1, 0x8001, 0x3ff, 0x83ff, 0x400, 0x8400, 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x4000, 0x7bff,
    0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0xfd23, 0x7fff, 0x3800, 0x4248, 0x6400, 0x5bff,
    0x1400, 0x0200};
static const uint64_t special_bf16[] = {
    0, 0x8000, 1, 0x8001, 0x7f, 0x807f, 0x80, 0x8080, 0x3f80, 0xbf80, 0x3f7f, 0x3f81, 0x4000, 0x7f7f, 0xff7f,
    0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0xff93, 0x7fff, 0x3f00, 0x4049, 0x4b00, 0x7e80, 0x0d80, 0x0040};
/* A value of the table for this operand of a lane. */
#define PICK(table, operand, lane) input_pick(table, sizeof table / sizeof *table, operand, lane)

/* A value of the table: operands 0 and 1 have all pairs of values in the first count * count lanes, operands
 * 2 and 3 random ones. */
static inline uint64_t input_pick(const uint64_t *table, size_t count, unsigned operand, unsigned lane)
{
    if (operand == 0) return table[lane % count];
    if (operand == 1) return table[lane / count % count];
    return table[ops_mix(lane * 4 + operand) % count];
}

/* Bits of an operand. */
static inline int kind_size(Kind kind)
{
    static const int sizes[] = {[I16] = 16,    [I32] = 32,    [I64] = 64, [SHIFT] = 32, [F16] = 16,
                                [BF16] = 16,   [F32] = 32,    [F64] = 64, [F16X2] = 32, [BF16X2] = 32,
                                [FP8] = 16,    [BIT] = 1};
    return sizes[kind];
}

/* r, here and below: 64 random bits for the value; q: random bits that choose its kind. Here a signed or
 * unsigned number of a random length, or any number. */
static inline uint64_t input_integer(unsigned operand, unsigned lane, uint64_t r, uint64_t q)
{
    if (lane < SPECIAL) return PICK(special_integers, operand, lane);
    if ((q & 3) == 0) return (uint64_t)((int64_t)r >> (q >> 8 & 63));
    return (q & 3) == 1 ? r >> (q >> 8 & 63) : r;
}

/* Any bits, or an exponent from one of three ranges: `count` exponents from `below` below that of 1 on. */
static inline uint64_t input_f64(unsigned operand, unsigned lane, uint64_t r, uint64_t q)
{
    static const struct { unsigned below, count; } exponents[] = {{0, 0}, {60, 140}, {160, 300}, {6, 13}};
    const uint64_t sign_and_fraction = 0x800fffffffffffff;
    const unsigned exponent_of_1 = 1023, k = q & 3;
    if (lane < SPECIAL) return PICK(special_f64, operand, lane);
    if (k == 0) return r;
    return (r & sign_and_fraction)
           | (exponent_of_1 - exponents[k].below + (q >> 8) % exponents[k].count) << 52;
}

/* Operand 0 .. 3 (a b c e) of a lane. Random floats of 16 and 32 bits are any bits, or have one of 13
 * exponents around that of 1 (127). */
static inline uint64_t input_value(Kind kind, unsigned operand, unsigned lane)
{
    uint64_t r = ops_mix(lane * (uint64_t)8 + operand), q = ops_mix(r);
    switch (kind) {
    case I16: return input_integer(operand, lane, r, q) & 0xffff;
    case I32: return input_integer(operand, lane, r, q) & 0xffffffff;
    case I64: return input_integer(operand, lane, r, q);
    case SHIFT: return (q & 7) == 0 ? r & 0xffffffff : r % 80;
    case F16: return lane < SPECIAL_16_BIT ? PICK(special_f16, operand, lane) : r & 0xffff;
    case BF16:
        if (lane < SPECIAL_16_BIT) return PICK(special_bf16, operand, lane);
        return q & 1 ? r & 0xffff : (r & 0x807f) | (127 - 6 + (q >> 8) % 13) << 7;
    case F32:
        if (lane < SPECIAL) return PICK(special_f32, operand, lane);
        return q & 1 ? r & 0xffffffff : (r & 0x807fffff) | (127 - 6 + (q >> 8) % 13) << 23;
    case F64: return input_f64(operand, lane, r, q);
    case F16X2:
        return input_value(F16, operand, lane) | input_value(F16, operand, ops_mix(lane) % INPUT_LANES) << 16;
    case BF16X2:
        return input_value(BF16, operand, lane)
               | input_value(BF16, operand, ops_mix(lane) % INPUT_LANES) << 16;
    case FP8: return lane < 256 ? lane : r & 0xffff;
    default: return 0;
    }
}

#endif
