/* Immediates as bits of a type: conversion between the float formats, rounding to nearest even. */
#include <string.h>

#include "ptx/parser.h"

/* The format of f64. */
enum { F64_FRACTION_BITS = 52, F64_MAX_EXPONENT = 0x7ff, F64_BIAS = 1023 };

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static double double_value(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

/* A double's bits in a smaller format, rounded to nearest even. A NaN keeps the upper bits of its payload and
 * becomes quiet. */
static uint64_t ptx_narrow(uint64_t bits, int exponent_bits, int fraction_bits)
{
    uint64_t sign = bits >> 63 << (exponent_bits + fraction_bits);
    uint64_t fraction = bits & ((1ull << F64_FRACTION_BITS) - 1);
    int exponent = (int)(bits >> F64_FRACTION_BITS & F64_MAX_EXPONENT);
    int max_exponent = (1 << exponent_bits) - 1, bias = (1 << (exponent_bits - 1)) - 1;
    int drop = F64_FRACTION_BITS - fraction_bits; /* low bits that do not fit */
    uint64_t infinity = (uint64_t)max_exponent << fraction_bits;
    if (exponent == F64_MAX_EXPONENT)
        return sign | infinity | (fraction ? 1ull << (fraction_bits - 1) | fraction >> drop : 0);
    int scaled = exponent - F64_BIAS + bias;
    if (scaled >= max_exponent) return sign | infinity;
    uint64_t significand = fraction | (exponent ? 1ull << F64_FRACTION_BITS : 0);
    if (scaled <= 0) { /* becomes subnormal */
        drop += 1 - scaled;
        if (drop > F64_FRACTION_BITS + 1) return sign;
        scaled = 0;
    }
    uint64_t kept = significand >> drop, rest = significand & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    if (scaled == 0) return sign | kept;
    /* The leading 1 of a normal number adds 1 to the exponent, as does a carry of the rounding. */
    return sign | (((uint64_t)(scaled - 1) << fraction_bits) + kept);
}

/* A float's bits as a double's; a NaN keeps its payload and its signalling bit. */
static uint64_t ptx_widen(uint32_t bits)
{
    uint32_t exponent = bits >> 23 & 0xff;
    float value;
    double wide;
    if (exponent == 0xff)
        return (uint64_t)(bits >> 31) << 63 | 0x7ffull << 52 | (uint64_t)(bits & 0x7fffff) << 29;
    memcpy(&value, &bits, 4);
    wide = value;
    uint64_t result;
    memcpy(&result, &wide, 8);
    return result;
}

/* A double's bits as those of another float type; unchanged for types that immediates do not have. */
static uint64_t ptx_to_float_type(uint64_t wide, PtxType to)
{
    switch (to) {
    case PTX_f16: return ptx_narrow(wide, 5, 10);
    case PTX_bf16: return ptx_narrow(wide, 8, 7);
    case PTX_f32:
    case PTX_tf32: {
        double value = double_value(wide);
        return value != value ? ptx_narrow(wide, 8, 23) : float_bits((float)value);
    }
    default: return wide;
    }
}

uint64_t ptx_convert_bits(PtxType from, uint64_t bits, PtxType to)
{
    bool is_float = from == PTX_f32 || from == PTX_f64;
    unsigned width = ptx_type_bits(to);
    if (is_float && ptx_types[to].class == PTX_FLOAT && from != to)
        bits = ptx_to_float_type(from == PTX_f32 ? ptx_widen((uint32_t)bits) : bits, to);
    else if (from == PTX_f64 && to == PTX_b32) /* a decimal number of 32 bits is an f32 */
        bits = ptx_to_float_type(bits, PTX_f32);
    else if (from == PTX_f32 && to == PTX_b64)
        bits = ptx_widen((uint32_t)bits);
    if (to == PTX_pred) return bits != 0;
    return width < 64 && width ? bits & ((1ull << width) - 1) : bits;
}

uint64_t ptx_immediate_bits(const PtxOperand *operand, PtxType type)
{
    return ptx_convert_bits((PtxType)operand->type, operand->bits, type);
}
