/* The coefficients of the approximate functions: for each segment of an argument's range, a parabola. */
#ifndef DEVICE_EXEC_NUMBERS_MUFU_TABLE_H
#define DEVICE_EXEC_NUMBERS_MUFU_TABLE_H

/* a + b x + c x^2 + bias of segment number k, each of a[k], b[k], c[k] in its unit; nothing of it is rounded
 * in double. */
typedef struct {
    double a_unit, b_unit, c_unit, bias;
    int segments;
    _Alignas(64) int a[128];
    int b[128], c[128];
} MufuTable;

extern const MufuTable mufu_rcp_table;   /* of the mantissa, by its first 7 bits */
extern const MufuTable mufu_rsqrt_table; /* by the exponent's last bit and the mantissa's first 6 */
extern const MufuTable mufu_sqrt_table;  /* likewise */
extern const MufuTable mufu_ex2_table;   /* of the fraction, by its first 6 bits */
extern const MufuTable mufu_lg2_table;   /* of the mantissa, by its first 6 bits */
extern const MufuTable mufu_sin_table;   /* of the part of a quadrant, by its first 6 bits */
extern const MufuTable mufu_tanh_table;  /* octave after octave: mufu_tanh_octave says where */

/* Of tanh's octaves from 2^-8 to 2^3: 16 times its first segment, and of how many bits its segments are. */
extern const int mufu_tanh_octave[11];

#endif
