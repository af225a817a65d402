/* Stores of one element a lane. Where several lanes write one place, the highest lane's value stays. */
#include "exec/ops/addresses.h"

/* memory type, register type, name of the kind */
#define STORE_KINDS(X, s) \
    X(s, u8, u16, b8_16) X(s, u8, u32, b8_32) X(s, u8, u64, b8_64) \
    X(s, u16, u16, b16_16) X(s, u16, u32, b16_32) X(s, u16, u64, b16_64) \
    X(s, u32, u32, b32_32) X(s, u32, u64, b32_64) X(s, u64, u64, b64_64)

#define PLAIN(M, p, v) (*(M *)(void *)(p) = (v))
#define STRONG(M, p, v) __atomic_store_n((M *)(void *)(p), (v), __ATOMIC_RELEASE)

#define NOINLINE static __attribute__((noinline))

/* Stores b[l] lane by lane: any addresses, any mask. Here and below A is the type of an address, M that of an
 * element in memory, R that of an element of the source's row; WRITE is PLAIN or STRONG. */
#define STORE_LANES(space, M, WRITE) \
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) { \
        int l = __builtin_ctz(rest); \
        uint8_t *p = at_##space(&x, a[l], sizeof(M)); \
        if (!p && !(p = fault_##space(&x, l, a[l]))) return NULL; \
        WRITE(M, p, (M)b[l]); \
    }
/* Stores b[l] at addresses that have been checked together (span_has_). */
#define SCATTER(A, M) \
    const uint64_t shift = span.shift + (uint64_t)i->imm; \
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) { \
        int l = __builtin_ctz(rest); \
        PLAIN(M, (uintptr_t)(a[l] + shift), (M)b[l]); \
    }
/* Stores for any lanes and addresses. */
#define STORE_SLOW(space, A, M, R, kind) \
    NOINLINE const Insn *slow_##space##_##A##_##kind(Warp *w, const Insn *i) \
    { \
        const A *a = ROW(const A, w, i->a); \
        const R *b = ROW(const R, w, i->b); \
        const Access x = {w, i, sizeof(M), true}; \
        const Span span = span_##space(&x, a[__builtin_ctz(w->mask)] + (uint64_t)i->imm); \
        if (i->mods & MEM_STRONG) { \
            STORE_LANES(space, M, STRONG) \
        } else if (span_has_##A(&x, &span, a)) { \
            SCATTER(A, M) \
        } else { \
            STORE_LANES(space, M, PLAIN) \
        } \
        return i + 1; \
    }

/* Stores a half to the host address `to`; n: its first lane. At a uniform address the last lane's value
 * stays. */
#define MOVE_HALF_WARP(M, to, n) \
    if (h.dense) { \
        HALF_WARP_LOOP ((M *)(void *)(to))[l] = (M)b[n + l]; \
    } else { \
        PLAIN(M, to, (M)b[n + HALF_WARP - 1]); \
    }

/* store_..._full_: for all lanes, both halves at once if they are uniform or dense. */
#define STORE_FN(space, A, M, R, kind) \
    STORE_SLOW(space, A, M, R, kind) \
    LANE_FN const Insn *store_##space##_full_##A##_##kind(Warp *w, const Insn *i) \
    { \
        const A *a = ROW(const A, w, i->a); \
        const R *b = ROW(const R, w, i->b); \
        const Access x = {w, i, sizeof(M), true}; \
        Halves h; \
        Span span; \
        if (!halves_##A(a, (uint64_t)i->imm, sizeof(M), &h)) return slow_##space##_##A##_##kind(w, i); \
        span = span_##space(&x, h.low); \
        if (!span_has_halves(&x, &span, &h)) return slow_##space##_##A##_##kind(w, i); \
        MOVE_HALF_WARP(M, (uintptr_t)(h.low + span.shift), 0) \
        MOVE_HALF_WARP(M, (uintptr_t)(h.high + span.shift), 16) \
        return i + 1; \
    }

#define STORE_GENERIC(M, R, kind) \
    STORE_FN(generic, uint64_t, M, R, kind) \
    HANDLER(st_generic_##kind, full) \
    { \
        return i->mods & MEM_STRONG ? slow_generic_uint64_t_##kind(w, i) \
                                    : store_generic_full_uint64_t_##kind(w, i); \
    } \
    HANDLER(st_generic_##kind, part) { return slow_generic_uint64_t_##kind(w, i); }

/* The address row has 32 or 64 bits. Only the common case, 32 bits and all lanes, is inline. */
#define STORE_SHARED(M, R, kind) \
    STORE_FN(shared, uint64_t, M, R, kind) \
    STORE_FN(shared, uint32_t, M, R, kind) \
    NOINLINE const Insn *rare_shared_##kind(Warp *w, const Insn *i) \
    { \
        if (i->mods & MEM_ADDR32) return slow_shared_uint32_t_##kind(w, i); \
        if (i->mods & MEM_STRONG || !w->full) return slow_shared_uint64_t_##kind(w, i); \
        return store_shared_full_uint64_t_##kind(w, i); \
    } \
    HANDLER(st_shared_##kind, full) \
    { \
        const bool usual = (i->mods & (MEM_ADDR32 | MEM_STRONG)) == MEM_ADDR32; \
        return usual ? store_shared_full_uint32_t_##kind(w, i) : rare_shared_##kind(w, i); \
    } \
    HANDLER(st_shared_##kind, part) { return rare_shared_##kind(w, i); }

#define STORE_LOCAL(M, R, kind) \
    HANDLER(st_local_##kind, part) \
    { \
        const uint64_t *wide = ROW(const uint64_t, w, i->a); \
        const uint32_t *narrow = ROW(const uint32_t, w, i->a); \
        const R *b = ROW(const R, w, i->b); \
        const Access x = {w, i, sizeof(M), true}; \
        for (uint32_t rest = w->mask; rest; rest &= rest - 1) { \
            int l = __builtin_ctz(rest); \
            uint64_t address = i->mods & MEM_ADDR32 ? narrow[l] : wide[l]; \
            uint8_t *p = at_local(&x, l, address, sizeof(M)); \
            if (!p && !(p = fault_local(&x, l, address))) return NULL; \
            PLAIN(M, p, (M)b[l]); \
        } \
        return i + 1; \
    } \
    HANDLER(st_local_##kind, full) { return EXEC_NAME(op_st_local_##kind##_part)(w, i); }

#define STORES(space, M, R, kind) STORE_##space(M, R, kind)
STORE_KINDS(STORES, GENERIC)
STORE_KINDS(STORES, SHARED)
STORE_KINDS(STORES, LOCAL)
