/* Loads of one element a lane. See addresses.h for how the lanes of a half are taken together.
 *
 * All addresses are read before the destination is written, because both may be one row.
 */
#include "exec/ops/addresses.h"

/* memory type, register type, name of the kind */
#define LOAD_KINDS(X, s) \
    X(s, u8, u16, u8_16) X(s, u8, u32, u8_32) X(s, u8, u64, u8_64) \
    X(s, s8, s16, s8_16) X(s, s8, s32, s8_32) X(s, s8, s64, s8_64) \
    X(s, u16, u16, b16_16) X(s, u16, u32, u16_32) X(s, u16, u64, u16_64) \
    X(s, s16, s32, s16_32) X(s, s16, s64, s16_64) \
    X(s, u32, u32, b32_32) X(s, u32, u64, u32_64) X(s, s32, s64, s32_64) X(s, u64, u64, b64_64)

#define PLAIN(M, p) (*(const M *)(const void *)(p))
#define STRONG(M, p) __atomic_load_n((const M *)(const void *)(p), __ATOMIC_ACQUIRE)
#define NOINLINE static __attribute__((noinline))

/* Loads out[l] lane by lane: any addresses, any mask. Here and below A is the type of an address, M that
 * of an element in memory, R that of an element of the destination's row; READ is PLAIN or STRONG. */
#define LOAD_LANES(space, A, M, R, READ) \
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) { \
        int l = __builtin_ctz(rest); \
        const uint8_t *p = at_##space(&x, a[l], sizeof(M)); \
        if (!p && !(p = fault_##space(&x, l, a[l]))) return NULL; \
        out[l] = (R)READ(M, p); \
    }
/* Loads out[l] of addresses that have been checked together (span_has_). Where the host has an
 * instruction that gathers by 64-bit addresses, it is used for elements that need no conversion. */
#define GATHER(A, M, R) \
    const uint64_t shift = span.shift + (uint64_t)i->imm; \
    if (HAVE_GATHER && sizeof(R) == sizeof(M) && sizeof(M) >= 4) { \
        _Alignas(64) uint64_t wide[WARP_LANES]; \
        LANES_LOOP wide[l] = a[l]; \
        if (sizeof(M) == 4) gather_32(wide, shift, w->lanes, (uint32_t *)(void *)out); \
        else gather_64(wide, shift, w->lanes, (uint64_t *)(void *)out); \
    } else { \
        for (uint32_t rest = w->mask; rest; rest &= rest - 1) { \
            int l = __builtin_ctz(rest); \
            out[l] = (R)PLAIN(M, (uintptr_t)(a[l] + shift)); \
        } \
    }
/* Loads for any lanes and addresses. */
#define LOAD_SLOW(space, A, M, R, kind) \
    NOINLINE const Insn *slow_##space##_##A##_##kind(Warp *w, const Insn *i) \
    { \
        const A *a = ROW(const A, w, i->a); \
        R *d = ROW(R, w, i->d); \
        _Alignas(64) R out[WARP_LANES]; \
        const Access x = {w, i, sizeof(M), false}; \
        const Span span = span_##space(&x, a[__builtin_ctz(w->mask)] + (uint64_t)i->imm); \
        if (i->mods & MEM_STRONG) { \
            warp_may_spin(w, FUEL_SPIN); \
            LOAD_LANES(space, A, M, R, STRONG) \
        } else if (span_has_##A(&x, &span, a)) { \
            GATHER(A, M, R) \
        } else { \
            LOAD_LANES(space, A, M, R, PLAIN) \
        } \
        LANES_LOOP d[l] = w->lanes[l] ? out[l] : d[l]; \
        return i + 1; \
    }

/* Loads a half from the host address `from`; n: its first lane. */
#define MOVE_HALF_WARP(M, R, from, n) \
    if (h.dense) { \
        HALF_WARP_LOOP d[n + l] = (R)((const M *)(const void *)(from))[l]; \
    } else { \
        const R value = (R)PLAIN(M, from); \
        HALF_WARP_LOOP d[n + l] = value; \
    }

/* Loads for all lanes: both halves at once if they are uniform or dense. */
#define LOAD_FAST(space, A, M, R, kind) \
    LANE_FN const Insn *load_##space##_full_##A##_##kind(Warp *w, const Insn *i) \
    { \
        const A *a = ROW(const A, w, i->a); \
        R *d = ROW(R, w, i->d); \
        const Access x = {w, i, sizeof(M), false}; \
        Halves h; \
        Span span; \
        if (!halves_##A(a, (uint64_t)i->imm, sizeof(M), &h)) return slow_##space##_##A##_##kind(w, i); \
        span = span_##space(&x, h.low); \
        if (!span_has_halves(&x, &span, &h)) return slow_##space##_##A##_##kind(w, i); \
        MOVE_HALF_WARP(M, R, (uintptr_t)(h.low + span.shift), 0) \
        MOVE_HALF_WARP(M, R, (uintptr_t)(h.high + span.shift), 16) \
        return i + 1; \
    }

#define LOAD_FN(space, A, M, R, kind) \
    LOAD_SLOW(space, A, M, R, kind) \
    LOAD_FAST(space, A, M, R, kind)

#define LOAD_GENERIC(M, R, kind) \
    LOAD_FN(generic, uint64_t, M, R, kind) \
    HANDLER(ld_generic_##kind, full) \
    { \
        return i->mods & MEM_STRONG ? slow_generic_uint64_t_##kind(w, i) \
                                    : load_generic_full_uint64_t_##kind(w, i); \
    } \
    HANDLER(ld_generic_##kind, part) { return slow_generic_uint64_t_##kind(w, i); }

/* The address row has 32 or 64 bits. Only the common case, 32 bits and all lanes, is inline. */
#define LOAD_SHARED(M, R, kind) \
    LOAD_FN(shared, uint64_t, M, R, kind) \
    LOAD_FN(shared, uint32_t, M, R, kind) \
    NOINLINE const Insn *rare_shared_##kind(Warp *w, const Insn *i) \
    { \
        const bool simple = w->full && !(i->mods & MEM_STRONG); \
        if (i->mods & MEM_ADDR32) \
            return simple ? load_shared_full_uint32_t_##kind(w, i) : slow_shared_uint32_t_##kind(w, i); \
        return simple ? load_shared_full_uint64_t_##kind(w, i) : slow_shared_uint64_t_##kind(w, i); \
    } \
    HANDLER(ld_shared_##kind, full) \
    { \
        const bool usual = (i->mods & (MEM_ADDR32 | MEM_STRONG)) == MEM_ADDR32; \
        if (usual && HAVE_WINDOWS && sizeof(M) == 4 && sizeof(R) == 4) { \
            const uint32_t *a = ROW(const uint32_t, w, i->a); \
            uint32_t *d = ROW(uint32_t, w, i->d); \
            return load_windows(w, a, (uint64_t)i->imm, d) ? i + 1 : rare_shared_##kind(w, i); \
        } \
        return usual ? load_shared_full_uint32_t_##kind(w, i) : rare_shared_##kind(w, i); \
    } \
    HANDLER(ld_shared_##kind, part) { return rare_shared_##kind(w, i); }

/* Loads lane by lane, since each lane has its own local memory. */
#define LOAD_LOCAL(M, R, kind) \
    HANDLER(ld_local_##kind, part) \
    { \
        const uint64_t *wide = ROW(const uint64_t, w, i->a); \
        const uint32_t *narrow = ROW(const uint32_t, w, i->a); \
        R *d = ROW(R, w, i->d), out[WARP_LANES]; \
        const Access x = {w, i, sizeof(M), false}; \
        for (uint32_t rest = w->mask; rest; rest &= rest - 1) { \
            int l = __builtin_ctz(rest); \
            uint64_t address = i->mods & MEM_ADDR32 ? narrow[l] : wide[l]; \
            const uint8_t *p = at_local(&x, l, address, sizeof(M)); \
            if (!p && !(p = fault_local(&x, l, address))) return NULL; \
            out[l] = (R)PLAIN(M, p); \
        } \
        LANES_LOOP d[l] = w->lanes[l] ? out[l] : d[l]; \
        return i + 1; \
    } \
    HANDLER(ld_local_##kind, full) { return EXEC_NAME(op_ld_local_##kind##_part)(w, i); }

/* A parameter at a fixed offset: the same for all lanes, and checked by the lowering. */
#define LOAD_PARAM(M, R, kind) \
    HANDLER(ld_param_##kind, part) \
    { \
        R *d = ROW(R, w, i->d); \
        M value; \
        memcpy(&value, (const uint8_t *)w->block->grid->launch->params + i->imm, sizeof value); \
        LANES_LOOP d[l] = w->lanes[l] ? (R)value : d[l]; \
        return i + 1; \
    } \
    HANDLER(ld_param_##kind, full) { return EXEC_NAME(op_ld_param_##kind##_part)(w, i); }

#define LOADS(space, M, R, kind) LOAD_##space(M, R, kind)
LOAD_KINDS(LOADS, GENERIC)
LOAD_KINDS(LOADS, SHARED)
LOAD_KINDS(LOADS, LOCAL)
LOAD_KINDS(LOADS, PARAM)
