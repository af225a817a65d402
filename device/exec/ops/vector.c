/* Vector loads and stores, and elements of 128 bits: several elements a lane, next to each other in memory.
 *
 * The bytes of all lanes are brought together first (or found together already), then spread over the rows
 * of the elements; stores the other way round. An element of 128 bits is two of 64 in consecutive rows.
 */
#include "exec/ops/vector_rows.h"

enum { MAX_CHUNK = 64 }; /* bytes of one lane: v4.b128, v8.b64 */

typedef struct Chunk {
    Access x;
    uint32_t step; /* from lane to lane in what fetch_ gives: x.size, or 0 when it is the same for all */
    _Alignas(64) uint8_t stage[WARP_LANES * MAX_CHUNK];
} Chunk;

static uint64_t address_of(const Access *access, int l)
{
    return access->i->mods & MEM_ADDR32 ? ROW(const uint32_t, access->w, access->i->a)[l]
                                   : ROW(const uint64_t, access->w, access->i->a)[l];
}

/* Lanes of constant size are moved without a call. */
static void move_bytes(uint8_t *to, const uint8_t *from, uint32_t size)
{
    switch (size) {
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    case 16: memcpy(to, from, 16); break;
    case 32: memcpy(to, from, 32); break;
    default: memcpy(to, from, size); break;
    }
}

typedef enum AddressPattern { SCATTERED, UNIFORM, DENSE } AddressPattern;

/* How the addresses lie when all 32 lanes execute: all the same, or one after another. */
static AddressPattern address_pattern(const Access *access)
{
    const uint64_t *wide = ROW(const uint64_t, access->w, access->i->a);
    const uint32_t *narrow = ROW(const uint32_t, access->w, access->i->a);
    Halves h;
    bool found;
    if (access->w->mask != FULL_MASK) return SCATTERED;
    found = access->i->mods & MEM_ADDR32 ? halves_uint32_t(narrow, 0, access->size, &h)
                                    : halves_uint64_t(wide, 0, access->size, &h);
    if (!found) return SCATTERED;
    if (h.dense) return h.high == h.low + h.bytes ? DENSE : SCATTERED;
    return h.high == h.low ? UNIFORM : SCATTERED;
}

#define at_generic_lane(x, l, address, bytes) at_generic(x, address, bytes)
#define at_shared_lane(x, l, address, bytes) at_shared(x, address, bytes)
#define at_local_lane(x, l, address, bytes) at_local(x, l, address, bytes)

/* Whether an address is one of a whole vector. */
static bool is_aligned(const Access *access, uint64_t address, bool local)
{
    address += (uint64_t)access->i->imm
               + (local && access->i->a == REF_ABSENT ? access->w->current->local : 0);
    return (address & (access->size - 1)) == 0;
}

/* fetch: the bytes of all lanes, x.size apart; store: writes the stage. NULL and false after a fault. Where
 * not all of a vector is there, the elements that are read may be. */
#define MOVE_FNS(space, local, lane_pattern) \
    static bool fetch_part_##space(Chunk *c, int l) \
    { \
        Access x = c->x; \
        const VectorPart part = \
            x.i->mods & MEM_COUNT ? vector_part(x.w->current->function, x.i) : (VectorPart){0, 1}; \
        const uint32_t each = x.size / (x.i->mods & MEM_COUNT ? x.i->mods & MEM_COUNT : 1), \
                       skip = part.first * each; \
        if (!is_aligned(&x, address_of(&x, l), local)) return false; \
        if (!part.count) return true; \
        x.size = each; \
        const uint8_t *p = at_##space##_lane(&x, l, address_of(&x, l) + skip, part.count * each); \
        if (p) memcpy(c->stage + (uint32_t)l * c->x.size + skip, p, part.count * each); \
        return p != NULL; \
    } \
    /* The bytes of all lanes where they lie together, else NULL. */ \
    static uint8_t *dense_##space(const Chunk *c) \
    { \
        const Access *x = &c->x; \
        if ((lane_pattern) != DENSE) return NULL; \
        return at_##space##_lane(x, 0, address_of(x, 0), (uint64_t)x->size * WARP_LANES); \
    } \
    static const uint8_t *fetch_##space(Chunk *c) \
    { \
        const Access *x = &c->x; \
        const AddressPattern pattern = lane_pattern; \
        const uint64_t bytes = pattern == DENSE ? (uint64_t)x->size * WARP_LANES : x->size; \
        const uint8_t *p = pattern == SCATTERED ? NULL : at_##space##_lane(x, 0, address_of(x, 0), bytes); \
        if (p) { \
            c->step = pattern == DENSE ? x->size : 0; \
            return p; \
        } \
        c->step = x->size; \
        for (uint32_t rest = x->w->mask; rest; rest &= rest - 1) { \
            int l = __builtin_ctz(rest); \
            p = at_##space##_lane(x, l, address_of(x, l), x->size); \
            if (p) { \
                move_bytes(c->stage + (uint32_t)l * x->size, p, x->size); \
            } else if (!fetch_part_##space(c, l)) { \
                fault_##space(x, l, address_of(x, l)); \
                return NULL; \
            } \
        } \
        return c->stage; \
    } \
    static bool put_##space(const Chunk *c) \
    { \
        const Access *x = &c->x; \
        uint8_t *p; \
        for (uint32_t rest = x->w->mask; rest; rest &= rest - 1) { \
            int l = __builtin_ctz(rest); \
            p = at_##space##_lane(x, l, address_of(x, l), x->size); \
            if (!p) { \
                fault_##space(x, l, address_of(x, l)); \
                return false; \
            } \
            move_bytes(p, c->stage + (uint32_t)l * x->size, x->size); \
        } \
        return true; \
    }
MOVE_FNS(generic, false, address_pattern(x))
MOVE_FNS(shared, false, address_pattern(x))
MOVE_FNS(local, true, SCATTERED)

/* A parameter: the same bytes for all lanes. */
static const uint8_t *fetch_param(Chunk *c)
{
    c->step = 0;
    return (const uint8_t *)c->x.w->block->grid->launch->params + c->x.i->imm;
}

/* --- elements to rows and back ------------------------------------------------------------------------- */

#define SPREAD_ELEMENT(M, R, stride) \
    LANES_LOOP { \
        M v; \
        memcpy(&v, bytes + (uint32_t)l * (stride), sizeof v); \
        d[l] = w->lanes[l] ? (R)v : d[l]; \
    }
#define COLLECT_ELEMENT(M, stride) \
    LANES_LOOP { \
        const M v = (M)b[l]; \
        memcpy(bytes + (uint32_t)l * (stride), &v, sizeof v); \
    }

/* Strides of no, two and four elements are constants for the compiler's sake. */
#define SPREAD_FN(M, R, kind) \
    static void spread_##kind(const Warp *w, R *d, const uint8_t *bytes, uint32_t stride) \
    { \
        if (!d) return; \
        if (stride == 0) SPREAD_ELEMENT(M, R, 0) \
        else if (stride == 2 * sizeof(M)) SPREAD_ELEMENT(M, R, 2 * (uint32_t)sizeof(M)) \
        else if (stride == 4 * sizeof(M)) SPREAD_ELEMENT(M, R, 4 * (uint32_t)sizeof(M)) \
        else SPREAD_ELEMENT(M, R, stride) \
    }
#define COLLECT_FN(M, R, kind) \
    static void collect_##kind(const R *b, uint8_t *bytes, uint32_t stride) \
    { \
        if (stride == 2 * sizeof(M)) COLLECT_ELEMENT(M, 2 * (uint32_t)sizeof(M)) \
        else if (stride == 4 * sizeof(M)) COLLECT_ELEMENT(M, 4 * (uint32_t)sizeof(M)) \
        else COLLECT_ELEMENT(M, stride) \
    }

/* All elements at once, for all lanes, and elements that lie in memory as they do in rows. False, and nothing
 * was done, where it does not fit. Loads fetch what the next warp will most likely ask for. */
#define GROUP_FNS(T, kind) \
    static bool spread_group_##kind(Warp *w, const Insn *i, uint32_t count, const uint8_t *bytes) \
    { \
        const uint32_t size = count * (uint32_t)sizeof(T) * WARP_LANES; \
        void *rows[4]; \
        if (!group_rows(w, i, count, rows)) return false; \
        for (uint32_t k = 0; k < size; k += 64) __builtin_prefetch(bytes + size + k); \
        spread_vectors_##T(rows, count, bytes, bytes + size / 2); \
        return true; \
    } \
    static bool collect_group_##kind(Warp *w, const Insn *i, uint32_t count, uint8_t *bytes) \
    { \
        void *rows[4]; \
        if (!group_rows(w, i, count, rows)) return false; \
        collect_vectors_##T(rows, count, bytes, bytes + count * (uint32_t)sizeof(T) * HALF_WARP); \
        return true; \
    }
GROUP_FNS(u16, b16_16)
GROUP_FNS(u32, b32_32)
GROUP_FNS(u64, b64_64)

/* Other kinds have no such loop. */
static bool spread_group_none(Warp *w, const Insn *i, uint32_t count, const uint8_t *bytes)
{
    (void)w, (void)i, (void)count, (void)bytes;
    return false;
}
static bool collect_group_none(Warp *w, const Insn *i, uint32_t count, uint8_t *bytes)
{
    (void)w, (void)i, (void)count, (void)bytes;
    return false;
}

#define LOAD_FORM(space, M, R, kind, group, form, all) \
    HANDLER(ldv_##space##_##kind, form) \
    { \
        const uint32_t count = i->mods & MEM_COUNT; \
        Chunk c; \
        c.x = (Access){w, i, count * (uint32_t)sizeof(M), false}; \
        const uint8_t *bytes = fetch_##space(&c); \
        if (!bytes) return NULL; \
        if (i->mods & MEM_STRONG) warp_may_spin(w, FUEL_SPIN); \
        if (all && c.step && spread_group_##group(w, i, count, bytes)) return i + 1; \
        for (uint32_t e = 0; e < count; e++) \
            spread_##kind(w, (R *)(void *)element_row(w, i, e, 0), bytes + e * sizeof(M), c.step); \
        return i + 1; \
    }
#define LOAD_VECTOR(space, M, R, kind, group) \
    LOAD_FORM(space, M, R, kind, group, full, true) \
    LOAD_FORM(space, M, R, kind, group, part, false)

#define COLLECT_ALL(R, M, kind, bytes) \
    for (uint32_t e = 0; e < count; e++) \
        collect_##kind((const R *)(const void *)element_row(w, i, e, 0), bytes + e * sizeof(M), c.x.size);

#define STORE_FORM(space, M, R, kind, group, form, all) \
    HANDLER(stv_##space##_##kind, form) \
    { \
        const uint32_t count = i->mods & MEM_COUNT; \
        Chunk c; \
        c.x = (Access){w, i, count * (uint32_t)sizeof(M), true}; \
        uint8_t *dense = all ? dense_##space(&c) : NULL, *bytes = dense ? dense : c.stage; \
        if (!all || !collect_group_##group(w, i, count, bytes)) COLLECT_ALL(R, M, kind, bytes) \
        return dense || put_##space(&c) ? i + 1 : NULL; \
    }
#define STORE_VECTOR(space, M, R, kind, group) \
    STORE_FORM(space, M, R, kind, group, full, true) \
    STORE_FORM(space, M, R, kind, group, part, false)

#define LOAD_VECTORS(M, R, kind, group) \
    SPREAD_FN(M, R, kind) \
    LOAD_VECTOR(generic, M, R, kind, group) LOAD_VECTOR(shared, M, R, kind, group) \
    LOAD_VECTOR(local, M, R, kind, group) LOAD_VECTOR(param, M, R, kind, group)
#define STORE_VECTORS(M, R, kind, group) \
    COLLECT_FN(M, R, kind) \
    STORE_VECTOR(generic, M, R, kind, group) STORE_VECTOR(shared, M, R, kind, group) \
    STORE_VECTOR(local, M, R, kind, group)

LOAD_VECTORS(u8, u16, u8_16, none)
LOAD_VECTORS(u8, u32, u8_32, none)
LOAD_VECTORS(u8, u64, u8_64, none)
LOAD_VECTORS(s8, s16, s8_16, none)
LOAD_VECTORS(s8, s32, s8_32, none)
LOAD_VECTORS(s8, s64, s8_64, none)
LOAD_VECTORS(u16, u16, b16_16, b16_16)
LOAD_VECTORS(u16, u32, u16_32, none)
LOAD_VECTORS(u16, u64, u16_64, none)
LOAD_VECTORS(s16, s32, s16_32, none)
LOAD_VECTORS(s16, s64, s16_64, none)
LOAD_VECTORS(u32, u32, b32_32, b32_32)
LOAD_VECTORS(u32, u64, u32_64, none)
LOAD_VECTORS(s32, s64, s32_64, none)
LOAD_VECTORS(u64, u64, b64_64, b64_64)

STORE_VECTORS(u8, u16, b8_16, none)
STORE_VECTORS(u8, u32, b8_32, none)
STORE_VECTORS(u8, u64, b8_64, none)
STORE_VECTORS(u16, u16, b16_16, b16_16)
STORE_VECTORS(u16, u32, b16_32, none)
STORE_VECTORS(u16, u64, b16_64, none)
STORE_VECTORS(u32, u32, b32_32, b32_32)
STORE_VECTORS(u32, u64, b32_64, none)
STORE_VECTORS(u64, u64, b64_64, b64_64)

/* --- 128 bits ------------------------------------------------------------------------------------------ */

/* One half of a 128-bit element. */
static void spread_8_bytes(const Warp *w, uint8_t *row, const uint8_t *bytes, uint32_t stride)
{
    spread_b64_64(w, (u64 *)(void *)row, bytes, stride);
}

static const Insn *spread_wide(Chunk *c, const uint8_t *bytes, uint32_t count)
{
    const Insn *i = c->x.i;
    if (!bytes) return NULL;
    if (i->mods & MEM_STRONG) warp_may_spin(c->x.w, FUEL_SPIN);
    for (uint32_t h = 0; h < 2 * count; h++)
        spread_8_bytes(c->x.w, element_row(c->x.w, i, h / 2, h % 2), bytes + 8 * h, c->step);
    return i + 1;
}

static void collect_wide(const Chunk *c, uint32_t count, uint8_t *bytes)
{
    for (uint32_t h = 0; h < 2 * count; h++)
        collect_b64_64((const u64 *)(const void *)element_row(c->x.w, c->x.i, h / 2, h % 2), bytes + 8 * h,
                       c->x.size);
}

static const Insn *spread_one(Chunk *c, const uint8_t *bytes)
{
    uint8_t *d = ref_rows(c->x.w, c->x.i->d);
    if (!bytes) return NULL;
    if (c->x.i->mods & MEM_STRONG) warp_may_spin(c->x.w, FUEL_SPIN);
    spread_8_bytes(c->x.w, d, bytes, c->step);
    spread_8_bytes(c->x.w, d + 8 * WARP_LANES, bytes + 8, c->step);
    return c->x.i + 1;
}

static void collect_one(const Chunk *c, uint8_t *bytes)
{
    const u64 *b = ROW(const u64, c->x.w, c->x.i->b);
    collect_b64_64(b, bytes, c->x.size);
    collect_b64_64(b + WARP_LANES, bytes + 8, c->x.size);
}

#define LOAD_WIDE(space, form) \
    HANDLER(ldv_##space##_b128, form) \
    { \
        Chunk c; \
        c.x = (Access){w, i, (i->mods & MEM_COUNT) * 16u, false}; \
        return spread_wide(&c, fetch_##space(&c), i->mods & MEM_COUNT); \
    } \
    HANDLER(ld_##space##_b128, form) \
    { \
        Chunk c; \
        c.x = (Access){w, i, 16, false}; \
        return spread_one(&c, fetch_##space(&c)); \
    }
#define STORE_WIDE(space, form) \
    HANDLER(stv_##space##_b128, form) \
    { \
        Chunk c; \
        c.x = (Access){w, i, (i->mods & MEM_COUNT) * 16u, true}; \
        uint8_t *dense = dense_##space(&c); \
        collect_wide(&c, i->mods & MEM_COUNT, dense ? dense : c.stage); \
        return dense || put_##space(&c) ? i + 1 : NULL; \
    } \
    HANDLER(st_##space##_b128, form) \
    { \
        Chunk c; \
        c.x = (Access){w, i, 16, true}; \
        uint8_t *dense = dense_##space(&c); \
        collect_one(&c, dense ? dense : c.stage); \
        return dense || put_##space(&c) ? i + 1 : NULL; \
    }
#define WIDE(form) \
    LOAD_WIDE(generic, form) LOAD_WIDE(shared, form) LOAD_WIDE(local, form) LOAD_WIDE(param, form) \
    STORE_WIDE(generic, form) STORE_WIDE(shared, form) STORE_WIDE(local, form)
WIDE(full)
WIDE(part)
