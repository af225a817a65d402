/* f32x2: two floats in 64 bits, each computed as f32 is. Rounding to nearest even; the rest is in
 * exec/ops/round.c. */
#include "exec/numbers/float.h"

LANE_FN f32 low_of(b64 x) { return f32_from((b32)x); }
LANE_FN f32 high_of(b64 x) { return f32_from((b32)(x >> 32)); }
LANE_FN b64 pair_of(f32 low, f32 high) { return f32_bits(low) | (b64)f32_bits(high) << 32; }

LANE_FN f32 add_of(f32 a, f32 b) { return canonical(a + b); }
LANE_FN f32 sub_of(f32 a, f32 b) { return canonical(a - b); }
LANE_FN f32 mul_of(f32 a, f32 b) { return canonical(a * b); }
LANE_FN f32 fma_of(f32 a, f32 b, f32 c) { return canonical(fma_f32(a, b, c)); }

LANE_FN f32 add_ftz_of(f32 a, f32 b) { return flush(add_of(flush(a), flush(b))); }
LANE_FN f32 sub_ftz_of(f32 a, f32 b) { return flush(sub_of(flush(a), flush(b))); }
/* With .ftz a product is subnormal by its value before rounding, for which flush_tiny takes it times 2^60. */
LANE_FN f32 mul_ftz_of(f32 x, f32 y)
{
    const f32 a = flush(x), b = flush(y);
    return flush_tiny(flush(mul_of(a, b)), a * 0x1p60f * b);
}
LANE_FN f32 fma_ftz_of(f32 x, f32 y, f32 z)
{
    const f32 a = flush(x), b = flush(y), c = flush(z);
    return flush_tiny(flush(fma_of(a, b, c)), fma_f32(a * 0x1p60f, b, c * 0x1p60f));
}

#define PAIR_2(name) \
    BINARY(name##_f32x2, b64, pair_of(name##_of(low_of(a), low_of(b)), name##_of(high_of(a), high_of(b))))
#define PAIR_3(name) \
    TERNARY(name##_f32x2, b64, pair_of(name##_of(low_of(a), low_of(b), low_of(c)), \
                                       name##_of(high_of(a), high_of(b), high_of(c))))
PAIR_2(add)
PAIR_2(sub)
PAIR_2(mul)
PAIR_3(fma)
PAIR_2(add_ftz)
PAIR_2(sub_ftz)
PAIR_2(mul_ftz)
PAIR_3(fma_ftz)

UNARY(neg_f32x2, b64, a ^ 0x8000000080000000u)
UNARY(flush_f32x2, b64, pair_of(flush(low_of(a)), flush(high_of(a))))
