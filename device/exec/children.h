/* Kernels that a kernel launches: gathered while it runs, run when its blocks are done.
 *
 * A launch is opened (its shape known, a buffer for its parameters given out), then launched (the parameters
 * copied). What is launched runs one grid after the other in the order of the launches, each with all that it
 * launches in turn, and the tail launches after the others: that order holds for every stream and event that
 * a kernel can make.
 */
#ifndef DEVICE_EXEC_CHILDREN_H
#define DEVICE_EXEC_CHILDREN_H

#include <pthread.h>

#include "exec/grid.h"

typedef struct Child Child;

typedef struct ChildList {
    Child *first, **end;
} ChildList;

/* A grid's own. */
typedef struct Children {
    pthread_mutex_t lock;
    Child *open;                /* not launched yet */
    ChildList launched, tail;
} Children;

typedef struct ChildShape {
    uint32_t grid[3], block[3], shared;
} ChildShape;

void children_init(Children *children);
/* The address of the parameter buffer; 0 and *error when the launch cannot be. */
uint64_t children_open(Children *children, const GridLaunch *parent, uint64_t function, const ChildShape *shape,
                       int *error);
/* Launches what was opened with that buffer. The error as CUDA's runtime numbers it. */
int children_launch(Children *children, const GridLaunch *parent, uint64_t buffer, bool tail);
/* Runs them all; after a fault of the parent (already in *fault) or of one of them, drops the rest. */
int children_run(Children *children, const GridLaunch *parent, WorkerPool *pool, ExecFault *fault);

#endif
