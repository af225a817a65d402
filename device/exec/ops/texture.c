/* Textures and surfaces: a lane at a time, since every lane may have a handle of its own.
 *
 * A handle is looked up once for neighboring lanes that share it. It is a fault if the object was
 * destroyed, has another dimension, or its memory was freed. A reference that is bound to nothing reads
 * as zeros, and writes to it have no effect. */
#include <stdio.h>

#include "exec/numbers/lanes.h"
#include "exec/state/grid.h"
#include "exec/texture/texture.h"
#include "exec/memory/memory_map.h"

/* The operands beyond the handle: refs[more ...] are values, then coordinates, then a level or gradients. */
typedef struct TexelAccess {
    Warp *w;
    const Insn *i;
    Ref values[4], coordinates[4];
    const Ref *detail;     /* a level, or gradients */
    Texture texture;       /* the texture or surface of `handle`, if valid */
    u64 handle;
    bool valid;
} TexelAccess;

static TexelAccess access_of(Warp *w, const Insn *i)
{
    const Ref *refs = w->current->function->refs + i->more;
    TexelAccess a = {.w = w, .i = i};
    memcpy(a.values, refs, sizeof a.values);
    memcpy(a.coordinates, refs + 4, sizeof a.coordinates);
    a.detail = refs + 8;
    return a;
}

/* The texture or surface reference that the handle is of; NULL if it is of an object. */
static const CodeReference *reference_of(const Warp *w, u64 handle)
{
    const CodeModule *module = w->current->function->module;
    return handle - 1 < module->reference_count ? &module->references[handle - 1] : NULL;
}

/* The texture or surface of a handle. False when there is none, or it cannot be used: *problem says why. */
static bool look_up(const Warp *w, u64 handle, bool surface, Texture *out, const char **problem)
{
    const GridLaunch *launch = w->block->grid->launch;
    const CodeReference *reference = reference_of(w, handle);
    *problem = "does not exist or was destroyed";
    if (!reference) return launch->find_texture && launch->find_texture(handle, surface, out);
    *out = launch->bindings[handle - 1].texture;
    *problem = launch->bindings[handle - 1].problem;
    if (reference->surface != surface)
        *problem = surface ? "is a texture, not a surface" : "is a surface, not a texture";
    return !*problem;
}

/* Whether the memory of a texture or surface was freed; also if other memory is at its address now. */
static bool is_freed(const Warp *w, const Texture *texture)
{
    MemoryRange range;
    if (!texture->storage) return false;
    return !memory_map_find(w->block->grid->launch->memory, texture->storage, &range)
           || range.id != texture->range;
}

/* "texture object 0x1000", for messages. */
static const char *name_of(const Warp *w, u64 handle, bool surface, char text[128])
{
    const CodeReference *reference = reference_of(w, handle);
    const char *kind = surface ? "surface" : "texture";
    if (reference)
        snprintf(text, 128, "%s reference '%.90s'", kind, reference->name);
    else
        snprintf(text, 128, "%s object 0x%llx", kind, (unsigned long long)handle);
    return text;
}

/* Sets a->texture to the texture or surface of a lane. False after a fault. */
static bool find(TexelAccess *a, int lane, bool surface)
{
    u64 handle = ROW(const u64, a->w, a->i->a)[lane];
    const char *problem;
    char name[128];
    if (a->valid && handle == a->handle) return true;
    a->valid = false;
    if (!handle) {
        exec_fault(a->w, a->i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                   "the kernel uses a %s that is not bound", surface ? "surface" : "texture");
        return false;
    }
    if (!look_up(a->w, handle, surface, &a->texture, &problem)) {
        exec_fault(a->w, a->i, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "the %s %s",
                   name_of(a->w, handle, surface, name), problem);
        return false;
    }
    if (is_freed(a->w, &a->texture)) {
        exec_fault(a->w, a->i, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "the memory of the %s was freed",
                   name_of(a->w, handle, surface, name));
        return false;
    }
    a->handle = handle;
    a->valid = true;
    return true;
}

/* find() for an instruction with a shape (TEX_SHAPE), which the texture or surface must have. */
static bool find_shaped(TexelAccess *a, int lane, bool surface)
{
    TextureShape shape = (TextureShape)(a->i->mods & TEX_SHAPE);
    char name[128];
    if (!find(a, lane, surface)) return false;
    if (a->texture.shape == TEXTURE_LINEAR && a->i->op == OP_tex && !(a->i->mods & TEX_INTEGERS)) {
        exec_fault(a->w, a->i, lane, CUDA_ERROR_LAUNCH_FAILED,
                   "a texture in linear memory is read with integer coordinates only (tex.1d ... .s32)");
        return false;
    }
    if (!a->texture.storage || texture_accepts(&a->texture, shape)) return true;
    exec_fault(a->w, a->i, lane, CUDA_ERROR_LAUNCH_FAILED, "the instruction is for %s, the %s is %s",
               texture_shape_name(shape), name_of(a->w, a->handle, surface, name),
               texture_shape_name((TextureShape)a->texture.shape));
    return false;
}

/* Whether a texel is within the allocation: a texture of linear memory may have been bound with a size
 * beyond its end. False after a fault. */
static bool within_memory(TexelAccess *a, int lane, u32 texel)
{
    const Texture *t = &a->texture;
    char name[128];
    if (t->shape != TEXTURE_LINEAR || texel >= t->size[0] || (u64)(texel + 1) * t->element <= t->bytes)
        return true;
    exec_fault(a->w, a->i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
               "texel %u of the %s is beyond the end of its allocation", texel,
               name_of(a->w, a->handle, false, name));
    return false;
}

static void words_of(const TexelAccess *a, const Ref refs[4], int lane, u32 out[4])
{
    for (int k = 0; k < 4; k++) out[k] = refs[k] == REF_ABSENT ? 0 : ROW(const u32, a->w, refs[k])[lane];
}

static void coordinates_of(const TexelAccess *a, int lane, u32 out[4])
{
    words_of(a, a->coordinates, lane, out);
}

static void write_texel(const TexelAccess *a, int lane, const u32 out[4])
{
    for (int k = 0; k < 4; k++)
        if (a->values[k] != REF_ABSENT) ROW(u32, a->w, a->values[k])[lane] = out[k];
}

/* The level to be read, as texture_sample takes it. */
static s32 level_of(const TexelAccess *a, int lane, const u32 at[4])
{
    bool integers = a->i->mods & TEX_INTEGERS;
    float detail = TEXTURE_NO_DETAIL;
    if (a->i->mods & TEX_LEVEL) {
        u32 word = ROW(const u32, a->w, a->detail[0])[lane];
        if (integers) return (s32)word;
        memcpy(&detail, &word, 4);
    } else if (a->i->mods & TEX_GRAD && a->texture.levels > 1) {
        u32 dx[4], dy[4];
        words_of(a, a->detail, lane, dx);
        words_of(a, a->detail + 4, lane, dy);
        detail = texture_gradient_detail(&a->texture, at, dx, dy);
    }
    return integers ? 0 : texture_detail(&a->texture, detail);
}

/* tex, or tld4 with gather. */
static const Insn *run_tex(Warp *w, const Insn *i, bool gather)
{
    TexelAccess a = access_of(w, i);
    for (int l = 0; l < WARP_LANES; l++) {
        u32 at[4], out[4];
        if (!w->lanes[l]) continue;
        if (!find_shaped(&a, l, false)) return NULL;
        coordinates_of(&a, l, at);
        if (!within_memory(&a, l, at[0])) return NULL;
        if (!a.texture.storage)
            memset(out, 0, sizeof out);
        else if (gather)
            texture_gather(&a.texture, at, (unsigned)i->imm, out);
        else
            texture_sample(&a.texture, at, i->mods & TEX_INTEGERS, level_of(&a, l, at), out);
        write_texel(&a, l, out);
    }
    if (i->e != REF_ABSENT) pred_store(w, i->e, FULL_MASK);
    return i + 1;
}

static const Insn *run_txq(Warp *w, const Insn *i, bool surface)
{
    TexelAccess a = {.w = w, .i = i};
    u32 *d = ROW(u32, w, i->d);
    for (int l = 0; l < WARP_LANES; l++) {
        if (!w->lanes[l]) continue;
        if (!find(&a, l, surface)) return NULL;
        u32 level = i->b == REF_ABSENT ? 0 : ROW(const u32, w, i->b)[l];
        d[l] = texture_query(&a.texture, (TextureQuery)i->imm, level);
    }
    return i + 1;
}

/* --- surfaces: imm is bytes of an element, mods the number of elements and what happens outside ------- */

/* Finds the place where a lane reads or writes; its address is 0 where reads give zeros and writes have
 * no effect. scaled: x is in elements, not in bytes. False after a fault. */
static bool texel_place(TexelAccess *a, int lane, uint32_t bytes, bool scaled, SurfacePlace *out)
{
    u32 at[4];
    *out = (SurfacePlace){0, false};
    if (!find_shaped(a, lane, true)) return false;
    if (!a->texture.storage) return true;
    coordinates_of(a, lane, at);
    *out = surface_place(&a->texture, at, bytes, scaled, a->i->mods & TEX_CLAMP);
    uint64_t there;
    const SparseTiles *sparse = a->texture.sparse;
    if (sparse && out->address && !sparse_is_mapped(sparse, out->address, &there)) out->address = 0;
    if (out->outside && !(a->i->mods & (TEX_CLAMP | TEX_ZERO))) {
        const uint32_t *size = a->texture.size;
        exec_fault(a->w, a->i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                   "coordinates (%d, %d, %d) are outside of the surface of %u x %u x %u elements", (int)at[0],
                   (int)at[1], (int)at[2], size[0], size[1], size[2]);
        return false;
    }
    if (!scaled && at[a->texture.shape >= TEXTURE_A1D] % bytes) {
        exec_fault(a->w, a->i, lane, CUDA_ERROR_MISALIGNED_ADDRESS,
                   "misaligned access of %u bytes at byte %d of a row of a surface", bytes,
                   (int)at[a->texture.shape >= TEXTURE_A1D]);
        return false;
    }
    return true;
}

/* Write and read element k of a lane, in a row of 16, 32 or 64 bits (TEX_ROW_SHIFT). */
static void put_element(const TexelAccess *a, int lane, int k, u64 value)
{
    if (a->values[k] == REF_ABSENT) return;
    unsigned row = a->i->mods >> TEX_ROW_SHIFT & 3;
    if (row == 0) ROW(u16, a->w, a->values[k])[lane] = (u16)value;
    if (row == 1) ROW(u32, a->w, a->values[k])[lane] = (u32)value;
    if (row == 2) ROW(u64, a->w, a->values[k])[lane] = value;
}

static u64 get_element(const TexelAccess *a, int lane, int k)
{
    unsigned row = a->i->mods >> TEX_ROW_SHIFT & 3;
    if (row == 0) return ROW(const u16, a->w, a->values[k])[lane];
    if (row == 1) return ROW(const u32, a->w, a->values[k])[lane];
    return ROW(const u64, a->w, a->values[k])[lane];
}

static unsigned element_count(const Insn *i) { return 1u << (i->mods >> TEX_COUNT_SHIFT & 3); }

/* suld.b or sust.b. */
static const Insn *run_elements(Warp *w, const Insn *i, bool store)
{
    TexelAccess a = access_of(w, i);
    uint32_t bytes = (uint32_t)i->imm;
    for (int l = 0; l < WARP_LANES; l++) {
        SurfacePlace p;
        if (!w->lanes[l]) continue;
        if (!texel_place(&a, l, bytes * element_count(i), false, &p)) return NULL;
        for (unsigned k = 0; k < element_count(i); k++) {
            u64 value = store ? get_element(&a, l, (int)k) : 0;
            void *at = (void *)(uintptr_t)(p.address + k * bytes);
            if (p.address && store) memcpy(at, &value, bytes);
            else if (p.address) memcpy(&value, at, bytes);
            if (!store) put_element(&a, l, (int)k, value);
        }
    }
    return i + 1;
}

static const Insn *run_sust_p(Warp *w, const Insn *i)
{
    TexelAccess a = access_of(w, i);
    for (int l = 0; l < WARP_LANES; l++) {
        SurfacePlace p;
        u32 words[4] = {0};
        if (!w->lanes[l]) continue;
        if (!find_shaped(&a, l, true) || !texel_place(&a, l, a.texture.element, true, &p)) return NULL;
        for (unsigned k = 0; k < element_count(i); k++) words[k] = (u32)get_element(&a, l, (int)k);
        if (p.address) surface_pack(&a.texture, words, (uint8_t *)(uintptr_t)p.address);
    }
    return i + 1;
}

/* --- reductions --------------------------------------------------------------------------------------- */

static u64 reduce_u64(SurfaceReduction what, u64 x, u64 b, bool is_signed)
{
    bool less = is_signed ? (s64)b < (s64)x : b < x;
    switch (what) {
    case SURFACE_MIN: return less ? b : x;
    case SURFACE_MAX: return less ? x : b;
    case SURFACE_AND: return x & b;
    case SURFACE_OR: return x | b;
    default: return x + b;
    }
}

static void reduce_32(u32 *p, SurfaceReduction what, u32 b, bool is_signed)
{
    u32 x = __atomic_load_n(p, __ATOMIC_RELAXED), next;
    do {
        u64 wide_x = is_signed ? (u64)(s32)x : x, wide_b = is_signed ? (u64)(s32)b : b;
        next = (u32)reduce_u64(what, wide_x, wide_b, is_signed);
    } while (!__atomic_compare_exchange_n(p, &x, next, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

static void reduce_64(u64 *p, SurfaceReduction what, u64 b, bool is_signed)
{
    u64 x = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &x, reduce_u64(what, x, b, is_signed), true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
    }
}

/* Whether sured.p may be used on the surface: its format must be 32-bit integers, its elements as wide as
 * the operand. False after a fault. */
static bool fits_reduction(const TexelAccess *a, int lane, uint32_t bytes)
{
    const Texture *t = &a->texture;
    if (!t->storage || ((t->format == TEXTURE_U32 || t->format == TEXTURE_S32) && t->element == bytes))
        return true;
    exec_fault(a->w, a->i, lane, CUDA_ERROR_LAUNCH_FAILED,
               "sured.p of %u bits on a surface whose elements are not integers of 32 bits that fill them",
               8 * bytes);
    return false;
}

static const Insn *run_sured(Warp *w, const Insn *i)
{
    TexelAccess a = access_of(w, i);
    const uint32_t bytes = (uint32_t)i->imm & SURFACE_BYTES;
    const bool own = i->imm & SURFACE_OWN_FORMAT;
    SurfaceReduction what = (SurfaceReduction)(i->imm >> SURFACE_REDUCTION_SHIFT);
    for (int l = 0; l < WARP_LANES; l++) {
        SurfacePlace p;
        if (!w->lanes[l]) continue;
        if (!find_shaped(&a, l, true) || (own && !fits_reduction(&a, l, bytes))) return NULL;
        if (!texel_place(&a, l, bytes, own, &p)) return NULL;
        if (!p.address) continue;
        u64 value = get_element(&a, l, 0);
        bool is_signed = own ? a.texture.format == TEXTURE_S32 : (i->imm & SURFACE_SIGNED) != 0;
        if (bytes == 8)
            reduce_64((u64 *)(uintptr_t)p.address, what, value, is_signed);
        else
            reduce_32((u32 *)(uintptr_t)p.address, what, (u32)value, is_signed);
    }
    return i + 1;
}

static const Insn *run_istypep(Warp *w, const Insn *i)
{
    const u64 *a = ROW(const u64, w, i->a);
    uint32_t word = 0;
    const char *ignored_fault;
    for (int l = 0; l < WARP_LANES; l++) {
        Texture ignored;
        if (w->lanes[l] && a[l] && look_up(w, a[l], i->imm != 0, &ignored, &ignored_fault)) word |= 1u << l;
    }
    pred_store(w, i->d, word);
    return i + 1;
}

#define TEXTURE_OP(name, call) \
    HANDLER(name, full) { return call; } \
    HANDLER(name, part) { return call; }
TEXTURE_OP(tex, run_tex(w, i, false))
TEXTURE_OP(tld4, run_tex(w, i, true))
TEXTURE_OP(txq, run_txq(w, i, false))
TEXTURE_OP(suq, run_txq(w, i, true))
TEXTURE_OP(suld, run_elements(w, i, false))
TEXTURE_OP(sust, run_elements(w, i, true))
TEXTURE_OP(sust_p, run_sust_p(w, i))
TEXTURE_OP(sured, run_sured(w, i))
TEXTURE_OP(istypep, run_istypep(w, i))
