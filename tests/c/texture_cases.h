/* Every way to read and write textures and surfaces, as one list of cases made by loops, the same on every
 * run.
 *
 * A case is an instruction, a texture or surface to use it on, and TEXTURE_SAMPLES sets of operands. Texels
 * and operands come from a fixed generator: coordinates mix special values, points near the borders of
 * texels, and any numbers inside and outside. */
#ifndef TESTS_TEXTURE_CASES_H
#define TESTS_TEXTURE_CASES_H

#include "abi/cuda_abi.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Sets of operands of a case; cases at most; bytes of a case's results. */
enum { TEXTURE_SAMPLES = 1024, TEXTURE_MAX = 800, TEXTURE_BYTES = TEXTURE_SAMPLES * 16 };
/* The driver's numbers: CUfilter_mode, CUaddress_mode, flags of references, CUarray_format. */
enum { POINT = 0, LINEAR = 1, WRAP = 0, CLAMP = 1, MIRROR = 2, BORDER = 3 };
enum { INTEGER = CU_TRSF_READ_AS_INTEGER, NORMALIZED = CU_TRSF_NORMALIZED_COORDINATES };
enum { U8 = 1, U16 = 2, U32 = 3, S8 = 8, S16 = 9, S32 = 10, F16 = 16, F32 = 32 };

/* Where the texels are: in linear memory, pitched memory, or an array; A: with layers. */
typedef enum Geometry {
    G_LINEAR,
    G_PITCH,
    G_1D,
    G_2D,
    G_3D,
    G_A1D,
    G_A2D,
    G_CUBE,
    G_ACUBE,
    G_COUNT
} Geometry;
static const char *const geometry_names[G_COUNT] = {"linear", "pitch", "1d", "2d",   "3d",
                                                    "a1d",    "a2d",   "",   "acube"};

enum { SPREAD_NAN = 200 };

typedef struct TextureCase {
    char op[48]; /* "tex.2d.v4.f32.f32" */
    Geometry geometry;
    unsigned format, channels, filter, flags;
    unsigned address[3];
    unsigned spread; /* by how much exponents of floats differ; 0: fractions only; SPREAD_NAN: with NaN */
    unsigned size[3]; /* width, height, depth or layers (of a cube: faces) */
} TextureCase;

static TextureCase texture_cases[TEXTURE_MAX];
static unsigned texture_case_count;

/* Sizes of each geometry: two each, one of them all powers of two. */
static const unsigned texture_sizes[G_COUNT][2][3] = {
    [G_LINEAR] = {{37, 0, 0}, {64, 0, 0}},  [G_PITCH] = {{13, 9, 0}, {32, 8, 0}},
    [G_1D] = {{37, 0, 0}, {64, 0, 0}},      [G_2D] = {{13, 9, 0}, {16, 8, 0}},
    [G_3D] = {{7, 5, 6}, {8, 4, 16}},       [G_A1D] = {{37, 0, 3}, {32, 0, 4}},
    [G_A2D] = {{13, 9, 3}, {16, 8, 4}},     [G_CUBE] = {{12, 12, 6}, {16, 16, 6}},
    [G_ACUBE] = {{12, 12, 12}, {8, 8, 18}},
};

/* Adds a case; variant: which of the two sizes. */
static inline TextureCase *texture_add(const char *op, Geometry geometry, int variant, unsigned format,
                                       unsigned channels, unsigned address, unsigned filter, unsigned flags)
{
    TextureCase *c = &texture_cases[texture_case_count];
    if (texture_case_count + 1 < TEXTURE_MAX) texture_case_count++;
    *c = (TextureCase){.geometry = geometry,
                       .format = format,
                       .channels = channels,
                       .filter = filter,
                       .flags = flags,
                       .address = {address, address, address}};
    memcpy(c->size, texture_sizes[geometry][variant], sizeof c->size);
    snprintf(c->op, sizeof c->op, "%s", op);
    return c;
}

/* The name of the geometry in an instruction. */
static const char *texture_dim(Geometry geometry)
{
    return geometry == G_LINEAR  ? "1d"
           : geometry == G_PITCH ? "2d"
           : geometry == G_CUBE  ? "cube"
                                 : geometry_names[geometry];
}

static inline void texture_add_filters(void)
{
    static const unsigned channels[G_COUNT] = {1, 2, 1, 4, 1, 2, 1, 1, 1};
    char op[48];
    for (Geometry g = G_PITCH; g <= G_A2D; g++)
        for (unsigned k = 0; k < 32; k++) {
            snprintf(op, sizeof op, "tex.%s.v4.f32.f32", texture_dim(g));
            texture_add(op, g, k & 1, F32, channels[g], k >> 1 & 3, k >> 3 & 1, k & 16 ? NORMALIZED : 0);
        }
    TextureCase *c = texture_add("tex.3d.v4.f32.f32", G_3D, 0, F32, 1, WRAP, LINEAR, NORMALIZED);
    c->address[1] = BORDER;
    c->address[2] = MIRROR;
}

static const unsigned texture_formats[8] = {U8, U16, U32, S8, S16, S32, F16, F32};

static inline void texture_add_formats(void)
{
    for (unsigned k = 0; k < 24; k++) {
        unsigned format = texture_formats[k / 3], channels = 1u << k % 3;
        const char *natural = format >= F16 ? "f32" : format >= S8 ? "s32" : "u32";
        char op[48];
        snprintf(op, sizeof op, "tex.2d.v4.%s.f32", natural);
        if (format < F16) {
            texture_add(op, G_2D, 1, format, channels, CLAMP, POINT, NORMALIZED | INTEGER);
            texture_add(op, G_2D, 1, format, channels, BORDER, POINT, NORMALIZED | INTEGER);
        }
        if (format == U32 || format == S32) continue;
        texture_add("tex.2d.v4.f32.f32", G_2D, 1, format, channels, CLAMP, POINT, NORMALIZED);
        texture_add("tex.2d.v4.f32.f32", G_2D, 1, format, channels, CLAMP, LINEAR, NORMALIZED);
        if (channels == 4) texture_add("tex.2d.v4.f32.f32", G_2D, 1, format, 4, BORDER, LINEAR, NORMALIZED);
        if (channels == 1) texture_add("tex.1d.v4.f32.f32", G_1D, 0, format, 1, CLAMP, LINEAR, 0);
        if (channels == 1) texture_add("tex.3d.v4.f32.f32", G_3D, 0, format, 1, CLAMP, LINEAR, 0);
    }
    texture_add("tex.2d.v4.f32.f32", G_2D, 1, U8, 4, CLAMP, POINT, NORMALIZED | CU_TRSF_SRGB);
    texture_add("tex.2d.v4.s32.f32", G_2D, 1, F32, 2, CLAMP, POINT, NORMALIZED);
    texture_add("tex.2d.v4.u32.f32", G_2D, 1, U8, 2, CLAMP, LINEAR, NORMALIZED);
    texture_add("tex.2d.v4.f32.f32", G_2D, 1, S32, 2, CLAMP, POINT, NORMALIZED | INTEGER);
    texture_add("tex.2d.v4.f32.f32", G_2D, 1, S8, 1, CLAMP, POINT, NORMALIZED | INTEGER);
    texture_add("tex.2d.v4.s32.f32", G_2D, 1, U16, 1, CLAMP, POINT, NORMALIZED | INTEGER);
    texture_add("tex.2d.v4.u32.f32", G_2D, 1, S8, 1, CLAMP, POINT, NORMALIZED | INTEGER);
}

static inline void texture_add_integer_coordinates(void)
{
    char op[48];
    for (unsigned k = 0; k < 24; k++) {
        unsigned format = texture_formats[k / 3], channels = 1u << k % 3;
        const char *natural = format >= F16 ? "f32" : format >= S8 ? "s32" : "u32";
        snprintf(op, sizeof op, "tex.1d.v4.%s.s32", natural);
        texture_add(op, G_LINEAR, 0, format, channels, CLAMP, POINT, format >= F16 ? 0 : INTEGER);
        if (format == U32 || format == S32 || format >= F16) continue;
        texture_add("tex.1d.v4.f32.s32", G_LINEAR, 0, format, channels, CLAMP, POINT, 0);
    }
    for (Geometry g = G_PITCH; g <= G_A2D; g++) {
        if (g == G_1D) continue;
        snprintf(op, sizeof op, "tex.%s.v4.f32.s32", texture_dim(g));
        texture_add(op, g, 0, F32, 1, CLAMP, POINT, 0);
        texture_add(op, g, 0, F32, 1, BORDER, POINT, 0);
    }
}

static inline void texture_add_cubes(void)
{
    for (unsigned k = 0; k < 16; k++) {
        bool layered = k & 1;
        texture_add(layered ? "tex.acube.v4.f32.f32" : "tex.cube.v4.f32.f32", layered ? G_ACUBE : G_CUBE,
                    k >> 1 & 1, F32, 1, k & 4 ? WRAP : CLAMP, k & 8 ? LINEAR : POINT, NORMALIZED);
    }
    texture_add("tex.cube.v4.u32.f32", G_CUBE, 1, U8, 4, CLAMP, POINT, NORMALIZED | INTEGER);
    texture_add("tex.acube.v4.s32.f32", G_ACUBE, 0, S16, 2, CLAMP, POINT, NORMALIZED | INTEGER);
}

static inline void texture_add_levels(void)
{
    static const char *const modifiers[] = {"level", "grad"};
    char op[48];
    for (unsigned k = 0; k < 14; k++) {
        Geometry g = (Geometry)(G_1D + k / 2);
        if (g >= G_CUBE && k % 2) continue;
        snprintf(op, sizeof op, "tex.%s.%s.v4.f32.f32", modifiers[k % 2], texture_dim(g));
        texture_add(op, g, 0, F32, 1, g >= G_CUBE ? CLAMP : WRAP, LINEAR, NORMALIZED);
    }
}

static inline void texture_add_gathers(void)
{
    static const char channels[] = "rgba";
    char op[48];
    for (unsigned k = 0; k < 16; k++) {
        snprintf(op, sizeof op, "tld4.%c.2d.v4.f32.f32", channels[k & 3]);
        texture_add(op, G_2D, 0, F32, k & 8 ? 2 : 4, k >> 2 & 3, k & 4 ? LINEAR : POINT, NORMALIZED);
    }
    for (unsigned address = 0; address < 4; address++)
        texture_add("tld4.g.2d.v4.f32.f32", G_2D, 1, F32, 4, address, LINEAR, 0);
    texture_add("tld4.r.2d.v4.u32.f32", G_2D, 0, U8, 4, CLAMP, POINT, NORMALIZED | INTEGER);
    texture_add("tld4.b.2d.v4.s32.f32", G_2D, 0, S16, 4, BORDER, POINT, NORMALIZED | INTEGER);
    texture_add("tld4.g.2d.v4.f32.f32", G_2D, 0, S16, 2, BORDER, LINEAR, NORMALIZED);
}

/* Types of accesses to surfaces, and the format and channels of a surface for each. */
static const struct {
    const char *type;
    unsigned format, channels;
} surface_accesses[] = {
    {"b8", U8, 1},      {"b16", S16, 1},    {"b32", F32, 1},    {"b64", F32, 2},
    {"v2.b8", S8, 2},   {"v4.b8", U8, 4},   {"v2.b16", F16, 2}, {"v4.b16", U16, 4},
    {"v2.b32", S32, 2}, {"v4.b32", F32, 4}, {"v2.b64", U32, 4}, {"b32", U8, 4},
};
enum { SURFACE_ACCESSES = sizeof surface_accesses / sizeof *surface_accesses };

static inline void texture_add_surfaces(void)
{
    static const char *const bounds[] = {"trap", "clamp", "zero"};
    char op[48];
    for (Geometry g = G_1D; g <= G_A2D; g++)
        for (unsigned k = 0; k < 2 * SURFACE_ACCESSES; k++) {
            unsigned a = k / 2, bound = k % 2 ? 2 : a == 2 ? 0 : 1;
            if (g != G_2D && k % 2 && a > 4) continue;
            snprintf(op, sizeof op, "suld.b.%s.%s.%s", texture_dim(g), surface_accesses[a].type,
                     bounds[bound]);
            texture_add(op, g, 0, surface_accesses[a].format, surface_accesses[a].channels, 0, 0, 0);
            memcpy(op, "sust", 4);
            texture_add(op, g, 0, surface_accesses[a].format, surface_accesses[a].channels, 0, 0, 0);
        }
    texture_add("suld.b.1d.b8.zero", G_1D, 0, F32, 1, 0, 0, 0);
    texture_add("suld.b.2d.b16.clamp", G_2D, 0, U8, 4, 0, 0, 0);
    texture_add("sust.b.2d.b8.zero", G_2D, 0, F32, 1, 0, 0, 0);
    for (unsigned k = 0; k < 16; k++) {
        static const char *const vectors[] = {"", "", "v2.", "", "v4."};
        unsigned channels = k & 8 ? 4 : 1;
        snprintf(op, sizeof op, "sust.p.2d.%sb32.zero", vectors[channels]);
        texture_add(op, G_2D, 0, texture_formats[k & 7], channels, 0, 0, 0);
    }
}

static inline void texture_add_queries(void)
{
    static const char *const queries[] = {"width", "height", "depth"};
    char op[48];
    for (unsigned k = 0; k < 3; k++) {
        snprintf(op, sizeof op, "txq.%s.b32", queries[k]);
        for (Geometry g = G_LINEAR; g < G_COUNT; g++)
            texture_add(op, g, 0, F32, 4, CLAMP, POINT, g == G_LINEAR ? 0 : NORMALIZED);
        snprintf(op, sizeof op, "suq.%s.b32", queries[k]);
        texture_add(op, k == 2 ? G_3D : G_2D, 0, F32, 2, 0, 0, 0);
    }
}

/* Floats of many magnitudes, wide textures, all bytes of sRGB. */
static inline void texture_add_extremes(void)
{
    static const unsigned spreads[] = {4, 12, 40, SPREAD_NAN}, widths[] = {257, 1000, 30000};
    for (unsigned k = 0; k < 12; k++) {
        Geometry g = k / 4 == 0 ? G_1D : k / 4 == 1 ? G_2D : G_3D;
        char op[48];
        snprintf(op, sizeof op, "tex.%s.v4.f32.f32", texture_dim(g));
        texture_add(op, g, 1, F32, 1, CLAMP, LINEAR, 0)->spread = spreads[k & 3];
    }
    for (unsigned k = 0; k < 12; k++) {
        bool linear = k & 1, wrap = k & 2;
        TextureCase *c =
            texture_add(linear ? "tex.1d.v4.f32.f32" : "tex.1d.v4.u32.f32", G_1D, 0, U16, 1,
                        wrap ? WRAP : CLAMP, linear ? LINEAR : POINT, NORMALIZED | (linear ? 0 : INTEGER));
        c->size[0] = widths[k / 4];
    }
    TextureCase *c =
        texture_add("tex.2d.v4.f32.f32", G_2D, 0, U8, 4, CLAMP, POINT, NORMALIZED | CU_TRSF_SRGB);
    c->size[0] = 64;
    c->size[1] = 16;
}

static inline void texture_make_cases(void)
{
    texture_case_count = 0;
    texture_add_filters();
    texture_add_formats();
    texture_add_integer_coordinates();
    texture_add_cubes();
    texture_add_levels();
    texture_add_gathers();
    texture_add_surfaces();
    texture_add_queries();
    texture_add_extremes();
}

/* --- texels and operands -------------------------------------------------------------------------------- */

static inline uint32_t texture_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) ^ (uint32_t)(*state >> 50);
}

static inline unsigned texture_format_bytes(unsigned format)
{
    return format == U8 || format == S8 ? 1 : format == U16 || format == S16 || format == F16 ? 2 : 4;
}

static inline unsigned texture_element_bytes(const TextureCase *c)
{
    return texture_format_bytes(c->format) * c->channels;
}

static inline unsigned texture_axis(const TextureCase *c, int axis)
{
    return c->size[axis] ? c->size[axis] : 1;
}

static inline size_t texture_data_bytes(const TextureCase *c)
{
    return (size_t)texture_axis(c, 0) * texture_axis(c, 1) * texture_axis(c, 2) * texture_element_bytes(c);
}

/* Whether results may differ from the GPU's by a rounding: blends of two slices of floats of many
 * magnitudes. */
static inline bool texture_is_close(const TextureCase *c)
{
    return c->filter == LINEAR && c->spread && c->geometry == G_3D;
}

static inline uint64_t texture_hash(const void *data, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const uint8_t *p = data; size--; p++) hash = (hash ^ *p) * 0x100000001b3u;
    return hash;
}

/* Floats are fractions of 24 bits, halves finite numbers below 4, integers any bits. */
static inline void texture_fill(const TextureCase *c, uint8_t *data)
{
    uint64_t state = 12345 + c->format * 77 + c->channels;
    size_t count = texture_data_bytes(c) / texture_format_bytes(c->format);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = texture_random(&state);
        if (c->format == F16) bits = (bits & 0x83ff) | (bits >> 16 & 15) << 10;
        if (c->format == F32) {
            float value = (float)(bits & 0xffffff) * 0x1p-23f - 1;
            if (c->spread)
                value =
                    ldexpf(value, (int)(texture_random(&state) % (c->spread < SPREAD_NAN ? c->spread : 30)));
            memcpy(&bits, &value, 4);
            if (c->spread == SPREAD_NAN && i % 9 == 4)
                bits = 0x7f800000u | (i % 2) << 31 | (i % 27 == 13 ? 0x400123 : 0);
        }
        memcpy(data + i * texture_format_bytes(c->format), &bits, texture_format_bytes(c->format));
    }
}

static inline uint32_t texture_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

/* A coordinate in texels, of sample k: special values first, then multiples of 1/2048 in and around the
 * texture, any inside it, any up to twice its size away. */
static inline float texture_float(unsigned k, unsigned axis, float size, uint64_t *state)
{
    const float special[] = {0,
                             -0.0f,
                             NAN,
                             INFINITY,
                             -INFINITY,
                             1e30f,
                             -1e30f,
                             1e-40f,
                             -1e-40f,
                             0.5f,
                             0.49999997f,
                             0.50000006f,
                             0.5f - 0x1p-9f,
                             0.5f + 0x1p-9f,
                             0.5f + 3 * 0x1p-9f,
                             1,
                             0.99999994f,
                             1 - 0x1p-9f,
                             1 - 0x1p-10f,
                             1 - 0x1p-8f,
                             size,
                             size - 0.5f,
                             size * 0.99999994f,
                             size + 0.5f,
                             -0.5f,
                             -1,
                             -0x1p-9f,
                             -0x1p-8f,
                             0x1p23f,
                             0x1p24f + 2,
                             -size,
                             2 * size,
                             3 * size,
                             2 * size + 0.25f,
                             1e6f + 0.5f,
                             0x1p31f,
                             -0x1p31f,
                             65536.5f,
                             -size - 0.25f,
                             2 * size - 0.5f,
                             2 * size + 0.5f,
                             -1.5f,
                             -2 * size - 0.75f,
                             size / 2};
    enum { SPECIALS = sizeof special / sizeof *special };
    uint32_t r = texture_random(state);
    if (k < 128) return special[(k * (2 * axis + 1) + (k / SPECIALS) * axis * 7) % SPECIALS];
    float texel = (float)(int)(r % ((unsigned)size + 8)) - 4, fraction = (float)(r >> 16 & 2047) / 2048;
    if (k < 640) return texel + fraction;
    float unit = (float)(texture_random(state) & 0xffffff) * 0x1p-24f;
    return k < 896 ? unit * size : (unit * 5 - 2) * size;
}

/* An integer coordinate of sample k: special values first, then any inside and just outside. */
static inline int texture_int(unsigned k, unsigned axis, unsigned size, uint64_t *state)
{
    const int special[] = {0,         -1,        1,  (int)size - 1, (int)size, (int)size + 1,
                           INT32_MAX, INT32_MIN, -5, 65536,         100,       2};
    uint32_t r = texture_random(state);
    if (k < 64) return special[(k * (2 * axis + 1) + k / 12 * axis) % 12];
    return (int)(r % (size + 8)) - (k < 512 ? 4 : 0);
}

/* A component of a direction into a cube, of sample k: special values, multiples of 1/16, any. */
static inline float texture_direction(unsigned k, unsigned axis, uint64_t *state)
{
    static const float special[] = {0, 1, -1, 0.5f, -0.5f, -0.0f, 1e-40f, 1e30f, INFINITY, -INFINITY, NAN, 2};
    uint32_t r = texture_random(state);
    if (k < 256) return special[(axis == 0 ? k : axis == 1 ? k / 12 : k / 3) % 12];
    float unit = (float)(r & 0xffffff) * 0x1p-23f - 1;
    return k < 512 ? (float)((int)(r % 33) - 16) / 16 : unit;
}

static inline bool texture_is(const TextureCase *c, const char *opcode)
{
    return !strncmp(c->op, opcode, strlen(opcode));
}

/* The operands of a texture instruction for sample k, the layer first. */
static inline void texture_operands(const TextureCase *c, unsigned k, uint32_t out[4], uint64_t *state)
{
    bool layered = c->geometry == G_A1D || c->geometry == G_A2D || c->geometry == G_ACUBE;
    bool cube = c->geometry == G_CUBE || c->geometry == G_ACUBE;
    bool integer = !strcmp(c->op + strlen(c->op) - 4, ".s32");
    unsigned axes = cube || c->geometry == G_3D ? 3 : texture_dim(c->geometry)[layered] == '2' ? 2 : 1, n = 0;
    if (layered) {
        unsigned layers = cube ? c->size[2] / 6 : c->size[2];
        out[n++] = (uint32_t)((int)(texture_random(state) % (layers + 4)) - 2);
        if (k % 128 == 5) out[0] = k & 128 ? 0x80000000u : 0x7fffffff;
    }
    for (unsigned axis = 0; axis < axes; axis++) {
        float size = (float)c->size[axis];
        if (cube)
            out[n++] = texture_bits(texture_direction(k, axis, state));
        else if (integer)
            out[n++] = (uint32_t)texture_int(k, axis, c->size[axis], state);
        else {
            float x = texture_float(k, axis, size, state);
            out[n++] = texture_bits(c->flags & NORMALIZED ? x / size : x);
        }
    }
}

/* The operands of a surface instruction: x counts bytes, in sust.p elements. A place is stored to once, or,
 * where coordinates are clamped to it, with the same value each time. */
static inline void surface_operands(const TextureCase *c, unsigned k, uint32_t out[8], uint64_t *state)
{
    bool layered = c->geometry == G_A1D || c->geometry == G_A2D, store = texture_is(c, "sust");
    bool inside = strstr(c->op, ".trap") != NULL, formatted = strstr(c->op, ".p.") != NULL;
    unsigned axes = c->geometry == G_3D                        ? 3
                    : texture_dim(c->geometry)[layered] == '2' ? 2
                                                               : 1,
             n = layered, where = k;
    unsigned step = strstr(c->op, ".b8") ? 1 : strstr(c->op, ".b16") ? 2 : strstr(c->op, ".b32") ? 4 : 8;
    if (strstr(c->op, ".v2")) step *= 2;
    if (strstr(c->op, ".v4")) step *= 4;
    uint32_t value = 99;
    unsigned bytes = texture_element_bytes(c), place[3] = {0};
    for (unsigned axis = 0; axis < axes + layered; axis++) {
        unsigned size = axis == axes ? c->size[2] : axis ? c->size[axis] : c->size[0] * bytes / step;
        if (formatted && !axis) size = c->size[0];
        int at = texture_int(k, axis, size, state);
        if (store) at = (int)(where % (size + 4)) - 2;
        where /= size + 4;
        if (at > 1 << 26) at = 1 << 26;
        if (at < -(1 << 26)) at = -(1 << 26);
        if (inside || axis == axes) at = (int)((unsigned)at % size);
        int held = at < 0 ? 0 : at >= (int)size ? (int)size - 1 : at;
        value = (value ^ (uint32_t)held) * 0x9e3779b1u;
        place[axis] = (uint32_t)at * (axis || formatted ? 1 : step);
    }
    if (layered) out[0] = place[axes];
    for (unsigned axis = 0; axis < axes; axis++) out[n++] = place[axis];
    uint64_t bits = value;
    for (int v = 0; v < 4; v++) {
        out[4 + v] = texture_random(&bits) * 2 + 1;
        if (formatted && c->format >= F16 && v < 4) {
            float number = (float)(int32_t)out[4 + v] * 0x1p-29f;
            memcpy(&out[4 + v], &number, 4);
        }
    }
}

/* Eight words for each sample: coordinates and, for stores, values. */
static inline void texture_inputs(const TextureCase *c, uint32_t *words)
{
    uint64_t state = 4242 + (uint64_t)c->geometry * 1000;
    memset(words, 0, TEXTURE_SAMPLES * 32);
    for (unsigned k = 0; k < TEXTURE_SAMPLES; k++, words += 8)
        if (texture_is(c, "su"))
            surface_operands(c, k, words, &state);
        else
            texture_operands(c, k, words, &state);
}

#endif
