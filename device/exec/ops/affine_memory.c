/* Loads and stores at affine addresses: no lane's address is computed.
 *
 * Where the addresses of a half are neither uniform nor dense, where the access leaves the range, or where
 * only some lanes execute, rows_<name>() runs the operation on a row of addresses, which reports the faults.
 */
#include "exec/ops/places.h"
#include "exec/ops/vector_rows.h"

#define NOINLINE static __attribute__((noinline))

/* Expands the address operand, of 64 bits if it is generic, else of the width in mods, into its row. */
LANE_FN void spread_address(Warp *w, const Insn *i, bool generic)
{
    if (generic || !(i->mods & MEM_ADDR32)) spread_64(w, i->a);
    else spread_32(w, i->a);
}

#define ON_ROWS(name, generic) \
    NOINLINE const Insn *rows_##name(Warp *w, const Insn *i) \
    { \
        spread_address(w, i, generic); \
        return w->full ? EXEC_NAME(op_##name##_full)(w, i) : EXEC_NAME(op_##name##_part)(w, i); \
    } \
    HANDLER(affine_##name, part) { return rows_##name(w, i); }

#define LOAD(space, T, kind) \
    ON_ROWS(ld_##space##_##kind, IS_GENERIC_##space) \
    HANDLER(affine_ld_##space##_##kind, full) \
    { \
        const Places at = places_##space(w, i, sizeof(T), false); \
        if (__builtin_expect(!at.valid, 0)) return rows_ld_##space##_##kind(w, i); \
        load_places_##T(ROW(T, w, i->d), &at); \
        return i + 1; \
    }

#define STORE(space, T, kind) \
    ON_ROWS(st_##space##_##kind, IS_GENERIC_##space) \
    HANDLER(affine_st_##space##_##kind, full) \
    { \
        const Places at = places_##space(w, i, sizeof(T), true); \
        if (__builtin_expect(!at.valid, 0)) return rows_st_##space##_##kind(w, i); \
        store_places_##T(ROW(const T, w, i->b), &at); \
        return i + 1; \
    }

#define IS_GENERIC_generic true
#define IS_GENERIC_shared false
LOAD(generic, uint32_t, b32_32)
LOAD(generic, uint64_t, b64_64)
LOAD(shared, uint32_t, b32_32)
LOAD(shared, uint64_t, b64_64)
STORE(generic, uint32_t, b32_32)
STORE(generic, uint64_t, b64_64)
STORE(shared, uint32_t, b32_32)
STORE(shared, uint64_t, b64_64)

/* --- vectors whose elements all have rows, dense in each half ------------------------------------------ */

/* T: type of an element; move: spread for loads, collect for stores. */
#define VECTOR(T, name, move, write) \
    ON_ROWS(name, true) \
    HANDLER(affine_##name, full) \
    { \
        const uint32_t count = i->mods & MEM_COUNT; \
        const Places at = places_generic(w, i, count * (uint32_t)sizeof(T), write); \
        void *rows[4]; \
        if (!(at.valid & at.dense) || !vector_rows(w, i, count, rows)) return rows_##name(w, i); \
        move##_vectors_##T(rows, count, at.low, at.high); \
        return i + 1; \
    }
VECTOR(u32, ldv_generic_b32_32, spread, false)
VECTOR(u64, ldv_generic_b64_64, spread, false)
VECTOR(u32, stv_generic_b32_32, collect, true)
VECTOR(u64, stv_generic_b64_64, collect, true)
