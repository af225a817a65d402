/* The coefficients of the approximate functions: for each segment of an argument's range, a quadratic
 * polynomial. */
#ifndef DEVICE_EXEC_NUMBERS_MUFU_TABLE_H
#define DEVICE_EXEC_NUMBERS_MUFU_TABLE_H

/* The polynomial of segment k is a + b x + c x^2 + bias, where a is a[k] * a_unit, and so on: in double
 * none of that is rounded. */
typedef struct {
    double a_unit, b_unit, c_unit, bias;
    int segments;
    _Alignas(64) int a[128];
    int b[128], c[128];
} MufuTable;

/* What a segment's number is made of. */
extern const MufuTable mufu_rcp_table; /* the mantissa's first 7 bits */
extern const MufuTable mufu_rsqrt_table; /* the exponent's last bit and the mantissa's first 6 bits */
extern const MufuTable mufu_sqrt_table; /* the exponent's last bit and the mantissa's first 6 bits */
extern const MufuTable mufu_ex2_table; /* the first 6 bits after the point */
extern const MufuTable mufu_lg2_table; /* the mantissa's first 6 bits */
extern const MufuTable mufu_sin_table; /* the first 6 bits of the position in a quadrant */
extern const MufuTable mufu_tanh_table; /* octave after octave: mufu_tanh_octave says where each begins */

/* For each of tanh's octaves from 2^-8 to 2^3: 16 times the number of its first segment, plus the number
 * of the mantissa's bits that choose one of its segments. */
extern const int mufu_tanh_octave[11];

#endif
