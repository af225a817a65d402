/* What the threads of a grid launch: gathered while its blocks run, run after them (descendants.c). Copies
 * and fills that they ask for are launches, too.
 *
 * A launch is opened (its shape known, a buffer for its parameters given out), then launched (the parameters
 * copied). It counts as pending until it and all that it launches in turn are done.
 *
 * Launches are ordered by queues: those of one stream share a queue, and so do those of two streams whose
 * numbers fall on one queue. Waiting for an event orders all that is launched later after all that was
 * launched before, whatever their streams. Tail launches come one by one after all others.
 */
#ifndef DEVICE_EXEC_RUNTIME_CHILDREN_H
#define DEVICE_EXEC_RUNTIME_CHILDREN_H

#include <pthread.h>

#include "exec/runtime/transfer.h"
#include "exec/state/launch.h"

enum { CHILD_QUEUES = 16 };

typedef struct Child Child;

typedef struct ChildList {
    Child *first, **end;
} ChildList;

/* A grid's own. */
typedef struct Children {
    pthread_mutex_t lock;       /* while its blocks run */
    Child *open;                /* not launched yet */
    ChildList launched, tail;
    uint32_t next_queue;        /* for one that is ordered with no other */
    bool after_all;             /* what is launched next waits for all before it */

    /* When its blocks are done, under the launch tree's lock. */
    ChildList queues[CHILD_QUEUES]; /* what waits for others */
    uint32_t unfinished;        /* of those in the queues, running ones included */
} Children;

typedef struct ChildShape {
    uint32_t grid[3], block[3], shared;
} ChildShape;

typedef struct ChildCall {
    uint64_t function; /* its CodeFunction, unless the kernel has another number there */
    ChildShape shape;
} ChildCall;

struct Child {
    Children own; /* first: what it launches itself */
    Child *next;
    Children *siblings; /* among which it was launched */
    const CodeFunction *function; /* NULL for a transfer, and until the launch names it */
    ChildShape shape;
    uint64_t buffer; /* where its parameters are written; freed at the launch */
    uint32_t size; /* of the buffer and of params */
    uint32_t queue;
    bool after_all;
    _Alignas(PARAMS_ALIGN) uint8_t params[]; /* or a Transfer */
};

void children_init(Children *children);
/* The launches that a launch waits for. */
typedef enum ChildOrder {
    CHILD_QUEUED, /* after those of the same queue */
    CHILD_FREE, /* after none */
    CHILD_TAIL /* after all */
} ChildOrder;

/* Opens a launch. Returns the address of a buffer for its parameters; 0 and *error when the launch is not
 * possible. Errors, here and below, are numbered as CUDA's runtime does. */
uint64_t children_open(Children *children, const GridLaunch *parent, const ChildCall *call, int *error);
/* As children_open(), for a kernel that is named only by the launch: a buffer of `size` bytes. */
uint64_t children_reserve(Children *children, const GridLaunch *parent, uint64_t align, uint64_t size,
                          int *error);
/* Launches what has that buffer. call: NULL after children_open(), the kernel and its shape after
 * children_reserve(). */
int children_launch(Children *children, const GridLaunch *parent, uint64_t buffer, const ChildCall *call,
                    ChildOrder order, uint64_t queue);
int children_transfer(Children *children, const GridLaunch *parent, const Transfer *transfer,
                      ChildOrder order, uint64_t queue);
/* What is launched from now on runs after all that was launched so far. */
void children_wait(Children *children);
/* Drops what was not launched, once the blocks are done. */
void children_drop_open(Children *children, DeviceRuntime *runtime);

void child_list_init(ChildList *list);
void child_list_append(ChildList *list, Child *child);
/* NULL when there is none. */
Child *child_list_take(ChildList *list);

/* descendants.c: runs what the grid of the host's launch has launched, and all that these launch in turn.
 * After a fault, of the host's grid (already in *fault) or of one of these, the rest is dropped. */
int descendants_run(Children *root, const GridLaunch *launch, WorkerPool *pool, ExecFault *fault);

#endif
