/* Addresses of a warp, half a warp (16 lanes) at a time: what they have in common decides how fast an
 * access is.
 *
 * Of 16 addresses that are all the same (even) or follow each other (dense) only one check and one vector
 * move is needed; others (loose) go lane by lane. Halves, because tiles of 16 columns are what kernels use.
 * A lane's host address is always base + address: generic addresses have base imm, shared ones the block's
 * memory. Included by files that are compiled for each instruction set.
 */
#ifndef DEVICE_EXEC_ADDRESSES_H
#define DEVICE_EXEC_ADDRESSES_H

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "exec/lanes.h"
#include "exec/state.h"

typedef enum { SHAPE_EVEN, SHAPE_DENSE, SHAPE_LOOSE } Shape;
enum { HALF = 16, HALF_MASK = 0xffff };

/* Steps of 0, 1, 2, 4, 8, 16, 32 or 64 bytes from lane to lane: row ffs(size). */
#define STEPS_OF(s) \
    {0,     s,     2 * s,  3 * s,  4 * s,  5 * s,  6 * s,  7 * s, \
     8 * s, 9 * s, 10 * s, 11 * s, 12 * s, 13 * s, 14 * s, 15 * s}
#define STEPS_ALL \
    {STEPS_OF(0), STEPS_OF(1), STEPS_OF(2), STEPS_OF(4), STEPS_OF(8), STEPS_OF(16), STEPS_OF(32), STEPS_OF(64)}
static const _Alignas(64) uint64_t steps_u64[8][HALF] = STEPS_ALL;
static const _Alignas(64) uint32_t steps_u32[8][HALF] = STEPS_ALL;

/* True when a[l] == a[0] + steps[l] for all l of the half. */
LANE_FN bool follows_u64(const uint64_t *a, const uint64_t *steps)
{
#if defined(__AVX512F__)
    __m512i base = _mm512_set1_epi64((long long)a[0]);
    __m512i x = _mm512_sub_epi64(_mm512_load_si512(a), base),
            y = _mm512_sub_epi64(_mm512_load_si512(a + 8), base);
    return (_mm512_cmpneq_epi64_mask(x, _mm512_load_si512(steps))
            | _mm512_cmpneq_epi64_mask(y, _mm512_load_si512(steps + 8)))
           == 0;
#elif defined(__AVX2__)
    const __m256i *v = (const __m256i *)(const void *)a, *s = (const __m256i *)(const void *)steps;
    __m256i base = _mm256_set1_epi64x((long long)a[0]), diff = _mm256_setzero_si256();
    for (int k = 0; k < 4; k++)
        diff = _mm256_or_si256(
            diff, _mm256_xor_si256(_mm256_load_si256(v + k), _mm256_add_epi64(base, _mm256_load_si256(s + k))));
    return _mm256_testz_si256(diff, diff);
#else
    uint64_t diff = 0;
    for (int l = 0; l < HALF; l++) diff |= a[l] ^ (a[0] + steps[l]);
    return diff == 0;
#endif
}

LANE_FN bool follows_u32(const uint32_t *a, const uint32_t *steps)
{
#if defined(__AVX512F__)
    __m512i x = _mm512_sub_epi32(_mm512_load_si512(a), _mm512_set1_epi32((int)a[0]));
    return _mm512_cmpneq_epi32_mask(x, _mm512_load_si512(steps)) == 0;
#elif defined(__AVX2__)
    const __m256i *v = (const __m256i *)(const void *)a, *s = (const __m256i *)(const void *)steps;
    __m256i base = _mm256_set1_epi32((int)a[0]);
    __m256i x = _mm256_xor_si256(_mm256_load_si256(v), _mm256_add_epi32(base, _mm256_load_si256(s)));
    __m256i y = _mm256_xor_si256(_mm256_load_si256(v + 1), _mm256_add_epi32(base, _mm256_load_si256(s + 1)));
    __m256i diff = _mm256_or_si256(x, y);
    return _mm256_testz_si256(diff, diff);
#else
    uint32_t diff = 0;
    for (int l = 0; l < HALF; l++) diff |= a[l] ^ (a[0] + steps[l]);
    return diff == 0;
#endif
}

/* size: bytes a lane accesses, a power of two up to 64. */
#define SHAPE_FN(A) \
    LANE_FN Shape shape_##A(const A *a, uint32_t size) \
    { \
        A step = a[1] - a[0]; \
        if (step == 0) return follows_##A(a, steps_##A[0]) ? SHAPE_EVEN : SHAPE_LOOSE; \
        if (step != size) return SHAPE_LOOSE; \
        return follows_##A(a, steps_##A[__builtin_ffs((int)size)]) ? SHAPE_DENSE : SHAPE_LOOSE; \
    }
#define follows_uint64_t follows_u64
#define follows_uint32_t follows_u32
#define steps_uint64_t steps_u64
#define steps_uint32_t steps_u32
SHAPE_FN(uint64_t)
SHAPE_FN(uint32_t)

/* --- where memory is ------------------------------------------------------------------------------------ */

/* An access of one op: what the checks need to know. */
typedef struct Access {
    Warp *w;
    const Insn *i;
    uint32_t size;   /* bytes of one lane */
    bool write;
} Access;

/* The host address of bytes of generic memory, or NULL: not all there, or misaligned for one lane's size. */
LANE_FN uint8_t *at_generic(const Access *x, uint64_t address, uint64_t bytes)
{
    const Worker *worker = x->w->worker;
    const RangeEntry *entry = &(x->write ? worker->stores : worker->loads)[range_slot(x->i)];
    address += (uint64_t)x->i->imm;
    if (address & (x->size - 1)) return NULL;
    if (!range_has(entry, address, bytes) && !range_find(x->w, x->i, address, bytes, x->write)) return NULL;
    return (uint8_t *)(uintptr_t)address;
}

/* The same for shared memory. */
LANE_FN uint8_t *at_shared(const Access *x, uint64_t address, uint64_t bytes)
{
    const Block *block = x->w->block;
    address += (uint64_t)x->i->imm;
    if ((address & (x->size - 1)) || address >= block->shared_size || address + bytes > block->shared_size)
        return NULL;
    return block->shared + address;
}

/* One span of addresses that is valid, and what turns an address of it into a host address. */
typedef struct Span {
    uint64_t base, size, shift;
} Span;

/* The range that this instruction hit last: most often the right one. */
LANE_FN Span span_generic(const Access *x)
{
    const Worker *worker = x->w->worker;
    const RangeEntry *entry = &(x->write ? worker->stores : worker->loads)[range_slot(x->i)];
    return (Span){entry->base, entry->size, 0};
}

LANE_FN Span span_shared(const Access *x)
{
    const Block *block = x->w->block;
    return (Span){0, block->shared_size, (uintptr_t)block->shared};
}

/* True when all executing lanes' addresses are aligned and in the span: one pass of vector compares. */
#define SPAN_FN(A) \
    LANE_FN bool span_has_##A(const Access *x, const Span *span, const A *a) \
    { \
        const uint64_t limit = span->size >= x->size ? span->size - x->size + 1 : 0; \
        const uint64_t offset = (uint64_t)x->i->imm - span->base, align = x->size - 1; \
        uint64_t bad = 0; \
        for (int l = 0; l < WARP_LANES; l++) { \
            const uint64_t o = a[l] + offset, rest = (a[l] + (uint64_t)x->i->imm) & align; \
            bad |= ((o >= limit ? ~0ull : 0) | rest) & (uint64_t)(int64_t)x->w->lanes[l]; \
        } \
        return bad == 0; \
    }
SPAN_FN(uint64_t)
SPAN_FN(uint32_t)

/* Local memory of lane l: an address row is absolute, without one imm counts from the running frame. */
LANE_FN uint8_t *at_local(const Access *x, int l, uint64_t address, uint64_t bytes)
{
    const Warp *w = x->w;
    uint64_t limit = w->block->grid->local_size;
    address += (uint64_t)x->i->imm + (x->i->a == REF_ABSENT ? w->current->local : 0);
    if ((address & (x->size - 1)) || address >= limit || address + bytes > limit) return NULL;
    return w->local + (uint64_t)l * w->local_stride + address;
}

/* --- faults, out of the way: a lane whose access has no host address ------------------------------------ */

LANE_FN const Insn *fault_generic(const Access *x, int lane, uint64_t address)
{
    return exec_fault_access(x->w, x->i, lane, address + (uint64_t)x->i->imm, x->size, x->write);
}

LANE_FN const Insn *fault_shared(const Access *x, int lane, uint64_t address)
{
    return exec_fault_window(x->w, x->i, lane, "shared", address + (uint64_t)x->i->imm, x->size,
                             x->w->block->shared_size, x->write);
}

LANE_FN const Insn *fault_local(const Access *x, int lane, uint64_t address)
{
    address += (uint64_t)x->i->imm + (x->i->a == REF_ABSENT ? x->w->current->local : 0);
    return exec_fault_window(x->w, x->i, lane, "local", address, x->size, x->w->block->grid->local_size,
                             x->write);
}

#endif
