/* Levels of detail, in 256ths of a level. The level that an instruction asks for is biased, clamped to
 * the sampler's bounds, then clamped to the texture's levels. */
#include <math.h>

#include "exec/texture/texture.h"

enum {
    LEVEL_ALIGNMENT = 512, /* bytes, as of textures in linear memory */
    DETAIL_LIMIT = 1 << 12, /* levels: more than any texture has; in 256ths, with a bias, it fits 32 bits */
    BIAS_LIMIT = 16, /* levels to which a bias is clamped */
};

static uint32_t halved(uint32_t size) { return size > 1 ? size / 2 : 1; }

uint64_t texture_level_bytes(uint64_t slice, uint64_t layers)
{
    return (slice * layers + LEVEL_ALIGNMENT - 1) & ~(uint64_t)(LEVEL_ALIGNMENT - 1);
}

Texture texture_level(const Texture *t, unsigned level)
{
    Texture one = *t;
    for (unsigned k = 0; k < level; k++) {
        one.storage += texture_level_bytes(one.slice, one.size[2]);
        one.size[0] = halved(one.size[0]);
        one.size[1] = halved(one.size[1]);
        if (t->shape == TEXTURE_3D) one.size[2] = halved(one.size[2]);
        one.row = (uint64_t)one.size[0] * one.element;
        one.slice = one.row * one.size[1];
    }
    return one;
}

static int32_t clamp_between(int32_t x, int32_t min, int32_t max)
{
    int32_t up = x < min ? min : x;
    return up > max ? max : up;
}

int32_t texture_fixed_detail(float detail)
{
    if (detail != detail) return 0;
    double held = detail < -DETAIL_LIMIT ? -DETAIL_LIMIT : detail > DETAIL_LIMIT ? DETAIL_LIMIT : detail;
    return (int32_t)trunc(held * LEVEL_ONE);
}

int32_t texture_fixed_bias(float bias)
{
    return clamp_between(texture_fixed_detail(bias), -BIAS_LIMIT * LEVEL_ONE, BIAS_LIMIT * LEVEL_ONE - 1);
}

int32_t texture_detail(const Texture *t, float detail)
{
    if (t->levels == 1) return 0;
    int32_t asked = texture_fixed_detail(detail) + t->bias;
    int32_t held = asked > t->max ? t->max : asked; /* first, so that the lower bound wins if both conflict */
    return clamp_between(held > t->min ? held : t->min, 0, (t->levels - 1) * LEVEL_ONE);
}
