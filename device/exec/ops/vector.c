/* Vector loads and stores, and elements of 128 bits: several elements a lane, consecutive in memory.
 *
 * A load first gets the bytes of all lanes in one place, which is the memory itself if they are consecutive
 * there, else a copy; then it spreads them over the rows of the elements. A store collects the rows in one
 * place, then copies that to memory. An element of 128 bits is stored in two consecutive rows of 64.
 */
#include "exec/ops/vector_rows.h"

enum { MAX_CHUNK = 64 }; /* bytes of one lane: v4.b128, v8.b64 */

/* The vectors of all lanes. */
typedef struct Chunk {
    Access x;      /* x.size: bytes of one lane's vector */
    uint32_t step; /* bytes from lane to lane in fetch_'s result: x.size, or 0 if all lanes have the same */
    _Alignas(64) uint8_t stage[WARP_LANES * MAX_CHUNK]; /* lane l's vector is at l * x.size */
} Chunk;

/* Lane l's address operand, without the immediate. */
static uint64_t vector_address(const Access *access, int l)
{
    return access->i->mods & MEM_ADDR32 ? ROW(const uint32_t, access->w, access->i->a)[l]
                                        : ROW(const uint64_t, access->w, access->i->a)[l];
}

/* memcpy() that the compiler expands without a call for the sizes that vectors have. */
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

/* The pattern of the addresses if all 32 lanes execute: UNIFORM if they are equal, DENSE if the vectors are
 * consecutive. SCATTERED for others, and if only some lanes execute. */
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

/* The host address of lane l's bytes: only in local memory it depends on the lane. */
#define at_generic_lane(x, l, address, bytes) at_generic(x, address, bytes)
#define at_shared_lane(x, l, address, bytes) at_shared(x, address, bytes)
#define at_local_lane(x, l, address, bytes) at_local(x, l, address, bytes)

/* Whether an address operand, with the immediate, is aligned for the vector. local: in local memory, where
 * without an address operand it counts from the running frame. */
static bool is_aligned(const Access *access, uint64_t address, bool local)
{
    address += (uint64_t)access->i->imm
               + (local && access->i->a == REF_ABSENT ? access->w->current->local : 0);
    return (address & (access->size - 1)) == 0;
}

/* The functions of one state space; lane_pattern: the pattern of the addresses of an Access x.
 * fetch_part_<space>(): for a lane whose vector is not all there, copies the elements that are read to the
 *     stage. False if these are not there either.
 * dense_<space>(): where the vectors of all lanes are consecutive in memory; NULL if they are not.
 * fetch_<space>(): the vectors of all lanes, c->step apart, in memory or in the stage. NULL after a fault.
 * put_<space>(): copies the stage to memory. False after a fault. */
#define MOVE_FNS(space, local, lane_pattern) \
    static bool fetch_part_##space(Chunk *c, int l) \
    { \
        Access x = c->x; \
        const VectorPart part = \
            x.i->mods & MEM_COUNT ? vector_part(x.w->current->function, x.i) : (VectorPart){0, 1}; \
        const uint32_t each = x.size / (x.i->mods & MEM_COUNT ? x.i->mods & MEM_COUNT : 1), \
                       skip = part.first * each; \
        if (!is_aligned(&x, vector_address(&x, l), local)) return false; \
        if (!part.count) return true; \
        x.size = each; \
        const uint8_t *p = at_##space##_lane(&x, l, vector_address(&x, l) + skip, part.count * each); \
        if (p) memcpy(c->stage + (uint32_t)l * c->x.size + skip, p, part.count * each); \
        return p != NULL; \
    } \
    static uint8_t *dense_##space(const Chunk *c) \
    { \
        const Access *x = &c->x; \
        if ((lane_pattern) != DENSE) return NULL; \
        return at_##space##_lane(x, 0, vector_address(x, 0), (uint64_t)x->size * WARP_LANES); \
    } \
    static const uint8_t *fetch_##space(Chunk *c) \
    { \
        const Access *x = &c->x; \
        const AddressPattern pattern = lane_pattern; \
        const uint64_t bytes = pattern == DENSE ? (uint64_t)x->size * WARP_LANES : x->size; \
        const uint8_t *p = NULL; \
        if (pattern != SCATTERED) p = at_##space##_lane(x, 0, vector_address(x, 0), bytes); \
        if (p) { \
            c->step = pattern == DENSE ? x->size : 0; \
            return p; \
        } \
        c->step = x->size; \
        for (uint32_t rest = x->w->mask; rest; rest &= rest - 1) { \
            int l = __builtin_ctz(rest); \
            p = at_##space##_lane(x, l, vector_address(x, l), x->size); \
            if (!p && fetch_part_##space(c, l)) continue; \
            if (!p && !(p = fault_##space(x, l, vector_address(x, l)))) return NULL; \
            move_bytes(c->stage + (uint32_t)l * x->size, p, x->size); \
        } \
        return c->stage; \
    } \
    static bool put_##space(const Chunk *c) \
    { \
        const Access *x = &c->x; \
        uint8_t *p; \
        for (uint32_t rest = x->w->mask; rest; rest &= rest - 1) { \
            int l = __builtin_ctz(rest); \
            p = at_##space##_lane(x, l, vector_address(x, l), x->size); \
            if (!p && !(p = fault_##space(x, l, vector_address(x, l)))) return false; \
            move_bytes(p, c->stage + (uint32_t)l * x->size, x->size); \
        } \
        return true; \
    }
MOVE_FNS(generic, false, address_pattern(x))
MOVE_FNS(shared, false, address_pattern(x))
MOVE_FNS(local, true, SCATTERED)

/* The same for a kernel's parameters: all lanes have the same bytes, and the lowering has checked the
 * offset. */
static const uint8_t *fetch_param(Chunk *c)
{
    c->step = 0;
    return (const uint8_t *)c->x.w->block->grid->launch->params + c->x.i->imm;
}

/* --- elements to rows, rows to elements ---------------------------------------------------------------- */

/* M: type of an element in memory, R: type of an element of its row. stride: bytes from lane to lane in
 * memory. */
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

/* d: the element's row, NULL if it is not read. Strides of 0, 2 and 4 elements are cases of their own, so
 * that the compiler makes vector code with constant strides. */
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

/* Moves whole vectors by vector_rows.h, for all lanes, of elements that have one type in memory and in rows.
 * False, and nothing was done, for vectors that vector_rows() does not take. Loads prefetch the bytes after
 * these: most likely the next warp reads them. */
#define WHOLE_VECTOR_FNS(T, kind) \
    static bool spread_whole_##kind(Warp *w, const Insn *i, uint32_t count, const uint8_t *bytes) \
    { \
        const uint32_t size = count * (uint32_t)sizeof(T) * WARP_LANES; \
        void *rows[4]; \
        if (!vector_rows(w, i, count, rows)) return false; \
        for (uint32_t k = 0; k < size; k += 64) __builtin_prefetch(bytes + size + k); \
        spread_vectors_##T(rows, count, bytes, bytes + size / 2); \
        return true; \
    } \
    static bool collect_whole_##kind(Warp *w, const Insn *i, uint32_t count, uint8_t *bytes) \
    { \
        void *rows[4]; \
        if (!vector_rows(w, i, count, rows)) return false; \
        collect_vectors_##T(rows, count, bytes, bytes + count * (uint32_t)sizeof(T) * HALF_WARP); \
        return true; \
    }
WHOLE_VECTOR_FNS(u16, b16_16)
WHOLE_VECTOR_FNS(u32, b32_32)
WHOLE_VECTOR_FNS(u64, b64_64)

/* For kinds whose elements are converted: they are moved one by one. */
static bool spread_whole_none(Warp *w, const Insn *i, uint32_t count, const uint8_t *bytes)
{
    (void)w, (void)i, (void)count, (void)bytes;
    return false;
}
static bool collect_whole_none(Warp *w, const Insn *i, uint32_t count, uint8_t *bytes)
{
    (void)w, (void)i, (void)count, (void)bytes;
    return false;
}

/* whole: the kind whose spread_whole_ and collect_whole_ serve, or none; all: whether the form is full. */
#define LOAD_FORM(space, M, R, kind, whole, form, all) \
    HANDLER(ldv_##space##_##kind, form) \
    { \
        const uint32_t count = i->mods & MEM_COUNT; \
        Chunk c; \
        c.x = (Access){w, i, count * (uint32_t)sizeof(M), false}; \
        const uint8_t *bytes = fetch_##space(&c); \
        if (!bytes) return NULL; \
        if (i->mods & MEM_STRONG) warp_may_spin(w, FUEL_SPIN); \
        if (all && c.step && spread_whole_##whole(w, i, count, bytes)) return i + 1; \
        for (uint32_t e = 0; e < count; e++) \
            spread_##kind(w, (R *)(void *)element_row(w, i, e, 0), bytes + e * sizeof(M), c.step); \
        return i + 1; \
    }
#define LOAD_VECTOR(space, M, R, kind, whole) \
    LOAD_FORM(space, M, R, kind, whole, full, true) \
    LOAD_FORM(space, M, R, kind, whole, part, false)

#define COLLECT_ALL(R, M, kind, bytes) \
    for (uint32_t e = 0; e < count; e++) \
        collect_##kind((const R *)(const void *)element_row(w, i, e, 0), bytes + e * sizeof(M), c.x.size);

#define STORE_FORM(space, M, R, kind, whole, form, all) \
    HANDLER(stv_##space##_##kind, form) \
    { \
        const uint32_t count = i->mods & MEM_COUNT; \
        Chunk c; \
        c.x = (Access){w, i, count * (uint32_t)sizeof(M), true}; \
        uint8_t *dense = all ? dense_##space(&c) : NULL, *bytes = dense ? dense : c.stage; \
        if (!all || !collect_whole_##whole(w, i, count, bytes)) COLLECT_ALL(R, M, kind, bytes) \
        return dense || put_##space(&c) ? i + 1 : NULL; \
    }
#define STORE_VECTOR(space, M, R, kind, whole) \
    STORE_FORM(space, M, R, kind, whole, full, true) \
    STORE_FORM(space, M, R, kind, whole, part, false)

#define LOAD_VECTORS(M, R, kind, whole) \
    SPREAD_FN(M, R, kind) \
    LOAD_VECTOR(generic, M, R, kind, whole) LOAD_VECTOR(shared, M, R, kind, whole) \
    LOAD_VECTOR(local, M, R, kind, whole) LOAD_VECTOR(param, M, R, kind, whole)
#define STORE_VECTORS(M, R, kind, whole) \
    COLLECT_FN(M, R, kind) \
    STORE_VECTOR(generic, M, R, kind, whole) STORE_VECTOR(shared, M, R, kind, whole) \
    STORE_VECTOR(local, M, R, kind, whole)

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

/* One half of a 128-bit element; row: NULL if the element is not read. */
static void spread_8_bytes(const Warp *w, uint8_t *row, const uint8_t *bytes, uint32_t stride)
{
    spread_b64_64(w, (u64 *)(void *)row, bytes, stride);
}

/* A vector of `count` 128-bit elements, from fetch_'s result. Half h is of element h / 2. */
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

/* A single 128-bit element, whose row is an operand of the instruction, not of its list of further
 * operands. */
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
