/* Directed rounding (.rz .rm .rp): the op that rounds to nearest, run under another rounding mode.
 *
 * The handlers read their operands from memory and write results to memory, and the change of mode is a call
 * the compiler does not see into, so no arithmetic moves across it.
 */
#include <fenv.h>

#include "exec/numbers/float.h"

static int mode_of(unsigned mods)
{
    switch (mods & MODS_ROUND) {
    case MODS_RZ: return FE_TOWARDZERO;
    case MODS_RM: return FE_DOWNWARD;
    case MODS_RP: return FE_UPWARD;
    default: return FE_TONEAREST;
    }
}

static const Insn *run_rounded(OpFn handler, Warp *w, const Insn *i)
{
    fesetround(mode_of(i->mods));
    const Insn *next = handler(w, i);
    fesetround(FE_TONEAREST);
    return next;
}

#define ROUNDED(name, nearest) \
    HANDLER(name, full) { return run_rounded(EXEC_NAME(op_##nearest##_full), w, i); } \
    HANDLER(name, part) { return run_rounded(EXEC_NAME(op_##nearest##_part), w, i); }

#define ROUNDED_ARITHMETIC(T) \
    ROUNDED(add_round_##T, add_##T) \
    ROUNDED(sub_round_##T, sub_##T) \
    ROUNDED(mul_round_##T, mul_##T) \
    ROUNDED(div_round_##T, div_##T) \
    ROUNDED(rcp_round_##T, rcp_##T) \
    ROUNDED(sqrt_round_##T, sqrt_##T)
ROUNDED_ARITHMETIC(f32)
ROUNDED_ARITHMETIC(f64)
ROUNDED(add_round_f32x2, add_f32x2)
ROUNDED(sub_round_f32x2, sub_f32x2)
ROUNDED(mul_round_f32x2, mul_f32x2)
ROUNDED(mul_round_ftz_f32x2, mul_ftz_f32x2)
ROUNDED(fma_round_f64, fma_f64)
ROUNDED(mul_round_ftz_f32, mul_ftz_f32)
ROUNDED(div_round_ftz_f32, div_ftz_f32)

ROUNDED(cvt_round_f32_s32, cvt_f32_s32)
ROUNDED(cvt_round_f32_u32, cvt_f32_u32)
ROUNDED(cvt_round_f32_s64, cvt_f32_s64)
ROUNDED(cvt_round_f32_u64, cvt_f32_u64)
ROUNDED(cvt_round_f64_s64, cvt_f64_s64)
ROUNDED(cvt_round_f64_u64, cvt_f64_u64)
ROUNDED(cvt_round_f32_f64, cvt_f32_f64)

/* Without an fma instruction fma_f32() needs rounding to nearest. In the other modes a sum of doubles is
 * correct: the product is exact, and rounding twice in one direction is the same as rounding once. */
#if HAVE_FMA
#define FMA_DIRECTED(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FMA_DIRECTED(a, b, c) (f32)((f64)(a) * (b) + (c))
#endif
/* fma.f32 with a rounding mode; to_nearest: the handler without one. */
static const Insn *fma_directed(OpFn to_nearest, Warp *w, const Insn *i)
{
    f32 *d = ROW(f32, w, i->d);
    const f32 *a = ROW(const f32, w, i->a), *b = ROW(const f32, w, i->b), *c = ROW(const f32, w, i->c);
    const int mode = mode_of(i->mods);
    if (mode == FE_TONEAREST) return to_nearest(w, i);
    fesetround(mode);
    LANES_LOOP d[l] = LANE_BLEND(f32, w->lanes[l], canonical(FMA_DIRECTED(a[l], b[l], c[l])), d[l]);
    fesetround(FE_TONEAREST);
    return i + 1;
}
HANDLER(fma_round_f32, full) { return fma_directed(EXEC_NAME(op_fma_f32_full), w, i); }
HANDLER(fma_round_f32, part) { return fma_directed(EXEC_NAME(op_fma_f32_part), w, i); }

/* fma.f32x2 with a rounding mode. */
static const Insn *fma_directed_pairs(OpFn to_nearest, Warp *w, const Insn *i)
{
    b64 *d = ROW(b64, w, i->d);
    const b64 *a = ROW(const b64, w, i->a), *b = ROW(const b64, w, i->b), *c = ROW(const b64, w, i->c);
    const int mode = mode_of(i->mods);
    if (mode == FE_TONEAREST) return to_nearest(w, i);
    fesetround(mode);
    LANES_LOOP
    {
        const f32 low = FMA_DIRECTED(f32_from((b32)a[l]), f32_from((b32)b[l]), f32_from((b32)c[l]));
        const f32 high = FMA_DIRECTED(f32_from((b32)(a[l] >> 32)), f32_from((b32)(b[l] >> 32)),
                                      f32_from((b32)(c[l] >> 32)));
        const b64 both = f32_bits(canonical(low)) | (b64)f32_bits(canonical(high)) << 32;
        d[l] = LANE_BLEND(b64, w->lanes[l], both, d[l]);
    }
    fesetround(FE_TONEAREST);
    return i + 1;
}
HANDLER(fma_round_f32x2, full) { return fma_directed_pairs(EXEC_NAME(op_fma_f32x2_full), w, i); }
HANDLER(fma_round_f32x2, part) { return fma_directed_pairs(EXEC_NAME(op_fma_f32x2_part), w, i); }
