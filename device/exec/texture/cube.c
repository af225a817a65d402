/* Directions as texture units see them: the largest component chooses the face, +x -x +y -y +z -z. */
#include "exec/texture/cube.h"

#include <math.h>
#include <string.h>

static float as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static float magnitude(float x) { return x < 0 ? -x : x >= 0 ? x : -1; }

/* The direction is scaled by its largest component first: without one, or with an infinite one, there is no
 * number left in its place, and what is no number is the middle of the face. */
static void scale_direction(float direction[3])
{
    float most = 0;
    for (int k = 0; k < 3; k++) most = magnitude(direction[k]) > most ? magnitude(direction[k]) : most;
    if (most > 0 && most - most == 0) return;
    for (int k = 0; k < 3; k++) direction[k] = most > 0 && direction[k] - direction[k] == 0 ? 0 : NAN;
}

CubePoint cube_point(const uint32_t direction[3])
{
    float d[3] = {as_float(direction[0]), as_float(direction[1]), as_float(direction[2])};
    scale_direction(d);
    float ax = magnitude(d[0]), ay = magnitude(d[1]), az = magnitude(d[2]), major;
    CubePoint p;
    if (az >= ax && az >= ay)
        p = (CubePoint){d[2] < 0 ? 5 : 4, d[2] < 0 ? -d[0] : d[0], -d[1]}, major = az;
    else if (ay >= ax)
        p = (CubePoint){d[1] < 0 ? 3 : 2, d[0], d[1] < 0 ? -d[2] : d[2]}, major = ay;
    else
        p = (CubePoint){d[0] < 0 ? 1 : 0, d[0] < 0 ? d[2] : -d[2], -d[1]}, major = ax;
    p.s /= major;
    p.t /= major;
    return p;
}

/* Of each face, the components of a direction that are its two axes and its depth, and their signs. */
typedef struct CubeAxis {
    uint8_t component;
    int8_t sign;
} CubeAxis;
static const CubeAxis face_axes[6][3] = {
    {{2, -1}, {1, -1}, {0, 1}}, {{2, 1}, {1, -1}, {0, -1}}, {{0, 1}, {2, 1}, {1, 1}},
    {{0, 1}, {2, -1}, {1, -1}}, {{0, 1}, {1, -1}, {2, 1}},  {{0, -1}, {1, -1}, {2, -1}},
};

static double along(CubeAxis axis, const uint32_t v[3])
{
    return (double)as_float(v[axis.component]) * axis.sign;
}

void cube_gradient(const uint32_t direction[3], const uint32_t change[3], double out[2])
{
    const CubeAxis *axes = face_axes[cube_point(direction).face];
    double depth = along(axes[2], direction), deeper = along(axes[2], change);
    for (int k = 0; k < 2; k++)
        out[k] = (along(axes[k], change) * depth - along(axes[k], direction) * deeper) / (depth * depth);
}
