/* Cube maps: which face a direction from the cube's center meets, and where. */
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
/* How far a step from the direction goes, as a change of the position on its face, *out. The neighbors of
 * the face count as unfolded into its plane. False when the step ends on another face. */
bool cube_step(const uint32_t direction[3], const uint32_t step[3], double out[2]);

#endif
