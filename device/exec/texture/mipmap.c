/* Levels of detail: one is a number of levels and 256ths. What an instruction asks for is biased, then held
 * between the sampler's bounds, then within the levels that there are. */
#include <math.h>
#include <string.h>

#include "exec/texture/cube.h"
#include "exec/texture/texture.h"

enum { LEVEL_ALIGNMENT = 512, DETAIL_LIMIT = 1 << 12 };

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

int32_t texture_fixed_detail(float detail)
{
    if (detail != detail) return 0;
    double held = detail < -DETAIL_LIMIT ? -DETAIL_LIMIT : detail > DETAIL_LIMIT ? DETAIL_LIMIT : detail;
    return (int32_t)floor(held * LEVEL_ONE + 0.5);
}

static int32_t between(int32_t x, int32_t least, int32_t most)
{
    int32_t up = x < least ? least : x;
    return up > most ? most : up;
}

int32_t texture_detail(const Texture *t, float detail)
{
    if (t->levels == 1) return 0;
    int32_t asked = texture_fixed_detail(detail) + t->bias;
    return between(between(asked, t->least, t->most), 0, (t->levels - 1) * LEVEL_ONE);
}

static double squared_length(const Texture *t, const uint32_t coordinates[4], const uint32_t change[4])
{
    bool faces = t->shape == TEXTURE_CUBE || t->shape == TEXTURE_ACUBE;
    unsigned count = t->shape == TEXTURE_3D ? 3 : t->shape == TEXTURE_1D || t->shape == TEXTURE_A1D ? 1 : 2;
    double sum = 0, on_face[2];
    if (faces) cube_gradient(coordinates + (t->shape == TEXTURE_ACUBE), change, on_face);
    for (unsigned k = 0; k < count; k++) {
        float along;
        memcpy(&along, &change[k], 4);
        double texels = (faces ? on_face[k] / 2 : (double)along) * t->size[k];
        sum += texels * texels;
    }
    return sum;
}

float texture_gradient_detail(const Texture *t, const uint32_t coordinates[4], const uint32_t dx[4],
                              const uint32_t dy[4])
{
    double x = squared_length(t, coordinates, dx), y = squared_length(t, coordinates, dy);
    return (float)(log2(x > y ? x : y) / 2);
}
