/* Addresses of a warp, half a warp (16 lanes) at a time: what they have in common decides how fast an access
 * is.
 *
 * 16 addresses that are all the same (uniform) or consecutive (dense) take one check and one vector move;
 * others are checked together and gathered. Half warps, because many kernels use tiles of 16 columns. A
 * lane's host address is a constant plus its address operand: the constant is the instruction's immediate
 * for generic addresses, and that plus the start of the block's memory for shared ones. Included by files
 * that are compiled for each instruction set.
 */
#ifndef DEVICE_EXEC_OPS_ADDRESSES_H
#define DEVICE_EXEC_OPS_ADDRESSES_H

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "exec/numbers/lanes.h"
#include "exec/state/ranges.h"

enum { HALF_WARP = 16 };
#define VECTOR_256(p) _mm256_load_si256((const __m256i *)(const void *)(p))
#define TERNARY_OR_XOR 0xf6 /* of vpternlog: a | (b ^ c) */

/* The loop over a half's lanes. Memory that a kernel may access never overlaps rows, so that no lane
 * depends on another. */
#ifdef __clang__
#define HALF_WARP_LOOP _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < HALF_WARP; l++)
#else
#define HALF_WARP_LOOP _Pragma("GCC ivdep") for (int l = 0; l < HALF_WARP; l++)
#endif

/* steps[ffs(size)][l] is l * size, for sizes of 0, 1, 2, 4, 8, 16, 32 or 64 bytes from lane to lane. */
#define STEPS_OF(s) \
    {0,     s,     2 * s,  3 * s,  4 * s,  5 * s,  6 * s,  7 * s, \
     8 * s, 9 * s, 10 * s, 11 * s, 12 * s, 13 * s, 14 * s, 15 * s}
#define STEPS_ALL \
    {STEPS_OF(0), STEPS_OF(1),  STEPS_OF(2),  STEPS_OF(4), \
     STEPS_OF(8), STEPS_OF(16), STEPS_OF(32), STEPS_OF(64)}
static const _Alignas(64) uint64_t steps_u64[8][HALF_WARP] = STEPS_ALL;
static const _Alignas(64) uint32_t steps_u32[8][HALF_WARP] = STEPS_ALL;

/* True when a[l] == a[0] + steps[l] and a[16 + l] == a[16] + steps[l] for all l of a half. */
LANE_FN bool follows_u64(const uint64_t *a, const uint64_t *steps)
{
#if defined(__AVX512DQ__)
    __m512i diff = _mm512_setzero_si512();
    for (int l = 0; l < WARP_LANES; l += 8) {
        __m512i base = _mm512_set1_epi64((long long)a[l & HALF_WARP]);
        __m512i wanted = _mm512_add_epi64(base, _mm512_load_si512(steps + l % HALF_WARP));
        diff = _mm512_ternarylogic_epi64(diff, wanted, _mm512_load_si512(a + l), TERNARY_OR_XOR);
    }
    return _mm512_test_epi64_mask(diff, diff) == 0;
#elif defined(__AVX2__)
    __m256i diff = _mm256_setzero_si256();
    for (int l = 0; l < WARP_LANES; l += 4) {
        __m256i base = _mm256_set1_epi64x((long long)a[l & HALF_WARP]);
        __m256i wanted = _mm256_add_epi64(base, VECTOR_256(steps + l % HALF_WARP));
        diff = _mm256_or_si256(diff, _mm256_xor_si256(wanted, VECTOR_256(a + l)));
    }
    return _mm256_testz_si256(diff, diff);
#else
    uint64_t diff = 0;
    for (int l = 0; l < WARP_LANES; l++) diff |= a[l] ^ (a[l & HALF_WARP] + steps[l % HALF_WARP]);
    return diff == 0;
#endif
}

LANE_FN bool follows_u32(const uint32_t *a, const uint32_t *steps)
{
#if defined(__AVX512F__)
    __m512i s = _mm512_load_si512(steps);
    __m512i x = _mm512_sub_epi32(_mm512_load_si512(a), _mm512_set1_epi32((int)a[0]));
    __m512i y = _mm512_sub_epi32(_mm512_load_si512(a + HALF_WARP), _mm512_set1_epi32((int)a[HALF_WARP]));
    return _kortestz_mask16_u8(_mm512_cmpneq_epi32_mask(x, s), _mm512_cmpneq_epi32_mask(y, s));
#elif defined(__AVX2__)
    __m256i diff = _mm256_setzero_si256();
    for (int l = 0; l < WARP_LANES; l += 8) {
        __m256i base = _mm256_set1_epi32((int)a[l & HALF_WARP]);
        __m256i wanted = _mm256_add_epi32(base, VECTOR_256(steps + l % HALF_WARP));
        diff = _mm256_or_si256(diff, _mm256_xor_si256(wanted, VECTOR_256(a + l)));
    }
    return _mm256_testz_si256(diff, diff);
#else
    uint32_t diff = 0;
    for (int l = 0; l < WARP_LANES; l++) diff |= a[l] ^ (a[l & HALF_WARP] + steps[l % HALF_WARP]);
    return diff == 0;
#endif
}

/* The addresses of both halves, which are dense, or uniform each: where each half starts, and how many
 * bytes it covers. */
typedef struct Halves {
    uint64_t low, high;
    uint32_t bytes;
    bool dense;
} Halves;

/* Fills *h for the addresses a[l] + imm. False unless both halves are dense or both are uniform. size: bytes
 * that a lane accesses, a power of two up to 64. */
#define HALVES_FN(A) \
    LANE_FN bool halves_##A(const A *a, uint64_t imm, uint32_t size, Halves *h) \
    { \
        const A step = a[1] - a[0]; \
        if (step != 0 && step != size) return false; \
        h->low = a[0] + imm; \
        h->high = a[HALF_WARP] + imm; \
        h->dense = step != 0; \
        h->bytes = step != 0 ? HALF_WARP * size : size; \
        return follows_##A(a, steps_##A[step != 0 ? __builtin_ffs((int)size) : 0]); \
    }
#define follows_uint64_t follows_u64
#define follows_uint32_t follows_u32
#define steps_uint64_t steps_u64
#define steps_uint32_t steps_u32
HALVES_FN(uint64_t)
HALVES_FN(uint32_t)

/* --- where memory is ----------------------------------------------------------------------------------- */

/* An access of one op: what the checks need to know. */
typedef struct Access {
    Warp *w;
    const Insn *i;
    uint32_t size;   /* bytes of one lane */
    bool write;
} Access;

/* The host address of `bytes` bytes at a generic address (without the immediate). NULL if the kernel may not
 * access all of them, or if the address is not a multiple of access->size. */
LANE_FN uint8_t *at_generic(const Access *access, uint64_t address, uint64_t bytes)
{
    const Worker *worker = access->w->worker;
    const RangeEntry *entry = &(access->write ? worker->stores : worker->loads)[range_slot(access->i)];
    address += (uint64_t)access->i->imm;
    if (address & (access->size - 1)) return NULL;
    if (!range_has(entry, address, bytes) && !range_find(access->w, access->i, address, bytes, access->write))
        return NULL;
    return (uint8_t *)(uintptr_t)address;
}

/* As at_generic(), for shared memory. */
LANE_FN uint8_t *at_shared(const Access *access, uint64_t address, uint64_t bytes)
{
    return block_shared_at(access->w->block, memory_offset(access->i, address), bytes, access->size);
}

/* One span of valid addresses; shift: what is added to one of its addresses to make the host address. */
typedef struct Span {
    uint64_t base, size, shift;
} Span;

/* The range that has the address (with the immediate): most often the one that this instruction hit last. If
 * there is none, the result is some other range. */
LANE_FN Span span_generic(const Access *access, uint64_t address)
{
    const Worker *worker = access->w->worker;
    const RangeEntry *entry = &(access->write ? worker->stores : worker->loads)[range_slot(access->i)];
    if (__builtin_expect(address - entry->base >= entry->size, 0))
        range_find(access->w, access->i, address, access->size, access->write);
    return (Span){entry->base, entry->size, 0};
}

LANE_FN Span span_shared(const Access *access, uint64_t address)
{
    const Block *block = access->w->block;
    (void)address;
    return (Span){0, block->shared_size, (uintptr_t)block->shared};
}

/* Whether both halves are aligned and in the span. As signed numbers, offsets from its start are negative for
 * addresses before it, and differences to the last offset for those past its end: one test of the sign bits'
 * union covers all. */
LANE_FN bool span_has_halves(const Access *access, const Span *span, const Halves *h)
{
    const uint64_t last = span->size - h->bytes, low = h->low - span->base, high = h->high - span->base;
    const bool aligned = ((h->low | h->high) & (access->size - 1)) == 0;
    return aligned && (int64_t)(low | high | last | (last - low) | (last - high)) >= 0;
}

/* Whether the addresses a[l] + imm of all executing lanes are aligned and in the span, by vector compares. */
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

/* --- windows: each half by permuting the 64 bytes that start at its first lane's address --------------- */

/* Loads 32-bit elements of shared memory: d[l] = that at a[l] + imm. False, and d is unchanged, unless all
 * addresses of a half are aligned and within 64 bytes from its first lane's, and these bytes are within the
 * block's memory. Uniform, dense and other addresses take the same path. */
enum { WINDOW_BYTES = 64 };
#if defined(__AVX512F__)
#define HAVE_WINDOWS 1
LANE_FN bool load_windows(const Warp *w, const uint32_t *a, uint64_t imm, uint32_t *d)
{
    const Block *block = w->block;
    const uint64_t low = a[0] + imm, high = a[HALF_WARP] + imm;
    const uint64_t last = (uint64_t)block->shared_size - WINDOW_BYTES;
    const __m512i outside =
        _mm512_set1_epi32(~(WINDOW_BYTES - 4)); /* no element of the window has these bits */
    const __m512i x = _mm512_sub_epi32(_mm512_load_si512(a), _mm512_set1_epi32((int)a[0]));
    const __m512i y =
        _mm512_sub_epi32(_mm512_load_si512(a + HALF_WARP), _mm512_set1_epi32((int)a[HALF_WARP]));
    if (_mm512_test_epi32_mask(_mm512_or_si512(x, y), outside)) return false;
    if ((low | high) & 3 || (int64_t)(low | high | last | (last - low) | (last - high)) < 0) return false;
    _mm512_store_si512(
        d, _mm512_permutexvar_epi32(_mm512_srli_epi32(x, 2), _mm512_loadu_si512(block->shared + low)));
    _mm512_store_si512(d + HALF_WARP, _mm512_permutexvar_epi32(_mm512_srli_epi32(y, 2),
                                                               _mm512_loadu_si512(block->shared + high)));
    return true;
}
#else
#define HAVE_WINDOWS 0
LANE_FN bool load_windows(const Warp *w, const uint32_t *a, uint64_t imm, uint32_t *d)
{
    (void)w, (void)a, (void)imm, (void)d;
    return false;
}
#endif

/* --- gathers: the executing lanes' elements, whose addresses are known to be valid --------------------- */

/* out[l] = the element at host address a[l] + shift; 0 for lanes that do not execute. */
#if defined(__AVX2__)
LANE_FN void gather_32(const uint64_t *a, uint64_t shift, const int32_t *lanes, uint32_t *out)
{
    for (int l = 0; l < WARP_LANES; l += 4) {
        const __m128i mask = _mm_load_si128((const __m128i *)(const void *)(lanes + l));
        const __m128i r = _mm256_mask_i64gather_epi32(_mm_setzero_si128(), (const int *)(uintptr_t)shift,
                                                      VECTOR_256(a + l), mask, 1);
        _mm_store_si128((__m128i *)(void *)(out + l), r);
    }
}
LANE_FN void gather_64(const uint64_t *a, uint64_t shift, const int32_t *lanes, uint64_t *out)
{
    for (int l = 0; l < WARP_LANES; l += 4) {
        const __m256i mask =
            _mm256_cvtepi32_epi64(_mm_load_si128((const __m128i *)(const void *)(lanes + l)));
        const __m256i r = _mm256_mask_i64gather_epi64(
            _mm256_setzero_si256(), (const long long *)(uintptr_t)shift, VECTOR_256(a + l), mask, 1);
        _mm256_store_si256((__m256i *)(void *)(out + l), r);
    }
}
#define HAVE_GATHER 1
#else
LANE_FN void gather_32(const uint64_t *a, uint64_t shift, const int32_t *lanes, uint32_t *out)
{
    (void)a, (void)shift, (void)lanes, (void)out;
}
LANE_FN void gather_64(const uint64_t *a, uint64_t shift, const int32_t *lanes, uint64_t *out)
{
    (void)a, (void)shift, (void)lanes, (void)out;
}
#define HAVE_GATHER 0
#endif

/* The host address of bytes in lane l's local memory; NULL if they are not all there or misaligned. An
 * address operand is an offset in that memory; without one, the immediate is an offset in the running
 * frame. */
LANE_FN uint8_t *at_local(const Access *access, int l, uint64_t address, uint64_t bytes)
{
    const Warp *w = access->w;
    uint64_t limit = w->block->grid->local_size;
    address = memory_offset(access->i, address) + (access->i->a == REF_ABSENT ? w->current->local : 0);
    if ((address & (access->size - 1)) || address >= limit || address + bytes > limit) return NULL;
    return w->local + (uint64_t)l * w->local_stride + address;
}

/* --- lanes whose access has no host address ------------------------------------------------------------- */

/* What takes the place of the bytes: a sink if the launch survives the fault, else NULL. */
LANE_FN uint8_t *sink_if(const Access *access, bool survives)
{
    return survives ? exec_sink(access->w, access->size, access->write) : NULL;
}

LANE_FN uint8_t *fault_generic(const Access *access, int lane, uint64_t address)
{
    return sink_if(access, exec_fault_access(access->w, access->i, lane, address + (uint64_t)access->i->imm,
                                             access->size, access->write));
}

LANE_FN uint8_t *fault_shared(const Access *access, int lane, uint64_t address)
{
    return sink_if(access,
                   exec_fault_window(access->w, access->i, lane, "shared", memory_offset(access->i, address),
                                     access->size, access->w->block->shared_size, access->write));
}

LANE_FN uint8_t *fault_local(const Access *access, int lane, uint64_t address)
{
    address =
        memory_offset(access->i, address) + (access->i->a == REF_ABSENT ? access->w->current->local : 0);
    return sink_if(access, exec_fault_window(access->w, access->i, lane, "local", address, access->size,
                                             access->w->block->grid->local_size, access->write));
}

#endif
