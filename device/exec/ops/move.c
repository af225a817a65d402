/* Moves, selections, packing and unpacking. */
#include "exec/numbers/lanes.h"

UNARY(mov_b16, b16, a)
UNARY(mov_b32, b32, a)
UNARY(mov_b64, b64, a)

/* d = c ? a : b, c a predicate: its word is spread over the lanes. */
#define SELECT(T) \
    HANDLER(selp_##T, full) \
    { \
        T *d = ROW(T, w, i->d); \
        const T *a = ROW(const T, w, i->a), *b = ROW(const T, w, i->b); \
        const uint32_t c = PRED(w, i->c); \
        LANES_LOOP d[l] = LANE_BLEND(T, (c & lane_bit[l]) ? -1 : 0, a[l], b[l]); \
        return i + 1; \
    } \
    HANDLER(selp_##T, part) \
    { \
        T *d = ROW(T, w, i->d); \
        const T *a = ROW(const T, w, i->a), *b = ROW(const T, w, i->b); \
        const uint32_t c = PRED(w, i->c); \
        LANES_LOOP { \
            const T r = LANE_BLEND(T, (c & lane_bit[l]) ? -1 : 0, a[l], b[l]); \
            d[l] = LANE_BLEND(T, w->lanes[l], r, d[l]); \
        } \
        return i + 1; \
    }
SELECT(b16)
SELECT(b32)
SELECT(b64)

#define SLCT(T) \
    LANES_3(slct_##T##_s32, T, T, T, s32, c >= 0 ? a : b) \
    LANES_3(slct_##T##_f32, T, T, T, f32, c >= 0 ? a : b)
SLCT(b16)
SLCT(b32)
SLCT(b64)

LANES_2(pack_b16_b8, b16, b16, b16, (a & 0xffu) | (b32)b << 8)
LANES_2(pack_b32_b16, b32, b16, b16, a | (b32)b << 16)
LANES_2(pack_b64_b32, b64, b32, b32, a | (b64)b << 32)
LANES_4(pack_b32_b8, b32, b16, b16, b16, b16, (a & 0xffu) | (b & 0xffu) << 8 | (c & 0xffu) << 16 |
    (b32)e << 24)
LANES_4(pack_b64_b16, b64, b16, b16, b16, b16, a | (b64)b << 16 | (b64)c << 32 | (b64)e << 48)

/* d = low half of a, e = high half. */
#define UNPACK(name, T, W, bits) \
    HANDLER(name, full) \
    { \
        T *d = ROW(T, w, i->d), *e = ROW(T, w, i->e); \
        const W *a = ROW(const W, w, i->a); \
        LANES_LOOP { \
            const W v = a[l]; \
            d[l] = (T)(v & ((1ull << bits) - 1)); \
            e[l] = (T)(v >> bits); \
        } \
        return i + 1; \
    } \
    HANDLER(name, part) \
    { \
        T *d = ROW(T, w, i->d), *e = ROW(T, w, i->e); \
        const W *a = ROW(const W, w, i->a); \
        LANES_LOOP { \
            const W v = a[l]; \
            d[l] = w->lanes[l] ? (T)(v & ((1ull << bits) - 1)) : d[l]; \
            e[l] = w->lanes[l] ? (T)(v >> bits) : e[l]; \
        } \
        return i + 1; \
    }
UNPACK(unpack_b8_b16, b16, b16, 8)
UNPACK(unpack_b16_b32, b16, b32, 16)
UNPACK(unpack_b32_b64, b32, b64, 32)

/* 128 bits: a row of low halves, then one of high halves. */
static void copy_row(const Warp *w, b64 *d, const b64 *a)
{
    LANES_LOOP d[l] = LANE_BLEND(b64, w->lanes[l], a[l], d[l]);
}

static const Insn *move_halves(const Warp *w, const Insn *i, b64 *low, b64 *high, const b64 *a, const b64 *b)
{
    copy_row(w, low, a);
    copy_row(w, high, b);
    return i + 1;
}

#define MOVES_128(form) \
    HANDLER(mov_b128, form) \
    { \
        b64 *d = ROW(b64, w, i->d); \
        const b64 *a = ROW(const b64, w, i->a); \
        return move_halves(w, i, d, d + WARP_LANES, a, a + WARP_LANES); \
    } \
    HANDLER(pack_b128_b64, form) \
    { \
        b64 *d = ROW(b64, w, i->d); \
        return move_halves(w, i, d, d + WARP_LANES, ROW(const b64, w, i->a), ROW(const b64, w, i->b)); \
    } \
    HANDLER(unpack_b64_b128, form) \
    { \
        const b64 *a = ROW(const b64, w, i->a); \
        return move_halves(w, i, ROW(b64, w, i->d), ROW(b64, w, i->e), a, a + WARP_LANES); \
    }
MOVES_128(full)
MOVES_128(part)

LANES_1(extract_b8_b16, b16, b16, (a >> (imm & 15)) & 0xff)
LANES_1(extract_b8_b32, b16, b32, (a >> (imm & 31)) & 0xff)
LANES_1(extract_b16_b32, b16, b32, a >> (imm & 31))
LANES_1(extract_b16_b64, b16, b64, a >> (imm & 63))
LANES_1(extract_b32_b64, b32, b64, a >> (imm & 63))
