/* Directions into a cube: the face that one meets, and where. */
#ifndef DEVICE_EXEC_TEXTURE_CUBE_H
#define DEVICE_EXEC_TEXTURE_CUBE_H

#include <stdbool.h>
#include <stdint.h>

/* The face of a direction, and the position on it in [-1, 1]. */
typedef struct CubePoint {
    unsigned face;
    float s, t;
} CubePoint;

CubePoint cube_point(const uint32_t direction[3]);
/* How far a step from the direction goes, in units of the position on its face. The neighbors of the face
 * count as folded out next to it. False when the step ends on one of them or on the opposite face. */
bool cube_step(const uint32_t direction[3], const uint32_t step[3], double out[2]);

#endif
