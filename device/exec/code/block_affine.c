/* The operations of affine.def for all threads of a block. */
#include "exec/code/block_affine.h"

typedef int32_t s32;
typedef uint32_t u32;
typedef int64_t s64;
typedef uint64_t u64;
__extension__ typedef __int128 Exact;

const uint8_t affine_bits[OP_COUNT][4] = {
#define AFFINE(name, rule, d, a, b, c) [OP_affine_##name] = {d, a, b, c},
#include "exec/code/affine.def"
#undef AFFINE
};

/* The exact values of the first and the last thread, as numbers of a type. */
typedef struct Ends {
    Exact first, last;
} Ends;

/* Finds the ends. False if a value leaves the type's range, min to max. */
static bool find_ends(Exact first, s64 stride, uint32_t threads, Exact min, Exact max, Ends *ends)
{
    ends->first = first;
    ends->last = first + (Exact)stride * (threads - 1);
    return ends->last >= min && ends->last <= max;
}
#define ENDS_FN(T, min, max) \
    static bool ends_##T(BlockAffine x, uint32_t threads, Ends *ends) \
    { \
        return find_ends((T)x.base, x.stride, threads, min, max, ends); \
    }
ENDS_FN(s32, INT32_MIN, INT32_MAX)
ENDS_FN(u32, 0, UINT32_MAX)
ENDS_FN(s64, INT64_MIN, INT64_MAX)
ENDS_FN(u64, 0, UINT64_MAX)

#define WIDEN_FN(T) \
    static bool widen_##T(BlockAffine *x, uint32_t threads) \
    { \
        Ends ends; \
        x->base = (T)x->base; \
        return ends_##T(*x, threads, &ends); \
    }
WIDEN_FN(s32)
WIDEN_FN(u32)

/* --- results ------------------------------------------------------------------------------------------- */

static BlockAffine sum(BlockAffine a, BlockAffine b)
{
    return (BlockAffine){(s64)((u64)a.base + (u64)b.base), (s64)((u64)a.stride + (u64)b.stride)};
}

static BlockAffine scaled(BlockAffine a, s64 factor)
{
    return (BlockAffine){(s64)((u64)a.base * (u64)factor), (s64)((u64)a.stride * (u64)factor)};
}

/* a * b + c; false where both factors vary. */
static bool multiply(BlockAffine a, BlockAffine b, BlockAffine c, BlockAffine *r)
{
    *r = sum(b.stride ? scaled(b, a.base) : scaled(a, b.base), c);
    return a.stride == 0 || b.stride == 0;
}

static bool shift_left(BlockAffine a, BlockAffine by, unsigned bits, BlockAffine *r)
{
    *r = scaled(a, (u32)by.base < bits ? (s64)((u64)1 << by.base) : 0);
    return by.stride == 0;
}

/* The bits above those in which the first and the last value differ are the same in all threads: the
 * result is affine if only these remain. */
static bool shift_right(BlockAffine a, BlockAffine by, uint32_t threads, BlockAffine *r)
{
    Ends ends;
    const u32 bits = (u32)by.base;
    if (by.stride || !ends_u32(a, threads, &ends)) return false;
    *r = (BlockAffine){bits > 31 ? 0 : (u32)ends.first >> bits, 0};
    return bits > 31 || (u32)ends.first >> bits == (u32)ends.last >> bits;
}

/* Affine if both are uniform, or if one is a mask of the lowest bits and the other one varies in these
 * alone. */
static bool and_with_mask(BlockAffine a, BlockAffine b, uint32_t threads, BlockAffine *r)
{
    Ends ends;
    const BlockAffine x = b.stride ? b : a;
    const u32 kept = (u32)(b.stride ? a.base : b.base);
    *r = (BlockAffine){(u32)x.base & kept, x.stride};
    if (a.stride && b.stride) return false;
    if (x.stride == 0) return true;
    return (kept & (kept + 1)) == 0 && ends_u32(x, threads, &ends)
           && (((u32)ends.first ^ (u32)ends.last) & ~kept) == 0;
}

/* Operations whose results are affine only if a and b are uniform (the same in all threads); false if
 * they are not. */
#define CHOICE(T, operator) (r->base = (T)a.base operator(T) b.base ? a.base : b.base, uniform)
static bool compute_uniform(unsigned op, BlockAffine a, BlockAffine b, BlockAffine *r)
{
    const bool uniform = (a.stride | b.stride) == 0;
    const u32 by = (u32)b.base > 31 ? 31 : (u32)b.base;
    r->stride = 0;
    switch (op) {
    case OP_affine_or_b32: r->base = a.base | b.base; return uniform;
    case OP_affine_shr_s32: r->base = (s32)a.base >> by; return uniform;
    case OP_affine_min_s32: return CHOICE(s32, <);
    case OP_affine_max_s32: return CHOICE(s32, >);
    case OP_affine_min_u32: return CHOICE(u32, <);
    case OP_affine_max_u32: return CHOICE(u32, >);
    case OP_affine_min_s64: return CHOICE(s64, <);
    case OP_affine_max_s64: return CHOICE(s64, >);
    case OP_affine_min_u64: return CHOICE(u64, <);
    case OP_affine_max_u64: return CHOICE(u64, >);
    default: return false;
    }
}

static bool compute_affine(unsigned op, uint32_t threads, BlockAffine a, BlockAffine b, BlockAffine c,
                           BlockAffine *r)
{
    switch (op) {
    case OP_affine_mov_b32:
    case OP_affine_mov_b64:
    case OP_affine_cvt_b32_b64: *r = a; return true;
    case OP_affine_cvt_s64_s32: *r = a; return widen_s32(r, threads);
    case OP_affine_cvt_u64_u32: *r = a; return widen_u32(r, threads);
    case OP_affine_add_b32:
    case OP_affine_add_b64: *r = sum(a, b); return true;
    case OP_affine_sub_b32:
    case OP_affine_sub_b64: *r = sum(a, scaled(b, -1)); return true;
    case OP_affine_mul_lo_b32:
    case OP_affine_mul_lo_b64:
    case OP_affine_mad_lo_b32:
    case OP_affine_mad_lo_b64: return multiply(a, b, c, r);
    case OP_affine_mul_wide_s32:
    case OP_affine_mad_wide_s32:
        return widen_s32(&a, threads) && widen_s32(&b, threads) && multiply(a, b, c, r);
    case OP_affine_mul_wide_u32:
    case OP_affine_mad_wide_u32:
        return widen_u32(&a, threads) && widen_u32(&b, threads) && multiply(a, b, c, r);
    case OP_affine_shl_b32: return shift_left(a, b, 32, r);
    case OP_affine_shl_b64: return shift_left(a, b, 64, r);
    case OP_affine_shr_u32: return shift_right(a, b, threads, r);
    case OP_affine_and_b32: return and_with_mask(a, b, threads, r);
    default: return compute_uniform(op, a, b, r);
    }
}

bool block_affine_compute_any(unsigned op, uint32_t threads, BlockAffine a, BlockAffine b, BlockAffine c,
                              BlockAffine *result)
{
    BlockAffine r;
    if (!compute_affine(op, threads, a, b, c, &r)) return false;
    *result = affine_bits[op][0] == 32 ? (BlockAffine){(u32)r.base, (s32)r.stride} : r;
    return true;
}

/* --- comparisons --------------------------------------------------------------------------------------- */

/* The difference of two affine values is monotonic: an order that both ends have, all threads have. */
#define ORDER(T, operator) \
    decided = ends_##T(a, threads, &x) && ends_##T(b, threads, &y); \
    first = x.first operator y.first; \
    last = x.last operator y.last
#define EQUAL(operator) \
    decided = (a.stride | b.stride) == 0; \
    first = last = a.base operator b.base
#define ORDERS(T) \
    case OP_affine_setp_lt_##T: ORDER(T, <); break; \
    case OP_affine_setp_le_##T: ORDER(T, <=); break; \
    case OP_affine_setp_gt_##T: ORDER(T, >); break; \
    case OP_affine_setp_ge_##T: ORDER(T, >=); break;

bool block_affine_compare(unsigned op, uint32_t threads, BlockAffine a, BlockAffine b, bool *result)
{
    Ends x = {0, 0}, y = {0, 0};
    bool decided = false, first = false, last = false;
    switch (op) {
        ORDERS(s32)
        ORDERS(u32)
        ORDERS(s64)
        ORDERS(u64)
    case OP_affine_setp_eq_b32:
    case OP_affine_setp_eq_b64: EQUAL(==); break;
    case OP_affine_setp_ne_b32:
    case OP_affine_setp_ne_b64: EQUAL(!=); break;
    default: break;
    }
    *result = first;
    return decided && first == last;
}

/* --- accesses ------------------------------------------------------------------------------------------ */

bool block_access(const CodeFunction *function, const Insn *i, BlockAccess *access)
{
    const uint8_t count = i->mods & MEM_COUNT;
    const Ref *list = function->refs + i->more;
    if (i->mods & (MEM_STRONG | MEM_ADDR32)) return false;
    switch (i->op) {
    case OP_affine_ld_generic_b32_32: *access = (BlockAccess){false, 4, 1, &i->d}; break;
    case OP_affine_ld_generic_b64_64: *access = (BlockAccess){false, 8, 1, &i->d}; break;
    case OP_affine_st_generic_b32_32: *access = (BlockAccess){true, 4, 1, &i->b}; break;
    case OP_affine_st_generic_b64_64: *access = (BlockAccess){true, 8, 1, &i->b}; break;
    case OP_affine_ldv_generic_b32_32: *access = (BlockAccess){false, 4, count, list}; break;
    case OP_affine_ldv_generic_b64_64: *access = (BlockAccess){false, 8, count, list}; break;
    case OP_affine_stv_generic_b32_32: *access = (BlockAccess){true, 4, count, list}; break;
    case OP_affine_stv_generic_b64_64: *access = (BlockAccess){true, 8, count, list}; break;
    default: return false;
    }
    return true;
}
