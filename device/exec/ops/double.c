/* f64 arithmetic, rounded to nearest even.
 *
 * A NaN operand becomes the result, made quiet. Of several NaNs a sum or product takes b, then c, then a; a
 * quotient takes a, then b. x86 processors take a first, and their NaN of an invalid operation has a GPU's
 * bits, so that only b and c are tested here; on other processors every NaN is chosen here.
 */
#include "exec/numbers/fma.h"

LANE_FN f64 quiet(f64 x) { return f64_from(f64_bits(x) | F64_QUIET); }
LANE_FN f64 nan_or(f64 x, f64 otherwise) { return x != x ? quiet(x) : otherwise; }

/* The result r of an operation on a, or on a and b, with the NaN that it must have: of_two() takes a
 * before b. */
#if defined(__x86_64__)
LANE_FN f64 of_one(f64 a, f64 r) { (void)a; return r; }
LANE_FN f64 of_two(f64 a, f64 b, f64 r) { (void)a, (void)b; return r; }
#else
#define F64_INVALID 0xfff8000000000000u
LANE_FN f64 of_one(f64 a, f64 r)
{
    const b64 x = f64_bits(a), made = f64_bits(r);
    return f64_from((x & ~F64_SIGN) > F64_INF ? x | F64_QUIET
                    : (made & ~F64_SIGN) > F64_INF ? F64_INVALID : made);
}
LANE_FN f64 of_two(f64 a, f64 b, f64 r) { return nan_or(a, nan_or(b, of_one(0, r))); }
#endif

BINARY(add_f64, f64, nan_or(b, of_one(a, a + b)))
BINARY(sub_f64, f64, nan_or(b, of_one(a, a - b)))
BINARY(mul_f64, f64, nan_or(b, of_one(a, a * b)))
BINARY(div_f64, f64, of_two(a, b, a / b))
UNARY(rcp_f64, f64, of_one(a, 1.0 / a))
UNARY(sqrt_f64, f64, of_one(a, __builtin_sqrt(a)))

#if HAVE_FMA
TERNARY(fma_f64, f64, nan_or(b, nan_or(c, of_one(a, __builtin_fma(a, b, c)))))
#else
#define FMA_FORM(form) \
    HANDLER(fma_f64, form) \
    { \
        f64 *d = ROW(f64, w, i->d); \
        const f64 *a = ROW(const f64, w, i->a), *b = ROW(const f64, w, i->b), *c = ROW(const f64, w, i->c); \
        FmaParts x; \
        fma_row_f64(&x, a, b, c, w->lanes); \
        LANES_LOOP LANE_STORE_##form(f64, nan_or(b[l], nan_or(c[l], x.high[l]))); \
        return i + 1; \
    }
FMA_FORM(full)
FMA_FORM(part)
#endif

UNARY(neg_f64, f64, nan_or(a, f64_from(f64_bits(a) ^ F64_SIGN)))
UNARY(abs_f64, f64, nan_or(a, f64_from(f64_bits(a) & ~F64_SIGN)))
BINARY(copysign_f64, b64, (b & ~F64_SIGN) | (a & F64_SIGN))

LANE_FN f64 min_of(f64 a, f64 b)
{
    f64 r = a < b || b != b ? a : b;
    return a == b ? f64_from(f64_bits(a) | f64_bits(b)) : a != a ? nan_or(b, b) : r;
}
LANE_FN f64 max_of(f64 a, f64 b)
{
    f64 r = a > b || b != b ? a : b;
    return a == b ? f64_from(f64_bits(a) & f64_bits(b)) : a != a ? nan_or(b, b) : r;
}
BINARY(min_f64, f64, min_of(a, b))
BINARY(max_f64, f64, max_of(a, b))

UNARY(sat_f64, f64, a > 0 ? (a < 1 ? a : 1.0) : 0.0)
UNARY(rint_f64, f64, __builtin_rint(a))
UNARY(trunc_f64, f64, __builtin_trunc(a))
UNARY(floor_f64, f64, __builtin_floor(a))
UNARY(ceil_f64, f64, __builtin_ceil(a))

/* --- elements in memory -------------------------------------------------------------------------------- */

WIDE_OP(add_f64, f64, nan_or(b, of_one(a, a + b)))
WIDE_OP(sub_f64, f64, nan_or(b, of_one(a, a - b)))
WIDE_OP(mul_f64, f64, nan_or(b, of_one(a, a * b)))
WIDE_OP(div_f64, f64, of_two(a, b, a / b))
WIDE_OP(sqrt_f64, f64, of_one(a, __builtin_sqrt(a)))
WIDE_OP(neg_f64, f64, nan_or(a, f64_from(f64_bits(a) ^ F64_SIGN)))
