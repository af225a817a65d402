/* Sampling: coordinates to texels and weights (fixed point), texels to numbers, weighted sums. */
#include "exec/texture/texture.h"

#include <math.h>
#include <string.h>

#include "exec/texture/cube.h"
#include "exec/texture/texel.h"

/* Positions in texels have this many bits of fraction. */
enum { COORDINATE_BITS = 24, ONE = 1 << COORDINATE_BITS, WEIGHT_ONE = 256 };

static const char *const shape_names[TEXTURE_SHAPES] = {"1d",  "2d",   "3d",    "a1d",
                                                        "a2d", "cube", "acube", "linear memory"};

const char *texture_shape_name(TextureShape shape) { return shape_names[shape]; }

static bool has_faces(unsigned shape) { return shape == TEXTURE_CUBE || shape == TEXTURE_ACUBE; }

bool texture_accepts(const Texture *texture, TextureShape shape)
{
    if (texture->shape == TEXTURE_LINEAR) return shape == TEXTURE_1D;
    return texture->shape == shape || (texture->surface && has_faces(texture->shape) && shape == TEXTURE_A2D);
}

/* --- one axis ----------------------------------------------------------------------------------------- */

/* The two texels next to a position, or OUTSIDE, and the weight of the second one in 256ths. */
typedef struct Axis {
    int64_t texel[2];
    unsigned weight;
} Axis;
#define OUTSIDE INT64_MIN

/* floor(x * ONE), saturated at the limit; NaN and subnormals count as 0. */
static int64_t fixed_coordinate(float x, float limit)
{
    if (!(x >= 0x1p-126f || x <= -0x1p-126f)) return 0;
    double scaled = (double)(x > limit ? limit : x < -limit ? -limit : x) * ONE;
    int64_t truncated = (int64_t)scaled;
    return truncated - (scaled < (double)truncated);
}

static bool is_infinite(float x) { return x - x != 0; }

/* A normalized coordinate is truncated to 21 bits of fraction, to more for axes of more than 2^14 texels. */
static int64_t truncate_coordinate(const Texture *t, int axis, int64_t at)
{
    int bits = t->size[axis] <= 16384 ? 21 : 39 - __builtin_clz(t->size[axis] - 1);
    return at & -((int64_t)1 << (COORDINATE_BITS - bits));
}

/* The position on the axis in texels, COORDINATE_BITS bits of fraction, folded into the texture by modes that
 * repeat it: those keep the fraction of x, mirroring also its parity. A cube's face has -1 to 1. The limits
 * are outside of every texture, and keep x * ONE and the position within 63 bits. */
static int64_t axis_position(const Texture *t, int axis, float x)
{
    if (has_faces(t->shape))
        return truncate_coordinate(t, axis, (fixed_coordinate(x, 1) >> 1) + ONE / 2) * t->size[axis];
    bool wrap = t->address[axis] == TEXTURE_WRAP, mirror = t->address[axis] == TEXTURE_MIRROR;
    if (!t->normalized) return fixed_coordinate(x, 0x1p32f);
    if (!wrap && !mirror) return truncate_coordinate(t, axis, fixed_coordinate(x, 0x1p20f)) * t->size[axis];
    int64_t at = is_infinite(x) ? 0 : fixed_coordinate(x, 0x1p36f);
    return truncate_coordinate(t, axis, at & ((mirror ? 2 : 1) * ONE - 1)) * t->size[axis];
}

static int64_t clamped(int64_t texel, int64_t size)
{
    return texel < 0 ? 0 : texel >= size ? size - 1 : texel;
}

/* The address mode that applies to an axis. Coordinates that are not normalized never wrap or mirror. */
static unsigned mode_of(const Texture *t, int axis)
{
    return t->normalized || t->address[axis] == TEXTURE_BORDER ? t->address[axis] : TEXTURE_CLAMP;
}

/* The texel that is read for one that may be outside, by the address mode of the axis; or OUTSIDE. */
static int64_t addressed(const Texture *t, int axis, int64_t texel)
{
    int64_t size = t->size[axis], period = 2 * size, folded = texel < 0 ? texel + period : texel % period;
    switch (mode_of(t, axis)) {
    case TEXTURE_WRAP: return texel < 0 ? texel + size : texel >= size ? texel - size : texel;
    case TEXTURE_MIRROR: return folded < size ? folded : period - 1 - folded;
    case TEXTURE_BORDER: return texel < 0 || texel >= size ? OUTSIDE : texel;
    default: return clamped(texel, size);
    }
}

/* The two texels around a position, for the linear filter. Texel centers are at halves; the weight is rounded
 * to the nearest 256th. */
static Axis axis_pair(const Texture *t, int axis, float x)
{
    int64_t shift = COORDINATE_BITS - 8, position = axis_position(t, axis, x);
    int64_t at = (position - ONE / 2 + ((int64_t)1 << (shift - 1))) >> shift;
    int64_t texel = at >> 8;
    Axis pair = {{addressed(t, axis, texel), addressed(t, axis, texel + 1)}, (unsigned)(at & 255)};
    if (pair.texel[0] == pair.texel[1] && mode_of(t, axis) == TEXTURE_CLAMP) pair.weight = 0;
    return pair;
}

static Axis axis_nearest(const Texture *t, int axis, float x)
{
    int64_t texel = addressed(t, axis, axis_position(t, axis, x) >> COORDINATE_BITS);
    return (Axis){{texel, texel}, 0};
}

/* An integer coordinate. Texels outside are zero in every address mode. */
static Axis axis_integer(const Texture *t, int axis, int32_t x)
{
    int64_t texel = x < 0 || (uint32_t)x >= t->size[axis] ? OUTSIDE : x;
    return (Axis){{texel, texel}, 0};
}

/* --- all axes ----------------------------------------------------------------------------------------- */

static float as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static unsigned axis_count(unsigned shape)
{
    return shape == TEXTURE_3D                                                      ? 3
           : shape == TEXTURE_1D || shape == TEXTURE_A1D || shape == TEXTURE_LINEAR ? 1
                                                                                    : 2;
}

/* Where a sample reads: two texels on each axis. The weight of a missing axis is 0. */
typedef struct Footprint {
    Axis axis[3];
    bool integers; /* from integer coordinates */
} Footprint;

/* The layer (of cubes: which cube) of an index, clamped to those that exist; with integer coordinates an
 * index beyond them is OUTSIDE. */
static int64_t layer_of(const Texture *t, uint32_t index, bool integers)
{
    int64_t layers = has_faces(t->shape) ? t->size[2] / 6 : t->size[2];
    if (integers && index >= layers) return OUTSIDE;
    return index < layers ? index : layers - 1;
}

/* Where an instruction's coordinates read. linear: two texels on each axis, else the nearest one. */
static Footprint footprint(const Texture *t, const uint32_t coordinates[4], bool integers, bool linear)
{
    Footprint f = {.integers = integers};
    unsigned count = axis_count(t->shape);
    bool layered = t->shape == TEXTURE_A1D || t->shape == TEXTURE_A2D || t->shape == TEXTURE_ACUBE;
    const uint32_t *at = coordinates + layered;
    int64_t layer = layered ? layer_of(t, coordinates[0], integers && !has_faces(t->shape)) : 0;
    float position[3];
    for (unsigned k = 0; k < count; k++) position[k] = as_float(at[k]);
    if (has_faces(t->shape)) {
        CubePoint p = cube_point(at);
        position[0] = p.s;
        position[1] = p.t;
        layer = layer * 6 + p.face; /* never by an integer */
    }
    for (unsigned k = 0; k < count; k++)
        f.axis[k] = integers ? axis_integer(t, (int)k, (int32_t)at[k])
                    : linear ? axis_pair(t, (int)k, position[k])
                             : axis_nearest(t, (int)k, position[k]);
    if (t->shape == TEXTURE_1D && linear && t->address[1] == TEXTURE_BORDER)
        f.axis[1] = (Axis){{OUTSIDE, 0}, 128};
    if (count < 3) f.axis[2] = (Axis){{layer, layer}, 0};
    return f;
}

/* The texel at a corner of the footprint: bit k of `corner` chooses the side on axis k. Outside it is the
 * border color, or 0 for integer coordinates. */
static Texel texel_at(const Texture *t, const Footprint *f, unsigned corner)
{
    int64_t x = f->axis[0].texel[corner & 1], y = f->axis[1].texel[corner >> 1 & 1],
            z = f->axis[2].texel[corner >> 2];
    if (x == OUTSIDE || y == OUTSIDE || z == OUTSIDE) return f->integers ? (Texel){{0}} : texel_border(t);
    return texel_read(t,
                      t->storage + (uint64_t)z * t->slice + (uint64_t)y * t->row + (uint64_t)x * t->element);
}

/* The weights of the eight corners, in 256ths; their sum is `share`, the level's part of the sample. The
 * share is split by the third axis, then by the first, then by the second. Each time the second side is
 * rounded to nearest: ties go up on the first axis and down on the third; on the second axis they go up
 * in the right column and down in the left. */
static void corner_weights(const Footprint *f, unsigned share, unsigned weights[8])
{
    unsigned a = f->axis[0].weight, b = f->axis[1].weight, c = f->axis[2].weight;
    unsigned behind = (share * c + 127) >> 8;
    for (unsigned z = 0; z < 2; z++) {
        unsigned slice = z ? behind : share - behind, right = (slice * a + 128) >> 8, left = slice - right;
        unsigned upper_right = (right * b + 128) >> 8, upper_left = (left * b + 127) >> 8;
        weights[4 * z + 3] = upper_right;
        weights[4 * z + 1] = right - upper_right;
        weights[4 * z + 2] = upper_left;
        weights[4 * z] = left - upper_left;
    }
}

/* Adds the eight texels of a level (two groups) to the sum. */
static void add_level(TexelSum *sum, const Texture *level, const uint32_t coordinates[4], unsigned share)
{
    Footprint f = footprint(level, coordinates, false, level->linear);
    unsigned at = sum->groups * TEXEL_GROUP;
    unsigned sides = (f.axis[0].weight != 0) | (f.axis[1].weight != 0) << 1 | (f.axis[2].weight != 0) << 2;
    corner_weights(&f, share, sum->weights + at);
    for (unsigned k = 0; k < 8; k++) {
        bool exists = !(k & ~sides);
        sum->texels[at + k] = exists ? texel_at(level, &f, k) : (Texel){{0}};
        sum->used |= (unsigned)exists << (at + k);
    }
    sum->groups += 2;
}

static void sample_texel(const Texture *level, const uint32_t coordinates[4], bool integers, uint32_t out[4])
{
    Footprint f = footprint(level, coordinates, integers, false);
    texel_result(level, texel_at(level, &f, 0), out);
}

static void sample_levels(const Texture *t, const uint32_t coordinates[4], unsigned level, unsigned fraction,
                          uint32_t out[4])
{
    TexelSum sum;
    Texture one = texture_level(t, level), next;
    bool filters = texel_filters(t);
    if (!filters || (!t->linear && !t->between)) {
        sample_texel(&one, coordinates, false, out);
        return;
    }
    sum.used = sum.groups = 0;
    add_level(&sum, &one, coordinates, LEVEL_ONE - fraction);
    if (fraction) {
        next = texture_level(t, level + 1);
        add_level(&sum, &next, coordinates, fraction);
    }
    texel_blend(t, &sum, out);
}

/* Integer coordinates are outside if they are outside the first level. Those only outside a smaller level are
 * clamped to it. */
static void sample_integers(const Texture *t, const uint32_t coordinates[4], unsigned level, uint32_t out[4])
{
    Texture one = texture_level(t, level);
    uint32_t at[4] = {coordinates[0], coordinates[1], coordinates[2], coordinates[3]};
    uint32_t *axis = at + (t->shape == TEXTURE_A1D || t->shape == TEXTURE_A2D);
    for (unsigned k = 0; k < axis_count(t->shape); k++)
        if (axis[k] < t->size[k] && axis[k] >= one.size[k]) axis[k] = one.size[k] - 1;
    sample_texel(&one, at, true, out);
}

void texture_sample(const Texture *t, const uint32_t coordinates[4], bool integers, int32_t level,
                    uint32_t out[4])
{
    if (!integers) {
        int32_t at = t->between ? level : level + LEVEL_ONE / 2;
        sample_levels(t, coordinates, (unsigned)at / LEVEL_ONE, t->between ? (unsigned)at % LEVEL_ONE : 0,
                      out);
    } else if (level >= 0 && level < t->levels)
        sample_integers(t, coordinates, (unsigned)level, out);
    else
        memset(out, 0, 16);
}

void texture_gather(const Texture *t, const uint32_t coordinates[4], unsigned channel, uint32_t out[4])
{
    static const unsigned corners[4] = {2, 3, 1, 0};
    Footprint f = footprint(t, coordinates, false, true);
    for (unsigned k = 0; k < 4; k++) {
        uint32_t words[4];
        texel_result(t, texel_at(t, &f, corners[k]), words);
        out[k] = words[channel];
    }
}

/* --- surfaces ----------------------------------------------------------------------------------------- */

SurfacePlace surface_place(const Texture *s, const uint32_t coordinates[4], uint32_t bytes, bool scaled,
                           bool clamp)
{
    bool layered = s->shape == TEXTURE_A1D || s->shape == TEXTURE_A2D || has_faces(s->shape);
    const uint32_t *at = coordinates + layered;
    unsigned count = axis_count(s->shape);
    int64_t position[3] = {0}, unit = scaled ? s->element : 1,
            last = (int64_t)s->size[0] * s->element - bytes;
    for (unsigned k = 0; k < count; k++) position[k] = (int32_t)at[k];
    if (layered) position[2] = (int32_t)coordinates[0];
    position[0] *= unit;
    bool outside = position[0] < 0 || position[0] > last;
    for (int k = 1; k < 3; k++) outside |= position[k] < 0 || position[k] >= s->size[k];
    if (outside && (!clamp || last < 0)) return (SurfacePlace){0, true};
    position[0] = position[0] < 0 ? 0 : position[0] > last ? last : position[0];
    for (int k = 1; k < 3; k++) position[k] = clamped(position[k], s->size[k]);
    return (SurfacePlace){s->storage + (uint64_t)position[2] * s->slice + (uint64_t)position[1] * s->row
                              + (uint64_t)position[0],
                          outside};
}

/* --- queries ------------------------------------------------------------------------------------------ */

/* The layers of an array stand for the axis after its last one, too, and linear memory has the height 0. */
uint32_t texture_query(const Texture *texture, TextureQuery query, uint32_t level)
{
    if (level >= texture->levels) return 0;
    const Texture one = texture_level(texture, level), *t = &one;
    bool memory = t->shape == TEXTURE_LINEAR;
    unsigned count = axis_count(t->shape);
    uint32_t layers = t->shape == TEXTURE_ACUBE                            ? t->size[2] / 6
                      : t->shape == TEXTURE_A1D || t->shape == TEXTURE_A2D ? t->size[2]
                                                                           : 0;
    static const uint32_t modes[] = {/* the numbers of the query's answers */
                                     [TEXTURE_WRAP] = 0,
                                     [TEXTURE_MIRROR] = 1,
                                     [TEXTURE_CLAMP] = 3,
                                     [TEXTURE_BORDER] = 4};
    switch (query) {
    case QUERY_WIDTH: return t->size[0];
    case QUERY_HEIGHT: return memory ? 0 : t->shape == TEXTURE_A1D ? layers : t->size[1];
    case QUERY_DEPTH: return count == 3 ? t->size[2] : t->shape == TEXTURE_A1D ? 0 : layers;
    case QUERY_ARRAY_SIZE: return layers;
    case QUERY_CHANNEL_DATA_TYPE: return t->format;
    case QUERY_CHANNEL_ORDER: return t->channels;
    case QUERY_NORMALIZED_COORDS: return t->normalized;
    case QUERY_FILTER_MODE: return t->linear;
    case QUERY_ADDR_MODE_0: return modes[t->address[0]];
    case QUERY_ADDR_MODE_1: return modes[t->address[1]];
    case QUERY_ADDR_MODE_2: return modes[t->address[2]];
    case QUERY_NUM_MIPMAP_LEVELS: return t->levels;
    default: return 1;
    }
}
