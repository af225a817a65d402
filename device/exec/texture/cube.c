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

/* The absolute value; -1 for NaN, so that it is never the largest. */
static float magnitude(float x) { return x < 0 ? -x : x >= 0 ? x : -1; }

/* Hardware divides a direction by its largest component first, so that zeros and infinite components
 * become NaN and finite ones next to these become 0. Directions without such components stay as they are. */
static void scale_direction(float direction[3])
{
    float max = 0;
    for (int k = 0; k < 3; k++) max = magnitude(direction[k]) > max ? magnitude(direction[k]) : max;
    if (max > 0 && max - max == 0) return;
    for (int k = 0; k < 3; k++) direction[k] = max > 0 && direction[k] - direction[k] == 0 ? 0 : NAN;
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

/* For each face, which component of a direction, with which sign, is along its first axis, its second
 * axis, and from the center to the face. */
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

/* The coordinate, on an axis of the face with `axes`, of the direction `end`, which meets another face;
 * major: from the center to that one. */
static double coordinate_beyond_edge(const CubeAxis axes[3], CubeAxis axis, CubeAxis major,
                                     const uint32_t end[3])
{
    double depth = along(axes[2], end), length = along(major, end), here = along(axis, end);
    if (axes[2].component == major.component) return 4; /* the face opposite: anywhere further off */
    if (axis.component != major.component) return here / length;
    return here < 0 ? depth / length - 2 : 2 - depth / length;
}

bool cube_step(const uint32_t direction[3], const uint32_t step[3], double out[2])
{
    unsigned face = cube_point(direction).face, other;
    const CubeAxis *axes = face_axes[face];
    uint32_t end[3];
    for (int k = 0; k < 3; k++) {
        float sum = as_float(direction[k]) + as_float(step[k]);
        memcpy(&end[k], &sum, 4);
    }
    other = cube_point(end).face;
    for (int k = 0; k < 2; k++) {
        double at = other == face ? along(axes[k], end) / along(axes[2], end)
                                  : coordinate_beyond_edge(axes, axes[k], face_axes[other][2], end);
        out[k] = at - along(axes[k], direction) / along(axes[2], direction);
    }
    return other == face;
}
