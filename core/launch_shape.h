/* The shape of a launch: how many blocks of how many threads. The driver rejects a shape; this says why. */
#ifndef CORE_LAUNCH_SHAPE_H
#define CORE_LAUNCH_SHAPE_H

#include <stdbool.h>
#include "core/driver_table.h"

typedef struct LaunchShape {
    unsigned grid[3], block[3], shared_bytes;
} LaunchShape;

/* Which dimension of a refused launch is wrong and what the limit is, as a phrase in `text`. False when the
 * shape exceeds no limit known here. Queries the driver about the function and the device of the current
 * context. */
IN_CALL bool launch_shape_explain(const LaunchShape *shape, CUfunction function, char *text, size_t size);

/* Blocks and threads for a kernel with a grid-stride loop over n elements: 32 to 128 threads in whole warps,
 * at most 32 blocks for each multiprocessor. */
void launch_shape_splay(size_t n, int multiprocessors, unsigned *blocks, unsigned *threads);

#endif
