/* Logic on rows and predicates, shifts with PTX's clamping, bit fields, bytes. */
#include "exec/numbers/lanes.h"

#define LOGIC(T) \
    BINARY(and_##T, T, a & b) \
    BINARY(or_##T, T, a | b) \
    BINARY(xor_##T, T, a ^ b) \
    UNARY(not_##T, T, ~a) \
    UNARY(cnot_##T, T, a == 0)
LOGIC(b16)
LOGIC(b32)
LOGIC(b64)

/* A predicate is one word with a bit for each lane: one operation on it serves all lanes. */
#define PRED_OP(name, value) \
    LANE_FN const Insn *pred_##name(Warp *w, const Insn *i, bool all) \
    { \
        const uint32_t a = PRED(w, i->a), b = (i->b >> REF_BASE_SHIFT) == REF_NONE ? 0 : PRED(w, i->b); \
        (void)b; \
        if (all) PRED(w, i->d) = (value); \
        else pred_store(w, i->d, (value)); \
        return i + 1; \
    } \
    HANDLER(name, full) { return pred_##name(w, i, true); } \
    HANDLER(name, part) { return pred_##name(w, i, false); }
PRED_OP(mov_pred, a)
PRED_OP(not_pred, ~a)
PRED_OP(and_pred, a & b)
PRED_OP(or_pred, a | b)
PRED_OP(xor_pred, a ^ b)
PRED_OP(selp_pred, (PRED(w, i->c) & a) | (~PRED(w, i->c) & b))

/* Shifts: b is always 32 bits; from the width on, all bits are gone (or are the sign). */
#define SHIFTS(n, U) \
    LANES_2(shl_b##n, b##n, b##n, b32, b > n - 1 ? 0 : (U)a << (b & (n - 1))) \
    LANES_2(shr_u##n, u##n, u##n, b32, b > n - 1 ? 0 : a >> (b & (n - 1))) \
    LANES_2(shr_s##n, s##n, s##n, b32, a >> (b > n - 1 ? n - 1 : b))
SHIFTS(16, u32)
SHIFTS(32, u32)
SHIFTS(64, u64)

#define CLAMP32(x) ((x) > 32 ? 32 : (x))
#define PAIR ((u64)b << 32 | a)
TERNARY(shf_l_clamp_b32, b32, (PAIR << CLAMP32(c)) >> 32)
TERNARY(shf_l_wrap_b32, b32, (PAIR << (c & 31)) >> 32)
TERNARY(shf_r_clamp_b32, b32, PAIR >> CLAMP32(c))
TERNARY(shf_r_wrap_b32, b32, PAIR >> (c & 31))

/* Bit fields. The 32-bit instructions use only the low bytes of position and length, the 64-bit ones all
 * bits. */
LANE_FN u64 low_bits(u32 length) { return length >= 64 ? ~(u64)0 : ((u64)1 << (length & 63)) - 1; }
LANE_FN u64 field_u(u64 a, u32 position, u32 length)
{
    return (position >= 64 ? 0 : a >> (position & 63)) & low_bits(length);
}
LANE_FN u32 limit_to(u32 x) { return x > 0xff ? 0xff : x; }
/* Signed: filled with the bit at the field's top, or at the value's top where the field reaches beyond it. */
LANE_FN u64 field_s(u64 a, u32 position, u32 length, u32 width)
{
    u32 top = position + length - 1 < width ? position + length - 1 : width - 1;
    u64 sign = length != 0 && ((a >> (top & 63)) & 1) ? ~(u64)0 : 0;
    u32 present = position >= width ? 0 : width - position < length ? width - position : length;
    u64 bits = field_u(a, position, present);
    return bits | (sign & ~low_bits(present));
}
#define BFE(n, limit) \
    LANES_3(bfe_u##n, b##n, b##n, b32, b32, field_u(a, b & limit, c & limit)) \
    LANES_3(bfe_s##n, b##n, b##n, b32, b32, field_s(a, limit_to(b & limit), limit_to(c & limit), n))
BFE(32, 0xff)
BFE(64, 0xffffffffu)

/* b with `length` bits from `position` on replaced by the low bits of a. */
LANE_FN u64 inserted(u64 a, u64 b, u32 position, u32 length)
{
    u64 mask = position > 63 ? 0 : low_bits(length) << (position & 63);
    return (b & ~mask) | (a << (position & 63) & mask);
}
LANES_4(bfi_b32, b32, b32, b32, b32, b32, inserted(a, b, c & 0xff, e & 0xff))
LANES_4(bfi_b64, b64, b64, b64, b32, b32, inserted(a, b, c, e))

/* Counting and finding. */
#define CLZ32(x) ((x) ? (u32)__builtin_clz(x) : 32u)
#define CLZ64(x) ((x) ? (u32)__builtin_clzll(x) : 64u)
LANES_1(clz_b32, b32, b32, CLZ32(a))
LANES_1(clz_b64, b32, b64, CLZ64(a))
LANES_1(popc_b32, b32, b32, __builtin_popcount(a))
LANES_1(popc_b64, b32, b64, __builtin_popcountll(a))

/* The highest bit that is not a copy of the sign, or -1; shiftamt: how far to shift it to the top. */
#define FIND(n, x) \
    LANES_1(bfind_u##n, b32, b##n, (n - 1) - CLZ##n(a)) \
    LANES_1(bfind_s##n, b32, b##n, (n - 1) - CLZ##n(x)) \
    LANES_1(bfind_shiftamt_u##n, b32, b##n, a ? CLZ##n(a) : 0xffffffffu) \
    LANES_1(bfind_shiftamt_s##n, b32, b##n, (x) ? CLZ##n(x) : 0xffffffffu)
FIND(32, (a ^ (0 - (a >> 31))))
FIND(64, (a ^ (0 - (a >> 63))))

LANE_FN u32 reverse(u32 x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    x = (x >> 8 & 0x00ff00ff) | (x & 0x00ff00ff) << 8;
    return x >> 16 | x << 16;
}
UNARY(brev_b32, b32, reverse(a))
UNARY(brev_b64, b64, (u64)reverse((u32)a) << 32 | reverse((u32)(a >> 32)))

/* The |offset|-th set bit from base on, upwards (or downwards for a negative offset), counting base itself
 * when set; offset 0: base itself when set. */
LANE_FN u32 find_nth(u32 mask, u32 base, s32 offset)
{
    s32 step = offset < 0 ? -1 : 1, left = offset == 0 ? 1 : offset < 0 ? -(offset + 1) : offset - 1;
    if (offset == 0) return base < 32 && (mask >> base & 1) ? base : 0xffffffffu;
    for (u32 p = base; p < 32; p += (u32)step) {
        if (!(mask >> p & 1)) continue;
        if (left-- == 0) return p;
    }
    return 0xffffffffu;
}
LANES_3(fns_b32, b32, b32, b32, s32, find_nth(a, b, c))

/* Masks and extension of the low bits. */
LANE_FN u32 mask_at(u32 at, u32 length)
{
    return at > 31 ? 0 : (u32)((length > 31 ? 0xffffffffu : (1u << (length & 31)) - 1) << (at & 31));
}
BINARY(bmsk_clamp_b32, b32, mask_at(a, b))
BINARY(bmsk_wrap_b32, b32, mask_at(a & 31, b & 31))

LANE_FN u32 zero_extended(u32 a, u32 n) { return n > 31 ? a : a & ((1u << (n & 31)) - 1); }
LANE_FN u32 sign_extended(u32 a, u32 n)
{
    u32 shift = (32 - n) & 31;
    return n > 31 ? a : n == 0 ? 0 : (u32)((s32)(a << shift) >> shift);
}
BINARY(szext_clamp_u32, b32, zero_extended(a, b))
BINARY(szext_wrap_u32, b32, zero_extended(a, b & 31))
BINARY(szext_clamp_s32, b32, sign_extended(a, b))
BINARY(szext_wrap_s32, b32, sign_extended(a, b & 31))

/* A byte of the result of a permutation of the 8 bytes {b, a}. selector: 3 bits choose the byte; with bit
 * 3 set its sign bit fills the result. */
LANE_FN u32 selected_byte(u64 bytes, u32 selector)
{
    u32 byte = (u32)(bytes >> 8 * (selector & 7)) & 0xff;
    return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}
LANE_FN u32 permute(u64 bytes, u32 s)
{
    return selected_byte(bytes, s) | selected_byte(bytes, s >> 4) << 8 | selected_byte(bytes, s >> 8) << 16
           | selected_byte(bytes, s >> 12) << 24;
}
/* The special modes of prmt are permutations by one of four selectors: s0 to s3, by the low two bits of c. */
LANE_FN u32 selector_of(u32 s0, u32 s1, u32 s2, u32 s3, u32 c)
{
    return (c & 2 ? (c & 1 ? s3 : s2) : (c & 1 ? s1 : s0));
}
TERNARY(prmt_b32, b32, permute(PAIR, c))
TERNARY(prmt_f4e_b32, b32, permute(PAIR, selector_of(0x3210, 0x4321, 0x5432, 0x6543, c)))
TERNARY(prmt_b4e_b32, b32, permute(PAIR, selector_of(0x5670, 0x6701, 0x7012, 0x0123, c)))
TERNARY(prmt_rc8_b32, b32, permute(PAIR, selector_of(0x0000, 0x1111, 0x2222, 0x3333, c)))
TERNARY(prmt_ecl_b32, b32, permute(PAIR, selector_of(0x3210, 0x3211, 0x3222, 0x3333, c)))
TERNARY(prmt_ecr_b32, b32, permute(PAIR, selector_of(0x0000, 0x1110, 0x2210, 0x3210, c)))
TERNARY(prmt_rc16_b32, b32, permute(PAIR, selector_of(0x1010, 0x3232, 0x1010, 0x3232, c)))

/* lop3: the result's bit is the bit of the table imm with the number 4 a + 2 b + c, for the bits a, b, c
 * there. choose(s, one, zero) takes each bit from `one` where s is set, else from `zero`. */
LANE_FN u32 choose(u32 s, u32 one, u32 zero) { return zero ^ (s & (one ^ zero)); }
#define TABLE_BIT(k) (0u - (u32)(imm >> (k) & 1))
#define TABLE(h) choose(b, choose(c, TABLE_BIT(h + 3), TABLE_BIT(h + 2)), choose(c, TABLE_BIT(h + 1), \
    TABLE_BIT(h)))
TERNARY(lop3_b32, b32, choose(a, TABLE(4), TABLE(0)))

/* --- elements in memory -------------------------------------------------------------------------------- */

WIDE_OP(and_b32, b32, a & b)
WIDE_OP(or_b32, b32, a | b)
WIDE_OP(xor_b32, b32, a ^ b)
