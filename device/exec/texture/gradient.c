/* The level of detail that gradients ask for: the logarithm of the number of texels that a step to the next
 * pixel covers, in the direction in which it covers most.
 *
 * Texture units find neither the direction nor the length exactly. This rule gives an H200's results to a
 * 256th of a level: both steps and the two diagonals between them are measured, each by a weighted sum of
 * its components, and the logarithm is read from a table. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "exec/texture/cube.h"
#include "exec/texture/texture.h"

typedef struct PixelStep {
    double texels[3];
} PixelStep;

/* Truncated to ten significant bits. */
static double few_bits(double x)
{
    int exponent;
    double digits = frexp(x, &exponent);
    return ldexp(trunc(digits * 1024), exponent - 10);
}

/* Reads a gradient, the change of the coordinates, as a step in texels. False for a step to another face
 * of a cube. */
static bool read_step(const Texture *t, const uint32_t *at, const uint32_t change[4], PixelStep *out)
{
    bool faces = t->shape == TEXTURE_CUBE || t->shape == TEXTURE_ACUBE, inside = true;
    unsigned count = t->shape == TEXTURE_3D ? 3 : t->shape == TEXTURE_1D || t->shape == TEXTURE_A1D ? 1 : 2;
    double on_face[2];
    if (faces) inside = cube_step(at, change, on_face);
    *out = (PixelStep){{0}};
    for (unsigned k = 0; k < count; k++) {
        float along;
        memcpy(&along, &change[k], 4);
        out->texels[k] = few_bits((faces ? on_face[k] / 2 : (double)along) * t->size[k]);
    }
    return inside;
}

/* About the Euclidean length, as texture units compute it. */
static double step_length(const PixelStep *step)
{
    double x = fabs(step->texels[0]), y = fabs(step->texels[1]), z = fabs(step->texels[2]);
    double max = fmax(fmax(x, y), z), min = fmin(fmin(x, y), z);
    double middle = fmax(fmin(x, y), fmin(fmax(x, y), z));
    return max + middle * 11 / 32 + min / 4;
}

static PixelStep diagonal(const PixelStep *a, const PixelStep *b, int sign)
{
    PixelStep step;
    for (int k = 0; k < 3; k++) step.texels[k] = few_bits((a->texels[k] + sign * b->texels[k]) * 11 / 16);
    return step;
}

/* The logarithm to base 2 from a table with an entry for each 256th of a mantissa: the logarithm of about
 * the middle of that 256th; for powers of two it is exact. */
static double table_logarithm(double x)
{
    int exponent;
    if (!(x > 0)) return -INFINITY;
    double entry = floor((frexp(fmin(x, FLT_MAX), &exponent) * 2 - 1) * LEVEL_ONE);
    double fraction = entry > 0 ? rint(log2(1 + (entry + 0.46) / LEVEL_ONE) * LEVEL_ONE) : 0;
    return exponent - 1 + fraction / LEVEL_ONE;
}

float texture_gradient_detail(const Texture *t, const uint32_t coordinates[4], const uint32_t dx[4],
                              const uint32_t dy[4])
{
    const uint32_t *at = coordinates + (t->shape == TEXTURE_ACUBE);
    PixelStep steps[4];
    bool inside = read_step(t, at, dx, &steps[0]);
    inside = read_step(t, at, dy, &steps[1]) && inside;
    steps[2] = diagonal(&steps[0], &steps[1], 1);
    steps[3] = diagonal(&steps[0], &steps[1], -1);
    double longest = 0;
    for (int k = 0; k < (inside ? 4 : 2); k++) longest = fmax(longest, step_length(&steps[k]));
    return (float)table_logarithm(longest);
}
