/* The shape of a launch: how many blocks of how many threads, and why the driver has refused it. */
#ifndef CORE_LAUNCH_SHAPE_H
#define CORE_LAUNCH_SHAPE_H

#include <stdbool.h>
#include "core/driver_table.h"

typedef struct LaunchShape {
    unsigned grid[3], block[3], shared_bytes;
} LaunchShape;

/* Writes to `text`, as a phrase, which dimension of a refused launch is wrong and what the limit is. False
 * if the shape exceeds none of the limits that are compared here. Queries the driver for limits of the
 * function and of the current context's device. */
IN_CALL bool launch_shape_explain(const LaunchShape *shape, CUfunction function, char *text, size_t size);

/* Blocks and threads for a kernel with a grid-stride loop over n elements: 32 to 128 threads in whole warps,
 * at most 32 blocks for each multiprocessor. */
void launch_shape_splay(size_t n, int multiprocessors, unsigned *blocks, unsigned *threads);

#endif
