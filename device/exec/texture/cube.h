/* Directions into a cube: the face that one meets, and where. */
#ifndef DEVICE_EXEC_TEXTURE_CUBE_H
#define DEVICE_EXEC_TEXTURE_CUBE_H

#include <stdint.h>

/* The face of a direction, and the position on it in [-1, 1]. */
typedef struct CubePoint {
    unsigned face;
    float s, t;
} CubePoint;

CubePoint cube_point(const uint32_t direction[3]);
/* How the position on the face of the direction changes when that changes by so much. */
void cube_gradient(const uint32_t direction[3], const uint32_t change[3], double out[2]);

#endif
