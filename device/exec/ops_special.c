/* The approximate functions of f32, and the f64 reciprocals that work on high words. */
#include "exec/approx.h"

#define APPROX(name, value) UNARY(name##_f32, f32, value)
#define APPROX_FTZ(name, function) \
    UNARY(name##_f32, f32, function(a)) \
    UNARY(name##_ftz_f32, f32, flush(function(flush(a))))

LANE_FN f32 rsqrt_of(f32 x) { return canonical(1.0f / __builtin_sqrtf(x)); }
APPROX_FTZ(rsqrt, rsqrt_of)
APPROX_FTZ(ex2, approx_ex2)
APPROX_FTZ(lg2, approx_lg2)
APPROX(sin, approx_sin_quadrant(a, 0))
APPROX(cos, approx_sin_quadrant(a, 1))
APPROX(tanh, approx_tanh(a))

/* PTX defines the quotient by a divisor beyond 2^126 as that of an infinite one. */
LANE_FN f32 quotient(f32 a, f32 b)
{
    bool huge = (f32_bits(b) & ~F32_SIGN) > 0x7e800000u && (f32_bits(b) & ~F32_SIGN) < F32_INF;
    return canonical(huge ? a * f32_from(f32_bits(b) & F32_SIGN) : a / b);
}
LANE_FN f32 quotient_flushed(f32 a, f32 b) { return flush_tiny(quotient(a, b), a * 0x1p60f / b); }
BINARY(div_approx_f32, f32, quotient(a, b))
BINARY(div_approx_ftz_f32, f32, quotient_flushed(flush(a), flush(b)))

UNARY(rsqrt_f64, f64, 1.0 / __builtin_sqrt(a))

/* Only the high words count: the low one of the source is ignored, that of the result is zero. */
#define HIGH_WORD 0xffffffff00000000u
LANE_FN f64 high_source(f64 x)
{
    b64 bits = f64_bits(x);
    return f64_from((bits & F64_INF) == 0 ? bits & F64_SIGN : bits & HIGH_WORD);
}
LANE_FN f64 high_result(f64 x)
{
    b64 bits = f64_bits(x);
    b64 cut = bits & HIGH_WORD;
    return f64_from((bits & F64_INF) == 0 ? bits & F64_SIGN : x != x ? 0x7fffffff00000000u : cut);
}
UNARY(rcp_approx_ftz_f64, f64, high_result(1.0 / high_source(a)))
UNARY(rsqrt_approx_ftz_f64, f64, high_result(1.0 / __builtin_sqrt(high_source(a))))
