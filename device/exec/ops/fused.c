/* Several instructions at once. A fused operation stands before the instructions that it runs, and uses
 * their operands. Where it cannot run them all it does nothing, and they are run one by one: so they handle
 * faults, masks of some lanes and addresses without a pattern.
 */
#include "exec/code/fused.h"

#include "exec/numbers/fma.h"
#include "exec/ops/places.h"

/* A vector of floats: a half warp has one or two. On other instruction sets nothing is fused, unless by
 * sums of doubles (HAVE_ROUNDING_CHECK): plain loops would not be faster. */
#if defined(__AVX512F__)
typedef __m512 Lanes;
#define LANES_EACH 16
#define LANES_LOAD(p) _mm512_loadu_ps((const float *)(const void *)(p))
#define LANES_BROADCAST(p) _mm512_set1_ps(*(const float *)(const void *)(p))
#define LANES_STORE(p, v) _mm512_store_ps(p, v)
#define LANES_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define HAVE_LANES 1
#elif defined(__AVX2__)
typedef __m256 Lanes;
#define LANES_EACH 8
#define LANES_LOAD(p) _mm256_loadu_ps((const float *)(const void *)(p))
#define LANES_BROADCAST(p) _mm256_broadcast_ss((const float *)(const void *)(p))
#define LANES_STORE(p, v) _mm256_store_ps(p, v)
#define LANES_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define HAVE_LANES 1
#else
#define HAVE_LANES 0
#endif
#define HAVE_DOT (HAVE_LANES || HAVE_ROUNDING_CHECK) /* with sums of doubles where there is no fma */

#if HAVE_LANES
enum { PARTS = HALF_WARP / LANES_EACH }; /* vectors of a half */

/* d = c + the products of `count` times three instructions (load x, load y, fma), both halves of the warp at
 * a time. i and j: the loads, whose immediates are the offsets from x and y. The lanes' values at x are
 * consecutive; those at y are too (dense), or all lanes have one. */
#define DOT_STEPS(SECOND, step) \
    for (; count; count--, i += 3, j += 3) { \
        const int64_t in_x = i->imm, in_y = j->imm; \
        for (int p = 0; p < PARTS; p++) { \
            low[p] = \
                LANES_FMA(LANES_LOAD(x->low + in_x + 32 * p), SECOND(y->low + in_y + (step) * p), low[p]); \
            high[p] = LANES_FMA(LANES_LOAD(x->high + in_x + 32 * p), SECOND(y->high + in_y + (step) * p), \
                                high[p]); \
        } \
    }
LANE_FN void dot(const Insn *i, const Insn *j, uint32_t count, const Places *x, const Places *y,
                 const float *c, float *d)
{
    Lanes low[PARTS], high[PARTS];
    for (int p = 0; p < PARTS; p++) {
        low[p] = LANES_LOAD(c + LANES_EACH * p);
        high[p] = LANES_LOAD(c + HALF_WARP + LANES_EACH * p);
    }
    if (y->dense)
        DOT_STEPS(LANES_LOAD, 32)
    else
        DOT_STEPS(LANES_BROADCAST, 0)
    for (int p = 0; p < PARTS; p++) {
        LANES_STORE(d + LANES_EACH * p, low[p]);
        LANES_STORE(d + HALF_WARP + LANES_EACH * p, high[p]);
    }
}
#elif HAVE_DOT
/* Four lanes' r = c + x * y, in double and rounded to float: operands are widened as they are loaded, which
 * takes half the work of widening registers. */
#define DOT_FOUR(x, y, z) \
    round_sums(r + l, _mm_add_pd(_mm_mul_pd(widened(x), y), widened(c + l)), \
               _mm_add_pd(_mm_mul_pd(widened((x) + 8), z), widened(c + l + 2)), checks_tiny, check)
/* The lanes of a half of the warp. check: what is noted of their roundings, as round_sums() does. */
LANE_FN void dot_half_warp(float *r, const uint8_t *x, const uint8_t *y, bool dense, const float *c,
                           bool checks_tiny, RoundingCheck *check)
{
    const __m128d broadcast = _mm_set1_pd(*(const float *)(const void *)y);
    for (int l = 0; l < HALF_WARP; l += 4, x += 16, y += 16) {
        if (dense) DOT_FOUR(x, widened(y), widened(y + 8));
        else DOT_FOUR(x, broadcast, broadcast);
    }
}

static __attribute__((noinline)) void dot_exact(float *r, const Places *x, const Places *y, const float *c)
{
    _Alignas(64) float a[WARP_LANES], b[WARP_LANES];
    load_places_uint32_t((uint32_t *)(void *)a, x);
    load_places_uint32_t((uint32_t *)(void *)b, y);
    fma_row_exact(r, a, b, c);
}

LANE_FN void dot_step(float *r, const Places *x, int64_t in_x, const Places *y, int64_t in_y, bool dense,
                      const float *c, bool checks_tiny, RoundingCheck *check)
{
    const Places a = {x->low + in_x, x->high + in_x, true, true};
    const Places b = {y->low + in_y, y->high + in_y, dense, true};
    check->tie = rounding_check_new().tie;
    if (checks_tiny) check->tiny = rounding_check_new().tiny;
    dot_half_warp(r, a.low, b.low, dense, c, checks_tiny, check);
    dot_half_warp(r + HALF_WARP, a.high, b.high, dense, c + HALF_WARP, checks_tiny, check);
    if (may_be_rounded_twice(check)) dot_exact(r, &a, &b, c);
}

/* Only every second step checks for tiny sums. If a tiny sum is not exact in double, its product has bits
 * far below those of the sum and is at most 1/32 of it, so that the sum of the step before was tiny too.
 * So of any two steps the one that checks notices it. */
LANE_FN void dot_steps(const Insn *i, const Insn *j, uint32_t count, const Places *x, const Places *y,
                       bool dense, const float *c, float *d)
{
    _Alignas(64) float first[WARP_LANES], second[WARP_LANES];
    RoundingCheck check;
    for (;; i += 6, j += 6, c = second) {
        dot_step(first, x, i->imm, y, j->imm, dense, c, true, &check);
        if (count < 2) break;
        dot_step(second, x, i[3].imm, y, j[3].imm, dense, first, false, &check);
        count -= 2;
        if (!count) break;
    }
    memcpy(d, count ? first : second, sizeof first);
}

LANE_FN void dot(const Insn *i, const Insn *j, uint32_t count, const Places *x, const Places *y,
                 const float *c, float *d)
{
    if (y->dense) dot_steps(i, j, count, x, y, true, c, d);
    else dot_steps(i, j, count, x, y, false, c, d);
}
#endif

#if HAVE_DOT
static const Insn *dot_shared(Warp *w, const Insn *i)
{
    const FusedDot offsets = fused_dot_unpack(i->imm);
    const Insn *one = i + 1, *other = i + 2, *last = i + 3 * i->mods;
    Places x = places_shared_between(w, one, 4, offsets.first_min, offsets.first_max);
    Places y = places_shared_between(w, other, 4, offsets.second_min, offsets.second_max);
    float *d = ROW(float, w, last->d);
    const float *c = ROW(const float, w, i[3].c);
    if (!(x.valid & y.valid & (x.dense | y.dense))) return i + 1;
    x.low -= offsets.first_min, x.high -= offsets.first_min;
    y.low -= offsets.second_min, y.high -= offsets.second_min;
    if (!x.dense) {
        const Places t = x;
        x = y;
        y = t;
        one = i + 2;
        other = i + 1;
    }
    dot(one, other, i->mods, &x, &y, c, d);
    if (__builtin_expect(row_has_nan(d), 0)) canonical_row(d, w->lanes);
    return last + 1;
}
HANDLER(fused_dot_shared_f32, full) { return dot_shared(w, i); }
#else
HANDLER(fused_dot_shared_f32, full) { (void)w; return i + 1; }
#endif
HANDLER(fused_dot_shared_f32, part) { (void)w; return i + 1; }
